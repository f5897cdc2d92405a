"""The rules of `canonicalize` for `select`: six folds in their order, then three that create operations."""

from __future__ import annotations

from ...attrs import ComparisonPredicate, Dense, Signedness
from ...ir import Op, Value
from ...ops import CmpI, Constant, ExtI, Select, XOrI
from ...rewrite import Place, Rewrite, Rules
from ...types import I1, Tile
from ..constants import FOLD_LIMIT, boolean, constant, element_of, inverse_of, is_integer, negated, without_not

rule = Rules()


@rule(Select)
def select_same(o: Select) -> Value | None:
    """select(c, x, x) is x"""
    return o.val_if_true if o.val_if_true is o.val_if_false else None


@rule(Select)
def select_constant_condition(o: Select) -> Value | None:
    """select(true, x, y) is x; select(false, x, y) is y"""
    known = boolean(o.cond)
    if known is None:
        return None
    return o.val_if_true if known else o.val_if_false


@rule(Select)
def select_identity(o: Select) -> Value | None:
    """select(c, true, false) is c"""
    return o.cond if boolean(o.val_if_true) is True and boolean(o.val_if_false) is False else None


@rule(Select)
def select_compared(o: Select) -> Value | None:
    """select(x == y, x, y) is y; select(x != y, x, y) is x"""
    compare = o.cond.owner
    if not isinstance(compare, CmpI):
        return None
    arms = (o.val_if_true, o.val_if_false)
    if (compare.lhs, compare.rhs) != arms and (compare.rhs, compare.lhs) != arms:
        return None
    match compare.comparison_predicate:
        case ComparisonPredicate.EQUAL:
            return o.val_if_false
        case ComparisonPredicate.NOT_EQUAL:
            return o.val_if_true
    return None


@rule(Select)
def select_inverted(o: Select, at: Place) -> Op | None:
    """select(not c, x, y) is select(c, y, x)"""
    if inverse_of(o.cond) is None:
        return None
    o.cond, odd = without_not(o.cond, at)
    if odd:
        o.val_if_true, o.val_if_false = o.val_if_false, o.val_if_true
    return o


@rule(Select)
def select_nested(o: Select) -> Op | None:
    """select(c, select(c, x, y), z) is select(c, x, z); select(c, x, select(c, y, z)) is select(c, x, z)"""
    inner = o.val_if_true.owner
    if isinstance(inner, Select) and inner.cond is o.cond:
        o.val_if_true = inner.val_if_true
        return o
    inner = o.val_if_false.owner
    if isinstance(inner, Select) and inner.cond is o.cond:
        o.val_if_false = inner.val_if_false
        return o
    return None


@rule(Select)
def select_to_not(o: Select) -> Op | None:
    """select(c, false, true) is xori(c, true)"""
    if boolean(o.val_if_true) is False and boolean(o.val_if_false) is True:
        return XOrI(lhs=o.cond, rhs=o.val_if_false)
    return None


@rule(Select)
def select_constants(o: Select) -> Op | None:
    """select of constants is the constant of the chosen elements"""
    cond, yes, no = constant(o.cond), constant(o.val_if_true), constant(o.val_if_false)
    if cond is None or yes is None or no is None or yes.type.size > FOLD_LIMIT:
        return None
    chosen = [a if c else b for c, a, b in zip(cond.elements(), yes.elements(), no.elements())]
    return Constant(value=Dense.of(yes.type, chosen))


@rule(Select)
def select_to_exti(o: Select) -> Op | Rewrite | None:
    """select(c, 1, 0) is exti(c) unsigned; select(c, 0, 1) is exti(not c) unsigned"""
    element = element_of(o.result)
    if element is None or not element.is_int or element is I1:
        return None
    assert isinstance(o.result.type, Tile)
    if is_integer(o.val_if_true, 1) and is_integer(o.val_if_false, 0):
        return ExtI(from_=o.cond, signedness=Signedness.UNSIGNED, to=Value(o.result.type))
    if is_integer(o.val_if_true, 0) and is_integer(o.val_if_false, 1):
        ones, inverse = negated(o.cond)
        wide = ExtI(from_=inverse.result, signedness=Signedness.UNSIGNED, to=Value(o.result.type))
        return Rewrite([ones, inverse, wide], [wide.to])
    return None
