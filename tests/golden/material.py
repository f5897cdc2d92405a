"""The inputs, which are stored so that a change of a generator does not change them, and how they are broken."""

from __future__ import annotations

import json
import lzma
import random
import re
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

from support.broken import mutate_bytes, mutate_text
from support.mutation import mutate
from tilery.bytecode.reader import read
from tilery.diag import TileError
from tilery.ir import UnknownOp, walk
from tilery.ops import Module
from tilery.text.parse.parser import parse

FILE = Path(__file__).parent / "material.json.xz"


@cache
def stored() -> dict[str, Any]:
    """Return everything that is stored: `files` and `texts`, `passes` with their pipelines, and `launches`."""
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


@cache
def files() -> list[bytes]:
    """Return bytecode of every version, most of it legal."""
    return [b64decode(text) for text in stored()["files"]]


def texts() -> list[str]:
    """Return texts, legal and not, of modules and of parts of them."""
    found: list[str] = stored()["texts"]
    return found


@cache
def modules() -> list[Module]:
    """Return the modules of all inputs that can be read; callers must not change them."""
    found: list[Module] = []
    for data in files():
        try:
            found.append(read(data))
        except TileError:
            continue
    return found


@cache
def parsed() -> list[Module]:
    """Return the modules of all texts that can be read; callers must not change them."""
    found: list[Module] = []
    for text in texts():
        try:
            found.append(parse(text, quick=False, allow_unregistered=True))
        except TileError:
            continue
    return found


@cache
def changeable() -> list[Module]:
    """Return the modules that `mutate` can change."""
    every = [m for m in [*modules(), *parsed()] if m.entries]
    return [m for m in every if not any(isinstance(o, UnknownOp) for o in walk(m))]


def changed(rng: random.Random) -> Module | None:
    """Return a module with a change or two, which may break it; None if the change was to no valid type."""
    try:
        return mutate(rng.choice(changeable()), rng)
    except (TileError, IndexError):
        return None


def rng_of(*key: object) -> random.Random:
    return random.Random(" ".join(map(str, key)))


def nudge(data: bytes, rng: random.Random) -> bytes:
    """Change one or two bytes after the header to nearby values or other bytes of the file; many results are legal."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(8, len(out))
        out[at] = rng.choice((out[at] ^ 1, (out[at] + 1) & 255, (out[at] - 1) & 255, out[rng.randrange(8, len(out))]))
    return bytes(out)


def broken_file(data: bytes, rng: random.Random) -> bytes:
    """Change a few bytes, after the header or anywhere."""
    return nudge(data, rng) if rng.random() < 0.7 and len(data) > 16 else mutate_bytes(data, rng)


_TOKEN = re.compile(r"\"[^\"\n]*\"|[%@#^!]?[\w$.]+|->|[^\s\w]")


def broken_text(text: str, rng: random.Random) -> str:
    """Delete, double, swap or replace words; now and then change anything."""
    if rng.random() < 0.3:
        return mutate_text(text, rng)
    for _ in range(rng.choice((1, 1, 2))):
        tokens = list(_TOKEN.finditer(text))
        if len(tokens) < 3:
            return mutate_text(text, rng)
        one, other = rng.choice(tokens), rng.choice(tokens)
        word = one[0]
        match rng.randrange(6):
            case 0:
                word = ""
            case 1:
                word = f"{word} {word}"
            case 2 if word.isdecimal():
                word = str(
                    rng.choice((0, 1, int(word) + 1, int(word) * 2, 1 << 24, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 64))
                )
            case 3:
                word = rng.choice(
                    (f"-{word}", f"{word} :", f"({word})", f"{word},", f"\n{word}", f"{word}\n", f"{word} // x\n")
                )
            case _:
                word = other[0]
        text = text[: one.start()] + word + text[one.end() :]
    return text
