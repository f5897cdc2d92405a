"""Text as documents write it: unambiguous spellings are read, errors about the others show the real form."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from ..attrs import Bounded, MemoryScope, Predicate
from ..declare.operation import BY_NAME, OpDef
from ..diag import TileError
from ..ir import Op, Value
from ..ops import (
    Assume,
    AtomicCASTko,
    AtomicRMWTko,
    CmpF,
    Constant,
    GetGlobal,
    Global,
    LoadPtrTko,
    LoadViewTko,
    Module,
    StorePtrTko,
    StoreViewTko,
)
from ..source.input import Input
from ..text import DIALECT
from ..text.format import Piece, pieces_of, read_format
from ..text.parse.attributes import parse_dictionary
from ..text.parse.fields import piece_parsers
from ..text.parse.forms import builder
from ..text.parse.names import parse_operand
from ..text.parse.parser import Parsed, parse_with_spans
from ..text.parse.state import Body, Extensions, OperationState, Parser, PieceParser, Syntax
from ..text.parse.types import parse_type
from ..text.spelling import COMPARISONS, CUTE, ORDERINGS, SCOPES
from ..types import I1, SCALARS, STRING, Ptr, Tile
from .cute import CuteAttr, parse_cute
from .forms import FORMATS, MEMORY, REST, TOKEN
from .verifying import DocumentedBounds, fitting

NO_MASK = (
    "a store through a view has no mask: its bounds are those of the tensor; for example: "
    "store_view_tko weak %tile, %view[%i] : tile<8xf32>, partition_view<...>, tile<i32> -> token"
)


WIDER_SCOPES = {**SCOPES, "cluster": MemoryScope.DEVICE}
"""Scopes under other names, and one that does not exist, for which a wider one is right."""
MAX_TOKENS = 64
"""How far from the start of an operation its types are looked for."""
ELEMENTS = {"F4E2M1FN": "f4E2M1FN", "fp8e4m3fn": "f8E4M3FN", "fp8e5m2": "f8E5M2"}
"""Element types under other names."""
_ELEMENT = re.compile(rf"(?:(?<![A-Za-z0-9_])|(?<=x))({'|'.join(ELEMENTS)})(?![A-Za-z0-9_])")
SIGN = "\u00d7"
TIMES = re.compile(rf'"(?:[^"\\\n]|\\.)*+"|//[^\n]*+|(?<=[0-9?])[ ]*{SIGN}[ ]*(?=[0-9?a-z!])')
"""A sign between sizes, and what may contain such a sign without meaning it: strings and comments."""
COMPARE_AND_SWAP = (
    f"$pointers `,` $cmp `,` $val (`,` $mask^)? {TOKEN} attr-dict `:` type($pointers) `,` type($val) "
    "(`,` type($mask)^)? `->` type($result) `,` type($result_token)"
)


def parse_documented(
    text: str, *, file: str = "", allow_unregistered: bool = False, extensions: Extensions | None = None
) -> Parsed:
    """Parse text as documents write it, without verifying the module."""
    extensions = documented_syntax() if extensions is None else extensions
    return parse_with_spans(text, file=file, allow_unregistered=allow_unregistered, extensions=extensions)


def _prepare(text: str) -> str:
    """Write a multiplication sign between sizes, which starts no token, as a letter."""
    return TIMES.sub(lambda found: found[0] if found[0][0] in '"/' else found[0].replace(SIGN, "x"), text)


@cache
def documented_syntax() -> Extensions:
    """Return the extensions of the parser for the documents' spellings."""
    return Extensions(
        forms=_forms(),
        prepare=_prepare,
        respell=respell_tokens,
        attribute=_cute,
        entry_labels=True,
        types={"!cuda_tile.string": STRING, "cuda_tile.string": STRING},
    )


def parse(text: str, *, file: str = "", allow_unregistered: bool = False, verify: bool = True) -> Module:
    """Parse text as documents write it."""
    from ..verifier.explain import read_legal

    source = Input(text=text, file=file, parse=partial(parse_documented, allow_unregistered=allow_unregistered))
    return read_legal(source) if verify else source.read()


def respell_tokens(toks: list[str]) -> None:
    """Replace the documents' words by the real ones where they are unambiguous."""
    for i, token in enumerate(toks):
        if token in WIDER_SCOPES and toks[i - 1] in ORDERINGS:
            toks[i] = WIDER_SCOPES[token].text
        elif token[:1] != '"' and any(name in token for name in ELEMENTS):
            toks[i] = _ELEMENT.sub(lambda found: ELEMENTS[found[1]], token)
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
        StoreViewTko: _store_view,
        AtomicRMWTko: _read_modify_write,
        AtomicCASTko: _with_pointee(AtomicCASTko),
        LoadPtrTko: _with_pointee(LoadPtrTko),
        StorePtrTko: _with_pointee(StorePtrTko),
        GetGlobal: _global_pointer,
        Constant: _constant,
        Assume: _assume,
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


class _Steps:
    """An operation that is parsed in steps, each in the format language."""

    def __init__(self, cls: type[Op]) -> None:
        self.opdef = cls.opdef
        self.state = OperationState(cls.opdef, builder(cls.opdef), pieces_of(cls))

    def parse(self, p: Parser, format: str) -> None:
        for parse in _step(self.opdef.mnemonic, format):
            parse(p, self.state)

    def build(self, p: Parser, at: int) -> Op:
        _index_types(p, self.state)
        return self.state.build(p, at)


@cache
def _step(mnemonic: str, format: str) -> list[PieceParser]:
    return list(piece_parsers(read_format(BY_NAME[mnemonic], format)))


def _store_view(p: Parser, at: int) -> Op:
    """Parse `store_view_tko weak %view[%i], %tile`, or the real form. A mask that is true everywhere is left out."""
    if not _view_first(p):
        return _form(StoreViewTko.opdef.mnemonic, False)(p, at)
    steps = _Steps(StoreViewTko)
    steps.parse(p, f"{MEMORY} $view `[` $index `]` `,` $tile")
    mask = p.accept(",") and _true_mask(p)
    steps.parse(p, f"{REST} `:` type($view) `,` type($tile)")
    if mask and p.accept(","):
        parse_type(p)
    steps.parse(p, "`->` type($result_token)")
    return steps.build(p, at)


def _true_mask(p: Parser) -> bool:
    """Skip a mask that is true everywhere; others have no real form."""
    at = p.mark()
    name, _ = parse_operand(p)
    owner = p.values[name].owner if name in p.values else None
    if not isinstance(owner, Constant) or owner.value.element is not I1 or owner.value.splat != 1:
        p.fail("expected a mask that is a constant and true everywhere", at, NO_MASK)
    return True


def _read_modify_write(p: Parser, at: int) -> Op:
    """Parse `atomic_rmw_tko relaxed gpu add %p, %x`, or the real form; `cmpxchg %p, %cmp, %val` is `atomic_cas_tko`."""
    _fill_pointee(p)
    keyword = _after_keywords(p)
    documented = _mode_first(p)
    if documented and p.toks[keyword] == "addu":
        p.toks[keyword] = "add"
    if not documented or p.toks[keyword] != "cmpxchg":
        return _form(AtomicRMWTko.opdef.mnemonic, documented)(p, at)
    steps = _Steps(AtomicCASTko)
    steps.parse(p, "keyword($memory_ordering_semantics) keyword($memory_scope)")
    p.expect("cmpxchg")
    steps.parse(p, COMPARE_AND_SWAP)
    return steps.build(p, at)


def _with_pointee(cls: type[Op]) -> Callable[[Parser, int], Op | Body]:
    def parse(p: Parser, at: int) -> Op:
        _fill_pointee(p)
        return _form(cls.opdef.mnemonic, False)(p, at)

    return parse


def _fill_pointee(p: Parser) -> None:
    """Replace `tile<ptr>` by the type of the first operand, if that is defined before."""
    i, end, first = p.i, min(len(p.toks) - 3, p.i + MAX_TOKENS), ""
    while i < end and p.toks[i] not in ("->", "{", "}"):
        if not first and p.toks[i][:1] == "%":
            first = p.toks[i]
        if _is_bare_pointer(p, i) and first in p.values:
            type = p.values[first].type
            if isinstance(type, Tile) and isinstance(type.element, Ptr):
                p.toks[i + 2] = "x".join([*map(str, type.shape), type.element.text])
            return
        i += 1


def _is_bare_pointer(p: Parser, i: int) -> bool:
    return p.toks[i].removeprefix("!cuda_tile.") == "tile" and p.toks[i + 1 : i + 4] == ["<", "ptr", ">"]


def _global_pointer(p: Parser, at: int) -> Op:
    """Parse `get_global @g : tile<ptr>`, whose pointee is the element of a global that comes before."""
    if p.toks[p.i + 1] == ":" and _is_bare_pointer(p, p.i + 2):
        name = p.tok.removeprefix("@")
        known = (o for scope in p.scopes for o in scope.block.ops)
        found = next((o for o in known if isinstance(o, Global) and o.sym_name == name), None)
        if found is not None:
            p.toks[p.i + 4] = Ptr(found.value.element).text
    return _form(GetGlobal.opdef.mnemonic, False)(p, at)


def _constant(p: Parser, at: int) -> Op:
    """Parse `constant dense<i32: [1, 2]> : tile<2xi32>`, or the real form."""
    p.accept("dense")
    return _form(Constant.opdef.mnemonic, False)(p, at)


def _assume(p: Parser, at: int) -> Op:
    """Parse `assume bounded<0, 7, min = 0, max = 9, strict>, %x`, or the real form.

    Several predicates, `assume div_by<8>, bounded<0, 64>, %x`, become as many operations.
    """
    steps = _Steps(Assume)
    predicates = [_predicate(p, steps)]
    while p.accept(",") and p.tok[:1] != "%":
        predicates.append(_predicate(p, steps))
    steps.state.values["predicate"] = predicates[-1]
    steps.parse(p, "$value attr-dict `:` type($value)")
    made = steps.build(p, at)
    assert isinstance(made, Assume)
    for predicate in predicates[:-1]:
        first = Assume(value=made.value, predicate=fitting(predicate, made.value.type), result=Value(made.value.type))
        p.scopes[-1].block.ops.append(first)
        p.op_tokens[first] = at
        made.value = first.result
    made.predicate = fitting(made.predicate, made.value.type)
    return made


def _predicate(p: Parser, steps: _Steps) -> Predicate:
    if p.accept("bounded"):
        return _bounds(p)
    steps.parse(p, "predicate($predicate)")
    predicate: Predicate = steps.state.values["predicate"]
    return predicate


def _bounds(p: Parser) -> Bounded:
    def bound() -> int | None:
        return None if p.accept("?") else p.optional_integer()

    p.expect("<")
    lo = bound()
    p.expect(",")
    hi = bound()
    fields: dict[str, int] = {}
    strict = False
    while p.accept(","):
        if p.accept("strict"):
            strict = True
            continue
        name = p.tok
        if name not in ("min", "max"):
            p.wrong("expected 'min', 'max' or 'strict'")
        p.i += 1
        p.expect("=")
        number = p.optional_integer()
        if number is None:
            p.wrong("expected an integer")
        fields[name] = number
    p.expect(">")
    return DocumentedBounds.of(lo, hi, strict=strict, **fields) if fields or strict else Bounded(lo, hi)


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
