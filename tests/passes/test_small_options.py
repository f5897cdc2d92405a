"""Values of options."""

from __future__ import annotations

import pytest

from tilery import TileError
from tilery.passes.registry import Option


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("True", True), ("false", False), ("0", False), ("FALSE", False)]
)
def test_truth_values(text: str, value: bool) -> None:
    assert Option("x", not value, "").read(text, "pass") is value


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("12", 12), ("0x10", 16), ("-3", -3)])
def test_integers(text: str, value: int) -> None:
    assert Option("x", 1, "").read(text, "pass") == value


@pytest.mark.parametrize(("default", "kind"), [(True, "true or false"), (1, "an integer")])
def test_other_words_are_refused(default: int, kind: str) -> None:
    with pytest.raises(TileError) as caught:
        Option("x", default, "").read("2.5", "pass")
    assert caught.value.message == f"pass: option 'x' must be {kind}, got '2.5'"
