"""Passes step by step: what each one changed, as an aligned difference, and how often its rules fired."""

from __future__ import annotations

from typing import Any

from ..analysis.differences import Row, compare, names_through
from ..analysis.matching import match
from ..declare.fastclass import dataclass
from ..diag import LineIndex, TileError
from ..ir import Op, Value, clone, walk
from ..ops import Module
from ..passes import parse_pipeline, run_pipeline
from ..passes.pipeline import PipelineStep
from ..passes.registry import HOMES, PASSES, find_pass
from ..rewrite import Report
from ..text.print.names import ValueNames
from ..text.print.printer import LIMIT, show_with_offsets
from ..verifier.explain import require_legal
from .documents import Opened

MAX_STEPS = 50
MAX_REMARKS = 1000


def passes() -> list[dict[str, Any]]:
    """List the passes and their options."""
    return [
        {
            "name": found.name,
            "doc": found.doc,
            "options": [{"name": o.name, "default": o.default, "doc": o.doc} for o in found.options],
        }
        for found in map(find_pass, sorted({*HOMES, *PASSES}))
    ]


def run_passes(opened: Opened, text: str) -> dict[str, Any]:
    """Run a pipeline on a copy of the module. Operations have the ids, and values the names, that they had at first."""
    pipeline = parse_pipeline(text)
    if len(pipeline.steps) > MAX_STEPS:
        raise TileError(f"the pipeline has {len(pipeline.steps)} passes, the limit is {MAX_STEPS}")
    module: Module = clone(opened.legal())
    ids = {o: number for number, o in enumerate(walk(module))}
    steps: list[dict[str, Any]] = []
    last = _Snapshot.first(opened)

    def after(step: PipelineStep, report: Report) -> None:
        nonlocal last
        require_legal(module, "the pass broke the module", after=step.run.name)
        entry: dict[str, Any] = {
            "pass": step.run.name,
            "doc": step.run.doc,
            "changed": report.changed,
            "complete": report.complete,
            "rules": [[name, count] for name, count in report.counts.most_common()],
            "remarks": [{"op": ids.get(o, -1), "text": said} for o, said in report.remarks[:MAX_REMARKS]],
            "operations": sum(1 for _ in walk(module)) - 1,
        }
        if report.changed:
            rows, last = last.changed(clone(module))
            entry |= rows
        steps.append(entry)

    run_pipeline(module, pipeline, after)
    return {"operations": len(opened.ops) - 1, "steps": steps, "text": show_with_offsets(module)[0]}


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A module between two passes, with the ids of its operations and the names of its values."""

    module: Module
    ids: dict[Op, int]
    names: ValueNames

    @staticmethod
    def first(opened: Opened) -> _Snapshot:
        copies: dict[Value, Value] = {}
        module: Module = clone(opened.module, copies)
        names = ValueNames(LIMIT)
        names.update({copies.get(value, value): name for value, name in opened.names.items()})
        twins = list(walk(module))
        names.heads.update({twins[opened.ids[o]]: head for o, head in opened.names.heads.items() if o in opened.ids})
        return _Snapshot(module, {o: number for number, o in enumerate(twins)}, names)

    def changed(self, now: Module) -> tuple[dict[str, Any], _Snapshot]:
        """Return the rows of the difference to a later module, and that module's snapshot."""
        found = match(self.module, now)
        ids = {new: self.ids.get(old, -1) for old, new in found.ops.items()}
        names = names_through(found, self.names, now)
        rows = compare(self.module, now, found=found, names=self.names)
        old, new = _line_ids(self.module, self.ids, self.names), _line_ids(now, ids, names)
        made = {
            "signs": "".join(row.sign for row in rows),
            "texts": [row.text for row in rows],
            "lines": [[row.a, row.b] for row in rows],
            "ids": [_id(row, old, new) for row in rows],
        }
        return made, _Snapshot(now, ids, names)


def _id(row: Row, old: list[int], new: list[int]) -> int:
    column, line = (old, row.a) if row.a else (new, row.b)
    return column[line - 1] if line <= len(column) else -1


def _line_ids(module: Module, ids: dict[Op, int], names: ValueNames) -> list[int]:
    """Return the id of the operation that each line of a module's text belongs to; -1 outside operations.

    A line that starts no operation belongs to the last one before it that is not indented further.
    """
    text, starts, _ = show_with_offsets(module, names=names)
    index = LineIndex(text)
    placed = {index.place(offset)[0]: ids.get(o, -1) for o, offset in starts.items()}
    found: list[int] = []
    stack: list[tuple[int, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip(" "))
        while stack and (stack[-1][0] > indent or (number in placed and stack[-1][0] == indent)):
            stack.pop()
        if number in placed:
            stack.append((indent, placed[number]))
        found.append(stack[-1][1] if stack else -1)
    return found
