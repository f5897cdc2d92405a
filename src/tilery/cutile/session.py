"""`on` runs cuTile programs on an engine: NVIDIA's frontend compiles the kernels, our driver executes the launches."""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from .. import hooks
from ..diag import ErrorKind, TileError
from ..engines import registry
from ..engines.common.cutile_abi import (
    Extent,
    Parameter,
    extents,
    guess_parameters,
    protect,
    slot_names,
    slot_size,
    value_of,
)
from ..engines.common.limits import Limits
from ..engines.gpu.store import shape_class
from ..ir import Refused
from ..ops import Assert
from ..source.input import Input
from ..source.positions import attach_place
from ..text.print.printer import show
from ..verifier.explain import read_legal
from . import driver, versions
from .arrays import host_arguments
from .signatures import parameters_of

if TYPE_CHECKING:
    from ..ops import Module
    from ..sanitize import Sanitizer

NO_ENGINE = "none"
"""Used as an engine name: compile and check every kernel, execute nothing."""


@dataclass(slots=True)
class Call:
    """A launch with its arguments decoded: everything needed to execute it, now or later."""

    bytecode: bytes
    entry: str
    grid: tuple[int, int, int]
    module: Module
    values: list[Any]
    names: list[str]
    memory: list[Extent]
    """The arrays among the arguments, including those inside lists."""
    seconds: float | None = None
    """The time limit."""


Engine = Callable[[Call], None]


@dataclass(slots=True)
class Session:
    """The state that all launches inside one `on` share."""

    engine: Engine
    seconds: float | None = None
    calls: int = 0
    name: str = ""
    """The name of the engine."""

    def run(self, launch: driver.Launch) -> None:
        """Execute a launch, or add it to the graph that its stream is captured into."""
        call = self.read(launch)
        if (steps := driver.STATE.recorded(launch.stream)) is None:
            self.execute(call)
        else:
            steps.append(Captured(self, call))

    def execute(self, call: Call) -> None:
        self.calls += 1
        call.seconds = self.seconds
        self.engine(call)

    def read(self, launch: driver.Launch) -> Call:
        """Decode the arguments of a launch."""
        module = MODULES.get(launch.bytecode)
        if module is None:
            module = MODULES[launch.bytecode] = read_legal(Input(launch.bytecode))
        kinds = module.entry(launch.entry).function_type.params
        values = [value_of(kind, launch.word(at, slot_size(kind))) for at, kind in enumerate(kinds)]
        parameters = SIGNATURES.get((launch.bytecode, launch.entry)) or guess_parameters(kinds)
        memory = protect(extents(parameters, values, ctypes.string_at), getattr(driver.THREAD, "read_only", ()))
        return Call(launch.bytecode, launch.entry, launch.grid, module, values, slot_names(parameters), memory)


class Captured:
    """A launch of a graph. It keeps the memory that the launch uses alive for as long as the graph."""

    def __init__(self, session: Session, call: Call) -> None:
        self.session, self.call = session, call
        self.kept = getattr(driver.THREAD, "arguments", None), [driver.memory_at(each.address) for each in call.memory]

    def __call__(self) -> None:
        self.session.execute(self.call)


# cuTile keeps compiled kernels for the life of the process, so their modules and signatures are kept too.
MODULES: dict[bytes, Module] = {}
SIGNATURES: dict[tuple[bytes, str], list[Parameter]] = {}


@contextmanager
def on(
    engine: str | Engine = "reference",
    *,
    exact: bool = False,
    record: str | Path | None = None,
    seconds: float | None = None,
    capability: tuple[int, int] = (10, 0),
    sanitize: str | Sanitizer | None = None,
    tune: bool | dict[str, Any] = False,
) -> Iterator[Session]:
    """Run cuTile programs on an engine: `ct.launch` executes on the CPU, synchronously, and raises any error.

    Arguments are NumPy arrays, torch CPU tensors or anything with DLPack; tensors that a program creates on `cuda` are
    created on the CPU. The stream is ignored; pass 0. `exact` asks for the reference engine's bits, from an engine that
    can compute them. `record` is a directory that receives one file per launch, which `tilery run --recorded FILE`
    executes again. A launch that takes longer than `seconds` is stopped, with an error that names the current line.
    `capability` is the compute capability that the device reports. `sanitize` looks for faults in every launch, see
    `tilery.sanitize`: with names of checks, `ct.launch` raises what they find. `tune`, for engine "gpu", tunes each
    kernel before its first launch with shapes of a class, see `tilery.tune`, whose options it may hold; `tell` among
    them is a function that is called with the name of the kernel and the result, or with the error of a kernel that
    cannot be tuned, which then runs as the rules say.
    """
    versions.require()
    if engine == registry.AUTO:
        engine = registry.DEFAULT if sanitize is not None else registry.find(registry.AUTO).name
    name = engine if isinstance(engine, str) else "a function"
    session = Session(engine_named(engine, sanitize, exact), seconds, name=name)
    if tune:
        if name != "gpu":
            raise TileError(f"only engine 'gpu' can be tuned, got '{name}'")
        session.engine = tuning(session.engine, {} if isinstance(tune, bool) else dict(tune))
    if record is not None:
        session.engine = recording(session.engine, Path(record))
    with ExitStack() as stack:
        prepare_driver()
        stack.callback(guard_launches)  # after everything else has been restored
        for target, name, value in replacements(session):
            stack.enter_context(patch.object(target, name, value))
        stack.enter_context(patch.object(driver.STATE, "run", session.run))
        stack.enter_context(patch.object(driver.STATE, "captures", {}))
        stack.enter_context(patch.object(driver.STATE, "capability", (capability[0], capability[1])))
        stack.enter_context(torch_on_cpu())
        stack.enter_context(stand_ins())
        yield session


def guard_launches() -> None:
    """Let a launch outside of `on` say so. cuTile asks for its driver once, so this process has no other one."""
    import cuda.tile as ct

    extension = import_module("cuda.tile._cext")
    if driver.STATE.run is not None or hasattr(extension.launch, "original"):
        return

    def launch(*args: Any, **options: Any) -> None:
        why = "this process cannot use a GPU any more; launch inside `with tilery.cutile.on(...)`"
        raise TileError("a kernel was launched after `tilery.cutile.on` had ended", notes=(why,))

    launch.original = extension.launch  # type: ignore[attr-defined]  # what `on` wraps the next time
    for module in (extension, ct):
        setattr(module, "launch", launch)  # noqa: B010  # type checkers do not know the attribute


def prepare_driver() -> None:
    """Install the driver, unless cuTile already uses that of a GPU."""
    if driver.installed():
        return
    if driver.LOADER in sys.modules:
        note = "enter `tilery.cutile.on` before the process launches its first kernel"
        raise TileError("cuTile has already loaded the driver of a GPU", notes=(note,))
    driver.install()


def torch_on_cpu() -> Any:
    """Patch torch without importing it: if the program has not done so yet, it is patched on import."""
    from .standins.torch_patches import torch_on_cpu

    return torch_on_cpu()


def stand_ins() -> Any:
    """Let programs import CuPy and NVIDIA's `cuda`."""
    from .standins.modules import stand_ins

    return stand_ins()


# ---------------------------------------------------------------- engines


def engine_named(engine: str | Engine, sanitize: str | Sanitizer | None = None, exact: bool = False) -> Engine:
    if callable(engine):
        if sanitize is not None:
            raise TileError("sanitize: an engine of your own cannot be watched")
        if exact:
            raise TileError("exact: an engine of your own has no options")
        return engine
    if engine == NO_ENGINE:
        return lambda call: None
    registry.find(engine, NO_ENGINE)
    options = registry.exactly(engine, exact)
    kernels: dict[tuple[bytes, str], Any] = {}
    watched = {} if sanitize is None else {"sanitize": hooks.sanitizer(sanitize)}

    def execute(call: Call) -> None:
        key = call.bytecode, call.entry
        if key not in kernels:
            kernels[key] = registry.compile_kernel(call.module, call.entry, engine=engine, **options)
        limits = Limits(seconds=call.seconds)
        kernels[key].launch(call.grid, call.values, buffers=call.memory, limits=limits, **watched)

    return execute


def tuning(engine: Engine, options: dict[str, Any]) -> Engine:
    """Wrap an engine so that each kernel is tuned before its first launch with shapes of a class."""
    from ..tuner import NotTunable, tune

    tell = options.pop("tell", lambda entry, result: None)
    known: set[tuple[bytes, str, str]] = set()

    def execute(call: Call) -> None:
        slots = [struct.pack("<q", v) if isinstance(v, int) else b"" for v in call.values]
        shapes = shape_class(call.grid, call.module.entry(call.entry).function_type.params, slots)
        key = call.bytecode, call.entry, shapes
        if key not in known:
            known.add(key)
            given = {"entry": call.entry, "buffers": call.memory, **options}
            try:
                found: Any = tune(call.module, call.grid, call.values, **given)
            except NotTunable as error:
                found = error
            tell(call.entry, found)
        engine(call)

    return execute


def recording(engine: Engine, directory: Path) -> Engine:
    """Wrap an engine so that every launch is saved before it is executed."""
    from ..engines.recorded import capture, save

    directory.mkdir(parents=True, exist_ok=True)
    count = 0

    def execute(call: Call) -> None:
        nonlocal count
        count += 1
        name = call.entry.split("_Kt")[0]
        launch = capture(call.module, call.bytecode, call.entry, call.grid, call.values, call.memory, call.names)
        save(directory / f"{count:04}-{name}.zip", launch)
        engine(call)

    return execute


# ---------------------------------------------------------------- cuTile's compiler


def replacements(session: Session) -> Iterator[tuple[Any, str, Any]]:
    """Yield what to patch in cuTile: `tileiras` and its disassembler, the launch, the tuner's clock and the cache."""
    import cuda.tile as ct

    compiler = import_module("cuda.tile._compile")
    extension = import_module("cuda.tile._cext")
    tuner = import_module("cuda.tile.tune._tune_utils")
    latest = compiler._SUPPORTED_VERSIONS[-1]
    binary = compiler._CompilerBinary("tilery", "", "", False)
    yield compiler, "_find_compiler_bin", lambda: binary
    yield compiler, "_get_compiler_version_string", lambda: "tilery"
    yield compiler, "_get_max_supported_bytecode_version", lambda temp_dir, allow_dev=False: latest
    yield compiler, "compile_cubin", make_image
    if hasattr(compiler, "_bytecode_to_mlir_text"):
        yield compiler, "_bytecode_to_mlir_text", lambda bytecode, **options: disassemble(bytecode)

    yield compiler, "_get_bytecode", note_signatures(compiler._get_bytecode)
    launch = make_launch(getattr(extension.launch, "original", extension.launch))
    yield extension, "launch", launch
    yield ct, "launch", launch
    timed = make_timed(session, launch, tuner.TileLaunchTimeoutError)
    search = import_module("cuda.tile.tune._tune")
    for module in (tuner, search):
        yield module, "benchmark_with_timeout", timed
        yield module, "_benchmark", lambda *values: timed(*values[:4], session.seconds)[0]
    # Kernels compiled here are useless elsewhere, so they stay out of the cache on disk.
    yield extension.default_tile_context.config, "cache_dir", None


def note_signatures(get_bytecode: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap cuTile's `_get_bytecode` to remember the parameters of each kernel."""

    def get_and_note(keeper: Any, *options: Any, **more: Any) -> Any:
        result = get_bytecode(keeper, *options, **more)
        bytecode = bytes(getattr(result, "bytecode", result))  # 1.7 wraps it
        names = list(keeper.ann_func.pysig.parameters)
        for signature in keeper.signatures:
            SIGNATURES[bytecode, signature.symbol] = parameters_of(signature.parameters, names)
        return result

    return get_and_note


def make_image(file: str, *options: Any, **more: Any) -> Path:
    """Replace `compile_cubin`: a kernel's image is its bytecode."""
    target = Path(file).with_suffix(".cubin")
    target.write_bytes(driver.image(Path(file).read_bytes()))
    return target


def disassemble(bytecode: bytes | bytearray) -> str:
    return show(read_legal(Input(bytes(bytecode))))


def make_timed(session: Session, launch: Callable[..., Any], timeout: type[Exception]) -> Callable[..., Any]:
    """Replace the tuner's clock: launch a kernel once, and stop it when it takes too long.

    cuTile launches it many times in a graph, or, if it may hang, in another process that shares the memory.
    """
    known: dict[tuple[Any, Any], float] = {}

    def benchmark_with_timeout(
        stream: Any, grid: Any, kernel: Any, values: Any, seconds: float | None, *options: Any
    ) -> Any:
        start = time.perf_counter()
        try:
            with patch.object(session, "seconds", seconds):
                if (kernel, grid) not in known:
                    launch(stream, grid, kernel, values)
        except TileError as error:
            if seconds is None or error.kind is not ErrorKind.TIMEOUT:
                raise
            raise timeout(f"CUDA kernel launch exceeded timeout {seconds}s") from None
        taken = known.setdefault((kernel, grid), time.perf_counter() - start)
        return 1e6 * taken, taken

    return benchmark_with_timeout


def make_launch(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `ct.launch` to take host arrays, and to raise the original exception instead of a driver error."""

    def launch(stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, **options: Any) -> Any:
        __tracebackhide__ = True  # pytest shows the test instead
        if isinstance(kernel_args, tuple):
            try:
                kernel_args, driver.THREAD.read_only = host_arguments(kernel_args)
            except TileError as error:
                error.notes.append(launched_at(sys._getframe(1)))
                raise error.with_traceback(None) from None
        if hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        driver.take_failure()
        driver.THREAD.arguments = kernel_args
        try:
            return original(stream, grid, kernel, kernel_args, **options)
        except RuntimeError as error:
            cause = driver.take_failure()
            if cause is None or str(cause) not in str(error):
                raise
        finally:
            driver.THREAD.arguments, driver.THREAD.read_only = None, []
        if isinstance(cause, TileError):
            cause.with_traceback(None)
            if isinstance(cause, Refused):
                explain(cause, launched_at(sys._getframe(1)))
        raise cause

    launch.__doc__ = original.__doc__
    return launch


def launched_at(frame: FrameType) -> str:
    """Return the note that names the line of a launch."""
    return f"launched at {frame.f_code.co_filename}:{frame.f_lineno}"


def explain(error: Refused, note: str) -> None:
    """Add the line of Python and a note to an error, and print the message of an assertion, as a GPU does."""
    attach_place(error, None)
    error.notes.append(note)
    if isinstance(error.op, Assert) and error.op.message:
        sys.stdout.write(f"{error.op.message}\n")
        sys.stdout.flush()
