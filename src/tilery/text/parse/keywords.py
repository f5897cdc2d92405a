"""Parse enums: bare words and words in angle brackets, with NVIDIA's messages for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...attrs import MemoryOrderingSemantics, RoundingMode, SymbolVisibility
from ...declare.fields import Field
from ...diag import TileError, suggest
from ..format import Use
from .attributes import parse_attribute
from .leaves import EnumAttr, enum_member
from .state import OperationState, Parser, PieceParser

IEEE = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)


def _braced(members: Any) -> str:
    return "{" + ", ".join(f"'{m.text}'" for m in members) + "}"


def keyword(f: Field) -> PieceParser:
    """Read the bare word of an enum. NVIDIA's message for another word depends on the field."""
    assert f.enum is not None
    members = {m.text: m for m in f.enum}
    wrong = _WORDINGS.get(f.name, _plain_wording)
    scope = f.name == "memory_scope"

    def parse(p: Parser, s: OperationState) -> None:
        token = p.toks[p.i]
        member = members.get(token)
        if member is None:
            at, text = p.mark(), p.string()
            member = members.get(text) if text is not None else None  # MLIR accepts a string, too
            if member is None:
                p.i = at[0]
                try:
                    wrong(p, s, f)
                except TileError as error:
                    error.notes += suggest(token, members)
                    raise
        else:
            if scope and by_hand(s):
                _no_scope(p, s, token)
            p.i += 1
        s.values[f.attr] = member

    return parse


def by_hand(s: OperationState) -> bool:
    """Return whether NVIDIA's parser of the operation is hand-written."""
    return any(isinstance(piece, Use) and piece.kind == "index-types" for piece in s.pieces)


def _two_errors(p: Parser, message: str) -> None:
    """Fail with what is expected. If there is no word at all, NVIDIA's tools report that too."""
    first = () if p.is_word() else (p.second("expected valid keyword"),)
    p.fail(message, None, *first)


def _signedness(p: Parser, s: OperationState, f: Field) -> None:
    _two_errors(p, "expected signedness to be one of: {'signed', 'unsigned'}")


def _comparison(p: Parser, s: OperationState, f: Field) -> None:
    assert f.enum is not None
    members = sorted(f.enum, key=lambda m: m.text) if len(f.enum) == 2 else f.enum
    _two_errors(p, f"expected '{f.name}' to be one of: {_braced(members)}")


def _memory(p: Parser, s: OperationState, f: Field) -> None:
    """Fail as NVIDIA's hand-written parsers of operations on views do, in two ways."""
    if not by_hand(s):
        _plain_wording(p, s, f)
    assert f.enum is not None
    allowed = ", ".join(m.text for m in f.enum)
    token = p.tok if p.is_word() else ""
    first = () if token else (p.second("expected valid keyword"),)
    if f.name == "memory_scope":
        _no_scope(p, s, token)
    if _reduces(s):
        p.fail(f"invalid {f.name}: '{token}'; expected one of: {allowed}", None, *first)
    p.fail(f'invalid {f.name} attribute specification. Got "{token}" but expect one of: {allowed}', None, *first)


def _reduces(s: OperationState) -> bool:
    return any(f.name == "mode" for f in s.opdef.attrs)


def _no_scope(p: Parser, s: OperationState, token: str) -> None:
    """Refuse a scope of a weak access, except for the reduction, where the verifier does."""
    if s.values["memory_ordering_semantics"] is MemoryOrderingSemantics.WEAK and not _reduces(s):
        p.fail(
            f'operation specifies weak memory ordering semantics, but then provides "{token}" scope, expected no '
            "memory scope."
        )


def _mode(p: Parser, s: OperationState, f: Field) -> None:
    if not by_hand(s):
        _plain_wording(p, s, f)
    if not p.is_word():
        p.fail("expected valid keyword")
    p.fail(f"unknown atomic RMW mode: '{p.tok}'; expected one of: {', '.join(m.text for m in f.only)}")


def _plain_wording(p: Parser, s: OperationState, f: Field) -> None:
    assert f.enum is not None
    allowed = ", ".join(m.text for m in f.enum)
    p.fail(
        f"expected string or keyword containing one of the following enum values for attribute '{f.name}' [{allowed}]"
    )


_WORDINGS: dict[str, Callable[[Any, Any, Field], None]] = {
    "signedness": _signedness,
    "signedness_lhs": _signedness,
    "signedness_rhs": _signedness,
    "comparison_predicate": _comparison,
    "comparison_ordering": _comparison,
    "memory_ordering_semantics": _memory,
    "memory_scope": _memory,
    "mode": _mode,
}


def angle(f: Field) -> PieceParser:
    enum = f.enum
    assert enum is not None

    def parse(p: Parser, s: OperationState) -> None:
        if p.toks[p.i][:1] == "#":
            at, attr = p.mark(), parse_attribute(p)
            if not isinstance(attr, EnumAttr) or not isinstance(attr.member, enum):
                p.fail("invalid kind of attribute specified", at)
            s.values[f.attr] = attr.member
            return
        p.expect("<")
        s.values[f.attr] = enum_member(p, enum)
        p.expect(">")

    return parse


def _strict(f: Field) -> bool:
    """Return whether NVIDIA's parser checks the mode. Where non-IEEE modes exist, only the verifier does."""
    return not {RoundingMode.APPROX, RoundingMode.FULL} & set(f.only or IEEE)


def rounding_modes(f: Field) -> set[RoundingMode]:
    """Return the modes that text may give a field."""
    fine = {m for m in RoundingMode if not _strict(f) or m in (f.only or IEEE)}
    if not f.only:
        fine.add(RoundingMode.NEAREST_AWAY)  # from 13.4, and not in the older wording of the message
    return fine


def rounding(f: Field) -> PieceParser:
    listed = ", ".join(f"'{m.text}'" for m in f.only or IEEE)
    strict = _strict(f)
    taken = {m.text: m for m in RoundingMode}
    fine = rounding_modes(f)

    def parse(p: Parser, s: OperationState) -> None:
        if p.toks[p.i] != "rounding":
            s.values[f.attr] = f.default
            return
        p.i += 1
        p.expect("<")
        word = p.any_keyword()
        p.expect(">")
        mode = taken.get(word)
        if mode not in fine:
            hint = suggest(word, sorted(m.text for m in fine))
            p.fail(
                f"expected rounding mode to be one of: {listed}" + (f", got: '{word}'" if strict else ""), None, *hint
            )
        s.values[f.attr] = mode

    return parse


def visibility(f: Field) -> PieceParser:
    members = {m.text: m for m in SymbolVisibility}

    def parse(p: Parser, s: OperationState) -> None:
        member = members.get(p.toks[p.i])
        if member is not None:
            p.i += 1
            s.values[f.attr] = member

    return parse
