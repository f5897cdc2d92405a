"""Output of the command: JSON, the text of modules, and errors without control characters."""

from __future__ import annotations

import os
import sys

from ..checking import TYPE_CHECKING
from ..diag import TileError

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..ops import Module
    from .files import CommandFailed

# Control characters are shown as pictures, one character each, so that carets stay in place.
PICTURES = {c: 0x2400 + c for c in range(32) if c not in b"\t\n"} | {127: 0x2421}
# Also those of ISO 8859, as characters and as bytes that are not UTF-8, and those that change the direction of text.
for _range in (range(0x80, 0xA0), range(0xDC80, 0xDCA0), range(0x202A, 0x202F), range(0x2066, 0x206A)):
    PICTURES |= dict.fromkeys(_range, 0xFFFD)


def as_json(data: object, indent: int | None = 2) -> str:
    import json

    return json.dumps(data, indent=indent) + "\n"


def show_text(module: Module, args: argparse.Namespace) -> str:
    """Print a module in the style that the options select."""
    style, names = getattr(args, "style", "disasm"), getattr(args, "names", "disasm")
    locs: bool = getattr(args, "locs", False)
    if names != "disasm" or style == "documented":
        from .. import show

        return show(module, style=style, locs=locs, names=names)
    from ..diag import enough_memory
    from ..text.print.printer import show as print_module

    with enough_memory("print the module"):
        return print_module(module, style, locs, fast=None)


def printable(text: str) -> str:
    """Escape characters that could control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(text: str) -> str:
    r"""Replace characters that could control a terminal by the hex digits of their bytes, as the printer does.

    >>> quoted("a\x1b[31m é")
    'a\\1B[31m é'
    """
    import re

    def shown(found: re.Match[str]) -> str:
        return found[0] if found[0].isprintable() else _digits(found[0])

    return re.sub(r"[^\n\t -~]", shown, text)


def _digits(text: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def for_stream(text: str, stream: Any) -> str:
    """Return text for a stream: what could control a terminal does not reach one. Files and pipes get all bytes."""
    return quoted(text) if stream.isatty() else text


def write_error(text: str) -> None:
    """Write to stderr text that may hold names of files or of a kernel."""
    sys.stderr.write(for_stream(text, sys.stderr))


def kernel_output(collected: list[str] | None) -> dict[str, Any]:
    """Return the launch option for what a kernel prints: collect it, or print it as safely as other text."""
    if collected is not None:
        return {"output": collected.append}
    return {"output": lambda text: sys.stdout.write(quoted(text))} if sys.stdout.isatty() else {}


def colors(args: argparse.Namespace) -> bool:
    """Whether to colour stdout, by --color and the terminal."""
    wanted: str = getattr(args, "color", "never")
    return wanted == "always" or (wanted == "auto" and terminal_has_colors(sys.stdout))


def terminal_has_colors(stream: Any) -> bool:
    """Whether a stream is a terminal on which to use colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def report(error: TileError | CommandFailed, in_json: bool = False, kind: str = "error") -> None:
    """Print an error or a warning to stderr."""
    if in_json:
        facts = error.as_dict() if isinstance(error, TileError) else {"message": str(error)}
        sys.stderr.write(as_json({"error": facts}, indent=None))
    elif isinstance(error, TileError):
        text = error.render(color=terminal_has_colors(sys.stderr), clean=lambda text: text.translate(PICTURES))
        sys.stderr.write(text.replace("error: ", f"{kind}: ", 1) + "\n")
    else:
        sys.stderr.write(f"tilery: {str(error).translate(PICTURES)}\n")


def prepare_streams() -> None:
    """Replace closed streams, and let bytes that are not UTF-8 pass through unchanged.

    What is written to a closed stdout fails when it is flushed. Errors on a closed stderr have nowhere else to go.
    """
    # Both files stay open until the process ends, so that no other file gets the number of a standard stream.
    sys.stdout = sys.stdout or open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def abandon_stdout() -> None:
    """Redirect a broken stdout to the null device, or Python would complain again when it flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
