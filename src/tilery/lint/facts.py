"""Facts about a kernel that rules share. Each analysis runs when a rule first asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar, overload

import numpy as np

from ..analysis.alignment import Alignment, axis_info
from ..analysis.flow import Flow, flow
from ..analysis.influence import Dependence, Influence, influence
from ..analysis.memory.affine import Array, bits_of
from ..analysis.memory.forms import LinearForm, LinearForms, forms, has_form
from ..analysis.memory.places import MemoryAccess, places
from ..analysis.ranges import Range, Ranges, is_integer, ranges
from ..analysis.tokens import TokenOrder
from ..analysis.uses import Uses
from ..ir import Block, Op, Value
from ..ops import Alloca, Entry, For, GetGlobal, GetNumTileBlocks, GetTileBlockId, Global, Loop, Module
from ..types import Token

A = TypeVar("A", bound=Op)
B = TypeVar("B", bound=Op)
C = TypeVar("C", bound=Op)


class Facts:
    """A kernel, and what is known about it without running it."""

    def __init__(self, module: Module, entry: Entry) -> None:
        self.entry = entry
        self.globals: dict[str, Global] = {o.sym_name: o for o in module.globals}
        self.ops: list[Op] = []
        """All operations inside the kernel, in textual order."""
        self.home: dict[Op, Block] = {}
        """The block of each operation."""
        self.parent: dict[Block, Op] = {entry.body: entry}
        self.last: dict[Op, int] = {}
        """For each operation with regions, the position of the last operation inside it."""
        self._loops: dict[Block, For | Loop | None] = {entry.body: None}
        self._by_class: dict[type[Op], list[Op]] = {}
        stack = [(entry.body, iter(entry.body.ops))]
        while stack:
            block, ops = stack[-1]
            o = next(ops, None)
            if o is None:
                stack.pop()
                self.last[self.parent[block]] = len(self.ops) - 1
                continue
            self.ops.append(o)
            self.home[o] = block
            self._by_class.setdefault(o.__class__, []).append(o)
            for inner in reversed(o.blocks if o.nested else ()):
                self.parent[inner] = o
                self._loops[inner] = o if isinstance(o, (For, Loop)) else self._loops[block]
                stack.append((inner, iter(inner.ops)))
        self.number = {o: number for number, o in enumerate(self.ops)}
        """The position of each operation in the text."""

    @overload
    def of(self, a: type[A], /) -> Iterator[A]: ...
    @overload
    def of(self, a: type[A], b: type[B], /) -> Iterator[A | B]: ...
    @overload
    def of(self, a: type[A], b: type[B], c: type[C], /) -> Iterator[A | B | C]: ...
    def of(self, *classes: type[Op]) -> Iterator[Op]:
        """The operations of these classes; in textual order for one class."""
        for cls in classes:
            yield from self._by_class.get(cls, ())

    # ------------------------------------------------------------ analyses

    @cached_property
    def uses(self) -> Uses:
        return Uses(self.entry)

    @cached_property
    def forms(self) -> LinearForms:
        return forms(self.entry)

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges that do not rely on promises."""
        return ranges(self.entry, trust=False)

    @cached_property
    def alignment(self) -> Alignment:
        """Alignment that does not rely on promises."""
        return axis_info(self.entry, self.ranges, trust=False)

    @cached_property
    def promised(self) -> Alignment:
        """Alignment, if all promises are true."""
        return axis_info(self.entry)

    @cached_property
    def influence(self) -> Influence:
        return influence(self.entry)

    @cached_property
    def flow(self) -> Flow:
        return flow(self.entry)

    @cached_property
    def order(self) -> TokenOrder:
        return TokenOrder(self.entry)

    @cached_property
    def places(self) -> list[MemoryAccess]:
        return places(self.entry, self.forms)

    @cached_property
    def place(self) -> dict[Op, MemoryAccess]:
        return {place.op: place for place in self.places}

    @cached_property
    def allocas(self) -> list[tuple[Alloca, set[Value], list[MemoryAccess]]]:
        """Each alloca, the values that are computed from its address, and the accesses through them."""
        through: dict[Value, list[MemoryAccess]] = {}
        for place in self.places:
            through.setdefault(place.pointer, []).append(place)
        found = []
        for o in self.of(Alloca):
            derived = self._derived(o.result)
            mine = [place for value in derived for place in through.get(value, ())]
            found.append((o, derived, sorted(mine, key=lambda place: self.number[place.op])))
        return found

    def _derived(self, pointer: Value) -> set[Value]:
        """The values that are computed from an address."""
        found: set[Value] = set()
        todo = [pointer]
        while todo:
            value = todo.pop()
            if value not in found:
                found.add(value)
                todo += [
                    v for o in self.uses.users.get(value, ()) if o not in self.place and not o.nested for v in o.results
                ]
                todo += self.copies_to.get(value, ())
        return found

    @cached_property
    def copies_to(self) -> dict[Value, list[Value]]:
        """For each value, those that control flow copies it to."""
        found: dict[Value, list[Value]] = {}
        for target, sources in self.flow.copies.items():
            for source, _ in sources:
                found.setdefault(source, []).append(target)
        return found

    @cached_property
    def token_readers(self) -> dict[Value, list[Value]]:
        """For each token, those that are made from it."""
        found = {value: list(copies) for value, copies in self.copies_to.items() if isinstance(value.type, Token)}
        for o in self.ops:
            if not o.nested and (made := [value for value in o.results if isinstance(value.type, Token)]):
                for value in o.operands:
                    if isinstance(value.type, Token):
                        found.setdefault(value, []).extend(made)
        return found

    @cached_property
    def token_sources(self) -> dict[Value, list[Value]]:
        """For each token, those that it is made from."""
        found: dict[Value, list[Value]] = {}
        for source, readers in self.token_readers.items():
            for reader in readers:
                found.setdefault(reader, []).append(source)
        return found

    # ------------------------------------------------------------ questions

    def form(self, value: Value) -> LinearForm:
        return self.forms[value]

    def elements(self, value: Value) -> Array | None:
        """The elements of a tile of integers, or the only one, where they are known."""
        if not has_form(value):
            return None
        known = self.forms[value].known
        if known is None and is_integer(value) and (only := self.ranges.constant(value)) is not None:
            return np.array(only, np.int64)
        return known

    def range(self, value: Value) -> Range:
        return self.ranges[value]

    def unsigned(self, numbers: Array, value: Value) -> list[int]:
        """The different numbers, read as unsigned integers of a value's type."""
        return [int(n) % (1 << bits_of(value)) for n in np.unique(numbers)]

    def around(self, o: Op) -> Iterator[Op]:
        """The operations around an operation, innermost first, without the kernel itself."""
        while (o := self.parent[self.home[o]]) is not self.entry:
            yield o

    def loop(self, o: Op) -> For | Loop | None:
        """The innermost loop around an operation."""
        return self._loops[self.home[o]]

    def is_inside(self, o: Op, outer: Op) -> bool:
        """Whether an operation is in a region of another one."""
        return outer in self.last and self.number[outer] < self.number[o] <= self.last[outer]

    def is_defined_in(self, value: Value, outer: Op) -> bool:
        """Whether a value is defined inside an operation."""
        owner = value.owner
        if isinstance(owner, Block):
            owner = self.parent[owner]
            return owner is outer or (owner is not self.entry and self.is_inside(owner, outer))
        return owner is not None and self.is_inside(owner, outer)

    def varies(self, value: Value, loop: Op) -> bool:
        """Whether a value may differ between iterations of a loop: it depends on something that the loop defines."""
        if has_form(value):
            return any(
                self.is_defined_in(symbol, loop) and self._depends(symbol, loop) for symbol in self.forms[value].terms
            )
        return self.is_defined_in(value, loop) and self._depends(value, loop)

    def _depends(self, value: Value, loop: Op) -> bool:
        """Whether a value that is defined in a loop depends on one that is not computed from values outside of it."""
        todo, seen = [value], set[Value]()
        while todo and len(seen) < 64:
            at = todo.pop()
            if at in seen or not self.is_defined_in(at, loop):
                continue
            seen.add(at)
            owner = at.owner
            if isinstance(owner, Block) or owner is None or owner.nested or owner in self.place:
                return True
            todo += owner.operands
        return bool(todo)

    @cached_property
    def coordinates(self) -> Dependence:
        """The coordinates of the tile block that the kernel uses."""
        return self._used(GetTileBlockId)

    @cached_property
    def counts(self) -> Dependence:
        """The dimensions along which the kernel uses the number of tile blocks."""
        return self._used(GetNumTileBlocks)

    def _used(self, kind: type[GetTileBlockId | GetNumTileBlocks]) -> Dependence:
        found = Dependence.NOTHING
        for o in self.of(kind):
            for value, source in zip(o.results, (Dependence.X, Dependence.Y, Dependence.Z)):
                if value in self.uses:
                    found |= source
        return found

    def steps(self, loop: Op | None) -> tuple[int, int, int] | None:
        """The first and the last value of a loop's counter, and its step, if they are known and the loop runs."""
        if not isinstance(loop, For):
            return None
        low, high, step = (self.ranges.constant(v) for v in (loop.lowerBound, loop.upperBound, loop.step))
        if low is None or high is None or step is None or step <= 0 or low >= high or (loop.unsignedCmp and low < 0):
            return None
        return low, low + (high - 1 - low) // step * step, step

    def reached(self, o: Op, value: Value) -> tuple[int, int] | None:
        """The extremes of an operand, if they are known."""
        return self.extremes(o, self.forms[value]) if has_form(value) else None

    def extremes(self, o: Op, form: LinearForm) -> tuple[int, int] | None:
        """The least and the largest number of a form that the first tile block surely reaches when it executes an
        operation; None if that is not known."""
        counters: dict[Value, tuple[int, int]] = {}
        for outer in self.around(o):
            steps = self.steps(outer)
            if steps is None or not isinstance(outer, For):
                return None
            counters[outer.blocks[0].args[0]] = steps[:2]
        low, high = int(form.numbers.min()), int(form.numbers.max())
        for value, factor in form.terms.items():
            if isinstance(value.owner, GetTileBlockId):
                continue
            if value not in counters:
                return None
            ends = [factor * end for end in counters[value]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    @cached_property
    def acquires(self) -> bool:
        """Whether the kernel waits for other tile blocks."""
        return any(place.acquires for place in self.places)

    @cached_property
    def writing(self) -> set[Op]:
        """The loops inside which something writes memory, or other tile blocks may be waited for."""
        found: set[Op] = set()
        for place in self.places:
            loop = self.loop(place.op) if place.writes or not place.is_weak else None
            while loop is not None and loop not in found:
                found.add(loop)
                loop = self.loop(loop)
        return found

    def is_private(self, place: MemoryAccess) -> bool:
        """Whether only this tile block can reach the memory: that of an alloca which is not global."""
        root = place.root
        return root is not None and isinstance(root.owner, Alloca) and not root.owner.global_

    def extent(self, root: Value) -> int | None:
        """The bytes of the alloca or global that a pointer points to."""
        owner = root.owner
        if isinstance(owner, Alloca):
            return owner.num_elem * _pointee_bits(root) // 8
        if isinstance(owner, GetGlobal) and owner.name_ in self.globals:
            return self.globals[owner.name_].value.type.size * _pointee_bits(root) // 8
        return None


def _pointee_bits(pointer: Value) -> int:
    return int(pointer.type.element.pointee.row.memory_bits)  # type: ignore[attr-defined]  # a tile of pointers
