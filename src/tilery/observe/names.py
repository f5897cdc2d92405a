"""Names of the values and operations of a kernel for people, and lines of their source."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..diag import LineIndex
from ..ir import Op, Value, difference, walk
from ..ops import Entry, Module
from ..source.lines import Place, shown_places
from ..source.names import source_names
from ..text.print.names import name_values
from ..text.print.printer import LIMIT


def value_names(module: Module) -> dict[Value, str]:
    """Return the names of all values: those of the text, else variables of the source, else as they are printed.

    The names of a text start with `%`, as do printed ones. Several values may share the name of a variable.

    >>> import tilery
    >>> module = tilery.parse('''entry @k(%n: tile<i32>) { %twice = addi %n, %n : tile<i32> return }''')
    >>> list(value_names(module).values())
    ['%n', '%twice']
    """
    found: dict[Value, str] = {}
    for entry in module.entries:
        found.update(name_values(entry.body, limit=LIMIT))
    found.update(source_names(module))
    found.update(_text_names(module))
    return found


def _text_names(module: Module) -> dict[Value, str]:
    """Return the names of the text that a module was parsed from; none if it was changed since."""
    source = module.source
    if source is None or source.text is None:
        return {}
    from ..text.lossless.reading import read
    from ..text.lossless.scopes import Names

    reading = read(source.text, file=source.file)
    if reading.errors or difference(module, reading.module) is not None:
        return {}
    named: dict[Value, str] = {}
    for part in reading.parts:
        Names(part.parsed)  # binds the names
        spelled = part.parsed.tokens.spelled
        for index, values in part.parsed.defined.items():
            for number, value in enumerate(values):
                named[value] = spelled[index] if len(values) == 1 else f"{spelled[index]}#{number}"
    pairs = zip(_values(module), _values(reading.module))
    return {value: named[twin] for value, twin in pairs if twin in named}


def _values(module: Module) -> list[Value]:
    found: list[Value] = []
    for o in walk(module):
        found += o.results
        for block in o.blocks:
            found += block.args
    return found


@dataclass(slots=True)
class Source:
    """Where the operations of a module are, in the file that its author wrote."""

    module: Module
    hidden: str = ""
    """A file whose lines are not shown: a call of it is shown instead."""
    names: dict[Value, str] = field(init=False)
    _text: dict[Op, Place] = field(init=False)
    _found: dict[Op, list[Place]] = field(init=False)

    def __post_init__(self) -> None:
        self.names, self._found, self._text = value_names(self.module), {}, {}
        source = self.module.source
        if source is not None and source.text is not None:
            again = source.parsed()
            if difference(self.module, again.module) is None:
                index = LineIndex(source.text)
                file = os.path.abspath(source.file) if source.file and source.file[:1] != "<" else source.file
                for o, twin in zip(walk(self.module), walk(again.module)):
                    if twin in again.spans:
                        self._text[o] = Place(file, *index.place(again.spans[twin][0]))

    def places(self, o: Op) -> list[Place]:
        """Return the place of an operation, then each call around it: in the text, or as its location says."""
        if o in self._text:
            return [self._text[o]]
        found = self._found.get(o)
        if found is None:
            found = self._found[o] = [place for place in shown_places(o.loc) if place.file != self.hidden]
        return found

    def place(self, o: Op) -> Place | None:
        """Return the place of an operation, if it is known."""
        return next(iter(self.places(o)), None)

    def line(self, o: Op) -> str:
        """Return `file:line`, with the last part of the file's name; empty if it is not known."""
        place = self.place(o)
        return "" if place is None else f"{os.path.basename(place.file) or '<text>'}:{place.line}"

    def name(self, value: Value) -> str:
        return self.names.get(value, "?")

    def defines(self, o: Op) -> str:
        """Return the names of an operation's results."""
        return ", ".join(self.name(value) for value in o.results)

    def find(self, name: str, entry: Entry) -> list[Value]:
        """Return the values of a kernel that have a name, in the order of the text; `%` may be left out."""
        wanted = {name, name.removeprefix("%"), f"%{name}"}
        inside = [
            *entry.body.args,
            *(v for o in walk(entry) for v in (*o.results, *(a for b in o.blocks for a in b.args))),
        ]
        return [value for value in dict.fromkeys(inside) if self.names.get(value) in wanted]
