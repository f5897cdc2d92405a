"""Relations between the types of an operation's values, and the traits of operations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..attrs import Attr
from ..checking import TYPE_CHECKING
from ..ir import Op
from .fastclass import dataclass

if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between values: they agree in `what` (type, shape, rank or element type), or `test` holds."""

    what: str
    names: tuple[str, ...]
    problem: str
    """NVIDIA's message if the relation does not hold"""
    test: Callable[[Any], bool] | None = None

    @property
    def text(self) -> str:
        return self.problem.removeprefix("failed to verify that ")


def _agree(what: str, names: tuple[str, ...]) -> Relation:
    the = "the " if what == "element type" else ""
    return Relation(what, names, f"failed to verify that all of {{{', '.join(names)}}} have {the}same {what}")


def same_type(*names: str) -> Relation:
    return _agree("type", names)


def same_shape(*names: str) -> Relation:
    return _agree("shape", names)


def same_rank(*names: str) -> Relation:
    return _agree("rank", names)


def same_element(*names: str) -> Relation:
    return _agree("element type", names)


def uniform(what: str, *names: str, of: str = "operands and results") -> Relation:
    """Require agreement in the words of MLIR's own traits, which are checked last."""
    return Relation(what, names, f"requires the same {what} for all {of}")


def holds(text: str, test: Callable[[Any], bool], *names: str) -> Relation:
    """Require any other relation; `text` is NVIDIA's description of it."""
    return Relation("relation", names, f"failed to verify that {text}", test)


@dataclass(frozen=True, slots=True)
class Table:
    """Combinations that an operation accepts, for the reference; each column is about some of its fields."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Objection:
    """A violation that an operation's own check found. Unless `bare`, `'cuda_tile.x' op` precedes the message."""

    message: str | tuple[str | Attr, ...]
    """the text, or its parts; the verifier prints the attributes among them"""
    field: str = ""
    bare: bool = False
    op: Op | None = None
    """the operation at fault, if it is not the one that was checked"""
    notes: tuple[str, ...] = ()
    related: tuple[tuple[Op, str], ...] = ()


class Trait(Enum):
    """A property of an operation that its fields do not express."""

    PURE = "no memory effect, and may be executed speculatively"
    NO_EFFECT = "no memory effect, but must not be executed speculatively"
    REGION_EFFECTS = "has the memory effects of the operations inside"
    ELEMENTWISE = "works on each element separately"
    COMMUTATIVE = "the first two operands may be swapped"
    CONSTANT = "produces a constant"
    TERMINATOR = "ends a block"
    RETURN_LIKE = "passes its operands to the parent operation"
    ISOLATED = "nothing inside uses values from outside"
    SYMBOL = "defines a symbol"
    SYMBOL_TABLE = "the symbols inside are unique"
    ALLOCATION_SCOPE = "frees what is allocated inside when it ends"
    NO_REGION_ARGS = "the regions have no arguments"
    FUNCTION = "is a function"
    TOP_LEVEL = "is never inside a function"

    __hash__ = object.__hash__  # faster than Enum's, which hashes the name


PURE, NO_EFFECT, REGION_EFFECTS = Trait.PURE, Trait.NO_EFFECT, Trait.REGION_EFFECTS
ELEMENTWISE, COMMUTATIVE, CONSTANT = Trait.ELEMENTWISE, Trait.COMMUTATIVE, Trait.CONSTANT
TERMINATOR, RETURN_LIKE, ISOLATED = Trait.TERMINATOR, Trait.RETURN_LIKE, Trait.ISOLATED
SYMBOL, SYMBOL_TABLE, ALLOCATION_SCOPE = Trait.SYMBOL, Trait.SYMBOL_TABLE, Trait.ALLOCATION_SCOPE
NO_REGION_ARGS, FUNCTION, TOP_LEVEL = Trait.NO_REGION_ARGS, Trait.FUNCTION, Trait.TOP_LEVEL
