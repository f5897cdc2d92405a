"""Every rule finds what its page says is bad, and is silent about what its page says is good."""

from __future__ import annotations

import pytest

import tilery
from tilery.lint import RULES, Finding, Severity, fixed, lint
from tilery.lint.pages import explain, page, pages
from tilery.lint.suppress import with_comment

NAMES = list(RULES)


def findings(text: str) -> list[Finding]:
    module = tilery.parse(text)
    assert tilery.verify(module) == []
    return lint(module)


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_has_this_finding_only(name: str) -> None:
    found = findings(page(RULES[name]).bad)
    assert {finding.rule for finding in found} - {"unused-argument"} == {name} - {"unused-argument"}
    assert name in {finding.rule for finding in found}


@pytest.mark.parametrize("name", NAMES)
def test_the_good_example_has_no_finding(name: str) -> None:
    assert {finding.rule for finding in findings(page(RULES[name]).good)} <= {"unused-argument"} - {name}


@pytest.mark.parametrize("name", NAMES)
def test_a_comment_suppresses_the_finding(name: str) -> None:
    text = page(RULES[name]).bad
    errors = tilery.lint.lint_input(tilery.source.input.Input(text=text), rules=[name])
    rows = text.split("\n")
    for line in {error.line for error in errors}:
        assert line is not None
        rows[line - 1] = with_comment(rows[line - 1], name)
    assert tilery.lint.lint_input(tilery.source.input.Input(text="\n".join(rows)), rules=[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_safe_fix_settles_the_finding(name: str) -> None:
    text = page(RULES[name]).bad
    can_fix = [f for f in findings(text) if f.rule == name and f.fix is not None and f.fix.is_safe]
    new, count = fixed(text, rules=[name])
    assert bool(count) == bool(can_fix)
    if can_fix:
        assert name not in {finding.rule for finding in findings(new)}


def test_there_are_rules_of_every_severity() -> None:
    assert len(RULES) >= 20
    assert {rule.severity for rule in RULES.values()} == set(Severity)


def test_every_rule_has_a_page() -> None:
    assert set(pages()) == {"index.md", *(f"{name}.md" for name in RULES)}
    for rule in RULES.values():
        assert explain(rule).startswith(f"{rule.id} ({rule.severity.value}): {rule.summary}\n")
