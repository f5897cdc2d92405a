"""The builder: kernels in Python, operation by operation, checked at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..attrs import Dense
from ..diag import TileError
from ..enums import PaddingValue, SymbolVisibility
from ..ir import Block, Value
from ..ops import Constant, Entry, For, Global, If, Loop
from ..types import I4, I8, I32, Function, Ptr, Tile, Type
from . import arithmetic, memory, regions
from .calls import hints as as_hints
from .constants import as_element, as_tile, dense, is_number
from .inserter import ACTIVE, Inserter
from .places import at_place, here, scope_at, scope_of

Number = int | float | bool
Operand = Value | Number
Index = Operand | Sequence[Operand]


class Builder(Inserter):
    """Builds kernels. Every operation is a method, named by its mnemonic; it is checked when the method is called.

    Inside `with b.entry(...)`, operators on values build operations too: `+ - * / // % ** & | ^ ~ << >> < <= > >=`.
    Integers are signed, division truncates as in C, shapes broadcast as in NumPy, and numbers take the type of the
    value they meet. Equality is `b.eq(x, y)`: `==` compares Python objects.

    >>> from tilery.builder import Builder, f32, ptr
    >>> b = Builder()
    >>> with b.entry("double", data=ptr(f32)) as k:
    ...     block = b.block_id()[0]
    ...     tiles = b.view(k.data, shape=1024, tile=128)
    ...     token = b.store(tiles, block, b.load(tiles, block) * 2)
    >>> b.module.entry("double").function_type.params
    (tile<ptr<f32>>,)
    """

    # ------------------------------------------------------------ kernels and globals

    def entry(
        self, name: str, /, *, hints: Mapping[str, Mapping[str, int]] | None = None, **params: Type | str
    ) -> regions.EntryBuilder:
        """Start a kernel: `with b.entry("k", a=ptr(f16), n=i32) as k:`; `k.a` and `k.n` are its parameters.

        `hints` are a dictionary per architecture: `{"sm_100": {"num_cta_in_cga": 2}}`.
        """
        types = [as_tile(t) for t in params.values()]
        body = Block([Value(t) for t in types])
        made = Entry(sym_name=name, function_type=Function(types), body=body)
        made.param_names = tuple(params) or None
        if hints is not None:
            made.optimization_hints = as_hints(hints)
        if any(o.sym_name == name for o in self.module.body.ops if isinstance(o, (Entry, Global))):
            raise TileError(f"entry: the module already has a symbol '{name}'")
        self._scope = None
        if self._place is not None:
            self._scope = scope_at(name, self._place)
            made.loc = at_place(self._scope, self._place)
        elif self.locs:
            self._scope = scope_of(name)
            made.loc = None if self._scope is None else here(self._scope)
        self.check(made, [self.module])
        self.module.body.ops.append(made)
        return regions.EntryBuilder(self, made, body, list(params))

    def global_(
        self,
        name: str,
        value: Any,
        type: Type | str | None = None,
        *,
        alignment: int = 0,
        constant: bool = False,
        visibility: SymbolVisibility | str = SymbolVisibility.PUBLIC,
    ) -> Global:
        """Add a global variable with its initial content, a list or array of rank one."""
        made = Global(
            sym_name=name,
            value=dense(value, type),
            alignment=alignment,
            constant=constant,
            symbol_visibility=SymbolVisibility(visibility),
        )
        self.check(made, [self.module])
        at = next((i for i, o in enumerate(self.module.body.ops) if isinstance(o, Entry)), len(self.module.body.ops))
        self.module.body.ops.insert(at, made)
        return made

    def get_global(self, variable: Global | str) -> Value:
        """Return a pointer to a global variable."""
        name = variable if isinstance(variable, str) else variable.sym_name
        found = next((g for g in self.module.globals if g.sym_name == name), None)
        if found is None:
            there = ", ".join(g.sym_name for g in self.module.globals) or "none"
            raise TileError(f"get_global: the module has no variable '{name}'; its variables: {there}")
        return self.value("get_global", name, result=Tile((), Ptr(found.value.element)))

    # ------------------------------------------------------------ constants and positions

    def const(self, value: Any, type: Type | str | None = None) -> Value:
        """Build a constant: a number, a nested list or an array, as an element type or a tile type.

        A number fills a tile type. Without `type`, Python's numbers are i1, i32 and f32, and arrays keep theirs.
        """
        content = dense(value, type)
        if content.element is not I4:
            return self.emit(Constant(value=content)).result
        # There are no constants of i4.
        wide = Dense.of(Tile(content.type.shape, I8), content.elements())
        return self.value("trunci", self.emit(Constant(value=wide)).result, to=content.type)

    def full(self, shape: int | Sequence[int], value: Number, type: Type | str) -> Value:
        """Build a tile whose elements are all the same number."""
        return self.const(value, Tile(memory.listed(shape), as_element(type)))

    def zeros(self, shape: int | Sequence[int], type: Type | str) -> Value:
        """Build a tile of zeros."""
        return self.full(shape, 0, type)

    def iota(self, size: int, type: Type | str = I32) -> Value:
        """Build the integers 0, 1, 2, and so on."""
        return self.value("iota", result=Tile((size,), as_element(type)))

    def block_id(self) -> tuple[Value, Value, Value]:
        """Return the position of this tile block in the grid: x, y, z."""
        found: tuple[Value, Value, Value] = self.op("get_tile_block_id")
        return found

    def grid_size(self) -> tuple[Value, Value, Value]:
        """Return the size of the grid: x, y, z."""
        found: tuple[Value, Value, Value] = self.op("get_num_tile_blocks")
        return found

    # ------------------------------------------------------------ arithmetic

    def eq(self, lhs: Operand, rhs: Operand) -> Value:
        """Compare for equality; NaN equals nothing."""
        return arithmetic.binary(self, "==", lhs, rhs)

    def ne(self, lhs: Operand, rhs: Operand) -> Value:
        """Compare for inequality; NaN differs from everything."""
        return arithmetic.binary(self, "!=", lhs, rhs)

    def maximum(self, lhs: Operand, rhs: Operand) -> Value:
        """Return the larger elements of two tiles; integers are signed."""
        return self._extreme("max", lhs, rhs)

    def minimum(self, lhs: Operand, rhs: Operand) -> Value:
        """Return the smaller elements of two tiles; integers are signed."""
        return self._extreme("min", lhs, rhs)

    def _extreme(self, which: str, lhs: Operand, rhs: Operand) -> Value:
        x, y = arithmetic.match(self, f"{which}imum", lhs, rhs)
        if arithmetic.number_type(x, f"{which}imum").is_float:
            return self.value(f"{which}f", x, y)
        return self.value(f"{which}i", x, y, "signed")

    def select(self, cond: Value, val_if_true: Operand, val_if_false: Operand) -> Value:
        """Choose between two tiles, element by element; everything is broadcast to one shape."""
        yes, no = arithmetic.match(self, "select", val_if_true, val_if_false)
        shape = arithmetic.tile_of(yes, "select").shape
        shape = arithmetic.common_shape("select", shape, arithmetic.tile_of(cond, "select").shape)
        return self.value("select", *(arithmetic.expand(self, v, shape) for v in (cond, yes, no)))

    def cast(self, value: Value, type: Type | str, *, signed: bool = True) -> Value:
        """Convert elements to another type of number; `signed` is about the integers."""
        return arithmetic.cast(self, value, as_element(type), signed)

    def bitcast(self, value: Value, type: Type | str) -> Value:
        """Read the same bits as another element type of the same width."""
        return self.value("bitcast", value, result=Tile(arithmetic.tile_of(value, "bitcast").shape, as_element(type)))

    def mma(self, lhs: Value, rhs: Value, acc: Value, *, signed: bool = True) -> Value:
        """Build a matrix product plus accumulator; `signed` is about i8."""
        if arithmetic.number_type(lhs, "mma").is_float:
            return self.value("mmaf", lhs, rhs, acc)
        sign = "signed" if signed else "unsigned"
        return self.value("mmai", lhs, rhs, acc, sign, sign)

    # ------------------------------------------------------------ shapes

    def reshape(self, value: Value, *shape: int) -> Value:
        """Change the shape and keep the elements in row-major order; one size may be -1."""
        tile = arithmetic.tile_of(value, "reshape")
        known = 1
        for size in shape:
            known *= size if size != -1 else 1
        if -1 in shape:
            shape = tuple(tile.size // max(known, 1) if size == -1 else size for size in shape)
        return self.value("reshape", value, result=Tile(shape, tile.element))

    def broadcast(self, value: Value, *shape: int) -> Value:
        """Repeat a tile to fill a shape; dimensions are aligned at the last one, as in NumPy."""
        return arithmetic.expand(self, value, shape)

    def permute(self, value: Value, *order: int) -> Value:
        """Reorder the dimensions; without an order, reverse them."""
        tile = arithmetic.tile_of(value, "permute")
        return self.value("permute", value, order or tuple(reversed(range(tile.rank))))

    def cat(self, lhs: Value, rhs: Value, dim: int = 0) -> Value:
        """Join two tiles along a dimension."""
        a, b = arithmetic.tile_of(lhs, "cat"), arithmetic.tile_of(rhs, "cat")
        if a.rank != b.rank or not 0 <= dim < a.rank:
            raise TileError(f"cat: 'dim' is {dim}, and the tiles are {a} and {b}", field="dim")
        shape = [x + y if i == dim else x for i, (x, y) in enumerate(zip(a.shape, b.shape))]
        return self.value("cat", lhs, rhs, dim, result=Tile(shape, a.element))

    def extract(self, value: Value, index: Index, shape: int | Sequence[int]) -> Value:
        """Extract a part of a tile: the position in the grid of tiles of a shape."""
        made = Tile(memory.listed(shape), arithmetic.tile_of(value, "extract").element)
        return self.value("extract", value, memory.listed(index), result=made)

    # ------------------------------------------------------------ memory

    def tensor(self, base: Value, shape: Index, strides: Index | None = None) -> Value:
        """Make a view of the tensor at a pointer: sizes and strides are integers or values; row-major by default."""
        return memory.tensor(self, base, shape, strides)

    def view(
        self,
        base: Value,
        shape: Index | None = None,
        *,
        tile: int | Sequence[int],
        strides: Index | None = None,
        padding: PaddingValue | str | None = None,
        dim_map: Sequence[int] | None = None,
        traversal: int | Sequence[int] | None = None,
        sparse_dim: int | None = None,
    ) -> Value:
        """Make a view of tiles, of a tensor view or of the tensor at a pointer.

        `traversal` makes a strided view, `sparse_dim` a gather/scatter view. `padding` is what a load returns for
        elements outside the tensor: "zero", "neg_zero", "nan", "pos_inf" or "neg_inf".
        """
        return memory.view(self, base, shape, tile, strides, padding, dim_map, traversal, sparse_dim)

    def load(self, view: Value, index: Index, *, order: str = "weak", **more: Any) -> Value:
        """Load the tile at an index of a view. `load_view_tko` returns the token too."""
        at = memory.indices(self, "load", view, index)
        found: Value = self.op("load_view_tko", order, view, at, **more)[0]
        return found

    def store(self, view: Value, index: Index, tile: Value, *, order: str = "weak", **more: Any) -> Value:
        """Store a tile at an index of a view; return the token."""
        at = memory.indices(self, "store", view, index)
        return self.value("store_view_tko", order, tile, view, at, **more)

    def load_ptr(
        self,
        pointers: Value,
        mask: Value | None = None,
        other: Operand | None = None,
        *,
        order: str = "weak",
        **more: Any,
    ) -> Value:
        """Load elements through pointers; masked ones are `other`. `load_ptr_tko` returns the token too."""
        return memory.load_ptr(self, pointers, mask, other, {"memory_ordering_semantics": order, **more})

    def store_ptr(
        self, pointers: Value, value: Operand, mask: Value | None = None, *, order: str = "weak", **more: Any
    ) -> Value:
        """Store elements through pointers; return the token."""
        return memory.store_ptr(self, pointers, value, mask, {"memory_ordering_semantics": order, **more})

    def print(self, text: str, *args: Value, token: Value | None = None) -> Value:
        """Print formatted text when the kernel runs: `b.print("n = %d", n)`; return the token."""
        return self.value("print_tko", text, args, token=token)

    # ------------------------------------------------------------ control flow

    def for_(
        self, start: Operand, stop: Operand, step: Operand = 1, *, carry: Sequence[Value] = (), unsigned: bool = False
    ) -> regions.Region:
        """Start a loop: `with b.for_(0, n, carry=[acc]) as (i, acc):`. The body ends with `b.continue_(acc)`.

        The results are `b.results` after the loop, or `.result` of what this returns.
        """
        given = next((v for v in (start, stop, step) if isinstance(v, Value)), None)
        wanted = Tile((), I32) if given is None else given.type
        bounds = [self.const(v, wanted) if is_number(v) else v for v in (start, stop, step)]
        lower, upper, by = (v for v in bounds if isinstance(v, Value))
        block = Block([Value(wanted), *(Value(v.type) for v in carry)])
        made = For(
            lowerBound=lower, upperBound=upper, step=by, initValues=tuple(carry), unsignedCmp=unsigned, region=block
        )
        return regions.Region(self, made, block)

    def loop(self, *, carry: Sequence[Value] = ()) -> regions.Region:
        """Start a loop that `b.break_(...)` ends: `with b.loop(carry=[x]) as (x,):`."""
        block = Block([Value(v.type) for v in carry])
        made = Loop(initValues=tuple(carry), resultValues=(), region=block)
        self._pending.add(made)
        return regions.Region(self, made, block)

    def if_(self, condition: Value) -> regions.Region:
        """Start a branch: `with b.if_(i < n):`. `b.yield_(x)` at the end of both branches makes `b.results`."""
        block = Block()
        made = If(condition=condition, results_=(), thenRegion=block)
        self._pending.add(made)
        return regions.Region(self, made, block)

    def else_(self) -> regions.Region:
        """Start the other branch of the `if_` just before."""
        ops = self._points[-1].block.ops if self._points else []
        index = self._points[-1].index if self._points else None
        last = (ops if index is None else ops[:index])[-1:]
        if not last or not isinstance(last[0], If) or last[0].elseRegion is not None:
            raise TileError("else_: it must directly follow the block of an if_")
        last[0].elseRegion = Block()
        return regions.Region(self, last[0], last[0].elseRegion, insert=False)

    def continue_(self, *values: Value) -> None:
        """End an iteration of the innermost loop; the values are carried to the next one."""
        self.op("continue", values)

    def break_(self, *values: Value) -> None:
        """Leave the innermost `loop`; the values are its results."""
        self.op("break", values)

    def yield_(self, *values: Value) -> None:
        """End a branch; the values are the results of the `if_`."""
        self.op("yield", values)

    def return_(self) -> None:
        """End the kernel."""
        self.op("return", ())

    # ------------------------------------------------------------ reductions

    def reduce(
        self,
        value: Value | Sequence[Value],
        combine: Callable[..., Any],
        identity: Any,
        dim: int = -1,
        *,
        keep: bool = False,
    ) -> Any:
        """Combine all elements along a dimension: `b.reduce(x, lambda p, q: p + q, 0)`.

        Of several tiles, `combine` takes two elements of each, and returns and yields one of each. `keep` leaves a
        dimension of size one.
        """
        return regions.aggregate(self, "reduce", value, combine, identity, dim, keep=keep)

    def scan(
        self,
        value: Value | Sequence[Value],
        combine: Callable[..., Any],
        identity: Any,
        dim: int = -1,
        *,
        reverse: bool = False,
    ) -> Any:
        """Combine each element with all elements before it along a dimension."""
        return regions.aggregate(self, "scan", value, combine, identity, dim, reverse=reverse)

    def sum(self, value: Value, dim: int = -1, *, keep: bool = False) -> Value:
        """Add all elements along a dimension."""
        found: Value = self.reduce(value, lambda p, q: p + q, 0, dim, keep=keep)
        return found

    def max(self, value: Value, dim: int = -1, *, keep: bool = False) -> Value:
        """Return the largest element along a dimension; integers are signed."""
        found: Value = self.reduce(value, self.maximum, regions.lowest(value), dim, keep=keep)
        return found

    def min(self, value: Value, dim: int = -1, *, keep: bool = False) -> Value:
        """Return the smallest element along a dimension; integers are signed."""
        found: Value = self.reduce(value, self.minimum, regions.highest(value), dim, keep=keep)
        return found


def operate(symbol: str, lhs: Any, rhs: Any = None) -> Value:
    """Build what an operator on values is, with the builder that is open."""
    builder = ACTIVE.get()
    if builder is None:
        raise TileError(f"'{symbol}' on values needs an open builder: use it inside 'with b.entry(...)'")
    if symbol in ("~", "abs", "neg"):
        return arithmetic.unary(builder, {"neg": "-"}.get(symbol, symbol), lhs)
    return arithmetic.binary(builder, symbol, lhs, rhs)
