"""Attribute values: enums, numbers by their bits, dense constants, assume predicates, hints and debug information."""

from __future__ import annotations

from _thread import RLock  # `threading` takes long to import
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import ref

from .declare.fastclass import dataclass, field, fields
from .diag import TileError
from .enums import (
    AtomicRMWMode as AtomicRMWMode,
)
from .enums import (
    ComparisonOrdering as ComparisonOrdering,
)
from .enums import (
    ComparisonPredicate as ComparisonPredicate,
)
from .enums import (
    IntegerOverflow as IntegerOverflow,
)
from .enums import (
    MemoryOrderingSemantics as MemoryOrderingSemantics,
)
from .enums import (
    MemoryScope as MemoryScope,
)
from .enums import (
    RoundingMode as RoundingMode,
)
from .enums import (
    Signedness as Signedness,
)
from .enums import (
    SymbolVisibility as SymbolVisibility,
)
from .enums import (
    TileEnum as TileEnum,
)
from .types import I1, Scalar, Tile, Type

# ---------------------------------------------------------------- plain attributes


class Attr:
    """Base of attribute values. They are immutable and compare by content."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class UnitAttr(Attr):
    """Present, and nothing more."""


@dataclass(frozen=True, slots=True)
class IntAttr(Attr):
    """An integer by its bits (unsigned). `as_bool` remembers which of two encodings an i1 came in.

    >>> from tilery.types import I32
    >>> IntAttr(I32, 0xffffffff).value
    -1
    """

    type: Scalar
    bits: int
    as_bool: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << self.type.bits:
            raise TileError(f"value {self.bits} does not fit in {self.type.bits} bits")

    @staticmethod
    def of(type: Scalar, value: int) -> IntAttr:
        """From a signed or unsigned value that fits."""
        if not -(1 << type.bits) // 2 <= value < 1 << type.bits:
            raise TileError(f"value {value} does not fit in {type.bits} bits")
        return IntAttr(type, value & ((1 << type.bits) - 1))

    @property
    def value(self) -> int:
        """The value as a signed integer (i1: 0 or 1)."""
        negative = self.type is not I1 and self.bits >> (self.type.bits - 1)
        return self.bits - (1 << self.type.bits) if negative else self.bits


@dataclass(frozen=True, slots=True)
class FloatAttr(Attr):
    """A float by its bits.

    `lost_sign` marks an encoding that cuTile and cuTile.jl use for an f64 with its sign bit set: a zig-zag number of
    65 bits, of which every reader drops the top one. The value is what readers see; writing gives the bytes back.
    """

    type: Scalar
    bits: int
    lost_sign: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << self.type.bits:
            raise TileError(f"value {self.bits} does not fit in {self.type.bits} bits")


@dataclass(frozen=True, slots=True)
class StrAttr(Attr):
    """A string. Bytes that are not UTF-8 are kept as surrogate escapes."""

    value: str


@dataclass(frozen=True, slots=True)
class TypeAttr(Attr):
    """A type used as a value."""

    type: Type


@dataclass(frozen=True, slots=True)
class SymbolRef(Attr):
    """A reference to a symbol, `@name`."""

    name: str


@dataclass(frozen=True, slots=True)
class ArrayAttr(Attr):
    """A list of attributes."""

    items: tuple[Attr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DictAttr(Attr):
    """Named attributes. The order is kept for writing; text sorts them and equality ignores it."""

    items: tuple[tuple[str, Attr], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictAttr) and self.sorted() == other.sorted()

    def __hash__(self) -> int:
        return hash(self.sorted())

    def sorted(self) -> tuple[tuple[str, Attr], ...]:
        return tuple(sorted(self.items, key=lambda item: item[0]))

    def get(self, name: str) -> Attr | None:
        return next((value for key, value in self.items if key == name), None)


@dataclass(frozen=True, slots=True)
class DenseArray(Attr):
    """A flat array of bools or integers, `array<i32: 1, 2>`; only discardable attributes use it as a value."""

    type: Scalar
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DenseStrings(Attr):
    """A tile of strings. Only the 13.1 reader knows it, and no operation takes one."""

    type: Type
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpaqueAttr(Attr):
    """An attribute that tilery keeps as text because another dialect defines it."""

    text: str


# ---------------------------------------------------------------- dense constants


@dataclass(frozen=True)
class Dense(Attr):
    """The value of a constant tile, as the exact bytes of its elements, little-endian.

    One element stands for all (a splat). Tiles of i1 are packed eight to a byte, lowest bit first; narrower elements
    than a byte take one byte each.

    >>> from tilery.types import I32
    >>> Dense(Tile((4,), I32), b"\\x07\\0\\0\\0").elements()
    [7, 7, 7, 7]
    """

    type: Tile
    data: bytes

    def __post_init__(self) -> None:
        if (why := dense_problem(self.type, self.data)) is not None:
            raise TileError(why)

    @staticmethod
    def of(type: Tile, elements: list[int]) -> Dense:
        """From the elements' bit patterns; one element is a splat. Splats are stored once, as NVIDIA's tools do."""
        if len(set(elements)) == 1:
            elements = elements[:1]
        element = type.element
        assert isinstance(element, Scalar)
        if element is I1:
            if len(elements) == 1:
                return Dense(type, b"\xff" if elements[0] else b"\x00")
            packed = bytearray((len(elements) + 7) // 8)
            for index, bit in enumerate(elements):
                packed[index // 8] |= bit << index % 8
            return Dense(type, bytes(packed))
        width = element.storage_bytes
        return Dense(type, b"".join(bits.to_bytes(width, "little") for bits in elements))

    @property
    def element(self) -> Scalar:
        assert isinstance(self.type.element, Scalar)
        return self.type.element

    def stored(self) -> list[int]:
        """The bit patterns as stored: one for a splat, else all of them."""
        element = self.element
        if element is I1:
            if len(self.data) == 1 and self.type.size > 8:
                return [self.data[0] & 1]
            return [self.data[i // 8] >> i % 8 & 1 for i in range(self.type.size)]
        width, mask = element.storage_bytes, (1 << element.bits) - 1
        data = self.data
        return [int.from_bytes(data[i : i + width], "little") & mask for i in range(0, len(data), width)]

    def elements(self) -> list[int]:
        """The bit pattern of every element, in row-major order."""
        stored = self.stored()
        return stored * self.type.size if len(stored) == 1 else stored

    @cached_property
    def splat(self) -> int | None:
        """The one bit pattern that all elements have, or None."""
        stored = self.stored()
        return stored[0] if stored.count(stored[0]) == len(stored) else None


def dense_problem(type: Tile, data: bytes) -> str | None:
    """NVIDIA's reason why these bytes are no value of that type, or None."""
    element = type.element
    if not isinstance(element, Scalar):
        return f"expect Cuda Tile integer or float type but got: '!cuda_tile.{type.text}'"
    if element is I1:
        if len(data) in ((type.size + 7) // 8, 1):
            return None
        return f"i1 dense attribute payload size {len(data)} is not a recognized encoding for {type.size} elements"
    if len(data) in (element.storage_bytes, element.storage_bytes * type.size):
        return None
    return "failed to validate buffer size and format"


# ---------------------------------------------------------------- assume predicates and hints


@dataclass(frozen=True, slots=True)
class DivBy(Attr):
    """Elements are divisible by `divisor`; with `every`/`along`, only the first of each group is."""

    divisor: int
    every: int | None = None
    along: int | None = None


@dataclass(frozen=True, slots=True)
class SameElements(Attr):
    """Elements within groups of these sizes, one per dimension, are equal."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bounded(Attr):
    """Elements lie between `lb` and `ub`, both included and both optional."""

    lb: int | None = None
    ub: int | None = None


Predicate = DivBy | SameElements | Bounded


@dataclass(frozen=True, slots=True)
class OptimizationHints(Attr):
    """Hints for the compiler: for each architecture a dictionary."""

    value: DictAttr = DictAttr()


# ---------------------------------------------------------------- debug information


class _Ref(ref["DebugAttr"]):
    """A weak reference that knows its key."""

    __slots__ = ("key",)
    key: tuple[object, ...]


# A WeakValueDictionary by hand: a file of debug information makes a node for every few operations.
_NODES: dict[tuple[object, ...], _Ref] = {}
_LOCK = RLock()


def _forget(gone: _Ref) -> None:
    with _LOCK:
        if _NODES.get(gone.key) is gone:
            del _NODES[gone.key]


class _Interned(type):
    """Makes equal nodes the same object: a chain of call sites shares so much that comparing trees would not end."""

    def __call__(cls, *args: object, **kwargs: object) -> object:
        key: tuple[object, ...] = (cls, *args)
        if (known := _NODES.get(key)) is not None and not kwargs and (node := known()) is not None:
            return node
        made = super().__call__(*args, **kwargs)
        if kwargs or len(args) != len(fields(cls)):
            key = (cls, *made.parts())
        return _keep(key, made)


def _keep(key: tuple[object, ...], made: DebugAttr) -> DebugAttr:
    """The node of a key: this one, unless another thread was quicker."""
    with _LOCK:
        if (known := _NODES.get(key)) is not None and (node := known()) is not None:
            return node
        mine = _NODES[key] = _Ref(made, _forget)
        mine.key = key
    return made


class DebugAttr(Attr, metaclass=_Interned):
    """Base of debug information. Equal nodes are the same object; compare with `is`."""

    __slots__ = ("__weakref__",)

    def parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in fields(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __copy__(self) -> DebugAttr:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> DebugAttr:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.parts()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DIFile(DebugAttr):
    """A source file."""

    name: str
    directory: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DICompileUnit(DebugAttr):
    """What was compiled together."""

    file: DIFile


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DISubprogram(DebugAttr):
    """A function of the source."""

    file: DIFile
    line: int
    name: str
    linkageName: str
    compileUnit: DICompileUnit
    scopeLine: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DILexicalBlock(DebugAttr):
    """A block inside a function of the source."""

    scope: DISubprogram | DILexicalBlock
    file: DIFile
    line: int
    column: int = 0


class Loc(DebugAttr):
    """Base of locations; an unknown location is None."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FileLineCol(Loc):
    """A place in a file. Bytecode cannot hold it without a scope and writes it as unknown, as NVIDIA's writer does."""

    filename: str
    line: int
    column: int

    def __repr__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"


class _Flat(_Interned):
    def __call__(cls, *args: Any, **kwargs: Any) -> object:
        return _located(*args, **kwargs)


def _located(source: FileLineCol, scope: object) -> DILoc:
    return place_in_scope(scope, source.filename, source.line, source.column)


class DILoc(Loc, metaclass=_Flat):
    """A place in a source file within a scope."""

    # Flat, as in bytecode, and made with a call less: there is one for every few operations.
    __slots__ = ("column", "filename", "line", "scope")
    __match_args__ = ("source", "scope")
    _specs = dict.fromkeys(__match_args__)
    filename: str
    line: int
    column: int
    scope: DISubprogram | DILexicalBlock

    if TYPE_CHECKING:

        def __init__(self, source: FileLineCol, scope: DISubprogram | DILexicalBlock) -> None: ...

    @property
    def source(self) -> FileLineCol:
        return FileLineCol(self.filename, self.line, self.column)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DILoc cannot be changed: '{name}'")


def place_in_scope(scope: object, filename: str, line: int, column: int) -> DILoc:
    """The same as `DILoc(FileLineCol(filename, line, column), scope)`, faster."""
    key = (DILoc, scope, filename, line, column)
    if (known := _NODES.get(key)) is not None and (node := known()) is not None:
        return node  # type: ignore[return-value]  # keyed by this class
    made: DILoc = object.__new__(DILoc)
    put = object.__setattr__
    put(made, "scope", scope)
    put(made, "filename", filename)
    put(made, "line", line)
    put(made, "column", column)
    return _keep(key, made)  # type: ignore[return-value]  # the same


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallSite(Loc):
    """A place reached by inlining: where the callee's code is and where it was called."""

    callee: Loc | None
    caller: Loc | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NameLoc(Loc):
    """A named place. Text only."""

    name: str
    child: Loc | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FusedLoc(Loc):
    """Several places at once. Text only."""

    locations: tuple[Loc | None, ...]
    metadata: Attr | None = None


LocalScope = DISubprogram | DILexicalBlock


def enclosing(scope: LocalScope) -> Iterator[LocalScope]:
    """A scope and those around it, innermost first."""
    while isinstance(scope, DILexicalBlock):
        yield scope
        scope = scope.scope
    yield scope
