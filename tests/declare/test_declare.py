"""Declarations that contradict themselves are refused when they are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tilery.declare import fields
from tilery.declare.constraints import AnyTile
from tilery.declare.fields import INFER, AttrKind, attr, flag, operand, optional_attr, out
from tilery.declare.operation import BY_NAME, BY_OPCODE, Declared, op
from tilery.enums import Signedness
from tilery.ops import registered
from tilery.version import V13_4, Version

FREE = 0x7FF
ALWAYS_THE_SAME: dict[str, tuple[Any, ...]] = {
    "operand": (AnyTile,),
    "optional": (AnyTile,),
    "variadic": (AnyTile,),
    "optional_attr": (AttrKind.I32,),
    "flag": (),
    "out": (AnyTile,),
    "outs": (AnyTile,),
    "region": (),
    "optional_region": (),
    "state": (),
}
"""Fields whose default cannot be chosen, with the arguments before their description."""


@pytest.mark.parametrize("name", ALWAYS_THE_SAME)
@pytest.mark.parametrize("default", [True, None, 7])
def test_a_field_refuses_a_default_that_it_would_ignore(name: str, default: object) -> None:
    with pytest.raises(TypeError, match="default"):
        getattr(fields, name)(*ALWAYS_THE_SAME[name], "A field.", default=default)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: attr(AttrKind.I32, "", only=[Signedness.SIGNED]), "'only' needs an enum"),
        (lambda: attr(Signedness, "", minimum=1), "'minimum' needs an integer"),
        (lambda: attr(AttrKind.STR, "", minimum=1), "'minimum' needs an integer"),
        (lambda: attr(AttrKind.I32, "", infer=lambda o: 1), "need each other"),
        (lambda: attr(AttrKind.I32, "", default=2, infer=lambda o: 1), "need each other"),
        (lambda: attr(AttrKind.I32, "", default=INFER), "need each other"),
        (lambda: optional_attr(AttrKind.I32, "", hints=["occupancy"]), "'hints' needs optimization hints"),
    ],
)
def test_an_attribute_refuses_what_does_not_apply(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        make()


def declare(mnemonic: str = "new", opcode: int = FREE, format: str = "$source", **members: Any) -> None:
    members = {"source": operand(AnyTile, "The tile."), **members}
    declared: Any = Declared("New", (), {"__annotations__": dict.fromkeys(members, "Value"), **members})
    op(mnemonic, opcode, group="Tests", format=format, example="")(declared)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"mnemonic": "addf"}, "the mnemonic 'addf' is already taken"),
        ({"mnemonic": "print"}, "the mnemonic 'print' is already taken"),  # the former name of print_tko
        ({"opcode": 0x4B}, "opcode 0x4b is already module"),
        ({"format": "$sauce"}, "no field is called sauce"),
        ({"from": flag("A flag.")}, "'from' is a keyword, call the field 'from_'"),
        ({"late": attr(AttrKind.I32, "", since=V13_4)}, "'late' is newer than the op and needs a default"),
        ({"late": out(AnyTile, "", since=V13_4)}, "result 'late' is newer than the op"),
        ({"late": flag("", since=Version(14, 7))}, "'late' is from an unknown version 14.7"),
        ({"a": fields.variadic(AnyTile, ""), "b": fields.variadic(AnyTile, "")}, "need segmented=True"),
    ],
)
def test_a_contradiction_is_refused_and_leaves_no_trace(arguments: dict[str, Any], problem: str) -> None:
    before = registered(), dict(BY_NAME), dict(BY_OPCODE)
    with pytest.raises(TypeError, match=re.escape(problem)):
        declare(**arguments)
    assert (registered(), BY_NAME, BY_OPCODE) == before
