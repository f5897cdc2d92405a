"""Interned types: scalars, tokens, pointers, tiles and functions, and how their text is spelled."""

from __future__ import annotations

import os
from _thread import RLock  # `threading` takes long to import
from _weakref import ref  # so does `weakref`
from collections.abc import Iterable, Sequence

from ..checking import TYPE_CHECKING
from ..diag import TileError
from ..enums import PtrAttr
from ..floats.elements import ELEMENTS, Element
from ..floats.formats import Format
from ..version import V13_1, V13_2, Version

if TYPE_CHECKING:
    from typing import Any, TypeVar

    M = TypeVar("M")
    T = TypeVar("T", bound="Type")

MAX_TILE_ELEMENTS = 1 << 24
MAX_FUNCTION_TEXT = 1 << 20


class _Ref(ref["Any"]):
    """A weak reference with its key."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


class InternPool:
    """Interned objects by their keys. An object that is no longer used leaves the pool."""

    __slots__ = ("forget", "lock", "refs")

    def __init__(self) -> None:
        self.refs: dict[tuple[Any, ...], _Ref] = {}
        self.lock = RLock()
        self.forget = self._forget  # bound once: there may be a reference for every few operations

    def __len__(self) -> int:
        return len(self.refs)

    def get(self, key: tuple[Any, ...]) -> object:
        """Return the object of a key, or None."""
        known = self.refs.get(key)
        return None if known is None else known()

    def keep(self, key: tuple[Any, ...], made: M) -> M:
        """Return the object of a key: this one, unless another thread was faster."""
        refs = self.refs
        with self.lock:
            if (known := refs.get(key)) is not None and (found := known()) is not None:
                return found  # type: ignore[no-any-return]  # the first item of a key is the class
            mine = refs[key] = _Ref(made, self.forget)
            mine.key = key
        return made

    def _forget(self, gone: _Ref) -> None:
        with self.lock:
            if self.refs.get(gone.key) is gone:
                del self.refs[gone.key]

    def forget_threads(self) -> None:
        """Forget in a forked process that a thread of its parent held the lock."""
        self.lock = RLock()


POOL = InternPool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget_threads)


class Type:
    """Base of all types. Compare with `is`."""

    __slots__ = ("__weakref__", "key", "text")
    key: tuple[Any, ...]
    text: str
    since: Version

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from .. import markup

        return markup.code(self.text)

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Type:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self.key[0], self.key[1:]


def intern(cls: type[T], key: tuple[Any, ...], text: str | None, **fields: Any) -> T:
    made: T = object.__new__(cls)
    made.key = key
    if text is not None:
        made.text = text
    for name, value in fields.items():
        setattr(made, name, value)
    return POOL.keep(key, made)


class Scalar(Type):
    """An element type: an integer or a float, including the narrow float formats."""

    __slots__ = ("bits", "cname", "format", "kind", "name", "row", "since", "tag")
    row: Element
    """All facts about the type; the most used ones are copied to the fields below."""
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
    def listed_since(self) -> Version:
        """The first version whose messages list the type; 13.2 lists `f4E2M1FN`, which its bytecode lacks."""
        return V13_2 if self.name == "f4E2M1FN" else self.since

    @property
    def storage_bytes(self) -> int:
        """The bytes of one element in a dense constant; i1 is an exception, eight of them share a byte."""
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
    return intern(Scalar, (Scalar, row.name), row.name, row=row, kind=kind, **facts)


SCALARS: dict[str, Scalar] = {row.name: _scalar(row) for row in ELEMENTS}
F16, BF16, F32, TF32, F64 = (SCALARS[n] for n in ("f16", "bf16", "f32", "tf32", "f64"))
I1, I4, I8, I16, I32, I64 = (SCALARS[n] for n in ("i1", "i4", "i8", "i16", "i32", "i64"))

FLOATS = tuple(s for s in SCALARS.values() if s.is_float)
# NVIDIA's "number" excludes i4; a tile may hold numbers, pointers and i4.
NUMBERS = tuple(s for s in SCALARS.values() if s.row.number)
NUMBER_TEXT = " or ".join(s.text for s in NUMBERS)


class Token(Type):
    """The type of a memory-ordering token."""

    __slots__ = ()
    since = V13_1

    def __new__(cls) -> Token:
        return intern(cls, (cls,), "token")


class String(Type):
    """The element type of string constants; it never appears in bytecode."""

    __slots__ = ()
    since = V13_1

    def __new__(cls) -> String:
        return intern(cls, (cls,), "string")


class Foreign(Type):
    """A type of another dialect, kept as text. The verifier refuses it where a Tile IR type is needed."""

    __slots__ = ()
    since = V13_1

    def __new__(cls, text: str) -> Foreign:
        if len(text) > MAX_FUNCTION_TEXT:
            raise TileError(f"the text of a type is longer than {MAX_FUNCTION_TEXT} characters")
        return intern(cls, (cls, text), text)


def wrong_type(parameter: str, allowed: str, got: Type) -> TileError:
    """Make the error for a type that a parameter may not be; its rule is the parameter."""
    return TileError(f"failed to verify '{parameter}': {allowed}", rule=parameter, notes=(f"got {got}",))


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
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if pointee not in NUMBERS:
            raise wrong_type("pointeeType", NUMBER_TEXT, pointee)
        kind = f", <{ptr_attr.text}>" if ptr_attr else ""
        return intern(cls, key, f"ptr<{pointee.text}{kind}>", pointee=pointee, ptr_attr=ptr_attr)


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
        if (found := POOL.get(key)) is not None:
            return found  # type: ignore[return-value]  # keyed by this class
        if not isinstance(element, (Scalar, Ptr)):
            raise wrong_type("elementType", f"{NUMBER_TEXT} or Pointer type or i4", element)
        check_tile(shape, element)
        dims = "".join(f"{d}x" for d in shape)
        return intern(cls, key, f"tile<{dims}{element.text}>", shape=shape, element=element)

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


def commas(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def check_tile(shape: tuple[int, ...], element: Type) -> None:
    if isinstance(element, Scalar) and element.is_packed and all(dim % 2 for dim in shape):
        raise TileError(f"{element.name.upper()} tiles must have an even number of elements")
    total = 1
    for dim in shape:
        if dim <= 0:
            raise TileError(f"all dimensions must be positive constants, got {commas(shape)}")
        if dim & (dim - 1):
            raise TileError(f"all dimensions must be powers of two, got {commas(shape)}")
        if total > MAX_TILE_ELEMENTS // dim:
            raise TileError(f"tile would exceed the maximum of {MAX_TILE_ELEMENTS} elements")
        total *= dim


class Function(Type):
    """The type of an entry: parameters and results."""

    __slots__ = ("params", "results")
    since = V13_1
    params: tuple[Type, ...]
    results: tuple[Type, ...]

    def __new__(cls, params: Sequence[Type], results: Sequence[Type] = ()) -> Function:
        params, results = tuple(params), tuple(results)
        # The text is made on demand: a few bytes of bytecode can name types whose text would be huge.
        return intern(cls, (cls, params, results), None, params=params, results=results)

    def __getattr__(self, name: str) -> str:
        if name != "text":
            raise AttributeError(name)
        self.text = _function_text(self)
        return self.text


def full_text(t: Type) -> str:
    """Return a type as it is spelled outside the dialect's own syntax, `!cuda_tile.tile<4xf32>`."""
    return t.text if isinstance(t, (Scalar, Foreign, Function)) else f"!cuda_tile.{t.text}"


def quoted(t: Type) -> str:
    """Return a type as NVIDIA's diagnostics print it."""
    return f"'{full_text(t)}'"


def quoted_list(types: Iterable[Type]) -> str:
    return ", ".join(map(quoted, types))


def _function_text(function: Function) -> str:
    """Return `(a, b) -> c` with the types in full. The stack is explicit because hostile types nest deeply."""
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
