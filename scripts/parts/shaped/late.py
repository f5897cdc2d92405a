"""Tiles that are loaded before memory changes and used after it; globals; many tile blocks."""

from __future__ import annotations

import random
from math import prod

from .case import Case, Pointer, Shape, Value
from .sketch import Sketch
from .views import changed, tile_shape

ELEMENTS = ("i32", "i32", "f32", "f32", "i64", "f64", "i8", "f16", "bf16", "i16")


def block_parts(k: Sketch, element: str, size: int, blocks: int) -> list[Pointer]:
    """Pointers to memory that a tile block has for itself: parameters that are the same, overlap, or are apart."""
    rng = k.rng
    whole = k.region(k.numbers(element, 2 * size * blocks, -2, 2))
    other = k.region(k.numbers(element, 2 * size * blocks, -2, 2))
    given = [k.part(element, rng.choice((whole, whole, other)), 0, 2 * size * blocks) for _ in range(2)]
    ids = [k.fresh() for _ in range(3)]
    k.emit(f"{', '.join(ids)} = get_tile_block_id : tile<i32>")
    k.grid = (blocks, 1, 1)
    start = k.binary("muli", Value(ids[0], "i32", ()), k.const("i32", 2 * size))
    made = []
    for n in range(3):
        shift = k.const("i32", rng.choice((0, 0, 1, size // 2, size)))
        at = k.add(start, shift)
        p = given[n % 2]
        moved = k.fresh()
        k.emit(f"{moved} = offset {p.name}, {at.name} : {p.type}, tile<i32> -> {p.type}")
        made.append(Pointer(moved, element, p.region))
    return made


def read(k: Sketch, p: Pointer, shape: Shape) -> Value:
    """Load a tile in one of several ways."""
    rng, count = k.rng, prod(shape)
    match rng.randrange(6):
        case 0 if len(shape) > 1:
            return k.permute(k.load(k.dense(p, shape[::-1])), range(len(shape))[::-1])
        case 1:
            return k.load_pointers(k.pointers(p, k.reshape(k.iota("i32", count), shape)))
        case 2:
            by = k.const("i32", rng.randrange(count), (count,))
            return k.load_pointers(k.pointers(p, k.reshape(k.binary("xori", k.iota("i32", count), by), shape)))
        case 3:
            view = k.view(k.tensor(p, (count,), (1,)), p.element, (count,), sparse=0)
            return k.reshape(k.load(view, [k.iota("i32", count)]), shape)
        case 4:
            return k.reshape(k.load(k.dense(p, (count,))), shape)
    return k.load(k.dense(p, shape))


def write(k: Sketch, p: Pointer, v: Value) -> None:
    """Store a tile in one of several ways."""
    rng, shape, count = k.rng, v.shape, prod(v.shape)
    match rng.randrange(5):
        case 0 if len(shape) > 1:
            k.store(k.permute(v, range(len(shape))[::-1]), k.dense(p, shape[::-1]))
        case 1:
            k.store_pointers(k.pointers(p, k.reshape(k.iota("i32", count), shape)), v)
        case 2:
            mask = k.fetch("i1", shape, 0, 1)
            k.store_pointers(k.pointers(p, k.reshape(k.iota("i32", count), shape)), v, mask)
        case 3:
            view = k.view(k.tensor(p, (count,), (1,)), p.element, (count,), sparse=0)
            by = k.const("i32", rng.randrange(count), (count,))
            k.store(k.reshape(v, (count,)), view, [k.binary("xori", k.iota("i32", count), by)])
        case _:
            k.store(v, k.dense(p, shape))


def derived(k: Sketch, v: Value) -> Value:
    """A tile of the same shape that an engine may compute late."""
    rng, dim = k.rng, k.rng.randrange(len(v.shape))
    match rng.randrange(7):
        case 0:
            return changed(k, v)
        case 1 if v.shape == v.shape[::-1] and len(v.shape) > 1:
            return k.permute(v, range(len(v.shape))[::-1])
        case 2 if v.shape[dim] > 1:
            half = tuple(n // 2 if d == dim else n for d, n in enumerate(v.shape))
            zero = k.const("i32", 0)
            parts = [
                k.extract(v, [k.const("i32", i) if d == dim else zero for d in range(len(half))], half) for i in (1, 0)
            ]
            return k.cat(parts[0], parts[1], dim)
        case 3:
            one = tuple(1 if d == dim else n for d, n in enumerate(v.shape))
            return k.broadcast(k.extract(v, [k.const("i32", 0)] * len(one), one), v.shape)
        case 4:
            return k.add(v, v)
        case 5:
            return k.select(k.compare("less_than", v, k.const(v.element, 0, v.shape)), k.negative(v), v)
    return v


def use(k: Sketch, tiles: list[Value], target: Pointer) -> None:
    """Use a tile that may have been loaded long ago."""
    rng, v = k.rng, k.rng.choice(tiles)
    for _ in range(rng.choice((0, 0, 1, 2))):
        v = derived(k, v)
    shape = v.shape
    match rng.randrange(6):
        case 0:
            v = k.add(v, rng.choice(tiles))
        case 1:
            k.gpu = False  # no identity is neutral
            dim = rng.randrange(len(shape))
            v = k.fold("scan", [v], dim, lambda a, b: [b[0]], [0], rng.random() < 0.5)[0]
        case 2:
            k.gpu = False
            dim = rng.randrange(len(shape))
            small = k.fold("reduce", [v], dim, lambda a, b: [a[0]], [0])[0]
            kept = tuple(1 if d == dim else n for d, n in enumerate(shape))
            v = k.broadcast(k.reshape(small, kept), shape)
        case 3 if len(shape) == 2 and shape[0] == shape[1] and v.element in ("f32", "f64", "f16"):
            unit = k.select(k.fetch("i1", shape, 0, 0), v, k.const(v.element, 0, shape))
            v = k.product(unit, rng.choice(tiles), v)
    write(k, target, v)


def late_uses(rng: random.Random) -> Case:
    """Loads, writes in straight code, branches and loops, and uses of what was loaded before them."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    shape = tile_shape(rng, 256)
    count = prod(shape)
    blocks = rng.choice((1, 1, 2, 5))
    parts = block_parts(k, element, count, blocks)
    tiles = [read(k, rng.choice(parts), shape) for _ in range(rng.choice((1, 2)))]
    zero, one = k.const("i32", 0), k.const("i32", 1)
    flag = k.compare("less_than", k.number("i32", rng.randrange(2)), one)
    turns = k.number("i32", rng.randrange(3))

    def several() -> None:
        for _ in range(rng.randint(1, 2)):
            if rng.random() < 0.4:
                write(k, rng.choice(parts), changed(k, rng.choice(tiles)))
            else:
                use(k, tiles, rng.choice(parts))

    def side() -> list[Value]:
        several()
        return [derived(k, rng.choice(tiles))]

    def turn(i: Value, values: list[Value]) -> list[Value]:
        several()
        return [rng.choice((values[0], changed(k, values[0]), rng.choice(tiles)))]

    for _ in range(rng.randint(2, 4)):
        match rng.randrange(6):
            case 0:
                tiles.extend(k.branch(flag, side, lambda: [rng.choice(tiles)], tiles[:1]))
            case 1:
                tiles.extend(k.for_loop((zero, turns, one), tiles[:1], turn))
            case 2:
                tiles.append(read(k, rng.choice(parts), shape))
            case 3:
                tiles.append(derived(k, rng.choice(tiles)))
            case _:
                several()
    use(k, tiles, parts[0])
    return k.case()


def carried_pointers(rng: random.Random) -> Case:
    """Tiles of pointers that loops move, branches choose and selects mix."""
    k = Sketch(rng)
    element = rng.choice(ELEMENTS)
    width = rng.choice((1, 4, 16, 64))
    turns = rng.randint(0, 4)
    p = k.pointer(element, k.numbers(element, width * (turns + 2)))
    q = k.pointer(element, k.numbers(element, width * (turns + 2)))
    i = k.iota("i32", width)
    zero, one = k.const("i32", 0), k.const("i32", 1)
    step = k.const("i32", width, (width,))
    ptr = f"ptr<{element}>"

    def moved(at: Value, by: Value) -> Value:
        return k.op(ptr, at.shape, f"offset {at.name}, {by.name} : {at.type}, {by.type} -> {at.type}")

    def turn(n: Value, values: list[Value]) -> list[Value]:
        a, b, total = values
        odd = k.compare("equal", k.binary("andi", n, one), one)
        v = k.load_pointers(a)
        match rng.randrange(3):
            case 0:
                b = k.branch(odd, lambda: [moved(b, step)], lambda: [moved(b, step)], [b])[0]
            case 1:
                b = moved(b, k.select(k.splat(odd, (width,)), step, step))
            case _:
                b = moved(b, step)
        k.store_pointers(b, changed(k, v))
        return [moved(a, step), b, k.select(k.splat(odd, (width,)), v, total)]

    start = [k.pointers(p, i), k.pointers(rng.choice((p, q)), i), k.const(element, 1, (width,))]
    made = k.for_loop((zero, k.number("i32", turns), one), start, turn)
    k.save(made[2])
    k.save(k.load_pointers(made[0]))
    return k.case()
