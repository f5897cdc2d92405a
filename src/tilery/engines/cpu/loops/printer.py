"""Loop IR as text, for people and tests. A value is named where it is defined."""

from __future__ import annotations

from collections.abc import Iterable

from ....ir import Op
from ....types import Scalar
from .integers import WIDTHS, signed
from .nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Const,
    Declare,
    Dot,
    Float,
    Guard,
    Home,
    If,
    Int,
    Jump,
    Kernel,
    Load,
    Locate,
    Loop,
    Operand,
    Prefetch,
    Product,
    Read,
    Shuffle,
    Stmt,
    Store,
    TileDot,
    TileLoad,
    TileStore,
    Value,
    While,
    Write,
    defined,
)

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "eq": "==", "ne": "!=",
    "slt": "<", "sle": "<=",
}  # fmt: skip
"""Operations that people know by a sign."""


def print_kernel(kernel: Kernel) -> str:
    """Return the text of a kernel.

    A line per statement; blocks are indented. `:f32x16` is a type with lanes.
    """
    return _Printer(kernel).text()


def print_block(body: list[Stmt]) -> str:
    """Return the text of some statements; values from outside are named as they are used."""
    printer = _Printer(None)
    printer.block(body, 0)
    return "\n".join(printer.lines) + "\n"


def attributes(op: Op) -> str:
    """Return the name of an operation with its attributes that are not at their defaults."""
    found = []
    for field in op.opdef.fields:
        value = getattr(op, field.attr, None)
        if field in op.opdef.operands or field in op.opdef.outs or value is None or value is False:
            continue
        text = getattr(value, "text", None) or getattr(value, "name", None) or str(value)
        found.append(str(text).lower())
    return f"{op.name}[{', '.join(found)}]" if found else op.name


class _Printer:
    __slots__ = ("count", "kernel", "lines", "loops", "names", "taken")

    def __init__(self, kernel: Kernel | None) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.names: dict[Value | Buffer, str] = {}
        self.loops: dict[Loop | While, str] = {}
        self.taken: dict[str, int] = {}
        self.count = 0

    def text(self) -> str:
        kernel = self.kernel
        assert kernel is not None
        params = ", ".join(f"{self.name(v)}: {_type(v)}" for v in kernel.params)
        self.lines.append(f"kernel @{kernel.name}({params}) grid ({', '.join(map(self.name, kernel.grid))}) {{")
        for symbol, value in kernel.globals:
            self.put(1, f"{self.name(value)} = global @{symbol}")
        self.block(kernel.body, 1)
        return "\n".join([*self.lines, "}"]) + "\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def name(self, x: Value | Buffer) -> str:
        found = self.names.get(x)
        if found is None:
            hint = x.name or ("b" if isinstance(x, Buffer) else "")
            if not hint:
                self.count += 1
                found = f"v{self.count}"
            else:
                number = self.taken[hint] = self.taken.get(hint, -1) + 1
                found = hint if not number else f"{hint}.{number}"
            self.names[x] = found
        return found

    def operand(self, x: Operand) -> str:
        if isinstance(x, Value):
            return self.name(x)
        if x.element.name == "i1":
            return "true" if x.bits else "false"
        if x.element.name == "i64":
            return str(signed(x.bits, x.element))
        return f"{_number(x)}:{x.element}"

    def operands(self, xs: Iterable[Operand]) -> str:
        return ", ".join(map(self.operand, xs))

    def block(self, body: list[Stmt], depth: int) -> None:
        for s in body:
            self.statement(s, depth)

    def statement(self, s: Stmt, depth: int) -> None:
        match s:
            case Loop():
                self.loop(s, depth)
            case While():
                self.put(depth, f"while{self.label(s)} {{")
                self.block(s.body, depth + 1)
                self.put(depth, "}")
            case If():
                self.put(depth, f"if {self.operand(s.condition)}{' rarely' if s.rarely else ''} {{")
                self.block(s.then, depth + 1)
                if s.orelse:
                    self.put(depth, "} else {")
                    self.block(s.orelse, depth + 1)
                self.put(depth, "}")
            case _:
                text = self.simple(s)
                result = defined(s)
                self.put(depth, text if result is None else f"{self.name(result)}: {_type(result)} = {text}")

    def label(self, loop: Loop | While) -> str:
        name = self.loops.setdefault(loop, f"#{len(self.loops)}")
        return f" {name}"

    def loop(self, s: Loop, depth: int) -> None:
        bounds = f"{self.operand(s.low)} .. {self.operand(s.high)}"
        step = f" step {s.step}" if s.step != 1 else ""
        polls = " polls" if s.polls else ""
        self.put(depth, f"{s.kind.value}{self.label(s)} {self.name(s.index)} in {bounds}{step}{polls} {{")
        self.block(s.body, depth + 1)
        self.put(depth, "}")

    def simple(self, s: Stmt) -> str:
        match s:
            case Int(name=name, operands=(a, b)) if name in INFIX:
                return f"{self.operand(a)} {INFIX[name]} {self.operand(b)}"
            case Int():
                return f"{s.name} {self.operands(s.operands)}"
            case Apply():
                return f"{attributes(s.op)} {self.operands(s.operands)}".rstrip()
            case Float():
                return f"float.{s.name} {self.operands(s.operands)}"
            case Shuffle():
                return f"shuffle {self.operands(s.operands)} [{', '.join(map(str, s.order))}]"
            case Dot():
                return f"dot.{s.name} {self.operands(s.operands)}"
            case TileLoad():
                return f"{self.name(s.tile)}[] = tile {self.place(s.buffer, s.index)}"
            case TileStore():
                return f"{self.place(s.buffer, s.index)} = tile {self.name(s.tile)}[]"
            case TileDot():
                parts = ", ".join(map(self.name, (s.left, s.right, s.sums)))
                return f"{self.name(s.sums)}[] = dot.{s.name} {parts}"
            case Declare():
                return self.declaration(s.buffer)
            case Jump():
                return s.kind if s.loop is None else f"{s.kind}{self.label(s.loop)}"
            case Product():
                parts = ", ".join(map(self.name, (s.lhs, s.rhs, s.acc, *s.scales)))
                return f"{self.name(s.result)}[] = {attributes(s.op)} {parts}"
            case Call():
                made = ", ".join(f"{self.name(b)}[]" for b in s.results)
                called = f"call {s.op.name}({', '.join(map(self.name, s.arguments))}) fault {s.fault}"
                return f"{made} = {called}" if made else called
        return self.memory(s)

    def memory(self, s: Stmt) -> str:
        match s:
            case Load():
                return self.place(s.buffer, s.index) + self.where(s.mask, s.other)
            case Store():
                return f"{self.place(s.buffer, s.index)} = {self.operand(s.value)}" + self.where(s.mask)
            case Read():
                return f"read {self.operand(s.address)}" + self.where(s.mask, s.other)
            case Write():
                how = "stream" if s.streams else "write"
                return f"{how} {self.operand(s.address)}, {self.operand(s.value)}" + self.where(s.mask)
            case Atomic():
                return f"{attributes(s.op)} {self.operands((s.address, *s.operands))}" + self.where(s.mask)
            case Locate():
                return f"address of {self.name(s.buffer)}"
            case Prefetch():
                return f"prefetch {self.operand(s.address)}"
            case Guard():
                box = "".join(f" [{self.operand(n)} by {self.operand(stride)}]" for n, stride in s.dims)
                what = f"{'write' if s.writes else 'read'} {self.operand(s.address)}{box} of {s.item}"
                where = f"{'only ' * s.strict}in {_home(s.home)}"
                text = f"guard {what} {where} fault {s.fault}"
                return text + self.where(s.mask)
            case Check():
                return f"check {self.operand(s.condition)} fault {s.fault}"
        raise AssertionError(s)

    def place(self, buffer: Buffer, at: tuple[Operand, ...]) -> str:
        return f"{self.name(buffer)}[{self.operands(at)}]"

    def where(self, mask: Operand | None, other: Operand | None = None) -> str:
        text = "" if mask is None else f" if {self.operand(mask)}"
        return text if other is None else f"{text} else {self.operand(other)}"

    def declaration(self, b: Buffer) -> str:
        shape = "x".join([*map(str, b.shape), str(b.element)])
        layout = "" if b.strides is None else f" strides {list(b.strides)}"
        return f"{self.name(b)} = {b.scope.value} {shape}{layout}"


def _type(v: Value) -> str:
    return str(v.element) if v.lanes == 1 else f"{v.element}x{v.lanes}"


def _home(home: Home | None) -> str:
    return "memory" if home is None else home.kind if home.kind == "own" else f"{home.kind} {home.number}"


def _number(x: Const) -> str:
    element: Scalar = x.element
    return str(signed(x.bits, element)) if element.name in WIDTHS else hex(x.bits)
