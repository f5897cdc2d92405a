"""Texts with several planted faults, and the errors that a person finds who fixes them one after the other."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tilery.declare.operation import BY_NAME
from tilery.diag import TileError
from tilery.source.input import Input
from tilery.text.parse.parser import parse_with_spans
from tilery.verifier.explain import explain
from tilery.verifier.verify import verify

Place = tuple[int, str]
"""The line of an error, and its message."""

_WORD = re.compile(r"(?<![%@#!\w$.])[a-z][a-z_]{2,}(?![\w$.<(])")
_USE = re.compile(r"(?<=[ (\[])%[\w$.-]+(?=[,)\] ])(?! =)")
_TYPE = re.compile(r"tile<[^<>]*>")


def _pick(pattern: re.Pattern[str], line: str, rng: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(line))
    return rng.choice(found) if found else None


def _replace(line: str, found: re.Match[str] | None, text: str) -> str | None:
    return None if found is None else line[: found.start()] + text + line[found.end() :]


def misspell(line: str, rng: random.Random) -> str | None:
    """Swap or drop letters of a word: an operation's name or a keyword."""
    found = _pick(_WORD, line, rng)
    if found is None:
        return None
    word = found[0]
    at = rng.randrange(len(word) - 1)
    changed = word[:at] + word[at + 1] + word[at] + word[at + 2 :] if rng.random() < 0.5 else word[:at] + word[at + 1 :]
    return None if changed in BY_NAME else _replace(line, found, changed)


def drop_mark(line: str, rng: random.Random) -> str | None:
    """Delete a comma, a bracket, a colon or an equals sign."""
    return _replace(line, _pick(re.compile(r"[,:=()\[\]<>]"), line, rng), "")


def undefined(line: str, rng: random.Random) -> str | None:
    """Use a value that nothing defines."""
    found = _pick(_USE, line, rng)
    return _replace(line, found, f"{found[0]}_typo") if found else None


def wrong_type(line: str, rng: random.Random) -> str | None:
    """Write another type, or one that does not exist."""
    return _replace(line, _pick(_TYPE, line, rng), rng.choice(("tile<3xf32>", "tile<f33>", "tile<16xi8>", "tyle<f32>")))


def stray(line: str, rng: random.Random) -> str | None:
    """Insert a character or a word that belongs nowhere."""
    blanks = list(re.finditer(" ", line.strip()))
    if not blanks:
        return None
    at = rng.choice(blanks).start() + len(line) - len(line.lstrip())
    return line[:at] + rng.choice((" $", " ,", " foo", " )", ' "')) + line[at:]


def drop_line(line: str, rng: random.Random) -> str | None:
    """Delete a statement that defines a value."""
    return "" if "=" in line and "{" not in line else None


def brace(line: str, rng: random.Random) -> str | None:
    """Delete a brace, or write one too many."""
    if not line.strip():
        return "  }"
    if line.strip() == "}" or line.endswith(" {"):
        return line[:-1].rstrip()
    return None


FAULTS: tuple[Callable[[str, random.Random], str | None], ...] = (
    misspell, misspell, drop_mark, drop_mark, undefined, wrong_type, stray, drop_line, brace,
)  # fmt: skip


def plant(lines: list[str], rng: random.Random) -> dict[int, str]:
    """Return two to five faults: the lines to replace, by their number."""
    faults: dict[int, str] = {}
    wanted = rng.randrange(2, 6)
    for _ in range(200):
        if len(faults) == wanted:
            break
        at = rng.randrange(len(lines))
        if lines[at].startswith("#") or at in faults:
            continue
        changed = rng.choice(FAULTS)(lines[at], rng)
        if changed is not None and changed != lines[at]:
            faults[at] = changed
    return faults


def with_faults(lines: list[str], faults: dict[int, str]) -> str:
    return "\n".join(faults.get(at, line) for at, line in enumerate(lines)) + "\n"


def first_error(text: str) -> TileError | None:
    """The one error that the parser, or else the verifier, reports first."""
    source = Input(text=text, parse=parse_with_spans)
    try:
        module = source.read()
    except TileError as error:
        return error
    for finding in verify(module, max_errors=1):
        return explain(finding, source)
    return None


def place(error: TileError) -> Place:
    return error.line or 0, error.message


def one_by_one(lines: list[str], faults: dict[int, str]) -> list[tuple[Place, int]]:
    """Fix faults in the order in which errors name them. Return the errors, each with the line of its fault."""
    left = dict(faults)
    found: list[tuple[Place, int]] = []
    while left and (error := first_error(with_faults(lines, left))) is not None:
        cause = _cause(lines, left, place(error))
        found.append((place(error), cause + 1))
        del left[cause]
    return found


def _cause(lines: list[str], left: dict[int, str], shown: Place) -> int:
    """The fault without which the first error is another one; the nearest to the error if there are several."""
    near = sorted(left, key=lambda at: abs(at + 1 - shown[0]))
    for at in near:
        error = first_error(with_faults(lines, {k: v for k, v in left.items() if k != at}))
        if error is None or place(error) != shown:
            return at
    return near[0]
