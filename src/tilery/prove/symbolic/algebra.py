"""Two ways to write integers for Z3: as bit vectors, which are exact, and as integers, which it reasons about better.

Both work on terms: a z3 expression and a condition under which it is defined, `True` or a z3 expression. In
`UnboundedIntegers`, a value is the integer that its bits are in two's complement (an i1 is 0 or 1). A result that does
not fit is some function of the exact result, so what is proven holds, but a counterexample may not be one.
"""

from __future__ import annotations

from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...attrs import IntegerOverflow, RoundingMode, Signedness
from ...enums import ComparisonPredicate
from ...ir import Op
from . import meaning

Term = tuple[Any, Any]
ADDRESS = 64
SIGNED = Signedness.SIGNED
HARD = (ops.MulI, ops.DivI, ops.RemI, ops.MulhiI)


def both(*conditions: Any) -> Any:
    """Join conditions, of which most are True."""
    left = [c for c in conditions if c is not True]
    return True if not left else left[0] if len(left) == 1 else z3.And(*left)


def as_bool(condition: Any) -> Any:
    return z3.BoolVal(True) if condition is True else condition


class Bits:
    """Integers as bit vectors. If `abstract`, products and quotients of unknowns are any functions."""

    name = "bit vectors"

    def __init__(self, functions: Functions, abstract: bool) -> None:
        self.functions, self.abstract = functions, abstract
        self.exact = True
        """Whether nothing was abstracted, so that a counterexample is one for all but floats."""

    def sort(self, width: int) -> Any:
        return z3.BitVecSort(width)

    def value(self, number: int, width: int) -> Any:
        return z3.BitVecVal(number, width)

    def unknown(self, name: str, width: int) -> Any:
        return z3.BitVec(name, width)

    def index(self, name: str, size: int) -> tuple[Any, list[Any]]:
        """Return a symbolic index below a size that is a power of two, and what is known of it."""
        bits = size.bit_length() - 1
        return (z3.ZeroExt(32 - bits, z3.BitVec(name, bits)) if bits else self.value(0, 32)), []

    def resize(self, t: Any, old: int, new: int, signed: bool = False) -> Any:
        if new <= old:
            return t if new == old else z3.Extract(new - 1, 0, t)
        return z3.SignExt(new - old, t) if signed else z3.ZeroExt(new - old, t)

    def times(self, a: Any, b: Any, width: int) -> Any:
        if not self.abstract or any(map(z3.is_bv_value, map(z3.simplify, (a, b)))):
            return a * b
        self.exact = False
        less = z3.ULT(a, b)
        sort = a.sort()
        return self.functions.get("product", sort, sort, sort)(z3.If(less, a, b), z3.If(less, b, a))

    def operation(self, o: Op, args: list[Any], widths: list[int]) -> Term:
        """Return one element of what an operation on integers computes."""
        hard = isinstance(o, HARD) and not any(map(z3.is_bv_value, map(z3.simplify, args)))
        if hard and self.abstract:
            if isinstance(o, ops.MulI) and o.overflow is IntegerOverflow.NONE:
                return self.times(args[0], args[1], widths[0]), True
            if isinstance(o, (ops.DivI, ops.RemI, ops.MulhiI)):
                self.exact = False
                sort = args[0].sort()
                made = self.functions.get(f"{o.name}[{attributes(o)}]", sort, sort, sort)(*args)
                return made, True if isinstance(o, ops.MulhiI) else meaning.operation(o, args)[1]
        value, defined = meaning.operation(o, args)
        return value, True if z3.is_true(defined) else defined

    def below(self, a: Any, b: Any, width: int) -> Any:
        return z3.ULT(a, b)

    def less(self, a: Any, b: Any, unsigned: bool, width: int) -> Any:
        return z3.ULT(a, b) if unsigned else a < b

    def ceil_div(self, a: Any, step: int, width: int) -> Any:
        return z3.UDiv(a + (step - 1), z3.BitVecVal(step, width))

    def divisible(self, a: Any, by: int, width: int) -> Any:
        return z3.SRem(a, z3.BitVecVal(by, width)) == 0 if by.bit_length() <= width else a == 0

    def quotient(self, index: Any, by: int) -> Any:
        """Divide an index by a power of two."""
        return z3.LShR(index, self.value(by.bit_length() - 1, 32))

    def remainder(self, index: Any, by: int) -> Any:
        return index & self.value(by - 1, 32)

    def halved(self, t: Any) -> Any:
        """Halve a signed number, rounded down."""
        return t >> 1

    def shifted(self, t: Any, old: int, by: int) -> Any:
        """Put zeros below the bits of a value."""
        return z3.Concat(t, self.value(0, by)) if by else t

    def top(self, t: Any, old: int, new: int) -> Any:
        """Return the upper bits of a value."""
        return z3.Extract(old - 1, old - new, t) if new < old else t

    def piece(self, t: Any, number: Any, old: int, new: int) -> Any:
        """Return one of the parts of a value, of which number 0 are the low bits."""
        return z3.Extract(new - 1, 0, z3.LShR(t, self.resize(number, 32, old) * new)) if new < old else t

    def joined(self, parts: list[Any], old: int) -> Any:
        """Return the value of which these are the parts, low bits first."""
        return z3.Concat(*reversed(parts)) if len(parts) > 1 else parts[0]

    def between(self, a: Any, low: int | None, high: int | None, width: int) -> Any:
        wide = z3.SignExt(66 - width, a)
        return both(
            True if low is None else wide >= z3.BitVecVal(low, 66),
            True if high is None else wide <= z3.BitVecVal(high, 66),
        )

    def number(self, t: Any, width: int) -> Any:
        """Return a value as a wide signed number, for conditions."""
        return z3.SignExt(256 - width, t) if width > 1 else z3.ZeroExt(255, t)

    def literal(self, n: int) -> Any:
        return z3.BitVecVal(n, 256)

    def ordered(self, a: Any, b: Any) -> Any:
        """Swap two terms of one sort, so that their order does not matter."""
        if a.eq(b):
            return [a, b]
        less = z3.ULT(a, b)
        return [z3.If(less, a, b), z3.If(less, b, a)]

    def solver(self) -> Any:
        return z3.SolverFor("QF_UFBV")


class UnboundedIntegers:
    """Integers as mathematical ones."""

    name = "integers"
    exact = False

    def __init__(self, functions: Functions) -> None:
        self.functions = functions

    def sort(self, width: int) -> Any:
        return z3.IntSort()

    def value(self, number: int, width: int) -> Any:
        number &= (1 << width) - 1
        return z3.IntVal(number - (1 << width) if width > 1 and number >> (width - 1) else number)

    def unknown(self, name: str, width: int) -> Any:
        t = z3.Int(name)
        self.functions.facts.append(self._fits(t, width))
        return t

    def index(self, name: str, size: int) -> tuple[Any, list[Any]]:
        if size == 1:
            return z3.IntVal(0), []
        t = z3.Int(name)
        return t, [t >= 0, t < size]

    def _fits(self, t: Any, width: int) -> Any:
        low, high = (0, 2) if width == 1 else (-(1 << width - 1), 1 << width - 1)
        return z3.And(t >= low, t < high)

    def _wrap(self, t: Any, width: int) -> Any:
        if z3.is_int_value(t := z3.simplify(t)):
            return self.value(t.as_long(), width)
        out = self.functions.get(f"wrap{width}", z3.IntSort(), z3.IntSort())(t)
        return z3.If(self._fits(t, width), t, out)

    def _unsigned(self, t: Any, width: int) -> Any:
        return t if width == 1 else z3.If(t < 0, t + (1 << width), t)

    def resize(self, t: Any, old: int, new: int, signed: bool = False) -> Any:
        if new == old:
            return t
        if new < old:
            return z3.If(t % 2 == 0, z3.IntVal(0), z3.IntVal(1)) if new == 1 else self._wrap(t, new)
        return -t if signed and old == 1 else t if signed else self._unsigned(t, old)

    def times(self, a: Any, b: Any, width: int) -> Any:
        return self._wrap(a * b, width)

    def operation(self, o: Op, args: list[Any], widths: list[int]) -> Term:
        w = widths[0]
        if w == 1 and not isinstance(o, (ops.Select, ops.ExtI, ops.AndI, ops.OrI, ops.XOrI, ops.CmpI)):
            return self._opaque(o, args)
        a, b = args[0], args[-1]
        match o:
            case ops.AddI() | ops.SubI() | ops.MulI():
                exact = a + b if isinstance(o, ops.AddI) else a - b if isinstance(o, ops.SubI) else a * b
                ua, ub = self._unsigned(a, w), self._unsigned(b, w)
                wide = ua + ub if isinstance(o, ops.AddI) else ua - ub if isinstance(o, ops.SubI) else ua * ub
                return self._promised(o.overflow, exact, wide, w)
            case ops.NegI():
                return self._promised(o.overflow, -a, -self._unsigned(a, w), w)
            case ops.DivI() | ops.RemI():
                return self._division(o, a, b, w)
            case ops.MaxI() | ops.MinI():
                less = self._compare(ComparisonPredicate.LESS_THAN, o.signedness, a, b, w)
                return (z3.If(less, a, b) if isinstance(o, ops.MinI) else z3.If(less, b, a)), True
            case ops.CmpI():
                yes = self._compare(o.comparison_predicate, o.signedness, a, b, w)
                return z3.If(yes, z3.IntVal(1), z3.IntVal(0)), True
            case ops.Select():
                return z3.If(a == 1, args[1], args[2]), True
            case ops.ExtI():
                return self.resize(a, w, meaning.width(o.to), o.signedness is SIGNED), True
            case ops.TruncI() if o.overflow is IntegerOverflow.NONE:
                return self.resize(a, w, meaning.width(o.to)), True
            case ops.AbsI():
                return self._wrap(z3.If(a < 0, -a, a), w), True
            case ops.AndI() | ops.OrI() | ops.XOrI() if w == 1:
                yes = a == 1, b == 1
                made = z3.And(*yes) if isinstance(o, ops.AndI) else z3.Or(*yes)
                made = z3.Xor(*yes) if isinstance(o, ops.XOrI) else made
                return z3.If(made, z3.IntVal(1), z3.IntVal(0)), True
            case ops.ShLI() | ops.ShRI() if z3.is_int_value(by := z3.simplify(b)) and 0 <= by.as_long() < w:
                return self._shift(o, a, by.as_long(), w)
        return self._opaque(o, args)

    def _opaque(self, o: Op, args: list[Any]) -> Term:
        names = ",".join(v.type.text for v in (*o.operands, *o.results))
        made = self.functions.get(f"{o.name}[{attributes(o)}:{names}]", *(z3.IntSort() for _ in (*args, 0)))(*args)
        # Whether it is defined is some function of the operands as well: the same on both sides.
        if isinstance(o, (ops.MulhiI, ops.AndI, ops.OrI, ops.XOrI)):
            return made, True
        sorts = (*(z3.IntSort() for _ in args), z3.BoolSort())
        return made, self.functions.get(f"defined {o.name}[{attributes(o)}:{names}]", *sorts)(*args)

    def _promised(self, overflow: IntegerOverflow, exact: Any, wide: Any, w: int) -> Term:
        defined: Any = True
        if overflow in meaning.NSW:
            defined = both(defined, self._fits(exact, w))
        if overflow in meaning.NUW:
            defined = both(defined, wide >= 0, wide < (1 << w))
        return (exact if overflow in meaning.NSW else self._wrap(exact, w)), defined

    def _compare(self, predicate: ComparisonPredicate, signedness: Signedness, a: Any, b: Any, w: int) -> Any:
        if signedness is not SIGNED:
            a, b = self._unsigned(a, w), self._unsigned(b, w)
        return meaning.compare(predicate, SIGNED, a, b)

    def _division(self, o: Any, a: Any, b: Any, w: int) -> Term:
        signed = o.signedness is SIGNED
        if not signed:
            a, b = self._unsigned(a, w), self._unsigned(b, w)
        defined = b != 0
        if signed:
            defined = z3.And(defined, z3.Not(z3.And(a == -(1 << w - 1), b == -1)))
        # Z3 rounds so that the rest is not negative.
        size = z3.If(a >= 0, a, -a) / z3.If(b >= 0, b, -b)
        quotient = z3.If((a >= 0) == (b >= 0), size, -size)
        rest = a - quotient * b
        if isinstance(o, ops.RemI):
            return (rest if signed else self._wrap(rest, w)), defined
        negative = (a < 0) != (b < 0)
        if o.rounding is RoundingMode.POSITIVE_INF:
            quotient = z3.If(z3.And(rest != 0, z3.Not(negative)), quotient + 1, quotient)
        elif o.rounding is RoundingMode.NEGATIVE_INF:
            quotient = z3.If(z3.And(rest != 0, negative), quotient - 1, quotient)
        return (quotient if signed else self._wrap(quotient, w)), defined

    def _shift(self, o: Any, a: Any, by: int, w: int) -> Term:
        if isinstance(o, ops.ShLI):
            return self._promised(o.overflow, a * (1 << by), self._unsigned(a, w) * (1 << by), w)
        if o.signedness is SIGNED:
            return a / (1 << by), True
        return self._wrap(self._unsigned(a, w) / (1 << by), w), True

    def below(self, a: Any, b: Any, width: int) -> Any:
        return self._unsigned(a, width) < self._unsigned(b, width)

    def less(self, a: Any, b: Any, unsigned: bool, width: int) -> Any:
        return self.below(a, b, width) if unsigned else a < b

    def ceil_div(self, a: Any, step: int, width: int) -> Any:
        return (self._unsigned(a, width) + (step - 1)) / step

    def divisible(self, a: Any, by: int, width: int) -> Any:
        return a % by == 0

    def quotient(self, index: Any, by: int) -> Any:
        return index / by

    def remainder(self, index: Any, by: int) -> Any:
        return index % by

    def halved(self, t: Any) -> Any:
        return t / 2

    def shifted(self, t: Any, old: int, by: int) -> Any:
        return self._bits(f"shift {old} by {by}", t) if by else t

    def top(self, t: Any, old: int, new: int) -> Any:
        return self._bits(f"top {new} of {old}", t) if new < old else t

    def piece(self, t: Any, number: Any, old: int, new: int) -> Any:
        return self._bits(f"piece {new} of {old}", t, number) if new < old else t

    def joined(self, parts: list[Any], old: int) -> Any:
        return self._bits(f"join {len(parts)} of {old}", *parts) if len(parts) > 1 else parts[0]

    def _bits(self, name: str, *args: Any) -> Any:
        """Bits are some function of numbers here."""
        return self.functions.get(name, *(z3.IntSort() for _ in (*args, 0)))(*args)

    def between(self, a: Any, low: int | None, high: int | None, width: int) -> Any:
        return both(True if low is None else a >= low, True if high is None else a <= high)

    def number(self, t: Any, width: int) -> Any:
        return t

    def literal(self, n: int) -> Any:
        return z3.IntVal(n)

    def ordered(self, a: Any, b: Any) -> Any:
        return [a, b] if a.eq(b) else [z3.If(a < b, a, b), z3.If(a < b, b, a)]

    def solver(self) -> Any:
        return z3.Solver()


Algebra = Bits | UnboundedIntegers


class Functions:
    """Functions that both sides share, by name and sorts, and facts about unknowns."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}
        self.facts: list[Any] = []

    def get(self, name: str, *sorts: Any) -> Any:
        key = f"{name}:{','.join(map(str, sorts))}"
        if key not in self.made:
            self.made[key] = z3.Function(key, *sorts)
        return self.made[key]


def attributes(o: Op) -> str:
    """Everything about an operation that is not an operand, result or region."""
    return ",".join(f"{f.attr}={getattr(o, f.attr)!r}" for f in o.opdef.fields if f.role == "attr")
