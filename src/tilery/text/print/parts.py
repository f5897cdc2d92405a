"""What the text of an operation with regions is made of, and what the functions that make it are given."""

from __future__ import annotations

from ...attrs import Attr
from ...ir import Block, Op, Value
from ...version import V13_3
from .attributes import dict_text
from .locations import Aliases
from .names import Names

DIALECT = "cuda_tile."
PRODUCER = "// Producer: "
"""How the first line of a text without a module around it names the program that made the module."""
OPT = V13_3
"""The version of cuda-tile-opt that the styles `opt` and `generic` follow."""


class Region:
    """A region inside an op's text. `header` is the line of a block with its arguments; `prefix` goes before the
    names of the ops inside; `elided` leaves out the last one."""

    __slots__ = ("block", "elided", "header", "prefix")

    def __init__(self, block: Block | None, elided: bool = False, header: str = "", prefix: str = "") -> None:
        self.block, self.elided, self.header, self.prefix = block, elided, header, prefix


Part = str | Region


class Context:
    """What an op's function needs: the names of values, the indentation, and aliases of attributes."""

    def __init__(
        self, names: Names, aliases: Aliases, style: str, locs: bool, texts: dict[Value, str] | None = None
    ) -> None:
        self.names, self.aliases, self.style, self.locs = names, aliases, style, locs
        self.texts: dict[Value, str] = names if texts is None else texts
        """where to look a single name up"""
        self.indent = ""

    def attr_dict(self, o: Op, keyword: str = "") -> str:
        """Discardable attributes after a blank, or nothing."""
        return f" {keyword}{self.dictionary(o.extra)}" if o.extra else ""

    def dictionary(self, items: dict[str, Attr]) -> str:
        """`{a = 1}`, with aliases for debug information."""
        self.aliases.add_inside([value for _, value in sorted(items.items())])
        return dict_text(items, self.aliases.names)

    def head(self, o: Op) -> str:
        """What stands left of the operation's name."""
        head = self.names.heads.get(o)
        if head is None:
            head = self.names.join(o.results)
        return head + " = " if head else ""

    def arguments(self, block: Block) -> str:
        """`(%a: tile<f32>, %b: tile<f32>)`."""
        texts = [self.texts[v] for v in block.args]
        return f"({self.names.pairs(texts, ': ', [v.type.text for v in block.args])})"

    def region(self, o: Op, block: Block | None, *, elide: bool) -> Region:
        """A region whose last op is left out where it is the implicit terminator and says nothing."""
        if not elide or block is None or not block.ops:
            return Region(block)
        last = block.ops[-1]
        return Region(block, last.name == o.opdef.implicit and not last.operands)
