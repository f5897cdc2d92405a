"""Constants and shape operations of the reference engine, element by element against loops in Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilery.attrs import Dense, DivBy
from tilery.engines.common.tiles import Array, carrier, dense_array, pointee_bits, pointee_bytes
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.ops.shape import (
    assume,
    broadcast,
    cat,
    constant,
    extract,
    insert,
    iota,
    join_tokens,
    make_token,
    offset,
    permute,
    reshape,
    select,
)
from tilery.ir import Value
from tilery.ops import (
    Assume,
    Broadcast,
    Cat,
    Constant,
    Extract,
    Insert,
    Iota,
    JoinTokens,
    MakeToken,
    Offset,
    Permute,
    Reshape,
    Select,
)
from tilery.types import BF16, F32, I1, I8, I32, I64, SCALARS, TF32, Ptr, Scalar, Tile, Token

LANES = (1, 3)


def value(shape: tuple[int, ...], element: Any = I32) -> Value:
    return Value(Tile(shape, element))


def numbers(lanes: int, shape: tuple[int, ...]) -> Array:
    """Different numbers everywhere."""
    return np.random.default_rng(lanes).permutation(lanes * int(np.prod(shape))).reshape(lanes, *shape).astype(np.int32)


def places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def lane_of(a: Array, lane: int) -> int:
    return lane if a.shape[0] > 1 else 0


# ---------------------------------------------------------------- constants


@pytest.mark.parametrize("element", [s for s in SCALARS.values() if s.name != "i4"], ids=lambda s: s.name)
def test_a_constant_has_the_bits_it_was_made_of(element: Scalar) -> None:
    patterns = [(0x9E3779B97F4A7C15 * (i + 1)) & ((1 << element.bits) - 1) for i in range(16)]
    tile = Tile((2, 8), element)
    made = constant(Constant(value=Dense.of(tile, patterns)))
    assert made.shape == (1, 2, 8) and made.dtype == carrier(element)
    found = [int.from_bytes(x.tobytes(), "little") for x in made.reshape(-1)]
    shift = 13 if element is TF32 else 0  # memory has a tf32 as an f32
    assert [bits >> shift for bits in found] == patterns


@pytest.mark.parametrize("element", [I1, I8, F32, TF32, BF16], ids=lambda s: s.name)
def test_a_splat_is_the_same_element_everywhere(element: Scalar) -> None:
    one = (1 << element.bits) - 1
    splat = constant(Constant(value=Dense.of(Tile((4, 8), element), [one])))
    full = dense_array(Dense.of(Tile((2,), element), [0, one]))
    assert splat.shape == (1, 4, 8)
    assert {x.tobytes() for x in splat.reshape(-1)} == {full[1].tobytes()}


@pytest.mark.parametrize("size", [1, 2, 8, 16])
def test_bits_of_i1_constants_are_taken_lowest_first(size: int) -> None:
    patterns = [int(i % 3 == 0) for i in range(size)]
    data = sum(bit << i for i, bit in enumerate(patterns)).to_bytes((size + 7) // 8, "little")
    assert constant(Constant(value=Dense(Tile((size,), I1), data)))[0].tolist() == patterns


def test_a_constant_is_decoded_once() -> None:
    o = Constant(value=Dense.of(Tile((4,), I32), [1, 2, 3, 4]))
    assert np.shares_memory(constant(o), constant(o))


@pytest.mark.parametrize("element,size", [(I1, 2), (I8, 256), (I32, 64), (I64, 1)])
def test_iota_counts_from_zero_modulo_the_width(element: Scalar, size: int) -> None:
    made = iota(Iota(result=value((size,), element)))
    assert made.shape == (1, size)
    assert [int(x) % (1 << element.bits) for x in made[0]] == list(range(size))


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize("lanes", LANES)
def test_broadcast_repeats_along_dimensions_of_one(lanes: int) -> None:
    x = numbers(lanes, (4, 1, 2))
    made = broadcast(Broadcast(source=value((4, 1, 2)), result=value((4, 8, 2))), x)
    assert made.shape == (lanes, 4, 8, 2)
    assert all(made[n, i, j, k] == x[n, i, 0, k] for n in range(lanes) for i, j, k in places((4, 8, 2)))


@pytest.mark.parametrize("lanes", LANES)
def test_reshape_keeps_the_row_major_order(lanes: int) -> None:
    x = numbers(lanes, (4, 8))
    made = reshape(Reshape(source=value((4, 8)), result=value((2, 1, 16))), x)
    assert made.shape == (lanes, 2, 1, 16)
    assert all(made[n].reshape(-1).tolist() == x[n].reshape(-1).tolist() for n in range(lanes))


def test_a_scalar_becomes_a_tile() -> None:
    x = np.array([5, 7, 9], np.int32)
    made = reshape(Reshape(source=value(()), result=value((1, 1))), x)
    assert made.tolist() == [[[5]], [[7]], [[9]]]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permute_reorders_dimensions(lanes: int, order: tuple[int, ...]) -> None:
    x = numbers(lanes, (2, 4, 8))
    made = permute(Permute(source=value((2, 4, 8)), permutation=order), x)
    for n in range(lanes):
        for place in places((2, 4, 8)):
            assert made[(n, *(place[d] for d in order))] == x[(n, *place)]


@pytest.mark.parametrize("left,right", list(itertools.product(LANES, LANES)))
@pytest.mark.parametrize("dim", [0, 1])
def test_cat_puts_one_tile_after_the_other(left: int, right: int, dim: int) -> None:
    a, b = numbers(left, (4, 4)), numbers(right, (4, 4)) + 100
    shape = (8, 4) if dim == 0 else (4, 8)
    made = cat(Cat(lhs=value((4, 4)), rhs=value((4, 4)), dim=dim, result=value(shape)), a, b)
    assert made.shape == (max(left, right), *shape)
    for n in range(len(made)):
        for place in places(shape):
            inside = list(place)
            source = a if place[dim] < 4 else b
            inside[dim] %= 4
            assert made[(n, *place)] == source[(lane_of(source, n), *inside)]


# ---------------------------------------------------------------- parts of tiles

LANE_MIXES = list(itertools.product(LANES, LANES, LANES))


@pytest.mark.parametrize("tiles,first,second", LANE_MIXES)
def test_extract_takes_the_part_that_the_indices_name(tiles: int, first: int, second: int) -> None:
    x = numbers(tiles, (8, 4))
    i, j = np.array([3, 0, 2][:first], np.int32), np.array([1, 1, 0][:second], np.int32)
    o = Extract(source=value((8, 4)), indices=(value(()), value(())), result=value((2, 2)))
    made = extract(o, x, (i, j))
    assert made.shape == (max(tiles, first, second), 2, 2)
    for n in range(len(made)):
        row, column = 2 * i[lane_of(i, n)], 2 * j[lane_of(j, n)]
        assert (made[n] == x[lane_of(x, n), row : row + 2, column : column + 2]).all()


@pytest.mark.parametrize("tiles,first,second", LANE_MIXES)
@pytest.mark.parametrize("parts", LANES)
def test_insert_replaces_the_part_that_the_indices_name(tiles: int, first: int, second: int, parts: int) -> None:
    x, part = numbers(tiles, (8, 4)), numbers(parts, (2, 2)) + 1000
    i, j = np.array([3, 0, 2][:first], np.int32), np.array([1, 1, 0][:second], np.int32)
    o = Insert(source=value((2, 2)), destination=value((8, 4)), indices=(value(()), value(())))
    before = x.copy()
    made = insert(o, part, x, (i, j))
    assert made.shape == (max(tiles, first, second, parts), 8, 4) and (x == before).all()
    for n in range(len(made)):
        expected = x[lane_of(x, n)].copy()
        row, column = 2 * i[lane_of(i, n)], 2 * j[lane_of(j, n)]
        expected[row : row + 2, column : column + 2] = part[lane_of(part, n)]
        assert (made[n] == expected).all()


@pytest.mark.parametrize("index", [-1, 4, 2**31 - 1, -(2**31)])
def test_indices_outside_the_grid_wrap_around(index: int) -> None:
    x = numbers(1, (8,))
    o = Extract(source=value((8,)), indices=(value(()),), result=value((2,)))
    made = extract(o, x, (np.array([index], np.int32),))
    assert made[0].tolist() == x[0, 2 * (index % 4) :][:2].tolist()


def test_a_part_has_the_same_place_in_any_layout() -> None:
    x = numbers(2, (4, 8)).transpose(0, 2, 1)
    o = Extract(source=value((8, 4)), indices=(value(()), value(())), result=value((2, 4)))
    made = extract(o, x, (np.array([3, 1], np.int32), np.array([0], np.int32)))
    assert (made[0] == x[0, 6:8]).all() and (made[1] == x[1, 2:4]).all()


# ---------------------------------------------------------------- element by element


@pytest.mark.parametrize("conds,left,right", LANE_MIXES)
@pytest.mark.parametrize("reused", ["nothing", "left", "right"])
def test_select_takes_one_or_the_other(conds: int, left: int, right: int, reused: str) -> None:
    cond = numbers(conds, (8,)) % 3 == 0
    a, b = numbers(left, (8,)), numbers(right, (8,)) + 100
    lanes = max(conds, left, right)
    out = {"nothing": None, "left": a if left == lanes else None, "right": b if right == lanes else None}[reused]
    expected = [
        [(a if c else b)[lane_of(a if c else b, n), k] for k, c in enumerate(cond[lane_of(cond, n)])]
        for n in range(lanes)
    ]
    o = Select(cond=value((8,), I1), val_if_true=value((8,)), val_if_false=value((8,)))
    made = select(o, cond, a, b, out=out)
    assert made.tolist() == expected


def test_select_keeps_the_bits_of_nan() -> None:
    bits = np.array([[0x7F800001, 0xFFC12345]], np.uint32)
    o = Select(cond=value((2,), I1), val_if_true=value((2,), F32), val_if_false=value((2,), F32))
    made = select(o, np.array([[True, False]]), bits.view(np.float32), bits.view(np.float32))
    assert made.view(np.uint32).tolist() == bits.tolist()


@pytest.mark.parametrize("pointers,offsets", list(itertools.product(LANES, LANES)))
@pytest.mark.parametrize("reused", ["nothing", "pointers", "offsets"])
def test_offset_counts_elements(pointers: int, offsets: int, reused: str) -> None:
    ptr = (1 << 40) + numbers(pointers, (4,)).astype(np.int64)
    by = numbers(offsets, (4,)).astype(np.int64) - 5
    lanes = max(pointers, offsets)
    expected = [[int(p) + 8 * int(k) for p, k in zip(ptr[lane_of(ptr, n)], by[lane_of(by, n)])] for n in range(lanes)]
    spare = {"nothing": None, "pointers": ptr, "offsets": by}[reused]
    out = spare if spare is not None and len(spare) == lanes else None
    o = Offset(ptr=value((4,), Ptr(SCALARS["f64"])), offset=value((4,), I64))
    assert offset(o, ptr, by, out=out).tolist() == expected


@pytest.mark.parametrize("element", [I1, I8, I32, I64], ids=lambda s: s.name)
def test_offsets_are_signed(element: Scalar) -> None:
    by = np.array([True]) if element is I1 else np.array([-1], carrier(element))
    o = Offset(ptr=value((), Ptr(F32)), offset=value((), element))
    assert offset(o, np.array([100], np.int64), by).tolist() == [96]


def test_a_large_offset_does_not_wrap_at_32_bits() -> None:
    o = Offset(ptr=value((), Ptr(SCALARS["f64"])), offset=value((), I32))
    assert offset(o, np.array([0], np.int64), np.array([2**31 - 1], np.int32)).tolist() == [8 * (2**31 - 1)]


def test_two_f4_are_in_a_byte() -> None:
    o = Offset(ptr=value((4,), Ptr(SCALARS["f4E2M1FN"])), offset=value((4,)))
    by = np.array([[-3, -2, 2, 3]], np.int32)
    assert offset(o, np.full((1, 4), 100, np.int64), by).tolist() == [[98, 99, 101, 101]]


def test_how_far_apart_elements_are() -> None:
    bits = {s.name: pointee_bits(s) for s in SCALARS.values()}
    assert bits["f4E2M1FN"] == 4 and bits["i1"] == bits["f8E5M2"] == 8
    assert bits["bf16"] == 16 and bits["tf32"] == 32 and bits["f64"] == 64
    assert all(8 * pointee_bytes(s) == max(8, bits[s.name]) for s in SCALARS.values())


# ---------------------------------------------------------------- values that are passed on


def test_assume_passes_its_value_on() -> None:
    x = numbers(3, (4,))
    assert assume(Assume(value=value((4,)), predicate=DivBy(2)), x) is x


def test_tokens_are_nothing() -> None:
    token = Value(Token())
    assert make_token(MakeToken()) is None
    assert join_tokens(JoinTokens(tokens=(token, token)), (None, None)) is None


def test_operations_that_reuse_arrays_return_arrays_of_their_own() -> None:
    x = numbers(1, (4,))
    o = Select(cond=value((4,), I1), val_if_true=value((4,)), val_if_false=value((4,)))
    assert RUNS[Select].reuses and not np.shares_memory(select(o, x > 1, x, x), x)
