"""Influence: whether a value depends on the position of the tile block, or on memory.

    found = influence(entry)
    found[value] & Dependence.X        # the value may differ between tile blocks that differ along x

A value depends on what it is computed from, and on the conditions that decide which value it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag

from ..ir import Block, Op, Value
from ..ops import Break, Continue, For, GetTileBlockId, If, Loop
from .effects import memory_ordering
from .flow import flow


class Dependence(IntFlag):
    """A source of a value besides arguments and constants."""

    NOTHING = 0
    X = 1
    Y = 2
    Z = 4
    MEMORY = 8
    BLOCK = 7
    """Any coordinate of the tile block."""


Node = Value | Block | Op
"""A value, the execution of a block, or the jumps that end a loop."""


class Influence:
    """The sources of each value, and the values that decide whether each operation is executed."""

    def __init__(self, root: Op) -> None:
        self._found: dict[Node, Dependence] = {}
        self._readers: dict[Node, list[Node]] = {}
        todo = self._connect(root)
        while todo:
            node = todo.pop()
            for reader in self._readers.get(node, ()):
                old = self._found.get(reader, Dependence.NOTHING)
                if (new := old | self._found[node]) != old:
                    self._found[reader] = new
                    todo.append(reader)

    def __getitem__(self, value: Value) -> Dependence:
        return self._found.get(value, Dependence.NOTHING)

    def of_execution(self, block: Block) -> Dependence:
        """The values that decide whether, and how often, the operations of a block are executed."""
        return self._found.get(block, Dependence.NOTHING)

    def _connect(self, root: Op) -> list[Node]:
        """Find out what each value is computed from; return those that are sources themselves."""
        sources: list[Node] = []
        known = flow(root)
        for value, copies in known.copies.items():
            for source, _ in copies:
                self._read(source, value)
        for counter, loop in known.counters.items():
            self._read_all((loop.lowerBound, loop.upperBound, loop.step), counter)
        for value, (reduction, index) in known.combined.items():
            self._read(reduction.operands_[index], value)
        inside: list[tuple[Block, Op, Op | None, Op | None]] = [(block, root, None, None) for block in root.blocks]
        while inside:
            block, parent, loop_, breaks = inside.pop()
            if isinstance(parent, (For, Loop)):
                loop_ = parent
                breaks = parent if isinstance(parent, Loop) else breaks
            for o in block.ops:
                target = loop_ if isinstance(o, Continue) else breaks if isinstance(o, Break) else None
                if target is not None:
                    self._read(block, target)
                for inner in o.blocks:
                    self._read(block, inner)
                    inside.append((inner, o, loop_, breaks))
                sources += self._enter(o)
        return sources

    def _enter(self, o: Op) -> list[Node]:
        match o:
            case If():
                self._read_all([o.condition], *o.blocks, *o.results)
            case For():
                self._read_all((o.lowerBound, o.upperBound, o.step, o), o.region, *o.results)
                self._read_all([o], *o.region.args[1:])
            case Loop():
                self._read_all([o], o.region, *o.results, *o.region.args)
            case GetTileBlockId():
                coordinates: list[Node] = [o.blockId_x, o.blockId_y, o.blockId_z]
                self._found.update(zip(coordinates, (Dependence.X, Dependence.Y, Dependence.Z)))
                return coordinates
            case _ if not o.blocks:
                self._read_all(o.operands, *o.results)
                if memory_ordering(o) is not None:
                    self._found.update(dict.fromkeys(o.results, Dependence.MEMORY))
                    return list(o.results)
        return []

    def _read(self, source: Node, reader: Node) -> None:
        self._readers.setdefault(source, []).append(reader)

    def _read_all(self, sources: Iterable[Node], *readers: Node) -> None:
        for source in sources:
            for reader in readers:
                self._read(source, reader)


def influence(root: Op) -> Influence:
    """Compute what the values inside an operation depend on.

    >>> from tilery import parse
    >>> ids = "%x, %y, %z = get_tile_block_id : tile<i32>"
    >>> entry = parse(f"entry @k() {{ {ids} %0 = addi %x, %x : tile<i32> return }}").entries[0]
    >>> influence(entry)[entry.body.ops[1].results[0]]
    <Dependence.X: 1>
    """
    return Influence(root)
