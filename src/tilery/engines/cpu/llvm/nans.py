"""Which f32 may hold a NaN that is still to be made canonical.

Arithmetic makes any NaN; the reference engine has one. Making it canonical at each operation would cost, so it is done
where bits are seen. A buffer may hold such NaNs only if everything stored to it may: a NaN that is kept, like one from
memory, has a payload to be kept.
"""

from __future__ import annotations

from ....ops import FToF, Select
from ....ops.floating import GROUP as FLOATING_POINT
from ....types import F16, F32
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
    Operand,
    Shuffle,
    Store,
    TileStore,
    Value,
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

    def of(self, x: Operand) -> int:
        """Return the state of an operand."""
        if isinstance(x, Const):
            return FINAL if x.element is F32 and x.bits & 0x7FFFFFFF > 0x7F800000 else NEVER
        return self._values.get(x, FINAL if x.element is F32 else NEVER)

    def of_buffer(self, b: Buffer) -> int:
        """Return the state of a buffer."""
        return self._buffers.get(b, FINAL)

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
