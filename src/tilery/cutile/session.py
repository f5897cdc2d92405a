"""`on` runs cuTile programs on an engine: NVIDIA's frontend compiles the kernels, our driver executes the launches."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import FrameType
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ..diag import ErrorKind, TileError
from ..engines import registry
from ..engines.common.cutile_abi import Parameter, extents, guess_parameters, protect, slot_names, slot_size, value_of
from ..ir import Refused
from ..programs import device
from ..programs.arrays import host_arguments
from ..programs.launches import (
    NO_ENGINE,
    DecodedLaunch,
    Engine,
    LaunchSession,
    active,
    engine_named,
    explain,
    open_session,
)
from ..programs.standins import without_gpu
from ..source.input import Input
from ..text.print.printer import show
from ..verifier.explain import read_legal
from . import driver, versions
from .signatures import parameters_of

if TYPE_CHECKING:
    from ..ops import Module
    from ..sanitize import Sanitizer

# cuTile keeps compiled kernels for the life of the process, so their modules and signatures are kept too.
MODULES: dict[bytes, Module] = {}
SIGNATURES: dict[tuple[bytes, str], list[Parameter]] = {}


def read(launch: driver.DriverLaunch) -> DecodedLaunch:
    """Decode the arguments of a launch."""
    module = MODULES.get(launch.bytecode)
    if module is None:
        module = MODULES[launch.bytecode] = read_legal(Input(launch.bytecode))
    kinds = module.entry(launch.entry).function_type.params
    values = [value_of(kind, launch.word(at, slot_size(kind))) for at, kind in enumerate(kinds)]
    parameters = SIGNATURES.get((launch.bytecode, launch.entry)) or guess_parameters(kinds)
    memory = protect(extents(parameters, values, ctypes.string_at), getattr(device.THREAD, "read_only", ()))
    call = DecodedLaunch(launch.bytecode, launch.entry, launch.grid, module, values, slot_names(parameters), memory)
    call.is_dependent = launch.is_dependent
    return call


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
) -> Iterator[LaunchSession]:
    """Run cuTile programs on an engine: `ct.launch` executes on the CPU, synchronously, and raises any error.

    Arguments are NumPy arrays, torch CPU tensors or anything with DLPack; tensors that a program creates on `cuda` are
    created on the CPU. Only a sanitizer looks at the stream; pass 0. `exact` asks for the reference engine's bits, from
    an engine that can compute them. `record` is a directory that receives one file per launch, which `tilery run
    --recorded FILE` executes again. A launch that takes longer than `seconds` is stopped, with an error that names the
    current line. `capability` is the compute capability that the device reports. `sanitize` looks for faults in every
    launch, see `tilery.sanitize`: with names of checks, `ct.launch` raises what they find. `tune`, for engine "gpu",
    tunes each kernel before its first launch with shapes of a class, see `tilery.tune`, whose options it may hold;
    `tell` among them is a function that is called with the name of the kernel and the result, or with the error of a
    kernel that cannot be tuned, which then runs as the rules say.
    """
    release = versions.require()
    session = open_session(engine, exact=exact, record=record, seconds=seconds, sanitize=sanitize, tune=tune)
    with ExitStack() as stack:
        prepare_driver()
        stack.callback(guard_launches)  # after everything else has been restored
        try:
            for target, name, value in replacements(session, release):
                stack.enter_context(patch.object(target, name, value))
        except (AttributeError, ImportError) as error:
            raise versions.unsupported(release, error) from None
        stack.enter_context(
            patch.object(driver.LOADED, "run", lambda launch: session.submit(read(launch), launch.stream))
        )
        stack.enter_context(patch.object(device.STATE, "hides_dlpack", True))
        stack.enter_context(active(session))
        stack.enter_context(without_gpu((capability[0], capability[1]), session.sanitizer))
        if versions.is_new(release):
            check_release(release, session)
        yield session


CHECKED: set[str] = set()
"""The releases that have passed the check in this process."""


def check_release(release: str, session: LaunchSession) -> None:
    """Run a kernel whose result is known; raise TileError if this release of cuTile does something else with it."""
    if release in CHECKED or session.name == NO_ENGINE:
        return
    engine, calls = session.engine, session.calls
    try:
        session.engine = engine_named(registry.DEFAULT)
        import_module(f"{__package__}.selfcheck").check()
    except Exception as error:  # of cuTile or of the driver, whatever has changed
        raise versions.unsupported(release, error) from None
    finally:
        session.engine, session.calls = engine, calls
    CHECKED.add(release)
    versions.warn(release)


def guard_launches() -> None:
    """Let a launch outside of `on` say so. cuTile asks for its driver once, so this process has no other one."""
    import cuda.tile as ct

    extension = import_module("cuda.tile._cext")
    if driver.LOADED.run is not None or hasattr(extension.launch, "original"):
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


# ---------------------------------------------------------------- cuTile's compiler


def replacements(session: LaunchSession, release: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield what to patch in cuTile: `tileiras` and its disassembler, the launch, the tuner's clock and the cache."""
    import cuda.tile as ct

    compiler = import_module("cuda.tile._compile")
    extension = import_module("cuda.tile._cext")
    latest = compiler._SUPPORTED_VERSIONS[-1]
    binary = compiler._CompilerBinary("tilery", "", "", False)
    yield compiler, "_find_compiler_bin", lambda: binary
    yield compiler, "_get_compiler_version_string", lambda: "tilery"
    yield compiler, "_get_max_supported_bytecode_version", lambda temp_dir, allow_dev=False: latest
    yield compiler, "compile_cubin", make_image
    if hasattr(compiler, "_bytecode_to_mlir_text"):
        yield compiler, "_bytecode_to_mlir_text", lambda bytecode, **options: disassemble(bytecode)

    yield compiler, "_get_bytecode", note_signatures(compiler._get_bytecode)
    launch = make_launch(getattr(extension.launch, "original", extension.launch), versions.reads_tensors(release))
    yield extension, "launch", launch
    yield ct, "launch", launch
    if "_tune_utils" in tuner_modules():  # since 1.5
        yield from tuner_replacements(session, launch)
    # Kernels compiled here are useless elsewhere, so they stay out of the cache on disk.
    yield extension.default_tile_context.config, "cache_dir", None


def tuner_modules() -> list[str]:
    """Return the names of the modules of cuTile's tuner, if it has one."""
    found = find_spec("cuda.tile.tune")
    return [each.name for each in iter_modules(found.submodule_search_locations)] if found else []


def tuner_replacements(session: LaunchSession, launch: Callable[..., Any]) -> Iterator[tuple[Any, str, Any]]:
    """Yield what to patch in cuTile's tuner."""
    tuner = import_module("cuda.tile.tune._tune_utils")
    timed = make_timed(session, launch, tuner.TileLaunchTimeoutError)
    for module in (tuner, import_module("cuda.tile.tune._tune")):
        yield module, "benchmark_with_timeout", timed
        yield module, "_benchmark", lambda *values: timed(*values[:4], session.seconds)[0]


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


def make_timed(session: LaunchSession, launch: Callable[..., Any], timeout: type[Exception]) -> Callable[..., Any]:
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


def make_launch(original: Callable[..., Any], reads_tensors: bool) -> Callable[..., Any]:
    """Wrap `ct.launch` to take host arrays, and to raise the original exception instead of a driver error."""

    def launch(stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, **options: Any) -> Any:
        __tracebackhide__ = True  # pytest shows the test instead
        if isinstance(kernel_args, tuple):
            try:
                kernel_args, device.THREAD.read_only = host_arguments(kernel_args, not reads_tensors)
            except TileError as error:
                error.notes.append(launched_at(sys._getframe(1)))
                raise error.with_traceback(None) from None
        driver.take_failure()
        device.THREAD.arguments = kernel_args
        try:
            return original(stream_number(stream), grid, kernel, kernel_args, **options)
        except RuntimeError as error:
            cause = driver.take_failure()
            if cause is None or str(cause) not in str(error):
                raise
        finally:
            device.THREAD.arguments, device.THREAD.read_only = None, []
        if isinstance(cause, TileError):
            cause.with_traceback(None)
            if isinstance(cause, Refused):
                explain(cause, launched_at(sys._getframe(1)))
        raise cause

    launch.__doc__ = original.__doc__
    return launch


def stream_number(stream: Any) -> Any:
    """Return the number of a stream, which every release of cuTile takes; anything else is for cuTile to refuse.

    Releases before 1.5 know only the types of streams that were there when `cuda.tile` was imported.
    """
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    return getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # of torch, and of CuPy


def launched_at(frame: FrameType) -> str:
    """Return the note that names the line of a launch."""
    return f"launched at {frame.f_code.co_filename}:{frame.f_lineno}"
