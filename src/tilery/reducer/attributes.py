"""Simpler attributes: defaults, no hints, no locations, short names, plain constants, optional operands left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..attrs import Dense
from ..declare.fields import INFER, REQUIRED, AttrKind, Field
from ..diag import TileError
from ..ir import Op, UnknownOp, walk
from ..ops import Constant, Entry, Global, Module
from ..passes.rename_symbol import rename_symbol
from ..rewrite import Report
from .case import Case

Edit = Callable[[Op], bool]
"""Changes an operation; returns whether it did."""


def simpler_attribute(f: Field, o: Op) -> Any:
    """Return the simplest value of an attribute, or the value itself."""
    value = getattr(o, f.attr)
    if f.arity == "opt" or f.kind in (AttrKind.FLAG, AttrKind.HINTS):
        return f.default
    if f.default is not REQUIRED:
        return f.default_of(o) if f.default is INFER else f.default
    match f.kind:
        case AttrKind.ENUM:
            assert f.enum is not None
            return next(iter(f.only or f.enum))
        case AttrKind.STR:
            return ""
        case AttrKind.I32 | AttrKind.I64:
            return max(f.minimum or 0, 0) if value > 1 else value
    return value


def set_attribute(name: str) -> Edit:
    """Return an edit that gives attributes of this name their simplest value."""

    def edit(o: Op) -> bool:
        f = next((f for f in o.opdef.attrs if f.attr == name), None)
        if f is None:
            return False
        value = simpler_attribute(f, o)
        changed = value != getattr(o, name)
        if changed:
            setattr(o, name, value)
        return bool(changed)

    return edit


def leave_out(name: str) -> Edit:
    """Return an edit that leaves out an optional operand."""

    def edit(o: Op) -> bool:
        if not any(f.attr == name and f.arity == "opt" for f in o.opdef.operands) or getattr(o, name) is None:
            return False
        setattr(o, name, None)
        return True

    return edit


def drop_location(o: Op) -> bool:
    """Remove a location."""
    changed = o.loc is not None
    o.loc = None
    return changed


def drop_extra(o: Op) -> bool:
    """Remove discardable attributes."""
    changed = bool(o.extra)
    o.extra = None
    return changed


def plain_constant(number: int) -> Edit:
    """Return an edit that fills constants with a number."""

    def edit(o: Op) -> bool:
        if not isinstance(o, Constant):
            return False
        new = Dense.of(o.value.type, [float(number) if o.value.element.is_float else number])
        changed = new.data != o.value.data
        o.value = new
        return changed

    return edit


def edited(case: Case, edit: Edit, only: int | None = None) -> Case | None:
    """Return a copy with an edit of all operations, or of the one at a position; None if nothing changes."""
    case = case.copy()
    changed = False
    try:
        for number, o in enumerate(walk(case.module)):
            if (only is None or number == only) and not isinstance(o, UnknownOp):
                changed |= edit(o)
    except TileError:  # an element type may lack the number
        return None
    return case if changed else None


def simpler_attributes(case: Case) -> Iterator[Case | None]:
    """Yield copies with simpler attributes: first everywhere, then one operation at a time."""
    ops = [o for o in walk(case.module) if not isinstance(o, UnknownOp)]
    skipped = (AttrKind.SYM_NAME, AttrKind.SYM_REF)
    names = sorted({f.attr for o in ops for f in o.opdef.attrs if f.kind not in skipped})
    operands = sorted({f.attr for o in ops for f in o.opdef.operands if f.arity == "opt"})
    edits = [drop_location, drop_extra, plain_constant(0), plain_constant(1)]
    edits += [*map(set_attribute, names), *map(leave_out, operands)]
    for edit in edits:
        yield edited(case, edit)
    for number, o in enumerate(walk(case.module)):
        if isinstance(o, UnknownOp):
            continue
        own = [set_attribute(f.attr) for f in o.opdef.attrs if f.attr in names]
        own += [leave_out(f.attr) for f in o.opdef.operands if f.attr in operands]
        own += [plain_constant(0), plain_constant(1)] if isinstance(o, Constant) else []
        for edit in own:
            yield edited(case, edit, number)


def simpler_names(case: Case) -> Iterator[Case | None]:
    """Yield copies with short names of kernels and globals, and without the name of the producer."""
    default = Module.opdef.field("sym_name").default
    if case.module.producer is not None or case.module.sym_name != default:
        new = case.copy()
        new.module.producer, new.module.sym_name = None, default
        yield new
    symbols: list[Entry | Global] = [*case.module.entries, *case.module.globals]
    taken = {o.sym_name for o in symbols}
    for o in symbols:
        letter = "k" if isinstance(o, Entry) else "g"
        names = [letter, *(f"{letter}{n}" for n in range(2, 10))]
        name = next((n for n in names if n not in taken and len(n) < len(o.sym_name)), None)
        if name is None:
            continue
        new = case.copy()
        try:
            rename_symbol(new.module, Report(), o.sym_name, name)
        except TileError:
            continue
        launch = new.launch
        if launch is not None and launch.entry == o.sym_name:
            launch = replace(launch, entry=name)
        yield replace(new, launch=launch)
