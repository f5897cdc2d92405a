"""Small random programs of scalars and control flow, executed by the engine and by a tiny interpreter."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilery import Block, Op, Value, ops
from tilery.attrs import ComparisonPredicate, Dense, MemoryOrderingSemantics, Signedness
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.types import I1, I32, Function, Ptr, Tile

Row = Sequence[int]
"""The input of a program: two conditions and two integers."""
INT, BOOL, PAIR = Tile((), I32), Tile((), I1), Tile((2,), I32)
MASK = (1 << 32) - 1


def printed(module: ops.Module, rows: Sequence[Row], steps: int = 3000, **options: Any) -> str | None:
    """Return what the tile blocks of a program print, each given one row; None if it exceeds the steps."""
    text: list[str] = []
    table = np.array([n & MASK for row in rows for n in row], np.uint32)
    kernel = ReferenceLoaded(module).kernel()
    try:
        kernel.launch(len(rows), [table], output=text.append, limits=Limits(steps=steps), **options)
    except ExecutionError as error:
        assert error.message.startswith(f"stopped after {steps} steps"), error
        return None
    return "".join(text)


# ---------------------------------------------------------------- the interpreter


class Left(Exception):
    """Control leaves a block by something other than `yield`."""

    def __init__(self, how: str, values: list[int]) -> None:
        self.how, self.values = how, values


class Run:
    """Executes a program in one tile block. A tile of equal elements is one Python integer."""

    def __init__(self, row: Row, fuel: int = 3000) -> None:
        self.row, self.fuel = row, fuel
        self.text = ""
        self.env: dict[Value, int] = {}

    def entry(self, module: ops.Module) -> str:
        """Return what the program prints until it runs out of fuel."""
        body = module.entries[0].body
        rows = iter(self.row)
        try:
            # The prelude loads the integers in order, whatever the address.
            self.env.update({o.results[0]: next(rows) & MASK for o in body.ops if isinstance(o, ops.LoadPtrTko)})
            self.block(Block([], [o for o in body.ops if not o.operands or not _is_prelude(o)]))
        except Left as left:
            assert left.how == "return"
        return self.text

    def block(self, block: Block) -> list[int]:
        for o in block.ops:
            self.fuel -= 1
            if self.fuel < 0:
                raise Left("return", [])
            values = [self.env[v] for v in o.operands]
            if isinstance(o, ops.Yield):
                return values
            if isinstance(o, ops.Return | ops.Break | ops.Continue):
                raise Left(o.name, values)
            self.env.update(zip(o.results, self.results(o, values), strict=True))
        raise AssertionError("a block without terminator")

    def results(self, o: Op, v: list[int]) -> list[int]:
        match o:
            case ops.Constant():
                assert o.value.splat is not None
                return [o.value.splat]
            case ops.AddI():
                return [(v[0] + v[1]) & MASK]
            case ops.AndI():
                return [v[0] & v[1]]
            case ops.XOrI():
                return [v[0] ^ v[1]]
            case ops.GetTileBlockId():
                return [0, 0, 0]
            case ops.CmpI():
                return [int(v[0] == v[1] if o.comparison_predicate is ComparisonPredicate.EQUAL else v[0] != v[1])]
            case ops.Select():
                return [v[1] if v[0] else v[2]]
            case ops.Reshape() | ops.Broadcast() | ops.Assume() | ops.ExtI():
                return [v[0]]
            case ops.PrintTko():
                self.text += _shown(v[0], o.args[0].type)
                return [0]
            case ops.If():
                chosen = o.thenRegion if v[0] else o.elseRegion
                return [] if chosen is None else self.block(chosen)
            case ops.For() | ops.Loop():
                return self.loop(o, v)
        raise NotImplementedError(o.name)

    def loop(self, o: ops.For | ops.Loop, v: list[int]) -> list[int]:
        counter = isinstance(o, ops.For)
        steps: Iterator[int] = iter(range(v[0], v[1], v[2])) if counter else iter(range(1 << 30))
        carried = v[3:] if counter else v
        for step in steps:
            self.env.update(zip(o.region.args, [step, *carried] if counter else carried, strict=True))
            try:
                self.block(o.region)
            except Left as left:
                if left.how == "return":
                    raise
                if left.how == "break":
                    return left.values
                carried = left.values
        return carried


def _is_prelude(o: Op) -> bool:
    return isinstance(o, ops.LoadPtrTko | ops.Offset | ops.MulI)


def _shown(value: int, type: Any) -> str:
    signed = value - (value >> 31 << 32)
    return f"[{signed}, {signed}]" if type is PAIR else str(signed)


# ---------------------------------------------------------------- random programs


class Draw:
    """Generates programs whose branches share conditions and yield values from inside, from outside, and constants."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def module(self, size: int = 30) -> ops.Module:
        """Generate a program whose tile blocks diverge: each reads a row of the table that is the argument."""
        table = Value(Tile((), Ptr(I32)))
        body = Block([table])
        seen = [*self.prelude(body, table)]
        pair = ops.Constant(value=Dense.of(PAIR, [9]))
        body.ops.append(pair)
        self.left = size
        self.fill(body, [*seen, pair.result], 0, [])
        body.ops.append(ops.Return())
        entry = ops.Entry(sym_name="k", function_type=Function([table.type]), body=body)
        return ops.Module(body=Block([], [entry]))

    def prelude(self, body: Block, table: Value) -> Iterator[Value]:
        here, one, four = ops.GetTileBlockId(), *(ops.Constant(value=Dense.of(INT, [n])) for n in (1, 4))
        row = ops.MulI(lhs=here.blockId_x, rhs=four.result)
        place: Any = ops.Offset(ptr=table, offset=row.result)
        body.ops += [here, one, four, row, place]
        for number in range(4):
            load = ops.LoadPtrTko(
                memory_ordering_semantics=MemoryOrderingSemantics.WEAK, source=place.result, result=Value(INT)
            )
            body.ops.append(load)
            yield load.result
            if number < 2:
                how, signed = ComparisonPredicate.EQUAL, Signedness.SIGNED
                test = ops.CmpI(comparison_predicate=how, lhs=load.result, rhs=one.result, signedness=signed)
                body.ops.append(test)
                yield test.result
            place = ops.Offset(ptr=place.result, offset=one.result)
            body.ops.append(place)

    def of(self, seen: list[Value], t: Tile) -> Value:
        found = [v for v in seen if v.type is t]
        # Prefer recent values, so that operations depend on each other.
        return found[max(self.pick.randrange(len(found)), self.pick.randrange(len(found)))]

    def fill(self, block: Block, seen: list[Value], depth: int, loops: list[Op]) -> None:
        """Fill a block with operations, except its terminator."""
        for _ in range(self.pick.randrange(1, 5)):
            self.left -= 1
            made = self.control(seen, depth, loops) if self.left > 0 and self.pick.random() < 0.5 else None
            for o in made or self.plain(seen):
                block.ops.append(o)
                seen += o.results

    def plain(self, seen: list[Value]) -> list[Op]:
        a, b, t = self.of(seen, INT), self.of(seen, INT), self.pick.choice([INT, BOOL, PAIR])
        match self.pick.randrange(7):
            case 0:
                return [ops.AddI(lhs=a, rhs=b)]
            case 1:
                return [ops.Constant(value=Dense.of(t, [self.pick.randrange(2)]))]
            case 2:
                one = ops.Constant(value=Dense.of(BOOL, [1]))
                return [one, ops.XOrI(lhs=self.of(seen, BOOL), rhs=one.result)]
            case 3:
                how = self.pick.choice([ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL])
                return [ops.CmpI(comparison_predicate=how, lhs=a, rhs=b, signedness=Signedness.SIGNED)]
            case 4:
                t = self.pick.choice([INT, BOOL])
                yes, no = self.of(seen, t), self.of(seen, t)
                return [ops.Select(cond=self.of(seen, BOOL), val_if_true=yes, val_if_false=no)]
            case _:
                return [ops.PrintTko(str_="%d", args=(self.of(seen, t),))]

    def control(self, seen: list[Value], depth: int, loops: list[Op]) -> list[Op] | None:
        if depth > 4:
            return None
        if self.pick.random() < 0.15:
            return self.loop(seen, depth, loops)
        types = [self.pick.choice([INT, BOOL, PAIR]) for _ in range(self.pick.choice([0, 0, 1, 2]))]
        o = ops.If(
            condition=self.of(seen, BOOL),
            results_=tuple(Value(t) for t in types),
            thenRegion=self.branch(seen, depth, loops, types),
            elseRegion=self.branch(seen, depth, loops, types) if types or self.pick.random() < 0.6 else None,
        )
        return [o]

    def branch(self, seen: list[Value], depth: int, loops: list[Op], types: list[Tile]) -> Block:
        block, inner = Block(), list(seen)
        if self.pick.random() < 0.75:
            self.fill(block, inner, depth + 1, loops)
        if self.pick.random() < 0.2:
            block.ops.append(self.leave(inner, loops))
        else:
            block.ops.append(ops.Yield(operands_=tuple(self.of(inner, t) for t in types)))
        return block

    def leave(self, seen: list[Value], loops: list[Op]) -> Op:
        loop = loops[-1] if loops else None
        if isinstance(loop, ops.Loop) and self.pick.random() < 0.5:
            return ops.Break(operands_=(self.of(seen, INT),))
        # `return` is not allowed anywhere inside `for`.
        if loop is not None and (any(isinstance(o, ops.For) for o in loops) or self.pick.random() < 0.7):
            return ops.Continue(operands_=(self.of(seen, INT),))
        return ops.Return()

    def loop(self, seen: list[Value], depth: int, loops: list[Op]) -> list[Op]:
        start = self.of(seen, INT)
        low, high, step = (ops.Constant(value=Dense.of(INT, [n])) for n in (0, self.pick.randrange(4), 1))
        body = Block([Value(INT), Value(INT)])
        o: Any = ops.For(
            lowerBound=low.result, upperBound=high.result, step=step.result, initValues=(start,), region=body
        )
        if self.pick.random() < 0.5:
            body = Block([Value(INT)])
            o = ops.Loop(initValues=(start,), resultValues=(Value(INT),), region=body)
        inner = [*seen, low.result, *body.args]
        self.fill(body, inner, depth + 1, [*loops, o])
        if isinstance(o, ops.Loop):
            body.ops.append(
                ops.If(
                    condition=self.of(inner, BOOL),
                    results_=(),
                    thenRegion=Block([], [ops.Break(operands_=(self.of(inner, INT),))]),
                )
            )
        body.ops.append(ops.Continue(operands_=(self.of(inner, INT),)))
        return [low, high, step, o]
