"""Locations of Triton IR as locations of Tile IR."""

from __future__ import annotations

import os
import re

from ..attrs import CallSite, DICompileUnit, DIFile, DISubprogram, Loc, place_in_scope

_FILE = re.compile(r'"([^"]*)":(\d+):(\d+)(?: to .*)?', re.S)
_NAMED = re.compile(r'"[^"]*"\((.*)\)', re.S)
_CALL = re.compile(r"callsite\((.*) at (#\w+|.*)\)", re.S)
_FUSED = re.compile(r"fused(?:<.*>)?\[(.*)\]", re.S)
MAX_DEPTH = 60


class LocationReader:
    """Turns the text of locations into locations; equal texts share one."""

    def __init__(self, named: dict[str, str], kernel: str) -> None:
        self.named, self.kernel = named, kernel
        self.known: dict[str, Loc | None] = {}
        self.scopes: dict[str, DISubprogram] = {}

    def of(self, text: str | None, depth: int = 0) -> Loc | None:
        """Return the location that a text describes; None if it is unknown or too deep."""
        if text is None or text == "unknown" or depth > MAX_DEPTH:
            return None
        if text not in self.known:
            self.known[text] = self.parse(text, depth + 1)
        return self.known[text]

    def parse(self, text: str, depth: int) -> Loc | None:
        if text.startswith("#"):
            return self.of(self.named.get(text), depth)
        if m := _FILE.fullmatch(text):
            # Columns of Python files count from zero in Tile IR.
            return place_in_scope(self.scope(m[1]), m[1], int(m[2]), max(int(m[3]) - 1, 0))
        if m := _NAMED.fullmatch(text):
            return self.of(m[1], depth)
        if m := _CALL.fullmatch(text):
            callee, caller = self.of(m[1], depth), self.of(m[2], depth)
            return caller if callee is None else callee if caller is None else CallSite(callee, caller)
        if m := _FUSED.fullmatch(text):
            return self.of(m[1].split(", ")[0], depth)
        return None

    def scope(self, path: str) -> DISubprogram:
        if path not in self.scopes:
            folder, name = os.path.split(path)
            file = DIFile(name, folder)
            self.scopes[path] = DISubprogram(file, 1, self.kernel, self.kernel, DICompileUnit(file), 1)
        return self.scopes[path]
