"""Remarks of tileiras on its choices: each at the operation that it is about, with advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...diag import TileError
from ...ir import Op
from ...ops import Module
from ...source.lines import Place, shown_places
from .advice import advise
from .compiler import TAG, compile_tagged, find_tool

FAILED = "failed"
MAX_LOG = 64 << 20
"""The most characters of remarks that are read."""
KINDS = {"Failure": FAILED, "Missed": "missed", "Analysis": "analysis", "Passed": "passed"}
"""The kinds of remarks by the tags of tileiras, in the order in which they are shown."""
_FIELD = re.compile(r"^(?:  - )?(\w+): +(.*)$", re.MULTILINE)
_PLACE = re.compile(r"File: '?" + TAG + r"'?, Line: (\d+)")
_REASON = re.compile(r'^loc\("' + TAG + r'":(\d+):1\): ')


@dataclass(frozen=True)
class Remark:
    """One remark: what was tried, whether it worked, and why not."""

    kind: str
    """passed, failed, missed or analysis."""
    category: str
    """The subject, such as Memory or TensorCore."""
    name: str
    """The identifier that tileiras has for it."""
    message: str
    reasons: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    """Further facts, such as the instruction that was selected."""
    function: str = ""
    op: Op | None = field(default=None, repr=False)
    """The operation, if tileiras names it."""
    number: int = 0
    """The position of the operation in the module, from 1, in the order of `walk`."""
    target: str = ""

    @property
    def places(self) -> list[Place]:
        """The source lines of the operation, innermost first."""
        return [] if self.op is None else shown_places(self.op.loc)

    @property
    def advice(self) -> list[str]:
        """Advice on changing the choice, if there is any."""
        instruction = dict(self.details).get("Instruction", "")
        return advise(self.name, self.reasons, self.op, instruction=instruction, target=self.target)

    def as_dict(self) -> dict[str, object]:
        """Return the remark as plain data, for `--json`."""
        return {
            "kind": self.kind,
            "category": self.category,
            "name": self.name,
            "message": self.message,
            "reasons": list(self.reasons),
            "details": dict(self.details),
            "kernel": self.function,
            "operation": None if self.op is None else self.op.name,
            "number": self.number or None,
            "places": [{"file": p.file, "line": p.line, "column": p.column} for p in self.places],
            "advice": self.advice,
        }


def remarks(
    module: Module, target: str, *, level: int = 3, tool: Path | None = None, timeout: float = 300
) -> list[Remark]:
    """Compile a module for an architecture such as sm_100, and return what tileiras says of it.

    No GPU is needed. Equal remarks about one operation are returned once: tileiras repeats them as it tries
    configurations. Failures come first, then the order is that of the operations.
    """
    log, ops = compile_tagged(module, target, level=level, tool=tool or find_tool(), timeout=timeout)
    if len(log) > MAX_LOG:
        raise TileError(f"tileiras wrote {len(log)} characters of remarks; the limit is {MAX_LOG}")
    rank = list(KINDS.values())
    return sorted(
        dict.fromkeys(read_remarks(log, ops, target)), key=lambda r: (r.function, rank.index(r.kind), r.number)
    )


def read_remarks(log: str, ops: list[Op], target: str = "") -> Iterator[Remark]:
    """Read the YAML of tileiras: one document per remark, each a few plain fields and a list of arguments.

    >>> text = "--- !Passed\\nPass: Memory\\nName: N\\nArgs:\\n  - Remark: did\\n  - Shape: '[8]'\\n...\\n"
    >>> [(r.kind, r.message, r.details) for r in read_remarks(text, [])]
    [('passed', 'did', (('Shape', '[8]'),))]
    """
    for document in re.split(r"^--- !", log, flags=re.MULTILINE)[1:]:
        tag = document.partition("\n")[0].strip()
        fields = [(key, _plain(text)) for key, text in _FIELD.findall(document)]
        first = dict(reversed(fields))
        place = _PLACE.search(first.get("DebugLoc", ""))
        number = int(place[1]) if place and 1 <= int(place[1]) <= len(ops) else 0
        named = {"Pass", "Name", "DebugLoc", "Function", "Args", "RemarkId", "Remark", "Reason"}
        yield Remark(
            KINDS.get(tag, "analysis"),
            first.get("Pass", ""),
            first.get("Name", ""),
            first.get("Remark", ""),
            tuple(dict.fromkeys(_REASON.sub("", text) for key, text in fields if key == "Reason")),
            tuple((key, text) for key, text in dict(fields).items() if key not in named),
            first.get("Function", ""),
            ops[number - 1] if number else None,
            number,
            target,
        )


def _plain(text: str) -> str:
    """Return a YAML scalar without its quotes."""
    text = text.strip()
    return text[1:-1].replace("''", "'") if len(text) > 1 and text[0] == text[-1] == "'" else text
