"""Text as documents write it: unambiguous spellings are read, errors about the others show the real form."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ..declare.operation import BY_NAME, OpDef
from ..diag import TileError
from ..ir import Op
from ..ops import AtomicRMWTko, CmpF, LoadViewTko, Module, StoreViewTko
from ..source.input import Input
from ..text import DIALECT
from ..text.format import Piece, pieces_of, read_format
from ..text.parse.attributes import parse_dictionary
from ..text.parse.fields import piece_parsers
from ..text.parse.forms import builder
from ..text.parse.names import parse_operand
from ..text.parse.parser import Parsed, parse_with_spans
from ..text.parse.state import Body, Extensions, OperationState, Parser, Syntax
from ..text.parse.types import parse_type
from ..text.spelling import COMPARISONS, CUTE, ORDERINGS, SCOPES
from ..types import I1, SCALARS, Tile
from .cute import CuteAttr, parse_cute
from .forms import FORMATS

NO_MASK = (
    "a store through a view has no mask: its bounds are those of the tensor; for example: "
    "store_view_tko weak %tile, %view[%i] : tile<8xf32>, partition_view<...>, tile<i32> -> token"
)


def parse_documented(text: str, *, file: str = "", allow_unregistered: bool = False) -> Parsed:
    """Parse text as documents write it, without verifying the module."""
    return parse_with_spans(text, file=file, allow_unregistered=allow_unregistered, extensions=_extensions())


@cache
def _extensions() -> Extensions:
    """Return the extensions of the parser for the documents' spellings."""
    return Extensions(forms=_forms(), respell=_respell, attribute=_cute, entry_labels=True)


def parse(text: str, *, file: str = "", allow_unregistered: bool = False, verify: bool = True) -> Module:
    """Parse text as documents write it."""
    from ..verifier.explain import read_legal

    source = Input(text=text, file=file, parse=partial(parse_documented, allow_unregistered=allow_unregistered))
    return read_legal(source) if verify else source.read()


def _respell(toks: list[str]) -> None:
    """Replace the documents' words by the real ones where they are unambiguous."""
    for i, token in enumerate(toks):
        if token in SCOPES and toks[i - 1] in ORDERINGS:
            toks[i] = SCOPES[token].text
        elif token in SCALARS and toks[i - 1] == ":" and toks[i - 2][:1] == "%":
            toks[i] = f"tile<{token}>"  # no value is a bare scalar


def _cute(p: Parser) -> CuteAttr | None:
    """Parse `#cute.layout<...>`, whose body does not consist of MLIR's tokens."""
    if not p.tok.startswith(CUTE):
        return None
    at, name = p.mark(), p.tok[len(CUTE) :]
    p.i += 1
    if p.tok != "<":
        p.wrong(f"expected '<' in #cute.{name}")
    start = p.span()[0] + 1
    end = p.text.find(">", start)
    if end < 0 or "\n" in p.text[start:end]:
        p.plain("unbalanced '<' character in pretty dialect name")
    while p.i < len(p.toks) - 1 and p.span()[0] <= end:
        p.i += 1
    try:
        return parse_cute(name, p.text[start:end])
    except TileError as error:
        p.plain(error.message, at, *error.notes)


# ---------------------------------------------------------------- operations


@cache
def _forms() -> dict[str, Syntax]:
    out: dict[str, Syntax] = {}
    makers: dict[type[Op], Callable[[Parser, int], Op | Body]] = {
        LoadViewTko: _load_view,
        StoreViewTko: _either(StoreViewTko, _view_first),
        AtomicRMWTko: _either(AtomicRMWTko, _mode_first),
        CmpF: _compare,
    }
    for cls, parse in makers.items():
        form = Syntax(cls.opdef.mnemonic, parse)
        out |= {cls.opdef.mnemonic: form, DIALECT + cls.opdef.mnemonic: form}
    return out


class _Form:
    """The parsers of a format's pieces, and the builder of its operation."""

    def __init__(self, opdef: OpDef, pieces: tuple[Piece, ...]) -> None:
        self.opdef = opdef
        self.parsers = piece_parsers(pieces)
        self.build = builder(opdef)

    def __call__(self, p: Parser, at: int) -> Op:
        s = OperationState(self.opdef, self.build, pieces_of(self.opdef.cls))
        for parse in self.parsers:
            parse(p, s)
        _index_types(p, s)
        return self.build(p, s, at)


def _index_types(p: Parser, s: OperationState) -> None:
    """Infer the types of indices, which the documents omit, from values that are defined earlier."""
    uses = s.uses.get("index")
    if uses and not s.types.get("index"):
        unknown = next((use for use in uses if use[0] not in p.values), None)
        if unknown is not None:
            note = f"{unknown[0]} is defined later, so its type must be written"
            p.fail("index types must be specified when indices are present", (unknown[1], -1), note)
        s.types["index"] = [p.values[name].type for name, _ in uses]


@cache
def _form(mnemonic: str, documented: bool) -> _Form:
    opdef = BY_NAME[mnemonic]
    return _Form(opdef, read_format(opdef, FORMATS[opdef.cls]) if documented else pieces_of(opdef.cls))


def _load_view(p: Parser, at: int) -> Op:
    return _form(LoadViewTko.opdef.mnemonic, False)(p, at)


def _either(cls: type[Op], is_documented: Callable[[Parser], bool]) -> Callable[[Parser, int], Op | Body]:
    def parse(p: Parser, at: int) -> Op:
        documented = is_documented(p)
        try:
            return _form(cls.opdef.mnemonic, documented)(p, at)
        except TileError as error:
            if documented and cls is StoreViewTko and p.tok == ",":
                error.notes.append(NO_MASK)
            raise

    return parse


def _after_keywords(p: Parser) -> int:
    """Return the position after the keywords of the memory model."""
    i = p.i
    while i < len(p.toks) - 1 and i < p.i + 2 and p.toks[i][:1].isalpha():
        i += 1
    return i


def _view_first(p: Parser) -> bool:
    i = _after_keywords(p)
    return p.toks[i][:1] == "%" and p.toks[i + 1] == "["


def _mode_first(p: Parser) -> bool:
    return p.toks[_after_keywords(p)][:1].isalpha()


def _compare(p: Parser, at: int) -> Op:
    """Parse `cmpf olt, %a, %b : type`; the result type is inferred."""
    if p.tok not in COMPARISONS:
        return _form(CmpF.opdef.mnemonic, False)(p, at)
    s = OperationState(CmpF.opdef, builder(CmpF.opdef), pieces_of(CmpF))
    s.values["comparison_predicate"], s.values["comparison_ordering"] = COMPARISONS[p.tok]
    p.i += 1
    p.expect(",")
    s.uses["lhs"] = [parse_operand(p)]
    p.expect(",")
    s.uses["rhs"] = [parse_operand(p)]
    if p.tok == "{":
        s.attrs.update(parse_dictionary(p))
    p.expect(":")
    type = parse_type(p)
    if not isinstance(type, Tile):
        p.fail(f"expected a tile, got {type}", (at, -1))
    s.types["lhs"] = s.types["rhs"] = [type]
    s.types["result"] = [parse_type(p) if p.accept("->") else Tile(type.shape, I1)]
    return s.build(p, at)
