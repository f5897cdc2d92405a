"""Target profiles: the GPUs that the Triton engine compiles for, and what each can do."""

from __future__ import annotations

from dataclasses import dataclass

from ...diag import TileError


@dataclass(frozen=True, slots=True)
class Target:
    """A GPU architecture."""

    name: str
    backend: str
    """Triton's name of the backend: cuda or hip."""
    warp: int
    """Threads per warp."""
    summary: str
    tma: bool = False
    """Whether there are bulk copies through tensor maps."""
    f8: tuple[str, ...] = ()
    """The 8-bit floats that the hardware converts and multiplies."""
    tf32_cvt: bool = False
    """Whether one instruction rounds to tf32 in any mode."""
    shared: int = 0
    """Bytes of shared memory that a tile block can have."""

    @property
    def nvidia(self) -> bool:
        return self.backend == "cuda"

    @property
    def capability(self) -> int:
        """The number of an NVIDIA architecture, 0 for AMD."""
        return int(self.name[3:]) if self.nvidia else 0

    @property
    def scaled_products(self) -> bool:
        """Whether there are instructions for products of scaled blocks."""
        return self.capability >= 100

    @property
    def binary(self) -> str:
        """The kind of the compiled file."""
        return "cubin" if self.nvidia else "hsaco"


F8 = ("f8E4M3FN", "f8E5M2")

TARGETS = {
    row.name: row
    for row in (
        Target("sm_80", "cuda", 32, "NVIDIA A100", shared=163 << 10),
        Target("sm_86", "cuda", 32, "NVIDIA RTX 30, A40", shared=99 << 10),
        Target("sm_89", "cuda", 32, "NVIDIA RTX 40, L40", f8=F8, shared=99 << 10),
        Target("sm_90", "cuda", 32, "NVIDIA H100, H200", True, F8, True, shared=227 << 10),
        Target("sm_100", "cuda", 32, "NVIDIA B200", True, F8, True, shared=227 << 10),
        Target("sm_120", "cuda", 32, "NVIDIA RTX 50", True, F8, True, shared=99 << 10),
        Target("gfx90a", "hip", 64, "AMD MI200", shared=64 << 10),
        Target("gfx942", "hip", 64, "AMD MI300", shared=64 << 10),
        Target("gfx950", "hip", 64, "AMD MI350", shared=160 << 10),
        Target("gfx1100", "hip", 32, "AMD RX 7900", shared=64 << 10),
        Target("gfx1201", "hip", 32, "AMD RX 9070", shared=64 << 10),
    )
}
"""Every target by name. AMD binaries are compiled, not launched."""


def find_target(name: str) -> Target:
    """Return the profile of a target.

    >>> find_target("sm_90").summary
    'NVIDIA H100, H200'
    """
    if name not in TARGETS:
        raise TileError(f"unknown target '{name}', expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
