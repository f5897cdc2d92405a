"""Code that is generated from a declaration does what following the declaration does."""

from __future__ import annotations

from typing import Any

import pytest

from text.test_parser import OPS, whole
from tilery.declare import operation
from tilery.declare.constructors import _adopt, _keyword, _make_result, constructor
from tilery.declare.fastclass import dataclass, field
from tilery.declare.fields import INFER, REQUIRED
from tilery.declare.operation import OpDef
from tilery.diag import TileError
from tilery.enums import TileEnum
from tilery.ir import Block, Op, Value, walk
from tilery.ops import AddI
from tilery.text.parse.parser import parse
from tilery.types import I32, Tile
from tilery.verifier.signatures import signature


def construct(o: Any, given: dict[str, Any]) -> None:
    """Set the fields of an operation one by one, as its declaration says."""
    fields = o.opdef.fields
    values = {f.attr: given.get(f.attr, f.default) for f in fields}
    o.loc = o.extra = None
    for f in fields:
        value = values[f.attr]
        if f.role == "operand" and f.arity == "var":
            value = tuple(value)
        elif f.enum is not None and value.__class__ is str:
            value = _keyword(f, value)
        setattr(o, f.attr, value)
    for f in fields:
        value = values[f.attr]
        if f.role == "out":
            setattr(o, f.attr, _make_result(o, f, value))
        elif f.default is INFER:
            if value is INFER:
                setattr(o, f.attr, f.infer(o))
        elif f.role == "region":
            _adopt(value)


def made(cls: type[Op], given: dict[str, Any], generated: bool) -> object:
    """The fields of a new operation, with types for values; or the error."""
    o = object.__new__(cls)
    try:
        if generated:
            constructor(cls.opdef)(o, **given)
        else:
            construct(o, given)
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


def test_wrong_arguments_have_the_same_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AddI, "__init__", operation._first_init)
    x = Value(Tile((), I32))
    for _ in range(2):  # the first object of a class, and another
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'rhs'"):
            AddI(lhs=x)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'sum'"):
            AddI(lhs=x, rhs=x, sum=x)  # type: ignore[call-arg]


def test_signatures() -> None:
    examples = [o for opdef in OPS for o in walk(parse(whole(opdef), testing=True))]
    assert [o.name for o in examples if signature(o.__class__, True)(o) != signature(o.__class__, False)(o)] == []


def test_dataclasses() -> None:
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)

    for point in (Point(1), Point(1, 2), Point(1, y=2), Point(x=1, tags=[]), Point(1, 2, [])):
        assert point == Point(1) and repr(point) == "Point(x=1, y=2, tags=[])"
    assert Point(1).tags is not Point(1).tags
    for wrong in ({}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            Point(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Point(1, 2, [], 3)  # type: ignore[call-arg]
