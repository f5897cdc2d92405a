"""`engine="gpu"`: the variant that the tuner remembers for a kernel and its shapes, or else the one of the rules."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..work import work_of
from .store import Machine, Store, kernel_digest, shape_class
from .variants import Variant, VariantCompiler, default_variant, installed

OPTIONS = ("variant",)


def load(module: Module, **options: Any) -> GpuLoaded:
    """Load a module on the first GPU. The option `variant` fixes how its kernels are compiled."""
    refuse_options("gpu", options, OPTIONS)
    return GpuLoaded(module, options.get("variant"))


@cache
def compiler_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the compilers that are installed."""
    from ..tileiras.compiler import find_tool, tool_version
    from ..triton.versions import installed as dialect

    found = {}
    for name in installed():
        found[name] = dialect().version if name == "triton" else tool_version(find_tool())
    return tuple(sorted(found.items()))


def this_machine(device: str, target: str, driver: str) -> Machine:
    """Return what records of this machine say about it."""
    return Machine(device, target, driver, compiler_versions())


class GpuLoaded:
    """A module on a GPU. Each variant that a launch needs is compiled once.

    Kernels of a module with globals all have the variant of the rules, so that they share the globals.
    """

    def __init__(
        self,
        module: Module,
        variant: Variant | None = None,
        *,
        driver: Driver | None = None,
        store: Store | None = None,
    ) -> None:
        self.module, self.variant = module, variant
        self.driver = driver or open_driver()
        self.store = store or Store()
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

    def choose(self, entry: Entry, digest: str, shapes: str) -> tuple[Variant, str]:
        """Return the variant for a launch and where it is from."""
        if self.variant is not None:
            return self.variant, "given"
        if self.module.globals:
            return self._for_globals(), "the rules: the module has globals"
        major, minor = self.driver.version
        machine = this_machine(self.driver.name, self.driver.target, f"{major}.{minor}")
        record, why = self.store.find(digest, shapes, machine)
        if record is not None:
            return record.variant, f"remembered from {record.date}"
        return default_variant(work_of(entry), installed()), f"the rules: {why}"

    def _for_globals(self) -> Variant:
        if self._shared is None:
            entries = self.module.entries
            self._shared = default_variant(work_of(entries[0]), installed()) if entries else Variant("triton")
        return self._shared

    def _with(self, variant: Variant) -> CudaLoaded:
        if variant not in self._loaded:
            self._loaded[variant] = CudaLoaded(self.module, VariantCompiler(variant), self.driver)
        return self._loaded[variant]

    def __reduce__(self) -> tuple[Any, ...]:
        contents = {o.sym_name: self.content(o.sym_name) for o in self.module.globals}
        return _load_with, (self.module, self.variant, contents)


def _load_with(module: Module, variant: Variant | None, contents: dict[str, bytes]) -> GpuLoaded:
    loaded = GpuLoaded(module, variant)
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
        self._chosen: dict[str, tuple[CudaKernel, Variant, str]] = {}
        self.choice: tuple[Variant, str] | None = None
        """The variant of the last launch, and where it is from."""

    def _choose(self, launch: Launch) -> CudaKernel:
        """Return the compiled kernel for a launch."""
        shapes = shape_class(launch.grid, self.params, launch.bound.slots)
        if shapes not in self._chosen:
            variant, origin = self.loaded.choose(self.entry, self._digest, shapes)
            self._chosen[shapes] = self._compiled(variant, origin)
        kernel, variant, origin = self._chosen[shapes]
        self.choice = variant, origin
        return kernel

    def _compiled(self, variant: Variant, origin: str) -> tuple[CudaKernel, Variant, str]:
        """Compile a variant; if the compiler of the rules refuses a kernel, take the other one."""
        try:
            return self.loaded.compiled(self.entry, variant), variant, origin
        except TileError:
            others = tuple(name for name in installed() if name != variant.engine)
            if not origin.startswith("the rules") or not others:
                raise
            other = default_variant(work_of(self.entry), others)
            return self.loaded.compiled(self.entry, other), other, f"{origin}; {variant.engine} refuses the kernel"

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
        """Prepare a launch that can be repeated."""
        launch = Launch(self.entry, grid, args, names, convention, buffers=buffers)
        return self._choose(launch).prepare(launch, stream)

    def run(self, launch: Launch) -> Stats:
        """Run a launch on the variant that is best for it."""
        return self._choose(launch).run(launch)
