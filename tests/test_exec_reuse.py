"""Operations that may put their result into the memory of an operand give the same bits as without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilery import Op
from tilery.exec import load_operations
from tilery.exec.program import _alike
from tilery.exec.registry import RUNS
from tilery.exec.tiles import Array, carrier
from tilery.ir import walk
from tilery.smith import smith
from tilery.types import Ptr, Tile

load_operations()
REUSING = [cls for cls, run in RUNS.items() if run.reuses]
LANES = 3
MOST = 1 << 12


def found() -> dict[type[Op], list[Op]]:
    """Operations of random modules, with many types and attributes."""
    ops: dict[type[Op], list[Op]] = {cls: [] for cls in REUSING}
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
    """The operands with what the result may overwrite: each operand of its shape in turn, and memory of nobody."""
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
