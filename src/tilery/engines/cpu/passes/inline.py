"""Fuse nests: where a tile is read, compute its elements again instead of loading them from a buffer.

A tile may be fused if one nest of parallel loops makes it from values that are the same where it is read. It stays in
a buffer if computing it is not cheap and it is needed by several nests, or more often than it has elements.

A nest that writes memory may read memory in the same iteration only if that is harmless: the two boxes do not overlap,
or every element is written where it was read. That is decided when the kernel runs; the other version computes the
whole tile before it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Declare,
    Float,
    Guard,
    If,
    Int,
    Jump,
    Kernel,
    Kind,
    Load,
    Locate,
    Loop,
    Operand,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    Write,
    blocks_of,
    buffers_read,
    buffers_written,
    defined,
    index,
    operands,
    truth,
    walk,
    with_operands,
    with_result,
)
from ..registry import HEAVY
from .rewrite import Copy, trip_count, with_values, writes_memory, written_buffers

MANY = 8
"""A tile that more nests than this need is computed once, even if it is cheap."""
TRIVIAL = 3
"""Statements that may be computed anywhere."""
FAR = 1 << 36
"""Bytes between elements, above which it is not found out whether any share memory."""
MANY_CHECKS = 4
"""Boxes with one first element, above which it is not found out whether a nest may read and write memory."""
MAX_BODY = 600
"""Statements of a nest, above which nothing more is fused into it."""
MAX_REPEATED = 100
"""Statements of a tile that is computed more often than it has elements, or from another one at several places, above
which it stays in a buffer."""
MAX_ACCESSES = 64
"""Reads of memory for an element, above which its tile stays in a buffer."""

PURE = (Int, Apply, Float, Shuffle, Load, Check)
"""Statements that change nothing. A check may be done several times, but at least once for every element."""


@dataclass(slots=True, eq=False)
class Access:
    """A read of memory: where its elements are, if that has a known form, and the checks that its own is among."""

    read: Read
    form: Form | None
    guards: tuple[Guard, ...]

    @property
    def place(self) -> tuple[Any, ...]:
        """What equal accesses have in common."""
        return id(self.read), self.form and (self.form[0], frozenset(self.form[1].items()))


@dataclass(slots=True, eq=False)
class Producer:
    """A nest that makes a tile: its loops, and statements without the last one, which stores `value`."""

    nest: Loop
    buffer: Buffer
    loops: list[Loop]
    body: list[Stmt]
    value: Operand
    indices: tuple[Value | None, ...]
    """The loop index of each dimension; None for those of one element."""
    inputs: set[Buffer] = field(default_factory=set)
    """The buffers that it loads, and that producers are computed from which are computed in it."""
    reads: list[Read] = field(default_factory=list)
    """The memory that it reads itself."""
    fused: dict[Buffer, Producer] = field(default_factory=dict)
    """The tiles whose elements are computed where it loads them."""
    accesses: list[Access] = field(default_factory=list)
    """All memory that is read to compute an element."""
    parts: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """The statements of each producer that is computed in it, by its tile and the way to its place, and its own."""
    passes: set[Buffer] = field(default_factory=set)
    """Those of `fused` whose checks it may do."""
    is_heavy: bool = False
    is_checked: bool = False
    may_pass_checks: bool = False
    """Whether a nest that computes all elements anyway is known to run, so that it can do the checks."""

    @property
    def size(self) -> int:
        return sum(self.parts.values())

    @property
    def is_repeated(self) -> bool:
        """Whether some tile is computed at several places."""
        return len({b for b, *_ in self.parts}) < len(self.parts)

    @property
    def is_trivial(self) -> bool:
        return not self.inputs and not self.reads and not self.accesses and self.size <= TRIVIAL and not self.is_heavy


def inline(kernel: Kernel) -> None:
    """Fuse the nests of a kernel."""
    _Inliner(kernel).run()


def perfect_nest(s: Stmt) -> tuple[list[Loop], list[Stmt]] | None:
    """Return the loops of a nest, each of which ends with the next, and all statements that compute an element.

    What was hoisted out of inner loops is computed for each element again, as if it had not been.
    """
    loops: list[Loop] = []
    body: list[Stmt] = []
    while isinstance(s, Loop) and not s.polls and s.kind in (Kind.PARALLEL, Kind.SERIAL):
        loops.append(s)
        *before, last = s.body or [s]
        if not isinstance(last, Loop) or last is s:
            return loops, [*body, *s.body]
        if not all(isinstance(each, (Int, Apply, Float, Shuffle, Load, Read)) for each in before):
            return None
        body += before
        s = last
    return None


def producer_of(s: Stmt, writers: dict[Buffer, int]) -> Producer | None:
    """Return what a nest makes, if it can be computed element by element anywhere."""
    found = perfect_nest(s)
    if found is None:
        return None
    loops, body = found
    assert isinstance(s, Loop)
    if not body or not isinstance(body[-1], Store):
        return None
    store = body[-1]
    b = store.buffer
    plain = all(isinstance(each, (*PURE, Read)) for each in body[:-1])
    if not plain or store.mask is not None or writers.get(b) != 1 or b.strides is not None or b.scope is Scope.REGISTER:
        return None
    by_index = {loop.index: loop for loop in loops}
    indices: list[Value | None] = []
    for x, size in zip(store.index, b.shape):
        loop = by_index.pop(x, None) if isinstance(x, Value) else None
        if loop is None:
            if size != 1:
                return None
            indices.append(None)
        elif loop.kind is not Kind.PARALLEL or loop.low != index(0) or loop.high != index(size) or loop.step != 1:
            return None
        else:
            indices.append(loop.index)
    if by_index or any(v.lanes != 1 for each in body if (v := defined(each)) is not None):
        return None
    made = Producer(s, b, loops, body[:-1], store.value, tuple(indices))
    made.inputs = {x for each in body for x in buffers_read(each)}
    made.reads = [each for each in body if isinstance(each, Read)]
    made.parts = {(b,): len(made.body)}
    made.is_heavy = any(isinstance(each, Apply) and type(each.op) in HEAVY for each in body)
    made.is_checked = any(isinstance(each, Check) for each in body)
    return made


class _Known:
    """The tiles that may be computed again in the block that is open, and the checks so far.

    Blocks inside see them too, and what they change is undone at their end.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.floor = 0
        """The depth of the loop that is open: of the tiles outside of it, only trivial ones are known."""
        self.guards: Guards = {}
        self._tiles: dict[Buffer, tuple[Producer, int]] = {}
        self._users: dict[Buffer, dict[Buffer, bool]] = {}
        """The tiles that are, or were, computed from a buffer."""
        self._readers: dict[Buffer, bool] = {}
        """The tiles that are, or were, read from memory."""
        self._log: list[tuple[dict[Any, Any], Any, Any]] = []

    def get(self, b: Buffer) -> Producer | None:
        p, depth = self._tiles.get(b, (None, 0))
        return p if p is not None and (depth >= self.floor or p.is_trivial) else None

    def passes_checks(self, b: Buffer) -> bool:
        """Tell whether a tile belongs to the block that is open, so that one of its nests may do the checks."""
        return self._tiles[b][1] == self.depth

    @contextmanager
    def within(self, loop: bool) -> Iterator[None]:
        """Open a block inside."""
        floor, length = self.floor, len(self._log)
        self.depth += 1
        self.floor = self.depth if loop else floor
        yield
        self.depth -= 1
        self.floor = floor
        while len(self._log) > length:
            table, key, old = self._log.pop()
            if old is None:
                table.pop(key, None)
            else:
                table[key] = old

    def add(self, p: Producer) -> None:
        self._set(self._tiles, p.buffer, (p, self.depth))
        for b in p.inputs:
            self._set(self._users.setdefault(b, {}), p.buffer, True)
        if p.accesses:
            self._set(self._readers, p.buffer, True)

    def add_guard(self, s: Guard) -> None:
        """Keep a check, with the last ones that begin at the same address."""
        others = [each for each in self.guards.get(s.address, ()) if not each.writes and not _is_equal(each, s)]
        self._set(self.guards, s.address, (*others[-MANY_CHECKS - 1 :], s))

    def forget(self, changed: set[Buffer]) -> None:
        """Forget what is computed from buffers."""
        for b in changed:
            for user in list(self._users.get(b, ())):
                self._drop(self._users[b], user)
                self._drop(self._tiles, user)

    def forget_readers(self, is_independent: Callable[[Producer], bool]) -> None:
        """Forget what is read from memory, but for some."""
        for b in list(self._readers):
            found = self._tiles.get(b)
            if found is None or not is_independent(found[0]):
                self._drop(self._readers, b)
                self._drop(self._tiles, b)

    def _drop(self, table: dict[Any, Any], key: Any) -> None:
        if key in table:
            self._log.append((table, key, table.pop(key)))

    def _set(self, table: dict[Any, Any], key: Any, new: Any) -> None:
        self._log.append((table, key, table.get(key)))
        table[key] = new


class _Roots:
    """The nests that are not producers and that tiles are computed for, by the names of sets of them."""

    def __init__(self) -> None:
        self.of: dict[Buffer, frozenset[int] | int] = {}
        """The set, or the number of one that is large. Large ones that are made differently count as different."""
        self._large: dict[frozenset[frozenset[int] | int], int] = {}

    def find(self, b: Buffer, users: list[tuple[int, Producer | None]]) -> None:
        """Unite the sets of the nests that load a tile, which are known but for those before it."""
        sets = frozenset(self.of.get(p.buffer, frozenset((n,))) if p else frozenset((n,)) for n, p in users)
        small = [each for each in sets if isinstance(each, frozenset)]
        united = frozenset().union(*small)
        if len(small) == len(sets) and len(united) <= MANY:
            self.of[b] = united
        elif len(sets) == 1:
            (self.of[b],) = sets
        else:
            self.of[b] = self._large.setdefault(sets, len(self._large))

    def count(self, b: Buffer) -> int:
        found = self.of[b]
        return len(found) if isinstance(found, frozenset) else MANY + 1


class _Inliner:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.writers: dict[Buffer, int] = {}
        for s in walk(kernel.body):
            for b in buffers_written(s):
                self.writers[b] = self.writers.get(b, 0) + 1
        self.known = _Known()
        self.often: set[Buffer] = set()
        self.kept = self.plan()
        self.boxed = _boxed(kernel.body)
        self.waiting: dict[Buffer, Producer] = {}
        """Nests that are fused at the end, if their tiles are loaded then."""
        self.passed: set[Producer] = set()
        """Those whose checks are done elsewhere."""

    def run(self) -> None:
        self.block(self.kernel.body)
        self.finish()
        for p in self.passed:
            body = p.loops[-1].body
            body[:] = [s for s in body if not isinstance(s, Check)]

    def finish(self) -> None:
        """Fuse the nests that wait and whose tiles are needed; the others compute nothing."""
        nests = {p.nest for p in self.waiting.values()}
        needed: list[Buffer] = []
        stack = [self.kernel.body]
        while stack:
            for s in stack.pop():
                if isinstance(s, Loop) and s in nests:
                    continue
                needed += _needed_by(s)
                stack += blocks_of(s)
        wanted = set(needed)
        for b, p in reversed(list(self.waiting.items())):
            if b in wanted or (p.is_checked and p not in self.passed):
                del self.waiting[b]
                wanted |= self.materialise(p, set() if p in self.passed else p.passes)
        while found := wanted & self.waiting.keys():  # by a loop, they are loaded before they are made
            for b in found:
                wanted |= self.materialise(self.waiting.pop(b), set())
        for p in self.waiting.values():
            p.nest.body = []

    def materialise(self, p: Producer, passes: set[Buffer]) -> set[Buffer]:
        """Fuse a nest, which may do the checks of some tiles if it keeps its own; return what it loads."""
        self.replace(p.nest, _Chosen(p.fused, passes))
        return {b for s in walk([p.nest]) for b in _needed_by(s)}

    # ------------------------------------------------------------ which tiles stay in buffers

    def plan(self) -> set[Buffer]:
        """Return the tiles that are not cheap and that several nests need."""
        nests: list[tuple[Stmt, Producer | None]] = []
        stack = [self.kernel.body]
        while stack:
            for s in stack.pop():
                if blocks_of(s) and not _is_nest(s):
                    stack += reversed(blocks_of(s)[_is_rare(s) :])
                else:
                    nests.append((s, producer_of(s, self.writers)))
        makers = {p.buffer: (n, p) for n, (_, p) in enumerate(nests) if p is not None}
        users: dict[Buffer, set[int]] = {}
        spread: set[Buffer] = set()
        """Tiles that larger ones repeat, for each of whose elements they may be computed once these are fused."""
        for n, (s, p) in enumerate(nests):
            for b, count in _uses(s).items():
                users.setdefault(b, set()).add(n)
                if count > prod(b.shape):
                    self.often.add(b)
                if p is not None and prod(p.buffer.shape) > prod(b.shape):
                    spread.add(b)
        roots = _Roots()
        for _, p in reversed(nests):
            if p is not None:
                roots.find(p.buffer, [(n, nests[n][1]) for n in users.get(p.buffer, ())])
        kept: set[Buffer] = set()
        heavy: dict[Buffer, bool] = {}
        for b, (_, p) in sorted(makers.items(), key=lambda each: each[1][0]):
            heavy[b] = p.is_heavy or any(heavy.get(x, False) and x not in kept for x in p.inputs)
            if heavy[b] and (b in self.often or b in spread):
                kept.add(b)
                continue
            count = roots.count(b)
            if count > 1 and (heavy[b] or (count > MANY and not p.is_trivial)):
                consumers = [nests[n][1] for n in users.get(b, ())]
                if any(c is None or roots.of[c.buffer] != roots.of[b] for c in consumers):
                    kept.add(b)
        return kept

    # ------------------------------------------------------------ blocks

    def block(self, body: list[Stmt]) -> None:
        known = self.known
        out: list[Stmt] = []
        for n, s in enumerate(body):
            if isinstance(s, Guard):
                known.add_guard(s)
            if blocks_of(s) and not _is_nest(s):
                for inner in blocks_of(s):
                    with known.within(not isinstance(s, If)):
                        self.block(inner)
            made = producer_of(s, self.writers)
            if made is not None:
                self.fuse_later(made)
                self.waiting[made.buffer] = made
                new = [s]
            else:
                new = self.fused(s) if _is_nest(s) else [s]
            out += new
            known.forget(written_buffers(new))
            if writes_memory(new):
                known.forget_readers(lambda p, new=new: self.is_independent(p, new))  # type: ignore[misc]
            if made is None:
                continue
            if made.is_checked:
                made.may_pass_checks = _computes_all_later(made, body, n + 1)
            if not self.stays(made):
                known.add(made)
        body[:] = out

    def stays(self, p: Producer) -> bool:
        """Tell whether a tile is loaded from its buffer, whatever loads it."""
        if p.buffer in self.kept or p.may_pass_checks != p.is_checked or (p.accesses and p.buffer in self.boxed):
            return True
        if len(p.accesses) > MAX_ACCESSES:
            return True
        return p.size > (MAX_REPEATED if p.buffer in self.often or p.is_repeated else MAX_BODY)

    def fuse_later(self, made: Producer) -> None:
        """Decide which tiles are computed where a nest that makes a tile loads them."""
        guards = self.known.guards
        made.accesses = [Access(r, f, _checks(f, guards)) for r in made.reads for f in [linear(r.address, made.body)]]
        uses = _uses(made.nest)
        loads: dict[Buffer, list[Load]] = {}
        for s in made.body:
            if isinstance(s, Load) and s.mask is None:
                loads.setdefault(s.buffer, []).append(s)
        for b, places in loads.items():
            p = self.known.get(b)
            if p is None or made.buffer in p.inputs or not pays(p, uses.get(b, 0), made.loops):
                continue
            made.fused[b] = p
            made.inputs |= p.inputs
            made.is_heavy |= p.is_heavy
            if p.may_pass_checks and self.known.passes_checks(b):
                made.passes.add(b)
                made.is_checked |= any(_is_all(p, s, made.loops) for s in places)
            for s in places:
                way = () if _is_same(made.indices, s.index) else (made.buffer, s.index)
                made.parts |= {(*part, *way): size for part, size in p.parts.items()}
                at = dict(zip(p.indices, s.index))
                made.accesses += [Access(a.read, _moved(a.form, at, made), a.guards) for a in p.accesses]
        made.accesses = list({a.place: a for a in made.accesses}.values())
        masked = {s.buffer for s in made.body if isinstance(s, Load) and s.mask is not None}
        made.inputs -= made.fused.keys() - masked

    def is_independent(self, p: Producer, body: list[Stmt]) -> bool:
        """Tell whether statements do not write memory that a tile is read from."""
        writes = [s for s in walk(body) if isinstance(s, (Write, Atomic, Call))]
        if not p.accesses or not writes:
            return True
        homes = {s.home if isinstance(s, Write) else None for s in writes}
        apart = None not in homes and all(a.read.home is not None and a.read.home not in homes for a in p.accesses)
        return self.kernel.disjoint and apart

    def fused(self, s: Stmt) -> list[Stmt]:
        """Return a nest with the tiles that it loads computed in it."""
        assert isinstance(s, Loop)
        changes = written_buffers([s])
        wanted = dict.fromkeys(each.buffer for each in walk([s]) if isinstance(each, Load))
        found = {b: p for b in wanted if (p := self.known.get(b)) is not None}
        chosen = {b: p for b, p in found.items() if not p.inputs & changes}
        if not chosen:
            return [s]
        if writes_memory([s]) and not all(self.is_independent(p, [s]) for p in chosen.values()):
            return self.versions(s, chosen)
        self.replace(s, self.choice(s, chosen))
        return [s]

    def choice(self, s: Stmt, tiles: dict[Buffer, Producer]) -> _Chosen:
        """Return what may be computed where a nest loads it."""
        passes = {b for b, p in tiles.items() if p.may_pass_checks and self.known.passes_checks(b)}
        return _Chosen(tiles, passes, _uses(s))

    def replace(self, nest: Loop, chosen: _Chosen, loops: tuple[Loop, ...] = (), always: bool = True) -> None:
        """Compute tiles where a nest loads them."""
        nest.body = self.replaced(nest.body, chosen, (*loops, nest), always)

    def replaced(self, body: list[Stmt], chosen: _Chosen, loops: tuple[Loop, ...], always: bool) -> list[Stmt]:
        """Return a block of a nest with tiles computed; `always` says that all its iterations run it."""
        copy = Copy()
        shared: dict[Any, Operand] = {}
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Loop):
                self.replace(s, chosen, loops, always)
            elif isinstance(s, If):
                s.then = self.replaced(s.then, chosen, loops, False)
                s.orelse = self.replaced(s.orelse, chosen, loops, False)
            p = chosen.tiles.get(s.buffer) if isinstance(s, Load) and s.mask is None else None
            if p is None or not isinstance(s, Load) or len(out) > MAX_BODY or not chosen.pays(p, loops):
                out.append(with_values(s, copy))
                continue
            key = (p.buffer, tuple(map(copy.get, s.index)))
            if key not in shared:
                checks = always and p.buffer in chosen.passes and _is_all(p, s, loops)
                computed(p, key[1], out, checks, shared, self.passed)
            copy.values[s.result] = shared[key]
        return out

    # ------------------------------------------------------------ reading and writing memory at once

    def versions(self, s: Loop, chosen: dict[Buffer, Producer]) -> list[Stmt]:
        """Fuse a nest that writes memory, for launches where that is harmless."""
        harmless = {b: p for b, p in chosen.items() if self.is_independent(p, [s])}
        _, body = perfect_nest(s) or ([], [])
        write = body[-1] if body else None
        if isinstance(write, Write) and all(isinstance(each, PURE) for each in body[:-1]):
            form = linear(write.address, body)
            guard = None if form is None else self.known.guards.get(form[0], (None,))[-1]  # the nest follows its check
            usable = {b: p for b, p in chosen.items() if b not in harmless and all(a.guards for a in p.accesses)}
            if form is not None and guard is not None and guard.writes and usable:
                return self.two_versions(s, harmless, usable, guard, form[1])
        self.replace(s, self.choice(s, harmless))
        return [s]

    def two_versions(
        self,
        s: Loop,
        harmless: dict[Buffer, Producer],
        usable: dict[Buffer, Producer],
        guard: Guard,
        strides: Strides,
    ) -> list[Stmt]:
        loops, body = perfect_nest(s) or ([], [])
        before: list[Stmt] = []
        b = Builder(before)
        together = _is_injective(b, guard.item, loops, strides)
        for p in usable.values():
            for access in p.accesses:
                clear: Operand = truth(True)
                for other in access.guards:
                    clear = b.both(clear, _is_apart(b, guard, other))
                equal = all(guard.item == other.item for other in access.guards)
                if equal and (same := _same_place(b, p, access.form, body, strides)) is not None:
                    clear = b.either(clear, b.both(same, b.integer("eq", guard.address, access.guards[0].address)))
                together = b.both(together, clear)
        computing, writing = _split(s, loops)
        chosen = harmless | usable
        self.replace(s, self.choice(s, chosen))
        self.replace(computing, self.choice(computing, chosen))
        for loop in loops:
            loop.kind = Kind.PARALLEL
        buffer = next(each.buffer for each in walk([computing]) if isinstance(each, Store))
        slow: list[Stmt] = [Declare(buffer), computing, writing]
        b.emit(If(b.opposite(together), slow, [s], rarely=True))
        return before


Guards = dict[Operand, tuple[Guard, ...]]
"""The checks of boxes in a block so far, by their first addresses, the latest one last."""
Strides = dict[Operand, Operand]
"""The distance in bytes between elements along each loop, by the index of the loop."""
Form = tuple[Operand, Strides]
"""Where elements are: an address, and distances from it."""


@dataclass(slots=True)
class _Chosen:
    """The tiles that are computed where a nest loads them, and those of them whose checks it may do."""

    tiles: dict[Buffer, Producer]
    passes: set[Buffer]
    uses: dict[Buffer, int] | None = None
    """How many elements of each it loads; None if all tiles pay."""

    def pays(self, p: Producer, loops: tuple[Loop, ...]) -> bool:
        return self.uses is None or pays(p, self.uses.get(p.buffer, 0), loops)


def _is_nest(s: Stmt) -> bool:
    return isinstance(s, Loop) and not s.polls and s.kind is not Kind.GRID


def _boxed(body: list[Stmt]) -> set[Buffer]:
    """Return the tiles by which some nests check addresses that others access.

    They must not be read from memory in each: another thread might change them in between.
    """
    found: set[Buffer] = set()
    for s in walk(body):
        if _is_nest(s):
            inner = list(walk([s]))
            kinds = set(map(type, inner))
            if Guard in kinds and kinds.isdisjoint((Read, Write, Atomic)):
                found |= {i.buffer for i in inner if isinstance(i, Load)}
    return found


def _uses(nest: Stmt) -> dict[Buffer, int]:
    """Return how many elements of each buffer a statement loads, those at equal indices in a block once."""
    found: dict[Buffer, int] = {}
    stack = [([nest], 1)]
    while stack:
        block, times = stack.pop()
        seen: set[tuple[Buffer, tuple[Operand, ...]]] = set()
        for s in block:
            for b in buffers_read(s):
                if isinstance(s, Load):
                    if (b, s.index) in seen:
                        continue
                    seen.add((b, s.index))
                lanes = s.result.lanes if isinstance(s, Load) else 1
                found[b] = found.get(b, 0) + times * lanes
            turns = (trip_count(s) or 1) if isinstance(s, Loop) else 1
            stack += [(inner, times * turns) for inner in blocks_of(s)[_is_rare(s) :]]
    return found


def _needed_by(s: Stmt) -> tuple[Buffer, ...]:
    """Return the buffers whose elements matter to a statement itself."""
    if isinstance(s, Call):
        return (*s.arguments, *s.results)
    return (s.buffer,) if isinstance(s, Locate) else buffers_read(s)


def _is_rare(s: Stmt) -> bool:
    """Tell whether the first block of a statement is not expected to run."""
    return isinstance(s, If) and s.rarely


def pays(p: Producer, uses: int, loops: Sequence[Loop]) -> bool:
    """Tell whether to compute the elements of a tile where a nest loads them."""
    if p.is_trivial:
        return True
    if uses <= prod(p.buffer.shape) and all(trip_count(loop) is not None for loop in loops):
        return True
    return not p.is_heavy and all(loop.kind is Kind.PARALLEL for loop in loops)


def _is_same(indices: tuple[Value | None, ...], at: tuple[Operand, ...]) -> bool:
    """Tell whether an element is at the indices of a nest; None is that of a dimension of one element."""
    return len(indices) == len(at) and all(i is None or i is x for i, x in zip(indices, at))


def _is_all(p: Producer, s: Load, loops: Sequence[Loop]) -> bool:
    """Tell whether a nest that runs loads every element of a tile."""
    ranges = {loop.index: loop for loop in loops}
    for x, size in zip(s.index, p.buffer.shape):
        loop = ranges.pop(x, None) if isinstance(x, Value) else None
        if loop is None:
            if size != 1:
                return False
        elif loop.low != index(0) or loop.high != index(size) or loop.step != 1:
            return False
    return all(trip_count(loop) for loop in ranges.values())


def _computes_all_later(p: Producer, body: list[Stmt], start: int) -> bool:
    """Tell whether a nest of the block loads every element of a tile, among the statements from a position on."""
    for n in range(start, len(body)):
        s = body[n]
        if _is_nest(s):
            found = perfect_nest(s)
            if found is not None and any(
                isinstance(each, Load) and each.buffer is p.buffer and each.mask is None and _is_all(p, each, found[0])
                for each in found[1]
            ):
                return True
        elif any(isinstance(each, Jump) for each in walk([s])):
            return False
    return False


@dataclass(slots=True)
class _Element:
    """An element of a tile that is being computed."""

    p: Producer
    at: tuple[Operand, ...]
    checks: bool
    result: Value | None = None
    """The value, in the element before it, that it becomes."""
    copy: Copy = field(init=False)
    rest: Iterator[Stmt] = field(init=False)

    def __post_init__(self) -> None:
        self.copy = Copy({v: x for v, x in zip(self.p.indices, self.at) if v is not None})
        self.rest = iter(self.p.body)


def computed(
    p: Producer,
    at: tuple[Operand, ...],
    out: list[Stmt],
    checks: bool = True,
    shared: dict[Any, Operand] | None = None,
    passed: set[Producer] | None = None,
) -> Operand:
    """Append statements that compute an element of a tile, or one per lane of the index; return it.

    `shared` has what was computed like this before; nothing that the tile is computed from changes in between. The
    producers whose checks are among the statements are added to `passed`.
    """
    shared = {} if shared is None else shared
    passed = set() if passed is None else passed
    elements = [_Element(p, at, checks)]
    if checks:
        passed.add(p)
    while True:
        last = elements[-1]
        values = last.copy.values
        for s in last.rest:
            q = last.p.fused.get(s.buffer) if isinstance(s, Load) and s.mask is None else None
            if q is not None and isinstance(s, Load):
                key: Any = q.buffer, tuple(map(last.copy.get, s.index))
                if key in shared:
                    values[s.result] = shared[key]
                    continue
                if len(out) <= MAX_BODY:
                    checks = last.checks and q.buffer in last.p.passes and _is_all(q, s, last.p.loops)
                    elements.append(_Element(q, key[1], checks, s.result))
                    if checks:
                        passed.add(q)
                    break
            new = with_operands(s, last.copy.get)
            lanes = max((x.lanes for x in operands(new)), default=1)
            made = defined(new)
            if made is None:
                if last.checks:
                    out.append(new)
                continue
            key = _what(new, lanes)
            if key not in shared:
                shared[key] = fresh = last.copy.fresh(made, lanes)
                out.append(with_result(new, fresh))
            values[made] = shared[key]
        else:
            value = shared[last.p.buffer, last.at] = last.copy.get(last.p.value)
            elements.pop()
            if last.result is None:
                return value
            elements[-1].copy.values[last.result] = value


def _what(s: Any, lanes: int) -> tuple[Any, ...]:
    """Return what a statement computes: equal ones have the same result."""
    what = getattr(s, "op", None) or getattr(s, "name", None) or getattr(s, "buffer", None)
    masks = getattr(s, "mask", None), getattr(s, "other", None)
    return type(s), what, getattr(s, "order", None), s.result.element, lanes, tuple(operands(s)), masks


# ---------------------------------------------------------------- where elements are


def linear(address: Operand, body: list[Stmt]) -> tuple[Operand, Strides] | None:
    """Return where the elements of a nest begin, and the distances along its loops, if the address has that form."""
    made = {v: s for s in body if (v := defined(s)) is not None}
    root: Operand | None = None
    strides: Strides = {}
    stack = [address]
    while stack:
        x = stack.pop()
        s = made.get(x) if isinstance(x, Value) else None
        if isinstance(s, Int) and s.name == "add":
            stack += s.operands
        elif isinstance(s, Int) and s.name == "mul" and not any(y in made for y in s.operands):
            i, stride = s.operands
            if i in strides or not isinstance(i, Value):
                return None
            strides[i] = stride
        elif s is not None:
            return None
        elif root is None and isinstance(x, Value):
            root = x
        else:
            return None
    return None if root is None else (root, strides)


def _checks(form: tuple[Operand, Strides] | None, guards: Guards) -> tuple[Guard, ...]:
    """Return the checks of all tiles that begin where some elements do; none if they are many."""
    found = tuple(each for each in guards.get(form[0], ()) if not each.writes) if form is not None else ()
    return found if len(found) <= MANY_CHECKS else ()


def _is_equal(one: Guard, other: Guard) -> bool:
    return (one.dims, one.item, one.writes) == (other.dims, other.item, other.writes)


def _is_injective(b: Builder, item: int, loops: list[Loop], strides: Strides) -> Operand:
    """Return whether no two elements share memory: each stride is longer than the dimensions inside it.

    Strides are limited, so that no sum wraps around: masks may hide elements of a stride that leads nowhere.
    """
    if set(strides) != {loop.index for loop in loops}:
        return truth(False)
    found: Operand = truth(True)
    reach: Operand = index(item - 1)
    inner = [loop for loop in loops if strides[loop.index] == index(item)][-1:] or loops[-1:]
    for loop in [*inner, *(loop for loop in reversed(loops) if loop not in inner)]:
        stride, count = strides[loop.index], trip_count(loop)
        if count is None:
            return truth(False)
        found = b.both(found, b.both(b.integer("slt", reach, stride), b.integer("slt", stride, index(FAR))))
        reach = b.add(reach, b.mul(stride, index(count - 1)))
    return found


def _bounds(b: Builder, guard: Guard) -> tuple[Operand, Operand]:
    """Return the first byte of a box and the end of the last. The box has been checked, so they do not wrap."""
    low = high = guard.address
    for count, stride in guard.dims:
        reach = b.mul(b.sub(count, index(1)), stride)
        low = b.add(low, b.integer("smin", reach, index(0)))
        high = b.add(high, b.integer("smax", reach, index(0)))
    return low, b.add(high, index(guard.item))


def _is_apart(b: Builder, one: Guard, other: Guard) -> Operand:
    (low, high), (first, last) = _bounds(b, one), _bounds(b, other)
    return b.either(b.integer("ule", high, first), b.integer("ule", last, low))


def _same_place(b: Builder, p: Producer, form: Form | None, body: list[Stmt], strides: Strides) -> Operand | None:
    """Return whether a nest reads the elements of a tile with the distances that it writes with; None if unknown."""
    if form is None:
        return None
    found: Operand = truth(True)
    for s in body:
        if isinstance(s, Load) and s.buffer is p.buffer:
            place = {v: x for v, x in zip(p.indices, s.index) if v is not None}
            if set(form[1]) != set(place) or set(place.values()) != set(strides):
                return None
            for v, x in place.items():
                found = b.both(found, b.integer("eq", form[1][v], strides[x]))
    return found


def _moved(form: Form | None, at: dict[Value | None, Operand], p: Producer) -> Form | None:
    """Return the form of an access in a producer that computes the element at some indices in its own nest."""
    if form is None:
        return None
    strides = {at[i]: stride for i, stride in form[1].items() if isinstance(i, Value)}
    return (form[0], strides) if len(strides) == len(form[1]) and strides.keys() <= set(p.indices) else None


def _split(s: Loop, loops: list[Loop]) -> tuple[Loop, Loop]:
    """Return a nest that computes what a nest writes to memory, and one that writes it."""
    body = loops[-1].body
    write = body[-1]
    assert isinstance(write, Write)
    sizes = tuple(trip_count(loop) or 0 for loop in loops)
    tile = Buffer(write.value.element, sizes, name="copy")
    at = tuple(loop.index for loop in loops)
    value = Value(write.value.element)
    body[-1:] = [Store(tile, at, write.value)]
    computing = Copy().statement(s)
    body[-1:] = [Load(value, tile, at), replace(write, value=value)]
    writing = Copy().statement(s)
    body[-2:] = [write]
    assert isinstance(computing, Loop) and isinstance(writing, Loop)
    for loop in perfect_nest(computing)[0]:  # type: ignore[index]
        loop.kind = Kind.PARALLEL
    return computing, writing
