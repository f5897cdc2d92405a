"""Compile, check and time variants of kernels: workers that compile, and one process that measures.

A worker writes machine code and what the reference engine computes; the measuring process takes kernels as they are
ready. It ends when a variant hangs or faults, and is started again without it.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import tilery
from tilery.engines.cuda.contract import LaunchContract
from tilery.engines.gpu.variants import COMPILERS, Variant, default_variant
from tilery.engines.work import Work, work_of
from tilery.tuner.search import AS_IS
from tilery.tuner.space import pruned_space

TARGET = "sm_90"
MOST = 6
"""The variants of each compiler that are tried, beside the defaults."""
BEST = 3
"""The variants that are timed in turn, beside the defaults."""
LIMIT = 3.0
"""Seconds after which a launch counts as hanging."""
REFERENCE_SECONDS = 6.0
SMALL = 2


def trial_variants(work: Work) -> tuple[dict[str, Variant], list[Variant]]:
    """Return the defaults by their role, and all variants to try."""
    roles = {"gpu": default_variant(work), "triton": Variant("triton"), "as is": AS_IS}
    tried = [v for engine in COMPILERS for v in pruned_space(work, TARGET, (engine,))[:MOST]]
    if work.products:
        tried.append(Variant.of("tileiras", level=3, occupancy=2))
    else:
        tried += [Variant.of("tileiras", level=3, occupancy=n) for n in (4, 8)]
    return roles, list(dict.fromkeys([*roles.values(), *tried]))


# ---------------------------------------------------------------- compiling


def build(job: tuple[str, str]) -> str:
    """Compile the variants of a kernel and compute what is right, in a process of a pool."""
    from tilery.tuner.builds import Builds

    from .repeat import Written, reference

    folder, name = Path(job[0]), job[1]
    place = folder / "built" / name
    place.mkdir(parents=True, exist_ok=True)
    written = Written.read(folder, name)
    roles, variants = trial_variants(work_of(written.entry))
    found = []
    with Builds(1) as builder:
        for number, variant in enumerate(variants):
            built = builder.one(written.module, written.entry, variant, TARGET, number)
            facts: dict[str, Any] = {**variant.as_dict(), "label": variant.label, "compile_seconds": built.seconds}
            facts["roles"] = [role for role, each in roles.items() if each == variant]
            if built.binary is None:
                facts["error"] = built.error
            else:
                (place / f"{number}.cubin").write_bytes(built.binary.image)
                facts |= {"file": f"{number}.cubin", "contract": built.binary.contract.as_dict()}
            found.append(facts)
    x, y, z = (min(n, SMALL) for n in written.shape.grid)
    try:
        wanted = reference(written, (x, y, z), REFERENCE_SECONDS)
    except tilery.TileError as error:
        wanted = None
        found[0]["reference_error"] = error.message
    (place / "reference").write_bytes(pickle.dumps(wanted))
    temporary = place / "variants.part"
    temporary.write_text(json.dumps(found), "utf-8")
    os.replace(temporary, place / "variants.json")
    return name


# ---------------------------------------------------------------- measuring


def say(kind: str, **facts: Any) -> None:
    """Write a line for the parent process."""
    sys.stdout.write(json.dumps({"kind": kind, **_clean(facts)}) + "\n")
    sys.stdout.flush()


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Case:
    """A kernel on the GPU, with its variants."""

    def __init__(self, folder: Path, name: str, bad: set[str]) -> None:
        from tilery.engines.cuda.driver import open_driver

        from .repeat import OnGpu, Written

        self.name, self.place, self.bad = name, folder / "built" / name, bad
        self.driver = open_driver()
        self.variants: list[dict[str, Any]] = json.loads((self.place / "variants.json").read_text("utf-8"))
        self.wanted = pickle.loads((self.place / "reference").read_bytes())
        self.written = Written.read(folder, name)
        self.on_gpu = OnGpu(self.written, self.driver)
        self.launches: dict[str, Any] = {}

    def check(self) -> None:
        """Run every variant, compare its results, and estimate its time."""
        from tilery.engines.cuda.launch import Binary

        seen: dict[bytes, dict[str, Any]] = {}
        for v in self.variants:
            if "file" not in v:
                continue
            image = (self.place / v["file"]).read_bytes()
            if v["engine"] in self.bad:
                v["error"] = "a variant of this compiler hung, or ended the process that ran it"
            elif image in seen:
                v["same_as"] = seen[image]["label"]
                seen[image]["roles"] += v["roles"]
            else:
                seen[image] = v
                say("try", name=self.name, label=v["label"])
                try:
                    self._attempt(v, Binary(image, LaunchContract.from_dict(v["contract"])))
                except tilery.TileError as error:
                    v["error"] = error.message
                    if any(word in error.message for word in ("did not finish", "CUDA_ERROR", "context")):
                        say("lost", name=self.name, label=v["label"], error=error.message)
                        sys.exit(3)
            v.pop("contract", None)

    def _attempt(self, v: dict[str, Any], binary: Any) -> None:
        from tilery.engines.cuda.timing import screened

        memory, best = self.on_gpu, min((t["seconds"] for t in self.variants if t.get("seconds")), default=None)
        if self.wanted is not None:
            x, y, z = (min(n, SMALL) for n in self.written.shape.grid)
            with memory.bind(binary, (x, y, z)) as bound:
                memory.reset()
                bound.run(LIMIT)
            v["reference"] = memory.against_reference(self.wanted)
        bound = memory.bind(binary, self.written.shape.grid)
        memory.reset()
        bound.run(LIMIT)
        v["first"] = memory.against_first()
        v["ok"] = not v["first"] and not v.get("reference")
        first = bound.run(LIMIT)
        v["seconds"] = first if best is not None and first > 20 * best else screened(self.driver, bound.launch)
        self.launches[v["label"]] = bound.launch

    def final(self, rounds: int) -> None:
        """Time the best variants and the defaults in turn."""
        from tilery.engines.cuda.timing import interleaved, median

        good = sorted((v for v in self.variants if v.get("ok")), key=lambda v: v["seconds"])
        chosen = [v for n, v in enumerate(good) if n < BEST or (v["roles"] and v["seconds"] < 10 * good[0]["seconds"])]
        launches = {v["label"]: (self.launches[v["label"]], v["seconds"]) for v in chosen}
        times = interleaved(self.driver, launches, rounds=rounds, beat=lambda: say("beat"))
        for v in chosen:
            v.update(seconds=median(times[v["label"]]), final=True)


def child(request: dict[str, Any]) -> None:
    """Measure kernels as they become ready, one line of JSON for each."""
    import torch

    from tilery.engines.cuda import timing

    timing.BLOCK_SECONDS = timing.HEAT_SECONDS = 0.01
    timing.SCREEN_SECONDS = 0.005
    folder, deadline = Path(request["folder"]), time.monotonic() + request["seconds"]
    left = list(request["names"])
    while left and time.monotonic() < deadline:
        ready = next((n for n in left if (folder / "built" / n / "variants.json").exists()), None)
        if ready is None:
            say("beat")
            time.sleep(0.2)
            continue
        left.remove(ready)
        started = time.monotonic()
        say("try", name=ready, label="")
        bad = {label.split()[0] for name, label in request["bad"] if name == ready and label}
        try:
            case = Case(folder, ready, bad)
            prepared = time.monotonic()
            case.check()
            checked = time.monotonic()
            case.final(request["rounds"])
        except torch.OutOfMemoryError as error:
            say("failed", name=ready, error=str(error)[:200])
            continue
        spent = [prepared - started, checked - prepared, time.monotonic() - checked]
        compared = case.wanted is not None
        say("kernel", result={"name": ready, "variants": case.variants, "reference": compared, "spent": spent})
        del case
        torch.cuda.empty_cache()
