"""A small problem, and candidates for it in text, which need no jail."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilery.judge import Judge, Problem, Result, parse_problem

CASES = """
[problem]
reference = "reference.py::reference"
[[argument]]
name = "x"
shape = ["N"]
[[argument]]
name = "out"
role = "out"
shape = ["N"]
[[cases]]
sizes = [{ N = 1 }, { N = 8 }, { N = 21 }]
values = ["normal", "zeros"]
"""
HEAD = """
// judge: grid = ["cdiv(N, 8)"]
// judge: args = ["x", "out", "N"]
%(globals)s
entry @k(%%x: tile<ptr<f32>>, %%o: tile<ptr<f32>>, %%n: tile<i32>) {
  %%b, %%by, %%bz = get_tile_block_id : tile<i32>
  %%w = constant <i32: 8> : tile<i32>
  %%s = muli %%b, %%w : tile<i32>
  %%s1 = reshape %%s : tile<i32> -> tile<1xi32>
  %%s8 = broadcast %%s1 : tile<1xi32> -> tile<8xi32>
  %%k = iota : tile<8xi32>
  %%i = addi %%s8, %%k : tile<8xi32>
  %%n1 = reshape %%n : tile<i32> -> tile<1xi32>
  %%n8 = broadcast %%n1 : tile<1xi32> -> tile<8xi32>
  %%m = cmpi less_than %%i, %%n8, signed : tile<8xi32> -> tile<8xi1>
  %%z = constant <f32: 0.0> : tile<8xf32>
  %%two = constant <f32: 2.0> : tile<8xf32>
  %%xp1 = reshape %%x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %%xp = broadcast %%xp1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %%xa = offset %%xp, %%i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %%op1 = reshape %%o : tile<ptr<f32>> -> tile<1xptr<f32>>
  %%op = broadcast %%op1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %%oa = offset %%op, %%i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
%(body)s
  return
}
"""
LOAD = "  %xv, %t0 = load_ptr_tko weak %xa, %m, %z : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token\n"
DOUBLE = "  %r = addf %xv, %xv : tile<8xf32>\n"
STORE = "  %t9 = store_ptr_tko weak %oa, %r, %m : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token\n"


def text(body: str, globals: str = "") -> str:
    return HEAD % {"body": body, "globals": globals}


GOOD = text(LOAD + DOUBLE + STORE)


def reference(x: Any) -> Any:
    return 2 * x


def problem() -> Problem:
    return parse_problem(CASES)


def judged(source: str, function: Any = reference, name: str = "k.mlir", **options: Any) -> Result:
    with Judge(problem(), function, **options) as judge:
        return judge.judge_source(source, name)


def f32(*numbers: float) -> Any:
    return np.array(numbers, np.float32)
