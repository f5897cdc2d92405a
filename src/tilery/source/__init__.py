"""The front door for input, and the source lines that debug information names."""

from __future__ import annotations

from .lines import MAX_PLACES, Place, annotate, column, comments, excerpt, places

__all__ = ["MAX_PLACES", "Place", "annotate", "column", "comments", "excerpt", "places"]
