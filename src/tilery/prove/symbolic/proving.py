"""Questions to Z3, and what both sides share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from .algebra import Algebra, Functions, as_bool, both

YES, NO, UNKNOWN = "yes", "no", "unknown"
MOST_SPLITS = 6
MOST_FACTS = 256
BUDGET = 10
"""All questions of an attempt together may take this many times the time of one."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """All elements are at least `lo` and at most `hi`, read as signed integers, and multiples of `divisor`."""

    lo: int
    hi: int
    divisor: int = 1

    def holds(self, algebra: Algebra, value: Any, width: int) -> Any:
        """Return the invariant as a condition on a term."""
        if width == 1:
            return both(*(value != algebra.value(n, 1) for n in (0, 1) if not self.lo <= n <= self.hi))
        multiple = True if self.divisor == 1 else algebra.divisible(value, self.divisor, width)
        return both(algebra.between(value, self.lo, self.hi, width), multiple)


class Prover:
    """One attempt: an algebra, the functions of both sides, and statistics."""

    def __init__(self, functions: Functions, algebra: Algebra, timeout: float) -> None:
        self.functions, self.algebra, self.timeout = functions, algebra, timeout
        self.given: list[Any] = []
        self.invariants: dict[str, Invariant] = {}
        """Invariants by the names of symbols."""
        self.assumed: set[str] = set()
        self.queries = 0
        self.seconds = 0.0
        self._names = 0
        self._known: dict[int, Any] = {}

    def fresh(self, what: str) -> str:
        self._names += 1
        return f"{what}!{self._names}"

    def known(self, fact: Any) -> None:
        """Add a fact about functions, unless there are too many."""
        if len(self._known) < MOST_FACTS and fact.get_id() not in self._known:
            self._known[fact.get_id()] = fact
            self.functions.facts.append(fact)

    def holds(self, name: str, value: Any, args: tuple[Any, ...], width: int) -> Any:
        """Return whether a symbol is defined there; if it is, its invariant is known to hold."""
        if name not in self.invariants:
            return True
        defined = z3.BoolSort()
        known = self.functions.get(f"{name} is defined", *(a.sort() for a in args), defined)(*args)
        self.functions.facts.append(z3.Implies(known, as_bool(self.within_invariant(name, value, width))))
        return known

    def within_invariant(self, name: str, value: Any, width: int) -> Any:
        """Return the condition that the invariant of a symbol is."""
        found = self.invariants.get(name)
        return True if found is None else found.holds(self.algebra, value, width)

    def element(self, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[Any]]:
        """Return a symbolic index of a tile, and what is known of it."""
        name = self.fresh("e")
        made, known = [], []
        for d, n in enumerate(shape):
            i, facts = self.algebra.index(f"{name}.{d}", n)
            made.append(i)
            known += facts
        return tuple(made), known

    def ask(self, goal: Any, *given: Any, splits: int = MOST_SPLITS) -> tuple[str, Any]:
        """Tell whether a goal follows from what is given; a counterexample comes with `no`."""
        goal = z3.simplify(goal)
        if z3.is_true(goal):
            return YES, None
        flag = _flag(goal) if splits else None
        if flag is not None:  # once the condition of a branch is known, both sides are often the same text
            for value in (0, 1):
                number = self.algebra.value(value, 1)
                answer, model = self.ask(z3.substitute(goal, (flag, number)), *given, flag == number, splits=splits - 1)
                if answer != YES:
                    return answer, model
            return YES, None
        if self.seconds > BUDGET * self.timeout:
            return UNKNOWN, None
        solver = self.algebra.solver()
        solver.set("timeout", int(self.timeout * 1000))
        solver.add(*self.functions.facts, *self.given, *given, z3.Not(goal))
        started = time.perf_counter()
        found = solver.check()
        self.seconds += time.perf_counter() - started
        self.queries += 1
        if found == z3.unsat:
            return YES, None
        return (NO, solver.model()) if found == z3.sat else (UNKNOWN, None)

    def all_equal(self, one: Any, other: Any, *given: Any) -> bool:
        """Tell whether formulas are proven to refine others, element by element."""
        for (f, shape), (g, again) in zip(one, other):
            if shape != again:
                return False
            idx, known = self.element(shape)
            if self.ask(refines(f(idx), g(idx)), *known, *given)[0] != YES:
                return False
        return len(one) == len(other)


def refines(old: Any, new: Any) -> Any:
    """Where the old value is defined, the new one is too, and is the same."""
    (a, da), (b, db) = old, new
    same = a == b if db is True else z3.And(as_bool(db), a == b)
    return same if da is True else z3.Implies(da, same)


def _flag(goal: Any) -> Any:
    """Return an unknown of one bit."""
    seen: set[int] = set()
    todo = [goal]
    while todo:
        t = todo.pop()
        if t.get_id() in seen:
            continue
        seen.add(t.get_id())
        if z3.is_const(t) and t.decl().kind() == z3.Z3_OP_UNINTERPRETED and t.sort() == z3.BitVecSort(1):
            return t
        todo += t.children()
    return None
