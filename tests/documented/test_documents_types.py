"""Claims of the document on types and attributes that hold: each rule once, with its text where it has one."""

from __future__ import annotations

import pytest

import tilery
from support.assemble import RETURN, File, function, i64, tile, vi
from tilery import TileError, attrs
from tilery.attrs import AtomicRMWMode, MemoryOrderingSemantics, MemoryScope, TileEnum
from tilery.bytecode.typecodec import ROWS
from tilery.declare.fields import AttrKind
from tilery.declare.operation import BY_NAME
from tilery.documented import encode_type
from tilery.ops import registered
from tilery.types import (
    DYNAMIC,
    F32,
    I8,
    I32,
    NUMBERS,
    SCALARS,
    STRING,
    TOKEN,
    PaddingValue,
    PartitionView,
    Ptr,
    TensorView,
    Tile,
    Token,
)
from tilery.version import V13_1

INTEGERS = ["i1", "i8", "i16", "i32", "i64"]
FLOATS = ["f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2"]
TENSOR = TensorView(F32, (64, 64), (64, 1))
ENTRY = "entry @k(%n: tile<i32>, %x: tile<f32>, %p: tile<ptr<f32>>) {{\n{}\nreturn\n}}"
TILES = """%v = iota : tile<8xi32>
%w = constant <i32: 0> : tile<4x8xi32>
%f = constant <f32: 0.0> : tile<8xf32>
%t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
"""


def refused(make: object) -> str:
    with pytest.raises(TileError) as caught:
        make()  # type: ignore[operator]
    return caught.value.message


def verdict(body: str) -> str:
    """Return the first error of the verifier, without the operation's name; empty when there is none."""
    try:
        tilery.parse(ENTRY.format(TILES + body))
    except TileError as error:
        return error.message.partition(" op ")[2] or error.message
    return ""


def assume(predicate: str, value: str = "%v", type: str = "tile<8xi32>") -> str:
    return verdict(f"%r = assume {predicate}, {value} : {type}")


# ---------------------------------------------------------------- types


def test_five_types_are_public() -> None:
    tensor = "tensor_view<8xf32, strides=[1]>"
    for text in ("tile<8xi32>", "ptr<f32>", tensor, f"partition_view<tile=(8), {tensor}>", "token"):
        assert tilery.parse(f"#a = !cuda_tile.{text}") is not None


def test_a_string_is_no_type_of_text() -> None:
    assert refused(lambda: tilery.parse("#a = !cuda_tile.string")) == "unknown  type `string` in dialect `cuda_tile`"


def test_a_string_has_no_place_in_bytecode() -> None:
    assert "no tag" in refused(lambda: encode_type(STRING))
    tags = {row.cls for row in ROWS}
    assert type(STRING) not in tags and Token in tags


def test_equal_types_are_the_same_object() -> None:
    assert Token() is TOKEN and Ptr(F32) is Ptr(F32)
    assert Tile((8, 8), F32) is Tile([8, 8], F32)
    assert PartitionView((8, 8), TENSOR) is PartitionView((8, 8), TensorView(F32, (64, 64), (64, 1)))


def test_two_tokens_are_two_values_of_one_type() -> None:
    body = tilery.parse(ENTRY.format("%a = make_token : token\n%b = make_token : token")).entries[0].body
    a, b = body.ops[0].results[0], body.ops[1].results[0]
    assert a is not b and a.type is b.type is TOKEN


def test_what_each_type_is_made_of() -> None:
    assert (Tile((8,), F32).shape, Tile((8,), F32).element) == ((8,), F32)
    assert (TENSOR.element, TENSOR.shape, TENSOR.strides) == (F32, (64, 64), (64, 1))
    view = PartitionView((8, 4), TENSOR, (1, 0), PaddingValue.NAN)
    assert (view.tile_shape, view.tensor_view, view.dim_map) == ((8, 4), TENSOR, (1, 0))
    assert view.padding_value is PaddingValue.NAN and PartitionView((8, 4), TENSOR).padding_value is None
    assert (Ptr(F32).pointee, Ptr(F32).ptr_attr) == (F32, None)


def test_a_view_knows_its_rank_and_its_tile() -> None:
    view = PartitionView((8, 4), TENSOR)
    assert (view.index_rank, view.tile_type) == (2, Tile((8, 4), F32))


def test_accesses_ask_the_view() -> None:
    view = "partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"
    made = f"%view = make_partition_view %t : {view}\n"
    load = "%a, %b = load_view_tko weak %view[{}] : {}, tile<i32> -> {}, token"
    assert verdict(made + load.format("%n", view, "tile<8xf32>")) == ""
    assert verdict(made + load.format("%n, %n", view, "tile<8xf32>")) != ""
    assert verdict(made + load.format("%n", view, "tile<4xf32>")) != ""


def test_there_are_no_tiles_of_tiles() -> None:
    assert refused(lambda: Tile((8,), Tile((), F32))).startswith("failed to verify 'elementType'")


# ---------------------------------------------------------------- elements


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_numbers_are_elements_of_tiles_views_and_pointers(name: str) -> None:
    s = SCALARS[name]
    assert s.since == V13_1 and s in NUMBERS
    assert Tile((8,), s).element is s
    assert TensorView(s, (8,), (1,)).element is s
    assert Ptr(s).pointee is s


def test_the_first_version_has_no_other_elements() -> None:
    assert {s.name for s in SCALARS.values() if s.since == V13_1} == {*FLOATS, *INTEGERS}


def test_integers_and_floats_are_told_apart() -> None:
    assert [s.name for s in SCALARS.values() if s.is_int and s.since == V13_1] == INTEGERS
    assert [s.name for s in SCALARS.values() if s.is_float and s.since == V13_1] == FLOATS


def test_pointers_are_elements_of_tiles_only() -> None:
    assert Tile((8,), Ptr(F32)).element is Ptr(F32)
    assert refused(lambda: TensorView(Ptr(F32), (8,), (1,))).startswith("failed to verify 'elementType': f16 or bf16")
    assert refused(lambda: Ptr(Ptr(F32))).startswith("failed to verify 'pointeeType': f16 or bf16")


def test_the_text_of_an_element_that_is_none() -> None:
    text = refused(lambda: Tile((8,), TOKEN))
    words = text.removeprefix("failed to verify 'elementType': ").split(" or ")
    assert words[:7] == FLOATS and "Pointer type" in words and set(INTEGERS) <= set(words)


def test_narrow_elements_came_later() -> None:
    assert str(SCALARS["f4E2M1FN"].since) == "13.3" and str(SCALARS["f8E8M0FNU"].since) == "13.2"


# ---------------------------------------------------------------- shapes


def test_sizes_of_tiles_are_positive() -> None:
    assert refused(lambda: Tile((8, 0), I32)) == "all dimensions must be positive constants, got 8, 0"
    assert refused(lambda: Tile((-8,), I32)) == "all dimensions must be positive constants, got -8"


def test_sizes_of_tiles_are_powers_of_two() -> None:
    assert refused(lambda: Tile((8, 3), I32)) == "all dimensions must be powers of two, got 8, 3"


def test_sizes_of_tiles_are_checked_in_order() -> None:
    assert "powers of two" in refused(lambda: Tile((3, 0), I32))
    assert "positive" in refused(lambda: Tile((0, 3), I32))


def test_a_tile_has_at_most_16777216_elements() -> None:
    assert Tile((1 << 12, 1 << 12), I8).size == 0x1000000 == 16 * 1024 * 1024
    message = "tile would exceed the maximum of 16777216 elements"
    assert refused(lambda: Tile((1 << 12, 1 << 13), I8)) == message
    assert refused(lambda: Tile((1 << 62,) * 40, I8)) == message


def test_sizes_of_tiles_are_static() -> None:
    assert "expected static shape" in verdict("%r = iota : tile<?xi32>")


def test_dynamic_is_the_lowest_integer_and_a_question_mark() -> None:
    assert DYNAMIC == -(1 << 63)
    assert TensorView(F32, (DYNAMIC, 3), (DYNAMIC, 1)).text == "tensor_view<?x3xf32, strides=[?,1]>"
    types = [b"\x07", b"\x0e\x00" + i64(DYNAMIC, 3) + i64(1, DYNAMIC), function([1])]
    module = tilery.load(File(types=types, signature=2, body=RETURN).data(), verify=False)
    assert module.entries[0].function_type.params[0] is TensorView(F32, (DYNAMIC, 3), (1, DYNAMIC))


def test_shape_and_strides_have_the_same_rank() -> None:
    assert refused(lambda: TensorView(F32, (8, 8), (1,))) == (
        "expected shape and stride to be of same rank but got shape of rank 2 and stride of rank 1"
    )


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_and_strides_are_dynamic_or_positive(size: int) -> None:
    assert "strictly positive constant sizes" in refused(lambda: TensorView(F32, (size,), (1,)))
    assert "strictly positive constant strides" in refused(lambda: TensorView(F32, (8,), (size,)))
    assert TensorView(F32, (3,), (5,)).shape == (3,)


@pytest.mark.parametrize(
    ("tile", "dim_map", "message"),
    [
        ((8,), None, "expected tensor_view rank and tile rank to match"),
        ((8, 8), (0,), "expected dim_map to map exactly all 2 dimensions of the tile, got 1 mappings"),
        ((8, 0), None, "tile shape dimensions must have positive length but got [8, 0]"),
        ((8, 6), None, "tile shape dimensions must have power of two length but got [8, 6]"),
        ((8, 8), (0, 2), "target dimension is outside of tensor view dimensions, expected strictly less than 2, got 2"),
        ((8, 8), (0, -1), "target dimension must not be negative, got -1"),
        ((8, 8), (1, 1), "target dimension 1 mapped at least twice (for tile dimensions 0 and 1)"),
    ],
)
def test_partitions(tile: tuple[int, ...], dim_map: tuple[int, ...] | None, message: str) -> None:
    assert refused(lambda: PartitionView(tile, TENSOR, dim_map)).startswith(message)


@pytest.mark.parametrize(
    "padding", [PaddingValue.NEG_ZERO, PaddingValue.NAN, PaddingValue.POS_INF, PaddingValue.NEG_INF]
)
def test_special_padding_needs_floats(padding: PaddingValue) -> None:
    integers = TensorView(I32, (8,), (1,))
    assert "can only be used with floating point" in refused(lambda: PartitionView((8,), integers, None, padding))
    assert PartitionView((8,), integers, None, PaddingValue.ZERO).padding_value is PaddingValue.ZERO
    assert PartitionView((8,), TensorView(F32, (8,), (1,)), None, padding).padding_value is padding


# ---------------------------------------------------------------- attributes


def test_attribute_families() -> None:
    names = ["signedness", "overflow", "rounding", "comparison_ordering", "comparison_predicate", "padding_value",
             "div_by", "same_elements", "bounded", "optimization_hints", "di_loc", "di_compile_unit", "di_file",
             "di_lexical_block", "di_subprogram"]  # fmt: skip
    for name in names:
        assert "unknown attribute" not in refused(lambda: tilery.parse(f"#a = #cuda_tile.{name}"))  # noqa: B023
    for name in ("atomic_rmw_mode", "memory_scope", "memory_ordering_semantics"):
        assert "unknown attribute" in refused(lambda: tilery.parse(f"#a = #cuda_tile.{name}<add>"))  # noqa: B023


@pytest.mark.parametrize("word", ["nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full"])
def test_words_of_rounding(word: str) -> None:
    assert tilery.parse(f"#a = #cuda_tile.rounding<{word}>") is not None


def test_atomic_modes_scopes_and_orderings_are_numbers() -> None:
    for enum, count in ((AtomicRMWMode, 10), (MemoryScope, 3), (MemoryOrderingSemantics, 5)):
        assert [m.num for m in enum] == list(range(count))


@pytest.mark.parametrize("enum", TileEnum.__subclasses__(), ids=lambda e: e.__name__)
def test_enumerations_are_closed(enum: type[TileEnum]) -> None:
    with pytest.raises(ValueError):
        enum(99)


def test_enumerations_are_closed_in_bytecode() -> None:
    types = [b"\x03", tile(0, 8), function([])]
    body = b"\x3a\x01" + b"\x03\x01" + vi(9) + b"\x00\x00" + RETURN
    message = refused(lambda: tilery.load(File(types=types, signature=2, body=body).data()))
    assert message == "invalid integer value for enum type: 9"


# ---------------------------------------------------------------- div_by


def test_a_divisor_is_a_positive_power_of_two() -> None:
    text = "'cuda_tile.div_by' divisor must be a power of 2"
    assert assume("div_by<0>") == assume("div_by<6>") == text
    assert assume("div_by<16>") == ""


def test_a_divisor_is_at_most_2_to_the_62() -> None:
    assert assume(f"div_by<{1 << 62}>") == ""
    assert assume(f"div_by<{1 << 63}>") == "'cuda_tile.div_by' divisor is too large"


def test_floats_are_not_divisible() -> None:
    only = "'cuda_tile.div_by' is valid only for tile of integer/pointer or tensor_view values"
    assert assume("div_by<2>", "%f", "tile<8xf32>") == only
    assert assume("div_by<2>", "%x", "tile<f32>") == only


def test_divisors_of_pointers_need_not_fit_the_pointee() -> None:
    assert assume("div_by<1>", "%p", "tile<ptr<f32>>") == assume("div_by<16>", "%p", "tile<ptr<f32>>") == ""


def test_tensor_views_of_floats_are_divisible() -> None:
    assert assume("div_by<4>", "%t", "tensor_view<64xf32, strides=[1]>") == ""


def test_every_and_along_come_together() -> None:
    pair = "'cuda_tile.div_by' 'every'/'along' must be used in combination"
    module = tilery.parse(ENTRY.format(TILES + "%r = assume div_by<4, every 4 along 0>, %v : tile<8xi32>"))
    o = module.entries[0].body.ops[4]
    assert isinstance(o, tilery.ops.Assume)
    o.predicate = attrs.DivBy(4, every=4)
    assert tilery.verify(module)[0].message.endswith(pair)


def test_every_and_along_are_not_for_tensor_views() -> None:
    text = "'cuda_tile.div_by' 'every'/'along' cannot be used if the constrained value is a tensor_view"
    assert assume("div_by<4, every 4 along 0>", "%t", "tensor_view<64xf32, strides=[1]>") == text


def test_every_and_along_are_not_for_scalars() -> None:
    text = "'cuda_tile.div_by' 'every'/'along' cannot be used if the constrained value is a 0D tile"
    assert assume("div_by<4, every 4 along 0>", "%n", "tile<i32>") == text


def test_every_is_a_group_size_and_along_a_dimension() -> None:
    assert assume("div_by<4, every 3 along 0>") == ""
    assert "within 0 and the size of the respective dimension (8)" in assume("div_by<4, every 9 along 0>")
    assert "must be >= 0 and < tile rank (1)" in assume("div_by<4, every 4 along 1>")


# ---------------------------------------------------------------- bounded, same_elements


def test_bounds_are_for_integers() -> None:
    assert assume("bounded<0, 7>") == ""
    assert assume("bounded<0, 7>", "%x", "tile<f32>") == "'cuda_tile.bounded' is valid only for tile of integer values"


def test_the_lower_bound_is_not_above_the_upper() -> None:
    text = "'cuda_tile.bounded' expects lower bound to be less than or equal to upper bound"
    assert assume("bounded<8, 7>") == text
    assert assume("bounded<7, 7>") == ""


def test_bounds_fit_the_integer() -> None:
    wide = f"within [{-(1 << 31)}, {(1 << 31) - 1}]"
    assert assume(f"bounded<?, {1 << 31}>") == f"'cuda_tile.bounded' expects upper bound to be {wide}"
    assert assume(f"bounded<{-(1 << 31) - 1}, ?>") == f"'cuda_tile.bounded' expects lower bound to be {wide}"


def test_bounds_are_optional_and_there_is_nothing_else() -> None:
    assert assume("bounded<?, ?>") == assume("bounded<0, ?>") == assume("bounded<?, 0>") == ""
    assert "expected '>'" in assume("bounded<0, 7, strict>")


def test_groups_of_same_elements_are_one_per_dimension() -> None:
    assert assume("same_elements<[2, 8]>", "%w", "tile<4x8xi32>") == ""
    assert "to match rank of constrained tile (2)" in assume("same_elements<[2]>", "%w", "tile<4x8xi32>")


def test_groups_of_same_elements_fit_the_dimension() -> None:
    text = "expected 'cuda_tile.same_elements' value 1 to be within 0 and the size of the respective dimension (8)"
    assert assume("same_elements<[2, 9]>", "%w", "tile<4x8xi32>") == text


def test_an_assumption_has_one_predicate() -> None:
    assert assume("div_by<4>, bounded<0, 7>") != ""
    assert verdict("%a = assume div_by<4>, %v : tile<8xi32>\n%b = assume bounded<0, 7>, %a : tile<8xi32>") == ""


def test_other_predicates_are_refused() -> None:
    assert "unknown assume predicate attribute: even" in assume("even<2>")


def test_predicates_are_for_assume_only() -> None:
    kind = AttrKind.PREDICATE
    assert {d.mnemonic for d in registered() for f in d.attrs if f.kind is kind} == {"assume"}


# ---------------------------------------------------------------- hints


def hints_of(text: str) -> str:
    """Return the answer of the first reader to an entry with these hints; the newest one takes them all."""
    data = tilery.dumps(tilery.parse(f"entry @k() optimization_hints=<{text}> {{ return }}"), "13.1")
    assert tilery.load(data)
    try:
        tilery.load(data, reader="13.1")
    except TileError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ("sm_100 = {num_cta_in_cga = 8}, sm_120 = {occupancy = 4}", ""),
        ("sm_75 = {num_cta_in_cga = 8}", "unallowed key sm_75"),
        ("sm_100 = {foo = 8}", "unknown param foo for sm_100"),
        ("sm_100 = {num_cta_in_cga = 3}", "expected power-of-two ≤ 16 for sm_100.num_cta_in_cga"),
        ("sm_100 = {num_cta_in_cga = 32}", "expected power-of-two ≤ 16 for sm_100.num_cta_in_cga"),
        ("sm_100 = {occupancy = 33}", "integer value in the range [1, 32] is expected for sm_100.occupancy"),
        ("sm_100 = {allow_tma = 3}", "boolean value expected for sm_100.allow_tma"),
        ("sm_100 = {latency = 11}", "integer value in the range [1, 10] is expected for sm_100.latency"),
        ("sm_100 = {num_cta_in_cga = true}", "expected power-of-two ≤ 16 for sm_100.num_cta_in_cga"),
    ],
)
def test_the_first_reader_refuses_hints_that_it_does_not_know(hints: str, message: str) -> None:
    assert hints_of(hints) == message


def test_hints_of_loads_and_stores() -> None:
    for name in ("load_view_tko", "store_view_tko"):
        field = BY_NAME[name].field("optimization_hints")
        assert set(field.hints) == {"latency", "allow_tma"}
    assert "num_cta_in_cga" in BY_NAME["entry"].field("optimization_hints").hints
