"""Split the rows of a tile block over two programs, or over two groups of warps of one.

A tile block that owns some rows of its result computes each row from the same row of its other operands, if no
operation mixes rows. Then two tile blocks can share the rows: tile block 2i takes the upper half of what tile block i
took, 2i + 1 the lower half. Every row goes through the same operations in the same order, so it keeps its bits wherever
the bits of operations are defined. Attention keeps tensor cores busier with two smaller programs. Two groups of warps
take the halves of a kernel with products in turn, see `triton.gluon`.

The proof is a dimension for each tile, the one along which it is split, which every operation must respect. This is not
a pass of `tilery opt`: whoever launches the result must double the grid.
"""

from __future__ import annotations

from math import prod

from ..analysis.uses import Uses
from ..attrs import Dense, RoundingMode, Signedness
from ..declare.relations import ELEMENTWISE
from ..ir import Block, Op, Value, clone, walk
from ..ops import (
    AddI,
    Broadcast,
    Constant,
    Continue,
    DivI,
    Entry,
    For,
    GetNumTileBlocks,
    GetTileBlockId,
    Iota,
    LoadViewTko,
    MakePartitionView,
    MmaF,
    Module,
    MulI,
    Permute,
    Reduce,
    RemI,
    Reshape,
    Select,
    StoreViewTko,
)
from ..rewrite.editing import map_operands
from ..types import I32, PartitionView, Tile
from .common.kernel import find_entry

LEAVES = (Constant, Iota, Broadcast)
Access = LoadViewTko | StoreViewTko
LEAST = 32
"""The fewest rows that a half may have."""


class Mixed(Exception):
    """An operation mixes rows, or may do so."""


def split_rows(module: Module, name: str) -> Module | None:
    """Return a copy of a module whose kernel takes a grid twice as wide along x; None if its rows depend on each other.

    The kernel must access its result through a view that it indexes by the position of the tile block along x.
    """
    copy: Module = clone(module)
    entry = find_entry(copy, name)
    if any(isinstance(o, GetNumTileBlocks) for o in walk(entry.body)):
        return None
    for block in _blocks(entry):
        _one_use_each(block, Uses(entry))
    positions = {o.blockId_x for o in walk(entry.body) if isinstance(o, GetTileBlockId)}
    try:
        split = _Grid(entry, positions)
    except Mixed:
        return None
    split.apply()
    return copy


def _one_use_each(block: Block, uses: Uses) -> None:
    """Repeat constants and broadcasts for each use, so that one of them can be split and another not."""
    for o in list(block.ops):
        if not isinstance(o, LEAVES):
            continue
        for user in dict.fromkeys(uses.of(o.result)[1:]):
            kept = {f.attr: getattr(o, f.attr) for f in o.opdef.fields if f.role != "out"}
            again = type(o)(**kept, result=Value(o.result.type))
            block.ops.insert(block.ops.index(o) + 1, again)
            _swap(user, o.result, again.result)


def _swap(user: Op, old: Value, new: Value) -> None:
    map_operands(user, lambda value: new if value is old else value)


class _Rows:
    """The dimension along which each tile is split."""

    rows: int
    """How many elements a tile has along that dimension."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.uses = entry, Uses(entry)
        self.row: dict[Value, int] = {}
        self.todo: list[Value] = []
        self.split_accesses: dict[Access, int] = {}
        self.ends = {o: loop for loop in walk(entry.body) if isinstance(loop, For) for o in loop.region.ops[-1:]}

    def may_split(self, o: Access, dim: int) -> bool:
        """Tell whether an access can be split along a dimension."""
        return self.split_accesses.get(o) == dim

    def prove(self) -> None:
        """Follow what has been demanded to everything that it concerns."""
        while self.todo:
            self._forward(self.todo.pop())

    # ------------------------------------------------------------ the proof

    def demand(self, value: Value, dim: int) -> None:
        """A value must be split along a dimension: so must what it is computed from."""
        if value in self.row:
            if self.row[value] != dim:
                raise Mixed
            return
        if not isinstance(value.type, Tile) or value.type.rank <= dim or value.type.shape[dim] != self.rows:
            raise Mixed
        self.row[value] = dim
        self.todo.append(value)
        owner = value.owner
        if isinstance(owner, Block):
            self._carried(owner, value, dim)
        elif isinstance(owner, Op):
            self._backward(owner, value, dim)

    def _backward(self, o: Op, value: Value, dim: int) -> None:
        match o:
            case Constant() if len(set(o.value.elements())) == 1:
                pass
            case Iota() | LoadViewTko():
                if isinstance(o, LoadViewTko) and not self.may_split(o, dim):
                    raise Mixed
            case Broadcast():
                source = o.source.type
                assert isinstance(source, Tile)
                if source.shape[dim] != 1:
                    self.demand(o.source, dim)
            case Reshape():
                self.demand(o.source, _moved(o.result.type, o.source.type, dim))
            case Permute():
                self.demand(o.source, o.permutation[dim])
            case Reduce():
                for operand in o.operands_:
                    self.demand(operand, dim + (dim >= o.dim))
            case MmaF() if dim == 0 and _rank(value) == 2:
                self.demand(o.lhs, 0)
                self.demand(o.acc, 0)
            case For():
                at = o.resultValues.index(value)
                self._loop(o, at, dim)
            case _ if ELEMENTWISE in o.opdef.traits or isinstance(o, Select):
                for operand in o.operands:
                    self.demand(operand, dim)
            case _:
                raise Mixed

    def _carried(self, block: Block, value: Value, dim: int) -> None:
        loop = next((o for o in walk(self.entry.body) if isinstance(o, For) and o.region is block), None)
        if loop is None or value is block.args[0]:
            raise Mixed
        self._loop(loop, list(block.args).index(value) - 1, dim)

    def _loop(self, loop: For, at: int, dim: int) -> None:
        """A value that a loop carries is split everywhere."""
        end = loop.region.ops[-1]
        assert isinstance(end, Continue)
        for value in (loop.initValues[at], loop.region.args[at + 1], end.operands[at], loop.resultValues[at]):
            self.demand(value, dim)

    def _forward(self, value: Value) -> None:
        """Whoever uses a split value must respect the dimension."""
        dim = self.row[value]
        for o in self.uses.of(value):
            match o:
                case StoreViewTko():
                    if value is not o.tile or not self.may_split(o, dim):
                        raise Mixed
                case Broadcast():
                    self.demand(o.result, dim)
                case Reshape():
                    self.demand(o.result, _moved(o.source.type, o.result.type, dim))
                case Permute():
                    self.demand(o.result, o.permutation.index(dim))
                case Reduce():
                    if o.dim == dim:
                        raise Mixed
                    for result in o.results_:
                        self.demand(result, dim - (dim > o.dim))
                case MmaF():
                    if value is o.rhs or (value is o.lhs and dim != 0):
                        raise Mixed
                    self.demand(o.result, dim)
                case For():
                    self._loop(o, o.initValues.index(value), dim)
                case Continue() if o in self.ends:
                    self._loop(self.ends[o], o.operands.index(value), dim)
                case _ if ELEMENTWISE in o.opdef.traits or isinstance(o, Select):
                    for result in o.results:
                        self.demand(result, dim)
                case _:
                    raise Mixed

    # ------------------------------------------------------------ the change

    def halve(self, offset: Value) -> None:
        """Halve the tiles; counts of rows start at an offset."""
        for value, dim in self.row.items():
            assert isinstance(value.type, Tile)
            value.type = _halved(value.type, dim)
            if isinstance(value.owner, Constant):
                value.owner.value = Dense(value.type, value.owner.value.data)
        for o in [o for o in walk(self.entry.body) if isinstance(o, Iota) and o.result in self.row]:
            self._shift(o, offset)

    def _shift(self, o: Iota, offset: Value) -> None:
        """Count from the first row of the half."""
        tile = o.result.type
        assert isinstance(tile, Tile)
        unit = Reshape(source=offset, result=Value(Tile((1,), I32)))
        wide = Broadcast(source=unit.result, result=Value(tile))
        count = Value(tile)
        moved = AddI(lhs=count, rhs=wide.result, result=o.result)
        o.result, o.result.owner = count, moved
        count.owner = o
        block = next(b for b in _blocks(self.entry) if o in b.ops)
        at = block.ops.index(o) + 1
        block.ops[at:at] = [unit, wide, moved]


class _Grid(_Rows):
    """Rows that the position of the tile block selects."""

    def __init__(self, entry: Entry, positions: set[Value]) -> None:
        super().__init__(entry)
        self.positions = positions
        accesses = [o for o in walk(entry.body) if isinstance(o, Access)]
        self.split_accesses = {o: at for o in accesses if (at := self._indexed(o)) is not None}
        if not any(isinstance(o, StoreViewTko) for o in self.split_accesses):
            raise Mixed
        if any(isinstance(o, StoreViewTko) and o not in self.split_accesses for o in accesses):
            raise Mixed
        sizes = {self._tile(o).shape[at] for o, at in self.split_accesses.items()}
        self.rows = min(sizes)
        if len(sizes) > 1 or self.rows < 2 * LEAST or not all(map(self._owns_view, self.split_accesses)):
            raise Mixed
        for o, at in self.split_accesses.items():
            self.demand(o.tile, at)
        self.prove()

    def _tile(self, o: Access) -> Tile:
        assert isinstance(o.tile.type, Tile)
        return o.tile.type

    def _indexed(self, o: Access) -> int | None:
        """The dimension of a tile that the position of the tile block selects."""
        found = [k for k, value in enumerate(o.index) if value in self.positions]
        view = o.view.owner
        if len(found) != 1 or not isinstance(view, MakePartitionView) or any(o.inbounds):
            return None
        return found[0]

    def _owns_view(self, o: Access) -> bool:
        """Whether all uses of a view are accesses that are split along the same dimension."""
        return all(
            isinstance(user, Access) and self.split_accesses.get(user) == self.split_accesses[o]
            for user in self.uses.of(o.view)
        )

    def apply(self) -> None:
        """Halve the tiles, and compute positions from the wider grid."""
        body = self.entry.body
        half = self.rows // 2
        ids = [o for o in walk(body) if isinstance(o, GetTileBlockId)]
        two, first = _constant(2), _constant(half)
        raw = GetTileBlockId(**{name: Value(Tile((), I32)) for name in ("blockId_x", "blockId_y", "blockId_z")})
        whole = DivI(lhs=raw.blockId_x, rhs=two.result, signedness=Signedness.UNSIGNED, rounding=RoundingMode.ZERO)
        part = RemI(lhs=raw.blockId_x, rhs=two.result, signedness=Signedness.UNSIGNED)
        offset = MulI(lhs=part.result, rhs=first.result)
        body.ops[:0] = [two, first, raw, whole, part, offset]
        places = {o.blockId_x: whole.result for o in ids}
        for o in list(walk(body)):
            if o in (whole, part):
                continue
            at = self.split_accesses.get(o) if isinstance(o, Access) else None
            if at is not None:
                assert isinstance(o, Access)
                self._narrow(o, at)
                o.index = tuple(raw.blockId_x if k == at else places.get(v, v) for k, v in enumerate(o.index))
            else:
                map_operands(o, lambda value: places.get(value, value))
        self.halve(offset.result)

    def _narrow(self, o: Access, at: int) -> None:
        view = o.view.owner
        assert isinstance(view, MakePartitionView)
        kind = view.result.type
        assert isinstance(kind, PartitionView)
        if kind.tile_shape[at] != self.rows:
            return  # another access has narrowed it
        shape = [n // 2 if k == at else n for k, n in enumerate(kind.tile_shape)]
        view.result.type = PartitionView(shape, kind.tensor_view, kind.dim_map, kind.padding_value)


class _Half(_Rows):
    """One half of the rows of all products."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        products = [o for o in walk(entry.body) if isinstance(o, MmaF)]
        sizes = {_rows_of(o.result) for o in products}
        if len(sizes) != 1:
            raise Mixed
        self.rows = sizes.pop()
        for o in products:
            self.demand(o.result, 0)
        self.prove()
        if any(o not in self.split_accesses for o in walk(entry.body) if o.name in WRITES or o.name.startswith(ATOMIC)):
            raise Mixed

    def may_split(self, o: Access, dim: int) -> bool:
        """A tile of a partition can be split along any dimension; its index then counts halves."""
        if not isinstance(o.view.owner, MakePartitionView) or self.split_accesses.get(o, dim) != dim:
            return False
        self.split_accesses[o] = dim
        return True

    def apply(self, half: int) -> None:
        """Keep one half."""
        for o, at in self.split_accesses.items():
            block = next(b for b in _blocks(self.entry) if o in b.ops)
            place = block.ops.index(o)
            whole = o.view.owner
            assert isinstance(whole, MakePartitionView) and isinstance(whole.result.type, PartitionView)
            kind = whole.result.type
            shape = [n // 2 if k == at else n for k, n in enumerate(kind.tile_shape)]
            narrow = PartitionView(shape, kind.tensor_view, kind.dim_map, kind.padding_value)
            view = MakePartitionView(tensor_view=whole.tensor_view, result=Value(narrow))
            number = o.index[at].type
            assert isinstance(number, Tile)
            two, part = _constant(2, number), _constant(half, number)
            twice = MulI(lhs=o.index[at], rhs=two.result, result=Value(number))
            index = AddI(lhs=twice.result, rhs=part.result, result=Value(number))
            block.ops[place:place] = [view, two, part, twice, index]
            o.view, o.index = view.result, tuple(index.result if k == at else v for k, v in enumerate(o.index))
        first = _constant(half * self.rows // 2)
        self.entry.body.ops.insert(0, first)
        self.halve(first.result)


WRITES = ("store_view_tko", "store_ptr_tko", "print_tko", "assert")
ATOMIC = "atomic_"


def half_of(module: Module, name: str, half: int) -> tuple[Module, dict[LoadViewTko, int]] | None:
    """Return a copy of a module whose kernel computes one half of the rows of its products, as 0 or 1.

    Also return which loads take half a tile, and along which dimension. None if rows depend on each other.
    """
    copy: Module = clone(module)
    entry = find_entry(copy, name)
    for block in _blocks(entry):
        _one_use_each(block, Uses(entry))
    try:
        split = _Half(entry)
    except Mixed:
        return None
    split.apply(half)
    return copy, {o: at for o, at in split.split_accesses.items() if isinstance(o, LoadViewTko)}


def _blocks(entry: Entry) -> list[Block]:
    return [entry.body, *(b for o in walk(entry.body) for b in o.blocks)]


def _rank(value: Value) -> int:
    assert isinstance(value.type, Tile)
    return value.type.rank


def _rows_of(value: Value) -> int:
    assert isinstance(value.type, Tile)
    return value.type.shape[0]


def _constant(number: int, tile: Tile = Tile((), I32)) -> Constant:  # noqa: B008 (types are interned)
    return Constant(value=Dense.of(tile, [number]), result=Value(tile))


def _halved(tile: Tile, dim: int) -> Tile:
    return Tile([n // 2 if k == dim else n for k, n in enumerate(tile.shape)], tile.element)


def _moved(old: object, new: object, dim: int) -> int:
    """Return the dimension to which a reshape moves another; it must keep it whole."""
    assert isinstance(old, Tile) and isinstance(new, Tile)
    before, size = prod(old.shape[:dim]), old.shape[dim]
    for at, n in enumerate(new.shape):
        if n == size and prod(new.shape[:at]) == before:
            return at
    raise Mixed
