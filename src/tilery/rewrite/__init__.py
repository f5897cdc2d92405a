"""Rewriting: rules, the driver that applies them, editing and dead-code elimination."""

from __future__ import annotations

from .deadcode import erase_dead
from .driver import Place, apply, isolated
from .edit import Edit
from .editing import erase, insert, map_operands, replace, replace_operands, replace_uses, users, uses
from .rules import Answer, Dead, Report, Rewrite, Rules

__all__ = [
    "Answer",
    "Dead",
    "Edit",
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
    "replace_operands",
    "replace_uses",
    "users",
    "uses",
]
