"""Texts and the modules in them. The readings of the last texts are kept, so that an edit reads little again."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

from ..attrs import Loc
from ..declare.fastclass import dataclass
from ..declare.gcpause import paused
from ..diag import TileError
from ..ir import Op, walk
from ..lsp.document import TextDocument, part_nodes
from ..ops import Module
from ..source.input import Input
from ..text.lossless.scopes import names_of
from ..text.lossless.tree import walk as walk_nodes
from ..text.print.names import ValueNames
from ..text.print.printer import LIMIT, show_with_offsets
from ..verifier.explain import read_legal
from ..verifier.partial import Problems, check_reading
from ..verifier.verify import Hints
from .units import Units

K = TypeVar("K")
V = TypeVar("V")
KEPT = 8
"""The texts, and the files of bytecode, that are kept."""


@dataclass(frozen=True, slots=True)
class BytecodeOrigin:
    """Bytecode that a text was printed from: it has the locations, which the text lacks."""

    key: str
    data: bytes
    module: Module
    text: str


class Opened:
    """A text, the module in it, and the ids of its operations."""

    def __init__(self, document: TextDocument, origin: BytecodeOrigin | None = None) -> None:
        self.document, self.origin = document, origin
        self.text = document.text
        self.units = Units(self.text)

    @property
    def module(self) -> Module:
        return self.document.reading.module

    @cached_property
    def ops(self) -> list[Op]:
        """The operations by id."""
        return list(walk(self.module))

    @cached_property
    def ids(self) -> dict[Op, int]:
        return {o: number for number, o in enumerate(self.ops)}

    @cached_property
    def problems(self) -> Problems:
        return check_reading(self.document.reading, hints=Hints.WARN, known=self.document.known)

    @cached_property
    def spans(self) -> dict[Op, tuple[int, int]]:
        """The start and end of each operation in the text, with its results and its regions."""
        found: dict[Op, tuple[int, int]] = {}
        with paused:
            for part in self.document.reading.parts:
                spans = part.parsed.tokens.spans
                for node in walk_nodes(part_nodes(part)):
                    if node.op is not None:
                        last = max(node.first, node.end - 1)
                        found[node.op] = (part.start + spans[node.first][0], part.start + spans[last][1])
        return found

    @cached_property
    def names(self) -> ValueNames:
        """The names that values have in the text."""
        found = ValueNames(LIMIT)
        for part in self.document.reading.parts:
            names_of(part.parsed)
            for index, values in part.parsed.defined.items():
                name = part.parsed.tokens.spelled[index]
                found.update({v: f"{name}#{n}" if len(values) > 1 else name for n, v in enumerate(values)})
                if len(values) > 1 and isinstance(values[0].owner, Op):
                    found.heads[values[0].owner] = f"{name}:{len(values)}"
        return found

    @cached_property
    def locations(self) -> list[Loc | None]:
        """The location of each operation by id: its own, or that of its twin in the bytecode."""
        own = [o.loc for o in self.ops]
        if self.origin is None:
            return own
        if self.is_unchanged:
            return [a.loc or b for a, b in zip(walk(self.origin.module), own)]
        from ..analysis.matching import match

        twins = {new: old for old, new in match(self.origin.module, self.module).ops.items()}
        return [loc or (twins[o].loc if o in twins else None) for o, loc in zip(self.ops, own)]

    @property
    def is_unchanged(self) -> bool:
        """Whether the text is the one that was printed from the bytecode."""
        return self.origin is not None and self.origin.text == self.text

    def legal(self) -> Module:
        """Return the module; raise its first error if it has one."""
        if self.problems.errors:
            raise self.problems.errors[0]
        return self.module


class Documents:
    """The texts of the last requests, and the bytecode that texts came from."""

    def __init__(self) -> None:
        self._opened: OrderedDict[tuple[str, str], Opened] = OrderedDict()
        self._origins: OrderedDict[str, BytecodeOrigin] = OrderedDict()

    def open(self, text: str, origin: str = "") -> Opened:
        """Return the reading of a text; `origin` is the key of the bytecode it came from, if any."""
        key = (text, origin)
        found = self._opened.pop(key, None)
        if found is None:
            previous = next((o.document for o in reversed(self._opened.values())), None)
            found = Opened(TextDocument("kernel", text, previous=previous), self._origins.get(origin))
        _keep(self._opened, key, found)
        return found

    def add(self, data: bytes, file: str = "") -> BytecodeOrigin:
        """Read bytecode and keep it."""
        key = sha256(data).hexdigest()
        found = self._origins.pop(key, None)
        if found is None:
            module = read_legal(Input(data, file=file))
            text = show_with_offsets(module)[0]
            again = TextDocument("kernel", text).reading.module
            if [o.name for o in walk(again)] != [o.name for o in walk(module)]:
                raise TileError("this bytecode has no text that means the same", file=file)
            found = BytecodeOrigin(key, data, module, text)
        _keep(self._origins, key, found)
        return found


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    while len(kept) > KEPT:
        kept.popitem(last=False)
