"""Files assembled byte by byte that the reader accepts or refuses, and its messages."""

from __future__ import annotations

import pytest

import tilery
from support.assemble import MAGIC, RETURN, File, function, i32, tile, vi, zz
from tilery import TileError
from tilery.attrs import Bounded, Dense, DivBy, SameElements, StrAttr
from tilery.types import I32, Tile


def load(data: bytes, reader: str | None = None) -> tilery.Module:
    """Read a file, legal or not."""
    return tilery.load(data, reader=reader, verify=False)


def error(data: bytes, reader: str | None = None) -> TileError:
    with pytest.raises(TileError) as caught:
        load(data, reader)
    return caught.value


def assume(predicate: bytes, *, rank: int = 1) -> bytes:
    """Return a body that makes a tile and assumes something about it; types are i32, tile<..>, function."""
    return b"\x3a\x01" + b"\x06\x01" + predicate + b"\x00" + RETURN


TYPES = [b"\x03", tile(0, 8), function([])]
UNKNOWN_DENSE = "unknown DenseElementsAttr based Attr"


def with_body(body: bytes, **changes: object) -> File:
    file = File(types=list(TYPES), signature=2, body=body)
    for name, value in changes.items():
        setattr(file, name, value)
    return file


def test_the_smallest_file() -> None:
    module = load(File().data())
    assert str(module.version) == "13.1"
    assert [e.sym_name for e in module.entries] == ["k"]


@pytest.mark.parametrize("version", [(13, 0), (13, 6), (12, 1), (14, 1), (250, 0)])
def test_version_window(version: tuple[int, int]) -> None:
    found = error(File(version=version).data())
    assert found.message == (
        f"unsupported Tile version {version[0]}.{version[1]}.0, this reader supports versions [13.1 - 13.4]"
    )
    assert found.offset == 8


def test_the_first_reader_takes_only_its_version() -> None:
    found = error(File(version=(13, 2)).data(), "13.1")
    assert found.message == "unsupported Tile version 13.2.0, this reader supports versions [13.1, 13.1]"
    assert load(File(tag=65535).data(), reader="13.1").entries


def test_opcode_110() -> None:
    data = File(body=b"\x6e").data()
    assert error(data).message == "unsupported opcode 110 for bytecode version 13.1"
    assert error(data, "13.1").message == "unknown or unimplemented opcode: 110"
    assert error(File(body=b"\x19").data()).message == "unknown or unimplemented opcode: 25"


# The messages of NVIDIA's 13.1 attribute reader, and those of the newest one.
@pytest.mark.parametrize(
    ("payload", "old", "new"),
    [
        (b"\x01\x7f", "failed to read valid IntegerType for IntegerAttr", None),
        (b"\x02\x00", "failed to read valid FloatType for FloatAttr", None),
        (b"\x04\x7f", "failed to get referenced type for TypeAttr", None),
        (b"\x05\x7f", "string index 127 out of bounds", None),
        (b"\x07\x00", "failed to read valid MLIR Type for self-contained DenseElementsAttr", None),
        (b"\x08", "failed to read divisor for DivByAttr", "failed to read divisor"),
        (b"\x08\x10", "failed to read flags byte for DivByAttr", "failed to read optional parameter flags"),
        (b"\x08\x10\x01", "failed to read value for 'every' in DivByAttr", "failed to read every_val"),
        (b"\x08\x10\x02", "failed to read value for 'along' in DivByAttr", "failed to read along_val"),
        (b"\x09", "failed to read DenseI64ArrayAttr values.", "failed to read values data"),
        (b"\x0c", "failed to read flags byte for BoundedAttr", "failed to read optional parameter flags"),
        (b"\x0c\x01", "failed to read lower bound for BoundedAttr", "failed to read lb_val"),
        (b"\x0c\x02", "failed to read upper bound for BoundedAttr", "failed to read ub_val"),
        (b"\x0d", "unsupported AttributeTag 13 for self-contained attribute", None),
        (b"\x07\x01", "failed to read number of string attrs in DenseElementsAttr", UNKNOWN_DENSE),
        (b"\x07\x01\x01\x7f", "string index 127 out of bounds", UNKNOWN_DENSE),
    ],
)
def test_attribute_reader_texts(payload: bytes, old: str, new: str | None) -> None:
    # The assume is the last operation, so that its data ends with the payload.
    data = with_body(b"\x3a\x01\x06\x01" + payload).data()
    assert error(data, "13.1").message == old
    assert error(data).message == (new or old)


def test_enclosing_messages_are_notes() -> None:
    found = error(File(body=b"\x05\x7f").data())
    assert [found.message, *found.notes] == [
        "string index 127 out of bounds",
        "failed to read StringAttr.",
        "failed to parse attribute 'message'",
        "failed to parse function body for function 'k'",
        "failed to create function from bytecode",
    ]
    assert found.field == "message"
    assert str(found).startswith(f"error: at byte 0x{found.offset:x}: string index 127 out of bounds\nnote: ")


def test_predicates() -> None:
    for payload, expected in [
        (b"\x08\x10\x00", DivBy(16)),
        (b"\x08\x04\x03" + zz(2) + zz(0), DivBy(4, 2, 0)),
        (b"\x09\x01" + (4).to_bytes(8, "little"), SameElements((4,))),
        (b"\x0c\x03" + zz(-5) + zz(7), Bounded(-5, 7)),
        (b"\x0c\x00", Bounded()),
    ]:
        data = with_body(assume(payload)).data()
        module = load(data)
        assert module.entries[0].body.ops[1].predicate == expected  # type: ignore[attr-defined]
        assert tilery.dumps(tilery.clone(module)) == data


def test_a_broken_type_that_nothing_uses_is_no_error() -> None:
    types = [function([]), b"\x7f\x01\x02", tile(9, 3)]
    data = File(types=types).data()
    module = load(data)
    assert tilery.dumps(tilery.clone(module)) == data, "it stays in the table"
    converted = load(tilery.dumps(module, "13.2"))
    assert converted.layout is not None and len(converted.layout.types) == 1, "conversion drops what nothing uses"


def test_cyclic_types() -> None:
    found = error(File(types=[function([1]), tile(1, 4)], signature=0).data())
    assert found.message == "failed to get elementType type"
    assert "type 1 refers to itself" in found.notes[0]


def test_deeply_nested_types_are_refused() -> None:
    types = [function([i + 1]) for i in range(5000)] + [function([])]
    assert "more than 100 deep" in error(File(types=types).data()).message


def test_function_types_that_would_print_to_gigabytes() -> None:
    types = [function([i + 1] * 40) for i in range(60)] + [function([])]
    module = load(File(types=types).data())
    with pytest.raises(TileError, match="longer than"):
        _ = module.entries[0].function_type.text


def test_deeply_nested_regions_are_fine() -> None:
    depth = 20_000
    # if %0 { ... yield } with an empty else; the condition is the entry's parameter
    opening = b"\x32\x00\x00\x02\x01\x00" + b"\x02"
    closing = b"\x6d\x00\x00" + b"\x00"
    body = opening * depth + b"\x05\x00\x00" + closing * depth + RETURN
    file = File(types=[b"\x00", tile(0), function([1])], signature=2, body=body)
    data = file.data()
    module = load(data)
    assert sum(1 for _ in tilery.walk(module)) == 2 * depth + 4
    assert tilery.dumps(tilery.clone(module)) == data
    assert tilery.equal(module, tilery.clone(module))


def test_huge_counts_are_refused_at_once() -> None:
    huge = vi((1 << 63) - 1)
    for number in (1, 2, 3, 4, 5):
        assert error(File(order=(1, 2, 3, 4, 5), sections={number: (huge, 8)}).data()).offset is not None
    for body in (b"\x10\x01" + huge, b"\x32" + huge, b"\x53\x01" + huge, b"\x5c\x00" + huge):
        assert error(with_body(body).data()).message


def test_debug_entries_that_share_everything() -> None:
    """Sixty call sites, each of which refers twice to the one before: a tree of 2**60 locations in a table of sixty."""
    entries = [b"\x06\x00\x00"] + [b"\x06" + vi(i) + vi(i) for i in range(1, 61)]
    offsets = b"".join((3 * i).to_bytes(4, "little") for i in range(61))
    payload = b"\x01\xcb\xcb\xcb" + bytes(4) + b"\x02" + b"\xcb" * 7
    payload += (61).to_bytes(8, "little") * 2 + vi(61) + b"\xcb" * 3 + offsets + b"".join(entries)
    data = File(location=1, sections={3: (payload, 8)}).data()
    module = load(data)
    assert tilery.equal(module, tilery.clone(module))
    assert tilery.dumps(tilery.clone(module), verify=False) == data
    assert tilery.dumps(module, "13.2", verify=False)


def test_strings_that_are_not_utf8_survive() -> None:
    body = b"\x5c\x00\x00"
    data = File(strings=[b"k\xff\xfe"], body=body).data()
    module = load(data)
    assert module.entries[0].sym_name == "k\udcff\udcfe"
    assert tilery.dumps(tilery.clone(module)) == data


def test_overlapping_strings_do_not_eat_the_memory() -> None:
    count = 4000
    offsets = b"".join((1 << 20 if i % 2 else 0).to_bytes(4, "little") for i in range(count))
    payload = vi(count) + b"\xcb\xcb" + offsets + b"k" * (1 << 20)
    file = File(body=b"".join(b"\x10\x01\x00" + b"\x05" + vi(i) + b"\x00" for i in range(count)) + RETURN)
    file.types = [b"\x00", tile(0), function([])]
    file.signature, file.constants = 2, [b"\x01\x00"]
    file.sections[1] = (payload, 4)
    assert "overlap too much" in error(file.data()).message


def test_private_entries_keep_their_flag() -> None:
    data = File(flags=3).data()
    module = load(data)
    assert module.entries[0].extra == {"sym_visibility": StrAttr("private")}
    assert tilery.dumps(tilery.clone(module)) == data


def test_unknown_flag_bits() -> None:
    assert load(File(flags=0xF2).data()).entries
    found = error(File(version=(13, 4), flags=0xF2).data())
    assert found.message == "function entry has unrecognized flag bits (0xF0);"


def test_sections_in_any_order_come_back_in_that_order() -> None:
    for order in ((2, 4, 3, 5, 1), (1, 5, 4, 2), (5, 1, 2, 4)):
        data = with_body(b"\x10\x01\x00" + RETURN, order=order, constants=[b"\x04\x07\0\0\0"]).data()
        module = load(data)
        assert tilery.dumps(tilery.clone(module)) == data


def test_equal_constants_stored_twice_stay_twice() -> None:
    body = b"\x10\x01\x00" + b"\x10\x01\x01" + b"\x10\x01\x00" + RETURN
    entry = b"\x04\x07\0\0\0"
    data = with_body(body, constants=[entry, entry]).data()
    module = load(data)
    assert tilery.dumps(tilery.clone(module)) == data
    assert module.entries[0].body.ops[1].value == Dense(Tile((8,), I32), b"\x07\0\0\0")  # type: ignore[attr-defined]


def test_other_encodings_are_normalised() -> None:
    plain = with_body(b"\x3a\x01" + RETURN).data()
    overlong = with_body(b"\xba\x80\x00\x81\x00" + RETURN).data()
    trailing = with_body(b"\x3a\x01" + RETURN, types=[b"\x03\xaa", tile(0, 8) + b"\0", function([])]).data()
    for data in (overlong, trailing):
        module = load(data)
        assert tilery.equal(module, load(plain))
        assert load(tilery.dumps(module)).entries


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated bytecode: missing magic byte at position 0"),
        (b"ML\xefR\0\0\0\0\0\0\0\0", "invalid magic number at position 0, got 77 expected 127"),
        (MAGIC + b"\x0d\x01\0\0", "unexpected end of data while reading section header"),
        (MAGIC + b"\x0d\x01\0\0\x88\x00", "unknown section ID: 8"),
        (MAGIC + b"\x0d\x01\0\0\x80", "end section should not have alignment flag set"),
        (MAGIC + b"\x0d\x01\0\0\x00", "string section is mandatory"),
        (MAGIC + b"\x0d\x01\0\0\x00\x01", "end section is not the last section"),
        (MAGIC + b"\x0d\x01\0\0\x01\x05", "section length 5 exceeds remaining data size 0"),
        (MAGIC + b"\x0d\x01\0\0\x81\x00\x03", "invalid alignment value: 3"),
        (
            MAGIC + b"\x0d\x01\0\0\x01\x00\x00",
            "section 1 must have alignment that is a multiple of 4 bytes, but has no alignment flag set",
        ),
    ],
)
def test_broken_containers(data: bytes, message: str) -> None:
    assert error(data).message == message


def test_a_block_needs_a_terminator() -> None:
    types = [b"\x00", tile(0), function([1])]
    body = b"\x32\x00\x00\x02\x01\x00\x00" + b"\x00" + RETURN
    found = error(File(types=types, signature=2, body=body).data())
    assert found.message == (
        "invalid block structure: block is expected to have a terminator operation, but it is empty"
    )


def test_permutations_refuse_the_extremes() -> None:
    body = b"\x53\x01" + i32(0x7FFFFFFF) + b"\x00"
    assert error(with_body(b"\x3a\x01" + body).data()).message == "array contains unsupported value 2147483647"


def test_unknown_reader() -> None:
    assert "unknown reader '12.0'" in error(File().data(), "12.0").message
