"""The rules that only the documents have: verified on request, after those of the tools."""

from __future__ import annotations

from collections.abc import Iterator

from ..attrs import Bounded, DivBy, FloatAttr, IntAttr, Predicate, SameElements, TypeAttr
from ..declare.fastclass import dataclass, replace
from ..ir import Op, walk
from ..ops import Assume, Constant, Module
from ..types import SCALARS, Function, PartitionView, Ptr, Scalar, String, TensorView, Tile, Type
from ..verifier.rules import Violation
from ..verifier.verify import MAX_ERRORS, Hints
from ..verifier.verify import verify as verify_real
from ..version import V13_1

NUMBERS = ("f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2", "i1", "i8", "i16", "i32", "i64")
"""The element types in the order of the documents' text."""
NUMBER_TYPES = frozenset(SCALARS[name] for name in NUMBERS)
NO_NUMBER = f"failed to verify 'elementType': {' or '.join(NUMBERS)}"
NO_ELEMENT = f"{NO_NUMBER} or Pointer type"
NOT_PORTABLE = "'!cuda_tile.string' is for diagnostics; producers must not depend on it"
I64_MIN, I64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class DocumentedBounds(Bounded):
    """Bounds with the three fields that only the documents have. `lb` and `ub` are what they mean: both included."""

    lo: int | None = None
    hi: int | None = None
    min: int = I64_MIN
    max: int = I64_MAX
    strict: bool = False

    @staticmethod
    def of(
        lo: int | None, hi: int | None, *, min: int = I64_MIN, max: int = I64_MAX, strict: bool = False
    ) -> DocumentedBounds:
        """Make bounds; if they are strict, the smallest and the largest number are not included.

        >>> DocumentedBounds.of(0, 8, strict=True).ub
        7
        """
        step = int(strict)
        lb, ub = None if lo is None else lo + step, None if hi is None else hi - step
        return DocumentedBounds(lb, ub, lo, hi, min, max, strict)


def fitting(predicate: Predicate, t: Type) -> Predicate:
    """Replace strict bounds between which the type has no number, as in `bounded<3, 4, strict>`, by the included ones.

    The documents accept such bounds; no value satisfies them, so weaker ones are right.
    """
    if not isinstance(predicate, DocumentedBounds) or not isinstance(t, Tile) or not isinstance(t.element, Scalar):
        return predicate
    top = (1 << (t.element.bits - 1)) - 1
    lb = -top - 1 if predicate.lb is None else predicate.lb
    ub = top if predicate.ub is None else predicate.ub
    return predicate if lb <= ub else replace(predicate, lb=predicate.lo, ub=predicate.hi)


def verify(
    module: Module,
    *,
    max_errors: int = MAX_ERRORS,
    hints: Hints = Hints.ERROR,
    dominance: bool = True,
    fast: bool | None = True,
    reader: str | None = None,
) -> list[Violation]:
    """List the violations of the tools' rules and of those that only the documents have.

    Hints must be known and in their range: unlike the tools, which ignore others from 13.3 on, the documents refuse
    them.

    >>> import tilery
    >>> module = tilery.parse("entry @k(%p: tile<ptr<f32>>) { %a = assume div_by<2>, %p : tile<ptr<f32>> return }")
    >>> [finding.message for finding in verify(module)]
    ["'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a multiple of the size of the pointee, 4 bytes"]
    """
    real = verify_real(module, max_errors=max_errors, hints=hints, dominance=dominance, fast=fast, reader=reader)
    found = [_with_width(finding) for finding in real]
    errors = sum(not finding.warning for finding in found)
    seen: dict[Type, str | None] = {}
    for o in walk(module):
        for finding in _problems(o, seen):
            if errors >= max_errors:
                return found
            found.append(finding)
            errors += not finding.warning
    return found


def _with_width(finding: Violation) -> Violation:
    """Add the width and the value to a violation by a bound that is out of range, as the documents say."""
    o = finding.op
    if not isinstance(o, Assume) or not isinstance(o.predicate, Bounded) or not isinstance(o.value.type, Tile):
        return finding
    element = o.value.type.element
    if not isinstance(element, Scalar) or not element.is_int:
        return finding
    top = 1 << (element.bits - 1)
    beyond = [b for b in (o.predicate.lb, o.predicate.ub) if b is not None and not -top <= b < top]
    notes = tuple(f"{bound} does not fit in the {element.bits} bits of {element}" for bound in beyond)
    return replace(finding, notes=(*finding.notes, *notes)) if notes else finding


def _problems(o: Op, seen: dict[Type, str | None]) -> Iterator[Violation]:
    types = [v.type for v in (*o.results, *(a for block in o.blocks for a in block.args))]
    for t in dict.fromkeys(types):
        if t not in seen:
            seen[t] = _type_problem(t)
        message = seen[t]
        if message is not None:
            yield Violation(o, message, notes=(f"in {t}",))
            break
    mentioned = [*types, *(a.type for a in (o.extra or {}).values() if isinstance(a, TypeAttr))]
    if any(isinstance(t, String) for t in mentioned):
        yield Violation(o, NOT_PORTABLE, warning=True)
    if isinstance(o, Assume) and (problem := _assumption_problem(o)) is not None:
        yield Violation(o, f"'cuda_tile.assume' op {problem}", field="predicate")


def _type_problem(t: Type) -> str | None:
    match t:
        case Tile(element=Ptr(pointee=pointee)):
            return None if pointee in NUMBER_TYPES else NO_NUMBER.replace("elementType", "pointeeType")
        case Tile(element=element):
            return None if element in NUMBER_TYPES else NO_ELEMENT
        case TensorView(element=element):
            return None if element in NUMBER_TYPES else NO_NUMBER
        case PartitionView(tensor_view=view):
            return _type_problem(view)
        case Function(params=params, results=results):
            return next((p for part in (*params, *results) if (p := _type_problem(part)) is not None), None)
    return f"the documents do not have this type: it is newer than {V13_1}" if t.since > V13_1 else None


def _assumption_problem(o: Assume) -> str | None:
    match o.predicate:
        case DivBy():
            return _divisible(o.predicate, o.value.type) or _spread(o.predicate, o.value.type)
        case DocumentedBounds():
            return _within(o.predicate, o.value.type)
        case SameElements():
            owner = o.value.owner
            if isinstance(owner, Constant) and owner.value.splat is None:
                return "'cuda_tile.same_elements' expects a splat, and the elements of this constant differ"
    return None


def same_value(o: Assume) -> IntAttr | FloatAttr | None:
    """Return the value that all elements have, as the documents store it for `same_elements`; None if none is known.

    It is that of the constant which the assumption is about.
    """
    owner = o.value.owner
    if not isinstance(o.predicate, SameElements) or not isinstance(owner, Constant):
        return None
    bits, element = owner.value.splat, owner.value.element
    if bits is None:
        return None
    return FloatAttr(element, bits) if element.is_float else IntAttr(element, bits)


def _divisible(predicate: DivBy, t: Type) -> str | None:
    """Judge a divisor by the type: of tiles and tensor views by their element, of pointers by what they point to."""
    match t:
        case Tile(element=element) | TensorView(element=element):
            return _divisible(predicate, element)
        case Ptr(pointee=Scalar() as pointee):
            size = pointee.storage_bytes
            if predicate.divisor % size:
                return f"'cuda_tile.div_by' divisor must be a multiple of the size of the pointee, {size} bytes"
        case Scalar(is_float=True):
            return f"'cuda_tile.div_by' is not defined for floating point, and the element is {t}"
    return None


def _spread(predicate: DivBy, t: Type) -> str | None:
    """With every and along, the divisor divides the size of the tile along that dimension."""
    if predicate.every is None or predicate.along is None or not isinstance(t, Tile) or predicate.along >= t.rank:
        return None
    size = t.shape[predicate.along]
    if size % predicate.divisor == 0:
        return None
    return f"'cuda_tile.div_by' divisor must divide the size of dimension {predicate.along}, which is {size}"


def _within(bounds: DocumentedBounds, t: Type) -> str | None:
    """Judge the bounds as they are written, whether or not they are strict."""
    lo = bounds.min if bounds.lo is None else bounds.lo
    hi = bounds.max if bounds.hi is None else bounds.hi
    if lo > hi:
        return f"'cuda_tile.bounded' expects lo <= hi, got {lo} and {hi}"
    if lo < bounds.min or hi > bounds.max:
        return f"'cuda_tile.bounded' expects bounds within min and max, [{bounds.min}, {bounds.max}], got {lo} and {hi}"
    return None
