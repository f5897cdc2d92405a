"""Long chains: hundreds of operations on a few tiles, with loads and stores of overlapping memory in between."""

from __future__ import annotations

import random

from .case import Case, Value
from .sketch import Sketch

SIDE = 4
SHAPE = (SIDE * SIDE,)


def longer(k: Sketch, tiles: list[Value]) -> Value:
    """Return a tile that is computed from some of the last ones, at the same or at other positions."""
    a, b = k.rng.choice(tiles[-4:]), k.rng.choice(tiles[-9:])
    match k.rng.randrange(9):
        case 0:
            return k.multiply(a, k.const(a.element, k.rng.choice((-1, 1, 2)), SHAPE))
        case 1:
            return k.select(k.compare("less_than", a, b), b, a)
        case 2:
            turned = k.permute(k.reshape(a, (SIDE, SIDE)), (1, 0))
            return k.add(k.reshape(turned, SHAPE), b)
        case 3:
            half = (SHAPE[0] // 2,)
            parts = [k.extract(v, [k.const("i32", k.rng.randrange(2))], half) for v in (a, b)]
            return k.cat(parts[0], parts[1], 0)
        case 4:
            total = k.fold("reduce", [k.reshape(a, (SIDE, SIDE))], 1, lambda x, y: [k.add(x[0], y[0])], [0])[0]
            return k.add(b, k.reshape(k.broadcast(k.reshape(total, (SIDE, 1)), (SIDE, SIDE)), SHAPE))
        case 5:
            return k.subtract(a, b)
        case _:
            return k.add(a, b)


def chains(rng: random.Random) -> Case:
    """More operations than are fused into one nest, branches, loops that go on with the last tiles, and memory."""
    k = Sketch(rng)
    element = rng.choice(("i32", "i32", "i64", "i16"))
    p = k.pointer(element, k.numbers(element, 4 * SHAPE[0]))
    places = [k.part(element, p.region, rng.randrange(3 * SHAPE[0]), SHAPE[0]) for _ in range(rng.randint(1, 4))]
    views = [k.dense(place, SHAPE) for place in places]
    memory = rng.choice((0.0, 0.02, 0.2, 0.6))
    tiles = [k.load(views[0])]

    def go_on(count: int) -> None:
        for _ in range(count):
            draw = rng.random()
            if draw < memory:
                tiles.append(k.add(k.load(rng.choice(views)), tiles[-1]))
                if rng.random() < 0.5:
                    k.store(rng.choice(tiles[-3:]), rng.choice(views))
            elif draw < memory + 0.02:
                tiles.append(branch())
            elif draw < memory + 0.03:
                tiles.extend(loop())
            else:
                tiles.append(longer(k, tiles))

    def inside(count: int) -> Value:
        known = len(tiles)
        go_on(count)
        last = tiles[-1]
        del tiles[known:]
        return last

    def branch() -> Value:
        condition = k.number("i1", rng.randrange(2))
        like = tiles[-1]
        return k.branch(condition, lambda: [inside(rng.randint(1, 5))], lambda: [rng.choice(tiles)], [like])[0]

    def loop() -> list[Value]:
        bounds = [k.number("i32", n) for n in (0, rng.randrange(4), 1)]

        def body(i: Value, carried: list[Value]) -> list[Value]:
            known = len(tiles)
            tiles.extend(carried)
            last = inside(rng.randint(1, 6))
            del tiles[known:]
            return [last, carried[0]]

        return k.for_loop(bounds, [tiles[-1], tiles[0]], body)

    go_on(rng.choice((20, 60, 60, 150, 400)))
    k.save(tiles[-1])
    if rng.random() < 0.5:
        k.save(rng.choice(tiles))
    return k.case()
