"""Triton IR to Tile IR: one function per operation, in one module per chapter."""

from __future__ import annotations

from .kernel import Translated, translate

__all__ = ["Translated", "translate"]
