"""The files of the page: its own scripts and styles, and the bundle of other projects."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = (
    "core.js", "language.js", "source.js", "ir.js", "bytes.js", "pipeline.js", "graph.js", "run.js", "tiles.js",
    "access.js", "timeline.js", "prove.js", "cost.js", "share.js", "main.js",
)  # fmt: skip
"""The page's own scripts, in the order in which they run; the first one needs nothing else."""
PANES = "panes.js"
"""All of them but the first, in one file: a page asks for few files."""
VENDOR = "vendor.js"
STYLE = "style.css"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@cache
def asset(name: str) -> bytes:
    """Return a file of the page; there are no others.

    >>> asset("style.css")[:2] != b""
    True
    """
    if name == VENDOR:
        return (HERE / "vendor" / name).read_bytes()
    if name == PANES:
        return b"".join(asset(each) for each in SCRIPTS[1:])
    if name not in (*SCRIPTS, STYLE, "worker.js", "playground.js", "page.html"):
        raise KeyError(name)
    return (HERE / "page" / name).read_bytes()


def page(scripts: str, styles: str, policy: str = "") -> str:
    """Return the HTML of the page with elements that load or contain its scripts and styles."""
    text = asset("page.html").decode()
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    return text.replace("<!--policy-->", meta).replace("<!--styles-->", styles).replace("<!--scripts-->", scripts)


def linked(prefix: str, more: str = "", *, asks_first: bool = False) -> tuple[str, str]:
    """Return the elements that load the scripts and the styles from files.

    With `asks_first`, the first script asks the server for the document at once.
    """
    first = f'<script defer src="{prefix}{SCRIPTS[0]}"{" data-first" if asks_first else ""}></script>\n'
    rest = "".join(f'<script defer src="{prefix}{name}"></script>\n' for name in (VENDOR, PANES))
    return more + first + rest, f'<link rel="stylesheet" href="{prefix}{STYLE}">'
