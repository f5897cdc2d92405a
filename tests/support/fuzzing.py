"""An input through the paths of the library: whatever it is, nothing but TileError may come back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from support.broken import mutate_bytes, mutate_text
from support.mutation import mutate
from tilery import TileError
from tilery.api import optimize
from tilery.bytecode.dump import dump
from tilery.bytecode.reader import read
from tilery.bytecode.writer import write
from tilery.ir import clone
from tilery.ops import Module
from tilery.smith import smith
from tilery.text.parse.parser import parse
from tilery.text.print.printer import show
from tilery.verifier.verify import verify
from tilery.version import LATEST, SUPPORTED

KINDS = ("bytes", "texts", "smith")
READERS = (None, None, None, "13.1", "13.2", "13.3")
PASSES = ("canonicalize,cse", "canonicalize", "cse,dce", "simplify", "licm", "fuse-fma", "loop-split")
SEEDS = 96
"""How many modules mutants are made from: most are small, so that inputs are quick."""


class Broken(Exception):
    """Two paths that must agree do not."""


@dataclass
class Trip:
    """Where an input went; `rng` decides which of the longer paths it takes."""

    rng: random.Random
    steps: Counter[str] = field(default_factory=Counter)
    path: str = ""

    def go(self, path: str, run: Callable[[], object]) -> object:
        """The result of a path, None where it refuses the input as it should."""
        self.path = path
        try:
            found = run()
        except TileError as error:
            error.render()
            if not error.message:
                raise Broken("an error without words") from None
            self.steps[f"{path}: refused"] += 1
            return None
        self.steps[f"{path}: done"] += 1
        return found

    def often(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0


# ---------------------------------------------------------------- inputs


@cache
def modules() -> list[Module]:
    """The modules that mutants are made from."""
    sizes = [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 8, 30]
    return [smith(number, size=sizes[number % len(sizes)]) for number in range(SEEDS)]


@cache
def files() -> list[bytes]:
    """Their bytecode, at every version that can hold them."""
    out: list[bytes] = []
    for module in modules():
        for version in SUPPORTED:
            try:
                out.append(write(module, version))
            except TileError:
                continue
    return out


@cache
def texts() -> list[str]:
    """Their texts in every style."""
    styles = [("disasm", False), ("disasm", True), ("opt", False), ("generic", True)]
    return [show(m, style, locs) for n, m in enumerate(modules()) for style, locs in (styles[0], styles[n % 4])]


def nudge(data: bytes, rng: random.Random) -> bytes:
    """One or two bytes behind the header become others of the file or their neighbours: much of that is accepted."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(12, len(out))
        out[at] = rng.choice((out[at] ^ 1, (out[at] + 1) & 255, (out[at] - 1) & 255, out[rng.randrange(12, len(out))]))
    return bytes(out)


def input_of(kind: str, seed: int, number: int) -> tuple[bytes | str | Module, random.Random]:
    """An input, and the generator that goes on with it: both follow from the three."""
    rng = random.Random((seed << 40) + (number << 2) + KINDS.index(kind))
    if kind == "bytes":
        change = nudge if number % 2 else mutate_bytes
        return change(rng.choice(files()), rng), rng
    if kind == "texts":
        return mutate_text(rng.choice(texts()), rng), rng
    while number % 2:
        try:
            return mutate(rng.choice(modules()), rng), rng
        except TileError:
            continue  # a type that cannot be
    return smith(seed * 1_000_003 + number, size=rng.choice((1, 3, 8, 20))), rng


# ---------------------------------------------------------------- paths


def exercise(given: bytes | str | Module, rng: random.Random) -> Trip:
    """Take an input through the paths."""
    trip = Trip(rng)
    if isinstance(given, bytes):
        _bytes(given, trip)
    elif isinstance(given, str):
        _text(given, trip)
    else:
        _module(given, trip, always=True)
    return trip


def _bytes(data: bytes, trip: Trip) -> None:
    reader = trip.rng.choice(READERS)
    module = trip.go("read", lambda: read(data, reader=reader))
    if trip.often(8):
        found = trip.go("dump", lambda: dump(data))
        if data and found is not None and found.marks[-1].end != len(data):  # type: ignore[attr-defined]  # a Dump
            raise Broken("the dump ends before the data")
    if isinstance(module, Module):
        again = trip.go("write", lambda: write(clone(module)))
        if not isinstance(again, bytes):
            # Readers take keywords that are newer than the file's version, writers do not.
            if not isinstance(trip.go("write 13.4", lambda: write(clone(module), LATEST)), bytes):
                raise Broken("what was read cannot be written")
        elif trip.often(4):
            _same(module, trip.go("read again", lambda: read(again)), "writing and reading")
        _module(module, trip, always=False)


def _text(text: str, trip: Trip) -> None:
    module = trip.go("parse", lambda: parse(text))
    if trip.often(8):
        _twins(text, module, trip)
    if isinstance(module, Module):
        _module(module, trip, always=False)


def _twins(text: str, module: object, trip: Trip) -> None:
    """The fast parser and the slow one agree."""
    slow = trip.go("parse slowly", lambda: parse(text, quick=False))
    if isinstance(module, Module) and isinstance(slow, Module):
        _same(module, slow, "the two parsers")
    elif (module is None) is not (slow is None):
        raise Broken("only one of the two parsers takes the text")


def _same(module: Module, other: object, what: str) -> None:
    if isinstance(other, Module) and show(module, "generic", True) != show(other, "generic", True):
        raise Broken(f"{what} does not keep the module")


def _module(module: Module, trip: Trip, *, always: bool) -> None:
    """A module in memory, legal or not.

    Bytecode can hold legal names that no text can, and older readers take more than newer ones: that a legal module
    survives every path is said of made ones, which always take all of them.
    """
    findings = verify(module)
    trip.steps["verify: " + ("refused" if findings else "done")] += 1
    style, locs = trip.rng.choice((("disasm", False), ("disasm", True), ("opt", True), ("generic", True)))
    text = trip.go(f"print {style}", lambda: show(module, style, locs))
    if isinstance(text, str) and (always or trip.often(3)):
        if show(module, style, locs, quick=False) != text:
            raise Broken("the two printers do not agree")
        again = trip.go("parse again", lambda: parse(text))
        if not findings and always:
            if not isinstance(again, Module):
                raise Broken("the text of a legal module does not parse")
            plain = "\n" not in (module.producer or "")  # NVIDIA's printer shows it as it is, in a comment
            if plain and show(again, style, locs) != text:
                raise Broken("printing and parsing does not keep the text")
    for version in SUPPORTED if always else SUPPORTED[trip.rng.randrange(len(SUPPORTED)) :][:1]:
        data = trip.go(f"write {version}", lambda version=version: write(clone(module), version))  # type: ignore[misc]  # a default
        if isinstance(data, bytes) and (always or trip.often(3)):
            back = trip.go(f"read {version}", lambda data=data: read(data))  # type: ignore[misc]  # a default
            if not isinstance(back, Module) and not findings and always:
                raise Broken("the bytecode of a legal module cannot be read")
            if always:
                trip.go("dump", lambda data=data: dump(data))  # type: ignore[misc]  # a default
    if always or trip.often(4):
        made = trip.go("optimise", lambda: optimize(module, trip.rng.choice(PASSES)))
        if made is None and not findings:
            raise Broken("a pass refuses a legal module, or breaks it")
