"""The work of the lowering is proportional to the kernel: calls of functions are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

import tilery
from support.hostile.recipes import RATIO, steps_of

pytest.importorskip("llvmlite")

from tilery.engines.cpu.abi import NotLowered, Specialisation
from tilery.engines.cpu.native.targets import named
from tilery.engines.cpu.passes.pipeline import lower_by_loops as lower

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


def steps(step: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A kernel with many steps on the views `%v` and `%w` of 16 tiles; K is a step, L the next one."""
    view = "partition_view<tile=(64), tensor_view<1024xf32, strides=[1]>>"

    def make(n: int) -> str:
        body = "".join(step.replace("K", str(k)).replace("L", str(k + 1)) for k in range(n))
        text = f"""entry @k(%p: tile<ptr<f32>>, %s: tile<ptr<i32>>, %c: tile<i1>) {{
          %zero = constant <i32: 0> : tile<i32>
          %tv = make_tensor_view %p, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
          %v = make_partition_view %tv : VIEW
          {before} {body} {after.replace("N", str(n))} return }}"""
        return text.replace("VIEW", view)

    return make


LOAD = "%xK, %tK = load_view_tko weak %v[%zero] : VIEW, tile<i32> -> tile<64xf32>, token "
STORE = "%uK = store_view_tko weak %yK, %v[%zero] : tile<64xf32>, VIEW, tile<i32> -> token "
ATOMIC = "%oK, %tK = atomic_rmw_tko relaxed device %s, add, %zero : tile<ptr<i32>>, tile<i32> -> tile<i32>, token "
LOOP = "for %iK in (%zero to %zero, step %zero) : tile<i32> { continue } "
TILES = "tile<64xf32>"


def chain(step: str) -> Callable[[int], str]:
    """A kernel with many steps on a tile `%xK`; the first is loaded through the pointers `%q`, the last one stored."""

    def make(n: int) -> str:
        body = "".join(step.replace("NEXT", str(k + 1)).replace("K", str(k)) for k in range(n)).replace("T", TILES)
        return f"""entry @k(%p: tile<ptr<f32>>, %c: tile<i1>) {{
          %i = iota : tile<64xi32> %seven = constant <i32: 7> : tile<64xi32>
          %p0 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
          %p1 = broadcast %p0 : tile<1xptr<f32>> -> tile<64xptr<f32>>
          %q = offset %p1, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
          %r0 = offset %q, %seven : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
          %x0, %t = load_ptr_tko weak %q : tile<64xptr<f32>> -> {TILES}, token {body}
          %u = store_ptr_tko weak %q, %x{n} token=%t : tile<64xptr<f32>>, {TILES} -> token return }}"""

    return make


SUM = "(%aK: tile<f32>, %bK: tile<f32>) { %dK = addf %aK, %bK : tile<f32> yield %dK : tile<f32> } "
TURN = "%fK = reshape %xK : T -> tile<8x8xf32> %gK = permute %fK [1, 0] : tile<8x8xf32> -> tile<8x8xf32> "
CHAINS: dict[str, tuple[Callable[[int], str], int]] = {
    "additions": (chain("%xNEXT = addf %xK, %x0 : T "), 200),
    "functions": (chain("%xNEXT = exp %xK : T "), 200),
    "shifted loads": (
        chain(
            "%rNEXT = offset %rK, %seven : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>> "
            "%yK, %tK = load_ptr_tko weak %rNEXT : tile<64xptr<f32>> -> T, token %xNEXT = addf %xK, %yK : T "
        ),
        50,
    ),
    "permutations and sums": (chain(TURN + "%hK = reshape %gK : tile<8x8xf32> -> T %xNEXT = addf %hK, %xK : T "), 40),
    "reductions": (
        chain(
            "%eK = reduce %xK dim=0 identities=[0.0 : f32] : T -> tile<f32> " + SUM + "%fK = reshape %eK : tile<f32> "
            "-> tile<1xf32> %gK = broadcast %fK : tile<1xf32> -> T %xNEXT = subf %xK, %gK : T "
        ),
        20,
    ),
    "branches": (chain("%xNEXT = if %c -> (T) { %yK = addf %xK, %x0 : T yield %yK : T } else { yield %xK : T } "), 60),
}
SHAPES: dict[str, tuple[Callable[[int], str], int]] = {
    **CHAINS,
    "shared operands": (shared_operands, 6),
    "nested ifs": (nested("if %c { ", "yield } "), 10),
    "very deep ifs": (nested("if %c { ", "yield } "), 120),
    "very deep loops": (nested("for %iN in (%one to %n, step %one) : tile<i32> { ", "continue } "), 120),
    "loads and stores": (steps(LOAD + "%yK = addf %xK, %xK : tile<64xf32> " + STORE), 40),
    "loads before stores": (steps(LOAD + STORE.replace("%yK", "%x0")), 40),
    "atomics": (steps(ATOMIC), 40),
    "ifs in a row": (steps("if %c { yield } "), 40),
    "loops in a row": (steps(LOOP), 40),
    "loads, ifs with stores": (steps(LOAD + "if %c { " + STORE.replace("%yK", "%xK") + " yield } "), 40),
}


@pytest.mark.parametrize("name", SHAPES)
def test_lowering_is_linear(name: str) -> None:
    make, size = SHAPES[name]
    costs = []
    for n in (2, size, 2 * size):  # the first is for imports and generated code
        module = tilery.parse(make(n))
        entry = module.entries[0]

        def run() -> None:
            with suppress(NotLowered):
                lower(module, entry, named("avx2"), Specialisation())  # noqa: B023

        costs.append(steps_of(run))
    assert costs[2] <= RATIO * costs[1], costs


def test_permutations_that_multiply_are_bounded() -> None:
    """Each step doubles the orders in which the elements of the first tile are needed."""
    rank, tile = 10, "tile<" + "2x" * 10 + "f32>"
    orders = [[*range(k % 8 + 1, k % 8 - 1, -1)] for k in range(40)]
    body = ""
    for k, pair in enumerate(orders):
        order = list(range(rank))
        order[k % 8], order[k % 8 + 1] = pair
        body += f"%pK = permute %xK {order} : {tile} -> {tile} %xL = addf %xK, %pK : {tile} ".replace(
            "K", str(k)
        ).replace("L", str(k + 1))
    text = f"""entry @k(%p: tile<ptr<f32>>) {{
      %i = iota : tile<1024xi32> %j = reshape %i : tile<1024xi32> -> {tile.replace("f32", "i32")}
      %x0 = itof %j signed : {tile.replace("f32", "i32")} -> {tile} {body}
      %y = reshape %x40 : {tile} -> tile<1024xf32>
      %q = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
      %r = broadcast %q : tile<1xptr<f32>> -> tile<1024xptr<f32>>
      %s = offset %r, %i : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
      %t = store_ptr_tko weak %s, %y : tile<1024xptr<f32>>, tile<1024xf32> -> token return }}"""
    module = tilery.parse(text)

    def run() -> None:
        with suppress(NotLowered):
            lower(module, module.entries[0], named("avx2"), Specialisation())

    assert steps_of(run) < 120_000_000


def test_a_constant_is_written_once() -> None:
    numbers, tile = ", ".join(map(str, range(64))), "tile<64xi32>"
    pointers = tile.replace("i32", "ptr<i32>")
    uses = "".join(
        f"%c{n} = constant <i32: [{numbers}]> : {tile} "
        f"%u{n} = store_ptr_tko weak %q, %c{n} : {pointers}, {tile} -> token "
        for n in range(20)
    )
    module = tilery.parse(f"""entry @k(%p: tile<ptr<i32>>) {{
      %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>> %pb = broadcast %p1 : tile<1xptr<i32>> -> {pointers}
      %d = constant <i32: [{numbers.replace("63", "7")}]> : {tile}
      %q = offset %pb, %d : {pointers}, {tile} -> {pointers}
      {uses} return }}""")
    text = lower(module, module.entries[0], named("avx2"), Specialisation()).text
    assert text.count("internal constant [256 x i8]") == 2


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains_are_compiled(name: str) -> None:
    """What is fused is limited, not refused."""
    make, size = CHAINS[name]
    module = tilery.parse(make(4 * size))
    assert lower(module, module.entries[0], named("avx2"), Specialisation()).text
