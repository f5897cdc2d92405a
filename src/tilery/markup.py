"""Pieces of HTML that objects show themselves with in a notebook. Every text is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 200
"""Rows of a table that are shown; a line says how many more there are."""
MAX_CELL = 400
"""Characters of a cell that are shown."""
STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
CELL = "padding:2px 10px;text-align:{align};vertical-align:top;white-space:pre-wrap;border-bottom:1px solid #8884"


def text(value: object) -> str:
    """Return a value as HTML.

    >>> text("tile<4xf32>")
    'tile&lt;4xf32&gt;'
    """
    shown = str(value)
    return escape(shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 3] + "...")


def code(value: object) -> str:
    """Return a value as a piece of code."""
    return f"<code>{text(value)}</code>"


def pre(lines: str) -> str:
    """Return lines as they are, up to a limit."""
    shown = lines.splitlines()
    more = [f"... {len(shown) - MAX_ROWS} more lines"] if len(shown) > MAX_ROWS else []
    return f"<pre>{escape(chr(10).join([*shown[:MAX_ROWS], *more]))}</pre>"


def line(value: object, *, strong: bool = False) -> str:
    """Return a line of text."""
    return f"<div>{f'<b>{text(value)}</b>' if strong else text(value)}</div>"


def table(head: Sequence[object], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """Return a table; the columns in `numbers` are aligned to the right.

    >>> table(["n"], [[1]], numbers=[0]).count("text-align:right")
    2
    """
    aligns = ["right" if at in numbers else "left" for at in range(len(head))]
    listed = list(rows)

    def row(cells: Sequence[object], tag: str) -> str:
        made = (f'<{tag} style="{CELL.format(align=a)}">{text(c)}</{tag}>' for a, c in zip(aligns, cells))
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in listed[:MAX_ROWS])
    more = line(f"{len(listed) - MAX_ROWS} more") if len(listed) > MAX_ROWS else ""
    return f'<table style="{STYLE}"><thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>{more}'


def bars(items: Sequence[tuple[str, float, str]]) -> str:
    """Return a picture of horizontal bars: label, length and what is written at the end of each."""
    shown = items[:MAX_ROWS]
    most = max((size for _, size, _ in shown), default=0.0) or 1.0
    out = []
    for row, (label, size, tip) in enumerate(shown):
        top, width = 20 * row, 300 * size / most
        out.append(f'<text x="230" y="{top + 14}" text-anchor="end">{text(label[:40])}</text>')
        out.append(f'<rect x="240" y="{top + 3}" width="{max(width, 1):.1f}" height="14" fill="#1b6ca8"/>')
        out.append(f'<text x="{246 + width:.1f}" y="{top + 14}">{text(tip)}</text>')
    box = f'viewBox="0 0 700 {20 * len(shown) + 4}" width="700" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="currentColor" role="img">{"".join(out)}</svg>'
