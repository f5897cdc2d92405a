"""Rewriting: rules, the driver that applies them, editing and dead-code elimination."""

from __future__ import annotations

from .deadcode import Dead, erase_dead
from .driver import Answer, Place, Report, Rewrite, Rules, apply, isolated
from .editing import erase, insert, map_operands, replace, replace_uses, users, uses

__all__ = [
    "Answer",
    "Dead",
    "Place",
    "Report",
    "Rewrite",
    "Rules",
    "apply",
    "erase",
    "erase_dead",
    "insert",
    "isolated",
    "map_operands",
    "replace",
    "replace_uses",
    "users",
    "uses",
]
