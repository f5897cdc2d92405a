"""The rooms of the core, each with its groups of rows."""

from __future__ import annotations

from . import bytecode, engine, generated, passes, printing, tables, text, verifier

__all__ = ["bytecode", "engine", "generated", "passes", "printing", "tables", "text", "verifier"]
