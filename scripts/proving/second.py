"""A second set of pairs that no rule was written for, after the first one had shaped the rules.

As the first, they were written and committed before the prover saw them. Each looks for a place where a prover by
random residues, by enclosures or by Z3 may be fooled: factors near its primes, rare orders, ties, masks, overflow.
`prefixes` and `two launches` raced when the prover saw them first, which it said; they are ordered now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from proving.attack import Attack
from tilery import Builder, Value
from tilery.builder import f32, f64, i32, ptr
from tilery.prove import Program, Stage

SIZE = 21
LANES = 32
Rule = Callable[..., Any]


def lanes(rule: Rule, inputs: int = 1, kind: Any = f32, ints: bool = False) -> Program:
    """Return a program that computes each element of `y` from elements of the inputs at the same place."""
    b = Builder()
    element = i32 if ints else kind
    names = ["x", "w", "v"][:inputs]
    params: Any = {name: ptr(element) for name in (*names, "y")}
    with b.entry("k", **params) as p:
        at = b.iota(LANES)
        inside = at < SIZE
        values = [b.load_ptr(getattr(p, name) + at, mask=inside, other=0) for name in names]
        b.store_ptr(p.y + at, rule(b, *values), mask=inside)
    return Program.of(b.module, 1, [*names, "y"])


# ---------------------------------------------------------------- over the reals


def polynomial(extra: float = 0.0, power: int = 1) -> Rule:
    """x^5 - 3 x^3 + x, by powers; a fault adds a multiple of a power."""

    def rule(b: Builder, x: Value) -> Any:
        square = x * x
        made = square * square * x - square * x * 3.0 + x
        term = x
        for _ in range(power - 1):
            term = term * x
        return made + term * extra if extra else made

    return rule


def horner(b: Builder, x: Value) -> Any:
    square = x * x
    return x * (square * (square - 3.0) + 1.0)


def median_sorted(b: Builder, x: Value, w: Value, v: Value) -> Any:
    return b.maximum(b.minimum(x, w), b.minimum(b.maximum(x, w), v))


def median_rest(b: Builder, x: Value, w: Value, v: Value) -> Any:
    top, low = b.maximum(b.maximum(x, w), v), b.minimum(b.minimum(x, w), v)
    return x + w + v - top - low


def median_two_of_three(b: Builder, x: Value, w: Value, v: Value) -> Any:
    """Right for four of the six orders."""
    return b.maximum(b.minimum(x, w), b.minimum(w, v))


def softplus_of_two(shift: str) -> Rule:
    """log(exp x + exp w), shifted by something that must not matter."""

    def rule(b: Builder, x: Value, w: Value) -> Any:
        top = x if shift == "the first" else b.maximum(x, w)
        inner = b.exp(x - top) + b.exp(w - top)
        return b.log(inner) + (x if shift == "maximum, added first" else top)

    return rule


def fraction(form: str) -> Rule:
    def rule(b: Builder, x: Value, w: Value, v: Value) -> Any:
        match form:
            case "factors":
                return (x * v) / (w * v)
            case "summands":
                return (x + v) / (w + v)
            case "reciprocal":
                return x * (1.0 / w)
        return x / w

    return rule


def tail_sign(form: str) -> Program:
    """An alternating sum of a row: by a factor, by pairs, or with signs that are wrong in the last odd element."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        at = b.iota(LANES)
        x = b.load_ptr(p.x + at, mask=at < SIZE, other=0)
        if form == "pairs":
            pairs = b.reshape(x, LANES // 2, 2)
            even, odd = (b.extract(pairs, (0, n), (LANES // 2, 1)) for n in range(2))
            total = b.sum(b.reshape(even - odd, LANES // 2), dim=0)
        else:
            odd = b.eq(at % 2, 1)
            if form == "the last has the other sign":
                odd = odd | b.eq(at, SIZE - 1)
            total = b.sum(b.select(odd, -x, x), dim=0)
        b.store_ptr(p.y, total)
    return Program.of(b.module, 1, ["x", "y"])


def prefix_steps(last: int) -> Program:
    """Sums of prefixes by doubling: in each step, an element adds the one so many places before it."""
    b = Builder()
    with b.entry("k", x=ptr(f32), t=ptr(f32), y=ptr(f32)) as p:
        at = b.iota(LANES)
        inside = at < SIZE
        now = b.load_ptr(p.x + at, mask=inside, other=0)
        for step in range(last.bit_length()):
            kept, shift = p.t + step * LANES, 1 << step
            token = b.store_ptr(kept + at, now)
            now = now + b.load_ptr(kept + (at - shift), mask=at >= shift, other=0, token=token)
        b.store_ptr(p.y + at, now, mask=inside)
    return Program([Stage(b.module, [1], ["x", "t", "y"])], {"t": (5 * LANES,)})


def prefix_scan() -> Program:
    return lanes(lambda b, x: b.scan(x, lambda v, w: v + w, 0, 0))


def square_of_sum(form: str) -> Program:
    """y = (x + 1)^2 in two launches: what the first one left times itself, or times a sum of the second one."""
    first, second = Builder(), Builder()
    with first.entry("k", x=ptr(f32), t=ptr(f32)) as p:
        at = first.iota(LANES)
        first.store_ptr(p.t + at, first.load_ptr(p.x + at, mask=at < SIZE, other=0) + 1.0, mask=at < SIZE)
    with second.entry("k", x=ptr(f32), t=ptr(f32), y=ptr(f32)) as p:
        at = second.iota(LANES)
        kept = second.load_ptr(p.t + at, mask=at < SIZE, other=0)
        again = second.load_ptr(p.x + at, mask=at < SIZE, other=0)
        made = kept * (again + (1.0 if form == "read again" else 0.0)) if form else kept * kept
        second.store_ptr(p.y + at, made, mask=at < SIZE)
    stages = [Stage(first.module, [1], ["x", "t"]), Stage(second.module, [1], ["x", "t", "y"])]
    return Program(stages, {"t": (SIZE,)})


def mean_of_positive(form: str) -> Program:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        at = b.iota(LANES)
        x = b.load_ptr(p.x + at, mask=at < SIZE, other=-1.0)
        chosen = x >= 0.0 if form == "zeros count" else x > 0.0
        ones = b.cast(chosen, f32, signed=False)
        total = b.sum(b.maximum(x, 0.0) if form == "maximum" else b.select(chosen, x, 0.0), dim=0)
        b.store_ptr(p.y, total / (b.sum(ones, dim=0) + 1.0))
    return Program.of(b.module, 1, ["x", "y"])


# ---------------------------------------------------------------- bit for bit


def whole(form: str) -> Rule:
    def rule(b: Builder, x: Value) -> Any:
        match form:
            case "mask":
                return x - (x & 7) + (x & 7)
            case "mask and rest":
                return (x // 8) * 8 + (x & 7)
        return x

    return rule


def larger(form: str) -> Rule:
    def rule(b: Builder, x: Value, w: Value) -> Any:
        if form == "select":
            return b.select(x > w, x, w)
        if form == "difference":
            less = (x - w) >> 31
            return x - ((x - w) & less)
        return b.maximum(x, w)

    return rule


def second_attacks() -> Iterator[Attack]:
    """Yield ten programs with 11 partners that compute the same, and 11 that do not."""
    one, out = {"x": (SIZE,)}, {"y": (SIZE,)}
    two, three = {**one, "w": (SIZE,)}, {**one, "w": (SIZE,), "v": (SIZE,)}
    wide = {"near a prime": lanes(polynomial(float(2**30 - 35)), kind=f64)}
    wide["a high power"] = lanes(polynomial(2.0**-20, 7), kind=f64)
    yield Attack("polynomial", lanes(polynomial(), kind=f64), {"Horner": lanes(horner, kind=f64)}, wide, one, out)
    rest = {"sum without the ends": lanes(median_rest, 3)}
    wrong = {"four orders of six": lanes(median_two_of_three, 3)}
    yield Attack("median of three", lanes(median_sorted, 3), rest, wrong, three, out)
    same = {"shifted by the first": lanes(softplus_of_two("the first"), 2)}
    wrong = {"the first is added": lanes(softplus_of_two("maximum, added first"), 2)}
    yield Attack("sum of exponentials", lanes(softplus_of_two(""), 2), same, wrong, two, out)
    same = {form: lanes(fraction(form), 3) for form in ("factors", "reciprocal")}
    yield Attack("fraction", lanes(fraction(""), 3), same, {"summands": lanes(fraction("summands"), 3)}, three, out)
    wrong = {"the last has the other sign": tail_sign("the last has the other sign")}
    yield Attack("alternating sum", tail_sign("factor"), {"pairs": tail_sign("pairs")}, wrong, one, {"y": (1,)})
    wrong = {"one step less": prefix_steps(8)}
    yield Attack("prefixes", prefix_scan(), {"doubling": prefix_steps(16)}, wrong, one, out)
    wrong = {"the other factor is x": square_of_sum("x")}
    yield Attack("two launches", square_of_sum(""), {"read again": square_of_sum("read again")}, wrong, one, out)
    wrong = {"zeros count": mean_of_positive("zeros count")}
    yield Attack(
        "mean of positive",
        mean_of_positive("select"),
        {"maximum": mean_of_positive("maximum")},
        wrong,
        one,
        {"y": (1,)},
    )
    wrong = {"mask and rest": lanes(whole("mask and rest"), ints=True)}
    yield Attack(
        "parts of a number",
        lanes(whole(""), ints=True),
        {"mask": lanes(whole("mask"), ints=True)},
        wrong,
        {},
        {},
        "bits",
    )
    wrong = {"difference": lanes(larger("difference"), 2, ints=True)}
    yield Attack(
        "larger one",
        lanes(larger(""), 2, ints=True),
        {"select": lanes(larger("select"), 2, ints=True)},
        wrong,
        {},
        {},
        "bits",
    )
