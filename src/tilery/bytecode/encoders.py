"""The fast writer's half of `layout`: a straight-line encoder per operation and version, generated on first use.

Like a decoder, an encoder is optimistic: it gives up with one of `GIVING_UP`, and the walk in `write_body` names what
the version cannot express. An operation becomes a few short byte strings, which are looked up in tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..declare.codegen import GiveUp, build, indent
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef
from ..ir import Value
from ..version import Version
from .layout import OpLayout, WireKind, WireStep, flag_bits, layout
from .wire import ONE_BYTE, encode_varint


class EncoderBinding:
    """The state that the encoders of one function body share.

    `numbers` holds the number of each visible value as bytes; `types`, `strings` and `constants` return an index as
    bytes. `attr` writes an attribute of a rare kind, as the slow path does. `opened` receives an operation whose
    regions follow.
    """

    __slots__ = ("attr", "constants", "numbers", "opened", "put", "strings", "types")
    put: Callable[[Any], None]
    numbers: dict[Value, bytes]
    types: dict[Any, bytes]
    strings: dict[str, bytes]
    constants: Callable[[Any], bytes]
    attr: Callable[[Any, Field, Any], bytes]
    opened: list[tuple[Any, OpLayout]]


Encoder = Callable[[Any], None]


@cache
def encoder(opdef: OpDef, version: Version) -> Callable[[EncoderBinding], Encoder]:
    """Return the encoder of an operation, to be bound to a function body."""
    plan = layout(opdef, version)
    bound: Callable[[EncoderBinding], Encoder] = build(
        f"encoder of {opdef.mnemonic} {version}", encoder_source(opdef, version), _names(plan)
    )
    return bound


def encoder_source(opdef: OpDef, version: Version) -> str:
    """Return the source of an encoder."""
    return "\n".join([*_HEAD, *indent(_Encoder(layout(opdef, version)).lines(), 2), "    return encode", ""])


_HEAD = [
    "def bind(b):",
    "    put, numbers, types, strings, constants = b.put, b.numbers, b.types, b.strings, b.constants",
    "    attr, opened = b.attr, b.opened",
    "",
    "    def encode(o):",
]


def _names(plan: OpLayout) -> dict[str, Any]:
    names: dict[str, Any] = {"GiveUp": GiveUp, "ONE_BYTE": ONE_BYTE, "encode_varint": encode_varint, "plan": plan}
    for f in plan.opdef.fields:
        names[f"field_{f.attr}"] = f
        if f.enum is not None:
            names[f"enum_{f.attr}"] = {m: encode_varint(m.num) for m in f.enum if m.since <= plan.version}
    return names


class _Encoder:
    """Generates the encoder of one layout: statements, and pieces that one `put` writes together."""

    def __init__(self, plan: OpLayout) -> None:
        self.plan = plan
        self.out: list[str] = []
        self.pieces = [repr(encode_varint(plan.opdef.opcode))]

    def lines(self) -> list[str]:
        plan = self.plan
        self.out.append("if o.extra: raise GiveUp")
        for f in plan.absent:
            self._absent(f)
        for step in plan.steps:
            self._step(step)
        self._put()
        if plan.opdef.regions:
            # The values of a region are numbered before the results.
            self.out.append("opened.append((o, plan))")
        else:
            for f in plan.results:
                self._define(f)
        return self.out

    def _put(self) -> None:
        if self.pieces:
            self.out.append(f"put(({', '.join(self.pieces)},))")
        self.pieces = []

    def _number(self, expression: str) -> None:
        self.pieces.append(f"(ONE_BYTE[n] if (n := {expression}) < 128 else encode_varint(n))")

    def _define(self, f: Field) -> None:
        """Assign the next number to a result."""
        if f.arity == "var":
            self.out.append(f"for v in o.{f.attr}: numbers[v] = encode_varint(len(numbers))")
            return
        self.out += [
            "n = len(numbers)",
            f"if n < 128: numbers[o.{f.attr}] = ONE_BYTE[n]",
            f"elif n < 16384: numbers[o.{f.attr}] = bytes((n & 127 | 128, n >> 7))",
            f"elif n < 2097152: numbers[o.{f.attr}] = bytes((n & 127 | 128, n >> 7 & 127 | 128, n >> 14))",
            f"else: numbers[o.{f.attr}] = encode_varint(n)",
        ]

    def _step(self, step: WireStep) -> None:
        f: Any = step.field
        match step.kind:
            case WireKind.RESULT_COUNT:
                many = [f"len(o.{g.attr})" if g.arity == "var" else "1" for g in self.plan.results]
                self._number(" + ".join(many) or "0")
            case WireKind.RESULT:
                self.pieces.append(f"types[o.{f.attr}.type]")
            case WireKind.RESULTS:
                self.pieces.append(f"*[types[v.type] for v in o.{f.attr}]")
            case WireKind.FLAGS:
                self._flags()
            case WireKind.ATTR if step.bit < 0:
                self._attr(f)
            case WireKind.ATTR:
                self._when(f, self._attr)
            case WireKind.OPERAND_COUNT:
                self._operand_count()
            case WireKind.OPERAND:
                self._operand(f)
            case WireKind.SEGMENT:
                self._number(f"len(o.{f.attr})")
                self.pieces.append(f"*[numbers[v] for v in o.{f.attr}]")
            case WireKind.REST if f.arity == "var":
                self.pieces.append(f"*[numbers[v] for v in o.{f.attr}]")
            case WireKind.OPTIONAL | WireKind.REST:
                self._when(f, self._operand)
            case WireKind.REGION_COUNT:
                self._number(str(len(self.plan.opdef.regions)))

    def _when(self, f: Field, write: Callable[[Field], None]) -> None:
        """Write a field if it is present."""
        self._put()
        outer, self.out = self.out, []
        write(f)
        self._put()
        inner, self.out = self.out, outer
        self.out += [f"if o.{f.attr} is not None:", *indent(inner, 1)]

    def _flags(self) -> None:
        bits = flag_bits(self.plan.opdef)
        self.out.append("flags = 0")
        for name, bit in bits.items():
            f = self.plan.opdef.field(name)
            if f.since <= self.plan.version:
                self.out.append(f"if o.{f.attr} is not None and o.{f.attr} is not False: flags |= {1 << bit}")
        self._number("flags")

    def _operand_count(self) -> None:
        terms = {"one": "1", "opt": "(o.{} is not None)", "var": "len(o.{})"}
        self._number(" + ".join(terms[f.arity].format(f.attr) for f in self.plan.opdef.operands))

    def _operand(self, f: Field) -> None:
        self.pieces.append(f"numbers[o.{f.attr}]")

    def _attr(self, f: Field) -> None:
        match f.kind:
            case AttrKind.ENUM:
                self.pieces.append(f"enum_{f.attr}[o.{f.attr}]")
            case AttrKind.STR | AttrKind.SYM_NAME | AttrKind.SYM_REF:
                self.pieces.append(f"strings[o.{f.attr}]")
            case AttrKind.I64 | AttrKind.I32:
                bits = 64 if f.kind is AttrKind.I64 else 32
                self._number(f"o.{f.attr} & {(1 << bits) - 1}")
            case AttrKind.BOOL:
                self.pieces.append(f"bytes((o.{f.attr},))")
            case AttrKind.DENSE:
                self.pieces.append(f"constants(o.{f.attr})")
            case _:
                self.pieces.append(f"attr(o, field_{f.attr}, o.{f.attr})")

    def _absent(self, f: Field) -> None:
        """Give up if a field that this version lacks is present. Using such a result fails: it has no number."""
        if f.role == "operand":
            self.out.append(f"if o.{f.attr} is not None: raise GiveUp")
        elif f.role == "attr":
            self.out.append(f"if o.{f.attr} != field_{f.attr}.default_of(o): raise GiveUp")
