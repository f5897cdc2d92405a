"""The page of a rule: its docstring in parts, and the same as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

from ..declare.fastclass import dataclass
from .rule import Rule, Severity
from .rules import RULES

_PARTS = re.compile(r"(.*?)\n\n(?:(.*?)\n\n)?Fix: (.*?)\n\nBad:\n(.*?)\nGood:\n(.*)", re.DOTALL)
MEANING = {
    Severity.ERROR: "the behaviour is undefined whenever the operation is executed",
    Severity.WARNING: "the kernel very likely does not do what its author wants",
    Severity.NOTE: "advice; it does not change the exit status",
}


@dataclass(frozen=True, slots=True)
class Page:
    """The facts about a rule."""

    rule: Rule
    summary: str
    why: str
    fix: str
    bad: str
    good: str


def page(rule: Rule) -> Page:
    """Return the parts of a rule's page."""
    found = _PARTS.fullmatch(inspect.cleandoc(rule.run.__doc__ or ""))
    assert found is not None, f"the page of {rule.id} lacks a part"
    summary, why, fix, bad, good = (part or "" for part in found.groups())
    return Page(rule, summary, why, fix, textwrap.dedent(bad), textwrap.dedent(good))


def explain(rule: Rule) -> str:
    """Return the page of a rule as text for a terminal."""
    shown = page(rule)
    parts = [f"{rule.id} ({rule.severity.value}): {shown.summary}", shown.why, f"Fix: {shown.fix}"]
    parts += [f"Bad:\n{textwrap.indent(shown.bad, '  ')}", f"Good:\n{textwrap.indent(shown.good, '  ')}"]
    parts.append(f"Suppress: {suppression(rule.id)} at the end of the line.")
    return "\n\n".join(part for part in parts if part) + "\n"


def suppression(name: str) -> str:
    """Return the comment that suppresses a rule on a line of Tile IR.

    >>> suppression("dead-store")
    '// lint: ignore[dead-store]'
    """
    return f"// lint: ignore[{name}]"


def markdown(rule: Rule) -> Iterator[str]:
    """Return the lines of the Markdown page of a rule."""
    shown = page(rule)
    yield f"# {rule.id}"
    yield ""
    yield f"{shown.summary} Severity: **{rule.severity.value}** ({MEANING[rule.severity]})."
    if shown.why:
        yield from ("", shown.why)
    yield from ("", "## How to fix it", "", shown.fix)
    yield from ("", "## Bad", "", "```mlir", shown.bad, "```")
    yield from ("", "## Good", "", "```mlir", shown.good, "```")
    yield from ("", "## How to suppress it", "")
    yield "On the same line, or in a comment of its own on the line before it:"
    yield from ("", "```mlir", suppression(rule.id), "```", "")
    yield f"In cuTile Python, `# lint: ignore[{rule.id}]`. For a whole run, `tilery lint --ignore {rule.id}`."


def index() -> Iterator[str]:
    """Return the lines of the Markdown page that lists all rules."""
    yield "# The rules of `tilery lint`"
    yield ""
    yield f"There are {len(RULES)} rules. [The guide](../../guides/lint.md) explains how to use them."
    yield ""
    yield "| Rule | Severity | What it finds |"
    yield "|---|---|---|"
    for rule in RULES.values():
        yield f"| [{rule.id}]({rule.id}.md) | {rule.severity.value} | {page(rule).summary} |"


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of every page by its name below docs/reference/lint."""
    return {"index.md": index(), **{f"{rule.id}.md": markdown(rule) for rule in RULES.values()}}
