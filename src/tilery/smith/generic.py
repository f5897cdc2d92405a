"""The maker of operations that the table describes completely: operands by constraint, attributes by kind."""

from __future__ import annotations

from typing import Any

from ..analysis.intervals import Range, signed_limits
from ..attrs import IntegerOverflow, MemoryOrderingSemantics, RoundingMode, TileEnum
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef
from ..ir import Value
from ..types import F32, I1, Tile, Type
from .kernel import Draft, create
from .values import any_of, get, scalar_of, shaped, tile_of

F32_ONLY = (RoundingMode.APPROX, RoundingMode.FULL)


def generic(k: Draft, opdef: OpDef) -> bool:
    """An operation whose operands are plain values and whose results follow from them."""
    values = operands(k, opdef)
    if values is None:
        return False
    element = next((tile_of(v).element for v in values.values()), None)
    k.emit(create(opdef, **values, **attributes(k, opdef, element)))
    return True


# ---------------------------------------------------------------- operands


def operands(k: Draft, opdef: OpDef) -> dict[str, Value] | None:
    """Choose values for all operands in order; each agrees with the earlier ones as the rules demand."""
    chosen: dict[str, Value] = {}
    for f in opdef.operands:
        value = _operand(k, opdef, f, chosen)
        if value is None:
            return None
        chosen[f.attr] = value
    return chosen


def _operand(k: Draft, opdef: OpDef, f: Field, chosen: dict[str, Value]) -> Value | None:
    dims = None
    for rule in opdef.rules:
        if f.name in rule.names:
            for name in rule.names:
                if (other := chosen.get(opdef.field(name).attr)) is not None:
                    if rule.what == "type":
                        return get(k, tile_of(other))
                    dims = tile_of(other).shape
    return any_of(k, f.kind) if dims is None else shaped(k, dims, f.kind)


# ---------------------------------------------------------------- attributes


def attributes(k: Draft, opdef: OpDef, element: Type | None = None, **given: Any) -> dict[str, Any]:
    """Choose the enums and flags that are not given, so that they are legal for this element type."""
    drawn = dict(given)
    for f in opdef.attrs:
        if f.attr not in given and f.since <= k.version and f.kind in (AttrKind.ENUM, AttrKind.FLAG):
            drawn[f.attr] = _attribute(k, f, element)
    return drawn


def _attribute(k: Draft, f: Field, element: Type | None) -> Any:
    if f.kind is AttrKind.FLAG:
        return (f.name != "flush_to_zero" or element is F32) and k.chance(0.3)
    if f.enum is IntegerOverflow or (isinstance(f.default, TileEnum) and k.chance(0.5)):
        return f.default  # a promise about overflow needs a proof
    members = [m for m in f.only or tuple(f.enum or ()) if m.since <= k.version]
    if element is not F32:
        members = [m for m in members if m not in F32_ONLY or m is f.default]
    return k.rng.choice(members)


def ordering(k: Draft, opdef: OpDef) -> dict[str, Any]:
    """Choose the memory ordering and scope of an access; a weak access has no scope."""
    drawn = attributes(k, opdef)
    if drawn["memory_ordering_semantics"] is MemoryOrderingSemantics.WEAK:
        drawn["memory_scope"] = None
    elif drawn.get("memory_scope") is None:
        drawn["memory_scope"] = k.rng.choice(tuple(opdef.field("memory_scope").enum or ()))
    return drawn


def promises(result: Tile, exact: Range, inputs: list[Range]) -> list[IntegerOverflow]:
    """List the promises about overflow that hold if the exact result lies in this range."""
    element = scalar_of(result)
    low, high = signed_limits(element)
    signed = low <= exact[0] and exact[1] <= high
    # Only numbers that are not negative keep their value when read as unsigned.
    unsigned = min(lo for lo, _ in inputs) >= 0 and exact[0] >= 0 and exact[1] < 1 << element.bits
    flags = [IntegerOverflow.NONE]
    if element is not I1:
        flags += [IntegerOverflow.NSW] * signed + [IntegerOverflow.NUW] * unsigned
        flags += [IntegerOverflow.NW] * (signed and unsigned)
    return flags
