"""Messages of the parser with their places, and rare forms that must survive printing."""

from __future__ import annotations

import pytest

from tilery import TileError, verify
from tilery.attrs import DivBy
from tilery.diag import Note
from tilery.text.lossless.tokens import comments_in
from tilery.text.parse.parser import parse
from tilery.text.print.attributes import predicate_text
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
        ("%0 = addi %x, %x : tile<4xi32> @1", "@ identifier expected to start with letter or '_'", "1"),
        ("%0 = constant <i32: -x> : tile<i32>", "expected integer value", ""),
        ("%0 = constant <i32: x> : tile<i32>", "custom op 'cuda_tile.constant' expected integer value", "x"),
        (
            "%a:18446744073709551616 = addi %x, %x : tile<4xi32>",
            "custom op 'cuda_tile.entry' integer value too large",
            "18446744073709551616",
        ),
        (
            "%0 = assume 3 : i32, %x : tile<4xi32>",
            "custom op 'cuda_tile.assume' expected assume predicate attribute",
            "3",
        ),
        (
            "%0 = assume nothing, %x : tile<4xi32>",
            "custom op 'cuda_tile.assume' unknown assume predicate attribute: nothing (expected 'div_by', "
            "'same_elements', or 'bounded')",
            "nothing",
        ),
        (
            "%0 = make_partition_view %x : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>, "
            "dim_map=[4294967296]>",
            "custom op 'cuda_tile.make_partition_view' integer value too large",
            "4294967296",
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
        "1.000000e+00 : f64",
        "3 : i64",
        "[1.000000e+00, 2, 2.000000e+00 : f32]",
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


def test_every_undeclared_name_has_its_place() -> None:
    text = KERNEL.format("%0 = addi %y, %z : tile<4xi32>")
    with pytest.raises(TileError) as caught:
        parse(text)
    assert text[caught.value.start : caught.value.end] == "%y"
    (other,) = [note for note in caught.value.notes if isinstance(note, Note) and note.start is not None]
    assert other == "use of undeclared SSA value name" and other.start == text.index("%z")


def test_a_region_that_is_not_closed() -> None:
    text = "entry @k() {\n loop {\n"
    with pytest.raises(TileError) as caught:
        parse(text)
    (note,) = caught.value.notes
    assert isinstance(note, Note) and note == "this region is not closed" and note.start == text.rindex("{")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("5", 'invalid memory_ordering_semantics attribute specification. Got "" but expect'),
        ("strange", 'invalid memory_ordering_semantics attribute specification. Got "strange" but expect'),
        ("relaxed planet", 'invalid memory_scope attribute specification. Got "planet" but expect'),
        ("weak device", 'operation specifies weak memory ordering semantics, but then provides "device" scope'),
    ],
)
def test_words_for_memory(words: str, message: str) -> None:
    view = "partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>"
    text = f"""entry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {{
      %t = make_tensor_view %p, shape=[4], strides=[1] : tensor_view<4xf32, strides=[1]>
      %u = make_partition_view %t : {view}
      %r, %s = load_view_tko {words} %u[%i] : {view}, tile<i32> -> tile<4xf32>, token
      return
    }}"""
    with pytest.raises(TileError) as caught:
        parse(text)
    assert caught.value.message.startswith(f"custom op 'cuda_tile.load_view_tko' {message}")


def test_an_assumption_as_an_attribute() -> None:
    module = parse(KERNEL.format("%0 = assume #cuda_tile.div_by<16>, %x : tile<4xi32>"))
    assert "assume div_by<16>, %arg0" in show(module)


def test_the_dimension_of_groups_is_always_printed() -> None:
    assert predicate_text(DivBy(16, 2, None)) == "div_by<16, every 2 along 0>"
    assert predicate_text(DivBy(16, 2, 3)) == "div_by<16, every 2 along 3>"


@pytest.mark.parametrize(("name", "types"), [("i", "tile<i32>"), ("j", "tile<i32>, tile<i64>")])
def test_indices_of_different_types_are_listed(name: str, types: str) -> None:
    view = "partition_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>>"
    text = f"""entry @k(%p: tile<ptr<f32>>, %i: tile<i32>, %j: tile<i64>) {{
      %t = make_tensor_view %p, shape=[4, 4], strides=[4, 1] : tensor_view<4x4xf32, strides=[4,1]>
      %u = make_partition_view %t : {view}
      %r, %s = load_view_tko weak %u[%i, %{name}] : {view}, {types} -> tile<4x4xf32>, token
      return
    }}"""
    for quick in (True, False):
        assert f"{view}, {types} -> tile<4x4xf32>, token" in show(parse(text), quick=quick)
