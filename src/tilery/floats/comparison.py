"""The meaning of comparison predicates."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..enums import ComparisonPredicate

EQ, NE = ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL
LT, LE = ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL
GT, GE = ComparisonPredicate.GREATER_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL

HOLDS: dict[ComparisonPredicate, Callable[[Any, Any], Any]] = {EQ: eq, NE: ne, LT: lt, LE: le, GT: gt, GE: ge}
"""Compares two numbers or, element by element, two arrays."""
INVERSE = {EQ: NE, NE: EQ, LT: GE, GE: LT, GT: LE, LE: GT}
"""The negated predicate; for floats, the ordering is negated, too."""
MIRROR = {EQ: EQ, NE: NE, LT: GT, GT: LT, LE: GE, GE: LE}
"""The predicate with the operands swapped."""
