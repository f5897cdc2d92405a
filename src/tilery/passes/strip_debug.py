"""`strip-debug-info`: remove all locations."""

from __future__ import annotations

from ..ir import Op, walk
from ..rewrite import Report
from .registry import register


@register("strip-debug-info")
def strip_debug_info(root: Op, report: Report) -> None:
    """Remove all locations, and with them all debug info."""
    for o in walk(root):
        if o.loc is not None:
            o.loc = None
            report.counts["strip_location"] += 1
