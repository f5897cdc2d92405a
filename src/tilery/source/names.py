"""Names of values from debug information: names in locations, and the variables of Python that a line assigns to."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from ..attrs import CallSite, FusedLoc, Loc, NameLoc
from ..ir import Op, Value, walk
from ..ops import Module
from ..types import TOKEN
from .lines import MAX_SOURCE, innermost, readable

Assigned = dict[tuple[int, int], list[str]]
"""The variables that an assignment names, by the line and the column, counted from one, of the value."""


def source_names(module: Module) -> dict[Value, str]:
    """Return names for the values whose locations have one.

    Of several operations at the same place the last one gets the name: the others are parts of the expression. Tokens
    have no names: no variable holds one.
    """
    files: dict[str, Assigned] = {}
    found: dict[Value, str] = {}
    last: dict[tuple[str, int, int], Op] = {}
    for o in walk(module):
        if not o.results or o.loc is None or o.results[0].type is TOKEN:
            continue
        if (name := _named(o.loc)) and len(o.results) == 1:
            found[o.results[0]] = name
            continue
        place = innermost(o.loc)
        if place is not None and place.file.endswith(".py"):
            last[place.file, place.line, place.column] = o
    for (file, line, column), o in last.items():
        if file not in files:
            files[file] = _assigned(file)
        names = files[file].get((line, column), [])
        if len(names) == 1:
            found.setdefault(o.results[0], names[0])
        elif len(names) == len(o.results):
            found.update(zip(o.results, names))
    return found


def _named(loc: Loc) -> str:
    """Return the name in a location, or nothing."""
    work: list[Loc | None] = [loc]
    while work:
        match work.pop():
            case NameLoc(name=name):
                return name
            case CallSite(callee=callee):
                work.append(callee)
            case FusedLoc(locations=locations):
                work += reversed(locations[:100])
    return ""


def _assigned(file: str) -> Assigned:
    """Return the assignments of a Python file; nothing if it cannot be read, or may not be."""
    if not readable(file) or os.path.getsize(file) > MAX_SOURCE:
        return {}
    try:
        with open(file, encoding="utf-8") as opened:
            tree = ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: Assigned = {}
    for value, names in _assignments(tree):
        found[value.lineno, value.col_offset + 1] = names
    return found


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.expr, list[str]]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield value, [name]
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                names = [part.id for part in parts if isinstance(part, ast.Name)]
                if len(names) == len(parts):
                    yield value, names
            case ast.AugAssign(target=ast.Name(id=name)):
                yield node.target, [name]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield value, [name]
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield value, [name]
