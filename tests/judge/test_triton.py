"""Candidates in Triton: torch tensors in, launches of Tile IR out."""

from __future__ import annotations

import pytest

from judge.kernels import problem, reference
from tilery.judge import Judge
from tilery.judge.results import ACCEPTED

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("triton", reason="needs Triton (pip install 'tilery[triton]')")

GOOD = """
import torch, triton
import triton.language as tl

@triton.jit
def double(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v + v, mask=i < n)

@triton.jit
def copy(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)

def run(x, out):
    kept = torch.empty_like(x)
    n = x.numel()
    double[(triton.cdiv(n, 16),)](x, kept, n, 16)
    copy[(triton.cdiv(n, 16),)](kept, out, n, 16)
"""
FAULTS = {
    "unwritten scratch": (GOOD.replace("    double[", "    0 and double["), "sanitize", "uninitialized"),
    "computes on the host": (GOOD[: GOOD.index("    kept =")] + "    out.copy_(x + x)\n", "compile", "compiler"),
    "wrong": (GOOD.replace("v + v", "v * v"), "compare", "wrong-result"),
}


def test_triton() -> None:
    with Judge(problem(), reference) as judge:
        good = judge.judge_source(GOOD, "good.py")
        assert good.verdict == ACCEPTED, good.reason
        for name, (source, stage, kind) in FAULTS.items():
            found = judge.judge_source(source, f"{name}.py")
            assert found.failed is not None, name
            assert (found.failed.stage, found.kind) == (stage, kind), (name, found.reason)
