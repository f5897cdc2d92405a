"""Bytecode with the meaning of each byte, and the operation that each range encodes."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ..bytecode.dump import dump
from ..bytecode.profile import find_profile
from ..bytecode.reader import FileReader
from ..bytecode.wire import Mark, Section
from ..bytecode.writer import write
from ..ir import walk
from ..ops import Module
from ..version import Version
from .documents import Opened

MAX_MARKS = 400_000
"""The most ranges in one response."""


def annotate(opened: Opened, version: str) -> dict[str, Any]:
    """Return the bytes of a module and their meaning; those of the file if the text is as it was printed."""
    module = opened.legal()
    own = opened.origin if opened.is_unchanged and not version else None
    data = own.data if own is not None else write(module, Version.parse(version) if version else None)
    every = dump(data).marks
    marks = every[:MAX_MARKS]
    reader = FileReader(data, find_profile(None), None)
    reader.offsets = [0]
    again = reader.module()
    sections = [reader.sections[key] for key in (Section.FUNC, Section.GLOBAL) if key in reader.sections]
    owners = _owners(marks, dict(zip(reader.offsets, _ids(opened, again))), [(s.start, s.end) for s in sections])
    texts: dict[str, int] = {}
    return {
        "data": b64encode(data).decode(),
        "version": str(again.version),
        "original": own is not None,
        "truncated": len(every) > len(marks),
        "start": [m.start for m in marks],
        "end": [m.end for m in marks],
        "depth": [m.depth for m in marks],
        "text": [texts.setdefault(m.text, len(texts)) for m in marks],
        "op": owners,
        "texts": list(texts),
    }


def _ids(opened: Opened, again: Module) -> list[int]:
    """Return the ids of the operations of a module that was written and read again: globals may have moved."""
    tops = {(o.name, getattr(o, "sym_name", "")): o for o in opened.module.body.ops}
    found = [0]
    for top in again.body.ops:
        twin = tops[top.name, getattr(top, "sym_name", "")]
        found += [opened.ids[o] for o, _ in zip(walk(twin), walk(top))]
    return found


def _owners(marks: list[Mark], starts: dict[int, int], bodies: list[tuple[int, int]]) -> list[int]:
    """Return the operation of each mark, -1 outside functions and globals.

    Marks are indented: what an operation encodes is deeper than its name, and so are the operations in its regions.
    """
    owners: list[int] = []
    stack: list[tuple[int, int]] = []
    for mark in marks:
        if not any(low <= mark.start < high for low, high in bodies):
            stack.clear()
            owners.append(-1)
            continue
        if mark.start in starts:
            while stack and stack[-1][0] >= mark.depth:
                stack.pop()
            stack.append((mark.depth, starts[mark.start]))
        else:
            while stack and stack[-1][0] > mark.depth:
                stack.pop()
        owners.append(stack[-1][1] if stack else -1)
    return owners
