"""Locations of code that was inlined many times: bytecode holds them as chains of entries."""

from __future__ import annotations

import pytest

import tilery
from tilery import TileError, ops
from tilery.attrs import CallSite, DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol, Loc
from tilery.types import Function


def chain(length: int) -> tilery.Module:
    """Return a module whose `return` is at the end of a chain of calls."""
    file = DIFile("kernel.py", "/src")
    scope = DISubprogram(file, 1, "f", "f", DICompileUnit(file))
    loc: Loc = DILoc(FileLineCol("/src/kernel.py", 1, 0), scope)
    for line in range(length):
        loc = CallSite(loc, DILoc(FileLineCol("/src/kernel.py", line, 0), scope))
    back = ops.Return()
    back.loc = loc
    entry = ops.Entry(sym_name="f", function_type=Function([]), body=tilery.Block([], [back]))
    entry.loc = DILoc(FileLineCol("/src/kernel.py", 1, 0), scope)
    return ops.Module(body=tilery.Block([], [entry]))


@pytest.mark.parametrize("length", [1, 99, 100, 101, 250, 3000])
def test_chains_of_calls_are_read(length: int) -> None:
    module = chain(length)
    data = tilery.dumps(module, "13.3")
    again = tilery.load(data)
    assert tilery.equal(module, again)
    assert tilery.dumps(again) == data


def test_chains_have_an_end() -> None:
    with pytest.raises(TileError, match="more than 10000 deep"):
        tilery.load(tilery.dumps(chain(20_000), "13.3"))


def test_a_long_chain_is_printed_and_dumped() -> None:
    module = chain(500)
    assert tilery.parse(tilery.show(module, locs=True)) is not None
    assert tilery.dump(tilery.dumps(module, "13.3")).error is None
