"""Messages of the parser with their places, and rare forms that must survive printing."""

from __future__ import annotations

import pytest

from tilery import TileError, verify
from tilery.text.lossless.tokens import comments_in
from tilery.text.parse.parser import parse
from tilery.text.print.chosen import unique
from tilery.text.print.printer import show

KERNEL = "entry @k(%x: tile<4xi32>) {{\n{}\nreturn\n}}"
REDUCE = (
    '%0 = "cuda_tile.reduce"(%x) <{dim = 1 : i64, identities = []}> ({^bb0(%u: tile<i32>, %v: tile<i32>): '
    '"cuda_tile.yield"(%u) : (tile<i32>) -> ()}) : (tile<4xi32>) -> tile<i32>'
)


@pytest.mark.parametrize(
    ("body", "message", "marked"),
    [
        ("%a:0 = addi %x, %x : tile<4xi32>", "expected named operation to have at least 1 result", "0"),
        (
            REDUCE,
            "'cuda_tile.reduce' op attribute 'dim' failed to satisfy constraint: 32-bit signless integer attribute "
            "whose value is non-negative",
            '"cuda_tile.reduce"',
        ),
        (
            '%0 = "cuda_tile.permute"(%x) <{permutation = 3 : i32}> : (tile<4xi32>) -> tile<4xi32>',
            "'cuda_tile.permute' op attribute 'permutation' failed to satisfy constraint: i32 dense array attribute",
            '"cuda_tile.permute"',
        ),
        ("%0 = constant <i16777217: 0> : tile<i32>", "integer bitwidth is limited to 16777215 bits", "i16777217"),
        ("%0 = addi %x, %x : tile<4xi32> loc(#none)", "operation location alias was never defined", "#none"),
        (
            "%0 = addi %x, %x overflow #cuda_tile.rounding<zero> : tile<4xi32>",
            "custom op 'cuda_tile.addi' invalid kind of attribute specified",
            "#cuda_tile.rounding",
        ),
        ("%0 = addi %x#1, %x : tile<4xi32>", "reference to invalid result number", "%x"),
    ],
)
def test_a_message_has_its_place(body: str, message: str, marked: str) -> None:
    text = KERNEL.format(body)
    with pytest.raises(TileError) as caught:
        parse(text)
    assert caught.value.message == message
    assert text[caught.value.start : caught.value.end] == marked


@pytest.mark.parametrize(
    "attribute",
    [
        "array<f32: 1.000000e+00, -2.000000e+00>",
        "array<f64: 5.000000e-01>",
        "array<i1: true, false>",
        "array<i8: -1, 3>",
        "-3 : index",
        "3 : index",
    ],
)
def test_discardable_attributes_survive(attribute: str) -> None:
    module = parse(KERNEL.format(f"%0 = addi %x, %x {{a = {attribute}}} : tile<4xi32>"))
    text = show(module, "generic")
    assert f"{{a = {attribute}}}" in text
    assert show(parse(text), "generic") == text


def test_a_constant_of_bytes() -> None:
    module = parse(KERNEL.format('%0 = constant <i32: "0x01020304"> : tile<i32>'))
    assert "constant <i32: 67305985> : tile<i32>" in show(module)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("module attributes {a = 1 : i32} { cuda_tile.module @m { entry @k() { return } } }", "m"),
        ("module @outer attributes {a = 1 : i32} { entry @k() { return } }", "outer"),
        ("module { entry @k() { return } }", "kernels"),
    ],
)
def test_a_module_of_mlir_around_it(text: str, name: str) -> None:
    assert parse(text).sym_name == name


def test_results_of_a_function() -> None:
    text = "testing$func @f(%x: tile<i32>) -> (tile<i32>, tile<{}>) {{ return %x, %x : tile<i32>, tile<i32> }}"
    assert not verify(parse(text.format("i32"), testing=True))
    (finding,) = verify(parse(text.format("f32"), testing=True))
    assert finding.message == (
        "type of return operand 1 ('!cuda_tile.tile<i32>') doesn't match function result type "
        "('!cuda_tile.tile<f32>') in function @f"
    )


def test_a_comment_after_a_carriage_return_is_alone() -> None:
    assert [each.own for each in comments_in("\r// c", 0, 5)] == [True]
    assert [each.own for each in comments_in("x // c", 0, 6)] == [False]


def test_a_name_belongs_to_the_innermost_scope() -> None:
    outer: set[str] = set()
    inner: set[str] = set()
    assert unique("%x", [outer, inner]) == "%x"
    assert (outer, inner) == (set(), {"%x"})
