"""Inline PTX: straight-line code, one instruction after the other, on tiles whose elements are registers.

A register is a tile of integers of its width, and floats are bitcast where an instruction needs them. With several
elements per call, a tile has one element per call, and narrow elements share 32-bit registers, the first in the low
bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...ir import Value
from ...types import SCALARS, Scalar, Tile
from ..mlir import TOp
from .ptx_instructions import INSTRUCTIONS, PtxError, Registers
from .shapes import to_shape
from .table import refuse
from .translator import Translator, scalar, tile_type

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_REGISTERS = re.compile(r"\.reg\s*\.(\w+)\s+(.*)", re.S)
_RANGE = re.compile(r"([\w%$]+)<(\d+)>")
_GUARD = re.compile(r"@(!?)([\w%$]+)\s+(.*)", re.S)
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,]+")
MAX_STATEMENTS = 400


def inline(t: Translator, op: TOp, xs: list[Value]) -> list[Value]:
    """Build the instructions of an `asm` and return its results."""
    groups = Groups(t, op)
    machine = Registers(t.builder, groups.shape)
    number = sum(groups.count(t.result(op, n)) for n in range(len(op.results)))
    for x in xs:
        for register in groups.split(x):
            machine.registers[f"${number}"] = register
            number += 1
    try:
        run(machine, op.attrs["asm_string"])
        made, number = [], 0
        for n in range(len(op.results)):
            kind = t.result(op, n)
            found = [machine.read(f"${number + k}", groups.width(kind)) for k in range(groups.count(kind))]
            number += len(found)
            made.append(groups.join(found, kind))
        return made
    except PtxError as error:
        refuse(t, op, f"inline PTX: {error}")
        raise AssertionError("unreachable") from None


def run(machine: Registers, text: str) -> None:
    """Execute statements, which semicolons end; braces only limit the names of registers."""
    text = _COMMENT.sub(" ", text)
    statements = [part.strip() for part in split_statements(text)]
    if len(statements) > MAX_STATEMENTS:
        raise PtxError("too many instructions")
    for statement in statements:
        if not statement:
            continue
        if found := _REGISTERS.fullmatch(statement):
            machine.declare(found[1], names_of(found[2]))
            continue
        guard = None
        if found := _GUARD.fullmatch(statement):
            guard = machine.read(found[2], 1)
            if found[1]:
                guard = machine.builder.value("xori", guard, machine.number(1, 1))
            statement = found[3]
        opcode, _, rest = statement.partition(" ")
        operands = [part.strip() for part in _OPERAND.findall(rest)]
        name, *modifiers = opcode.split(".")
        if name not in INSTRUCTIONS:
            raise PtxError(f"the instruction '{opcode}' has no translation")
        INSTRUCTIONS[name](machine, modifiers, operands, guard)


def split_statements(text: str) -> list[str]:
    """Split at semicolons; a brace that opens a statement is a scope, others hold parts of a register."""
    parts = []
    for part in text.replace("\n", " ").replace("\t", " ").split(";"):
        part = part.strip()
        while part.startswith(("{", "}")):
            part = part[1:].strip()
        parts.append(re.sub(r"\s+", " ", part))
    return parts


def names_of(text: str) -> list[str]:
    names: list[str] = []
    for part in map(str.strip, text.split(",")):
        found = _RANGE.fullmatch(part)
        names += [f"{found[1]}{n}" for n in range(int(found[2]))] if found else [part]
    return names


@dataclass(slots=True)
class Groups:
    """How the elements of tiles are divided among calls: `pack` elements each."""

    t: Translator
    op: TOp
    pack: int = field(init=False)
    whole: tuple[int, ...] = field(init=False)
    shape: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.pack = self.op.attrs.get("packed_element", 1)
        self.whole = self.t.result(self.op).shape
        size = self.t.result(self.op).size
        if size % self.pack:
            refuse(self.t, self.op, f"{size} elements cannot be divided by {self.pack}")
        self.shape = self.whole if self.pack == 1 else (size // self.pack,)

    def width(self, kind: Tile) -> int:
        """Return the width of the registers of a tile."""
        bits = self.bits(kind)
        return bits if bits >= 32 else min(32, bits * self.pack)

    def bits(self, kind: Tile) -> int:
        return kind.element.bits if isinstance(kind.element, Scalar) else 64

    def count(self, kind: Tile) -> int:
        """Return how many registers a call takes of a tile."""
        return max(1, self.pack * self.bits(kind) // self.width(kind))

    def split(self, x: Value) -> list[Value]:
        """Return the registers of a tile."""
        b, kind = self.t.builder, tile_type(x)
        if not isinstance(kind.element, Scalar):
            x = b.value("ptr_to_int", x)
        elif kind.element.is_float:
            x = b.bitcast(x, SCALARS[f"i{kind.element.bits}"])
        if self.pack == 1:
            return [x]
        elements = self.columns(x)
        per = self.pack // self.count(kind)
        return [self.packed(elements[at : at + per], self.width(kind)) for at in range(0, self.pack, per)]

    def columns(self, x: Value) -> list[Value]:
        """Return the first elements of all groups, the second ones, and so on."""
        b = self.t.builder
        rows = to_shape(self.t, x, (*self.shape, self.pack))
        zero = b.const(0)
        parts = [b.extract(rows, [zero, b.const(k)], (*self.shape, 1)) for k in range(self.pack)]
        return [to_shape(self.t, part, self.shape) for part in parts]

    def packed(self, parts: list[Value], width: int) -> Value:
        """Return narrow integers in one wide one."""
        b, bits = self.t.builder, scalar(parts[0]).bits
        if len(parts) == 1:
            return parts[0]
        wide = [b.value("exti", part, "unsigned", to=Tile(self.shape, SCALARS[f"i{width}"])) for part in parts]
        total = wide[0]
        for at, part in enumerate(wide[1:], 1):
            total = b.value("ori", total, b.value("shli", part, self.t.full(part, at * bits)))
        return total

    def join(self, registers: list[Value], kind: Tile) -> Value:
        """Return the tile that registers hold."""
        b, bits = self.t.builder, self.bits(kind)
        narrow = SCALARS[f"i{bits}"]
        elements: list[Value] = []
        for register in registers:
            for at in range(self.pack // len(registers)):
                part = register
                if at:
                    part = b.value("shri", register, self.t.full(register, at * bits), "unsigned")
                if scalar(part) is not narrow:
                    part = b.value("trunci", part, to=Tile(self.shape, narrow))
                elements.append(part)
        made = elements[0]
        if self.pack > 1:
            made = to_shape(self.t, self.interleaved(elements), kind.shape)
        if not isinstance(kind.element, Scalar):
            return b.value("int_to_ptr", made, result=kind)
        return b.bitcast(made, kind.element) if kind.element.is_float else made

    def interleaved(self, columns: list[Value]) -> Value:
        """Return a tile with a row per group; the number of columns is a power of two."""
        b = self.t.builder
        parts = [to_shape(self.t, column, (*self.shape, 1)) for column in columns]
        while len(parts) > 1:
            parts = [b.cat(one, two, 1) for one, two in zip(parts[0::2], parts[1::2])]
        return parts[0]
