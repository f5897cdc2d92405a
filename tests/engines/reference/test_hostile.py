"""Whatever a legal module and its arguments ask for, there is a result or a TileError, within the limits."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits

HEAD = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
"""


def kernel(body: str, params: str = "") -> Any:
    return tilery.compile(tilery.parse(f"entry @k({params}) {{{HEAD}{body}\n  return\n}}"))


def aggregate(what: str, size: int, body: str) -> str:
    """A reduction or scan of `x + iota` by a body of %a and %b."""
    result, how = ("tile<i32>", "") if what == "reduce" else (f"tile<{size}xi32>", " reverse=false")
    tile = f"tile<{size}xi32>"
    return f"""
  %i = iota : {tile}
  %x1 = reshape %x : tile<i32> -> tile<1xi32>
  %xs = broadcast %x1 : tile<1xi32> -> {tile}
  %v = addi %i, %xs : {tile}
  %r = {what} %v dim=0{how} identities=[0 : i32] : {tile} -> {result} (%a: tile<i32>, %b: tile<i32>) {{
    {body}
  }}"""


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "value, message",
    [
        (np.float32(3), r"expected an array \(or an address\) for ptr<i32>, got float32"),
        (np.zeros(3, ">i4"), "int32 in non-native byte order cannot be passed"),
        (np.zeros(3, "V0"), "an array of void cannot be passed"),
        (np.zeros(3, object), "an array of object cannot be passed"),
        (np.zeros(3, [("a", "i4"), ("b", "i1")])["a"], "strides .* must be multiples"),
        (None, "got NoneType"),
    ],
)
def test_what_has_no_memory_of_the_right_kind_is_no_pointer(value: Any, message: str) -> None:
    with pytest.raises(tilery.TileError, match=message):
        kernel("", "%p: tile<ptr<i32>>").launch(1, [value])


def test_an_array_may_have_no_elements() -> None:
    load = "%v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token"
    with pytest.raises(ExecutionError, match="outside every buffer: there are none"):
        kernel(load, "%p: tile<ptr<i32>>").launch(1, [np.zeros((0, 3), np.int32)])


@pytest.mark.parametrize("array", [np.arange(12, dtype=np.int32)[::-2], np.arange(12, dtype=np.int32).reshape(3, 4).T])
def test_an_array_with_any_strides_is_the_memory_between_its_ends(array: Any) -> None:
    out = np.zeros(1, np.int32)
    body = """%v, %t0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token"""
    kernel(body, "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>").launch(1, [array, out])
    assert out[0] == array.flat[0]


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300])
def test_a_number_that_is_too_large_is_an_infinity(value: float) -> None:
    for element, dtype in (("f32", np.float32), ("f16", np.float16)):
        out = np.zeros(1, dtype)
        store = f"%t = store_ptr_tko weak %p, %v : tile<ptr<{element}>>, tile<{element}> -> token"
        kernel(store, f"%p: tile<ptr<{element}>>, %v: tile<{element}>").launch(1, [out, value])
        assert out[0] == (np.inf if value > 0 else -np.inf)


@pytest.mark.parametrize("pair", [(-5, 5), (1 << 64, 5), (4096, -1), (4096, 1 << 63)])
def test_memory_that_cannot_be_is_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(tilery.TileError, match="there is no memory"):
        kernel("").launch(1, buffers=[pair])


@pytest.mark.parametrize("grid", [None, 2.5, "4", object()])
def test_a_grid_of_something_else_is_refused(grid: Any) -> None:
    with pytest.raises(tilery.TileError, match="a grid must be one to three integers"):
        kernel("").launch(grid)


# ---------------------------------------------------------------- pointers from nowhere


@pytest.mark.parametrize("address", [0, 1, -1, -(1 << 63), (1 << 63) - 1, 4096])
def test_any_integer_may_be_made_a_pointer(address: int) -> None:
    body = f"""
  %n = constant <i64: {address}> : tile<i64>
  %p = int_to_ptr %n : tile<i64> -> tile<ptr<i8>>
  %q = offset %p, %n : tile<ptr<i8>>, tile<i64> -> tile<ptr<i8>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<i8>> -> tile<i8>, token"""
    with pytest.raises(ExecutionError, match="outside every buffer"):
        kernel(body, "%a: tile<ptr<i8>>").launch(1, [np.zeros(4, np.int8)])


EXTREMES = [0, 1, -1, (1 << 63) - 1, -(1 << 63), 1 << 62, 1 << 32]


@pytest.mark.parametrize("index", [0, 1, -1, (1 << 31) - 1, -(1 << 31)])
@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize("stride", EXTREMES)
def test_tensors_of_any_size_and_strides_are_faults_at_worst(size: int, stride: int, index: int) -> None:
    body = """
  %w = make_tensor_view %p, shape = [%n, %n], strides = [%s, 1] : tile<i64> -> tensor_view<?x?xi32, strides=[?,1]>
  %c = make_partition_view %w : partition_view<tile=(4x4), tensor_view<?x?xi32, strides=[?,1]>>
  %v, %t0 = load_view_tko weak %c[%j, %x] : partition_view<tile=(4x4), tensor_view<?x?xi32, strides=[?,1]>>, \
tile<i32> -> tile<4x4xi32>, token
  %t1 = store_view_tko weak %v, %c[%j, %x] : tile<4x4xi32>, \
partition_view<tile=(4x4), tensor_view<?x?xi32, strides=[?,1]>>, tile<i32> -> token"""
    run = kernel(body, "%p: tile<ptr<i32>>, %n: tile<i64>, %s: tile<i64>, %j: tile<i32>")
    array = np.zeros(8, np.int32)
    try:
        run.launch(3, [array, size, stride, index])
    except ExecutionError as error:
        assert "outside every buffer" in error.message
    assert not array.any()


# ---------------------------------------------------------------- sizes


def test_a_tile_block_cannot_have_more_memory_than_the_limit() -> None:
    for body in (
        "%a = alloca num_elem = 9223372036854775807, alignment = 4 : tile<ptr<f32>>",
        "%a = alloca num_elem = 4, alignment = 4611686018427387904 : tile<ptr<f32>>",
    ):
        with pytest.raises(tilery.TileError, match="bytes at once, the limit is"):
            kernel(body).launch(1)


def test_memory_of_many_tile_blocks_is_made_a_batch_at_a_time() -> None:
    body = "%a = alloca num_elem = 1000, alignment = 4 : tile<ptr<f32>>"
    assert kernel(body).launch(3000, limits=Limits(memory=100_000)).blocks == 3000


def test_threads_have_memory_of_their_own() -> None:
    body = """
  %a = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>
  %t0 = store_ptr_tko weak %a, %x : tile<ptr<i32>>, tile<i32> -> token
  %v, %t1 = load_ptr_tko weak %a token=%t0 : tile<ptr<i32>> -> tile<i32>, token
  %p = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t2 = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token"""
    out = np.zeros(500, np.int32)
    stats = kernel(body, "%out: tile<ptr<i32>>").launch(500, [out], threads=4, batch=3)
    assert (out == np.arange(500)).all()
    assert (stats.bytes_read, stats.bytes_written) == (2000, 4000)


def test_an_alignment_that_cannot_be_is_refused() -> None:
    text = f"global @g alignment = {1 << 62} <i32: [5]> : tile<1xi32>\nentry @k() {{ return }}"
    with pytest.raises(tilery.TileError, match="global @g: cannot allocate 4 bytes"):
        tilery.compile(tilery.parse(text))


def test_tiles_of_more_dimensions_than_numpy_has_are_refused() -> None:
    with pytest.raises(tilery.TileError, match="has more than 31 dimensions"):
        kernel(f"%r = reshape %x : tile<i32> -> tile<{'1x' * 32}i32>")
    tile = f"tile<{'1x' * 31}i32>"
    kernel(f"""%r = reshape %x : tile<i32> -> {tile}
  %e = extract %r[{", ".join(["%x"] * 31)}] : {tile} -> {tile}""").launch(2)


def test_printed_text_has_a_limit() -> None:
    body = """%a = iota : tile<65536xi32>
  print_tko "%4096d", %a : tile<65536xi32> -> token"""
    with pytest.raises(ExecutionError, match="out of memory"):
        kernel(body).launch(1, output=lambda text: None, limits=Limits(memory=1 << 20))


BIG_TILES = """%a1 = reshape %a : tile<i32> -> tile<1xi32>
    %as = broadcast %a1 : tile<1xi32> -> tile<65536xi32>
    %j = iota : tile<65536xi32>
    %s = addi %as, %j : tile<65536xi32>
    %part = extract %s[%b] : tile<65536xi32> -> tile<1xi32>
    %q = reshape %part : tile<1xi32> -> tile<i32>
    yield %q : tile<i32>"""


def test_large_tiles_in_a_body_are_not_made_for_all_elements_at_once() -> None:
    """Here that would be a gigabyte."""
    run = kernel(aggregate("reduce", 8192, BIG_TILES))
    assert run.program.peak < 1 << 21
    run.launch(1)


CAPTURED = """%part = extract %v[%b] : tile<{n}xi32> -> tile<1xi32>
    %q = reshape %part : tile<1xi32> -> tile<i32>
    yield %q : tile<i32>"""


def test_large_tiles_around_a_body_are_not_copied_for_each_element() -> None:
    """Here that would be 64 GiB in four tile blocks."""
    kernel(aggregate("reduce", 1 << 17, CAPTURED.format(n=1 << 17))).launch(4, batch=4, limits=Limits(seconds=60))


# ---------------------------------------------------------------- time


def stops(body: str, params: str = "", args: Any = ()) -> None:
    run = kernel(body, params)
    with pytest.raises(ExecutionError, match=r"stopped after 0\.01 seconds"):
        run.launch(1, args, limits=Limits(seconds=0.01))


def test_an_empty_loop_can_be_stopped() -> None:
    stops("loop { continue }")
    with pytest.raises(ExecutionError, match="stopped after 50 steps"):
        kernel("loop { continue }").launch(1, limits=Limits(steps=50))


def test_a_long_scan_can_be_stopped() -> None:
    stops(aggregate("scan", 1 << 23, "%c = subi %a, %b : tile<i32>\n    yield %c : tile<i32>"))


def test_a_long_product_can_be_stopped() -> None:
    tile = "tile<2048x2048xf64>"
    stops(f"%a = constant <f64: 1.5> : {tile}\n  %c = mmaf %a, %a, %a : {tile}, {tile}, {tile}")


def test_a_long_atomic_sum_can_be_stopped() -> None:
    tile = "tile<4194304x{}>"
    f, p = (tile.format(t) for t in ("bf16", "ptr<bf16>"))
    stops(f"""%a = alloca num_elem = 1, alignment = 16 : tile<ptr<bf16>>
  %r = reshape %a : tile<ptr<bf16>> -> tile<1xptr<bf16>>
  %p = broadcast %r : tile<1xptr<bf16>> -> {p}
  %v = constant <bf16: 1.0> : {f}
  %o, %t = atomic_rmw_tko relaxed device %p, addf, %v : {p}, {f} -> {f}, token""")


def test_a_long_text_can_be_stopped() -> None:
    tile = "tile<4194304xi32>"
    stops(f'%a = iota : {tile}\n  print_tko "%d", %a : {tile} -> token')


def test_slow_arithmetic_can_be_stopped() -> None:
    """Numbers whose squares lie in the middle between two floats need a hundred digits."""
    tile = "tile<1048576x{}>"
    i, f = tile.format("i32"), tile.format("f32")
    stops(f"""%i = iota : {i}
  %n = itof %i signed : {i} -> {f}
  %two = constant <f32: 2.0> : {f}
  %p = pow %n, %two : {f}""")


def test_an_interrupt_ends_all_threads() -> None:
    before = threading.active_count()

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    body = "%c = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>\n  if %c { return }\n  loop { continue }"
    run = kernel(body)
    with pytest.raises(KeyboardInterrupt):
        run.launch(9, threads=3, batch=1, progress=interrupt, limits=Limits(seconds=60))
    assert threading.active_count() == before


# ---------------------------------------------------------------- many operations


@pytest.mark.parametrize("kind", ["if %c {", "loop {", "for %i{n} in (%zero to %one, step %one) : tile<i32> {"])
def test_deep_nests_run(kind: str) -> None:
    end = {"i": "}", "l": "  break\n}", "f": "  continue\n}"}[kind[0]]
    lines = [
        "%c = cmpi equal %x, %x, signed : tile<i32> -> tile<i1>",
        *[kind.replace("{n}", str(n)) for n in range(2000)],
    ]
    lines += [end] * 2000
    assert kernel("\n".join(lines)).launch(3).blocks == 3


def test_values_that_are_alive_cost_nothing_where_branches_meet() -> None:
    """The time is linear in the operations, not in operations times values."""
    lines = ["%c = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>", "%v0 = addi %x, %x : tile<i32>"]
    lines += [f"%v{i + 1} = addi %v{i}, %x : tile<i32>" for i in range(3000)]
    lines += ["if %c { %q = addi %x, %x : tile<i32> }"] * 3000
    lines += [f"%w{i} = addi %v{i}, %x : tile<i32>" for i in range(3000)]
    kernel("\n".join(lines)).launch(1, limits=Limits(seconds=20))
