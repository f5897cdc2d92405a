"""LLVM IR as text: names, constants, vectors, loops and branches. It knows nothing of Tile IR.

No instruction carries promises (`nsw`, `inbounds`, fast-math): an address that wraps must wrap, not be undefined.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from .abi import Specialisation, Target

Number = int | str
"""An integer that is known now, or the name of one that is known when the code runs."""

BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8}
MANGLED = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}
RARELY = "!prof !1"
MAX_FRAME = 64 << 10
"""Bytes of the stack that a kernel may use: threads may have been given little."""
FOOTER = f"""
attributes #0 = {{ nounwind "no-trapping-math"="true" "prefer-vector-width"="512" "warn-stack-size"="{MAX_FRAME}" }}
!0 = !{{i32 1}}
!1 = !{{!"branch_weights", i32 1, i32 100000}}
"""


def vector(t: str, w: int) -> str:
    """The type of `w` elements; of one, the element itself."""
    return t if w == 1 else f"<{w} x {t}>"


def literal(x: float, t: str) -> str:
    """A constant as LLVM writes it: floats by the bits of the f64."""
    if t == "float":
        return f"0x{struct.unpack('<Q', struct.pack('<d', struct.unpack('<f', struct.pack('<f', x))[0]))[0]:016X}"
    if t == "double":
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    return str(int(x))


class Text:
    """A function that is being written."""

    def __init__(self, target: Target, wanted: Specialisation) -> None:
        self.target, self.wanted = target, wanted
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.needs: dict[str, None] = {}
        self.functions: dict[str, str] = {}
        self.count = 0
        self.label = "entry"
        self.memo: list[dict[Any, dict[Any, str]]] = [{}]
        """Names of what was computed, for each open loop or branch: by the first item of a key, and by the key."""

    # ------------------------------------------------------------ lines

    def new(self, hint: str = "v") -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def put(self, line: str) -> None:
        self.lines.append("  " + line)

    def let(self, line: str, hint: str = "v") -> str:
        name = self.new(hint)
        self.lines.append(f"  {name} = {line}")
        return name

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def mark(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.put(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, rarely: bool = False) -> None:
        self.put(f"br i1 {condition}, label %{yes}, label %{no}" + (f", {RARELY}" if rarely else ""))

    def slot(self, t: str) -> str:
        """A variable on the stack, which LLVM turns into registers."""
        name = self.new("slot")
        self.slots.append(f"  {name} = alloca {t}")
        return name

    # ------------------------------------------------------------ values

    def const(self, x: float, t: str, w: int = 1) -> str:
        return literal(x, t) if w == 1 else f"splat ({t} {literal(x, t)})"

    def constants(self, numbers: Sequence[float], t: str) -> str:
        if len(numbers) == 1:
            return literal(numbers[0], t)
        return f"<{', '.join(f'{t} {literal(n, t)}' for n in numbers)}>"

    def splat(self, x: str, t: str, w: int) -> str:
        if w == 1:
            return x
        if not x.startswith("%"):
            return f"splat ({t} {x})"
        one = self.let(f"insertelement <{w} x {t}> poison, {t} {x}, i64 0")
        return self.let(f"shufflevector <{w} x {t}> {one}, <{w} x {t}> poison, <{w} x i32> zeroinitializer")

    def op(self, name: str, t: str, w: int, *operands: str) -> str:
        """An instruction whose operands and result have one type."""
        return self.let(f"{name} {vector(t, w)} {', '.join(operands)}")

    def cast(self, name: str, x: str, source: str, target: str, w: int) -> str:
        return x if source == target else self.let(f"{name} {vector(source, w)} {x} to {vector(target, w)}")

    def compare(self, predicate: str, t: str, w: int, a: str, b: str) -> str:
        kind = "fcmp" if t in ("float", "double", "half") else "icmp"
        return self.let(f"{kind} {predicate} {vector(t, w)} {a}, {b}")

    def select(self, c: str, t: str, w: int, a: str, b: str) -> str:
        v = vector(t, w)
        return self.let(f"select {vector('i1', w)} {c}, {v} {a}, {v} {b}")

    def intrinsic(self, name: str, t: str, w: int, *operands: str) -> str:
        """An intrinsic of LLVM whose operands and result have one type."""
        v = vector(t, w)
        function = f"@llvm.{name}.{f'v{w}' if w > 1 else ''}{MANGLED.get(t, t)}"
        self.needs[f"declare {v} {function}({', '.join([v] * len(operands))})"] = None
        return self.let(f"call {v} {function}({', '.join(f'{v} {x}' for x in operands)})")

    def call(self, name: str, result: str, *operands: tuple[str, Number]) -> str:
        """A function of LLVM, `operands` with their types."""
        self.needs[f"declare {result} @llvm.{name}({', '.join(t for t, _ in operands)})"] = None
        return self.let(f"call {result} @llvm.{name}({', '.join(f'{t} {x}' for t, x in operands)})")

    def numbers(self, t: str, w: int) -> str:
        """The constant 0, 1, 2 and so on."""
        return self.constants(range(w), t)

    def part(self, x: str, t: str, w: int, at: int, n: int) -> str:
        """Some neighbours of a vector."""
        if n == w:
            return x
        if n == 1:
            return self.let(f"extractelement <{w} x {t}> {x}, i64 {at}")
        return self.shuffle(x, None, t, w, [at + i for i in range(n)])

    def shuffle(self, x: str, y: str | None, t: str, w: int, order: Sequence[int]) -> str:
        v = f"<{w} x {t}>"
        sel = ", ".join(f"i32 {i}" for i in order)
        return self.let(f"shufflevector {v} {x}, {v} {y or 'poison'}, <{len(order)} x i32> <{sel}>")

    def joined(self, parts: list[str], t: str, w: int) -> str:
        """Vectors of `w` elements as one; their number is a power of two."""
        while len(parts) > 1:
            if w == 1:
                one = [self.let(f"insertelement <2 x {t}> poison, {t} {a}, i64 0") for a in parts[::2]]
                parts = [self.let(f"insertelement <2 x {t}> {a}, {t} {b}, i64 1") for a, b in zip(one, parts[1::2])]
            else:
                parts = [self.shuffle(a, b, t, w, range(2 * w)) for a, b in zip(parts[::2], parts[1::2])]
            w *= 2
        return parts[0]

    # ------------------------------------------------------------ addresses and sizes

    def add(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.let(f"add i64 {a}, {b}")

    def sub(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.let(f"sub i64 {a}, {b}")

    def mul(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.let(f"mul i64 {a}, {b}")

    def both(self, a: str, b: str) -> str:
        if a == "true":
            return b
        return a if b == "true" else self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        if a == "false":
            return b
        return a if b == "false" else self.let(f"or i1 {a}, {b}")

    def opposite(self, a: str) -> str:
        return self.let(f"xor i1 {a}, true")

    def test(self, predicate: str, a: Number, b: Number) -> str:
        """A comparison of 64-bit integers."""
        return self.let(f"icmp {predicate} i64 {a}, {b}")

    def at(self, t: str, pointer: str, index: Number) -> str:
        return pointer if index == 0 else self.let(f"getelementptr {t}, ptr {pointer}, i64 {index}", "p")

    def load(self, t: str, pointer: str, align: int | None = None) -> str:
        return self.let(f"load {t}, ptr {pointer}" + (f", align {align}" if align else ""))

    def store(self, t: str, x: Number, pointer: str, align: int | None = None, note: str = "") -> None:
        self.put(f"store {t} {x}, ptr {pointer}" + (f", align {align}" if align else "") + note)

    def masked_load(self, t: str, p: str, w: int, mask: str | None, rest: str) -> str:
        """Neighbours in memory, and where the mask is false the elements of `rest`."""
        if mask is None:
            return self.load(vector(t, w), p, BYTES[t])
        v, f = f"<{w} x {t}>", f"@llvm.masked.load.v{w}{MANGLED.get(t, t)}.p0"
        self.needs[f"declare {v} {f}(ptr, i32, <{w} x i1>, {v})"] = None
        return self.let(f"call {v} {f}(ptr {p}, i32 {BYTES[t]}, <{w} x i1> {mask}, {v} {rest})")

    def masked_store(self, t: str, x: str, p: str, w: int, mask: str | None) -> None:
        """Store neighbours in memory where the mask is true."""
        if mask is None:
            self.store(vector(t, w), x, p, BYTES[t])
            return
        v, f = f"<{w} x {t}>", f"@llvm.masked.store.v{w}{MANGLED.get(t, t)}.p0"
        self.needs[f"declare void {f}({v}, ptr, i32, <{w} x i1>)"] = None
        self.put(f"call void {f}({v} {x}, ptr {p}, i32 {BYTES[t]}, <{w} x i1> {mask})")

    def prefetch(self, pointer: str) -> None:
        """Fetch a line of memory into the second cache; an address that is nowhere does no harm."""
        self.needs["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
        self.put(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 2, i32 1)")

    # ------------------------------------------------------------ branches

    def when(
        self, condition: str, yes: Callable[[], None], no: Callable[[], None] | None = None, rarely: bool = False
    ) -> None:
        """Two ways; nothing comes out of them but what they store."""
        if condition in ("true", "false"):
            chosen = yes if condition == "true" else no
            if chosen is not None:
                chosen()
            return
        then, other, join = (self.fresh(kind) for kind in ("then", "else", "join"))
        self.branch(condition, then, other, rarely)
        for label, emit in ((then, yes), (other, no)):
            self.mark(label)
            self.memo.append({})
            if emit is not None:
                emit()
            self.memo.pop()
            self.jump(join)
        self.mark(join)

    def known(self, key: Any) -> str | None:
        """Return the name of what has been computed for a key, whose first item is a value or a kind."""
        levels = (level.get(key[0], {}) for level in reversed(self.memo))
        return next((names[key] for names in levels if key in names), None)

    def remember(self, key: Any, name: str) -> str:
        """Keep a name for the rest of the innermost loop or branch."""
        self.memo[-1].setdefault(key[0], {})[key] = name
        return name
