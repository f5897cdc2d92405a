"""Editing a module: uses and parents, kept up to date by the changes that are made through an `Edit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import hooks
from ..declare.relations import TERMINATOR
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value, walk
from .editing import map_operands

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Edit:
    """The uses and parents inside an operation, while it is changed.

    The IR has no use lists and no parents. An edit computes both once, in a walk, and its methods keep them up to
    date. What is changed in another way while it is open, it does not see.

    >>> import tilery
    >>> text = "%0 = addi %n, %n : tile<i32> %1 = negi %0 : tile<i32>"
    >>> module = tilery.parse(f"entry @k(%n: tile<i32>) {{ {text} return }}")
    >>> add, negate, _ = module.entry("k").body
    >>> with module.edit() as edit:
    ...     edit.replace(add.result, add.lhs)
    ...     edit.erase(add)
    ...     [o.name for o in edit.uses(add.lhs)]
    ['negi']
    """

    def __init__(self, root: Op) -> None:
        self.root = root
        self.changed = False
        """Whether a method has changed anything."""
        self._users: dict[Value, dict[Op, int]] = {}
        self._homes: dict[Op, tuple[Block, Op]] = {}
        for block in root.blocks:
            for o in block.ops:
                self._enter(o, block, root)
        self._count(root, 1)

    def __enter__(self) -> Edit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        layout = getattr(self.root, "layout", None)
        if self.changed and layout is not None:
            self.root.layout = layout.changed()  # type: ignore[attr-defined]  # only a module has one

    # ------------------------------------------------------------ questions

    def uses(self, value: Value) -> list[Op]:
        """Return the operations that use a value; one that uses it twice occurs twice."""
        return [o for o, count in self._users.get(value, {}).items() for _ in range(count)]

    def parent(self, op: Op) -> Op | None:
        """Return the operation around another one; None for the root."""
        return None if op is self.root else self._home(op)[1]

    def block(self, op: Op) -> Block:
        """Return the block that contains an operation."""
        return self._home(op)[0]

    # ------------------------------------------------------------ changes

    def replace(self, old: Value | Op, new: Value | Op | Sequence[Value]) -> None:
        """Replace a value wherever it is used, or an operation by another one, by values, or by nothing.

        `replace(value, other)` leaves the operation that defines the value in its place. `replace(op, other)` inserts
        an operation in the place of the old one, and its results replace the old results. `replace(op, values)`
        replaces the results and erases the operation.
        """
        if isinstance(old, Value):
            if not isinstance(new, Value):
                raise TileError(f"replace: a value is replaced by a value, got {new!r}")
            self._replace_value(old, new)
            return
        if isinstance(new, Op):
            self.insert(new, before=old)
            if new.loc is None:
                new.loc = old.loc
            values: Sequence[Value] = new.results
        else:
            values = [new] if isinstance(new, Value) else list(new)
        if len(values) != len(old.results):
            raise TileError(f"replace: '{old.name}' has {len(old.results)} results, got {len(values)} values")
        for result, value in zip(old.results, values):
            self._replace_value(result, value)
        self.erase(old)

    def set_operand(self, op: Op, name: str, value: Value | Iterable[Value] | None) -> None:
        """Set an operand field of an operation."""
        self._home(op)
        if isinstance(op, UnknownOp) or name not in {f.attr for f in op.opdef.operands}:
            names = ", ".join(f.attr for f in op.opdef.operands) if not isinstance(op, UnknownOp) else "none"
            raise TileError(f"set_operand: '{op.name}' has no operand '{name}'; its operands: {names}")
        self._count(op, -1)
        setattr(op, name, value if value is None or isinstance(value, Value) else tuple(value))
        self._count(op, 1)
        self.changed = True

    def insert(self, *ops: Op, before: Op | None = None, after: Op | None = None, into: Block | None = None) -> None:
        """Insert operations before or after another one, or at the end of a block, before its terminator."""
        if sum(place is not None for place in (before, after, into)) != 1:
            raise TileError("insert: say where, with one of 'before', 'after' and 'into'")
        block, parent, at = self._place(before, after, into)
        for o in ops:
            if o in self._homes:
                raise TileError(f"insert: this '{o.name}' is already in the module")
        block.ops[at:at] = ops
        for o in ops:
            self._enter(o, block, parent)
        self.changed = True

    def erase(self, op: Op) -> None:
        """Remove an operation whose results are unused."""
        block = self.block(op)
        for result in op.results:
            if users := self._users.get(result):
                raise TileError(f"erase: '{op.name}' is still used by '{next(iter(users)).name}'")
        del block.ops[_index(block, op)]
        for o in walk(op):
            self._count(o, -1)
            del self._homes[o]
        self.changed = True

    def before(self, op: Op) -> AbstractContextManager[Any]:
        """Open a `tilery.Builder` that inserts before an operation: `with edit.before(op) as b:`."""
        return self._builder(self.block(op), op)

    def after(self, op: Op) -> AbstractContextManager[Any]:
        """Open a `tilery.Builder` that inserts after an operation."""
        block = self.block(op)
        at = _index(block, op) + 1
        if at == len(block.ops):
            raise TileError(f"after: nothing can follow '{op.name}', which ends its block")
        return self._builder(block, block.ops[at])

    # ------------------------------------------------------------ bookkeeping

    def _builder(self, block: Block, before: Op) -> AbstractContextManager[Any]:
        parent = self._home(before)[1]
        builder = hooks.builder(self.root)

        def inserted(o: Op, home: Block, around: Op | None) -> None:
            self.changed = True
            if around is not None or home is block:  # the body of a reduction is entered with the reduction
                self._enter(o, home, around or parent)

        builder.on_insert = inserted
        made: AbstractContextManager[Any] = builder.at(block, before)
        return made

    def _home(self, op: Op) -> tuple[Block, Op]:
        if op not in self._homes:
            raise TileError(f"'{op.name}' is not inside the operation that is edited")
        return self._homes[op]

    def _place(self, before: Op | None, after: Op | None, into: Block | None) -> tuple[Block, Op, int]:
        target = before or after
        if target is not None:
            block, parent = self._home(target)
            return block, parent, _index(block, target) + (after is not None)
        assert into is not None
        parent_of = next((o for o in walk(self.root) if any(b is into for b in o.blocks)), None)
        if parent_of is None:
            raise TileError("insert: the block is not inside the operation that is edited")
        last = into.ops[-1] if into.ops else None
        ends = last is not None and not isinstance(last, UnknownOp) and TERMINATOR in last.opdef.traits
        return into, parent_of, len(into.ops) - ends

    def _enter(self, root: Op, block: Block, parent: Op) -> None:
        """Learn of an operation and everything inside it."""
        todo = [(root, block, parent)]
        while todo:
            o, home, outer = todo.pop()
            self._homes[o] = (home, outer)
            self._count(o, 1)
            todo += [(inner, b, o) for b in reversed(o.blocks) for inner in reversed(b.ops)]

    def _count(self, o: Op, step: int) -> None:
        for value in o.operands:
            users = self._users.setdefault(value, {})
            count = users.get(o, 0) + step
            if count:
                users[o] = count
            else:
                del users[o]

    def _replace_value(self, old: Value, new: Value) -> None:
        if old.type is not new.type:
            raise TileError(f"replace: a value of type {old.type} cannot become one of type {new.type}")
        if old is new:
            return
        users = self._users.pop(old, {})
        for o in users:
            map_operands(o, lambda value: new if value is old else value)
        mine = self._users.setdefault(new, {})
        for o, count in users.items():
            mine[o] = mine.get(o, 0) + count
        self.changed = self.changed or bool(users)


def _index(block: Block, o: Op) -> int:
    return next(i for i, other in enumerate(block.ops) if other is o)
