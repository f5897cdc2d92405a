"""The text that kernels print."""

from __future__ import annotations

import sys
from collections.abc import Callable


def printer(output: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return a function that prints to stdout, or passes text to `output` without bytes that are not UTF-8."""
    return _print if output is None else lambda text: output(_readable(text))


def _print(text: str) -> None:
    """Print to stdout, in order with Python's own output, as raw bytes if stdout takes bytes."""
    stream = sys.stdout
    if stream is None:
        return
    stream.flush()
    if (raw := getattr(stream, "buffer", None)) is not None:
        raw.write(text.encode("utf-8", "surrogateescape"))
        raw.flush()
    else:
        stream.write(_readable(text))


def _readable(text: str) -> str:
    """Replace bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
