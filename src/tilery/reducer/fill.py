"""Remove operations and put something simpler in the place of their results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ..analysis.uses import Uses
from ..attrs import Dense
from ..declare.operation import has_trait
from ..declare.relations import ISOLATED, TERMINATOR
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value, walk
from ..ops import Constant, Entry, MakeToken
from ..rewrite.editing import map_operands
from ..types import I1, TOKEN, Function, Ptr, Scalar, Tile, Type
from .case import Case, CaseLaunch


class Replacement(Enum):
    """The kinds of values that can replace another one."""

    OPERAND = "an operand of the operation"
    VISIBLE = "a value that is defined before"
    CONSTANT = "a constant"
    ONE = "a constant, one"
    PARAMETER = "a new parameter"


CONSTANTS = (Replacement.CONSTANT, Replacement.OPERAND, Replacement.VISIBLE, Replacement.PARAMETER)
OPERANDS = (Replacement.OPERAND, Replacement.VISIBLE, Replacement.CONSTANT, Replacement.PARAMETER)
VISIBLE = (Replacement.VISIBLE, Replacement.OPERAND, Replacement.CONSTANT)
ONES = (Replacement.ONE, Replacement.OPERAND, Replacement.VISIBLE, Replacement.PARAMETER)
PARAMETERS = (Replacement.PARAMETER, Replacement.OPERAND, Replacement.CONSTANT)
POLICIES = (CONSTANTS, OPERANDS, VISIBLE, ONES, PARAMETERS)
"""In which order replacements are looked for."""


@dataclass(slots=True)
class IsolatedOp:
    """An operation whose inside uses nothing from outside, and what is added to it."""

    root: Op
    added: list[Op] = field(default_factory=list)
    params: list[Value] = field(default_factory=list)
    made: dict[tuple[Replacement, Type], Value] = field(default_factory=dict)
    visible: dict[Type, list[Value]] = field(default_factory=dict)


class _Frame:
    """A block that is walked; `ends` is the operation whose last block it is."""

    __slots__ = ("block", "ends", "ops", "seen", "started")

    def __init__(self, block: Block, ends: Op | None = None) -> None:
        self.block, self.ends, self.ops = block, ends, iter(block.ops)
        self.seen: list[Value] = []
        self.started = False


def _marked(blocks: list[Block]) -> list[tuple[bool, Block]]:
    """Return blocks from back to front, each with whether it is the last."""
    return [(block is blocks[-1], block) for block in reversed(blocks)]


class Filler:
    """Finds replacements for values while a module is walked from front to back."""

    def __init__(self, case: Case, policy: Sequence[Replacement]) -> None:
        self.module, self.launch, self.policy = case.module, case.launch, policy
        self.values: dict[Value, Value | None] = {}
        self.uses = Uses(case.module)
        self.scopes = [IsolatedOp(case.module)]
        self.done: list[IsolatedOp] = []

    # ------------------------------------------------------------ where we are

    def walk(self) -> Generator[tuple[Op, Block], bool | None, None]:
        """Yield each operation and its block; `send(True)` skips the inside and the results of an operation."""
        todo = [_Frame(self.module.body)]
        while todo:
            frame = todo[-1]
            if not frame.started:
                frame.started = True
                self._show(frame.block.args, frame.seen)
            for o in frame.ops:
                if (yield o, frame.block):
                    continue
                if o.nested and o.blocks:
                    if has_trait(o, ISOLATED):
                        self.scopes.append(IsolatedOp(o))
                    todo += [_Frame(block, o if last else None) for last, block in _marked(o.blocks)]
                    break
                self._show(o.results, frame.seen)
            else:
                todo.pop()
                for value in reversed(frame.seen):
                    self.scopes[-1].visible[value.type].pop()
                if frame.ends is not None:
                    if has_trait(frame.ends, ISOLATED):
                        self.done.append(self.scopes.pop())
                    self._show(frame.ends.results, todo[-1].seen)

    def _show(self, values: Sequence[Value], seen: list[Value]) -> None:
        for value in values:
            self.scopes[-1].visible.setdefault(value.type, []).append(value)
            seen.append(value)

    # ------------------------------------------------------------ replacements

    def resolve(self, value: Value) -> Value | None:
        """Return what stands for a value by now."""
        found: Value | None = value
        while found is not None and found in self.values:
            found = self.values[found]
        return found

    def find(self, value: Value, operands: Sequence[Value]) -> bool:
        """Find a replacement of a value; False if there is none."""
        if value not in self.uses.users:
            return True
        for source in self.policy:
            found = self._from(source, value, operands)
            if found is not None:
                self.values[value] = found
                return True
        if value.type is TOKEN:
            self.values[value] = (
                None if self._is_optional(value) else self._make(Replacement.CONSTANT, TOKEN, MakeToken)
            )
            return True
        return False

    def _from(self, source: Replacement, value: Value, operands: Sequence[Value]) -> Value | None:
        match source:
            case Replacement.OPERAND:
                resolved = (self.resolve(v) for v in operands)
                return next((v for v in resolved if v is not None and v.type is value.type and v is not value), None)
            case Replacement.VISIBLE:
                there = self.scopes[-1].visible.get(value.type, ())
                return next((v for v in there if v is not value), None)
            case Replacement.CONSTANT | Replacement.ONE:
                return self._constant(source, value)
            case Replacement.PARAMETER:
                return self._parameter(value.type)

    def _constant(self, source: Replacement, value: Value) -> Value | None:
        type = value.type
        if not isinstance(type, Tile) or not isinstance(type.element, Scalar) or isinstance(value.owner, Constant):
            return None
        element = type.element
        number: float = int(source is Replacement.ONE)
        if element.is_float and source is Replacement.ONE:
            number = 1.0
        try:
            value_of = Dense.of(type, [number])
        except TileError:  # the type lacks the number
            return None
        return self._make(source, type, lambda: Constant(value=value_of))

    def _make(self, source: Replacement, type: Type, make: Callable[[], Any]) -> Value:
        scope = self.scopes[-1]
        if (source, type) not in scope.made:
            o = make()
            scope.added.append(o)
            scope.made[source, type] = o.result
        return scope.made[source, type]

    def _parameter(self, type: Type) -> Value | None:
        scope = self.scopes[-1]
        if not isinstance(type, Tile) or type.rank or not isinstance(scope.root, Entry):
            return None
        if (Replacement.PARAMETER, type) not in scope.made:
            made = scope.made[Replacement.PARAMETER, type] = Value(type, scope.root.body)
            scope.params.append(made)
        return scope.made[Replacement.PARAMETER, type]

    def _is_optional(self, value: Value) -> bool:
        """Whether every use of a value may be left out."""
        return all(
            f.arity == "opt"
            for o in self.uses.of(value)
            if not isinstance(o, UnknownOp)
            for f in o.opdef.operands
            if getattr(o, f.attr) is value or (f.arity == "var" and value in getattr(o, f.attr))
        )

    # ------------------------------------------------------------ the end

    def finish(self) -> CaseLaunch | None:
        """Use the replacements, and add what they need; return the launch with the added parameters."""
        launch = self.launch
        for scope in (*self.done, *self.scopes):
            scope.root.blocks[0].ops[:0] = scope.added
            if scope.params:
                assert isinstance(scope.root, Entry)
                launch = add_parameters(scope.root, scope.params, launch)
        for o in walk(self.module) if self.values else ():
            _substitute(o, self.resolve, self.values)
        return launch


def _substitute(o: Op, resolve: Callable[[Value], Value | None], values: dict[Value, Value | None]) -> None:
    if isinstance(o, UnknownOp) or not any(v in values for v in o.operands):
        if isinstance(o, UnknownOp):
            map_operands(o, lambda v: resolve(v) or v)
        return
    for f in o.opdef.operands:
        value = getattr(o, f.attr)
        if isinstance(value, tuple):
            setattr(o, f.attr, tuple(resolve(v) or v for v in value))
        elif value is not None:
            setattr(o, f.attr, resolve(value))


def add_parameters(entry: Entry, params: list[Value], launch: CaseLaunch | None) -> CaseLaunch | None:
    """Add parameters to an entry, and arguments to its launch: zeros, and arrays of a few zeros."""
    entry.body.args += params
    entry.function_type = Function([v.type for v in entry.body.args])
    if launch is None or launch.entry != entry.sym_name:
        return launch
    return replace(launch, args=(*launch.args, *(default_argument(v.type) for v in params)))


def default_argument(type: Type, count: int = 16) -> Any:
    """Return a simple argument for a parameter: zero, or an array of zeros."""
    import numpy as np

    from ..engines.common.tiles import carrier

    assert isinstance(type, Tile)
    if isinstance(type.element, Ptr):
        pointee = type.element.pointee
        dtype = np.dtype(np.uint8) if pointee is I1 else carrier(pointee)
        return np.zeros(count, f"u{dtype.itemsize}")
    return 0 if type.element.is_int else 0.0


def without(case: Case, chosen: Set[int], policy: Sequence[Replacement]) -> Case | None:
    """Return a copy without the operations that have these positions in the walk; None if it is the same."""
    case = case.copy()
    numbers = {o: number for number, o in enumerate(walk(case.module)) if number in chosen}
    filler = Filler(case, policy)
    gone: set[Op] = set()
    steps = filler.walk()
    place = next(steps, None)
    while place is not None:
        o, _ = place
        removed = o in numbers and not has_trait(o, TERMINATOR) and _replaced(filler, o)
        if removed:
            gone.add(o)
        try:
            place = steps.send(removed)
        except StopIteration:
            place = None
    if not gone:
        return None
    for o in walk(case.module):
        for block in o.blocks:
            block.ops = [inner for inner in block.ops if inner not in gone]
    return replace(case, launch=filler.finish())


def _replaced(filler: Filler, o: Op) -> bool:
    before = dict(filler.values) if len(o.results) > 1 else None
    if all(filler.find(value, o.operands) for value in o.results):
        return True
    if before is None:
        filler.values.pop(o.results[0], None)
    else:
        filler.values = before
    return False


def with_values_replaced(case: Case, number: int, policy: Sequence[Replacement]) -> Case | None:
    """Return a copy in which one value, by its position among all, is used nowhere; None if it cannot be replaced."""
    case = case.copy()
    target = values_of(case)[number]
    filler = Filler(case, policy)
    if target not in filler.uses.users:
        return None
    owner = target.owner
    steps = filler.walk()
    try:
        o, block = next(steps)
        while not (o is owner or block is owner):
            o, block = steps.send(None)
        operands = o.operands if o is owner else ()
        if not filler.find(target, operands) or filler.values.get(target) is target:
            return None
        while True:
            steps.send(None)
    except StopIteration:
        pass
    return replace(case, launch=filler.finish()) if filler.values else None


def values_of(case: Case) -> list[Value]:
    """Return all values of a module, in the order of the walk."""
    found: list[Value] = []
    for o in walk(case.module):
        found += o.results
        for block in o.blocks:
            found += block.args
    return found
