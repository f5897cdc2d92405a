"""The supported releases of cuTile (pip `cuda-tile`)."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ..diag import ErrorKind, TileError

SUPPORTED = ("1.6", "1.7")


def require() -> str:
    """Return the version of the installed cuTile; raise TileError if it is missing or not supported."""
    wanted = " or ".join(SUPPORTED)
    try:
        found = version("cuda-tile")
    except PackageNotFoundError:
        note = "pip install 'cuda-tile>=1.6,<1.8'; it needs neither a GPU nor a driver"
        raise TileError("cuTile is not installed", kind=ErrorKind.MISSING_TOOL, notes=(note,)) from None
    if ".".join(found.split(".")[:2]) not in SUPPORTED:
        note = "the hooks into cuTile's compiler are only tested with these releases"
        raise TileError(f"cuTile {found} is not supported, expected {wanted}", kind=ErrorKind.VERSION, notes=(note,))
    return found
