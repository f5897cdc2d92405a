"""The pieces of a format string, each as a function that reads it from the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...attrs import ArrayAttr, Bounded, DivBy, IntAttr, SameElements, StrAttr, SymbolRef
from ...declare.fields import AttrKind, Field
from ...types import I1, I32, I64, Scalar, Type, quoted
from ..format import AnyOrder, AttrDict, Blank, Group, Literal, Piece, Use
from ..lexer import is_word
from .attrs import PREDICATES
from .cursor import is_integer
from .dense import parse_dense
from .keywords import angle, keyword, rounding, visibility

if TYPE_CHECKING:
    from .parser import Parser
    from .state import State

Step = Callable[["Parser", "State"], None]
"""Reads one piece into the state of an operation."""


def steps_of(pieces: tuple[Piece, ...]) -> list[Step]:
    by_hand = any(isinstance(piece, Use) and piece.kind == "index-types" for piece in pieces)
    return [made for piece in pieces if (made := step_of(piece, by_hand)) is not None]


def step_of(piece: Piece, by_hand: bool = False) -> Step | None:
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


def _literal(text: str) -> Step:
    if is_keyword(text):

        def word(p: Parser, s: State) -> None:
            if p.toks[p.i] != text:
                p.fail(f"expected '{text}'")
            p.i += 1

        return word

    def mark(p: Parser, s: State) -> None:
        if p.toks[p.i] != text:
            p.wrong(f"expected '{text}'")
        p.i += 1

    return mark


def starts(pieces: tuple[Piece, ...], by_hand: bool = False) -> Callable[[str], bool]:
    """Whether a token starts a group: by its literal, keyword or operand.

    In the operations that NVIDIA parses by hand every word is taken for the keyword.
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


def _group(pieces: tuple[Piece, ...], anchor: Field, by_hand: bool) -> Step:
    here, inner = starts(pieces, by_hand), steps_of(pieces)
    flag = anchor.attr if anchor.kind is AttrKind.FLAG else ""

    def group(p: Parser, s: State) -> None:
        if here(p.toks[p.i]):
            if flag:
                s.values[flag] = True
            for step in inner:
                step(p, s)

    return group


def _any_order(groups: tuple[Group, ...]) -> Step:
    clauses = {g.pieces[0].text: (g.anchor, steps_of(g.pieces)) for g in groups if isinstance(g.pieces[0], Literal)}

    def clause(p: Parser, s: State) -> None:
        seen: set[str] = set()
        while (token := p.toks[p.i]) in clauses:
            if token in seen:
                p.fail(f"`{token}` clause can appear at most once in the expansion of the oilist directive")
            seen.add(token)
            anchor, steps = clauses[token]
            s.values[anchor.attr] = True
            for step in steps:
                step(p, s)

    return clause


def _attr_dict(keyword: bool) -> Step:
    def plain(p: Parser, s: State) -> None:
        if p.toks[p.i] == "{":
            s.attributes(p)

    def named(p: Parser, s: State) -> None:
        if p.accept("attributes"):
            s.attributes(p)

    return named if keyword else plain


# ---------------------------------------------------------------- operands and types


def _value(f: Field) -> Step:
    if f.role != "operand":
        return _PLAIN[f.kind](f)
    name = f.name
    if f.arity == "one":

        def one(p: Parser, s: State) -> None:
            s.uses[name] = [p.operand()]

        return one

    if f.arity == "opt":

        def optional(p: Parser, s: State) -> None:
            if p.toks[p.i][:1] == "%":
                s.uses[name] = [p.operand()]

        return optional

    def several(p: Parser, s: State) -> None:
        if p.toks[p.i][:1] == "%":
            s.uses[name] = p.operands()

    return several


def _type(f: Field) -> Step:
    name = f.name
    if f.arity == "var":

        def several(p: Parser, s: State) -> None:
            s.types[name] = p.types()

        return several

    def one(p: Parser, s: State) -> None:
        s.types[name] = [p.type()]

    def marked(p: Parser, s: State) -> None:
        s.type_marks[name] = p.mark()
        s.types[name] = [p.type()]

    return marked if "view" in f.kind.text.lower() else one


def _index_types(f: Field) -> Step:
    """The types of indices after a comma; one stands for all."""
    name = f.name

    def step(p: Parser, s: State) -> None:
        types: list[Type] = []
        s.type_marks[name] = (p.i + 1, -1)
        while p.accept(","):
            types.append(p.type())
        s.types[name] = types * len(s.uses.get(name, ())) if len(types) == 1 else types

    return step


def check_index_types(p: Parser, s: State, name: str) -> None:
    """As many types as indices; NVIDIA's parser says so only at the end of the operation."""
    count, types = len(s.uses.get(name, ())), s.types[name]
    if count and not types:
        p.fail("index types must be specified when indices are present")
    if types and len(types) != count:
        p.fail(f"expected {count} index types, got {len(types)}", s.type_marks[name])


def _splat(f: Field) -> Step:
    """One type for all results; how many there are follows from the type of the operand."""
    name = f.name

    def step(p: Parser, s: State) -> None:
        shown = p.type()
        source = s.opdef.operands[0]
        given = s.types[source.name][0]
        if not source.kind.ok(given):
            view = "tensor_view" if "tensor" in source.kind.text else "tile view"
            p.fail(f"expected {view}, got {quoted(given)}", s.type_marks[source.name])
        rank = getattr(given, "index_rank", None)
        s.types[name] = [shown] * (len(given.shape) if rank is None else rank)  # type: ignore[attr-defined]  # a view

    return step


# ---------------------------------------------------------------- attributes


def _number(type: Scalar) -> Callable[[Field], Step]:
    def make(f: Field) -> Step:
        def step(p: Parser, s: State) -> None:
            at, token = p.mark(), p.toks[p.i]
            if is_integer(token) and p.toks[p.i + 1] != ":" and len(token) < 9 and token[1:2] != "x":
                p.i += 1
                s.values[f.attr] = int(token)
                return
            attr = p.attribute(type)
            if not isinstance(attr, IntAttr):
                p.fail("invalid kind of attribute specified", at)
            s.values[f.attr] = bool(attr.bits) if type is I1 else attr.value

        return step

    return make


def _of_class(cls: type[Any], get: Callable[[Any], Any]) -> Callable[[Field], Step]:
    """An attribute in MLIR's syntax that must be of this class."""

    def make(f: Field) -> Step:
        def step(p: Parser, s: State) -> None:
            at = p.mark()
            attr = p.attribute(I64)
            if not isinstance(attr, cls):
                p.fail("invalid kind of attribute specified", at)
            s.values[f.attr] = get(attr)

        return step

    return make


def _symbol_name(f: Field) -> Step:
    def step(p: Parser, s: State) -> None:
        s.values[f.attr] = p.symbol_name()

    return step


def _int_list(f: Field) -> Step:
    def step(p: Parser, s: State) -> None:
        p.expect("[")
        s.values[f.attr] = tuple(p.listed("]", lambda: p.integer(32)))

    return step


def _hints(f: Field) -> Step:
    def step(p: Parser, s: State) -> None:
        s.values[f.attr] = p.hints()

    return step


_PLAIN: dict[AttrKind, Callable[[Field], Step]] = {
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


def _predicate(f: Field) -> Step:
    def step(p: Parser, s: State) -> None:
        at, token = p.mark(), p.toks[p.i]
        if token in PREDICATES:
            p.i += 1
            s.values[f.attr] = PREDICATES[token](p)
        elif token[:1] in ("#", '"', "[", "{", "@", "-", "!", "(") or token[:1].isdecimal():
            attr = p.attribute()
            if not isinstance(attr, (DivBy, SameElements, Bounded)):
                p.fail("expected assume predicate attribute", at)
            s.values[f.attr] = attr
        elif not p.is_word():
            p.fail("expected attribute name", at, p.second("expected valid keyword"))
        else:
            p.fail(
                f"unknown assume predicate attribute: {token} (expected 'div_by', 'same_elements', or 'bounded')", at
            )

    return step


def _inbounds(f: Field) -> Step:
    def flag(p: Parser) -> bool:
        token = p.toks[p.i]
        if token not in ("true", "false"):
            p.wrong("expected 'true' or 'false'")
        p.i += 1
        return token == "true"

    def step(p: Parser, s: State) -> None:
        if p.accept("inbounds"):
            p.expect("=")
            p.expect("[")
            s.values[f.attr] = tuple(p.listed("]", lambda: flag(p)))

    return step


def _dense(f: Field) -> Step:
    def step(p: Parser, s: State) -> None:
        value = parse_dense(p)
        s.values[f.attr] = value
        for out in s.opdef.outs:
            s.types[out.name] = [value.type]

    return step


_KINDS: dict[str, Callable[[Field], Step]] = {
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
