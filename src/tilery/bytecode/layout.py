"""The layout of operations in bytecode; `layout(op, version)` is the only place that defines it."""

from __future__ import annotations

from enum import Enum
from functools import cache

from ..declare.fastclass import dataclass
from ..declare.fields import AttrKind, Field
from ..declare.operation import BY_OPCODE, OpDef
from ..version import READ_ONLY, Version


class WireKind(Enum):
    """The kinds of items in the encoding of an operation."""

    RESULT_COUNT = "the number of results"
    RESULT = "the type of a result"
    RESULTS = "the types of all further results"
    FLAGS = "a bit for each optional field that is present"
    ATTR = "an attribute"
    OPERAND_COUNT = "the number of all operands"
    OPERAND = "an operand"
    OPTIONAL = "an operand, if its flag is set"
    SEGMENT = "a count and that many operands"
    NO_PROMISES = "booleans that must all be false"
    REST = "all further operands"
    REGION_COUNT = "the number of regions"
    REGION = "a region"


@dataclass(frozen=True, slots=True)
class WireStep:
    """One item: its kind, its field, and the bit of the flags that says it is present (-1: always)."""

    kind: WireKind
    field: Field | None = None
    bit: int = -1


@dataclass(frozen=True, slots=True)
class OpLayout:
    """The encoding of an operation at a version, and the fields that this version does not have."""

    opdef: OpDef
    version: Version
    steps: tuple[WireStep, ...]
    absent: tuple[Field, ...]
    results: tuple[Field, ...]
    """The numbered results. Newer ones have no number, because it would shift every later operand."""
    flags: tuple[tuple[Field, int], ...]
    """The attributes that are only a bit of the flags."""


UNPROMISED = "atomic_red_view_tko"
"""The operation that has `inbounds` in bytecode 13.5. NVRTC 13.5 writes nothing but false, which is what 13.4 means."""
_CACHE: dict[tuple[int, Version], OpLayout] = {}


def layout(opdef: OpDef, version: Version) -> OpLayout:
    """Return the encoding of `opdef` at `version`."""
    key = (opdef.opcode, version)
    if key not in _CACHE:
        _CACHE[key] = _make(opdef, version)
    return _CACHE[key]


@cache
def last_opcode(version: Version) -> int:
    """Return the highest opcode that a version assigns; some below it are not assigned."""
    return max(d.opcode for d in BY_OPCODE.values() if d.since <= version)


def flag_bits(opdef: OpDef) -> dict[str, int]:
    """Return the bit of each optional field: older fields first, and within a version attributes before operands."""
    optional = [f for f in opdef.attrs if f.arity == "opt"]
    if opdef.segmented:
        optional += [f for f in opdef.operands if f.arity == "opt"]
    return {f.name: bit for bit, f in enumerate(sorted(optional, key=lambda f: f.since))}


def _make(opdef: OpDef, version: Version) -> OpLayout:
    bits = flag_bits(opdef)
    steps = _results(opdef, version)
    if bits:
        first = min(opdef.field(name).since for name in bits)
        # If an op had no optional field at first, older files have no flags.
        if first == opdef.since or version >= first:
            steps.append(WireStep(WireKind.FLAGS))
    for f in opdef.attrs:
        if f.since <= version and f.kind is not AttrKind.FLAG:
            steps.append(WireStep(WireKind.ATTR, f, bits.get(f.name, -1)))
    if version == READ_ONLY and opdef.mnemonic == UNPROMISED:
        steps.append(WireStep(WireKind.NO_PROMISES))
    steps += _operands(opdef, version, bits)
    if opdef.regions:
        steps.append(WireStep(WireKind.REGION_COUNT))
        steps += [WireStep(WireKind.REGION, f) for f in opdef.regions]
    absent = tuple(f for f in opdef.fields if f.since > version and f.role != "state")
    present = [f for f in opdef.fields if f.since <= version]
    return OpLayout(
        opdef,
        version,
        tuple(steps),
        absent,
        results=tuple(f for f in present if f.role == "out"),
        flags=tuple((f, bits[f.name]) for f in present if f.kind is AttrKind.FLAG),
    )


def _results(opdef: OpDef, version: Version) -> list[WireStep]:
    steps: list[WireStep] = []
    # Any variadic operand or result makes the count explicit, even if the number of results is fixed.
    if any(f.arity == "var" for f in opdef.operands + opdef.outs):
        steps.append(WireStep(WireKind.RESULT_COUNT))
    present = (f for f in opdef.outs if f.since <= version)
    return steps + [WireStep(WireKind.RESULTS if f.arity == "var" else WireKind.RESULT, f) for f in present]


def _operands(opdef: OpDef, version: Version, bits: dict[str, int]) -> list[WireStep]:
    steps: list[WireStep] = []
    counted = not opdef.segmented and any(f.arity != "one" for f in opdef.operands)
    if counted:
        steps.append(WireStep(WireKind.OPERAND_COUNT))
    for f in opdef.operands:
        if f.since > version:
            continue
        if f.arity == "one":
            steps.append(WireStep(WireKind.OPERAND, f))
        elif not opdef.segmented:
            steps.append(WireStep(WireKind.REST, f))
        elif f.arity == "opt":
            steps.append(WireStep(WireKind.OPTIONAL, f, bits[f.name]))
        else:
            steps.append(WireStep(WireKind.SEGMENT, f))
    return steps
