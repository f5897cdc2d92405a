"""Options for compiling a kernel: warps, pipeline stages, the access of views. The default follows from rules."""

from __future__ import annotations

from dataclasses import dataclass

from ...ops import Entry
from ..work import Work, work_of
from .targets import Target

POINTERS, DEVICE, HOST = "pointers", "device", "host"
"""The ways in which views access memory: through pointers, or through tensor maps that the kernel or the host makes."""

REGISTERS = 192
"""Registers per thread that accumulators may take before a kernel gets eight warps."""
HALF_SHARED, ALL_SHARED = 113 << 10, 227 << 10
ELEMENTS_PER_THREAD = 32
SHORT = 1024, 2048
"""Elements of a short row."""
LIVE = 128
"""Words of live tiles per thread; about as many registers again hold addresses and what is computed."""
LARGE = 128 * 128
"""Elements of accumulators for which four warps are few."""


@dataclass(frozen=True, slots=True)
class Config:
    """Options for compiling a kernel."""

    num_warps: int = 4
    num_stages: int = 3
    views: str = POINTERS
    unroll: int = 0
    """The factor by which loops without matrix products are unrolled; 0 leaves it to Triton."""
    pipeline: int = 0
    """Stages of the loads of loops without matrix products; 0 leaves it to Triton."""
    folded: bool = False
    """Whether the grid is folded into one dimension, for grids with more than 65535 tile blocks along y or z."""
    gluon: int = 0
    """How many groups of warps multiply what one more warp copies for them, see `gluon`; 0 if no warp does."""
    programs: int = 0
    """The programs that share the tile blocks of such a kernel; 0 if each has its own."""


def default_config(entry: Entry, target: Target) -> Config:
    """Choose a configuration by rules, without measuring."""
    work = work_of(entry)
    if not work.products:
        return _without_products(work)
    return _with_products(work, target) if work.loop_bytes else _straight(work, target)


def _with_products(work: Work, target: Target) -> Config:
    """Loops with matrix products: what the accumulators leave of the registers decides."""
    warps = 4 if work.accumulator * (2 if work.narrow else 1) / 128 <= REGISTERS else 8
    if not target.tma:
        return Config(warps, 2 if not target.nvidia else 3)
    # Four warps of attention are two programs for each processor, which hide each other's waiting.
    paired = warps == 4 and (2 if work.chained else 3) * work.loop_bytes <= HALF_SHARED
    limit = min(target.shared, HALF_SHARED if paired else ALL_SHARED)
    most = 3 if work.chained else 5
    stages = max(2, min(most, limit // work.loop_bytes))
    if not paired and work.accumulator >= LARGE:
        warps = 8
    return Config(warps, 2 if work.chained and paired else stages, HOST)


def _straight(work: Work, target: Target) -> Config:
    """Matrix products outside of loops."""
    return Config(_by_size(work, 8), 1 if target.nvidia else 2)


def _without_products(work: Work) -> Config:
    """A few dozen elements a thread, and fewer if more tiles are live than registers hold."""
    if work.loops:
        warps = _by_size(work, 16, ELEMENTS_PER_THREAD // 2 if work.tile <= SHORT[1] else ELEMENTS_PER_THREAD)
    elif work.reduces:
        warps = _by_size(work, 4)  # more make reductions slower
    else:
        warps = max(_by_size(work, 16), 4 if work.tile >= 1024 else 1)
    while warps < 16 and work.live / (32 * warps) > LIVE:
        warps *= 2
    if not work.loops:
        return Config(warps, 3, POINTERS)
    if work.stores and not SHORT[0] <= work.tile <= SHORT[1]:
        return Config(warps, 3, POINTERS, pipeline=3)  # the next load is on its way while this one is stored
    return Config(warps, 3, POINTERS, unroll=2)  # several loads in flight


def _by_size(work: Work, most: int, elements: int = ELEMENTS_PER_THREAD) -> int:
    """The fewest warps with at most that many elements a thread."""
    warps = 1
    while warps < most and work.tile / (32 * warps) > elements:
        warps *= 2
    return warps
