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
from tilery.engines.gpu.variants import COMPILERS, Variant, candidate_variants, default_variant
from tilery.engines.work import Work
from tilery.tuner.search import AS_IS
from tilery.tuner.space import pruned_space

TARGET = "sm_90"
BEST = 3
"""The variants that are timed in turn, beside the defaults."""
LIMIT = 3.0
"""Seconds after which a launch counts as hanging."""
REFERENCE_SECONDS = 6.0
SMALL = 2


def trial_variants(work: Work, most: int) -> tuple[dict[str, Variant], list[Variant]]:
    """Return the defaults by their role, and all variants to try: those of the first launch, and the model's best."""
    roles = {"gpu": default_variant(work), "triton": Variant("triton"), "as is": AS_IS}
    tried = [v for engine in COMPILERS for v in pruned_space(work, TARGET, (engine,))[:most]]
    return roles, list(dict.fromkeys([*roles.values(), *candidate_variants(work), *tried]))


# ---------------------------------------------------------------- compiling


def build(job: tuple[str, str, int]) -> str:
    """Compile the variants of a kernel and compute what is right, in a process of a pool."""
    from tilery.tuner.builds import Builds

    from .repeat import Written, reference

    folder, name = Path(job[0]), job[1]
    place = folder / "built" / name
    place.mkdir(parents=True, exist_ok=True)
    written = Written.read(folder, name)
    roles, variants = trial_variants(written.work, job[2])
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
                seen[image]["roles"] += v.pop("roles")
                v["roles"] = []
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

    def choose(self) -> dict[str, Any]:
        """Choose as a first launch does, among code that has been compiled."""
        from tilery.engines.cuda.launch import Binary
        from tilery.engines.gpu.first import reason_against, time_candidates

        work = self.written.work
        wanted = list(dict.fromkeys([default_variant(work), *candidate_variants(work)]))
        by_label = {v["label"]: v for v in self.variants if "file" in v}
        launch = self.on_gpu.launch()
        if why := reason_against(self.written.entry, work, launch):
            return {"why": why, "label": wanted[0].label}
        images: dict[bytes, tuple[Variant, Binary]] = {}
        for variant in wanted:
            if (v := by_label.get(variant.label)) is not None and v["engine"] not in self.bad:
                image = (self.place / v["file"]).read_bytes()
                images.setdefault(image, (variant, Binary(image, LaunchContract.from_dict(v["contract"]))))
        self.on_gpu.reset()
        say("try", name=self.name, label="")
        started = time.monotonic()
        timed = time_candidates(self.driver, self.written.module, self.written.entry, launch, list(images.values()))
        spent = time.monotonic() - started
        if timed is None:
            return {"why": "a launch takes long", "label": wanted[0].label}
        label = timed.variants[timed.best].label
        label = by_label[label].get("same_as", label)
        times = {variant.label: seconds for variant, seconds in zip(timed.variants, timed.seconds)}
        untouched = self.on_gpu.is_reset()
        for v in self.variants:
            if v["label"] == label:
                v["roles"].append("chosen")
        return {"label": label, "spent": spent, "times": times, "untouched": untouched}

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
    say("device", name=torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU")
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
            choice = case.choose()
            checked = time.monotonic()
            case.final(request["rounds"])
        except torch.OutOfMemoryError as error:
            say("failed", name=ready, error=str(error)[:200])
            continue
        spent = [prepared - started, checked - prepared, time.monotonic() - checked]
        for v in case.variants:
            v.pop("contract", None)
        compared = case.wanted is not None
        facts = {"name": ready, "variants": case.variants, "reference": compared, "choice": choice, "spent": spent}
        say("kernel", result=facts)
        del case
        torch.cuda.empty_cache()
    for name in request.get("first", ()):
        if time.monotonic() < deadline:
            say("first", result=first_launch(folder, name))


def first_launch(folder: Path, name: str) -> dict[str, Any]:
    """Return the seconds from a module to the result of its first launch, by the rules and with a choice."""
    import torch

    from tilery.engines.cuda.driver import open_driver
    from tilery.engines.gpu.launch import GpuLoaded
    from tilery.engines.gpu.store import VariantStore

    from .repeat import OnGpu, Written

    found: dict[str, Any] = {"name": name}
    os.environ["TILERY_CACHE_DIR"] = ""
    memory = OnGpu(Written.read(folder, name), open_driver())
    launch = memory.launch()
    for choice in ("rules", "measured"):
        stop_compilers()
        memory.reset()
        say("try", name=name, label="")
        started = time.monotonic()
        module = tilery.load(str(folder / f"{name}.tileirbc"))
        kernel = GpuLoaded(module, choice=choice, store=VariantStore(None)).kernel()
        kernel.launch(launch.grid, launch.args, buffers=launch.buffers)
        torch.cuda.synchronize()
        found[choice] = time.monotonic() - started
        found["differs"] = memory.against_first()
    assert kernel.choice is not None
    return {**found, "label": kernel.choice[0].label}


def stop_compilers() -> None:
    """End the processes that compile, so that the next kernel starts them again."""
    from tilery.engines.gpu import first
    from tilery.engines.triton import compiler

    compiler._COMPILER.stop()
    while not first._COMPILERS.empty():
        first._COMPILERS.get().stop()
