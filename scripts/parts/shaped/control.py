"""Control flow: loops and branches that carry tiles, left from anywhere; prints and assertions."""

from __future__ import annotations

import random
from math import prod

from .case import Case, Value
from .sketch import Sketch
from .tiles import computed
from .views import changed, tile_shape

ELEMENTS = ("i32", "i32", "f32", "i64", "f64", "i8", "f16", "i16")


class Flow:
    """The state that the statements of a kernel share."""

    def __init__(self, k: Sketch, element: str, shape: tuple[int, ...]) -> None:
        self.k = k
        self.shape = shape
        self.given = k.fetch(element, shape)
        self.numbers = [k.number("i32", n) for n in (k.rng.randrange(4), k.rng.randrange(4), k.rng.randrange(2))]
        self.zero, self.one = k.const("i32", 0), k.const("i32", 1)
        self.array = k.pointer(element, k.numbers(element, prod(shape)))
        self.view = k.dense(self.array, shape)

    def mixed(self, tiles: list[Value]) -> list[Value]:
        """The same number of tiles: changed, exchanged, or one for all."""
        k, rng = self.k, self.k.rng
        made = list(tiles)
        match rng.randrange(6):
            case 0:
                made.reverse()
            case 1:
                made = [tiles[-1]] * len(tiles)
            case 2:
                made[0] = changed(k, tiles[-1])
            case 3:
                made[-1] = self.limited(k.add(tiles[0], tiles[-1]))
            case 4 if self.shape == self.shape[::-1] and len(self.shape) > 1:
                made[0] = k.permute(tiles[-1], range(len(self.shape))[::-1])
            case _:
                made[0] = k.select(k.compare("less_than", tiles[0], self.given), tiles[-1], self.given)
        return made

    def limited(self, v: Value) -> Value:
        """Keep floats small, so that they are exact."""
        k = self.k
        if v.element[0] == "i":
            return v
        top = k.const(v.element, 8, v.shape)
        return k.binary("minf", k.binary("maxf", v, k.negative(top)), top)

    def condition(self, i: Value) -> Value:
        k, rng = self.k, self.k.rng
        n = rng.choice(self.numbers)
        match rng.randrange(4):
            case 0:
                return k.compare("equal", k.binary("andi", i, self.one), self.zero)
            case 1:
                return k.compare(rng.choice(("less_than", "equal", "greater_than")), i, n)
            case 2:
                return k.compare("less_than", n, self.one)
        return k.compare("not_equal", i, self.one)

    def touch(self, tiles: list[Value]) -> list[Value]:
        """Perhaps access the array that all statements share."""
        k, rng = self.k, self.k.rng
        made = list(tiles)
        if rng.random() < 0.25:
            k.store(rng.choice(tiles), self.view)
        if rng.random() < 0.2:
            made[rng.randrange(len(made))] = k.load(self.view)
        return made


def statement(f: Flow, tiles: list[Value], i: Value, depth: int) -> list[Value]:
    """A statement that turns tiles into as many others."""
    k, rng = f.k, f.k.rng
    if depth <= 0:
        return f.touch(f.mixed(tiles))
    kind = rng.choice(("for", "loop", "if", "if", "for with continue", "two"))
    count = rng.choice(f.numbers)
    if kind == "two":
        return statement(f, statement(f, tiles, i, depth - 1), i, depth - 1)
    if kind == "if":
        sides = [lambda: statement(f, tiles, i, depth - 1), lambda: f.touch(f.mixed(tiles))]
        rng.shuffle(sides)
        return k.branch(f.condition(i), sides[0], sides[1], tiles)
    if kind == "loop":

        def turn(values: list[Value]) -> None:
            at, *rest = values
            if rng.random() < 0.4:
                rest = f.touch(rest)
            if rng.random() < 0.5:  # the end is inside of a branch
                k.when(k.compare("greater_than_or_equal", at, count), lambda: k.leave("break", f.mixed(rest)))
            else:
                k.when(k.compare("greater_than_or_equal", at, count), lambda: k.leave("break", rest))
            after = k.add(at, f.one)
            if rng.random() < 0.5:
                k.when(f.condition(at), lambda: k.leave("continue", [after, *f.mixed(rest)]))
            k.leave("continue", [after, *statement(f, rest, at, depth - 1)])

        return k.loop([f.zero, *tiles], turn, tiles)

    def each(at: Value, values: list[Value]) -> list[Value]:
        if kind == "for with continue":
            k.when(f.condition(at), lambda: k.leave("continue", f.mixed(values)))
        return statement(f, values, at, depth - 1)

    return k.for_loop((f.zero, count, f.one), tiles, each)


def flows(rng: random.Random) -> Case:
    """Nested loops and branches that carry tiles; `break` and `continue` leave them from inside branches."""
    k = Sketch(rng)
    shape = tile_shape(rng, 128)
    f = Flow(k, rng.choice(ELEMENTS), shape)
    tiles = [f.given, k.fetch(f.given.element, shape)][: rng.choice((1, 2, 2))]
    made = statement(f, tiles, rng.choice(f.numbers), rng.choice((1, 2, 2, 3)))
    for v in made:
        k.save(v)
    return k.case()


def bounds(rng: random.Random) -> Case:
    """`for` with bounds and steps at the limits of their type, with and without sign."""
    k = Sketch(rng)
    kind = rng.choice(("i8", "i16", "i32", "i64"))
    bits = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}[kind]
    top = (1 << bits - 1) - 1
    step = rng.choice((1, 1, 2, 3, top // 2, top))
    unsigned = rng.random() < 0.3
    low = rng.choice((0, -2, top - 3, -top - 1, top, 5))
    high = low + rng.choice((0, 1, 2, 3, -1, 3)) * step
    high = max(-top - 1, min(top, high))
    if unsigned and (high - low if (low < 0) == (high < 0) else 1 << bits) // step > 8:
        high = low
    k.gpu &= max(abs(low), step) < 100  # overflow is undefined
    start = k.fetch("i64", (4,))

    def body(i: Value, values: list[Value]) -> list[Value]:
        return [k.add(k.add(values[0], values[0]), k.splat(k.convert(i, "i64"), (4,)))]

    given = [k.number(kind, n) if rng.random() < 0.6 else k.const(kind, n) for n in (low, high, step)]
    made = k.for_loop(given, [start], body, "unsigned " if unsigned else "")
    k.save(made[0])
    return k.case()


def effects(rng: random.Random) -> Case:
    """Prints and assertions among stores, in loops and branches; assertions may fail."""
    k = Sketch(rng)
    k.gpu = False
    shape = tile_shape(rng, 16)
    f = Flow(k, rng.choice(("i32", "f32", "i64", "i8")), shape)
    k.grid = (rng.choice((1, 1, 3)), 1, 1)
    letter = "%f" if f.given.element == "f32" else "%ld" if f.given.element == "i64" else "%d"

    def show(v: Value) -> None:
        token = k.fresh()
        after = f" token = {k.token}" if k.token and rng.random() < 0.5 else ""
        k.emit(f'{token} = print_tko "v = {letter}\\0A", {v.name}{after} : {v.type} -> token')
        if after:
            k.token = token

    def each(i: Value, values: list[Value]) -> list[Value]:
        if rng.random() < 0.7:
            show(values[0])
        if rng.random() < 0.4:
            fails = rng.random() < 0.3
            limit = k.const("i32", 1 if fails else 100)
            k.emit(f'assert {k.compare("less_than", i, limit).name}, "small" : tile<i1>')
        made = f.mixed(values)
        if k.grid[0] == 1 and rng.random() < 0.4:
            k.store(made[0], f.view)
        if rng.random() < 0.5:

            def side() -> list[Value]:
                show(made[-1])
                return f.mixed(made)

            return k.branch(f.condition(i), side, lambda: made, made)
        return made

    made = k.for_loop((f.zero, f.numbers[0], f.one), [f.given, changed(k, f.given)], each)
    show(made[0])
    if k.grid[0] == 1:
        k.save(made[-1])
    return k.case()


def shared_operands(rng: random.Random) -> Case:
    """Chains in which each value is used several times, by operations with and without loops of their own."""
    k = Sketch(rng)
    element = rng.choice(("i32", "i64", "i8"))
    shape = tile_shape(rng, 256)
    v = k.fetch(element, shape)
    for _ in range(rng.randint(4, 12)):
        tiles = computed(k, v, 2)
        v = k.add(k.multiply(v, tiles[-1]), tiles[-2])
        if rng.random() < 0.2:
            dim = rng.randrange(len(shape))
            v = k.add(v, k.fold("scan", [v], dim, lambda a, b: [k.add(a[0], b[0])], [0])[0])
    k.save(v)
    return k.case()
