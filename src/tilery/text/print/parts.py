"""The parts of an operation's text, and the context that the functions printing it share."""

from __future__ import annotations

from ...attrs import Attr
from ...ir import Block, Op, Value
from .aliases import Aliases
from .attributes import dict_text
from .names import ValueNames


class RegionText:
    """A region inside an operation's text.

    `header` is the label of its block. `prefix` precedes the names of the operations inside. If `elided`, the last one
    is not printed.
    """

    __slots__ = ("block", "elided", "header", "prefix")

    def __init__(self, block: Block | None, elided: bool = False, header: str = "", prefix: str = "") -> None:
        self.block, self.elided, self.header, self.prefix = block, elided, header, prefix


Part = str | RegionText


class PrintContext:
    """The context of the functions that print operations: the names of values, the indentation, and aliases."""

    def __init__(self, names: ValueNames, aliases: Aliases, locs: bool, texts: dict[Value, str] | None = None) -> None:
        self.names, self.aliases, self.locs = names, aliases, locs
        self.texts: dict[Value, str] = names if texts is None else texts
        """where to look up a single name"""
        self.indent = ""

    def attr_dict(self, o: Op, keyword: str = "") -> str:
        """Return the discardable attributes after a blank, or an empty string."""
        return f" {keyword}{self.dictionary(o.extra)}" if o.extra else ""

    def dictionary(self, items: dict[str, Attr]) -> str:
        """Return `{a = 1}`, with aliases for debug information."""
        self.aliases.add_inside([value for _, value in sorted(items.items())])
        return dict_text(items, self.aliases.names)

    def head(self, o: Op) -> str:
        """Return the results and the equals sign before an operation's name."""
        head = self.names.heads.get(o)
        if head is None:
            head = self.names.join(o.results)
        return head + " = " if head else ""

    def arguments(self, block: Block) -> str:
        """Return `(%a: tile<f32>, %b: tile<f32>)`."""
        texts = [self.texts[v] for v in block.args]
        return f"({self.names.pairs(texts, ': ', [v.type.text for v in block.args])})"

    def region(self, o: Op, block: Block | None, *, elide: bool) -> RegionText:
        """Make a region. `elide` leaves out its last operation if that is the implicit terminator without operands."""
        if not elide or block is None or not block.ops:
            return RegionText(block)
        last = block.ops[-1]
        return RegionText(block, last.name == o.opdef.implicit and not last.operands)
