"""Launches: arguments, memory, globals, errors and what a launch reports."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import asdict
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilery
from support.oracle import ROOT
from text.test_printer import module as example_module
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import EXECUTED, ReferenceLoaded
from tilery.ir import Refused
from tilery.ops import registered

COPY = """entry @copy(%from: tile<ptr<{t}>>, %to: tile<ptr<{t}>>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %p = offset %from, %x : tile<ptr<{t}>>, tile<i32> -> tile<ptr<{t}>>
  %q = offset %to, %x : tile<ptr<{t}>>, tile<i32> -> tile<ptr<{t}>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<{t}>> -> tile<{t}>, token
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<{t}>>, tile<{t}> -> token
  return
}}"""
PUT = """entry @put(%out: tile<ptr<{t}>>, %v: tile<{t}>) {{
  %t0 = store_ptr_tko weak %out, %v : tile<ptr<{t}>>, tile<{t}> -> token
  return
}}"""


def kernel(text: str) -> Any:
    return tilery.compile(tilery.parse(text))


# ---------------------------------------------------------------- every operation


def test_every_operation_can_be_executed() -> None:
    assert sorted(map(str, EXECUTED)) == sorted(str(d.cls) for d in registered())


# ---------------------------------------------------------------- arguments

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.uint16,
    "i32": np.int32,
    "i64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "tf32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}


@pytest.mark.parametrize("element", DTYPES)
def test_an_array_of_every_type_is_its_pointer(element: str) -> None:
    source = np.array([0, 1, 1, 0], DTYPES[element])
    target = np.zeros_like(source)
    kernel(COPY.format(t=element)).launch(4, [source, target])
    assert target.tobytes() == source.tobytes()


@pytest.mark.parametrize(
    "element, value, bits",
    [
        ("i1", True, 1),
        ("i8", -1, 0xFF),
        ("i8", 255, 0xFF),
        ("i64", np.int32(-2), (1 << 64) - 2),
        ("f16", 1 / 3, 0x3555),
        ("bf16", 1 / 3, 0x3EAB),
        ("f32", 1, 0x3F800000),
        ("f64", np.float32(0.5), 0x3FE0000000000000),
        ("f32", np.array(0.25), 0x3E800000),
        ("f32", ml_dtypes.bfloat16(0.25), 0x3E800000),
        ("f32", np.longdouble("1e4000"), 0x7F800000),
        ("i8", ml_dtypes.int4(-3), 0xFD),
    ],
)
def test_a_number_is_a_scalar(element: str, value: Any, bits: int) -> None:
    out = np.zeros(1, f"u{max(1, tilery.types.SCALARS[element].bits // 8)}")
    kernel(PUT.format(t=element)).launch(1, [out, value])
    assert int(out[0]) == bits


@pytest.mark.parametrize(
    "element, value, message",
    [
        ("i8", 256, "256 does not fit in i8"),
        ("i8", -129, "-129 does not fit in i8"),
        ("i32", 0.5, "expected an integer for i32"),
        ("f32", "1", "expected a number for f32"),
        ("f32", True, "expected a number for f32"),
    ],
)
def test_a_wrong_scalar_is_refused(element: str, value: Any, message: str) -> None:
    out = np.zeros(1, f"u{tilery.types.SCALARS[element].bits // 8}")
    with pytest.raises(tilery.TileError, match=message):
        kernel(PUT.format(t=element)).launch(1, [out, value])


class NoMemory:
    """An array, or so it says."""

    def __dlpack__(self) -> object:
        raise BufferError("none")


class Negative(NoMemory):
    """Torch's view of the imaginary part of a conjugate."""

    def is_neg(self) -> bool:
        return True


@pytest.mark.parametrize(
    "args, message",
    [
        ([], r"@copy has 2 parameters .* 0 arguments were given"),
        (
            [np.zeros(1, np.float32), np.zeros(1, np.int32)],
            r"argument 1: an array of int32 cannot be passed as ptr<f32>",
        ),
        ([np.zeros(1, np.float32), 1.5], r"argument 1: expected an array \(or an address\) for ptr<f32>, got float"),
        ([np.zeros(1, np.float64), np.zeros(1, np.float32)], r"argument 0: an array of float64 cannot be passed"),
        ([np.zeros(1, np.float32), 1 << 64], r"argument 1: 0x10000000000000000 is not an address"),
        ([np.zeros(1, np.float32), NoMemory()], r"argument 1: cannot access the memory of this NoMemory"),
        ([np.zeros(1, np.float32), Negative()], r"argument 1: this tensor is a lazy negation"),
        (np.zeros(2, np.float32), r"arguments must be a list with one item per parameter, got a ndarray"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(args: list[Any], message: str) -> None:
    with pytest.raises(tilery.TileError, match=message):
        kernel(COPY.format(t="f32")).launch(1, args)


@pytest.mark.parametrize("type", ["token", "tensor_view<4xf32, strides=[1]>"])
def test_a_parameter_that_no_argument_fits_is_refused(type: str) -> None:
    """Verifiers let them pass."""
    with pytest.raises(Refused, match="cannot pass a parameter of"):
        kernel(f"entry @k(%p: {type}) {{ return }}")


def test_an_array_that_is_not_aligned_is_refused() -> None:
    odd = np.zeros(9, np.uint8)[1:].view(np.float32)
    with pytest.raises(tilery.TileError, match="is not aligned to its elements of 4 bytes"):
        kernel(COPY.format(t="f32")).launch(1, [odd, np.zeros(1, np.float32)])


def test_an_address_stands_for_memory_that_is_registered() -> None:
    source, target = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    copy = kernel(COPY.format(t="i32"))
    addresses = [source.ctypes.data, target.ctypes.data]
    copy.launch(4, addresses, buffers=[source, (target.ctypes.data, target.nbytes)])
    assert (source == target).all()
    with pytest.raises(ExecutionError, match="outside every buffer"):
        copy.launch(4, addresses, buffers=[source])


def test_arrays_of_other_libraries_come_through_dlpack() -> None:
    class Other:
        """An array that only has DLPack."""

        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self) -> Any:
            return self.array.__dlpack__()

    source, target = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    kernel(COPY.format(t="i32")).launch(4, [Other(source), Other(target)])
    assert (source == target).all()


def test_arguments_may_overlap() -> None:
    both = np.arange(6, dtype=np.int32)
    kernel(COPY.format(t="i32")).launch(4, [both[:4], both[2:]], batch=1)
    assert both.tolist() == [0, 1, 0, 1, 0, 1]


def test_an_array_that_cannot_be_written_is_an_error_when_it_is() -> None:
    target = np.zeros(4, np.int32)
    target.flags.writeable = False
    with pytest.raises(ExecutionError, match="is read-only"):
        kernel(COPY.format(t="i32")).launch(4, [np.ones(4, np.int32), target])


def test_cutile_passes_shape_and_strides() -> None:
    strides = "%s0: tile<i32>, %s1: tile<i32>, %t0: tile<i32>, %t1: tile<i32>"
    text = f"""entry @k(%p: tile<ptr<i32>>, {strides}, %n: tile<i32>) {{
      %a = muli %s0, %s1 : tile<i32>
      %b = muli %t0, %t1 : tile<i32>
      %c = addi %a, %b : tile<i32>
      %d = addi %c, %n : tile<i32>
      %t = store_ptr_tko weak %p, %d : tile<ptr<i32>>, tile<i32> -> token
      return
    }}"""
    array = np.zeros((3, 8), np.int32)[:, :5]
    kernel(text).launch(1, [array, np.int64(1000)], convention="cutile")
    assert array[0, 0] == 3 * 5 + 8 * 1 + 1000


@pytest.mark.parametrize(
    "args, message",
    [
        ([np.zeros(3, np.int32), 1.5], "argument 'n': expected an integer for i32, got 1.5"),
        ([np.zeros(3, np.int8), 1], "argument 'x': an array of int8 cannot be passed"),
        ([np.zeros((3, 1), np.int32), 1], "2 arguments were given, which make 6 with shapes and strides"),
    ],
)
def test_errors_of_cutile_s_convention_count_its_arguments(args: list[Any], message: str) -> None:
    text = "entry @k(%p: tile<ptr<i32>>, %s: tile<i32>, %t: tile<i32>, %n: tile<i32>) { return }"
    with pytest.raises(tilery.TileError, match=message):
        kernel(text).launch(1, args, convention="cutile", names=["x", "n"])


# ---------------------------------------------------------------- faults


def test_a_fault_names_the_place() -> None:
    data, out = np.arange(4, dtype=np.int32), np.zeros(8, np.int32)
    with pytest.raises(ExecutionError) as raised:
        kernel(COPY.format(t="i32")).launch(6, [data, out], names=["data", "out"])
    error = raised.value
    assert error.op.name == "load_ptr_tko"
    assert (error.block, error.element, error.address) == ((4, 0, 0), (), data.ctypes.data + 16)
    assert "0 bytes after the end of argument 'data' (16 bytes)" in error.message
    assert not out.any(), "nothing is stored by the batch that fails"


VIEW = "partition_view<tile=(16), tensor_view<60xf32, strides=[1]>>"
MASKED = f"""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {{
  %t = make_tensor_view %p, shape = [60], strides = [1] : tensor_view<60xf32, strides=[1]>
  %v = make_partition_view %t : {VIEW}
  %x, %y, %z = get_tile_block_id : tile<i32>
  %n = constant <i32: 60> : tile<16xi32>
  %b = constant <i32: 16> : tile<i32>
  %s = muli %x, %b : tile<i32>
  %s1 = reshape %s : tile<i32> -> tile<1xi32>
  %s2 = broadcast %s1 : tile<1xi32> -> tile<16xi32>
  %i = iota : tile<16xi32>
  %j = addi %s2, %i : tile<16xi32>
  %m = cmpi less_than %j, %n, signed : tile<16xi32> -> tile<16xi1>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q2 = broadcast %q1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %w = offset %q2, %j : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %a, %t0 = load_view_tko weak %v[%x] : {VIEW}, tile<i32> -> tile<16xf32>, token
  %c, %t1 = load_ptr_tko weak %w, %m : tile<16xptr<f32>>, tile<16xi1> -> tile<16xf32>, token
  %t2 = store_ptr_tko weak %w, %c, %m : tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> token
  return
}}"""


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("sizes", [(20, 60), (60, 20)], ids=["view", "pointers"])
def test_a_fault_names_the_first_element_that_is_at_fault(sizes: tuple[int, int], batch: int | None) -> None:
    """Also where the last tile block has another part masked than the others."""
    with pytest.raises(ExecutionError) as raised:
        kernel(MASKED).launch(4, [np.zeros(n, np.float32) for n in sizes], batch=batch)
    assert (raised.value.block, raised.value.element) == ((1, 0, 0), (4,))


def test_a_store_names_the_first_element_that_cannot_be_written() -> None:
    arrays = [np.zeros(60, np.float32), np.zeros(60, np.float32)]
    arrays[1].flags.writeable = False
    with pytest.raises(ExecutionError, match="is read-only") as raised:
        kernel(MASKED).launch(4, arrays)
    assert (raised.value.block, raised.value.element) == ((0, 0, 0), (0,))


def test_a_fault_names_the_element_and_the_source_line() -> None:
    text = """entry @k(%p: tile<ptr<f32>>) {
      %i = iota : tile<8xi32>
      %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
      %b = broadcast %r : tile<1xptr<f32>> -> tile<8xptr<f32>>
      %q = offset %b, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
      %v, %t = load_ptr_tko weak %q : tile<8xptr<f32>> -> tile<8xf32>, token loc("kernel.py":12:5)
      return
    }"""
    with pytest.raises(ExecutionError) as raised:
        kernel(text).launch(1, [np.zeros(5, np.float32)])
    assert raised.value.element == (5,)
    assert "from kernel.py:12:6" in str(raised.value)


def test_a_misaligned_access_is_a_fault() -> None:
    text = """entry @k(%p: tile<ptr<i8>>) {
      %one = constant <i32: 1> : tile<i32>
      %q = offset %p, %one : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
      %r = ptr_to_ptr %q : tile<ptr<i8>> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %r : tile<ptr<i32>> -> tile<i32>, token
      return
    }"""
    with pytest.raises(ExecutionError, match="is not a multiple of 4"):
        kernel(text).launch(1, [np.zeros(16, np.int8)])


# ---------------------------------------------------------------- globals and several kernels

COUNTER = """global @count <i32: [5]> : tile<1xi32>
entry @bump() {
  %p = get_global @count : tile<ptr<i32>>
  %one = constant <i32: 1> : tile<i32>
  %old, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}
entry @read(%out: tile<ptr<i32>>) {
  %p = get_global @count : tile<ptr<i32>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %t1 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def test_globals_live_as_long_as_the_loaded_module() -> None:
    loaded = ReferenceLoaded(tilery.parse(COUNTER))
    bump, read, out = loaded.kernel("bump"), loaded.kernel("read"), np.zeros(1, np.int32)
    bump.launch(10)
    bump.launch((2, 3))
    read.launch(1, [out])
    assert int(out[0]) == 5 + 10 + 6
    assert loaded.content("count") == (21).to_bytes(4, "little")


def test_compiling_loads_the_module_anew() -> None:
    module, out = tilery.parse(COUNTER), np.zeros(1, np.int32)
    tilery.compile(module, "bump").launch(3)
    tilery.compile(module, "read").launch(1, [out])
    assert int(out[0]) == 5


@pytest.mark.parametrize("entry, message", [(None, "has 2 kernels, name one of: bump, read"), ("x", "no kernel 'x'")])
def test_a_kernel_is_named(entry: str | None, message: str) -> None:
    with pytest.raises(tilery.TileError, match=message):
        tilery.compile(tilery.parse(COUNTER), entry)


def test_an_illegal_module_is_not_executed() -> None:
    module = tilery.parse("entry @k(%a: tile<4xf32>) { return }", verify=False)
    with pytest.raises(tilery.TileError, match="scalar types"):
        tilery.compile(module)


def test_an_engine_is_named() -> None:
    with pytest.raises(tilery.TileError, match="unknown engine 'tpu', expected reference"):
        tilery.compile(tilery.parse(COUNTER), "read", engine="tpu")


# ---------------------------------------------------------------- limits and figures


def test_tiles_that_do_not_fit_the_memory_limit_are_refused() -> None:
    text = """entry @k() {
      %a = iota : tile<1048576xi32>
      %b = addi %a, %a : tile<1048576xi32>
      return
    }"""
    with pytest.raises(tilery.TileError, match="needs 8388608 bytes at once, the limit is 1000000"):
        kernel(text).launch(1, limits=Limits(memory=1_000_000))


def test_a_launch_says_what_it_did() -> None:
    vadd = kernel((ROOT / "bench" / "kernels" / "vadd.mlir").read_text())
    a, b, c = (np.ones(4096, np.float32) for _ in range(3))
    stats = vadd.launch(4, [a, b, c], convention="cutile")
    assert (stats.blocks, stats.flops, stats.bytes_read, stats.bytes_written) == (4, 4096, 32768, 16384)


SAME_PLACE = """entry @k(%p: tile<ptr<f32>>, %n: tile<ptr<i32>>) {
  %t = make_tensor_view %p, shape = [12], strides = [1] : tensor_view<12xf32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>
  %one = constant <i32: 1> : tile<i32>
  %a, %t0 = load_view_tko weak %v[%one] : partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>, tile<i32>
    -> tile<8xf32>, token
  %t1 = store_view_tko weak %a, %v[%one] : tile<8xf32>, partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>,
    tile<i32> -> token
  %r = reshape %n : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %r : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %c, %t2 = load_ptr_tko weak %b : tile<4xptr<i32>> -> tile<4xi32>, token
  %t3 = store_ptr_tko weak %b, %c : tile<4xptr<i32>>, tile<4xi32> -> token
  %o, %t4 = atomic_rmw_tko relaxed device %b, add, %c : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
  return
}"""


@pytest.mark.parametrize("batch", [None, 1, 4])
def test_figures_do_not_depend_on_the_batch(batch: int | None) -> None:
    """Although what all tile blocks do in one place is done once."""
    stats = kernel(SAME_PLACE).launch(6, [np.zeros(12, np.float32), np.zeros(1, np.int32)], batch=batch)
    assert (stats.operations, stats.bytes_read, stats.bytes_written) == (60, 6 * 48, 6 * 48)


@pytest.mark.parametrize("batch", [None, 1, 4])
@pytest.mark.parametrize("factor", ["%a", "%c"], ids=["directly", "by the machine"])
def test_figures_count_what_a_body_does(factor: str, batch: int | None) -> None:
    """However it is executed: 15 additions and multiplications for each tile block."""
    text = f"""entry @k() {{
      %c = constant <f32: 1.0> : tile<f32>
      %v = constant <f32: 2.0> : tile<16xf32>
      %r = reduce %v dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {{
        %m = mulf {factor}, %b : tile<f32>
        %s = addf %a, %m : tile<f32>
        yield %s : tile<f32>
      }}
      return
    }}"""
    stats = kernel(text).launch(6, batch=batch)
    assert (stats.operations, stats.flops) == (18, 6 * 30)


def test_masked_elements_do_not_count() -> None:
    stats = kernel(MASKED).launch(4, [np.zeros(60, np.float32), np.zeros(60, np.float32)])
    assert asdict(stats) == {**asdict(stats), "bytes_read": 480, "bytes_written": 240}
    known = stats.known()
    assert known.pop("device_nanoseconds") is None
    assert {type(figure) for figure in known.values()} == {int}


def test_at_least_one_thread_runs() -> None:
    with pytest.raises(tilery.TileError, match="at least one thread, got 0"):
        kernel("entry @k() { return }").launch(1, threads=0)


def test_text_comes_among_what_python_prints(capsys: pytest.CaptureFixture[str]) -> None:
    print("before")
    kernel('entry @k() { print_tko "within\\n" -> token  return }').launch(1)
    print("after")
    assert capsys.readouterr().out == "before\nwithin\nafter\n"


def test_any_bytes_are_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    kernel(
        'entry @k() { %c = constant <i32: 200> : tile<i32>  print_tko "%c\\80!" , %c : tile<i32> -> token  return }'
    ).launch(1)
    assert capfdbinary.readouterr().out == b"\xc8\x80!"


def test_text_goes_where_stdout_is_redirected() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        kernel('entry @k() { print_tko "within\\80" -> token  return }').launch(1)
    assert out.getvalue() == "within\ufffd"


def test_progress_counts_tile_blocks() -> None:
    done: list[int] = []
    kernel("entry @k() { return }").launch((10, 10), progress=done.append, batch=7)
    assert sum(done) == 100
    assert max(done) == 7


# ---------------------------------------------------------------- every example of the table


@pytest.mark.parametrize("opdef", registered(), ids=lambda d: d.mnemonic)
def test_the_example_of_every_operation_runs(opdef: Any) -> None:
    loaded = ReferenceLoaded(example_module(opdef.example))
    if not loaded.module.entries:
        return
    launched = loaded.kernel()
    values: list[Any] = []
    for param in launched.params:
        assert isinstance(param, tilery.types.Tile)
        element = param.element
        if isinstance(element, tilery.types.Ptr):
            values.append(np.zeros(1024, f"u{max(1, element.pointee.bits // 8)}"))
        else:
            values.append(0.5 if element.is_float else 1)
    launched.launch(1, values, output=lambda text: None, limits=Limits(steps=10_000))


# ---------------------------------------------------------------- four bits


def test_an_f4_array_has_two_elements_a_byte() -> None:
    text = "entry @k(%p: tile<ptr<f4E2M1FN>>) { return }"
    kernel(text).launch(1, [np.zeros(4, np.uint8)])
    with pytest.raises(tilery.TileError, match="one element per byte"):
        kernel(text).launch(1, [np.zeros(4, ml_dtypes.float4_e2m1fn)])


def test_an_f4_global_has_two_elements_a_byte() -> None:
    text = "global @g <f4E2M1FN: [1.0, 2.0, -0.5, 6.0]> : tile<4xf4E2M1FN>\nentry @k() { return }"
    assert ReferenceLoaded(tilery.parse(text)).content("g") == bytes([0x42, 0x79])


# ---------------------------------------------------------------- hints about arguments


def test_a_wrong_number_of_arguments_suggests_the_convention_that_fits() -> None:
    text = "entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) { return }"
    with pytest.raises(tilery.TileError, match="convention='cutile'"):
        kernel(text).launch(1, [np.zeros(4, np.float32)])
    with pytest.raises(tilery.TileError, match="2 arguments were given") as caught:
        kernel(text).launch(1, [np.zeros(4, np.float32), 4])
    assert not caught.value.notes


@pytest.mark.parametrize(
    "array, more, warns",
    [
        (np.zeros((4, 6), np.float32).T, 0, True),
        (np.zeros((4, 6), np.float32)[:, ::2], 0, True),
        (np.zeros((4, 6), np.float32).T, 6, False),  # the stride is an argument
        (np.zeros((4, 6), np.float32), 0, False),
        (np.zeros((1, 6), np.float32).T, 0, False),
        (np.zeros((0, 6), np.float32).T, 0, False),
    ],
)
def test_arrays_with_gaps_are_warned_about(array: Any, more: int, warns: bool) -> None:
    loaded = kernel("entry @k(%p: tile<ptr<f32>>, %s: tile<i32>) { return }")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded.launch(1, [array, more], names=["x"])
    assert len(caught) == warns
    if warns:
        assert str(caught[0].message).startswith(f"argument 'x' is not contiguous (shape {list(array.shape)}, strides ")
        assert caught[0].filename == __file__
