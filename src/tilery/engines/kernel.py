"""The protocols that every engine implements, and the limits, statistics and errors that engines share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from ..diag import ErrorKind, Note, NoteKind, TileError, did_you_mean
from ..ir import Op, Refused
from ..ops import Entry, Module
from ..source.lines import innermost
from ..types import Tile, Type

MAX_GRID = (1 << 24) - 1
"""The largest extent of a grid."""

MAX_THREADS = 1024
Buffers = Iterable[Any]
"""Memory besides the arguments: arrays, pairs of address and size, or extents, which have names."""


class ExecutionError(Refused):
    """A kernel did something illegal or exceeded a limit: which operation, which tile block, which address."""

    def __init__(
        self,
        o: Op,
        message: str,
        *,
        kind: ErrorKind,
        block: tuple[int, ...] | None = None,
        element: tuple[int, ...] | None = None,
        address: int | None = None,
    ) -> None:
        super().__init__(o, message, kind=kind)
        self.block, self.element, self.address = block, element, address
        self.facts = {"operation": o.name, "block": block, "element": element, "address": address}
        if block is not None:
            at = "" if not element else f", element [{', '.join(map(str, element))}] of the tile"
            self.notes.append(f"in tile block ({', '.join(map(str, block))}){at}")
        if (place := innermost(o.loc)) is not None:
            self.notes.append(Note(f"from {place}", kind=NoteKind.ORIGIN))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a launch: steps (one operation on a batch is one step), seconds, and bytes held at once.

    The memory limit applies to tiles and `alloca` together, and separately to printed text.
    """

    steps: int | None = None
    seconds: float | None = None
    memory: int = 8 << 30


@dataclass(slots=True)
class Stats:
    """What a launch did: tile blocks finished, operations over all tile blocks, steps, splits and merges of batches.

    Steps, splits and merges depend on the batch size. Flops and bytes count what every tile block asks for, even where
    the engine does the work once for all of them. An engine leaves at 0 what it does not count; `known` tells those
    apart from a count of 0.
    """

    blocks: int = 0
    operations: int = 0
    steps: int = 0
    splits: int = 0
    merges: int = 0
    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    device_nanoseconds: int = 0
    """How long the kernel ran on a GPU, by the device's own clock."""
    complete: bool = False
    """Whether everything but the time on a GPU was counted."""

    def known(self) -> dict[str, int | None]:
        """Return the statistics by name; None for what the engine did not count.

        >>> Stats(blocks=4).known()["flops"], Stats(blocks=4, complete=True).known()["flops"]
        (None, 0)
        """
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "complete"}
        always = self.complete
        return {name: n if n or (always and name != "device_nanoseconds") else None for name, n in numbers.items()}


class Kernel(Protocol):
    """An entry of a loaded module, ready to run. A deep or pickled copy has its own globals."""

    @property
    def name(self) -> str:
        """The name of the entry."""

    @property
    def engine(self) -> str:
        """The name of the engine that runs it."""

    @property
    def params(self) -> Sequence[Type]:
        """The types of the entry's parameters."""

    def launch(
        self,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        names: Sequence[str] = (),
        convention: str | None = None,
        batch: int | None = None,
        threads: int | None = None,
        limits: Limits | None = None,
        buffers: Buffers = (),
        output: Callable[[str], None] | None = None,
        progress: Callable[[int], None] | None = None,
        sanitize: Any = None,
        observe: Any = None,
    ) -> Stats:
        """Run the kernel on a grid of tile blocks; it writes into the arrays among the arguments.

        Pass one argument per parameter, in order: an array for a pointer, a number for a scalar. With
        `convention="cutile"`, an array stands for its pointer, shape and strides, as cuTile Python passes it. `names`
        label the arguments in errors. `buffers` is further memory that the kernel may access.

        `batch` (tile blocks to run at once) and `threads` (None: the engine's choice) affect speed, not results, unless
        tile blocks race; an engine may ignore them. `output` receives printed text instead of stdout; `progress` is
        called with the number of tile blocks that have finished since the last call.

        `sanitize` looks for faults while the kernel runs, on the reference engine: "all" or names of checks, whose
        faults are raised as one error at the end, or a `tilery.sanitize.Sanitizer`, which collects them.

        `observe` looks at what operations do, on the reference engine: a function that is called with an `Event` for
        each of them, a `tilery.engines.reference.observe.Observe` that chooses some, or a list.
        """


class Loaded(Protocol):
    """A module in memory. Its globals keep what kernels write to them for as long as this object lives.

    A copy, by `copy` or `pickle`, has its own memory, holding the bytes that the globals had when it was made.
    """

    @property
    def module(self) -> Module:
        """The module that was loaded."""

    def kernel(self, entry: str | None = None) -> Kernel:
        """Return the kernel of that name, or the only kernel; kernels of one `Loaded` share globals."""

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now."""


class Engine(Protocol):
    """A way to execute modules: a Python module (or any object) with this function."""

    def load(self, module: Module, **options: Any) -> Loaded:
        """Load a verified module. `options` belong to the engine, which refuses those it does not know."""


# ---------------------------------------------------------------- checks that engines share


def describe_kernel(name: str, params: Sequence[Type], engine: str) -> str:
    """Return a short description of a kernel, for `repr`."""
    shown = ", ".join(t.text for t in params[:6]) + (", ..." if len(params) > 6 else "")
    return f"<kernel {name}({shown}) on {engine}>"


def find_entry(module: Module, name: str | None) -> Entry:
    """Return the entry with that name; without a name, the only one."""
    entries = {o.sym_name: o for o in module.entries}
    if not entries:
        raise TileError("the module has no kernel")
    names = ", ".join(entries)
    if name is None and len(entries) != 1:
        raise TileError(f"the module has {len(entries)} kernels, name one of: {names}")
    found = next(iter(entries.values())) if name is None else entries.get(name)
    if found is None:
        raise TileError(
            f"the module has no kernel '{name}', expected one of: {names}{did_you_mean(name or '', entries)}"
        )
    return found


def check_parameters(entry: Entry) -> Sequence[Type]:
    """Return the types of an entry's parameters, which a launch must be able to pass."""
    params = entry.function_type.params
    for param in params:
        if not isinstance(param, Tile) or param.rank:
            raise Refused(entry, f"entry: a launch cannot pass a parameter of {param}")
    return params


def check_threads(threads: int) -> int:
    """Return a number of threads."""
    if not _is_count(threads):
        raise TileError(f"the number of threads must be an integer, got {threads!r}")
    if threads < 1:
        raise TileError(f"a launch needs at least one thread, got {threads}")
    if threads > MAX_THREADS:
        raise TileError(f"a launch can use at most {MAX_THREADS} threads, got {threads}")
    return threads


def check_batch(batch: int) -> int:
    """Return a number of tile blocks to run at once."""
    if not _is_count(batch):
        raise TileError(f"a batch must be an integer, got {batch!r}")
    if batch < 1:
        raise TileError(f"a batch needs at least one tile block, got {batch}")
    return batch


def _is_count(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def check_grid(grid: int | Sequence[int]) -> tuple[int, int, int]:
    """Return the grid as three extents."""
    if isinstance(grid, np.ndarray):
        grid = grid.reshape(-1).tolist()
    extents = list(grid) if isinstance(grid, Sequence) else [grid]
    if not 1 <= len(extents) <= 3 or any(not isinstance(n, (int, np.integer)) for n in extents):
        raise TileError(f"a grid must be one to three integers, got {grid!r}")
    if any(not 1 <= n <= MAX_GRID for n in extents):
        raise TileError(f"grid extents must be between 1 and {MAX_GRID}, got {', '.join(map(str, extents))}")
    x, y, z = [int(n) for n in extents] + [1] * (3 - len(extents))
    return x, y, z


def refuse_options(engine: str, options: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Raise TileError for options that an engine does not have."""
    for name in options.keys() - set(known):
        has = f"its options are {', '.join(known)}" if known else "it has none"
        raise TileError(f"engine '{engine}' has no option '{name}': {has}")
