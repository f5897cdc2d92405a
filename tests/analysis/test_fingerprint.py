"""Digests of operations: equal for what computes the same, different for everything else."""

from __future__ import annotations

import pytest

import tilery
from support.contract import random_case
from tilery.analysis.fingerprint import fingerprint

TEXT = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %a = iota : tile<8xi32>
  %b = constant <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  %c = subi %a, %b : tile<8xi32>
  %d = if %e -> (tile<8xi32>) { yield %a : tile<8xi32> } else { yield %c : tile<8xi32> }
  return
}""".replace("  %d = if %e", "  %e = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>\n  %d = if %e")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("subi %a, %b", "subi %b, %a"),
        ("subi", "addi"),
        ("subi %a, %b :", "subi %a, %b overflow<no_signed_wrap> :"),
        ("7, 8", "7, 9"),
        ("less_than %n", "greater_than %n"),
        ("yield %c", "yield %b"),
        ("8x", "16x"),
        ("%n: tile<i32>)", "%n: tile<i32>, %m: tile<i32>)"),
    ],
)
def test_a_change_changes_the_digest(old: str, new: str) -> None:
    changed = TEXT.replace(old, new)
    if old == "8x":
        changed = changed.replace("[1, 2, 3, 4, 5, 6, 7, 8]", "1")
    assert changed != TEXT
    assert fingerprint(tilery.parse(TEXT)) != fingerprint(tilery.parse(changed))


def test_names_and_places_do_not_matter() -> None:
    other = "\n\n" + TEXT.replace("%a", "%other").replace("  return", "    return")
    assert fingerprint(tilery.parse(TEXT)) == fingerprint(tilery.parse(other))


def test_random_modules_keep_their_digest_in_bytecode_and_differ_from_each_other() -> None:
    seen = set()
    for seed in range(30):
        module, _ = random_case(seed)
        found = fingerprint(module)
        assert found == fingerprint(tilery.load(tilery.dumps(module, "13.4")))
        seen.add(found)
    assert len(seen) == 30
