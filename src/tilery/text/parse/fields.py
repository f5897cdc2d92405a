"""A parser for each piece of a format string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...attrs import ArrayAttr, Bounded, DivBy, IntAttr, SameElements, StrAttr, SymbolRef
from ...declare.fields import AttrKind, Field
from ...types import I1, I32, I64, Scalar, Type, quoted
from ..format import AnyOrder, AttrDict, Blank, Group, Literal, Piece, Use
from ..lexer import is_integer, is_word
from .attributes import parse_attribute, parse_dictionary, parse_hints
from .dense import parse_dense
from .keywords import angle, keyword, rounding, visibility
from .leaves import PREDICATES
from .names import parse_operand, parse_operands, parse_symbol_name
from .state import OperationState, Parser, PieceParser
from .types import parse_type, parse_types


def piece_parsers(pieces: tuple[Piece, ...]) -> list[PieceParser]:
    by_hand = any(isinstance(piece, Use) and piece.kind == "index-types" for piece in pieces)
    return [made for piece in pieces if (made := piece_parser(piece, by_hand)) is not None]


def piece_parser(piece: Piece, by_hand: bool = False) -> PieceParser | None:
    match piece:
        case Blank():
            return None
        case Literal(text):
            return _literal(text)
        case AttrDict(keyword):
            return _attr_dict(keyword)
        case Group(pieces, anchor):
            return _group(pieces, anchor, by_hand)
        case AnyOrder(groups):
            return _any_order(groups)
        case Use(kind, f):
            return _KINDS[kind](f)


# ---------------------------------------------------------------- literals and groups


def is_keyword(text: str) -> bool:
    return text[0].isalpha()


def _literal(text: str) -> PieceParser:
    if is_keyword(text):

        def word(p: Parser, s: OperationState) -> None:
            if p.toks[p.i] != text:
                p.fail(f"expected '{text}'")
            p.i += 1

        return word

    def mark(p: Parser, s: OperationState) -> None:
        if p.toks[p.i] != text:
            p.wrong(f"expected '{text}'")
        p.i += 1

    return mark


def starts(pieces: tuple[Piece, ...], by_hand: bool = False) -> Callable[[str], bool]:
    """Return a predicate: whether a token starts a group, by its literal, keyword or operand.

    NVIDIA's hand-written parsers take any word for the keyword.
    """
    first = next(piece for piece in pieces if not isinstance(piece, Blank))
    match first:
        case Literal(text):
            return lambda token: token == text
        case Use("keyword", f) if by_hand:
            return is_word
        case Use("keyword", f):
            assert f.enum is not None
            words = {m.text for m in f.enum}
            return lambda token: token in words
        case Use("", f) if f.role == "operand":
            return lambda token: token[:1] == "%"
    raise TypeError(f"a group cannot start with {first}")


def _group(pieces: tuple[Piece, ...], anchor: Field, by_hand: bool) -> PieceParser:
    here, inner = starts(pieces, by_hand), piece_parsers(pieces)
    flag = anchor.attr if anchor.kind is AttrKind.FLAG else ""

    def group(p: Parser, s: OperationState) -> None:
        if here(p.toks[p.i]):
            if flag:
                s.values[flag] = True
            for parse in inner:
                parse(p, s)

    return group


def _any_order(groups: tuple[Group, ...]) -> PieceParser:
    clauses = {
        g.pieces[0].text: (g.anchor, piece_parsers(g.pieces)) for g in groups if isinstance(g.pieces[0], Literal)
    }

    def clause(p: Parser, s: OperationState) -> None:
        seen: set[str] = set()
        while (token := p.toks[p.i]) in clauses:
            if token in seen:
                p.fail(f"`{token}` clause can appear at most once in the expansion of the oilist directive")
            seen.add(token)
            anchor, parsers = clauses[token]
            s.values[anchor.attr] = True
            for parse in parsers:
                parse(p, s)

    return clause


def _attr_dict(keyword: bool) -> PieceParser:
    def plain(p: Parser, s: OperationState) -> None:
        if p.toks[p.i] == "{":
            s.attrs.update(parse_dictionary(p))

    def named(p: Parser, s: OperationState) -> None:
        if p.accept("attributes"):
            s.attrs.update(parse_dictionary(p))

    return named if keyword else plain


# ---------------------------------------------------------------- operands and types


def _value(f: Field) -> PieceParser:
    if f.role != "operand":
        return _PLAIN[f.kind](f)
    name = f.name
    if f.arity == "one":

        def one(p: Parser, s: OperationState) -> None:
            s.uses[name] = [parse_operand(p)]

        return one

    if f.arity == "opt":

        def optional(p: Parser, s: OperationState) -> None:
            if p.toks[p.i][:1] == "%":
                s.uses[name] = [parse_operand(p)]

        return optional

    def several(p: Parser, s: OperationState) -> None:
        if p.toks[p.i][:1] == "%":
            s.uses[name] = parse_operands(p)

    return several


def _type(f: Field) -> PieceParser:
    name = f.name
    if f.arity == "var":

        def several(p: Parser, s: OperationState) -> None:
            s.types[name] = parse_types(p)

        return several

    def one(p: Parser, s: OperationState) -> None:
        s.types[name] = [parse_type(p)]

    def marked(p: Parser, s: OperationState) -> None:
        s.type_marks[name] = p.mark()
        s.types[name] = [parse_type(p)]

    return marked if "view" in f.kind.text.lower() else one


def _index_types(f: Field) -> PieceParser:
    """Read the types of indices, each after a comma; a single one applies to all."""
    name = f.name

    def parse(p: Parser, s: OperationState) -> None:
        types: list[Type] = []
        s.type_marks[name] = (p.i + 1, -1)
        while p.accept(","):
            types.append(parse_type(p))
        s.types[name] = types * len(s.uses.get(name, ())) if len(types) == 1 else types

    return parse


def check_index_types(p: Parser, s: OperationState, name: str) -> None:
    """Require as many types as indices. NVIDIA's parser checks this only at the end of the operation."""
    count, types = len(s.uses.get(name, ())), s.types[name]
    if count and not types:
        p.fail("index types must be specified when indices are present")
    if types and len(types) != count:
        p.fail(f"expected {count} index types, got {len(types)}", s.type_marks[name])


def _splat(f: Field) -> PieceParser:
    """Read one type for all results. Their number follows from the type of the operand."""
    name = f.name

    def parse(p: Parser, s: OperationState) -> None:
        shown = parse_type(p)
        source = s.opdef.operands[0]
        given = s.types[source.name][0]
        if not source.kind.ok(given):
            view = "tensor_view" if "tensor" in source.kind.text else "tile view"
            p.fail(f"expected {view}, got {quoted(given)}", s.type_marks[source.name])
        rank = getattr(given, "index_rank", None)
        s.types[name] = [shown] * (len(given.shape) if rank is None else rank)  # type: ignore[attr-defined]  # a view

    return parse


# ---------------------------------------------------------------- attributes


def _number(type: Scalar) -> Callable[[Field], PieceParser]:
    def make(f: Field) -> PieceParser:
        def parse(p: Parser, s: OperationState) -> None:
            at, token = p.mark(), p.toks[p.i]
            if is_integer(token) and p.toks[p.i + 1] != ":" and len(token) < 9 and token[1:2] != "x":
                p.i += 1
                s.values[f.attr] = int(token)
                return
            attr = parse_attribute(p, type)
            if not isinstance(attr, IntAttr):
                p.fail("invalid kind of attribute specified", at)
            s.values[f.attr] = bool(attr.bits) if type is I1 else attr.value

        return parse

    return make


def _of_class(cls: type[Any], get: Callable[[Any], Any]) -> Callable[[Field], PieceParser]:
    """Read an attribute in MLIR's syntax, which must be of this class."""

    def make(f: Field) -> PieceParser:
        def parse(p: Parser, s: OperationState) -> None:
            at = p.mark()
            attr = parse_attribute(p, I64)
            if not isinstance(attr, cls):
                p.fail("invalid kind of attribute specified", at)
            s.values[f.attr] = get(attr)

        return parse

    return make


def _symbol_name(f: Field) -> PieceParser:
    def parse(p: Parser, s: OperationState) -> None:
        s.values[f.attr] = parse_symbol_name(p)

    return parse


def _int_list(f: Field) -> PieceParser:
    def parse(p: Parser, s: OperationState) -> None:
        p.expect("[")
        s.values[f.attr] = tuple(p.listed("]", lambda: p.integer(32)))

    return parse


def _hints(f: Field) -> PieceParser:
    def parse(p: Parser, s: OperationState) -> None:
        s.values[f.attr] = parse_hints(p)

    return parse


_PLAIN: dict[AttrKind, Callable[[Field], PieceParser]] = {
    AttrKind.I64: _number(I64),
    AttrKind.I32: _number(I32),
    AttrKind.BOOL: _number(I1),
    AttrKind.STR: _of_class(StrAttr, lambda a: a.value),
    AttrKind.SYM_REF: _of_class(SymbolRef, lambda a: a.name),
    AttrKind.ARRAY: _of_class(ArrayAttr, lambda a: a.items),
    AttrKind.SYM_NAME: _symbol_name,
    AttrKind.I32_ARRAY: _int_list,
    AttrKind.HINTS: _hints,
}


# ---------------------------------------------------------------- forms of their own


def _predicate(f: Field) -> PieceParser:
    def parse(p: Parser, s: OperationState) -> None:
        at, token = p.mark(), p.toks[p.i]
        if token in PREDICATES:
            p.i += 1
            s.values[f.attr] = PREDICATES[token](p)
        elif token[:1] in ("#", '"', "[", "{", "@", "-", "!", "(") or token[:1].isdecimal():
            attr = parse_attribute(p)
            if not isinstance(attr, (DivBy, SameElements, Bounded)):
                p.fail("expected assume predicate attribute", at)
            s.values[f.attr] = attr
        elif not p.is_word():
            p.fail("expected attribute name", at, p.second("expected valid keyword"))
        else:
            p.fail(
                f"unknown assume predicate attribute: {token} (expected 'div_by', 'same_elements', or 'bounded')", at
            )

    return parse


def _inbounds(f: Field) -> PieceParser:
    def flag(p: Parser) -> bool:
        token = p.toks[p.i]
        if token not in ("true", "false"):
            p.wrong("expected 'true' or 'false'")
        p.i += 1
        return token == "true"

    def parse(p: Parser, s: OperationState) -> None:
        if p.accept("inbounds"):
            p.expect("=")
            p.expect("[")
            s.values[f.attr] = tuple(p.listed("]", lambda: flag(p)))

    return parse


def _dense(f: Field) -> PieceParser:
    def parse(p: Parser, s: OperationState) -> None:
        value = parse_dense(p)
        s.values[f.attr] = value
        for out in s.opdef.outs:
            s.types[out.name] = [value.type]

    return parse


_KINDS: dict[str, Callable[[Field], PieceParser]] = {
    "": _value,
    "type": _type,
    "keyword": keyword,
    "angle": angle,
    "rounding": rounding,
    "visibility": visibility,
    "dense": _dense,
    "predicate": _predicate,
    "inbounds": _inbounds,
    "index-types": _index_types,
    "splat": _splat,
}
