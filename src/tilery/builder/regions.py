"""Regions while they are built: entries, loops, branches, and the bodies of reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..diag import TileError
from ..ir import Block, Op, Value
from ..ops import Break, If, Loop, Reduce, Scan, Yield
from ..types import Scalar, Tile
from .arithmetic import number_type, tile_of
from .constants import is_number, number_attr

if TYPE_CHECKING:
    from .builder import Builder


class Parameters:
    """The parameters of a kernel: attributes by name, or all of them in order by iteration."""

    def __init__(self, values: dict[str, Value]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(f"the kernel has no parameter '{name}', it has {', '.join(self._values) or 'none'}")
        return self._values[name]

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values.values())

    def __dir__(self) -> list[str]:
        return list(self._values)

    def __repr__(self) -> str:
        return f"<parameters {', '.join(f'{name}: {v.type}' for name, v in self._values.items())}>"


class Region:
    """A block of an operation that is being built, as a context manager; `as` binds the arguments of the block."""

    def __init__(self, builder: Builder, op: Op, block: Block, *, insert: bool = True) -> None:
        self.builder, self.op, self.block, self.insert = builder, op, block, insert

    def __enter__(self) -> tuple[Value, ...]:
        if self.insert:
            self.builder.emit(self.op)
        self.builder.open(self.op, self.block)
        return tuple(self.block.args)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.builder.close(self.op, self.block, check=kind is None)

    @property
    def results(self) -> tuple[Value, ...]:
        """The results of the operation, once its regions have been built."""
        return tuple(self.op.results)

    @property
    def result(self) -> Value:
        """The only result of the operation."""
        found = self.op.results
        if len(found) != 1:
            raise TileError(f"{self.op.name}: it has {len(found)} results, use 'results'")
        return found[0]


class EntryBuilder(Region):
    """A kernel that is being built; `as` binds its parameters."""

    def __init__(self, builder: Builder, op: Op, block: Block, names: list[str]) -> None:
        super().__init__(builder, op, block, insert=False)
        self.names = names

    def __enter__(self) -> Parameters:  # type: ignore[override]  # an entry has names for its arguments
        return Parameters(dict(zip(self.names, super().__enter__())))


def adopt_results(o: Op, ancestors: list[Op], pending: set[Op]) -> None:
    """Give the results of `if` and `loop` the types of the first `yield` or `break` that leaves them."""
    target: Op | None = None
    if isinstance(o, Yield):
        target = ancestors[-1] if ancestors else None
    elif isinstance(o, Break):
        target = next((a for a in reversed(ancestors) if isinstance(a, Loop)), None)
    if target not in pending:
        return
    pending.discard(target)
    made = tuple(Value(v.type, target) for v in o.operands)
    if isinstance(target, Loop):
        target.resultValues = made
    elif isinstance(target, If):
        target.results_ = made


def aggregate(
    b: Builder,
    name: str,
    value: Value | Sequence[Value],
    combine: Callable[..., Any],
    identity: Any,
    dim: int,
    *,
    keep: bool = False,
    reverse: bool = False,
) -> Any:
    """Build a reduction or a scan whose body is a function of two elements of each tile."""
    values = (value,) if isinstance(value, Value) else tuple(value)
    identities = (identity,) if is_number(identity) else tuple(identity)
    elements = [number_type(v, name) for v in values]
    if not values or len(values) != len(identities):
        raise TileError(f"{name}: 'identity' must have an item per tile, {len(values)}, got {len(identities)}")
    rank = tile_of(values[0], name).rank
    if not -rank <= dim < rank:
        raise TileError(f"{name}: 'dim' must be in [{-rank}, {rank}), got {dim}", field="dim")
    dim %= rank
    body = _body(b, name, elements, combine)
    neutral = tuple(number_attr(e, i) for e, i in zip(elements, identities))
    o: Op
    if name == "scan":
        o = Scan(operands_=values, dim=dim, reverse=reverse, identities=neutral, body=body)
    else:
        o = Reduce(operands_=values, dim=dim, identities=neutral, body=body)
    found = b.emit(o).results
    b.finish(o)
    if keep:
        shape = tuple(1 if i == dim else size for i, size in enumerate(tile_of(values[0], name).shape))
        found = [b.reshape(v, *shape) for v in found]
    return found[0] if isinstance(value, Value) else tuple(found)


def _body(b: Builder, name: str, elements: list[Scalar], combine: Callable[..., Any]) -> Block:
    """Build the block of a reduction by calling a function with two values per tile."""
    block = Block([Value(Tile((), e)) for e in elements for _ in range(2)])
    b.open(None, block, name)
    try:
        answer = combine(*block.args)
        given = tuple(answer) if isinstance(answer, (list, tuple)) else (answer,)
        if len(given) != len(elements) or not all(isinstance(v, Value) for v in given):
            raise TileError(f"{name}: 'combine' must return {len(elements)} values, got {answer!r}")
        block.ops.append(Yield(operands_=given))
    finally:
        b.leave()
    return block


def lowest(value: Value) -> float:
    """Return the number that is not above any other of a type."""
    element = number_type(value, "max")
    return float("-inf") if element.is_float else -(1 << element.bits - 1)


def highest(value: Value) -> float:
    """Return the number that is not below any other of a type."""
    element = number_type(value, "min")
    return float("inf") if element.is_float else (1 << element.bits - 1) - 1
