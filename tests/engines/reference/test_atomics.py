"""Atomic operations against a loop that takes one element after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.attrs import AtomicRMWMode as Mode
from tilery.engines.common.memory import Fault, Memory
from tilery.engines.common.numerics.arithmetic import add
from tilery.engines.common.numerics.sums import add_floats, running_sums
from tilery.engines.common.tiles import Array, carrier
from tilery.engines.reference.ops.atomics import atomic_cas_tko, atomic_red_view_tko, atomic_rmw_tko
from tilery.engines.reference.view_access import TensorRef
from tilery.ir import walk
from tilery.ops import AtomicRedViewTko
from tilery.types import BF16, F16, F32, F64, I32, I64, Ptr, Scalar, Tile

CASES: list[tuple[Mode, Scalar]] = [(mode, element) for mode in Mode for element in (I32, I64) if mode is not Mode.ADDF]
CASES += [(Mode.XCHG, F32), (Mode.XCHG, F64), *((Mode.ADDF, e) for e in (F16, BF16, F32, F64))]
SHAPE = (2, 8)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As the machine does: overflow and NaN are results like others."""
    with np.errstate(all="ignore"):
        yield


def batch_of(memory: Memory, lanes: int) -> Any:
    return SimpleNamespace(memory=memory, lanes=lanes)


def operation(shape: tuple[int, ...], element: Scalar, mode: Mode | None = None) -> Any:
    """As much of an operation as its function looks at."""
    return SimpleNamespace(pointers=SimpleNamespace(type=Tile(shape, Ptr(element))), mode=mode)


def combined(mode: Mode, old: int, arg: int, element: Scalar) -> int:
    """The bits that one element leaves in memory."""
    bits = element.bits
    signed = [n - (n >> (bits - 1) << bits) for n in (old, arg)]
    match mode:
        case Mode.AND:
            return old & arg
        case Mode.OR:
            return old | arg
        case Mode.XOR:
            return old ^ arg
        case Mode.ADD:
            return (old + arg) % (1 << bits)
        case Mode.MAX:
            return max(signed) % (1 << bits)
        case Mode.MIN:
            return min(signed) % (1 << bits)
        case Mode.UMAX:
            return max(old, arg)
        case Mode.UMIN:
            return min(old, arg)
        case Mode.XCHG:
            return arg
    a, b = (np.array([n], f"u{bits // 8}").view(carrier(element)) for n in (old, arg))
    return int(add_floats(a, b).view(f"u{bits // 8}")[0])


def setup(seed: int, element: Scalar, lanes: int, crowd: int) -> tuple[Array, Memory, Array, Array, Any]:
    """Memory, addresses of at most `crowd` different elements, arguments and an operation."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(f"u{element.bits // 8}")
    if element.is_float:
        content = rng.standard_normal(64 + 16 * lanes).astype(np.float32)
        halves = content.view(np.uint32)
        bits = {16: halves >> 16, 32: halves, 64: content.astype(np.float64).view(np.uint64)}[element.bits]
        if element is F16:
            bits = content.astype(np.float16).view(np.uint16)
        numbers = bits.astype(dtype)
    else:
        numbers = rng.integers(0, 1 << 62, 64 + 16 * lanes, np.uint64).astype(dtype) * dtype.type(5)
    buffer, args = numbers[:64].copy(), numbers[64:].reshape(lanes, *SHAPE)
    memory = Memory()
    memory.add(buffer.ctypes.data, buffer.nbytes, "buffer", owner=buffer)
    index = rng.permutation(64)[:crowd][rng.integers(0, crowd, (lanes, *SHAPE))]
    if crowd == 64:
        index = rng.permutation(64)[: lanes * 16].reshape(lanes, *SHAPE)
    addresses = buffer.ctypes.data + index * dtype.itemsize
    return buffer, memory, addresses, args.view(carrier(element)), operation(SHAPE, element)


@pytest.mark.parametrize(("mode", "element"), CASES, ids=lambda v: getattr(v, "text", v))
@pytest.mark.parametrize("crowd", [1, 3, 64])
@pytest.mark.parametrize("masked", [False, True])
def test_read_modify_write_in_order(mode: Mode, element: Scalar, crowd: int, masked: bool) -> None:
    lanes = 4
    buffer, memory, addresses, args, o = setup(crowd, element, lanes, crowd)
    o.mode = mode
    mask = np.random.default_rng(9).integers(0, 2, addresses.shape).astype(bool) if masked else None
    expected, wanted = buffer.tolist(), np.zeros(addresses.shape, buffer.dtype)
    bits = args.view(buffer.dtype)
    for place in np.ndindex(addresses.shape):
        if mask is None or mask[place]:
            at = (int(addresses[place]) - buffer.ctypes.data) // buffer.itemsize
            wanted[place] = expected[at]
            expected[at] = combined(mode, expected[at], int(bits[place]), element)
    old, _ = atomic_rmw_tko(o, batch_of(memory, lanes), addresses, args, mask, None)
    assert old.dtype == args.dtype
    assert (old.view(buffer.dtype) == wanted).all()
    assert buffer.tolist() == expected


@pytest.mark.parametrize("element", [I32, I64, F32, F64], ids=str)
@pytest.mark.parametrize("crowd", [1, 3, 64])
def test_compare_and_swap_in_order(element: Scalar, crowd: int) -> None:
    lanes = 4
    buffer, memory, addresses, _, o = setup(crowd, element, lanes, crowd)
    rng = np.random.default_rng(3)
    buffer[:] = rng.integers(0, 2, 64)
    compare = rng.integers(0, 2, addresses.shape).astype(buffer.dtype)
    values = rng.integers(0, 2, addresses.shape).astype(buffer.dtype)
    expected, wanted = buffer.tolist(), np.zeros(addresses.shape, buffer.dtype)
    for place in np.ndindex(addresses.shape):
        at = (int(addresses[place]) - buffer.ctypes.data) // buffer.itemsize
        wanted[place] = expected[at]
        if expected[at] == compare[place]:
            expected[at] = int(values[place])
    kind = carrier(element)
    old, _ = atomic_cas_tko(o, batch_of(memory, lanes), addresses, compare.view(kind), values.view(kind), None, None)
    assert (old.view(buffer.dtype) == wanted).all() and buffer.tolist() == expected


def test_floats_are_compared_by_their_bits() -> None:
    buffer = np.array([-0.0, np.nan], np.float32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 8, "buffer", owner=buffer)
    o = operation((2,), F32)
    compare, values = np.array([[0.0, np.nan]], np.float32), np.array([[5, 6]], np.float32)
    addresses = buffer.ctypes.data + np.array([[0, 4]])
    atomic_cas_tko(o, batch_of(memory, 1), addresses, compare, values, None, None)
    assert buffer[0] == 0 and buffer[1] == 6


@pytest.mark.parametrize("lanes", [1, 5])
def test_every_tile_block_takes_part(lanes: int) -> None:
    """Even where address and argument are the same for all."""
    buffer = np.array([10], np.int32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 4, "buffer", owner=buffer)
    o = operation((), I32, Mode.ADD)
    one = np.array([1], np.int32)
    old, _ = atomic_rmw_tko(o, batch_of(memory, lanes), np.array([buffer.ctypes.data]), one, None, None)
    assert old.tolist() == list(range(10, 10 + lanes)) and buffer[0] == 10 + lanes


@pytest.mark.parametrize("element", [F16, F32, F64, BF16], ids=str)
@pytest.mark.parametrize("special", [None, 0x1, "nan"])
def test_long_sums_are_made_in_order(element: Scalar, special: Any) -> None:
    """With and without numbers that keep the fast way from being taken."""
    rng = np.random.default_rng(1)
    args = rng.standard_normal((3, 128)).astype(np.float32)
    terms = (args.view(np.uint32) >> 16).astype(np.uint16) if element is BF16 else args.astype(carrier(element))
    if special is not None:
        number = -1 if special == "nan" else special
        terms.reshape(-1).view(f"i{terms.itemsize}")[100] = number
    buffer = np.zeros(2, terms.dtype)
    memory = Memory()
    memory.add(buffer.ctypes.data, buffer.nbytes, "buffer", owner=buffer)
    o = operation((128,), element, Mode.ADDF)
    index = rng.integers(0, 2, (3, 128))
    addresses = buffer.ctypes.data + index * buffer.itemsize
    wanted = np.zeros(2, terms.dtype)
    bits = np.dtype(f"u{terms.itemsize}")
    old = np.empty_like(terms)
    for place in np.ndindex(3, 128):
        at = index[place]
        old[place] = wanted[at]
        wanted[at : at + 1] = add_floats(wanted[at : at + 1], terms[place[0], place[1] : place[1] + 1])
    got, _ = atomic_rmw_tko(o, batch_of(memory, 3), addresses, terms, None, None)
    assert (buffer.view(bits) == wanted.view(bits)).all()
    assert (got.view(bits) == old.view(bits)).all()


@pytest.mark.parametrize(
    ("old", "arg", "total"),
    [
        (0x00000001, 0x00000000, 0x00000000),
        (0x80000001, 0x80000000, 0x80000000),
        (0x007FFFFF, 0x007FFFFF, 0x00000000),
        (0x00800001, 0x80800000, 0x00000000),
        (0x7F800000, 0xFF800000, 0x7FFFFFFF),
        (0xFFC01234, 0x3F800000, 0x7FFFFFFF),
        (0x3F800000, 0x33800000, 0x3F800000),
    ],
)
def test_sums_of_f32_flush_subnormals(old: int, arg: int, total: int) -> None:
    """Patterns that an H200 gave."""
    a, b = (np.array([n], np.uint32).view(np.float32) for n in (old, arg))
    assert int(add_floats(a, b).view(np.uint32)[0]) == total


@pytest.mark.parametrize(
    ("old", "arg", "total"),
    [
        (0x0000000000000001, 0x0000000000000001, 0x0000000000000002),
        (0x3FF0000000000000, 0x7FF0000000000001, 0x7FF0000000000001),
        (0xFFF0000000000001, 0x3FF0000000000000, 0xFFF0000000000001),
        (0x7FF8000000001234, 0xFFF0000000000001, 0xFFF0000000000001),
    ],
)
def test_sums_of_f64_keep_nans(old: int, arg: int, total: int) -> None:
    """Patterns that an H200 gave."""
    a, b = (np.array([n], np.uint64).view(np.float64) for n in (old, arg))
    assert int(add_floats(a, b).view(np.uint64)[0]) == total


@pytest.mark.parametrize("dtype", [np.float16, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("power", [None, -45, -38, 0, 38])
def test_running_sums_are_many_sums(dtype: Any, power: int | None) -> None:
    """Of any bits, and of numbers of about a size: around the smallest and largest ones, too."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        bits = rng.integers(0, 256, 40 * np.dtype(dtype).itemsize, np.uint8)
        terms = bits.view(dtype)
        if power is not None:
            wide = (rng.standard_normal(40) * 10.0**power).astype(np.float32)
            terms = wide.view(np.uint16)[1::2] if dtype == np.uint16 else wide.astype(dtype)
        wanted = [terms[:1]]
        for n in range(1, len(terms)):
            wanted.append(add_floats(wanted[-1], terms[n : n + 1]))
        assert running_sums(terms).tobytes() == np.concatenate(wanted).tobytes()


def test_f16_sums_round_once() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 0x7C00, 4096).astype(np.uint16).view(np.float16) for _ in range(2))
    assert (add_floats(a, b).view(np.uint16) == add(a, b).view(np.uint16)).all()
    exact = a.astype(np.float64) + b
    assert (add_floats(a, b) == exact.astype(np.float16)).all()


# ---------------------------------------------------------------- who waits


@pytest.mark.parametrize(
    ("mode", "arg", "changes"),
    [(Mode.ADD, 0, 0), (Mode.ADD, 1, 1), (Mode.XCHG, 7, 0), (Mode.XCHG, 8, 1), (Mode.MAX, 3, 0), (Mode.OR, 7, 0)],
)
def test_only_real_changes_count(mode: Mode, arg: int, changes: int) -> None:
    buffer = np.array([7], np.int32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 4, "buffer", owner=buffer)
    o = operation((), I32, mode)
    one = np.array([arg], np.int32)
    atomic_rmw_tko(o, batch_of(memory, 1), np.array([buffer.ctypes.data]), one, None, None)
    assert memory.changes == changes


def test_a_failing_swap_changes_nothing() -> None:
    buffer = np.array([7], np.int32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 4, "buffer", owner=buffer)
    o = operation((), I32)
    at, two = np.array([buffer.ctypes.data]), np.array([2], np.int32)
    for lanes in (1, 3):
        atomic_cas_tko(o, batch_of(memory, lanes), at, two, two, None, None)
    assert memory.changes == 0 and buffer[0] == 7


def test_read_only_memory_is_a_fault_even_without_a_change() -> None:
    buffer = np.array([7, 7], np.int32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 8, "buffer", writable=False, owner=buffer)
    o = operation((2,), I32, Mode.ADD)
    at, mask = buffer.ctypes.data + np.array([[0, 4]]), np.array([[False, True]])
    with pytest.raises(Fault, match="is read-only") as caught:
        zero = np.zeros((1, 2), np.int32)
        atomic_rmw_tko(o, batch_of(memory, 1), at, zero, mask, None)
    assert caught.value.where == (0, 1)


# ---------------------------------------------------------------- through views


@pytest.mark.parametrize("steps", [None, (1, 2)])
def test_reduction_through_a_view_touches_the_tensor_only(steps: tuple[int, int] | None) -> None:
    tensor = "tensor_view<5x?xi32, strides=[8,1]>"
    made = f"partition_view<tile=(4x4), {tensor}>"
    if steps is not None:
        made = f"strided_view<tile=(4x4), traversal_strides=[{steps[0]},{steps[1]}], {tensor}>"
    text = f"""
    entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
      %t = make_tensor_view %p, shape = [5, %n], strides = [8, 1] : tile<i32> -> {tensor}
      %v = make_{made.split("<")[0]} %t : {made}
      %a = constant <i32: 1> : tile<4x4xi32>
      %0 = atomic_red_view_tko relaxed device %v[%n, %n], add, %a : tile<4x4xi32>, {made}, tile<i32> -> token
      return
    }}"""
    o = next(o for o in walk(tilery.parse(text)) if isinstance(o, AtomicRedViewTko))
    buffer = np.zeros((5, 8), np.int32)
    memory = Memory()
    memory.add(buffer.ctypes.data, buffer.nbytes, "buffer", owner=buffer)
    view = TensorRef(np.array([buffer.ctypes.data]), (5, np.array([6, 7, 3])), (8, 1))
    rows, columns = np.array([0, 1, 1], np.int32), np.array([1, 0, -1], np.int32)
    values = np.arange(48, dtype=np.int32).reshape(3, 4, 4)
    wanted = np.zeros((5, 8), np.int32)
    for lane, i, j in np.ndindex(3, 4, 4):
        row = int(rows[lane]) * (steps[0] if steps else 4) + i
        column = int(columns[lane]) % (1 << 32) * (steps[1] if steps else 4) + j
        if row < 5 and column < (6, 7, 3)[lane]:
            wanted[row, column] += values[lane, i, j]
    atomic_red_view_tko(o, batch_of(memory, 3), view, (rows, columns), values, None)
    assert (buffer == wanted).all()


# ---------------------------------------------------------------- whole kernels


@pytest.mark.parametrize("mode", ["addf", "xchg"])
def test_bits_do_not_depend_on_the_batch(mode: str) -> None:
    text = f"""
    entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %o: tile<ptr<f32>>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %i = offset %q, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %a = load_ptr_tko weak %i : tile<ptr<f32>> -> tile<f32>, token
      %w, %b = atomic_rmw_tko relaxed device %p, {mode}, %v : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
      %j = offset %o, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %c = store_ptr_tko weak %j, %w : tile<ptr<f32>>, tile<f32> -> token
      return
    }}"""
    kernel = tilery.compile(tilery.parse(text))
    terms = np.random.default_rng(4).standard_normal(100).astype(np.float32)
    results = []
    for batch in (1, 7, 100):
        total, old = np.zeros(1, np.float32), np.zeros(100, np.float32)
        kernel.launch(100, [total, terms, old], batch=batch)
        results.append((total.tobytes(), old.tobytes()))
    assert results[0] == results[1] == results[2]
    assert struct.unpack("<f", results[0][1][:4]) == (0.0,)
