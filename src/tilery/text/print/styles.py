"""The styles of text: how operations are named and written."""

from __future__ import annotations

from collections.abc import Callable

from ...checking import TYPE_CHECKING
from ...declare.fastclass import dataclass, field
from ...ir import Op, UnknownOp
from .. import DIALECT, OPT
from .lines import Line, generic, make_line

if TYPE_CHECKING:
    from typing import Any


def _mnemonic(cls: type[Op], prefix: str) -> str:
    return prefix + cls.opdef.mnemonic


def _opt_name(cls: type[Op], prefix: str) -> str:
    return prefix + cls.opdef.name_in(OPT)


@dataclass(slots=True, eq=False)
class Style:
    """A style of text. Pass one of your own to `printer.show_styled`."""

    make_line: Callable[[type[Op], str], Line] = make_line
    """makes the function that prints an operation, from its class and the name to print"""
    name_of: Callable[[type[Op], str], str] = _mnemonic
    """returns the name to print, from the class and the prefix, which is empty or the dialect's"""
    bare: bool = False
    """whether a module is printed as its body alone"""
    hints: bool = True
    """whether operations suggest names for their results; otherwise all are numbers"""
    quick: bool = False
    """whether the fast path may print it: it ignores `make_line`"""
    lines: dict[str, dict[type[Op], Line]] = field(default_factory=lambda: {"": {}, DIALECT: {}})
    """the functions made so far, by prefix and class"""
    binds: dict[str, dict[type[Op], Any]] = field(default_factory=lambda: {"": {}, DIALECT: {}})
    """the same for the fast path"""

    def line(self, cls: type[Op], prefix: str) -> Line:
        """Make the function that prints a class of operations, and remember it."""
        made = generic() if issubclass(cls, UnknownOp) else self.make_line(cls, self.name_of(cls, prefix))
        self.lines[prefix][cls] = made
        return made


STYLES: dict[str, Style] = {
    "disasm": Style(bare=True, quick=True),
    "opt": Style(name_of=_opt_name, quick=True),
    "generic": Style(lambda cls, name: generic(), hints=False),
}
"""`disasm` is what tileirdisasm 13.4 prints, `opt` what cuda-tile-opt 13.3 prints, `generic` MLIR's generic form."""
