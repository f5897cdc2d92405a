"""The reference engine's machine with other numbers for floats; integers, addresses, masks and control are as ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import ops
from ...attrs import AtomicRMWMode, RoundingMode, Signedness
from ...engines.common.tiles import Array, spread
from ...engines.reference.batch import Batch
from ...engines.reference.machine import Machine
from ...engines.reference.ops.memory import load_ptr_tko
from ...engines.reference.program import Compute, Slots
from ...enums import ComparisonOrdering
from ...ir import Op, Refused, Value
from ...types import Scalar, Tile, TileView
from ..arithmetic.numbers import MEANINGLESS, Beyond, Numbers, U
from .folds import reduce_tiles, scan_tiles
from .retype import Retyped, is_float
from .signs import sign_of

MOVES = (
    ops.Broadcast, ops.Reshape, ops.Permute, ops.Cat, ops.Extract, ops.Insert, ops.Select, ops.StorePtrTko,
    ops.StoreViewTko, ops.Assume, ops.Alloca, ops.PrintTko, ops.LoadViewTko,
)  # fmt: skip
"""Operations that move floats without looking at them. The engine's own functions execute them on codes."""


def codes(a: Array) -> Array:
    """View an array of the machine as codes."""
    return np.ascontiguousarray(a).view(U)


def floats(a: Array) -> Array:
    """View codes as an array of the machine."""
    return np.ascontiguousarray(a).view(np.float64)


class NumberMachine(Machine):
    """Executes a retyped module with the codes of an arithmetic for floats."""

    def __init__(
        self, numbers: Numbers, program: Retyped, signs: Mapping[Any, int], *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.numbers, self.program = numbers, program
        self.signs: dict[Any, int] = {**program.signs, **signs}
        self._known: dict[Value, int] = {}

    def _spare(self, slots: Slots, batch: Batch) -> Array | None:
        return None

    def padding(self, view: TileView) -> Any:
        if not view.tensor_view.element.is_float:
            return super().padding(view)
        return floats(np.array([self.numbers.padding(view.padding_value)], U))[0]

    def _execute(self, instruction: Compute, batch: Batch, args: list[Any]) -> Any:
        o = instruction.op
        rule = RULES.get(type(o))
        touches = rule is not None and any(is_float(v.type) for v in (*o.operands, *o.results))
        try:
            if rule is not None and touches:
                return rule(self, o, batch, *args)
            if rule is None and not isinstance(o, MOVES) and any(is_float(v.type) for v in (*o.operands, *o.results)):
                raise Beyond(MEANINGLESS)
        except Beyond as why:
            raise Refused(o, f"{o.name}: {why}") from None
        return super()._execute(instruction, batch, args)

    def sign(self, v: Value) -> int:
        """Return the sign that the program shows for a value."""
        found = self._known.get(v)
        if found is None:
            found = self._known[v] = sign_of(v, self.signs)
        return found

    def finish(self, o: Op, made: Array, steps: int = 1) -> Array:
        """Return the result of an operation, rounded as its type asks."""
        element = self.program.elements.get(o)
        return floats(made if element is None else self.numbers.rounded(made, element, steps))


Rule = Callable[..., Any]
RULES: dict[type[Op], Rule] = {}


def _rule(*classes: type[Op]) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(classes, function))
        return function

    return add


def _elementwise(method: Callable[..., Array]) -> Rule:
    def run(m: NumberMachine, o: Op, batch: Batch, *args: Array) -> Array:
        return m.finish(o, method(m.numbers, *map(codes, args)))

    return run


def _named(cls: type[Op]) -> Rule:
    name = cls.__name__.lower()
    return _elementwise(lambda n, *args: n.function(name, *args))


RULES.update(
    {
        ops.AddF: _elementwise(lambda n, a, b: n.add(a, b)),
        ops.SubF: _elementwise(lambda n, a, b: n.sub(a, b)),
        ops.NegF: _elementwise(lambda n, a: n.neg(a)),
        ops.AbsF: _elementwise(lambda n, a: n.abs(a)),
        ops.Exp: _elementwise(lambda n, a: n.exp(a)),
        ops.Exp2: _elementwise(lambda n, a: n.exp2(a)),
        ops.Log: _elementwise(lambda n, a: n.log(a)),
        ops.Log2: _elementwise(lambda n, a: n.log2(a)),
        ops.Sqrt: _elementwise(lambda n, a: n.sqrt(a)),
        ops.Rsqrt: _elementwise(lambda n, a: n.rsqrt(a)),
        ops.TanH: _elementwise(lambda n, a: n.tanh(a)),
    }
)
NAMED = (ops.Sin, ops.Cos, ops.Tan, ops.SinH, ops.CosH, ops.Atan2, ops.Floor, ops.Ceil)
RULES.update({cls: _named(cls) for cls in NAMED})


@_rule(ops.Constant)
def _constant(m: NumberMachine, o: ops.Constant, batch: Batch) -> Array:
    values, element = m.program.constants[o]
    return floats(m.numbers.constant(values, element)[np.newaxis])


@_rule(ops.MulF)
def _mul(m: NumberMachine, o: ops.MulF, batch: Batch, a: Array, b: Array) -> Array:
    return m.finish(o, m.numbers.mul(codes(a), codes(b), (m.sign(o.lhs), m.sign(o.rhs))))


@_rule(ops.DivF)
def _div(m: NumberMachine, o: ops.DivF, batch: Batch, a: Array, b: Array) -> Array:
    return m.finish(o, m.numbers.div(codes(a), codes(b), (m.sign(o.lhs), m.sign(o.rhs))))


@_rule(ops.Fma)
def _fma(m: NumberMachine, o: ops.Fma, batch: Batch, a: Array, b: Array, c: Array) -> Array:
    product = m.numbers.mul(codes(a), codes(b), (m.sign(o.lhs), m.sign(o.rhs)))
    return m.finish(o, m.numbers.add(product, codes(c)))


@_rule(ops.MaxF)
def _max(m: NumberMachine, o: ops.MaxF, batch: Batch, a: Array, b: Array) -> Array:
    return floats(m.numbers.max(codes(a), codes(b), bool(o.propagate_nan)))


@_rule(ops.MinF)
def _min(m: NumberMachine, o: ops.MinF, batch: Batch, a: Array, b: Array) -> Array:
    return floats(m.numbers.min(codes(a), codes(b), bool(o.propagate_nan)))


@_rule(ops.MmaF)
def _mma(m: NumberMachine, o: ops.MmaF, batch: Batch, a: Array, b: Array, c: Array) -> Array:
    product = m.numbers.matmul(codes(a), codes(b))
    return m.finish(o, m.numbers.add(product, codes(c)), a.shape[-1] + 1)


@_rule(ops.FToF)
def _ftof(m: NumberMachine, o: ops.FToF, batch: Batch, a: Array) -> Array:
    return m.finish(o, codes(a))


@_rule(ops.IToF)
def _itof(m: NumberMachine, o: ops.IToF, batch: Batch, a: Array) -> Array:
    if o.signedness is Signedness.SIGNED and a.dtype != bool:
        values: Array = a.astype(np.int64)
    else:
        values = a.astype(np.int64) if a.dtype == bool else a.view(f"u{a.dtype.itemsize}").astype(object)
    return m.finish(o, m.numbers.from_int(values))


@_rule(ops.FToI)
def _ftoi(m: NumberMachine, o: ops.FToI, batch: Batch, a: Array) -> Array:
    if o.rounding_mode not in (RoundingMode.NEAREST_INT_TO_ZERO, RoundingMode.ZERO):
        raise Beyond(f"rounding {o.rounding_mode.name} is not known here")
    assert isinstance(o.to.type, Tile) and isinstance(o.to.type.element, Scalar)
    element = o.to.type.element
    found = m.numbers.to_int(codes(a), element.bits, o.signedness is Signedness.SIGNED)
    return found.astype(bool) if element.bits == 1 else found.astype(f"i{max(1, element.bits // 8)}")


@_rule(ops.FPowF)
def _powf(m: NumberMachine, o: ops.FPowF, batch: Batch, a: Array, b: Array) -> Array:
    kept = m.program.constants.get(_source(o.exponent))  # type: ignore[arg-type]  # None is in no table
    if kept is not None and kept[0].size and (kept[0] == kept[0].flat[0]).all():
        value = float(kept[0].flat[0])
        if value == int(value) and abs(value) <= 64:
            return m.finish(o, m.numbers.power(codes(a), np.full(1, int(value), np.int64)))
        if value == 0.5:
            return m.finish(o, m.numbers.sqrt(codes(a)))
    return m.finish(o, m.numbers.function("power", codes(a), codes(b)))


def _source(v: Value) -> Op | None:
    """Return the operation that a value is a copy of."""
    while isinstance(v.owner, (ops.Broadcast, ops.Reshape, ops.FToF)):
        v = v.owner.operands[0]
    return v.owner if isinstance(v.owner, Op) else None


@_rule(ops.FPowI)
def _powi(m: NumberMachine, o: ops.FPowI, batch: Batch, a: Array, e: Array) -> Array:
    if np.abs(e.astype(np.int64)).max(initial=0) > 1 << 12:
        raise Beyond("an exponent above 4096")
    return m.finish(o, m.numbers.power(codes(a), e.astype(np.int64)))


@_rule(ops.CmpF)
def _cmp(m: NumberMachine, o: ops.CmpF, batch: Batch, a: Array, b: Array) -> Array:
    unordered = o.comparison_ordering is ComparisonOrdering.UNORDERED
    return m.numbers.compare(o.comparison_predicate, unordered, codes(a), codes(b))


# ---------------------------------------------------------------- memory


@_rule(ops.LoadPtrTko)
def _load_ptr(
    m: NumberMachine, o: ops.LoadPtrTko, batch: Batch, source: Array, mask: Array | None, padding: Any, token: Any
) -> Any:
    made, after = load_ptr_tko(o, batch, source, mask, padding, token)
    if mask is not None and padding is None and not mask.all():
        made = floats(np.where(mask, codes(made), U(m.numbers.undefined)))
    return made, after


@_rule(ops.AtomicRMWTko)
def _rmw(
    m: NumberMachine, o: ops.AtomicRMWTko, batch: Batch, pointers: Array, arg: Array, mask: Array | None, token: Any
) -> Any:
    if o.mode is not AtomicRMWMode.ADDF:
        raise Beyond(f"an atomic {o.mode.name.lower()} of floats depends on their bits or order")
    pointers, arg, keep = spread(pointers, arg, np.ones(pointers.shape, bool) if mask is None else mask)
    where = np.broadcast_to(keep, pointers.shape).reshape(-1)
    addresses, values = pointers.reshape(-1)[where], codes(np.broadcast_to(arg, pointers.shape).reshape(-1)[where])
    if len(addresses):
        repeat = batch.lanes if len(pointers) == 1 < batch.lanes else 1  # all tile blocks add the same
        _add_at(m, batch, np.tile(addresses, repeat), np.tile(values, repeat))
    assert isinstance(o.result.type, Tile)
    # The sum that other tile blocks left is not a function of the inputs.
    return floats(np.full((batch.lanes, *o.result.type.shape), U(m.numbers.undefined))), None


def _add_at(m: NumberMachine, batch: Batch, addresses: Array, values: Array) -> None:
    """Add values to memory, those of one address in turn."""
    order = np.argsort(addresses, kind="stable")
    addresses, values = addresses[order], values[order]
    while len(addresses):
        first = np.ones(len(addresses), bool)
        first[1:] = addresses[1:] != addresses[:-1]
        now = codes(batch.memory.load(addresses[first], np.dtype(np.float64)))
        batch.memory.store(addresses[first], floats(m.numbers.add(now, values[first])))
        addresses, values = addresses[~first], values[~first]


@_rule(ops.Reduce)
def _reduce(m: NumberMachine, o: ops.Reduce, batch: Batch, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    return reduce_tiles(m, o, batch, operands)


@_rule(ops.Scan)
def _scan(m: NumberMachine, o: ops.Scan, batch: Batch, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    return scan_tiles(m, o, batch, operands)
