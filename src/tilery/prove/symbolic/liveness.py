"""Values that effects of a kernel depend on: loops and values they carry that nothing depends on are left out."""

from __future__ import annotations

from collections.abc import Iterator

from ... import ops
from ...analysis.effects import memory_ordering
from ...attrs import MemoryOrderingSemantics
from ...ir import Block, Op, Value, walk

LOADS = (ops.LoadPtrTko, ops.LoadViewTko)
EXITS = (ops.Return, ops.Break, ops.Continue)
OTHERS = (ops.PrintTko, ops.Assert, ops.GdcLaunchDependentsTko, ops.GdcWaitTko, ops.MemoryFenceAliasTko)
"""Effects that are not accesses to memory."""


def is_effect(o: Op) -> bool:
    """Tell whether an operation changes something that others see."""
    return isinstance(o, OTHERS) or (memory_ordering(o) is not None and (not isinstance(o, LOADS) or is_ordered(o)))


def is_ordered(o: Op) -> bool:
    """Tell whether an access is ordered with those of other tile blocks."""
    return memory_ordering(o) is not MemoryOrderingSemantics.WEAK


def captured(o: Op) -> list[Value]:
    """Return the values from outside that the body of a reduction uses, but constants, in the order of first use."""
    inside = {v for inner in walk(o) for b in inner.blocks for v in b.args}
    inside |= {v for b in o.blocks for inner in walk(b) for v in inner.results}
    used = [v for b in o.blocks for inner in walk(b) for v in inner.operands]
    return list(dict.fromkeys(v for v in used if v not in inside and not isinstance(v.owner, ops.Constant)))


class Needed:
    """The values, and the control flow, that the effects of an entry depend on; with `reads`, its loads count too."""

    def __init__(self, entry: ops.Entry, reads: bool = False) -> None:
        self.reads = reads
        self.values: set[Value] = set()
        self.control: set[Op] = set()
        """Loops and branches that hold an effect, an exit of a loop, or compute a needed value."""
        self._homes: dict[Value, tuple[Op, Block, int]] = {}
        self._parents: dict[Op, Op] = {}
        for o in walk(entry):
            for b in o.blocks:
                for number, v in enumerate(b.args):
                    self._homes[v] = (o, b, number)
                for inner in b.ops:
                    self._parents[inner] = o
        todo: list[Value] = []
        for o in walk(entry):
            if isinstance(o, EXITS) and isinstance(self._parents.get(o), ops.If):
                todo += self._enter(o)  # whatever follows depends on the branch
            if (is_effect(o) or (reads and isinstance(o, LOADS))) and not self._in_body(o):
                todo += self._enter(o)
                todo += o.operands
        while todo:
            v = todo.pop()
            if v not in self.values:
                self.values.add(v)
                todo += self._sources(v)

    def home(self, v: Value) -> tuple[Op, int] | None:
        """Return the operation and the position of an argument of a block; None for parameters."""
        found = self._homes.get(v)
        return None if found is None else (found[0], found[2])

    def _in_body(self, o: Op) -> bool:
        parent = self._parents.get(o)
        while parent is not None:
            if isinstance(parent, (ops.Reduce, ops.Scan)):
                return True
            parent = self._parents.get(parent)
        return False

    def _enter(self, o: Op) -> Iterator[Value]:
        """Mark the loops and branches around an operation; yield what decides whether and how often it runs."""
        parent = self._parents.get(o)
        while parent is not None and parent not in self.control:
            if isinstance(parent, (ops.For, ops.Loop, ops.If)):
                self.control.add(parent)
                yield from self._decides(parent)
            parent = self._parents.get(parent)

    def _decides(self, o: Op) -> Iterator[Value]:
        match o:
            case ops.For():
                yield from (o.lowerBound, o.upperBound, o.step)
            case ops.If():
                yield o.condition
        if isinstance(o, (ops.For, ops.Loop)):
            for inner in walk(o.region):
                if isinstance(inner, (ops.Break, ops.Continue)) and self._loop_of(inner) is o:
                    yield from self._enter(inner)

    def _loop_of(self, o: Op) -> Op | None:
        parent = self._parents.get(o)
        while parent is not None and not isinstance(parent, (ops.For, ops.Loop)):
            parent = self._parents.get(parent)
        return parent

    def _sources(self, v: Value) -> Iterator[Value]:
        """Yield the values that a value is made from."""
        o = v.owner
        if not isinstance(o, Op):
            home = self._homes.get(v)
            if home is not None and isinstance(home[0], (ops.For, ops.Loop)):
                yield from self._carried(home[0], home[2] - isinstance(home[0], ops.For))
            return
        yield from self._enter(o)
        match o:
            case ops.For() | ops.Loop():
                yield from self._mark(o)
                yield from self._carried(o, o.resultValues.index(v))
            case ops.If():
                yield from self._mark(o)
                for b in o.blocks:
                    end = b.ops[-1]
                    if isinstance(end, ops.Yield):
                        yield end.operands_[o.results_.index(v)]
            case _:
                yield from o.operands
                yield from captured(o)

    def _mark(self, o: Op) -> Iterator[Value]:
        if o not in self.control:
            self.control.add(o)
            yield from self._enter(o)
            yield from self._decides(o)

    def _carried(self, loop: ops.For | ops.Loop, number: int) -> Iterator[Value]:
        yield from self._mark(loop)
        if number < 0:
            return
        if number < len(loop.initValues):
            yield loop.initValues[number]
            yield loop.region.args[number + isinstance(loop, ops.For)]
        for inner in walk(loop.region):
            exits = isinstance(inner, (ops.Break, ops.Continue)) and self._loop_of(inner) is loop
            if exits and number < len(inner.operands):
                yield inner.operands[number]
