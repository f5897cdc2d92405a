"""Variants are compiled on any executor, and here where it fails."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

import tilery
from tilery.engines.gpu.variants import Variant
from tilery.engines.tileiras.compiler import find_tool
from tilery.tuner.builds import Builds, Built, build_elsewhere

from .conftest import DOUBLE, build_as

VARIANTS = [Variant.of("tileiras", occupancy=n) for n in (1, 2)] + [Variant.of("tileiras", level=9)]
"""Two that compile, and one that does not."""


class Fragile(Executor):
    """Breaks at a number of tasks: their futures fail, or it refuses more."""

    def __init__(self, good: int, refuses: bool) -> None:
        self.good, self.refuses, self.submitted = good, refuses, 0

    def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
        assert function is build_elsewhere
        self.submitted += 1
        if self.refuses and self.submitted > self.good:
            raise BrokenExecutor("no workers")
        made: Future[Any] = Future()
        if self.submitted > self.good:
            made.set_exception(BrokenExecutor("a worker died"))
        else:
            _, _, variant, _, number = args
            made.set_result(Built(number, variant, None, "elsewhere"))
        return made


def compiled(builds: Builds, variants: list[Variant]) -> list[Built]:
    module = tilery.parse(DOUBLE)
    with builds:
        found = list(builds.all(module, module.entries[0], variants, "sm_100", float("inf"), 1))
    return sorted(found, key=lambda built: built.number)


@pytest.mark.parametrize("refuses", [False, True])
def test_what_an_executor_does_not_compile_is_compiled_here(refuses: bool) -> None:
    variants = [Variant.of("tileiras", occupancy=n) for n in (1, 2, 4, 8)]
    executor = Fragile(2, refuses)
    found = compiled(Builds(2, build=build_as({}), executor=executor), variants)
    assert [built.variant for built in found] == variants
    assert [built.error for built in found] == ["elsewhere", "elsewhere", "", ""]
    assert all(built.binary is not None for built in found[2:])
    assert executor.submitted == (3 if refuses else 4)


def test_processes_compile_the_same_code() -> None:
    try:
        find_tool()
    except tilery.TileError:
        pytest.skip("needs tileiras")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        elsewhere = compiled(Builds(2, executor=executor), VARIANTS)
    here = compiled(Builds(1), VARIANTS)
    assert [(built.number, built.binary, built.error) for built in elsewhere] == [
        (built.number, built.binary, built.error) for built in here
    ]
    assert here[0].binary is not None and here[2].error
