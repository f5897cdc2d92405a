"""The driver: sweeps over the IR and applies rules until none fires.

`apply(root, rules)` sweeps forward over everything inside `root`. Definitions precede uses, so a value that was
replaced is known when its uses are reached; the IR needs no use lists for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..declare.relations import SYMBOL_TABLE
from ..ir import Block, Op, UnknownOp, Value, walk
from .deadcode import Living, keep_living
from .editing import map_operands, replace_operands
from .rules import Fired, Report, Rewrite, Rules

NOTHING: Mapping[Value, Value] = {}

Prepare = Callable[[Op, Report], None]

BUDGET = 100
"""How often an operation may be visited on average, so that rules that undo each other come to an end."""


class Place:
    """The surroundings of the operation that a rule is called with: its neighbours, its parents and use counts."""

    __slots__ = ("_frames", "_sweep", "after", "before", "report")

    def __init__(self, sweep: _Sweep, frames: list[_Frame], report: Report) -> None:
        self._sweep, self._frames, self.report = sweep, frames, report
        self.before: list[Op] = frames[-1].done
        """The operations before it in its block, already rewritten."""
        self.after: list[Op] = frames[-1].todo
        """The operations after it, the next one last. Their operands are not updated yet, see `resolve`."""

    @property
    def parents(self) -> list[Op]:
        """The operations that enclose it, the innermost last."""
        return [frame.parent for frame in self._frames]

    @property
    def block(self) -> Block:
        """The block that holds it. During the sweep, the block's operations are in `before` and `after`."""
        return self._frames[-1].block

    def uses(self, value: Value) -> int:
        """An upper bound of the number of uses of a value, which is exact unless values are being replaced."""
        return self._sweep.uses[value]

    def resolve(self, value: Value) -> Value:
        """The current replacement of a value that an operation in `after` names."""
        return self._sweep.resolve(value)

    @property
    def memo(self) -> dict[Value, tuple[Value, bool]]:
        """A place where rules can remember facts about values for the rest of the sweep."""
        return self._sweep.memo

    def swept(self, block: Block) -> bool:
        """Whether a block of the operation has been swept. Rules are tried both before and after that."""
        return block in self._sweep.finished

    def rename(self, block: Block, values: Mapping[Value, Value]) -> None:
        """Replace values in one block that has been swept."""
        self._sweep.rename(block, values)

    def resume(self, parent: Op, block: Block, start: int, renamed: Mapping[Value, Value]) -> None:
        """Sweep over the operations from `start` on that were added to a block of an earlier operation.

        The values in `renamed` are replaced in these operations only.
        """
        self._sweep.resume(parent, block, start, renamed)


def apply(root: Op, rules: Rules, report: Report | None = None, prepare: Prepare | None = None) -> Report:
    """Apply rules inside `root` until none fires, and remove dead code.

    `prepare` is called before each sweep and may change anything inside.
    """
    report = Report() if report is None else report
    for scope in isolated(root):
        budget = None
        while True:
            if prepare is not None:
                prepare(scope, report)
            living = keep_living(scope, rules, report)
            sweep = _Sweep(rules, report, living)
            before = report.counts.copy()
            budget = 1000 + BUDGET * len(living.ops) if budget is None else budget
            if not sweep.run(scope, budget):
                break
            budget -= sweep.visits
            if budget <= 0:
                report.complete = False
                fired = report.counts - before
                report.endless += [name for name, _ in fired.most_common(3) if name not in report.endless]
                break
    return report


def isolated(root: Op) -> list[Op]:
    """The operations that can be rewritten on their own: the functions of a module, or `root` if it is not a module."""
    found: list[Op] = []
    todo = [root]
    while todo:
        o = todo.pop()
        if isinstance(o, UnknownOp) or SYMBOL_TABLE not in o.opdef.traits:
            found.append(o)
        else:
            todo += [inner for block in reversed(o.blocks) for inner in reversed(block.ops) if inner.blocks]
    return found


class _Frame:
    """A block that is being swept: the operations that are done, and those to do, the next one last."""

    __slots__ = ("block", "done", "opened", "parent", "place", "renamed", "start", "todo")

    def __init__(self, parent: Op, block: Block, start: int = 0, renamed: Mapping[Value, Value] = NOTHING) -> None:
        self.parent, self.block, self.start, self.renamed = parent, block, start, renamed
        self.done: list[Op] = []
        self.todo: list[Op] = []
        self.place: Place | None = None  # while it is the innermost one
        self.opened = False

    def open(self) -> None:
        self.done = self.block.ops
        self.todo = self.done[self.start :][::-1]
        del self.done[self.start :]
        self.opened = True


class _Sweep:
    """One forward sweep over everything inside an operation."""

    def __init__(self, rules: Rules, report: Report, living: Living) -> None:
        self.rules, self.report = rules, report
        self.uses = living.uses
        self.known = set(living.ops)
        self.swapped: dict[Value, Value] = {}
        self.renamed: dict[Value, Value] = {}  # in the blocks that are open now
        self.resumed: list[_Frame] = []
        self.finished: set[Block] = set()
        self.memo: dict[Value, tuple[Value, bool]] = {}
        self.visits = 0

    # ------------------------------------------------------------ values

    def resolve(self, value: Value) -> Value:
        while (new := self.swapped.get(value) or self.renamed.get(value)) is not None:
            value = new
        return value

    def swap(self, old: Value, new: Value) -> None:
        new = self.resolve(new)
        if new is not old:
            self.swapped[old] = new
            self.uses.replace(old, new)

    def rename(self, block: Block, values: Mapping[Value, Value]) -> None:
        for o in walk(block) if values else ():
            self.visits += 1
            for value in o.operands:
                if value in values:
                    self.uses[values[value]] += 1
            replace_operands(o, values)

    def resume(self, parent: Op, block: Block, start: int, renamed: Mapping[Value, Value]) -> None:
        self.resumed.append(_Frame(parent, block, start, renamed))
        for old, new in renamed.items():
            self.uses[new] += self.uses[old]

    # ------------------------------------------------------------ the sweep

    def run(self, root: Op, budget: int) -> bool:
        """Sweep, and return whether anything changed."""
        changed = False
        frames = [_Frame(root, block) for block in reversed(root.blocks)]
        while frames:
            frame = frames[-1]
            if not frame.opened:
                frame.open()
                self.renamed.update(frame.renamed)
            if not frame.todo:
                self._close(frames.pop())
                continue
            o = frame.todo.pop()
            self.visits += 1
            self._resolve_operands(o)
            if self.visits <= budget and self._rewrite(o, frames):
                changed = True
                continue
            # Rules are tried again once its blocks are finished: something inside may have kept one from firing.
            inner = [b for b in o.blocks if b not in self.finished] if o.nested else None
            if not inner:
                frame.done.append(o)
                continue
            frame.todo.append(o)
            frames += [_Frame(o, block) for block in reversed(inner)]
        if self.swapped:
            # Operations that moved after they were swept have not seen later replacements.
            for o in walk(root):
                self._resolve_operands(o)
        return changed

    def _resolve_operands(self, o: Op) -> None:
        for replaced in (self.swapped, self.renamed):
            if replaced and not replaced.keys().isdisjoint(o.operands):
                map_operands(o, self.resolve)
                return

    def _close(self, frame: _Frame) -> None:
        self.finished.add(frame.block)
        for value in frame.renamed:
            del self.renamed[value]

    def _rewrite(self, o: Op, frames: list[_Frame]) -> bool:
        """Try the rules on an operation that was just taken from `todo`."""
        rules = self.rules.by_class.get(o.__class__)
        if not rules:
            return False
        before = o.operands
        place = frames[-1].place
        if place is None:
            place = frames[-1].place = Place(self, frames, self.report)
        log, loc = self.report.log, o.loc
        for rule in rules:
            answer = rule.run(o, place) if rule.placed else rule.run(o)
            if answer is not None:
                if log is not None:
                    log.append(Fired(rule.name, o.name, loc))
                self._edit(o, before, _as_rewrite(o, answer, rule.name), frames[-1])
                self.report.counts[rule.name] += 1
                frames += self.resumed[::-1]
                self.resumed.clear()
                return True
        return False

    def _edit(self, o: Op, before: list[Value], edit: Rewrite, frame: _Frame) -> None:
        if edit.takes:
            del frame.todo[-edit.takes :]
        if edit.ends:
            frame.todo.clear()
        if edit.values is not None:
            for old, value in zip(o.results, edit.values, strict=True):
                self.swap(old, value)
        if edit.swept:
            frame.done += edit.ops
            return
        frame.todo += reversed(edit.ops)
        self.uses.release(before)
        for new in edit.ops:
            if new is o:
                self.uses.add(o)
            elif new not in self.known:
                self._adopt(new, o)

    def _adopt(self, new: Op, old: Op) -> None:
        """Count the operands of an operation that a rule created, and set its location."""
        todo = [new]
        while todo:
            o = todo.pop()
            self.known.add(o)
            if o.loc is None:
                o.loc = old.loc
            self.uses.add(o)
            todo += [x for block in o.blocks for x in block.ops if x not in self.known]


def _as_rewrite(o: Op, answer: Value | Op | Rewrite, name: str) -> Rewrite:
    if answer is o:
        return Rewrite([o])
    if isinstance(answer, Rewrite):
        edit = answer
    elif isinstance(answer, Value):
        edit = Rewrite([], [answer])
    elif isinstance(answer, Op):
        edit = Rewrite([answer], answer.results)
    else:
        wanted = "None, a Value, an operation or a Rewrite"
        raise TypeError(f"rule {name}: it returned {answer!r} for {o.name}, expected {wanted}")
    if edit.values is not None:
        found, wanted = [v.type for v in edit.values], [v.type for v in o.results]
        if found != wanted:
            raise TypeError(f"rule {name}: {o.name} has results of type {wanted}, they cannot become {found}")
    return edit
