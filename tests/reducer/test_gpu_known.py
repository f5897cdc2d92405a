"""The patterns of known faults on a GPU: the reduced kernels have them, and random modules with them are found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tilery

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from reducing import gpu_known
from reducing.gpu_known import KNOWN, make, results_differ, wrong_lowering
from tilery import ops
from tilery.reducer import Case, CaseLaunch

FAULTS = {known.name: known for known in KNOWN}
OF_TILEIRAS = ("return_in_two_loops", "continue_with_one_value_twice", "print_in_a_loop")


@pytest.mark.parametrize("name", OF_TILEIRAS)
def test_the_kernels_that_show_a_fault_have_its_pattern(name: str, root: Path) -> None:
    for other in OF_TILEIRAS:
        text = (root / "docs" / "reports" / "lab" / "compiler_bugs" / f"{other}.mlir").read_text("utf-8")
        assert FAULTS[name].pattern(tilery.parse(text)) == (name == other)


@pytest.mark.parametrize(("count", "differs"), [(0, True), (2, False)])
def test_results_are_told_apart_only_where_the_loop_is_not_entered(count: int, differs: bool, root: Path) -> None:
    path = root / "docs" / "reports" / "lab" / "compiler_bugs" / "continue_with_one_value_twice.mlir"
    module = tilery.parse(path.read_text("utf-8"))
    launch = CaseLaunch(module.entries[0].sym_name, args=(np.zeros(1, np.int32), count))
    assert results_differ(Case(module, launch)) == differs


def test_modules_of_a_pattern() -> None:
    """The module of a seed has the pattern, and the fault would show in it."""
    known = FAULTS["continue_with_one_value_twice"]
    (case,) = make(known, 29)
    assert known.pattern(case.module) and case.operations > 40 and case.launch is not None
    assert not any(isinstance(o, ops.Constant) and o.value.element.bits != 4 for o in tilery.walk(case.module))


def test_a_planted_lowering() -> None:
    """A planted lowering returns the first operand, for a while."""
    from tilery.engines.triton.ops import LOWERS

    good = LOWERS[ops.NegI]
    with wrong_lowering(ops.NegI):
        assert LOWERS[ops.NegI](None, None, 7) == 7
    assert LOWERS[ops.NegI] is good
    assert gpu_known.planted("negi").test.engines == ("reference", "triton")
