"""Tokens: what orders accesses comes through loops that may not run, branches, joins, and from outside of a loop."""

from __future__ import annotations

import random

from .case import Case, Pointer, Value, row_major
from .sketch import Sketch
from .views import changed


class Paths:
    """Accesses of one array, in two orders: neighbours of a tile are in different threads of a GPU."""

    def __init__(self, k: Sketch) -> None:
        self.k = k
        element = k.rng.choice(("i32", "f32", "f32", "i16", "i64"))
        rows, columns = k.rng.choice(((1, 128), (8, 32), (32, 32), (64, 16), (2, 512), (16, 64)))
        self.shape = (rows, columns)
        self.array = k.pointer(element, k.numbers(element, rows * columns))
        self.views = [k.dense(self.array, self.shape), k.dense(self.array, self.shape, (1, rows))]
        self.numbers = [k.number("i32", n) for n in (0, k.rng.randrange(2), k.rng.randrange(3))]
        self.zero, self.one = k.const("i32", 0), k.const("i32", 1)
        self.depth, self.budget = 0, k.rng.randint(4, 9)
        self.tokens = [k.token]

    def statements(self, v: Value) -> Value:
        """Write statements that change a tile and the array; return the tile."""
        k = self.k
        for _ in range(k.rng.randint(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            way = k.rng.random()
            if way < 0.35 or self.depth > 1:
                v = k.add(k.load(k.rng.choice(self.views)), k.const(v.element, 1, self.shape))
            elif way < 0.65:
                k.store(v, k.rng.choice(self.views))
            elif way < 0.75:
                self.carried_only()
            elif way < 0.9:
                v = self.loop(v)
            else:
                v = self.branch(v)
            self.tokens.append(k.token)
        return v

    def loop(self, v: Value) -> Value:
        def body(i: Value, values: list[Value]) -> list[Value]:
            return [self.inside(values[0])]

        count = self.k.rng.choice(self.numbers)
        return self.k.for_loop((self.zero, count, self.one), [v], body)[0]

    def branch(self, v: Value) -> Value:
        k = self.k
        condition = k.compare("greater_than", k.rng.choice(self.numbers), self.zero)
        return k.branch(
            condition, lambda: [self.inside(v)], lambda: [self.inside(v) if k.rng.random() < 0.5 else v], [v]
        )[0]

    def inside(self, v: Value) -> Value:
        self.depth += 1
        kept = list(self.tokens)
        made = self.statements(v)
        self.tokens = kept
        self.depth -= 1
        return made

    def carried_only(self) -> None:
        """A loop that carries a token, and passes on that or one from outside; then both are joined."""
        k = self.k
        index, carried, made, joined = (k.fresh() for _ in range(4))
        start, passed = k.token, k.rng.choice((carried, carried, k.token, k.rng.choice(self.tokens)))
        if k.rng.random() < 0.3:
            start = k.rng.choice(self.tokens)
        count = k.rng.choice(self.numbers)
        k.emit(f"{made} = for {index} in ({self.zero.name} to {count.name}, step {self.one.name}) : tile<i32>")
        k.emit(f"iter_values({carried} = {start}) -> (token) {{")
        k.emit(f"continue {passed} : token")
        k.emit("}")
        k.emit(f"{joined} = join_tokens {made}, {k.token if k.rng.random() < 0.3 else made} : token")
        k.token = joined


def token_paths(rng: random.Random) -> Case:
    """Stores and loads of one array, ordered by tokens that come through control flow."""
    k = Sketch(rng, ordered=True)
    paths = Paths(k)
    v = k.load(paths.views[0])
    while paths.budget > 0:
        v = changed(k, v) if rng.random() < 0.2 else v
        v = paths.statements(v)
    k.save(v)
    return k.case()


def written_operands(rng: random.Random) -> Case:
    """Operands of products in a loop that the kernel itself wrote before, and a result in their memory."""
    k = Sketch(rng, ordered=True)
    m, n, step = rng.choice(((64, 64, 64), (64, 32, 32), (128, 64, 16)))
    turns = rng.choice((1, 1, 2))
    sizes = (m, step * turns), (step * turns, n)
    arrays = [aligned(k, k.pointer("f16", k.numbers("f16", a * b))) for a, b in sizes]
    tensors = [k.tensor(p, size, row_major(size), dynamic=0.0) for p, size in zip(arrays, sizes)]
    views = [k.view(t, "f16", tile) for t, tile in zip(tensors, ((m, step), (step, n)))]
    zero, one = k.const("i32", 0), k.const("i32", 1)
    word = k.pointer("i32", k.numbers("i32", 1))
    around: list[Value] = []

    def write(which: int, i: Value) -> None:
        view, at = views[which], [zero, i] if which == 0 else [i, zero]
        v = k.load(view, at) if rng.random() < 0.5 else k.const("f16", rng.randint(-2, 2), view.shape)
        k.store(k.negative(v), view, at)

    for _ in range(rng.choice((0, 1, 1, 2))):
        write(rng.randrange(2), zero)
        if rng.random() < 0.6:
            around.append(k.load_pointers(Value(word.name, "ptr<i32>", ())))

    def body(i: Value, values: list[Value]) -> list[Value]:
        x, y = (k.load(view, at) for view, at in zip(views, ([zero, i], [i, zero])))
        made = k.product(x, y, values[0])
        if rng.random() < 0.3:
            write(rng.randrange(2), i)
        return [made]

    acc = k.const("f32", 0, (m, n))
    made = k.for_loop((zero, k.number("i32", turns), one), [acc], body)[0]
    if rng.random() < 0.5:
        around.append(k.load_pointers(Value(word.name, "ptr<i32>", ())))
    out = aligned(k, k.pointer("f32", k.noise("f32", m * n)))
    k.store(made, k.dense(out, (m, n)))
    for v in around:
        k.save(v)
    return k.case()


def aligned(k: Sketch, p: Pointer) -> Pointer:
    """An array whose address the compiler knows to be a multiple of 16."""
    made = k.fresh()
    k.emit(f"{made} = assume div_by<16>, {p.name} : {p.type}")
    return Pointer(made, p.element, p.region)
