"""Bit for bit, for all inputs: kernels as formulas, compared by Z3 (`pip install tilery[prove]`)."""

from __future__ import annotations

from typing import Any

from ...diag import TileError
from ...ops import Entry, Module
from ..verdict import Verdict


def bits(
    a: Entry, b: Entry, *, given: Any = (), timeout: float = 10.0, modules: tuple[Module, Module] | None = None
) -> Verdict:
    """Tell whether a kernel may replace another one, bit for bit, for all inputs; see `compare.bits`."""
    try:
        import z3  # type: ignore[import-untyped]  # noqa: F401  # it has no types, and may be missing
    except ImportError:
        raise TileError(
            "prove: bits needs Z3, which is not installed", notes=("pip install 'tilery[prove]'",)
        ) from None
    from .compare import bits as prove

    return prove(a, b, given=given, timeout=timeout, modules=modules)
