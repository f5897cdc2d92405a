"""Parse locations and debug information: `loc("file":1:2)`, `loc(callsite(a at b))`, `#cuda_tile.di_loc<…>`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...attrs import (
    Attr,
    CallSite,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    FileLineCol,
    FusedLoc,
    Loc,
    NameLoc,
    OpaqueAttr,
    StrAttr,
)
from ...types import Type
from ..lexer import integer_value, is_integer, string_value
from .state import Parser
from .tasks import Task

AttributeTask = Callable[[Parser, Type | None], Task]
"""Reads any attribute. Attributes and locations contain each other, so the functions here are handed this one."""

UNKNOWN = OpaqueAttr("loc(unknown)")
"""The unknown location as an attribute; operations have None."""

MAX_FUSED = 1 << 20


def as_loc(attr: Attr) -> Loc | None:
    return attr if isinstance(attr, Loc) else None


def is_loc(attr: Attr) -> bool:
    return isinstance(attr, Loc) or attr is UNKNOWN


def location(p: Parser, attribute: AttributeTask) -> Task:
    """Read a location inside `loc(…)`. The result is a Loc or UNKNOWN."""
    token = p.tok
    if token[:1] == '"':
        return (yield _file_or_name(p, attribute))
    if token[:1] == "#":
        at = p.mark()
        attr = yield attribute(p, None)
        if not is_loc(attr):
            p.plain("expected location attribute", at)
        return attr
    if token == "unknown":
        p.i += 1
        return UNKNOWN
    if token == "callsite":
        return (yield _callsite(p, attribute))
    if token == "fused":
        return (yield _fused(p, attribute))
    return p.wrong("expected location instance")


def _number(p: Parser, message: str) -> int:
    if not is_integer(p.tok) or integer_value(p.tok) >= 1 << 32:
        p.wrong(message)
    p.i += 1
    return integer_value(p.toks[p.i - 1])


def _file_or_name(p: Parser, attribute: AttributeTask) -> Task:
    name = string_value(p.tok)
    p.i += 1
    if p.accept(":"):
        line = _number(p, "expected integer line number in FileLineColLoc")
        p.expect(":", " in FileLineColLoc")
        column = _number(p, "expected integer column number in FileLineColLoc")
        if p.accept("to"):
            # Tile IR cannot keep the end of a range.
            if p.tok != ":":
                _number(p, "expected integer line number in FileLineColLoc")
            p.expect(":", " in FileLineColLoc")
            _number(p, "expected integer column number in FileLineColLoc")
        return FileLineCol(name, line, column)
    child: Attr = UNKNOWN
    if p.accept("("):
        child = yield location(p, attribute)
        p.expect(")", " after child location of NameLoc")
    return NameLoc(name, as_loc(child))


def _callsite(p: Parser, attribute: AttributeTask) -> Task:
    p.i += 1
    p.expect("(", " in callsite location")
    callee = yield location(p, attribute)
    if not p.accept("at"):
        p.wrong("expected 'at' in callsite location")
    caller = yield location(p, attribute)
    p.expect(")", " in callsite location")
    return CallSite(as_loc(callee), as_loc(caller))


def _fused(p: Parser, attribute: AttributeTask) -> Task:
    p.i += 1
    metadata: Attr | None = None
    if p.accept("<"):
        metadata = yield attribute(p, None)
        p.expect(">", " after fused location metadata")
    p.expect("[", " in fused location")
    # As in MLIR, unknown locations and duplicates are dropped, and inner lists with the same metadata are flattened.
    found: dict[Loc, None] = {}
    more = not p.accept("]")
    while more:
        inner = yield location(p, attribute)
        if isinstance(inner, FusedLoc) and inner.metadata == metadata:
            found.update((loc, None) for loc in inner.locations if loc is not None)
        elif isinstance(inner, Loc):
            found[inner] = None
        if not (more := p.accept(",")):
            p.expect("]", " in fused location")
    p.fused += len(found)
    if p.fused > MAX_FUSED:
        p.plain(f"all fused locations together hold more than {MAX_FUSED} locations")
    if metadata is None and len(found) < 2:
        return next(iter(found), UNKNOWN)
    return FusedLoc(tuple(found) or (None,), metadata)


# ---------------------------------------------------------------- debug information


def debug_attribute(p: Parser, mnemonic: str, attribute: AttributeTask) -> Task:
    """Read the part of `#cuda_tile.di_…<…>` after the name."""
    p.expect("<")
    if mnemonic == "di_loc":
        source = yield _field(p, "DILoc", "sourceLoc", FileLineCol, "FileLineColLoc", attribute)
        p.keyword("in")
        scope = yield _field(p, "DILoc", "scope", (DISubprogram, DILexicalBlock), "DILocalScopeAttr", attribute)
        p.expect(">")
        return DILoc(source, scope)
    if mnemonic == "di_file":
        name = yield _field(p, "DIFile", "name", StrAttr, "StringAttr", attribute)
        p.keyword("in")
        directory = yield _field(p, "DIFile", "directory", StrAttr, "StringAttr", attribute)
        p.expect(">")
        return DIFile(name.value, directory.value)
    cls, params = _STRUCTS[mnemonic]
    values = yield _struct(p, cls.__name__, params, attribute)
    p.expect(">")
    return cls(**values)


_FILE = ((DIFile,), "DIFileAttr")
_NUMBER = (None, "unsigned")
_TEXT = ((StrAttr,), "StringAttr")
# for each parameter: the classes it may have, its type in NVIDIA's messages, and whether it is optional
_Param = tuple[Any, str, bool]
_STRUCTS: dict[str, tuple[Callable[..., Attr], dict[str, _Param]]] = {
    "di_compile_unit": (DICompileUnit, {"file": (*_FILE, False)}),
    "di_lexical_block": (
        DILexicalBlock,
        {
            "scope": ((DISubprogram, DILexicalBlock), "DILocalScopeAttr", False),
            "file": (*_FILE, False),
            "line": (*_NUMBER, False),
            "column": (*_NUMBER, True),
        },
    ),
    "di_subprogram": (
        DISubprogram,
        {
            "file": (*_FILE, False),
            "line": (*_NUMBER, False),
            "name": (*_TEXT, False),
            "linkageName": (*_TEXT, False),
            "compileUnit": ((DICompileUnit,), "DICompileUnitAttr", False),
            "scopeLine": (*_NUMBER, True),
        },
    ),
}

DEBUG_NAMES = ("di_loc", "di_file", *_STRUCTS)


def _struct(p: Parser, name: str, params: dict[str, _Param], attribute: AttributeTask) -> Task:
    values: dict[str, Any] = {}
    while True:
        key = p.optional_keyword()
        if key is None:
            p.fail("expected a parameter name in struct", None, p.second("expected valid keyword"))
        p.expect("=")
        if key not in params or key in values:
            p.fail(f"duplicate or unknown struct parameter name: {key}")
        classes, what, _ = params[key]
        value = yield _field(p, name, key, classes, what, attribute)
        values[key] = value.value if isinstance(value, StrAttr) else value
        if not p.accept(","):
            break
    for key, (_, _, optional) in params.items():
        if key not in values and not optional:
            p.fail(f"struct is missing required parameter: {key}")
    return values


def _field(p: Parser, owner: str, name: str, classes: Any, what: str, attribute: AttributeTask) -> Task:
    """Read a parameter: a number if `classes` is None, else an attribute of one of them."""
    at = p.mark()
    outer = f"failed to parse CudaTile_{owner}Attr parameter '{name}' which is to be a `{what}`"
    if classes is None:
        number = p.optional_integer(32, signed=False)
        if number is None:
            p.fail("expected integer value", at, p.second(outer))
        return number
    attr = yield attribute(p, None)
    if not isinstance(attr, classes):
        p.fail("invalid kind of attribute specified", at, p.second(outer))
    return attr
