"""Find mistakes in a kernel without running it.

>>> import tilery
>>> module = tilery.parse('''entry @k(%n: tile<i32>) {
...   %zero = constant <i32: 0> : tile<i32>
...   %q = divi %n, %zero signed : tile<i32>
...   print_tko "%d", %q : tile<i32> -> token
...   return
... }''')
>>> [(finding.rule, finding.message) for finding in tilery.lint.lint(module)]
[('divide-by-zero', 'divi: the divisor is zero')]

`RULES` lists the rules. `docs/reference/lint` has a page about each of them.
"""

from __future__ import annotations

from .driver import fixed, lint, lint_input, place
from .rule import Finding, Fix, Rule, Severity
from .rules import RULES

__all__ = ["RULES", "Finding", "Fix", "Rule", "Severity", "fixed", "lint", "lint_input", "place"]
