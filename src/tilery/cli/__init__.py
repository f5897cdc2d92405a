"""The command line: one verb per subcommand."""

from __future__ import annotations

from .main import program

__all__ = ["program"]
