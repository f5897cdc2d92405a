"""Compare tilery with NVIDIA's disassembler on a file that another writer made."""

from __future__ import annotations

import tilery
from support.oracle import disassemble
from tilery import TileError

SAME = "legal: same text, with and without locations, and the same bytes written back"
REFUSED = "refused by both, in the same words"


def verdict(data: bytes) -> str:
    """Return `SAME`, `REFUSED`, or how the two differ."""
    judged = disassemble(data)
    try:
        module = tilery.load(data)
    except TileError as error:
        if judged.returncode == 0:
            return f"only tilery refuses it: {error.message}"
        return REFUSED if error.message in judged.stderr else f"refused in other words: {error.message}"
    if judged.returncode:
        return f"only NVIDIA's reader refuses it: {judged.stderr.splitlines()[0]}"
    if tilery.show(module) != judged.stdout or tilery.show(module, locs=True) != disassemble(data, "-g").stdout:
        return "the texts differ"
    return SAME if tilery.dumps(module) == data else "the bytes written back differ"
