"""`race`: two accesses to a byte, at least one a write, that neither tokens nor release and acquire put in order.

The rules are in docs/memory-model.md. The check is exact for one run: it reports a race at a byte if and only if two
accesses of the run race there, for the synchronisation that happened in the run. It does not list every pair: a byte
at which one access races with many earlier ones has been reported, and the earlier ones are forgotten.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from ...analysis.effects import accesses
from ...attrs import MemoryScope
from ...engines.common.layout import alloca_bytes
from ...engines.common.memory import Segment
from ...engines.common.tiles import Array
from ...engines.reference.access import Access, AccessKind, Link
from ...ops import Alloca, Entry, GdcWaitTko
from ..checks import Check, Step
from ..reports import Occurrence, Report
from .cells import LARGEST, READS, WRITES, Execution, Shadow, distinct, gather, has_twins
from .doing import Doing, Hit
from .happens_before import NOTHING, Clock, Past, Release, TokenHistory
from .history import History
from .reasons import RacingAccess, overlap
from .strength import morally_strong, strength
from .sync import ACQUIRES, RELEASES, Synchronization

MOST_RACES = 16
"""The most earlier accesses that one is compared with after it was found to race with them."""
MOST_CELL_BYTES = 1 << 25
"""Above this size, cells that are not used any more are looked for."""


class Race(Check):
    """Accesses that race."""

    name = "race"

    spans_launches = True
    """Whether to compare with accesses of other launches that may overlap."""

    def begin(self, entry: Entry) -> None:
        found = list(accesses(entry))
        orders = {getattr(o, "memory_ordering_semantics", None) for o in found}
        scopes = {getattr(o, "memory_scope", None) for o in found}
        self._narrow = MemoryScope.TL_BLK in scopes
        flight = self.machine.flight if self.spans_launches else None
        self._launch = None if flight is None else self.machine.launch
        history: History = History() if flight is None or flight.history is None else flight.history
        self._history = history
        if flight is not None:
            flight.history = history
        first, self._rank = history.begin(found, self.machine.grid, self._launch)
        self._operations = {o: number for number, o in enumerate(found, first)}
        self._ops = history.ops
        self._strengths, self._kinds = history.strengths, history.kinds
        self._cells, self._shadows, self._recent = history.cells, history.shadows, history.recent
        self._signals = history.signals
        synchronizes = not orders.isdisjoint(ACQUIRES) and not orders.isdisjoint(RELEASES)
        if history.sync is None and (synchronizes or flight is not None):
            history.sync = Synchronization(not self._narrow and flight is None)
        self._sync = history.sync
        self._start = NOTHING
        """The events before an access without a token."""
        self._ended: Array | None = None
        """For each operation, whether its launch has ended before this one."""
        if self._launch is not None and self._launch.before:
            self._start = Past(Clock({}), Release((), ended=self._launch.before))
            self._ended = history.ended(self._launch.before)
        gx, gy, gz = self.machine.grid
        self._total = gx * gy * gz
        self._counts: dict[int, Array] = {}
        self._forgot = False
        """Whether accesses were forgotten because too many raced."""
        self._tokens = TokenHistory(self._start)
        self._most = MOST_CELL_BYTES
        self._salt = np.empty(0, np.uint64)

    # ------------------------------------------------------------ events

    def link(self, link: Link) -> None:
        pasts = [self._start] * len(link.ranks)
        if link.tokens:
            columns = [self._tokens.get(tokens) for tokens in link.tokens]
            pasts = columns[0]
            known: dict[tuple[int, int], Past] = {}
            for column in columns[1:]:
                for lane, (a, b) in enumerate(zip(pasts, column)):
                    key = (id(a), id(b))
                    if key not in known:
                        known[key] = a.join(b)
                    pasts[lane] = known[key]
        if isinstance(link.op, GdcWaitTko) and self._launch is not None and self._launch.is_dependent:
            self._launch.has_waited = True
            waited = Past(Clock({}), Release((), ended=self._launch.awaited))
            pasts = [past.join(waited) for past in pasts]
        self._tokens.put(link.result_token, pasts)

    def after(self, access: Access) -> None:
        if self._cells.bytes > self._most:
            self._cells.collect(self._shadows)
            self._most = max(self._most, 2 * self._cells.bytes)
            if self._cells.bytes > self.machine.limits.memory:
                raise MemoryError
        operation = self._operations[access.op]
        counts = self._counts.get(operation)
        if counts is None:
            counts = self._counts[operation] = np.zeros(self._total, np.int32)
        counts[access.ranks] += 1
        numbers = counts[access.ranks]
        ranks = np.asarray(access.ranks) + self._rank
        pasts = [self._start] * len(ranks) if access.tokens is None else self._tokens.get(access.tokens)
        doing = Doing(access, operation, strength(access), ranks, numbers, pasts, {}, False, self._cells.count)
        self._strengths[operation] = doing.strength
        if self._sync is not None:
            if doing.strength.strong:
                doing.acquired = self._sync.access(access, operation, ranks, numbers.tolist(), pasts)
                doing.by_element = access.lane_size > 1 and (
                    access.ordering in ACQUIRES or (access.writes and access.ordering in RELEASES)
                )
            elif access.kind is AccessKind.WRITE:
                self._sync.overwrite(access)
        if doing.strength.strong:
            self._signals.note(access, ranks, doing.acquired)
        self._visit(doing)
        self._recent.add(operation, ranks, numbers, access)
        self._tokens.put(access.result_token, self._futures(doing))

    def _futures(self, doing: Doing) -> list[Past]:
        """Return what the tokens follow that an access makes."""
        seen: dict[int, list[Release]] = {}
        for flat, nodes in doing.acquired.items():
            seen.setdefault(flat // doing.access.lane_size, []).extend(nodes)
        known: dict[tuple[int, int], Past] = {}
        out = []
        for lane, (past, number) in enumerate(zip(doing.pasts, doing.numbers.tolist())):
            key = (id(past), number)
            if lane in seen:
                nodes = [node for node in (past.node, *seen[lane]) if node is not None]
                node = nodes[0] if len(nodes) == 1 else Release(nodes)
                out.append(Past(past.clock.add(doing.operation, number), node))
                continue
            if key not in known:
                known[key] = Past(past.clock.add(doing.operation, number), past.node)
            out.append(known[key])
        return out

    def result(self, step: Step, result: Any) -> None:
        if isinstance(step.op, Alloca) and (size := alloca_bytes(step.op)):
            for address in result.tolist():
                self._shadows.clear(address, size)
                if self._sync is not None:
                    self._sync.forget(address, size)

    def release(self) -> None:
        self._tokens.forget()
        if self._launch is None:
            self._shadows.keep((each.address, each.end) for each in self.machine.memory.segments)

    def finish(self) -> None:
        if self.machine.flight is not None:
            self._shadows.keep(self.machine.flight.ranges)

    # ------------------------------------------------------------ shadow memory

    def _visit(self, doing: Doing) -> None:
        """Compare an access with earlier ones, and remember it."""
        access = doing.access
        if self._visit_boxes(doing):
            return
        chosen, addresses = access.elements
        if not len(chosen):
            return
        for segment, some in self._segments(addresses):
            elements, at = (chosen, addresses) if some is None else (chosen[some], addresses[some])
            shadow = self._shadows.of(segment, access.bytes)
            granules = shadow.granules(at, access.bytes)
            width = granules.shape[1]
            members = elements if doing.by_element else elements // access.lane_size
            if width > 1:
                elements, members = np.repeat(elements, width), np.repeat(members, width)
            self._compare_elements(doing, shadow, granules.reshape(-1), elements)
            if access.kind is AccessKind.UPDATE and access.wrote is not None:
                wrote = access.wrote.reshape(-1)[elements]
                self._read_or_write(doing, shadow, granules.reshape(-1)[wrote], members[wrote], True)
                self._read_or_write(doing, shadow, granules.reshape(-1)[~wrote], members[~wrote], False)
            else:
                self._read_or_write(doing, shadow, granules.reshape(-1), members, access.writes)

    def _visit_boxes(self, doing: Doing) -> bool:
        """Do the same for tiles that are boxes in memory, without looking at elements; false if they are not."""
        access = doing.access
        if doing.by_element or access.refused is not None or access.wrote is not None:
            return False
        boxes, span = access.place.boxes, access.place.span
        if boxes is None or span is None:
            return False
        found = self.machine.memory.at(span.low)
        if found is None or span.high + access.bytes > found.end:
            return False
        shadow = self._shadows.of(found.parent or found, LARGEST)
        rows = shadow.boxes(boxes, access.bytes)
        if rows is None:
            return False
        granules, members = rows.reshape(-1), np.repeat(np.arange(len(rows)), rows.shape[1])
        if access.writes and not doing.strength.wide and has_twins(granules):
            return False  # elements of this operation may race with each other
        self._read_or_write(doing, shadow, granules, members, access.writes)
        return True

    def _segments(self, addresses: Array) -> list[tuple[Segment, Array | None]]:
        """Return the segments of memory that contain addresses, and which of the addresses each contains."""
        memory = self.machine.memory
        segment = memory.at(int(addresses.min()))
        assert segment is not None
        if int(addresses.max()) < segment.end:
            return [(segment.parent or segment, None)]
        starts = np.array([s.address for s in memory.segments], np.int64)
        wholes = {id(s.parent or s): s.parent or s for s in memory.segments}
        names = np.array([id(s.parent or s) for s in memory.segments], np.int64)
        found = names[np.searchsorted(starts, addresses, "right") - 1]
        return [(wholes[name], np.flatnonzero(found == name)) for name in np.unique(found).tolist()]

    def _compare_elements(self, doing: Doing, shadow: Shadow, granules: Array, elements: Array) -> None:
        """Report elements of one operation that race with each other."""
        access = doing.access
        wide = doing.strength.wide
        if not access.writes or wide or not has_twins(granules):
            return
        lanes = elements // access.lane_size
        half = None if access.half is None else access.half.reshape(-1)[elements]
        order = np.lexsort((lanes, granules) if half is None else (half, lanes, granules))
        g, lane, element = granules[order], lanes[order], elements[order]
        same = g[1:] == g[:-1]
        bad = same & (lane[1:] != lane[:-1])
        if not doing.strength.strong:
            within = same & (lane[1:] == lane[:-1]) & (element[1:] != element[:-1])
            bad |= within if half is None else within & (half[order][1:] == half[order][:-1])
        elif access.wrote is not None and bad.any():
            wrote = access.wrote.reshape(-1)[element]
            written = np.unique(g[wrote])
            bad &= np.isin(g[1:], written)
        if not bad.any():
            return
        where = np.flatnonzero(bad)
        first = int(where[0])
        if int(lane[first]) != int(lane[first + 1]):
            rule = "tile blocks access the same bytes with this operation, at least one writes, and nothing orders them"
        else:
            rule = "two elements of one weak store are the same bytes"
        other = self._place(access, int(element[first]))
        report = self._report(doing, rule, element[where + 1], other, shadow, g[where])
        if report is None:
            return
        if int(lane[first]) == int(lane[first + 1]):
            report.notes = ["give the elements different addresses, or use an atomic operation"]
        else:
            blocks = (tuple(access.blocks[int(lane[at])].tolist()) for at in (first, first + 1))
            both = " and ".join(map(str, blocks))
            report.notes = [f"tile blocks {both} do not synchronize: give each its own elements, or use an atomic"]

    def _read_or_write(self, doing: Doing, shadow: Shadow, granules: Array, members: Array, writes: bool) -> None:
        """Compare reads or writes of granules with earlier accesses, and remember them."""
        if not len(granules):
            return
        count = doing.access.lane_size * len(doing.numbers) if doing.by_element else len(doing.numbers)
        if len(self._salt) < count:
            self._salt = np.frombuffer(secrets.token_bytes(8 * count), np.uint64)
        granules, chosen, groups = gather(granules, members, count, self._salt)
        old = shadow.heads[:, granules].astype(np.int64)
        limit = count + len(groups)
        keys = old[WRITES] * limit + chosen
        if old[READS].any():
            _, which = distinct(keys)
            keys = which * self._cells.count + old[READS]
        first, which = distinct(keys)
        who = chosen[first]
        hits: list[tuple[int, Hit]] = []
        bases = [self._walk(doing, old[WRITES][first], who, groups, hits)]
        if writes:
            bases.append(self._walk(doing, old[READS][first], who, groups, hits))
        else:
            bases.append(self._pop_reads(doing, old[READS][first], who))
        mine = WRITES if writes else READS
        cells = self._add(doing, bases[mine], who, groups)
        shadow.heads[mine, granules] = cells[which]
        if writes:
            shadow.heads[READS, granules] = bases[READS][which]
        # Random numbers order the combinations; a report is to be the same in each run.
        for combination, hit in sorted(hits, key=lambda each: int(np.argmax(which == each[0]))):
            bad = granules[which == combination]
            own = self._elements(doing, hit.member)
            at = shadow.cover(doing.access.addresses.reshape(-1)[own], doing.access.bytes)
            self._report_hit(doing, hit, own[np.isin(at, bad).any(axis=1)], shadow, bad)

    def _elements(self, doing: Doing, member: int) -> Array:
        """Return the elements that belong to a member."""
        if doing.by_element:
            return np.array([member])
        chosen = doing.access.elements[0]
        own: Array = chosen[chosen // doing.access.lane_size == member]
        return own

    def _add(self, doing: Doing, parents: Array, who: Array, groups: dict[int, list[int]]) -> Array:
        """Make the cells of an access."""
        size = doing.access.lane_size
        known = {group: self._cells.group([doing.event(m) for m in members]) for group, members in groups.items()}
        grouped = who >= len(doing.numbers) * (size if doing.by_element else 1)
        safe = np.where(grouped, 0, who)
        lanes = safe // size if doing.by_element else safe
        ranks = doing.ranks[lanes].astype(np.int64)
        elements = safe % size if doing.by_element else np.full(len(who), -1)
        if groups:
            ranks = np.where(grouped, [known.get(w, 0) for w in who.tolist()], ranks)
        kind, wide = self._kind(doing), doing.strength.wide
        return self._cells.add(parents, doing.operation, ranks, doing.numbers[lanes], elements, kind, wide)

    # ------------------------------------------------------------ comparing with earlier accesses

    def _pop_reads(self, doing: Doing, heads: Array, who: Array) -> Array:
        """Drop reads that a new read by the same tile block follows."""
        base = heads.copy()
        todo = np.flatnonzero(base)
        while len(todo):
            cells = base[todo]
            drop = self._is_followed(doing, cells, who[todo]) & self._droppable(doing, cells)
            todo = todo[drop]
            base[todo] = self._cells.parent[base[todo]]
            todo = todo[base[todo] != 0]
        return base

    def _walk(
        self, doing: Doing, heads: Array, who: Array, groups: dict[int, list[int]], hits: list[tuple[int, Hit]]
    ) -> Array:
        """Compare new accesses, by `who`, with lists of conflicting cells. Return the lists without what can be dropped
        from their start."""
        cells = self._cells
        base, current = heads.copy(), heads.copy()
        popping = np.ones(len(heads), bool)
        races = np.zeros(len(heads), np.int64)
        kind, ranks = self._kind(doing), self._ranks(doing, who)
        alive = np.flatnonzero(current)
        while len(alive):
            at = current[alive]
            followed = self._is_followed(doing, at, who[alive])
            unsure = ~followed & (at < doing.first)
            if unsure.any():
                for i in np.flatnonzero(unsure).tolist():
                    cell, member = int(at[i]), int(who[alive[i]])
                    hit, followed[i] = self._compare(doing, cell, groups.get(member, [member]))
                    if hit is not None:
                        hits.append((int(alive[i]), hit))
                        races[alive[i]] += 1
            self._note_order(doing, at[followed])
            drop = popping[alive] & followed & self._droppable(doing, at)
            popping[alive] = drop
            base[alive[drop]] = cells.parent[at[drop]]
            jump = ~drop & cells.alike(at, kind, doing.strength.wide, ranks[alive])
            if jump.any():
                self._note_skip(doing)
            current[alive] = np.where(jump, cells.skip[at], cells.parent[at])
            if len(full := alive[races[alive] >= MOST_RACES]):
                base[full] = current[full] = 0
                self._forgot = True
            alive = alive[current[alive] != 0]
        return base

    def _kind(self, doing: Doing) -> int:
        """Return the number of the strength of an access, 0 for a weak one."""
        return self._kinds.setdefault(doing.strength, len(self._kinds) + 1) if doing.strength.strong else 0

    def _ranks(self, doing: Doing, who: Array) -> Array:
        """Return the tile blocks of members, -1 for a group."""
        lanes = who // doing.access.lane_size if doing.by_element else who
        inside = lanes < len(doing.numbers)
        ranks: Array = np.where(inside, doing.ranks[np.where(inside, lanes, 0)], -1)
        return ranks

    def _note_order(self, doing: Doing, cells: Array) -> None:
        """Take note of conflicting accesses that happen before an access, for a subclass."""

    def _note_skip(self, doing: Doing) -> None:
        """Take note that accesses were skipped which are morally strong with an access, for a subclass."""

    def _is_followed(self, doing: Doing, cells: Array, who: Array) -> Array:
        """Tell of cells whether their event is known by tokens to come before a member; false if that is not clear."""
        ranks, size = self._cells.rank[cells], doing.access.lane_size
        lanes = who // size if doing.by_element else who
        inside = lanes < len(doing.numbers)
        lanes = np.where(inside, lanes, 0)
        out: Array = inside & (ranks == doing.ranks[lanes]) & (cells < doing.first)
        todo = np.flatnonzero(out)
        if len(todo):
            clocks: dict[int, int] = {}
            objects = [doing.pasts[lane].clock for lane in lanes[todo].tolist()]
            which = np.array([clocks.setdefault(id(clock), i) for i, clock in enumerate(objects)])
            operations, numbers = self._cells.operation[cells[todo]], self._cells.number[cells[todo]]
            keys, inverse = np.unique(which * len(self._ops) + operations, return_inverse=True)
            spans = np.array([_last(objects[k // len(self._ops)].find(k % len(self._ops))) for k in keys.tolist()])
            span = spans[inverse]
            out[todo] = (span[:, 0] <= numbers) & (numbers <= span[:, 1])
        if self._ended is not None:
            out |= self._ended[self._cells.operation[cells]]
        return out

    def _droppable(self, doing: Doing, cells: Array) -> Array:
        """Tell of cells whether whatever races with them also races with the new access, if that follows them."""
        if not doing.strength.strong:
            return np.ones(len(cells), bool)
        if self._narrow:
            return np.zeros(len(cells), bool)
        operations, inverse = np.unique(self._cells.operation[cells], return_inverse=True)
        equal: Array = np.array([self._strengths[o] == doing.strength for o in operations.tolist()], bool)[inverse]
        return equal

    def _compare(self, doing: Doing, cell: int, members: list[int]) -> tuple[Hit | None, bool]:
        """Return a race between the events of a cell and members, if there is one, and whether all members follow."""
        operation = int(self._cells.operation[cell])
        launch = self._history.launch_of(operation)
        bit = 0 if launch is None or launch is self._launch else 1 << launch.number
        old, new = self._strengths[operation], doing.strength
        always = morally_strong(old, new, False)
        if always and (len(members) > 1 or self._cells.rank[cell] < 0):
            return None, False
        followed = True
        for event in self._cells.events(cell):
            for member in members:
                rank, past, acquired = doing.past(member)
                if _is_before(event, operation, rank, past, acquired, bit):
                    continue
                followed = False
                if not always and not morally_strong(old, new, event.rank == rank):
                    return Hit(cell, event, member), False
        return None, followed

    # ------------------------------------------------------------ reports

    def _report_hit(self, doing: Doing, hit: Hit, elements: Array, shadow: Shadow, granules: Array) -> None:
        operation = int(self._cells.operation[hit.cell])
        rank = doing.event(hit.member).rank
        launch = self._history.launch_of(operation)
        if launch is not self._launch:
            rule = "nothing orders accesses of two launches to the same bytes, at least one of which writes"
        elif rank == hit.earlier.rank:
            rule = "no token orders two accesses of a tile block to the same bytes, at least one of which writes"
        else:
            rule = "nothing orders accesses of two tile blocks to the same bytes, at least one of which writes"
        other = Occurrence(self._ops[operation], self._history.block(hit.earlier.rank))
        report = self._report(doing, rule, elements, other, shadow, granules)
        if report is None:
            return
        other.element = self._recent.element(operation, hit.earlier, shadow.address(int(granules[0])))
        sides = (
            RacingAccess(
                self._ops[operation], operation, self._strengths[operation], self._history.block(hit.earlier.rank)
            ),
            RacingAccess(doing.access.op, doing.operation, doing.strength, self._history.block(rank)),
        )
        if launch is self._launch:
            self._signals.explain(report, sides, hit.earlier, rank)
            report.notes += overlap(self.machine.provenance, sides)
        else:
            assert launch is not None and self._launch is not None
            self._signals.explain_launches(report, sides, (launch, self._launch), hit.earlier, rank)

    def _report(
        self,
        doing: Doing,
        rule: str,
        elements: Array,
        other: Occurrence,
        shadow: Shadow,
        granules: Array,
    ) -> Report | None:
        """Report that elements of an access race with another one at some granules; return the report if it is new."""
        access = doing.access
        report = self.reports.add(self.name, rule, [self._place(access, int(elements[0])), other])
        if report is None:
            return None
        is_new = not report.count
        if is_new:
            report.values = self.machine.where(shadow.address(int(granules[0])))
        report.count += len(elements)
        lanes = np.unique(elements // access.lane_size)
        report.blocks.update(tuple(block) for block in access.blocks[lanes].tolist())
        return report if is_new else None

    def _place(self, access: Access, flat: int) -> Occurrence:
        where = tuple(int(i) for i in np.unravel_index(flat, access.addresses.shape))
        return Occurrence(access.op, tuple(access.blocks[where[0]].tolist()), where[1:])


def _last(span: tuple[int, ...]) -> tuple[int, int]:
    return (span[-2], span[-1]) if span else (1, 0)


def _is_before(event: Execution, operation: int, rank: int, past: Past, acquired: list[Release], launch: int) -> bool:
    """Tell whether an event happens before an access; `launch` is the bit of its launch, if that is another one."""
    rank_of, number, element = event
    if rank_of == rank and past.clock.has(operation, number, element):
        return True
    for node in (past.node, *acquired):
        if node is not None:
            clock = node.known.get(rank_of)
            if clock is not None and clock.has(operation, number, element):
                return True
            if node.ended & launch:
                return True
    return False
