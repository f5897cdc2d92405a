"""Attributes in text: MLIR's own, `#cuda_tile.…`, dictionaries, dense constants, assume predicates and hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    DebugAttr,
    DenseArray,
    DictAttr,
    DivBy,
    FloatAttr,
    IntAttr,
    OpaqueAttr,
    OptimizationHints,
    Predicate,
    SameElements,
    StrAttr,
    SymbolRef,
    TileEnum,
    TypeAttr,
    UnitAttr,
)
from ...declare.fastclass import dataclass
from ...types import F64, I1, I64, PaddingValue, Scalar, Type
from ..lexer import INT_TYPE, is_word, string_value, symbol_name
from ..print.attributes import ENUM_NAMES, attr_text, quote
from .cursor import MAX_DEPTH, Mark, Task, is_float, is_integer, run
from .dense import float_literal, mlir_dense
from .literals import integer_bits
from .locs import DEBUG_NAMES, debug_attribute, is_loc, location
from .types import TypeCursor, skip_body, starts_type

MAX_SIZE = 1 << 20
ENUMS: dict[str, type[TileEnum] | type[PaddingValue]] = {name: cls for cls, name in ENUM_NAMES.items()}
ENUMS["padding_value"] = PaddingValue
# MLIR's attributes that Tile IR has no use for; they are kept as text.
_BRACKETED = ("affine_map", "affine_set", "dense_resource", "sparse", "strided")


@dataclass(frozen=True, slots=True)
class EnumAttr(OpaqueAttr):
    """A keyword as an attribute, `#cuda_tile.rounding<zero>`."""

    member: TileEnum | PaddingValue


class AttrCursor(TypeCursor):
    """A cursor that reads attributes."""

    def __init__(
        self, text: str, file: str = "", allow_unregistered: bool = False, toks: list[str] | None = None
    ) -> None:
        super().__init__(text, file, allow_unregistered, toks)
        self.aliases: dict[str, Attr] = {}
        self._costs: dict[str, tuple[int, int]] = {}
        self._depth = self._height = self._size = 0
        self.fused = 0

    def attribute(self, type: Type | None = None) -> Attr:
        """The attribute that must be next. A number without a type of its own has the given one."""
        self._depth = self._height = self._size = 0
        made: Attr = run(self.any_attribute(type))
        return made

    def dictionary(self) -> dict[str, Attr]:
        """`{a = 1, b}`, which must be next."""
        self._depth = self._height = self._size = 0
        made: dict[str, Attr] = run(_entries(self))
        return made

    def define_alias(self) -> None:
        """`#name = attribute`."""
        name = self.tok[1:]
        if name in self.aliases:
            self.plain(f"redefinition of attribute alias id '{name}'")
        if "." in name:
            self.plain("attribute names with a '.' are reserved for dialect-defined names")
        self.i += 1
        self.expect("=", " in attribute alias definition")
        self.set_alias(name, self.attribute())

    def set_alias(self, name: str, attr: Attr) -> None:
        """Define an alias of the attribute that was read last."""
        self.aliases[name] = attr
        # Debug information is shared and has names of its own in text: it cannot grow without end.
        self._costs[name] = (0, 1) if isinstance(attr, DebugAttr) else (self._height, self._size)

    def location(self) -> Attr:
        """What stands in `loc(…)`, between the brackets."""
        made: Attr = run(location(self))
        return made

    def hints(self) -> OptimizationHints:
        """`<sm_100 = {…}>`, or the attribute with its full name."""
        if self.tok[:1] == "#":
            at, attr = self.mark(), self.attribute()
            if not isinstance(attr, OptimizationHints):
                self.fail("invalid kind of attribute specified", at)
            return attr
        self._depth = self._height = self._size = 0
        made: OptimizationHints = run(hints_task(self))
        return made

    def any_attribute(self, type: Type | None) -> Task:
        token = self.tok
        self.count(0, 1)
        key = token if token in _TASKS or token in _LEAVES else token[:1]
        if key in _TASKS:
            return (yield _TASKS[key](self))
        if key in _LEAVES:
            return _LEAVES[key](self, type)
        if token[:1].isdecimal() or token == "-":
            return _number(self, type)
        if starts_type(token):
            return TypeAttr(self.type())
        return self.wrong("expected attribute value")

    def count(self, height: int, size: int) -> None:
        """Refuse attributes that are nested so deeply, or name each other so often, that their text has no end."""
        self._height = max(self._height, self._depth + height)
        self._size += size
        if self._height > MAX_DEPTH:
            self.plain(f"attributes are nested more than {MAX_DEPTH} deep")
        if self._size > MAX_SIZE:
            self.plain(f"an attribute consists of more than {MAX_SIZE} attributes")


# ---------------------------------------------------------------- MLIR's attributes


def _array(p: AttrCursor) -> Task:
    p.i += 1
    p._depth += 1
    items: list[Attr] = []
    more = not p.accept("]")
    while more:
        items.append((yield p.any_attribute(None)))
        if not (more := p.accept(",")) and not p.accept("]"):
            p.wrong("expected ',' or ']'")
    p._depth -= 1
    return ArrayAttr(tuple(items))


def _dict(p: AttrCursor) -> Task:
    entries = yield _entries(p)
    return DictAttr(tuple(sorted(entries.items())))


def _entries(p: AttrCursor) -> Task:
    p.expect("{", " in attribute dictionary")
    p._depth += 1
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
        out[name] = (yield p.any_attribute(None)) if p.accept("=") else UnitAttr()
        if not (more := p.accept(",")):
            p.expect("}", " in attribute dictionary")
    p._depth -= 1
    return out


def _string(p: AttrCursor, type: Type | None) -> Attr:
    value = string_value(p.tok)
    p.i += 1
    if type is None and p.accept(":"):
        return OpaqueAttr(f"{quote(value)} : {p.spelled(p.type())}")
    return StrAttr(value)


def _symbol(p: AttrCursor, type: Type | None) -> Attr:
    first = last = p.tok
    p.i += 1
    names = [first]
    while p.tok == ":" and p.toks[p.i + 1] == ":":
        p.i += 2
        last = p.tok
        if last[:1] != "@":
            p.plain("expected nested symbol reference identifier")
        names.append(last)
        p.i += 1
    return SymbolRef(symbol_name(first)) if len(names) == 1 else OpaqueAttr("::".join(names))


def _boolean(p: AttrCursor, type: Type | None) -> Attr:
    p.i += 1
    return IntAttr(I1, int(p.toks[p.i - 1] == "true"))


def _unit(p: AttrCursor, type: Type | None) -> Attr:
    p.i += 1
    return UnitAttr()


def _loc(p: AttrCursor) -> Task:
    p.i += 1
    p.expect("(", " in inline location")
    made = yield location(p)
    p.expect(")", " in inline location")
    return made


def _bracketed(p: AttrCursor, type: Type | None) -> Attr:
    name = p.tok
    p.i += 1
    if p.tok != "<":
        p.wrong(f"expected '<' in {name}")
    body = skip_body(p)
    shown = f" : {p.spelled(p.type())}" if p.accept(":") else ""
    return OpaqueAttr(name + body + shown)


def _distinct(p: AttrCursor) -> Task:
    p.i += 1
    p.expect("[", " in distinct attribute")
    number = p.integer(64, signed=False)
    p.expect("]", " in distinct attribute")
    p.expect("<", " in distinct attribute")
    inner = "" if p.tok == ">" else attr_text((yield p.any_attribute(None)))
    p.expect(">", " in distinct attribute")
    return OpaqueAttr(f"distinct[{number}]<{inner}>")


def _number(p: AttrCursor, type: Type | None) -> Attr:
    negative = p.accept("-")
    at, token = p.mark(), p.tok
    if not token[:1].isdecimal():
        p.wrong("expected constant integer or floating point value")
    p.i += 1
    if type is None:
        type = p.type() if p.accept(":") else F64 if is_float(token) else I64
    if not isinstance(type, Scalar):
        return _foreign_number(p, type, token, negative, at)
    if type.is_float:
        return FloatAttr(type, float_literal(p, type, token, negative, at))
    if is_float(token):
        p.plain("floating point value not valid for specified type")
    bits = integer_bits(type, token, negative)
    if bits is None:
        p.plain("integer constant out of range for attribute", at)
    return IntAttr(type, bits)


def _foreign_number(p: AttrCursor, type: Type, token: str, negative: bool, at: Mark) -> Attr:
    """A number of a type that Tile IR does not have, such as `index`."""
    if is_float(token) and not type.text.startswith("f"):
        p.plain("floating point value not valid for specified type")
    if is_integer(token) and type.text != "index" and not INT_TYPE.match(type.text):
        p.plain("integer literal not valid for specified type", at)
    return OpaqueAttr(f"{'-' * negative}{token} : {type.text}")


def _dense_array(p: AttrCursor, type: Type | None) -> Attr:
    """`array<i32: 1, 2>`."""
    p.i += 1
    p.expect("<", " after 'array'")
    element = p.type()
    if not isinstance(element, Scalar) or not (element.is_int or element.is_float):
        p.plain("expected integer or float type")
    values: list[int] = []
    if not p.accept(">"):
        p.expect(":", " after dense array type")
        values = p.listed(">", lambda: _array_element(p, element))
    return DenseArray(element, tuple(values))


def _array_element(p: AttrCursor, type: Scalar) -> int:
    at, token = p.mark(), p.tok
    if token in ("true", "false"):
        if type is not I1:
            p.plain("expected i1 type for 'true' or 'false' values")
        p.i += 1
        return int(token == "true")
    negative = p.accept("-")
    token = p.tok
    if type.is_float:
        p.i += 1
        return float_literal(p, type, token, negative, at)
    if not is_integer(token):
        p.wrong("expected integer literal")
    bits = integer_bits(type, token, negative)
    if bits is None:
        p.plain("integer constant out of range", at)
    p.i += 1
    return bits - (1 << type.bits) if type is not I1 and bits >> type.bits - 1 else bits


# ---------------------------------------------------------------- the dialect's attributes


def _hash(p: AttrCursor) -> Task:
    """`#alias`, `#cuda_tile.name<…>`, or an attribute of another dialect."""
    at = p.mark()
    name = p.tok[1:]
    dialect, dot, mnemonic = name.partition(".")
    p.i += 1
    body = p.tok == "<"
    if not dot and not body:
        if name not in p.aliases:
            p.wrong(f"undefined symbol alias id '{name}'")
        p.count(*p._costs[name])
        return p.aliases[name]
    if dialect != "cuda_tile":
        return _opaque(p, at, name, body)
    inside, p.in_dialect = p.in_dialect, True
    if not dot:
        p.i += 1
        mnemonic = p.any_keyword()
    if mnemonic in DEBUG_NAMES:
        made = yield debug_attribute(p, mnemonic)
    elif mnemonic in PREDICATES:
        made = PREDICATES[mnemonic](p)
    elif mnemonic in ENUMS:
        made = _enum(p, mnemonic)
    elif mnemonic == "optimization_hints":
        made = yield hints_task(p)
    else:
        p.fail(f"unknown attribute `{mnemonic}` in dialect `cuda_tile`", at)
    if not dot:
        p.expect(">")
    p.in_dialect = inside
    return made


def _opaque(p: AttrCursor, at: Mark, name: str, body: bool) -> Attr:
    text = f"#{name}" + (skip_body(p) if body else "")
    if not p.allow_unregistered:
        p.plain(
            f"`{text}` attribute created with unregistered dialect. If this is intended, please call "
            "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt "
            "tool used",
            at,
        )
    return OpaqueAttr(text + (f" : {p.spelled(p.type())}" if p.accept(":") else ""))


def _enum(p: AttrCursor, mnemonic: str) -> EnumAttr:
    cls = ENUMS[mnemonic]
    p.expect("<")
    member = enum_member(p, cls)
    p.expect(">")
    return EnumAttr(f"#cuda_tile.{mnemonic}<{member.text}>", member)


def enum_member(p: AttrCursor, cls: type[TileEnum] | type[PaddingValue]) -> TileEnum | PaddingValue:
    at = p.mark()
    word = p.any_keyword()
    member: Any = next((m for m in cls if m.text == word), None)
    if member is None:
        p.fail(f"expected ::mlir::cuda_tile::{cls.__name__} to be one of: {', '.join(m.text for m in cls)}", at)
    found: TileEnum | PaddingValue = member
    return found


def _div_by(p: AttrCursor) -> Predicate:
    p.expect("<")
    divisor = p.optional_integer(64, signed=False)
    if divisor is None:
        message = "failed to parse parameter 'divisor' which is expected to be an integer"
        p.fail(message, None, p.second("expected integer value"))
    every = along = None
    if p.accept(","):
        p.keyword("every")
        every = p.integer()
        p.keyword("along")
        along = p.integer()
    p.expect(">")
    return DivBy(divisor, every, along)


def _same_elements(p: AttrCursor) -> Predicate:
    p.expect("<")
    p.expect("[")
    values = p.listed("]", p.integer)
    p.expect(">")
    return SameElements(tuple(values))


def _bounded(p: AttrCursor) -> Predicate:
    def bound() -> int | None:
        return None if p.accept("?") else p.optional_integer()

    p.expect("<")
    low = bound()
    p.expect(",")
    high = bound()
    p.expect(">")
    return Bounded(low, high)


PREDICATES: dict[str, Callable[[AttrCursor], Predicate]] = {
    "div_by": _div_by,
    "same_elements": _same_elements,
    "bounded": _bounded,
}


def hints_task(p: AttrCursor) -> Task:
    """`<sm_100 = {latency = 2}>`."""
    p.expect("<")
    entries: dict[str, Attr] = {}
    more = not p.accept(">")
    while more:
        key = p.optional_keyword()
        if key is None and (key := p.string()) is None:
            p.fail("expected valid keyword or string")
        p.expect("=")
        value = yield p.any_attribute(None)
        if key in entries:
            p.fail(f"duplicate optimization_hints key `{key}`")
        if not isinstance(value, DictAttr):
            shown = "loc" if is_loc(value) else attr_text(value)
            p.fail(f"expected dictionary attribute for optimization_hints entry `{key}` got value={shown}")
        entries[key] = value
        if not (more := p.accept(",")):
            p.expect(">")
    return OptimizationHints(DictAttr(tuple(sorted(entries.items()))))


_TASKS: dict[str, Callable[[AttrCursor], Task]] = {
    "[": _array,
    "{": _dict,
    "#": _hash,
    "loc": _loc,
    "distinct": _distinct,
}
"""Attributes that hold others, by their first word or character."""

_LEAVES: dict[str, Callable[[AttrCursor, Type | None], Attr]] = {
    '"': _string,
    "@": _symbol,
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "array": _dense_array,
    "dense": mlir_dense,
    **dict.fromkeys(_BRACKETED, _bracketed),
}
"""Attributes that hold no others."""
