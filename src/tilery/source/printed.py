"""A module as it is printed, to show one operation of it with the field at fault underlined."""

from __future__ import annotations

from ..diag import TileError
from ..ir import Op, UnknownOp, Value
from ..ops import Module
from ..text.print.chosen import chosen_names, parameter_names
from ..text.print.names import ValueNames
from ..text.print.printer import show_with_offsets


class Printed:
    """The text of a module and where each operation starts in it."""

    def __init__(self, module: Module) -> None:
        try:
            chosen = parameter_names(module)
            names = chosen_names(module.body, chosen) if chosen else None
            self.text, self.starts, self.names = show_with_offsets(module, names=names)
        except TileError:  # too long to print
            self.text, self.starts, self.names = "", {}, ValueNames(0)

    def excerpt(self, o: Op, field: str) -> tuple[str, ...]:
        """Return the line of an operation and a line of carets, or nothing if it was not printed."""
        start = self.starts.get(o)
        if start is None:
            return ()
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else None].strip()
        column, width = self._underline(o, field, line)
        return (f"    {line}", "    " + " " * column + "^" * width)

    def _underline(self, o: Op, field: str, line: str) -> tuple[int, int]:
        """Find the field in the line: an operand by its value's name, anything else by the operation's name."""
        for wanted in (*self._spellings(o, field), o.name):
            at = line.find(wanted)
            if at >= 0:
                return at, len(wanted)
        return 0, max(1, len(line))

    def _spellings(self, o: Op, name: str) -> list[str]:
        """List the texts by which a field may appear in the line."""
        if not name or isinstance(o, UnknownOp):
            return []
        texts: list[str] = []
        for f in o.opdef.fields:
            if f.name != name:
                continue
            value = getattr(o, f.attr)
            if isinstance(value, Value) and value in self.names:
                texts.append(self.names[value])
            elif hasattr(value, "text"):
                texts.append(value.text)
            texts.append(name)
        return texts
