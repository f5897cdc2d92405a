"""The page of bench/gpu_defaults.py: its ratios, and that what failed is on it; and the list of kernels."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_parts.defaults_page import Row, geomean, page
from gpu_parts.programs import read_list, stem


def variant(label: str, seconds: float, *roles: str, **more: Any) -> dict[str, Any]:
    facts = {
        "label": label,
        "engine": label.split()[0],
        "roles": list(roles),
        "file": "0.cubin",
        "first": "",
        "compile_seconds": 1.0,
    }
    return {**facts, "seconds": seconds, "ok": True, "reference": "", **more}


VARIANTS = [
    variant("triton", 0.004, "gpu", "triton"),
    variant("tileiras O3", 0.008, "as is"),
    variant("triton w8", 0.002, "chosen"),
    variant("triton w9", 0.001, ok=False, first="out: 3 bytes differ"),
    {
        "label": "triton w1",
        "engine": "triton",
        "roles": [],
        "compile_seconds": 0.1,
        "error": "@k needs more shared memory",
    },
]
CHOICE = {"label": "triton w8", "spent": 0.05, "times": {"triton": 0.004, "triton w8": 0.002}, "untouched": True}


def test_ratios() -> None:
    row = Row("a--b", True, VARIANTS, CHOICE, True)
    assert row.best["label"] == "triton w8" and row.ratio("gpu") == 0.5 and row.chosen == 1.0
    assert Row("a--b", True, VARIANTS, {"why": "it prints", "label": "triton"}, True).chosen == 0.5
    assert geomean([0.5, 2.0]) == pytest.approx(1.0)


def test_the_page_has_what_failed_too() -> None:
    listed = read_list()
    kernel = next(k["name"] for k in listed["kernels"] if k["name"].startswith("softmax-tma--"))
    facts = {
        "kernels": [{"name": kernel, "variants": VARIANTS, "choice": CHOICE, "reference": True, "spent": [1, 1, 1]}],
        "device": "Fake",
        "versions": {"triton": "3.6.0"},
        "failed": [["other", "it ended the process"]],
        "bad": [["other", "triton"]],
        "missing": ["third"],
        "peers": {"softmax tma": {"eager": 0.003, "compiled": 0.001}},
        "explained": {kernel: "it is a test"},
        "first": [{"name": kernel, "rules": 1.0, "measured": 2.0, "label": "triton w8", "differs": ""}],
    }
    text = page(facts)
    assert "| default / tuned, rules alone | 0.500 |  |" in text and "| first launch / tuned | 1.000 |  |" in text
    assert "| tuned / torch.compile, programs with a peer | 0.500 (1) |  |" in text
    assert "1 differ:" in text and f"* {kernel}, triton w9: out: 3 bytes differ" in text
    assert f"\n{kernel}: it is a test\n" in text and "1.00 s (median; 1.00 on average)" in text
    assert "* other: it ended the process" in text and "* third: not measured, the time was up" in text
    assert "Memory was as before the choice in 1 of 1." in text and "Geometric mean: 1.00 and 2.00." in text
    assert "1 variants of triton: needs more shared memory" in text


def test_the_list_holds_out_whole_families() -> None:
    listed = read_list()
    families = {stem(p): p["family"] for p in listed["programs"]}
    assert len({p["name"] for p in listed["programs"]}) == len(listed["programs"])
    for kernel in listed["kernels"]:
        assert kernel["held_out"] is (families[kernel["name"].split("--")[0]] in listed["held_out"])
    held = sum(k["held_out"] for k in listed["kernels"])
    assert len(listed["kernels"]) >= 150 and held >= 50 and 3 * held >= len(listed["kernels"])
