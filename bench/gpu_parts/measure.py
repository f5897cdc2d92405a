"""Measure rows of `gpu_rows.toml` in a process of its own: check all variants of a row, then time the best in turn."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import tilery
from tilery.engines.common.launch import Launch
from tilery.engines.cuda.contract import LaunchContract
from tilery.engines.cuda.driver import open_driver
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded, Prebuilt
from tilery.engines.cuda.timing import elapsed, interleaved, median, screened
from tilery.engines.gpu.first import reason_against, time_candidates
from tilery.engines.gpu.variants import Variant, candidate_variants, default_variant
from tilery.engines.work import work_of

from .cases import GPU, Case, make

BEST = 4
"""The variants of each compiler that are timed in turn."""
LIMIT = 5.0
"""Seconds after which a launch counts as hanging."""


def say(kind: str, **facts: Any) -> None:
    """Write a line for the parent process."""
    sys.stdout.write(json.dumps({"kind": kind, **facts}) + "\n")
    sys.stdout.flush()


class Row:
    """A row on the GPU."""

    def __init__(self, row: dict[str, Any], kernels: Path, bad: set[str]) -> None:
        self.row, self.folder, self.bad = row, kernels / "built" / row["kernel"], bad
        self.module = tilery.load(str(kernels / f"{row['kernel']}.tileirbc"))
        self.entry = self.module.entries[0]
        self.variants: list[dict[str, Any]] = json.loads((self.folder / "variants.json").read_text("utf-8"))
        self.driver = open_driver()
        self.case: Case = make(row)
        bounds = sorted({most for v in self.variants for most in v["default_up_to"]})
        bound = next(most for most in bounds if math.prod(self.case.grid) <= most)
        for v in self.variants:
            if bound in v.pop("default_up_to"):
                v["roles"].append("gpu")
        self.launches: dict[str, Any] = {}
        self.kept: list[Any] = []

    def check(self) -> None:
        """Load every variant, compare its results with torch's, and estimate its time."""
        seen: dict[bytes, dict[str, Any]] = {}
        for v in self.variants:
            if "file" not in v:
                continue
            if v["label"] in self.bad:
                v["error"] = "it hung, or ended the process that ran it"
                continue
            image = (self.folder / v["file"]).read_bytes()
            if image in seen:
                twin = seen[image]
                v["same_as"] = twin["label"]
                twin["roles"] += v["roles"]
                twin["kept"] |= v["kept"]
                continue
            seen[image] = v
            say("try", row=self.row["name"], shape=self.row["shape"], kernel=self.row["kernel"], label=v["label"])
            try:
                self._attempt(v, Binary(image, LaunchContract.from_dict(v["contract"])))
            except tilery.TileError as error:
                v["error"] = error.message
                if any(word in error.message for word in ("did not finish", "CUDA_ERROR", "context")):
                    say("lost", label=v["label"], error=error.message)
                    sys.exit(3)

    def _attempt(self, v: dict[str, Any], binary: Binary) -> None:
        kernel = CudaKernel(CudaLoaded(self.module, Prebuilt(binary), self.driver), self.entry)
        bound = kernel.bind(self.case.grid, self.case.passed(), convention="cutile")
        self.kept += [kernel, bound]
        for out in self.case.outs:
            out.fill_(self.case.start)
        torch.cuda.synchronize()
        bound.run(LIMIT)
        v["error_size"] = self.case.error()
        v["ok"] = v["error_size"] <= self.case.tolerance
        v["seconds"] = screened(self.driver, bound.launch, limit=LIMIT)
        self.launches[v["label"]] = bound.launch

    def choose(self) -> dict[str, Any]:
        """Choose as a first launch does, among code that has been compiled; return how."""
        launch = Launch(self.entry, self.case.grid, self.case.passed(), convention="cutile")
        work = replace(work_of(self.entry), blocks=launch.blocks)
        wanted = list(dict.fromkeys([default_variant(work), *candidate_variants(work)]))
        label, why, times = wanted[0].label, reason_against(self.entry, work, launch), dict[str, float]()
        by_label = {v["label"]: v for v in self.variants if "file" in v and v["label"] not in self.bad}
        started = time.monotonic()
        if not why:
            images: dict[bytes, tuple[Variant, Binary]] = {}
            for variant in wanted:
                if (v := by_label.get(variant.label)) is not None:
                    image = (self.folder / v["file"]).read_bytes()
                    images.setdefault(image, (variant, Binary(image, LaunchContract.from_dict(v["contract"]))))
            say("try", row=self.row["name"], shape=self.row["shape"], kernel=self.row["kernel"], label="first launch")
            timed = time_candidates(self.driver, self.module, self.entry, launch, list(images.values()))
            if timed is None:
                why = "a launch takes too long, or memory does not suffice"
            else:
                label = timed.variants[timed.best].label
                times = {variant.label: seconds for variant, seconds in zip(timed.variants, timed.seconds)}
        taken = by_label.get(label)
        if taken is not None:
            by_label.get(taken.get("same_as", label), taken)["roles"].append("first")
        return {"label": label, "why": why, "times": times, "spent": time.monotonic() - started}

    def peers(self) -> list[dict[str, Any]]:
        """Torch's ways to do the same."""
        torch.backends.cuda.matmul.allow_tf32 = self.case.tf32
        found = []
        for name, function in self.case.torch.items():
            peer: dict[str, Any] = {"engine": "torch", "label": f"torch {name}"}
            found.append(peer)
            try:
                function()
                torch.cuda.synchronize()
                peer["seconds"] = screened(self.driver, function, limit=LIMIT)
                peer["ok"] = True
                self.launches[peer["label"]] = function
            except Exception as error:  # torch raises what it likes
                peer["error"] = str(error)[:200]
        return found

    def final(self, everybody: list[dict[str, Any]], rounds: int) -> None:
        """Time the best variants of each compiler, and the defaults, in turn."""
        chosen = []
        for engine in ("triton", "tileiras", "torch"):
            good = sorted((v for v in everybody if v["engine"] == engine and v.get("ok")), key=lambda v: v["seconds"])
            kept = [v for v in good if v.get("kept", True)]
            chosen += [v for v in good if v in good[:BEST] or v in kept[:BEST] or v.get("roles")]
        by_label = {v["label"]: v for v in chosen}
        launches = {label: (self.launches[label], v["seconds"]) for label, v in by_label.items()}
        for label, times in interleaved(self.driver, launches, rounds=rounds, beat=lambda: say("beat")).items():
            by_label[label].update(seconds=median(times), least=min(times), most=max(times), final=True)


def measure(row: dict[str, Any], kernels: Path, bad: set[str], rounds: int) -> dict[str, Any]:
    """Measure a row and return what the report needs."""
    started = time.monotonic()
    made = Row(row, kernels, bad)
    prepared = time.monotonic()
    made.check()
    choice = made.choose()
    checked = time.monotonic()
    peers = made.peers()
    everybody = made.variants + peers
    made.final(everybody, rounds)
    for v in everybody:
        v.pop("contract", None)
    case = made.case
    return {
        **{name: row[name] for name in ("name", "shape", "kernel")},
        "unit": "TFLOP/s" if case.by_flops else "GB/s",
        "work": case.work(),
        "peak": case.peak if case.by_flops else "bytes",
        "variants": everybody,
        "first": choice,
        "prepare_seconds": prepared - started,
        "check_seconds": checked - prepared,
        "final_seconds": time.monotonic() - checked,
    }


def copy_limit() -> float:
    """Bytes per second of a large copy on the device."""
    driver = open_driver()
    x = torch.empty(1 << 30, dtype=torch.uint8, device=GPU)
    y = torch.empty_like(x)
    size: int = x.numel()
    return 2 * size / min(elapsed(driver, lambda: y.copy_(x), 10) for _ in range(5))


def child(request: dict[str, Any]) -> None:
    """Measure rows until the time is up, one line of JSON per row."""
    kernels, deadline = Path(request["kernels"]), time.monotonic() + request["seconds"]
    torch.manual_seed(1)
    if request["limits"]:
        say("limits", copy=copy_limit(), device=torch.cuda.get_device_name(), torch=torch.__version__)
    for row in request["rows"]:
        if time.monotonic() > deadline:
            say("late", row=row["name"], shape=row["shape"])
            return
        bad = {label for kernel, label in request["bad"] if kernel == row["kernel"]}
        try:
            say("row", result=_clean(measure(row, kernels, bad, request["rounds"])))
        except torch.OutOfMemoryError as error:
            say("failed", row=row["name"], shape=row["shape"], error=str(error)[:200])
        torch.cuda.empty_cache()


def _clean(value: Any) -> Any:
    """Replace what JSON cannot hold."""
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
