"""Hostile documents and fields: every request answers them with JSON, and nothing in it is a file of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tilery.explorer import Explorer

HOSTILE: dict[str, Any] = json.loads(Path(__file__).with_name("hostile.json").read_text("utf-8"))
VIEWS = ("analyse", "bytes", "pipeline", "cost", "form", "format")


@pytest.mark.parametrize("case", HOSTILE["documents"], ids=lambda case: case["name"])
def test_documents(case: dict[str, str]) -> None:
    explorer = Explorer()
    answers = [explorer.answer({"do": what, "text": case["text"]}) for what in VIEWS]
    answers += [
        explorer.answer({"do": what, "text": case["text"], "at": at})
        for what in ("hover", "complete")
        for at in (0, 9, 10**6)
    ]
    answers.append(explorer.answer({"do": "graph", "text": case["text"], "function": 1}))
    said = json.dumps(answers, allow_nan=False)
    assert "root:x:" not in said and "Traceback" not in said
    for each in answers:
        assert each["ok"] or each["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "analyse", "text": 1},
        {"do": "analyse"},
        {"do": "analyse", "text": "x" * (17 << 20)},
        {"do": "hover", "text": "", "at": -1},
        {"do": "hover", "text": "", "at": 1.5},
        {"do": "hover", "text": "", "at": True},
        {"do": "hover", "text": "", "at": 10**30},
        {"do": "bytes", "text": "entry @k() { return }", "version": "99.1"},
        {"do": "bytes", "text": "", "version": "x" * 50},
        {"do": "pipeline", "text": "entry @k() { return }", "passes": "no-such-pass"},
        {"do": "pipeline", "text": "entry @k() { return }", "passes": "((((" * 100},
        {"do": "pipeline", "text": "entry @k() { return }", "passes": "cse," * 51},
        {"do": "graph", "text": "entry @k() { return }", "function": 10**9},
        {"do": "graph", "text": "entry @k() { return }", "function": 2},
        {"do": "cost", "text": "entry @k() { return }", "gpu": "<b>"},
        {"do": "cost", "text": "entry @k() { return }", "grid": []},
        {"do": "cost", "text": "entry @k() { return }", "grid": [0]},
        {"do": "cost", "text": "entry @k() { return }", "grid": [10**9]},
        {"do": "open", "file": 0},
        {"do": "open", "file": -1},
        {"do": "open", "example": "../protocol"},
        {"do": "open", "example": "/etc/passwd"},
        {"do": "load", "bytecode": "%%%"},
        {"do": "load", "bytecode": "f1RpbGVJUgA="},
        {"do": "load", "bytecode": "AAAA"},
        {"do": "kernels", "language": "x", "source": ""},
        {"do": "kernels", "language": "cutile", "source": "(" * 100000},
        {"do": "__init__"},
        {"do": "_job"},
        {"do": "answer"},
        {"do": ""},
        {"do": "export", "text": 1},
        {"do": "export", "text": "", "grid": "x"},
    ],
    ids=lambda fields: str(fields)[:80],
)
def test_fields(fields: dict[str, Any]) -> None:
    made = Explorer().answer(fields)
    json.dumps(made, allow_nan=False)
    assert made["ok"] == (fields["do"] == "kernels" and fields["language"] == "cutile")
    if not made["ok"]:
        assert made["error"]["message"] and "root:x:" not in str(made)


def test_origins_that_are_unknown_are_ignored() -> None:
    text = "entry @k() { return }"
    found = Explorer().answer({"do": "analyse", "text": text, "origin": "0" * 64})
    assert found == Explorer().answer({"do": "analyse", "text": text})
