"""Dead-code elimination keeps exact counts of what is left."""

from __future__ import annotations

import pytest

import tilery
from tilery.passes.canonicalize.branches import rule as branch_rules
from tilery.rewrite import Report, uses
from tilery.rewrite.deadcode import keep_living
from tilery.smith import smith


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_need_not_be_counted_again(seed: int) -> None:
    module = smith(seed, size=80)
    for entry in module.entries:
        report = Report()
        living = keep_living(entry, branch_rules, report)
        assert living.changes == report.counts.total()
        assert set(tilery.walk(entry)) <= set(living.ops)
        assert +living.uses == uses(entry)
        assert keep_living(entry, branch_rules).changes == 0
