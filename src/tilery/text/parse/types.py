"""Types in text, Tile IR's and MLIR's own: `tile<4xf32>`, `!cuda_tile.ptr<f32>`, `(i32) -> ()`, `!alias`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...diag import TileError
from ...types import (
    DYNAMIC,
    SCALARS,
    TOKEN,
    Foreign,
    Function,
    GatherScatterView,
    PaddingValue,
    PartitionView,
    Ptr,
    PtrAttr,
    StridedView,
    TensorView,
    Tile,
    Type,
    full_text,
    quoted,
)
from ..lexer import INT_TYPE, is_word
from .cursor import Cursor, Mark, Task, is_integer, run

MAX_KEPT = 1 << 26
_CHAIN = re.compile(r"(?:x[0-9]++)++")
INT32_MAX = (1 << 31) - 1
# What MLIR has and Tile IR does not; such a type is kept as text, and the verifier refuses it.
_BUILTIN = {"index", "none", "f80", "f128", "f8E4M3", "f8E3M4", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ"}
_BUILTIN |= {"f6E2M3FN", "f6E3M2FN"}
_SHAPED = {"tensor", "vector", "memref", "complex", "tuple"}


_KNOWN: dict[str, Type] = {}
"""Types that are one token, by their text: most texts of a process have the same ones. Bounded, as input is not."""
_KNOWN_LENGTH, _KNOWN_COUNT = 200, 2000


class TypeCursor(Cursor):
    """A cursor that reads types."""

    def __init__(
        self, text: str, file: str = "", allow_unregistered: bool = False, toks: list[str] | None = None
    ) -> None:
        super().__init__(text, file, toks)
        self.allow_unregistered = allow_unregistered
        self.type_aliases: dict[str, Type] = {}
        self.seen: dict[str, Type] = dict(SCALARS)
        self.seen["token"] = TOKEN
        self._kept = 0

    def type(self) -> Type:
        """The type that must be next; Tile IR's need no prefix."""
        token = self.toks[self.i]
        found = self.seen.get(token)
        if found is not None:
            self.i += 1
            return found
        found = _KNOWN.get(token)
        if found is not None:
            self.i += 1
            self.seen[token] = found
            return found
        if token[-1:] == ">" and len(token) > 1 and token != "->":
            self.enter()
            made: Type = run(_type(self))
            if self.toks[self.i] != "":
                self.wrong("expected '>'")
            self.leave()
            self.seen[token] = made
            if len(token) <= _KNOWN_LENGTH:
                if len(_KNOWN) >= _KNOWN_COUNT:
                    _KNOWN.clear()
                _KNOWN[token] = made
            return made
        made = run(_type(self))
        return made

    def spelled(self, t: Type) -> str:
        """The full text of a type, to keep. A few characters can name a long one, so that the sum is limited."""
        try:
            text = full_text(t)
        except TileError as error:
            self.plain(error.message)
        self._kept += len(text)
        if self._kept > MAX_KEPT:
            self.plain(f"types inside other types and attributes take more than {MAX_KEPT} characters")
        return text

    def types(self) -> list[Type]:
        """At least one type, between commas."""
        out = [self.type()]
        while self.toks[self.i] == ",":
            self.i += 1
            out.append(self.type())
        return out

    def checked(self, at: Mark, make: Callable[..., Type], *args: Any) -> Type:
        """A type whose rules are checked when it is made."""
        try:
            return make(*args)
        except TileError as error:
            self.fail(error.message, at, *error.notes)


def starts_type(token: str) -> bool:
    """Whether MLIR sees that a type begins here, without knowing Tile IR."""
    return (
        token[:1] in ("(", "!")
        or token in SCALARS
        or token in _BUILTIN
        or token in _SHAPED
        or INT_TYPE.match(token) is not None
    )


def _type(p: TypeCursor) -> Task:
    token = p.tok
    if token[-1:] == ">" and len(token) > 1 and token != "->":
        return p.type()
    if token == "(":
        return (yield _function(p))
    if token[:1] == "!":
        return (yield _prefixed(p))
    if token in p.seen:
        p.i += 1
        return p.seen[token]
    if INT_TYPE.match(token):
        return _integer(p)
    if token in _BUILTIN:
        p.i += 1
        return Foreign(token)
    if token in _SHAPED:
        return (yield _shaped(p))
    if not is_word(token):
        p.fail("expected valid keyword")
    p.i += 1
    if token not in _MNEMONICS:
        p.fail(f"unknown type: {token}")
    return (yield _MNEMONICS[token](p))


def _integer(p: TypeCursor) -> Type:
    token = p.tok
    if int(token.lstrip("sui")[:9] or "0") > 1 << 24 or len(token) > 12:
        p.plain(f"integer bitwidth is limited to {(1 << 24) - 1} bits")
    p.i += 1
    return Foreign(token)


def _function(p: TypeCursor) -> Task:
    p.i += 1
    params = yield _closed(p)
    p.expect("->", " in function type")
    if p.accept("("):
        results = yield _closed(p)
    else:
        results = [(yield _type(p))]
    return Function(params, results)


def _closed(p: TypeCursor, close: str = ")") -> Task:
    """Types up to a closing token; the opening one has been passed."""
    out: list[Type] = []
    if p.accept(close):
        return out
    while True:
        out.append((yield _type(p)))
        if not p.accept(","):
            p.expect(close)
            return out


def _prefixed(p: TypeCursor) -> Task:
    """`!alias`, `!cuda_tile.name<…>`, or a type of another dialect."""
    at = p.mark()
    name = p.tok[1:]
    dialect, dot, mnemonic = name.partition(".")
    p.i += 1
    if not dot and p.tok != "<":
        if name not in p.type_aliases:
            p.wrong(f"undefined symbol alias id '{name}'")
        return p.type_aliases[name]
    if dialect != "cuda_tile":
        return _opaque(p, at, f"!{name}", dialect)
    inside, p.in_dialect = p.in_dialect, True
    if not dot:
        p.i += 1
        mnemonic = p.any_keyword()
    if mnemonic == "token":
        made = TOKEN
    elif mnemonic in _MNEMONICS:
        made = yield _MNEMONICS[mnemonic](p)
    else:
        p.fail(f"unknown  type `{mnemonic}` in dialect `cuda_tile`", at)
    if not dot:
        p.expect(">")
    p.in_dialect = inside
    return made


def _opaque(p: TypeCursor, at: Mark, text: str, dialect: str) -> Type:
    body = skip_body(p) if p.tok == "<" else ""
    if not p.allow_unregistered:
        p.plain(
            f"`{text}{body}` type created with unregistered dialect. If this is intended, please call "
            "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt "
            "tool used",
            at,
        )
    return Foreign(text + body)


def skip_body(p: Cursor) -> str:
    """The text of `<…>` with all brackets balanced; the cursor goes behind it."""
    first = p.i
    skip(p)
    return p.between(first, p.i - 1)


def skip(p: Cursor) -> None:
    """Go behind the bracket that closes the one that is next."""
    closing = {"<": ">", "[": "]", "(": ")", "{": "}"}
    open_: list[str] = []
    while True:
        token = p.tok
        if token in closing:
            open_.append(token)
        elif token == "" or (token in (">", "]", ")", "}") and closing[open_[-1]] != token):
            p.plain(f"unbalanced '{open_[-1]}' character in pretty dialect name")
        elif token in (">", "]", ")", "}"):
            open_.pop()
        p.i += 1
        if not open_:
            return


def _shaped(p: TypeCursor) -> Task:
    """`tensor<4x?xf32>` and the like, kept as text."""
    name = p.tok
    p.i += 1
    p.expect("<", f" in {name} type")
    if name == "tuple":
        parts = yield _closed(p, ">")
        return _foreign(p, f"tuple<{', '.join(map(p.spelled, parts))}>")
    dims = "*x" if name != "complex" and p.accept("*") else ""
    if dims:
        _pass_x(p)
    elif name != "complex":
        dims = "".join(f"{'?' if d == DYNAMIC else d}x" for d in _dimensions(p, dynamic=True))
    element = yield _type(p)
    p.expect(">", f" in {name} type")
    return _foreign(p, f"{name}<{dims}{p.spelled(element)}>")


def _foreign(p: TypeCursor, text: str) -> Type:
    try:
        return Foreign(text)
    except TileError as error:
        p.plain(error.message)


# ---------------------------------------------------------------- dimensions


def _pass_x(p: Cursor) -> None:
    if p.tok[:1] != "x":
        p.wrong("expected 'x' in dimension list")
    p.cut(1)


def _dimension(p: Cursor, dynamic: bool) -> list[int]:
    """A dimension, and those in the word behind it: after a 4, `x8x2xf32` is 8, 2 and `xf32`."""
    at, token = p.mark(), p.tok
    first = DYNAMIC
    if token == "?":
        if not dynamic:
            p.plain("expected static shape", at)
        p.i += 1
    elif token[:2] == "0x":
        p.cut(1)  # a zero and an x: `0x8` is no hexadecimal number here
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


def _size(p: Cursor, digits: str) -> int:
    if len(digits) > 19 or int(digits) >= 1 << 63:
        p.plain("invalid dimension")
    return int(digits)


def _is_size(token: str) -> bool:
    return token == "?" or is_integer(token)


def _dimensions(p: Cursor, dynamic: bool) -> list[int]:
    """`4x?x`: dimensions, each with its x."""
    out: list[int] = []
    while _is_size(p.tok):
        out += _dimension(p, dynamic)
        _pass_x(p)
    return out


def _dimensions_between(p: Cursor) -> list[int]:
    """`4x8`: dimensions with an x between them."""
    if not _is_size(p.tok):
        return []
    out = _dimension(p, False)
    while p.tok[:1] == "x":
        _pass_x(p)
        if not _is_size(p.tok):
            p.plain("invalid dimension")
        out += _dimension(p, False)
    return out


# ---------------------------------------------------------------- Tile IR's types


def _tile(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    dims = _dimensions(p, dynamic=False)
    element = yield _type(p)
    p.expect(">")
    return p.checked(at, Tile, dims, element)


def _ptr(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    pointee = yield _type(p)
    kind = _ptr_attr(p) if p.accept(",") else None
    p.expect(">")
    return p.checked(at, Ptr, pointee, kind)


def _ptr_attr(p: Cursor) -> PtrAttr:
    """`<none>` or `#cuda_tile.ptr_attr<none>`."""
    p.accept("#cuda_tile.ptr_attr")
    p.expect("<")
    at = p.mark()
    word = p.any_keyword()
    kind = next((k for k in PtrAttr if k.text == word), None)
    if kind is None:
        p.fail(f"expected ::mlir::cuda_tile::PtrAttr to be one of: {', '.join(k.text for k in PtrAttr)}", at)
    p.expect(">")
    return kind


def _tensor_view(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    shape = _dimensions(p, dynamic=True)
    element = yield _type(p)
    strides: list[int] = []
    kind: PtrAttr | None = None
    if shape:
        if not p.accept(","):
            p.fail("expected 'strides'")
        p.keyword("strides")
        p.expect("=")
        p.expect("[", "strides array")
        strides = p.listed("]", lambda: _stride(p), "strides array")
    if p.accept(","):
        if p.accept("strides"):
            p.fail("strides must not be provided for 0-d tiles")
        if p.tok not in ("<", "#cuda_tile.ptr_attr"):
            p.fail("unexpected token after element type in 0-d tensor_view")
        kind = _ptr_attr(p)
    p.expect(">")
    return p.checked(at, TensorView, element, shape, strides, kind)


def _stride(p: Cursor) -> int:
    at = p.mark()
    if p.accept("?"):
        return DYNAMIC
    value = p.optional_integer()
    if value is None:
        p.fail("expected either 64-bit integer or question mark", at)
    if value <= 0:
        p.fail(f"expected strictly positive integer, got {value}", at)
    return value


def _tile_shape(p: Cursor) -> tuple[list[int], Mark]:
    p.keyword("tile")
    p.expect("=")
    at = p.mark()
    p.expect("(")
    shape = _dimensions_between(p)
    p.expect(")")
    return shape, at


def _check_i32(p: Cursor, shape: list[int], at: Mark) -> None:
    for index, dim in enumerate(shape):
        if not 0 < dim <= INT32_MAX:
            p.fail(
                f"tile dimension {index} exceeds i32 limitations (got {dim}, expected strictly positive and less "
                f"than or equal to {INT32_MAX})",
                at,
            )


def _padding(p: Cursor) -> PaddingValue | None:
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


def _viewed(p: TypeCursor) -> Task:
    made = yield _type(p)
    if not isinstance(made, TensorView):
        p.fail(f"expected 'tensor_view' type, but got {quoted(made)}")
    return made


def _dim_map(p: Cursor, rank: int) -> list[int]:
    if not p.accept(","):
        return list(range(rank))
    p.keyword("dim_map")
    p.expect("=")
    p.expect("[", "dim map")
    return p.listed("]", lambda: p.integer(32), "dim map")


def _partition_view(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = _tile_shape(p)
    _check_i32(p, shape, where)
    p.expect(",")
    padding = _padding(p)
    view = yield _viewed(p)
    dim_map = _dim_map(p, len(shape))
    p.expect(">")
    return p.checked(at, PartitionView, shape, view, dim_map, padding)


def _strided_view(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = _tile_shape(p)
    _check_i32(p, shape, where)
    p.expect(",")
    p.keyword("traversal_strides")
    p.expect("=")
    p.expect("[")
    steps = p.listed("]", lambda: p.integer(32))
    p.expect(",")
    padding = _padding(p)
    view = yield _viewed(p)
    dim_map = _dim_map(p, len(shape))
    p.expect(">")
    return p.checked(at, StridedView, shape, steps, view, dim_map, padding)


def _gather_scatter_view(p: TypeCursor) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = _tile_shape(p)
    p.expect(",")
    padding = _padding(p)
    view = yield _viewed(p)
    p.expect(",")
    p.keyword("sparse_dim")
    p.expect("=")
    sparse = p.integer(32, signed=False)
    p.expect(">")
    _check_i32(p, shape, where)
    return p.checked(at, GatherScatterView, shape, view, sparse, padding)


_MNEMONICS: dict[str, Callable[[TypeCursor], Task]] = {
    "tile": _tile,
    "ptr": _ptr,
    "tensor_view": _tensor_view,
    "partition_view": _partition_view,
    "strided_view": _strided_view,
    "gather_scatter_view": _gather_scatter_view,
}
