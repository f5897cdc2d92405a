"""The page of bench/gpu.py: its ratios, and that bad rows are on it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gpu_parts.export import read_rows
from gpu_parts.page import GLUON, columns, geomean, is_added, publish, ratios

LIMITS = {"copy": 4e12, "device": "Fake", "torch": "2.0"}


def variant(label: str, seconds: float, roles: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    timed = {"seconds": seconds, "least": seconds, "most": seconds, "final": True, "ok": True, "kept": True}
    return {"label": label, "engine": label.split()[0], "roles": list(roles), "compile_seconds": 1.0, **timed, **more}


def row(*variants: dict[str, Any]) -> dict[str, Any]:
    times = {"check_seconds": 1.0, "final_seconds": 2.0}
    facts = {"name": "copy", "shape": "8", "kernel": "k", "unit": "GB/s", "peak": "bytes", "work": 4e9}
    return {**facts, **times, "variants": list(variants)}


ROW = row(
    variant("triton", 0.004, ("gpu", "triton")),
    variant("triton w8", 0.002),
    variant("triton w9", 0.001, ok=False, error_size=0.5),
    variant("triton w1", 0.0015, kept=False),
    variant("tileiras O3", 0.006, ("as is",)),
    variant("torch copy", 0.003),
)


LOG = """== Add
anything
add, grid 4 1 1, 1024 1
variant  time
best: triton w2, 5.5 us on Fake
that is 3.84 times as fast as tileiras with the hints of the module
for the source:
@ct.kernel(occupancy=ct.ByTarget(sm_90=8))

spin: not tuned: its tile blocks may wait for each other
"""


def test_products_of_short_floats_are_compared_with_those_that_add_up_alike(tmp_path: Path) -> None:
    variants = (
        variant("triton", 0.002, ("gpu", "first"), error_size=1e-3),
        variant("torch _scaled_mm", 0.003),
        variant("torch _scaled_mm fast", 0.001),
    )
    first = {"label": "triton", "why": "", "times": {"triton": 0.002, "triton w8": 0.003}, "spent": 0.025}
    made = [
        {**row(*variants), "name": name, "unit": "TFLOP/s", "peak": "f8", "first": first}
        for name in ("gemm fp8", "gemm fp8 fast")
    ]
    run = {"rows": made, "limits": LIMITS, "bad": [], "missing": [], "cores": 2, "versions": {}}
    publish([json.loads(json.dumps(run))], tmp_path)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert "1.50 in f32, 0.50 fast" in text and "| gpu tuned / torch | 0.50 | 0.93 | 1 |" in text
    assert "In 2 of 2 rows, 2.0 candidates" in text and "in 25 ms" in text


def test_columns_and_ratios() -> None:
    cells = columns(ROW, LIMITS)
    assert cells["gpu tuned"] == cells["triton"] == 0.002 and cells["gpu default"] == 0.004
    assert cells["tileiras as is"] == cells["tileiras tuned"] == 0.006 and cells["limit"] == pytest.approx(0.001)
    assert ratios([cells], "gpu tuned", "torch") == [1.5]
    assert geomean([0.5, 2.0]) == pytest.approx(1.0)


def test_the_page_has_bad_rows_too(tmp_path: Path) -> None:
    run = {"rows": [ROW], "limits": LIMITS, "bad": [["k", "triton w7"]], "missing": ["other 9"], "cores": 2}
    publish([json.loads(json.dumps({**run, "versions": {}, "compile_seconds": 5.0}))], tmp_path, LOG)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert "| gpu tuned / tileiras as is | 3.00 | 2.3 | 1 |" in text
    assert "| copy | 8 | 2,000 | - | 1,000 | 2,000 | 667 | 667 | 1,333 | 4,000 | triton w8 |" in text
    assert "* k, triton w9: wrong results" in text and "* k, triton w7: it hung" in text
    assert "* other 9: not measured" in text and "| copy | 8 | 5 | 5 |" not in text
    assert "| 0.750 | triton w1 |" in text
    hints = "`@ct.kernel(occupancy=ct.ByTarget(sm_90=8))`"
    assert f"| Add | add | grid 4 1 1, 1024 1 | triton w2 | 5.5 us | 3.84 | {hints} |" in text
    assert "| Add | spin | | not tuned: its tile blocks may wait for each other | | | |" in text
    assert (tmp_path / "gpu.svg").read_text("utf-8").startswith("<svg")


def test_the_page_compares_a_warp_that_copies(tmp_path: Path) -> None:
    fed = variant("triton w4 s3 gluon2 p132", 0.001)
    held = {**row(*ROW["variants"], fed), "kernel": "bmm_f16", "name": "held"}
    rows = [row(*ROW["variants"], {**fed, "seconds": 0.004}), held]
    run = {"rows": rows, "limits": LIMITS, "bad": [], "missing": [], "cores": 2, "versions": {}}
    publish([run, {**run, "rows": [], "missing": ["held 8"]}], tmp_path)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert "| copy | 8 | open | 1,000 | 2,000 | 1,333 | triton w4 s3 gluon2 p132 |" in text
    assert "| held | 8 | held out | 4,000 | 2,000 | 1,333 | triton w4 s3 gluon2 p132 |" in text
    assert "| open | 1 | 0.500 | 1.000 | 1.500 |" in text and "| held out | 1 | 2.000 | 2.000 | 3.000 |" in text
    assert "* held 8: not measured" not in text and "* batched gemm 128x256x64 16x2048^3 f16: not measured" in text


def test_the_page_has_programs_of_others(tmp_path: Path) -> None:
    fed = variant("triton w4 s3 gluon2 p132", 0.001)
    wrong = {**fed, "label": "triton w8 s3 gluon1", "ok": False}
    name = "matmul-sample-bf16--matmul_kernel"
    kernel = {"name": name, "variants": [variant("triton", 0.002, ("triton",)), fed, wrong], "reference": True}
    run = {"rows": [ROW], "limits": LIMITS, "bad": [], "missing": [], "versions": {}}
    publish([run], tmp_path, programs=[{"kernels": [kernel]}])
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert f"| {name} | held out | 2.00 | yes | triton w4 s3 gluon2 p132 |" in text
    assert f"Geometric means: 2.00 (1 held out). Of 2 variants, 1 differ: {name}, triton w8 s3 gluon1." in text


def test_held_out_kernels_are_kernels_of_rows() -> None:
    drawn = tomllib.loads(GLUON.read_text("utf-8"))
    kernels, _ = read_rows()
    assert not set(drawn["held_out"]) & set(drawn["open"])
    assert set(drawn["held_out"]) | set(drawn["open"]) <= set(kernels)


def test_rows_name_kernels_that_exist() -> None:
    kernels, rows = read_rows()
    assert sum(not is_added(each) for each in rows) == 55 and {each["kernel"] for each in rows} == set(kernels)
    assert len({(each["name"], each["shape"]) for each in rows}) == len(rows)
