"""MLIR's generic form of an operation: its full name, all attributes as a dictionary, and its type as a function."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import ArrayAttr, Attr, DenseArray, IntAttr, OpaqueAttr, StrAttr, SymbolRef, TileEnum, TypeAttr, UnitAttr
from ...checking import TYPE_CHECKING
from ...declare.fields import AttrKind, Field
from ...ir import Block, Op, UnknownOp, Value
from ...types import I1, I32, I64, full_text
from .. import DIALECT, OPT
from .attributes import ENUM_NAMES, quote
from .names import ValueNames
from .parts import Part, PrintContext, RegionText

if TYPE_CHECKING:
    from typing import Any


def _enum(value: TileEnum) -> Attr:
    name = ENUM_NAMES.get(type(value))
    return IntAttr(I32, value.num) if name is None else OpaqueAttr(f"#cuda_tile.{name}<{value.text}>")


_ATTRS: dict[AttrKind, Callable[[Any], Attr]] = {
    AttrKind.ENUM: _enum,
    AttrKind.FLAG: lambda value: UnitAttr(),
    AttrKind.STR: StrAttr,
    AttrKind.SYM_NAME: StrAttr,
    AttrKind.SYM_REF: SymbolRef,
    AttrKind.I64: lambda value: IntAttr.of(I64, value),
    AttrKind.I32: lambda value: IntAttr.of(I32, value),
    AttrKind.BOOL: lambda value: IntAttr(I1, int(value)),
    AttrKind.TYPE: TypeAttr,
    AttrKind.I32_ARRAY: lambda value: DenseArray(I32, value),
    AttrKind.BOOL_ARRAY: lambda value: DenseArray(I1, value),
    AttrKind.ARRAY: ArrayAttr,
}


def attr_of(f: Field, value: Any) -> Attr | None:
    """Return a field's value as an attribute, or None if it is absent."""
    if value is None or (value is False and f.kind is AttrKind.FLAG):
        return None
    make = _ATTRS.get(f.kind)
    attr: Attr = value if make is None else make(value)
    return attr


def properties(o: Op) -> dict[str, Attr]:
    """Return the attributes of an operation's fields, with the number of operands in each segment."""
    out: dict[str, Attr] = {}
    for f in o.opdef.attrs:
        if (attr := attr_of(f, getattr(o, f.attr))) is not None:
            out[f.name] = attr
    if o.opdef.segmented:
        values = [getattr(o, f.attr) for f in o.opdef.operands]
        sizes = tuple(len(v) if isinstance(v, tuple) else int(v is not None) for v in values)
        out["operandSegmentSizes"] = DenseArray(I32, sizes)
    return out


def generic_line(o: Op, texts: dict[Value, str], context: PrintContext) -> list[Part]:
    """`%0 = "cuda_tile.addf"(%a, %b) <{...}> ({...}) {...} : (types) -> type`"""
    names = context.names
    if isinstance(o, UnknownOp):
        name, fixed = o.name, {}
        regions: list[Block | None] = list(o.blocks)
    else:
        name, fixed = DIALECT + o.opdef.name_in(OPT), properties(o)
        regions = [getattr(o, f.attr) for f in o.opdef.regions]
    text = f"{context.head(o)}{quote(name)}({names.join(o.operands)})"
    if fixed:
        text += f" <{context.dictionary(fixed)}>"
    parts: list[Part] = [text]
    for n, block in enumerate(regions):
        parts += [", " if n else " (", _region(block, context)]
    types = f"({_types(o.operands, names)}) -> {_result_types(o.results, names)}"
    return [*parts, f"{')' if regions else ''}{context.attr_dict(o)} : {types}"]


def _region(block: Block | None, context: PrintContext) -> Part:
    header = ""
    if block is not None and (block.args or not block.ops):
        names = context.names
        types = names.typed(block.args, full_text)
        if context.locs:
            types = [t + " loc(unknown)" for t in types]
        arguments = names.pairs([context.texts[v] for v in block.args], ": ", types)
        header = f"^bb0({arguments}):" if arguments else "^bb0:"
    return RegionText(block, header=header, prefix=DIALECT)


def _types(values: list[Value], names: ValueNames) -> str:
    return ", ".join(names.typed(values, full_text))


def _result_types(values: list[Value], names: ValueNames) -> str:
    text = _types(values, names)
    return text if len(values) == 1 and not text.startswith("(") else f"({text})"
