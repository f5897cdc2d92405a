"""Errors of kernels at run time."""

from __future__ import annotations

from ...diag import ErrorKind, Note, NoteKind
from ...ir import Op, Refused
from ...source.lines import innermost


class ExecutionError(Refused):
    """A kernel did something illegal or exceeded a limit: which operation, which tile block, which address."""

    def __init__(
        self,
        o: Op,
        message: str,
        *,
        kind: ErrorKind,
        block: tuple[int, ...] | None = None,
        element: tuple[int, ...] | None = None,
        address: int | None = None,
    ) -> None:
        super().__init__(o, message, kind=kind)
        self.block, self.element, self.address = block, element, address
        self.facts = {"operation": o.name, "block": block, "element": element, "address": address}
        if block is not None:
            at = "" if not element else f", element [{', '.join(map(str, element))}] of the tile"
            self.notes.append(f"in tile block ({', '.join(map(str, block))}){at}")
        if (place := innermost(o.loc)) is not None:
            self.notes.append(Note(f"from {place}", kind=NoteKind.ORIGIN))
