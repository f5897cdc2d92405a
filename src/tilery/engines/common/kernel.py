"""The classes of an engine: a loaded module, and its kernels, which run launches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ...diag import ErrorKind, TileError, did_you_mean
from ...ir import Refused
from ...ops import Entry, Module
from ...source.positions import attach_place
from ...types import Tile, Type
from .arguments import Buffers
from .launch import Launch
from .limits import Limits, Stats


class Kernel(ABC):
    """An entry of a loaded module, ready to run. A deep or pickled copy has its own globals.

    An engine implements `run`.
    """

    engine: str
    """The name of the engine that runs it."""

    def __init__(self, loaded: Loaded, entry: Entry) -> None:
        self.loaded, self.entry = loaded, entry
        self.name: str = entry.sym_name
        self.params: Sequence[Type] = check_parameters(entry)

    def __repr__(self) -> str:
        shown = ", ".join(t.text for t in self.params[:6]) + (", ..." if len(self.params) > 6 else "")
        return f"<kernel {self.name}({shown}) on {self.engine}>"

    def _repr_html_(self) -> str:
        from ... import markup

        names = self.entry.param_names or tuple(f"arg{number}" for number in range(len(self.params)))
        title = markup.line(f"{self.name}, on engine {self.engine}", strong=True)
        return title + markup.table(["parameter", "type"], zip(names, (t.text for t in self.params)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel_of, (self.loaded, self.name)

    @abstractmethod
    def run(self, launch: Launch) -> Stats:
        """Run a launch of this kernel, and wait for it."""

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
        machine: Callable[..., Any] | None = None,
    ) -> Stats:
        """Run the kernel on a grid of tile blocks; it writes into the arrays among the arguments.

        Pass one argument per parameter, in order: an array for a pointer, a number for a scalar. With
        `convention="cutile"`, an array stands for its pointer, shape and strides, as cuTile Python passes it. `names`
        label the arguments in errors. `buffers` is further memory that the kernel may access.

        `batch` (tile blocks to run at once) and `threads` (None: the engine's choice) affect speed, not results, unless
        tile blocks race; an engine may ignore them. `output` receives printed text instead of stdout; `progress` is
        called with the number of tile blocks that have finished since the last call.

        `sanitize` looks for faults while the kernel runs: "all" or names of checks, whose faults are raised as one
        error at the end, or a `tilery.sanitize.Sanitizer`, which collects them. Engine cpu runs some checks as native
        code; all others, and every report, take the reference engine.

        `observe` looks at what operations do, on the reference engine: a function that is called with an `Event` for
        each of them, a `tilery.engines.reference.observe.Observe` that chooses some, or a list.

        `machine` executes the kernel in its own way, on the reference engine: a subclass of
        `tilery.engines.reference.machine.Machine`, or a function that makes one. `sanitize` has a machine of its own,
        so that a launch takes one of the two.
        """
        try:
            launch = Launch(
                self.entry,
                grid,
                args,
                names,
                convention,
                batch,
                threads,
                limits,
                buffers,
                output,
                progress,
                sanitize,
                observe,
                machine,
            )
            return self.run(launch)
        except Refused as error:
            attach_place(error, self.loaded.module)
            raise
        except MemoryError:
            raise TileError("not enough memory to launch the kernel", kind=ErrorKind.MEMORY) from None


def _kernel_of(loaded: Loaded, name: str) -> Kernel:
    return loaded.kernel(name)


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


# ---------------------------------------------------------------- loading


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


def refuse_options(engine: str, options: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Raise TileError for options that an engine does not have."""
    for name in options.keys() - set(known):
        has = f"its options are {', '.join(known)}" if known else "it has none"
        raise TileError(f"engine '{engine}' has no option '{name}': {has}")
