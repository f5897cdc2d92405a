"""Parse types, Tile IR's and MLIR's own: `tile<4xf32>`, `!cuda_tile.ptr<f32>`, `(i32) -> ()`, `!alias`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diag import TileError, suggest
from ...floats.elements import ELEMENTS
from ...types import (
    DYNAMIC,
    SCALARS,
    TOKEN,
    Foreign,
    Function,
    GatherScatterView,
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
from .dimensions import (
    check_i32,
    parse_dim_map,
    parse_dimensions,
    parse_padding,
    parse_ptr_attr,
    parse_stride,
    parse_tile_shape,
    pass_x,
)
from .state import Mark, Parser
from .tasks import Task, run

MAX_KEPT = 1 << 26
# Types of MLIR that Tile IR does not have are kept as text, and the verifier refuses them.
_BUILTIN = {"index", "none", "f80", "f128", "f8E4M3", "f8E3M4", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ"}
_BUILTIN |= {"f6E2M3FN", "f6E3M2FN"}
_SHAPED = {"tensor", "vector", "memref", "complex", "tuple"}


_CACHE: dict[str, Type] = {}
"""Types that are one token, by their text, for all texts of the process. The size is bounded."""
_CACHED_LENGTH, _CACHED_COUNT = 200, 2000


def parse_type(p: Parser) -> Type:
    """Read a type, which must be next; Tile IR's need no prefix."""
    token = p.toks[p.i]
    found = p.types.get(token)
    if found is not None:
        p.i += 1
        return found
    found = _CACHE.get(token)
    if found is not None:
        p.i += 1
        p.types[token] = found
        return found
    if not _is_one_token(token):
        made: Type = run(_type(p))
        return made
    p.enter()
    made = run(_type(p))
    if p.toks[p.i] != "":
        p.wrong("expected '>'")
    p.leave()
    p.types[token] = made
    if len(token) <= _CACHED_LENGTH:
        if len(_CACHE) >= _CACHED_COUNT:
            _CACHE.clear()
        _CACHE[token] = made
    return made


def parse_types(p: Parser) -> list[Type]:
    """Read one or more types between commas."""
    out = [parse_type(p)]
    while p.toks[p.i] == ",":
        p.i += 1
        out.append(parse_type(p))
    return out


def spelled(p: Parser, t: Type) -> str:
    """Return the full text of a type. A few characters can name a long one, so the total length is limited."""
    try:
        text = full_text(t)
    except TileError as error:
        p.plain(error.message)
    p.kept += len(text)
    if p.kept > MAX_KEPT:
        p.plain(f"types inside other types and attributes take more than {MAX_KEPT} characters")
    return text


def starts_type(token: str) -> bool:
    """Return whether MLIR can tell, without knowing Tile IR, that a type starts here."""
    return (
        token[:1] in ("(", "!")
        or token in SCALARS
        or token in _BUILTIN
        or token in _SHAPED
        or INT_TYPE.match(token) is not None
    )


def _is_one_token(token: str) -> bool:
    """Return whether the lexer made one token of a whole type, such as `tile<4xf32>`."""
    return token[-1:] == ">" and len(token) > 1 and token != "->"


def _checked(p: Parser, at: Mark, make: Callable[..., Type], *args: Any) -> Type:
    """Make a type, which checks its own rules."""
    try:
        return make(*args)
    except TileError as error:
        p.fail(error.message, at, *error.notes)


def _type(p: Parser) -> Task:
    token = p.tok
    if _is_one_token(token):
        return parse_type(p)
    if token == "(":
        return (yield _function(p))
    if token in p.types:
        p.i += 1
        return p.types[token]
    if token[:1] == "!":
        return (yield _prefixed(p))
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
    if token not in MNEMONICS:
        p.fail(f"unknown type: {token}", None, *_similar_types(p, token))
    return (yield MNEMONICS[token](p))


def _similar_types(p: Parser, token: str) -> tuple[str, ...]:
    """Return a note with the type that a word may mean: NumPy's names are known too."""
    meant = next((row.name for row in ELEMENTS if row.dtype == token), "")
    return (f"did you mean '{meant}'?",) if meant else suggest(token, [*p.types, *MNEMONICS])


def _integer(p: Parser) -> Type:
    token = p.tok
    if int(token.lstrip("sui")[:9] or "0") > 1 << 24 or len(token) > 12:
        p.plain(f"integer bitwidth is limited to {(1 << 24) - 1} bits")
    p.i += 1
    return Foreign(token)


def _function(p: Parser) -> Task:
    p.i += 1
    params = yield _closed(p)
    p.expect("->", " in function type")
    if p.accept("("):
        results = yield _closed(p)
    else:
        results = [(yield _type(p))]
    return Function(params, results)


def _closed(p: Parser, close: str = ")") -> Task:
    """Read types up to a closing token. The opening one has been read."""
    out: list[Type] = []
    if p.accept(close):
        return out
    while True:
        out.append((yield _type(p)))
        if not p.accept(","):
            p.expect(close)
            return out


def _prefixed(p: Parser) -> Task:
    """Read `!alias`, `!cuda_tile.name<…>`, or a type of another dialect."""
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
    elif mnemonic in MNEMONICS:
        made = yield MNEMONICS[mnemonic](p)
    else:
        p.fail(f"unknown  type `{mnemonic}` in dialect `cuda_tile`", at)
    if not dot:
        p.expect(">")
    p.in_dialect = inside
    return made


def _opaque(p: Parser, at: Mark, text: str, dialect: str) -> Type:
    body = skip_body(p) if p.tok == "<" else ""
    if not p.options.allow_unregistered:
        p.plain(
            f"`{text}{body}` type created with unregistered dialect. If this is intended, please call "
            "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the MLIR opt "
            "tool used",
            at,
        )
    return Foreign(text + body)


def skip_body(p: Parser) -> str:
    """Skip `<…>`, with all brackets balanced, and return its text."""
    first = p.i
    skip(p)
    return p.between(first, p.i - 1)


def skip(p: Parser) -> None:
    """Skip brackets and what is between them; the opening one is next."""
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


def _shaped(p: Parser) -> Task:
    """Read `tensor<4x?xf32>` and the like, which are kept as text."""
    name = p.tok
    p.i += 1
    p.expect("<", f" in {name} type")
    if name == "tuple":
        parts = yield _closed(p, ">")
        return _foreign(p, f"tuple<{', '.join(spelled(p, part) for part in parts)}>")
    dims = "*x" if name != "complex" and p.accept("*") else ""
    if dims:
        pass_x(p)
    elif name != "complex":
        dims = "".join(f"{'?' if d == DYNAMIC else d}x" for d in parse_dimensions(p, dynamic=True))
    element = yield _type(p)
    p.expect(">", f" in {name} type")
    return _foreign(p, f"{name}<{dims}{spelled(p, element)}>")


def _foreign(p: Parser, text: str) -> Type:
    try:
        return Foreign(text)
    except TileError as error:
        p.plain(error.message)


# ---------------------------------------------------------------- Tile IR's types


def _tile(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    dims = parse_dimensions(p, dynamic=False)
    element = yield _type(p)
    p.expect(">")
    return _checked(p, at, Tile, dims, element)


def _ptr(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    pointee = yield _type(p)
    kind = parse_ptr_attr(p) if p.accept(",") else None
    p.expect(">")
    return _checked(p, at, Ptr, pointee, kind)


def _tensor_view(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    shape = parse_dimensions(p, dynamic=True)
    element = yield _type(p)
    strides: list[int] = []
    kind: PtrAttr | None = None
    if shape:
        if not p.accept(","):
            p.fail("expected 'strides'")
        p.keyword("strides")
        p.expect("=")
        p.expect("[", "strides array")
        strides = p.listed("]", lambda: parse_stride(p), "strides array")
    if p.accept(","):
        if p.accept("strides"):
            p.fail("strides must not be provided for 0-d tiles")
        if p.tok not in ("<", "#cuda_tile.ptr_attr"):
            p.fail("unexpected token after element type in 0-d tensor_view")
        kind = parse_ptr_attr(p)
    p.expect(">")
    return _checked(p, at, TensorView, element, shape, strides, kind)


def _viewed(p: Parser) -> Task:
    made = yield _type(p)
    if not isinstance(made, TensorView):
        p.fail(f"expected 'tensor_view' type, but got {quoted(made)}")
    return made


def _partition_view(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = parse_tile_shape(p)
    check_i32(p, shape, where)
    p.expect(",")
    padding = parse_padding(p)
    view = yield _viewed(p)
    dim_map = parse_dim_map(p, len(shape))
    p.expect(">")
    return _checked(p, at, PartitionView, shape, view, dim_map, padding)


def _strided_view(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = parse_tile_shape(p)
    check_i32(p, shape, where)
    p.expect(",")
    p.keyword("traversal_strides")
    p.expect("=")
    p.expect("[")
    steps = p.listed("]", lambda: p.integer(32))
    p.expect(",")
    padding = parse_padding(p)
    view = yield _viewed(p)
    dim_map = parse_dim_map(p, len(shape))
    p.expect(">")
    return _checked(p, at, StridedView, shape, steps, view, dim_map, padding)


def _gather_scatter_view(p: Parser) -> Task:
    at = p.mark()
    p.expect("<")
    shape, where = parse_tile_shape(p)
    p.expect(",")
    padding = parse_padding(p)
    view = yield _viewed(p)
    p.expect(",")
    p.keyword("sparse_dim")
    p.expect("=")
    sparse = p.integer(32, signed=False)
    p.expect(">")
    check_i32(p, shape, where)
    return _checked(p, at, GatherScatterView, shape, view, sparse, padding)


MNEMONICS: dict[str, Callable[[Parser], Task]] = {
    "tile": _tile,
    "ptr": _ptr,
    "tensor_view": _tensor_view,
    "partition_view": _partition_view,
    "strided_view": _strided_view,
    "gather_scatter_view": _gather_scatter_view,
}
"""The parsers of Tile IR's types by the word that starts them."""
