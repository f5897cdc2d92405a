"""Other machines for a launch: they may execute operations in their own way and choose what lies outside a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from tilery.builder import f32, ptr
from tilery.engines.reference.launch import load
from tilery.engines.reference.machine import Machine


def module() -> tilery.Module:
    b = tilery.Builder()
    with b.entry("k", p=ptr(f32), q=ptr(f32)) as p:
        x = b.load(b.view(p.p, (5,), tile=(8,), padding="neg_inf"), (0,))
        b.store(b.view(p.q, (8,), tile=(8,)), (0,), -x)
    return b.module


class Odd(Machine):
    """Pads with 7 whatever the view says, and counts operations instead of negating."""

    seen: list[str] = []

    def padding(self, view: Any) -> Any:
        return np.float32(7)

    def _execute(self, instruction: Any, batch: Any, args: list[Any]) -> Any:
        self.seen.append(instruction.op.name)
        return args[0] if instruction.op.name == "negf" else super()._execute(instruction, batch, args)


def test_a_launch_takes_a_machine_of_its_own() -> None:
    out = np.zeros(8, np.float32)
    load(module()).kernel().launch(1, [np.arange(5, dtype=np.float32), out], machine=Odd, threads=4)
    assert out.tolist() == [0, 1, 2, 3, 4, 7, 7, 7]
    assert "negf" in Odd.seen
    load(module()).kernel().launch(1, [np.arange(5, dtype=np.float32), out])
    assert out.tolist() == [0, -1, -2, -3, -4, np.inf, np.inf, np.inf]


def test_a_machine_and_a_sanitizer_exclude_each_other() -> None:
    with pytest.raises(tilery.TileError, match="exclude each other"):
        load(module()).kernel().launch(
            1, [np.zeros(5, np.float32), np.zeros(8, np.float32)], machine=Odd, sanitize="bounds"
        )
