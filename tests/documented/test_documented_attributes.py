"""The thirteen documented attribute tags, both ways, and every failure text that the document lists."""

from __future__ import annotations

import random

import pytest

from tilery import TileError, documented
from tilery.attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    Dense,
    DenseArray,
    DictAttr,
    DivBy,
    FloatAttr,
    IntAttr,
    SameElements,
    StrAttr,
    TypeAttr,
)
from tilery.documented import AssumePredicate, CheckedDivBy, StringElements, Tables
from tilery.documented.attributes import READERS
from tilery.types import F32, I1, I8, I32, I64, SCALARS, TOKEN, Tile

TF32, LEAF = SCALARS["tf32"], SCALARS["f8E8M0FNU"]
TABLES = Tables(
    types=[I32, F32, TOKEN, I1, I8, TF32, LEAF, Tile((8,), I32)],
    strings=["zero", "one"],
    attributes=[DictAttr(), DivBy(8)],
    pool=[10, 20, 30, -1],
)
ONE = "00 00 80 3f"
TEN = "ff ff ff ff ff ff ff ff ff 01"
"""-1 in ten bytes"""
I64S = "04 00 00 00 00 00 00 00 fe ff ff ff ff ff ff ff"
EXAMPLES: list[tuple[str, Attr]] = [
    ("01 04 68 69", StrAttr("hi")),
    ("01 00", StrAttr("")),
    ("01 03", StrAttr("one")),
    (f"02 01 {ONE}", FloatAttr(F32, 0x3F800000)),
    ("02 05 ff ff 07", FloatAttr(TF32, 0x7FFFF)),
    ("03 02", TypeAttr(TOKEN)),
    ("04 01 04 00 00 01 02 03", Dense.of(Tile((4,), I32), [0, 0xFFFFFFFF, 1, 0xFFFFFFFE])),
    (f"04 01 02 01 {ONE} 00 00 00 00", Dense.of(Tile((2,), F32), [0x3F800000, 0])),
    ("04 00 03 02", Dense.of(Tile((), I1), [1])),
    ("04 01 02 06 7f 80", Dense.of(Tile((2,), LEAF), [0x7F, 0x80])),
    ("05 02 01 02 02 01 02 78", StringElements((1, 2), ("zero", "x"))),
    ("06 10 00", DivBy(16)),
    ("06 10 01", CheckedDivBy(DivBy(16))),
    ("06 04 02 02 00", DivBy(4, 2, 0)),
    ("06 04 03 02 01", CheckedDivBy(DivBy(4, 2, 1))),
    (f"07 02 {I64S}", DenseArray(I64, (4, -2))),
    ("07 00", DenseArray(I64, ())),
    (f"09 02 {I64S}", SameElements((4, -2))),
    (f"0a 01 {TEN}", Bounded(-1, None)),
    ("0b 02 07", Bounded(None, 7)),
    (f"0c 03 {TEN} 07", Bounded(-1, 7)),
    ("0d 08 10 00 05", AssumePredicate(DivBy(16), 5)),
    ("0d 08 10 01 00", AssumePredicate(CheckedDivBy(DivBy(16)))),
    ("0d 0d 03 00 07 00", AssumePredicate(Bounded(0, 7))),
    ("0d 26 01 08 00 00 00 00 00 00 00 01", AssumePredicate(SameElements((8,)), 1)),
    ("0d 07 01 00", AssumePredicate(StrAttr("x"))),
]
NESTED = Tables(attributes=[DictAttr(), StrAttr("x")])


def tables_for(attr: Attr) -> Tables:
    return NESTED if attr == AssumePredicate(StrAttr("x")) else TABLES


@pytest.mark.parametrize(("data", "expected"), EXAMPLES, ids=[data for data, _ in EXAMPLES])
def test_attributes_both_ways(data: str, expected: Attr) -> None:
    tables = tables_for(expected)
    found = documented.decode_attr(bytes.fromhex(data), tables)
    assert found == expected and type(found) is type(expected)
    assert documented.encode_attr(expected, tables) == bytes.fromhex(data)


@pytest.mark.parametrize("attr", [IntAttr(I32, 1), ArrayAttr(()), DenseArray(I32, (1,)), DictAttr()], ids=str)
def test_kinds_without_a_tag_are_refused(attr: Attr) -> None:
    with pytest.raises(TileError, match=f"the documented layout has no tag for {type(attr).__name__}"):
        documented.encode_attr(attr, TABLES)


def test_an_array_in_the_shared_pool() -> None:
    found = documented.decode_attr(bytes.fromhex("08 02 01"), TABLES)
    assert found == DenseArray(I64, (20, 30)) == documented.decode_attr(documented.encode_attr(found, TABLES), TABLES)
    assert documented.encode_attr(found, TABLES, sidecar=True) == bytes.fromhex("08 02 01")
    with pytest.raises(TileError, match="the pool does not have these values"):
        documented.encode_attr(DenseArray(I64, (30, 20)), TABLES, sidecar=True)


def test_every_tag_has_an_example() -> None:
    shown = {int(data[:2], 16) for data, _ in EXAMPLES} | {8}
    assert shown == set(READERS) == set(range(1, 14))


def test_integers_may_be_unsigned() -> None:
    found = documented.decode_attr(bytes.fromhex("04 00 04 fe 03"), TABLES)
    assert found == Dense.of(Tile((), I8), [255])
    assert documented.encode_attr(found, TABLES) == bytes.fromhex("04 00 04 01")


FAILURES = [
    ("01 0b", "string index 5 out of bounds", 1),
    ("01 0a 68", "failed to read StringAttr.", 2),
    ("01", "failed to read StringAttr.", 1),
    ("02 00 00", "failed to read valid FloatType for FloatAttr", 1),
    ("02 63", "failed to read valid FloatType for FloatAttr", 1),
    ("02 06 00", "failed to read valid FloatType for FloatAttr", 1),
    ("02 05 ff ff ff", "failed to cast parsed attribute to FloatAttr", 1),
    ("02 01 00", "failed to cast parsed attribute to FloatAttr", 1),
    ("03 63", "failed to get referenced type for TypeAttr", 1),
    ("03 06", "failed to get referenced type for TypeAttr", 1),
    ("04 00 02 00", "failed to read valid MLIR Type for self-contained DenseElementsAttr", 2),
    ("04 00 63", "failed to read valid MLIR Type for self-contained DenseElementsAttr", 2),
    ("04 00 04 80 04", "array contains unsupported value 256", 3),
    ("04 00 05 00 00 ff", "array contains unsupported value 16711680", 3),
    ("04 01 08 00 00", "array contains unsupported value <end of data>", 5),
    ("05 01 02", "failed to read number of string attrs in DenseElementsAttr", 3),
    ("05 01 02 01 00", "failed to read number of string attrs in DenseElementsAttr", 3),
    ("05 01 00 00", "failed to read number of string attrs in DenseElementsAttr", 3),
    ("05 01 01 01 0a", "failed to read string in DenseElementsAttr", 5),
    ("05 01 01 01 0b", "string index 5 out of bounds", 4),
    ("06", "failed to read divisor for DivByAttr", 1),
    ("06 10", "failed to read flags byte for DivByAttr", 2),
    ("06 10 04", "failed to read flags byte for DivByAttr", 2),
    ("06 10 02", "failed to read value for 'every' in DivByAttr", 3),
    ("06 10 02 01", "failed to read value for 'along' in DivByAttr", 4),
    ("07", "failed to read DenseI64ArrayAttr values.", 1),
    ("07 01 00", "failed to read DenseI64ArrayAttr values.", 1),
    ("08 02", "failed to read DenseI64ArrayAttr values.", 2),
    ("08 02 03", "failed to read DenseI64ArrayAttr values.", 2),
    ("09 01", "failed to read DenseI64ArrayAttr for SameElementsAttr", 1),
    ("0a", "failed to read flags byte for BoundedAttr", 1),
    ("0a 02 00", "failed to read flags byte for BoundedAttr", 1),
    ("0b", "failed to read flags byte for BoundedAttr", 1),
    ("0c 01", "failed to read flags byte for BoundedAttr", 1),
    ("0a 01", "failed to read lower bound for BoundedAttr", 2),
    ("0b 02", "failed to read upper bound for BoundedAttr", 2),
    ("0c 03", "failed to read lower bound for BoundedAttr", 2),
    ("0c 03 00", "failed to read upper bound for BoundedAttr", 3),
    ("0d 00 00", "failed to read divisor for DivByAttr", 2),
    ("0d 01 00", "failed to read flags byte for BoundedAttr", 2),
    ("0d 05 01 00", "failed to read lower bound for BoundedAttr", 3),
    ("0d 07 63 00", "attribute index 99 out of bounds", 2),
    ("0d 28", "a predicate of 10 bytes does not fit in the 0 that are left", 1),
    ("00", "unsupported AttributeTag 0 for self-contained attribute", 0),
    ("0e", "unsupported AttributeTag 14 for self-contained attribute", 0),
    ("", "failed to read AttributeTag for self-contained attribute.", 0),
    ("03 02 00", "1 bytes are left after the attribute", 2),
]


@pytest.mark.parametrize(("data", "message", "offset"), FAILURES, ids=[data for data, _, _ in FAILURES])
def test_failure_texts(data: str, message: str, offset: int) -> None:
    with pytest.raises(TileError) as caught:
        documented.decode_attr(bytes.fromhex(data), TABLES)
    assert (caught.value.message, caught.value.offset) == (message, offset)


LISTED = """string index|failed to read StringAttr.|failed to read valid FloatType for FloatAttr
failed to cast parsed attribute to FloatAttr|failed to get referenced type for TypeAttr
failed to read valid MLIR Type for self-contained DenseElementsAttr|array contains unsupported value
failed to read number of string attrs in DenseElementsAttr|failed to read string in DenseElementsAttr
failed to read divisor for DivByAttr|failed to read flags byte for DivByAttr
failed to read value for 'every' in DivByAttr|failed to read value for 'along' in DivByAttr
failed to read DenseI64ArrayAttr values.|failed to read DenseI64ArrayAttr for SameElementsAttr
failed to read flags byte for BoundedAttr|failed to read lower bound for BoundedAttr
failed to read upper bound for BoundedAttr|unsupported AttributeTag"""


def test_every_listed_failure_is_provoked() -> None:
    listed = [text for line in LISTED.splitlines() for text in line.split("|")]
    assert len(listed) == 19
    assert [text for text in listed if not any(m.startswith(text) for _, m, _ in FAILURES)] == []


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        (ArrayAttr(), "the documented layout has no tag for ArrayAttr"),
        (Bounded(), "no variant of 'bounded' without a bound"),
        (DivBy(4, 2), "has 'every' and 'along' together or not at all"),
        (FloatAttr(SCALARS["f64"], 0), "the type table does not have f64"),
        (FloatAttr(LEAF, 0), "can only be the element of a tile or a view"),
    ],
)
def test_what_the_layout_cannot_hold(attr: Attr, message: str) -> None:
    with pytest.raises(TileError, match=message):
        documented.encode_attr(attr, TABLES)


def test_random_bytes_give_nothing_but_errors_with_a_place() -> None:
    rng = random.Random(3)
    for _ in range(20_000):
        data = bytes([rng.randrange(15), *(rng.choice((rng.randrange(256), rng.randrange(9))) for _ in range(8))])
        try:
            found = documented.decode_attr(data[: rng.randrange(10)], TABLES)
        except TileError as error:
            assert error.message and error.offset is not None
        else:
            assert documented.decode_attr(documented.encode_attr(found, TABLES), TABLES) == found


def test_huge_counts_are_refused_at_once() -> None:
    huge = "ff ff ff ff ff ff ff ff 7f"
    for data in (f"04 {huge}", f"05 {huge}", f"07 {huge}", f"08 {huge} 00", f"09 {huge}", f"01 fe {huge}",
                 f"0d fc {huge}", "04 01 80 80 80 08 00"):  # fmt: skip
        with pytest.raises(TileError) as caught:
            documented.decode_attr(bytes.fromhex(data), TABLES)
        assert caught.value.offset is not None


def test_huge_shapes_are_refused_at_once() -> None:
    size = "ff ff ff ff ff ff ff ff 7f "
    data = bytes.fromhex("05 a0 9c 01 " + size * 20_000 + "01 00")
    with pytest.raises(TileError, match="failed to read number of string attrs"):
        documented.decode_attr(data, TABLES)
