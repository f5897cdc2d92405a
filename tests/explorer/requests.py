"""Requests that every transport must answer in the same way."""

from __future__ import annotations

from typing import Any

from tilery.explorer import Explorer

BROKEN = "entry @k() {\n  %0 = iotta : tile<8xi32>\n  %1 = iota : tile<8xi32>\n  return\n}\n"
WIDE = "entry @k() {\n  // \U0001f600 \U0001f600\n  %0 = iota : tile<8xi32>\n  return\n}\n"


def example(name: str) -> str:
    """Return the text of an example."""
    text: str = Explorer().answer({"do": "open", "example": name})["text"]
    return text


def requests() -> list[dict[str, Any]]:
    """Return requests of every kind that executes nothing."""
    made: list[dict[str, Any]] = [{"do": "hello"}, {"do": "open", "example": "add"}, {"do": "analyse", "text": BROKEN}]
    for name in ("add", "faulty", "product", "sum"):
        text = example(name)
        made += [
            {"do": "analyse", "text": text},
            {"do": "hover", "text": text, "at": text.index("constant")},
            {"do": "complete", "text": text, "at": text.index("constant") + 3},
            {"do": "format", "text": text},
            {"do": "bytes", "text": text},
            {"do": "bytes", "text": text, "version": "13.3"},
            {"do": "pipeline", "text": text, "passes": "canonicalize,cse,licm"},
            {"do": "graph", "text": text, "function": 1},
            {"do": "cost", "text": text, "gpu": "H200", "grid": [4]},
            {"do": "form", "text": text},
        ]
    made += [{"do": "analyse", "text": WIDE}, {"do": "bytes", "text": BROKEN}, {"do": "nonsense"}, {"do": "hover"}]
    return [{**request, "id": number} for number, request in enumerate(made)]
