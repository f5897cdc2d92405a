"""`synthesize-debug-info-scopes`: debug-info scopes for functions that have only file locations."""

from __future__ import annotations

from typing import Any

from ..attrs import Attr, CallSite, DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol, FusedLoc, NameLoc
from ..declare.operation import has_trait
from ..declare.relations import FUNCTION
from ..ir import Op, walk
from ..rewrite import Report
from .registry import register

UNKNOWN = DIFile("<unknown>", "")


@register("synthesize-debug-info-scopes", on="module")
def synthesize_debug_info_scopes(root: Op, report: Report) -> None:
    """Add a subprogram to each function without debug info, enough for line tables."""
    place = file_place(root.loc)
    unit = DICompileUnit(UNKNOWN if place is None else source_file(place))
    for function in [o for block in root.blocks for o in block.ops]:
        if has_trait(function, FUNCTION) and not has_scope(function.loc):
            _scope(function, unit)
            report.counts["subprogram"] += 1


def _scope(function: Any, unit: DICompileUnit) -> None:
    place = file_place(function.loc)
    file = unit.file if place is None else source_file(place)
    place = place or FileLineCol(file.name, 1, 1)
    name = function.sym_name
    scope = DISubprogram(file, place.line, name, name, unit, place.line)
    for o in walk(function):
        o.loc = DILoc(file_place(o.loc) or place, scope)


def file_place(loc: Attr | None) -> FileLineCol | None:
    """The position in a file that a location without scope refers to; for a call site, that of the caller."""
    while True:
        match loc:
            case FileLineCol():
                return loc
            case NameLoc():
                loc = loc.child
            case CallSite():
                loc = loc.caller
            case FusedLoc():
                return next((part for part in loc.locations if isinstance(part, FileLineCol)), None)
            case _:
                return None


def has_scope(loc: Attr | None) -> bool:
    """Whether there is a scope anywhere in a location."""
    seen: set[Attr | None] = {None}
    todo: list[Attr | None] = [loc]
    while todo:
        found = todo.pop()
        if found in seen:
            continue
        seen.add(found)
        match found:
            case DILoc():
                return True
            case CallSite():
                todo += [found.callee, found.caller]
            case NameLoc():
                todo.append(found.child)
            case FusedLoc():
                todo += found.locations
    return False


def source_file(place: FileLineCol) -> DIFile:
    """Split a path into file and directory as LLVM does: a path that ends in a slash names `.`.

    >>> source_file(FileLineCol("src/kernels/add.py", 1, 1)).parts()
    ('add.py', 'src/kernels')
    """
    directory, slash, name = place.filename.rpartition("/")
    if not slash:
        return DIFile(name, "")
    stripped = directory.rstrip("/")
    if not name and not stripped:
        return DIFile("/", "")
    return DIFile(name or ".", stripped or "/")
