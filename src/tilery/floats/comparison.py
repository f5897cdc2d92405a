"""What the predicates of comparisons mean, for all that computes them or reasons about them."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..enums import ComparisonPredicate

EQ, NE = ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL
LT, LE = ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL
GT, GE = ComparisonPredicate.GREATER_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL

HOLDS: dict[ComparisonPredicate, Callable[[Any, Any], Any]] = {EQ: eq, NE: ne, LT: lt, LE: le, GT: gt, GE: ge}
"""Of two numbers or, element by element, of two arrays."""
INVERSE = {EQ: NE, NE: EQ, LT: GE, GE: LT, GT: LE, LE: GT}
"""What holds where the other does not, with NaN only in the other ordering."""
MIRROR = {EQ: EQ, NE: NE, LT: GT, GT: LT, LE: GE, GE: LE}
"""What holds with the operands the other way round."""
