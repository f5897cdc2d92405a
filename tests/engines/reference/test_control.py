"""Control flow in batches: tile blocks that go different ways, wait for each other, and leave early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from tilery.attrs import MemoryOrderingSemantics
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits

BATCHES = (1, 3, 64, None)
"""How many tile blocks run at once; None leaves it to the engine."""

HEAD = """
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
"""
STORE = """
  %slot = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %stored = store_ptr_tko weak %slot, {value} : tile<ptr<i32>>, tile<i32> -> token
"""


def kernel(body: str, params: str = "%out: tile<ptr<i32>>") -> Any:
    return tilery.compile(tilery.parse(f"entry @k({params}) {{{HEAD}{body}\n  return\n}}"))


def results(body: str, blocks: int, batch: int | None) -> list[int]:
    """Return the value that each tile block stores at its place."""
    out = np.full(blocks, -1, np.int32)
    kernel(body).launch(blocks, [out], batch=batch)
    return [int(v) for v in out]


@pytest.mark.parametrize("batch", BATCHES)
def test_each_block_has_its_own_trip_count(batch: int | None) -> None:
    body = """
  %n = remi %x, %three signed : tile<i32>
  %sum = for %i in (%zero to %x, step %one) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
    %next = addi %acc, %i : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%sum")
    assert results(body, 100, batch) == [x % 3 + sum(range(x)) for x in range(100)]


@pytest.mark.parametrize("batch", BATCHES)
def test_a_loop_is_left_at_different_rounds(batch: int | None) -> None:
    body = """
  %found = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
    %square = muli %i, %i : tile<i32>
    %big = cmpi greater_than_or_equal %square, %x, signed : tile<i32> -> tile<i1>
    if %big {
      break %i : tile<i32>
    }
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%found")
    assert results(body, 40, batch) == [int(np.ceil(np.sqrt(x))) for x in range(40)]


@pytest.mark.parametrize("batch", BATCHES)
def test_some_blocks_return_early_from_a_nest(batch: int | None) -> None:
    body = """
  loop iter_values(%i = %zero) : tile<i32> {
    %parity = andi %x, %one : tile<i32>
    %odd = cmpi equal %parity, %one, signed : tile<i32> -> tile<i1>
    if %odd {
      %late = cmpi greater_than %i, %x, signed : tile<i32> -> tile<i1>
      if %late {
        return
      }
    } else {
      break
    }
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%x")
    assert results(body, 12, batch) == [x if x % 2 == 0 else -1 for x in range(12)]


@pytest.mark.parametrize("batch", BATCHES)
def test_continue_inside_an_if(batch: int | None) -> None:
    body = """
  %sum = for %i in (%zero to %x, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<i32>) {
    %rest = remi %i, %three signed : tile<i32>
    %skip = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
    if %skip {
      continue %acc : tile<i32>
    }
    %next = addi %acc, %i : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%sum")
    assert results(body, 16, batch) == [sum(i for i in range(x) if i % 3) for x in range(16)]


@pytest.mark.parametrize("batch", BATCHES)
def test_branches_give_each_block_its_own_values(batch: int | None) -> None:
    body = """
  %rest = remi %x, %three signed : tile<i32>
  %c = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
  %a, %b = if %c -> (tile<i32>, tile<i32>) {
    %p = muli %x, %two : tile<i32>
    yield %p, %one : tile<i32>, tile<i32>
  } else {
    %d = cmpi equal %rest, %one, signed : tile<i32> -> tile<i1>
    %q = if %d -> (tile<i32>) {
      %m = negi %x : tile<i32>
      yield %m : tile<i32>
    } else {
      yield %three : tile<i32>
    }
    yield %q, %two : tile<i32>, tile<i32>
  }
  %sum = addi %a, %b : tile<i32>""" + STORE.format(value="%sum")
    assert results(body, 17, batch) == [(2 * x + 1, 2 - x, 5)[x % 3] for x in range(17)]


@pytest.mark.parametrize("batch", BATCHES)
def test_a_counter_that_would_overflow_ends_the_loop(batch: int | None) -> None:
    body = """
  %low = constant <i8: 100> : tile<i8>
  %high = constant <i8: 127> : tile<i8>
  %by = constant <i8: 20> : tile<i8>
  %count = for %i in (%low to %high, step %by) : tile<i8> iter_values(%n = %zero) -> (tile<i32>) {
    %next = addi %n, %one : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%count")
    assert results(body, 3, batch) == [2, 2, 2]


def test_a_step_that_is_not_positive_is_an_error() -> None:
    body = """
  for %i in (%zero to %three, step %zero) : tile<i32> {
    continue
  }"""
    with pytest.raises(ExecutionError, match="the step must be positive"):
        kernel(body).launch(1, [np.zeros(1, np.int32)])


def spin(attempt: str, until: str) -> str:
    """A loop that does the same over and over until a comparison holds."""
    return f"""
  loop {{
    {attempt}
    %done = cmpi {until}, signed : tile<i32> -> tile<i1>
    if %done {{
      break
    }}
    continue
  }}"""


def fold(place: str, factor: str, term: str) -> str:
    """Multiply what is in memory and add to it, in steps that another tile block could come between."""
    return f"""
  %v, %t1 = load_ptr_tko relaxed device {place} : tile<ptr<i32>> -> tile<i32>, token
  %times = muli %v, {factor} : tile<i32>
  %w = addi %times, {term} : tile<i32>
  %t2 = store_ptr_tko relaxed device {place}, %w token=%t1 : tile<ptr<i32>>, tile<i32> -> token"""


TAKE = "%old, %t0 = atomic_cas_tko acq_rel device %lock, %zero, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
LOCK = f"""{spin(TAKE, "equal %old, %zero")}{fold("%out", "%three", "%x")}
  %o, %t3 = atomic_rmw_tko release device %lock, xchg, %zero token=%t2 \
: tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""


@pytest.mark.parametrize("batch", BATCHES)
def test_a_lock_lets_one_block_in_at_a_time(batch: int | None) -> None:
    out, lock = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel(LOCK, "%out: tile<ptr<i32>>, %lock: tile<ptr<i32>>").launch(9, [out, lock], batch=batch)
    expected = 0
    for x in range(9):
        expected = expected * 3 + x
    assert (int(out[0]), int(lock[0])) == (expected, 0)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_block_waits_for_one_that_starts_later(batch: int | None) -> None:
    """Each block waits for the flag of its right neighbour: only the last can go first."""
    body = """
  %last = constant <i32: 9> : tile<i32>
  %is_last = cmpi equal %x, %last, signed : tile<i32> -> tile<i1>
  %right = addi %x, %one : tile<i32>
  %there = offset %flags, %right : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %got = if %is_last -> (tile<i32>) {
    yield %one : tile<i32>
  } else {
    %flag = loop : tile<i32> {
      %f, %t0 = load_ptr_tko acquire device %there : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
      if %set {
        break %f : tile<i32>
      }
      continue
    }
    yield %flag : tile<i32>
  }
  %value = addi %got, %x : tile<i32>
  %here = offset %flags, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t1 = store_ptr_tko release device %here, %value : tile<ptr<i32>>, tile<i32> -> token"""
    flags = np.zeros(10, np.int32)
    kernel(body, "%flags: tile<ptr<i32>>").launch(10, [flags], batch=batch)
    expected = [0] * 10
    value = 1
    for x in reversed(range(10)):
        value += x
        expected[x] = value
    assert [int(v) for v in flags] == expected


WAIT = """
  %flag = constant <i32: 3> : tile<i32>
  %parity = andi %x, %one : tile<i32>
  %odd = cmpi equal %parity, %one, signed : tile<i32> -> tile<i1>
  %last = cmpi equal %x, %flag, signed : tile<i32> -> tile<i1>
  if %last {
    %t0 = store_ptr_tko release device %out, %one : tile<ptr<i32>>, tile<i32> -> token
  } else {
    loop {
      %f, %t1 = load_ptr_tko acquire device %out : tile<ptr<i32>> -> tile<i32>, token
      %seen = if %odd -> (tile<i32>) {
        %same = addi %f, %zero : tile<i32>
        yield %same : tile<i32>
      } else {
        yield %f : tile<i32>
      }
      %set = cmpi not_equal %seen, %zero, signed : tile<i32> -> tile<i1>
      if %set {
        break
      }
      MORE
      continue
    }
  }"""


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
def test_blocks_that_part_in_each_round_can_wait_for_later_ones(batch: int) -> None:
    out = np.zeros(1, np.int32)
    kernel(WAIT.replace("MORE", "")).launch(4, [out], batch=batch, limits=Limits(steps=1000))
    assert out[0] == 1


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
def test_a_loop_that_counts_in_memory_while_it_waits_lets_others_go(batch: int) -> None:
    count = "%c, %t2 = atomic_rmw_tko relaxed device %n, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    out, n = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run = kernel(WAIT.replace("MORE", count), "%out: tile<ptr<i32>>, %n: tile<ptr<i32>>")
    run.launch(4, [out, n], batch=batch, limits=Limits(steps=100_000))
    assert out[0] == 1


def test_blocks_that_wait_for_more_than_memory_holds_are_an_error() -> None:
    body = "%big = iota : tile<1024xi32>\n%use = addi %big, %big : tile<1024xi32>" + WAIT.replace("MORE", "")
    with pytest.raises(ExecutionError, match="wait for others that do not fit in memory"):
        kernel(body).launch(4, [np.zeros(1, np.int32)], batch=1, limits=Limits(memory=20_000))


def test_waiting_for_ever_is_found() -> None:
    look = "%f, %t0 = load_ptr_tko acquire device %out : tile<ptr<i32>> -> tile<i32>, token"
    with pytest.raises(ExecutionError, match="5 tile blocks are deadlocked"):
        kernel(spin(look, "not_equal %f, %zero")).launch(5, [np.zeros(1, np.int32)], batch=2)


@pytest.mark.parametrize("batch", BATCHES)
def test_waiting_is_found_in_a_loop_with_a_loop_inside(batch: int | None) -> None:
    body = """
  loop {
    loop iter_values(%n = %zero) : tile<i32> {
      %a, %t1 = load_ptr_tko relaxed device %out : tile<ptr<i32>> -> tile<i32>, token
      %over = cmpi equal %n, %three, signed : tile<i32> -> tile<i1>
      if %over {
        break
      }
      %m = addi %n, %one : tile<i32>
      continue %m : tile<i32>
    }
    %f, %t0 = load_ptr_tko acquire device %out : tile<ptr<i32>> -> tile<i32>, token
    %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
    if %set {
      break
    }
    continue
  }"""
    with pytest.raises(ExecutionError, match="5 tile blocks are deadlocked"):
        kernel(body).launch(5, [np.zeros(1, np.int32)], batch=batch, limits=Limits(steps=10_000))


@pytest.mark.parametrize("batch", BATCHES)
def test_a_loop_that_counts_while_it_waits_lets_others_go(batch: int | None) -> None:
    body = """
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  if %first {
    loop iter_values(%n = %zero) : tile<i32> {
      %f, %t0 = load_ptr_tko acquire device %out : tile<ptr<i32>> -> tile<i32>, token
      %set = cmpi equal %f, %three, signed : tile<i32> -> tile<i1>
      if %set {
        break
      }
      %more = addi %n, %one : tile<i32>
      continue %more : tile<i32>
    }
  } else {
    %old, %t1 = atomic_rmw_tko relaxed device %out, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  }"""
    out = np.zeros(1, np.int32)
    kernel(body).launch(4, [out], batch=batch)
    assert int(out[0]) == 3


LOOK = "%t, %t0 = load_ptr_tko acquire device %turn : tile<ptr<i32>> -> tile<i32>, token"
STREAM_K = f"""
  %k = constant <i32: 5> : tile<i32>
  %tile = divi %x, %k signed : tile<i32>
  %part = remi %x, %k signed : tile<i32>
  %square = muli %x, %x : tile<i32>
  %sum = offset %sums, %tile : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %turn = offset %turns, %tile : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  {spin(LOOK, "equal %t, %part")}{fold("%sum", "%two", "%square")}
  %next = addi %part, %one : tile<i32>
  %t3 = store_ptr_tko release device %turn, %next token=%t2 : tile<ptr<i32>>, tile<i32> -> token"""


@pytest.mark.parametrize("batch", BATCHES)
def test_parts_of_a_tile_are_added_in_turn(batch: int | None) -> None:
    """As in stream-K: the blocks that share an output tile add their parts one after the other."""
    sums, turns = np.zeros(4, np.int32), np.zeros(4, np.int32)
    kernel(STREAM_K, "%sums: tile<ptr<i32>>, %turns: tile<ptr<i32>>").launch(20, [sums, turns], batch=batch)
    expected = []
    for tile in range(4):
        total = 0
        for part in range(5):
            total = total * 2 + (5 * tile + part) ** 2
        expected.append(total)
    assert [int(v) for v in sums] == expected


@pytest.mark.parametrize("batch", BATCHES)
def test_the_last_block_of_a_group_finishes(batch: int | None) -> None:
    """As in split-K: partial results are counted, and whoever comes last adds them up."""
    body = """
  %k = constant <i32: 4> : tile<i32>
  %tile = divi %x, %k signed : tile<i32>
  %here = offset %parts, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t0 = store_ptr_tko weak %here, %x : tile<ptr<i32>>, tile<i32> -> token
  %count = offset %counts, %tile : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %old, %t1 = atomic_rmw_tko acq_rel device %count, add, %one token=%t0 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %last = cmpi equal %old, %three, signed : tile<i32> -> tile<i1>
  if %last {
    %from = muli %tile, %k : tile<i32>
    %to = addi %from, %k : tile<i32>
    %sum = for %i in (%from to %to, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<i32>) {
      %p = offset %parts, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t2 = load_ptr_tko weak %p token=%t1 : tile<ptr<i32>> -> tile<i32>, token
      %next = addi %acc, %v : tile<i32>
      continue %next : tile<i32>
    }
    %place = offset %sums, %tile : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t3 = store_ptr_tko weak %place, %sum : tile<ptr<i32>>, tile<i32> -> token
  }"""
    parts, counts, sums = (np.zeros(n, np.int32) for n in (12, 3, 3))
    params = "%parts: tile<ptr<i32>>, %counts: tile<ptr<i32>>, %sums: tile<ptr<i32>>"
    kernel(body, params).launch(12, [parts, counts, sums], batch=batch)
    assert [int(v) for v in sums] == [sum(range(4 * t, 4 * t + 4)) for t in range(3)]


@pytest.mark.parametrize("batch", BATCHES)
def test_memory_and_text_of_a_block_outlive_the_bodies_in_it(batch: int | None) -> None:
    body = """
  %mine = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
  %t0 = store_ptr_tko weak %mine, %x : tile<ptr<i32>>, tile<i32> -> token
  %t1 = print_tko "a" -> token
  %i = iota : tile<4xi32>
  %r = reduce %i dim=0 identities=[0 : i32] : tile<4xi32> -> tile<i32> (%a: tile<i32>, %b: tile<i32>) {
    %c = cmpi less_than %a, %x, signed : tile<i32> -> tile<i1>
    %s = if %c -> (tile<i32>) {
      yield %a : tile<i32>
    } else {
      yield %b : tile<i32>
    }
    yield %s : tile<i32>
  }
  %t2 = print_tko "b" -> token
  %v, %t3 = load_ptr_tko weak %mine token=%t0 : tile<ptr<i32>> -> tile<i32>, token""" + STORE.format(value="%v")
    out, text = np.zeros(5, np.int32), list[str]()
    kernel(body).launch(5, [out], batch=batch, output=text.append)
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert "".join(text) == "ab" * 5


# ---------------------------------------------------------------- the grid and the limits


@pytest.mark.parametrize("batch", BATCHES)
def test_blocks_know_where_they_are(batch: int | None) -> None:
    body = """
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %a = muli %z, %gy : tile<i32>
  %b = addi %a, %y : tile<i32>
  %c = muli %b, %gx : tile<i32>
  %d = addi %c, %x : tile<i32>
  %p = offset %out, %d : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %d : tile<ptr<i32>>, tile<i32> -> token"""
    out = np.full(3 * 5 * 7, -1, np.int32)
    kernel(body).launch((3, 5, 7), [out], batch=batch)
    assert (out == np.arange(105)).all()


def test_a_huge_grid_starts_at_once_and_can_be_limited() -> None:
    body = """
  %p = offset %out, %z : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %old, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
    out = np.zeros(1, np.int32)
    with pytest.raises(ExecutionError, match="stopped after 100 steps"):
        kernel(body).launch(((1 << 24) - 1,) * 3, [out], limits=Limits(steps=100))
    assert out[0] > 0


@pytest.mark.parametrize("grid", [0, (1, 0), (1 << 24,), (1, 2, 3, 4), ()])
def test_an_impossible_grid_is_refused(grid: Any) -> None:
    with pytest.raises(tilery.TileError, match="grid"):
        kernel("").launch(grid, [np.zeros(1, np.int32)])


def test_an_endless_loop_can_be_stopped() -> None:
    body = """
  loop iter_values(%i = %zero) : tile<i32> {
    %next = addi %i, %one : tile<i32>
    continue %next : tile<i32>
  }"""
    with pytest.raises(ExecutionError, match=r"stopped after 0\.05 seconds"):
        kernel(body).launch(1, [np.zeros(1, np.int32)], limits=Limits(seconds=0.05))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_result(threads: int) -> None:
    body = """
  %sum = for %i in (%zero to %x, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<i32>) {
    %next = addi %acc, %i : tile<i32>
    continue %next : tile<i32>
  }""" + STORE.format(value="%sum")
    out = np.zeros(50, np.int32)
    stats = kernel(body).launch(50, [out], threads=threads, batch=4)
    assert stats.blocks == 50
    assert [int(v) for v in out] == [sum(range(x)) for x in range(50)]


def test_an_error_in_one_thread_stops_the_launch() -> None:
    with pytest.raises(ExecutionError, match="outside every buffer"):
        kernel(STORE.format(value="%x")).launch(50, [np.zeros(40, np.int32)], threads=3, batch=4)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_loop_that_is_entered_again_is_not_waiting(batch: int | None) -> None:
    """Its one jump back carries the same value each time, and nothing is written in between."""
    body = """
  for %i in (%zero to %three, step %one) : tile<i32> {
    loop iter_values(%n = %zero) : tile<i32> {
      %done = cmpi greater_than_or_equal %n, %one, signed : tile<i32> -> tile<i1>
      if %done {
        %v, %t = load_ptr_tko acquire device %out : tile<ptr<i32>> -> tile<i32>, token
        break
      }
      %next = addi %n, %one : tile<i32>
      continue %next : tile<i32>
    }
    continue
  }""" + STORE.format(value="%x")
    assert results(body, 5, batch) == [0, 1, 2, 3, 4]


def test_a_deadlock_names_the_access_that_is_waited_for() -> None:
    body = """
  %start = make_token : token
  loop iter_values(%before = %start) : token {
    %joined = join_tokens %before, %start : token
    %other, %t0 = load_ptr_tko relaxed device %n token=%joined : tile<ptr<i32>> -> tile<i32>, token
    %f, %t1 = load_ptr_tko acquire device %out token=%joined : tile<ptr<i32>> -> tile<i32>, token
    %set = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
    if %set {
      break
    }
    continue %t1 : token
  }"""
    run = kernel(body, "%out: tile<ptr<i32>>, %n: tile<ptr<i32>>")
    with pytest.raises(ExecutionError, match="load_ptr_tko: 2 tile blocks are deadlocked") as caught:
        run.launch(2, [np.zeros(1, np.int32), np.zeros(1, np.int32)])
    assert caught.value.op.memory_ordering_semantics is MemoryOrderingSemantics.ACQUIRE  # type: ignore[attr-defined]
