"""Kernels compiled for Arm have the bits of the reference engine, in an emulator, where there is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from engines.cpu.test_products import module
from support.contract import arguments, random_case
from support.emulated import Emulator, Skipped, is_installed
from tilery.engines.reference.launch import ReferenceLoaded

pytestmark = pytest.mark.skipif(not is_installed(), reason="no cross compiler and emulator for Arm")


@pytest.mark.parametrize("number", [1, 9])
def test_random_modules(number: int, tmp_path: Path) -> None:
    made, contract = random_case(number)
    emulator, ran = Emulator(tmp_path), 0
    for at, launch in enumerate(contract.launches):
        here, there = arguments(launch, at), arguments(launch, at)
        loaded = ReferenceLoaded(made)
        try:
            assert emulator.launch(loaded, launch.entry, launch.grid, there) is None
        except Skipped:
            continue
        expected = ReferenceLoaded(made)
        expected.kernel(launch.entry).launch(launch.grid, here, output=lambda _: None)
        arrays = [[a.tobytes() for a in args if isinstance(a, np.ndarray)] for args in (here, there)]
        assert arrays[0] == arrays[1]
        assert all(loaded.content(o.sym_name) == expected.content(o.sym_name) for o in made.globals)
        ran += 1
    assert ran


@pytest.mark.parametrize(("op", "t", "r"), [("mmaf", "f16", "f32"), ("mmai", "i8", "i32")])
def test_products(op: str, t: str, r: str, tmp_path: Path) -> None:
    made, args = module(op, t, r, 16, 32, 16, "0" if op == "mmai" else "0.0", 3, True)
    found, expected = args[-1].copy(), args[-1].copy()
    assert Emulator(tmp_path).launch(ReferenceLoaded(made), None, 1, [*args[:-1], found]) is None
    ReferenceLoaded(made).kernel(None).launch(1, [*args[:-1], expected])
    assert found.any()
    assert found.tobytes() == expected.tobytes()


def test_a_fault_names_the_operation(tmp_path: Path) -> None:
    made, args = module("mmaf", "f16", "f32", 16, 32, 16, "0.0", 3, False)
    short = args[0].ravel()[:-1]
    assert Emulator(tmp_path).launch(ReferenceLoaded(made), None, 1, [short, *args[1:]]) == "load_view_tko"
