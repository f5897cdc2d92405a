"""Which releases of cuTile (pip `cuda-tile`) are supported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ..diag import TileError

SUPPORTED = ("1.6", "1.7")


def require() -> str:
    """The version of the installed cuTile; a TileError where there is none, or another."""
    wanted = " or ".join(SUPPORTED)
    try:
        found = version("cuda-tile")
    except PackageNotFoundError:
        note = "pip install 'cuda-tile>=1.6,<1.8'; it needs neither a GPU nor a driver"
        raise TileError("cuTile is not installed", notes=(note,)) from None
    if ".".join(found.split(".")[:2]) not in SUPPORTED:
        note = "the hooks into cuTile's compiler are checked against these releases only"
        raise TileError(f"cuTile {found} is not supported, expected {wanted}", notes=(note,))
    return found
