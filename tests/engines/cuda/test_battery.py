"""Modules of the battery are within the documented bounds of their operations, or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from parts.gpu_battery import CONSTANTS, WITHIN, Made, judge_later, make, outside, packed, unpacked
from parts.gpu_page import DIFFERENT, FAILED, SAME, UNEXPLAINED
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
    """The memory that a module leaves; tests change it, as a GPU would."""

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

    def outside(self, engine: str = "triton") -> list[str]:
        return outside(Made(self.module, self.contract, [[]]), self.found, engine)


CHAIN = """
  %b = sin %x : tile<4xf32>
  %c = addf %b, %b : tile<4xf32>
  %d = bitcast %c : tile<4xf32> -> tile<4xi32>"""


def test_a_difference_goes_on_in_what_follows() -> None:
    left = Left(CHAIN)
    assert not left.outside()
    left.move(-3, 1)
    assert left.outside() == ["a result of addf", "a result of bitcast"]
    left.leave(-2, left.array(-3, "f4") * np.float32(2))
    assert left.outside() == ["a result of bitcast"]
    left.leave(-1, left.array(-2, "i4"))
    assert not left.outside()


def test_a_function_has_its_bound() -> None:
    left = Left("  %b = sin %x : tile<4xf32>")
    left.move(-1, 2)
    assert left.outside() == ["a result of sin"]


def test_the_library_of_triton_has_its_own_bound() -> None:
    left = Left("  %m = absf %x : tile<4xf32>\n  %b = pow %m, %m : tile<4xf32>".replace("pow", "fpowf"))
    left.move(-1, 2)
    assert not left.outside("triton")
    assert left.outside("tileiras") == ["a result of fpowf"]


def test_sums_have_a_bound() -> None:
    left = Left("""
  %c = constant <f32: [1.0, 1.0e-8, 3.0, 0.3]> : tile<4xf32>
  %b = reduce %c dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%l: tile<f32>, %q: tile<f32>) {
    %v = addf %l, %q : tile<f32>
    yield %v : tile<f32>
  }""")
    left.move(-1, 1)
    assert not left.outside()
    left.move(-1, 9)
    assert left.outside() == ["a result of reduce"]


@pytest.mark.parametrize("case", ["cos:3", "tan:0", "fpowf:2", "print_tko:1", "mmaf:0", "get_global:1"])
def test_the_reference_engine_is_within_the_bounds(case: str) -> None:
    name, _, seed = case.partition(":")
    made = make(name, int(seed))
    found = left_by(made)
    assert unpacked(packed(found)) == found
    assert not outside(made, found, "triton")
    again = made.with_loaded_constants()
    assert not outside(again, left_by(again), "triton")


def left_by(made: Made) -> list[bytes]:
    module, contract = store_all_values(made.module, made.contract, every=True)
    return run_contract(module, contract, given=made.arguments(contract))


def test_constants_in_memory_change_nothing() -> None:
    made = make("maxf", 2)
    again = made.with_loaded_constants()
    assert len(again.contents[0]) > 3 and not any(isinstance(o, Constant) for o in walk(again.module))
    assert left_by(made)[0] == left_by(again)[0]


def test_constants_are_a_reason_if_they_are_not_known_to_the_compiler() -> None:
    made = make("cos", 3)
    good, again = left_by(made), left_by(made.with_loaded_constants())
    bad = [bytes(len(data)) for data in good]
    run = {
        "case": "battery:cos:3",
        "engine": "tileiras",
        "outcome": DIFFERENT,
        "loose": True,
        "text": "0 of 33 buffers",
    }

    def reason(left: list[bytes], then: dict[str, Any] | None) -> str:
        return str(judge_later({**run, "data": packed(left), "again": then})["reason"])

    assert reason(good, None) == WITHIN
    assert reason(bad, None) == UNEXPLAINED
    assert reason(bad, {"outcome": SAME, "data": ""}) == CONSTANTS
    assert reason(bad, {"outcome": DIFFERENT, "data": packed(again)}) == CONSTANTS
    assert reason(bad, {"outcome": DIFFERENT, "data": ""}) == UNEXPLAINED, "bits that are defined"
    assert reason(bad, {"outcome": FAILED, "data": ""}) == UNEXPLAINED
    assert judge_later({**run, "case": "random:3"}) == {**run, "case": "random:3"}
