"""Fuse nests: where a tile is read, compute its elements again instead of loading them from a buffer.

A tile may be fused if one nest of parallel loops makes it from values that are the same where it is read. It stays in
a buffer if computing it is not cheap and it is needed by several nests, or more often than it has elements.

A nest that writes memory may read memory in the same iteration only if that is harmless: the two boxes do not overlap,
or every element is written where it was read. That is decided when the kernel runs; the other version computes the
whole tile before it writes.
"""

from __future__ import annotations

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
    Loop,
    Operand,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    While,
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


PURE = (Int, Apply, Float, Shuffle, Load, Check)
"""Statements that change nothing. A check may be done several times, but at least once for every element."""


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
    reads: list[Read] = field(default_factory=list)
    guards: list[tuple[Guard, ...]] = field(default_factory=list)
    """The checks that the one of each read is among; none if it is not known."""
    may_pass_checks: bool = False
    """Whether a nest that computes all elements anyway is known to run, so that it can do the checks."""

    @property
    def is_checked(self) -> bool:
        return any(isinstance(s, Check) for s in self.body)

    @property
    def is_trivial(self) -> bool:
        return not self.inputs and not self.reads and len(self.body) <= TRIVIAL and not self.is_heavy

    @property
    def is_heavy(self) -> bool:
        return any(isinstance(s, Apply) and type(s.op) in HEAVY for s in self.body)


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
    return made


class _Inliner:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.writers: dict[Buffer, int] = {}
        for s in walk(kernel.body):
            for b in buffers_written(s):
                self.writers[b] = self.writers.get(b, 0) + 1
        self.kept = self.plan()
        self.boxed = _boxed(kernel.body)
        self.passed: set[Producer] = set()
        """Those whose checks are done elsewhere."""

    def run(self) -> None:
        self.block(self.kernel.body, {}, {})
        for p in self.passed:
            body = p.loops[-1].body
            body[:] = [s for s in body if not isinstance(s, Check)]

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
        often: set[Buffer] = set()
        for n, (s, _) in enumerate(nests):
            for b, count in _uses(s).items():
                users.setdefault(b, set()).add(n)
                if count > prod(b.shape):
                    often.add(b)
        roots: dict[Buffer, frozenset[int]] = {}

        def roots_of(b: Buffer) -> frozenset[int]:
            if b not in roots:
                roots[b] = frozenset()
                found: set[int] = set()
                for n in users.get(b, ()):
                    p = nests[n][1]
                    found |= {n} if p is None else roots_of(p.buffer)
                roots[b] = frozenset(found)
            return roots[b]

        kept: set[Buffer] = set()
        heavy: dict[Buffer, bool] = {}
        for b, (_, p) in sorted(makers.items(), key=lambda each: each[1][0]):
            heavy[b] = p.is_heavy or any(heavy.get(x, False) and x not in kept for x in p.inputs)
            if b in often and heavy[b]:
                kept.add(b)
                continue
            found = roots_of(b)
            if len(found) > 1 and (heavy[b] or (len(found) > MANY and not p.is_trivial)):
                consumers = [nests[n][1] for n in users.get(b, ())]
                if any(c is None or roots_of(c.buffer) != found for c in consumers):
                    kept.add(b)
        return kept

    # ------------------------------------------------------------ blocks

    def block(self, body: list[Stmt], known: dict[Buffer, Producer], guards: Guards) -> None:
        known, guards = {b: replace(p, may_pass_checks=False) for b, p in known.items()}, dict(guards)
        out: list[Stmt] = []
        for n, s in enumerate(body):
            if isinstance(s, Guard):
                others = (each for each in guards.get(s.address, ()) if not _is_equal(each, s))
                guards[s.address] = (*others, s)
            if isinstance(s, If):
                for inner in blocks_of(s):
                    self.block(inner, known, guards)
            elif isinstance(s, (Loop, While)) and not _is_nest(s):
                changes, memory = written_buffers(s.body), writes_memory(s.body)
                inside = {b: p for b, p in known.items() if p.is_trivial and not (memory and p.reads)}
                self.block(s.body, {b: p for b, p in inside.items() if not p.inputs & changes}, guards)
            new = self.fused(s, known, guards) if _is_nest(s) else [s]
            out += new
            changes = written_buffers(new)
            for b in [b for b, p in known.items() if p.inputs & changes]:
                del known[b]
            if writes_memory(new):
                for b in [b for b, p in known.items() if not self.is_independent(p, new)]:
                    del known[b]
            made = producer_of(s, self.writers)
            if made is not None and made.is_checked:
                made.may_pass_checks = _computes_all_later(made, body[n + 1 :])
            if made is not None and made.reads and made.buffer in self.boxed:
                continue
            if made is not None and made.buffer not in self.kept and made.may_pass_checks == made.is_checked:
                made.guards = [_checks(linear(r.address, made.body), guards) for r in made.reads]
                known[made.buffer] = made
        body[:] = out

    def is_independent(self, p: Producer, body: list[Stmt]) -> bool:
        """Tell whether statements do not write memory that a tile is read from."""
        writes = [s for s in walk(body) if isinstance(s, (Write, Atomic, Call))]
        if not p.reads or not writes:
            return True
        homes = {s.home if isinstance(s, Write) else None for s in writes}
        apart = None not in homes and all(read.home is not None and read.home not in homes for read in p.reads)
        return self.kernel.disjoint and apart

    def fused(self, s: Stmt, known: dict[Buffer, Producer], guards: Guards) -> list[Stmt]:
        """Return a nest with the tiles that it loads computed in it."""
        assert isinstance(s, Loop)
        changes = written_buffers([s])
        wanted = {each.buffer for each in walk([s]) if isinstance(each, Load) and each.buffer in known}
        chosen = {b: known[b] for b in wanted if not known[b].inputs & changes}
        if not chosen:
            return [s]
        if not all(self.is_independent(p, [s]) for p in chosen.values()):
            return self.versions(s, chosen, guards)
        self.replace(s, chosen, [], _uses(s))
        return [s]

    def replace(self, nest: Loop, chosen: dict[Buffer, Producer], loops: list[Loop], uses: dict[Buffer, int]) -> None:
        """Compute tiles where a nest loads them. `uses` counts how many elements of each it loads."""
        nest.body = self.replaced(nest.body, chosen, [*loops, nest], uses)

    def replaced(
        self, body: list[Stmt], chosen: dict[Buffer, Producer], loops: list[Loop], uses: dict[Buffer, int]
    ) -> list[Stmt]:
        copy = Copy()
        memo: dict[tuple[Buffer, tuple[Operand, ...]], Operand] = {}
        shared: dict[Any, Value] = {}
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Loop):
                self.replace(s, chosen, loops, uses)
            elif isinstance(s, If):
                s.then = self.replaced(s.then, chosen, loops, uses)
                s.orelse = self.replaced(s.orelse, chosen, loops, uses)
            p = chosen.get(s.buffer) if isinstance(s, Load) and s.mask is None else None
            if p is None or not isinstance(s, Load) or len(out) > MAX_BODY or not pays(p, uses.get(p.buffer, 0), loops):
                out.append(with_values(s, copy))
                continue
            key = (p.buffer, tuple(map(copy.get, s.index)))
            if key not in memo:
                checks = p.may_pass_checks and _is_all(p, s, loops)
                memo[key] = computed(p, key[1], out, checks, shared)
                if checks:
                    self.passed.add(p)
            copy.values[s.result] = memo[key]
        return out

    # ------------------------------------------------------------ reading and writing memory at once

    def versions(self, s: Loop, chosen: dict[Buffer, Producer], guards: Guards) -> list[Stmt]:
        """Fuse a nest that writes memory, for launches where that is harmless."""
        harmless = {b: p for b, p in chosen.items() if self.is_independent(p, [s])}
        _, body = perfect_nest(s) or ([], [])
        write = body[-1] if body else None
        if isinstance(write, Write) and all(isinstance(each, PURE) for each in body[:-1]):
            form = linear(write.address, body)
            guard = None if form is None else guards.get(form[0], (None,))[-1]  # the nest follows its check
            usable = {b: p for b, p in chosen.items() if b not in harmless and all(p.guards)}
            if form is not None and guard is not None and guard.writes and usable:
                return self.two_versions(s, harmless, usable, guard, form[1])
        self.replace(s, harmless, [], _uses(s))
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
            for read, others in zip(p.reads, p.guards):
                clear: Operand = truth(True)
                for other in others:
                    clear = b.both(clear, _is_apart(b, guard, other))
                equal = all(guard.item == other.item for other in others)
                if equal and (same := _same_place(b, p, read, body, strides)) is not None:
                    clear = b.either(clear, b.both(same, b.integer("eq", guard.address, others[0].address)))
                together = b.both(together, clear)
        computing, writing = _split(s, loops)
        chosen = harmless | usable
        self.replace(s, chosen, [], _uses(s))
        self.replace(computing, chosen, [], _uses(computing))
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


def _is_rare(s: Stmt) -> bool:
    """Tell whether the first block of a statement is not expected to run."""
    return isinstance(s, If) and s.rarely


def pays(p: Producer, uses: int, loops: list[Loop]) -> bool:
    """Tell whether to compute the elements of a tile where a nest loads them."""
    if p.is_trivial:
        return True
    if uses <= prod(p.buffer.shape) and all(trip_count(loop) is not None for loop in loops):
        return True
    return not p.is_heavy and all(loop.kind is Kind.PARALLEL for loop in loops)


def _is_all(p: Producer, s: Load, loops: list[Loop]) -> bool:
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


def _computes_all_later(p: Producer, rest: list[Stmt]) -> bool:
    """Tell whether a later nest of the block loads every element of a tile."""
    for s in rest:
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


def computed(
    p: Producer,
    at: tuple[Operand, ...],
    out: list[Stmt],
    checks: bool = True,
    shared: dict[Any, Value] | None = None,
) -> Operand:
    """Append statements that compute an element of a tile, or one per lane of the index; return it.

    `shared` has what was computed like this before; nothing that the tile is computed from changes in between.
    """
    values: dict[Value, Operand] = {v: x for v, x in zip(p.indices, at) if v is not None}
    copy = Copy(values)
    shared = {} if shared is None else shared
    for s in p.body:
        new = with_operands(s, copy.get)
        lanes = max((x.lanes for x in operands(new)), default=1)
        made = defined(new)
        if made is None:
            if checks:
                out.append(new)
            continue
        key = _what(new, lanes)
        if key not in shared:
            shared[key] = copy.fresh(made, lanes)
            out.append(with_result(new, shared[key]))
        copy.values[made] = shared[key]
    return copy.get(p.value)


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


def _same_place(b: Builder, p: Producer, read: Read, body: list[Stmt], strides: Strides) -> Operand | None:
    """Return whether a nest reads the elements of a tile with the distances that it writes with; None if unknown."""
    form = linear(read.address, p.body)
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
