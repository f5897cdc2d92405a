"""Types and debug nodes: equal ones are one object, in every thread, and unused ones are freed."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable

import pytest

from tilery import types
from tilery.attrs import (
    CallSite,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    FileLineCol,
    FusedLoc,
    NameLoc,
    debug,
)
from tilery.manual.describe import type_examples
from tilery.types import basic


def nodes(name: str) -> list[debug.DebugAttr]:
    """One of each kind."""
    file = DIFile(name, "/src")
    unit = DICompileUnit(file)
    function = DISubprogram(file, 1, name, name, unit)
    block = DILexicalBlock(function, file, 2)
    place = FileLineCol(name, 3, 4)
    inner = DILoc(place, block)
    return [
        *(file, unit, function, block, place, inner),
        *(CallSite(inner, None), NameLoc(name, place), FusedLoc((place, inner))),
    ]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_are_the_same_object(again: Callable[[object], object]) -> None:
    for item in [*type_examples(), *types.SCALARS.values(), *nodes("a.py")]:
        assert again(item) is item


def test_nodes_are_found_however_they_are_made() -> None:
    file = DIFile("a.py", "/src")
    assert DIFile(directory="/src", name="a.py") is file
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file))
    assert scope is DISubprogram(file, 1, "k", "k", DICompileUnit(file), 0)
    place = DILoc(FileLineCol("a.py", 3, 4), scope)
    assert place is DILoc(scope=scope, source=FileLineCol("a.py", 3, 4))
    assert place.source is FileLineCol("a.py", 3, 4)


def test_nodes_cannot_be_changed() -> None:
    for node in nodes("a.py"):
        with pytest.raises(AttributeError):
            node.name = node.line = 1  # type: ignore[attr-defined]  # that is the point


def test_threads_that_make_the_same_get_the_same() -> None:
    made: list[list[object]] = []
    together = threading.Barrier(8)

    def work() -> None:
        together.wait(10)
        mine: list[object] = []
        for n in range(200):
            element = types.Ptr(types.F32) if n % 2 else types.F32
            mine += [types.Tile((1 << n % 12, 2), element), types.Function([types.Tile((), types.I32)] * n)]
            mine += [types.TensorView(types.F32, (n + 1, 7), (7, 1)), *nodes(f"{n}.py")]
        made.append(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    for one in made[1:]:
        assert all(x is y for x, y in zip(one, made[0], strict=True))


def test_what_nobody_uses_does_not_stay() -> None:
    gc.collect()
    before = len(basic.POOL), len(debug.NODES)
    held = [(types.TensorView(types.F32, (n, 77), (77, 1)), nodes(f"gone{n}.py")) for n in range(1, 300)]
    assert len(basic.POOL) >= before[0] + 299 and len(debug.NODES) > before[1] + 2000
    del held
    gc.collect()
    assert (len(basic.POOL), len(debug.NODES)) <= before
