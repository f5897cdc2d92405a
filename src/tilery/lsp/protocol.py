"""The types of the protocol as `lsp`: lsprotocol's where it is installed, else plain data with the same fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsprotocol import types as lsp
else:
    try:
        from lsprotocol import types as lsp
    except ModuleNotFoundError:
        from . import plain as lsp

__all__ = ["lsp"]
