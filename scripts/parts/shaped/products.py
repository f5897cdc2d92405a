"""Products: every layout of their operands, accumulators in every place, and sums that are rounded."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np

from .case import Case, Shape, Value, row_major
from .elements import FLOATS, decode, encode, is_float
from .sketch import Sketch

PAIRS = (
    ("f32", "f32"), ("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("tf32", "f32"),
    ("f8E4M3FN", "f32"), ("f8E5M2", "f16"), ("i8", "i32"), ("i8", "i32"),
)  # fmt: skip
"""Element types of the operands and of the accumulator."""
WORK = 1 << 14
"""Multiplications of a product, at most."""


def sizes(rng: random.Random, most: int = WORK) -> tuple[int, int, int, int]:
    """Batch (0 for none), M, N and K; dimensions of size 1 are frequent."""
    while True:
        batch = rng.choice((0, 0, 0, 1, 2, 4))
        m, n, k = (rng.choice((1, 1, 2, 4, 8, 16, 16, 32, 64)) for _ in range(3))
        if max(batch, 1) * m * n * k <= most:
            return batch, m, n, k


def odd_strides(rng: random.Random, shape: Shape) -> Shape:
    """Strides of a tensor without overlaps: in any order, with gaps; a dimension of size 1 has any stride."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    strides, step = [0] * len(shape), rng.choice((1, 1, 1, 2, 3))
    for d in order:
        strides[d] = step
        step *= shape[d]
        step += rng.choice((0, 0, 1, 5)) if shape[d] > 1 else 0
    for d, n in enumerate(shape):
        if n == 1 and rng.random() < 0.6:
            strides[d] = rng.choice((1, 2, 7, 4096, 1 << 20, 1 << 31, 1 << 40, (1 << 62) - 1))
    return tuple(strides)


def span(shape: Shape, strides: Shape) -> int:
    """Elements from the first to the last."""
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def strided(k: Sketch, element: str, shape: Shape, low: int = -3, high: int = 3) -> Value:
    """Load a tile through a view with odd strides, exactly as many elements as it needs."""
    strides = odd_strides(k.rng, shape)
    if span(shape, strides) > 1 << 15:
        strides = row_major(shape)
    p = k.pointer(element, k.numbers(element, span(shape, strides), low, high))
    return k.load(k.dense(p, shape, strides))


def operand(k: Sketch, element: str, shape: Shape, low: int = -3, high: int = 3, depth: int = 0) -> Value:
    """A tile of small integers, made in one of many ways."""
    rng = k.rng
    n = len(shape)
    way = rng.choice(WAYS) if depth < 2 else "load"
    if way == "permute" and n > 1:
        order = list(range(n))
        rng.shuffle(order)
        back = tuple(shape[order.index(d)] for d in range(n))
        return k.permute(operand(k, element, back, low, high, depth + 1), order)
    if way == "view order" and n > 1:
        order = list(range(n))
        rng.shuffle(order)
        tensor = [0] * n
        for d, to in enumerate(order):
            tensor[to] = shape[d]
        p = k.pointer(element, k.numbers(element, prod(shape), low, high))
        return k.load(k.view(k.tensor(p, tensor, row_major(tensor)), element, shape, order=order))
    if way == "broadcast":
        narrow = tuple(rng.choice((1, size)) for size in shape)
        return k.broadcast(operand(k, element, narrow, low, high, depth + 1), shape)
    if way == "scalar":
        return k.splat(k.fetch(element, (), low, high), shape)
    if way == "constant":
        return k.const(element, rng.randint(low, high), shape)
    if way == "flat":
        return k.reshape(operand(k, element, (prod(shape),), low, high, depth + 1), shape)
    if way == "cat" and max(shape) > 1:
        dim = rng.choice([d for d, size in enumerate(shape) if size > 1])
        half = tuple(size // 2 if d == dim else size for d, size in enumerate(shape))
        a, b = (operand(k, element, half, low, high, depth + 1) for _ in range(2))
        return k.cat(a, b, dim)
    if way == "extract":
        dim = rng.randrange(n)
        whole = tuple(2 * size if d == dim else size for d, size in enumerate(shape))
        at = [k.number("i32", rng.randrange(2)) if d == dim else k.const("i32", 0) for d in range(n)]
        return k.extract(operand(k, element, whole, low, high, depth + 1), at, shape)
    if way == "gather":
        return gathered(k, element, shape, low, high)
    if way == "padded":
        return padded(k, element, shape, low, high)
    if way == "negated" and element in FLOATS and low == -high:
        return k.negative(operand(k, element, shape, low, high, depth + 1))
    if way == "select":
        a, b = (operand(k, element, shape, low, high, depth + 1) for _ in range(2))
        return k.select(k.fetch("i1", shape, 0, 1), a, b)
    if way == "converted" and element not in ("tf32", "i8"):
        return k.convert(operand(k, "i32", shape, low, high, depth + 1), element)
    if way == "strided":
        return strided(k, element, shape, low, high)
    return k.fetch(element, shape, low, high)


WAYS = (
    "load", "load", "strided", "strided", "permute", "permute", "view order", "broadcast", "scalar", "constant", "flat",
    "cat", "extract", "gather", "padded", "negated", "select", "converted",
)  # fmt: skip


def gathered(k: Sketch, element: str, shape: Shape, low: int, high: int) -> Value:
    """Load through a tile of pointers."""
    count = prod(shape)
    p = k.pointer(element, k.numbers(element, count, low, high))
    i = k.iota("i32", count)
    if k.rng.random() < 0.5:  # neighbours are not neighbours in memory
        i = k.binary("xori", i, k.const("i32", k.rng.randrange(count), (count,)))
    return k.load_pointers(k.pointers(p, k.reshape(i, shape)))


def padded(k: Sketch, element: str, shape: Shape, low: int, high: int) -> Value:
    """Load a tile that is larger than its tensor."""
    inner = tuple(k.rng.randint(max(1, size // 2), size) for size in shape)
    p = k.pointer(element, k.numbers(element, prod(inner), low, high))
    tensor = k.tensor(p, inner, row_major(inner))
    return k.load(k.view(tensor, element, shape, padding="zero"))


def saved(k: Sketch, r: Value) -> None:
    """Store a result in one of several ways."""
    way = k.rng.choice(("plain", "plain", "transposed", "strided", "pointers", "reduced", "twice", "padded"))
    rank = len(r.shape)
    if way == "transposed" and rank > 1:
        k.save(k.transpose(r))
    elif way == "strided":
        strides = odd_strides(k.rng, r.shape)
        if span(r.shape, strides) > 1 << 15:
            strides = row_major(r.shape)
        p = k.pointer(r.element, k.noise(r.element, span(r.shape, strides)))
        k.store(r, k.dense(p, r.shape, strides))
    elif way == "pointers":
        p = k.pointer(r.element, k.noise(r.element, prod(r.shape)))
        k.store_pointers(k.pointers(p, k.reshape(k.iota("i32", prod(r.shape)), r.shape)), r)
    elif way == "reduced":
        dim = k.rng.randrange(rank)
        name = "maxf" if is_float(r.element) else "maxi"
        more = "" if is_float(r.element) else " signed"
        low = -60000 if is_float(r.element) else -(1 << 31)
        k.save(k.fold("reduce", [r], dim, lambda a, b: [k.binary(name, a[0], b[0], more)], [low])[0])
        k.save(r)
    elif way == "twice":
        k.save(r)
        k.save(k.add(r, r))
    elif way == "padded":
        inner = tuple(k.rng.randint(max(1, size // 2), size) for size in r.shape)
        p = k.pointer(r.element, k.noise(r.element, prod(inner)))
        k.store(r, k.view(k.tensor(p, inner, row_major(inner)), r.element, r.shape))
    else:
        k.save(r)


def small_sum(t: str, r: str) -> int:
    """The largest factor for which sums of products are exact."""
    return 2 if r == "f16" else 3


def signs(rng: random.Random) -> str:
    return f"{rng.choice(('signed', 'unsigned'))} {rng.choice(('signed', 'unsigned'))}"


def product_layouts(rng: random.Random) -> Case:
    """One product, or two that share an operand."""
    k = Sketch(rng)
    t, r = rng.choice(PAIRS)
    batch, m, n, depth = sizes(rng)
    lead = (batch,) if batch else ()
    top = small_sum(t, r)
    a = operand(k, t, (*lead, m, depth), -top, top)
    shared = m == n == depth and rng.random() < 0.4
    b = a if shared else operand(k, t, (*lead, depth, n), -top, top)
    if shared and rng.random() < 0.5:
        b = k.transpose(a)
    acc = operand(k, r, (*lead, m, n), -top, top)
    sign = signs(rng)
    made = k.product(a, b, acc, sign)
    saved(k, made)
    if rng.random() < 0.3:
        other = operand(k, t, (*lead, depth, n), -top, top)
        last = k.product(a, other, made if rng.random() < 0.5 else acc, sign)
        saved(k, last)
    if rng.random() < 0.2:  # the operands have other uses
        k.save(a)
    if rng.random() < 0.2:
        k.save(acc)
    return k.case()


def sparse(k: Sketch, element: str, n: int) -> Value:
    """A matrix with one or two nonzero elements per row and column, so that products of many do not grow."""
    made = np.zeros((n, n), np.int64)
    for _ in range(k.rng.choice((1, 2)) if element != "f16" else 1):
        made[np.arange(n), k.numpy.permutation(n)] += k.numpy.integers(0, 2, n) * 2 - 1
    p = k.pointer(element, encode(element, made.ravel()))
    return k.load(k.dense(p, (n, n)))


def step(k: Sketch, acc: Value, x: Value, y: Value) -> Value:
    """The next accumulator: itself, or something made of it, at any place of a product."""
    t = x.element

    def changed(v: Value, to: str) -> Value:
        for _ in range(k.rng.choice((0, 0, 1, 1, 2))):
            match k.rng.randrange(6):
                case 0 | 1:
                    v = k.transpose(v)
                case 2:
                    v = k.negative(v)
                case 3:
                    if half := v.shape[0] // 2:
                        zero, one = k.const("i32", 0), k.const("i32", 1)
                        low, high = (k.extract(v, [at, zero], (half, v.shape[1])) for at in (zero, one))
                        v = k.cat(high, low, 0)
                case 4:
                    v = k.reshape(k.reshape(v, (prod(v.shape),)), v.shape)
                case 5:
                    zero = k.const(v.element, 0, v.shape)
                    v = k.select(k.compare("less_than", v, zero), k.negative(v), v)
        return v if v.element == to else k.convert(v, to)

    if k.rng.random() < 0.4:  # the shapes that an engine may compute in place, and their neighbours
        match k.rng.randrange(6):
            case 0:
                return k.product(k.convert(acc, t), y, acc)
            case 1:
                return k.product(x, k.convert(acc, t), acc)
            case 2:
                return k.product(x, y, k.transpose(acc))
            case 3:
                return k.product(x, y, k.negative(k.transpose(acc)))
            case 4:
                both = k.negative(acc)
                return k.product(k.convert(both, t), y, both)
        return k.product(x, y, acc)
    places = k.rng.choice(("a", "l", "r", "la", "ra", "la", "ra", "lr", "lra", "none"))
    left = changed(acc, t) if "l" in places else x
    right = changed(acc, t) if "r" in places and "l" not in places else y
    base = changed(acc, acc.element) if "a" in places else k.const(acc.element, 1, acc.shape)
    if "l" in places and k.rng.random() < 0.2:
        base = k.convert(left, acc.element)
    made = k.product(left, right, base)
    match k.rng.randrange(9):
        case 0:
            return k.add(made, acc)
        case 1:
            return k.transpose(made)
        case 2:
            return k.negative(made)
    return made


def product_carried(rng: random.Random) -> Case:
    """Accumulators that loops and branches carry."""
    k = Sketch(rng)
    t, r = rng.choice((("f32", "f32"), ("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("bf16", "f32"), ("i8", "i32"),
                       ("f16", "f16")))  # fmt: skip
    n = rng.choice((1, 2, 4, 8, 8, 16, 16, 32, 32, 64))
    x, y = sparse(k, t, n), sparse(k, t, n)
    acc = k.fetch(r, (n, n), -1, 1)
    carried = [acc] + ([k.fetch(r, (n, n), -1, 1)] if rng.random() < 0.35 else [])
    zero, one = k.const("i32", 0), k.const("i32", 1)
    count = k.number("i32", rng.choice((0, 1, 2, 2, 3, 3)) if r != "f16" else rng.choice((0, 1, 2)))
    kind = rng.choice(("for", "for", "for", "for", "for", "loop", "if", "branch in for", "continue", "stored in for",
                       "kept", "kept"))  # fmt: skip

    def advance(values: list[Value]) -> list[Value]:
        made = [step(k, values[0], x, y)]
        if len(values) > 1:
            made.append(rng.choice((values[0], step(k, values[1], x, y), k.transpose(values[0]))))
            if rng.random() < 0.3:
                made.reverse()
        return made

    def odd(i: Value) -> Value:
        return k.compare("equal", k.binary("andi", i, one), one)

    if kind == "loop":

        def body(values: list[Value]) -> None:
            i, *rest = values
            k.when(k.compare("greater_than_or_equal", i, count), lambda: k.leave("break", rest))
            k.leave("continue", [k.add(i, one), *advance(rest)])

        made = k.loop([zero, *carried], body, carried)
    elif kind == "if":
        made = k.branch(odd(count), lambda: advance(carried), lambda: advance(carried), carried)
    else:

        def each(i: Value, values: list[Value]) -> list[Value] | None:
            if kind == "branch in for":
                return k.branch(odd(i), lambda: advance(values), lambda: advance(values), values)
            if kind == "continue":
                k.when(odd(i), lambda: k.leave("continue", advance(values)))
            made = advance(values)
            if kind == "kept":
                k.when(odd(i), lambda: k.leave("continue", rng.choice((values, values, values[::-1]))))
            if kind == "stored in for":
                k.store(rng.choice((values[0], made[0])), out, [i, zero])
            return made

        if kind == "stored in for":
            p = k.pointer(r, k.noise(r, 4 * n * n))
            out = k.view(k.tensor(p, (4 * n, n), (n, 1)), r, (n, n))
        made = k.for_loop((zero, count, one), carried, each)
    for value in made:
        saved(k, value)
    return k.case()


def product_tiled(rng: random.Random) -> Case:
    """Products over tiles of K, the last of which is cut; several accumulators and shared tiles, on several blocks."""
    k = Sketch(rng)
    t, r = rng.choice(PAIRS)
    top = 1 if r == "f16" else 2
    m, n, depth = (rng.choice((1, 2, 4, 8, 16, 32)) for _ in range(3))
    rows, columns, whole = (rng.randint(1, 2) * size - rng.randint(0, size - 1) for size in (m, n, 3 * depth))
    turned = [rng.random() < 0.4 for _ in range(2)]
    zero, one = k.const("i32", 0), k.const("i32", 1)
    x, y, z = (k.fresh() for _ in range(3))
    k.emit(f"{x}, {y}, {z} = get_tile_block_id : tile<i32>")
    bx, by = Value(x, "i32", ()), Value(y, "i32", ())
    k.grid = (-(-rows // m), -(-columns // n), 1)
    views: list[Any] = []
    for flip, tensor, part in zip(turned, ((rows, whole), (whole, columns)), ((m, depth), (depth, n))):
        shape, tile_shape = (tensor[::-1], part[::-1]) if flip else (tensor, part)
        strides = (shape[1] + rng.choice((0, 0, 3)), 1)
        p = k.pointer(t, k.numbers(t, span(shape, strides), -top, top))
        views.append(k.view(k.tensor(p, shape, strides), t, tile_shape, padding="zero"))
    count = k.const("i32", -(-whole // depth))
    accs = [k.const(r, rng.choice((0, 0, 1)), (m, n)) for _ in range(rng.choice((1, 1, 2)))]
    apart = rng.random() < 0.5  # the second product has operands of its own, loaded after the first one

    def load(which: int, at: tuple[Value, Value]) -> Value:
        found = k.load(views[which], at[::-1] if turned[which] else at)
        return k.transpose(found) if turned[which] else found

    def body(i: Value, values: list[Value]) -> list[Value]:
        a, b = load(0, (bx, i)), load(1, (i, by))
        made = [k.product(a, b, values[0])]
        if len(values) > 1:
            if apart:
                back = k.subtract(k.subtract(count, one), i)
                a, b = load(0, (bx, back)), load(1, (back, by))
            made.append(k.product(a, b, rng.choice((values[1], made[0], k.negative(values[1])))))
        return made

    made = k.for_loop((zero, count, one), accs, body)
    out = k.add(made[0], made[-1]) if rng.random() < 0.3 and r != "f16" else made[-1]
    strides = (columns + rng.choice((0, 0, 2)), 1)
    shape = (rows, columns)
    p = k.pointer(r, k.noise(r, span(shape, strides)))
    k.store(out, k.view(k.tensor(p, shape, strides), r, (m, n)), [bx, by])
    return k.case()


def product_chain(rng: random.Random) -> Case:
    """The result of a product is reduced, changed, and an operand of the next, as in attention."""
    k = Sketch(rng)
    t, r = rng.choice((("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("bf16", "f32"), ("i8", "i32")))
    m, n, d = (rng.choice((1, 2, 4, 8, 16)) for _ in range(3))
    q, key, value = operand(k, t, (m, d), -2, 2), operand(k, t, (n, d), -2, 2), operand(k, t, (n, d), -2, 2)
    s = k.product(q, k.transpose(key), k.const(r, 0, (m, n)))
    name, more, low = ("maxf", "", -60000) if is_float(r) else ("maxi", " signed", -(1 << 31))
    top = k.fold("reduce", [s], 1, lambda a, b: [k.binary(name, a[0], b[0], more)], [low])[0]
    wide = k.broadcast(k.reshape(top, (m, 1)), (m, n))
    weight = k.convert(k.compare("equal", s, wide), "i32")
    p = k.convert(k.convert(k.negative(weight), r), t)
    acc = k.const(r, 0, (m, d))
    if rng.random() < 0.5:
        scale = k.fetch(r, (m, 1))
        acc = k.multiply(operand(k, r, (m, d), -2, 2), k.broadcast(scale, (m, d)))
    o = k.product(p, value, acc)
    saved(k, o)
    if rng.random() < 0.5:
        total = k.fold("reduce", [k.convert(p, r)], rng.randrange(2), lambda a, b: [k.add(a[0], b[0])], [0])[0]
        k.save(total)
    if rng.random() < 0.3:
        saved(
            k, k.product(k.transpose(o) if o.element == t else k.convert(k.transpose(o), t), p, k.const(r, 0, (d, n)))
        )
    return k.case()


def product_rounding(rng: random.Random) -> Case:
    """Sums that are rounded: with `exact` the same bits, without it within a bound."""
    k = Sketch(rng)
    t, r = rng.choice(
        (("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("tf32", "f32"))
    )
    batch, m, n, depth = sizes(rng, 1 << 16)
    lead = (batch,) if batch else ()
    shapes = ((*lead, m, depth), (*lead, depth, n), (*lead, m, n))
    given, tiles = [], []
    for element, shape in zip((t, t, r), shapes):
        bits = encode(element, k.numpy.standard_normal(prod(shape)))
        if element == "tf32":
            bits &= 0xFFFFE000
        wide = (bits.astype(np.uint32) << 16).view(np.float32) if element == "bf16" else decode(element, bits)
        given.append(np.abs(wide.astype(np.float64)).reshape(shape))
        flip = rng.random() < 0.3
        if flip:
            bits = np.ascontiguousarray(np.swapaxes(bits.reshape(shape), -1, -2)).ravel()
            loaded = k.load(k.dense(k.pointer(element, bits), (*shape[:-2], shape[-1], shape[-2])))
            tiles.append(k.transpose(loaded))
        else:
            tiles.append(k.load(k.dense(k.pointer(element, bits), shape)))
    made = k.product(tiles[0], tiles[1], tiles[2])
    p = k.save(made)
    bound = (given[0] @ given[1] + given[2]) * {"f16": 2.0**-9, "f32": 2.0**-19, "f64": 2.0**-46}[r]
    k.bounds[p.region] = (r, bound.ravel())
    return k.case()
