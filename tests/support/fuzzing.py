"""Send one input through the paths of the library. Whatever it is, the only exception allowed is TileError."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from support.broken import mutate_bytes, mutate_text
from support.hostile import recipes
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
"""The kinds of input."""
RECIPES = tuple(recipes.RUN)
"""The kinds of check that make their own input."""
READERS = (None, None, None, "13.1", "13.2", "13.3")
PASSES = ("canonicalize,cse", "canonicalize", "cse,dce", "simplify", "licm", "fuse-fma", "loop-split")
SEEDS = 96
"""The number of modules to mutate. Most are small, so that inputs are fast."""


class Broken(Exception):
    """Raised when two paths that must agree do not."""


@dataclass
class Trace:
    """The paths that an input took; `rng` chooses among the longer ones."""

    rng: random.Random
    steps: Counter[str] = field(default_factory=Counter)
    path: str = ""
    factor: float = 0.0
    """The measurements of a recipe."""

    def go(self, path: str, run: Callable[[], object]) -> object:
        """Return the result of a path, or None if it refused the input with a TileError."""
        self.path = path
        try:
            found = run()
        except TileError as error:
            error.render()
            if not error.message:
                raise Broken("an error without a message") from None
            self.steps[f"{path}: refused"] += 1
            return None
        self.steps[f"{path}: done"] += 1
        return found

    def often(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0


# ---------------------------------------------------------------- inputs


@cache
def modules() -> list[Module]:
    """Return the modules to mutate."""
    sizes = [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 8, 30]
    return [smith(number, size=sizes[number % len(sizes)]) for number in range(SEEDS)]


@cache
def files() -> list[bytes]:
    """Return their bytecode, at every version that can express them."""
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
    """Return their texts in every style."""
    styles = [("disasm", False), ("disasm", True), ("opt", False), ("generic", True)]
    return [show(m, style, locs) for n, m in enumerate(modules()) for style, locs in (styles[0], styles[n % 4])]


def nudge(data: bytes, rng: random.Random) -> bytes:
    """Change one or two bytes after the header to nearby values or other bytes of the file; many results are legal."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(12, len(out))
        out[at] = rng.choice((out[at] ^ 1, (out[at] + 1) & 255, (out[at] - 1) & 255, out[rng.randrange(12, len(out))]))
    return bytes(out)


@dataclass
class Recipe:
    """A check that makes its own input from the random generator."""

    kind: str


def input_of(kind: str, seed: int, number: int) -> tuple[bytes | str | Module | Recipe, random.Random]:
    """Return an input and a random generator; both depend on the three arguments alone."""
    if kind in RECIPES:
        return Recipe(kind), random.Random(f"{kind} {seed} {number}")
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
            continue  # not a valid type
    return smith(seed * 1_000_003 + number, size=rng.choice((1, 3, 8, 20))), rng


# ---------------------------------------------------------------- paths


def exercise(given: bytes | str | Module | Recipe, rng: random.Random) -> Trace:
    """Send an input through the paths."""
    trace = Trace(rng)
    if isinstance(given, Recipe):
        trace.factor = recipes.RUN[given.kind](rng)
        trace.steps[f"{given.kind}: done"] += 1
    elif isinstance(given, bytes):
        _bytes(given, trace)
    elif isinstance(given, str):
        _text(given, trace)
    else:
        _module(given, trace, always=True)
    return trace


def _bytes(data: bytes, trace: Trace) -> None:
    reader = trace.rng.choice(READERS)
    module = trace.go("read", lambda: read(data, reader=reader))
    if trace.often(8):
        found = trace.go("dump", lambda: dump(data))
        if data and found is not None and found.marks[-1].end != len(data):  # type: ignore[attr-defined]  # a Dump
            raise Broken("the dump ends before the data")
    if isinstance(module, Module):
        again = trace.go("write", lambda: write(clone(module)))
        if not isinstance(again, bytes):
            # Readers accept keywords that are newer than the file's version; writers do not.
            if not isinstance(trace.go("write 13.4", lambda: write(clone(module), LATEST)), bytes):
                raise Broken("a module that was read cannot be written")
        elif trace.often(4):
            _same(module, trace.go("read again", lambda: read(again)), "writing and reading")
        _module(module, trace, always=False)


def _text(text: str, trace: Trace) -> None:
    module = trace.go("parse", lambda: parse(text, quick=True))
    if trace.often(8):
        _twins(text, module, trace)
    if isinstance(module, Module):
        _module(module, trace, always=False)


def _twins(text: str, module: object, trace: Trace) -> None:
    """Check that the fast parser and the slow one agree."""
    slow = trace.go("parse slowly", lambda: parse(text, quick=False))
    if isinstance(module, Module) and isinstance(slow, Module):
        _same(module, slow, "the two parsers")
    elif (module is None) is not (slow is None):
        raise Broken("only one of the two parsers accepts the text")


def _same(module: Module, other: object, what: str) -> None:
    if isinstance(other, Module) and show(module, "generic", True) != show(other, "generic", True):
        raise Broken(f"{what}: the module differs")


def _module(module: Module, trace: Trace, *, always: bool) -> None:
    """Check a module in memory, legal or not.

    Bytecode can hold legal names that text cannot, and older readers accept more than newer ones. That a legal module
    survives every path is therefore required only of generated ones (`always`), which take all paths.
    """
    findings = verify(module)
    trace.steps["verify: " + ("refused" if findings else "done")] += 1
    style, locs = trace.rng.choice((("disasm", False), ("disasm", True), ("opt", True), ("generic", True)))
    text = trace.go(f"print {style}", lambda: show(module, style, locs, quick=True))
    if isinstance(text, str) and (always or trace.often(3)):
        if show(module, style, locs, quick=False) != text:
            raise Broken("the two printers do not agree")
        again = trace.go("parse again", lambda: parse(text))
        if not findings and always:
            if not isinstance(again, Module):
                raise Broken("the text of a legal module does not parse")
            plain = "\n" not in (module.producer or "")  # NVIDIA's printer writes it unescaped, in a comment
            if plain and show(again, style, locs) != text:
                raise Broken("printing and parsing changes the text")
    for version in SUPPORTED if always else SUPPORTED[trace.rng.randrange(len(SUPPORTED)) :][:1]:
        data = trace.go(f"write {version}", lambda version=version: write(clone(module), version))  # type: ignore[misc]  # a default
        if isinstance(data, bytes) and (always or trace.often(3)):
            back = trace.go(f"read {version}", lambda data=data: read(data))  # type: ignore[misc]  # a default
            if not isinstance(back, Module) and not findings and always:
                raise Broken("the bytecode of a legal module cannot be read")
            if always:
                trace.go("dump", lambda data=data: dump(data))  # type: ignore[misc]  # a default
    if always or trace.often(4):
        made = trace.go("optimise", lambda: optimize(module, trace.rng.choice(PASSES)))
        if made is None and not findings:
            raise Broken("a pass refuses a legal module, or breaks it")
