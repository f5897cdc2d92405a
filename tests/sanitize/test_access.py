"""Access events: every load, store and atomic operation is told to checks, element by element, with its tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.sanitize import Access, AccessKind, Check, Link, Sanitizer, provenance


class Recorder(Check):
    """Keeps everything that it is told."""

    name = "recorder"
    events: list[Access | Link]

    def begin(self, entry: Any) -> None:
        type(self).events = []

    def after(self, access: Access) -> None:
        self.events.append(access)

    def link(self, link: Link) -> None:
        self.events.append(link)


def recorded(text: str, grid: int, *args: Any, batch: int | None = None) -> list[Access | Link]:
    watched = Sanitizer("bounds", more=[Recorder])
    tilery.compile(tilery.parse(text)).launch(grid, list(args), sanitize=watched, batch=batch)
    return Recorder.events


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_events_have_every_byte_and_change_nothing(seed: int) -> None:
    """The bytes of all events are those that the statistics count, and the launch leaves the same memory."""
    module, contract = random_case(seed)
    for number, launch in enumerate(contract.launches):
        plain, watched = arguments(launch, seed + number), arguments(launch, seed + number)
        wanted = ReferenceLoaded(module).kernel(launch.entry).launch(launch.grid, plain, output=lambda text: None)
        check = Sanitizer("bounds,alignment", more=[Recorder])
        kernel = ReferenceLoaded(module).kernel(launch.entry)
        got = kernel.launch(launch.grid, watched, output=lambda text: None, sanitize=check)
        assert list(check.reports) == []
        assert got == wanted
        for a, b in zip(plain, watched):
            assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes()
        moved = dict.fromkeys(AccessKind, 0)
        for event in Recorder.events:
            if isinstance(event, Access):
                bits = 4 if event.half is not None else 8 * event.bytes
                moved[event.kind] += int(event.mask.sum()) * bits // 8
        assert moved[AccessKind.READ] + moved[AccessKind.UPDATE] == got.bytes_read
        assert moved[AccessKind.WRITE] + moved[AccessKind.UPDATE] == got.bytes_written


TOKENS = """
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %even = cmpi equal %b, %zero, signed : tile<i32> -> tile<i1>
  %at = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %start = make_token : token
  %t = if %even -> (token) {
    %t1 = store_ptr_tko weak %at, %one token=%start : tile<ptr<i32>>, tile<i32> -> token
    yield %t1 : token
  } else {
    %old, %t2 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    yield %t2 : token
  }
  %joined = join_tokens %t, %start : token
  %v, %t3 = load_ptr_tko weak %at token=%joined : tile<ptr<i32>> -> tile<i32>, token
  return
} }
"""


@pytest.mark.parametrize("batch", [1, 4])
def test_tokens_keep_their_identity_through_branches_and_merges(batch: int) -> None:
    events = recorded(TOKENS, 4, np.zeros(1, np.int32), np.zeros(4, np.int32), batch=batch)
    made: dict[int, tuple[str, int]] = {}
    waits: dict[tuple[str, int], list[int]] = {}
    for event in events:
        given = (event.tokens,) if isinstance(event.tokens, np.ndarray) else event.tokens or ()
        for lane, rank in enumerate(event.ranks.tolist()):
            token = int(event.result_token[lane])
            assert token not in made
            made[token] = event.op.name, rank
            waits[event.op.name, rank] = [int(tokens[lane]) for tokens in given]
    for rank in range(4):
        before = ("store_ptr_tko" if rank == 0 else "atomic_rmw_tko", rank)
        assert [made[token] for token in waits["join_tokens", rank]] == [before, ("make_token", rank)]
        assert [made[token] for token in waits["load_ptr_tko", rank]] == [("join_tokens", rank)]
        assert waits.get(("atomic_rmw_tko", rank), []) == []


def test_a_compare_and_swap_tells_which_elements_it_wrote() -> None:
    text = """
    cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
      %i = iota : tile<4xi32>
      %r = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
      %w = broadcast %r : tile<1xptr<i32>> -> tile<4xptr<i32>>
      %q = offset %w, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
      %c = constant <i32: 2> : tile<4xi32>
      %old, %t = atomic_cas_tko relaxed device %q, %c, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
      return
    } }"""
    (event,) = recorded(text, 1, np.arange(4, dtype=np.int32))
    assert isinstance(event, Access) and event.wrote is not None
    assert event.wrote.tolist() == [[False, False, True, False]]


def test_a_waiting_loop_with_tokens_still_waits() -> None:
    """Tokens that a loop carries are new each time, which must not hide that the loop only waits."""
    text = """
    cuda_tile.module @m { entry @k(%flag: tile<ptr<i32>>) {
      %zero = constant <i32: 0> : tile<i32>
      %start = make_token : token
      %t = loop iter_values(%before = %start) : token -> token {
        %v, %t1 = load_ptr_tko acquire device %flag token=%before : tile<ptr<i32>> -> tile<i32>, token
        %unset = cmpi equal %v, %zero, signed : tile<i32> -> tile<i1>
        if %unset { continue %t1 : token }
        break %t1 : token
      }
      return
    } }"""
    with pytest.raises(tilery.TileError, match="deadlocked"):
        recorded(text, 1, np.zeros(1, np.int32))


def test_a_divisor_may_be_larger_than_the_type() -> None:
    text = """
    cuda_tile.module @m { entry @k(%n: tile<i8>) {
      %m = assume div_by<1024>, %n : tile<i8>
      return
    } }"""
    found = Sanitizer("promise")
    kernel = tilery.compile(tilery.parse(text))
    kernel.launch(1, [0], sanitize=found)
    assert list(found.reports) == []
    kernel.launch(1, [64], sanitize=found)
    assert [report.rule for report in found.reports] == ["a value is not divisible by 1024"]


READ_AT = """
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
  %at = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
  return
} }
"""


@pytest.mark.parametrize(("at", "count"), [(0, 0), (7, 0), (8, 1), (11, 1), (-1, 1)])
def test_arguments_that_overlap_have_bounds_of_their_own(at: int, count: int) -> None:
    whole = np.zeros(16, np.int32)
    found = Sanitizer("bounds")
    tilery.compile(tilery.parse(READ_AT)).launch(1, [whole[2:10], whole, at], sanitize=found)
    assert [report.count for report in found.reports] == [1] * count


@pytest.mark.parametrize(("at", "count"), [(0, 0), (11, 0), (12, 1)])
def test_an_address_belongs_to_the_largest_buffer_that_starts_there(at: int, count: int) -> None:
    whole = np.zeros(16, np.int32)
    buffers = [whole[2:6], whole[2:14], whole]
    address = whole[2:].ctypes.data
    found = Sanitizer("bounds")
    tilery.compile(tilery.parse(READ_AT)).launch(1, [address, address, at], buffers=buffers, sanitize=found)
    assert [report.count for report in found.reports] == [1] * count


def test_a_buffer_around_an_argument_may_be_accessed_through_it() -> None:
    whole = np.zeros(16, np.int32)
    found = Sanitizer("bounds")
    tilery.compile(tilery.parse(READ_AT)).launch(1, [whole[2:4], whole[:1], 9], buffers=[whole], sanitize=found)
    assert list(found.reports) == []


def test_the_owners_of_pointers_are_found_once_for_all_launches_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    possible = provenance._possible

    def counted(entry: Any, numbers: Any) -> Any:
        found.append(entry)
        return possible(entry, numbers)

    monkeypatch.setattr(provenance, "_possible", counted)
    text = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
      %far = constant <i32: 100> : tile<i32>
      %at = offset %p, %far : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
      return
    }"""
    kernel = tilery.compile(tilery.parse(text))
    memory = np.zeros(300, np.int32)
    for short in ("p", "q"):  # owners are as many, with other ends
        p, q = (memory[:50], memory[50:]) if short == "p" else (memory[50:], memory[:50])
        sanitizer = Sanitizer("bounds")
        kernel.launch(1, [p, q], names=["p", "q"], sanitize=sanitizer)
        assert bool(sanitizer.reports.faults) == (short == "p")
    assert len(found) == 1


def test_a_fault_after_a_report_is_an_error() -> None:
    """Elements past the end of a strided array are reported; others lie in its gaps, which nothing may write."""
    text = """entry @k(%a: tile<ptr<i32>>) {
      %i = iota : tile<16xi32>
      %p = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
      %b = broadcast %p : tile<1xptr<i32>> -> tile<16xptr<i32>>
      %q = offset %b, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
      %t = store_ptr_tko weak %q, %i : tile<16xptr<i32>>, tile<16xi32> -> token
      return
    }"""
    sanitizer = Sanitizer("bounds")
    with pytest.warns(UserWarning, match="not contiguous"), pytest.raises(tilery.TileError, match="in a gap") as caught:
        tilery.compile(tilery.parse(text)).launch(1, [np.zeros(20, np.int32)[:12:2]], sanitize=sanitizer)
    assert "element [1]" in str(caught.value) and len(sanitizer.reports) == 1
