"""How operations, values and modules are shown, and what `inspect` and `help` say about operations."""

from __future__ import annotations

import inspect
import pydoc

import pytest

import tilery
from tilery import Value, types
from tilery.ops import AddF, registered

TEXT = """
entry @k(%n: tile<i32>, %p: tile<ptr<f32>>) {
  %0 = addi %n, %n overflow<no_wrap> : tile<i32>
  %c = cmpi equal %0, %n, signed : tile<i32> -> tile<i1>
  if %c {
    %q = offset %p, %0 : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  }
  return
}
"""


@pytest.fixture
def body() -> tilery.Block:
    return tilery.parse(TEXT).entries[0].body


def test_an_operation_is_a_line_of_ir(body: tilery.Block) -> None:
    assert str(body.ops[0]) == "%0 = addi %arg0, %arg0 overflow<no_wrap> : tile<i32>"
    assert str(body.ops[1]) == "%0 = cmpi equal %arg0, %arg1, signed : tile<i32> -> tile<i1>"
    assert (
        str(body.ops[2]).splitlines()[1] == "  %0 = offset %arg1, %arg2 : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>"
    )


def test_no_operation_has_unknown_values(body: tilery.Block) -> None:
    for o in tilery.walk(body):
        for style in ("disasm", "opt", "generic"):
            assert "UNKNOWN" not in tilery.show(o, style=style)


def test_showing_an_operation_changes_nothing(body: tilery.Block) -> None:
    owners = [v.owner for o in tilery.walk(body) for v in [*o.operands, *o.results]]
    for o in body:
        str(o)
    assert [v.owner for o in tilery.walk(body) for v in [*o.operands, *o.results]] == owners


def test_a_value_is_its_type_and_what_defines_it(body: tilery.Block) -> None:
    assert str(body.args[1]) == "tile<ptr<f32>>, argument 1 of a block"
    assert str(body.ops[1].results[0]).startswith("tile<i1>, result 0 of: %0 = cmpi equal")
    assert str(Value(types.TOKEN)) == "token, not defined yet"


def test_representations_are_short(body: tilery.Block) -> None:
    module = tilery.parse(TEXT)
    assert repr(module) == "<module @kernels: kernels k>"
    assert repr(module.entries[0]) == "<entry @k>"
    assert repr(body) == "<block with 2 arguments: addi, cmpi, if, return>"
    assert repr(body.ops[0]) == "<addi (tile<i32>, tile<i32>) -> (tile<i32>)>"
    assert repr(body.args[0]) == "<tile<i32>, argument of a block>"
    assert repr(body.ops[0].results[0]) == "<tile<i32>, result of addi>"
    assert repr(tilery.compile(module)) == "<kernel k(tile<i32>, tile<ptr<f32>>) on reference>"


def test_blocks_iterate_and_are_true(body: tilery.Block) -> None:
    assert [o.name for o in body] == ["addi", "cmpi", "if", "return"]
    assert bool(tilery.Block())  # an empty block is not an absent one


def test_attributes(body: tilery.Block) -> None:
    assert {name: value.text for name, value in body.ops[0].attributes.items()} == {"overflow": "no_wrap"}
    assert body.ops[2].attributes == {}
    assert set(body.ops[1].attributes) == {"comparison_predicate", "signedness"}


def test_every_signature_has_the_fields_and_help_their_meaning() -> None:
    missing: list[str] = []
    for opdef in registered():
        assert [*inspect.signature(opdef.cls).parameters] == [f.attr for f in opdef.fields], opdef.mnemonic
        known = set(dir(opdef.cls))
        shown = pydoc.render_doc(opdef.cls, renderer=pydoc.plaintext)  # type: ignore[attr-defined]  # it is there
        missing += [
            f"{opdef.mnemonic}: {f.attr}"
            for f in opdef.fields
            if f.attr not in known or f.attr not in shown or f.doc.splitlines()[0] not in shown
        ]
    assert missing == []


def test_a_signature() -> None:
    shown = str(inspect.signature(AddF))
    assert shown.startswith("(*, lhs: 'Value', rhs: 'Value', rounding_mode: 'RoundingMode' = ")
    assert shown.endswith("result: 'Value' = ...)")


def test_the_command_and_the_reference_use_pythons_names(capsys: pytest.CaptureFixture[str]) -> None:
    from support.oracle import ROOT
    from tilery.cli.main import main

    assert main(["ops", "reduce"]) == 0
    assert "\n  operands_" in capsys.readouterr().out
    page = (ROOT / "docs/reference/operations/core.md").read_text("utf-8")
    assert "| `operands_` (text: `operands`) |" in page
