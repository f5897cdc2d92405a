"""The documented record layout: the seven-byte walk, types, enumerations, regions, and what is refused."""

from __future__ import annotations

import random

import pytest

import tilery
from tilery import Block, TileError, Value, documented, ops
from tilery.attrs import (
    CallSite,
    Dense,
    DICompileUnit,
    DictAttr,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    FileLineCol,
    IntAttr,
    IntegerOverflow,
    OptimizationHints,
    RoundingMode,
    StrAttr,
)
from tilery.cli.main import main
from tilery.declare.operation import BY_OPCODE
from tilery.documented import Tables
from tilery.documented.enums import ENUMS, TABLES
from tilery.documented.records import OPCODES
from tilery.documented.typecodec import LAST_TAG
from tilery.ops import registered
from tilery.smith import smith
from tilery.types import (
    DYNAMIC,
    F32,
    I1,
    I32,
    SCALARS,
    TOKEN,
    Function,
    PaddingValue,
    PartitionView,
    Ptr,
    TensorView,
    Tile,
    Type,
)

TILE = Tile((8,), I32)
LEAF = SCALARS["f8E8M0FNU"]
WALK = bytes.fromhex("03 7f 03 02 04 05 00")


def table() -> tuple[list[Type], list[Value]]:
    """A type table with the tile at 3, and six values of that type."""
    return [I1, F32, I32, TILE], [Value(TILE) for _ in range(6)]


def refused(data: bytes, types: list[Type] | None = None, **tables: object) -> TileError:
    known, values = table()
    with pytest.raises(TileError) as caught:
        documented.decode_op(data, known if types is None else types, values, **tables)  # type: ignore[arg-type]
    assert caught.value.offset is not None
    return caught.value


# ---------------------------------------------------------------- the walk


def test_the_seven_bytes_are_an_addition() -> None:
    types, values = table()
    o = documented.decode_op(WALK, types, values)
    assert isinstance(o, ops.AddI)
    assert (o.lhs, o.rhs, o.result.type, o.loc) == (values[4], values[5], TILE, None)
    assert o.overflow is IntegerOverflow.NONE


def test_the_addition_is_seven_bytes() -> None:
    types, values = table()
    assert documented.encode_op(ops.AddI(lhs=values[4], rhs=values[5]), types, values) == WALK


def test_a_location_is_an_index() -> None:
    types, values = table()
    here = FileLineCol("k.py", 7, 1)
    o = ops.AddI(lhs=values[4], rhs=values[5])
    o.loc = here
    data = documented.encode_op(o, types, values, locations=[None, here])
    assert data == bytes.fromhex("03 01 03 02 04 05 00")
    assert documented.decode_op(data, types, values, locations=[None, here]).loc is here


@pytest.mark.parametrize("index", [0, 63, 64, 8191])
def test_up_to_64_locations_take_a_byte(index: int) -> None:
    types, values = table()
    here = FileLineCol("k.py", 1, 1)
    o = ops.AddI(lhs=values[4], rhs=values[5])
    o.loc = here
    data = documented.encode_op(o, types, values, locations=[None] * index + [here])
    assert len(data) == (7 if index < 64 else 8)
    assert documented.decode_op(data, types, values, locations=[None] * index + [here]).loc is here


def test_attributes_are_an_index() -> None:
    types, values = table()
    o = ops.AddI(lhs=values[4], rhs=values[5], overflow=IntegerOverflow.NSW)
    attributes = [DictAttr(), documented.dictionary(o)]
    data = documented.encode_op(o, types, values, attributes=attributes)
    assert data == WALK[:-1] + b"\x01"
    again = documented.decode_op(data, types, values, attributes=attributes)
    assert isinstance(again, ops.AddI) and again.overflow is IntegerOverflow.NSW


def test_names_are_not_in_the_stream() -> None:
    types, values = table()
    assert b"addi" not in documented.encode_op(ops.AddI(lhs=values[0], rhs=values[1]), types, values)


def test_long_names_take_no_more_bytes() -> None:
    types, values = [Tile((), F32)], [Value(Tile((), F32))]
    sizes = {len(documented.encode_op(cls(source=values[0]), types, values)) for cls in (ops.Cos, ops.Floor, ops.Rsqrt)}
    assert sizes == {6}


def test_the_layout_of_the_tools_is_shorter_and_is_not_mistaken_for_this_one() -> None:
    assert refused(bytes.fromhex("03 03 00 04 05")).message


# ---------------------------------------------------------------- whole functions


def everything(o: tilery.Op) -> tuple[list[Type], list[Value], list[tilery.attrs.Attr]]:
    """The tables that an operation needs."""
    inside = list(tilery.walk(o))
    types: dict[Type, None] = {}
    attributes: list[tilery.attrs.Attr] = [DictAttr()]
    for inner in inside:
        types |= dict.fromkeys(v.type for v in [*inner.results, *(a for b in inner.blocks for a in b.args)])
        if (found := documented.dictionary(inner)) not in attributes:
            attributes.append(found)
    return list(types), [], attributes


@pytest.mark.parametrize("seed", range(25))
def test_functions_survive_bytes(seed: int) -> None:
    module = smith(seed, version=tilery.Version(13, 1), size=60)
    for entry in module.entries:
        for o in tilery.walk(entry):
            o.loc = None
        types, values, attributes = everything(entry)
        data = documented.encode_op(entry, types, values, attributes=attributes)
        again = documented.decode_op(data, types, values, attributes=attributes)
        assert tilery.difference(entry, again) is None
        assert documented.encode_op(again, types, values, attributes=attributes) == data


def test_depth_is_no_recursion() -> None:
    scalar = Tile((), I1)
    argument = Value(scalar)
    block = Block([], [ops.Yield()])
    for _ in range(5_000):
        block = Block([], [ops.If(condition=argument, thenRegion=block, results_=()), ops.Yield()])
    body = Block([argument], [*block.ops[:-1], ops.Return()])
    entry = ops.Entry(sym_name="k", function_type=Function([scalar]), body=body)
    attributes = [DictAttr(), documented.dictionary(entry)]
    data = documented.encode_op(entry, [scalar], [], attributes=attributes)
    assert (
        documented.encode_op(
            documented.decode_op(data, [scalar], [], attributes=attributes), [scalar], [], attributes=attributes
        )
        == data
    )


# ---------------------------------------------------------------- opcodes and versions


def test_opcodes() -> None:
    """Opcodes below 110 that exist have a case; 110 and above have none."""
    unknown = []
    for opcode in range(130):
        out = bytearray()
        tilery.bytecode.wire.put_varint(out, opcode)
        if refused(bytes(out)).message == f"unknown or unimplemented opcode: {opcode}":
            unknown.append(opcode)
    assert unknown == [opcode for opcode in range(130) if opcode not in OPCODES or opcode not in BY_OPCODE]


def test_the_roster_has_92_operations_in_110_opcodes() -> None:
    assert len(OPCODES) == 110
    assert sum(d.opcode in OPCODES for d in registered()) == 92
    assert tilery.ops.Atan2.opdef.opcode == 110


@pytest.mark.parametrize("patch", [0, 1, (1 << 32) - 1])
def test_versions_in_the_window(patch: int) -> None:
    documented.check_version(13, 1, patch)


@pytest.mark.parametrize("version", [(13, 0, 0), (13, 2, 0), (12, 1, 0), (14, 1, 0), (13, 1, 1 << 32)])
def test_versions_outside_the_window(version: tuple[int, int, int]) -> None:
    with pytest.raises(TileError, match=r"unsupported Tile version \d+\.\d+\.\d+, this reader supports"):
        documented.check_version(*version)


# ---------------------------------------------------------------- types

DYNAMIC_BYTES = "80 80 80 80 80 80 80 80 80 01"
TENSOR = TensorView(F32, (DYNAMIC, 64), (64, 1))
TYPES: list[Type] = [I32, F32, LEAF, TENSOR, Ptr(F32)]
EXAMPLES: list[tuple[str, Type]] = [
    *((f"{s.tag:02x}", s) for s in SCALARS.values() if s.tag <= 18),
    ("0c 01 00", Ptr(F32)),
    ("0d 00 00", Tile((), I32)),
    ("0d 00 02 08 10", Tile((8, 16), I32)),
    ("0d 00 01 80 01", Tile((128,), I32)),
    ("0d 04 01 08", Tile((8,), Ptr(F32))),
    ("0d 02 01 20", Tile((32,), LEAF)),
    (f"0e 01 02 {DYNAMIC_BYTES} 40 02 40 01", TENSOR),
    ("0e 02 01 20 01 01", TensorView(LEAF, (32,), (1,))),
    ("0f 03 02 08 10 02 01 00 00", PartitionView((8, 16), TENSOR, (1, 0))),
    ("0f 03 02 08 10 02 00 01 03", PartitionView((8, 16), TENSOR, (0, 1), PaddingValue.NAN)),
    ("10 02 00 01 01 03", Function([I32, F32], [TENSOR])),
    ("11", TOKEN),
]


@pytest.mark.parametrize(("data", "expected"), EXAMPLES, ids=lambda x: str(x))
def test_types_both_ways(data: str, expected: Type) -> None:
    assert documented.decode_type(bytes.fromhex(data), TYPES) is expected
    assert documented.encode_type(expected, TYPES) == bytes.fromhex(data)


def test_every_type_tag_has_an_example() -> None:
    assert {int(data[:2], 16) for data, _ in EXAMPLES} == set(range(LAST_TAG + 1))
    assert LAST_TAG == 18


def test_a_partition_of_an_element_is_of_a_dynamic_tensor() -> None:
    found = documented.decode_type(bytes.fromhex("0f 01 01 08 01 00 00"), TYPES)
    assert found is PartitionView((8,), TensorView(F32, (DYNAMIC,), (DYNAMIC,)))


def test_a_partition_of_the_leaf() -> None:
    found = documented.decode_type(bytes.fromhex("0f 02 01 20 01 00 00"), TYPES)
    assert isinstance(found, PartitionView) and found.tensor_view.element is LEAF


@pytest.mark.parametrize("data", ["0c 02 00", "10 01 02 00", "10 00 01 02"])
def test_the_type_of_tag_18_is_a_leaf(data: str) -> None:
    with pytest.raises(TileError, match="can only be the element of a tile or a view"):
        documented.decode_type(bytes.fromhex(data), TYPES)


def test_the_leaf_is_no_result_type() -> None:
    assert "can only be the element" in refused(WALK, [I1, F32, I32, LEAF]).message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("13", "unknown type tag: 19"),
        ("0d 00 01 03", "all dimensions must be powers of two, got 3"),
        ("0d 00 01 00", "all dimensions must be positive constants, got 0"),
        ("0d 00 ff ff ff ff 0f", "rank 4294967295 exceeds the 0 bytes that are left"),
        ("0d 09 00", "type index 9 out of bounds"),
        ("0c 04 00", "failed to verify 'pointeeType'"),
        ("0c 01 03", "address space 3 of a pointer is not 0"),
        ("0e 01 01 08 00", "expected shape and stride to be of same rank"),
        ("0f 03 02 08 10 02 00 00 00", "mapped at least twice"),
        ("0f 03 02 08 10 02 00 01 06", "partition mode 6"),
        ("11 00", "1 bytes are left after the type"),
        ("", "the data ends inside a variable-length integer"),
    ],
)
def test_types_that_are_refused(data: str, message: str) -> None:
    with pytest.raises(TileError) as caught:
        documented.decode_type(bytes.fromhex(data), TYPES)
    assert message in caught.value.message and caught.value.offset is not None


# ---------------------------------------------------------------- enumerations


def test_there_are_six_enumerations() -> None:
    assert list(ENUMS) == ["Comparison", "Overflow", "PaddingValue", "Rounding", "Signedness", "Width"]


@pytest.mark.parametrize("name", TABLES)
def test_enumerations_both_ways(name: str) -> None:
    members = {number: documented.decode_enum(bytes([number]), name) for number in TABLES[name]}
    assert members == TABLES[name]
    assert {number: documented.encode_enum(member) for number, member in members.items()} == {
        number: bytes([number]) for number in members
    }


@pytest.mark.parametrize("name", ENUMS)
def test_each_enumeration_says_what_it_has(name: str) -> None:
    with pytest.raises(TileError) as caught:
        documented.decode_enum(bytes([len(TABLES[name])]), name)
    assert caught.value.message == f"invalid {name} value: {len(TABLES[name])}"
    assert caught.value.notes[0].startswith(f"{name} has 0 ")
    with pytest.raises(TileError, match=f"failed to read {name}"):
        documented.decode_enum(b"", name)


def test_modes_that_are_newer_have_no_number() -> None:
    with pytest.raises(TileError, match="no reader for 'nearest_away'"):
        documented.encode_enum(RoundingMode.NEAREST_AWAY)


# ---------------------------------------------------------------- other payloads


def test_dictionaries_hold_enumerations_in_place_and_refer_to_the_rest() -> None:
    _, values = table()
    o = ops.CmpI(comparison_predicate=tilery.attrs.ComparisonPredicate.LESS_THAN, lhs=values[0], rhs=values[1],
                 signedness=tilery.attrs.Signedness.SIGNED)  # fmt: skip
    found = documented.dictionary(o)
    tables = Tables(strings=["comparison_predicate", "signedness"], attributes=[DictAttr(), StrAttr("x")])
    data = documented.encode_dict(DictAttr((*found.items, ("note", StrAttr("x")))), tables)
    assert data == bytes.fromhex("03 01 02 03 01 08") + b"note" + b"\x01"
    assert documented.decode_dict(data, tables) == DictAttr((*found.items, ("note", StrAttr("x"))))


def test_hints_are_architectures_and_references() -> None:
    inner = DictAttr((("latency", Dense.of(Tile((), I32), [2])),))
    tables = Tables(strings=["sm_100"], attributes=[DictAttr(), inner])
    hints = OptimizationHints(DictAttr((("sm_100", inner),)))
    assert documented.encode_hints(hints, tables) == bytes.fromhex("01 01 01")
    integer = OptimizationHints(DictAttr((("sm_100", DictAttr((("latency", IntAttr(I32, 2)),))),)))
    assert documented.decode_hints(bytes.fromhex("01 01 01"), tables) == integer
    with pytest.raises(TileError, match="are not a dictionary"):
        documented.decode_hints(bytes.fromhex("01 01 01"), Tables(["sm_100"], ["sm_100"], [inner, StrAttr("")]))  # type: ignore[list-item]


def test_operand_segments_are_a_rank_and_signed_numbers() -> None:
    assert documented.encode_segments((1, 0, 2)) == bytes.fromhex("03 02 00 04")
    assert documented.decode_segments(bytes.fromhex("03 02 00 04")) == (1, 0, 2)


def test_shapes_are_a_rank_and_numbers() -> None:
    assert documented.encode_shape((8, 128)) == bytes.fromhex("02 08 80 01")
    assert documented.decode_shape(bytes.fromhex("02 08 80 01")) == (8, 128)


def test_seven_debug_tags_both_ways() -> None:
    strings = ["k.py", "/src", "f", "_f"]
    tables = Tables(strings=strings)
    file = DIFile("k.py", "/src")
    unit = DICompileUnit(file)
    program = DISubprogram(file, 1, "f", "_f", unit, 2)
    block = DILexicalBlock(program, file, 3, 4)
    loc = DILoc(FileLineCol("k.py", 5, 6), block)
    nodes = [None, unit, file, block, loc, program, CallSite(loc, None)]
    entries = [file, unit, program, block, loc]
    for tag, node in enumerate(nodes):
        data = documented.encode_debug(node, tables, entries)
        assert data[0] == tag
        assert documented.decode_debug(data, tables, entries) is node


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("07", "unknown debug tag: 7"),
        ("02 04 00", "string index 4 out of bounds"),
        ("01 01", "debug index 1 out of bounds"),
        ("01 00", "debug entry 0 is an unknown location"),
        ("00 00", "1 bytes are left after the debug entry"),
    ],
)
def test_debug_entries_that_are_refused(data: str, message: str) -> None:
    with pytest.raises(TileError) as caught:
        documented.decode_debug(bytes.fromhex(data), Tables(strings=["a", "b"]))
    assert message in caught.value.message and caught.value.offset is not None


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "failed to read opcode"),
        ("6e", "unknown or unimplemented opcode: 110"),
        ("19", "unknown or unimplemented opcode: 25"),
        ("03", "failed to read location index"),
        ("03 7e 03 02 04 05 00", "location index -2 is negative"),
        ("03 00 03 02 04 05 00", "addi: location index 0 out of bounds"),
        ("03 7f", "failed to read result 0: type"),
        ("03 7f 09 02 04 05 00", "addi: type index 9 out of bounds"),
        ("03 7f 03 05 04 05 00", "number of operands 5 exceeds the 3 bytes that are left"),
        ("03 7f 03 01 04 00", "addi: 1 operands do not fit, expected 2"),
        ("03 7f 03 02 04 63 00", "addi: value index 99 out of bounds"),
        ("03 7f 03 02 04 05", "failed to read attribute dictionary"),
        ("03 7f 03 02 04 05 01", "addi: attribute index 1 out of bounds"),
        ("03 7f 03 02 04 05 00 00", "1 bytes are left after the operation"),
        ("10 7f 03 00 00", "'cuda_tile.constant' op requires attribute 'value'"),
        ("32 7f 00 01 00 00 02", "region 'thenRegion' has 2 blocks"),
        ("32 7f 00 01 00 00 00 00", "if: region 'thenRegion' must have a block"),
        ("03 80 80 80 80 80 80 80 80 80 80 01", "a signed LEB128 number has more than ten bytes"),
    ],
)
def test_records_that_are_refused(data: str, message: str) -> None:
    assert message in refused(bytes.fromhex(data)).message


def test_random_bytes_give_nothing_but_errors_with_a_place() -> None:
    rng = random.Random(7)
    types, values = table()
    for _ in range(4000):
        data = bytes(rng.choice((rng.randrange(256), rng.randrange(8))) for _ in range(rng.randrange(24)))
        for start in (b"", WALK[:3], b"\x32\x7f\x00\x01\x00\x00\x01\x00"):
            try:
                documented.decode_op(start + data, types, values, attributes=[DictAttr(), StrAttr("")])
            except TileError as error:
                assert error.message and error.offset is not None


# ---------------------------------------------------------------- the command


def test_dump_says_what_every_byte_means(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/records"
    with open(path, "wb") as file:
        file.write(WALK + bytes.fromhex("5c 7f 00 00"))
    assert main(["dump", "--documented", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "cuda_tile.addi %4, %5 : type 3",
        "00000000  03                       opcode 3: addi",
        "00000001  7f                         location -1: unknown",
        "00000002  03                         result 0: type 3",
        "00000003  02                         number of operands: 2",
        "00000004  04                         operand 0: %4",
        "00000005  05                         operand 1: %5",
        "00000006  00                         attribute dictionary 0",
        "cuda_tile.return",
        "00000007  5c                       opcode 92: return",
        "00000008  7f                         location -1: unknown",
        "00000009  00                         number of operands: 0",
        "0000000a  00                         attribute dictionary 0",
    ]


def test_dump_shows_locations_attributes_and_regions() -> None:
    found = documented.dump_records(bytes.fromhex("32 00 01 03 01 09 02 01 01 03 01 6d 05 01 0a 00 00"))
    assert found.error is None
    assert [line.strip() for line in found.lines() if not line[:8].isalnum()] == [
        "cuda_tile.if %9 {attributes 2} : type 3 loc(0)",
        "cuda_tile.yield %10 loc(5)",
    ]
    assert [mark.text for mark in found.marks] == [
        "opcode 50: if", "location 0", "number of results: 1", "result 0: type 3", "number of operands: 1",
        "operand 0: %9", "attribute dictionary 2", "thenRegion: 1 block", "number of arguments: 1",
        "argument 0: type 3", "number of operations: 1", "opcode 109: yield", "location 5", "number of operands: 1",
        "operand 0: %10", "attribute dictionary 0", "elseRegion: 0 blocks",
    ]  # fmt: skip
    assert found.marks[11].depth == 2


def test_dump_goes_up_to_the_break(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/records"
    with open(path, "wb") as file:
        file.write(WALK[:3] + b"\xff")
    assert main(["dump", "--documented", path]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "00000003  ff                       not read"
    assert "at byte 0x3: failed to read number of operands" in shown.err
