"""Launches that may overlap: races between them, and what puts them in order."""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.diag import TileError
from tilery.sanitize import Sanitizer, flight

COPY = """
cuda_tile.module @m {
  entry @copy(%from: tile<ptr<f32>>, %to: tile<ptr<f32>>) {
    %i = iota : tile<8xi32>
    %a = reshape %from : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b = broadcast %a : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %source = offset %b, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %c = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
    %d = broadcast %c : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %target = offset %d, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    WAIT
    %x, %read = load_ptr_tko weak %source TOKEN : tile<8xptr<f32>> -> tile<8xf32>, token
    %written = store_ptr_tko weak %target, %x token = %read : tile<8xptr<f32>>, tile<8xf32> -> token
    return
  }
}"""
PLAIN = tilery.compile(tilery.parse(COPY.replace("WAIT", "").replace("TOKEN", "")))
WAITING = tilery.compile(
    tilery.parse(COPY.replace("WAIT", "%w = gdc_wait_tko -> token").replace("TOKEN", "token = %w"))
)
LOOSE = tilery.compile(tilery.parse(COPY.replace("WAIT", "%w = gdc_wait_tko -> token").replace("TOKEN", "")))
"""It waits, but no token leads from there to the load."""

SIGNAL = """
cuda_tile.module @m {
  entry @send(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<i32>
    %a = store_ptr_tko weak %data, %one : tile<ptr<i32>>, tile<i32> -> token
    %b = store_ptr_tko RELEASE device %flag, %one token = %a : tile<ptr<i32>>, tile<i32> -> token
    return
  }
  entry @receive(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {
    %x, %a = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
    %y, %b = load_ptr_tko weak %data token = %a : tile<ptr<i32>> -> tile<i32>, token
    return
  }
  entry @count(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<i32>
    %x, %a = atomic_rmw_tko relaxed SCOPE %data, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
}"""


class Program:
    """Launches of one sanitizer."""

    def __init__(self) -> None:
        self.found = Sanitizer("race", together=True)
        assert self.found.flight is not None
        self.flight = self.found.flight
        self.a, self.b, self.c = (np.arange(8, dtype=np.float32) for _ in range(3))

    def run(self, kernel: Any, *values: Any, stream: Any = 0, dependent: bool = False) -> None:
        with self.flight.stream(stream, dependent=dependent):
            kernel.launch((1,), list(values), sanitize=self.found)

    def text(self) -> str:
        """Return what was found: its rule and its notes."""
        return "\n".join(line for each in self.found.reports for line in (each.message, *each.details))


@pytest.fixture
def program() -> Program:
    return Program()


Edge = Callable[[Program], None]


def wait_for_event(p: Program) -> None:
    moment = p.flight.moment(0)
    p.flight.wait(moment, "side")


def synchronize_event(p: Program) -> None:
    p.flight.synchronize(p.flight.moment(0))


def through_a_third_stream(p: Program) -> None:
    p.flight.wait(p.flight.moment(0), "third")
    p.flight.wait(p.flight.moment("third"), "side")


EDGES: list[Edge] = [wait_for_event, synchronize_event, through_a_third_stream, lambda p: p.flight.synchronize()]
NO_EDGES: list[Edge] = [
    lambda p: None,
    lambda p: p.flight.wait(p.flight.moment("side"), "side"),
    lambda p: p.flight.synchronize(p.flight.moment("side")),
    lambda p: p.flight.wait(p.flight.moment("side"), 0),
]


@pytest.mark.parametrize("edge", EDGES)
def test_events_and_waiting_order_launches(program: Program, edge: Edge) -> None:
    program.run(PLAIN, program.a, program.b)
    edge(program)
    program.run(PLAIN, program.b, program.c, stream="side")
    assert not program.found.reports


@pytest.mark.parametrize("edge", NO_EDGES)
def test_without_them_launches_of_two_streams_race(program: Program, edge: Edge) -> None:
    program.run(PLAIN, program.a, program.b)
    edge(program)
    program.run(PLAIN, program.b, program.c, stream="side")
    (report,) = program.found.reports.faults
    assert report.op.name == "load_ptr_tko" and report.places[1].op.name == "store_ptr_tko"
    assert "nothing orders accesses of two launches" in report.message
    assert "the other access is in another launch: copy in the default stream" in program.text()
    assert "stream side does not wait for the default stream: record an event" in program.text()


def test_an_event_that_is_recorded_too_early_orders_nothing(program: Program) -> None:
    moment = program.flight.moment(0)
    program.run(PLAIN, program.a, program.b)
    program.flight.wait(moment, "side")
    program.run(PLAIN, program.b, program.c, stream="side")
    assert len(program.found.reports) == 1


def test_launches_of_one_stream_are_in_order(program: Program) -> None:
    for _ in range(3):
        program.run(PLAIN, program.a, program.b)
        program.run(PLAIN, program.b, program.a)
    assert not program.found.reports


def test_launches_that_only_read_the_same_memory_do_not_race(program: Program) -> None:
    program.run(PLAIN, program.a, program.b)
    program.run(PLAIN, program.a, program.c, stream="side")
    assert not program.found.reports


def test_slices_of_an_array_are_told_apart(program: Program) -> None:
    whole = np.zeros(64, np.float32)
    program.run(PLAIN, program.a, whole[:8])
    program.run(PLAIN, program.a, whole[8:16], stream="side")
    program.run(PLAIN, program.a, whole[16:24], stream="third")
    assert not program.found.reports
    program.run(PLAIN, whole, program.b, stream="fourth")
    assert len(program.found.reports) == 1
    program.run(PLAIN, whole[14:22], program.c, stream="fourth")
    assert len(program.found.reports) == 1 and program.found.reports.faults[0].count == 8 + 8


def test_the_order_of_a_launch_that_was_not_seen_to_overlap_is_kept(program: Program) -> None:
    """The side stream waits for the first launch, and not for the second one."""
    program.run(PLAIN, program.a, program.b)
    program.flight.wait(program.flight.moment(0), "side")
    program.run(PLAIN, program.a, program.c)
    program.run(PLAIN, program.b, np.zeros_like(program.a), stream="side")
    assert not program.found.reports
    program.run(PLAIN, program.c, np.zeros_like(program.a), stream="side")
    assert len(program.found.reports) == 1


def test_a_stream_that_blocks_waits_for_the_default_stream(program: Program) -> None:
    program.flight.blocking = {"side"}
    program.run(PLAIN, program.a, program.b)
    program.run(PLAIN, program.b, program.c, stream="side")
    program.run(PLAIN, program.c, program.a)
    assert not program.found.reports


# ---------------------------------------------------------------- programmatic dependent launch


def test_a_dependent_launch_that_does_not_wait_races(program: Program) -> None:
    program.run(PLAIN, program.a, program.b)
    program.run(PLAIN, program.b, program.c, dependent=True)
    assert "execute gdc_wait_tko (ct.grid_dependency_control_wait() in cuTile" in program.text()


def test_a_dependent_launch_that_waits_does_not(program: Program) -> None:
    program.run(PLAIN, program.a, program.b)
    program.run(WAITING, program.b, program.c, dependent=True)
    program.run(PLAIN, program.c, program.a)
    assert not program.found.reports


def test_it_races_if_no_token_leads_from_the_wait_to_the_access(program: Program) -> None:
    program.run(PLAIN, program.a, program.b)
    program.run(LOOSE, program.b, program.c, dependent=True)
    assert "no token leads from gdc_wait_tko" in program.text()


def test_a_wait_does_not_reach_beyond_a_launch_that_did_not_wait(program: Program) -> None:
    other = np.zeros_like(program.a)
    program.run(PLAIN, program.a, program.b)
    program.run(PLAIN, program.c, other, dependent=True)
    program.run(WAITING, program.b, np.zeros_like(other), dependent=True)
    assert len(program.found.reports) == 1
    assert "the launch between them started early and did not wait" in program.text()


def test_a_wait_reaches_beyond_a_launch_that_waited(program: Program) -> None:
    other = np.zeros_like(program.a)
    program.run(PLAIN, program.a, program.b)
    program.run(WAITING, program.c, other, dependent=True)
    program.run(WAITING, program.b, np.zeros_like(other), dependent=True)
    assert not program.found.reports


def test_an_event_between_them_makes_a_dependent_launch_wait(program: Program) -> None:
    program.run(PLAIN, program.a, program.b)
    program.flight.moment(0)
    program.run(PLAIN, program.b, program.c, dependent=True)
    assert not program.found.reports


# ---------------------------------------------------------------- synchronisation inside kernels


def signal(entry: str, release: str = "release", scope: str = "device") -> Any:
    text = SIGNAL.replace("RELEASE device", f"{release} device").replace("SCOPE", scope)
    return tilery.compile(tilery.parse(text), entry=entry)


def test_release_and_acquire_order_launches(program: Program) -> None:
    data, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)
    program.run(signal("send"), data, flag)
    program.run(signal("receive"), data, flag, stream="side")
    assert not program.found.reports


def test_a_relaxed_signal_does_not_and_is_named(program: Program) -> None:
    data, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)
    program.run(signal("send", "relaxed"), data, flag)
    program.run(signal("receive"), data, flag, stream="side")
    assert "which is relaxed and must release" in program.text()


@pytest.mark.parametrize("scope, count", [("device", 0), ("tl_blk", 1)])
def test_atomics_of_two_launches_need_a_scope_that_reaches_both(program: Program, scope: str, count: int) -> None:
    data, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)
    for stream in (0, "side"):
        program.run(signal("count", scope=scope), data, flag, stream=stream)
    assert len(program.found.reports) == count
    assert ("the scope tl_blk of atomic_rmw_tko does not reach" in program.text()) == bool(count)


# ---------------------------------------------------------------- limits


def test_memory_of_launches_in_flight_is_not_used_again(program: Program) -> None:
    for stream in range(20):
        program.run(PLAIN, program.a, np.zeros(8, np.float32), stream=stream)
        gc.collect()
    assert not program.found.reports
    program.flight.synchronize()
    assert not program.flight.launches and not program.flight.ranges


def test_too_many_launches_count_as_ended(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight, "MOST_LAUNCHES", 2)
    for stream in range(4):
        program.run(PLAIN, program.a, np.zeros(8, np.float32), stream=stream)
    assert len(program.flight.launches) == 2
    assert "also between launches (some counted as ended because there were too many)" in program.found.claim


def test_one_launch_alone_is_not_compared_with_others() -> None:
    found = Sanitizer("race")
    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    for _ in range(2):
        PLAIN.launch((1,), [a, b], sanitize=found)
    assert found.flight is None and "between launches" not in found.claim


def test_schedules_are_refused() -> None:
    with pytest.raises(TileError, match="launches that overlap run once"):
        Sanitizer("race", together=True, runs=3)


# ---------------------------------------------------------------- programs


def torch_program(main: Any, side: Any, launch: Callable[[Any, Any, Any], None], edge: str) -> None:
    torch = import_module("torch")
    a = torch.ones(32, device="cuda")
    b, c = torch.zeros_like(a), torch.zeros_like(a)
    launch(main, a, b)
    event = torch.cuda.Event()
    if edge == "stream":
        side.wait_stream(main)
    elif edge == "event":
        event.record(main)
        side.wait_event(event)
    elif edge == "event.wait":
        main.record_event(event)
        with torch.cuda.stream(side):
            event.wait()
    elif edge == "event.synchronize":
        event.record()
        event.synchronize()
    elif edge == "synchronize":
        torch.cuda.synchronize()
    elif edge == "item":
        assert b.sum().item()
    elif edge == "cpu":
        b.cpu()
    launch(side, b, c)


TORCH_EDGES = ["stream", "event", "event.wait", "event.synchronize", "synchronize", "item", "cpu"]


@pytest.mark.parametrize("edge", ["", *TORCH_EDGES])
def test_streams_and_events_of_torch(edge: str) -> None:
    ct, torch = pytest.importorskip("cuda.tile"), pytest.importorskip("torch")
    from tilery.cutile import on

    found = Sanitizer("race", together=True)
    copy = copy_kernel(ct)
    with on(sanitize=found):

        def launch(stream: Any, source: Any, target: Any) -> None:
            ct.launch(stream, (2,), copy, (source, target))

        torch_program(torch.cuda.current_stream(), torch.cuda.Stream(), launch, edge)
    assert len(found.reports) == (edge == "")
    for report in found.reports:
        assert __file__.rpartition("/")[2] in report.launched
        assert any("another launch: copy in the default stream, launched at" in note for note in report.details)


def copy_kernel(ct: Any) -> Any:
    def copy(x: Any, y: Any) -> None:
        ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(16,)))

    return ct.kernel(copy)


@pytest.mark.parametrize("waits", [False, True])
def test_a_dependent_launch_of_cutile(waits: bool) -> None:
    ct, torch = pytest.importorskip("cuda.tile"), pytest.importorskip("torch")
    from tilery.cutile import on

    def waiting(x: Any, y: Any) -> None:
        ct.grid_dependency_control_wait()
        ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(16,)))

    found = Sanitizer("race", together=True)
    with on(sanitize=found):
        a = torch.ones(32, device="cuda")
        b, c = torch.zeros_like(a), torch.zeros_like(a)
        kernel = ct.kernel(waiting) if waits else copy_kernel(ct)
        ct.launch(0, (2,), copy_kernel(ct), (a, b))
        ct.launch(0, (2,), kernel, (b, c), programmatic_dependent_launch=True)
    assert len(found.reports) == (not waits)


@pytest.mark.parametrize("edge", [False, True])
def test_streams_of_cuda_bindings_and_of_cupy(edge: bool) -> None:
    ct = pytest.importorskip("cuda.tile")
    from tilery.cutile import on

    copy = copy_kernel(ct)
    for kind in ("bindings", "cupy", "core"):
        found = Sanitizer("race", together=True)
        with on(sanitize=found):
            a, b, c = (np.ones(32, np.float32) for _ in range(3))
            if kind == "bindings":
                driver = import_module("cuda.bindings.driver")
                (_, one), (_, two), (_, event) = (
                    driver.cuStreamCreate(1),
                    driver.cuStreamCreate(1),
                    driver.cuEventCreate(0),
                )
                ct.launch(one, (2,), copy, (a, b))
                driver.cuEventRecord(event, one)
                if edge:
                    driver.cuStreamWaitEvent(two, event, 0)
            elif kind == "cupy":
                cupy = import_module("cupy")
                one, two = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
                with one:
                    ct.launch(cupy.cuda.get_current_stream(), (2,), copy, (a, b))
                    event = cupy.cuda.Event()
                    event.record()
                if edge:
                    two.wait_event(event)
            else:
                core = import_module("cuda.core")
                one, two = core.Device().create_stream(), core.Device().create_stream()
                ct.launch(one, (2,), copy, (a, b))
                if edge:
                    two.wait(one.record())
            ct.launch(two, (2,), copy, (b, c))
        assert len(found.reports) == (not edge), kind
