"""Barriers, printing, assertions, promises, and programmatic dependent launch."""

from __future__ import annotations

from ...ir import Value
from ...types import F32, Ptr
from ..mlir import TOp
from .table import translates
from .translator import Translator, scalar, tile_type


@translates("gpu.barrier", "ttg.barrier", "ttg.local_barrier")
def barrier(t: Translator, op: TOp) -> None:
    t.order.wait(t.order.all())


@translates("tt.print")
def print_values(t: Translator, op: TOp, *values: Value) -> None:
    """Print a prefix and each value; Triton's own form, with one line per element, is that of a GPU."""
    b = t.builder
    shown: list[Value] = []
    formats: list[str] = []
    signed = op.attrs.get("isSigned") or [1] * len(values)
    for value, sign in zip(values, signed):
        if isinstance(tile_type(value).element, Ptr):
            value = b.value("ptr_to_int", value)
        elif scalar(value).is_float and scalar(value).bits < 32:
            value = b.cast(value, F32)
        floating = scalar(value).is_float
        formats.append("%f" if floating else "%x" if op.attrs.get("hex") is True else "%d" if sign else "%u")
        shown.append(value)
    text = op.attrs.get("prefix", "").replace("%", "%%") + " ".join(formats) + "\n"
    t.order.wait(b.print(text, *shown, token=t.order.all()))


@translates("tt.assert", "cf.assert")
def assertion(t: Translator, op: TOp, condition: Value, mask: Value | None = None) -> None:
    message = op.attrs.get("message") or op.attrs.get("msg") or ""
    t.builder.op("assert", condition, message)


@translates("llvm.intr.assume")
def assume(t: Translator, op: TOp, *conditions: Value) -> None:
    """Drop a promise: the translation does not need it."""


@translates("tt.grid_dependency_wait", "tt.gdc_wait")
def dependency_wait(t: Translator, op: TOp) -> list[Value]:
    t.order.wait(t.builder.value("gdc_wait_tko", token=t.order.all()))
    return unspecified(t, op)


@translates("tt.grid_dependency_launch_dependents")
def launch_dependents(t: Translator, op: TOp) -> list[Value]:
    t.order.wait(t.builder.value("gdc_launch_dependents_tko", token=t.order.all()))
    return unspecified(t, op)


def unspecified(t: Translator, op: TOp) -> list[Value]:
    """Return zeros for results that mean nothing, which inline PTX has."""
    return [t.builder.const(0, t.result(op, n)) for n in range(len(op.results))]
