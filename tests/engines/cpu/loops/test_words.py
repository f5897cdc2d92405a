"""Products of words by loops: the interpreter has the bits of the reference engine, and those of the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from engines.cpu.test_products import module, run
from support import native_loops
from support.loops import load
from tilery.attrs import Signedness
from tilery.engines.cpu.abi import NotLowered, Specialisation, Target
from tilery.engines.cpu.loops.nodes import Dot, Kernel, Loop, Shuffle, TileDot, walk
from tilery.engines.cpu.loops.verifier import verify
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.native.compiler import host
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.cpu.passes.pipeline import passes
from tilery.ir import walk as walk_ops
from tilery.ops import MmaI

LOOSE = Specialisation()
AVX2 = TARGETS["avx2"]
MACHINES = {
    "pairs": AVX2,
    "short fours": Target(AVX2.triple, "alderlake", AVX2.features | {"avxvnni"}),
    "fours": Target(AVX2.triple, "cascadelake", TARGETS["avx512"].features | {"avx512vnni"}),
    "tiles": TARGETS["amx"],
}
SIGNS = [(left, right) for left in Signedness for right in Signedness]


def integers(shape: tuple[int, int, int], start: str, transposed: bool, signs: tuple[Signedness, Signedness]) -> Any:
    made, args = module("mmai", "i8", "i32", *shape, start, 1 if shape[2] > 1 else 0, transposed)
    (product,) = (o for o in walk_ops(made) if isinstance(o, MmaI))
    product.signedness_lhs, product.signedness_rhs = signs
    args[0][0], args[1][:, 0] = -128, -128
    return made, args


def interpreted(made: Any, args: list[Any], target: Target) -> tuple[Any, Kernel]:
    """Run all passes for a processor, and interpret the kernel; return the result and the kernel."""
    kernel = load(made, *passes(target, LOOSE)).kernel()
    out = np.zeros_like(args[-1])
    kernel.launch(1, [*args[:-1], out])
    return out, kernel.lowered


CASES = [
    *((machine, (16, 32, 64), "0", False, signs) for machine in ("fours", "tiles") for signs in SIGNS),
    *((machine, (4, 16, 64), "2147400000", True, SIGNS[n]) for n, machine in enumerate(MACHINES)),
    *((machine, (2, 16, 4), "-7", False, SIGNS[n]) for n, machine in enumerate(MACHINES)),
]


@pytest.mark.parametrize(("machine", "shape", "start", "transposed", "signs"), CASES)
def test_integers(
    shape: tuple[int, int, int], start: str, transposed: bool, signs: tuple[Signedness, Signedness], machine: str
) -> None:
    made, args = integers(shape, start, transposed, signs)
    found, kernel = interpreted(made, args, MACHINES[machine])
    assert found.tobytes() == run(made, args).tobytes()
    names = {s.name for s in walk(kernel.body) if isinstance(s, (Dot, TileDot))}
    fills = {"pairs": False, "short fours": True, "fours": shape[1] >= 16, "tiles": True}[machine]
    assert names and all(name.startswith("i8") for name in names) is fills
    assert any(isinstance(s, TileDot) for s in walk(kernel.body)) is (machine == "tiles" and shape[0] >= 16)


def test_a_single_step_has_no_neighbours() -> None:
    made, args = integers((8, 8, 1), "5", False, SIGNS[1])
    found, kernel = interpreted(made, args, MACHINES["fours"])
    assert found.tobytes() == run(made, args).tobytes()
    assert not any(isinstance(s, Dot) for s in walk(kernel.body))


@pytest.mark.skipif("avx512bf16" not in host().features, reason="the processor has no products of bf16")
@pytest.mark.parametrize("tiles", [False, True], ids=["vectors", "tiles"])
@pytest.mark.parametrize(("shape", "transposed"), [((16, 64, 32), False), ((16, 32, 32), True), ((4, 16, 2), False)])
def test_sums_of_bf16_are_those_of_the_processor(shape: tuple[int, int, int], transposed: bool, tiles: bool) -> None:
    if tiles and "amx-bf16" not in host().features:
        pytest.skip("the processor has no tile registers")
    features = host().features if tiles else frozenset(f for f in host().features if not f.startswith("amx"))
    target = Target(host().triple, host().cpu, features)
    made, args = module("mmaf", "bf16", "f32", *shape, "0.0", 3 if shape[2] > 3 else 0, transposed)
    args[0][:, ::3] *= np.float32(2.0**-9)  # sums lose bits; no number is tiny
    found, kernel = interpreted(made, args, target)
    used = TileDot if tiles and shape[0] >= 16 else Dot
    if shape[0] * shape[1] * shape[2] > 1 << 14:
        assert any(isinstance(s, used) for s in walk(kernel.body))
    out = np.zeros_like(args[-1])
    native_loops.load(made, *passes(target, LOOSE), wanted=LOOSE).kernel().launch(1, [*args[:-1], out])
    assert out.tobytes() == found.tobytes() and np.isfinite(found).all() and found.any()


def test_operands_from_outside_a_loop_are_packed_before_it() -> None:
    """All that is left in the loop is the product."""
    import tilery
    from engines.cpu.test_products import REPEATED

    made = tilery.parse(REPEATED)
    kernel = lower(made, made.entries[0])
    for change in passes(MACHINES["fours"], LOOSE)[:2]:
        change(kernel)
        verify(kernel)
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, Loop) and s.polls)
    assert any(isinstance(s, Shuffle) and len(s.order) > 64 for s in walk(kernel.body))
    assert not any(isinstance(s, Shuffle) and len(s.order) > 64 for s in walk(loop.body))


def test_tile_registers_need_the_processor() -> None:
    made, _ = integers((16, 32, 64), "0", False, SIGNS[0])
    kernel_passes = passes(TARGETS["amx"], LOOSE)
    text = native_loops.rendered(made, made.entries[0], *kernel_passes, wanted=LOOSE, target=TARGETS["amx"]).text
    assert "ldtilecfg" in text and "tilerelease" in text
    with pytest.raises(NotLowered, match="a tile register"):
        native_loops.rendered(made, made.entries[0], *kernel_passes, wanted=LOOSE, target=TARGETS["avx512"])
