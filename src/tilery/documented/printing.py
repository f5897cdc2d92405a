"""Text as documents promise it: full names and types, `gpu`, block labels, nothing omitted, their value names."""

from __future__ import annotations

import re
from functools import cache

from ..attrs import MemoryScope
from ..diag import TileError
from ..ir import Block, Op, Value
from ..ops import For, If, Loop, Reduce, Scan
from ..text import DIALECT
from ..text.format import read_format
from ..text.print.lines import Line, make_line
from ..text.print.names import ValueNames
from ..text.print.parts import Part, PrintContext, RegionText
from ..text.print.printer import LIMIT, show_styled
from ..text.print.styles import STYLES, Style
from ..text.spelling import SCOPES
from .forms import FORMATS
from .names import name_values

NAMES = ("disasm", "documented")
LABELS: dict[type[Op], tuple[str, ...]] = {
    If: ("^then:", "^else:"),
    **dict.fromkeys([For, Loop, Reduce, Scan], ("^body:",)),
}
_SCOPE = re.compile(rf"(_tko \w+) {MemoryScope.DEVICE.text}\b")
_GPU = next(word for word, scope in SCOPES.items() if scope is MemoryScope.DEVICE)
# Strings and dictionaries are left alone; a type is found by its first word.
_PLACE = re.compile(
    r'(?P<string>"(?:\\.|[^"\\])*+")|(?P<dict>\{)'
    r"|(?<![\w.%@#!$-])(?:(?P<type>(?:tile|ptr|\w+_view)<)|(?P<token>token(?=[\s,)}]|\Z)(?!\s*=)))"
)


def show(root: Op, style: str, locs: bool, names: str, limit: int = LIMIT) -> str:
    """Print a module or a single operation in the style or with the names of the documents."""
    styles = {**STYLES, "documented": _style()}
    for what, given, known in (("style", style, tuple(styles)), ("names", names, NAMES)):
        if given not in known:
            raise TileError(f"unknown {what} {given!r}, expected one of {', '.join(known)}")
    return show_styled(root, styles[style], locs, limit, names=_names if names == "documented" else None)


def _names(block: Block, limit: int) -> ValueNames:
    return name_values(block, limit=limit)


@cache
def _style() -> Style:
    """Return the documents' style."""
    return Style(documented_line)


def documented_line(cls: type[Op], name: str) -> Line:
    """Return the function that prints an operation."""
    plain = make_line(cls, name, read_format(cls.opdef, FORMATS[cls]) if cls in FORMATS else ())
    labels = LABELS.get(cls, ())

    def line(o: Op, texts: dict[Value, str], context: PrintContext) -> str | list[Part]:
        made = plain(o, texts, context)
        if isinstance(made, str):
            return _full(made)
        left = iter(labels)
        return [_full(part) if isinstance(part, str) else _shown(part, next(left, "")) for part in made]

    return line


def _shown(region: RegionText, label: str) -> RegionText:
    """Add the label and the terminator to a region, unless it is in MLIR's generic form."""
    return region if region.header else RegionText(region.block, header=label, prefix=DIALECT)


def _full(text: str) -> str:
    """Put `!cuda_tile.` before each type, and use the document's word for the scope."""
    text = _SCOPE.sub(rf"\1 {_GPU}", text, count=1)
    out: list[str] = []
    at = 0
    while (found := _PLACE.search(text, at)) is not None:
        out.append(text[at : found.start()])
        at = found.end()
        if found["type"]:
            at = _close(text, at, "<", ">")
            out.append(f"!{DIALECT}")
        elif found["dict"]:
            at = _close(text, at, "{", "}")
        elif found["token"] and _is_type(text, found.start()):
            out.append(f"!{DIALECT}")
        out.append(text[found.start() : at])
    return "".join([*out, text[at:]])


def _close(text: str, at: int, opening: str, closing: str) -> int:
    """Return the position after the bracket that closes the one before `at`."""
    depth = 1
    while depth and at < len(text):
        if text[at] == '"':
            found = _PLACE.match(text, at)
            at = found.end() if found else at + 1
            continue
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
    return at


def _is_type(text: str, at: int) -> bool:
    """Whether the word `token` at this position is a type, judged by what precedes it."""
    while at and text[at - 1] in " \n":
        at -= 1
    return at > 0 and text[at - 1] in ":>,("
