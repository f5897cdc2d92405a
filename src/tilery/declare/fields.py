"""Fields of an operation: operands, attributes, results and regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from ..attrs import TileEnum
from ..checking import TYPE_CHECKING
from ..types import Type
from ..version import V13_1, Version
from .constraints import Constraint

if TYPE_CHECKING:
    from typing import Any


class AttrKind(Enum):
    """How an attribute is encoded in bytecode and text; the value is a description."""

    ENUM = "a keyword"
    FLAG = "present or absent"
    STR = "a string"
    SYM_NAME = "the name of a symbol"
    SYM_REF = "a reference to a symbol"
    I64 = "a 64-bit integer"
    I32 = "a 32-bit integer"
    BOOL = "true or false"
    TYPE = "a type"
    I32_ARRAY = "an array of 32-bit integers"
    BOOL_ARRAY = "an array of booleans"
    DENSE = "a dense constant"
    PREDICATE = "an assume predicate"
    HINTS = "optimization hints"
    ARRAY = "an array of attributes"

    __hash__ = object.__hash__


REQUIRED: Any = object()
INFER: Any = object()


class Field:
    """One operand, attribute, result or region of an operation."""

    role: str
    """operand, attr, out, region, or state (kept with the op but not part of it)"""
    arity: str
    """one, opt (may be absent) or var (a tuple)"""
    kind: Any
    """the Constraint of a value, the AttrKind of an attribute"""
    only: tuple[TileEnum, ...]
    """the members that the op accepts, if not all"""
    hints: tuple[str, ...]
    """the optimization hints that the op knows"""
    infer: Callable[[Any], Any] | None
    """computes the type of a result, or the default of an attribute, from the op"""
    name: str
    """the specification's name; `attr` is the Python name, which differs for Python's keywords"""
    attr: str

    def __init__(
        self,
        role: str,
        arity: str,
        kind: Any,
        doc: str,
        default: Any = REQUIRED,
        since: Version = V13_1,
        enum: type[TileEnum] | None = None,
        only: tuple[TileEnum, ...] = (),
        minimum: int | None = None,
        infer: Callable[[Any], Any] | None = None,
    ) -> None:
        self.role, self.arity, self.kind, self.doc, self.default, self.since = role, arity, kind, doc, default, since
        self.enum, self.only, self.minimum, self.infer, self.hints = enum, only, minimum, infer, ()

    def __repr__(self) -> str:
        return f"<{self.role} {self.name!r}>"

    def default_of(self, o: Any) -> Any:
        return self.infer(o) if self.default is INFER and self.infer else self.default


def operand(kind: Constraint, doc: str) -> Any:
    """A required value."""
    return Field("operand", "one", kind, doc)


def optional(kind: Constraint, doc: str, *, since: Version = V13_1) -> Any:
    """A value that may be absent."""
    return Field("operand", "opt", kind, doc, None, since)


def variadic(kind: Constraint, doc: str) -> Any:
    """A tuple of values, empty by default."""
    return Field("operand", "var", kind, doc, ())


def attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    default: Any = REQUIRED,
    since: Version = V13_1,
    only: Iterable[TileEnum] = (),
    minimum: int | None = None,
    infer: Callable[[Any], Any] | None = None,
) -> Any:
    """An attribute that is always present. With `default=INFER`, `infer` computes the default from the op.

    `only` lists the keywords that the op accepts, `minimum` is the smallest integer.
    """
    enum = None if isinstance(kind, AttrKind) else kind
    only = tuple(only)
    if only and enum is None:
        raise TypeError(f"'only' needs an enum, not {kind}")
    if minimum is not None and kind not in (AttrKind.I32, AttrKind.I64):
        raise TypeError(f"'minimum' needs an integer, not {kind}")
    if (infer is not None) != (default is INFER):
        raise TypeError("'infer' and 'default=INFER' need each other")
    held = kind if enum is None else AttrKind.ENUM
    return Field("attr", "one", held, doc, default, since, enum, only, minimum, infer=infer)


def optional_attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    since: Version = V13_1,
    only: Iterable[TileEnum] = (),
    hints: Iterable[str] = (),
) -> Any:
    """An attribute that may be absent. `hints` lists the optimization hints that the op knows."""
    made = attr(kind, doc, default=None, since=since, only=only)
    made.arity, made.hints = "opt", tuple(hints)
    if made.hints and kind is not AttrKind.HINTS:
        raise TypeError(f"'hints' needs optimization hints, not {kind}")
    return made


def flag(doc: str, *, since: Version = V13_1) -> Any:
    """A boolean that is true when present."""
    return Field("attr", "opt", AttrKind.FLAG, doc, False, since)


def out(kind: Constraint, doc: str, *, since: Version = V13_1, infer: Callable[[Any], Type] | None = None) -> Any:
    """A result. Pass `Value(type)` if its type does not follow from the operands."""
    return Field("out", "one", kind, doc, INFER, since, infer=infer)


def outs(kind: Constraint, doc: str, *, infer: Callable[[Any], Iterable[Type]] | None = None) -> Any:
    """A tuple of results."""
    return Field("out", "var", kind, doc, INFER, infer=infer)


def region(doc: str) -> Any:
    """A region, which has one block."""
    return Field("region", "one", None, doc)


def optional_region(doc: str) -> Any:
    """A region that may be empty, which is None."""
    return Field("region", "opt", None, doc, None)


def state(doc: str) -> Any:
    """Data kept with the op that is not part of it: not encoded, printed or compared."""
    return Field("state", "opt", None, doc, None)
