"""The inside of `fuzz.py --guided`: atheris chooses inputs by what code they reach, and ends the process."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

with atheris.instrument_imports(include=["tilery"]):
    from support import fuzzing

KIND = sys.argv[1]


def one(data: bytes) -> None:
    """Anything but TileError ends the process, which is how atheris learns of it."""
    fuzzing.exercise(data if KIND == "bytes" else data.decode("utf-8", "surrogateescape"), random.Random(len(data)))


atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
atheris.Fuzz()
