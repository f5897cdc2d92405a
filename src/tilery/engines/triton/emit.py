"""Triton IR as text: values, and functions that append operations.

A tile is a tensor, or a scalar if it has rank 0. Narrow elements that Triton lacks are held in wider ones: i4 and f4 as
one per i8, the 8-bit scales as i8, tf32 as f32, and 8-bit floats as i8 where the target has no instructions for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import Op, Refused
from ...types import Ptr, Scalar, Tile, Type
from .targets import Target

MAX_TENSOR = 1 << 20
"""The elements that a tensor of Triton can have."""

INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f8E4M3FN": 8, "f8E5M2": 8}
CARRIERS = {"tf32": "f32", "f8E8M0FNU": "i8", "fnv8E5M3FNU": "i8", "f4E2M1FN": "i8", "i4": "i8"}


@dataclass(frozen=True, slots=True)
class Val:
    """A value of Triton IR."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return type_text(self.shape, self.element)

    @property
    def bits(self) -> int:
        return INTEGERS.get(self.element) or FLOAT_BITS[self.element]

    @property
    def is_pointer(self) -> bool:
        return self.element.startswith("!tt.ptr")


def type_text(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element


def carrier(element: Type, target: Target, memory: bool = False) -> str:
    """The element type that Triton IR has for an element of a tile, or of memory."""
    if isinstance(element, Ptr):
        return f"!tt.ptr<{carrier(element.pointee, target, memory=True)}>"
    assert isinstance(element, Scalar)
    if element.name in FLOAT_BITS and element.bits == 8 and element.name not in target.f8:
        return "i8"
    if memory and element.name == "i1":
        return "i8"
    return CARRIERS.get(element.name, element.name)


def flat(lines: Sequence[Any]) -> list[str]:
    """Return lines of which some are lists of lines."""
    out: list[str] = []
    for line in lines:
        if isinstance(line, list):
            out += flat(line)
        else:
            out.append(line)
    return out


class Emitter:
    """The text of a function body. `out` is the list of lines that operations are appended to."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.out: list[Any] = []
        self.count = 0
        self.op: Op | None = None
        """The operation that is lowered, for errors."""
        self.constants: dict[tuple[Any, ...], Val] = {}
        self.prologue: list[Any] = []
        """Lines at the start of the function: constants."""
        self.roots: dict[str, Val] = {}
        """The value of which another one, by name, is the same elements in another shape."""

    # ------------------------------------------------------------ lines and names

    def refuse(self, why: str) -> Refused:
        """An error about the operation that is lowered."""
        assert self.op is not None
        return Refused(self.op, f"{self.op.name}: the Triton engine cannot compile this: {why}")

    def line(self, text: str) -> None:
        self.out.append(text)

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"%{prefix}{self.count}"

    def make(self, text: str, shape: Sequence[int], element: str) -> Val:
        """Append an operation with one result."""
        value = Val(self.fresh(), tuple(shape), element)
        self.line(f"{value.name} = {text}")
        return value

    # ------------------------------------------------------------ constants

    def constant(self, number: int | str, shape: Sequence[int], element: str) -> Val:
        """A splat: an integer, or the bits of a float. Made once, at the start of the function."""
        shape = tuple(shape)
        key = (number, shape, element)
        if key not in self.constants:
            value = Val(self.fresh("c"), shape, element)
            self.constants[key] = value
            self.prologue += self._constant_lines(value, number)
        return self.constants[key]

    def _constant_lines(self, value: Val, number: int | str) -> list[str]:
        element = value.element
        if value.is_pointer:
            zero, made = Val(self.fresh("c"), value.shape, "i64"), value
            return [
                *self._constant_lines(zero, number),
                f"{made.name} = tt.int_to_ptr {zero.name} : {zero.type} -> {made.type}",
            ]
        if element in ("f8E4M3FN", "f8E5M2"):
            raw = Val(self.fresh("c"), value.shape, "i8")
            return [
                *self._constant_lines(raw, number),
                f"{value.name} = tt.bitcast {raw.name} : {raw.type} -> {value.type}",
            ]
        text = literal(number, element)
        if value.shape:
            return [f"{value.name} = arith.constant dense<{text}> : {value.type}"]
        return [f"{value.name} = arith.constant {text}" + ("" if element == "i1" else f" : {element}")]

    def like(self, number: int, value: Val) -> Val:
        """A splat of an integer with the type of a value."""
        return self.constant(number, value.shape, value.element)

    def real(self, number: float, value: Val) -> Val:
        """A splat of a float with the type of a value."""
        return self.constant(repr(float(number)), value.shape, value.element)

    # ------------------------------------------------------------ element by element

    def map(self, name: str, *args: Val, attributes: str = "") -> Val:
        """An operation whose operands and result have one type."""
        first = args[0]
        return self.make(f"{name} {names(args)}{attributes} : {first.type}", first.shape, first.element)

    def cast(self, name: str, value: Val, element: str) -> Val:
        to = type_text(value.shape, element)
        return self.make(f"{name} {value.name} : {value.type} to {to}", value.shape, element)

    def convert(self, name: str, value: Val, element: str) -> Val:
        """An operation of Triton that changes the element type."""
        to = type_text(value.shape, element)
        return self.make(f"{name} {value.name} : {value.type} -> {to}", value.shape, element)

    def bitcast(self, value: Val, element: str) -> Val:
        return value if value.element == element else self.convert("tt.bitcast", value, element)

    def compare(self, predicate: str, a: Val, b: Val) -> Val:
        name = "arith.cmpi" if a.element in INTEGERS else "arith.cmpf"
        return self.make(f"{name} {predicate}, {a.name}, {b.name} : {a.type}", a.shape, "i1")

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        kind = f"{condition.type}, " if condition.shape else ""
        text = f"arith.select {condition.name}, {a.name}, {b.name} : {kind}{a.type}"
        return self.make(text, a.shape, a.element)

    def integer(self, value: Val, element: str, signed: bool) -> Val:
        """An integer in another width."""
        have, want = INTEGERS[value.element], INTEGERS[element]
        if have == want:
            return value
        if want < have:
            return self.cast("arith.trunci", value, element)
        return self.cast("arith.extsi" if signed else "arith.extui", value, element)

    def external(self, symbol: str, element: str, *args: Val) -> Val:
        """A call of a function of the target's mathematics library, element by element."""
        kinds = ", ".join(a.type for a in args)
        to = type_text(args[0].shape, element)
        text = (
            f'tt.extern_elementwise {names(args)} {{libname = "", libpath = "", pure = true, symbol = "{symbol}"}} '
            f": ({kinds}) -> {to}"
        )
        return self.make(text, args[0].shape, element)

    def assembly(self, code: str, constraints: str, element: str, *args: Val, pure: bool = True) -> Val:
        """Inline PTX, element by element."""
        kinds = ", ".join(a.type for a in args)
        to = type_text(args[0].shape, element)
        text = (
            f'tt.elementwise_inline_asm "{code}" {{constraints = "{constraints}", packed_element = 1 : i32, '
            f"pure = {str(pure).lower()}}} {names(args)} : {kinds} -> {to}"
        )
        return self.make(text, args[0].shape, element)

    # ------------------------------------------------------------ shapes

    def splat(self, value: Val, shape: Sequence[int]) -> Val:
        shape = tuple(shape)
        if shape == value.shape:
            return value
        assert not value.shape
        text = f"tt.splat {value.name} : {value.type} -> {type_text(shape, value.element)}"
        return self.make(text, shape, value.element)

    def broadcast(self, value: Val, shape: Sequence[int]) -> Val:
        shape = tuple(shape)
        if shape == value.shape:
            return value
        text = f"tt.broadcast {value.name} : {value.type} -> {type_text(shape, value.element)}"
        return self.make(text, shape, value.element)

    def transpose(self, value: Val, order: Sequence[int]) -> Val:
        if list(order) == list(range(len(order))):
            return value
        shape = tuple(value.shape[i] for i in order)
        text = f"tt.trans {value.name} {{order = array<i32: {commas(order)}>}} : {value.type} -> "
        return self.make(text + type_text(shape, value.element), shape, value.element)

    def reshape(self, value: Val, shape: Sequence[int]) -> Val:
        """The elements in another shape. Unit dimensions are added by expand_dims: Triton loses alignment otherwise.

        A shape of a shape starts from the first value: operands of products then stay in shared memory.
        """
        shape = tuple(shape)
        value = self.roots.get(value.name, value)
        made = self._reshape(value, shape)
        if shape and value.shape and made.name != value.name:
            self.roots[made.name] = value
        return made

    def _reshape(self, value: Val, shape: tuple[int, ...]) -> Val:
        if shape == value.shape:
            return value
        if not value.shape:
            return self.splat(value, shape)
        if not shape:
            return self.only(self.reshape(value, (1,)))
        axes = unit_axes(value.shape, shape)
        if axes is None:
            to = type_text(shape, value.element)
            return self.make(f"tt.reshape {value.name} : {value.type} -> {to}", shape, value.element)
        for axis in axes:
            wide = (*value.shape[:axis], 1, *value.shape[axis:])
            text = f"tt.expand_dims {value.name} {{axis = {axis} : i32}} : {value.type} -> "
            value = self.make(text + type_text(wide, value.element), wide, value.element)
        return value

    def only(self, value: Val) -> Val:
        """The only element of a tensor of shape (1,), as a scalar."""
        if value.element == "i1":
            return self.compare("ne", self.only(self.integer(value, "i32", False)), self.constant(0, (), "i32"))
        if value.is_pointer:
            number = self.only(self.convert("tt.ptr_to_int", value, "i64"))
            return self.convert("tt.int_to_ptr", number, value.element)
        if FLOAT_BITS.get(value.element) == 8:
            return self.bitcast(self.only(self.bitcast(value, "i8")), value.element)
        kind, a, b = value.element, self.fresh("x"), self.fresh("y")
        body = f"({{\n^bb0({a}: {kind}, {b}: {kind}):\n  tt.reduce.return {a} : {kind}\n}})"
        return self.make(f'"tt.reduce"({value.name}) <{{axis = 0 : i32}}> {body} : ({value.type}) -> {kind}', (), kind)

    def iota(self, size: int, element: str = "i32") -> Val:
        if size == 1:
            return self.constant(0, (1,), element)
        if size > MAX_TENSOR:
            raise self.refuse(f"a tile has more than {MAX_TENSOR} elements")
        text = f"tt.make_range {{start = 0 : i32, end = {size} : i32}} : tensor<{size}xi32>"
        return self.integer(self.make(text, (size,), "i32"), element, signed=False)

    def positions(self, shape: Sequence[int], dim: int) -> Val:
        """For each element of a tile, its position along a dimension."""
        line = [shape[dim] if i == dim else 1 for i in range(len(shape))]
        return self.broadcast(self.reshape(self.iota(shape[dim]), line), shape)

    def join(self, a: Val, b: Val) -> Val:
        shape = (*a.shape, 2)
        to = type_text(shape, a.element)
        return self.make(f"tt.join {a.name}, {b.name} : {a.type} -> {to}", shape, a.element)

    def split(self, value: Val) -> tuple[Val, Val]:
        """The two halves along the last dimension, which has size two."""
        parts = [Val(self.fresh(), value.shape[:-1], value.element) for _ in range(2)]
        self.line(f"{names(parts)} = tt.split {value.name} : {value.type} -> {parts[0].type}")
        return parts[0], parts[1]

    def pick(self, value: Val, index: Val, dim: int) -> Val:
        """The elements at one position along a dimension, which disappears.

        All others are replaced by zero bits and the rest is combined: Triton's own gather hangs on some shapes.
        """
        held = self.held(value)
        bits = self.bitcast(held, f"i{held.bits}")
        here = self.compare("eq", self.positions(value.shape, dim), self.splat(index, value.shape))
        chosen = self.select(here, bits, self.like(0, bits))
        found = self.reduced("arith.ori", chosen, dim)
        return self.released(self.bitcast(found, held.element), value.element)

    def reduced(self, name: str, value: Val, dim: int) -> Val:
        """Combine the elements along a dimension with an operation."""
        kind, a, b, c = value.element, self.fresh("x"), self.fresh("y"), self.fresh("z")
        shape = value.shape[:dim] + value.shape[dim + 1 :]
        body = f"{c} = {name} {a}, {b} : {kind}\n  tt.reduce.return {c} : {kind}"
        head = f'"tt.reduce"({value.name}) <{{axis = {dim} : i32}}> ({{\n^bb0({a}: {kind}, {b}: {kind}):\n  {body}\n}})'
        return self.make(f"{head} : ({value.type}) -> {type_text(shape, kind)}", shape, kind)

    def repeated(self, value: Val, count: int, dim: int) -> Val:
        """The tile several times, one after the other along a dimension."""
        shape = value.shape
        held = self.reshape(self.held(value), (*shape[:dim], 1, *shape[dim:]))
        wide = self.broadcast(held, (*shape[:dim], count, *shape[dim:]))
        made = self.reshape(wide, (*shape[:dim], count * shape[dim], *shape[dim + 1 :]))
        return self.released(made, value.element)

    def held(self, value: Val) -> Val:
        """The value as an element type that every operation on shapes accepts."""
        if value.is_pointer:
            return self.convert("tt.ptr_to_int", value, "i64")
        if value.element == "i1":
            return self.integer(value, "i32", signed=False)
        return self.bitcast(value, "i8") if FLOAT_BITS.get(value.element) == 8 else value

    def released(self, value: Val, element: str) -> Val:
        """The opposite of `held`."""
        if element.startswith("!tt.ptr"):
            return self.convert("tt.int_to_ptr", value, element)
        if element == "i1":
            return self.compare("ne", value, self.like(0, value))
        return self.bitcast(value, element)


def names(values: Sequence[Val]) -> str:
    return ", ".join(v.name for v in values)


def types(values: Sequence[Val]) -> str:
    return ", ".join(v.type for v in values)


def commas(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def unit_axes(old: Sequence[int], new: Sequence[int]) -> list[int] | None:
    """Return the places of unit dimensions that make one shape from another; None if more must change.

    >>> unit_axes((8,), (1, 8, 1)), unit_axes((8, 1), (1, 8))
    ([0, 2], None)
    """
    shape, axes = list(old), []
    for i, size in enumerate(new):
        if i < len(shape) and shape[i] == size:
            continue
        if size != 1:
            return None
        shape.insert(i, 1)
        axes.append(i)
    return axes if len(shape) == len(new) else None


def literal(number: int | str, element: str) -> str:
    """The text of a constant: a decimal, or the bits of a float."""
    if element == "i1":
        return "true" if number else "false"
    if element in INTEGERS:
        bits = INTEGERS[element]
        assert isinstance(number, int)
        return str((number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
    if isinstance(number, str):
        return number if any(c in number for c in ".en") else number + ".0"
    return f"0x{number:0{FLOAT_BITS[element] // 4}X}"


def tile_type(type: Type) -> Tile:
    assert isinstance(type, Tile)
    return type
