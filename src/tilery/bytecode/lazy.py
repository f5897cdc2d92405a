"""Read a file function by function: one that cannot be read does not hide the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..diag import TileError
from ..ir import Block
from ..ops import Entry, Global, Module
from ..types import Function
from ..version import Version
from .profile import find_profile
from .reader import FileReader, FunctionRow, settle
from .wire import enclosing


class LazyModule(Mapping[str, Entry]):
    """The functions of a file by name. Each is decoded when it is first asked for.

    Iterating and `signature` decode no body. Asking for a function that cannot be read raises its TileError, every
    time. `module()` decodes the rest. If it `guesses`, a file of a newer version is read as one of the latest, and
    `too_new` is the error that it is not.
    """

    def __init__(self, data: bytes, *, file: str = "", reader: str | None = None, guesses: bool = False) -> None:
        self.file = file
        self._reader = FileReader(data, find_profile(reader), None, guesses=guesses)
        self._known: dict[str, Entry | TileError] = {}
        try:
            self.producer, ops, functions = self._reader.outside()
            self._rows = {self._reader.function_name(row): row for row in functions}
        except TileError as error:
            raise settle(error, file) from None
        self.too_new = self._reader.too_new and settle(self._reader.too_new, file)
        self.globals = [o for o in ops if isinstance(o, Global)]

    @property
    def version(self) -> Version:
        return self._reader.version

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._known:
            self._known[name] = self._decoded(self._rows[name])
        found = self._known[name]
        if isinstance(found, TileError):
            raise found
        return found

    def _decoded(self, row: FunctionRow) -> Entry | TileError:
        try:
            with enclosing("failed to create function from bytecode"):
                return self._reader.entry(row)
        except TileError as error:
            return settle(error, self.file)

    def signature(self, name: str) -> Function:
        """Return the type of a function, without its body."""
        return self._reader.signature(self._rows[name], name)

    def module(self) -> tuple[Module, dict[str, TileError]]:
        """Return a module of all functions that can be read, and the errors of the others."""
        entries: list[Entry] = []
        errors: dict[str, TileError] = {}
        for name in self._rows:
            try:
                entries.append(self[name])
            except TileError as error:
                errors[name] = error
        body = Block([], [*self.globals, *entries])
        return Module(producer=self.producer, body=body, version=self.version), errors
