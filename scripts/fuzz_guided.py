"""The process that `fuzz.py --guided` starts: atheris chooses inputs by coverage."""

from __future__ import annotations

import random
import sys

import atheris

import checkout  # noqa: F401  # makes `support` importable

with atheris.instrument_imports(include=["tilery"]):
    from support import fuzzing

KIND = sys.argv[1]


def one(data: bytes) -> None:
    """Process one input. Any exception but TileError ends the process, which atheris reports."""
    fuzzing.exercise(data if KIND == "bytes" else data.decode("utf-8", "surrogateescape"), random.Random(len(data)))


atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
atheris.Fuzz()
