"""Arithmetic without a defined result, or with one that surprises."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...analysis.memory.affine import bits_of
from ...attrs import Attr, ComparisonOrdering, ComparisonPredicate, FloatAttr, IntAttr, Signedness
from ...floats.arithmetic import is_negative, to_int
from ...floats.arithmetic import value as number_of
from ...floats.formats import float_text, is_nan
from ...ir import Block, Op, Value
from ...ops import (
    AddF,
    AddI,
    AndI,
    Broadcast,
    CmpF,
    CmpI,
    Constant,
    DivI,
    ExtI,
    Fma,
    FToI,
    IToF,
    MaxF,
    MaxI,
    MinF,
    MinI,
    MmaF,
    MmaFScaled,
    MulF,
    MulI,
    OrI,
    Reduce,
    RemI,
    Reshape,
    Scan,
    ShLI,
    ShRI,
    XOrI,
    Yield,
)
from ...types import I1, Scalar, Tile
from ..facts import Facts
from ..rule import ERROR, NOTE, WARNING, Fix, Match, ReplaceWord, RuleFile

rule = RuleFile()


def _element(value: Value) -> Scalar:
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
    return value.type.element


@rule("divide-by-zero", ERROR)
def divide_by_zero(facts: Facts) -> Iterator[Match]:
    """An integer is divided by zero, or the smallest integer by -1.

    The specification leaves the result undefined. That holds for the remainder too.

    Fix: Correct the divisor, or limit it to at least 1.

    Bad:
        entry @k(%n: tile<i32>) {
          %zero = constant <i32: 0> : tile<i32>
          %q = divi %n, %zero signed : tile<i32>
          print_tko "%d\\n", %q : tile<i32> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %two = constant <i32: 2> : tile<i32>
          %q = divi %n, %two signed : tile<i32>
          print_tko "%d\\n", %q : tile<i32> -> token
          return
        }
    """
    for o in facts.of(DivI, RemI):
        divisor = facts.elements(o.rhs)
        if divisor is None:
            if 0 in (facts.reached(o, o.rhs) or ()):
                yield Match(o, f"{o.name}: the divisor is zero in an iteration of the loop")
            continue
        if (divisor == 0).any():
            yield Match(o, f"{o.name}: the divisor is zero")
            continue
        dividend, least = facts.elements(o.lhs), -(1 << (bits_of(o.lhs) - 1))
        if o.signedness is Signedness.SIGNED and dividend is not None and ((dividend == least) & (divisor == -1)).any():
            yield Match(o, f"{o.name}: {least} divided by -1 does not fit the type")


@rule("shift-too-far", ERROR)
def shift_too_far(facts: Facts) -> Iterator[Match]:
    """A shift by the width of the type, or more, or by a negative amount.

    The result is not defined: some processors return 0, others shift by the remainder. The amount is read as an
    unsigned integer, so a negative one is very large.

    Fix: Correct the amount, or convert to a wider type first.

    Bad:
        entry @k(%n: tile<i32>) {
          %by = constant <i32: 32> : tile<i32>
          %m = shli %n, %by : tile<i32>
          print_tko "%d\\n", %m : tile<i32> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %by = constant <i32: 31> : tile<i32>
          %m = shli %n, %by : tile<i32>
          print_tko "%d\\n", %m : tile<i32> -> token
          return
        }
    """
    for o in facts.of(ShLI, ShRI):
        bits = bits_of(o.lhs)
        known = facts.elements(o.rhs)
        least = facts.range(o.rhs)
        if known is not None and ((known < 0) | (known >= bits)).any():
            amount = int(known[(known < 0) | (known >= bits)][0]) if known.ndim else int(known)
            yield Match(o, f"{o.name}: a shift of {bits}-bit integers by {amount}")
        elif known is None and (least.lo >= bits or least.hi < 0):
            yield Match(o, f"{o.name}: a shift of {bits}-bit integers by {least.lo} or more")
        elif known is None and (reach := facts.reached(o, o.rhs)) and (reach[0] < 0 or reach[1] >= bits):
            amount = reach[0] if reach[0] < 0 else reach[1]
            yield Match(o, f"{o.name}: a shift of {bits}-bit integers by {amount} in an iteration of the loop")


@rule("conversion-out-of-range", ERROR)
def conversion_out_of_range(facts: Facts) -> Iterator[Match]:
    """A float that is converted to an integer does not fit.

    `ftoi` of NaN, an infinity, or a number outside the type is undefined.

    Fix: Use `saturating`, limit the number first, or convert to a wider or a signed type.

    Bad:
        entry @k() {
          %x = constant <f32: 300.0> : tile<f32>
          %n = ftoi %x unsigned : tile<f32> -> tile<i8>
          print_tko "%d\\n", %n : tile<i8> -> token
          return
        }
    Good:
        entry @k() {
          %x = constant <f32: 200.0> : tile<f32>
          %n = ftoi %x unsigned : tile<f32> -> tile<i8>
          print_tko "%d\\n", %n : tile<i8> -> token
          return
        }
    """
    for o in facts.of(FToI):
        source = o.from_.owner
        if o.saturating or not isinstance(source, Constant) or _element(o.results[0]) is I1:
            continue
        kind, target = _element(o.from_), _element(o.results[0])
        for bits in dict.fromkeys(source.value.stored()):
            if to_int(kind, target, bits, o.signedness, False) is None:
                number = "NaN" if is_nan(kind, bits) else float_text(kind, bits)
                yield Match(o, f"ftoi: {number} does not fit {o.signedness.text} {target.text}")
                break


@rule("unsigned-negative", WARNING)
def unsigned_negative(facts: Facts) -> Iterator[Match]:
    """A small negative constant is compared, or divided by, as an unsigned integer.

    Read as unsigned, -1 is the largest number there is, so `x < -1` is nearly always true.

    Fix: Use `signed`, or write the large number if it is meant.

    Bad:
        entry @k(%n: tile<i32>) {
          %least = constant <i32: -8> : tile<i32>
          %c = cmpi greater_than %n, %least, unsigned : tile<i32> -> tile<i1>
          print_tko "%d\\n", %c : tile<i1> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %least = constant <i32: -8> : tile<i32>
          %c = cmpi greater_than %n, %least, signed : tile<i32> -> tile<i1>
          print_tko "%d\\n", %c : tile<i1> -> token
          return
        }
    """
    equality = (ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL)
    for o in facts.of(CmpI, DivI, RemI):
        if o.signedness is not Signedness.UNSIGNED or (isinstance(o, CmpI) and o.comparison_predicate in equality):
            continue
        for value in o.operands:
            known = facts.elements(value) if isinstance(value.owner, Constant) and bits_of(value) > 8 else None
            if known is not None and ((known < 0) & (known > -4096)).any():
                fix = Fix("Use 'signed'", ReplaceWord("unsigned", "signed"), is_safe=False)
                message = (
                    f"{o.name}: {int(known.min())} is read as the unsigned number {facts.unsigned(known, value)[-1]}"
                )
                yield Match(o, message, fix=fix)
                break


@rule("signed-boolean", WARNING)
def signed_boolean(facts: Facts) -> Iterator[Match]:
    """A truth value is converted as a signed integer: true becomes -1.

    The only bit of an i1 is its sign. `exti signed` and `itof signed` of true are -1, so a sum of such values
    counts downwards.

    Fix: Use `unsigned`.

    Bad:
        entry @k(%c: tile<i1>) {
          %n = exti %c signed : tile<i1> -> tile<i32>
          print_tko "%d\\n", %n : tile<i32> -> token
          return
        }
    Good:
        entry @k(%c: tile<i1>) {
          %n = exti %c unsigned : tile<i1> -> tile<i32>
          print_tko "%d\\n", %n : tile<i32> -> token
          return
        }
    """
    for o in facts.of(ExtI, IToF):
        if _element(o.from_) is I1 and o.signedness is Signedness.SIGNED:
            fix = Fix("Use 'unsigned'", ReplaceWord("signed", "unsigned"), is_safe=False)
            yield Match(o, f"{o.name}: true becomes -1", fix=fix)


@rule("constant-comparison", NOTE)
def constant_comparison(facts: Facts) -> Iterator[Match]:
    """A comparison has the same result for all values that its operands can have.

    An unsigned integer is never below 0, and the position of a tile block never negative. A check that cannot fail
    is often one with the wrong signedness or the wrong operand.

    Fix: Remove the comparison, or correct it.

    Bad:
        entry @k(%n: tile<i32>) {
          %zero = constant <i32: 0> : tile<i32>
          %c = cmpi less_than %n, %zero, unsigned : tile<i32> -> tile<i1>
          print_tko "%d\\n", %c : tile<i1> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %zero = constant <i32: 0> : tile<i32>
          %c = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
          print_tko "%d\\n", %c : tile<i1> -> token
          return
        }
    """
    for o in facts.of(CmpI):
        answer = facts.ranges.constant(o.result)
        constants = sum(facts.forms[value].known is not None for value in o.operands)
        # Front ends compare in general terms, so what they write is not looked at.
        if answer is not None and constants < 2 and o.loc is None and o.result in facts.uses:
            yield Match(o, f"cmpi: the result is always {'true' if answer else 'false'}")


# ---------------------------------------------------------------- reductions


FAR = 448
"""The largest number of the narrowest format that sums are kept in; nothing smaller is an identity of a maximum."""


def _float_limit(low: bool) -> Callable[[Attr, Op], bool]:
    """The identity of a maximum or minimum of floats: an infinity, the extreme finite number, or NaN."""

    def is_neutral(identity: Attr, o: Op) -> bool:
        assert isinstance(identity, FloatAttr)
        if is_nan(identity.type, identity.bits):
            return True
        number = number_of(identity.type, identity.bits)
        if number is None:  # an infinity
            return is_negative(identity.type, identity.bits) == low
        return number <= -FAR if low else number >= FAR

    return is_neutral


def _is_number(wanted: int) -> Callable[[Attr, Op], bool]:
    def is_neutral(identity: Attr, o: Op) -> bool:
        if isinstance(identity, IntAttr):
            return identity.bits == wanted % (1 << identity.type.bits)
        assert isinstance(identity, FloatAttr)
        without_sign = identity.bits & ~(1 << (identity.type.bits - 1))
        return FloatAttr.of(identity.type, wanted).bits == (identity.bits if wanted else without_sign)

    return is_neutral


def _int_limit(low: bool) -> Callable[[Attr, Op], bool]:
    """The identity of a maximum or minimum of integers, by its signedness."""

    def is_neutral(identity: Attr, o: Op) -> bool:
        assert isinstance(identity, IntAttr) and isinstance(o, (MaxI, MinI))
        half, top = 1 << (identity.type.bits - 1), (1 << identity.type.bits) - 1
        if o.signedness is Signedness.UNSIGNED:
            return identity.bits == (0 if low else top)
        return identity.bits == (half if low else half - 1)

    return is_neutral


NEUTRAL: dict[type[Op], Callable[[Attr, Op], bool]] = {
    AddF: _is_number(0), AddI: _is_number(0), OrI: _is_number(0), XOrI: _is_number(0),
    MulF: _is_number(1), MulI: _is_number(1), AndI: _is_number(-1),
    MaxF: _float_limit(True), MinF: _float_limit(False), MaxI: _int_limit(True), MinI: _int_limit(False),
}  # fmt: skip
"""Whether a number is the identity of each operation that reductions use."""


@rule("reduce-identity", WARNING)
def reduce_identity(facts: Facts) -> Iterator[Match]:
    """The identity of a reduction is not neutral.

    How often the identity becomes part of the result is up to the compiler. It must not change it: 0 for a sum, 1
    for a product, the smallest number for a maximum.

    Fix: Use the neutral element of the operation in the body.

    Bad:
        entry @k(%x: tile<f32>) {
          %a = constant <f32: 2.0> : tile<8xf32>
          %p = reduce %a dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%l: tile<f32>, %r: tile<f32>) {
            %q = mulf %l, %r : tile<f32>
            yield %q : tile<f32>
          }
          print_tko "%f\\n", %p : tile<f32> -> token
          return
        }
    Good:
        entry @k(%x: tile<f32>) {
          %a = constant <f32: 2.0> : tile<8xf32>
          %p = reduce %a dim=0 identities=[1.0 : f32] : tile<8xf32> -> tile<f32> (%l: tile<f32>, %r: tile<f32>) {
            %q = mulf %l, %r : tile<f32>
            yield %q : tile<f32>
          }
          print_tko "%f\\n", %p : tile<f32> -> token
          return
        }
    """
    for o in facts.of(Reduce, Scan):
        end = o.body.ops[-1] if o.body.ops else None
        if not isinstance(end, Yield):
            continue
        for index, (value, identity) in enumerate(zip(end.operands_, o.identities)):
            by = value.owner
            pair = o.body.args[2 * index : 2 * index + 2]
            is_known = isinstance(by, Op) and by.__class__ in NEUTRAL and set(by.operands) == set(pair)
            if is_known and isinstance(by, Op) and not NEUTRAL[by.__class__](identity, by):
                yield Match(o, f"{o.name}: the identity is not neutral for {by.name}", related=((by, "the operation"),))


@rule("compare-with-nan", WARNING)
def compare_with_nan(facts: Facts) -> Iterator[Match]:
    """A number is compared with NaN, so that the result does not depend on the number.

    NaN equals nothing, itself included: an ordered comparison with it is always false, an unordered one always true.

    Fix: To find NaN, compare the number with itself: `cmpf not_equal unordered %x, %x`.

    Bad:
        entry @k(%x: tile<f32>) {
          %nan = constant <f32: 0x7FC00000> : tile<f32>
          %is = cmpf equal ordered %x, %nan : tile<f32> -> tile<i1>
          print_tko "%d\\n", %is : tile<i1> -> token
          return
        }
    Good:
        entry @k(%x: tile<f32>) {
          %is = cmpf not_equal unordered %x, %x : tile<f32> -> tile<i1>
          print_tko "%d\\n", %is : tile<i1> -> token
          return
        }
    """
    for o in facts.of(CmpF):
        for value in (o.lhs, o.rhs):
            if _is_constant_nan(value):
                always = "true" if o.comparison_ordering is ComparisonOrdering.UNORDERED else "false"
                yield Match(o, f"cmpf: it compares with NaN, and is always {always}")
                break


def _is_constant_nan(value: Value) -> bool:
    owner = value.owner
    while isinstance(owner, (Broadcast, Reshape)):
        owner = owner.source.owner
    return isinstance(owner, Constant) and all(is_nan(_element(value), bits) for bits in set(owner.value.stored()))


@rule("narrow-accumulator", NOTE)
def narrow_accumulator(facts: Facts) -> Iterator[Match]:
    """A long sum is kept in a float with few bits.

    Once the sum is large compared to what is added, additions in f16 or bf16 are rounded away: in bf16, 256 + 1 is
    256.

    Fix: Convert to f32 first, keep the sum in f32, and convert the result.

    Bad:
        entry @k(%n: tile<i32>, %zero: tile<i32>, %one: tile<i32>, %x: tile<bf16>) {
          %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %x) -> (tile<bf16>) {
            %t = addf %sum, %x : tile<bf16>
            continue %t : tile<bf16>
          }
          print_tko "%f\\n", %s : tile<bf16> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>, %zero: tile<i32>, %one: tile<i32>, %x: tile<f32>) {
          %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %x) -> (tile<f32>) {
            %t = addf %sum, %x : tile<f32>
            continue %t : tile<f32>
          }
          print_tko "%f\\n", %s : tile<f32> -> token
          return
        }
    """
    for target, sources in facts.flow.copies.items():
        if not _is_narrow(target):
            continue
        for value, _ in sources:
            by = value.owner
            is_product = isinstance(by, (Fma, MmaF, MmaFScaled)) and by.acc is target
            if not is_product and _is_short(target, facts):
                continue
            if isinstance(by, Op) and (is_product or (isinstance(by, AddF) and target in by.operands)):
                yield Match(by, f"{by.name}: a loop adds to a sum of {_element(target).text}")
    for o in facts.of(Reduce):
        for value in o.operands_:
            is_long = value.type.shape[o.dim] >= LONG  # type: ignore[attr-defined]  # a tile
            if is_long and _is_narrow(value) and o.body.ops and isinstance(o.body.ops[0], AddF):
                yield Match(o, f"{o.name}: a sum of many elements of {_element(value).text}")


SHORT = 8
"""The most iterations of a loop whose sum is as precise as one written out."""


def _is_short(carried: Value, facts: Facts) -> bool:
    """Whether a value is carried by a loop of few iterations."""
    loop = facts.parent[carried.owner] if isinstance(carried.owner, Block) else None
    steps = facts.steps(loop)
    return steps is not None and (steps[1] - steps[0]) // steps[2] < SHORT


LONG = 64
"""The least number of elements of a sum for which a narrow float is too short."""


def _is_narrow(value: Value) -> bool:
    t = value.type
    return isinstance(t, Tile) and isinstance(t.element, Scalar) and t.element.is_float and t.element.bits <= 16
