"""Compare the document on the bytecode reader with the layout of the tools: which claims hold, and which do not."""

from __future__ import annotations

import pytest

import tilery
from support.assemble import MAGIC, RETURN, File, function, i32, i64, tile, vi, zz
from tilery import TileError
from tilery.attrs import FloatAttr, IntegerOverflow
from tilery.declare.operation import BY_OPCODE
from tilery.ops import registered
from tilery.types import F32, I32, SCALARS, TOKEN, Function, PaddingValue, PartitionView, Ptr, TensorView, Tile, Type


def error(data: bytes, reader: str | None = None) -> TileError:
    with pytest.raises(TileError) as caught:
        tilery.load(data, reader=reader, verify=False)
    return caught.value


def param(*types: bytes, version: tuple[int, int] = (13, 1)) -> Type:
    """The last of these types, read as the parameter of an entry."""
    file = File(types=[*types, function([len(types) - 1])], signature=len(types), version=version)
    return tilery.load(file.data(), verify=False).entries[0].function_type.params[0]


def body(code: bytes, **changes: object) -> bytes:
    """A file whose entry has three parameters of tile<8xi32>, and this code."""
    file = File(types=[b"\x03", tile(0, 8), function([1, 1, 1])], signature=2, body=code)
    for name, value in changes.items():
        setattr(file, name, value)
    return file.data()


# ---------------------------------------------------------------- types


ELEMENTS = "i1 i8 i16 i32 i64 f16 bf16 f32 tf32 f64 f8E4M3FN f8E5M2"


@pytest.mark.parametrize(("number", "name"), list(enumerate(ELEMENTS.split())))
def test_tags_of_elements(number: int, name: str) -> None:
    assert param(vi(number)) is SCALARS[name]


def test_tags_of_composed_types() -> None:
    tensor = b"\x0e\x00" + i64(64, 64) + i64(64, 1)
    view = b"\x0f" + i32(8, 8) + b"\x01" + i32(0, 1) + b"\x00"
    assert param(b"\x07", b"\x0c\x00") is Ptr(F32)
    assert param(b"\x03", tile(0, 8, 4)) is Tile((8, 4), I32)
    assert param(b"\x07", tensor) is TensorView(F32, (64, 64), (64, 1))
    assert param(b"\x07", tensor, view) is PartitionView((8, 8), TensorView(F32, (64, 64), (64, 1)))
    assert param(b"\x03", function([0, 0], [0])) is Function([I32, I32], [I32])
    assert param(b"\x11") is TOKEN


def test_padding_of_a_partition_is_a_byte_and_a_number() -> None:
    tensor = b"\x0e\x00" + i64(64) + i64(1)
    found = param(b"\x07", tensor, b"\x0f" + i32(8) + b"\x01" + i32(0) + b"\x01\x02")
    assert found is PartitionView((8,), TensorView(F32, (64,), (1,)), None, PaddingValue.NAN)


def test_sizes_are_not_variable_length_integers() -> None:
    assert (
        "failed to read" in error(File(types=[b"\x03", b"\x0d\x00\x01\x08", function([1])], signature=2).data()).message
    )


def test_a_pointer_has_no_address_space() -> None:
    assert param(b"\x07", b"\x0c\x00\x05") is Ptr(F32), "bytes behind a type are ignored"


def test_tag_18_came_with_the_second_version() -> None:
    assert param(b"\x12", version=(13, 2)) is SCALARS["f8E8M0FNU"]
    assert param(b"\x12", b"\x0c\x00", version=(13, 2)) is Ptr(SCALARS["f8E8M0FNU"]), "it is an ordinary element"
    data = File(types=[b"\x12", function([0])], signature=1).data()
    assert error(data, "13.1").message == "unknown type tag: 18"
    assert error(data).message == "type 'Float8E8M0FNU' requires bytecode version 13.2+, file version is 13.1"


# ---------------------------------------------------------------- operations

WALK = bytes.fromhex("03 7f 03 02 04 05 00")


@pytest.mark.parametrize("reader", ["13.1", None])
def test_the_seven_bytes_are_no_operation_of_the_tools(reader: str | None) -> None:
    assert error(body(WALK + RETURN), reader).message == "failed to get result type 0 for AddIOp"


def test_the_addition_takes_five_bytes() -> None:
    module = tilery.load(body(bytes.fromhex("03 01 00 00 01") + RETURN), verify=False)
    o = module.entries[0].body.ops[0]
    assert isinstance(o, tilery.ops.AddI) and o.overflow is IntegerOverflow.NONE
    assert o.operands == module.entries[0].body.args[:2] and o.result.type is Tile((8,), I32)
    assert b"addi" not in tilery.dumps(module, verify=False)


def test_a_mnemonic_stands_once_in_the_dialect() -> None:
    """Operations have one name each, and files, however many operations they have, none."""
    names = [d.mnemonic for d in registered()]
    assert len(set(names)) == len(names) == len({d.opcode for d in registered()})
    data = tilery.dumps(tilery.load(body(bytes.fromhex("03 01 00 00 01") * 9 + RETURN), verify=False), verify=False)
    assert not [name for name in ("addi", "return", "entry", "module") if name.encode() in data]


def test_opcodes_of_the_first_version() -> None:
    first = [d.opcode for d in registered() if str(d.since) == "13.1"]
    assert len(first) == 92 and min(first) == 0x00 and max(first) <= 109
    holes = set(range(110)) - set(first)
    assert holes == {*range(0x19, 0x25), *range(0x34, 0x3A)}
    for opcode in holes:
        assert error(File(body=bytes([opcode])).data()).message == f"unknown or unimplemented opcode: {opcode}"


def test_opcode_110_is_atan2_from_the_second_version_on() -> None:
    assert BY_OPCODE[0x6E].mnemonic == "atan2" and str(BY_OPCODE[0x6E].since) == "13.2"
    assert error(File(body=b"\x6e").data(), "13.1").message == "unknown or unimplemented opcode: 110"


def test_enumerations_have_one_text() -> None:
    assert error(body(bytes.fromhex("03 01 09 00 01"))).message == "invalid integer value for enum type: 9"
    for enum, count in (
        ("ComparisonPredicate", 6),
        ("ComparisonOrdering", 2),
        ("IntegerOverflow", 4),
        ("Signedness", 2),
    ):
        assert [m.value for m in getattr(tilery.attrs, enum)] == list(range(count))


def test_operations_without_locations_point_at_entry_zero() -> None:
    module = tilery.load(body(bytes.fromhex("03 01 00 00 01") + RETURN, location=0), verify=False)
    assert module.entries[0].loc is None and module.entries[0].body.ops[0].loc is None


# ---------------------------------------------------------------- attributes


def identity(payload: bytes, types: list[bytes] | None = None) -> tilery.attrs.Attr:
    """An attribute read as the identity of a reduction."""
    listed = types or [b"\x07", tile(0, 8), tile(0), function([1])]
    code = b"\x58\x01\x02\x00\x01" + payload + b"\x01\x00\x01" + b"\x01\x02\x02\x02\x01" + b"\x6d\x00\x01\x01" + RETURN
    module = tilery.load(File(types=listed, signature=3, body=code).data(), verify=False)
    o = module.entries[0].body.ops[0]
    assert isinstance(o, tilery.ops.Reduce)
    return o.identities[0]


def test_tag_2_is_a_float_in_zig_zag() -> None:
    assert identity(b"\x02\x00" + zz(0x3F800000)) == FloatAttr(F32, 0x3F800000)


def test_strings_are_table_indices() -> None:
    types = [b"\x00", tile(0), function([1])]
    data = File(types=types, signature=2, strings=[b"k", b"why"], body=b"\x05\x01\x00" + RETURN).data()
    o = tilery.load(data).entries[0].body.ops[0]
    assert isinstance(o, tilery.ops.Assert) and o.message == "why"
    assert (
        error(File(types=types, signature=2, body=b"\x05\x04hi\x00" + RETURN).data()).message
        == "string index 4 out of bounds"
    )


def test_hints_are_strings_and_tagged_attributes() -> None:
    hints = vi(1) + vi(1) + b"\x0a" + vi(1) + vi(2) + b"\x01\x00\x08"
    file = File(types=[b"\x03", function([])], signature=1, strings=[b"k", b"sm_100", b"num_cta_in_cga"], flags=6)
    file.hints = b"\x0b" + hints
    found = tilery.load(file.data()).entries[0].optimization_hints
    assert found is not None and [key for key, _ in found.value.items] == ["sm_100"]


# ---------------------------------------------------------------- container


def test_the_envelope_is_not_mlirs() -> None:
    assert File().data().startswith(b"\x7fTileIR\x00\x0d\x01\x00\x00")
    assert "invalid magic number" in error(b"ML\xefR\x01\x00\x00\x00\x00\x00\x00\x00").message


def test_integers_are_leb128() -> None:
    long = body(bytes.fromhex("83 00 81 80 00 00 00 01") + RETURN)
    short = body(bytes.fromhex("03 01 00 00 01") + RETURN)
    assert tilery.equal(tilery.load(long, verify=False), tilery.load(short, verify=False))


def test_the_version_comes_first() -> None:
    found = error(MAGIC + b"\x0d\x02\x00\x00" + b"\xff" * 40, "13.1")
    assert found.message == "unsupported Tile version 13.2.0, this reader supports versions [13.1, 13.1]"


def test_the_tag_of_a_version_has_16_bits() -> None:
    assert tilery.load(File(tag=0xFFFF).data(), reader="13.1").entries
    assert len(File(tag=0xFFFF).data()) == len(File(tag=0).data())


def test_types_are_read_when_they_are_used() -> None:
    assert tilery.load(File(types=[function([]), b"\x7f"]).data()).entries
    assert error(File(types=[b"\x7f", function([0])], signature=1).data()).message


def test_unknown_debug_tags_are_unknown_locations() -> None:
    entry = (1).to_bytes(8, "little") * 2 + vi(1) + b"\xcb" * 3 + bytes(4) + b"\x07"
    payload = b"\x01\xcb\xcb\xcb" + bytes(4) + b"\x02" + b"\xcb" * 7 + entry
    assert tilery.load(File(location=1, sections={3: (payload, 8)}).data()).entries[0].loc is None
