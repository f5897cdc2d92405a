"""The releases of cuTile (pip `cuda-tile`): which are known to work, and what happens with others."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

from ..diag import ErrorKind, TileError

KNOWN = ("1.3", "1.4", "1.5", "1.6", "1.7")
"""The releases that work: the tests pass with the last one, the others were tried with a kernel. Older ones have other
internals, and 1.0 needs the driver of a GPU."""


def require() -> str:
    """Return the version of the installed cuTile; raise TileError if it is missing or too old."""
    try:
        found = version("cuda-tile")
    except PackageNotFoundError:
        note = f"pip install 'cuda-tile>={KNOWN[0]}'; it needs neither a GPU nor a driver"
        raise TileError("cuTile is not installed", kind=ErrorKind.MISSING_TOOL, notes=(note,)) from None
    if numbers(found) < numbers(KNOWN[0]):
        note = f"releases {KNOWN[0]} to {KNOWN[-1]} work, and newer ones are checked when they are first used"
        raise TileError(f"cuTile {found} is too old", kind=ErrorKind.VERSION, notes=(note,))
    return found


def numbers(release: str) -> tuple[int, ...]:
    """Return the major and minor number of a release.

    >>> numbers("1.10.0rc1") > numbers("1.9")
    True
    """
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in release.split(".")[:2])


def is_new(release: str) -> bool:
    """Whether a release is newer than those that are known."""
    return numbers(release) > numbers(KNOWN[-1])


def reads_tensors(release: str) -> bool:
    """Whether a release takes the tensors of a torch without CUDA, by their address."""
    return numbers(release) >= numbers("1.6")


def unsupported(release: str, error: BaseException) -> TileError:
    """Return the error for a release whose internals have changed."""
    return TileError(
        f"cuTile {release} is newer than this tilery and does not work with it",
        kind=ErrorKind.VERSION,
        notes=(f"{type(error).__name__}: {error}", f"install cuda-tile {KNOWN[-1]}, or a newer tilery"),
    )


def warn(release: str) -> None:
    """Warn of a release that is not known, after it has passed the check."""
    text = f"cuTile {release} is newer than the releases that tilery was tested with; its check has passed"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
