"""The debugger's core: stops, motions forward and back, values, tile blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from tilery.debug import Session
from tilery.debug.machine import SteppingMachine
from tilery.diag import TileError
from tilery.engines.reference.launch import ReferenceLoaded

LOOP = """\
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<4x8xf32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %x) -> (tile<4x8xf32>) {
    %q = addf %acc, %x : tile<4x8xf32>
    %pp = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %iv = itof %i signed : tile<i32> -> tile<f32>
    %t = store_ptr_tko weak %pp, %iv : tile<ptr<f32>>, tile<f32> -> token
    continue %q : tile<4x8xf32>
  }
  %last = addf %s, %s : tile<4x8xf32>
  return
}
"""


def session(n: int = 3, grid: int = 4, text: str = LOOP, **options: Any) -> tuple[Session, Any]:
    data = np.zeros(grid, np.float32)
    kernel = tilery.compile(tilery.parse(text))
    return Session(kernel, grid, [data, n][: len(kernel.params)], names=["a", "n"], **options), data


def line(s: Session) -> int:
    assert s.place is not None
    return s.place.line


def test_steps_by_operation_line_iteration_region_and_block() -> None:
    s, _ = session()
    assert line(s) == 2
    seen = []
    for _ in range(8):
        s.step()
        seen.append(line(s))
    assert seen == [3, 4, 5, 6, 7, 8, 9, 10]
    assert s.step_iteration().reason == "step" and (line(s), str(s.value("%i"))) == (6, "1")
    s.step_line()
    assert line(s) == 7
    s.step_out()
    assert line(s) == 13
    stop = s.step_block()
    assert stop.reason == "end" and s.ended and s.op is None
    assert s.cont().reason == "end"


def test_back_undoes_memory_and_values() -> None:
    s, data = session()
    s.break_at(line=9, condition="%i == 2")
    s.cont()
    assert data.tolist() == [1] * 4
    for expected in (8, 7, 6, 10, 9):
        s.step_back()
        assert line(s) == expected
    assert data.tolist() == [0] * 4
    assert str(s.value("%i")) == "1"
    assert s.iteration_back().reason == "step" and line(s) == 6 and str(s.value("%i")) == "1"
    assert s.iteration_back().reason == "step" and str(s.value("%i")) == "0"
    assert s.reverse().reason == "entry" and s.position == 0
    assert s.cont().reason == "breakpoint" and data.tolist() == [1] * 4


def test_lines_go_back_to_their_first_operation() -> None:
    s, _ = session()
    s.break_at(op="store_ptr_tko")
    s.cont()
    s.line_back()
    assert line(s) == 9
    s.line_back()
    assert line(s) == 8


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_every_position_is_the_same_on_the_way_back(seed: int) -> None:
    """On random kernels: what is seen at each position forward is seen again after going back to it."""
    module, contract = random_case(seed)
    for number, launch in enumerate(contract.launches):
        args = arguments(launch, seed + number)
        plain = arguments(launch, seed + number)
        kernel = ReferenceLoaded(module).kernel(launch.entry)
        try:
            ReferenceLoaded(module).kernel(launch.entry).launch(launch.grid, plain, output=lambda text: None)
        except TileError:
            continue
        s = Session(kernel, launch.grid, args, batch=3)
        s.machine.interval = 7
        seen = {}
        while not s.ended and s.position < 400:
            seen[s.position] = (s.op, s.block, [(v.name, v.stale, str(v)) for v in s.variables()], contents(args))
            assert s.step().reason in ("step", "end")
        positions = sorted(seen)
        for at in (*positions[::-3], *positions[::5]):
            s.run_to(at)
            found = (s.op, s.block, [(v.name, v.stale, str(v)) for v in s.variables()], contents(args))
            s.rank = s.rank_of(seen[at][1])
            assert (s.op, [(v.name, v.stale, str(v)) for v in s.variables()], found[3]) == (
                seen[at][0],
                seen[at][2],
                seen[at][3],
            )
        while s.cont().reason != "end":
            pass
        assert contents(args) == contents(plain)


def contents(args: list[Any]) -> list[bytes]:
    return [a.tobytes() for a in args if isinstance(a, np.ndarray)]


def test_going_back_is_not_linear_in_the_length_of_the_launch() -> None:
    """A launch of 100,000 instructions: back 1,000 executes few of them again."""
    s, _ = session(n=17_000, grid=1)
    executed = 0
    advance = SteppingMachine.advance

    def counted(machine: SteppingMachine) -> None:
        nonlocal executed
        executed += 1
        advance(machine)

    s.cont()
    assert s.position > 100_000
    s.machine.advance = counted.__get__(s.machine)  # type: ignore[method-assign]
    s.run_to(s.position - 1000)
    assert executed < 5000
    executed = 0
    for _ in range(10):
        s.step_back()
    assert executed < 60_000


def test_breakpoints_by_line_operation_value_block_condition_and_hits() -> None:
    for where, expected in (
        ({"line": 7}, (7, "0", 0)),
        ({"op": "itof"}, (9, "0", 0)),
        ({"value": "%q"}, (7, "0", 0)),
        ({"line": 7, "block": (2,)}, (7, "0", 2)),
        ({"line": 7, "condition": "%b == 3 and %i == 1"}, (7, "1", 3)),
        ({"line": 7, "ignore": 2}, (7, "2", 0)),
        ({"op": "addf", "condition": "max(%acc) > 2"}, (7, "2", 0)),
    ):
        s, _ = session()
        s.break_at(**where)
        assert s.cont().reason == "breakpoint", where
        assert (line(s), str(s.value("%i")), s.block[0]) == expected, where
    s, _ = session()
    assert s.break_at(line=99).positions == []
    with pytest.raises(TileError, match="is not in the grid"):
        s.break_at(line=7, block=(9,))
    with pytest.raises(TileError, match="there is no breakpoint 7"):
        s.delete(7)


def test_a_condition_that_cannot_be_evaluated_stops_and_says_so() -> None:
    said: list[str] = []
    s, _ = session()
    s.log = said.append
    s.break_at(line=7, condition="%nothing > 1")
    assert s.cont().reason == "breakpoint"
    assert "there is no value '%nothing'" in said[0]


def test_the_last_write_of_an_element_is_found() -> None:
    s, data = session()
    while s.cont().reason != "end":
        pass
    stop = s.last_write("a[2]")
    assert stop is not None and s.block == (2, 0, 0)
    assert stop.text == "a[2]: 1 -> 2, written by store_ptr_tko at <text>:10 in tile block (2, 0, 0)"
    s.run_to(3)
    assert s.last_write("a[2]") is None and s.position == 3
    with pytest.raises(TileError, match="the array has the shape"):
        s.watch("a[9]")
    with pytest.raises(TileError, match="there is no array 'b'"):
        s.watch("b[0]")
    assert data.tolist() == [0, 0, 0, 0]


def test_values_of_the_iteration_before_are_marked() -> None:
    s, _ = session()
    s.break_at(line=8, condition="%i == 1")
    s.cont()
    found = {v.name: v for v in s.variables()}
    assert not found["%q"].stale and found["%iv"].stale
    assert str(found["%q"]) == "[3 3 3 3 3 3 3 3 ...] min 3, max 3, mean 3"
    assert found["%q"].tile.shape == (4, 8)


def test_tile_blocks_can_be_switched() -> None:
    s, _ = session(grid=6, batch=2)
    s.break_at(line=9)
    s.cont()
    assert s.together() == [(0, 0, 0), (1, 0, 0)]
    s.switch((1,))
    assert str(s.value("%b")) == "1" and line(s) == 9
    s.switch((5,))
    assert s.block == (5, 0, 0) and line(s) == 2
    assert "it has finished" in s.switch((0,)).text
    assert str(s.value("%b")) == "0" and line(s) == 14
    assert s.step().text == "tile block (0, 0, 0) has finished"


def test_divergent_blocks_are_shown() -> None:
    text = """entry @k() {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %odd = cmpi equal %b, %one, signed : tile<i32> -> tile<i1>
  if %odd {
    %u = addi %b, %one : tile<i32>
  } else {
    %v = subi %b, %one : tile<i32>
  }
  return
}"""
    s, _ = session(text=text, grid=3)
    s.switch((1,))
    s.break_at(line=6)
    s.cont()
    assert s.together() == [(1, 0, 0)]
    assert [(block, o.name) for block, o in s.waiting()] == [((0, 0, 0), "subi"), ((2, 0, 0), "subi")]
    assert [v.name for v in s.variables_of(2)] == ["%b", "%y", "%z", "%one", "%odd"]


def test_a_fault_stops_before_it_and_can_be_gone_back_from() -> None:
    text = """entry @k(%p: tile<ptr<f32>>) {
  %far = constant <i32: 1000> : tile<i32>
  %pp = offset %p, %far : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %pp : tile<ptr<f32>> -> tile<f32>, token
  return
}"""
    s, _ = session(text=text, grid=1)
    stop = s.cont()
    assert stop.reason == "exception" and "outside every buffer" in stop.text and line(s) == 4
    assert s.step().reason == "exception"
    assert s.step_back().reason == "step" and line(s) == 3
    assert s.failure is None
    assert s.cont().reason == "exception"


def test_nan_is_caught_where_it_comes_from() -> None:
    text = """entry @k() {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %f = itof %b signed : tile<i32> -> tile<f32>
  %one = constant <f32: 1.0> : tile<f32>
  %d = subf %f, %one : tile<f32>
  %r = sqrt %d : tile<f32>
  %s = addf %r, %one : tile<f32>
  return
}"""
    s, _ = session(text=text, grid=3)
    s.catch("nan")
    stop = s.cont()
    assert stop.reason == "nan" and "finite numbers make NaN" in stop.text
    assert (line(s), s.block) == (7, (0, 0, 0))
    assert s.cont().reason == "end"
    with pytest.raises(TileError, match="no reports without a sanitizer"):
        s.catch("report")
    with pytest.raises(TileError, match="expected 'nan' or 'report'"):
        s.catch("cold")


def test_reports_of_the_sanitizer_stop_and_come_again_after_going_back() -> None:
    text = """entry @k(%p: tile<ptr<f32>>) {
  %one = constant <f32: 1.0> : tile<f32>
  %t = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token
  %u = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token
  return
}"""
    s, _ = session(text=text, grid=1, sanitize="race")
    stop = s.cont()
    assert stop.reason == "report" and stop.text.startswith("race: store_ptr_tko") and line(s) == 5
    assert len(s.reports) == 1
    s.step_back()
    assert line(s) == 4 and len(s.reports) == 0
    assert s.cont().reason == "report" and len(s.reports) == 1


def test_marks_of_breakpoint_stop_and_print_nothing() -> None:
    said: list[str] = []
    text = """entry @k() {
  %t = print_tko "hello\\n" -> token
  %u = print_tko "tilery: breakpoint" -> token
  return
}"""
    kernel = tilery.compile(tilery.parse(text))
    s = Session(kernel, 1, output=said.append)
    assert s.cont().text == "breakpoint()" and line(s) == 3
    s.reverse()
    assert s.cont().reason == "breakpoint"
    s.cont()
    assert said == ["hello\n"]


def test_other_engines_are_refused() -> None:
    pytest.importorskip("llvmlite")
    with pytest.raises(TileError, match="only kernels of the reference engine"):
        Session(tilery.compile(tilery.parse(LOOP), engine="cpu"), 1, [np.zeros(1, np.float32), 1])


def test_a_watched_element_of_four_bits() -> None:
    text = """entry @k(%p: tile<ptr<f4E2M1FN>>) {
      %v = make_tensor_view %p, shape = [3], strides = [1] : tensor_view<3xf4E2M1FN, strides=[1]>
      %q = make_partition_view %v : partition_view<tile=(2), tensor_view<3xf4E2M1FN, strides=[1]>>
      %x, %y, %z = get_tile_block_id : tile<i32>
      %one = constant <f4E2M1FN: 1.0> : tile<2xf4E2M1FN>
      %t = store_view_tko weak %one, %q[%x]
        : tile<2xf4E2M1FN>, partition_view<tile=(2), tensor_view<3xf4E2M1FN, strides=[1]>>, tile<i32> -> token
      return
    }"""
    s = Session(tilery.compile(tilery.parse(text)), 2, [np.zeros(2, np.uint8)], names=["p"], batch=1)
    s.watch("p[3]")
    s.watch("p[2]")
    stop = s.cont()
    assert stop.reason == "data" and s.block == (1, 0, 0) and "p[2]: 0 -> 1" in stop.text
    assert s.evaluate("p").tolist() == [1, 1, 1, 0] and s.cont().reason == "end"
