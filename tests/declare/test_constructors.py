"""Code that is generated from a declaration does what following the declaration does."""

from __future__ import annotations

from typing import Any

import pytest

from text.test_parser import OPS, whole
from tilery.declare import operation
from tilery.declare.constructors import construct, constructor
from tilery.declare.fastclass import dataclass, field
from tilery.declare.fields import REQUIRED
from tilery.declare.operation import OpDef
from tilery.diag import TileError
from tilery.enums import TileEnum
from tilery.ir import Block, Op, Value, walk
from tilery.ops import AddI, Iota
from tilery.text.parse.parser import parse
from tilery.types import I32, Tile
from tilery.verifier.signatures import signature


def made(cls: type[Op], given: dict[str, Any], generated: bool) -> object:
    """The fields of a new operation, with types for values; or the error."""
    o = object.__new__(cls)
    try:
        if generated:
            constructor(cls.opdef)(o, **given)
        else:
            assert construct(o, given)
    except (TileError, TypeError, AttributeError) as error:
        return type(error), str(error)
    return [shown(getattr(o, f.attr), o) for f in cls.opdef.fields]


def shown(value: Any, o: Op) -> object:
    if isinstance(value, tuple):
        return tuple(shown(item, o) for item in value)
    if isinstance(value, Value):
        return value.type, value.owner is o
    return (value, [v.owner is value for v in value.args]) if isinstance(value, Block) else value


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_constructors(opdef: OpDef) -> None:
    module = parse(whole(opdef), testing=True)
    for o in walk(module):
        every = {f.attr: getattr(o, f.attr) for f in o.opdef.fields}
        inferred = {f.attr: every[f.attr] for f in o.opdef.fields if f.role != "out"}
        required = {f.attr: every[f.attr] for f in o.opdef.fields if f.default is REQUIRED}
        words = {attr: value.text if isinstance(value, TileEnum) else value for attr, value in inferred.items()}
        lists = {attr: list(value) if isinstance(value, tuple) else value for attr, value in inferred.items()}
        for given in (inferred, required, words, lists, every):  # the last one changes owners
            assert made(o.__class__, given, generated=True) == made(o.__class__, given, generated=False)


@pytest.mark.parametrize("calls", [0, operation.PATIENCE], ids=["few", "many"])
def test_wrong_arguments_have_the_same_messages(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AddI, "__init__", operation._first_init)
    monkeypatch.setattr(AddI.opdef, "made", calls)
    x = Value(Tile((), I32))
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'rhs'"):
        AddI(lhs=x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'sum'"):
        AddI(lhs=x, rhs=x, sum=x)  # type: ignore[call-arg]


def test_the_constructor_is_generated_after_some_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Iota, "__init__", operation._first_init)
    monkeypatch.setattr(Iota.opdef, "made", 0)
    seen = []
    for _ in range(operation.PATIENCE + 2):
        Iota(result=Value(Tile((4,), I32)))
        seen.append(Iota.__init__ is operation._first_init)
    assert seen == [True] * operation.PATIENCE + [False, False]


def test_signatures() -> None:
    examples = [o for opdef in OPS for o in walk(parse(whole(opdef), testing=True))]
    assert [o.name for o in examples if signature(o.__class__, True)(o) != signature(o.__class__, False)(o)] == []


def test_dataclasses() -> None:
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)

    seen = []
    for _ in range(120):
        for point in (Point(1), Point(1, 2), Point(1, y=2), Point(x=1, tags=[]), Point(1, 2, [])):
            assert point == Point(1) and repr(point) == "Point(x=1, y=2, tags=[])"
        seen.append(Point.__init__.__code__.co_filename)
    assert len(set(seen)) == 2  # it was compiled on the way
    assert Point(1).tags is not Point(1).tags
    for wrong in ({}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            Point(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Point(1, 2, [], 3)  # type: ignore[call-arg]
