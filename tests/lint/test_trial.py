"""Trial launches: what happens whatever the arguments are is found, and what made-up arguments cause is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from support.catalogue import FOLDER, read_cases
from tilery.lint import lint
from tilery.lint.facts import Facts
from tilery.lint.trial import run_trials

SECOND = Path(__file__).parent / "second"
THIRD = Path(__file__).parent / "third"
FIFTH = Path(__file__).parent / "fifth"
SIXTH = Path(__file__).parent / "sixth"


def found(text: str) -> set[str]:
    """The checks that report something in trial launches alone."""
    module = tilery.parse(text)
    assert tilery.verify(module) == []
    return {found.report.check for entry in module.entries for found in run_trials(module, Facts(module, entry))}


@pytest.mark.parametrize(
    ("file", "check"),
    [
        (FOLDER / "race_stream_k.mlir", "race"),
        (FOLDER / "race_lock_relaxed_unlock.mlir", "race"),
        (FOLDER / "uninit_alloca_bytes.mlir", "uninit"),
        (FOLDER / "uninit_alloca_each_iteration.mlir", "uninit"),
        (FOLDER / "bounds_alloca_after_loop.mlir", "bounds"),
        (FOLDER / "alignment_integer_address.mlir", "alignment"),
        (FOLDER / "promise_in_reduce.mlir", "promise"),
        (SECOND / "shift_by_the_width.mlir", "undefined"),
        (THIRD / "scratch_read_further_than_written.mlir", "uninit"),
        (THIRD / "tile_before_the_first.mlir", "bounds"),
        (FIFTH / "barrier_one_short.mlir", "race"),
        (FIFTH / "locks_in_opposite_order.mlir", "deadlock"),
        (SIXTH / "odd_blocks_keep_the_lock.mlir", "deadlock"),
        (SIXTH / "version_read_only_before.mlir", "race"),
        (SIXTH / "flag_reused_in_the_second_round.mlir", "race"),
    ],
)
def test_a_fault_that_no_argument_causes(file: Path, check: str) -> None:
    faulty, twin = read_cases(file)
    assert check in found(faulty.text)
    assert found(twin.text) == set()


WAITS = """
entry @k(%flag: tile<ptr<i32>>, %n: tile<i32>) {{
  {}
  loop {{
    %v, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
    %done = cmpi equal %v, %n, signed : tile<i32> -> tile<i1>
    if %done {{
      break
    }}
    continue
  }}
  %u = store_ptr_tko release device %flag, %n : tile<ptr<i32>>, tile<i32> -> token
  return
}}
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("%n = constant <i32: 7> : tile<i32>", [("deadlock", "note")]),  # it may be for another kernel
        ("%n = constant <i32: 0> : tile<i32>", []),
        ("%n = constant <i32: 7> : tile<i32> %s = store_ptr_tko release device %flag, %n : tile<ptr<i32>>, tile<i32>"
         " -> token", []),
    ],
)  # fmt: skip
def test_all_tile_blocks_wait_for_ever(before: str, expected: list[tuple[str, str]]) -> None:
    text = WAITS.format(before).replace(", %n: tile<i32>)", ")")
    assert [(f.rule, f.severity.value) for f in lint(tilery.parse(text))] == expected


def test_all_tile_blocks_wait_for_a_number_that_is_an_argument() -> None:
    assert lint(tilery.parse(WAITS.format(""))) == []


ROWS = """
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>, %stride: tile<i32>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<64xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %nn = broadcast %n1 : tile<1xi32> -> tile<64xi32>
  %mask = cmpi less_than %i, %nn, signed : tile<64xi32> -> tile<64xi1>
  %start = muli %x, %stride : tile<i32>
  %from = offset %p, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %f1 = reshape %from : tile<ptr<f32>> -> tile<1xptr<f32>>
  %fn = broadcast %f1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %a = offset %fn, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %v, %t = load_ptr_tko weak %a, %mask : tile<64xptr<f32>>, tile<64xi1> -> tile<64xf32>, token
  {}
  return
}}
"""


def test_strides_sizes_and_masks_are_those_of_a_caller_who_knows_the_kernel() -> None:
    """Rows may overlap and masked elements are undefined, but not if the arguments fit together."""
    assert found(ROWS.format(
        "%u = store_ptr_tko weak %a, %v, %mask token=%t : tile<64xptr<f32>>, tile<64xf32>, tile<64xi1> -> token"
    )) == set()  # fmt: skip


def test_the_mask_of_a_load_does_not_fit_that_of_the_store() -> None:
    assert found(ROWS.format(
        "%u = store_ptr_tko weak %a, %v token=%t : tile<64xptr<f32>>, tile<64xf32> -> token"
    )) == {"uninit"}  # fmt: skip


def test_the_size_of_an_argument_is_not_known() -> None:
    assert (
        found("""
        entry @k(%p: tile<ptr<i32>>) {
          %far = constant <i32: 100000> : tile<i32>
          %a = offset %p, %far : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
          %t = store_ptr_tko weak %a, %far : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    """)
        == set()
    )


@pytest.mark.parametrize("operand", ["%n", "%v"])
def test_some_arguments_are_no_fault(operand: str) -> None:
    """A divisor that is an argument, or was loaded, may be zero and need not be."""
    assert (
        found(f"""
        entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
          %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
          %q = divi %n, {operand} signed : tile<i32>
          %u = store_ptr_tko weak %p, %q token=%t : tile<ptr<i32>>, tile<i32> -> token
          return
        }}
    """)
        == set()
    )


def test_a_scatter_whose_indices_are_loaded_is_no_race() -> None:
    assert (
        found("""
        entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %a = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
          %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
          %b = offset %q, %v : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
          %u = store_ptr_tko weak %b, %x : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    """)
        == set()
    )


HOSTILE = {
    "endless": """loop {
      %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %u = store_ptr_tko weak %p, %v token=%t : tile<ptr<i32>>, tile<i32> -> token
      continue
    }""",
    "huge tile": "%v = iota : tile<8388608xi32> %w = addi %v, %v : tile<8388608xi32>",
    "huge print": '%v = iota : tile<262144xi32> print_tko "%d", %v : tile<262144xi32> -> token',
    "huge alloca": "%g = alloca num_elem = 2147483647, alignment = 4 : tile<ptr<i32>>",
    "far": """%far = constant <i64: 4611686018427387904> : tile<i64>
              %a = int_to_ptr %far : tile<i64> -> tile<ptr<i32>>
              %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token""",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_kernels_end(name: str) -> None:
    assert found(f"entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{ {HOSTILE[name]} return }}") == set()


def test_a_module_without_a_kernel() -> None:
    assert lint(tilery.parse("cuda_tile.module @m { global @g <i32: 1> : tile<1xi32> }")) == []


def test_the_same_fault_has_one_finding() -> None:
    """A rule that sees the cause in the text says more."""
    faulty, _ = read_cases(FOLDER / "race_load_after_store.mlir")
    assert [finding.rule for finding in lint(tilery.parse(faulty.text))] == ["missing-token"]


def test_findings_are_the_same_each_time() -> None:
    faulty, _ = read_cases(FIFTH / "barrier_one_short.mlir")
    module = tilery.parse(faulty.text)
    first, second = (
        [(f.rule, f.message, f.notes, [text for _, text in f.related]) for f in lint(module)] for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("padding", "name", "is_found"),
    [("zero", "maxf", True), ("neg_inf", "maxf", False), ("zero", "addf", False), ("neg_inf", "addf", True)],
)
def test_padding_that_changes_a_result(padding: str, name: str, is_found: bool) -> None:
    view = f"partition_view<tile=(8), padding_value = {padding}, tensor_view<?xf32, strides=[1]>>"
    arguments = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>"
    identity = "0.0" if name == "addf" else "0xFF800000"
    reported = found(f"""
        entry @k({arguments}) {{
          %x, %y, %z = get_tile_block_id : tile<i32>
          %m = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
          %v = make_partition_view %m : {view}
          %w, %t = load_view_tko weak %v[%x] : {view}, tile<i32> -> tile<8xf32>, token
          %two = constant <f32: 2.0> : tile<8xf32>
          %d = mulf %w, %two : tile<8xf32>
          %s = reduce %d dim=0 identities=[{identity} : f32] : tile<8xf32> -> tile<f32> (
            %a: tile<f32>, %b: tile<f32>) {{
            %c = {name} %a, %b : tile<f32>
            yield %c : tile<f32>
          }}
          %to = offset %q, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
          %u = store_ptr_tko weak %to, %s : tile<ptr<f32>>, tile<f32> -> token
          return
        }}
    """)
    assert reported == ({"padding"} if is_found else set())


COUNTED = """
entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_num_tile_blocks : tile<i32>
  %table = constant <i32: [5, 6, 7, 8]> : tile<4xi32>
  %i = OPERATION
  %v = extract %table[%i] : tile<4xi32> -> tile<1xi32>
  %s = reshape %v : tile<1xi32> -> tile<i32>
  %t = store_ptr_tko weak %p, %s : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


def test_the_number_of_tile_blocks_may_be_any() -> None:
    five = "constant <i32: 5> : tile<i32>"
    assert found(COUNTED.replace("OPERATION", f"{five} %j = subi %i, %y : tile<i32>").replace("[%i]", "[%j]")) == set()
    assert found(
        COUNTED.replace("OPERATION", f"{five} %j = maxi %i, %y signed : tile<i32>").replace("[%i]", "[%j]")
    ) == {"undefined"}  # it is at least 5, however many there are


def test_tile_blocks_that_are_counted_only_may_be_one() -> None:
    index = 'constant <i32: 0> : tile<i32> print_tko "%d", %x : tile<i32> -> token'
    assert found(COUNTED.replace("OPERATION", index)) == set()  # two would store to one address


@pytest.mark.parametrize(
    "use",
    [
        "%u = trunci %s overflow<no_signed_wrap> : tile<i64> -> tile<i4>",
        "%u = subi %w, %s overflow<no_unsigned_wrap> : tile<i64>",
        "%v, %t = load_view_tko weak %tiles[%zero, %s] : partition_view<tile=(2x8), tensor_view<16x16xf32, "
        "strides=[?,1]>>, tile<i64> -> tile<2x8xf32>, token",
    ],
)
def test_a_stride_that_is_another_number_too(use: str) -> None:
    text = f"""
    entry @k(%p: tile<ptr<f32>>, %s: tile<i64>) {{
      %view = make_tensor_view %p, shape = [16, 16], strides = [%s, 1] : tile<i64>
        -> tensor_view<16x16xf32, strides=[?,1]>
      %tiles = make_partition_view %view : partition_view<tile=(2x8), tensor_view<16x16xf32, strides=[?,1]>>
      %w = constant <i64: 1> : tile<i64>
      %zero = constant <i64: 0> : tile<i64>
      {use}
      return
    }}
    """
    assert found(text) == set()


@pytest.mark.parametrize(
    ("copy", "kind"),
    [
        ("bitcast %n : tile<i64> -> tile<i64>", "i64"),
        ("reshape %n : tile<i64> -> tile<1xi64>", "1xi64"),
        ("muli %n, %n : tile<i64>", "i64"),
    ],
)
def test_promises_about_a_size_that_has_another_name(copy: str, kind: str) -> None:
    text = f"""
    entry @k(%p: tile<ptr<f32>>, %n: tile<i64>) {{
      %copy = {copy}
      %m = assume div_by<64>, %copy : tile<{kind}>
      %view = make_tensor_view %p, shape = [%n, 6], strides = [6, 1] : tile<i64> -> tensor_view<?x6xf32, strides=[6,1]>
      %tiles = make_partition_view %view : partition_view<tile=(2x2), tensor_view<?x6xf32, strides=[6,1]>>
      %zero = constant <i64: 0> : tile<i64>
      %v, %t = load_view_tko weak %tiles[%zero, %zero] : partition_view<tile=(2x2), tensor_view<?x6xf32,
        strides=[6,1]>>, tile<i64> -> tile<2x2xf32>, token
      return
    }}
    """
    assert found(text) == set()


STORED = """
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %least = constant <f32: 0xFF800000> : tile<f32>
  %zero = constant <f32: 0.0> : tile<f32>
  %one = constant <f32: 1.0> : tile<f32>
  %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  OPERATIONS
  %t = store_ptr_tko weak %p, %r token=%u : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ("%r = subf %least, %least : tile<f32>", {"nan"}),
        ("%m = mulf %v, %zero : tile<f32> %r = divf %m, %zero : tile<f32>", {"nan"}),
        ("%n = subf %least, %least : tile<f32> %c = cmpf equal ordered %v, %v : tile<f32> -> tile<i1> "
         "%r = select %c, %zero, %n : tile<i1>, tile<f32>", set()),
        ("%r = sqrt %v : tile<f32>", set()),
        ("%r = log %x : tile<f32>", set()),
        ("%s = mulf %v, %v : tile<f32> %d = subf %one, %s : tile<f32> %r = sqrt %d : tile<f32>", set()),
        ("%s = mulf %v, %v : tile<f32> %d = subf %s, %one : tile<f32> %r = sqrt %d : tile<f32>", set()),
        ("%d = subf %one, %x : tile<f32> %r = sqrt %d : tile<f32>", set()),
    ],
)  # fmt: skip
def test_a_stored_nan(operations: str, expected: set[str]) -> None:
    """It is a fault if no number in memory and no parameter could prevent it."""
    assert found(STORED.replace("OPERATIONS", operations)) == expected


def test_a_branch_for_another_number_of_tile_blocks_may_be_taken() -> None:
    text = """
    entry @k(%p: tile<ptr<i32>>, %count: tile<ptr<i32>>, %m: tile<i32>) {
      %n, %y, %z = get_num_tile_blocks : tile<i32>
      %eight = constant <i32: 8> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %old, %t = atomic_rmw_tko acq_rel device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
      %last = cmpi equal %old, WANTED, signed : tile<i32> -> tile<i1>
      if %last {
        %u = store_ptr_tko weak %p, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
      }
      return
    }
    """
    assert found(text.replace("WANTED", "%n")) == {"unreached-store"}
    assert found(text.replace("WANTED", "%eight")) == set()
    assert found(text.replace("WANTED", "%m")) == set()
