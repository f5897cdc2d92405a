"""cuTile's calling convention: how the arguments of a Python kernel become the parameters of its entry.

Each parameter of the entry is a tile of rank 0, passed in one 64-bit slot, in the order of the Python parameters. An
array is passed as its pointer, its shape and its strides in elements; a number or bool as itself; a list of arrays as a
pointer to one row of 64-bit words per array (pointer, shape, strides), and its length; a tuple as its items. Constants
are compiled in and not passed.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, SupportsIndex

import numpy as np

from ...diag import TileError
from ...types import I1, I32, I64, Ptr, Scalar, Tile, Type
from .addresses import Layout, MemoryRange, Runs, allocate, refuse_copy
from .arrays import ArrayMemory, is_array, locate, locate_argument


def function_name(entry: str) -> str:
    """Return the name of the Python function of an entry, which cuTile extends by the types of its arguments.

    >>> function_name("fill_Kt2_A1f32_1s1_I0"), function_name("histogram")
    ('fill', 'histogram')
    """
    return entry.partition("_Kt")[0] or entry


# ---------------------------------------------------------------- from Python arguments


def expand(args: Iterable[Any], ranges: list[MemoryRange], label: str = "argument") -> list[Any]:
    """Return one value per parameter of the entry, without constants; memory that lists need is added to `ranges`.

    `label` names the arguments in errors.

    >>> import numpy as np
    >>> expand([np.zeros((2, 3)), 7, (1.5, True)], [])[1:]
    [2, 3, 3, 1, 7, 1.5, True]
    """
    values: list[Any] = []
    work = list(args)[::-1]
    while work:
        match work.pop():
            case tuple() as items:
                work += items[::-1]
            case list() as arrays:
                values += stage(arrays, ranges, label)
            case bool() | int() | float() | np.generic() as number:
                values.append(number)
            case array if is_array(array):
                values += [array, *layout(locate(array))]
            case other:
                raise TileError(
                    f"cannot pass an argument of type '{type(other).__name__}' to a kernel",
                    notes=("arrays, numbers, lists of arrays and tuples of these can be passed",),
                )
    return values


def layout(array: ArrayMemory) -> list[int]:
    """Return the shape of an array and its strides in elements.

    >>> import numpy as np
    >>> layout(locate(np.zeros((4, 8), np.float16).T))
    [8, 4, 1, 8]
    """
    if min(array.strides, default=0) < 0:
        raise TileError(f"cannot pass an array with negative strides {array.strides} to a kernel")
    return [*array.shape, *array.strides]


def stage(arrays: Sequence[Any], ranges: list[MemoryRange], label: str) -> list[Any]:
    """Return the two parameters of a list of arrays: the address of its words, which are allocated, and its length."""
    if not arrays or not all(is_array(array) for array in arrays):
        raise TileError("a list passed to a kernel must contain at least one array, and only arrays")
    located = [locate_argument(f"{label}, item {number}", array) for number, array in enumerate(arrays)]
    if len({(array.dtype, len(array.shape)) for array in located}) > 1:
        raise TileError("the arrays of a list passed to a kernel must have the same element type and rank")
    words = [word for array in located for word in (array.address, *layout(array))]
    size = 8 * len(words)
    address, owner = allocate(size, 16)
    ctypes.memmove(address, struct.pack(f"<{len(words)}q", *words), size)
    pointers = tuple(range(0, size, size // len(located)))
    ranges.append(MemoryRange(address, size, "list", writable=False, owner=owner, pointers=pointers))
    ranges += [array.range(f"list[{number}]") for number, array in enumerate(located)]
    return [address, len(arrays)]


# ---------------------------------------------------------------- from the words of a launch


class Array(NamedTuple):
    """An array parameter; `bits` is the width of an element in memory."""

    name: str
    rank: int
    bits: int


class List(NamedTuple):
    """A parameter that is a list of arrays."""

    name: str
    rank: int
    bits: int


class Number(NamedTuple):
    """An integer, float or bool parameter."""

    name: str


Parameter = Array | List | Number


class ArrayExtent(NamedTuple):
    """The memory of an array, from its first element to its last; `pointers` are the offsets of addresses in it."""

    name: str
    address: int
    size: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    pointers: tuple[int, ...] = ()
    writable: bool = True
    runs: Runs | None = None
    """The bytes of a read-only array with gaps; other arrays may be written in between."""

    @property
    def layout(self) -> Layout | None:
        """Where its elements are; None if they are not whole bytes."""
        elements = 0 if 0 in self.shape else 1 + sum((n - 1) * stride for n, stride in zip(self.shape, self.strides))
        if not self.shape or not elements or self.size % elements:
            return None
        item = self.size // elements
        return Layout(self.address, self.shape, tuple(stride * item for stride in self.strides), item)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self)


def slot_names(parameters: Iterable[Parameter]) -> list[str]:
    """Name each parameter of the entry in terms of the Python kernel.

    >>> slot_names([Array("x", 1, 32), Number("n"), List("ys", 2, 16)])
    ['x', 'x.shape[0]', 'x.strides[0]', 'n', 'ys', 'len(ys)']
    """
    names: list[str] = []
    for p in parameters:
        names.append(p.name)
        match p:
            case Array():
                names += [f"{p.name}.{what}[{axis}]" for what in ("shape", "strides") for axis in range(p.rank)]
            case List():
                names.append(f"len({p.name})")
    return names


_FORMATS = {"i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "f16": "<e", "f32": "<f", "f64": "<d"}


def slot_size(type: Type) -> int:
    """Return how many bytes of its slot a parameter of this type uses."""
    match type:
        case Tile(shape=(), element=Ptr()):
            return 8
        case Tile(shape=(), element=Scalar(name="i1")):
            return 1
        case Tile(shape=(), element=Scalar(name=name)) if name in _FORMATS:
            return struct.calcsize(_FORMATS[name])
    raise TileError(f"cuTile's calling convention has no parameters of {type}")


def value_of(type: Type, word: bytes) -> int | float | bool:
    """Decode the value of a parameter from its slot.

    >>> from tilery.types import F32, I1, Tile
    >>> value_of(Tile((), F32), bytes.fromhex("0000c03f")), value_of(Tile((), I1), b"\\x01")
    (1.5, True)
    """
    assert isinstance(type, Tile)
    if isinstance(type.element, Ptr):
        return int.from_bytes(word[:8], "little")
    if type.element is I1:
        return word[0] & 1 == 1
    value: int | float = struct.unpack_from(_FORMATS[type.element.text], word)[0]
    return value


def guess_parameters(types: Sequence[Type]) -> list[Parameter]:
    """Guess the Python parameters of an entry: a pointer followed by an even number of integers is an array.

    >>> from tilery.types import F32, I32, Ptr, Tile
    >>> guess_parameters([Tile((), Ptr(F32)), Tile((), I32), Tile((), I32), Tile((), F32)])
    [Array(name='arg0', rank=1, bits=32), Number(name='arg3')]
    """
    found: list[Parameter] = []
    at = 0
    while at < len(types):
        name, kind = f"arg{at}", types[at]
        at += 1
        if isinstance(kind, Tile) and isinstance(kind.element, Ptr):
            start = at
            while at < len(types) and types[at] in (Tile((), I32), Tile((), I64)):
                at += 1
            at -= (at - start) % 2
            found.append(Array(name, (at - start) // 2, max(8, kind.element.pointee.bits)))
        else:
            found.append(Number(name))
    return found


def protect(memory: Iterable[ArrayExtent], fixed: Sequence[ArrayMemory]) -> list[ArrayExtent]:
    """Mark the memory of arrays that are read-only."""
    known = {(each.address, each.shape, each.strides): each.range("").runs for each in fixed}
    return [
        each._replace(writable=False, runs=known[key])
        if (key := (each.address, each.shape, each.strides)) in known
        else each
        for each in memory
    ]


def extents(
    parameters: Iterable[Parameter], values: Sequence[Any], read: Callable[[int, int], bytes]
) -> list[ArrayExtent]:
    """List the memory that the arguments of a launch reach; `read(address, size)` fetches the words of lists."""
    found: list[ArrayExtent] = []
    at = 0
    for p in parameters:
        match p:
            case Array():
                found.append(extent(p, values[at : at + 1 + 2 * p.rank]))
                at += 1 + 2 * p.rank
            case List():
                address, length = values[at : at + 2]
                row = 1 + 2 * p.rank
                pointers = tuple(range(0, 8 * row * length, 8 * row))
                found.append(ArrayExtent(p.name, address, 8 * row * length, (length, row), (row, 1), pointers))
                words = struct.unpack(f"<{row * length}q", read(address, 8 * row * length))
                for item in range(length):
                    element = Array(f"{p.name}[{item}]", p.rank, p.bits)
                    found.append(extent(element, words[item * row : item * row + row]))
                at += 2
            case Number():
                at += 1
    return found


def extent(array: Array, words: Sequence[int]) -> ArrayExtent:
    """Return the memory of an array, given its pointer, shape and strides.

    >>> extent(Array("x", 2, 32), [4096, 3, 4, 8, 1])[:5]
    ('x', 4096, 80, (3, 4), (8, 1))
    """
    shape, strides = tuple(words[1 : 1 + array.rank]), tuple(words[1 + array.rank :])
    elements = 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return ArrayExtent(array.name, words[0], (elements * array.bits + 7) // 8, shape, strides)
