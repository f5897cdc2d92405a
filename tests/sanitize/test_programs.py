"""Programs of cuTile under the sanitizer: memory that they allocate without a value, and what they read."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")

from tilery.cutile import on  # noqa: E402  # cuTile may be missing
from tilery.sanitize import Faults, Sanitizer  # noqa: E402


@ct.kernel  # type: ignore[untyped-decorator]  # cuTile may be missing
def copy(x: Any, y: Any) -> None:
    tile = ct.load(x, index=(ct.bid(0),), shape=(16,))
    ct.store(y, index=(ct.bid(0),), tile=tile)


@pytest.fixture
def found() -> Iterator[Sanitizer]:
    sanitizer = Sanitizer("uninit,unwritten")
    with on(sanitize=sanitizer):
        yield sanitizer


def faults(found: Sanitizer) -> list[tuple[str, str]]:
    return [(report.check, report.rule) for report in found.reports.faults]


def empty_of(kind: str) -> Any:
    if kind == "torch":
        return torch.empty(32, device="cuda")
    if kind == "numpy":
        return np.empty(32, np.float32)
    return import_module("cupy").empty(32, np.float32)


@pytest.mark.parametrize("kind", ["torch", "numpy", "cupy"])
def test_what_is_allocated_without_a_value_is_undefined(found: Sanitizer, kind: str) -> None:
    x, y = empty_of(kind), np.zeros(32, np.float32)
    x[:16] = 1
    ct.launch(0, (2,), copy, (x, y))
    (report,) = found.reports
    assert report.count == 16 and not report.hint
    assert "which reads x where it was not written" in report.places[1].note


def test_what_the_program_slices_off_is_a_hint(found: Sanitizer) -> None:
    x, y = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda")
    ct.launch(0, (2,), copy, (x, y))
    assert float(y[:20].sum()) == 20
    (report,) = found.reports
    assert report.hint and report.count == 12
    y.sum()
    assert not report.hint and "read by the program" in report.rule
    assert report.notes[-1].startswith(f"the program reads it at {__file__}:")


def test_a_copy_is_as_undefined_as_its_source(found: Sanitizer) -> None:
    x, y = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda")
    ct.launch(0, (2,), copy, (x, y))
    host = y.cpu().to(torch.float64)
    assert float(host[:20].sum()) == 20 and faults(found) == []
    host[19:].max()
    assert len(faults(found)) == 1


def test_what_the_program_writes_is_defined(found: Sanitizer) -> None:
    x, y = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda")
    ct.launch(0, (2,), copy, (x, y))
    y[20:] = 0
    y.sum()
    assert faults(found) == []


def test_another_kernel_reads_what_was_stored(found: Sanitizer) -> None:
    x, y, z = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda"), np.zeros(32, np.float32)
    ct.launch(0, (2,), copy, (x, y))
    ct.launch(0, (2,), copy, (y, z))
    (report,) = found.reports.faults
    notes = [place.note for place in report.places[1:]]
    assert "which reads x where it is undefined" in notes[0] and notes[1] == "it was stored by store_view_tko"


def test_an_output_that_no_tile_block_wrote(found: Sanitizer) -> None:
    x, y = torch.ones(48, device="cuda"), torch.empty(48, device="cuda")
    ct.launch(0, (2,), copy, (x, y))
    y[:32].sum()
    assert faults(found) == []
    y.sum()
    (report,) = found.reports.faults
    assert report.check == "unwritten" and report.values["the first one"] == "[32]"


def test_memory_that_is_used_again_is_new(found: Sanitizer) -> None:
    y = np.zeros(32, np.float32)
    for _ in range(20):
        torch.empty(32, device="cuda")
        ct.launch(0, (2,), copy, (torch.ones(32, device="cuda"), y))
    assert faults(found) == []


def test_a_read_raises_in_a_test() -> None:
    with on(sanitize="all"):
        x, y = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda")
        ct.launch(0, (2,), copy, (x, y))
        with pytest.raises(Faults, match="read by the program"):
            y.sum()


def test_gradients_stay_on_the_gpu(found: Sanitizer) -> None:
    """Torch makes their memory itself, and the sanitizer sees it."""
    x = torch.ones(4, 8, device="cuda", requires_grad=True)
    w = torch.ones(8, device="cuda", requires_grad=True)
    y = torch.nn.functional.layer_norm(x, (8,), w)
    y.backward(torch.ones_like(y))
    assert [str(each.device) for each in (x.grad, w.grad)] == ["cuda:0", "cuda:0"]
