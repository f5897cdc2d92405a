"""The table of digests: groups of rows, each row the digest of a text that describes what one input leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

TABLE = Path(__file__).parent / "digests.txt"
SIZE = 6
"""The characters of a digest."""
OPEN = "-" * SIZE
"""Stands for the digest of a row that is not the same on every machine: only its own checks count."""
WIDTH = 20
"""Digests in a line of the table."""
Rows = Callable[[], Iterable[str]]
GROUPS: dict[str, Rows] = {}
"""Every group: its name, and a function that yields its rows."""


def group(name: str, parts: int = 1) -> Callable[[Callable[..., Iterable[str]]], Callable[..., Iterable[str]]]:
    """Declare a group of rows, or with `parts` several: the function then takes the number of a part."""

    def declare(rows: Callable[..., Iterable[str]]) -> Callable[..., Iterable[str]]:
        if parts == 1:
            GROUPS[name] = rows
        else:
            for part in range(parts):
                GROUPS[f"{name}/{part}"] = lambda part=part: rows(part)  # type: ignore[misc]  # a default binds
        return rows

    return declare


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE // 2).hexdigest()


def load() -> dict[str, list[str]]:
    """Return the digests of each group."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in TABLE.read_text("utf-8").splitlines() if TABLE.exists() else ():
        if line.startswith(" "):
            found[name] += [line[at : at + SIZE] for at in range(1, len(line), SIZE)]
        else:
            name = line
            found[name] = []
    return found


def save(table: dict[str, list[str]]) -> None:
    lines: list[str] = []
    for name in sorted(table):
        lines.append(name)
        lines += [" " + "".join(table[name][at : at + WIDTH]) for at in range(0, len(table[name]), WIDTH)]
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


def differing(name: str, known: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each row whose digest is another one; missing rows have no text."""
    number = -1
    for number, text in enumerate(GROUPS[name]()):
        if number >= len(known) or known[number] not in (digest(text), OPEN):
            yield number, text
    if number + 1 < len(known):
        yield number + 1, ""
