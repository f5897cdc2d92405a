"""Passes step by step: what each one changed, as an aligned difference, and how often its rules fired."""

from __future__ import annotations

from typing import Any

from ..analysis.matching import match
from ..cli.differences import Row, compare
from ..diag import LineIndex
from ..ir import Op, clone, walk
from ..ops import Module
from ..passes import parse_pipeline, run_pipeline
from ..passes.pipeline import Step
from ..passes.registry import HOMES, PASSES, find_pass
from ..rewrite import Report
from ..text.print.printer import show_with_offsets
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
    """Run a pipeline on a copy of the module. The operations of each step have the ids that they had at first."""
    pipeline = parse_pipeline(text)
    module: Module = clone(opened.legal())
    ids = {o: number for number, o in enumerate(walk(module))}
    steps: list[dict[str, Any]] = []
    before: Module = clone(module)
    ids_before = {o: number for number, o in enumerate(walk(before))}

    def after(step: Step, report: Report) -> None:
        nonlocal before, ids_before
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
            now: Module = clone(module)
            entry |= _difference(before, now, ids_before)
            twins = {new: old for old, new in match(before, now).ops.items()}
            ids_before = {o: ids_before.get(twins[o], -1) if o in twins else -1 for o in walk(now)}
            before = now
        steps.append(entry)

    del pipeline.steps[MAX_STEPS:]
    run_pipeline(module, pipeline, after)
    final = show_with_offsets(module)[0]
    return {"operations": len(opened.ops) - 1, "steps": steps, "text": final}


def _difference(a: Module, b: Module, ids: dict[Op, int]) -> dict[str, Any]:
    """Return the rows of an aligned difference: sign, text, the lines on both sides, and the id of the operation."""
    rows = compare(a, b)
    old = _line_ids(a, ids)
    twins = {new: ids.get(o, -1) for o, new in match(a, b).ops.items()}
    new = _line_ids(b, twins)
    return {
        "signs": "".join(row.sign for row in rows),
        "texts": [row.text for row in rows],
        "lines": [[row.a, row.b] for row in rows],
        "ids": [_id(row, old, new) for row in rows],
    }


def _id(row: Row, old: list[int], new: list[int]) -> int:
    column, line = (old, row.a) if row.a else (new, row.b)
    return column[line - 1] if line <= len(column) else -1


def _line_ids(module: Module, ids: dict[Op, int]) -> list[int]:
    """Return the id of the operation that each line of a module's text belongs to; -1 outside operations.

    A line that starts no operation belongs to the last one before it that is not indented further.
    """
    text, starts, _ = show_with_offsets(module)
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
