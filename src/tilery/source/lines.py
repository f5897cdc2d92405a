"""Source lines: the places in source files that locations name, and the text there."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

from ..attrs import CallSite, DILoc, DISubprogram, FileLineCol, FusedLoc, Loc, NameLoc, enclosing
from ..ops import Module
from .symbols import function_name

MAX_PLACES = 100
"""The most places that one location can have; deeper calls are left out."""


MAX_SOURCE = 16 << 20
"""The most bytes of a source file."""
SOURCES = "TILERY_SOURCES"
"""The environment variable with folders of source files, separated as in PATH."""


def readable(file: str) -> bool:
    """Tell whether a file that debug information names may be read: a regular file of a moderate size.

    It must be below the working directory or a folder that `TILERY_SOURCES` lists, or be a file that this process
    imported or was given on its command line.
    """
    try:
        found = os.stat(file)
        path = os.path.realpath(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SOURCE:
            return False
        named = [folder for folder in os.environ.get(SOURCES, "").split(os.pathsep) if folder]
        if any(_is_below(path, os.path.realpath(folder)) for folder in (os.getcwd(), *named)):
            return True
    except (OSError, ValueError):  # there is no such file, or its name has a zero byte
        return False
    if any(getattr(module, "__file__", None) == file for module in list(sys.modules.values())):
        return True
    return any(os.path.realpath(argument.partition(":")[0]) == path for argument in sys.argv if argument)


def _is_below(path: str, folder: str) -> bool:
    return len(folder) > 1 and path.startswith(folder + os.sep)


class Place(NamedTuple):
    """A place in a source file: one-based line and column, and the function if it is known."""

    file: str
    line: int
    column: int
    function: str = ""

    @property
    def text(self) -> str:
        """The line of the file; an empty string if it cannot be read, or may not be, see `readable`."""
        import linecache

        if self.file not in linecache.cache and not readable(self.file):
            return ""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}:{self.column}{inside}"


def places(loc: Loc | None) -> list[Place]:
    """List the places of a location, innermost first: the code itself, then each call that it was inlined into."""
    found: list[Place] = []
    work = [loc]
    while work and len(found) < MAX_PLACES:
        match work.pop():
            case FileLineCol() as source:
                found.append(Place(source.filename, source.line, column(source)))
            case DILoc(source=source, scope=scope):
                functions = [each for each in enclosing(scope) if isinstance(each, DISubprogram)]
                name = function_name(functions[-1].name) if functions else ""
                file = source.filename
                if functions and not os.path.isabs(file):
                    file = os.path.join(functions[-1].file.directory, file)
                found.append(Place(file, source.line, column(source), name))
            case CallSite(callee=callee, caller=caller):
                work += [caller, callee]
            case NameLoc(child=child):
                work.append(child)
            case FusedLoc(locations=locations):
                work += locations[::-1]
    return found


def innermost(loc: Loc | None) -> Place | None:
    """Return the place of a location itself, without the calls around it; None if it has none."""
    return next(iter(places(loc)), None)


def shown_places(loc: Loc | None) -> list[Place]:
    """List the places of a location from the first whose line can be read; all of them if none can.

    The code of a library, whose source is elsewhere, is left out so that the call of it comes first.
    """
    found = places(loc)
    first = next((at for at, place in enumerate(found) if place.text), 0)
    return found[first:]


def column(source: FileLineCol) -> int:
    """Return the one-based column: cuTile takes columns from Python's syntax trees, which count from zero."""
    return source.column + source.filename.endswith(".py")


def excerpt(loc: Loc | None) -> tuple[str, ...]:
    """Show a location as lines of text: each place, its source line, and a caret."""
    lines: list[str] = []
    for place in shown_places(loc):
        lines.append(f"  at {place}")
        if text := place.text:
            start = len(text) - len(text.lstrip())
            lines.append("    " + text[start:].replace("\t", " "))
            if 1 <= place.column <= len(text):
                lines.append("    " + " " * (place.column - 1 - start) + "^")
    return tuple(lines)


def annotate(module: Module) -> str:
    """Print a module with source lines as comments above its operations; the text can be parsed again."""
    from ..text.print.printer import show_with_offsets

    text, starts, _ = show_with_offsets(module)
    parts: list[str] = []
    last, at = None, 0
    known: dict[int, list[Place]] = {}
    for o, start in sorted(starts.items(), key=lambda item: item[1]):
        if id(o.loc) not in known:
            known[id(o.loc)] = shown_places(o.loc)
        found = known[id(o.loc)]
        here = (found[0].file, found[0].line) if found else None
        if here != last and found:
            parts.append(text[at:start])
            parts += comments(found, text[start : start + 200])
            at = start
        last = here
    return "".join([*parts, text[at:]])


def comments(found: list[Place], line: str) -> Iterator[str]:
    """Yield the comment for a list of places, indented like the line below it."""
    margin = line[: len(line) - len(line.lstrip(" "))]
    first, *callers = found
    calls = "".join(f", from line {each.line}" for each in callers)
    text = first.text.strip()
    yield f"{margin}// {os.path.basename(first.file)}:{first.line}{calls}{text and ': ' + text}\n"
