"""Laws of every operation that only computes: tile blocks do not matter to each other, nor does where results go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilery import Op
from tilery.engines.common.tiles import Array, carrier
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.program import _alike
from tilery.ir import walk
from tilery.smith import smith
from tilery.types import Ptr, Tile

COMPUTING = [cls for cls, run in RUNS.items() if not run.batch]
REUSING = [cls for cls in COMPUTING if RUNS[cls].reuses]
LANES = 3
MOST = 1 << 12


def found() -> dict[type[Op], list[Op]]:
    """Operations of random modules, with many types and attributes."""
    ops: dict[type[Op], list[Op]] = {cls: [] for cls in COMPUTING}
    for seed in range(60):
        for o in walk(smith(seed, size=60)):
            if o.__class__ in ops and all(_size(v.type) <= MOST for v in (*o.operands, *o.results)):
                ops[o.__class__].append(o)
    return ops


def _size(type: Any) -> int:
    return type.size if isinstance(type, Tile) else MOST + 1


OPERATIONS = found()


def values(rng: np.random.Generator, o: Op, lanes: int) -> list[Array]:
    """Random bits, half of them small numbers so that subnormals, zeros, NaN and overflow meet ordinary ones."""
    made = []
    for value in o.operands:
        t = value.type
        assert isinstance(t, Tile)
        dtype = carrier(t.element)
        shape = (lanes, *t.shape)
        raw = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        if dtype == np.bool_:
            made.append((raw[..., 0] & 1).astype(bool))
            continue
        if not isinstance(t.element, Ptr) and t.element.bits == 4:
            raw &= 15
        array = raw.view(dtype).reshape(shape)
        special = np.array([0, 1, 2, 3], dtype)[rng.integers(0, 4, shape)]
        made.append(np.where(rng.random(shape) < 0.3, special, array))
    return made


def outputs(o: Op, operands: list[Array]) -> Iterator[tuple[list[Array], Array]]:
    """The operands with what the result may overwrite: each operand of its shape in turn, and other memory."""
    t = o.results[0].type
    assert isinstance(t, Tile)
    for i, v in enumerate(o.operands):
        if _alike(v.type, t) and len(operands[i]) == LANES:
            copies = [a.copy() for a in operands]
            # One value may be several operands.
            copies = [copies[i] if w is v else copy for w, copy in zip(o.operands, copies)]
            yield copies, copies[i]
    yield [a.copy() for a in operands], np.full((LANES, *t.shape), 77, carrier(t.element))


@pytest.mark.parametrize("cls", REUSING, ids=lambda cls: cls.__name__)
def test_the_result_may_overwrite_an_operand(cls: type[Op]) -> None:
    rng = np.random.default_rng(1)
    function = RUNS[cls].function
    assert OPERATIONS[cls], "no random module has this operation"
    with np.errstate(all="ignore"):
        for o in OPERATIONS[cls][:40]:
            for uniform in range(len(o.operands) + 1):
                operands = values(rng, o, LANES)
                # Each operand in turn is the same for all tile blocks.
                operands = [a[:1] if i == uniform else a for i, a in enumerate(operands)]
                same = dict(zip(o.operands, operands))
                operands = [same[v] for v in o.operands]
                if all(len(a) == 1 for a in operands):
                    continue
                plain = function(o, *operands)
                assert not any(np.may_share_memory(plain, a) for a in operands), o.name
                for copies, out in outputs(o, operands):
                    kept = [a.copy() for a in copies]
                    made = function(o, *copies, out=out)
                    assert made.tobytes() == plain.tobytes(), (o.name, uniform)
                    for a, b in zip(copies, kept):
                        assert a is out or a.tobytes() == b.tobytes(), f"{o.name} changes an operand"


def arguments(o: Op, operands: list[Array]) -> list[Any]:
    """The operands as functions take them: a tuple where a field has any number, None where one is absent."""
    waiting = iter(operands)
    given: list[Any] = []
    for f in o.opdef.operands:
        value = getattr(o, f.attr)
        given.append(
            tuple(next(waiting) for _ in value)
            if isinstance(value, tuple)
            else None
            if value is None
            else next(waiting)
        )
    return given


TILES = [cls for cls in COMPUTING if OPERATIONS[cls]]


@pytest.mark.parametrize("cls", TILES, ids=lambda cls: cls.__name__)
def test_each_tile_block_gets_what_it_would_get_alone(cls: type[Op]) -> None:
    rng = np.random.default_rng(2)
    function = RUNS[cls].function
    with np.errstate(all="ignore"):
        for o in OPERATIONS[cls][:25]:
            for uniform in range(1 << min(len(o.operands), 3)):
                # Any mix of operands that are the same for all tile blocks and others.
                operands = [a[:1] if uniform >> i & 1 else a for i, a in enumerate(values(rng, o, LANES))]
                together = function(o, *arguments(o, operands))
                for lane in range(LANES):
                    alone = [a if len(a) == 1 else a[lane : lane + 1] for a in operands]
                    expected = function(o, *arguments(o, alone))
                    made = together if len(together) == 1 else together[lane : lane + 1]
                    assert made.shape == expected.shape == (1, *o.results[0].type.shape), o.name  # type: ignore[attr-defined]  # a tile
                    assert made.dtype == expected.dtype == carrier(o.results[0].type.element), o.name  # type: ignore[attr-defined]  # a tile
                    assert made.tobytes() == expected.tobytes(), (o.name, uniform)


@pytest.mark.parametrize("cls", TILES, ids=lambda cls: cls.__name__)
def test_how_operands_lie_in_memory_does_not_matter(cls: type[Op]) -> None:
    """They may be views that cannot be written, in any order of dimensions."""
    rng = np.random.default_rng(3)
    function = RUNS[cls].function
    with np.errstate(all="ignore"):
        for o in OPERATIONS[cls][:25]:
            operands = values(rng, o, LANES)
            others = [np.asfortranarray(a) for a in operands]
            for a in others:
                a.flags.writeable = False
            expected, made = function(o, *arguments(o, operands)), function(o, *arguments(o, others))
            assert made.tobytes() == expected.tobytes(), o.name
