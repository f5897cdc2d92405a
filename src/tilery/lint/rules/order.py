"""Tokens: accesses of one tile block that nothing orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...analysis.memory.places import MemoryAccess, overlap
from ...analysis.tokens import is_token_ordered
from ...ir import Block, Op, Value
from ...ops import For, GdcWaitTko, If, JoinTokens, Loop
from ...types import Token
from ..branches import are_exclusive
from ..facts import Facts
from ..rule import ERROR, WARNING, AddToken, Fix, Match, RuleFile

rule = RuleFile()

WINDOW = 16
"""How many earlier accesses through the same pointer an access is compared with."""
MAX_ACCESSES = 4096
"""The order of tokens takes memory for each pair of accesses; larger kernels are not looked at."""


@rule("missing-token", ERROR)
def missing_token(facts: Facts) -> Iterator[Match]:
    """Two accesses of the same memory, at least one of which writes, are not ordered by tokens.

    Program order orders nothing in Tile IR. An access happens after another one only if it takes its token,
    directly or through other operations. Without a token, a load may return the value from before a store that
    comes first in the text, and of two stores either may win. The specification calls this a race, and its
    behaviour is undefined.

    Fix: Pass the token of the first access to the second one. In a loop, carry the token from one iteration to the
    next.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
          %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
          %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
          %v, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
          print_tko "%f\\n", %v : tile<f32> -> token
          return
        }
    """
    if len(facts.places) > MAX_ACCESSES:
        return
    by_root: dict[Value | None, list[MemoryAccess]] = {}
    for place in facts.places:
        by_root.setdefault(place.root, []).append(place)
    for group in by_root.values():
        if any(place.writes for place in group):
            for at, later in enumerate(group):
                earlier = next((p for p in _before(group, at, facts) if _races(p, later, facts)), None)
                if earlier is not None:
                    yield _unordered(earlier, later, facts)


def _before(group: list[MemoryAccess], at: int, facts: Facts) -> Iterator[MemoryAccess]:
    """The accesses that an access is compared with: those before it, nearest first, and those after it in its loop."""
    yield from reversed(group[max(0, at - WINDOW) : at])
    loop = facts.loop(group[at].op)
    if loop is not None:
        yield from (p for p in group[at : at + WINDOW] if facts.is_inside(p.op, loop))


def _races(a: MemoryAccess, b: MemoryAccess, facts: Facts) -> bool:
    """Whether an access surely conflicts with a later one that does not wait for it."""
    if not (a.writes or b.writes) or (not a.is_weak and not b.is_weak and a.key == b.key):
        return False
    loop = facts.loop(b.op)
    while loop is not None and not facts.is_inside(a.op, loop):
        loop = facts.loop(loop)
    if loop is not None and _meet_later(a, b, loop, facts):
        return not tokens_after(a.op, facts).intersection(b.op.operands)
    if not overlap(a, b) or facts.order.is_ordered(a.op, b.op) or are_exclusive(a.op, b.op, facts):
        return False
    if loop is not None and _varies(b, loop, facts):
        # Other iterations access other memory, so only this iteration counts.
        return facts.number[a.op] < facts.number[b.op] and not follows(b.op, a.op)
    if facts.number[a.op] < facts.number[b.op]:
        return True
    # In an earlier iteration: certain only if both are executed in every iteration.
    return loop is not None and all(facts.parent[facts.home[p.op]] is loop for p in (a, b))


def _meet_later(a: MemoryAccess, b: MemoryAccess, loop: Op, facts: Facts) -> bool:
    """Whether an access surely touches what another one has touched in an earlier iteration of a loop."""
    steps = facts.steps(loop)
    if steps is None or a.address is None or b.address is None or not a.size or a.size != b.size:
        return False
    if any(facts.parent[facts.home[p.op]] is not loop or p.mask is not None for p in (a, b)):
        return False
    first, last, step = steps
    counter = loop.blocks[0].args[0]
    by = a.address.terms.get(counter, 0) * step
    others = [value for value in a.address.terms if value is not counter]
    if not by or dict(a.address.terms) != dict(b.address.terms) or any(facts.is_defined_in(v, loop) for v in others):
        return False
    distances = (
        np.unique(a.numbers.reshape(-1, 1) - b.numbers.reshape(1, -1)) if a.numbers.size < 256 else a.numbers[:0]
    )
    later = distances[(distances % by == 0)] // by
    return bool(((later >= 1) & (later <= (last - first) // step)).any())


def _varies(place: MemoryAccess, loop: Op, facts: Facts) -> bool:
    """Whether an access may touch other memory in each iteration of a loop."""
    if place.address is None:
        owner = place.pointer.owner
        values: list[Value] = [place.pointer, *getattr(place.op, "index", ())]
        return owner is None or any(facts.is_defined_in(value, loop) for value in values)
    return any(facts.is_defined_in(symbol, loop) for symbol in place.address.terms)


def follows(later: Op, earlier: Op) -> bool:
    """Whether the token of an access is made from that of an earlier one, on some path in the same iteration."""
    todo = [value for value in later.operands if isinstance(value.type, Token)]
    seen: set[Value] = set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if owner is earlier:
            return True
        if isinstance(owner, JoinTokens) or (isinstance(owner, Op) and is_token_ordered(owner)):
            todo += [v for v in owner.operands if isinstance(v.type, Token)]
        elif isinstance(owner, (If, For, Loop)):
            ends = [block.ops[-1] for block in owner.blocks if block.ops]
            todo += [v for end in (*ends, owner) for v in end.operands if isinstance(v.type, Token)]
    return False


def _unordered(earlier: MemoryAccess, later: MemoryAccess, facts: Facts) -> Match:
    if earlier.op is later.op:
        message = f"{later.op.name}: it accesses the same memory in every iteration, and no token orders the iterations"
        return Match(later.op, message, ("carry its token from one iteration of the loop to the next",))
    message = f"{later.op.name}: no token orders it after the {earlier.op.name} of the same memory"
    return Match(
        later.op, message, related=((earlier.op, "the other access is here"),), fix=_wait(earlier, later, facts)
    )


def _wait(earlier: MemoryAccess, later: MemoryAccess, facts: Facts) -> Fix | None:
    """Pass the token on, if the later access has none yet and can see it."""
    takes_token = any(isinstance(value.type, Token) for value in later.op.operands)
    home: Block | None = facts.home[earlier.op]
    at = later.op
    while facts.home[at] is not home and facts.parent[facts.home[at]] is not facts.entry:
        at = facts.parent[facts.home[at]]
    if takes_token or facts.home[at] is not home or facts.number[earlier.op] >= facts.number[later.op]:
        return None
    token = next(value for value in earlier.op.results if isinstance(value.type, Token))
    return Fix(f"Wait for the {earlier.op.name}", AddToken(token))


@rule("wait-without-token", WARNING)
def wait_without_token(facts: Facts) -> Iterator[Match]:
    """An access after `gdc_wait_tko` does not take its token, so it does not wait.

    A kernel that starts before the one before it has ended waits for its results with `gdc_wait_tko`. Program order
    orders nothing: an access that does not take the token, directly or through other operations, may read memory that
    the other kernel has not written yet, or write memory that it still reads.

    Fix: Pass the token of the wait to every access that relies on it. Put accesses that need not wait before it.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
          %w = gdc_wait_tko -> token
          %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %q, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
          %w = gdc_wait_tko -> token
          %v, %t = load_ptr_tko weak %p token=%w : tile<ptr<f32>> -> tile<f32>, token
          %u = store_ptr_tko weak %q, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    if len(facts.places) > MAX_ACCESSES:
        return
    for wait in facts.of(GdcWaitTko):
        for place in facts.places:
            is_later = facts.number[place.op] > facts.number[wait] and not facts.is_private(place)
            if is_later and not facts.order.is_ordered(wait, place.op):
                message = f"{place.op.name}: no token orders it after the wait for the kernel before"
                yield Match(place.op, message, related=((wait, "the wait is here"),))


@rule("release-without-token", WARNING)
def release_without_token(facts: Facts) -> Iterator[Match]:
    """A release does not wait for a store before it, so it does not publish what was stored.

    A release makes visible to other tile blocks what its token follows, and nothing else. A store that comes first
    in the text, but whose token the release does not take, may still be under way when another tile block sees the
    flag.

    Fix: Pass the token of the last store, or a join of all of them, to the release.

    Bad:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %x: tile<f32>, %one: tile<i32>) {
          %t = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token
          %u = store_ptr_tko release device %flag, %one : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    Good:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %x: tile<f32>, %one: tile<i32>) {
          %t = store_ptr_tko weak %data, %x : tile<ptr<f32>>, tile<f32> -> token
          %u = store_ptr_tko release device %flag, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    """
    if len(facts.places) > MAX_ACCESSES:
        return
    for at, release in enumerate(facts.places):
        if not release.releases or facts.is_private(release):
            continue
        for place in reversed(facts.places[max(0, at - WINDOW) : at]):
            if facts.order.is_ordered(place.op, release.op) or follows(release.op, place.op):
                continue
            if are_exclusive(place.op, release.op, facts):
                continue
            if place.writes and place.is_weak and not facts.is_private(place) and _is_published(place, release, facts):
                note = "this store is not published"
                message = f"{release.op.name}: the release does not wait for the {place.op.name} before it"
                yield Match(release.op, message, related=((place.op, note),), fix=_wait(place, release, facts))
                break


def _is_published(store: MemoryAccess, release: MemoryAccess, facts: Facts) -> bool:
    """Whether a release is there for a store: it waits for nothing else, or the kernel also reads that memory."""
    if not any(isinstance(value.type, Token) for value in release.op.operands):
        return True
    return store.root is not None and any(place.reads and place.root is store.root for place in facts.places)


@rule("acquire-token-unused", WARNING)
def acquire_token_unused(facts: Facts) -> Iterator[Match]:
    """Nothing waits for an acquire, so it orders nothing.

    An acquire orders what follows its token. Accesses that come later in the text but do not take the token may
    happen before the acquire, and see memory as it was before the other tile block published it.

    Fix: Pass the token of the acquire to the accesses that rely on it, out of the loop and through branches if need
    be.

    Bad:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
          %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
          %v, %u = load_ptr_tko weak %data : tile<ptr<f32>> -> tile<f32>, token
          %w = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          print_tko "%d\\n", %f : tile<i32> -> token
          return
        }
    Good:
        entry @k(%data: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
          %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
          %v, %u = load_ptr_tko weak %data token=%t : tile<ptr<f32>> -> tile<f32>, token
          %w = store_ptr_tko weak %out, %v : tile<ptr<f32>>, tile<f32> -> token
          print_tko "%d\\n", %f : tile<i32> -> token
          return
        }
    """
    weak = [place for place in facts.places if place.is_weak and not facts.is_private(place)]
    awaited = tokens_before(weak, facts)
    for acquire in facts.places:
        if not acquire.acquires or facts.is_private(acquire) or any(value in awaited for value in acquire.op.results):
            continue
        after = (place for place in reversed(weak) if facts.number[place.op] > facts.number[acquire.op])
        later = next((place for place in after if not are_exclusive(acquire.op, place.op, facts)), None)
        if later is not None:
            note = (later.op, "this access does not wait for it")
            yield Match(acquire.op, f"{acquire.op.name}: nothing waits for this acquire", related=(note,))


def tokens_before(later: Iterable[MemoryAccess], facts: Facts, most: int | None = None) -> set[Value]:
    """The tokens that one of these accesses waits for, on some path; `most` limits how many are looked at."""
    found: set[Value] = set()
    todo = [value for place in later for value in place.op.operands if isinstance(value.type, Token)]
    while todo and (most is None or len(found) < most):
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += facts.token_sources.get(value, ())
    return found


def tokens_after(o: Op, facts: Facts) -> set[Value]:
    """The tokens that are made from the token of an access, on some path."""
    found: set[Value] = set()
    todo = [value for value in o.results if isinstance(value.type, Token)]
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo += facts.token_readers.get(value, ())
    return found
