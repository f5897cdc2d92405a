"""Parse attributes: MLIR's own, `#cuda_tile.…`, dictionaries, hints, aliases, and the locations of operations."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import ArrayAttr, Attr, DebugAttr, DictAttr, OpaqueAttr, OptimizationHints, TypeAttr, UnitAttr
from ...ir import Op
from ...types import Type
from ..lexer import is_word, string_value
from ..print.attributes import attr_text
from .leaves import ENUMS, LEAVES, PREDICATES, parse_enum, parse_number, parse_opaque
from .locations import DEBUG_NAMES, UNKNOWN, as_loc, debug_attribute, is_loc, location
from .state import Parser
from .tasks import Task, run
from .types import parse_type, starts_type

MAX_DEPTH = 200
MAX_SIZE = 1 << 20


def parse_attribute(p: Parser, type: Type | None = None) -> Attr:
    """Read an attribute, which must be next. A number without a type of its own gets the given one."""
    p.depth = p.height = p.size = 0
    made: Attr = run(attribute(p, type))
    return made


def parse_dictionary(p: Parser) -> dict[str, Attr]:
    """Read `{a = 1, b}`, which must be next."""
    p.depth = p.height = p.size = 0
    made: dict[str, Attr] = run(_entries(p))
    return made


def parse_hints(p: Parser) -> OptimizationHints:
    """Read `<sm_100 = {…}>`, or the attribute with its full name."""
    if p.tok[:1] == "#":
        at, attr = p.mark(), parse_attribute(p)
        if not isinstance(attr, OptimizationHints):
            p.fail("invalid kind of attribute specified", at)
        return attr
    p.depth = p.height = p.size = 0
    made: OptimizationHints = run(_hints(p))
    return made


def parse_trailing_location(p: Parser, o: Op | None) -> None:
    """Read a location after an operation, or after a name if `o` is None; the word `loc` is next."""
    p.i += 1
    p.expect("(", " in location")
    at, token = p.i, p.toks[p.i]
    loc: Attr = UNKNOWN
    if token[:1] == "#" and "." not in token and token[1:] not in p.aliases:
        p.i += 1
        p.later.append((o, token[1:], at))
    else:
        loc = run(location(p, attribute))
    p.expect(")", " in location")
    if o is not None:
        o.loc = as_loc(loc)


def skip_location(p: Parser) -> None:
    """Skip a location after a name, if there is one; Tile IR cannot keep it."""
    if p.toks[p.i] == "loc":
        parse_trailing_location(p, None)


def define_alias(p: Parser) -> None:
    """Read `#name = attribute`."""
    name = p.tok[1:]
    if name in p.aliases:
        p.plain(f"redefinition of attribute alias id '{name}'")
    if "." in name:
        p.plain("attribute names with a '.' are reserved for dialect-defined names")
    p.i += 1
    p.expect("=", " in attribute alias definition")
    set_alias(p, name, parse_attribute(p))


def set_alias(p: Parser, name: str, attr: Attr) -> None:
    """Define an alias for the attribute that was read last."""
    p.aliases[name] = attr
    # Debug information is shared and printed by alias, so it cannot grow without bound.
    p.alias_costs[name] = (0, 1) if isinstance(attr, DebugAttr) else (p.height, p.size)


def attribute(p: Parser, type: Type | None) -> Task:
    """Read any attribute."""
    token = p.tok
    _count(p, 0, 1)
    extension = p.options.extensions.attribute
    if extension is not None and (found := extension(p)) is not None:
        return found
    key = token if token in _TASKS or token in LEAVES else token[:1]
    if key in _TASKS:
        return (yield _TASKS[key](p))
    if key in LEAVES:
        return LEAVES[key](p, type)
    if token[:1].isdecimal() or token == "-":
        return parse_number(p, type)
    if starts_type(token):
        return TypeAttr(parse_type(p))
    return p.wrong("expected attribute value")


def _count(p: Parser, height: int, size: int) -> None:
    """Refuse attributes that nest so deeply, or repeat each other so often, that their text would be endless."""
    p.height = max(p.height, p.depth + height)
    p.size += size
    if p.height > MAX_DEPTH:
        p.plain(f"attributes are nested more than {MAX_DEPTH} deep")
    if p.size > MAX_SIZE:
        p.plain(f"an attribute consists of more than {MAX_SIZE} attributes")


# ---------------------------------------------------------------- MLIR's attributes


def _array(p: Parser) -> Task:
    p.i += 1
    p.depth += 1
    items: list[Attr] = []
    more = not p.accept("]")
    while more:
        items.append((yield attribute(p, None)))
        if not (more := p.accept(",")) and not p.accept("]"):
            p.wrong("expected ',' or ']'")
    p.depth -= 1
    return ArrayAttr(tuple(items))


def _dict(p: Parser) -> Task:
    entries = yield _entries(p)
    return DictAttr(tuple(sorted(entries.items())))


def _entries(p: Parser) -> Task:
    p.expect("{", " in attribute dictionary")
    p.depth += 1
    out: dict[str, Attr] = {}
    more = not p.accept("}")
    while more:
        token = p.tok
        if token[:1] != '"' and not is_word(token):
            p.wrong("expected attribute name")
        name = string_value(token) if token[0] == '"' else token
        if not name:
            p.plain("expected valid attribute name")
        if name in out:
            p.plain(f"duplicate key '{name}' in dictionary attribute")
        p.i += 1
        out[name] = (yield attribute(p, None)) if p.accept("=") else UnitAttr()
        if not (more := p.accept(",")):
            p.expect("}", " in attribute dictionary")
    p.depth -= 1
    return out


def _loc(p: Parser) -> Task:
    p.i += 1
    p.expect("(", " in inline location")
    made = yield location(p, attribute)
    p.expect(")", " in inline location")
    return made


def _distinct(p: Parser) -> Task:
    p.i += 1
    p.expect("[", " in distinct attribute")
    number = p.integer(64, signed=False)
    p.expect("]", " in distinct attribute")
    p.expect("<", " in distinct attribute")
    inner = "" if p.tok == ">" else attr_text((yield attribute(p, None)))
    p.expect(">", " in distinct attribute")
    return OpaqueAttr(f"distinct[{number}]<{inner}>")


# ---------------------------------------------------------------- the dialect's attributes


def _hash(p: Parser) -> Task:
    """Read `#alias`, `#cuda_tile.name<…>`, or an attribute of another dialect."""
    at = p.mark()
    name = p.tok[1:]
    dialect, dot, mnemonic = name.partition(".")
    p.i += 1
    body = p.tok == "<"
    if not dot and not body:
        if name not in p.aliases:
            p.wrong(f"undefined symbol alias id '{name}'")
        _count(p, *p.alias_costs[name])
        return p.aliases[name]
    if dialect != "cuda_tile":
        return parse_opaque(p, at, name, body)
    inside, p.in_dialect = p.in_dialect, True
    if not dot:
        p.i += 1
        mnemonic = p.any_keyword()
    if mnemonic in DEBUG_NAMES:
        made = yield debug_attribute(p, mnemonic, attribute)
    elif mnemonic in PREDICATES:
        made = PREDICATES[mnemonic](p)
    elif mnemonic in ENUMS:
        made = parse_enum(p, mnemonic)
    elif mnemonic == "optimization_hints":
        made = yield _hints(p)
    else:
        p.fail(f"unknown attribute `{mnemonic}` in dialect `cuda_tile`", at)
    if not dot:
        p.expect(">")
    p.in_dialect = inside
    return made


def _hints(p: Parser) -> Task:
    """Read `<sm_100 = {latency = 2}>`."""
    p.expect("<")
    entries: dict[str, Attr] = {}
    more = not p.accept(">")
    while more:
        key = p.optional_keyword()
        if key is None and (key := p.string()) is None:
            p.fail("expected valid keyword or string")
        p.expect("=")
        value = yield attribute(p, None)
        if key in entries:
            p.fail(f"duplicate optimization_hints key `{key}`")
        if not isinstance(value, DictAttr):
            shown = "loc" if is_loc(value) else attr_text(value)
            p.fail(f"expected dictionary attribute for optimization_hints entry `{key}` got value={shown}")
        entries[key] = value
        if not (more := p.accept(",")):
            p.expect(">")
    return OptimizationHints(DictAttr(tuple(sorted(entries.items()))))


_TASKS: dict[str, Callable[[Parser], Task]] = {
    "[": _array,
    "{": _dict,
    "#": _hash,
    "loc": _loc,
    "distinct": _distinct,
}
"""Parsers of attributes that contain others, by their first word or character."""
