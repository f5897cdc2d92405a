"""Insertion of operations: positions, calls by mnemonic, regions, and the check of each operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .. import hooks
from ..attrs import DISubprogram
from ..declare.relations import TERMINATOR
from ..diag import TileError
from ..ir import Block, Op, Value, walk
from ..ops import Constant, Continue, Entry, For, If, Loop, Module, Return, Yield
from ..text.print.chosen import parameter_names
from ..verifier.verify import problem_at_call, problem_at_end
from .arithmetic import Condition
from .calls import arguments, construct, convert, described, find, results
from .memory import listed
from .operations import Operations
from .places import FrontendPosition, at_place, here, scope_at
from .regions import adopt_results

OpT = TypeVar("OpT", bound=Op)

ACTIVE: ContextVar[Any] = ContextVar("tilery_builder", default=None)
"""The builder that operators on values use."""


class _Point:
    """Where operations are inserted: a block of an operation, at an index or at its end."""

    __slots__ = ("block", "index", "name", "op")

    def __init__(self, block: Block, op: Op | None, index: int | None = None, name: str = "") -> None:
        self.block, self.op, self.index, self.name = block, op, index, name


class Inserter(Operations):
    """Inserts operations into blocks, checks each of them, and keeps track of the regions that are open."""

    def __init__(self, module: Module | None = None, *, locs: bool = False) -> None:
        self.module = Module(body=Block()) if module is None else module
        """The module being built, or the one that was given."""
        self.locs = locs
        """Whether operations get the caller's source lines as locations."""
        self.results: tuple[Value, ...] = ()
        """The results of the `for_`, `loop` or `if_` that ended last."""
        self.on_insert: Callable[[Op, Block, Op | None], None] | None = None
        """Called for each operation that is inserted, with its block and the open operation around it."""
        self._points: list[_Point] = []
        self._homes: dict[Op, Block] = {}
        self._closed: dict[Block, str] = {}
        self._pending: set[Op] = set()
        self._conditions: list[Value] = []
        self._scope: DISubprogram | None = None
        self._place: FrontendPosition | None = None
        self._outer: list[Any] = []

    def __repr__(self) -> str:
        inside = f", inside {self._points[-1].name or 'a block'}" if self._points else ""
        return f"<builder of {self.module!r}{inside}>"

    def _repr_html_(self) -> str:
        return hooks.to_html(str(self.module))

    @property
    def result(self) -> Value:
        """The only result of the `for_`, `loop` or `if_` that ended last."""
        if len(self.results) != 1:
            raise TileError(f"'result' needs one result, there are {len(self.results)}; use 'results'")
        return self.results[0]

    # ------------------------------------------------------------ insertion

    def emit(self, op: OpT) -> OpT:
        """Insert an operation at the current position and check it; return it."""
        if not self._points:
            raise TileError(f"{op.name}: no kernel is open, use 'with b.entry(...)'")
        point = self._points[-1]
        last = point.block.ops[-1] if point.index is None and point.block.ops else None
        if last is not None and TERMINATOR in last.opdef.traits:
            raise TileError(f"{op.name}: the block has already ended with '{last.name}'")
        ancestors = [p.op for p in self._points if p.op is not None]
        adopt_results(op, ancestors, self._pending)
        self._check_visible(op)
        self.check(op, ancestors)
        if op.loc is None:
            self._locate(op)
        if point.index is None:
            point.block.ops.append(op)
        else:
            point.block.ops.insert(point.index, op)
            point.index += 1
        self._homes[op] = point.block
        if self.on_insert is not None:
            self.on_insert(op, point.block, point.op)
        return op

    @contextmanager
    def loc(self, file: str, line: int, column: int = 0) -> Iterator[None]:
        """Give the operations of a `with` block a position in the source of your frontend.

        Errors, `tilery dis -g`, the sanitizer and the debugger then name that line. Blocks nest, also around `entry`.

        >>> from tilery.builder import Builder, i32
        >>> b = Builder()
        >>> with b.loc("kernel.mylang", 7), b.entry("k", n=i32) as k:
        ...     with b.loc("kernel.mylang", 8, 5):
        ...         twice = k.n + k.n
        >>> twice.owner.loc
        kernel.mylang:8:5
        """
        if not isinstance(file, str) or not file or not isinstance(line, int) or not isinstance(column, int):
            raise TileError(f"loc: expected a file, a line and a column, got {file!r}, {line!r}, {column!r}")
        if not (0 <= line < 1 << 32 and 0 <= column < 1 << 32):
            raise TileError(f"loc: line and column must be in [0, 2**32), got {line} and {column}")
        outer, self._place = self._place, FrontendPosition(file, line, column)
        try:
            yield
        finally:
            self._place = outer

    def _locate(self, op: Op) -> None:
        """Set the location of an operation, if there is one to set."""
        kernel = self._points[0].op
        if self._place is not None and isinstance(kernel, Entry):
            if self._scope is None:  # the kernel was opened without a place: its source begins here
                self._scope = scope_at(kernel.sym_name, self._place)
                kernel.loc = at_place(self._scope, self._place)
            op.loc = at_place(self._scope, self._place)
        elif self.locs and self._scope is not None:
            op.loc = here(self._scope)

    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Build the operation with a mnemonic and return its results: `b.op("addf", x, y)` is `b.addf(x, y)`.

        What an operation needs is passed in the order of its declaration, everything else by name. Keywords are
        strings, types of results can be text, and a number takes the type that other arguments determine.
        """
        opdef = find(name)
        if opdef.regions:
            raise TileError(f"{name}: an operation with regions is built with emit({opdef.cls.__name__}(...))")
        constants: list[Constant] = []
        fields = convert(opdef, arguments(opdef, args, kwargs), constants)
        made = construct(opdef, fields)
        for constant in constants:
            self.emit(constant)
        return results(self.emit(made))

    def value(self, name: str, /, *args: Any, **kwargs: Any) -> Value:
        """Build an operation that has one result, and return it."""
        found: Value = self.op(name, *args, **kwargs)
        return found

    @contextmanager
    def at(self, block: Block, before: Op | None = None) -> Iterator[Inserter]:
        """Insert at the end of a block, or before one of its operations, until the `with` ends."""
        index = None if before is None else next((i for i, o in enumerate(block.ops) if o is before), -1)
        if index == -1:
            assert before is not None
            raise TileError(f"at: the block does not contain this '{before.name}'")
        self._push(_Point(block, None, index))
        try:
            yield self
        finally:
            self.leave()

    # ------------------------------------------------------------ regions (used by the classes in `regions`)

    def open(self, op: Op | None, block: Block, name: str = "") -> None:
        """Continue inside a block of an operation, which is None if it is made once the block is complete."""
        self._push(_Point(block, op, name=name or (op.name if op is not None else "")))

    def close(self, op: Op, block: Block, *, check: bool = True) -> None:
        """End a block: add the terminator that may be omitted, and check what could not be checked before."""
        try:
            if check:
                self._end(op, block)
        finally:
            self.leave()
        self.results = tuple(op.results)
        if check and not (isinstance(op, If) and op.elseRegion is None):
            self.finish(op)

    def finish(self, op: Op) -> None:
        """Check an operation whose blocks are complete."""
        self._refuse(op, problem_at_end(op))

    def _end(self, op: Op, block: Block) -> None:
        if block.ops and TERMINATOR in block.ops[-1].opdef.traits:
            return
        wanted = {"for": "continue", "loop": "continue", "entry": "return"}.get(op.name, "yield")
        needed = [v.type for v in (op.initValues if isinstance(op, (For, Loop)) else op.results)]
        if needed:
            types = ", ".join(map(str, needed))
            raise TileError(f"{op.name}: the body must end with {wanted}_(...) of {types}")
        self._pending.discard(op)
        self.emit({"continue": Continue, "return": Return, "yield": Yield}[wanted]())

    def _push(self, point: _Point) -> None:
        if not self._points:
            self._outer.append(ACTIVE.get())
            ACTIVE.set(self)
        self._points.append(point)

    def leave(self) -> None:
        """Continue after the innermost block."""
        point = self._points.pop()
        if point.name:
            self._closed[point.block] = point.name
        if not self._points:
            ACTIVE.set(self._outer.pop())
            for value in self._conditions:
                value.__class__ = Value
            self._conditions.clear()
            self._homes.clear()
            self._closed.clear()

    def _check_visible(self, op: Op) -> None:
        """Refuse operands of regions that have ended, and of other kernels."""
        opened = {p.block for p in self._points}
        complete = isinstance(self._points[0].op, Entry)
        for value in op.operands:
            owner = value.owner
            home = owner if isinstance(owner, Block) else self._homes.get(owner) if owner is not None else None
            if home in opened:
                continue
            if home in self._closed:
                why = f"was defined inside a '{self._closed[home]}' that has ended"
                note = "results leave it through continue_, break_ or yield_; read them from 'results'"
                raise self._invisible(op, value, why, note)
            # Inside `at`, operations that are older than this builder may define the value.
            if complete and owner is not None and not any(owner in p.block.ops for p in self._points):
                note = "kernels share no values: pass it as a parameter, or build it again"
                raise self._invisible(op, value, f"is a value of {self._kernel_of(owner)}", note)

    def _invisible(self, op: Op, value: Value, why: str, note: str) -> TileError:
        f = next(f for f in op.opdef.operands if value in listed(getattr(op, f.attr)))
        return TileError(f"{op.name}: '{f.attr}' {why}", field=f.name, notes=(note,))

    def _kernel_of(self, owner: Op | Block) -> str:
        """Describe the kernel that defines a value, for a message."""
        for entry in self.module.entries:
            if owner is entry.body or any(o is owner or owner in o.blocks for o in walk(entry.body)):
                return f"the kernel '{entry.sym_name}'"
        return "another module, or of an operation that was not inserted"

    def _refuse(self, op: Op, finding: Any) -> None:
        if finding is not None:
            kernel = self._points[0].op if self._points else None
            text = described(op, {} if kernel is None else parameter_names(kernel))
            notes = [*finding.notes, *([f"the arguments: {text}"] if text else [])]
            raise TileError(f"{op.name}: {finding.message}", field=finding.field, notes=tuple(notes))

    def check(self, op: Op, ancestors: list[Op]) -> None:
        """Raise TileError if an operation is wrong, as far as that is known before its regions are built."""
        self._refuse(op, problem_at_call(op, ancestors))

    def conditional(self, value: Value) -> Value:
        """Mark the result of a comparison, so that Python cannot take it for true while the kernel is built."""
        value.__class__ = Condition
        self._conditions.append(value)
        return value
