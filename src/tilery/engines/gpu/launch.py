"""`engine="gpu"`: the variant remembered for a kernel and its shapes, the fastest of a few, or that of rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from ...diag import TileError
from ...ops import Entry, Module
from ..common.arguments import Buffers
from ..common.kernel import Kernel, find_entry, refuse_options
from ..common.launch import Launch
from ..common.limits import Stats
from ..cuda.driver import Driver, Handle, open_driver
from ..cuda.launch import BoundLaunch, CudaKernel, CudaLoaded
from ..work import Work, work_of
from .first import compile_all, reason_against, time_candidates
from .store import Platform, TunedVariant, VariantStore, kernel_digest, shape_class
from .variants import Variant, VariantCompiler, candidate_variants, default_variant, installed

OPTIONS = ("variant", "choice")
MEASURED, RULES = "measured", "rules"
"""How a variant is chosen if none is remembered: the first launch times a few, or rules decide."""
VARIABLE = "TILERY_GPU_CHOICE"
"""The environment variable with the choice, if the option does not say it."""


def load(module: Module, **options: Any) -> GpuLoaded:
    """Load a module on the first GPU.

    The option `variant` fixes how its kernels are compiled. `choice` is "measured" or "rules", by default what the
    environment variable TILERY_GPU_CHOICE says, or else "measured".
    """
    refuse_options("gpu", options, OPTIONS)
    return GpuLoaded(module, options.get("variant"), choice=options.get("choice"))


def checked_choice(choice: str | None) -> str:
    """Return how variants are chosen."""
    found = os.environ.get(VARIABLE) or MEASURED if choice is None else choice
    if found not in (MEASURED, RULES):
        where = f"the environment variable {VARIABLE}" if choice is None else "choice"
        raise TileError(f"{where} must be '{MEASURED}' or '{RULES}', got {found!r}")
    return found


@dataclass(frozen=True, slots=True)
class Choice:
    """A variant, and in words where it is from."""

    variant: Variant
    why: str
    by_rules: bool = False


@cache
def compiler_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the compilers that are installed."""
    from ..tileiras.compiler import find_tool, tool_version
    from ..triton.versions import installed as dialect

    found = {}
    for name in installed():
        found[name] = dialect().version if name == "triton" else tool_version(find_tool())
    return tuple(sorted(found.items()))


def this_machine(device: str, target: str, driver: str) -> Platform:
    """Return what records of this machine say about it."""
    return Platform(device, target, driver, compiler_versions())


class GpuLoaded:
    """A module on a GPU. Each variant that a launch needs is compiled once.

    Kernels of a module with globals all have the variant of the rules, so that they share the globals.
    """

    def __init__(
        self,
        module: Module,
        variant: Variant | None = None,
        *,
        choice: str | None = None,
        driver: Driver | None = None,
        store: VariantStore | None = None,
    ) -> None:
        self.module, self.variant, self.choice = module, variant, checked_choice(choice)
        self.driver = driver or open_driver()
        self.store = store or VariantStore()
        self._loaded: dict[Variant, CudaLoaded] = {}
        self._shared: Variant | None = None

    def kernel(self, entry: str | None = None) -> GpuKernel:
        """Return the kernel of that name, or the only one."""
        return GpuKernel(self, find_entry(self.module, entry))

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now."""
        return self._with(self._for_globals()).content(name)

    def compiled(self, entry: Entry, variant: Variant) -> CudaKernel:
        """Return a kernel compiled as a variant says."""
        return self._with(variant).kernel(entry.sym_name)

    def choose(self, work: Work, digest: str, shapes: str) -> Choice:
        """Choose the variant for a launch without measuring."""
        if self.variant is not None:
            return Choice(self.variant, "given")
        if self.module.globals:
            return Choice(self._for_globals(), "the rules: the module has globals")
        record, why = self.store.find(digest, shapes, self.machine)
        if record is not None:
            return Choice(record.variant, f"remembered from {record.date}")
        return Choice(default_variant(work, installed()), f"the rules: {why}", by_rules=True)

    @property
    def machine(self) -> Platform:
        """The machine, as records name it."""
        major, minor = self.driver.version
        return this_machine(self.driver.name, self.driver.target, f"{major}.{minor}")

    def _for_globals(self) -> Variant:
        if self._shared is None:
            entries = self.module.entries
            # The other kernels of the module may have no loops that a warp could feed.
            work = replace(work_of(entries[0]), feedable=False) if entries else Work()
            self._shared = default_variant(work, installed()) if entries else Variant("triton")
        return self._shared

    def _with(self, variant: Variant) -> CudaLoaded:
        if variant not in self._loaded:
            self._loaded[variant] = CudaLoaded(self.module, VariantCompiler(variant), self.driver)
        return self._loaded[variant]

    def __reduce__(self) -> tuple[Any, ...]:
        contents = {o.sym_name: self.content(o.sym_name) for o in self.module.globals}
        return _load_with, (self.module, self.variant, self.choice, contents)


def _load_with(module: Module, variant: Variant | None, choice: str, contents: dict[str, bytes]) -> GpuLoaded:
    loaded = GpuLoaded(module, variant, choice=choice)
    for name, content in contents.items():
        loaded._with(loaded._for_globals()).write(name, content)
    return loaded


class GpuKernel(Kernel):
    """An entry of a module on a GPU, compiled when it is launched, once for each variant that its launches need."""

    engine = "gpu"
    loaded: GpuLoaded

    def __init__(self, loaded: GpuLoaded, entry: Entry) -> None:
        super().__init__(loaded, entry)
        self._digest = kernel_digest(loaded.module, entry.sym_name)
        self._chosen: dict[str, tuple[CudaKernel, Choice]] = {}
        self._timed: set[str] = set()
        self.choice: tuple[Variant, str] | None = None
        """The variant of the last launch, and where it is from."""

    def _choose(self, launch: Launch, *, measure: bool) -> CudaKernel:
        """Return the compiled kernel for a launch; `measure` allows to launch it on copies of its memory."""
        shapes = shape_class(launch.grid, self.params, launch.bound.slots)
        if shapes not in self._chosen or (measure and self._chosen[shapes][1].by_rules and shapes not in self._timed):
            work = replace(work_of(self.entry), blocks=launch.blocks)
            choice = self.loaded.choose(work, self._digest, shapes)
            found = self._fastest(launch, work, shapes, choice) if measure and choice.by_rules else None
            self._chosen[shapes] = found or self._compiled(work, choice)
        kernel, choice = self._chosen[shapes]
        self.choice = choice.variant, choice.why
        return kernel

    def _fastest(self, launch: Launch, work: Work, shapes: str, choice: Choice) -> tuple[CudaKernel, Choice] | None:
        """Time candidates and remember the fastest; None if the rules have to do."""
        self._timed.add(shapes)
        loaded = self.loaded
        if loaded.choice == RULES or launch.is_watched or reason_against(self.entry, work, launch):
            return None
        candidates = [choice.variant, *candidate_variants(work, installed())]
        built = compile_all(loaded.module, self.entry, list(dict.fromkeys(candidates)), loaded.driver.target)
        if len(built) < 2:
            return None
        timed = time_candidates(loaded.driver, loaded.module, self.entry, launch, built)
        if timed is None:
            return None
        best, date = timed.best, datetime.now(UTC).isoformat(timespec="seconds")
        record = TunedVariant(
            kernel=self._digest,
            entry=self.entry.sym_name,
            shapes=shapes,
            machine=loaded.machine,
            variant=timed.variants[best],
            seconds=timed.seconds[best],
            default_seconds=timed.seconds[0] if timed.variants[0] == choice.variant else 0.0,
            tried=len(timed.seconds),
            date=date,
        )
        with suppress(TileError):  # a store that cannot be written does not stop a launch
            loaded.store.add([record])
        return timed.kernels[best], Choice(
            timed.variants[best], f"the fastest of {len(timed.seconds)} in its first launch"
        )

    def _compiled(self, work: Work, choice: Choice) -> tuple[CudaKernel, Choice]:
        """Compile a variant; if the compiler of the rules refuses a kernel, take another one."""
        try:
            return self.loaded.compiled(self.entry, choice.variant), choice
        except TileError:
            plain = default_variant(replace(work, feedable=False), installed())
            if choice.by_rules and plain != choice.variant:
                return self._compiled(replace(work, feedable=False), replace(choice, variant=plain))
            others = tuple(name for name in installed() if name != choice.variant.engine)
            if not choice.by_rules or not others:
                raise
            other = default_variant(work, others)
            why = f"{choice.why}; {choice.variant.engine} refuses the kernel"
            return self.loaded.compiled(self.entry, other), Choice(other, why, by_rules=True)

    def bind(
        self,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        names: Sequence[str] = (),
        convention: str | None = None,
        buffers: Buffers = (),
        stream: Handle = 0,
    ) -> BoundLaunch:
        """Prepare a launch that can be repeated. Nothing is measured: memory need not be ready for the kernel yet."""
        launch = Launch(self.entry, grid, args, names, convention, buffers=buffers)
        return self._choose(launch, measure=False).prepare(launch, stream)

    def run(self, launch: Launch) -> Stats:
        """Run a launch on the variant that is best for it."""
        return self._choose(launch, measure=True).run(launch)
