"""Convert attributes of a dictionary to the values of fields, with MLIR's messages for wrong kinds."""

from __future__ import annotations

from typing import Any

from ...attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    Dense,
    DenseArray,
    DivBy,
    IntAttr,
    OptimizationHints,
    SameElements,
    StrAttr,
    SymbolRef,
    TileEnum,
    TypeAttr,
    UnitAttr,
)
from ...declare.fields import AttrKind, Field
from ...types import I1, I32, I64
from .leaves import EnumAttr


def value_of(f: Field, attr: Attr) -> Any:
    """Return the value of a field for an attribute, or None if the attribute is of the wrong kind."""
    match f.kind, attr:
        case AttrKind.ENUM, EnumAttr(_, member) if isinstance(member, f.enum or TileEnum):
            return member
        case AttrKind.ENUM, IntAttr(type, bits) if type is I32 and f.enum is not None:
            return next((m for m in f.enum if m.num == bits), None)
        case AttrKind.FLAG, UnitAttr():
            return True
        case ((AttrKind.STR | AttrKind.SYM_NAME), StrAttr(value)):
            return value
        case AttrKind.SYM_REF, SymbolRef(name):
            return name
        case AttrKind.I64, IntAttr(type) if type is I64:
            return attr.value
        case AttrKind.I32, IntAttr(type) if type is I32:
            return attr.value
        case AttrKind.BOOL, IntAttr(type) if type is I1:
            return bool(attr.bits)
        case AttrKind.TYPE, TypeAttr(type):
            return type
        case AttrKind.I32_ARRAY, DenseArray(type, values) if type is I32:
            return values
        case AttrKind.BOOL_ARRAY, DenseArray(type, values) if type is I1:
            return tuple(map(bool, values))
        case AttrKind.ARRAY, ArrayAttr(items):
            return items
        case AttrKind.DENSE, Dense():
            return attr
        case AttrKind.PREDICATE, (DivBy() | SameElements() | Bounded()):
            return attr
        case AttrKind.HINTS, OptimizationHints():
            return attr
    return None


_CONSTRAINTS = {
    AttrKind.STR: "string attribute",
    AttrKind.SYM_NAME: "string attribute",
    AttrKind.SYM_REF: "flat symbol reference attribute",
    AttrKind.FLAG: "unit attribute",
    AttrKind.BOOL: "bool attribute",
    AttrKind.ARRAY: "array attribute",
    AttrKind.I32_ARRAY: "i32 dense array attribute",
    AttrKind.BOOL_ARRAY: "i1 dense array attribute",
}


def mismatch(f: Field) -> str:
    """Return MLIR's message for an attribute of the wrong kind."""
    if f.kind in (AttrKind.I64, AttrKind.I32):
        what = f"{64 if f.kind is AttrKind.I64 else 32}-bit signless integer attribute"
        if f.minimum is not None:
            what += f" whose minimum value is {f.minimum}" if f.kind is AttrKind.I64 else " whose value is non-negative"
    else:
        what = _CONSTRAINTS.get(f.kind, f.doc)
    return f"attribute '{f.name}' failed to satisfy constraint: {what}"
