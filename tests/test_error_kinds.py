"""The kind of every error that a program may want to tell apart."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery import ErrorKind, TileError
from tilery.cli.main import main
from tilery.diag import Note, NoteKind
from tilery.engines.common.limits import Limits

STORE = """
entry @k(%p: tile<ptr<i32>>) {
  %x = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}"""
ENDLESS = "entry @k() { loop { continue } return }"
ASSERTS = 'entry @k() { %c = constant <i1: false> : tile<i1> assert %c, "no" : tile<i1> return }'
LARGE = "entry @k() { %x = iota : tile<1048576xi32> %y = addi %x, %x : tile<1048576xi32> return }"
MIXED = "entry @k() { %x = constant <f32: 1.0> : tile<f32> %y = constant <f64: 1.0> : tile<f64> %z = addf %x, %y : tile<f32> return }"  # noqa: E501
SHAPES = "entry @k() { %x = iota : tile<8xi32> %y = reshape %x : tile<8xi32> -> tile<4xi32> return }"
NEWER = "entry @k() { %x = constant <f32: 1.0> : tile<f32> %y = atan2 %x, %x : tile<f32> return }"


def run(text: str, *args: Any, engine: str = "reference", **options: Any) -> None:
    tilery.compile(tilery.parse(text), engine=engine).launch(1, list(args), **options)


RAISES: dict[str, tuple[ErrorKind, Callable[[], Any]]] = {
    "a text that ends early": (ErrorKind.SYNTAX, lambda: tilery.parse("entry @k() {")),
    "bytes that are no bytecode": (ErrorKind.SYNTAX, lambda: tilery.load(b"\x7fTileIR\x00\x0d\x01")),
    "a type conflict": (ErrorKind.SYNTAX, lambda: tilery.parse(MIXED)),
    "a wrong shape": (ErrorKind.ILLEGAL, lambda: tilery.parse(SHAPES)),
    "an operation of a newer version": (ErrorKind.VERSION, lambda: tilery.dumps(tilery.parse(NEWER), "13.1")),
    "a missing argument": (ErrorKind.ARGUMENT, lambda: run(STORE)),
    "an unknown engine": (ErrorKind.ARGUMENT, lambda: run(STORE, engine="abacus")),
    "an access outside": (ErrorKind.BOUNDS, lambda: run(STORE, np.empty(0, np.int32))),
    "a failed assertion": (ErrorKind.ASSERTION, lambda: run(ASSERTS)),
    "too many steps": (ErrorKind.STEPS, lambda: run(ENDLESS, limits=Limits(steps=10))),
    "too many seconds": (ErrorKind.TIMEOUT, lambda: run(ENDLESS, limits=Limits(seconds=0.01))),
    "too much memory": (ErrorKind.MEMORY, lambda: run(LARGE, limits=Limits(memory=1000))),
}


@pytest.mark.parametrize("name", RAISES)
def test_kinds(name: str) -> None:
    kind, make = RAISES[name]
    with pytest.raises(TileError) as caught:
        make()
    assert caught.value.kind is kind, caught.value
    assert caught.value.as_dict()["kind"] == kind.value


def test_the_fast_engine_has_the_same_kinds() -> None:
    pytest.importorskip("llvmlite")
    with pytest.raises(TileError) as caught:
        run(ENDLESS, engine="cpu", limits=Limits(seconds=0.01))
    assert caught.value.kind is ErrorKind.TIMEOUT
    with pytest.raises(TileError) as caught:
        run(STORE, np.empty(0, np.int32), engine="cpu")
    assert caught.value.kind is ErrorKind.BOUNDS


def test_json_has_the_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {")
    assert main(["dis", "--json", str(path)]) == 1
    found = capsys.readouterr()
    assert json.loads(found.out or found.err)["error"]["kind"] == "syntax"


def test_copies_keep_kinds() -> None:
    error = TileError("late", kind=ErrorKind.TIMEOUT, notes=(Note("from a.py:3", kind=NoteKind.ORIGIN),))
    copy = pickle.loads(pickle.dumps(error))
    assert copy.kind is ErrorKind.TIMEOUT
    assert copy.notes[0].kind is NoteKind.ORIGIN


def test_every_kind_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "stability.md").read_text("utf-8")
    assert [kind.value for kind in ErrorKind if f"| `{kind.value}` |" not in page] == []
