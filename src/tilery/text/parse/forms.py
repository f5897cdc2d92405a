"""Parse an operation by its format, then build it from its operands, attributes and types."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import cache
from typing import Any, NoReturn

from ...attrs import Attr
from ...declare.constraints import AnyTensorView
from ...declare.fastclass import dataclass
from ...declare.fields import INFER, REQUIRED, Field
from ...declare.operation import OpDef
from ...diag import TileError
from ...ir import Block, Op, Value
from ...types import GatherScatterView, PartitionView, StridedView, Type, quoted
from .. import DIALECT
from ..format import Blank, Group, Literal, Piece, Use, pieces_of
from .custom import FORMS
from .fields import check_index_types, piece_parser, piece_parsers, starts
from .names import resolve
from .regions import parse_arguments
from .state import Body, Build, OpenRegion, OperationState, Parser
from .values import mismatch, value_of

Parse = Callable[[Parser, int], Op | Body]


def form_of(opdef: OpDef, build: Build | None = None) -> Parse:
    """Return a function that reads the text after the operation's name. `build` replaces `builder(opdef)`."""
    build = build or builder(opdef)
    if opdef.cls in FORMS:
        custom = FORMS[opdef.cls]
        return lambda p, at: custom(OperationState(opdef, build), p, at)
    pieces = pieces_of(opdef.cls)
    if opdef.regions:
        return lambda p, at: _with_regions(p, at, OperationState(opdef, build, pieces))
    parsers = piece_parsers(pieces)

    def parse(p: Parser, at: int) -> Op:
        s = OperationState(opdef, build, pieces)
        for read in parsers:
            read(p, s)
        return build(p, s, at)

    return parse


# ---------------------------------------------------------------- formats with regions


def _with_regions(p: Parser, at: int, s: OperationState) -> Body:
    yield from _walk(p, s, s.pieces, at)
    return s.build(p, at)


def _walk(
    p: Parser, s: OperationState, pieces: tuple[Piece, ...], at: int
) -> Generator[OpenRegion, Block | None, None]:
    for piece in pieces:
        match piece:
            case Blank():
                pass
            case Use("blocks", f):
                block = yield OpenRegion(number=s.opdef.regions.index(f))
                s.values[f.attr] = s.terminated(p, block, at)
            case Use("arguments", f):
                s.values[f.attr] = yield OpenRegion(parse_arguments(p), s.opdef.regions.index(f))
            case Group(inner):
                if _starts(inner)(p.tok):
                    yield from _walk(p, s, inner, at)
            case _:
                read = _piece_parser(piece)
                assert read is not None
                read(p, s)


_starts = cache(starts)
_piece_parser = cache(piece_parser)


# ---------------------------------------------------------------- putting an operation together


@dataclass(slots=True)
class Typing:
    """The source of a value's type: its own type in the text, that of another value `same`, the tensor that `viewed`
    is a view of, or the `only` type it can have."""

    own: bool = False
    same: str = ""
    viewed: Field | None = None
    only: Type | None = None


def typing_of(opdef: OpDef, f: Field, shown: set[str]) -> Typing:
    """Return the source of a field's type if the text contains the types of the fields `shown`."""
    if f.name in shown:
        return Typing(own=True)
    for rule in opdef.rules:
        if rule.what == "type" and f.name in rule.names:
            for name in rule.names:
                if name in shown:
                    return Typing(same=name)
    if f.role == "operand" and f.kind is AnyTensorView:
        return Typing(viewed=next(out for out in opdef.outs if out.name in shown))
    return Typing(only=f.kind.only)


def shown_types(pieces: tuple[Piece, ...]) -> set[str]:
    """Return the names of the values whose types the text contains."""
    out: set[str] = set()
    for piece in pieces:
        match piece:
            case Use("type" | "index-types" | "splat", f):
                out.add(f.name)
            case Use("dense", _, _, result) if result is not None:
                out.add(result.name)
            case Group(inner):
                out |= shown_types(inner)
    return out


def builder(opdef: OpDef) -> Build:
    """Return a function that builds the operation from its state."""
    pieces = () if opdef.cls in FORMS else pieces_of(opdef.cls)
    shown = shown_types(pieces) if pieces else {f.name for f in opdef.operands + opdef.outs}
    operands = [_operand(f, typing_of(opdef, f, shown)) for f in opdef.operands]
    outs = [_result(f, typing_of(opdef, f, shown)) for f in opdef.outs]
    defaults = [(f.attr, f.default) for f in opdef.attrs + opdef.regions if f.default not in (REQUIRED, INFER)]
    defaults += [(f.attr, None) for f in opdef.fields if f.role == "state"]
    required = [f for f in opdef.attrs + opdef.regions if f.default is REQUIRED]
    inferred = [f for f in opdef.attrs if f.default is INFER]
    indexed = next((x.field.name for x in pieces if isinstance(x, Use) and x.kind == "index-types"), "")
    pair = alike(pieces)
    cls, new = opdef.cls, object.__new__

    def build(p: Parser, s: OperationState, at: int) -> Op:
        o = new(cls)
        o.loc = o.extra = None
        if indexed:
            check_index_types(p, s, indexed)
        if pair is not None:
            _tell_apart(s, *pair)
        for name, find in operands:
            setattr(o, name, find(p, s, at))
        values = s.values
        if s.attrs:
            take_attributes(p, s, o, at)
        for name, default in defaults:
            setattr(o, name, values.get(name, default))
        for f in required:
            if values.get(f.attr) is None:
                _absent(p, opdef, f, at)
            setattr(o, f.attr, values[f.attr])
        for f in inferred:
            assert f.infer is not None
            setattr(o, f.attr, values[f.attr] if f.attr in values else f.infer(o))
        for name, make in outs:
            setattr(o, name, make(p, s, o, at))
        return o

    return build


def _absent(p: Parser, opdef: OpDef, f: Field, at: int) -> NoReturn:
    if f.role == "region":
        no_block(p, opdef, f, at)
    p.plain(f"'{DIALECT}{opdef.mnemonic}' op requires attribute '{f.name}'", (at, -1))


def alike(pieces: tuple[Piece, ...]) -> tuple[Field, Field] | None:
    """Return two optional operands that have the same syntax, a comma and a value."""
    groups = [g.anchor for g in pieces if isinstance(g, Group) and isinstance(g.pieces[0], Literal)
              and g.pieces[0].text == "," and isinstance(g.pieces[1], Use) and g.pieces[1].kind == ""]  # fmt: skip
    return (groups[0], groups[1]) if len(groups) > 1 else None


def _tell_apart(s: OperationState, first: Field, second: Field) -> None:
    """Assign a single value to the first of two operands, unless only the second can have its type."""
    types = s.types.get(first.name, [])
    if second.name not in s.uses and len(types) == 1 and not first.kind.ok(types[0]) and second.kind.ok(types[0]):
        s.uses[second.name], s.types[second.name] = s.uses.pop(first.name, []), s.types.pop(first.name)


def no_block(p: Parser, opdef: OpDef, f: Field, at: int) -> NoReturn:
    """Report a missing block. NVIDIA's verifier does this, but our operations always have the block."""
    what = f"region #{opdef.regions.index(f)} ('{f.name}') failed to verify constraint: region with 1 blocks"
    p.plain(f"'{DIALECT}{opdef.mnemonic}' op {what}", (at, -1))


def _operand(f: Field, typing: Typing) -> tuple[str, Callable[[Parser, OperationState, int], Any]]:
    """Return the slot of an operand, and a function that finds its value."""
    name, source, only, viewed = f.name, f.name if typing.own else typing.same, typing.only, typing.viewed

    def shown(p: Parser, s: OperationState, at: int) -> Any:
        return resolve(p, s.uses[name][0], s.types[source][0])

    def fixed(p: Parser, s: OperationState, at: int) -> Any:
        assert only is not None
        return resolve(p, s.uses[name][0], only)

    def tensor(p: Parser, s: OperationState, at: int) -> Any:
        assert viewed is not None
        return resolve(p, s.uses[name][0], _tensor(p, s, viewed))

    def several(p: Parser, s: OperationState, at: int) -> Any:
        uses = s.uses.get(name, [])
        types = s.types.get(source, []) if only is None else [only] * len(uses)
        if typing.same:
            types = types[:1] * len(uses)
        if len(types) != len(uses):
            what = f"got {len(uses)} operands and {len(types)} types"
            where = uses[0][1] if uses else at
            p.fail(f"number of operands and types do not match: {what}", (where, -1))
        values = tuple([resolve(p, use, type) for use, type in zip(uses, types)])
        return values if f.arity == "var" else values[0] if values else None

    if f.arity != "one":
        return f.attr, several
    return f.attr, tensor if viewed is not None else fixed if only is not None else shown


def _tensor(p: Parser, s: OperationState, view: Field) -> Type:
    """Return the type of the tensor in a view's type."""
    type = s.types[view.name][0]
    if not view.kind.ok(type):
        what = view.kind.text.removesuffix(" type").replace(" ", "_").replace("/", "_")
        p.fail(f"expected '{what}' type, but got {quoted(type)}", s.type_marks[view.name])
    assert isinstance(type, (PartitionView, StridedView, GatherScatterView))
    return type.tensor_view


def _result(f: Field, typing: Typing) -> tuple[str, Callable[[Parser, OperationState, Op, int], Any]]:
    """Return the slot of a result, and a function that makes its value."""
    source, only = f.name if typing.own else typing.same, typing.only

    def shown(p: Parser, s: OperationState, o: Op, at: int) -> Any:
        return Value(s.types[source][0], o)

    def fixed(p: Parser, s: OperationState, o: Op, at: int) -> Any:
        assert only is not None
        return Value(only, o)

    def inferred(p: Parser, s: OperationState, o: Op, at: int) -> Any:
        return Value(_inferred(p, o, f, at), o)

    def several(p: Parser, s: OperationState, o: Op, at: int) -> Any:
        return tuple([Value(type, o) for type in s.types.get(source, [])])

    if f.arity == "var":
        return f.attr, several
    return f.attr, shown if source else fixed if only is not None else inferred


def _inferred(p: Parser, o: Op, f: Field, at: int) -> Type:
    assert f.infer is not None, f"'{f.name}' has no type"
    try:
        made: Type = f.infer(o)
    except TileError as error:
        p.plain(error.message, (at, -1))
    return made


def take_attributes(p: Parser, s: OperationState, o: Op, at: int) -> None:
    """Take attributes from a dictionary: the operation's own become fields, the others are discardable."""
    own = {f.name: f for f in s.opdef.attrs}
    extra: dict[str, Attr] = {}
    for name, attr in s.attrs.items():
        f = own.get(name)
        if f is None:
            if name != "operandSegmentSizes":
                extra[name] = attr
            continue
        value = value_of(f, attr)
        if value is None:
            p.plain(f"'{DIALECT}{s.opdef.mnemonic}' op {mismatch(f)}", (at, -1))
        s.values[f.attr] = value
    o.extra = dict(sorted(extra.items())) or None
