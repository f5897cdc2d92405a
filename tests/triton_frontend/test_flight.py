"""Programmatic dependent launches of Triton, taken for one execution with the launch before."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import tilery.triton  # noqa: E402
from tilery.sanitize import Sanitizer  # noqa: E402

gdc_wait: Any = getattr(tl.extra.cuda, "gdc_wait", None)
CAN_WAIT = gdc_wait is not None and "_semantic" in inspect.signature(gdc_wait).parameters
"""Triton 3.4 has a function that its own compiler cannot call."""


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def copy(x, y, WAITS: tl.constexpr, B: tl.constexpr):  # type: ignore[no-untyped-def]  # and would compile them
    i = tl.arange(0, B)
    if WAITS == "gdc_wait":
        gdc_wait()
    elif WAITS == "PTX":  # as in Triton before 3.9
        code: tl.constexpr = "griddepcontrol.wait; // dummy $0"
        tl.inline_asm_elementwise(code, "=r", [], dtype=tl.int32, is_pure=False, pack=1)
        code2: tl.constexpr = "griddepcontrol.launch_dependents; // dummy $0"
        tl.inline_asm_elementwise(code2, "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(y + i, tl.load(x + i))


@pytest.mark.parametrize("waits", ["", "PTX", "gdc_wait"])
def test_a_dependent_launch_must_wait(waits: str) -> None:
    if triton.__version__.startswith("3.3."):
        pytest.skip("this release of Triton has no dependent launches")
    if waits == "gdc_wait" and not CAN_WAIT:
        pytest.skip("this release of Triton has no gdc_wait that works")
    found = Sanitizer("race", together=True)
    options: dict[str, Any] = {"WAITS": waits, "B": 16}
    with tilery.triton.on(sanitize=found):
        a, b, c = (torch.ones(16, device="cuda") for _ in range(3))
        copy[(1,)](a, b, WAITS="", B=16)
        copy[(1,)](b, c, launch_pdl=True, **options)
    assert len(found.reports) == (not waits)
    assert all("launched at" in "\n".join(report.details) for report in found.reports)
