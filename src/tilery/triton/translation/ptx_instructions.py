"""Instructions of PTX: each reads registers, builds operations, and writes a register."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from ...builder import Builder
from ...ir import Value
from ...types import BF16, F16, F32, F64, SCALARS, Scalar, Tile
from . import special
from .translator import scalar


class PtxError(Exception):
    """PTX that has no translation; the message says why."""


FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
NARROW = {"e4m3": SCALARS["f8E4M3FN"], "e5m2": SCALARS["f8E5M2"]}
_TYPE = re.compile(r"([subf]|bf)(\d+)(x2)?|pred|e4m3x2|e5m2x2|tf32")
_HEX_FLOAT = re.compile(r"0[fF]([0-9A-Fa-f]{8})|0[dD]([0-9A-Fa-f]{16})")
IGNORED = {"ftz", "rn", "approx", "full", "volatile"}
"""Modifiers that change nothing here: results are rounded to the nearest, and subnormal numbers are kept."""
ROUNDINGS = {"rz": "zero", "rm": "negative_inf", "rp": "positive_inf"}


class Registers:
    """Registers by name, all of one shape."""

    def __init__(self, builder: Builder, shape: tuple[int, ...]) -> None:
        self.builder, self.shape = builder, shape
        self.registers: dict[str, Value] = {}
        self.widths: dict[str, int] = {}

    def declare(self, kind: str, names: list[str]) -> None:
        for name in names:
            self.widths[name] = width_of(kind)
            self.registers.pop(name, None)

    def number(self, value: int, width: int) -> Value:
        signed = value - (1 << width) if width > 1 and value >> width - 1 & 1 else value
        return self.builder.const(signed, Tile(self.shape, SCALARS[f"i{width}"]))

    def read(self, name: str, width: int) -> Value:
        """Return the content of a register, or a number, as integers of a width."""
        name = name.strip()
        if name.startswith("{"):
            return self.joined([part.strip() for part in name[1:-1].split(",")], width)
        found = self.registers.get(name)
        if found is None:
            return self.number(immediate(name, width), width)
        bits = scalar(found).bits
        if bits == width:
            return found
        to = Tile(self.shape, SCALARS[f"i{width}"])
        return self.builder.value("trunci", found, to=to) if bits > width else self.widened(found, to)

    def widened(self, value: Value, to: Tile) -> Value:
        return self.builder.value("exti", value, "unsigned", to=to)

    def joined(self, names: list[str], width: int) -> Value:
        part = width // len(names)
        total = self.read(names[0], part)
        total = self.widened(total, Tile(self.shape, SCALARS[f"i{width}"]))
        for at, name in enumerate(names[1:], 1):
            high = self.widened(self.read(name, part), Tile(self.shape, SCALARS[f"i{width}"]))
            total = self.builder.value("ori", total, self.builder.value("shli", high, self.number(at * part, width)))
        return total

    def float(self, name: str, kind: Scalar) -> Value:
        return self.builder.bitcast(self.read(name, kind.bits), kind)

    def write(self, name: str, value: Value, guard: Value | None) -> None:
        """Set a register; under a guard it keeps its content where the guard is false, or 0 if it has none yet."""
        b = self.builder
        if scalar(value).is_float:
            value = b.bitcast(value, SCALARS[f"i{scalar(value).bits}"])
        if name.startswith("{"):
            names = [part.strip() for part in name[1:-1].split(",")]
            part = scalar(value).bits // len(names)
            for at, each in enumerate(names):
                moved = b.value("shri", value, self.number(at * part, scalar(value).bits), "unsigned") if at else value
                self.write(each, b.value("trunci", moved, to=Tile(self.shape, SCALARS[f"i{part}"])), guard)
            return
        if guard is not None:
            bits = scalar(value).bits
            value = b.select(guard, value, self.read(name, bits) if name in self.registers else self.number(0, bits))
        self.registers[name] = value


def immediate(name: str, width: int) -> int:
    if found := _HEX_FLOAT.fullmatch(name):
        return int(found[1] or found[2], 16)
    try:
        if "." in name:
            code = "<d" if width == 64 else "<f"
            return int.from_bytes(struct.pack(code, float(name)), "little")
        return int(name.rstrip("U"), 0) & (1 << width) - 1
    except ValueError:
        raise PtxError(f"'{name}' is not a register that has a value") from None


def width_of(kind: str) -> int:
    if kind == "pred":
        return 1
    if kind in ("e4m3x2", "e5m2x2"):
        return 16
    if kind == "tf32":
        return 32
    found = _TYPE.fullmatch(kind)
    if not found:
        raise PtxError(f"the type '{kind}' has no translation")
    return int(found[2]) * (2 if found[3] else 1)


def types_of(modifiers: list[str]) -> tuple[list[str], list[str]]:
    """Return the types among modifiers, and the others that matter."""
    types = [each for each in modifiers if _TYPE.fullmatch(each)]
    return types, [each for each in modifiers if each not in types and each not in IGNORED]


Instruction = Callable[[Registers, list[str], list[str], Value | None], None]
INSTRUCTIONS: dict[str, Instruction] = {}


def instruction(*names: str) -> Callable[[Instruction], Instruction]:
    def add(body: Instruction) -> Instruction:
        INSTRUCTIONS.update(dict.fromkeys(names, body))
        return body

    return add


def sign_of(kind: str) -> str:
    return "signed" if kind.startswith("s") else "unsigned"


def halves(m: Registers, kind: str, names: list[str], body: Callable[..., Value]) -> Value:
    """Apply a function to floats; of packed ones to the low and the high half."""
    if not kind.endswith("x2"):
        return body(*(m.float(name, FLOATS[kind]) for name in names))
    element, b = FLOATS[kind[:-2]], m.builder
    short, wide = Tile(m.shape, SCALARS["i16"]), Tile(m.shape, SCALARS["i32"])
    made = []
    for at in (0, 16):
        parts = []
        for name in names:
            whole = m.read(name, 32)
            moved = b.value("shri", whole, m.number(at, 32), "unsigned") if at else whole
            parts.append(b.bitcast(b.value("trunci", moved, to=short), element))
        made.append(m.widened(b.bitcast(body(*parts), "i16"), wide))
    return b.value("ori", made[0], b.value("shli", made[1], m.number(16, 32)))


# ---------------------------------------------------------------- arithmetic

FLOAT_OPS = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf", "fma": "fma", "mad": "fma"} | {
    "min": "minf",
    "max": "maxf",
    "neg": "negf",
    "abs": "absf",
    "ex2": "exp2",
    "lg2": "log2",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
}
INT_OPS = {"add": "addi", "sub": "subi", "neg": "negi", "abs": "absi"}


def arithmetic_named(name: str) -> Instruction:
    def body(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
        types, rest = types_of(modifiers)
        kind = types[-1] if types else ""
        if kind.removesuffix("x2") in FLOATS:
            made = float_result(m, name, kind, rest, operands[1:])
        else:
            made = int_result(m, name, types, rest, operands[1:])
        m.write(operands[0], made, guard)

    return body


def float_result(m: Registers, name: str, kind: str, rest: list[str], operands: list[str]) -> Value:
    b = m.builder
    more: dict[str, Any] = {}
    for each in rest:
        if each in ROUNDINGS:
            more["rounding_mode"] = ROUNDINGS[each]
        elif each == "NaN":
            more["propagate_nan"] = True
        elif each not in ("sat", "relu"):
            raise PtxError(f"'.{each}' has no translation")

    def compute(*xs: Value) -> Value:
        if name == "rcp":
            made = b.value("divf", b.const(1.0, xs[0].type), xs[0], **more)
        else:
            made = b.value(FLOAT_OPS[name], *xs, **more)
        if "sat" in rest or "relu" in rest:
            made = b.value("maxf", made, b.const(0.0, made.type))
        return b.value("minf", made, b.const(1.0, made.type)) if "sat" in rest else made

    return halves(m, kind, operands, compute)


def int_result(m: Registers, name: str, types: list[str], rest: list[str], operands: list[str]) -> Value:
    b = m.builder
    if not types:
        raise PtxError(f"'{name}' without a type")
    kind = types[-1]
    width, sign = width_of(kind), sign_of(kind)
    if name in ("mul", "mad"):
        return product(m, name, width, sign, rest, operands)
    if rest:
        raise PtxError(f"'.{rest[0]}' has no translation")
    xs = [m.read(each, width) for each in operands]
    if name in ("min", "max"):
        return b.value(f"{name}i", *xs, sign)
    if name == "div":
        return b.value("divi", *xs, sign)
    if name not in INT_OPS:
        raise PtxError(f"'{name}' of integers has no translation")
    return b.value(INT_OPS[name], *xs)


def product(m: Registers, name: str, width: int, sign: str, rest: list[str], operands: list[str]) -> Value:
    b = m.builder
    mode = rest[0] if rest else "lo"
    wide = Tile(m.shape, SCALARS[f"i{2 * width}"]) if width < 64 else None
    xs = [m.read(each, width) for each in operands[:2]]
    if mode == "lo":
        made = b.value("muli", *xs)
    elif mode in ("wide", "hi") and wide is not None:
        made = b.value("muli", *(b.value("exti", x, sign, to=wide) for x in xs))
        if mode == "hi":
            moved = b.value("shri", made, m.number(width, 2 * width), "unsigned")
            made = b.value("trunci", moved, to=Tile(m.shape, SCALARS[f"i{width}"]))
    else:
        raise PtxError(f"'{name}.{mode}' has no translation")
    return made if name == "mul" else b.value("addi", made, m.read(operands[2], scalar(made).bits))


for each in (*FLOAT_OPS, "rcp"):
    INSTRUCTIONS[each] = arithmetic_named(each)


# ---------------------------------------------------------------- bits


@instruction("mov", "cvta")
def move(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    types, _ = types_of(modifiers)
    if operands[1].startswith("%") and operands[1] not in m.registers:
        raise PtxError(f"the special register '{operands[1]}' has no counterpart in Tile IR")
    m.write(operands[0], m.read(operands[1], width_of(types[-1])), guard)


def bitwise(name: str) -> Instruction:
    def body(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
        width = width_of(types_of(modifiers)[0][-1])
        xs = [m.read(each, width) for each in operands[1:]]
        m.write(operands[0], m.builder.value(name, *xs), guard)

    return body


for source, target in (("and", "andi"), ("or", "ori"), ("xor", "xori")):
    INSTRUCTIONS[source] = bitwise(target)


@instruction("not")
def invert(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    width = width_of(types_of(modifiers)[0][-1])
    ones = m.number((1 << width) - 1, width)
    m.write(operands[0], m.builder.value("xori", m.read(operands[1], width), ones), guard)


def shift_named(left: bool) -> Instruction:
    def body(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
        """Shift; distances of the width and more shift everything out, which Tile IR leaves undefined."""
        b = m.builder
        kind = types_of(modifiers)[0][-1]
        width, signed = width_of(kind), sign_of(kind) == "signed" and not left
        value, distance = m.read(operands[1], width), m.read(operands[2], 32)
        limit = m.number(width - 1, 32)
        far = b.value("cmpi", "greater_than", distance, limit, "unsigned")
        near = b.value("mini", distance, limit, "unsigned")
        to = Tile(m.shape, SCALARS[f"i{width}"])
        by = (
            near
            if width == 32
            else b.value("exti", near, "unsigned", to=to)
            if width > 32
            else b.value("trunci", near, to=to)
        )
        made = b.value("shli", value, by) if left else b.value("shri", value, by, "signed" if signed else "unsigned")
        m.write(operands[0], made if signed else b.select(far, m.number(0, width), made), guard)

    return body


INSTRUCTIONS["shl"], INSTRUCTIONS["shr"] = shift_named(True), shift_named(False)


@instruction("prmt")
def permute(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    """Choose each of four bytes among eight; the top bit of a choice repeats the sign of the byte instead."""
    if types_of(modifiers)[1]:
        raise PtxError("only the general form of 'prmt' has a translation")
    b = m.builder
    long = Tile(m.shape, SCALARS["i64"])
    low, high = (m.widened(m.read(name, 32), long) for name in operands[1:3])
    both = b.value("ori", low, b.value("shli", high, m.number(32, 64)))
    chosen = m.widened(m.read(operands[3], 32), long)
    total: Value | None = None
    for at in range(4):
        nibble = b.value("shri", chosen, m.number(4 * at, 64), "unsigned")
        distance = b.value("shli", b.value("andi", nibble, m.number(7, 64)), m.number(3, 64))
        byte = b.value("andi", b.value("shri", both, distance, "unsigned"), m.number(255, 64))
        negative = b.value("cmpi", "greater_than", byte, m.number(127, 64), "unsigned")
        sign = b.select(negative, m.number(255, 64), m.number(0, 64))
        wants_sign = b.value("cmpi", "not_equal", b.value("andi", nibble, m.number(8, 64)), m.number(0, 64), "signed")
        part = b.value("shli", b.select(wants_sign, sign, byte), m.number(8 * at, 64))
        total = part if total is None else b.value("ori", total, part)
    assert total is not None, "there are four bytes"
    m.write(operands[0], b.value("trunci", total, to=Tile(m.shape, SCALARS["i32"])), guard)


@instruction("lop3")
def any_bitwise(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    """Any function of three bits, from its table: the or of the rows that are set."""
    b = m.builder
    table = immediate(operands[4], 8)
    xs = [m.read(name, 32) for name in operands[1:4]]
    ones = m.number(0xFFFFFFFF, 32)
    inverted = [b.value("xori", x, ones) for x in xs]
    total = m.number(0, 32)
    for row in range(8):
        if table >> row & 1:
            terms = [xs[at] if row >> 2 - at & 1 else inverted[at] for at in range(3)]
            total = b.value("ori", total, b.value("andi", b.value("andi", terms[0], terms[1]), terms[2]))
    m.write(operands[0], total, guard)


@instruction("bfe")
def extract_bits(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    """Extract bits at constant positions: shift them to the top, and back down."""
    b = m.builder
    kind = types_of(modifiers)[0][-1]
    width = width_of(kind)
    start, length = immediate(operands[2], 32), immediate(operands[3], 32)
    if start + length > width or not length:
        raise PtxError("'bfe' beyond the register")
    moved = b.value("shli", m.read(operands[1], width), m.number(width - start - length, width))
    m.write(operands[0], b.value("shri", moved, m.number(width - length, width), sign_of(kind)), guard)


# ---------------------------------------------------------------- comparison and conversion

PREDICATES = {"eq": "equal", "ne": "not_equal", "lt": "less_than", "le": "less_than_or_equal"} | {
    "gt": "greater_than",
    "ge": "greater_than_or_equal",
    "lo": "less_than",
    "ls": "less_than_or_equal",
    "hi": "greater_than",
    "hs": "greater_than_or_equal",
}


@instruction("setp")
def compare(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    types, rest = types_of(modifiers)
    kind = types[-1]
    if len(rest) != 1 or rest[0] not in PREDICATES:
        raise PtxError(f"'setp.{'.'.join(modifiers)}' has no translation")
    if kind in FLOATS:
        ordering = "unordered" if rest[0] == "ne" else "ordered"
        xs = [m.float(name, FLOATS[kind]) for name in operands[1:3]]
        made = m.builder.value("cmpf", PREDICATES[rest[0]], ordering, *xs)
    else:
        xs = [m.read(name, width_of(kind)) for name in operands[1:3]]
        made = m.builder.value("cmpi", PREDICATES[rest[0]], *xs, sign_of(kind))
    m.write(operands[0], made, guard)


@instruction("selp")
def choose(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    width = width_of(types_of(modifiers)[0][-1])
    xs = [m.read(name, width) for name in operands[1:3]]
    m.write(operands[0], m.builder.select(m.read(operands[3], 1), *xs), guard)


@instruction("cvt")
def convert(m: Registers, modifiers: list[str], operands: list[str], guard: Value | None) -> None:
    (to, source), rest = types_of(modifiers)
    rest = [each for each in rest if each != "satfinite"]
    m.write(operands[0], converted(m, to, source, rest, operands[1:]), guard)


def converted(m: Registers, to: str, source: str, rest: list[str], operands: list[str]) -> Value:
    b = m.builder
    if to == "tf32":
        bits = m.read(operands[0], 32)
        if rest == ["rna"]:
            bits = b.value("addi", bits, m.number(0x1000, 32))
        return b.value("andi", bits, m.number(0xFFFFE000, 32))
    if to.endswith("x2"):
        return packed_pair(m, to, source, operands)
    if to in FLOATS and source in FLOATS and not rest:
        value = m.float(operands[0], FLOATS[source])
        return value if to == source else b.value("ftof", value, to=Tile(m.shape, FLOATS[to]))
    if to in FLOATS and source not in FLOATS and not rest:
        return b.value("itof", m.read(operands[0], width_of(source)), sign_of(source), to=Tile(m.shape, FLOATS[to]))
    if source in FLOATS and len(rest) == 1 and rest[0] in ("rni", "rzi", "rmi", "rpi"):
        value = m.float(operands[0], FLOATS[source])
        whole = {"rni": special.rint, "rmi": rounded("floor"), "rpi": rounded("ceil")}.get(rest[0])
        value = value if whole is None else whole(b, value)
        if to in FLOATS:
            return special.with_sign_of(b, b.value("floor", b.value("absf", value)), value)
        kind = Tile(m.shape, SCALARS[f"i{width_of(to)}"])
        return b.value("ftoi", value, sign_of(to), saturating=True, to=kind)
    if source not in FLOATS and to not in FLOATS and not rest:
        value = m.read(operands[0], width_of(source))
        kind = Tile(m.shape, SCALARS[f"i{width_of(to)}"])
        if width_of(to) < width_of(source):
            return b.value("trunci", value, to=kind)
        return value if kind is value.type else b.value("exti", value, sign_of(source), to=kind)
    raise PtxError(f"'cvt.{'.'.join([*rest, to, source])}' has no translation")


def rounded(name: str) -> Callable[[Builder, Value], Value]:
    return lambda b, x: b.value(name, x)


def packed_pair(m: Registers, to: str, source: str, operands: list[str]) -> Value:
    """Convert two floats to one register: the first operand becomes the upper half."""
    b = m.builder
    target = NARROW.get(to[:-2]) or FLOATS[to[:-2]]
    if source.endswith("x2"):
        element = NARROW.get(source[:-2]) or FLOATS[source[:-2]]
        whole = m.read(operands[0], 2 * element.bits)
        low = b.value("trunci", whole, to=Tile(m.shape, SCALARS[f"i{element.bits}"]))
        moved = b.value("shri", whole, m.number(element.bits, 2 * element.bits), "unsigned")
        high = b.value("trunci", moved, to=Tile(m.shape, SCALARS[f"i{element.bits}"]))
        values = [b.bitcast(high, element), b.bitcast(low, element)]
    else:
        values = [m.float(name, FLOATS[source]) for name in operands]
    made = []
    wide = Tile(m.shape, SCALARS[f"i{2 * target.bits}"])
    for value in values:
        narrow = b.value("ftof", value, to=Tile(m.shape, target))
        made.append(m.widened(b.bitcast(narrow, SCALARS[f"i{target.bits}"]), wide))
    return b.value("ori", b.value("shli", made[0], m.number(target.bits, 2 * target.bits)), made[1])
