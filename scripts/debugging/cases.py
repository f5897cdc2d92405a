"""Twenty faulty kernels, each with a debugging session that finds the fault, and the prints that would."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(slots=True)
class Case:
    """A faulty kernel. The session has found the fault when an answer matches `found`."""

    name: str
    symptom: str
    """The symptom, as the author sees it."""
    fault: str
    """The fault."""
    text: str
    args: Callable[[], Arrays]
    session: list[str]
    found: str
    prints: list[list[str]]
    """For each round of printing the values that are printed; each round is an edit and a run."""
    grid: int = 1
    sanitize: str = ""


def expand(text: str) -> str:
    """Expand `PTR %pp = %p[%at] : 8xf32`, a tile of pointers to elements; other lines stay."""
    out = []
    for line in text.strip("\n").split("\n"):
        matched = re.fullmatch(r"(\s*)PTR %(\w+) = %(\w+)\[%(\w+)\] : ((?:\d+x)*)(\w+)", line)
        if matched is None:
            out.append(line)
            continue
        margin, to, base, index, shape, element = matched.groups()
        ones = re.sub(r"\d+", "1", shape)
        pointer = f"ptr<{element}>"
        out += [
            f"{margin}%{to}_1 = reshape %{base} : tile<{pointer}> -> tile<{ones}{pointer}>",
            f"{margin}%{to}_n = broadcast %{to}_1 : tile<{ones}{pointer}> -> tile<{shape}{pointer}>",
            f"{margin}%{to} = offset %{to}_n, %{index} : tile<{shape}{pointer}>, tile<{shape}i32>"
            f" -> tile<{shape}{pointer}>",
        ]
    return "\n".join(out) + "\n"


def zeros(*sizes: int, kind: type = np.float32) -> Any:
    return np.zeros(sizes, kind)


def ramp(size: int, kind: type = np.float32) -> Any:
    return np.arange(size).astype(kind)


BLOCK = """entry @k(%a: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %lane = iota : tile<8xi32>
  %size = constant <i32: 8> : tile<i32>
"""
START = """  %start_1 = reshape %start : tile<i32> -> tile<1xi32>
  %start_8 = broadcast %start_1 : tile<1xi32> -> tile<8xi32>
  %at = addi %start_8, %lane : tile<8xi32>
  PTR %pa = %a[%at] : 8xf32
  PTR %po = %out[%at] : 8xf32
"""
COPY = """  %x, %t = load_ptr_tko weak %pa : tile<8xptr<f32>> -> tile<8xf32>, token
  %u = store_ptr_tko weak %po, %x token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}"""
LOOP = """entry @k(%out: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %init = constant <f32: 0.0> : tile<f32>
"""
TWO = """entry @k(%a: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %row = iota : tile<4xi32>
  %column = iota : tile<8xi32>
  %row_1 = reshape %row : tile<4xi32> -> tile<4x1xi32>
  %rows = broadcast %row_1 : tile<4x1xi32> -> tile<4x8xi32>
  %column_1 = reshape %column : tile<8xi32> -> tile<1x8xi32>
  %columns = broadcast %column_1 : tile<1x8xi32> -> tile<4x8xi32>
"""


def copies() -> Arrays:
    return {"a": ramp(32), "out": zeros(32)}


CASES = [
    Case(
        "wrong index", "the end of the array is not written", "the block's start is 4 times its number, not 8 times",
        BLOCK + "  %four = constant <i32: 4> : tile<i32>\n  %start = muli %b, %four : tile<i32>\n" + START
        + COPY, copies, ["c", "who out[24]", "block 3", "p at[-1], start"], r"^\(19, 12\)$",
        [["x"], ["at"], ["start"]], 4,
    ),
    Case(
        "wrong mask", "a fault at the end of the array", "the mask compares with `less_than_or_equal`",
        BLOCK + "  %start = muli %b, %size : tile<i32>\n" + START
        + """  %n = constant <i32: 27> : tile<8xi32>
  %mask = cmpi less_than_or_equal %at, %n, signed : tile<8xi32> -> tile<8xi1>
  %pad = constant <f32: 0.0> : tile<8xf32>
  %x, %t = load_ptr_tko weak %pa, %mask, %pad : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
  return
}""", lambda: {"a": ramp(27), "out": zeros(27)}, ["c", "p at[mask]"], r"24 25 26 27\]$", [["at"], ["mask"]], 4,
    ),
    Case(
        "stale accumulator", "the sum is the last element", "the loop adds to the initial value",
        LOOP + """  %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<f32>) {
    %f = itof %i signed : tile<i32> -> tile<f32>
    %next = addf %init, %f : tile<f32>
    continue %next : tile<f32>
  }
  %t = store_ptr_tko weak %out, %sum : tile<ptr<f32>>, tile<f32> -> token
  return
}""", lambda: {"out": zeros(1), "n": 5}, ["b %next if %i == 2", "c", "p acc + f", "s", "p next"], r"^2$",
        [["sum"], ["f", "next"], ["acc", "f", "next"]],
    ),
    Case(
        "NaN origin", "the output is NaN", "the variance is computed as a difference and becomes negative",
        BLOCK + "  %start = muli %b, %size : tile<i32>\n" + START
        + """  %x, %t = load_ptr_tko weak %pa : tile<8xptr<f32>> -> tile<8xf32>, token
  %limit = constant <f32: 20.0> : tile<8xf32>
  %square = mulf %x, %x : tile<8xf32>
  %left = subf %limit, %x : tile<8xf32>
  %root = sqrt %left : tile<8xf32>
  %scaled = mulf %root, %square : tile<8xf32>
  %u = store_ptr_tko weak %po, %scaled token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}""", copies, ["catch nan", "c", "rs", "p left"], r"-1\. -2\. -3\.\]$", [["scaled"], ["root"], ["left"]], 4,
    ),
    Case(
        "lost update", "the counter is 1 after four blocks", "blocks load and store instead of an atomic addition",
        """entry @k(%count: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %old, %t = load_ptr_tko weak %count : tile<ptr<i32>> -> tile<i32>, token
  %new = addi %old, %one : tile<i32>
  %u = store_ptr_tko weak %count, %new token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
}""", lambda: {"count": zeros(1, kind=np.int32)}, ["c"], r"^report: race: ",
        [["old"], ["old", "new"]], 4, "race",
    ),
    Case(
        "wrong stride", "rows of the output overlap", "the row stride is 6, the row has 8 elements",
        TWO + """  %stride = constant <i32: 6> : tile<4x8xi32>
  %first = muli %rows, %stride : tile<4x8xi32>
  %at = addi %first, %columns : tile<4x8xi32>
  PTR %pa = %a[%at] : 4x8xf32
  PTR %po = %out[%at] : 4x8xf32
  %x, %t = load_ptr_tko weak %pa : tile<4x8xptr<f32>> -> tile<4x8xf32>, token
  %u = store_ptr_tko weak %po, %x token=%t : tile<4x8xptr<f32>>, tile<4x8xf32> -> token
  return
}""", copies, ["b %x", "c", "p at[:, 0]"], r"^\[ 0  6 12 18\]$", [["x"], ["at"]],
    ),
    Case(
        "loop ends too early", "the last term is missing", "the bound is n - 1",
        LOOP + """  %bound = subi %n, %one : tile<i32>
  %sum = for %i in (%zero to %bound, step %one) : tile<i32> iter_values(%acc = %init) -> (tile<f32>) {
    %f = itof %i signed : tile<i32> -> tile<f32>
    %next = addf %acc, %f : tile<f32>
    continue %next : tile<f32>
  }
  %t = store_ptr_tko weak %out, %sum : tile<ptr<f32>>, tile<f32> -> token
  return
}""", lambda: {"out": zeros(1), "n": 5}, ["b store_ptr_tko", "c", "p bound"], r"^4$", [["sum"], ["f"], ["bound"]],
    ),
    Case(
        "wrong step", "every second term is missing", "the step is 2",
        LOOP + """  %two = constant <i32: 2> : tile<i32>
  %sum = for %i in (%zero to %n, step %two) : tile<i32> iter_values(%acc = %init) -> (tile<f32>) {
    %f = itof %i signed : tile<i32> -> tile<f32>
    %next = addf %acc, %f : tile<f32>
    continue %next : tile<f32>
  }
  %t = store_ptr_tko weak %out, %sum : tile<ptr<f32>>, tile<f32> -> token
  return
}""", lambda: {"out": zeros(1), "n": 8}, ["b %f", "c", "c", "p i"], r"^2$", [["sum"], ["f"]],
    ),
    Case(
        "narrow integer", "indices are negative", "the product is computed in i8 and wraps",
        """entry @k(%out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %narrow = trunci %b : tile<i32> -> tile<i8>
  %size = constant <i8: 50> : tile<i8>
  %start = muli %narrow, %size : tile<i8>
  %wide = exti %start signed : tile<i8> -> tile<i32>
  %p = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %wide : tile<ptr<i32>>, tile<i32> -> token
  return
}""", lambda: {"out": zeros(4, kind=np.int32)}, ["b %wide if %start < 0", "c", "p narrow * 50", "p start"],
        r"^-106$", [["wide"], ["start", "narrow"]], 4,
    ),
    Case(
        "unsigned comparison", "negative numbers are clamped to the limit", "the comparison is unsigned",
        """entry @k(%a: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %lane = iota : tile<8xi32>
  PTR %pa = %a[%lane] : 8xi32
  PTR %po = %out[%lane] : 8xi32
  %x, %t = load_ptr_tko weak %pa : tile<8xptr<i32>> -> tile<8xi32>, token
  %limit = constant <i32: 5> : tile<8xi32>
  %less = cmpi less_than %x, %limit, unsigned : tile<8xi32> -> tile<8xi1>
  %y = select %less, %x, %limit : tile<8xi1>, tile<8xi32>
  %u = store_ptr_tko weak %po, %y token=%t : tile<8xptr<i32>>, tile<8xi32> -> token
  return
}""", lambda: {"a": ramp(8, np.int32) - 3, "out": zeros(8, kind=np.int32)}, ["b %y", "c", "p less[x < 0]"],
        r"^\[False False False\]$", [["y"], ["x", "less"]],
    ),
    Case(
        "wrong identity", "the maximum of negative numbers is 0", "the identity of the maximum is 0",
        """entry @k(%a: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %lane = iota : tile<8xi32>
  PTR %pa = %a[%lane] : 8xf32
  %x, %t = load_ptr_tko weak %pa : tile<8xptr<f32>> -> tile<8xf32>, token
  %zero = constant <f32: 0.0> : tile<1xf32>
  %padded = cat %x, %x dim = 0 : tile<8xf32>, tile<8xf32> -> tile<16xf32>
  %most = reduce %padded dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32>
  (%l: tile<f32>, %r: tile<f32>) {
    %m = maxf %l, %r : tile<f32>
    yield %m : tile<f32>
  }
  %u = store_ptr_tko weak %out, %most token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
}""", lambda: {"a": ramp(8) - 20, "out": zeros(1)}, ["c"], r"order-sensitive: reduce: the identity is not neutral",
        [["most"], ["padded"]], 1, "order-sensitive",
    ),
    Case(
        "wrong dimension", "there are 8 sums, not 4", "the reduction is along dimension 0",
        TWO + """  %eight = constant <i32: 8> : tile<4x8xi32>
  %first = muli %rows, %eight : tile<4x8xi32>
  %at = addi %first, %columns : tile<4x8xi32>
  PTR %pa = %a[%at] : 4x8xf32
  %x, %t = load_ptr_tko weak %pa : tile<4x8xptr<f32>> -> tile<4x8xf32>, token
  %sums = reduce %x dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  PTR %po = %out[%column] : 8xf32
  %u = store_ptr_tko weak %po, %sums token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}""", copies, ["b store_ptr_tko", "c", "p sums[0] == sum(x[:, 0])"], r"^True$", [["sums"], ["x"]],
    ),
    Case(
        "division by zero", "the output has infinities", "the divisor is 0 for the first element",
        BLOCK + "  %start = muli %b, %size : tile<i32>\n" + START
        + """  %x, %t = load_ptr_tko weak %pa : tile<8xptr<f32>> -> tile<8xf32>, token
  %one = constant <f32: 1.0> : tile<8xf32>
  %inverse = divf %one, %x : tile<8xf32>
  %u = store_ptr_tko weak %po, %inverse token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}""", copies, ["catch nan", "c", "p argwhere(isinf(inverse))", "p x[0]"], r"^0$", [["inverse"], ["x"]], 4,
    ),
    Case(
        "out of bounds", "a fault, in one tile block of 4", "the last block has no mask",
        BLOCK + "  %start = muli %b, %size : tile<i32>\n" + START + COPY,
        lambda: {"a": ramp(30), "out": zeros(30)}, ["c", "p at"], r"31\]$", [["at"]], 4,
    ),
    Case(
        "swapped branches", "even blocks have the value of odd ones", "the branches of `if` are exchanged",
        """entry @k(%out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %rest = remi %b, %two signed : tile<i32>
  %even = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
  %v = if %even -> (tile<i32>) {
    %odd_value = constant <i32: 111> : tile<i32>
    yield %odd_value : tile<i32>
  } else {
    %even_value = constant <i32: 222> : tile<i32>
    yield %even_value : tile<i32>
  }
  %p = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
  return
}""", lambda: {"out": zeros(4, kind=np.int32)}, ["b %odd_value", "c", "p b % 2"], r"^0$",
        [["v"], ["even", "v"]], 4,
    ),
    Case(
        "an element that is not written", "out[31] keeps its old value", "the grid is one tile block too small",
        BLOCK + "  %start = muli %b, %size : tile<i32>\n" + START + COPY, copies,
        ["c", "who out[31]", "p grid"], r"^\[3 1 1\]$", [["at"], ["b"]], 3,
    ),
    Case(
        "unsigned conversion", "negative inputs become four billion", "`itof` converts an unsigned integer",
        """entry @k(%a: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %lane = iota : tile<8xi32>
  PTR %pa = %a[%lane] : 8xi32
  PTR %po = %out[%lane] : 8xf32
  %x, %t = load_ptr_tko weak %pa : tile<8xptr<i32>> -> tile<8xi32>, token
  %f = itof %x unsigned : tile<8xi32> -> tile<8xf32>
  %u = store_ptr_tko weak %po, %f token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}""", lambda: {"a": ramp(8, np.int32) - 2, "out": zeros(8)}, ["c", "who out[0]", "p x[0], f[0]"],
        r"^\(-2, 4\.29497e\+09\)$",
        [["f"], ["x"]],
    ),
    Case(
        "transposed store", "the output is transposed", "the tile is permuted before it is stored row by row",
        TWO.replace("4x8", "4x4").replace("8xi32", "4xi32").replace("1x8", "1x4")
        + """  %four = constant <i32: 4> : tile<4x4xi32>
  %first = muli %rows, %four : tile<4x4xi32>
  %at = addi %first, %columns : tile<4x4xi32>
  PTR %pa = %a[%at] : 4x4xf32
  PTR %po = %out[%at] : 4x4xf32
  %x, %t = load_ptr_tko weak %pa : tile<4x4xptr<f32>> -> tile<4x4xf32>, token
  %y = permute %x [1, 0] : tile<4x4xf32> -> tile<4x4xf32>
  %u = store_ptr_tko weak %po, %y token=%t : tile<4x4xptr<f32>>, tile<4x4xf32> -> token
  return
}""", copies, ["b store_ptr_tko", "c", "p all(y == transpose(x))"], r"^True$", [["y"], ["x"]],
    ),
    Case(
        "wrong coordinate", "all blocks write the same tile", "the start uses the y coordinate of the block",
        BLOCK + "  %start = muli %y, %size : tile<i32>\n" + START + COPY, copies,
        ["watch out[0]", "c", "p block", "p start"], r"^0$", [["at"], ["start", "b", "y"]], 4,
    ),
    Case(
        "read before write", "the scratch memory is read as 0", "the load follows no token of the store",
        """entry @k(%scratch: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %one = constant <f32: 1.0> : tile<f32>
  %x, %t = load_ptr_tko weak %scratch : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %scratch, %one : tile<ptr<f32>>, tile<f32> -> token
  %v = store_ptr_tko weak %out, %x token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
}""", lambda: {"scratch": zeros(1), "out": zeros(1)}, ["c"], r"^report: race: ", [["x"], ["one", "x"]], 1, "race",
    ),
]  # fmt: skip
