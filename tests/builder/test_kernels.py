"""Kernels of the example: built, assembled, run and compared, and accepted by NVIDIA's tools."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest

import build_kernels
import tilery
from support.oracle import ROOT, disassemble
from tilery import Module, TileError

KERNELS: list[Callable[[], Module]] = [build_kernels.matmul, build_kernels.softmax, build_kernels.total]
RNG = np.random.default_rng(7)


def reread(module: Module) -> Module:
    """The module by way of bytecode and of text, which must agree."""
    through = tilery.load(tilery.dumps(module))
    assert tilery.equal(tilery.parse(tilery.show(module)), through)
    return through


def test_matmul() -> None:
    m, n, k = 100, 90, 70
    lhs, rhs = (RNG.integers(-8, 8, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    out = np.full((m, n), np.nan, np.float32)
    tilery.compile(reread(build_kernels.matmul())).launch((2, 2), [lhs, rhs, out, m, n, k])
    np.testing.assert_array_equal(out, lhs.astype(np.float32) @ rhs.astype(np.float32))


def test_softmax() -> None:
    data = RNG.standard_normal((5, 256)).astype(np.float32)
    out = np.full_like(data, np.nan)
    tilery.compile(reread(build_kernels.softmax())).launch(5, [data, out, 5])
    e = np.exp(data.astype(np.float64) - data.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-6)


def test_total() -> None:
    data = RNG.integers(-100, 100, 1000).astype(np.float32)
    out = np.full(1, np.nan, np.float32)
    tilery.compile(reread(build_kernels.total())).launch(1, [data, out, 1000])
    assert out[0] == data.sum()


@pytest.mark.oracle
@pytest.mark.parametrize("make", KERNELS, ids=lambda make: make.__name__)
def test_nvidia_accepts_the_kernels(make: Callable[[], Module]) -> None:
    judged = disassemble(tilery.dumps(make()))
    assert (judged.returncode, judged.stderr) == (0, "")
    assert judged.stdout == tilery.show(make())


def test_a_matmul_takes_at_most_twenty_lines() -> None:
    assert len(inspect.getsource(build_kernels.matmul).splitlines()) <= 20


def test_the_guide_runs() -> None:
    """Every piece of code on the page, one after the other; its kernels are those of the example."""
    page = (ROOT / "docs" / "guides" / "build-a-kernel.md").read_text("utf-8")
    code = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    scope: dict[str, object] = {"TileError": TileError}
    for piece in code:
        exec(compile(piece, "build-a-kernel.md", "exec"), scope)
    assert len(code) >= 8
    for make in KERNELS:
        assert inspect.getsource(make).splitlines()[2:] == page_function(page, make.__name__)


def page_function(page: str, name: str) -> list[str]:
    """The body of a function on a page, without its docstring."""
    lines = page[page.index(f"def {name}(") :].splitlines()[1:]
    return lines[: next(i for i, line in enumerate(lines) if line.startswith("    return")) + 1]
