"""Optimization hints: write them into a module, for one architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..attrs import DictAttr, IntAttr, OptimizationHints
from ..declare.fields import AttrKind, Field
from ..ir import Op, UnknownOp, clone, walk
from ..ops import Module
from ..types import I1, I64


def with_hints(module: Module, target: str, hints: Mapping[str, int | bool]) -> Module:
    """Return a copy of a module in which every operation that knows a hint has this value of it for a target.

    Other hints of the operations stay as they are.
    """
    copy: Module = clone(module)
    for o, field in _fields(copy):
        if known := {name: value for name, value in hints.items() if name in field.hints}:
            setattr(o, field.attr, _merged(getattr(o, field.attr), target, known))
    return copy


def without_hints(module: Module) -> Module:
    """Return a copy of a module without optimization hints."""
    copy: Module = clone(module)
    for o, field in _fields(copy):
        setattr(o, field.attr, None)
    return copy


def _fields(module: Module) -> Iterator[tuple[Op, Field]]:
    """Yield each operation that takes hints, with the field that holds them."""
    for o in walk(module):
        if not isinstance(o, UnknownOp):
            yield from ((o, field) for field in o.opdef.attrs if field.kind is AttrKind.HINTS)


def _merged(old: OptimizationHints | None, target: str, new: Mapping[str, int | bool]) -> OptimizationHints:
    every = dict(old.value.items) if old is not None else {}
    inner = every.get(target)
    hints = dict(inner.items) if isinstance(inner, DictAttr) else {}
    for name, value in new.items():
        hints[name] = IntAttr(I1, int(value)) if isinstance(value, bool) else IntAttr(I64, value)
    every[target] = DictAttr(tuple(sorted(hints.items())))
    return OptimizationHints(DictAttr(tuple(sorted(every.items()))))
