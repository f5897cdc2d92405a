"""Forms, places and influence: examples, and laws on random modules."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from tilery.analysis.influence import Dependence, influence
from tilery.analysis.memory.forms import forms, has_form
from tilery.analysis.memory.places import overlap, places, shares_byte
from tilery.analysis.ranges import is_integer, ranges
from tilery.ir import Op
from tilery.ops import GetTileBlockId
from tilery.passes import parse_pipeline, run_pipeline
from tilery.smith import smith


def kernel(body: str, arguments: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> Op:
    return tilery.parse(f"entry @k({arguments}) {{\n{body}\nreturn\n}}\n").entries[0]


@pytest.mark.parametrize("seed", range(60))
def test_known_numbers_are_within_their_ranges(seed: int) -> None:
    for entry in smith(seed).entries:
        found, limits = forms(entry), ranges(entry, trust=False)
        for o in tilery.walk(entry):
            for value in o.results:
                known = found[value].known if is_integer(value) else None
                if known is not None and value in limits.facts:
                    assert limits[value].lo <= known.min() and known.max() <= limits[value].hi, o


@pytest.mark.parametrize("seed", range(40))
def test_folding_constants_does_not_change_what_is_known(seed: int) -> None:
    """What the pass folds to a constant was known before, with the same elements."""
    before = smith(seed)
    after = tilery.clone(before)
    run_pipeline(after, parse_pipeline("fold-int"))
    for a, b in zip(before.entries, after.entries):
        known, folded = forms(a), forms(b)
        stored = [o.value for o in tilery.walk(a) if o.name == "store_ptr_tko"]  # type: ignore[attr-defined]
        again = [o.value for o in tilery.walk(b) if o.name == "store_ptr_tko"]  # type: ignore[attr-defined]
        for one, two in zip(stored, again):
            if has_form(one) and (numbers := known[one].known) is not None and folded[two].known is not None:
                assert np.array_equal(
                    np.broadcast_to(numbers, one.type.shape), np.broadcast_to(folded[two].numbers, two.type.shape)
                )


def test_addresses_are_sums_of_symbols_and_bytes() -> None:
    entry = kernel("""
      %x, %y, %z = get_tile_block_id : tile<i32>
      %c = constant <i32: 8> : tile<i32>
      %a = muli %x, %c : tile<i32>
      %b = addi %a, %n : tile<i32>
      %q = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %r = offset %q, %c : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    """)
    form = forms(entry)[entry.body.ops[5].results[0]]  # type: ignore[attr-defined]
    names = {"p": entry.body.args[0], "n": entry.body.args[1], "x": entry.body.ops[0].results[0]}  # type: ignore[attr-defined]
    assert {name: form.terms[value] for name, value in names.items()} == {"p": 1, "n": 4, "x": 32}
    assert int(form.numbers) == 32


def test_accesses_overlap_where_they_share_a_byte() -> None:
    entry = kernel("""
      %one = constant <i32: 1> : tile<i32>
      %q = offset %p, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %w = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i64>>
      %a, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %b, %u = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
      %c, %v = load_ptr_tko weak %w : tile<ptr<i64>> -> tile<i64>, token
    """)
    first, second, wide = places(entry, forms(entry))
    assert not overlap(first, second)
    assert overlap(first, wide) and overlap(second, wide)
    assert first.root is wide.root is entry.body.args[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(20))
def test_sharing_a_byte_is_what_it_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 40, 3), random.integers(0, 40, 3)
    sizes = random.choice([1, 2, 4, 8], 2)
    bytes_a, bytes_b = ({int(n) + i for n in numbers for i in range(size)} for numbers, size in zip((a, b), sizes))
    assert shares_byte(a, int(sizes[0]), b, int(sizes[1])) == bool(bytes_a & bytes_b)


def test_conditions_influence_results_and_what_is_executed() -> None:
    entry = kernel("""
      %x, %y, %z = get_tile_block_id : tile<i32>
      %c = cmpi equal %x, %n, signed : tile<i32> -> tile<i1>
      %r = if %c -> (tile<i32>) {
        yield %n : tile<i32>
      } else {
        %m = addi %n, %n : tile<i32>
        yield %m : tile<i32>
      }
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    """)
    found = influence(entry)
    ids, compare, branch, load = entry.body.ops[:4]  # type: ignore[attr-defined]
    assert isinstance(ids, GetTileBlockId)
    assert found[ids.blockId_y] is Dependence.Y
    assert found[compare.results[0]] == found[branch.results[0]] == Dependence.X
    assert found[entry.body.args[1]] is Dependence.NOTHING  # type: ignore[attr-defined]
    assert found.of_execution(branch.blocks[1]) is Dependence.X
    assert found[load.results[0]] is Dependence.MEMORY
