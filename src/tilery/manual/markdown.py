"""Pieces of Markdown that the pages of the manual are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc


def slug(title: str) -> str:
    return title.lower().replace(" ", "-")


def cell(text: object) -> str:
    return str(text).replace("|", "\\|")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    columns = list(head)
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(map(cell, row)) + " |"
    yield ""


def code(text: str, language: str = "") -> Iterator[str]:
    yield from (f"```{language}", text, "```", "")


def paragraph(cls: type) -> str:
    """Return the docstring of a class without its doctests."""
    return cleandoc(cls.__doc__ or "").split(">>>")[0].strip()
