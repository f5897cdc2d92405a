"""The reasons for differences between compilers hold for cases that they explain, and for no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parts.gpu_page import UNEXPLAINED
from parts.gpu_reasons import RULES, Case, overflows, reason
from tilery.types import SCALARS


class Answers:
    """One case, whose answer is what the reference engine leaves."""

    def __init__(self, op: str, module: str, inputs: list[Any], element: str, count: int, grid: int = 1) -> None:
        params: list[dict[str, Any]] = [{"kind": "in", "elem": e, "input": i} for i, (e, _) in enumerate(inputs)]
        store = f"uint{SCALARS[element].row.memory_bits}"
        params.append({"kind": "out", "elem": element, "store": store, "n": count, "output": "o"})
        self.data = [a.view(f"u{a.itemsize}") for _, a in inputs]
        self.cases: dict[str, Any] = {
            "c": {"op": op, "module": module, "grid": [grid, 1, 1], "subset": False, "params": params, "group": op}
        }
        self.given: list[Any] = [np.zeros(count, store)]
        self.given = Case(self, "c", []).reference

    def arguments(self, name: str) -> list[tuple[Any, ...]]:
        *inputs, out = self.cases[name]["params"]
        return [*(("in", self.data[p["input"]]) for p in inputs), ("out", out["n"], np.dtype(out["store"]))]

    def outputs(self, name: str) -> list[Any]:
        return self.given

    def why(self, *changes: tuple[int, int]) -> str:
        """The reason of an answer with other bits, which are given by index and bits."""
        mine = [self.given[0].copy()]
        for index, bits in changes:
            mine[0][index] = bits
        return reason(Case(self, "c", mine))


def load(name: str, parameter: str, shape: str, element: str, size: int) -> str:
    tile, pointer = f"tile<{shape}x{element}>", f"ptr<{element}>"
    return f"""
  %{name}i = iota : tile<{size}xi32>
  %{name}r = reshape %{parameter} : tile<{pointer}> -> tile<1x{pointer}>
  %{name}b = broadcast %{name}r : tile<1x{pointer}> -> tile<{size}x{pointer}>
  %{name}o = offset %{name}b, %{name}i : tile<{size}x{pointer}>, tile<{size}xi32> -> tile<{size}x{pointer}>
  %{name}p = reshape %{name}o : tile<{size}x{pointer}> -> tile<{shape}x{pointer}>
  %{name}, %{name}t = load_ptr_tko weak %{name}p : tile<{shape}x{pointer}> -> {tile}, token"""


def kernel(parameters: str, body: str, shape: str, element: str, size: int) -> str:
    """A kernel that stores %y to %out."""
    place = load("z", "out", shape, element, size).rpartition("\n")[0]
    tile = f"tile<{shape}x{element}>"
    pointers = f"tile<{shape}xptr<{element}>>"
    store = f"%s = store_ptr_tko weak %zp, %y : {pointers}, {tile} -> token"
    return f"entry @k({parameters}, %out: tile<ptr<{element}>>) {{{body}{place}\n  {store}\n  return\n}}"


def scanned(body: str, element: str, numbers: Any) -> Answers:
    zero = "0 : i32" if element == "i32" else f"0.0 : {element}"
    text = (
        load("x", "a", "8", element, 8)
        + f"""
  %y = scan %x dim=0 reverse=false identities=[{zero}] : tile<8x{element}> -> tile<8x{element}>
  (%l: tile<{element}>, %r: tile<{element}>) {{
    {body}
    yield %v : tile<{element}>
  }}"""
    )
    return Answers("scan", kernel(f"%a: tile<ptr<{element}>>", text, "8", element, 8), [(element, numbers)], element, 8)


def test_a_body_that_is_not_associative_explains_a_scan() -> None:
    numbers = np.arange(1, 9, dtype=np.int32)
    difference = scanned("%v = subi %l, %r : tile<i32>", "i32", numbers)
    assert difference.why((7, 3)).startswith("The body is not associative")
    assert scanned("%v = addi %l, %r : tile<i32>", "i32", numbers).why((7, 3)) == UNEXPLAINED


def test_sums_have_a_bound() -> None:
    case = scanned("%v = addf %l, %r : tile<f32>", "f32", np.array([1, 1e-8, 3, 1e7, -1e7, 0.1, 0.2, 0.3], np.float32))
    bits = int(case.given[0][7])
    assert case.why((7, bits + 1)).startswith("Sums and products of floats")
    assert case.why((7, int(np.array(20, np.float32).view(np.uint32)))) == UNEXPLAINED
    exact = scanned("%v = mulf %l, %r : tile<f32>", "f32", np.full(8, 1.5, np.float32))
    assert exact.why((2, int(exact.given[0][2]) + 1)).startswith("Sums and products")
    assert exact.why((2, int(exact.given[0][2]) + 9)) == UNEXPLAINED


@pytest.fixture(scope="module")
def product() -> Answers:
    """A product of which the first result leaves the range of i32: 2**31 - 5 and 16 times 127."""
    text = load("a", "pa", "16x16", "i8", 256) + load("b", "pb", "16x32", "i8", 512)
    text += load("c", "pc", "16x32", "i32", 512)
    text += "\n  %y = mmai %a, %b, %c signed signed : tile<16x16xi8>, tile<16x32xi8>, tile<16x32xi32>"
    acc = np.zeros(512, np.int32)
    acc[0] = 2**31 - 5
    inputs = [("i8", np.full(256, 1, np.int8)), ("i8", np.full(512, 127, np.int8)), ("i32", acc)]
    given = "%pa: tile<ptr<i8>>, %pb: tile<ptr<i8>>, %pc: tile<ptr<i32>>"
    return Answers("mmai", kernel(given, text, "16x32", "i32", 512), inputs, "i32", 512)


def test_an_integer_product_may_wrap_around(product: Answers) -> None:
    assert product.given[0][0] == 2**31 - 1, "the reference engine saturates"
    assert product.why((0, 2**31 - 5 + 16 * 127)) == RULES[overflows]
    assert product.why((0, 7)) == UNEXPLAINED
    assert product.why((0, 2**31 - 5 + 16 * 127), (1, 0)) == UNEXPLAINED, "the second one fits"


def test_a_function_has_a_bound() -> None:
    text = load("x", "a", "4", "f32", 4) + "\n  %y = sin %x : tile<4xf32>"
    case = Answers(
        "sin", kernel("%a: tile<ptr<f32>>", text, "4", "f32", 4), [("f32", np.arange(1, 5, dtype=np.float32))], "f32", 4
    )
    bits = int(case.given[0][2])
    assert case.why((2, bits + 1)).startswith("Another library")
    assert case.why((2, bits + 2)) == UNEXPLAINED


def test_a_race_explains_a_store() -> None:
    text = """
  %x, %j, %k = get_tile_block_id : tile<i32>
  %xr = reshape %x : tile<i32> -> tile<1xi32>
  %y = broadcast %xr : tile<1xi32> -> tile<4xi32>"""
    module = kernel("%a: tile<ptr<i32>>", text, "4", "i32", 4)
    given = [("i32", np.zeros(1, np.int32))]
    assert Answers("store_ptr_tko", module, given, "i32", 4, grid=2).why((0, 0)).startswith("Two tile blocks store")
    assert Answers("store_ptr_tko", module, given, "i32", 4).why((0, 9)) == UNEXPLAINED
