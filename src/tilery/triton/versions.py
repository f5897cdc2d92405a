"""The supported releases of Triton."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ..diag import ErrorKind, TileError

SUPPORTED = ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")


def require() -> str:
    """Return the version of the installed Triton; raise TileError if it is missing or not supported."""
    try:
        found = version("triton")
    except PackageNotFoundError:
        note = f"pip install 'triton>={SUPPORTED[0]}'; it needs neither a GPU nor a driver"
        raise TileError("Triton is not installed", kind=ErrorKind.MISSING_TOOL, notes=(note,)) from None
    if ".".join(found.split(".")[:2]) not in SUPPORTED:
        note = "the backend that replaces Triton's own is only tested with these releases"
        wanted = f"{SUPPORTED[0]} to {SUPPORTED[-1]}"
        message = f"Triton {found} is not supported, expected {wanted}"
        raise TileError(message, kind=ErrorKind.VERSION, notes=(note,))
    return found
