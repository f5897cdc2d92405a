"""Parse the parameters of types: dimensions, strides, tile shapes, padding and pointer attributes."""

from __future__ import annotations

import re

from ...types import DYNAMIC, PaddingValue, PtrAttr
from ..lexer import is_integer
from .state import Mark, Parser

_CHAIN = re.compile(r"(?:x[0-9]++)++")
INT32_MAX = (1 << 31) - 1


def pass_x(p: Parser) -> None:
    if p.tok[:1] != "x":
        p.wrong("expected 'x' in dimension list")
    p.cut(1)


def _dimension(p: Parser, dynamic: bool) -> list[int]:
    """Read a dimension, and those in the word after it: after a 4, `x8x2xf32` is 8, 2 and `xf32`."""
    at, token = p.mark(), p.tok
    first = DYNAMIC
    if token == "?":
        if not dynamic:
            p.plain("expected static shape", at)
        p.i += 1
    elif token[:2] == "0x":
        p.cut(1)  # a zero and an x: `0x8` is not a hexadecimal number here
        first = 0
    else:
        digits = token[: len(token) - len(token.lstrip("0123456789"))]
        first = _size(p, digits)
        p.cut(len(digits))
    chain = _CHAIN.match(p.tok)
    if chain is None:
        return [first]
    rest = [_size(p, digits) for digits in chain[0][1:].split("x")]
    p.cut(chain.end())
    return [first, *rest]


def _size(p: Parser, digits: str) -> int:
    if len(digits) > 19 or int(digits) >= 1 << 63:
        p.plain("invalid dimension")
    return int(digits)


def _is_size(token: str) -> bool:
    return token == "?" or is_integer(token)


def parse_dimensions(p: Parser, dynamic: bool) -> list[int]:
    """Read `4x?x`: dimensions, each followed by an x."""
    out: list[int] = []
    while _is_size(p.tok):
        out += _dimension(p, dynamic)
        pass_x(p)
    return out


def _dimensions_between(p: Parser) -> list[int]:
    """Read `4x8`: dimensions separated by an x."""
    if not _is_size(p.tok):
        return []
    out = _dimension(p, False)
    while p.tok[:1] == "x":
        pass_x(p)
        if not _is_size(p.tok):
            p.plain("invalid dimension")
        out += _dimension(p, False)
    return out


def parse_stride(p: Parser) -> int:
    at = p.mark()
    if p.accept("?"):
        return DYNAMIC
    value = p.optional_integer()
    if value is None:
        p.fail("expected either 64-bit integer or question mark", at)
    if value <= 0:
        p.fail(f"expected strictly positive integer, got {value}", at)
    return value


def parse_tile_shape(p: Parser) -> tuple[list[int], Mark]:
    p.keyword("tile")
    p.expect("=")
    at = p.mark()
    p.expect("(")
    shape = _dimensions_between(p)
    p.expect(")")
    return shape, at


def check_i32(p: Parser, shape: list[int], at: Mark) -> None:
    for index, dim in enumerate(shape):
        if not 0 < dim <= INT32_MAX:
            p.fail(
                f"tile dimension {index} exceeds i32 limitations (got {dim}, expected strictly positive and less "
                f"than or equal to {INT32_MAX})",
                at,
            )


def parse_padding(p: Parser) -> PaddingValue | None:
    if not p.accept("padding_value"):
        return None
    at = p.mark()
    p.expect("=")
    word = p.any_keyword()
    padding = next((v for v in PaddingValue if v.text == word), None)
    if padding is None:
        p.fail(
            f'invalid padding_value attribute specification. Got "{word}" but expect one of: '
            + ", ".join(v.text for v in PaddingValue),
            at,
        )
    p.expect(",")
    return padding


def parse_dim_map(p: Parser, rank: int) -> list[int]:
    if not p.accept(","):
        return list(range(rank))
    p.keyword("dim_map")
    p.expect("=")
    p.expect("[", "dim map")
    return p.listed("]", lambda: p.integer(32), "dim map")


def parse_ptr_attr(p: Parser) -> PtrAttr:
    """Read `<none>` or `#cuda_tile.ptr_attr<none>`."""
    p.accept("#cuda_tile.ptr_attr")
    p.expect("<")
    at = p.mark()
    word = p.any_keyword()
    kind = next((k for k in PtrAttr if k.text == word), None)
    if kind is None:
        p.fail(f"expected ::mlir::cuda_tile::PtrAttr to be one of: {', '.join(k.text for k in PtrAttr)}", at)
    p.expect(">")
    return kind
