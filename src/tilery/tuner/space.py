"""The search: all variants of a kernel, and the model that drops the hopeless ones and orders the rest.

The model knows registers, shared memory and bytes in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product, zip_longest

from ..engines.gpu.variants import DEEPEST, PROCESSORS, SHARED, SPLIT, TRANSPOSE, Option, Variant
from ..engines.triton.config import DEVICE, HOST, POINTERS
from ..engines.triton.targets import find_target
from ..engines.work import Work

REGISTERS = 255
"""The most registers of a thread."""
ROOM = 0.95
"""How much of its registers an accumulator may take: wgmma keeps it there, and the rest needs some too."""
FEWEST = 4
"""With fewer elements of a tile per thread than this, warps are idle."""
STRAIGHT = 64
"""The most elements of a tile per thread in kernels with products outside of loops, which hold many tiles."""
MOST = 256
"""With more elements of a tile per thread than this, they do not fit in registers."""

PROGRAMS = (0, PROCESSORS)
"""How many programs share the tile blocks: each has its own, or one for each processor."""
GROUPS = ((1, 4), (1, 8), (2, 4))
"""How many groups of warps multiply what one more warp copies, and the warps of each."""
ROWS = 64
"""The fewest rows of a group."""
ACCUMULATED = 208
"""Registers of a thread that accumulators may take then."""


def full_space(work: Work, target: str, engines: tuple[str, ...]) -> list[Variant]:
    """Return every variant that the tuner knows."""
    found: list[Variant] = []
    if "triton" in engines:
        found += _triton(work)
    if "tileiras" in engines:
        found += _tileiras(work)
    if work.chained:
        found += [Variant(v.engine, (*v.options, (SPLIT, True))) for v in found]
    if work.needs_transpose:
        found += [Variant(v.engine, (*v.options, (TRANSPOSE, True))) for v in found]
    return found


def pruned_space(work: Work, target: str, engines: tuple[str, ...]) -> list[Variant]:
    """Return the variants that the model keeps, the most promising ones first, engines in turn."""
    ranked = {
        engine: sorted(
            (v for v in full_space(work, target, (engine,)) if plausible(work, v, target)), key=lambda v: _rank(work, v)
        )
        for engine in engines
    }
    turns = zip_longest(*ranked.values())
    return [variant for turn in turns for variant in turn if variant is not None]


def _triton(work: Work) -> Iterator[Variant]:
    views = (HOST, POINTERS, DEVICE) if work.views else (POINTERS,)
    if work.products:
        for view, warps, stages in product(views, (1, 2, 4, 8), (1, 2, 3, 4, 5)):
            yield Variant.of("triton", num_warps=warps, num_stages=stages, views=view)
        if work.feedable:
            for (groups, warps), stages, programs in product(GROUPS, range(2, DEEPEST + 1), PROGRAMS):
                yield Variant.of("triton", num_warps=warps, num_stages=stages, gluon=groups, programs=programs)
        return
    unrolls = (0, 2, 4) if work.loops else (0,)
    pipelines = (0, 2, 3, 4) if work.loops else (0,)
    for view, warps, unroll, pipeline in product(views, (1, 2, 4, 8, 16, 32), unrolls, pipelines):
        if not (unroll and pipeline):
            yield Variant.of(
                "triton", num_warps=warps, num_stages=3, views=view, unroll=unroll, pipeline=pipeline
            )  # fmt: skip


def _tileiras(work: Work) -> Iterator[Variant]:
    for level, ctas, occupancy, tma in product((3, 2, 1), (0, 1, 2, 4), (0, 1, 2, 4, 8), (True, False)):
        if not tma and not work.views:
            continue
        options: dict[str, Option] = {"level": level}
        if ctas:
            options["num_cta_in_cga"] = ctas
        if occupancy:
            options["occupancy"] = occupancy
        if not tma:
            options["allow_tma"] = False
        yield Variant.of("tileiras", **options)


def plausible(work: Work, variant: Variant, target: str) -> bool:
    """Tell whether a variant may be the best: whether it fits in registers and shared memory and keeps both busy."""
    options = dict(variant.options)
    if work.needs_transpose and TRANSPOSE not in options:
        # Without, only tileiras does well.
        return variant.engine == "tileiras" and "num_cta_in_cga" not in options and _plausible_hints(work, options)
    if SPLIT in options:
        work = replace(work, accumulator=work.accumulator // 2, rows=work.rows // 2, stored=work.stored // 2)
        # Two small programs hide each other's waiting, as two CTAs do.
        if options.get("views", HOST) != HOST or options.get("num_warps", 4) != 4 or options.get("num_stages", 3) == 5:
            return False
        if options.get("level", 3) == 1 or "num_cta_in_cga" in options:
            return False
    if variant.engine == "tileiras":
        return _plausible_hints(work, options)
    warps, stages = int(options.get("num_warps", 4)), int(options.get("num_stages", 3))
    if "gluon" in options:
        return _fits_fed(work, int(options["gluon"]), warps, stages)
    if work.products:
        return _fits(work, warps, stages, str(options["views"]), find_target(target).shared)
    per_thread = work.tile / (32 * warps)
    if options["views"] != POINTERS or options.get("pipeline", 0) in (2, 4) or (work.loops and not _is_busy(options)):
        return False
    return per_thread <= MOST and (warps == 1 or per_thread >= FEWEST)


def _is_busy(options: dict[str, Option]) -> bool:
    """Whether a loop has more than one load in flight for each warp, or enough warps."""
    return bool(options.get("unroll") or options.get("pipeline")) or int(options["num_warps"]) >= 8


def _fits(work: Work, warps: int, stages: int, views: str, shared: int) -> bool:
    """The rules for kernels with matrix products."""
    factor = 2 if work.narrow else 1
    registers = work.accumulator * factor / (32 * warps)
    if (registers > REGISTERS * ROOM and warps < 8) or registers < 8:
        return False
    if not work.loop_bytes:
        return stages == 1 and work.tile / (32 * warps) <= STRAIGHT
    if stages * work.loop_bytes > shared:
        return False
    small = work.accumulator <= 64 * 128
    if warps < 4 and not small:
        return False
    if views == DEVICE or (views == POINTERS and stages > 3):
        return False
    # Fewer than 32 KiB in flight for each program do not hide the latency of memory, unless a product is long.
    return stages >= 2 or work.chained


def _fits_fed(work: Work, groups: int, warps: int, stages: int) -> bool:
    """The rules for kernels in which one warp copies: as many stages as fit beside the result, or one less."""
    registers = work.accumulator * (1.5 if work.narrow else 1) / (32 * warps * groups)
    held = work.stored if work.chained else 0  # the queries of attention have the shape of its result
    fitting = min(DEEPEST, (SHARED - work.stored - held) // work.loop_bytes)
    enough = groups == 1 or work.rows >= ROWS * groups
    return enough and registers <= ACCUMULATED and stages in (fitting, fitting - 1)


def _plausible_hints(work: Work, options: dict[str, Option]) -> bool:
    level, ctas = options["level"], int(options.get("num_cta_in_cga", 0))
    occupancy, tma = int(options.get("occupancy", 0)), options.get("allow_tma", True)
    if ctas == 1:
        return False  # as is, unless the module says otherwise
    if work.products and not work.reduces and work.accumulator > 128 * 128:
        return bool(tma) and level == 3 and (occupancy in (0, 2)) and ctas in (0, 2)
    if work.products and work.loop_bytes:
        if not tma or ctas == 4 or occupancy not in ((0, 2, 4) if level == 3 and not ctas else (0, 2)):
            return False
        return level == 3 or ctas == 0 or (work.chained and level == 1 and occupancy == 2)
    if level != 3:
        return level == 2 and not occupancy and not ctas and bool(tma)
    if occupancy == 1:
        return False
    return ctas == 0 or (bool(work.products) and bool(tma) and not occupancy)


def _rank(work: Work, variant: Variant) -> tuple[float, ...]:
    """Sort the promising variants first: a guess of how far each is from the best."""
    options = dict(variant.options)
    if variant.engine == "tileiras":
        level, ctas = int(options["level"]), int(options.get("num_cta_in_cga", 0))
        occupancy = int(options.get("occupancy", 0))
        best_ctas = 2 if work.products and (work.accumulator > 128 * 128 or work.chained or work.narrow) else 0
        best_occupancy = 2 if work.products else 4
        distance = abs(ctas - best_ctas) + abs(occupancy - best_occupancy) * (1.0 if work.products else 0.5)
        as_is = len(options) == 1 and level == 3
        return (0.0 if as_is else 1.0, distance + (3 - level) * 0.7 + (0.6 if "allow_tma" in options else 0.0))
    warps, stages = int(options.get("num_warps", 4)), int(options.get("num_stages", 3))
    views = {HOST: 0.0, POINTERS: 1.0, DEVICE: 1.5}[str(options.get("views", HOST))]
    if "gluon" in options:
        return (-float(stages) / DEEPEST - (0.5 if options["programs"] else 0.0),)
    if work.products:
        registers = work.accumulator * (2 if work.narrow else 1) / (32 * warps)
        best = 3.5 if not work.chained else 2.0
        return (views + (0.8 if registers > 192 else 0.4 if registers < 64 else 0.0) + abs(stages - best) * 0.4,)
    per_thread = max(work.tile / (32 * warps), 0.01)
    unroll, pipeline = int(options.get("unroll", 0)), int(options.get("pipeline", 0))
    loops = (0.3 if unroll or pipeline else 0.6) if work.loops else 0.0
    return ((1.0 - views) * 2 + loops + abs(_log2(per_thread) - 4.5) * 0.4 + (0.2 if pipeline == 4 else 0.0),)


def _log2(number: float) -> float:
    from math import log2

    return log2(number)
