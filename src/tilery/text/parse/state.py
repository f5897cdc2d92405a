"""What the parser knows of an operation before it is made."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from ...attrs import Attr
from ...declare.fastclass import dataclass, field
from ...declare.operation import BY_NAME, OpDef
from ...declare.relations import TERMINATOR
from ...ir import Block, Op, UnknownOp
from ...types import Type
from ..format import Piece

if TYPE_CHECKING:
    from .cursor import Mark
    from .parser import Parser

Operand = tuple[str, int]
"""The name of a value, `%a` or `%a#1`, and the index of its token."""


@dataclass(slots=True)
class Argument:
    """A parameter of a region: its name if it has one, its type, and the attributes written behind it."""

    use: Operand | None
    type: Type
    attrs: dict[str, Attr] = field(default_factory=dict)


@dataclass(slots=True)
class Region:
    """What an operation asks for: the region that is next. The answer is its block, None where it is empty."""

    args: list[Argument] = field(default_factory=list)
    number: int = 0


Body = Generator[Region, Block | None, Op]
"""The parsing of an operation with regions; it yields a Region for each."""

Build = Callable[["Parser", "State", int], Op]
"""Makes the operation, whose name is the token of this index, from what was read."""


class State:
    """What has been read of one operation, by the names of its fields."""

    __slots__ = ("_build", "attrs", "opdef", "pieces", "type_marks", "types", "uses", "values")

    def __init__(self, opdef: OpDef, build: Build, pieces: tuple[Piece, ...] = ()) -> None:
        self.opdef = opdef
        self.pieces = pieces
        self.uses: dict[str, list[Operand]] = {}
        self.types: dict[str, list[Type]] = {}
        self.values: dict[str, Any] = {}
        self.attrs: dict[str, Attr] = {}
        self.type_marks: dict[str, Mark] = {}
        self._build = build

    def attributes(self, p: Parser) -> None:
        """A dictionary of attributes, which must be next."""
        self.attrs.update(p.dictionary())

    def build(self, p: Parser, at: int) -> Op:
        return self._build(p, self, at)

    def terminated(self, p: Parser, block: Block | None, at: int) -> Block:
        """The block with the operation at its end that text may leave out; it stands where this operation does."""
        block = Block() if block is None else block
        last = block.ops[-1] if block.ops else None
        if last is None or isinstance(last, UnknownOp) or not last.opdef.has(TERMINATOR):
            block.ops.append(BY_NAME[self.opdef.implicit].cls())
            p.places[block.ops[-1]] = at
        return block
