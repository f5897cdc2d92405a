"""The reducer: what it makes of random modules, and that it is deterministic, resumable and bounded."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from reducer.behaviour import names, wild
from tilery import ops
from tilery.cli.main import main
from tilery.diag import TileError
from tilery.ir import walk
from tilery.ops import Module
from tilery.reducer import Case, CaseLaunch
from tilery.reducer.oracles import Differs, DiffersAfter, Message, ProvenAfter, Sanitized, execute, with_steps
from tilery.reducer.raw import message_of, message_test, reduce_raw
from tilery.reducer.report import shown
from tilery.reducer.runners import DIED, HANG, Children, InProcess, Remote, Threads, ends_child
from tilery.reducer.search import Search
from tilery.smith import smith

RACE = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %c = constant <i32: 3> : tile<i32>
  %i = iota : tile<8xi32>
  %v, %t0 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %s = addi %v, %c : tile<i32>
  %t1 = store_ptr_tko weak %p, %s : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko weak %q, %c token = %t0 : tile<ptr<i32>>, tile<i32> -> token
  %t3 = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def module_with(name: str, size: int = 120) -> Module:
    """Return the first random module that has an operation."""
    modules = (smith(seed, size=size) for seed in range(100))
    return next(module for module in modules if any(o.name == name for o in walk(module)))


@pytest.mark.parametrize(("name", "most"), [("scan", 5), ("for", 3), ("mmaf", 3), ("store_view_tko", 5)])
def test_random_modules_become_small(name: str, most: int) -> None:
    """A module is reduced to the operation that is asked for and what it needs; every candidate is legal."""

    def interesting(module: Module) -> bool:
        assert tilery.verify(module) == []
        return any(o.name == name for o in walk(module))

    module = module_with(name)
    before = str(module)
    found = tilery.reduce(module, interesting)
    assert found.complete and found.after.operations <= most
    assert interesting(found.case.module)
    assert str(module) == before  # the reducer works on a copy


def has_reduce(case: Case) -> str:
    return "reduce" if "reduce" in names(case) else ""


@pytest.mark.parametrize("seed", [0, 3])
def test_the_result_does_not_depend_on_the_number_of_jobs(seed: int) -> None:
    results = []
    for jobs in (1, 4):
        runner = Threads(has_reduce, jobs)
        found = Search(Case(module_with("reduce")), runner, seed=seed).run()
        runner.close()
        results.append((str(found.case.module), found.tests))
    assert results[0] == results[1]


def test_a_log_makes_a_reduction_resumable(tmp_path: Path) -> None:
    log = tmp_path / "log"
    module = module_with("reduce")
    first = Search(Case(tilery.clone(module)), InProcess(has_reduce), log=log).run()
    lines = log.read_text("utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:5], "utf-8")  # interrupted in the middle of a line

    tested = []

    def count(case: Case) -> str:
        tested.append(case)
        return has_reduce(case)

    second = Search(Case(tilery.clone(module)), InProcess(count), log=log).run()
    assert str(second.case.module) == str(first.case.module)
    assert len(tested) < first.tests


def test_time_is_bounded() -> None:
    found = Search(Case(module_with("reduce")), InProcess(has_reduce), seconds=0).run()
    assert not found.complete and has_reduce(found.case)


def test_an_interrupt_keeps_the_smallest_module() -> None:
    calls = 0

    def interrupted(case: Case) -> str:
        nonlocal calls
        calls += 1
        if calls == 20:
            raise KeyboardInterrupt
        return has_reduce(case)

    found = Search(Case(module_with("reduce")), InProcess(interrupted)).run()
    assert found.interrupted and not found.complete
    assert found.after < found.before and has_reduce(found.case)


def test_nothing_to_reduce() -> None:
    with pytest.raises(TileError, match="nothing to reduce"):
        tilery.reduce(smith(1), lambda module: False)


def test_children_that_hang_or_die() -> None:
    text = "entry @k(%n: tile<i32>) {{ %0 = {} %n{} : tile<i32> return }}"
    child = Remote(wild)
    outcomes = {}
    for name, rest in (("addi", ", %n"), ("subi", ", %n"), ("negi", ""), ("absi", "")):
        outcomes[name] = child.ask(Case(tilery.parse(text.format(name, rest))).encode(), 4)
        if outcomes[name] in (HANG, DIED):
            child.end()
            child = Remote(wild)
    with pytest.raises(RuntimeError, match="ValueError: no"):
        child.ask(Case(tilery.parse(text.format("xori", ", %n"))).encode(), 60)
    child.end()
    assert outcomes == {"addi": "interesting", "subi": "", "negi": DIED, "absi": HANG}


def test_a_reduction_survives_children_that_die() -> None:
    text = "%0 = addi %n, %n : tile<i32> %1 = muli %0, %n : tile<i32> %2 = subi %1, %0 : tile<i32>"
    runner = Children(wild, 2, 30)
    found = Search(Case(tilery.parse(f"entry @k(%n: tile<i32>) {{ {text} return }}")), runner).run()
    runner.close()
    assert [o.name for o in walk(found.case.module.entries[0].body)] == ["addi", "return"]


def test_a_race() -> None:
    import numpy as np

    launch = CaseLaunch("k", (2, 1, 1), (np.arange(8, dtype=np.int32), np.arange(8, dtype=np.int32)))
    test = Sanitized("race")
    found = Search(Case(tilery.parse(RACE), launch), InProcess(test)).run()
    assert found.outcome == "faults: race"
    assert found.after.operations <= 3 and "store_ptr_tko" in names(found.case)
    assert found.case.launch is not None and not any(a.any() for a in found.case.launch.args if hasattr(a, "ndim"))


def test_what_is_undefined_stays_out() -> None:
    """A difference counts only in a launch with which nothing is wrong: this one reads unwritten memory."""
    import numpy as np

    text = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
      %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %y = mulf %x, %x rounding<nearest_even> : tile<f32>
      %z = addf %y, %x rounding<nearest_even> : tile<f32>
      %u = store_ptr_tko weak %q, %z : tile<ptr<f32>>, tile<f32> -> token
      return
    }"""
    module = tilery.parse(text)
    args = (np.full(1, 1.1, np.float32), np.zeros(1, np.float32))
    test = DiffersAfter("fuse-fma")
    assert test(Case(module, CaseLaunch("k", (1, 1, 1), args))) == "differs after passes"
    assert test(Case(module, CaseLaunch("k", (1, 1, 1), args, frozenset([0])))) == ""
    found = Search(Case(module, CaseLaunch("k", (1, 1, 1), args)), InProcess(test)).run()
    assert names(found.case) >= {"mulf", "addf"} and found.after.operations <= 6


SQUARE = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<ptr<i32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %w = absf %x : tile<f32>
  %y = mulf %x, %x rounding<nearest_even> : tile<f32>
  %v = mulf %w, %x rounding<nearest_even> : tile<f32>
  %z = addf %y, %x rounding<nearest_even> : tile<f32>
  %s = subf %z, %v rounding<nearest_even> : tile<f32>
  %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
  return
}"""


def test_only_a_proven_difference_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tilery.passes import run_pipeline
    from tilery.reducer import oracles

    args = (np.full(1, 1.1, np.float32), np.zeros(1, np.float32), np.arange(3, dtype=np.int32))
    case = Case(tilery.parse(SQUARE), CaseLaunch("k", (1, 1, 1), args))
    assert DiffersAfter("fuse-fma")(case) and ProvenAfter("fuse-fma")(case) == ""  # it only rounds differently

    def faulty(module: tilery.Module, pipeline: Any) -> None:
        run_pipeline(module, pipeline)
        for o in walk(module):
            if isinstance(o, ops.MulF) and o.lhs is o.rhs:  # a square becomes x * |x|
                found = next((other.result for other in walk(module) if isinstance(other, ops.AbsF)), None)
                o.rhs = found or o.rhs

    monkeypatch.setattr(oracles, "run_pipeline", faulty)
    test = ProvenAfter("dce")
    found = Search(case, InProcess(test)).run()
    assert found.outcome == "proven to differ after passes"
    assert names(found.case) >= {"mulf", "absf"} and found.after.operations < found.before.operations
    made = shown(found.case, test, str(tmp_path / "small.mlir"))
    (tmp_path / "small.mlir").write_text(made.text)
    for name, data in made.arrays.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(made.commands[0])[1:]) == 0
    assert main(shlex.split(made.commands[1])[1:]) == 0  # the pass on disk is the right one


def test_a_message_is_kept() -> None:
    module = module_with("muli")
    bad = next(o for o in walk(module) if o.name == "muli")
    bad.results[0].type = tilery.types.Tile((2, 2, 2), tilery.types.I8)
    pattern = "same type"
    assert Message(pattern)(Case(module))
    found = Search(Case(module), InProcess(Message(pattern)), legal=False).run()
    assert found.after.operations <= 3
    assert all(pattern in finding.message for finding in tilery.verify(found.case.module))


def test_bytes_are_reduced() -> None:
    data = tilery.dumps(smith(3, size=60), "13.4")
    broken = data[: len(data) // 2]
    found = reduce_raw(broken, message_test(broken))
    assert found.complete and len(found.data) < len(broken) // 2
    assert message_of(found.data)
    with pytest.raises(TileError, match="no message"):
        message_test(data)


COUNTS = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %t = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
  %last = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
    %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
    if %done {
      break %i : tile<i32>
    }
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }
  %u = store_ptr_tko weak %p, %last : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def counting(count: int) -> Case:
    return with_steps(Case(tilery.parse(COUNTS), CaseLaunch("k", args=(np.zeros(4, np.int32), count))), 60)


def test_a_loop_that_takes_long_is_not_given_up() -> None:
    assert Sanitized("race")(counting(10_000)) == "faults: race"


def test_a_candidate_that_does_not_end_is_given_up_soon() -> None:
    launch = counting(3).launch
    assert launch is not None and launch.steps < 200
    endless = tilery.parse(COUNTS.replace("addi %i, %one", "addi %i, %zero"))
    with pytest.raises(TileError, match=str(launch.steps)):
        execute(endless, launch, "reference", 60)
    assert Sanitized("race")(Case(endless, launch)) == ""


class Broken:
    """An engine whose kernels fail."""

    def __init__(self, message: str) -> None:
        self.message = message

    def load(self, module: Module) -> Broken:
        return self

    def kernel(self, name: str) -> Broken:
        return self

    def launch(self, *args: object, **options: object) -> None:
        raise TileError(self.message)


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ("cuCtxSynchronize: error 700 at 0x7f12\nmore", "triton fails: cuCtxSynchronize: error … at …"),
        ("@kernel_12 did not finish within 3.0 seconds", "triton fails: … did not finish within … seconds"),
        ("'tile<4xf8>' is not supported", ""),
    ],
)
def test_what_an_engine_says_is_part_of_the_outcome(
    message: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reduction must not slip from one failure to another; names and numbers change from candidate to candidate."""
    from tilery.engines import registry

    real = registry.load_engine
    monkeypatch.setattr(registry, "load_engine", lambda name: Broken(message) if name == "triton" else real(name))
    test = Differs(("reference", "triton"))
    store = "%t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token"
    module = tilery.parse(f"entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{ {store} return }}")
    case = Case(module, CaseLaunch("k", args=(np.zeros(4, np.int32), 3)))
    assert test(case) == outcome
    assert ends_child(test, outcome) == bool(outcome)  # a GPU that failed computes nothing more for its process
    assert not ends_child(Differs(), outcome.replace("triton", "cpu"))


REDUCES = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %i = iota : tile<8xi32>
  %r = reduce %i dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {
    %s = addi %a, %b : tile<i32>
    yield %s : tile<i32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


@pytest.mark.parametrize(("change", "same"), [("%s", "%s"), ("yield %s", "yield %a"), ("[0 :", "[1 :")])
def test_what_depends_on_the_order_of_elements_is_not_compared(
    change: str, same: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines combine elements in any order, and with the identity or without it."""
    from tilery.engines import registry

    real = registry.load_engine
    monkeypatch.setattr(registry, "load_engine", lambda name: Broken("lost") if name == "cpu" else real(name))
    case = Case(tilery.parse(REDUCES.replace(change, same)), CaseLaunch("k", args=(np.zeros(1, np.int32), 0)))
    assert Differs()(case) == ("cpu fails: lost" if change == same else "")
    assert Sanitized("order-sensitive")(case) == ("" if change == same else "faults: order-sensitive")
