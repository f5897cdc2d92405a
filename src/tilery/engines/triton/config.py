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
SMALL_TILE = 4096
"""Elements up to which a row is short."""


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
    paired = warps == 4 and 2 * work.loop_bytes <= HALF_SHARED
    limit = min(target.shared, HALF_SHARED if paired else ALL_SHARED)
    most = 3 if work.chained else 5
    stages = max(2, min(most, limit // work.loop_bytes))
    return Config(warps, 2 if work.chained and paired else stages, HOST)


def _straight(work: Work, target: Target) -> Config:
    """Matrix products outside of loops."""
    return Config(_by_size(work, 8), 1 if target.nvidia else 2)


def _without_products(work: Work) -> Config:
    """A few dozen elements a thread; more warps make reductions slower."""
    warps = _by_size(work, 4 if work.reduces else 16)
    if work.loops and work.tile <= SMALL_TILE:
        return Config(_by_size(work, 8, ELEMENTS_PER_THREAD // 8), 3, POINTERS, unroll=2)  # several loads in flight
    if work.loops:
        return Config(max(warps, 4), 3, POINTERS, pipeline=3)  # the next row is on its way
    return Config(warps if work.reduces else max(warps, 4 if work.tile >= 1024 else 1), 3, POINTERS)


def _by_size(work: Work, most: int, elements: int = ELEMENTS_PER_THREAD) -> int:
    """The fewest warps with at most that many elements a thread."""
    warps = 1
    while warps < most and work.tile / (32 * warps) > elements:
        warps *= 2
    return warps
