"""Parse attributes that contain no others: strings, symbols, numbers, arrays of numbers, enums and predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...attrs import (
    Attr,
    Bounded,
    DenseArray,
    DivBy,
    FloatAttr,
    IntAttr,
    OpaqueAttr,
    Predicate,
    SameElements,
    StrAttr,
    SymbolRef,
    TileEnum,
    UnitAttr,
)
from ...declare.fastclass import dataclass
from ...diag import suggest
from ...types import F64, I1, I64, PaddingValue, Scalar, Type
from ..lexer import INT_TYPE, is_float, is_integer, string_value, symbol_name
from ..print.attributes import ENUM_NAMES, quote
from .dense import float_literal, mlir_dense
from .literals import integer_bits
from .state import Mark, Parser
from .types import parse_type, skip_body, spelled

ENUMS: dict[str, type[TileEnum] | type[PaddingValue]] = {name: cls for cls, name in ENUM_NAMES.items()}
ENUMS["padding_value"] = PaddingValue
# Attributes of MLIR that Tile IR does not use are kept as text.
_BRACKETED = ("affine_map", "affine_set", "dense_resource", "sparse", "strided")


@dataclass(frozen=True, slots=True)
class EnumAttr(OpaqueAttr):
    """A keyword as an attribute, `#cuda_tile.rounding<zero>`."""

    member: TileEnum | PaddingValue


def _string(p: Parser, type: Type | None) -> Attr:
    value = string_value(p.tok)
    p.i += 1
    if type is None and p.accept(":"):
        return OpaqueAttr(f"{quote(value)} : {spelled(p, parse_type(p))}")
    return StrAttr(value)


def _symbol(p: Parser, type: Type | None) -> Attr:
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


def _boolean(p: Parser, type: Type | None) -> Attr:
    p.i += 1
    return IntAttr(I1, int(p.toks[p.i - 1] == "true"))


def _unit(p: Parser, type: Type | None) -> Attr:
    p.i += 1
    return UnitAttr()


def _bracketed(p: Parser, type: Type | None) -> Attr:
    name = p.tok
    p.i += 1
    if p.tok != "<":
        p.wrong(f"expected '<' in {name}")
    body = skip_body(p)
    shown = f" : {spelled(p, parse_type(p))}" if p.accept(":") else ""
    return OpaqueAttr(name + body + shown)


def parse_number(p: Parser, type: Type | None) -> Attr:
    negative = p.accept("-")
    at, token = p.mark(), p.tok
    if not token[:1].isdecimal():
        p.wrong("expected constant integer or floating point value")
    p.i += 1
    if type is None:
        type = parse_type(p) if p.accept(":") else F64 if is_float(token) else I64
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


def _foreign_number(p: Parser, type: Type, token: str, negative: bool, at: Mark) -> Attr:
    """Read a number of a type that Tile IR does not have, such as `index`."""
    if is_float(token) and not type.text.startswith("f"):
        p.plain("floating point value not valid for specified type")
    if is_integer(token) and type.text != "index" and not INT_TYPE.match(type.text):
        p.plain("integer literal not valid for specified type", at)
    return OpaqueAttr(f"{'-' * negative}{token} : {type.text}")


def _dense_array(p: Parser, type: Type | None) -> Attr:
    """Read `array<i32: 1, 2>`."""
    p.i += 1
    p.expect("<", " after 'array'")
    element = parse_type(p)
    if not isinstance(element, Scalar) or not (element.is_int or element.is_float):
        p.plain("expected integer or float type")
    values: list[int] = []
    if not p.accept(">"):
        p.expect(":", " after dense array type")
        values = p.listed(">", lambda: _array_element(p, element))
    return DenseArray(element, tuple(values))


def _array_element(p: Parser, type: Scalar) -> int:
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


def parse_opaque(p: Parser, at: Mark, name: str, body: bool) -> Attr:
    text = f"#{name}" + (skip_body(p) if body else "")
    if not p.options.allow_unregistered:
        p.plain(
            f"`{text}` attribute created with unregistered dialect. If this is intended, please call "
            "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt "
            "tool used",
            at,
        )
    return OpaqueAttr(text + (f" : {spelled(p, parse_type(p))}" if p.accept(":") else ""))


def parse_enum(p: Parser, mnemonic: str) -> EnumAttr:
    cls = ENUMS[mnemonic]
    p.expect("<")
    member = enum_member(p, cls)
    p.expect(">")
    return EnumAttr(f"#cuda_tile.{mnemonic}<{member.text}>", member)


def enum_member(p: Parser, cls: type[TileEnum] | type[PaddingValue]) -> TileEnum | PaddingValue:
    at = p.mark()
    word = p.any_keyword()
    member: Any = next((m for m in cls if m.text == word), None)
    if member is None:
        words = [m.text for m in cls]
        message = f"expected ::mlir::cuda_tile::{cls.__name__} to be one of: {', '.join(words)}"
        p.fail(message, at, *suggest(word, words))
    found: TileEnum | PaddingValue = member
    return found


def _div_by(p: Parser) -> Predicate:
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


def _same_elements(p: Parser) -> Predicate:
    p.expect("<")
    p.expect("[")
    values = p.listed("]", p.integer)
    p.expect(">")
    return SameElements(tuple(values))


def _bounded(p: Parser) -> Predicate:
    def bound() -> int | None:
        return None if p.accept("?") else p.optional_integer()

    p.expect("<")
    low = bound()
    p.expect(",")
    high = bound()
    p.expect(">")
    return Bounded(low, high)


PREDICATES: dict[str, Callable[[Parser], Predicate]] = {
    "div_by": _div_by,
    "same_elements": _same_elements,
    "bounded": _bounded,
}


LEAVES: dict[str, Callable[[Parser, Type | None], Attr]] = {
    '"': _string,
    "@": _symbol,
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "array": _dense_array,
    "dense": mlir_dense,
    **dict.fromkeys(_BRACKETED, _bracketed),
}
"""Parsers of attributes by their first word or character."""
