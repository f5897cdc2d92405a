"""Pointers that come by way of control flow or memory, and tiles whose elements lie in several arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from support.both_engines import partition
from tilery.diag import ErrorKind
from tilery.engines.common.limits import Limits

P, N = "tile<ptr<i32>>", "tile<i32>"
WAYS = {
    "select": f"%p = select %no, %a, %b : tile<i1>, {P}",
    "if": f"%p = if %no -> ({P}) {{\n yield %a : {P}\n }} else {{\n yield %b : {P}\n }}",
    "for": f"%p = for %i in (%zero to %two, step %one) : {N} iter_values(%q = %a) -> ({P}) {{ continue %b : {P} }}",
    "loop": f"%p = loop iter_values(%q = %b) : {P} -> {P} {{ break %q : {P} }}",
    "memory": """%s = alloca num_elem = 2, alignment = 8 : tile<ptr<i64>>
  %n = ptr_to_int %b : tile<ptr<i32>> -> tile<i64>
  %k1 = store_ptr_tko weak %s, %n : tile<ptr<i64>>, tile<i64> -> token
  %m, %k2 = load_ptr_tko weak %s token = %k1 : tile<ptr<i64>> -> tile<i64>, token
  %p = int_to_ptr %m : tile<i64> -> tile<ptr<i32>>""",
}  # fmt: skip
USES = {
    "pointers": """%u = load_ptr_tko weak %w token = %k : tile<4xptr<i32>> -> tile<4xi32>, token""",
    "view": """%t = make_tensor_view %v, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
  %y = make_partition_view %t : VIEW
  %u = load_view_tko weak %y[%zero] token = %k : VIEW, tile<i32> -> tile<4xi32>, token""",
    "atomic": """%u = atomic_rmw_tko relaxed device %w, add, %c token = %k
      : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token""",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_pointers_to_own_memory(way: str, use: str) -> None:
    """Whatever way a pointer to an `alloca` came, its elements may be accessed, and nothing beside them."""
    view = partition([4], "i32", [1])
    text = f"""entry @k(%o: {P}, %first: {N}) {{
  %no = constant <i1: false> : tile<i1>
  %zero = constant <i32: 0> : {N}
  %one = constant <i32: 1> : {N}
  %two = constant <i32: 2> : {N}
  %c = constant <i32: [5, 6, 7, 8]> : tile<4xi32>
  %j = iota : tile<4xi32>
  %a = alloca num_elem = 4, alignment = 128 : {P}
  %b = alloca num_elem = 4, alignment = 128 : {P}
  %b1 = reshape %b : {P} -> tile<1xptr<i32>>
  %b4 = broadcast %b1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %at = offset %b4, %j : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %k = store_ptr_tko weak %at, %c : tile<4xptr<i32>>, tile<4xi32> -> token
  {WAYS[way]}
  %v = offset %p, %first : {P}, {N} -> {P}
  %v1 = reshape %v : {P} -> tile<1xptr<i32>>
  %v4 = broadcast %v1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %w = offset %v4, %j : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  {USES[use].replace("%u =", "%x, %l =")}
  %to = make_tensor_view %o, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
  %vo = make_partition_view %to : VIEW
  %e = store_view_tko weak %x, %vo[%zero] : tile<4xi32>, VIEW, {N} -> token
  return }}""".replace("VIEW", view)
    module = tilery.parse(text)
    fast: Any = tilery.compile(module, engine="cpu")
    assert fast.lowered is not None
    out = np.zeros(4, np.int32)
    fast.launch(3, [out, 0])
    assert out.tolist() == [5, 6, 7, 8]
    for first in (-1, 1, 4, 1000):
        for kernel in (fast, tilery.compile(module)):
            with pytest.raises(tilery.TileError, match="outside every buffer"):
                kernel.launch(1, [out, first])


# ---------------------------------------------------------------- tiles in several arrays


ACCESS = {
    "load": "%x, %k = load_view_tko weak %v[%z, %z] : VIEW, tile<i32> -> tile<2x4xT>, token\n"
    "  %l = store_view_tko weak %x, %w[%z, %z] : tile<2x4xT>, OUT, tile<i32> -> token",
    "store": "%l = store_view_tko weak %c, %v[%z, %z] : tile<2x4xT>, VIEW, tile<i32> -> token",
    "add": "%l = atomic_red_view_tko relaxed device %v[%z, %z], add, %c : tile<2x4xT>, VIEW, tile<i32> -> token",
}


def strided(access: str, t: str = "i32") -> str:
    """An access to a tile of two rows, `%s` elements apart; the last `%n` of the four columns are outside."""
    view = partition([2, 4], t, ["?", 1], [2, "?"])
    tensor = view[view.index("tensor_view") : -1]
    text = f"""entry @k(%p: tile<ptr<T>>, %q: tile<ptr<T>>, %o: tile<ptr<T>>, %s: tile<i64>, %n: tile<i64>) {{
  %z = constant <i32: 0> : tile<i32>
  %c = constant <T: [[1, 2, 3, 4], [5, 6, 7, 8]]> : tile<2x4xT>
  %t = make_tensor_view %p, shape = [2, %n], strides = [%s, 1] : tile<i64> -> {tensor}
  %v = make_partition_view %t : VIEW
  %to = make_tensor_view %o, shape = [2, 4], strides = [4, 1] : tensor_view<2x4xT, strides=[4,1]>
  %w = make_partition_view %to : OUT
  {ACCESS[access]}
  return }}"""
    out = partition([2, 4], t, [4, 1])
    return text.replace("VIEW", view).replace("OUT", out).replace("<T", f"<{t}").replace("xT", f"x{t}")


def both(text: str, arrays: Any, *numbers: int) -> Any:
    """Launch on each engine with what `arrays` makes of fresh memory; return both results, or both faults."""
    module = tilery.parse(text)
    found: list[Any] = []
    for engine in ("cpu", "reference"):
        raw = np.arange(4096, dtype=np.int32)
        args = arrays(raw)
        kernel: Any = tilery.compile(module, engine=engine)
        try:
            kernel.launch(1, [*args, *numbers])
        except tilery.TileError as error:
            assert "something illegal" not in error.message
            found.append("fault")
            continue
        found.append([raw.tobytes(), *(x.tobytes() for x in args)])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("access", ACCESS)
def test_tiles_in_several_arrays(access: str) -> None:
    text = strided(access)

    def near(raw: Any) -> list[Any]:
        return [raw[16:24], raw[24:32], raw[64:72]]

    def apart(raw: Any) -> list[Any]:
        return [raw[16:20], raw[30:34], raw[64:72]]

    assert both(text, near, 4, 4) != "fault"  # in the first array
    assert both(text, near, 6, 4) != "fault"  # the second row lies in both
    assert both(text, near, 8, 4) != "fault"
    assert both(text, near, 14, 4) == "fault"
    assert both(text, near, 14, 2) != "fault"
    assert both(text, apart, 14, 4) != "fault"
    assert both(text, apart, 13, 4) == "fault"
    assert both(text, apart, 15, 3) != "fault"
    assert both(text, apart, 4, 4) == "fault"

    def read_only(raw: Any) -> list[Any]:
        args = apart(raw)
        args[1].flags.writeable = False
        return args

    assert (both(text, read_only, 14, 4) == "fault") is (access != "load")


def test_an_element_in_two_arrays() -> None:
    """Arrays of bytes that touch within an element: that is in neither."""
    text = strided("load", "i16")
    for boundary in range(40, 57):
        both(text, lambda raw, n=boundary: [*_halves(raw, n), raw[64:80].view(np.int16)], 4, 4)


def _halves(raw: Any, boundary: int) -> list[Any]:
    content = raw.view(np.int8)
    return [content[40:boundary], content[boundary:72]]


@pytest.mark.parametrize("access", ACCESS)
def test_an_array_with_gaps_from_another(access: str) -> None:
    """Its elements may be written through a view of another array, and what lies between them may not."""
    text = strided(access)

    def arrays(raw: Any) -> list[Any]:
        return [raw[16:24], raw[100:164].reshape(8, 8)[:, :4], raw[400:408]]

    assert both(text, arrays, 84, 4) != "fault"
    assert both(text, arrays, 92, 4) != "fault"
    assert (both(text, arrays, 88, 4) == "fault") is (access != "load")
    assert (both(text, arrays, 86, 4) == "fault") is (access != "load")
    assert both(text, arrays, 4, 4) != "fault"


def test_a_limit_holds_in_the_check_of_a_tile_that_lies_in_several_arrays() -> None:
    """Each element is looked for; the launch ends inside of the check, before anything is stored."""
    size = 1 << 22
    view = partition([size], "i8", [1])
    module = tilery.parse(f"""entry @k(%p: tile<ptr<i8>>) {{
  %z = constant <i32: 0> : tile<i32>
  %x = constant <i8: 1> : tile<{size}xi8>
  %t = make_tensor_view %p, shape = [{size}], strides = [1] : tensor_view<{size}xi8, strides=[1]>
  %v = make_partition_view %t : {view}
  %l = store_view_tko weak %x, %v[%z] : tile<{size}xi8>, {view}, tile<i32> -> token
  return }}""")
    kernel: Any = tilery.compile(module, engine="cpu")
    raw = np.zeros(size, np.int8)
    first, second = raw[: size // 2], raw[size // 2 :]
    with pytest.raises(tilery.TileError) as caught:
        kernel.launch(1, [first], buffers=[second], limits=Limits(seconds=0.001))
    assert caught.value.kind is ErrorKind.TIMEOUT
    assert not raw.any()
    kernel.launch(1, [first], buffers=[second])
    assert raw.all()
