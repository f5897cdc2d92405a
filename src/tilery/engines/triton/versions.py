"""The differences between versions of Triton, in one place. 3.6 and 3.9 are tested; others are best effort."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata

from ...diag import ErrorKind, TileError

TESTED = ("3.6", "3.9")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The spelling of Triton IR in a version of Triton."""

    version: str
    bare_descriptors: bool
    """Whether a descriptor type is spelled without `tensor<>`, as from 3.8 on."""
    barrier: str = "gpu.barrier"

    def descriptor(self, shape: tuple[int, ...], element: str) -> str:
        inner = f"{'x'.join(map(str, shape))}x{element}"
        return f"!tt.tensordesc<{inner}>" if self.bare_descriptors else f"!tt.tensordesc<tensor<{inner}>>"


def dialect_of(version: str) -> Dialect:
    """Return the spelling of a version, such as "3.9.0".

    >>> dialect_of("3.6.0").descriptor((8, 8), "f16")
    '!tt.tensordesc<tensor<8x8xf16>>'
    """
    parts = version.split("+")[0].split(".")
    try:
        number = (int(parts[0]), int(parts[1]))
    except (ValueError, IndexError):
        raise TileError(f"cannot read the version of Triton, '{version}'") from None
    if number < (3, 3):
        raise TileError(f"Triton {version} is too old: the Triton engine needs 3.3 or newer", kind=ErrorKind.VERSION)
    return Dialect(version, number >= (3, 8))


@cache
def installed() -> Dialect:
    """Return the spelling of the installed version, without importing Triton."""
    try:
        return dialect_of(metadata.version("triton"))
    except metadata.PackageNotFoundError:
        note = "install it with: pip install 'tilery[gpu]'"
        raise TileError(
            "the Triton engine needs the package 'triton'", kind=ErrorKind.MISSING_TOOL, notes=(note,)
        ) from None
