"""Modules of the battery are within the documented bounds of their operations, or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from parts.gpu_battery import FOLDED, WITHIN, Made, judge, judge_later, make, packed, unpacked
from parts.gpu_page import DIFFERENT, UNEXPLAINED
from support.contract import run_contract, store_all_values
from tilery.ir import walk
from tilery.ops import Constant, Module
from tilery.smith import Buffer, Contract, Launch
from tilery.types import F32

INPUT = """
  %i = iota : tile<4xi32>
  %r = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %s = broadcast %r : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %p = offset %s, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %x, %t = load_ptr_tko weak %p : tile<4xptr<f32>> -> tile<4xf32>, token"""


class Left:
    """What a module leaves in memory; tests change it, as a GPU would."""

    def __init__(self, body: str) -> None:
        self.module: Module = tilery.parse(f"entry @k(%a: tile<ptr<f32>>) {{{INPUT}\n{body}\n  return\n}}")
        self.contract = Contract((Launch("k", (1, 1, 1), (Buffer(F32, 4, written=False),)),))
        self.found = run_contract(*store_all_values(self.module, self.contract, every=True))

    def array(self, value: int, kind: Any) -> Any:
        """One of the last values as an array: value -1 is the last."""
        return np.frombuffer(self.found[value - 1], kind).copy()

    def leave(self, value: int, array: Any) -> None:
        self.found[value - 1] = array.tobytes()

    def move(self, value: int, by: int) -> None:
        self.leave(value, self.array(value, "u4") + np.uint32(by))

    def verdict(self, engine: str = "triton") -> tuple[str, str]:
        return judge(Made(self.module, self.contract, [[]]), self.found, engine)


CHAIN = """
  %b = sin %x : tile<4xf32>
  %c = addf %b, %b : tile<4xf32>
  %d = bitcast %c : tile<4xf32> -> tile<4xi32>"""


def test_a_difference_goes_on_in_what_follows() -> None:
    left = Left(CHAIN)
    assert left.verdict() == (WITHIN, "")
    left.move(-3, 1)
    assert left.verdict() == (UNEXPLAINED, "outside of the bounds: a result of addf, a result of bitcast")
    left.leave(-2, left.array(-3, "f4") * np.float32(2))
    assert left.verdict() == (UNEXPLAINED, "outside of the bounds: a result of bitcast")
    left.leave(-1, left.array(-2, "i4"))
    assert left.verdict() == (WITHIN, "")


def test_a_function_has_its_bound() -> None:
    left = Left("  %b = sin %x : tile<4xf32>")
    left.move(-1, 2)
    assert left.verdict() == (UNEXPLAINED, "outside of the bounds: a result of sin")


def test_the_library_of_triton_has_its_own_bound() -> None:
    left = Left("  %m = absf %x : tile<4xf32>\n  %b = pow %m, %m : tile<4xf32>".replace("pow", "fpowf"))
    left.move(-1, 2)
    assert left.verdict("triton")[0] == WITHIN
    assert left.verdict("tileiras")[0] == UNEXPLAINED


@pytest.mark.parametrize(("element", "top"), [("f8E4M3FN", 0x7E), ("f8E5M2", 0x7B)])
def test_a_constant_that_was_evaluated_does_not_saturate(element: str, top: int) -> None:
    constant = "  %n = constant <i32: [100000, -100000]> : tile<2xi32>\n"
    left = Left(f"{constant}  %b = itof %n signed : tile<2xi32> -> tile<2x{element}>")
    assert left.array(-1, "u1").tolist() == [top, top + 128]
    left.leave(-1, np.array([top + 1, top + 129], "u1"))
    assert left.verdict("tileiras") == (FOLDED, "")
    assert left.verdict("triton")[0] == UNEXPLAINED
    left.leave(-1, np.array([top - 1, top + 128], "u1"))
    assert left.verdict("tileiras")[0] == UNEXPLAINED


def test_a_number_from_memory_saturates() -> None:
    body = "  %n = bitcast %x : tile<4xf32> -> tile<4xi32>\n  %b = itof %n signed : tile<4xi32> -> tile<4xf8E4M3FN>"
    left = Left(body)
    left.leave(-1, left.array(-1, "u1") + np.uint8(1))
    assert left.verdict("tileiras")[0] == UNEXPLAINED


def test_sums_have_a_bound() -> None:
    left = Left("""
  %c = constant <f32: [1.0, 1.0e-8, 3.0, 0.3]> : tile<4xf32>
  %b = reduce %c dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%l: tile<f32>, %q: tile<f32>) {
    %v = addf %l, %q : tile<f32>
    yield %v : tile<f32>
  }""")
    left.move(-1, 1)
    assert left.verdict()[0] == WITHIN
    left.move(-1, 9)
    assert left.verdict() == (UNEXPLAINED, "outside of the bounds: a result of reduce")


@pytest.mark.parametrize("case", ["cos:3", "tan:0", "fpowf:2", "print_tko:1", "mmaf:0", "get_global:1"])
def test_the_reference_engine_is_within_the_bounds(case: str) -> None:
    name, _, seed = case.partition(":")
    made = make(name, int(seed))
    found = left_by(made)
    assert unpacked(packed(found)) == found
    assert judge(made, found, "triton") == (WITHIN, "")
    result = {"case": f"battery:{case}", "engine": "triton", "outcome": DIFFERENT, "loose": True, "text": ""}
    assert judge_later({**result, "data": packed(found)})["reason"] == WITHIN
    assert judge_later({**result, "data": ""}) == {**result, "data": ""}, "nothing to judge"
    again = made.with_loaded_constants()
    assert judge(again, left_by(again), "triton") == (WITHIN, "")


def left_by(made: Made) -> list[bytes]:
    module, contract = store_all_values(made.module, made.contract, every=True)
    return run_contract(module, contract, given=made.arguments(contract))


def test_constants_in_memory_change_nothing() -> None:
    made = make("maxf", 2)
    again = made.with_loaded_constants()
    assert len(again.contents[0]) > 3 and not any(isinstance(o, Constant) for o in walk(again.module))
    assert left_by(made)[0] == left_by(again)[0]
