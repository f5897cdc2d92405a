"""The table of semantics has a row for every operation, and says what it leaves open."""

from __future__ import annotations

import pytest

from text.test_printer import module as example_module
from tilery.declare.operation import OpDef
from tilery.engines.semantics import EXACT, SEMANTICS, Semantics, same_bits
from tilery.ir import Op, walk
from tilery.ops import registered


def test_every_operation_has_a_row() -> None:
    assert set(SEMANTICS) == {d.cls for d in registered()}
    assert len(EXACT) == len(set(EXACT)) and all(SEMANTICS[cls].text == "exact" for cls in EXACT)


@pytest.mark.parametrize(("cls", "row"), SEMANTICS.items(), ids=[cls.__name__ for cls in SEMANTICS])
def test_what_may_differ_is_explained(cls: type[Op], row: Semantics) -> None:
    assert not row.differs or row.may_differ is not None, "who compares with hardware asks `may_differ`"
    assert row.may_differ is None or row.text != "exact"
    assert all(text == text.strip() and text.endswith(".") for text in row[:3] if text)


@pytest.mark.parametrize("opdef", registered(), ids=lambda d: d.mnemonic)
def test_same_bits_can_be_asked_of_every_example(opdef: OpDef) -> None:
    found = [o for o in walk(example_module(opdef.example)) if isinstance(o, opdef.cls)]
    assert found and all(isinstance(same_bits(o), bool) for o in found)
