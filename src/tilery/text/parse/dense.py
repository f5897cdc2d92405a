"""Parse constants: `<i32: [1, 2]> : tile<2xi32>`, and MLIR's `dense<[1, 2]> : !cuda_tile.tile<2xi32>`."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import Attr, Dense, OpaqueAttr
from ...diag import Note, TileError
from ...types import I1, NUMBERS, SCALARS, Scalar, Tile, Type, full_text, quoted
from ..lexer import is_float, is_integer, is_word
from .literals import float_bits, integer_bits
from .state import Mark, Parser
from .types import parse_type, skip, spelled, starts_type

_EXPECTED = "i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or "
_EXPECTED += "f4E2M1FN values"


def float_literal(p: Parser, type: Scalar, token: str, negative: bool, at: Mark) -> int:
    """Return the bits of a float literal: a decimal number with a point, or the bits in hexadecimal."""
    if is_float(token):
        return float_bits(type, token, negative)
    if not is_integer(token):
        p.plain("expected floating point literal", at)
    if token[1:2] != "x":
        note = Note("add a trailing dot to make the literal a float", p.span(at)[0])
        p.plain("unexpected decimal integer literal for a floating point value", at, note)
    if negative:
        p.plain("hexadecimal float literal should not have a leading minus", at)
    bits = integer_bits(type, token, False)
    if bits is None:
        p.plain("hexadecimal float constant out of range for type", at)
    return bits


def mlir_dense(p: Parser, type: Type | None) -> Attr:
    """Read `dense<[1, 2]> : !cuda_tile.tile<2xi32>`, MLIR's form of a constant."""
    at, start = p.mark(), p.i
    p.i += 1
    if p.tok != "<":
        p.wrong("expected '<' after 'dense'")
    skip(p)
    end = p.i
    if type is None:
        p.expect(":")
        where = p.mark()
        type = parse_type(p)
    else:
        where = at
    if not isinstance(type, Tile):
        return OpaqueAttr(f"{p.between(start, end - 1)} : {spelled(p, type)}")
    # The elements need the type, so they are read after it.
    after, p.i = p.i, start + 2
    made = _constant(p, type, where)
    p.expect(">")
    p.i = after
    return made


def _constant(p: Parser, type: Tile, at: Mark) -> Dense:
    element = type.element
    if not isinstance(element, Scalar):
        p.plain("expected floating-point, integer, or complex element type", at)
    if p.tok[:1] == '"':
        return hex_constant(p, type, at)
    if p.tok == "[" and p.toks[p.i + 1] == "]":
        p.plain(f"parsed zero elements, but type ({full_text(type)}) expected at least 1", at)
    values, shape = elements(p, lambda: _plain_element(p, element))
    check_shape(p, shape, type, at)
    return Dense.of(type, values)


def _plain_element(p: Parser, type: Scalar) -> int:
    at, token = p.mark(), p.tok
    if token in ("true", "false"):
        p.i += 1
        if type is not I1:
            p.plain("expected i1 type for 'true' or 'false' values", at)
        return int(token == "true")
    negative = p.accept("-")
    at, token = p.mark(), p.tok
    if not token[:1].isdecimal():
        what = "integer or floating point literal" if negative else "element literal of primitive type"
        p.plain(f"expected {what}")
    p.i += 1
    if type.is_float:
        return float_literal(p, type, token, negative, at)
    if is_float(token):
        p.plain("expected integer elements, but parsed floating-point", at)
    bits = integer_bits(type, token, negative)
    if bits is None:
        p.plain("integer constant out of range for type", at)
    return bits


def elements(p: Parser, element: Callable[[], int]) -> tuple[list[int], list[int]]:
    """Read a number or nested lists of numbers. Return the numbers, and the shape of the lists, innermost first."""
    values: list[int] = []
    counts: list[int] = []
    shapes: list[list[int] | None] = []
    """for each open list, the shape of its elements; None before the first"""
    while True:
        if p.accept("["):
            counts.append(0)
            shapes.append(None)
            continue
        values.append(element())
        shape: list[int] = []
        while counts:
            counts[-1] += 1
            if shapes[-1] is None:
                shapes[-1] = shape
            elif shapes[-1] != shape:
                p.fail("tensor literal is invalid; ranks are not consistent between elements")
            if p.accept(","):
                break
            p.expect("]")
            shape = shapes.pop() or []
            shape.append(counts.pop())
        else:
            return values, shape


def check_shape(p: Parser, shape: list[int], type: Tile, at: Mark) -> None:
    if shape and tuple(reversed(shape)) != type.shape:
        got, expected = ", ".join(map(str, reversed(shape))), ", ".join(map(str, type.shape))
        p.fail(f"inferred shape of elements literal ([{got}]) does not match type ([{expected}])", at)


def hex_constant(p: Parser, type: Tile, at: Mark) -> Dense:
    """Read `"0x0102"`: the bytes of all elements."""
    where, token = p.mark(), p.tok
    p.i += 1
    try:
        data = bytes.fromhex(token[3:-1]) if token[1:3] == "0x" and " " not in token else None
    except ValueError:
        data = None
    if data is None:
        p.plain("expected string containing hex digits starting with `0x`", where)
    try:
        return Dense(type, data)
    except TileError as error:
        p.plain(f"elements hex data size is invalid for provided type: {full_text(type)}", at, error.message)


def parse_dense(p: Parser) -> Dense:
    """Read `<i32: [1, 2]> : tile<2xi32>`."""
    p.expect("<")
    element = _element_type(p)
    p.expect(":")
    text = p.mark() if p.toks[p.i][:1] == '"' else None
    values: list[int] = []
    shape: list[int] = []
    if text is not None:
        p.i += 1
    elif element.is_int:
        values, shape = elements(p, lambda: _integer(p, element))
    else:
        values, shape = elements(p, lambda: _float(p, element))
    p.expect(">")
    p.expect(":")
    at = p.mark()
    type = parse_type(p)
    if not isinstance(type, Tile):
        p.fail(f"result #0 must be tile of {_EXPECTED}, but got {quoted(type)}", at)
    if type.element is not element:
        p.fail(
            f"mismatch between the element type: {quoted(element)} and the tile element type {quoted(type.element)}", at
        )
    if text is not None:
        after, p.i = p.i, text[0]
        made = hex_constant(p, type, at)
        p.i = after
        return made
    check_shape(p, shape, type, at)
    return Dense.of(type, values)


def _element_type(p: Parser) -> Scalar:
    message = f"expect element type to be one of {_EXPECTED}, but got "
    token = p.toks[p.i]
    known = token == "token" or token in SCALARS or starts_type(token)
    if is_word(token) and p.toks[p.i + 1] != "<" and not known:
        p.i += 1
        p.fail(f"{message}'<<NULL TYPE>>'", None, p.second(f"unknown type: {token}"))
    element = parse_type(p)
    if not isinstance(element, Scalar) or element not in NUMBERS:
        p.fail(message + quoted(element))
    return element


def _integer(p: Parser, type: Scalar) -> int:
    token = p.toks[p.i]
    if token.isdecimal() and len(token) < 3 and int(token) < 1 << type.bits:
        p.i += 1
        return int(token)
    at = p.mark()
    if token in ("true", "false"):
        if type is not I1:
            p.fail("expected integer value", at)
        p.i += 1
        return int(token == "true")
    value = p.optional_integer()
    if value is None:
        p.fail("expected integer value", at)
    low, high = (-1, 1) if type is I1 else (-(1 << type.bits - 1), (1 << type.bits) - 1)
    if not low <= value <= high:
        p.fail("integer constant out of range for type", at)
    return int(value != 0) if type is I1 else value & (1 << type.bits) - 1


def _float(p: Parser, type: Scalar) -> int:
    negative = p.accept("-")
    at, token = p.mark(), p.toks[p.i]
    bits = float_literal(p, type, token, negative, at)
    p.i += 1
    return bits
