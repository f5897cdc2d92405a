"""Which f32 may hold a NaN that is still to be made canonical, and which f64 need not hold the right one.

Arithmetic makes any NaN; the reference engine has one. Making it canonical at each operation would cost, so it is done
where bits are seen. A buffer may hold such NaNs only if everything stored to it may: a NaN that is kept, like one from
memory, has a payload to be kept. A NaN of f64 has the payload of an operand. Which one does not matter in sums that are
only narrowed, as those of exact products are.
"""

from __future__ import annotations

from ....ops import FToF, Select
from ....ops.floating import GROUP as FLOATING_POINT
from ....types import F16, F32, F64
from ..loops.nodes import (
    Apply,
    Buffer,
    Call,
    Const,
    Dot,
    Float,
    Int,
    Kernel,
    Load,
    Locate,
    Operand,
    Product,
    Shuffle,
    Stmt,
    Store,
    TileStore,
    Value,
    operands,
    walk,
)
from ..tiles import element

NEVER, LOOSE, FINAL = range(3)
"""No NaN; a NaN stands for the canonical one; a NaN is what it is."""


class Nans:
    """The states of values and buffers of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._values: dict[Value, int] = {}
        self._buffers: dict[Buffer, int] = {}
        every = list(walk(kernel.body))
        statements = [s for s in every if isinstance(s, (Apply, Int, Shuffle, Load, Store, Call, Float, Dot))]
        self._buffers.update(dict.fromkeys((s.buffer for s in every if isinstance(s, TileStore)), LOOSE))
        for s in statements:  # what is handed over must be final
            if isinstance(s, Call):
                self._buffers.update(dict.fromkeys((*s.arguments, *s.results), FINAL))
        before = -1
        while before != (before := sum(self._values.values()) + sum(self._buffers.values())):
            for s in statements:
                if isinstance(s, Store):
                    if s.buffer.element is F32:
                        self._buffers[s.buffer] = max(self._buffers.get(s.buffer, NEVER), self.of(s.value))
                elif not isinstance(s, Call) and s.result.element is F32:
                    self._values[s.result] = max(self._values.get(s.result, NEVER), self._made(s))
        self._seen = _seen(every)

    def of(self, x: Operand) -> int:
        """Return the state of an operand."""
        if isinstance(x, Const):
            return FINAL if x.element is F32 and x.bits & 0x7FFFFFFF > 0x7F800000 else NEVER
        return self._values.get(x, FINAL if x.element is F32 else NEVER)

    def of_buffer(self, b: Buffer) -> int:
        """Return the state of a buffer."""
        return self._buffers.get(b, FINAL)

    def is_seen(self, x: Value) -> bool:
        """Whether the payload of a NaN in an f64 may matter."""
        return x in self._seen

    def _made(self, s: Apply | Int | Shuffle | Load | Float | Dot) -> int:
        match s:
            case Load():
                found = self._buffers.get(s.buffer, NEVER if s.buffer.data is None else FINAL)
                return found if s.other is None else max(found, self.of(s.other))
            case Float() | Dot():
                return LOOSE
            case Apply(op=Select()) | Int(name="select"):
                return max(map(self.of, s.operands[1:]))
            case Shuffle():
                return max(map(self.of, s.operands))
            case Apply(op=FToF() as o):
                return LOOSE if element(o.from_) is F16 else FINAL
            case Apply() if s.op.opdef.group == FLOATING_POINT:
                return LOOSE
        return FINAL


def _seen(every: list[Stmt]) -> set[Operand | Buffer]:
    """Return the f64, and buffers of them, whose bits more than arithmetic that ends in a narrower type can see."""
    seen: set[Operand | Buffer] = set()
    sources: dict[Operand | Buffer, list[Operand | Buffer]] = {}
    """What each value or buffer is made of, if a NaN of these becomes one of it."""
    for s in every:
        match s:
            case Float(name="narrow"):
                continue
            case Float():
                sources.setdefault(s.result, []).extend(s.operands)
                continue
            case Load(mask=None, other=None):
                sources.setdefault(s.result, []).append(s.buffer)
            case Store(mask=None):
                sources.setdefault(s.buffer, []).append(s.value)
            case Call():
                seen.update((*s.arguments, *s.results))
            case Load() | Store():
                seen.update((s.buffer, *operands(s)))
            case Product():
                seen.update((s.lhs, s.rhs, s.acc, s.result, *s.scales))
            case Locate():
                seen.add(s.buffer)
            case _:
                seen.update(operands(s))
    left = [x for x in seen if x.element is F64]
    while left:
        for x in sources.get(left.pop(), ()):
            if x.element is F64 and x not in seen:
                seen.add(x)
                left.append(x)
    return seen
