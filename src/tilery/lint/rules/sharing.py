"""Memory that several tile blocks use: races between them, scopes, and flags."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.influence import Dependence
from ...analysis.memory.places import MemoryAccess, overlap, shares_byte
from ...attrs import ComparisonPredicate, MemoryScope
from ...attrs import MemoryOrderingSemantics as Ordering
from ...ir import Op, Value
from ...ops import AndI, Broadcast, CmpI, Constant, DivI, For, GetTileBlockId, If, Loop, OrI, Reshape, XOrI
from ..facts import Facts
from ..rule import ERROR, WARNING, Fix, Match, ReplaceWord, RuleFile
from .order import WINDOW, tokens_after, tokens_before

rule = RuleFile()

MAX_CONDITIONS = 16
"""The most parts of a mask that are looked at."""
MAX_TOKENS = 256
"""The most tokens before the store of a flag that are looked at."""
MAX_FLAGS = 64
"""The most flags of a kernel that are looked at."""


@rule("same-address", WARNING)
def same_address(facts: Facts) -> Iterator[Match]:
    """Every tile block stores to the same memory.

    The kernel asks for its position in the grid, but the address of this store does not depend on it, and nothing
    keeps other tile blocks from executing it. Weak stores of two tile blocks to one element race, even if they
    store the same number.

    Fix: Let the address depend on every coordinate that the kernel uses. If the tile blocks add to a common result,
    use an atomic operation. If one of them is to store, put the store in an `if`.

    Bad:
        entry @k(%p: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
          %t = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    """
    for place in facts.places:
        if place.writes and place.is_weak and not facts.is_private(place) and not _is_guarded(place, facts):
            missing = _coordinates(place, facts)
            if missing:
                which = " and ".join(c for c, source in zip("xyz", Dependence.BLOCK) if missing & source)
                message = f"{place.op.name}: tile blocks that differ along {which} store to the same memory"
                yield Match(place.op, message)


def _is_guarded(place: MemoryAccess, facts: Facts) -> bool:
    """Whether a condition may select the tile blocks that execute an access, or lock the others out."""
    deciding = facts.influence.of_execution(facts.home[place.op])
    if place.mask is not None:
        deciding |= facts.influence[place.mask]
    return bool(deciding) or facts.acquires


def _coordinates(place: MemoryAccess, facts: Facts) -> Dependence:
    """The coordinates that the kernel uses, and on which the address of an access surely does not depend."""
    values = list(place.address.terms) if place.address is not None else [place.pointer]
    if place.address is None:
        values += [symbol for index in getattr(place.op, "index", ()) for symbol in facts.forms[index].terms]
    depends = Dependence.NOTHING
    for value in values:
        depends |= Dependence.NOTHING if _is_shared_part(value, facts) else facts.influence[value]
    if depends & Dependence.MEMORY:
        return Dependence.NOTHING
    return facts.coordinates & ~depends


def _is_shared_part(value: Value, facts: Facts) -> bool:
    """Whether a symbol is a coordinate divided by a number: the same for neighbouring tile blocks."""
    owner = value.owner
    if not isinstance(owner, DivI):
        return False
    by, of = facts.forms[owner.rhs].constant, facts.forms[owner.lhs]
    return by is not None and by > 1 and all(isinstance(symbol.owner, GetTileBlockId) for symbol in of.terms)


@rule("neighbour-race", WARNING)
def neighbour_race(facts: Facts) -> Iterator[Match]:
    """A tile block stores to memory that its neighbour accesses.

    The addresses of two accesses move by the same distance from one tile block to the next, and overlap if they are
    executed by neighbours. Nothing orders tile blocks, so the neighbour may see the old value or the new one.
    Typical causes are an operation in place that reads beside its own elements, and tiles that are longer than the
    distance between them.

    Fix: Write to another array, or make the distance between tile blocks as large as the tile.

    Bad:
        entry @k(%p: tile<ptr<f32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %next = addi %x, %one : tile<i32>
          %from = offset %p, %next : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %to = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %to, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %next = addi %x, %one : tile<i32>
          %from = offset %p, %next : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %to = offset %q, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %to, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    by_root: dict[Value, list[MemoryAccess]] = {}
    for place in facts.places:
        if place.root is not None and place.is_weak and not facts.is_private(place) and not _is_chosen(place, facts):
            by_root.setdefault(place.root, []).append(place)
    for group in by_root.values():
        for at, store in enumerate(group):
            if store.writes:
                near = group[max(0, at - WINDOW) : at + WINDOW]
                other = next((p for p in near if _meets_neighbour(store, p)), None)
                if other is not None:
                    message = f"{store.op.name}: a neighbouring tile block accesses the same memory"
                    related = () if other is store else ((other.op, "by this access"),)
                    yield Match(store.op, message, related=related)
    yield from _neighbours_in_views(facts)


def _is_chosen(place: MemoryAccess, facts: Facts) -> bool:
    """Whether a condition may select the tile blocks that execute an access; a check of bounds does not."""
    if facts.influence.of_execution(facts.home[place.op]) or facts.acquires:
        return True
    todo = [] if place.mask is None else [place.mask]
    for _ in range(MAX_CONDITIONS):
        if not todo:
            return False
        owner = todo.pop().owner
        if isinstance(owner, CmpI):
            equality = owner.comparison_predicate in (ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL)
            if equality and facts.influence[owner.result]:
                return True
        elif isinstance(owner, (AndI, OrI, XOrI, Reshape, Broadcast)):
            todo += owner.operands
        elif owner is not None and not isinstance(owner, Constant):
            return True
    return True


def _meets_neighbour(store: MemoryAccess, other: MemoryAccess) -> bool:
    """Whether an access overlaps a store that a tile block nearby executes."""
    a, b = store.address, other.address
    if a is None or b is None or a.terms != b.terms or not (store.size and other.size):
        return False
    steps = [times for value, times in a.terms.items() if isinstance(value.owner, GetTileBlockId)]
    if len(steps) != 1 or any(value.type.shape for value in a.terms):  # type: ignore[attr-defined]  # tiles all
        return False
    step = steps[0]
    nearby = (1, -1) if store is not other else (1,)
    return any(shares_byte(store.numbers + step * by, store.size, other.numbers, other.size) for by in nearby)


def _neighbours_in_views(facts: Facts) -> Iterator[Match]:
    """The same for tiles of one view whose strides are not known: their indices tell."""
    views: dict[Value, list[MemoryAccess]] = {}
    for place in facts.places:
        if place.address is None and place.is_weak and not _is_chosen(place, facts) and hasattr(place.op, "view"):
            views.setdefault(facts.forms.first(place.pointer), []).append(place)
    for group in views.values():
        for at, store in enumerate(group):
            if store.writes:
                near = group[max(0, at - WINDOW) : at + WINDOW]
                other = next((p for p in near if _is_next_tile(store.op, p.op, facts)), None)
                if other is not None:
                    message = f"{store.op.name}: a neighbouring tile block accesses the same tile"
                    yield Match(store.op, message, related=((other.op, "by this access"),))


def _is_next_tile(store: Op, other: Op, facts: Facts) -> bool:
    """Whether the indices of two accesses differ only by what separates tile blocks along one coordinate."""
    moved: list[Value] = []
    fixed: set[Value] = set()
    for a, b in zip(store.index, other.index):  # type: ignore[attr-defined]  # accesses through views
        one, two = facts.forms[a], facts.forms[b]
        if one.terms != two.terms or one.numbers.ndim or two.numbers.ndim:
            return False
        distance = int(two.numbers) - int(one.numbers)
        coordinates = [value for value in one.terms if isinstance(value.owner, GetTileBlockId)]
        if not distance:
            fixed.update(coordinates)
        elif len(coordinates) != 1 or abs(distance) != abs(one.terms[coordinates[0]]):
            return False
        else:
            moved += coordinates
    return len(moved) == 1 and moved[0] not in fixed


@rule("block-scope", WARNING)
def block_scope(facts: Facts) -> Iterator[Match]:
    """A strong access that several tile blocks share has the scope of a single one.

    With the scope `tl_blk`, an access is ordered and atomic only with respect to its own tile block. The address
    does not depend on the position of the tile block, so others use the same memory, and race.

    Fix: Use the scope `device`.

    Bad:
        entry @k(%count: tile<ptr<i32>>, %one: tile<i32>) {
          %old, %t = atomic_rmw_tko relaxed tl_blk %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          return
        }
    Good:
        entry @k(%count: tile<ptr<i32>>, %one: tile<i32>) {
          %old, %t = atomic_rmw_tko relaxed device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          return
        }
    """
    for place in facts.places:
        values = [place.pointer, *getattr(place.op, "index", ())]
        own = any(facts.influence[value] & Dependence.BLOCK for value in values)
        if place.scope is MemoryScope.TL_BLK and not own and not facts.is_private(place):
            message = f"{place.op.name}: the scope is one tile block, but others use the same address"
            yield Match(place.op, message, fix=Fix("Use the scope 'device'", ReplaceWord("tl_blk", "device")))


# ---------------------------------------------------------------- flags


def _deciding(facts: Facts) -> dict[Op, Op]:
    """The reads whose result decides a branch, with that branch."""
    found: dict[Op, Op] = {}
    reads = {value: p.op for p in facts.places if p.reads for value in p.op.results[:1]}
    for branch in facts.of(If):
        todo, seen = [branch.condition], set[Value]()
        while todo and len(seen) < 32:
            value = todo.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in reads:
                found.setdefault(reads[value], branch)
            elif isinstance(value.owner, Op) and not value.owner.nested:
                todo += value.owner.operands
    return found


@rule("weak-flag", ERROR)
def weak_flag(facts: Facts) -> Iterator[Match]:
    """A loop waits for a flag with a weak load, or the flag that it waits for is set by a weak store.

    A weak access promises that no other tile block accesses the memory at the same time. The compiler may load the
    value once and never look again, so the loop may not end; and the accesses race.

    Fix: Load the flag with `acquire device`, and set it with `release device`.

    Bad:
        entry @k(%flag: tile<ptr<i32>>, %zero: tile<i32>) {
          loop {
            %f, %t = load_ptr_tko weak %flag : tile<ptr<i32>> -> tile<i32>, token
            %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
            if %set {
              break
            }
            continue
          }
          return
        }
    Good:
        entry @k(%flag: tile<ptr<i32>>, %zero: tile<i32>) {
          loop {
            %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
            %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
            if %set {
              break
            }
            continue
          }
          return
        }
    """
    waiting: list[MemoryAccess] = []
    for o, branch in _deciding(facts).items():
        place, loop = facts.place[o], facts.loop(o)
        if isinstance(loop, Loop) and facts.is_inside(branch, loop) and _is_fixed(place, loop, facts):
            waiting.append(place)
            if place.is_weak and loop not in facts.writing:
                fix = Fix("Load it with 'acquire device'", ReplaceWord("weak", "acquire device"))
                yield Match(o, f"{o.name}: a loop waits for a value that a weak load reads", fix=fix)
    flags = {place.key: place for place in waiting if not place.is_weak}
    for place in facts.places:
        if place.is_weak and place.writes and place.key in flags:
            fix = Fix("Store it with 'release device'", ReplaceWord("weak", "release device"))
            related = ((flags[place.key].op, "here"),)
            yield Match(
                place.op, f"{place.op.name}: a weak store sets a flag that a loop waits for", related=related, fix=fix
            )


def _is_fixed(place: MemoryAccess, loop: Op, facts: Facts) -> bool:
    """Whether an access touches the same shared memory in every iteration of a loop."""
    terms = place.address.terms if place.address is not None else {place.pointer: 1}
    return not facts.is_private(place) and not any(facts.is_defined_in(value, loop) for value in terms)


@rule("relaxed-acquire", WARNING)
def relaxed_acquire(facts: Facts) -> Iterator[Match]:
    """A branch depends on a flag or counter, and accesses wait for its token, but it is read without `acquire`.

    A relaxed access orders nothing but itself. Accesses that take its token come after it in this tile block, but
    they need not see what another tile block stored before it set the flag.

    Fix: Read the flag with `acquire`, or with `acq_rel` if the operation also writes.

    Bad:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>, %zero: tile<i32>) {
          %f, %t = load_ptr_tko relaxed device %flag : tile<ptr<i32>> -> tile<i32>, token
          %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
          if %set {
            %v, %u = load_ptr_tko weak %data token=%t : tile<ptr<f32>> -> tile<f32>, token
            %w = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          }
          return
        }
    Good:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>, %zero: tile<i32>) {
          %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
          %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
          if %set {
            %v, %u = load_ptr_tko weak %data token=%t : tile<ptr<f32>> -> tile<f32>, token
            %w = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          }
          return
        }
    """
    for o, branch in list(_deciding(facts).items())[:MAX_FLAGS]:
        place = facts.place[o]
        if place.ordering not in (Ordering.RELAXED, Ordering.RELEASE) or facts.is_private(place):
            continue
        reached = tokens_after(o, facts)
        loop = facts.loop(branch)
        after = [p for p in facts.places if p.is_weak and _depends_on(p.op, branch, loop, facts)]
        stored = {p.root for p in facts.places if p.is_weak and p.writes and p not in after}
        last = next((p for p in after if _relies(p, reached, stored)), None)
        if last is not None:
            new = "acquire" if not place.writes else "acq_rel"
            fix = Fix(f"Use '{new}'", ReplaceWord(place.ordering.text, new))
            message = f"{o.name}: accesses rely on what it reads, but it is {place.ordering.text}, not {new}"
            yield Match(o, message, related=((last.op, "this access relies on it"),), fix=fix)


def _relies(place: MemoryAccess, reached: set[Value], stored: set[Value | None]) -> bool:
    """Whether an access waits for a flag, or reads what tile blocks have stored before."""
    waits = any(value in reached for value in place.op.operands)
    return waits or (place.reads and place.root is not None and place.root in stored)


def _depends_on(o: Op, branch: Op, loop: For | Loop | None, facts: Facts) -> bool:
    """Whether an access is executed only after a branch: inside it, or after the loop that the branch ends."""
    if facts.is_inside(o, branch):
        return True
    return isinstance(loop, Loop) and not facts.is_inside(o, loop) and facts.number[o] > facts.number[loop]


@rule("relaxed-release", WARNING)
def relaxed_release(facts: Facts) -> Iterator[Match]:
    """A flag that the kernel waits for is set after other stores, but without `release`.

    A relaxed store publishes nothing but itself. A tile block that sees the flag need not see what was stored
    before it, although the store of the flag waits for that.

    Fix: Set the flag with `release`, or with `acq_rel` if the operation also reads.

    Bad:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %x: tile<f32>, %one: tile<i32>, %first: tile<i1>) {
          if %first {
            %t = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token
            %u = store_ptr_tko relaxed device %flag, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
          } else {
            loop {
              %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
              %set = cmpi equal %f, %one, signed : tile<i32> -> tile<i1>
              if %set {
                break
              }
              continue
            }
          }
          return
        }
    Good:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %x: tile<f32>, %one: tile<i32>, %first: tile<i1>) {
          if %first {
            %t = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token
            %u = store_ptr_tko release device %flag, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
          } else {
            loop {
              %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
              %set = cmpi equal %f, %one, signed : tile<i32> -> tile<i1>
              if %set {
                break
              }
              continue
            }
          }
          return
        }
    """
    flags = {facts.place[o].key: o for o in _deciding(facts)}
    data = {v: p.op for p in facts.places if p.writes and p.is_weak and not facts.is_private(p) for v in p.op.results}
    for place in facts.places:
        relaxed = place.ordering in (Ordering.RELAXED, Ordering.ACQUIRE) and place.writes
        if not relaxed or place.key not in flags:
            continue
        known = (data[value] for value in tokens_before([place], facts, MAX_TOKENS) if value in data)
        stored = next((o for o in known if not _is_published(o, place.op, facts)), None)
        if stored is not None:
            new = "acq_rel" if place.reads else "release"
            fix = Fix(f"Use '{new}'", ReplaceWord(place.ordering.text, new))
            message = f"{place.op.name}: it sets a flag for others, but it is {place.ordering.text}, not {new}"
            related = ((stored, "this store is not published"), (flags[place.key], "the flag is read here"))
            yield Match(place.op, message, related=related, fix=fix)


def _is_published(store: Op, before: Op, facts: Facts) -> bool:
    """Whether a release waits for a store, and another operation for the release."""
    releases = (place.op for place in facts.places if place.releases)
    return any(facts.order.is_ordered(store, o) and facts.order.is_ordered(o, before) for o in releases)


@rule("mixed-atomicity", WARNING)
def mixed_atomicity(facts: Facts) -> Iterator[Match]:
    """Memory that all tile blocks access atomically is also accessed weakly, or with another size.

    A weak access promises that no other tile block accesses the memory at the same time, but all of them execute
    the atomic operation. Two atomic operations are atomic with respect to each other only if they access exactly
    the same bytes. A token orders accesses of one tile block; it does nothing about the others.

    Fix: Use `relaxed device` for the weak access, or use what the atomic operation returns.

    Bad:
        entry @k(%count: tile<ptr<i32>>, %out: tile<ptr<i32>>, %one: tile<i32>) {
          %old, %t = atomic_rmw_tko relaxed device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          %now, %u = load_ptr_tko weak %count token=%t : tile<ptr<i32>> -> tile<i32>, token
          print_tko "%d\\n", %now : tile<i32> -> token
          return
        }
    Good:
        entry @k(%count: tile<ptr<i32>>, %out: tile<ptr<i32>>, %one: tile<i32>) {
          %old, %t = atomic_rmw_tko relaxed device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          %now = addi %old, %one : tile<i32>
          print_tko "%d\\n", %now : tile<i32> -> token
          return
        }
    """
    shared: dict[Value | None, list[MemoryAccess]] = {}
    for place in facts.places:
        if place.root is not None and not facts.is_private(place) and not _own_element(place, facts):
            shared.setdefault(place.root, []).append(place)
    for group in shared.values():
        atomics = [place for place in group if place.reads and place.writes and not place.is_weak][:WINDOW]
        for place in group:
            if place.is_weak and _is_guarded(place, facts):
                continue
            other = next((a for a in atomics if a is not place and _is_mixed(a, place)), None)
            if other is None:
                continue
            what = "a weak access" if place.is_weak else "an atomic access of another size"
            message = f"{place.op.name}: {what} to memory that all tile blocks access atomically"
            yield Match(place.op, message, related=((other.op, "the atomic operation is here"),))


def _own_element(place: MemoryAccess, facts: Facts) -> bool:
    values = [place.pointer, *getattr(place.op, "index", ())]
    return any(facts.influence[value] != Dependence.NOTHING for value in values)


def _is_mixed(atomic: MemoryAccess, other: MemoryAccess) -> bool:
    if other.is_weak:
        return overlap(atomic, other)
    if atomic.address is None or other.address is None or atomic.address.terms != other.address.terms:
        return False
    same = atomic.size == other.size and bool(np.isin(other.numbers, atomic.numbers).any())
    return not same and overlap(atomic, other)
