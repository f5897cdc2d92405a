"""The types of Tile IR. They are interned: equal types are the same object, and `.text` is their spelling."""

from __future__ import annotations

from _thread import RLock  # `threading` takes long to import
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from .diag import TileError
from .enums import PaddingValue as PaddingValue
from .enums import PtrAttr as PtrAttr
from .floats.elements import ELEMENTS, Element
from .floats.formats import Format
from .version import V13_1, V13_3, Version

MAX_TILE_ELEMENTS = 1 << 24
MAX_FUNCTION_TEXT = 1 << 20
DYNAMIC = -(1 << 63)
"""A tensor view's size or stride that is only known at run time; `?` in text."""

_POOL: WeakValueDictionary[tuple[Any, ...], Type] = WeakValueDictionary()
_LOCK = RLock()


class Type:
    """Base of all types. Compare with `is`."""

    __slots__ = ("__weakref__", "key", "text")
    key: tuple[Any, ...]
    text: str
    since: Version

    def __repr__(self) -> str:
        return self.text

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Type:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self.key[0], self.key[1:]


T = TypeVar("T", bound=Type)


def _intern(cls: type[T], key: tuple[Any, ...], text: str | None, **fields: Any) -> T:
    with _LOCK:
        found = _POOL.get(key)
        if found is None:
            found = object.__new__(cls)
            found.key = key
            if text is not None:
                found.text = text
            for name, value in fields.items():
                setattr(found, name, value)
            _POOL[key] = found
    return found  # type: ignore[return-value]  # the key's first item is cls


class Scalar(Type):
    """An element type: an integer, a float, or one of the narrow float formats."""

    __slots__ = ("bits", "cname", "format", "kind", "name", "row", "since", "tag")
    row: Element
    """Every fact about the type; the ones asked for most are repeated here."""
    name: str
    tag: int
    kind: str
    bits: int
    since: Version
    cname: str
    format: Format
    """The layout of a float; integers lack this attribute."""

    def __new__(cls, name: str) -> Scalar:
        if name not in SCALARS:
            raise TileError(f"unknown element type '{name}', expected one of {', '.join(SCALARS)}")
        return SCALARS[name]

    @property
    def is_int(self) -> bool:
        return self.kind == "int"

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def storage_bytes(self) -> int:
        """Bytes of one element in a dense constant (tiles of i1 are packed in bits instead)."""
        return (self.bits + 7) // 8

    @property
    def is_packed(self) -> bool:
        """Whether several elements share a byte of memory."""
        return self.row.memory_bits < 8


def _scalar(row: Element) -> Scalar:
    facts = {name: getattr(row, name) for name in ("name", "tag", "bits", "since", "cname")}
    if row.format is not None:
        facts["format"] = row.format
    kind = "int" if row.format is None else "float"
    return _intern(Scalar, (Scalar, row.name), row.name, row=row, kind=kind, **facts)


SCALARS: dict[str, Scalar] = {row.name: _scalar(row) for row in ELEMENTS}
F16, BF16, F32, TF32, F64 = (SCALARS[n] for n in ("f16", "bf16", "f32", "tf32", "f64"))
I1, I4, I8, I16, I32, I64 = (SCALARS[n] for n in ("i1", "i4", "i8", "i16", "i32", "i64"))

FLOATS = tuple(s for s in SCALARS.values() if s.is_float)
# A tile may also hold pointers and i4.
NUMBERS = tuple(s for s in SCALARS.values() if s.row.number)
_NUMBER_TEXT = " or ".join(s.text for s in NUMBERS)


class Token(Type):
    """The type of a memory-ordering token."""

    __slots__ = ()
    since = V13_1

    def __new__(cls) -> Token:
        return _intern(cls, (cls,), "token")


class String(Type):
    """The element type of string constants; it never appears in bytecode."""

    __slots__ = ()
    since = V13_1

    def __new__(cls) -> String:
        return _intern(cls, (cls,), "string")


class Foreign(Type):
    """A type that is not Tile IR's, kept as its text. The verifier refuses it where it matters."""

    __slots__ = ()
    since = V13_1

    def __new__(cls, text: str) -> Foreign:
        if len(text) > MAX_FUNCTION_TEXT:
            raise TileError(f"the text of a type is longer than {MAX_FUNCTION_TEXT} characters")
        return _intern(cls, (cls, text), text)


class Ptr(Type):
    """A pointer to a number.

    >>> Ptr(F32)
    ptr<f32>
    """

    __slots__ = ("pointee", "ptr_attr")
    since = V13_1
    pointee: Scalar
    ptr_attr: PtrAttr | None

    def __new__(cls, pointee: Type, ptr_attr: PtrAttr | None = None) -> Ptr:
        key = (cls, pointee, ptr_attr)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if pointee not in NUMBERS:
            raise TileError(f"failed to verify 'pointeeType': {_NUMBER_TEXT}", notes=(f"got {pointee}",))
        kind = f", <{ptr_attr.text}>" if ptr_attr else ""
        return _intern(cls, key, f"ptr<{pointee.text}{kind}>", pointee=pointee, ptr_attr=ptr_attr)


class Tile(Type):
    """A small dense array: power-of-two dimensions, at most 2**24 elements. Rank 0 is a scalar.

    >>> Tile((4, 8), F32), Tile((), Ptr(F32))
    (tile<4x8xf32>, tile<ptr<f32>>)
    """

    __slots__ = ("element", "shape")
    since = V13_1
    shape: tuple[int, ...]
    element: Scalar | Ptr

    def __new__(cls, shape: Sequence[int], element: Type) -> Tile:
        shape = tuple(shape)
        key = (cls, shape, element)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if not isinstance(element, (Scalar, Ptr)):
            allowed = f"{_NUMBER_TEXT} or Pointer type or i4"
            raise TileError(f"failed to verify 'elementType': {allowed}", notes=(f"got {element}",))
        _check_tile(shape, element)
        dims = "".join(f"{d}x" for d in shape)
        return _intern(cls, key, f"tile<{dims}{element.text}>", shape=shape, element=element)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        total = 1
        for dim in self.shape:
            total *= dim
        return total


def _check_tile(shape: tuple[int, ...], element: Type) -> None:
    if isinstance(element, Scalar) and element.is_packed and all(dim % 2 for dim in shape):
        raise TileError(f"{element.name.upper()} tiles must have an even number of elements")
    total = 1
    for dim in shape:
        if dim <= 0:
            raise TileError(f"all dimensions must be positive constants, got {_commas(shape)}")
        if dim & (dim - 1):
            raise TileError(f"all dimensions must be powers of two, got {_commas(shape)}")
        if total > MAX_TILE_ELEMENTS // dim:
            raise TileError(f"tile would exceed the maximum of {MAX_TILE_ELEMENTS} elements")
        total *= dim


class TensorView(Type):
    """A tensor in memory: element, sizes and strides (in elements), each constant or DYNAMIC.

    >>> TensorView(F32, (DYNAMIC, 64), (64, 1))
    tensor_view<?x64xf32, strides=[64,1]>
    """

    __slots__ = ("element", "ptr_attr", "shape", "strides")
    since = V13_1
    element: Scalar
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ptr_attr: PtrAttr | None

    def __new__(
        cls, element: Type, shape: Sequence[int], strides: Sequence[int], ptr_attr: PtrAttr | None = None
    ) -> TensorView:
        shape, strides = tuple(shape), tuple(strides)
        key = (cls, element, shape, strides, ptr_attr)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if element not in NUMBERS:
            raise TileError(f"failed to verify 'elementType': {_NUMBER_TEXT}", notes=(f"got {element}",))
        if len(shape) != len(strides):
            raise TileError(
                "expected shape and stride to be of same rank but got shape of rank "
                f"{len(shape)} and stride of rank {len(strides)}"
            )
        for what, dims in (("sizes", shape), ("strides", strides)):
            if any(dim <= 0 and dim != DYNAMIC for dim in dims):
                shown = ", ".join(map(_dim, dims))
                raise TileError(f"dimensions must have strictly positive constant {what} but got [{shown}]")
        parts = ["".join(_dim(d) + "x" for d in shape) + element.text]
        if shape:
            parts.append(f"strides=[{','.join(map(_dim, strides))}]")
        if ptr_attr:
            parts.append(f"#cuda_tile.ptr_attr<{ptr_attr.text}>")
        text = f"tensor_view<{', '.join(parts)}>"
        return _intern(cls, key, text, element=element, shape=shape, strides=strides, ptr_attr=ptr_attr)


class TileView(Type):
    """Base of the views that loads and stores go through: an index names a tile of a tensor."""

    __slots__ = ("padding_value", "tensor_view", "tile_shape")
    tile_shape: tuple[int, ...]
    tensor_view: TensorView
    padding_value: PaddingValue | None

    @property
    def index_rank(self) -> int:
        """How many indices name a tile."""
        return len(self.tile_shape)

    @property
    def tile_type(self) -> Tile:
        """The type of such a tile."""
        return Tile(self.tile_shape, self.tensor_view.element)


class PartitionView(TileView):
    """A tensor view cut into a grid of tiles. An index names a tile."""

    __slots__ = ("dim_map",)
    since = V13_1
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: Sequence[int],
        tensor_view: Type,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ) -> PartitionView:
        tile_shape = tuple(tile_shape)
        dim_map = tuple(range(len(tile_shape)) if dim_map is None else dim_map)
        key = (cls, tile_shape, tensor_view, dim_map, padding_value)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view(tile_shape, tensor_view, dim_map, padding_value)
        inner = f"{_tile_text(tile_shape)}, {_padding_text(padding_value)}{view.text}{_map_text(dim_map)}"
        text = f"partition_view<{inner}>"
        return _intern(
            cls, key, text, tile_shape=tile_shape, tensor_view=view, dim_map=dim_map, padding_value=padding_value
        )


class StridedView(TileView):
    """Like a partition view, but neighbouring tiles lie `traversal_strides` elements apart."""

    __slots__ = ("dim_map", "traversal_strides")
    since = V13_3
    traversal_strides: tuple[int, ...]
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: Sequence[int],
        traversal_strides: Sequence[int],
        tensor_view: Type,
        dim_map: Sequence[int] | None = None,
        padding_value: PaddingValue | None = None,
    ) -> StridedView:
        tile_shape, steps = tuple(tile_shape), tuple(traversal_strides)
        dim_map = tuple(range(len(tile_shape)) if dim_map is None else dim_map)
        key = (cls, tile_shape, steps, tensor_view, dim_map, padding_value)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view(tile_shape, tensor_view, dim_map, padding_value)
        if len(steps) != len(tile_shape):
            raise TileError(f"expected {len(tile_shape)} traversal strides, got {len(steps)}")
        if any(step <= 0 for step in steps):
            raise TileError(f"traversal strides must be strictly positive but got [{_commas(steps)}]")
        text = (
            f"strided_view<{_tile_text(tile_shape)}, traversal_strides=[{','.join(map(str, steps))}], "
            f"{_padding_text(padding_value)}{view.text}{_map_text(dim_map)}>"
        )
        return _intern(
            cls,
            key,
            text,
            tile_shape=tile_shape,
            traversal_strides=steps,
            tensor_view=view,
            dim_map=dim_map,
            padding_value=padding_value,
        )


class GatherScatterView(TileView):
    """A view whose `sparse_dim` is addressed by a tile of positions instead of one index."""

    __slots__ = ("sparse_dim",)
    since = V13_3
    sparse_dim: int

    def __new__(
        cls, tile_shape: Sequence[int], tensor_view: Type, sparse_dim: int, padding_value: PaddingValue | None = None
    ) -> GatherScatterView:
        tile_shape = tuple(tile_shape)
        key = (cls, tile_shape, tensor_view, sparse_dim, padding_value)
        if (found := _POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        view = _check_view_ranks(tile_shape, tensor_view)
        _check_view_dims(tile_shape)
        if not 0 <= sparse_dim < len(view.shape):
            raise TileError(
                "gather dimension is outside of tensor view dimensions, expected strictly less than "
                f"{len(view.shape)}, got {sparse_dim}"
            )
        _check_tile(tile_shape, view.element)
        _check_padding(view, padding_value)
        text = (
            f"gather_scatter_view<{_tile_text(tile_shape)}, {_padding_text(padding_value)}{view.text}, "
            f"sparse_dim={sparse_dim}>"
        )
        return _intern(
            cls, key, text, tile_shape=tile_shape, tensor_view=view, sparse_dim=sparse_dim, padding_value=padding_value
        )


class Function(Type):
    """The type of an entry: parameters and results."""

    __slots__ = ("params", "results")
    since = V13_1
    params: tuple[Type, ...]
    results: tuple[Type, ...]

    def __new__(cls, params: Sequence[Type], results: Sequence[Type] = ()) -> Function:
        params, results = tuple(params), tuple(results)
        # The text is made when asked for: a few bytes of bytecode can name types whose text would be huge.
        return _intern(cls, (cls, params, results), None, params=params, results=results)

    def __getattr__(self, name: str) -> str:
        if name != "text":
            raise AttributeError(name)
        self.text = _function_text(self)
        return self.text


def full_text(t: Type) -> str:
    """A type outside the dialect's own syntax: `!cuda_tile.tile<4xf32>`."""
    return t.text if isinstance(t, (Scalar, Foreign, Function)) else f"!cuda_tile.{t.text}"


def quoted(t: Type) -> str:
    """A type as NVIDIA's diagnostics print it."""
    return f"'{full_text(t)}'"


def quoted_list(types: Iterable[Type]) -> str:
    return ", ".join(map(quoted, types))


def _function_text(function: Function) -> str:
    """`(a, b) -> c`, the types in full as MLIR has it, with an explicit stack because hostile types nest deeply."""
    out: list[str] = []
    size = 0
    todo: list[Type | str] = [function]
    while todo:
        item = todo.pop()
        if isinstance(item, Function):
            one = len(item.results) == 1 and not isinstance(item.results[0], Function)
            parts: list[Type | str] = ["(", *_separated(item.params), ") -> ", "" if one else "("]
            parts += [*_separated(item.results), "" if one else ")"]
            todo += reversed(parts)
            continue
        text = item if isinstance(item, str) else full_text(item)
        size += len(text)
        if size > MAX_FUNCTION_TEXT:
            raise TileError(f"the text of a function type is longer than {MAX_FUNCTION_TEXT} characters")
        out.append(text)
    return "".join(out)


def _separated(types: tuple[Type, ...]) -> list[Type | str]:
    out: list[Type | str] = []
    for t in types:
        out += [", ", t] if out else [t]
    return out


TOKEN = Token()
STRING = String()


def _commas(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _dim(value: int) -> str:
    return "?" if value == DYNAMIC else str(value)


def _tile_text(tile_shape: tuple[int, ...]) -> str:
    return f"tile=({'x'.join(map(str, tile_shape))})"


def _padding_text(padding: PaddingValue | None) -> str:
    return f"padding_value = {padding.text}, " if padding else ""


def _map_text(dim_map: tuple[int, ...]) -> str:
    return "" if dim_map == tuple(range(len(dim_map))) else f", dim_map=[{_commas(dim_map)}]"


def _check_view(
    tile_shape: tuple[int, ...], tensor_view: Type, dim_map: tuple[int, ...], padding: PaddingValue | None
) -> TensorView:
    view = _check_view_ranks(tile_shape, tensor_view)
    if len(dim_map) != len(tile_shape):
        raise TileError(
            f"expected dim_map to map exactly all {len(tile_shape)} dimensions of the tile, got {len(dim_map)} mappings"
        )
    _check_view_dims(tile_shape)
    used: dict[int, int] = {}
    for tile_dim, view_dim in enumerate(dim_map):
        if view_dim < 0:
            raise TileError(f"target dimension must not be negative, got {view_dim}")
        if view_dim >= len(view.shape):
            raise TileError(
                "target dimension is outside of tensor view dimensions, expected strictly less than "
                f"{len(view.shape)}, got {view_dim}"
            )
        if view_dim in used:
            raise TileError(
                f"target dimension {view_dim} mapped at least twice "
                f"(for tile dimensions {used[view_dim]} and {tile_dim})"
            )
        used[view_dim] = tile_dim
    _check_tile(tile_shape, view.element)
    _check_padding(view, padding)
    return view


def _check_view_ranks(tile_shape: tuple[int, ...], tensor_view: Type) -> TensorView:
    if not isinstance(tensor_view, TensorView):
        raise TileError(f"expected 'tensor_view' type, but got {tensor_view}")
    if not tile_shape:
        raise TileError("0-dimension tile shape is not supported")
    if len(tile_shape) != len(tensor_view.shape):
        raise TileError(
            "expected tensor_view rank and tile rank to match, got tensor_view of rank "
            f"{len(tensor_view.shape)} and tiles of rank {len(tile_shape)}"
        )
    return tensor_view


def _check_view_dims(tile_shape: tuple[int, ...]) -> None:
    if any(dim <= 0 for dim in tile_shape):
        raise TileError(f"tile shape dimensions must have positive length but got [{_commas(tile_shape)}]")
    if any(dim & (dim - 1) for dim in tile_shape):
        raise TileError(f"tile shape dimensions must have power of two length but got [{_commas(tile_shape)}]")


def _check_padding(view: TensorView, padding: PaddingValue | None) -> None:
    if padding not in (None, PaddingValue.ZERO) and not view.element.is_float:
        raise TileError(
            f"padding_value {padding.text} can only be used with floating point element types, got {view.element}"
        )
