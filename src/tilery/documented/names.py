"""Value names as documents describe them: five rules for constants, four other hints, numbers for the rest."""

from __future__ import annotations

from ..attrs import Dense
from ..floats.formats import float_text, is_nan
from ..ir import Block, Op, UnknownOp, Value
from ..ops import (
    Broadcast,
    Constant,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    MmaF,
    MmaFScaled,
    MmaI,
    Reduce,
)
from ..text.print.attributes import int_text, splat_bits, too_long
from ..text.print.names import ValueNames
from ..types import I1

HINTS: dict[type[Op], str] = {
    **dict.fromkeys([MakeTensorView, MakePartitionView, MakeStridedView, MakeGatherScatterView], "view"),
    Broadcast: "bcast",
    Reduce: "red",
    **dict.fromkeys([MmaF, MmaFScaled, MmaI], "mm"),
}


def constant_name(value: Dense) -> str:
    """Return the name of a constant; the order of the rules matters.

    >>> from tilery.types import I32, Tile
    >>> constant_name(Dense.of(Tile((4,), I32), [42]))
    'cst_42'
    """
    element, bits = value.element, splat_bits(value)
    if element is I1 and bits is not None:
        return "true" if bits else "false"
    if element.is_float and bits is not None and is_nan(element, bits):
        return "cst_NaN"
    if element is I1:
        return "cst_i1"
    if element.is_int and bits is not None:
        return f"cst_{int_text(element, bits)}"
    return "cst"


def dense_log(value: Dense, limit: int | None = None) -> str:
    """Format the elements of a constant for logs, without type and shape; it cannot be parsed.

    >>> from tilery.types import I32, Tile
    >>> dense_log(Dense.of(Tile((2, 2), I32), [1, 2, 3, 4]), limit=3)
    '1, 2, 3, ...'
    """
    show = int_text if value.element.is_int else float_text
    elements = value.elements()
    shown = [show(value.element, bits) for bits in elements[:limit]]
    return ", ".join(shown if limit is None or len(elements) <= limit else [*shown, "..."])


def name_values(root: Block, *, limit: int) -> ValueNames:
    """Name everything inside a block. An inner region continues the numbers and names of the outer one."""
    names = ValueNames(limit)
    namer = _Namer(names)
    todo = [(root, 0, 0, 0, 0)]
    while todo:
        block, namer.values, namer.arguments, namer.conflicts, known = todo.pop()
        namer.forget(known)
        for value in block.args:
            namer.name(value, f"arg{namer.arguments}")
            namer.arguments += 1
        for o in block.ops:
            namer.results(o)
        state = (namer.values, namer.arguments, namer.conflicts, len(namer.log))
        todo += [(inner, *state) for o in block.ops for inner in o.blocks]
    return names


class _Namer:
    """Assigns names that are not in use."""

    def __init__(self, names: ValueNames) -> None:
        self.names = names
        self.used: set[str] = set()
        self.log: list[str] = []
        self.values = self.arguments = self.conflicts = self.size = 0

    def forget(self, known: int) -> None:
        while len(self.log) > known:
            self.used.discard(self.log.pop())

    def results(self, o: Op) -> None:
        """Name each result separately if the text allows it; otherwise all share one name, `%5:2`."""
        results = o.results
        if not results:
            return
        open_number = isinstance(o, UnknownOp) or any(f.arity == "var" for f in o.opdef.outs)
        hint = constant_name(o.value) if isinstance(o, Constant) else HINTS.get(o.__class__, "")
        for value in results[:1] if open_number else results:
            if hint:
                self.name(value, hint)
            else:
                self.names[value] = f"%{self.values}"
                self.values += 1
        if open_number and len(results) > 1:
            name = self.names[results[0]]
            self.names.heads[o] = f"{name}:{len(results)}"
            self.names.update({value: f"{name}#{number}" for number, value in enumerate(results)})

    def name(self, value: Value, hint: str) -> None:
        name = hint
        while name in self.used:
            name = f"{hint}_{self.conflicts}"
            self.conflicts += 1
        self.used.add(name)
        self.log.append(name)
        self.names[value] = "%" + name
        self.size += len(name)
        if self.size > self.names.limit:
            raise too_long(self.names.limit)
