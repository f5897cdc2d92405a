"""Tiles of pointers: masks on both sides, offsets that wrap around, other element types; allocas; atomics."""

from __future__ import annotations

import random
from math import prod

from .case import Case, Pointer, Shape, Value, row_major
from .elements import BYTES
from .sketch import Sketch
from .views import ELEMENTS, changed, tile_shape


def mask_of(k: Sketch, shape: Shape) -> Value:
    """All, none, a prefix, a row or column, or any."""
    count = prod(shape)
    i = k.reshape(k.iota("i32", count), shape)
    match k.rng.randrange(6):
        case 0:
            return k.const("i1", 1, shape)
        case 1:
            return k.const("i1", 0, shape)
        case 2 | 3:
            n = k.number("i32", k.rng.choice((0, 1, count, count - 1, k.rng.randint(0, count))))
            return k.compare(k.rng.choice(("less_than", "greater_than_or_equal")), i, k.splat(n, shape))
        case 4:
            n = k.splat(k.number("i32", k.rng.choice((-1, 0, 1 << 30))), shape)
            return k.compare("less_than", i, n, "unsigned")
    return k.fetch("i1", shape, 0, 1)


def masks(rng: random.Random) -> Case:
    """Masked loads and stores through pointers, with and without padding; masked elements may point anywhere."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng, 512, rng.choice((1, 1, 2)))
    count = prod(shape)
    p = k.pointer(element, k.numbers(element, count))
    i = k.reshape(k.iota("i32", count), shape)
    mask = mask_of(k, shape)
    offsets = i
    if rng.random() < 0.3:  # what is masked is outside
        far = k.const("i32", rng.choice((1 << 20, -(1 << 20), 1 << 30)), shape)
        offsets = k.select(mask, i, k.add(i, far))
    at = k.pointers(p, offsets)
    padding = rng.choice((None, k.const(element, 7, shape), k.fetch(element, shape)))
    if padding is None:
        k.gpu = False
    v = k.load_pointers(at, mask, padding)
    v = changed(k, v) if rng.random() < 0.7 else v
    store = rng.choice((mask, mask, mask_of(k, shape)))
    if store is mask:
        k.store_pointers(at, v, store)
    else:
        q = p if rng.random() < 0.5 else k.pointer(element, k.numbers(element, count))
        k.store_pointers(k.pointers(q, i), v, store)
    if rng.random() < 0.5:
        k.save(v)
    return k.case()


def ragged_blocks(rng: random.Random) -> Case:
    """Tile blocks whose last one is cut by a mask, in place or from array to array."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    width = rng.choice((1, 4, 16, 64, 128))
    count = rng.randint(1, 4 * width)
    names = [k.fresh() for _ in range(3)]
    k.emit(f"{', '.join(names)} = get_tile_block_id : tile<i32>")
    k.grid = (-(-count // width), 1, 1)
    start = k.binary("muli", Value(names[0], "i32", ()), k.const("i32", width))
    i = k.add(k.splat(start, (width,)), k.iota("i32", width))
    mask = k.compare("less_than", i, k.splat(k.number("i32", count), (width,)))
    p = k.pointer(element, k.numbers(element, count))
    q = p if rng.random() < 0.5 else k.pointer(element, k.noise(element, count))
    padding = k.const(element, 0, (width,)) if rng.random() < 0.5 else None
    k.gpu &= padding is not None
    v = k.load_pointers(k.pointers(p, i), mask, padding)
    k.store_pointers(k.pointers(q, i), changed(k, v), mask)
    return k.case()


def wrapping_offsets(rng: random.Random) -> Case:
    """Offsets that are computed with wrap-around, or that wrap around the address space, and are inside at last."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    kind = rng.choice(("i32", "i64", "i64", "i16", "i8"))
    bits = 8 * BYTES[kind]
    count = min(rng.choice((1, 8, 32, 64, 128)), 1 << bits - 1)
    p = k.pointer(element, k.numbers(element, count))
    i = k.iota(kind, count)
    way = rng.choice(("add", "xor", "there and back", "multiply", "address", "cast", "negative"))
    shape = (count,)
    far = rng.getrandbits(bits - 1) - (1 << bits - 2)
    at = k.pointers(p, i)
    if way == "add":
        there = k.add(i, k.splat(k.number(kind, far), shape))
        at = k.pointers(p, k.subtract(there, k.const(kind, far, shape)))
    elif way == "xor":
        at = k.pointers(p, k.binary("xori", i, k.const(kind, rng.randrange(count), shape)))
    elif way == "there and back":
        k.gpu = False
        wrap = rng.choice((1 << 62, 1 << 63, (1 << 64) // BYTES[element], -(1 << 40), 1 << 33))
        wrap = (wrap + (1 << 63)) % (1 << 64) - (1 << 63)
        base = k.op(
            f"ptr<{element}>", (), f"offset {p.name}, {k.number('i64', wrap).name} : {p.type}, tile<i64> -> {p.type}"
        )
        back = k.const("i64", (-wrap + (1 << 63)) % (1 << 64) - (1 << 63), shape)
        wide = k.add(k.iota("i64", count), back)
        at = k.pointers(Pointer(base.name, element, p.region), wide)
    elif way == "multiply":  # an odd factor is a permutation
        factor = k.const(kind, rng.randrange(1, count + 1, 2), shape)
        at = k.pointers(p, k.binary("andi", k.multiply(i, factor), k.const(kind, count - 1, shape)))
    elif way == "address":
        number = k.op("i64", (), f"ptr_to_int {p.name} : {p.type} -> tile<i64>")
        wide = k.multiply(k.iota("i64", count), k.const("i64", BYTES[element], shape))
        address = k.add(k.splat(number, shape), wide)
        at = k.op(
            f"ptr<{element}>", shape, f"int_to_ptr {address.name} : {address.type} -> tile<{count}xptr<{element}>>"
        )
    elif way == "cast":
        other = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}[BYTES[element]]
        cast = k.op(f"ptr<{other}>", shape, f"ptr_to_ptr {at.name} : {at.type} -> tile<{count}xptr<{other}>>")
        at = cast
    else:
        last = k.op(
            f"ptr<{element}>",
            (),
            f"offset {p.name}, {k.number('i32', count - 1).name} : {p.type}, tile<i32> -> {p.type}",
        )
        at = k.pointers(Pointer(last.name, element, p.region), k.unary("negi", i))
    v = k.load_pointers(at)
    k.save(v)
    if rng.random() < 0.6:
        k.store_pointers(at, changed(k, v))
    return k.case()


def allocas(rng: random.Random) -> Case:
    """Memory of a tile block with large alignments, reached through selects, branches and loops."""
    k = Sketch(rng, ordered=True)
    element = rng.choice(("i8", "i32", "i32", "f32", "i64", "f64"))
    count = rng.choice((1, 4, 32, 256))
    made = []
    for _ in range(rng.randint(1, 3)):
        alignment = rng.choice((BYTES[element], 64, 512, 1024, 4096, 1 << 14, 1 << 16))
        text = f"alloca num_elem = {count}, alignment = {alignment} : tile<ptr<{element}>>"
        made.append(k.op(f"ptr<{element}>", (), text))
    shape = (count,)
    i = k.iota("i32", count)
    given = k.fetch(element, shape)

    def at(base: Value) -> Value:
        return k.pointers(Pointer(base.name, element, -1), i)

    for base in made:
        if rng.random() < 0.8:
            k.store_pointers(at(base), rng.choice((given, changed(k, given))))
    one = made[-1]
    way = rng.choice(("plain", "select", "branch", "loop", "view", "aligned"))
    flag = k.compare("less_than", k.number("i32", rng.randrange(2)), k.const("i32", 1))
    if way == "select":
        one = k.select(flag, made[0], made[-1])
    elif way == "branch":
        one = k.branch(flag, lambda: [made[0]], lambda: [made[-1]], [made[0]])[0]
    elif way == "loop":
        zero, step = k.const("i32", 0), k.const("i32", 1)
        swap = lambda _, values: values[::-1]  # noqa: E731
        one = k.for_loop((zero, k.number("i32", rng.randrange(4)), step), [made[0], made[-1]], swap)[0]
    elif way == "aligned":
        number = k.op("i64", (), f"ptr_to_int {one.name} : {one.type} -> tile<i64>")
        k.save(k.binary("andi", number, k.const("i64", alignment - 1)))
    if way == "view":
        view = k.dense(Pointer(one.name, element, -1), shape)
        k.store(changed(k, k.load(view)), view)
    v = k.load_pointers(at(one))
    k.store_pointers(at(one), changed(k, v))
    for base in made:
        k.save(k.load_pointers(at(base)))
    return k.case()


MODES = {"i32": ("add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"), "f32": ("addf", "xchg")}
MODES |= {"i64": MODES["i32"], "f64": ("addf", "xchg"), "f16": ("addf",)}
COMMUTES = ("add", "and", "or", "xor", "max", "min", "umax", "umin", "addf")


def atomics(rng: random.Random) -> Case:
    """Atomic operations: on elements of their own, or on shared ones where the order does not matter."""
    k = Sketch(rng)
    element = rng.choice(("i32", "i32", "i64", "f32", "f64"))
    mode = rng.choice(MODES[element])
    shape = tile_shape(rng, 256, rng.choice((1, 2)))
    count = prod(shape)
    shared = mode in COMMUTES and rng.random() < 0.4
    p = k.pointer(element, k.numbers(element, count))
    i = k.reshape(k.iota("i32", count), shape)
    if shared:
        i = k.binary("andi", i, k.const("i32", count // 2, shape))
        k.grid = (rng.choice((1, 3)), 1, 1)
    at, arg = k.pointers(p, i), k.fetch(element, shape)
    mask = mask_of(k, shape) if rng.random() < 0.4 else None
    given = [at, arg] + ([mask] if mask is not None else [])
    token = k.fresh()
    after = f" token={k.token}" if k.token else ""
    scope = rng.choice(("relaxed device", "acq_rel device", "relaxed sys", "relaxed tl_blk"))
    if shared:
        scope = "relaxed device"
    what = rng.choice(("rmw", "rmw", "cas", "red"))
    if what == "red" and not shared and mode != "xchg":
        view = k.dense(p, shape)
        at0 = ", ".join([k.const("i32", 0).name] * len(shape))
        k.emit(
            f"{token} = atomic_red_view_tko relaxed device {view.name}[{at0}], {mode}, {arg.name}"
            f"{after.replace('=', ' = ')} : {arg.type}, {view.type}, tile<i32> -> token"
        )
        old = None
    elif what == "cas" and not shared:
        compare = k.fetch(element, shape)
        old = Value(k.fresh(), element, shape)
        names = ", ".join(v.name for v in (at, compare, arg, *given[2:]))
        kinds = ", ".join(v.type for v in (at, arg, *given[2:]))
        k.emit(f"{old.name}, {token} = atomic_cas_tko {scope} {names}{after} : {kinds} -> {arg.type}, token")
    else:
        old = Value(k.fresh(), element, shape)
        names = ", ".join([at.name, mode, arg.name, *(v.name for v in given[2:])])
        kinds = ", ".join(v.type for v in given)
        k.emit(f"{old.name}, {token} = atomic_rmw_tko {scope} {names}{after} : {kinds} -> {arg.type}, token")
    if k.token:
        k.token = token
    k.gpu &= mask is None
    if old is not None and not shared:
        k.save(old)
    if k.grid == (1, 1, 1):
        k.save(k.load_pointers(k.pointers(p, k.reshape(k.iota("i32", count), shape))))
    return k.case()


def faults(rng: random.Random) -> Case:
    """Accesses that end one element outside an array, or far away: an error, and nothing is touched."""
    k = Sketch(rng)
    k.gpu = False
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng, 256, rng.choice((1, 2)))
    count = prod(shape)
    room = max(0, count - rng.choice((0, 1, 1, 2, count // 2, count)))
    region = k.region(k.numbers(element, room))
    p = k.part(element, region, 0, room)
    way = rng.choice(("load view", "store view", "load", "store", "neighbour", "promise"))
    if way == "neighbour":  # two arguments, without a gap: the memory is one
        whole = k.region(k.numbers(element, 2 * count))
        first = k.part(element, whole, 0, count)
        k.part(element, whole, count, count)
        view = k.dense(first, (2 * count,))
        k.store(changed(k, k.load(view)), view)
    elif way in ("load view", "store view", "promise"):
        view = k.dense(p, shape)
        if way == "promise":
            index = ", ".join([k.const("i32", 0).name] * len(shape))
            token = k.fresh()
            v = Value(k.fresh(), element, shape)
            sure = ", ".join(["true"] * len(shape))
            smaller = tuple(max(1, n // 2) for n in shape)
            inner = k.view(k.tensor(p, smaller, row_major(shape)), element, shape)
            k.emit(
                f"{v.name}, {token} = load_view_tko weak {inner.name}[{index}] inbounds = [{sure}] : {inner.type}, "
                f"tile<i32> -> {v.type}, token"
            )
            k.save(v)
        elif way == "load view":
            k.save(k.load(view))
        else:
            k.store(k.fetch(element, shape), view)
    else:
        at = k.pointers(p, k.reshape(k.iota("i32", count), shape))
        if way == "load":
            k.save(k.load_pointers(at))
        else:
            k.store_pointers(at, k.fetch(element, shape))
    return k.case()
