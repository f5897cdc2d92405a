"""Editing a module: uses and parents, kept up to date by the changes that are made through an `Edit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import hooks
from ..analysis.uses import Uses
from ..declare.relations import TERMINATOR
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value, walk
from .editing import index_of, map_operands

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Edit:
    """The uses and parents inside an operation, while it is changed.

    The IR has no use lists and no parents. An edit computes both once, in a walk, and its methods keep them up to
    date. What is changed in another way while it is open, it does not see.

    An edit suits a few changes anywhere. Each one has to find its position in a block, so a pass that changes much in
    textual order sweeps over the operations instead and rebuilds each block once, as `apply` does for rules and as
    `cse`, `licm`, `simplify` and `loop-split` do. Uses are kept by the same code, `tilery.analysis.uses`.

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
        self._uses = Uses()
        self._blocks: dict[Op, Block] = {}
        self._parents: dict[Block, Op] = {}
        self._learn(root)

    def __repr__(self) -> str:
        return f"<edit of {self.root!r}>"

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
        return self._uses.of(value)

    def parent(self, op: Op) -> Op | None:
        """Return the operation around another one; None for the root."""
        return None if op is self.root else self._parents[self.block(op)]

    def block(self, op: Op) -> Block:
        """Return the block that contains an operation."""
        if op not in self._blocks:
            raise TileError(f"'{op.name}' is not inside the operation that is edited")
        return self._blocks[op]

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
        self.block(op)
        if isinstance(op, UnknownOp) or name not in {f.attr for f in op.opdef.operands}:
            names = ", ".join(f.attr for f in op.opdef.operands) if not isinstance(op, UnknownOp) else "none"
            raise TileError(f"set_operand: '{op.name}' has no operand '{name}'; its operands: {names}")
        self._uses.remove(op)
        setattr(op, name, value if value is None or isinstance(value, Value) else tuple(value))
        self._uses.add(op)
        self.changed = True

    def insert(self, *ops: Op, before: Op | None = None, after: Op | None = None, into: Block | None = None) -> None:
        """Insert operations before or after another one, or at the end of a block, before its terminator."""
        if sum(place is not None for place in (before, after, into)) != 1:
            raise TileError("insert: say where, with one of 'before', 'after' and 'into'")
        block, at = self._place(before, after, into)
        for o in ops:
            if o in self._blocks:
                raise TileError(f"insert: this '{o.name}' is already in the module")
        block.ops[at:at] = ops
        for o in ops:
            self._enter(o, block)
        self.changed = True

    def erase(self, op: Op) -> None:
        """Remove an operation whose results are unused."""
        block = self.block(op)
        for result in op.results:
            if users := self.uses(result):
                raise TileError(f"erase: '{op.name}' is still used by '{users[0].name}'")
        del block.ops[index_of(block, op)]
        for o in walk(op):
            self._uses.remove(o)
            del self._blocks[o]
            for inner in o.blocks:
                del self._parents[inner]
        self.changed = True

    def before(self, op: Op) -> AbstractContextManager[Any]:
        """Open a `tilery.Builder` that inserts before an operation: `with edit.before(op) as b:`."""
        return self._builder(self.block(op), op)

    def after(self, op: Op) -> AbstractContextManager[Any]:
        """Open a `tilery.Builder` that inserts after an operation."""
        block = self.block(op)
        at = index_of(block, op) + 1
        if at == len(block.ops):
            raise TileError(f"after: nothing can follow '{op.name}', which ends its block")
        return self._builder(block, block.ops[at])

    # ------------------------------------------------------------ bookkeeping

    def _builder(self, block: Block, before: Op) -> AbstractContextManager[Any]:
        builder = hooks.builder(self.root)

        def inserted(o: Op, home: Block, around: Op | None) -> None:
            self.changed = True
            if around is not None or home is block:  # the body of a reduction is entered with the reduction
                self._enter(o, home)

        builder.on_insert = inserted
        made: AbstractContextManager[Any] = builder.at(block, before)
        return made

    def _place(self, before: Op | None, after: Op | None, into: Block | None) -> tuple[Block, int]:
        target = before or after
        if target is not None:
            block = self.block(target)
            return block, index_of(block, target) + (after is not None)
        assert into is not None
        if into not in self._parents:
            raise TileError("insert: the block is not inside the operation that is edited")
        last = into.ops[-1] if into.ops else None
        ends = last is not None and not isinstance(last, UnknownOp) and TERMINATOR in last.opdef.traits
        return into, len(into.ops) - ends

    def _enter(self, op: Op, block: Block) -> None:
        """Learn of an operation that was inserted."""
        self._blocks[op] = block
        self._learn(op)

    def _learn(self, root: Op) -> None:
        """Learn what an operation and those inside it use, and where those inside it are."""
        for o in walk(root):
            self._uses.add(o)
            for block in o.blocks if o.nested else ():
                self._parents[block] = o
                self._blocks.update(dict.fromkeys(block.ops, block))

    def _replace_value(self, old: Value, new: Value) -> None:
        if old.type is not new.type:
            raise TileError(f"replace: a value of type {old.type} cannot become one of type {new.type}")
        if old is new:
            return
        users = self._uses.replace(old, new)
        for o in users:
            map_operands(o, lambda value: new if value is old else value)
        self.changed = self.changed or bool(users)
