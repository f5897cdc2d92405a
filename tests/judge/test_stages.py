"""Each stage rejects what it is there for, and says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judge.kernels import CASES, DOUBLE, GOOD, LOAD, STORE, judged, problem, text
from tilery import parse, walk
from tilery.judge import Judge, parse_problem
from tilery.judge.results import ACCEPTED, UNJUDGED
from tilery.judge.stages.static import Dependences, check_static
from tilery.judge.values import draw

GLOBAL = "global @kept <f32: [0.0]> : tile<1xf32>"
SAVE = """\
  %g = get_global @kept : tile<ptr<f32>>
  %one = constant <f32: 1.0> : tile<f32>
  %t5 = store_ptr_tko weak %g, %one : tile<ptr<f32>>, tile<f32> -> token
"""
UNMASKED = "  %xv, %t0 = load_ptr_tko weak %xa : tile<8xptr<f32>> -> tile<8xf32>, token\n"
TO_INPUT = "  %t8 = store_ptr_tko weak %xa, %r, %m : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token\n"
FROM_OUTPUT = (
    "  %old, %t3 = load_ptr_tko weak %oa, %m, %z : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token\n"
    "  %q = mulf %old, %z : tile<8xf32>\n  %p = addf %xv, %xv : tile<8xf32>\n  %r = addf %p, %q : tile<8xf32>\n"
)
HALF = """\
  %h = constant <i32: 4> : tile<8xi32>
  %lower = cmpi less_than %k, %h, signed : tile<8xi32> -> tile<8xi1>
  %mm = andi %m, %lower : tile<8xi1>
  %t9 = store_ptr_tko weak %oa, %r, %mm : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
"""
TO_NUMBER = "  %a = ptr_to_int %x : tile<ptr<f32>> -> tile<i64>\n"
FAULTS = {
    "syntax": ("entry @k(", "compile", "syntax"),
    "illegal": (text("  %a = reshape %k : tile<8xi32> -> tile<4xi32>"), "compile", "illegal"),
    "too few arguments": (GOOD.replace('"x", "out", "N"', '"x", "out"'), "verify", "argument"),
    "no store": (text(LOAD), "static", "unwritten"),
    "no load": (text(STORE.replace("%r", "%two")), "static", "unread"),
    "constant": (text(LOAD + STORE.replace("%r", "%two")), "static", "constant"),
    "state": (text(LOAD + DOUBLE + STORE + SAVE, GLOBAL), "static", "state"),
    "address": (
        text(LOAD + DOUBLE + STORE + "  %a = ptr_to_int %x : tile<ptr<f32>> -> tile<i64>\n"),
        "static",
        "address",
    ),
    "bounds": (text(UNMASKED + DOUBLE + STORE), "sanitize", "bounds"),
    "changes input": (text(LOAD + DOUBLE + STORE + TO_INPUT), "sanitize", "bounds"),
    "reads output": (
        text(LOAD + FROM_OUTPUT + STORE.replace(" : ", " token = %t3 : ", 1)),
        "sanitize",
        "uninitialized",
    ),
    "half written": (text(LOAD + DOUBLE + HALF), "run", "unwritten"),
    "wrong": (text(LOAD + DOUBLE.replace("addf", "mulf") + STORE), "compare", "wrong-result"),
    "endless": (text(LOAD + DOUBLE + STORE + "  loop { continue }\n"), "sanitize", "steps"),
}


READ_GLOBAL = """\
  %g = get_global @kept : tile<ptr<f32>>
  %c, %tg = load_ptr_tko weak %g : tile<ptr<f32>> -> tile<f32>, token
  %c1 = reshape %c : tile<f32> -> tile<1xf32>
  %c8 = broadcast %c1 : tile<1xf32> -> tile<8xf32>
  %r = mulf %xv, %c8 : tile<8xf32>
"""


def test_a_global_may_be_read_before_a_store() -> None:
    """The token of the load orders the store, and says nothing about where it goes."""
    body = LOAD + READ_GLOBAL + STORE.replace(" : ", " token = %tg : ", 1)
    found = judged(text(body, "global @kept <f32: [2.0]> : tile<1xf32>"))
    assert found.verdict == ACCEPTED, found.reason


def test_static_checks_look_at_each_operation_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of stores that depend on each other keeps the judge no longer than another one of its size."""
    chain = ""
    for n in range(1, 201):
        chain += f"  %r{n} = addf %r{n - 1}, %xv : tile<8xf32>\n"
        chain += STORE.replace("%r", f"%r{n}").replace("%t9", f"%t{n}")
    seen: list[Any] = []
    add = Dependences._add

    def counted(self: Dependences, value: Any, work: list[Any]) -> None:
        seen.append(value)
        add(self, value, work)

    monkeypatch.setattr(Dependences, "_add", counted)
    module = parse(text(LOAD + "  %r0 = addf %xv, %xv : tile<8xf32>\n" + chain))
    assert check_static([module], [(0, "k")]) is None
    assert len(seen) < 10 * sum(1 for _ in walk(module))


def test_integers_reach_all_that_their_type_holds() -> None:
    """A kernel that goes by way of floats loses the last bits of large integers."""
    cases = CASES.replace('name = "x"', 'name = "x"\ntype = "i32"')
    shape, rng = parse_problem(cases).shapes[0], np.random.default_rng(1)
    argument = parse_problem(cases).arguments[0]
    drawn = {kind: draw(argument, shape, (1000,), kind, rng) for kind in ("normal", "uniform", "extremes")}
    top = np.iinfo(np.int32).max
    assert abs(drawn["normal"]).max() == 100
    assert abs(drawn["uniform"].astype(np.int64)).max() > 1 << 30
    assert {-top - 1, -top, -1, 0, 1, top - 1, top} == set(drawn["extremes"].tolist())


def test_a_correct_kernel_passes_every_stage() -> None:
    found = judged(GOOD)
    assert found.verdict == ACCEPTED, found.reason
    assert [each.stage for each in found.stages] == [
        "compile", "verify", "static", "sanitize", "run", "compare", "metamorphic",
    ]  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    source, stage, kind = FAULTS[name]
    found = judged(source, seconds=20.0)
    assert found.failed is not None
    assert (found.failed.stage, found.kind) == (stage, kind), found.reason
    assert found.reason


def test_a_fault_of_cases_side_by_side_names_its_case() -> None:
    """The sanitizer runs the first kind of values only; the assertion fails for the second one of three."""
    values = 'values = ["normal", "zeros", "ones"]'
    cases = parse_problem(CASES.replace('values = ["normal", "zeros"]', values))
    check = "  %c = cmpf not_equal ordered %xv, %z : tile<8xf32> -> tile<8xi1>\n  %off = xori %m, %m : tile<8xi1>\n"
    check += "  %e = cmpi equal %m, %off, signed : tile<8xi1> -> tile<8xi1>\n  %ok = ori %c, %e : tile<8xi1>\n"
    with Judge(cases, lambda x: 2 * x, seconds=20.0) as judge:
        found = judge.judge_source(
            text(LOAD + check + '  assert %ok, "zero" : tile<8xi1>\n' + DOUBLE + STORE), "k.mlir"
        )
    assert found.failed is not None
    assert (found.failed.stage, found.kind) == ("run", "assertion")
    assert "for N=1, zeros values" in found.reason


def test_the_salt_decides_the_inputs() -> None:
    with Judge(problem(), lambda x: 2 * x, salt=7) as one, Judge(problem(), lambda x: 2 * x, salt=7) as two:
        case = one.problem.cases[2]
        assert (one.inputs_of(case)["x"] == two.inputs_of(case)["x"]).all()
    with Judge(problem(), lambda x: 2 * x) as one, Judge(problem(), lambda x: 2 * x) as two:
        assert one.salt != two.salt
        assert (one.inputs_of(case)["x"] != two.inputs_of(case)["x"]).any()


def test_a_law_that_does_not_hold() -> None:
    """The reference is not linear, and the kernel agrees with it; the declared law is what fails."""
    law = "[[metamorphic]]\nscale = { x = 2.0, out = 4.0 }\n"
    from judge.kernels import CASES

    with Judge(parse_problem(CASES + law), lambda x: 2 * x) as judge:
        found = judge.judge_source(GOOD, "k.mlir")
    assert found.failed is not None
    assert (found.failed.stage, found.kind) == ("metamorphic", "law")


def test_a_kernel_as_the_reference(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("reference")
    (folder / "good.mlir").write_text(GOOD)
    made = problem()
    made.folder = folder
    with Judge(made, "good.mlir") as judge:
        assert judge.judge_source(GOOD, "same.mlir").verdict == ACCEPTED
        found = judge.judge_source(text(LOAD + DOUBLE.replace("addf", "mulf") + STORE), "other.mlir")
    assert found.kind == "wrong-result"


def test_a_proof(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = problem()
    made.folder = tmp_path_factory.mktemp("reference")
    (made.folder / "good.mlir").write_text(GOOD)
    with Judge(made, "good.mlir", stages=("compile", "verify", "prove")) as judge:
        equal = judge.judge_source(text(LOAD + "  %r = mulf %xv, %two : tile<8xf32>\n" + STORE), "k.mlir")
        other = judge.judge_source(text(LOAD + DOUBLE.replace("addf", "mulf") + STORE), "k.mlir")
    assert equal.verdict == ACCEPTED and equal.stages[-1].facts["proven"] == 3
    assert (other.failed and other.failed.stage, other.kind) == ("prove", "wrong-result")


def test_timed_launches_are_compared() -> None:
    """Without the other stages, the timer's outputs alone reject a kernel."""
    options: dict[str, Any] = {
        "stages": ("compile", "verify", "time"), "timing": {"engine": "reference", "rounds": 2},
    }  # fmt: skip
    good = judged(GOOD, **options)
    assert good.verdict == ACCEPTED and good.stages[-1].facts["launches"] == 2
    wrong = judged(text(LOAD + DOUBLE.replace("addf", "mulf") + STORE), **options)
    assert (wrong.failed and wrong.failed.stage, wrong.kind) == ("time", "wrong-result")
    assert "timed launch" in wrong.reason


def test_a_time_that_no_machine_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilery.judge.stages.timing.HEADROOM", 1e-12)
    found = judged(GOOD, stages=("compile", "verify", "time"), timing={"engine": "reference", "rounds": 1})
    assert found.kind == "impossible-time"


def test_a_proof_is_skipped_without_a_kernel() -> None:
    found = judged(GOOD, stages=("compile", "verify", "prove"))
    assert found.stages[-1].verdict == "skipped"
    assert found.verdict == ACCEPTED


def test_a_reference_that_fails_is_not_the_candidates_fault() -> None:
    found = judged(GOOD, function=lambda x: x.nothing)
    assert found.verdict == UNJUDGED and "the reference failed" in found.reason


def test_nothing_is_accepted_where_nothing_is_decided() -> None:
    def overflows(x: Any) -> Any:
        return np.sqrt((x * x + 1) * 1e60)

    assert judged(GOOD, function=overflows).verdict == UNJUDGED


def test_the_time_of_all_launches_has_a_limit() -> None:
    found = judged(GOOD, total=1e-9)
    assert (found.verdict, found.kind) == ("rejected", "timeout")
