"""The panes of the explorer in a notebook: the exported page in a frame of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..ops import Module
from ..text.print.printer import show_with_offsets
from .export import export_html, recorded
from .protocol import DEFAULT_PASSES, Explorer

if TYPE_CHECKING:
    from ..sanitize import Report, Reports


class View:
    """A module as a notebook shows it: every pane, without a server, and the reports of a sanitizer at their lines."""

    def __init__(self, html: str, height: int) -> None:
        self.html, self.height = html, height

    def _repr_html_(self) -> str:
        """Return the page in a frame that may run its scripts and nothing else."""
        style = f"width:100%;height:{self.height}px;border:1px solid #8888;border-radius:6px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html, quote=True)}"></iframe>'


def view(
    module: Module,
    *,
    reports: Reports | None = None,
    passes: str = DEFAULT_PASSES,
    gpu: str = "B200",
    height: int = 600,
) -> View:
    """Show a module in a notebook, with what a `Sanitizer` found in `reports` if they are given.

    >>> from tilery import parse
    >>> view(parse("entry @k() { return }"))._repr_html_()[:32]
    '<iframe sandbox="allow-scripts" '
    """
    text = show_with_offsets(module)[0]
    run = None if reports is None else _run(module, reports)
    choices = {"passes": passes, "gpu": gpu, "grid": [1]}
    data = recorded(Explorer().answer, text, module.sym_name or "kernel", choices, run)
    return View(export_html(data), height)


def _run(module: Module, reports: Reports) -> dict[str, Any]:
    """Return the reports in the form of a response to `run`, which has nothing else."""
    from ..ir import walk

    ids = {o: number for number, o in enumerate(walk(module))}

    def place(report: Report) -> list[dict[str, Any]]:
        return [
            {"op": ids.get(p.op, -1), "name": p.op.name, "block": list(p.block), "element": list(p.element)}
            for p in report.places
        ]

    made = [
        {**report.as_dict(), "places": place(report), "op": ids.get(report.op, -1), "details": report.details}
        for report in reports
    ]
    empty: dict[str, Any] = {"arrays": [], "accesses": [], "truncated": False, "outside": 0}
    return {
        "ok": True, "stats": None, "error": None, "engine": "reference", "grid": [1, 1, 1], "blocks": 1, "printed": "",
        "reports": made, "claim": "", "arguments": [], "access": empty, "values": {}, "block": 0,
        "timeline": {"events": [], "truncated": False},
    }  # fmt: skip
