"""Fields of an operation: operands, attributes, results and regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from ..attrs import TileEnum
from ..types import Type
from ..version import V13_1, Version
from .constraints import Constraint
from .fastclass import dataclass


class AttrKind(Enum):
    """How an attribute is written in bytecode and text; the value says what it is."""

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


@dataclass(slots=True, eq=False)
class Field:
    """One operand, attribute, result or region of an operation."""

    role: str
    """operand, attr, out, region, or state (kept with the op but no part of it)"""
    arity: str = "one"
    """one, opt (may be absent) or var (a tuple)"""
    kind: Any = None
    """the Constraint of a value, the AttrKind of an attribute"""
    doc: str = ""
    default: Any = REQUIRED
    since: Version = V13_1
    enum: type[TileEnum] | None = None
    only: tuple[TileEnum, ...] = ()
    """the members that the op accepts, where it does not take all"""
    minimum: int | None = None
    hints: tuple[str, ...] = ()
    """the optimization hints that the op knows"""
    infer: Callable[[Any], Any] | None = None
    """computes the type of a result, or the default of an attribute, from the op"""
    name: str = ""
    """the specification's name; `attr` is the Python name, which differs for Python's keywords"""
    attr: str = ""

    def default_of(self, o: Any) -> Any:
        return self.infer(o) if self.default is INFER and self.infer else self.default


def operand(kind: Constraint, doc: str) -> Any:
    """A value that is always there."""
    return Field("operand", "one", kind, doc)


def optional(kind: Constraint, doc: str, *, since: Version | None = None, default: Any = None) -> Any:
    """A value that may be absent."""
    return Field("operand", "opt", kind, doc, None, since or V13_1)


def variadic(kind: Constraint, doc: str, *, default: Any = ()) -> Any:
    """A tuple of values."""
    return Field("operand", "var", kind, doc, ())


def attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    default: Any = REQUIRED,
    since: Version | None = None,
    only: Iterable[TileEnum] = (),
    minimum: int | None = None,
    infer: Callable[[Any], Any] | None = None,
) -> Any:
    """An attribute that is always there, with a default where one is given."""
    is_kind = isinstance(kind, AttrKind)
    return Field(
        "attr",
        "one",
        kind if is_kind else AttrKind.ENUM,
        doc,
        default,
        since or V13_1,
        None if is_kind else kind,  # type: ignore[arg-type]  # narrowed by is_kind
        tuple(only),
        minimum,
        infer=infer,
    )


def optional_attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    since: Version | None = None,
    only: Iterable[TileEnum] = (),
    hints: Iterable[str] = (),
    default: Any = None,
) -> Any:
    """An attribute that may be absent."""
    made = attr(kind, doc, default=None, since=since, only=only)
    made.arity, made.hints = "opt", tuple(hints)
    return made


def flag(doc: str, *, since: Version | None = None, default: bool = False) -> Any:
    """An attribute that says yes by being there."""
    return Field("attr", "opt", AttrKind.FLAG, doc, False, since or V13_1)


def out(
    kind: Constraint,
    doc: str,
    *,
    since: Version | None = None,
    default: Any = INFER,
    infer: Callable[[Any], Type] | None = None,
) -> Any:
    """A result. Pass `Value(type)` where its type does not follow from the operands."""
    return Field("out", "one", kind, doc, INFER, since or V13_1, infer=infer)


def outs(
    kind: Constraint, doc: str, *, default: Any = INFER, infer: Callable[[Any], Iterable[Type]] | None = None
) -> Any:
    """A tuple of results."""
    return Field("out", "var", kind, doc, INFER, infer=infer)


def region(doc: str, *, default: Any = REQUIRED) -> Any:
    """A region; it has one block."""
    return Field("region", "one", None, doc)


def optional_region(doc: str, *, default: Any = None) -> Any:
    """A region that may be empty, which is None."""
    return Field("region", "opt", None, doc, None)


def state(doc: str, *, default: Any = None) -> Any:
    """Something kept with the op that is no part of it: not encoded, printed or compared."""
    return Field("state", "opt", None, doc, None)
