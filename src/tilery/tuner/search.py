"""`tilery.tune`: try variants of a kernel on the GPU, and remember the best."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import Any

from ..diag import TileError
from ..engines.common.kernel import find_entry
from ..engines.common.launch import check_grid
from ..engines.cuda.timing import median
from ..engines.gpu.launch import this_machine
from ..engines.gpu.store import Platform, TunedVariant, VariantStore, kernel_digest, shape_class
from ..engines.gpu.variants import COMPILERS, Variant, default_variant, installed
from ..engines.recorded import Recorded, save
from ..engines.work import Work, work_of
from ..ops import Entry, Module
from ..rewrite.hints import with_hints
from ..verifier.explain import require_legal
from .builds import Build, Builds, Built
from .captured import capture_launch
from .session import expected
from .space import full_space, pruned_space
from .worker import TuningWorker, WorkerProcess

AS_IS = Variant.of("tileiras", level=3)
"""The compiler and options of NVIDIA's own stack."""
SMALL = 2
"""The extent of the grid whose results the reference engine computes."""
REFERENCE_SECONDS = 10.0
LIMIT_SECONDS = 5.0
"""How long a launch of a variant may take before it counts as hanging; less once others are known to be faster."""
SLACK_SECONDS = 10.0
"""How much longer than its launches the answer of a worker may take."""
DEFAULTS = 3
"""The variants that are tried however little time there is."""
FINALISTS = 4
ROUNDS = 5
ALL = "all"


class NotTunable(TileError):
    """A kernel that cannot be tuned, and why."""


@dataclass(slots=True)
class VariantTrial:
    """The outcome of a variant."""

    variant: Variant
    seconds: float | None = None
    """The time of one launch: the median of interleaved rounds, or an estimate if it was not among the best."""
    final: bool = False
    """Whether it took part in the interleaved rounds."""
    error: str = ""
    compile_seconds: float = 0.0
    same_as: Variant | None = None
    """An earlier variant with the same machine code, which was tried instead."""


@dataclass(slots=True, repr=False)
class Result:
    """The result of tuning."""

    best: Variant
    seconds: float
    trials: list[VariantTrial]
    machine: Platform
    shapes: str
    checked: str
    """The engine whose results those of all variants were compared with."""
    left_out: int = 0
    """Variants that were not tried: the model dropped them, or the time was up."""
    elapsed: float = 0.0
    record: TunedVariant | None = None
    module: Module | None = field(default=None, repr=False)
    """The module with the best hints for tileiras; None if tileiras was not tried."""
    hints: dict[str, int | bool] = field(default_factory=dict)

    def __repr__(self) -> str:
        best = f"{self.best.label}, {self.seconds * 1e6:.1f} us on {self.machine.device}"
        return f"<tuned: best is {best}, of {len(self.trials)} variants>"

    def _repr_html_(self) -> str:
        from .. import markup

        timed = sorted((t.seconds, t.variant.label) for t in self.trials if t.seconds is not None)
        failed = [(t.variant.label, t.error) for t in self.trials if t.seconds is None]
        picture = markup.bars([(label, seconds, f"{seconds * 1e6:.1f} us") for seconds, label in timed])
        rest = markup.table(["not measured", "why"], failed) if failed else ""
        return markup.line(repr(self)[1:-1], strong=True) + picture + rest

    def time_of(self, variant: Variant) -> float | None:
        """Return the time of a variant, or of one with the same code, if it was measured."""
        for trial in self.trials:
            if trial.variant == variant:
                return self.time_of(trial.same_as) if trial.same_as is not None else trial.seconds
        return None


def tune(
    module: Module,
    grid: int | Sequence[int],
    args: Sequence[Any] = (),
    *,
    entry: str | None = None,
    convention: str | None = None,
    names: Sequence[str] = (),
    buffers: Any = (),
    engine: str = ALL,
    budget: float = 30.0,
    full: bool = False,
    check_grid_extents: Sequence[int] | None = None,
    store: VariantStore | None = None,
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
    worker: TuningWorker | None = None,
    build: Build | None = None,
) -> Result:
    """Find the fastest variant of a kernel for a launch on this machine's GPU, and remember it.

    The arguments are those of `Kernel.launch`; they are copied, and stay as they are. `engine` is tileiras, triton or
    all; `budget` is in seconds; `full` tries every variant instead of those that a model finds promising. Results are
    compared with the reference engine's on a small grid (`check_grid_extents`), then with those of the first variant.
    `progress` is called with the number of variants that are done and of all. Kernels whose tile blocks wait for each
    other, and kernels with globals, are refused. An `executor` of `concurrent.futures` compiles the variants, for
    example on other machines. `worker` and `build` are for tests and for code compiled elsewhere.
    """
    require_legal(module, "only a legal module can be tuned")
    found = find_entry(module, entry)
    work = replace(_tunable(module, found), blocks=prod(check_grid(grid)))
    launch = capture_launch(module, found, check_grid(grid), args, convention=convention, names=names, buffers=buffers)
    engines = _engines(engine, build)
    run = worker or WorkerProcess()
    try:
        with tempfile.TemporaryDirectory(prefix="tilery") as folder, Builds(build=build, executor=executor) as builder:
            tuner = _Tuner(module, found, work, launch, run, Path(folder), time.monotonic() + budget)
            tuner.start(check_grid_extents)
            variants = _variants(work, tuner.machine.target, engines, full)
            tuner.search(builder, variants, progress)
            result = tuner.result(len(full_space(work, tuner.machine.target, engines)))
    finally:
        run.stop()
    if result.record is not None:
        (store or VariantStore()).add([result.record])
    return result


def _tunable(module: Module, entry: Entry) -> Work:
    work = work_of(entry)
    if work.waits:
        raise NotTunable(
            f"@{entry.sym_name} cannot be tuned: its tile blocks may wait for each other",
            notes=("whether such a kernel ends depends on how many tile blocks run at once, which variants change",),
        )
    if module.globals:
        raise NotTunable(
            f"@{entry.sym_name} cannot be tuned: the module has globals",
            notes=("a launch leaves them changed, so that variants cannot be compared",),
        )
    return work


def _engines(engine: str, build: Build | None) -> tuple[str, ...]:
    if engine != ALL and engine not in COMPILERS:
        raise TileError(f"engine must be {', '.join(COMPILERS)} or {ALL}, got '{engine}'")
    there = COMPILERS if build is not None else installed()
    wanted = tuple(name for name in there if engine in (ALL, name))
    if not wanted:
        default_variant(Work(), ())  # raises what to install
    return wanted


def _variants(work: Work, target: str, engines: tuple[str, ...], full: bool) -> list[Variant]:
    """The defaults first, so that everything is compared with them."""
    first = [default_variant(work, engines)]
    if "tileiras" in engines:
        first.append(AS_IS)
    if "triton" in engines:
        first.append(Variant("triton"))
    space = (full_space if full else pruned_space)(work, target, engines)
    return list(dict.fromkeys([*first, *space]))


class _Tuner:
    """The state of tuning one launch."""

    def __init__(
        self,
        module: Module,
        entry: Entry,
        work: Work,
        launch: Recorded,
        worker: TuningWorker,
        folder: Path,
        deadline: float,
    ) -> None:
        self.module, self.entry, self.work, self.launch = module, entry, work, launch
        self.worker, self.folder, self.deadline = worker, folder, deadline
        self.started = time.monotonic()
        self.machine = Platform("", "")
        self.checked = ""
        self.trials: dict[int, VariantTrial] = {}
        self.requests: dict[int, dict[str, Any]] = {}
        self.images: dict[bytes, int] = {}
        self.default = Variant("")

    def start(self, small: Sequence[int] | None) -> None:
        """Compute what is right, and start the worker."""
        save(self.folder / "launch.zip", self.launch, compress=False)
        x, y, z = check_grid(small) if small is not None else (min(n, SMALL) for n in self.launch.grid)
        wanted = expected(self.launch, (x, y, z), min(REFERENCE_SECONDS, max(1.0, self._left() / 2)))
        files = []
        for number, data in enumerate(wanted or ()):
            files.append(str(self.folder / f"wanted{number}"))
            Path(files[-1]).write_bytes(data)
        self.checked = "the first variant" if wanted is None else "the reference engine and the first variant"
        request = {"do": "start", "launch": str(self.folder / "launch.zip"), "small": (x, y, z)}
        answer = self.worker.ask({**request, "wanted": None if wanted is None else files}, LIMIT_SECONDS)
        if answer is None or "error" in answer:
            raise TileError(f"cannot measure on a GPU: {(answer or {}).get('error', 'the worker died')}")
        self.machine = this_machine(answer["device"], answer["target"], answer["driver"])

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    # ------------------------------------------------------------ searching

    def search(self, builder: Builds, variants: list[Variant], progress: Callable[[int, int], None] | None) -> None:
        """Compile, check and time variants, then the best of them in turn."""
        self.default = variants[0]
        reserve = min(8.0, 0.3 * self._left())  # for the rounds at the end
        total = len(variants) + 1
        until = self.deadline - reserve
        for built in builder.all(self.module, self.entry, variants, self.machine.target, until, DEFAULTS):
            self.trials[built.number] = trial = VariantTrial(built.variant, None, False, built.error, built.seconds)
            if built.binary is not None:
                self._attempt(built, trial)
            if progress is not None:
                progress(len(self.trials), total)
        self._final()
        if progress is not None:
            progress(total, total)

    def _attempt(self, built: Built, trial: VariantTrial) -> None:
        assert built.binary is not None
        if (twin := self.images.get(built.binary.image)) is not None:
            trial.same_as = self.trials[twin].variant
            trial.error = f"the same code as {trial.same_as.label}"
            return
        self.images[built.binary.image] = built.number
        path = self.folder / f"image{built.number}"
        path.write_bytes(built.binary.image)
        request = {"number": built.number, "image": str(path), "contract": built.binary.contract.as_dict()}
        self.requests[built.number] = request
        limit = self._limit()
        answer = self.worker.ask({"do": "try", **request, "limit": limit}, 20 * limit + SLACK_SECONDS)
        if answer is None:
            trial.error = "it hung, or ended the process that ran it"
        elif "error" in answer:
            trial.error = answer["error"]
        else:
            trial.seconds = answer["seconds"]

    def _limit(self) -> float:
        best = min((t.seconds for t in self.trials.values() if t.seconds is not None), default=None)
        return LIMIT_SECONDS if best is None else min(LIMIT_SECONDS, max(0.5, 50 * best))

    def _final(self) -> None:
        """Time the best variants, and the defaults, in turn."""
        timed = {n: t for n, t in self.trials.items() if t.seconds is not None}
        ranked = sorted(timed, key=lambda n: timed[n].seconds or 0.0)
        chosen = ranked[:FINALISTS]
        chosen += [n for n, t in timed.items() if t.variant in (self.default, AS_IS) and n not in chosen]
        chosen += [n for n in ranked if timed[n].variant.engine == "tileiras" and n not in chosen][:1]
        while chosen:
            variants = [{**self.requests[n], "seconds": timed[n].seconds} for n in chosen]
            answer = self.worker.ask(
                {"do": "rounds", "variants": variants, "rounds": ROUNDS}, LIMIT_SECONDS + SLACK_SECONDS
            )
            if answer is not None and "error" not in answer:
                for number, times in answer["times"].items():
                    timed[int(number)].seconds, timed[int(number)].final = median(times), True
                return
            failed = chosen.pop()  # it is not known which one it was: go on with fewer
            timed[failed].error = "it, or a variant beside it, failed while variants were timed in turn"

    # ------------------------------------------------------------ the answer

    def result(self, size: int) -> Result:
        """Return what was found; raise TileError if nothing worked."""
        final = [t for t in self.trials.values() if t.final and t.seconds is not None]
        final = final or [t for t in self.trials.values() if t.seconds is not None and not t.error]
        if not final:
            errors = tuple(dict.fromkeys(f"{t.variant.label}: {t.error}" for t in self.trials.values()))[:5]
            raise TileError(f"no variant of @{self.entry.sym_name} worked", notes=errors)
        best = min(final, key=lambda t: t.seconds or 0.0)
        assert best.seconds is not None
        trials = [self.trials[n] for n in sorted(self.trials)]
        made = Result(best.variant, best.seconds, trials, self.machine, self._shapes(), self.checked)
        made.left_out = max(0, size - len(trials))
        made.elapsed = time.monotonic() - self.started
        made.record = self._record(made)
        hinted = [t for t in trials if t.variant.engine == "tileiras" and t.seconds is not None]
        if hinted:
            winner = min(hinted, key=lambda t: (not t.final, t.seconds or 0.0))
            made.hints = {k: v for k, v in winner.variant.options if k != "level" and not isinstance(v, str)}
            made.module = with_hints(self.module, self.machine.target, made.hints)
        return made

    def _shapes(self) -> str:
        from ..engines.common.launch import Launch

        placed = self.launch.place()
        launch = Launch(self.entry, self.launch.grid, placed.arguments, buffers=placed.buffers)
        return shape_class(launch.grid, self.entry.function_type.params, launch.bound.slots)

    def _record(self, made: Result) -> TunedVariant:
        return TunedVariant(
            kernel=kernel_digest(self.module, self.entry.sym_name),
            entry=self.entry.sym_name,
            shapes=made.shapes,
            machine=self.machine,
            variant=made.best,
            seconds=made.seconds,
            default_seconds=made.time_of(self.default) or 0.0,
            tried=len(made.trials),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            checked=self.checked,
        )
