"""Launches of programs: what one is, the engines that execute it, and how it is recorded."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import hooks
from ..diag import TileError
from ..engines import registry
from ..engines.common.cutile_abi import ArrayExtent, function_name
from ..engines.common.errors import ExecutionError
from ..engines.common.limits import Limits, Stats
from ..engines.gpu.store import shape_class
from ..ir import Refused
from ..ops import Assert
from ..source.positions import attach_place
from . import device
from .boxes import Sizes, sizes_of, with_views
from .frames import program_line

if TYPE_CHECKING:
    from ..ops import Module
    from ..sanitize import Sanitizer

COMPILED = "cpu"
"""The engine that executes accesses through views faster than those through pointers."""
MOST_VARIANTS = 16
"""How many variants of a kernel are compiled for launches of different sizes; others use pointers."""
NO_ENGINE = "none"
"""Used as an engine name: compile and check every kernel, execute nothing."""


@dataclass(slots=True)
class DecodedLaunch:
    """A launch with its arguments decoded: everything needed to execute it, now or later."""

    bytecode: bytes
    entry: str
    grid: tuple[int, int, int]
    module: Module
    values: list[Any]
    names: list[str]
    memory: list[ArrayExtent]
    """The arrays among the arguments, including those inside lists."""
    seconds: float | None = None
    """The time limit."""
    stream: int = 0
    is_dependent: bool = False
    """Whether it may start before the launch before it in its stream has ended."""


Engine = Callable[[DecodedLaunch], None]


@dataclass(slots=True)
class LaunchSession:
    """The state that all launches inside one `on` share."""

    engine: Engine
    seconds: float | None = None
    calls: int = 0
    name: str = ""
    """The name of the engine."""
    sanitizer: Sanitizer | None = None

    def submit(self, call: DecodedLaunch, stream: int) -> None:
        """Execute a launch, or add it to the graph that its stream is captured into."""
        call.stream = stream
        if (steps := device.STATE.recorded(stream)) is None:
            self.execute(call)
        else:
            steps.append(Captured(self, call))

    def execute(self, call: DecodedLaunch) -> None:
        self.calls += 1
        call.seconds = self.seconds
        self.engine(call)


CURRENT: list[LaunchSession] = []
"""The sessions of the `on` that are active, the innermost last."""


@contextmanager
def active(session: LaunchSession) -> Iterator[None]:
    """Let kernels that have no frontend of their own be launched in a session."""
    CURRENT.append(session)
    try:
        yield
    finally:
        CURRENT.remove(session)


def current() -> LaunchSession:
    """Return the session that is active."""
    if not CURRENT:
        raise TileError("a kernel was launched outside of `tilery.cutile.on` and `tilery.triton.on`")
    return CURRENT[-1]


class Captured:
    """A launch of a graph. It keeps the memory that the launch uses alive for as long as the graph."""

    def __init__(self, session: LaunchSession, call: DecodedLaunch) -> None:
        self.session, self.call = session, call
        self.kept = memory_of(call)

    def __call__(self) -> None:
        # Which stream the graph is launched in is not known here: its launches overlap with nothing.
        device.STATE.synchronize()
        self.session.execute(self.call)
        device.STATE.synchronize()


def memory_of(call: DecodedLaunch) -> object:
    """Return what keeps the arguments of the launch alive that is being started."""
    return getattr(device.THREAD, "arguments", None), [device.memory_at(each.address) for each in call.memory]


def open_session(
    engine: str | Engine,
    *,
    exact: bool = False,
    record: str | Path | None = None,
    seconds: float | None = None,
    sanitize: str | Sanitizer | None = None,
    tune: bool | dict[str, Any] = False,
    options: dict[str, Any] | None = None,
) -> LaunchSession:
    """Return a session for the options that every `on` has; `options` are the engine's own."""
    if engine == registry.AUTO:
        engine = registry.DEFAULT if sanitize is not None else registry.find(registry.AUTO).name
    name = engine if isinstance(engine, str) else "a function"
    found = None if sanitize is None else hooks.sanitizer(sanitize)
    session = LaunchSession(engine_named(engine, found, exact, options), seconds, name=name, sanitizer=found)
    if tune:
        if name != "gpu":
            raise TileError(f"only engine 'gpu' can be tuned, got '{name}'")
        session.engine = tuning(session.engine, {} if isinstance(tune, bool) else dict(tune))
    if record is not None:
        session.engine = recording(session.engine, Path(record))
    return session


def engine_named(
    engine: str | Engine,
    sanitizer: Sanitizer | None = None,
    exact: bool = False,
    given: dict[str, Any] | None = None,
) -> Engine:
    """Return the function that executes launches on an engine."""
    if callable(engine):
        if sanitizer is not None:
            raise TileError("sanitize: an engine of your own cannot be watched")
        if exact:
            raise TileError("exact: an engine of your own has no options")
        return engine
    if engine == NO_ENGINE:
        return lambda call: None
    registry.find(engine, NO_ENGINE)
    options = registry.exactly(engine, exact) | (given or {})
    kernels: dict[tuple[Any, ...], Any] = {}
    variants: Counter[tuple[bytes, str]] = Counter()
    watched = {} if sanitizer is None else {"sanitize": sanitizer}

    def kernel(call: DecodedLaunch, sizes: Sizes | None) -> Any:
        """Return a compiled kernel; with views for launches of some sizes, None where it has none."""
        key = call.bytecode, call.entry, sizes
        if key not in kernels:
            module: Module | None = call.module
            if sizes is not None:
                variants[key[:2]] += 1
                few = variants[key[:2]] <= MOST_VARIANTS
                module = with_views(call.module, call.entry, sizes) if few else None
            made = None if module is None else registry.compile_kernel(module, call.entry, engine=engine, **options)
            kernels[key] = made
        return kernels[key]

    def execute(call: DecodedLaunch) -> None:
        limits = Limits(seconds=call.seconds)

        def launch(sizes: Sizes | None = None) -> Stats:
            found: Stats = kernel(call, sizes).launch(
                call.grid, call.values, buffers=call.memory, limits=limits, **watched
            )
            return found

        if sanitizer is not None:
            watch(launch, sanitizer, call)
        elif engine == COMPILED and kernel(call, sizes := sizes_of(call)) is not None:
            try:
                launch(sizes)
            except ExecutionError:
                launch()  # for the message about the operation of the program
                raise
        else:
            launch()

    return execute


def watch(launch: Callable[[], Stats], sanitizer: Sanitizer, call: DecodedLaunch) -> None:
    """Launch with a sanitizer, which is told where; in several schedules, if it asks for them."""
    with sanitizer.lock:
        sanitizer.launched = "" if sanitizer.raises else program_line(sys._getframe())
        if sanitizer.flight is not None:
            sanitizer.flight.prepare(call.stream, call.is_dependent, memory_of(call))
        if not sanitizer.runs:
            launch()
            return
    from ..sanitize.schedule import explore

    raw = [(ctypes.c_uint8 * each.size).from_address(each.address) for each in call.memory if each.writable]
    arrays = [np.frombuffer(memoryview(each).cast("B"), np.uint8) for each in raw]
    explore(launch, sanitizer, arrays, sanitizer.runs, seed=sanitizer.seed)


def tuning(engine: Engine, options: dict[str, Any]) -> Engine:
    """Wrap an engine so that each kernel is tuned before its first launch with shapes of a class."""
    from ..tuner import NotTunable, tune

    tell = options.pop("tell", lambda entry, result: None)
    known: set[tuple[bytes, str, str]] = set()

    def execute(call: DecodedLaunch) -> None:
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

    def execute(call: DecodedLaunch) -> None:
        nonlocal count
        count += 1
        name = function_name(call.entry)
        launch = capture(call.module, call.bytecode, call.entry, call.grid, call.values, call.memory, call.names)
        save(directory / f"{count:04}-{name}.zip", launch)
        engine(call)

    return execute


def explain(error: Refused, note: str) -> None:
    """Add the line of Python and a note to an error, and print the message of an assertion, as a GPU does."""
    attach_place(error, None)
    error.notes.append(note)
    if isinstance(error.op, Assert) and error.op.message:
        sys.stdout.write(f"{error.op.message}\n")
        sys.stdout.flush()
