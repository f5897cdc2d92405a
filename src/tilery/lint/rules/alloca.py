"""The memory of an alloca: what is in it, and how long it lives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.memory.affine import has_form
from ...analysis.memory.places import MemoryAccess
from ...ir import Block, Op, Value
from ...ops import Alloca, Break, Continue, For, If, Loop, Return, Yield
from ..facts import Facts
from ..rule import ERROR, WARNING, Match, RuleFile

rule = RuleFile()


@rule("alloca-unwritten", ERROR)
def alloca_unwritten(facts: Facts) -> Iterator[Match]:
    """A load reads memory of an alloca that nothing has written.

    The memory of an alloca is undefined at first, and new each time that the alloca is executed: an alloca in a
    loop does not keep what the iteration before stored.

    Fix: Store to the memory before the load. Move the alloca out of the loop if it is to keep its content.

    Bad:
        entry @k(%out: tile<ptr<f32>>) {
          %p = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%out: tile<ptr<f32>>, %x: tile<f32>) {
          %p = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %s = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %t = load_ptr_tko weak %p token=%s : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for alloca, _, mine in facts.allocas:
        stores = [p for p in mine if p.writes]
        for place in mine:
            if place.writes or place.op.results[0] not in facts.uses:
                continue
            before = [p for p in stores if _may_be_before(p.op, place.op, alloca, facts)]
            if not before:
                yield Match(
                    place.op,
                    f"{place.op.name}: nothing has been stored to this memory",
                    related=((alloca, "the alloca"),),
                )
            elif not _surely_written(place.op, alloca, {p.op for p in stores}, facts):
                message = f"{place.op.name}: on some paths nothing has been stored to this memory"
                yield Match(place.op, message, related=((alloca, "the alloca"),), severity=WARNING)
            elif (missing := _unwritten(place, before, alloca.result)) > 0:
                message = f"{place.op.name}: {missing} of the elements that it reads have never been stored"
                yield Match(place.op, message, related=((alloca, "the alloca"),))


def _may_be_before(store: Op, load: Op, alloca: Op, facts: Facts) -> bool:
    """Whether a store may be executed before a load of the memory that one execution of an alloca makes."""
    if facts.number[store] < facts.number[load]:
        return True
    loop = facts.loop(load)
    while loop is not None and not facts.is_inside(alloca, loop):
        if facts.is_inside(store, loop):
            return True
        loop = facts.loop(loop)
    return False


def _surely_written(load: Op, alloca: Op, stores: set[Op], facts: Facts) -> bool:
    """Whether a store is on every path from an alloca to a load, as far as branches are concerned.

    A load in a branch may have the same condition as a store, and a loop that stores is taken to run.
    """
    at = load
    while facts.home[at] is not facts.home[alloca]:
        outer = facts.parent[facts.home[at]]
        if not isinstance(outer, (For, Loop)) or any(facts.is_inside(o, outer) for o in stores):
            return True
        at = outer
    before = facts.home[alloca].ops
    return _writes(before[: before.index(at)], stores, facts)


def _writes(ops: list[Op], stores: set[Op], facts: Facts) -> bool:
    """Whether operations always store, one after the other."""
    for o in ops:
        if o in stores or (isinstance(o, (For, Loop)) and any(facts.is_inside(each, o) for each in stores)):
            return True
        if isinstance(o, If) and all(
            block is not None and _ends_or_writes(block.ops, stores, facts) for block in _branches(o, facts)
        ):
            return True
    return False


def _branches(o: If, facts: Facts) -> list[Block | None]:
    """The branches that may be executed; None for one that is not there."""
    condition = facts.ranges.constant(o.condition)
    both = [o.thenRegion, o.elseRegion]
    return both if condition is None else both[:1] if condition else both[1:]


def _ends_or_writes(ops: list[Op], stores: set[Op], facts: Facts) -> bool:
    """Whether what follows a branch is reached after a store only."""
    return isinstance(ops[-1], (Return, Break, Continue)) or _writes(ops, stores, facts)


def _unwritten(load: MemoryAccess, stores: list[MemoryAccess], root: Value) -> int:
    """How many elements of a load are surely not written by any of these stores, not even in part."""
    only = {root: 1}
    if any(p.address is None or dict(p.address.terms) != only or not p.size for p in (load, *stores)):
        return 0
    starts = np.unique(np.concatenate([(p.numbers[:, None] + np.arange(p.size)).reshape(-1) for p in stores]))
    wanted = np.unique(load.numbers)
    at = np.searchsorted(starts, wanted)
    following = np.append(starts, np.iinfo(np.int64).max)[at]
    return int((following >= wanted + load.size).sum())


@rule("alloca-escapes", ERROR)
def alloca_escapes(facts: Facts) -> Iterator[Match]:
    """A pointer to an alloca leaves the block that the alloca is in, or the tile block.

    The memory of an alloca lives until the block around it ends: a branch, or one iteration of a loop. Afterwards
    it may be used for something else. Other tile blocks can use its address only if the alloca is `global`.

    Fix: Move the alloca to the block in which the pointer is used. For other tile blocks, declare it `global`.

    Bad:
        entry @k(%c: tile<i1>, %p: tile<ptr<f32>>, %x: tile<f32>) {
          %q = if %c -> (tile<ptr<f32>>) {
            %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
            yield %a : tile<ptr<f32>>
          } else {
            yield %p : tile<ptr<f32>>
          }
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%c: tile<i1>, %p: tile<ptr<f32>>, %x: tile<f32>) {
          %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
          %q = if %c -> (tile<ptr<f32>>) {
            yield %a : tile<ptr<f32>>
          } else {
            yield %p : tile<ptr<f32>>
          }
          %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    for alloca, derived, mine in facts.allocas:
        inside = facts.parent[facts.home[alloca]]
        is_used = any(place.root is not alloca.result for place in mine)  # through a copy
        users = {o: None for value in derived for o in facts.uses.of(value)}
        for o in users:
            message = ""
            if isinstance(o, (Yield, Break, Continue)):
                if is_used and inside is not facts.entry and facts.is_inside(o, inside) and _ends(o, inside, facts):
                    message = f"{o.name}: a pointer to an alloca leaves the block in which its memory lives"
            elif not alloca.global_ and _publishes(o, alloca, derived, facts):
                message = f"{o.name}: the address of an alloca is stored where other tile blocks can read it"
            if message:
                yield Match(o, message, related=((alloca, "the alloca"),))


def _publishes(o: Op, root: Alloca, derived: set[Value], facts: Facts) -> bool:
    """Whether a store writes an address in an alloca to memory that is not this tile block's own."""
    place = facts.place.get(o)
    if place is None or not place.writes or facts.is_private(place) or place.pointer in derived:
        return False
    stored = [value for name in STORED if (value := getattr(o, name, None)) in derived]
    # A distance between two addresses is no address.
    return any(root.result in facts.forms[value].terms for value in stored if has_form(value))


STORED = ("value", "tile", "arg", "val")
"""The names of the operand that an operation writes to memory."""


def _ends(o: Op, inside: Op, facts: Facts) -> bool:
    """Whether a terminator ends the block of an operation, and not one that is nested in it."""
    if isinstance(o, Yield):
        return facts.parent[facts.home[o]] is inside
    loop = facts.loop(o)
    return loop is inside or (loop is not None and facts.is_inside(inside, loop))
