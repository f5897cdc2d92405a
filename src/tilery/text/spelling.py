"""Spellings that documents use and the tools do not accept, and the real ones."""

from __future__ import annotations

import re

from ..attrs import ComparisonOrdering, ComparisonPredicate, MemoryOrderingSemantics, MemoryScope
from ..diag import TileError

ORDERINGS = {m.text for m in MemoryOrderingSemantics} | {"seq_cst"}
SCOPES = {"gpu": MemoryScope.DEVICE}
"""Scopes under other names."""

COMPARISONS = {
    f"{letter}{short}": (predicate, ordering)
    for letter, ordering in (("o", ComparisonOrdering.ORDERED), ("u", ComparisonOrdering.UNORDERED))
    for short, predicate in zip(("eq", "ne", "lt", "le", "gt", "ge"), ComparisonPredicate)
}
"""Comparisons of floats in one word: `olt` means `less_than ordered`."""

ANSWERS = {
    "seq_cst": "there is no ordering 'seq_cst': 'acq_rel' is the strongest, and tokens order accesses among themselves",
    "gpu": "the scope of the whole GPU is called 'device'",
    "cluster": "there is no scope 'cluster': the scopes are 'tl_blk', 'device' and 'sys'",
    "addu": "there is no mode 'addu': 'add' is the same for signed and unsigned integers",
    "cmpxchg": "there is no mode 'cmpxchg': compare and exchange is an operation of its own, 'atomic_cas_tko'",
    **{
        word: f"'{word}' is written '{predicate.text} {ordering.text}', without a comma"
        for word, (predicate, ordering) in COMPARISONS.items()
    },
}
"""The note for each word that the tools do not accept."""

CUTE = "#cute."
_WORD = re.compile(r"[ \t]*([A-Za-z_]+)")  # MLIR puts some errors at the end of the word before
CUTE_ANSWER = "cuTe layouts are read on request: --input documented, or tilery.documented.parse"


POINTEE = "a pointer names what it points to, as in tile<ptr<i32>>"
_BARE_POINTER = re.compile(r"ptr\s*>")


def explain(error: TileError) -> TileError:
    """Add a note with the real spelling, if the word at the error is one that documents use."""
    if error.source is None:
        return error
    found = _WORD.match(error.source, error.start)
    line = error.source[error.source.rfind("\n", 0, error.start) + 1 : max(error.start, error.end)]
    note = ANSWERS.get(found[1]) if found else None
    if note is None and CUTE in line:
        note = CUTE_ANSWER
    elif note is None and _BARE_POINTER.match(error.source, max(error.source.rfind("ptr", 0, error.end), 0)):
        note = POINTEE
    if note is not None and note not in error.notes:
        error.notes.append(note)
    return error
