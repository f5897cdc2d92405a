"""Programmatic dependent launches of Triton, taken for one execution with the launch before."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import tilery.triton  # noqa: E402
from tilery.sanitize import Sanitizer  # noqa: E402

gdc_wait: Any = getattr(tl.extra.cuda, "gdc_wait", None)


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def copy(x, y, WAITS: tl.constexpr, B: tl.constexpr):  # type: ignore[no-untyped-def]  # and would compile them
    i = tl.arange(0, B)
    if WAITS:
        gdc_wait()
    tl.store(y + i, tl.load(x + i))


@pytest.mark.skipif(gdc_wait is None, reason="this release of Triton does not wait for launches")
@pytest.mark.parametrize("waits", [False, True])
def test_a_dependent_launch_must_wait(waits: bool) -> None:
    found = Sanitizer("race", together=True)
    options: dict[str, Any] = {"WAITS": waits, "B": 16}
    with tilery.triton.on(sanitize=found):
        a, b, c = (torch.ones(16, device="cuda") for _ in range(3))
        copy[(1,)](a, b, WAITS=False, B=16)
        copy[(1,)](b, c, launch_pdl=True, **options)
    assert len(found.reports) == (not waits)
    assert all("launched at" in "\n".join(report.details) for report in found.reports)
