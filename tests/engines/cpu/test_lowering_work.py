"""The work of the lowering is proportional to the kernel: calls of functions are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tilery
from support.hostile.recipes import RATIO, steps_of

pytest.importorskip("llvmlite")

from tilery.engines.cpu.abi import Specialisation
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.native.targets import named

TILE = "tile<64x64xf32>"
PLACES = """%i = iota : tile<64xi32> %r = reshape %i : tile<64xi32> -> tile<64x1xi32>
  %s = broadcast %r : tile<64x1xi32> -> tile<64x64xi32>
  %p0 = reshape %p : tile<ptr<f32>> -> tile<1x1xptr<f32>>
  %p1 = broadcast %p0 : tile<1x1xptr<f32>> -> tile<64x64xptr<f32>>
  %q = offset %p1, %s : tile<64x64xptr<f32>>, tile<64x64xi32> -> tile<64x64xptr<f32>>"""


def shared_operands(n: int) -> str:
    """A chain in which each value uses the one before twice: 2**n paths lead to the first."""
    steps = "".join(f"%x{k + 1} = addf %x{k}, %x{k} : {TILE} " for k in range(n))
    return f"""entry @k(%p: tile<ptr<f32>>) {{ {PLACES}
      %x0, %t = load_ptr_tko weak %q : tile<64x64xptr<f32>> -> {TILE}, token
      {steps} %u = store_ptr_tko weak %q, %x{n} token=%t : tile<64x64xptr<f32>>, {TILE} -> token return }}"""


def nested(opened: str, closed: str) -> Callable[[int], str]:
    def make(n: int) -> str:
        one = "%one = constant <i32: 1> : tile<i32>"
        inside = "".join(opened.replace("N", str(k)) for k in range(n)) + closed * n
        return f"entry @k(%c: tile<i1>, %n: tile<i32>) {{ {one} {inside} return }}"

    return make


SHAPES: dict[str, tuple[Callable[[int], str], int]] = {
    "shared operands": (shared_operands, 6),
    "nested ifs": (nested("if %c { ", "yield } "), 8),
}


@pytest.mark.parametrize("name", SHAPES)
def test_lowering_is_linear(name: str) -> None:
    make, size = SHAPES[name]
    costs = []
    for n in (2, size, 2 * size):  # the first is for imports and generated code
        module = tilery.parse(make(n))
        entry = module.entries[0]
        costs.append(steps_of(lambda: lower(module, entry, named("avx2"), Specialisation())))  # noqa: B023
    assert costs[2] <= RATIO * costs[1], costs


def test_a_constant_is_written_once() -> None:
    numbers, tile = ", ".join(map(str, range(64))), "tile<64xi32>"
    uses = "".join(f"%c{n} = constant <i32: [{numbers}]> : {tile} " for n in range(20))
    other = f"%d = constant <f32: [{numbers.replace(',', '.0,')}.0]> : tile<64xf32>"
    module = tilery.parse(f"entry @k() {{ {uses} {other} return }}")
    text = lower(module, module.entries[0], named("avx2"), Specialisation()).text
    assert text.count("internal constant") == 2
