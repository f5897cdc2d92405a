"""Random debug information for an entry; every scope belongs to the entry's subprogram."""

from __future__ import annotations

from random import Random

from ..attrs import CallSite, DICompileUnit, DIFile, DILexicalBlock, DILoc, DISubprogram, FileLineCol, Loc, LocalScope


class Debug:
    """The scopes of an entry, and locations in them."""

    def __init__(self, rng: Random, entry: str) -> None:
        self.rng = rng
        self.file = DIFile(rng.choice(("kernel.py", "größe.py", "a b.mlir")), rng.choice(("/src", "", "C:\\src")))
        unit = DICompileUnit(self.file)
        start = rng.randrange(1, 500)
        self.own = DISubprogram(self.file, start, rng.choice(("kernel", entry)), entry, unit, start)
        self.scopes: list[LocalScope] = [self.own]
        for _ in range(rng.randrange(4)):
            around = rng.choice(self.scopes)
            self.scopes.append(DILexicalBlock(around, self.file, rng.randrange(1 << 10), rng.randrange(100)))
        other = DIFile("library.py", "/lib")
        self.callee = DISubprogram(other, 7, "helper", "_Z6helperv", DICompileUnit(other), 8)

    def entry(self) -> Loc:
        """The location of the entry; its scope is the subprogram itself."""
        return DILoc(FileLineCol(self.file.name, self.own.line, 0), self.own)

    def location(self) -> Loc | None:
        """A location for an operation: in a scope, inlined from another function, or unknown."""
        kind = self.rng.random()
        if kind < 0.15:
            return None
        here = self._in(self.rng.choice(self.scopes))
        while kind > 0.8:
            # Only the outermost call site must be in the entry's scopes.
            here = CallSite(self._in(self.rng.choice((self.callee, self.own))), here)
            kind = self.rng.random()
        return here

    def _in(self, scope: LocalScope) -> Loc:
        line = self.rng.randrange(1, 1 << self.rng.choice((5, 10, 31)))
        return DILoc(FileLineCol(self.file.name, line, self.rng.randrange(120)), scope)
