"""Loads and stores by address, and the memory behind them, against loops over single elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.memory import Fault, Memory
from tilery.engines.common.tiles import Array, carrier
from tilery.engines.reference.ops.memory import load_ptr_tko, store_ptr_tko
from tilery.engines.reference.rows import contiguous_rows
from tilery.ir import Refused
from tilery.types import SCALARS, Ptr, Scalar, Tile

F32 = np.dtype(np.float32)
KINDS = ("run", "rows", "scattered", "same")
ELEMENTS = [SCALARS[name] for name in ("i1", "i8", "f16", "tf32", "f64")]


def registered(*arrays: Array) -> Memory:
    memory = Memory()
    for n, array in enumerate(arrays):
        memory.add(array.ctypes.data, array.nbytes, f"argument {n}", writable=array.flags.writeable, owner=array)
    return memory


def batch_of(memory: Memory, lanes: int = 1) -> Any:
    return SimpleNamespace(memory=memory, lanes=lanes)


def operation(element: Scalar, shape: tuple[int, ...]) -> Any:
    """As much of a load or store as its function looks at."""
    pointers = SimpleNamespace(type=Tile(shape, Ptr(element)))
    return SimpleNamespace(source=pointers, destination=pointers, name="access", loc=None)


def some_addresses(
    rng: np.random.Generator, kind: str, lanes: int, shape: tuple[int, int], base: int, item: int
) -> Array:
    """Addresses within 1024 elements."""
    rows = rng.integers(0, 1024 - shape[1], (lanes, shape[0], 1))
    index = {
        "run": rows + np.arange(shape[1]),
        "rows": rng.permutation(16)[: shape[0]].reshape(1, -1, 1) * 32
        + 16 * np.arange(lanes).reshape(-1, 1, 1)
        + np.arange(shape[1]),
        "scattered": rng.integers(0, 1024, (lanes, *shape)),
        "same": np.full((lanes, *shape), 5),
    }[kind]
    return base + item * np.asarray(index, np.int64)


def some_mask(rng: np.random.Generator, kind: int, lanes: int, shape: tuple[int, int]) -> Array | None:
    """No mask; nothing, all or some elements; the ends or the beginnings of rows."""
    columns, limit = np.arange(shape[1]), rng.integers(0, shape[1] + 1, (lanes, shape[0], 1))
    random = rng.integers(0, 2, (lanes, *shape)).astype(bool)
    whole = np.zeros((lanes, *shape), bool)
    return [None, whole, ~whole, random, columns < limit, columns >= limit][kind]


# ---------------------------------------------------------------- load and store


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("masked", range(6))
def test_load_and_store_of_each_element(kind: str, element: Scalar, masked: int) -> None:
    rng = np.random.default_rng(masked)
    item = carrier(element).itemsize
    for pointers, masks, values in ((1, 1, 1), (3, 3, 3), (3, 1, 3), (1, 3, 1), (1, 1, 3), (3, 3, 1)):
        shape = (2, 16)
        raw = rng.integers(0, 3, 1024 * item).astype(np.uint8)
        memory = registered(raw)
        addresses = some_addresses(rng, kind, pointers, shape, raw.ctypes.data, item)
        mask = some_mask(rng, masked, masks, shape)
        bits = rng.integers(0, 2, (values, *shape, item)).astype(np.uint8)
        tile = bits.view(carrier(element)).reshape(values, *shape)
        got, _ = load_ptr_tko(operation(element, shape), batch_of(memory, 3), addresses, mask, tile, None)
        for lane in range(3):
            for place in np.ndindex(*shape):
                at = int(addresses[(lane % pointers, *place)]) - raw.ctypes.data
                shown = mask is None or mask[(lane % masks, *place)]
                wanted = raw[at : at + item].tobytes() if shown else tile[(lane % values, *place)].tobytes()
                if element.bits == 1:
                    wanted = bytes([any(wanted)])
                assert got[(lane % len(got), *place)].tobytes() == wanted
        expected = raw.copy()
        for lane in range(3):
            for place in np.ndindex(*shape):
                at = int(addresses[(lane % pointers, *place)]) - raw.ctypes.data
                if mask is None or mask[(lane % masks, *place)]:
                    expected[at : at + item] = bits[(lane % values, *place)]
        store_ptr_tko(operation(element, shape), batch_of(memory, 3), addresses, tile, mask, None)
        assert (raw == expected).all()


def test_masked_elements_without_padding_are_zero_and_never_touched() -> None:
    buffer = np.arange(1, 5, dtype=np.float32)
    addresses = np.array([[buffer.ctypes.data, 3]])
    mask = np.array([[True, False]])
    o, memory = operation(SCALARS["f32"], (2,)), registered(buffer)
    got, _ = load_ptr_tko(o, batch_of(memory), addresses, mask, None, None)
    assert got.tolist() == [[1, 0]]
    store_ptr_tko(o, batch_of(memory), addresses, np.array([[9, 9]], np.float32), mask, None)
    assert buffer.tolist() == [9, 2, 3, 4]


@pytest.mark.parametrize("mask", [None, [True, True, True, False]])
def test_two_elements_of_four_bits_in_a_byte(mask: list[bool] | None) -> None:
    buffer = np.array([0x21, 0x43], np.uint8)
    addresses = buffer.ctypes.data + np.array([[0, 0, 1, 1]])
    o, memory = operation(SCALARS["f4E2M1FN"], (4,)), registered(buffer)
    chosen = None if mask is None else np.array([mask])
    got, _ = load_ptr_tko(o, batch_of(memory), addresses, chosen, None, None)
    assert got.tolist() == [[1, 2, 3, 4 if mask is None else 0]]
    store_ptr_tko(o, batch_of(memory), addresses, np.array([[5, 6, 7, 8]], np.uint8), chosen, None)
    assert buffer.tolist() == [0x65, 0x87 if mask is None else 0x47]
    with pytest.raises(Refused, match="pairs that share a byte"):
        load_ptr_tko(o, batch_of(memory), addresses[:, ::2].repeat(4, 1)[:, 3:5], None, None, None)


def test_rows_of_neighbours_are_found() -> None:
    rows = np.array([[0], [400]]) + np.arange(0, 64, 4)
    found = contiguous_rows(rows, 4)
    assert found is not None and found.tolist() == [0, 400]
    assert contiguous_rows(rows, 8) is None
    rows[1, 3] += 4
    assert contiguous_rows(rows, 4) is None


# ---------------------------------------------------------------- faults


def fault_of(addresses: Array, mask: Array | None = None, size: int = 64) -> Fault:
    """The fault of a load from a buffer of so many floats at address 0 of `addresses`."""
    buffer = np.zeros(size, np.float32)
    memory = registered(buffer)
    with pytest.raises(Fault) as caught:
        load_ptr_tko(
            operation(SCALARS["f32"], addresses.shape[1:]),
            batch_of(memory),
            addresses + buffer.ctypes.data,
            mask,
            None,
            None,
        )
    assert caught.value.address == int((addresses + buffer.ctypes.data)[caught.value.where])
    return caught.value


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 0, 3), (2, 1, 15)])
def test_fault_names_the_element(masked: bool, place: tuple[int, ...]) -> None:
    addresses = np.arange(96).reshape(3, 2, 16) * 0
    addresses[place] = 4 * 64
    mask = np.random.default_rng(1).integers(0, 2, addresses.shape).astype(bool) if masked else None
    if mask is not None:
        mask[place] = True
    fault = fault_of(addresses, mask)
    assert fault.where == place
    assert fault.reason.startswith("is outside every buffer: 0 bytes after the end of")


@pytest.mark.parametrize("masked", [False, True])
def test_fault_in_a_run_names_the_element(masked: bool) -> None:
    addresses = np.arange(3 * 2 * 16).reshape(3, 2, 16) * 4
    mask = np.broadcast_to(np.arange(16) < 10, addresses.shape) if masked else None
    assert fault_of(addresses, mask, size=74).where == ((2, 1, 0) if masked else (2, 0, 10))


def test_fault_of_an_odd_address() -> None:
    assert fault_of(np.array([[0, 6]])).reason == "is not a multiple of 4, the size of an element"


def test_a_store_that_faults_writes_nothing() -> None:
    buffer = np.zeros(4, np.float32)
    memory = registered(buffer)
    addresses = buffer.ctypes.data + np.array([[0, 4, 16]])
    with pytest.raises(Fault):
        memory.store(addresses, np.ones((1, 3), np.float32))
    assert not buffer.any()


def test_read_only_memory_among_others() -> None:
    first, second = np.zeros(4, np.float32), np.zeros(4, np.float32)
    second.flags.writeable = False
    memory = registered(first, second)
    addresses = np.array([[first.ctypes.data, second.ctypes.data + 8]])
    with pytest.raises(Fault, match=r"argument 1.*, which is read-only") as caught:
        memory.store(addresses, np.ones((1, 2), np.float32))
    assert caught.value.where == (0, 1) and not first.any()


# ---------------------------------------------------------------- what others see


def test_changes_count_writes_only() -> None:
    buffer = np.zeros(32, np.float32)
    memory = registered(buffer)
    o = operation(SCALARS["f32"], (16,))
    addresses = buffer.ctypes.data + 4 * np.arange(32).reshape(2, 16)
    values = np.ones((2, 16), np.float32)
    load_ptr_tko(o, batch_of(memory, 2), addresses, None, None, None)
    store_ptr_tko(o, batch_of(memory, 2), addresses, values, np.zeros((2, 16), bool), None)
    assert memory.changes == 0
    store_ptr_tko(o, batch_of(memory, 2), addresses, values, None, None)
    assert memory.changes == 1
    store_ptr_tko(o, batch_of(memory, 2), addresses[:, ::-1], values, values > 0, None)
    assert memory.changes == 2


def test_a_result_does_not_follow_memory() -> None:
    buffer = np.arange(16, dtype=np.float32)
    memory = registered(buffer)
    addresses = buffer.ctypes.data + 4 * np.arange(16).reshape(1, 16)
    got, _ = load_ptr_tko(operation(SCALARS["f32"], (16,)), batch_of(memory), addresses, None, None, None)
    buffer[:] = 0
    assert got.tolist() == [list(range(16))]


def test_buffers_that_overlap_become_one() -> None:
    buffer = np.arange(16, dtype=np.float32)
    memory = registered(buffer[:8], buffer[4:])
    addresses = buffer.ctypes.data + 4 * np.arange(16)
    assert memory.load(addresses, F32).tolist() == list(range(16))


# ---------------------------------------------------------------- whole kernels


@pytest.mark.parametrize("batch", [1, 3, None])
def test_each_tile_block_has_memory_of_its_own(batch: int | None) -> None:
    text = """
    entry @k(%out: tile<ptr<i32>>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %p = alloca num_elem = 1, alignment = 64 : tile<ptr<i32>>
      %none = alloca num_elem = 0, alignment = 4 : tile<ptr<i32>>
      %a = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
      %v, %b = load_ptr_tko weak %p token=%a : tile<ptr<i32>> -> tile<i32>, token
      %q = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %c = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
      return
    }"""
    out = np.full(7, -1, np.int32)
    tilery.compile(tilery.parse(text)).launch(7, [out], batch=batch)
    assert out.tolist() == list(range(7))


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("elements", [4, 20, 250, -1, -200])
def test_running_over_memory_of_its_own_is_not_in_that_of_another_tile_block(elements: int, batch: int | None) -> None:
    text = f"""entry @k() {{
      %p = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>
      %n = constant <i32: {elements}> : tile<i32>
      %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
      return
    }}"""
    with pytest.raises(ExecutionError, match=r"is outside every buffer: .* alloca of tile block") as raised:
        tilery.compile(tilery.parse(text)).launch(40, batch=batch)
    assert raised.value.block == (0, 0, 0)


def test_globals_keep_what_is_written() -> None:
    text = """
    global @counter <i32: [5, 6]> : tile<2xi32>
    entry @k(%out: tile<ptr<i32>>) {
      %p = get_global @counter : tile<ptr<i32>>
      %v, %a = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %one = constant <i32: 1> : tile<i32>
      %w = addi %v, %one : tile<i32>
      %b = store_ptr_tko weak %p, %w token=%a : tile<ptr<i32>>, tile<i32> -> token
      %c = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
      return
    }"""
    kernel, out = tilery.compile(tilery.parse(text)), np.zeros(1, np.int32)
    seen = []
    for _ in range(2):
        kernel.launch(1, [out])
        seen.append(int(out[0]))
    assert seen == [5, 6]


def test_what_only_orders_does_nothing() -> None:
    text = """
    entry @k() {
      %a = gdc_wait_tko -> token
      %b = memory_fence_alias_tko %a
      %c = gdc_launch_dependents_tko token = %b -> token
      return
    }"""
    tilery.compile(tilery.parse(text)).launch(2, [])


def test_fault_of_a_kernel_is_an_error_with_a_place() -> None:
    text = """
    entry @k(%p: tile<ptr<f32>>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %a = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
      return
    }"""
    array = np.zeros(3, np.float32)
    with pytest.raises(ExecutionError, match=r"load_ptr_tko: address 0x[0-9a-f]+ is outside every buffer") as caught:
        tilery.compile(tilery.parse(text)).launch(5, [array])
    assert caught.value.block == (3, 0, 0)
    assert caught.value.address == array.ctypes.data + 12
