"""Every element-wise operation in every legal form, generated from the table, has the bits of the reference engine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import tilery
from tilery import Block, Op, Value, ops
from tilery.attrs import MemoryOrderingSemantics, TileEnum
from tilery.declare.fields import AttrKind
from tilery.diag import TileError
from tilery.engines.common.tiles import carrier
from tilery.ops import Broadcast, Entry, Iota, LoadPtrTko, Module, Offset, Pack, Reshape, Return, StorePtrTko, Unpack
from tilery.types import I8, I32, SCALARS, Function, Ptr, Scalar, Tile
from tilery.verifier.explain import require_legal

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch
from tilery.engines.cpu.callbacks import CALLED
from tilery.engines.cpu.lower.state import LOWERS
from tilery.engines.cpu.registry import ELEMENTWISE

WEAK = MemoryOrderingSemantics.WEAK
COUNT = 64
SHAPES = [(64,), (4, 16), (), (2, 1, 32)]
FEW = 40
MOST = 3
"""As many combinations of attributes are drawn for each combination of types; one, if there are many of these."""
AT_ONCE = 48
"""Forms in one kernel: compiling it takes longer than running it."""
NOT_HERE = {ops.Assume, ops.PrintTko, ops.Offset, ops.IntToPtr, ops.PtrToInt, ops.PtrToPtr}
CLASSES = sorted({*ELEMENTWISE, *CALLED} - NOT_HERE, key=lambda c: c.__name__)


def attributes(cls: type[Op]) -> list[dict[str, Any]]:
    """Combinations of flags and keywords."""
    fields: list[tuple[str, list[Any]]] = []
    for f in cls.opdef.attrs:
        if f.kind is AttrKind.FLAG:
            fields.append((f.attr, [False, True]))
        elif f.kind is AttrKind.ENUM:
            members: list[TileEnum] = list(f.only or tuple(f.enum or ()))
            fields.append((f.attr, members))
    names = [name for name, _ in fields]
    return [dict(zip(names, row)) for row in itertools.product(*(values for _, values in fields))]


class Kernel:
    """A kernel that computes operations on elements of buffers and stores the results."""

    def __init__(self) -> None:
        self.body = Block([])
        self.buffers: list[tuple[Scalar, bool]] = []
        """The element type of each parameter, and whether it is an input."""

    def emit(self, o: Any) -> Any:
        self.body.ops.append(o)
        return o

    def pointers(self, element: Scalar, shape: tuple[int, ...], given: bool) -> Value:
        """A new parameter, and pointers to its elements."""
        base = Value(Tile((), Ptr(element)))
        self.body.args.append(base)
        self.buffers.append((element, given))
        count = prod(shape)
        if not shape:
            return base
        flat = self.emit(Iota(result=Value(Tile((count,), I32)))).result
        one = self.reshape(base, (1,))
        wide = self.emit(Broadcast(source=one, result=Value(Tile((count,), Ptr(element))))).result
        return self.reshape(self.emit(Offset(ptr=wide, offset=flat)).result, shape)

    def reshape(self, v: Value, shape: tuple[int, ...]) -> Value:
        tile = v.type
        assert isinstance(tile, Tile)
        made: Value = v
        if tile.shape != shape:
            made = self.emit(Reshape(source=v, result=Value(Tile(shape, tile.element)))).result
        return made

    def load(self, element: Scalar, shape: tuple[int, ...]) -> Value:
        """Elements of a new buffer; those of four bits come in bytes."""
        narrow = element.bits == 4
        ptrs = self.pointers(I8 if narrow else element, (COUNT // 2,) if narrow else shape, True)
        made: Value = self.emit(LoadPtrTko(memory_ordering_semantics=WEAK, source=ptrs)).result
        return self.emit(Unpack(source=made, result=Value(Tile(shape, element)))).result if narrow else made

    def store(self, v: Value) -> None:
        tile = v.type
        assert isinstance(tile, Tile) and isinstance(tile.element, Scalar)
        element, shape = tile.element, tile.shape
        if element.bits == 4:
            element, shape = I8, (COUNT // 2,)
            v = self.emit(Pack(source=v, result=Value(Tile(shape, I8)))).result
        ptrs = self.pointers(element, shape, False)
        self.emit(StorePtrTko(memory_ordering_semantics=WEAK, destination=ptrs, value=v))

    def add(self, cls: Any, elements: tuple[Scalar, ...], shape: tuple[int, ...], attrs: dict[str, Any]) -> None:
        operands = cls.opdef.operands
        fields = {f.attr: self.load(e, shape) for f, e in zip(operands, elements)}
        if len(elements) > len(operands):
            fields[cls.opdef.outs[0].attr] = Value(Tile(shape, elements[-1]))
        self.store(self.emit(cls(**fields, **attrs)).results[0])

    def module(self) -> Module:
        self.emit(Return())
        entry = Entry(sym_name="k", function_type=Function([v.type for v in self.body.args]), body=self.body)
        module = Module(body=Block(ops=[entry]))
        require_legal(module)
        return module


def is_legal(cls: type[Op], elements: tuple[Scalar, ...], shape: tuple[int, ...], attrs: dict[str, Any]) -> bool:
    kernel = Kernel()
    try:
        kernel.add(cls, elements, shape, attrs)
        kernel.module()
    except TileError:
        return False
    return True


def element_rows(cls: type[Op]) -> Iterator[tuple[Scalar, ...]]:
    """Element types of the operands, and of the result where it does not follow from them."""
    scalars = list(SCALARS.values())
    count = len(cls.opdef.operands)
    if cls is ops.Select:
        yield from ((SCALARS["i1"], e, e) for e in scalars)
    elif cls is ops.FPowI:
        yield from itertools.product([e for e in scalars if e.is_float], [e for e in scalars if e.is_int])
    elif count == 1 and cls.opdef.outs[0].infer is None and not any(r.what == "type" for r in cls.opdef.rules):
        yield from itertools.product(scalars, scalars)
    else:
        yield from ((e,) * count for e in scalars)


SPECIAL32 = np.array([0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000, 0x3F800000,
                      0x00800000, 0x7F7FFFFF, 0x4B000001, 0xCF000000, 0x33800001], np.uint32)  # fmt: skip


def data(element: Scalar, rng: np.random.Generator) -> Any:
    dtype = carrier(element)
    raw = rng.integers(0, 256, COUNT * dtype.itemsize, np.uint8)
    if element.bits == 1:
        return raw & 1
    words = raw.view(f"u{dtype.itemsize}")
    if element.name in ("f32", "tf32"):
        words[: len(SPECIAL32)] = SPECIAL32
        near = rng.standard_normal(20).astype(np.float32)
        words[-20:] = near.view(np.uint32)
    elif element.name == "f64":
        words[:8] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, 1e-310]).view(np.uint64)
        words[-20:] = rng.standard_normal(20).view(np.uint64)
    elif element.is_int:
        words[:16] = np.arange(16, dtype=words.dtype) - words.dtype.type(8)
    rng.shuffle(words)
    return words


def results(kernel: Any, buffers: list[tuple[Scalar, bool]]) -> list[bytes]:
    rng = np.random.default_rng(11)
    args = [data(e, rng) if given else np.zeros(COUNT, f"u{carrier(e).itemsize}") for e, given in buffers]
    kernel.launch(1, args)
    return [a.tobytes() for a, (_, given) in zip(args, buffers) if not given]


def forms_of(cls: type[Op]) -> Iterator[tuple[tuple[Scalar, ...], tuple[int, ...], dict[str, Any]]]:
    shapes, rows = itertools.cycle(SHAPES), list(element_rows(cls))
    rng = random.Random(cls.__name__)
    for elements in rows:
        narrow = any(e.bits == 4 for e in elements)
        choices = attributes(cls)
        for attrs in rng.sample(choices, min(len(choices), MOST if len(rows) < FEW else 1)):
            form = elements, (COUNT,) if narrow else next(shapes), attrs
            if is_legal(cls, *form):
                yield form


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_form_has_the_bits_of_the_reference(cls: type[Op]) -> None:
    forms = list(forms_of(cls))
    assert forms
    for start in range(0, len(forms), AT_ONCE):
        some = forms[start : start + AT_ONCE]
        kernel = Kernel()
        for form in some:
            kernel.add(cls, *form)
        module = kernel.module()
        compiled = launch.load(module, exact=True).kernel()
        assert compiled.lowered is not None
        expected, got = (results(k, kernel.buffers) for k in (tilery.compile(module), compiled))
        assert [form for form, a, b in zip(some, expected, got) if a != b] == []


def test_at_most_ten_operations_are_called() -> None:
    assert len(CALLED) <= 10
    assert not [cls for cls in CALLED if not issubclass(cls, Op)]


def test_every_operation_has_code_or_is_called() -> None:
    from tilery.engines.reference.launch import EXECUTED

    outside = (ops.Module, ops.Global, ops.Entry)
    assert [c.__name__ for c in EXECUTED if c not in outside and c not in CALLED and c not in LOWERS] == []
