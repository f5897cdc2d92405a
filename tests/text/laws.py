"""Laws of the lossless reading. Each function checks one text and returns what is wrong with it, or nothing."""

from __future__ import annotations

import random
import re
from functools import lru_cache

from text.faults import first_error, one_by_one, place, plant, with_faults
from tilery.diag import TileError
from tilery.ir import difference
from tilery.ops import Module
from tilery.text.lossless.format import format_text
from tilery.text.lossless.reading import Reading, read
from tilery.text.lossless.tokens import Tokens, comments_in
from tilery.text.parse.parser import parse
from tilery.text.print.printer import show
from tilery.verifier.partial import check_reading
from tilery.verifier.verify import verify

STYLES = ("disasm", "opt", "generic")
BREAKS = (", ", ",", ",\n  ", " , ", ", // inside\n")
LONG = 40_000


@lru_cache(maxsize=1)  # two laws ask about each text
def parsed(text: str) -> Module | TileError:
    """The module that the parser reads, or its error."""
    try:
        return parse(text, quick=False)
    except TileError as error:
        return error


def printed(module: Module, rng: random.Random) -> str:
    """The text of a module in a random style."""
    return show(module, style=rng.choice(STYLES), locs=rng.random() < 0.4)


def untidy(text: str, rng: random.Random) -> str:
    """Add comments, blank lines and line breaks, and change indentation. The meaning stays."""
    out: list[str] = []
    for line in text.split("\n"):
        chance = rng.random()
        if line.startswith("// Producer") or chance > 0.35:
            out.append(line)
        elif chance < 0.1:
            out += [f"// own {rng.randrange(99)}", line]
        elif chance < 0.2:
            out.append(line + "   // trailing")
        elif chance < 0.25:
            out += [line, "", "", ""]
        elif chance < 0.3 and '"' not in line:
            out.append(re.sub(", ", lambda _: rng.choice(BREAKS), line))
        else:
            out.append(" " * rng.randrange(8) + line.strip())
    return "\n".join(out)


def comments(text: str) -> list[str]:
    """All comments of a text, in order."""
    tokens = Tokens(text)
    ends = [0, *(end for _, end in tokens.spans)]
    starts = [*(start for start, _ in tokens.spans), len(text)]
    found = [c for end, start in zip(ends, starts) for c in comments_in(text, end, start)]
    return [text[c.start : c.end].rstrip() for c in found]


def lossless_problem(text: str, reading: Reading | None = None) -> str:
    """Gaps and tokens are the text; a legal text has no errors and the module that the parser reads."""
    tokens = Tokens(text)
    placed = [tokens.span(index) for index in range(len(tokens.spelled))]
    if placed != tokens.spans:
        return "tokens have other places one by one than all together"
    if tokens.joined() != text:
        return "the tokens and the gaps between them are not the text"
    reading = reading or read(text)
    module = parsed(text)
    if isinstance(module, TileError):
        return "" if reading.errors else f"no error was found, but the parser says: {module.message}"
    if verify(module, max_errors=1):
        return ""  # a name that another function defines, which the verifier refuses, is an error here
    if reading.errors:
        return f"the text is legal, but: {reading.errors[0].message}"
    return difference(module, reading.module) or ""


def format_problem(text: str) -> str:
    """Formatting is idempotent, and keeps the meaning and the comments."""
    module = parsed(text)
    if isinstance(module, TileError):
        return ""
    new = format_text(text)
    if format_text(new) != new:
        return "formatting again changes the text"
    if comments(new) != comments(text):
        return "comments differ"
    return difference(module, parse(new, quick=False)) or ""


def broken_problem(text: str) -> str:
    """A broken text is read to its end: its module and the problems of what could be read can be asked for."""
    reading = read(text)
    check_reading(reading)
    if reading.errors and any(not 0 <= e.start <= e.end <= len(text) + 1 for e in reading.errors):
        return "an error is outside of the text"
    show(reading.module)
    return lossless_problem(text, reading)


def planted(module: Module, rng: random.Random) -> tuple[int, int, int, int] | None:
    """Plant faults in the text of a module.

    Return how many errors fixing them one by one finds; how many of these recovery finds with the same message in the
    same line; how many in the same line, or that of the fault; and how many errors it reports in other lines. None if
    the text is too long or is not legal.
    """
    lines: list[str] = []
    for line in show(module).split("\n")[:-1]:
        lines.append(line)
        if rng.random() < 0.1:
            lines.append("")
    if sum(map(len, lines)) > LONG or first_error("\n".join(lines) + "\n") is not None:
        return None
    faults = plant(lines, rng)
    wanted = one_by_one(lines, faults)
    found = [place(error) for error in check_reading(read(with_faults(lines, faults))).errors]
    rows = {row for row, _ in found}
    exact = sum(shown in found for shown, _ in wanted)
    near = sum(shown in found or shown[0] in rows or fault in rows for shown, fault in wanted)
    known = {row for (row, _), fault in wanted for row in (row, fault)}
    return len(wanted), exact, near, sum(row not in known for row, _ in found)
