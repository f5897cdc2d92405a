"""Reductions whose order matters have that of the reference engine, and printed text is the same.

The Triton IR runs without Triton, on an interpreter.
"""

from __future__ import annotations

import pytest

import tilery
from engines.triton.interpreter import Interpreter
from tilery.engines.cuda.printing import BUFFER_BYTES, decode
from tilery.engines.triton.config import Config
from tilery.engines.triton.lower import lower
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of
from tilery.ops import Module

REDUCE = """entry @k() {{
  %b0, %b1, %b2 = get_tile_block_id : tile<i32>
  %i = iota : tile<{size}xi32>
  %p = constant <i32: 40503> : tile<{size}xi32>
  %m = muli %i, %p : tile<{size}xi32>
  %q = constant <i32: 63> : tile<{size}xi32>
  %n = andi %m, %q : tile<{size}xi32>
  %x = reshape %n : tile<{size}xi32> -> tile<{shape}xi32>
  %y = reshape %i : tile<{size}xi32> -> tile<{shape}xi32>
  %c = constant <i32: 2> : tile<i32>
  {reduce}
  return
}}"""
ONE = """%r = reduce %x dim={dim} identities=[0 : i32] : tile<{shape}xi32> -> tile<{result}i32>
  (%a: tile<i32>, %b: tile<i32>) {{
    {body}
    yield %v : tile<i32>
  }}
  %t = print_tko "%d\\0A", %r : tile<{result}i32> -> token"""
POSITION = """%r, %s = reduce %x, %y dim={dim} identities=[0 : i32, 0 : i32] : tile<{shape}xi32>, tile<{shape}xi32> -> tile<{result}i32>, tile<{result}i32>
  (%a: tile<i32>, %b: tile<i32>, %ia: tile<i32>, %ib: tile<i32>) {{
    %larger = cmpi greater_than %a, %b, signed : tile<i32> -> tile<i1>
    %v = select %larger, %a, %b : tile<i1>, tile<i32>
    %w = select %larger, %ia, %ib : tile<i1>, tile<i32>
    yield %v, %w : tile<i32>, tile<i32>
  }}
  %t0 = print_tko "%d ", %r : tile<{result}i32> -> token
  %t = print_tko "at %3d\\0A", %s token=%t0 : tile<{result}i32> -> token"""  # noqa: E501
SHAPES = [((1024,), 0), ((2,), 0), ((16, 32), 0), ((16, 32), 1), ((4, 8, 16), 0), ((4, 8, 16), 1), ((4, 8, 16), 2)]


def text_of(module: Module) -> str:
    return lower(module, module.entries[0], find_target("sm_90"), Config(), dialect_of("3.6.0")).text


def reduced(template: str, shape: tuple[int, ...], dim: int, body: str = "") -> Module:
    size = 1
    for n in shape:
        size *= n
    rest = "".join(f"{n}x" for n in shape[:dim] + shape[dim + 1 :])
    words = "x".join(map(str, shape))
    inner = template.format(dim=dim, shape=words, result=rest, body=body)
    return tilery.parse(REDUCE.format(size=size, shape=words, reduce=inner))


def printed(module: Module, blocks: int = 1) -> tuple[str, str]:
    """Return what the Triton IR and the reference engine print."""
    interpreter = Interpreter(text_of(module), 1 << 16)
    for block in reversed(range(blocks)):
        interpreter.run((block, 0, 0), prints=0)
    said: list[str] = []
    tilery.compile(module).launch(blocks, output=said.append)
    found = decode(module.entries[0], bytes(interpreter.memory), lambda address: b"", 1 << 20)
    return found, "".join(said)


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("body", [
    "%d = muli %b, %c : tile<i32>\n %v = subi %a, %d : tile<i32>",
    "%v = subi %a, %b : tile<i32>",
    "%v = addi %a, %b : tile<i32>",
    "%z = cmpi less_than %a, %c, signed : tile<i32> -> tile<i1>\n %v = select %z, %b, %a : tile<i1>, tile<i32>",
])  # fmt: skip
def test_a_reduction_has_the_order_of_the_reference_engine(shape: tuple[int, ...], dim: int, body: str) -> None:
    found, wanted = printed(reduced(ONE, shape, dim, body))
    assert found == wanted and wanted.endswith("\n")


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_of_equal_elements_the_same_one_is_found(shape: tuple[int, ...], dim: int) -> None:
    found, wanted = printed(reduced(POSITION, shape, dim), blocks=2)
    assert found == wanted and wanted.count("at") == 2


@pytest.mark.parametrize("body", ["%v = addi %a, %b : tile<i32>", "%v = maxi %b, %a signed : tile<i32>"])
def test_a_commutative_operation_is_left_to_triton(body: str) -> None:
    text = text_of(reduced(ONE, (1024,), 0, body))
    assert text.count("tt.reduce.return") == 1 and "tensor<1024xi32>) -> i32" in text


def test_several_operations_are_applied_to_halves() -> None:
    """Eight elements a thread, 32 lanes and four warps: ten times half of the elements are combined with the others."""
    text = text_of(reduced(ONE, (1024,), 0, "%d = muli %b, %c : tile<i32>\n %v = subi %a, %d : tile<i32>"))
    assert sum("arith.subi" in line for line in text.splitlines()) == 10


SCAN = """%r = scan %x dim={dim} reverse=false identities=[0 : i32] : tile<{shape}xi32> -> tile<{shape}xi32>
  (%a: tile<i32>, %b: tile<i32>) {{
    %v = addi %a, %b : tile<i32>
    yield %v : tile<i32>
  }}"""


@pytest.mark.parametrize(("shape", "dim", "left", "axis"), [
    ((2, 8, 1), 1, "2x8", 1), ((1, 8, 1, 4), 1, "8x4", 0), ((1, 1), 1, "1", 0), ((2, 8), 1, "2x8", 1),
])  # fmt: skip
def test_scans_have_no_unit_dimensions(shape: tuple[int, ...], dim: int, left: str, axis: int) -> None:
    """Triton 3.6 may spread a unit dimension over several lanes, and then shuffles the wrong ones."""
    text = text_of(reduced(SCAN, shape, dim))
    assert f"<{{axis = {axis} : i32, reverse = false}}>" in text
    assert f"(tensor<{left}xi32>) -> tensor<{left}xi32>" in text


def test_values_that_do_not_fit_the_buffer_are_not_stored() -> None:
    module = reduced(POSITION, (16, 32), 1)
    interpreter = Interpreter(text_of(module), BUFFER_BYTES)
    interpreter.memory[:8] = (BUFFER_BYTES - 80).to_bytes(8, "little")  # the first one needs 80 bytes, and 64 are left
    interpreter.run((0, 0, 0), prints=0)
    assert interpreter.memory[-64:] == bytes(64), "the first number of a record is that of its operation"
    assert int.from_bytes(interpreter.memory[:8], "little") == BUFFER_BYTES + 80
