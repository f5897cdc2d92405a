"""Write the text of a kernel together with the memory that it is launched on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .case import SCALAR, Case, Part, Pointer, Shape, Value, View, index_types, names, row_major, tile, types
from .elements import BYTES, Array, encode, is_float

Body = Callable[[Value, list[Value]], "list[Value] | None"]


class Sketch:
    """A kernel that is being written. Accesses are ordered by tokens, or in some kernels only by the program."""

    def __init__(self, rng: random.Random, ordered: bool | None = None) -> None:
        self.rng = rng
        self.numpy = np.random.default_rng(rng.getrandbits(64))
        self.lines: list[str] = []
        self.params: list[str] = []
        self.args: list[Part | int] = []
        self.regions: list[Array] = []
        self.bounds: dict[int, tuple[str, Array]] = {}
        self.grid = (1, 1, 1)
        self.gpu = True
        self._names = 0
        self._constants: dict[tuple[str, str], Value] = {}
        self.token = ""
        self.depth = 0
        self.ordered = rng.random() < 0.75 if ordered is None else ordered
        if self.ordered:
            self.token = self.fresh()
            self.emit(f"{self.token} = make_token : token")
        else:
            self.gpu = False

    def case(self) -> Case:
        head = f"entry @k({', '.join(self.params)}) {{"
        text = "\n  ".join([head, *self.lines, "return"]) + "\n}\n"
        return Case(text, self.grid, self.regions, self.args, self.bounds, self.gpu)

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def op(self, element: str, shape: Sequence[int], text: str) -> Value:
        made = Value(self.fresh(), element, tuple(shape))
        self.emit(f"{made.name} = {text}")
        return made

    # ------------------------------------------------------------ parameters

    def numbers(self, element: str, count: int, low: int = -3, high: int = 3) -> Array:
        """Small integers, as floats if the element type is one."""
        return encode(element, self.numpy.integers(low, high + 1, count))

    def noise(self, element: str, count: int) -> Array:
        """Any bits; for i1, 0 and 1."""
        high = 1 if element == "i1" else (1 << 8 * BYTES[element]) - 1
        return self.numpy.integers(0, high, count, np.dtype(f"u{BYTES[element]}"), endpoint=True)

    def region(self, data: Array) -> int:
        self.regions.append(data)
        return len(self.regions) - 1

    def pointer(self, element: str, data: Array) -> Pointer:
        """An array of its own."""
        return self.part(element, self.region(data), 0, len(data))

    def part(self, element: str, region: int, start: int, count: int) -> Pointer:
        """Part of a region, which other arguments may overlap."""
        name = self.fresh()
        self.params.append(f"{name}: tile<ptr<{element}>>")
        self.args.append(Part(region, start, count, BYTES[element]))
        return Pointer(name, element, region)

    def number(self, element: str, value: int) -> Value:
        """A scalar parameter, of which the compiler knows nothing."""
        name = self.fresh()
        self.params.append(f"{name}: tile<{element}>")
        self.args.append(value)
        return Value(name, element, SCALAR)

    # ------------------------------------------------------------ tiles

    def const(self, element: str, value: Any, shape: Shape = SCALAR) -> Value:
        """A constant; scalars that are made outside of regions are made once."""
        key = (element, str(value))
        if shape == SCALAR and key in self._constants:
            return self._constants[key]
        text = f"{float(value)}" if is_float(element) else ["true", "false"][not value] if element == "i1" else value
        made = self.op(element, shape, f"constant <{element}: {text}> : {tile(element, shape)}")
        if shape == SCALAR and not self.depth:
            self._constants[key] = made
        return made

    def unary(self, name: str, a: Value, more: str = "") -> Value:
        return self.op(a.element, a.shape, f"{name} {a.name}{more} : {a.type}")

    def binary(self, name: str, a: Value, b: Value, more: str = "") -> Value:
        return self.op(a.element, a.shape, f"{name} {a.name}, {b.name}{more} : {a.type}")

    def add(self, a: Value, b: Value) -> Value:
        return self.binary("addf" if is_float(a.element) else "addi", a, b)

    def subtract(self, a: Value, b: Value) -> Value:
        return self.binary("subf" if is_float(a.element) else "subi", a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        return self.binary("mulf" if is_float(a.element) else "muli", a, b)

    def negative(self, a: Value) -> Value:
        return self.unary("negf" if is_float(a.element) else "negi", a)

    def convert(self, a: Value, element: str) -> Value:
        """Convert a tile; integers wrap around."""
        if a.element == element:
            return a
        to = tile(element, a.shape)
        match is_float(a.element), is_float(element):
            case True, True:
                return self.op(element, a.shape, f"ftof {a.name} : {a.type} -> {to}")
            case True, False:
                return self.op(element, a.shape, f"ftoi {a.name} signed : {a.type} -> {to}")
            case False, True:
                return self.op(element, a.shape, f"itof {a.name} signed : {a.type} -> {to}")
        if BYTES[element] > BYTES[a.element] or a.element == "i1":
            return self.op(element, a.shape, f"exti {a.name} signed : {a.type} -> {to}")
        return self.op(element, a.shape, f"trunci {a.name} : {a.type} -> {to}")

    def compare(self, predicate: str, a: Value, b: Value, signed: str = "signed") -> Value:
        if is_float(a.element):
            text = f"cmpf {predicate} ordered {a.name}, {b.name} : {a.type} -> {tile('i1', a.shape)}"
        else:
            text = f"cmpi {predicate} {a.name}, {b.name}, {signed} : {a.type} -> {tile('i1', a.shape)}"
        return self.op("i1", a.shape, text)

    def select(self, c: Value, a: Value, b: Value) -> Value:
        return self.op(a.element, a.shape, f"select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}")

    def iota(self, element: str, count: int) -> Value:
        return self.op(element, (count,), f"iota : {tile(element, (count,))}")

    def reshape(self, a: Value, shape: Sequence[int]) -> Value:
        if tuple(shape) == a.shape:
            return a
        return self.op(a.element, shape, f"reshape {a.name} : {a.type} -> {tile(a.element, tuple(shape))}")

    def broadcast(self, a: Value, shape: Sequence[int]) -> Value:
        if tuple(shape) == a.shape:
            return a
        return self.op(a.element, shape, f"broadcast {a.name} : {a.type} -> {tile(a.element, tuple(shape))}")

    def splat(self, a: Value, shape: Shape) -> Value:
        return self.broadcast(self.reshape(a, (1,) * len(shape)), shape)

    def permute(self, a: Value, order: Sequence[int]) -> Value:
        shape = tuple(a.shape[d] for d in order)
        text = f"permute {a.name} {list(order)} : {a.type} -> {tile(a.element, shape)}"
        return self.op(a.element, shape, text)

    def transpose(self, a: Value) -> Value:
        """Swap the last two dimensions."""
        n = len(a.shape)
        return self.permute(a, [*range(n - 2), n - 1, n - 2])

    def cat(self, a: Value, b: Value, dim: int) -> Value:
        shape = tuple(n + b.shape[d] if d == dim else n for d, n in enumerate(a.shape))
        text = f"cat {a.name}, {b.name} dim = {dim} : {a.type}, {b.type} -> {tile(a.element, shape)}"
        return self.op(a.element, shape, text)

    def extract(self, a: Value, index: Sequence[Value], shape: Shape) -> Value:
        at = ", ".join(i.name for i in index)
        return self.op(a.element, shape, f"extract {a.name}[{at}] : {a.type} -> {tile(a.element, shape)}")

    def insert(self, a: Value, into: Value, index: Sequence[Value]) -> Value:
        at = ", ".join(i.name for i in index)
        return self.op(a.element, into.shape, f"insert {a.name}, {into.name}[{at}] : {a.type}, {into.type}")

    def product(self, a: Value, b: Value, acc: Value, signs: str = "signed signed") -> Value:
        name, more = ("mmaf", "") if is_float(a.element) else ("mmai", f" {signs}")
        text = f"{name} {a.name}, {b.name}, {acc.name}{more} : {a.type}, {b.type}, {acc.type}"
        return self.op(acc.element, acc.shape, text)

    def fold(
        self,
        kind: str,
        tiles: Sequence[Value],
        dim: int,
        body: Callable[[list[Value], list[Value]], list[Value]],
        identities: Sequence[Any],
        reverse: bool = False,
    ) -> list[Value]:
        """A `reduce` or `scan`; the body combines what comes before with what comes next.

        A GPU may use identities, so one that is not neutral has no single right answer there: clear `gpu`.
        """
        sizes = tiles[0].shape
        shape = sizes[:dim] + sizes[dim + 1 :] if kind == "reduce" else sizes
        made = [Value(self.fresh(), t.element, shape) for t in tiles]
        sides = [[Value(self.fresh(), t.element, SCALAR) for t in tiles] for _ in range(2)]
        neutral = []
        for t, n in zip(tiles, identities):
            neutral.append(f"{float(n)} : {t.element}" if is_float(t.element) else f"{n} : {t.element}")
        more = f" reverse={'true' if reverse else 'false'}" if kind == "scan" else ""
        self.emit(
            f"{names(made)} = {kind} {names(tiles)} dim={dim}{more} identities=[{', '.join(neutral)}] : "
            f"{types(tiles)} -> {types(made)}"
        )
        params = [v for pair in zip(*sides) for v in pair]
        self.emit(f"({', '.join(f'{v.name}: {v.type}' for v in params)}) {{")
        self.depth += 1
        out = body(*sides)
        self.depth -= 1
        self.emit(f"yield {names(out)} : {types(out)}")
        self.emit("}")
        return made

    # ------------------------------------------------------------ memory

    def tensor(self, p: Pointer, shape: Sequence[int], strides: Sequence[int], dynamic: float = 0.3) -> tuple[str, str]:
        """A tensor view, some of whose sizes and strides are parameters; return its name and type."""
        shown: list[list[str]] = [[], []]
        typed: list[list[str]] = [[], []]
        for n, numbers in enumerate((shape, strides)):
            for number in numbers:
                limit = number >= 1 << 63 or number < 1
                hidden = limit or self.rng.random() < dynamic
                if hidden:
                    number = number - (1 << 64) if number >= 1 << 63 else number
                    shown[n].append(self.number("i64", number).name)
                else:
                    shown[n].append(str(number))
                typed[n].append("?" if hidden else str(number))
        type = f"tensor_view<{'x'.join([*typed[0], p.element])}, strides=[{','.join(typed[1])}]>"
        name = self.fresh()
        what = "tile<i64> -> " if "?" in typed[0] + typed[1] else ""
        sizes, steps = (", ".join(part) for part in shown)
        self.emit(f"{name} = make_tensor_view {p.name}, shape = [{sizes}], strides = [{steps}] : {what}{type}")
        return name, type

    def view(
        self,
        tensor: tuple[str, str],
        element: str,
        shape: Shape,
        *,
        padding: str = "",
        order: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        sparse: int | None = None,
    ) -> View:
        """A partition view; a strided one with `steps`, a gather/scatter one with `sparse`."""
        name, type = tensor
        kind = "gather_scatter" if sparse is not None else "strided" if steps is not None else "partition"
        parts = [f"tile=({'x'.join(map(str, shape))})"]
        if steps is not None:
            parts.append(f"traversal_strides=[{','.join(map(str, steps))}]")
        if padding:
            parts.append(f"padding_value = {padding}")
        parts.append(type)
        if sparse is not None:
            parts.append(f"sparse_dim={sparse}")
        elif order is not None:
            parts.append(f"dim_map=[{','.join(map(str, order))}]")
        full = f"{kind}_view<{', '.join(parts)}>"
        made = View(self.fresh(), full, element, shape, len(shape))
        self.emit(f"{made.name} = make_{kind}_view {name} : {full}")
        return made

    def padding(self) -> str:
        """Zero, or nothing: then what is outside is zero too, but not on a GPU."""
        if self.rng.random() < 0.7:
            return "zero"
        self.gpu = False
        return ""

    def dense(self, p: Pointer, shape: Shape, strides: Sequence[int] | None = None, **more: Any) -> View:
        """A partition view of a tensor that is one tile."""
        return self.view(self.tensor(p, shape, strides or row_major(shape)), p.element, shape, **more)

    def _after(self) -> str:
        return f" token = {self.token}" if self.token else ""

    def _done(self, token: str) -> None:
        if self.token:
            self.token = token

    def load(self, view: View, index: Sequence[Value] | None = None) -> Value:
        at, token = self._index(view, index), self.fresh()
        made = Value(self.fresh(), view.element, view.shape)
        which = ", ".join(i.name for i in at)
        kinds = index_types(at)
        self.emit(
            f"{made.name}, {token} = load_view_tko weak {view.name}[{which}]{self._after()} : {view.type}{kinds} -> "
            f"{made.type}, token"
        )
        self._done(token)
        return made

    def store(self, value: Value, view: View, index: Sequence[Value] | None = None) -> None:
        at, token = self._index(view, index), self.fresh()
        which = ", ".join(i.name for i in at)
        kinds = index_types(at)
        self.emit(
            f"{token} = store_view_tko weak {value.name}, {view.name}[{which}]{self._after()} : {value.type}, "
            f"{view.type}{kinds} -> token"
        )
        self._done(token)

    def _index(self, view: View, index: Sequence[Value] | None) -> list[Value]:
        return list(index) if index is not None else [self.const("i32", 0)] * view.rank

    def save(self, value: Value) -> Pointer:
        """Store a tile to an array of its own."""
        count = int(np.prod(value.shape, dtype=np.int64))
        p = self.pointer(value.element, self.noise(value.element, count))
        if value.shape == SCALAR:
            self.store_pointers(Value(p.name, f"ptr<{p.element}>", SCALAR), value)
        else:
            self.store(value, self.dense(p, value.shape))
        return p

    def fetch(self, element: str, shape: Shape, low: int = -3, high: int = 3) -> Value:
        """Load a tile of small integers from an array of its own."""
        p = self.pointer(element, self.numbers(element, int(np.prod(shape, dtype=np.int64)), low, high))
        if shape == SCALAR:
            return self.load_pointers(Value(p.name, f"ptr<{element}>", SCALAR))
        return self.load(self.dense(p, shape))

    def pointers(self, p: Pointer, offsets: Value) -> Value:
        """A tile of pointers at these offsets."""
        element = f"ptr<{p.element}>"
        base = self.splat(Value(p.name, element, SCALAR), offsets.shape) if offsets.shape else p
        text = f"offset {base.name}, {offsets.name} : {tile(element, offsets.shape)}, {offsets.type} -> "
        return self.op(element, offsets.shape, text + tile(element, offsets.shape))

    def load_pointers(self, at: Value, mask: Value | None = None, padding: Value | None = None) -> Value:
        element = at.element.removeprefix("ptr<").removesuffix(">")
        made, token = Value(self.fresh(), element, at.shape), self.fresh()
        extra = [v for v in (mask, padding) if v is not None]
        self.emit(
            f"{made.name}, {token} = load_ptr_tko weak {names([at, *extra])}{self._after().replace(' = ', '=')} : "
            f"{types([at, *extra])} -> {made.type}, token"
        )
        self._done(token)
        return made

    def store_pointers(self, at: Value, value: Value, mask: Value | None = None) -> None:
        token = self.fresh()
        given = [at, value] + ([] if mask is None else [mask])
        self.emit(
            f"{token} = store_ptr_tko weak {names(given)}{self._after().replace(' = ', '=')} : {types(given)} -> token"
        )
        self._done(token)

    # ------------------------------------------------------------ control flow

    def leave(self, how: str, values: Sequence[Value]) -> None:
        """End a region: `continue`, `break` or `yield` with these values."""
        tokens = [self.token] if self.token else []
        given = ", ".join([*(v.name for v in values), *tokens])
        kinds = ", ".join([*(v.type for v in values), *(["token"] if tokens else [])])
        self.emit(f"{how} {given} : {kinds}" if given else how)

    def _region(self, token: str, body: Callable[[], list[Value] | None], how: str) -> None:
        self.depth += 1
        outer = self.token
        if outer:
            self.token = token or outer
        made = body()
        if made is not None:
            self.leave(how, made)
        self.token = outer
        self.depth -= 1

    def _results(self, values: Sequence[Value]) -> tuple[list[Value], str, str]:
        made = [Value(self.fresh(), v.element, v.shape) for v in values]
        token = self.fresh() if self.token else ""
        text = ", ".join([*(v.name for v in made), *([token] if token else [])])
        return made, token, f"{text} = " if text else ""

    def for_loop(
        self, bounds: Sequence[Value], carried: Sequence[Value], body: Body, unsigned: str = ""
    ) -> list[Value]:
        """`for` over bounds; the body returns the next values, or None if it has ended its region itself."""
        low, high, step = bounds
        made, token, target = self._results(carried)
        args, inner = [Value(self.fresh(), v.element, v.shape) for v in carried], self.fresh()
        pairs = [f"{a.name} = {v.name}" for a, v in zip(args, carried)] + ([f"{inner} = {self.token}"] if token else [])
        kinds = [v.type for v in carried] + (["token"] if token else [])
        i = Value(self.fresh(), low.element, SCALAR)
        carry = f" iter_values({', '.join(pairs)}) -> ({', '.join(kinds)})" if pairs else ""
        self.emit(
            f"{target}for {unsigned}{i.name} in ({low.name} to {high.name}, step {step.name}) : {low.type}{carry} {{"
        )
        self._region(inner, lambda: body(i, args), "continue")
        self.emit("}")
        self.token = token or self.token
        return made

    def loop(
        self, carried: Sequence[Value], body: Callable[[list[Value]], None], results: Sequence[Value]
    ) -> list[Value]:
        """`loop`; the body ends its regions itself, and `results` are like the values that it breaks with."""
        made, token, target = self._results(results)
        args, inner = [Value(self.fresh(), v.element, v.shape) for v in carried], self.fresh()
        pairs = [f"{a.name} = {v.name}" for a, v in zip(args, carried)] + ([f"{inner} = {self.token}"] if token else [])
        kinds = ", ".join([v.type for v in carried] + (["token"] if token else []))
        out = ", ".join([v.type for v in results] + (["token"] if token else []))
        carry = f" iter_values({', '.join(pairs)}) : {kinds}" if pairs else " :" if out else ""
        self.emit(f"{target}loop{carry}{' -> ' if pairs and out else ' ' if out else ''}{out} {{")

        def ended() -> None:
            body(args)

        self._region(inner, ended, "continue")
        self.emit("}")
        self.token = token or self.token
        return made

    def branch(
        self,
        condition: Value,
        then: Callable[[], list[Value] | None],
        other: Callable[[], list[Value] | None],
        like: Sequence[Value],
    ) -> list[Value]:
        """`if` with values; a side that returns None has left the region itself."""
        made, token, target = self._results(like)
        kinds = ", ".join([v.type for v in like] + (["token"] if token else []))
        self.emit(f"{target}if {condition.name}{f' -> ({kinds})' if kinds else ''} {{")
        self._region("", then, "yield")
        self.emit("} else {")
        self._region("", other, "yield")
        self.emit("}")
        self.token = token or self.token
        return made

    def when(self, condition: Value, body: Callable[[], None]) -> None:
        """`if` without values, whose body leaves an enclosing loop or has no accesses."""
        self.emit(f"if {condition.name} {{")
        outer = self.token
        self.depth += 1
        body()
        self.depth -= 1
        self.token = outer
        self.emit("}")
