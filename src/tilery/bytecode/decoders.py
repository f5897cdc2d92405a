"""The fast reader's half of `layout`: a straight-line decoder per operation and version, generated on first use.

A decoder is optimistic. On anything unexpected it gives up with one of `GIVING_UP`, and the walk in `read_body` either
says what is wrong or reads the unusual but legal encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..checking import TYPE_CHECKING
from ..declare.codegen import GiveUp, build, indent
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef
from ..diag import TileError
from ..ir import Value
from ..version import Version
from .layout import OpLayout, WireKind, WireStep, layout
from .wire import decode_varint

if TYPE_CHECKING:
    from typing import Any

Decoder = Callable[[int, Callable[["Any"], None]], int]
"""Takes the offset after the opcode and a function for the operation; returns the offset after the operation."""

GIVING_UP = (GiveUp, TileError, IndexError, KeyError, StopIteration)
"""The exceptions that mean giving up: missing bytes, values, list entries or table entries among them."""


SECOND, THIRD = ([(byte << shift) - (1 << shift) for byte in range(256)] for shift in (7, 14))
"""The terms that the second and third byte of a variable-length integer add, less the top bit of the byte before."""


class DecoderBinding:
    """The state that the decoders of one function body share.

    `types` has None for a type that `type_at` has not decoded yet. `strings` and `constants` decode entries on first
    use, and `loc` returns the next operation's location.
    `attr` reads an attribute of a rare kind at `cursor`, as the slow path does. `opened` receives an operation whose
    regions follow.
    """

    __slots__ = ("attr", "constants", "cursor", "data", "loc", "opened", "strings", "type_at", "types", "values")
    data: bytes
    values: list[Value]
    types: list[Any]
    type_at: Callable[[int], Any]
    strings: dict[int, str]
    constants: Callable[[Any, int], Any]
    loc: Callable[[], Any]
    cursor: Any
    attr: Callable[[Field, Any], Any]
    opened: list[tuple[Any, OpLayout]]


@cache
def decoder(opdef: OpDef, version: Version) -> Callable[[DecoderBinding], Decoder]:
    """Return the decoder of an operation, to be bound to a function body."""
    plan = layout(opdef, version)
    bound: Callable[[DecoderBinding], Decoder] = build(
        f"decoder of {opdef.mnemonic} {version}", decoder_source(opdef, version), _names(plan)
    )
    return bound


def decoder_source(opdef: OpDef, version: Version) -> str:
    """Return the source of a decoder."""
    return "\n".join([*_HEAD, *indent(_Decoder(layout(opdef, version)).lines(), 2), "    return decode", ""])


_HEAD = [
    "def bind(b):",
    "    data, values, types, strings, constants = b.data, b.values, b.types, b.strings, b.constants",
    "    loc, cursor, attr, opened, type_at = b.loc, b.cursor, b.attr, b.opened, b.type_at",
    "",
    "    def decode(at, push):",
]


def _names(plan: OpLayout) -> dict[str, Any]:
    names: dict[str, Any] = {
        "new": object.__new__,
        "Value": Value,
        "GiveUp": GiveUp,
        "decode_varint": decode_varint,
        "second": SECOND,
        "third": THIRD,
        "plan": plan,
        plan.opdef.cls.__name__: plan.opdef.cls,
    }
    for f in plan.opdef.fields:
        names[f"field_{f.attr}"] = f
        if f.enum is not None:
            names[f"enum_{f.attr}"] = {member.num: member for member in f.enum}
    return names


class _Decoder:
    """Generates the decoder of one layout."""

    def __init__(self, plan: OpLayout) -> None:
        self.plan = plan
        self.counted = any(step.kind is WireKind.OPERAND_COUNT for step in plan.steps)
        self.out: list[str] = []

    def lines(self) -> list[str]:
        plan = self.plan
        self.out = [f"o = new({plan.opdef.cls.__name__})", "o.loc = loc()", "o.extra = None"]
        for step in plan.steps:
            self._step(step)
        for f in plan.absent:
            self._absent(f)
        self.out.append("push(o)")
        if plan.opdef.regions:
            # The values of a region are numbered before the results.
            self.out.append("opened.append((o, plan))")
        else:
            self.out += [f"values.{'extend' if f.arity == 'var' else 'append'}(o_{f.attr})" for f in plan.results]
        return [*self.out, "return at"]

    def _number(self, name: str = "n") -> None:
        """Read a variable-length integer, nearly always of one byte."""
        self.out += [f"{name} = data[at]", "at += 1", f"if {name} > 127: {name}, at = decode_varint(data, at - 1)"]

    def _value(self) -> None:
        """Read the number of a value or constant, without a call below two million."""
        self.out += [
            "n = data[at]",
            "at += 1",
            "if n > 127:",
            "    m = data[at]",
            "    at += 1",
            "    n += second[m]",
            "    if m > 127:",
            "        m = data[at]",
            "        at += 1",
            "        n += third[m]",
            "        if m > 127: n, at = decode_varint(data, at - 3)",
        ]

    def _step(self, step: WireStep) -> None:
        f: Any = step.field
        match step.kind:
            case WireKind.RESULT_COUNT:
                self._result_count()
            case WireKind.RESULT:
                self._result(f)
            case WireKind.RESULTS:
                self._results(f)
            case WireKind.FLAGS:
                self._number("flags")
                self.out += [f"o.{g.attr} = flags & {1 << bit} != 0" for g, bit in self.plan.flags]
            case WireKind.ATTR if step.bit < 0:
                self._attr(f)
            case WireKind.ATTR:
                self._when(step.bit, f, self._attr)
            case WireKind.OPERAND_COUNT:
                self._operand_count()
            case WireKind.OPERAND:
                self._operand(f)
            case WireKind.OPTIONAL:
                self._when(step.bit, f, self._operand)
            case WireKind.SEGMENT:
                self._number("count")
                self._operands(f)
            case WireKind.REST:
                self._rest(f)
            case WireKind.REGION_COUNT:
                self._number()
                self.out.append(f"if n != {len(self.plan.opdef.regions)}: raise GiveUp")

    def _when(self, bit: int, f: Field, read: Callable[[Field], None]) -> None:
        """Read a field if its flag is set."""
        outer, self.out = self.out, []
        read(f)
        inner, self.out = self.out, outer
        self.out += [f"if flags & {1 << bit}:", *indent(inner, 1), "else:", f"    o.{f.attr} = None"]

    # ------------------------------------------------------------ results

    def _result_count(self) -> None:
        fixed = sum(f.arity == "one" for f in self.plan.results)
        variadic = any(f.arity == "var" for f in self.plan.results)
        self._number("count")
        if variadic:
            self.out += [f"count -= {fixed}", "if count < 0: raise GiveUp"] if fixed else []
        else:
            self.out.append(f"if count != {fixed}: raise GiveUp")

    def _result(self, f: Field) -> None:
        self._number()
        name = f"o_{f.attr}"
        self.out += [f"o.{f.attr} = {name} = new(Value)", f"{name}.type = types[n] or type_at(n)", f"{name}.owner = o"]

    def _results(self, f: Field) -> None:
        self.out += [f"o_{f.attr} = []", "while count:", "    count -= 1"]
        outer, self.out = self.out, []
        self._number()
        self.out += ["r = new(Value)", "r.type = types[n] or type_at(n)", "r.owner = o", f"o_{f.attr}.append(r)"]
        self.out = [*outer, *indent(self.out, 1), f"o.{f.attr} = tuple(o_{f.attr})"]

    # ------------------------------------------------------------ operands

    def _operand_count(self) -> None:
        fixed = sum(f.arity == "one" for f in self.plan.opdef.operands)
        self._number("count")
        self.out += [f"count -= {fixed}", "if count < 0: raise GiveUp"] if fixed else []

    def _operand(self, f: Field) -> None:
        self._value()
        self.out.append(f"o.{f.attr} = values[n]")

    def _operands(self, f: Field) -> None:
        """Read `count` operands."""
        self.out += ["many = []", "while count:", "    count -= 1"]
        outer, self.out = self.out, []
        self._value()
        self.out.append("many.append(values[n])")
        self.out = [*outer, *indent(self.out, 1), f"o.{f.attr} = tuple(many)"]

    def _rest(self, f: Field) -> None:
        if f.arity == "var":
            self._operands(f)
            return
        outer, self.out = self.out, []
        self._operand(f)
        inner, self.out = self.out, outer
        self.out += ["if count > 1: raise GiveUp", "if count:", *indent(inner, 1), "else:", f"    o.{f.attr} = None"]

    # ------------------------------------------------------------ attributes

    def _attr(self, f: Field) -> None:
        match f.kind:
            case AttrKind.ENUM:
                self._number()
                self.out.append(f"o.{f.attr} = enum_{f.attr}[n]")
            case AttrKind.STR | AttrKind.SYM_NAME | AttrKind.SYM_REF:
                self._number()
                self.out.append(f"o.{f.attr} = strings[n]")
                if f.kind is AttrKind.SYM_REF:
                    self.out.append(f"if not o.{f.attr}: raise GiveUp")
            case AttrKind.I64 | AttrKind.I32:
                top = 1 << (63 if f.kind is AttrKind.I64 else 31)
                self._number()
                if f.kind is AttrKind.I32:
                    self.out.append(f"if n >= {2 * top}: raise GiveUp")
                self.out.append(f"o.{f.attr} = n if n < {top} else n - {2 * top}")
            case AttrKind.BOOL:
                self.out += [f"o.{f.attr} = data[at] != 0", "at += 1"]
            case AttrKind.DENSE:
                self._value()
                first = self.plan.results[0]
                self.out.append(f"o.{f.attr} = constants(o_{first.attr}.type, n)")
            case _:
                self.out += ["cursor.pos = at", f"o.{f.attr} = attr(field_{f.attr}, ())", "at = cursor.pos"]

    def _absent(self, f: Field) -> None:
        """Set a field that this version does not have."""
        if f.role == "out":
            self.out += [f"o.{f.attr} = r = new(Value)", f"r.type = field_{f.attr}.kind.only", "r.owner = o"]
        else:
            self.out.append(f"o.{f.attr} = field_{f.attr}.default_of(o)")
