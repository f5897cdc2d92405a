"""Views: in place, overlapping themselves and others, far away, of size zero, with strides of any kind."""

from __future__ import annotations

import random
from math import prod

from .case import Case, Pointer, Shape, Value, View, row_major
from .elements import BYTES, encode, is_float
from .products import odd_strides, span
from .sketch import Sketch

ELEMENTS = ("i8", "i16", "i32", "i32", "i64", "f16", "bf16", "f32", "f32", "f64")


def changed(k: Sketch, v: Value) -> Value:
    """Apply an element-wise function that depends on nothing but the element."""
    one = k.const(v.element, 1, v.shape)
    match k.rng.randrange(4):
        case 0:
            return k.add(v, one)
        case 1:
            return k.negative(v)
        case 2:
            return k.add(k.add(v, v), one)
    return k.subtract(one, v)


def tile_shape(rng: random.Random, most: int = 1024, rank: int | None = None) -> Shape:
    while True:
        shape = tuple(rng.choice((1, 1, 2, 4, 8, 16, 32, 64)) for _ in range(rank or rng.choice((1, 2, 2, 2, 3))))
        if prod(shape) <= most:
            return shape


def in_place(rng: random.Random) -> Case:
    """Load, change and store the same view, which may overlap itself: every element has one right value."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng)
    strides = tuple(rng.choice((0, 1, 1, 2, 3, 4, 5, 8, n, n + 1)) for n in shape)
    whole = list(shape)
    if rng.random() < 0.25:  # a tensor of one element along a dimension, whose stride leads nowhere
        d = rng.randrange(len(shape))
        whole[d] = 1
        long = rng.choice((1 << 34, 1 << 59, 1 << 60, 3 << 59, 1 << 61, (1 << 61) - 8, 1 << 62))
        strides = tuple(long if n == d else rng.choice((0, stride)) for n, stride in enumerate(strides))
    p = k.pointer(element, k.numbers(element, span(tuple(whole), strides)))

    def viewed() -> View:
        return k.view(k.tensor(p, whole, strides), element, shape, padding="zero")

    view = viewed()
    v = k.load(view)
    for _ in range(rng.choice((1, 1, 2))):
        v = changed(k, v)
    if rng.random() < 0.3:
        k.save(v)
    again = view if rng.random() < 0.5 else viewed()
    k.store(v, again)
    if rng.random() < 0.3:  # once more, with what is there now
        k.store(changed(k, k.load(view)), again)
    return k.case()


def some_tensor(k: Sketch, p: Pointer, count: int, shape: Shape, overlap: bool) -> View:
    """A view of a tile anywhere in an array of `count` elements."""
    rng = k.rng
    for _ in range(100):
        strides = odd_strides(rng, shape)
        strides = tuple(1 if s > count else s for s in strides)
        if overlap:
            strides = tuple(rng.choice((s, 0, 1, 2)) for s in strides)
        room = count - span(shape, strides)
        if room >= 0:
            break
    else:
        strides, room = (0,) * len(shape), count - 1
    start = rng.choice((0, room, rng.randint(0, room)))
    at = p
    if start:
        moved = k.fresh()
        by = k.number("i32", start) if rng.random() < 0.5 else k.const("i32", start)
        k.emit(f"{moved} = offset {p.name}, {by.name} : {p.type}, tile<i32> -> {p.type}")
        at = Pointer(moved, p.element, p.region)
    return k.dense(at, shape, strides)


def overlapping_views(rng: random.Random) -> Case:
    """Loads and stores through several views of one array, in some order; loaded tiles are used after stores."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    count = rng.choice((16, 64, 128, 300))
    p = k.pointer(element, k.numbers(element, count))
    shape = tile_shape(rng, min(count, 128))
    orders = [shape, shape[::-1]] if len(shape) > 1 else [shape]
    tiles: list[Value] = []
    for _ in range(rng.randint(3, 8)):
        if not tiles or rng.random() < 0.45:
            sizes = rng.choice(orders)
            v = k.load(some_tensor(k, p, count, sizes, rng.random() < 0.3))
            if rng.random() < 0.2:  # a smaller tile, which may begin at the same place
                k.save(k.load(some_tensor(k, p, count, (2,) * len(shape), False)))
            tiles.append(v if sizes == shape else k.permute(v, range(len(shape))[::-1]))
        elif rng.random() < 0.7:
            v = rng.choice(tiles)
            for _ in range(rng.choice((0, 1, 2))):
                v = rng.choice((changed(k, v), k.add(v, rng.choice(tiles))))
            if v.shape == v.shape[::-1] and len(shape) > 1 and rng.random() < 0.4:
                v = k.permute(v, range(len(shape))[::-1])
            k.store(v, some_tensor(k, p, count, shape, False))
        else:
            k.save(rng.choice(tiles))
    k.save(rng.choice(tiles))
    return k.case()


def shifted_windows(rng: random.Random) -> Case:
    """A loop over windows of an array that overlap: each iteration reads what the one before has written."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    rank = rng.choice((1, 1, 2))
    shape = tile_shape(rng, 256, rank)
    steps = tuple(rng.choice((1, 2, 3, n, 2 * n)) for n in shape)
    turns = rng.randint(1, 4)
    whole = tuple(max(1, s * turns + n - rng.randint(0, n)) for s, n in zip(steps, shape))
    if prod(whole) > 1 << 13:
        return shifted_windows(rng)
    p = k.pointer(element, k.numbers(element, prod(whole)))
    tensor = k.tensor(p, whole, row_major(whole))
    padding = k.padding()
    view = k.view(tensor, element, shape, steps=steps, padding=padding)
    out = view if rng.random() < 0.7 else k.view(tensor, element, shape)
    zero, one = k.const("i32", 0), k.const("i32", 1)
    carries = rng.random() < 0.5
    start = [k.const(element, 1, shape)] if carries else []

    def body(i: Value, values: list[Value]) -> list[Value]:
        at = [i] + [rng.choice((zero, i)) for _ in shape[1:]]
        v = k.load(view, at)
        w = k.add(v, values[0]) if values else changed(k, v)
        k.store(w, out, [k.add(i, one), *at[1:]] if rng.random() < 0.6 else at)
        return [w] if values else []

    made = k.for_loop((zero, k.number("i32", turns), one), start, body)
    if made:
        k.save(made[0])
    return k.case()


def aliasing_arguments(rng: random.Random) -> Case:
    """Arguments that are the same memory, overlap, or are neighbours; some of other element types."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    width = rng.choice((1, 4, 8, 16, 32, 64))
    rows = rng.choice((1, 1, 2, 4, 8))
    shape = (width,) if rows == 1 else (rows, width)
    count = prod(shape)
    region = k.region(k.numbers(element, 4 * count))
    pointers = []
    for n in range(3):
        start = rng.choice((0, n * count, rng.randint(0, 3 * count), count, max(0, count - 1), min(n, 3 * count)))
        pointers.append(k.part(element, region, start, count))
    views = [k.dense(p, shape) for p in pointers]
    tiles = [k.load(v) for v in rng.sample(views, 2)]
    for _ in range(rng.randint(1, 4)):
        v = k.add(rng.choice(tiles), rng.choice(tiles)) if rng.random() < 0.7 else changed(k, rng.choice(tiles))
        if len(shape) == 2 and rows == width and rng.random() < 0.4:
            v = k.transpose(v)
        k.store(v, rng.choice(views))
        if rng.random() < 0.5:
            tiles.append(k.load(rng.choice(views)))
    if rng.random() < 0.5:
        k.save(rng.choice(tiles))
    return k.case()


LIMITS = [
    n + d
    for n in (0, 1 << 7, 1 << 15, 1 << 30, 1 << 31, 1 << 32, 1 << 40, 1 << 57, 1 << 61, 1 << 62, 1 << 63)
    for d in (-2, -1, 0, 1, 2)
]
"""Numbers at which something wraps around."""


def limit(rng: random.Random, element: str) -> int:
    """A number of an integer type that is likely to be at an edge."""
    bits = 8 * BYTES[element]
    number = rng.choice(LIMITS) * rng.choice((1, 1, -1))
    if rng.random() < 0.3:
        number = rng.randint(-3, 3)
    if rng.random() < 0.1:
        number = rng.getrandbits(bits)
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def far_indices(rng: random.Random) -> Case:
    """Indices at the limits of their types, in views with sizes and strides at limits."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    rank = rng.choice((1, 1, 2))
    shape = tile_shape(rng, 64, rank)
    whole = tuple(rng.choice((n, n, 2 * n, 2 * n - 1, 3)) for n in shape)
    strides = row_major(whole)
    count = span(whole, strides)
    p = k.pointer(element, k.numbers(element, count))
    padding = rng.choice(("neg_zero", "pos_inf")) if is_float(element) and rng.random() < 0.3 else k.padding()
    kind = rng.choice(("partition", "strided", "strided"))
    steps = [rng.choice((1, 2, 3, 1 << 16, 1 << 24, (1 << 31) - 1)) for _ in shape] if kind == "strided" else None
    view = k.view(k.tensor(p, whole, strides, 0.5), element, shape, padding=padding, steps=steps)
    index = rng.choice(("i8", "i16", "i32", "i64", "i64"))

    def at() -> list[Value]:
        return [k.number(index, limit(rng, index)) if rng.random() < 0.7 else k.const(index, 0) for _ in shape]

    v = k.load(view, at())
    k.save(v)
    if rng.random() < 0.6:
        k.store(changed(k, v), view, at())
    if rng.random() < 0.3:
        k.save(k.load(view, [k.add(a, k.const(index, 1)) for a in at()]))
    return k.case()


def zero_sizes(rng: random.Random) -> Case:
    """Arrays, tensors and loops of size zero."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng, 64)
    whole = tuple(rng.choice((0, 1, n, n + 1)) for n in shape)
    strides = tuple(rng.choice((s, s, 1, limit(rng, "i64"))) if 0 in whole else s for s in row_major(whole))
    p = k.pointer(element, k.numbers(element, prod(whole)))
    padding = k.padding()
    k.gpu = False
    view = k.view(k.tensor(p, whole, strides, 0.6), element, shape, padding=padding)
    index = [k.number("i32", rng.choice((0, 0, 1, -1))) for _ in shape]
    v = k.load(view, index)
    k.store(changed(k, v), view, index)
    zero, one = k.const("i32", 0), k.const("i32", 1)
    count = k.number("i32", rng.choice((0, -1, -5, 1)))

    def body(i: Value, values: list[Value]) -> list[Value]:
        return [k.add(values[0], k.load(view, index))]

    made = k.for_loop((zero, count, one), [v], body)
    k.save(made[0])
    return k.case()


def odd_tensors(rng: random.Random) -> Case:
    """Copies between tensors with any strides, on several tile blocks, with tiles that are cut."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    rank = rng.choice((1, 2, 2, 3))
    shape = tile_shape(rng, 256, rank)
    whole = tuple(rng.choice((1, n, n, 2 * n, max(1, n - 1), n + 1)) for n in shape)
    names = [k.fresh() for _ in range(3)]
    k.emit(f"{', '.join(names)} = get_tile_block_id : tile<i32>")
    index = [Value(name, "i32", ()) for name in names[:rank]]
    views = []
    for side in range(2):
        for _ in range(100):
            strides = odd_strides(rng, whole)
            strides = tuple(s if n == 1 else min(s, 1 << 16) for n, s in zip(whole, strides))
            if span(whole, strides) <= 1 << 13:
                break
        else:
            strides = row_major(whole)
        if not side and rng.random() < 0.2:
            strides = tuple(rng.choice((0, s)) for s in strides)
        order = list(range(rank))
        if rng.random() < 0.4:
            rng.shuffle(order)
        sizes, steps = [0] * rank, [0] * rank
        for d, to in enumerate(order):
            sizes[to], steps[to] = whole[d], strides[d]
        p = k.pointer(element, k.noise(element, span(whole, strides)))
        padding = k.padding()
        views.append(k.view(k.tensor(p, sizes, steps), element, shape, order=order, padding=padding))
    k.grid = tuple([-(-n // s) for n, s in zip(whole, shape)] + [1, 1, 1])[:3]  # type: ignore[assignment]
    v = k.load(views[0], index)
    if not is_float(element):
        v = changed(k, v)
    k.store(v, views[1], index)
    return k.case()


def large_strides(rng: random.Random) -> Case:
    """Strides that wrap around 64 bits, are negative, or so large that only one element is inside."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng, 64, 2)
    item = BYTES[element]
    count = rng.choice((64, 100, 256))
    p = k.pointer(element, k.numbers(element, count))
    wrap = (1 << 64) // item
    strides = [
        rng.choice((1, n, wrap - 1, wrap, wrap + 1, 1 << 63, (1 << 64) - 1, (1 << 63) - 1, 1 << 40, 0)) for n in shape
    ]
    whole = tuple(rng.choice((n, 1, 1, 1 << 31, (1 << 63) - 1)) for n in shape)
    k.gpu = False  # which access is illegal is the machine's business
    padding = k.padding()
    view = k.view(k.tensor(p, whole, strides, 1.0), element, shape, padding=padding)
    index = [k.number("i64", rng.choice((0, 0, 0, 1, -1, limit(rng, "i64")))) for _ in shape]
    v = k.load(view, index)
    k.save(v)
    if rng.random() < 0.5:
        k.store(v, view, index)
    return k.case()


def sparse_views(rng: random.Random) -> Case:
    """Gather and scatter: positions repeat for loads, and may be outside; for stores each occurs once."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    rank = rng.choice((1, 2, 2, 3))
    shape = tile_shape(rng, 256, rank)
    dim = rng.randrange(rank)
    whole = tuple(rng.choice((n, 2 * n, max(1, n - 1))) for n in shape)
    strides = row_major(whole) if rng.random() < 0.6 else odd_strides(rng, whole)
    strides = strides if span(whole, strides) <= 1 << 13 else row_major(whole)
    p = k.pointer(element, k.numbers(element, span(whole, strides)))
    padding = k.padding()
    view = k.view(k.tensor(p, whole, strides), element, shape, sparse=dim, padding=padding)
    kind = rng.choice(("i32", "i64", "i32", "i16"))
    n = shape[dim]
    wild = rng.random() < 0.3
    places = [limit(rng, kind) if wild and rng.random() < 0.3 else rng.randrange(whole[dim]) for _ in range(n)]
    q = k.pointer(kind, encode(kind, places))
    positions = k.load(k.dense(q, (n,)))
    index = [positions if d == dim else k.const(kind, 0) for d in range(rank)]
    v = k.load(view, index)
    if rng.random() < 0.5:
        k.save(v)
    way = rng.choice(("xor", "load", "none", "partition"))
    if way == "xor":
        mask = k.const(kind, rng.randrange(n), (n,))
        index[dim] = k.binary("xori", k.iota(kind, n), mask)
    elif way == "load":
        order = rng.sample(range(max(n, whole[dim])), n)
        index[dim] = k.load(k.dense(k.pointer(kind, encode(kind, order)), (n,)))
    if way == "partition":
        k.store(changed(k, v), k.view(k.tensor(p, whole, strides), element, shape))
    elif way != "none":
        k.store(changed(k, v), view, index)
    k.save(v)
    return k.case()
