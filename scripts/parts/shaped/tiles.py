"""Tiles: several uses of one, scans and reductions along any dimension, chains of shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

from .case import Case, Shape, Value
from .elements import FLOATS, INTEGERS, is_float
from .products import operand, signs
from .sketch import Sketch
from .views import ELEMENTS, changed, tile_shape


def computed(k: Sketch, v: Value, turns: int) -> list[Value]:
    """Some element-wise operations, each of which may be used again."""
    made = [v]
    for _ in range(turns):
        a, b = k.rng.choice(made), k.rng.choice(made)
        whole = not is_float(v.element)
        match k.rng.randrange(8):
            case 0 | 6 if whole:
                by = k.const(v.element, k.rng.choice((3, 7, -2)), v.shape)
                made.append(k.binary(k.rng.choice(("divi", "divi", "remi")), a, by, " signed"))
            case 0 | 6:  # exact: the numbers are small
                made.append(k.unary("sqrt", k.multiply(a, a)))
            case 7 if not whole:
                made.append(k.binary("divf", a, k.const(v.element, k.rng.choice((1, -2)), v.shape)))
            case 1 if whole:
                made.append(k.binary("shri", a, k.const(v.element, 1, v.shape), " signed"))
            case 2:
                made.append(k.add(a, b))
            case 3:
                made.append(k.select(k.compare("less_than", a, b), a, b))
            case 4:
                made.append(changed(k, a))
            case _:
                made.append(k.subtract(a, b))
    return made


def many_uses(rng: random.Random) -> Case:
    """A tile that is stored, joined, reduced, scanned, multiplied and gathered from, in any order."""
    k = Sketch(rng)
    element = rng.choice(("i32", "i32", "f32", "f32", "i64", "f64", "i8", "f16"))
    shape = tile_shape(rng, 256)
    rank = len(shape)
    source = operand(k, element, shape, -2, 2)
    if rng.random() < 0.5 and rank == 1:
        p = k.pointer(element, k.numbers(element, shape[0], -2, 2))
        view = k.view(k.tensor(p, shape, (1,)), element, shape, sparse=0)
        source = k.load(view, [k.iota("i32", shape[0])])
    tiles = computed(k, source, rng.choice((1, 2, 2, 3)))
    target = k.pointer(element, k.numbers(element, prod(shape)))
    for _ in range(rng.randint(2, 6)):
        v = rng.choice(tiles[-3:])
        dim = rng.randrange(rank)
        match rng.randrange(11):
            case 0:
                k.save(v)
            case 1:
                k.store(v, k.dense(target, shape))
            case 2 if rank == 1:
                view = k.view(k.tensor(target, shape, (1,)), element, shape, sparse=0)
                k.store(v, view, [k.iota("i32", shape[0])])
            case 3:
                k.save(k.cat(v, rng.choice((rng.choice(tiles), k.const(element, 3, shape))), dim))
            case 4:
                k.save(k.fold("reduce", [v], dim, lambda a, b: [k.add(a[0], b[0])], [0])[0])
            case 5:
                more = rng.random() < 0.5
                k.save(k.fold("scan", [v], dim, lambda a, b: [k.add(a[0], b[0])], [0], more)[0])
            case 6 if rank == 2 and element not in ("i32", "i64"):
                result = {"f16": "f32", "i8": "i32"}.get(element, element)
                k.save(k.product(v, k.transpose(v), k.const(result, 1, (shape[0], shape[0])), signs(rng)))
            case 7 if rank > 1:
                order = list(range(rank))
                rng.shuffle(order)
                k.save(k.permute(v, order))
            case 8:
                count = prod(shape)
                i = k.binary("xori", k.iota("i32", count), k.const("i32", rng.randrange(count), (count,)))
                k.store_pointers(k.pointers(target, k.reshape(i, shape)), v)
            case 9:
                tiles.append(k.load(k.dense(target, shape)))
            case 10:
                half = tuple(max(1, n // 2) if d == dim else n for d, n in enumerate(shape))
                k.save(k.extract(v, [k.const("i32", 0)] * rank, half))
            case _:
                k.save(changed(k, v))
    return k.case()


Combine = Callable[[Sketch, list[Value], list[Value]], list[Value]]


def _affine(k: Sketch, a: list[Value], b: list[Value]) -> list[Value]:
    """x -> p x + q, composed: associative, not commutative."""
    return [k.multiply(a[0], b[0]), k.add(k.multiply(a[1], b[0]), b[1])]


def _best(k: Sketch, a: list[Value], b: list[Value]) -> list[Value]:
    """The larger value with its index; the first one of equal values."""
    more = k.compare("greater_than", b[0], a[0])
    return [k.select(more, b[0], a[0]), k.select(more, b[1], a[1])]


def _last(k: Sketch, a: list[Value], b: list[Value]) -> list[Value]:
    """The last value with a flag, if any has one."""
    zero = k.const(b[0].element, 0)
    flagged = k.compare("not_equal", b[0], zero)
    return [k.select(flagged, b[0], a[0]), k.select(flagged, b[1], a[1])]


def scans(rng: random.Random) -> Case:
    """Scans and reductions along any dimension, in both directions, of one to three values."""
    k = Sketch(rng)
    shape = tile_shape(rng, 2048)
    dim = rng.randrange(len(shape))
    kind = rng.choice(("scan", "scan", "reduce"))
    reverse = rng.random() < 0.5
    what = rng.choice(("one", "one", "affine", "best", "last", "independent"))
    element = rng.choice(ELEMENTS if what in ("one", "best", "independent") else INTEGERS)
    low, high = (-3, 3) if is_float(element) else (-100, 100)
    if element == "f16" or element == "bf16":
        low, high = (0, 1) if prod(shape) > 64 else (-1, 1)
    if element == "bf16" and shape[dim] > 64:
        element = "f32"

    def given(e: str = element) -> Value:
        return operand(k, e, shape, low, high)

    if what == "one":
        choices = ["add", "max", "min"] + ([] if is_float(element) else ["xori", "muli", "andi", "ori"])
        name = rng.choice(choices)
        chosen = rng.choice((None, None, None, 0, 1))  # a body that yields one of the elements, whatever it computes
        if chosen is not None and rng.random() < 0.5:
            kind, name = "reduce", rng.choice(("max", "min"))

        def body(a: list[Value], b: list[Value]) -> list[Value]:
            if name == "add":
                both = k.add(a[0], b[0])
            elif name in ("max", "min"):
                more = "" if is_float(element) else " signed"
                both = k.binary(name + "fi"[not is_float(element)], a[0], b[0], more)
            else:
                both = k.binary(name, a[0], b[0])
            return [both if chosen is None else (a, b)[chosen][0]]

        k.gpu &= chosen is None
        neutral = {"add": 0, "max": -100, "min": 100, "xori": 0, "muli": 1, "andi": -1, "ori": 0}[name]
        made = k.fold(kind, [given()], dim, body, [neutral], reverse)
    elif what == "independent":
        tiles = [given(), given(rng.choice(("i32", "f32"))), given()][: rng.choice((2, 3))]
        add = lambda a, b: [k.add(x, y) for x, y in zip(a, b)]  # noqa: E731
        made = k.fold(kind, tiles, dim, add, [0] * len(tiles), reverse)
    else:
        combine: Combine = {"affine": _affine, "best": _best, "last": _last}[what]
        other = rng.choice(("i32", "i64")) if what != "affine" else element
        tiles = [given(), given(other)]
        k.gpu &= what != "last"
        identities = {"affine": [1, 0], "best": [-101, 0], "last": [0, 0]}[what]
        made = k.fold(kind, tiles, dim, lambda a, b: combine(k, a, b), identities, reverse)
    for v in made if rng.random() < 0.8 else made[:1]:
        if kind == "scan" and rng.random() < 0.3 and len(shape) > 1:
            v = k.fold("scan", [v], rng.randrange(len(shape)), lambda a, b: [b[0]], [0])[0]
            k.gpu = False
        k.save(v)
    return k.case()


def shape_chains(rng: random.Random) -> Case:
    """Data that only moves: any bits, through views, permutations, joins, parts and back to memory."""
    k = Sketch(rng)
    element = rng.choice(("i1", "f8E4M3FN", *ELEMENTS))
    shape = tile_shape(rng, 512)

    def source(sizes: Shape) -> Value:
        p = k.pointer(element, k.noise(element, prod(sizes)))
        if rng.random() < 0.2:
            return k.load_pointers(k.pointers(p, k.reshape(k.iota("i32", prod(sizes)), sizes)))
        return k.load(k.dense(p, sizes))

    v = source(shape)
    for _ in range(rng.randint(2, 7)):
        rank, dim = len(v.shape), rng.randrange(len(v.shape))
        match rng.randrange(8):
            case 0 | 1 if rank > 1:
                order = list(range(rank))
                rng.shuffle(order)
                v = k.permute(v, order)
            case 2:
                v = k.reshape(v, resized(rng, prod(v.shape)))
            case 3 if prod(v.shape) <= 512:
                v = k.cat(v, rng.choice((v, source(v.shape))), dim)
            case 4 if v.shape[dim] > 1:
                part = tuple(n // 2 if d == dim else n for d, n in enumerate(v.shape))
                at = [k.number("i32", rng.choice((0, 1))) if d == dim else k.const("i32", 0) for d in range(rank)]
                v = k.extract(v, at, part)
            case 5 if v.shape[dim] > 1:
                part = tuple(n // 2 if d == dim else n for d, n in enumerate(v.shape))
                at = [k.number("i32", rng.choice((0, 1))) if d == dim else k.const("i32", 0) for d in range(rank)]
                v = k.insert(source(part), v, at)
            case 6:
                narrow = tuple(rng.choice((1, n)) for n in v.shape)
                v = k.select(k.fetch("i1", v.shape, 0, 1), v, k.broadcast(source(narrow), v.shape))
            case _:
                if rng.random() < 0.3:
                    k.save(v)
    k.save(v)
    return k.case()


def resized(rng: random.Random, count: int) -> Shape:
    """Another shape with as many elements."""
    shape: list[int] = []
    while count > 1 and len(shape) < 3:
        n = 1 << rng.randint(0, count.bit_length() - 1)
        shape.append(n)
        count //= n
    shape.append(count)
    rng.shuffle(shape)
    return tuple(shape)


def mixed_elements(rng: random.Random) -> Case:
    """Tiles of several element types in one kernel, converted and reinterpreted."""
    k = Sketch(rng)
    shape = tile_shape(rng, 512)
    tiles = [operand(k, rng.choice((*INTEGERS, *FLOATS)), shape) for _ in range(2)]
    for _ in range(rng.randint(2, 5)):
        v = rng.choice(tiles)
        to = rng.choice((*INTEGERS, *FLOATS))
        w = k.convert(v, to)
        same = [u for u in tiles if u.element == to]
        tiles.append(k.add(w, rng.choice(same)) if same and to[0] == "i" else w)
    for v in tiles[-3:]:
        k.save(v)
        if rng.random() < 0.3 and v.element in ("i32", "f32"):
            to = "f32" if v.element == "i32" else "i32"
            k.save(k.op(to, v.shape, f"bitcast {v.name} : {v.type} -> tile<{'x'.join(map(str, v.shape))}x{to}>"))
    return k.case()
