"""Make the checkout importable from a script, and write the pages that scripts produce.

Import this module first: `tilery` then comes from `src/`, and `support` from `tests/`.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "docs" / "reports"
LAB = REPORTS / "lab"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def fill(text: str) -> str:
    """Wrap a paragraph of a page."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def publish(text: str, path: Path | None) -> None:
    """Print a page, and write it to a file if one is named."""
    text = text.rstrip("\n") + "\n"
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
