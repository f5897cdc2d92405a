"""Loads and stores through views, against loops over elements that read and write single bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.memory import Fault, Memory
from tilery.engines.common.tiles import Array, carrier
from tilery.engines.reference.boxes import load_boxes, store_boxes
from tilery.engines.reference.ops.views import (
    get_index_space_shape,
    load_view_tko,
    make_tensor_view,
    padding,
    store_view_tko,
)
from tilery.engines.reference.view_access import TensorRef
from tilery.ir import Op, walk
from tilery.ops import GetIndexSpaceShape, LoadViewTko, MakeTensorView, StoreViewTko
from tilery.types import (
    DYNAMIC,
    SCALARS,
    GatherScatterView,
    PaddingValue,
    PartitionView,
    StridedView,
    TensorView,
    TileView,
)

ELEMENTS = [SCALARS[name] for name in ("i1", "i8", "f16", "bf16", "f32", "i64", "f4E2M1FN")]


def batch_of(memory: Memory, lanes: int) -> Any:
    return SimpleNamespace(memory=memory, lanes=lanes, machine=SimpleNamespace(padding=padding))


def operations(view: TileView, promised: tuple[bool, ...]) -> tuple[LoadViewTko, StoreViewTko]:
    """A load and a store through a view of that type."""
    tensor, tile = view.tensor_view, view.tile_type
    sizes = sum(n == DYNAMIC for n in (*tensor.shape, *tensor.strides))
    names = iter(f"%d{i}" for i in range(sizes))
    shape, strides = (
        [next(names) if n == DYNAMIC else str(n) for n in dims] for dims in (tensor.shape, tensor.strides)
    )
    made = {PartitionView: "partition", StridedView: "strided", GatherScatterView: "gather_scatter"}[type(view)]
    sparse = view.sparse_dim if isinstance(view, GatherScatterView) else None
    types = [f"tile<{tile.shape[i]}xi32>" if i == sparse else "tile<i32>" for i in range(tile.rank)]
    # For a sparse view there is one type for each index, otherwise one for all.
    listed = ", ".join(types if sparse is not None else types[:1])
    scalars = [f"%d{i}" for i in range(sizes)] + [f"%i{i}" for i in range(tile.rank) if i != sparse]
    params = "".join(f", {name}: tile<i32>" for name in scalars)
    positions = "" if sparse is None else f"%i{sparse} = iota : {types[sparse]}"
    index = ", ".join(f"%i{i}" for i in range(tile.rank))
    inbounds = f" inbounds = [{', '.join(str(p).lower() for p in promised)}]" if any(promised) else ""
    dynamic = "tile<i32> -> " if sizes else ""
    text = f"""
    entry @k(%p: tile<ptr<{tensor.element}>>{params}) {{
      {positions}
      %t = make_tensor_view %p, shape = [{", ".join(shape)}], strides = [{", ".join(strides)}] : {dynamic}{tensor}
      %v = make_{made}_view %t : {view}
      %x, %a = load_view_tko weak %v[{index}]{inbounds} : {view}, {listed} -> {tile}, token
      %b = store_view_tko weak %x, %v[{index}]{inbounds} : {tile}, {view}, {listed} -> token
      return
    }}"""
    found = list(walk(tilery.parse(text)))
    return next(o for o in found if isinstance(o, LoadViewTko)), next(o for o in found if isinstance(o, StoreViewTko))


class Case:
    """A random view of a random tensor, and random indices."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 4))
        self.element = ELEMENTS[seed % len(ELEMENTS)]
        self.lanes = int(rng.choice([1, 2, 5]))
        tile = tuple(int(rng.choice([1, 2, 4])) for _ in range(rank))
        if self.element.bits == 4 and all(n == 1 for n in tile):
            tile = (*tile[:-1], 2)
        self.shapes = self.numbers(rank, 1, 9)
        self.strides = self.numbers(rank, 1, 13)
        static = TensorView(
            self.element,
            [n if isinstance(n, int) else DYNAMIC for n in self.shapes],
            [n if isinstance(n, int) else DYNAMIC for n in self.strides],
        )
        padding = PaddingValue(int(rng.integers(5))) if self.element.is_float else PaddingValue.ZERO
        some = padding if rng.integers(3) else None
        self.view = self.some_view(seed % 3, tile, static, some)
        # A promise only where it is kept: the tensor is given ten times the room along that dimension.
        self.promised = tuple(bool(p) for p in rng.integers(6, size=rank) == 0)
        self.load, self.store = operations(self.view, self.promised)
        self.index = tuple(map(self.positions, range(rank)))
        self.buffer = rng.integers(0, 256, 8192).astype(np.uint8)
        self.memory = Memory()
        self.memory.add(self.buffer.ctypes.data, 8192, "buffer", owner=self.buffer)
        item = carrier(self.element).itemsize
        middle = self.buffer.ctypes.data + 1024
        bases = middle + item * rng.integers(0, 4, self.lanes if rng.integers(2) else 1)
        self.tensor = TensorRef(bases.astype(np.int64), tuple(self.shapes), tuple(self.strides))

    def some_view(self, kind: int, tile: tuple[int, ...], tensor: TensorView, padding: PaddingValue | None) -> TileView:
        dims = tuple(map(int, self.rng.permutation(len(tile))))
        if kind == 0:
            return PartitionView(tile, tensor, dims, padding)
        if kind == 1:
            return StridedView(tile, [int(n) for n in self.rng.integers(1, 6, len(tile))], tensor, dims, padding)
        return GatherScatterView(tile, tensor, dims[0], padding)

    def numbers(self, rank: int, low: int, high: int) -> list[Any]:
        """Plain numbers, arrays of one and arrays of one for each lane."""
        rng = self.rng
        return [
            [int(rng.integers(low, high)), rng.integers(low, high, 1), rng.integers(low, high, self.lanes)][kind]
            for kind in rng.integers(0, 3, rank)
        ]

    def positions(self, dim: int) -> Array:
        rng = self.rng
        lanes = self.lanes if rng.integers(2) else 1
        shape = (lanes, self.view.tile_shape[dim]) if dim == self.sparse else (lanes,)
        return rng.choice(
            [0, 0, 1, 1, 2, 3, 5, -1, -2, 2**31 - 1, -(2**31)][: 7 if self.promised[dim] else None], shape
        ).astype(np.int32)

    @property
    def sparse(self) -> int | None:
        return self.view.sparse_dim if isinstance(self.view, GatherScatterView) else None

    def of_lane(self, number: Any, lane: int) -> int:
        return number if isinstance(number, int) else int(number[lane if len(number) > 1 else 0])

    def elements(self, lane: int) -> Iterator[tuple[tuple[int, ...], int | None]]:
        """The elements of a lane's tile, in the order in which they are written.

        Their place in the tile, and how many elements after the base they are. What is written at one position of a
        sparse dimension comes before what is written at the next.
        """
        view = self.view
        dims = view.dim_map if isinstance(view, PartitionView | StridedView) else tuple(range(len(view.tile_shape)))
        places = itertools.product(*map(range, view.tile_shape))
        for place in sorted(places, key=lambda p: p[self.sparse or 0]):
            offset, inside = 0, True
            for i, (at, dim) in enumerate(zip(place, dims)):
                index = self.index[i][lane if len(self.index[i]) > 1 else 0]
                if i == self.sparse:
                    position = int(index[at])
                elif self.sparse is not None:
                    position = int(index) + at
                else:
                    step = view.traversal_strides[i] if isinstance(view, StridedView) else view.tile_shape[i]
                    position = int(np.uint32(np.int64(index) & 0xFFFFFFFF)) * step + at
                size = self.of_lane(self.shapes[dim], lane)
                inside = inside and (self.promised[i] or 0 <= position < size)
                offset += position * self.of_lane(self.strides[dim], lane)
            yield place, offset if inside else None

    def read(self, lane: int, offset: int) -> int:
        """The bits of an element."""
        base = int(self.tensor.base[lane if len(self.tensor.base) > 1 else 0]) - self.buffer.ctypes.data
        if self.element.bits == 4:
            return int(self.buffer[base + (offset >> 1)]) >> 4 * (offset & 1) & 15
        item = carrier(self.element).itemsize
        raw = self.buffer[base + item * offset : base + item * (offset + 1)].tobytes()
        return int(any(raw)) if self.element.bits == 1 else int.from_bytes(raw, "little")

    def write(self, buffer: Array, lane: int, offset: int, bits: int) -> None:
        base = int(self.tensor.base[lane if len(self.tensor.base) > 1 else 0]) - self.buffer.ctypes.data
        if self.element.bits == 4:
            at, shift = base + (offset >> 1), 4 * (offset & 1)
            buffer[at] = int(buffer[at]) & (0xF0 >> shift) | bits << shift
            return
        item = carrier(self.element).itemsize
        buffer[base + item * offset : base + item * (offset + 1)] = np.frombuffer(
            bits.to_bytes(item, "little"), np.uint8
        )


def bits_of(value: Any) -> int:
    return int.from_bytes(value.tobytes(), "little")


PADDING = {
    "f16": (0, 0x8000, 0x7E00, 0x7C00, 0xFC00),
    "bf16": (0, 0x8000, 0x7FC0, 0x7F80, 0xFF80),
    "f32": (0, 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000),
    "tf32": (0, 0x80000000, 0x7FC00000, 0x7F800000, 0xFF800000),
    "f64": (0, 1 << 63, 0x7FF8 << 48, 0x7FF0 << 48, 0xFFF0 << 48),
    "f8E4M3FN": (0, 0x80, 0x7F, 0x7F, 0xFF),
    "f8E5M2": (0, 0x80, 0x7E, 0x7C, 0xFC),
    "f8E8M0FNU": (0, 0, 0xFF, 0xFF, 0xFF),
    "fnv8E5M3FNU": (0, 0, 0xFF, 0xFF, 0xFF),
    "f4E2M1FN": (0, 8, 7, 7, 15),
}
"""The bits of zero, negative zero, NaN and the infinities, or what takes their place."""


def padding_bits(view: TileView) -> int:
    kind = view.padding_value
    return 0 if kind is None else PADDING.get(view.tensor_view.element.name, (0,))[kind.value]


@pytest.mark.parametrize("seed", range(84))
def test_load_gives_each_element_of_the_tile(seed: int) -> None:
    case = Case(seed)
    tile, _ = load_view_tko(case.load, batch_of(case.memory, case.lanes), case.tensor, case.index, None)
    assert tile.shape[1:] == case.view.tile_shape and len(tile) in (1, case.lanes)
    assert tile.dtype == carrier(case.element)
    for lane in range(case.lanes):
        for place, offset in case.elements(lane):
            wanted = padding_bits(case.view) if offset is None else case.read(lane, offset)
            assert bits_of(tile[(lane % len(tile), *place)]) == wanted, (lane, place)


@pytest.mark.parametrize("seed", range(84))
@pytest.mark.parametrize("uniform", [False, True])
def test_store_writes_element_after_element_and_nothing_else(seed: int, uniform: bool) -> None:
    case = Case(seed)
    lanes = 1 if uniform else case.lanes
    bits = case.rng.integers(0, 256, (lanes, *case.view.tile_shape, carrier(case.element).itemsize)).astype(np.uint8)
    if case.element.bits < 8:
        bits &= (1 << case.element.bits) - 1
    values = bits.view(carrier(case.element)).reshape(lanes, *case.view.tile_shape)
    wanted = case.buffer.copy()
    for lane in range(case.lanes):
        for place, offset in case.elements(lane):
            if offset is not None:
                case.write(wanted, lane, offset, bits_of(values[(0 if uniform else lane, *place)]))
    store_view_tko(case.store, batch_of(case.memory, case.lanes), values, case.tensor, case.index, None)
    assert (case.buffer == wanted).all()


# ---------------------------------------------------------------- boxes


@pytest.mark.parametrize("starts", [[0], [0, 40], [0, 40, 80], [80, 0, 40], [0, 0, 8], [0, 4, 8], [400, 40, 40]])
@pytest.mark.parametrize("strides", [(16, 4), (4, 16), (4, 4), (0, 4), (32, 8)])
def test_boxes_agree_with_addresses(starts: list[int], strides: tuple[int, int]) -> None:
    """The fast way and the slow one: the same elements, and the last write to an element stays."""
    buffer = np.arange(256, dtype=np.float32)
    memory = Memory()
    memory.add(buffer.ctypes.data, buffer.nbytes, "buffer", owner=buffer)
    at = np.array(starts) + buffer.ctypes.data
    addresses = at[:, None, None] + np.arange(4)[:, None] * strides[0] + np.arange(4) * strides[1]
    assert (load_boxes(memory, at, (4, 4), strides, buffer.dtype) == memory.load(addresses, buffer.dtype)).all()
    values = np.arange(1000, 1000 + 16 * len(starts), dtype=np.float32).reshape(-1, 4, 4)
    wanted = buffer.copy()
    for address, value in zip(((addresses - buffer.ctypes.data) // 4).ravel().tolist(), values.ravel().tolist()):
        wanted[address] = value
    store_boxes(memory, at, (4, 4), strides, values)
    assert (buffer == wanted).all()


def test_boxes_in_several_buffers() -> None:
    memory = Memory()
    first, second = np.arange(16, dtype=np.int32), np.arange(100, 116, dtype=np.int32)
    for a in (first, second):
        memory.add(a.ctypes.data, a.nbytes, "buffer", owner=a)
    at = np.array([second.ctypes.data, first.ctypes.data + 16])
    got = load_boxes(memory, at, (2,), (4,), first.dtype)
    assert got.tolist() == [[100, 101], [4, 5]]
    store_boxes(memory, at, (2,), (4,), np.array([[1, 2], [3, 4]], np.int32))
    assert second[:2].tolist() == [1, 2] and first[4:6].tolist() == [3, 4]


def test_results_are_no_windows_on_memory() -> None:
    buffer = np.arange(64, dtype=np.float32)
    memory = Memory()
    memory.add(buffer.ctypes.data, buffer.nbytes, "buffer", owner=buffer)
    got = load_boxes(memory, np.array([buffer.ctypes.data]), (4,), (4,), buffer.dtype)
    assert not np.shares_memory(got, buffer)


# ---------------------------------------------------------------- faults

COPY = """
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a = make_tensor_view %p, shape = [6, 20], strides = [20, 1] : tensor_view<6x20xf32, strides=[20,1]>
  %b = make_tensor_view %q, shape = [6, 20], strides = [20, 1] : tensor_view<6x20xf32, strides=[20,1]>
  %v = make_partition_view %a : partition_view<tile=(4x8), tensor_view<6x20xf32, strides=[20,1]>>
  %w = make_partition_view %b : partition_view<tile=(4x8), tensor_view<6x20xf32, strides=[20,1]>>
  %t, %m = load_view_tko weak %v[%x, %y] : partition_view<tile=(4x8), tensor_view<6x20xf32, strides=[20,1]>>, \
tile<i32> -> tile<4x8xf32>, token
  %n = store_view_tko weak %t, %w[%x, %y] : tile<4x8xf32>, \
partition_view<tile=(4x8), tensor_view<6x20xf32, strides=[20,1]>>, tile<i32> -> token
  return
}"""


@pytest.mark.parametrize("batch", [1, 2, 6])
def test_copy_of_a_matrix_that_is_no_multiple_of_the_tile(batch: int) -> None:
    source, target = np.random.default_rng(1).random((6, 20), np.float32), np.full((6, 20), -1, np.float32)
    tilery.compile(tilery.parse(COPY)).launch((2, 3), [source, target], batch=batch)
    assert (source == target).all()


@pytest.mark.parametrize("batch", [1, 6])
def test_fault_of_a_load_names_block_element_and_address(batch: int) -> None:
    source, target = np.zeros((5, 20), np.float32), np.zeros((6, 20), np.float32)
    with pytest.raises(ExecutionError, match=r"load_view_tko: address .* is outside every buffer") as caught:
        tilery.compile(tilery.parse(COPY)).launch((2, 3), [source, target], batch=batch)
    assert (caught.value.block, caught.value.element) == ((1, 0, 0), (1, 0))
    assert caught.value.address == source.ctypes.data + source.nbytes


def test_fault_of_a_store_to_read_only_memory() -> None:
    source, target = np.zeros((6, 20), np.float32), np.zeros((6, 20), np.float32)
    target.flags.writeable = False
    with pytest.raises(ExecutionError, match=r"store_view_tko: .*is read-only") as caught:
        tilery.compile(tilery.parse(COPY)).launch((2, 3), [source, target])
    assert caught.value.block == (0, 0, 0)
    assert not target.any()


def test_a_broken_promise_is_an_access_by_address() -> None:
    view = PartitionView((4,), TensorView(SCALARS["f32"], (6,), (1,)))
    load, _ = operations(view, (True,))
    buffer = np.arange(8, dtype=np.float32)
    memory = Memory()
    memory.add(buffer.ctypes.data, 32, "buffer", owner=buffer)
    tensor = TensorRef(np.array([buffer.ctypes.data]), (6,), (1,))
    tile, _ = load_view_tko(load, batch_of(memory, 1), tensor, (np.array([1], np.int32),), None)
    assert tile.tolist() == [[4, 5, 6, 7]]
    with pytest.raises(Fault) as caught:
        load_view_tko(load, batch_of(memory, 1), tensor, (np.array([2], np.int32),), None)
    assert caught.value.where == (0, 0)


@pytest.mark.parametrize("index", [2**63 - 1, -1, 1 << 40])
def test_huge_indices_and_strides_do_not_overflow(index: int) -> None:
    text = """
    entry @k(%p: tile<ptr<f32>>, %n: tile<i64>, %s: tile<i64>, %i: tile<i64>, %q: tile<ptr<f32>>) {
      %t = make_tensor_view %p, shape = [%n], strides = [%s] : tile<i64> -> tensor_view<?xf32, strides=[?]>
      %v = make_partition_view %t : partition_view<tile=(4), padding_value = nan, tensor_view<?xf32, strides=[?]>>
      %x, %a = load_view_tko weak %v[%i] : \
partition_view<tile=(4), padding_value = nan, tensor_view<?xf32, strides=[?]>>, tile<i64> -> tile<4xf32>, token
      %o = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
      %w = make_partition_view %o : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
      %z = constant <i32: 0> : tile<i32>
      %b = store_view_tko weak %x, %w[%z] : tile<4xf32>, partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, \
tile<i32> -> token
      return
    }"""
    kernel = tilery.compile(tilery.parse(text))
    out = np.zeros(4, np.float32)
    kernel.launch(1, [np.zeros(4, np.float32), 4, 1 << 60, index, out])
    assert np.isnan(out).all()
    kernel.launch(1, [np.array([7], np.float32), 1, -(1 << 62), 0, out])
    assert out[0] == 7 and np.isnan(out[1:]).all()


# ---------------------------------------------------------------- shapes


def test_index_space_has_the_tiles_at_the_edge() -> None:
    text = """
    entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
      %t = make_tensor_view %p, shape = [%n, 70], strides = [70, 1] : tile<i32> -> tensor_view<?x70xf32, strides=[70,1]>
      %v = make_strided_view %t : strided_view<tile=(16x32), traversal_strides=[7,5], \
tensor_view<?x70xf32, strides=[70,1]>, dim_map=[1, 0]>
      %s:2 = get_index_space_shape %v : strided_view<tile=(16x32), traversal_strides=[7,5], \
tensor_view<?x70xf32, strides=[70,1]>, dim_map=[1, 0]> -> tile<i8>
      return
    }"""
    found: list[Op] = list(walk(tilery.parse(text)))
    made = next(o for o in found if isinstance(o, MakeTensorView))
    tensor = make_tensor_view(made, np.array([0]), (np.array([50, -1], np.int32),), ())
    shape = next(o for o in found if isinstance(o, GetIndexSpaceShape))
    columns, rows = get_index_space_shape(shape, tensor)
    assert columns.tolist() == [10]
    assert rows.tolist() == [10, 0x33] and rows.dtype == np.int8  # the lower bits of 0x33333333


def test_the_shape_of_a_tensor_is_what_it_was_made_with() -> None:
    text = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %out: tile<ptr<i32>>) {
      %t = make_tensor_view %p, shape = [%n, 7], strides = [7, 1] : tile<i32> -> tensor_view<?x7xf32, strides=[7,1]>
      %s:2 = get_tensor_shape %t : tensor_view<?x7xf32, strides=[7,1]> -> tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %next = offset %out, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t0 = store_ptr_tko weak %out, %s#0 : tile<ptr<i32>>, tile<i32> -> token
      %t1 = store_ptr_tko weak %next, %s#1 : tile<ptr<i32>>, tile<i32> -> token
      return
    }"""
    out = np.zeros(2, np.int32)
    tilery.compile(tilery.parse(text)).launch(1, [np.zeros(1, np.float32), 50, out])
    assert out.tolist() == [50, 7]
