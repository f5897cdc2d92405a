"""Matrix products of the reference engine, against exact sums of fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tilery.attrs import RoundingMode, Signedness
from tilery.engines import semantics
from tilery.engines.common.numerics.convert import to_f64
from tilery.engines.common.tiles import Array, carrier
from tilery.engines.reference.ops.mma import CHUNK, mmaf, mmaf_scaled, mmai
from tilery.engines.semantics import SMALL_PRODUCT, uses_tensor_cores
from tilery.floats.arithmetic import rounded, value
from tilery.ir import Value
from tilery.ops import MmaF, MmaFScaled, MmaI
from tilery.ops.matrix import MMA_PAIRS
from tilery.types import F16, F32, F64, I8, I32, SCALARS, TF32, Scalar, Tile

LANE_MIXES = list(itertools.product((1, 3), repeat=3))
PAIRS = [(element, acc) for element, accs in MMA_PAIRS.items() for acc in accs]
F4, E8M0 = SCALARS["f4E2M1FN"], SCALARS["f8E8M0FNU"]
E4M3, E5M2, E5M3 = SCALARS["f8E4M3FN"], SCALARS["f8E5M2"], SCALARS["fnv8E5M3FNU"]
HALF_STEPS = {F16: Fraction(1, 2**11), F32: Fraction(1, 2**24), F64: Fraction(0)}
SMALLEST = {F16: Fraction(1, 2**25), F32: Fraction(1, 2**150), F64: Fraction(0)}
ROOM = Fraction(1, 2**48)
"""The error that f64 may add to a sum, relative to the size of its terms."""


def tile(shape: tuple[int, ...], element: Scalar) -> Value:
    return Value(Tile(shape, element))


def bits_of(a: Array, element: Scalar) -> Any:
    whole = a.view(f"u{a.dtype.itemsize}")
    return whole >> 13 if element is TF32 else whole


def from_bits(bits: Array, element: Scalar) -> Array:
    shift = 13 if element is TF32 else 0
    dtype = carrier(element)
    made: Array = (bits.astype(np.uint64) << np.uint64(shift)).astype(f"u{dtype.itemsize}").view(dtype)
    return made


def floats(seed: int, shape: tuple[int, ...], element: Scalar) -> Array:
    """Finite numbers that are neither very large nor very small, as the type holds them."""
    rng = np.random.default_rng(seed)
    flat = np.empty(int(np.prod(shape)), np.uint64)
    for i in range(len(flat)):
        number = Fraction(int(rng.integers(-(2**60), 2**60)), 2**60) * Fraction(2) ** int(rng.integers(-3, 3))
        bits = rounded(element, number, RoundingMode.NEAREST_EVEN)
        assert bits is not None
        flat[i] = bits
    return from_bits(flat, element).reshape(shape)


def exactly(a: Array, element: Scalar) -> Any:
    """The numbers as fractions, in an array of objects."""
    found = [value(element, int(b)) for b in bits_of(np.ascontiguousarray(a), element).reshape(-1)]
    return np.array(found, object).reshape(a.shape)


def check(made: Array, a: Any, b: Any, c: Any, acc: Scalar) -> None:
    """Within half a step of the exact sum, and some room for sums that f64 rounds."""
    exact = np.matmul(a, b) + c
    sizes = np.matmul(abs(a), abs(b)) + abs(c)
    found = exactly(made, acc)
    assert found.shape == exact.shape
    assert (abs(found - exact) <= abs(exact) * HALF_STEPS[acc] + SMALLEST[acc] + sizes * ROOM).all()


# ---------------------------------------------------------------- mmaf


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every product counts as a large one."""
    monkeypatch.setattr(semantics, "SMALL_PRODUCT", 0)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("element,acc", PAIRS, ids=lambda s: s.name)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["plain", "batched"])
def test_large_products_are_exact_sums_rounded_once(element: Scalar, acc: Scalar, batch: tuple[int, ...]) -> None:
    shapes = [(*batch, 4, 16), (*batch, 16, 8), (*batch, 4, 8)]
    o = MmaF(lhs=tile(shapes[0], element), rhs=tile(shapes[1], element), acc=tile(shapes[2], acc))
    a, b, c = (floats(i, (2, *s), e) for i, (s, e) in enumerate(zip(shapes, (element, element, acc))))
    check(mmaf(o, a, b, c), exactly(a, element), exactly(b, element), exactly(c, acc), acc)


@pytest.mark.parametrize("element,acc", PAIRS, ids=lambda s: s.name)
def test_small_products_are_summed_in_the_order_of_k(element: Scalar, acc: Scalar) -> None:
    wide: Any = np.float64 if element is F64 else np.float32
    o = MmaF(lhs=tile((4, 16), element), rhs=tile((16, 8), element), acc=tile((4, 8), acc))
    a, b, c = floats(1, (2, 4, 16), element), floats(2, (2, 16, 8), element), floats(3, (2, 4, 8), acc)
    made = mmaf(o, a, b, c)
    x, y = to_f64(a, element).astype(wide), to_f64(b, element).astype(wide)
    for n, i, j in itertools.product(range(2), range(4), range(8)):
        total = wide(0)
        for k in range(16):
            total = total + x[n, i, k] * y[n, k, j]
        assert made[n, i, j] == (total + wide(c[n, i, j])).astype(carrier(acc))


@pytest.mark.parametrize("element", [F32, F64], ids=lambda s: s.name)
def test_a_small_product_of_negative_zeros_is_zero(element: Scalar) -> None:
    """As on an H200, which starts from 0."""
    o = MmaF(lhs=tile((1, 1), element), rhs=tile((1, 1), element), acc=tile((1, 1), element))
    one, zero = (np.array([[[x]]], carrier(element)) for x in (1.0, -0.0))
    assert not np.signbit(mmaf(o, one, zero, zero))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_f64_passes_the_nan_of_the_first_step_on() -> None:
    """As on an H200: of the first step that makes one; of the accumulator only where there is no other."""
    o = MmaF(lhs=tile((1, 4), F64), rhs=tile((4, 2), F64), acc=tile((1, 2), F64))
    nan, quiet = 0x7FF0000000000000, 0x7FF8000000000000
    a = np.array([[[0, nan + 1, nan + 2, 0]]], np.uint64).view(np.float64)
    b = np.array([[[nan + 3, 0], [0, 0], [0, 0], [0, 0]]], np.uint64).view(np.float64)
    c = np.array([[[nan + 4, nan + 5]]], np.uint64).view(np.float64)
    assert mmaf(o, a, b, c).view(np.uint64).tolist() == [[[quiet + 3, quiet + 1]]]
    nothing = np.zeros_like(a), np.zeros_like(b)
    assert mmaf(o, *nothing, c).view(np.uint64).tolist() == [[[quiet + 4, quiet + 5]]]


@pytest.mark.parametrize(
    "batch,m,k,n,element,used",
    [
        ((), 32, 16, 16, I8, True),
        ((), 32, 8, 16, I8, False),
        ((), 16, 256, 16, F16, False),
        ((), 32, 8, 32, F16, True),
        ((), 32, 4, 32, F16, False),
        ((), 32, 4, 32, TF32, True),
        ((2,), 16, 8, 16, E4M3, True),
        ((2,), 16, 32, 8, F16, False),
        ((4,), 16, 16, 8, F16, True),
        ((4,), 8, 32, 16, F16, False),
        ((), 128, 64, 32, F32, False),
        ((), 128, 64, 32, F64, False),
    ],
)
def test_where_the_compiler_uses_tensor_cores(
    batch: tuple[int, ...], m: int, k: int, n: int, element: Scalar, used: bool
) -> None:
    """As the code shows that tileiras 13.4 makes for an H200."""
    lhs, rhs = tile((*batch, m, k), element), tile((*batch, k, n), element)
    o: MmaF | MmaI
    if element is I8:
        acc = tile((*batch, m, n), I32)
        signed = Signedness.SIGNED
        o = MmaI(lhs=lhs, rhs=rhs, acc=acc, signedness_lhs=signed, signedness_rhs=signed)
    else:
        o = MmaF(lhs=lhs, rhs=rhs, acc=tile((*batch, m, n), F64 if element is F64 else F32))
    assert uses_tensor_cores(o) == used


@pytest.mark.parametrize("left,right,added", LANE_MIXES)
@pytest.mark.parametrize("element,acc", [(F16, F32), (F32, F32), (F64, F64)], ids=lambda s: s.name)
@pytest.mark.parametrize("reuses", [False, True])
def test_a_tile_block_gets_the_same_bits_in_any_batch(
    left: int, right: int, added: int, element: Scalar, acc: Scalar, reuses: bool
) -> None:
    o = MmaF(lhs=tile((32, 32), element), rhs=tile((32, 32), element), acc=tile((32, 32), acc))
    rng = np.random.default_rng(3)
    assert SMALL_PRODUCT < 32**3
    a, b = (rng.standard_normal((n, 32, 32)).astype(carrier(element)) for n in (left, right))
    c = rng.standard_normal((added, 32, 32)).astype(carrier(acc))
    lanes = max(left, right, added)
    alone = [mmaf(o, *(x[n % len(x) :][:1] for x in (a, b, c)))[0].tobytes() for n in range(lanes)]
    out = c if reuses and added == lanes else None
    made = mmaf(o, a, b, c, out=out)
    assert made.shape == (lanes, 32, 32)
    assert [x.tobytes() for x in made] == alone


@pytest.mark.parametrize("size", [8, 128])
def test_a_batch_larger_than_a_chunk_gets_the_same_bits(size: int) -> None:
    lanes = 2 * (CHUNK if size**3 > SMALL_PRODUCT else SMALL_PRODUCT) // size**2 + 3
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal((lanes, size, size)).astype(np.float32) for _ in range(3))
    o = MmaF(lhs=tile((size, size), F32), rhs=tile((size, size), F32), acc=tile((size, size), F32))
    made = mmaf(o, a, b, c)
    for n in (0, lanes // 2, lanes - 1):
        assert made[n].tobytes() == mmaf(o, a[n : n + 1], b[n : n + 1], c[n : n + 1]).tobytes()


def test_the_layout_of_operands_does_not_matter() -> None:
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal((2, 32, 32)).astype(np.float32) for _ in range(3))
    o = MmaF(lhs=tile((32, 32), F32), rhs=tile((32, 32), F32), acc=tile((32, 32), F32))
    turned = [np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1) for x in (a, b, c)]
    assert mmaf(o, *turned).tobytes() == mmaf(o, a, b, c).tobytes()


@pytest.mark.parametrize("small", [0, SMALL_PRODUCT])
def test_f32_is_not_cut_to_tf32(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "SMALL_PRODUCT", small)
    a = np.array([[[1 + 2.0**-23]]], np.float32)
    o = MmaF(lhs=tile((1, 1), F32), rhs=tile((1, 1), F32), acc=tile((1, 1), F32))
    assert mmaf(o, a, np.ones_like(a), np.zeros_like(a)) == a


@pytest.mark.parametrize("small", [0, SMALL_PRODUCT])
def test_tf32_ignores_the_bits_that_it_does_not_have(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "SMALL_PRODUCT", small)
    a = np.array([[[1 + 2.0**-23]]], np.float32)
    o = MmaF(lhs=tile((1, 1), TF32), rhs=tile((1, 1), TF32), acc=tile((1, 1), F32))
    assert mmaf(o, a, np.ones_like(a), np.zeros_like(a)) == 1


@pytest.mark.usefixtures("large")
def test_a_sum_that_cancels_keeps_its_small_part() -> None:
    a = np.array([[[2.0**60, 1.0, -(2.0**60), 0.0]]], np.float32)
    b = np.array([[[1.0], [2.0**10], [1.0], [1.0]]], np.float32)
    o = MmaF(lhs=tile((1, 4), F32), rhs=tile((4, 1), F32), acc=tile((1, 1), F32))
    assert mmaf(o, a, b, np.zeros((1, 1, 1), np.float32)) == 2.0**10


@pytest.mark.parametrize("element,nan", [(F16, 0x7FFF), (F32, 0x7FFFFFFF), (F64, 0xFFF8000000000000)])
@pytest.mark.parametrize("small", [0, SMALL_PRODUCT])
def test_nan_is_the_one_of_the_gpu(element: Scalar, nan: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "SMALL_PRODUCT", small)
    a = np.array([[[np.inf]]], carrier(element))
    o = MmaF(lhs=tile((1, 1), element), rhs=tile((1, 1), element), acc=tile((1, 1), element))
    with np.errstate(invalid="ignore"):
        made = mmaf(o, a, np.zeros_like(a), np.zeros_like(a))
    assert bits_of(made, element) == nan


def test_fast_acc_changes_nothing() -> None:
    a, b = floats(1, (1, 4, 32), E4M3), floats(2, (1, 32, 4), E4M3)
    c = floats(3, (1, 4, 4), F32)
    lhs, rhs, acc = tile((4, 32), E4M3), tile((32, 4), E4M3), tile((4, 4), F32)
    slow, fast = (MmaF(lhs=lhs, rhs=rhs, acc=acc, fast_acc=fast) for fast in (False, True))
    assert mmaf(slow, a, b, c).tobytes() == mmaf(fast, a, b, c).tobytes()


# ---------------------------------------------------------------- mmaf_scaled

SCALED = [
    (E4M3, E8M0, 32),
    (E5M2, E8M0, 32),
    (F4, E8M0, 16),
    (F4, E8M0, 32),
    (F4, E4M3, 16),
    (F4, E5M3, 16),
    (F4, E5M3, 32),
]


@pytest.mark.parametrize("element,scale,block", SCALED, ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["plain", "batched"])
def test_mmaf_scaled_multiplies_blocks_by_their_scales(
    element: Scalar, scale: Scalar, block: int, batch: tuple[int, ...]
) -> None:
    blocks = 64 // block
    shapes = [(4, 64), (64, 2), (4, 2), (4, blocks), (blocks, 2)]
    types = [element, element, F32, scale, scale]
    lhs, rhs, acc, lhs_scale, rhs_scale = (tile((*batch, *s), t) for s, t in zip(shapes, types))
    o = MmaFScaled(lhs=lhs, rhs=rhs, acc=acc, lhs_scale=lhs_scale, rhs_scale=rhs_scale)
    rng = np.random.default_rng(block)
    a, b, c = (floats(i, (2, *batch, *s), t) for i, (s, t) in enumerate(zip(shapes[:3], types)))
    middle = 127 if scale is E8M0 else 0x38 if scale is E4M3 else 0x70
    sa, sb = (rng.integers(middle - 3, middle + 4, (2, *batch, *s)).astype(np.uint8) for s in shapes[3:])
    left = exactly(a, element) * np.repeat(exactly(sa, scale), block, axis=-1)
    right = exactly(b, element) * np.repeat(exactly(sb, scale), block, axis=-2)
    check(mmaf_scaled(o, a, b, c, sa, sb), left, right, exactly(c, F32), F32)


@pytest.mark.parametrize("data,scales", list(itertools.product((1, 3), repeat=2)))
def test_scales_and_elements_may_be_the_same_for_all(data: int, scales: int) -> None:
    shapes = [(4, 64), (64, 2), (4, 2), (4, 2), (2, 2)]
    types = [E4M3, E4M3, F32, E8M0, E8M0]
    lhs, rhs, acc, lhs_scale, rhs_scale = (tile(s, t) for s, t in zip(shapes, types))
    o = MmaFScaled(lhs=lhs, rhs=rhs, acc=acc, lhs_scale=lhs_scale, rhs_scale=rhs_scale)
    a, b = floats(1, (data, 4, 64), E4M3), floats(2, (1, 64, 2), E4M3)
    c = np.zeros((1, 4, 2), np.float32)
    sa, sb = (np.random.default_rng(i).integers(120, 130, (scales, *shapes[i])).astype(np.uint8) for i in (3, 4))
    made = mmaf_scaled(o, a, b, c, sa, sb)
    assert len(made) == max(data, scales)
    for n in range(len(made)):
        alone = mmaf_scaled(o, a[n % data :][:1], b, c, sa[n % scales :][:1], sb[n % scales :][:1])
        assert alone.tobytes() == made[n].tobytes()


def test_a_scale_that_is_nan_makes_nan() -> None:
    shapes, types = [(1, 32), (32, 1), (1, 1), (1, 1), (1, 1)], [E4M3, E4M3, F32, E8M0, E8M0]
    lhs, rhs, acc, lhs_scale, rhs_scale = (tile(s, t) for s, t in zip(shapes, types))
    o = MmaFScaled(lhs=lhs, rhs=rhs, acc=acc, lhs_scale=lhs_scale, rhs_scale=rhs_scale)
    ones = [np.full((1, *s), 0x38, np.uint8) for s in shapes]
    made = mmaf_scaled(o, ones[0], ones[1], np.zeros((1, 1, 1), np.float32), ones[3] | 0xFF, ones[4])
    assert bits_of(made, F32) == 0x7FFFFFFF


# ---------------------------------------------------------------- mmai

SIGNS = [Signedness.SIGNED, Signedness.UNSIGNED]


@pytest.mark.parametrize("left,right,added", LANE_MIXES)
@pytest.mark.parametrize("first,second", list(itertools.product(SIGNS, SIGNS)))
def test_small_products_of_integers_wrap_around(
    left: int, right: int, added: int, first: Signedness, second: Signedness
) -> None:
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-128, 128, (n, *s)).astype(np.int8) for n, s in ((left, (4, 16)), (right, (16, 2))))
    c = rng.integers(-(2**31), 2**31, (added, 4, 2)).astype(np.int32)
    c[0, 0] = 2**31 - 1
    o = MmaI(
        lhs=tile((4, 16), I8),
        rhs=tile((16, 2), I8),
        acc=tile((4, 2), I32),
        signedness_lhs=first,
        signedness_rhs=second,
    )
    made = mmai(o, a, b, c)
    assert made.dtype == np.int32 and made.shape == (max(left, right, added), 4, 2)
    read = [
        [[int(v) % 256 if s is Signedness.UNSIGNED else int(v) for v in row] for row in x.reshape(-1, x.shape[2])]
        for s, x in ((first, a), (second, b))
    ]
    for n, i, j in itertools.product(range(len(made)), range(4), range(2)):
        row = read[0][(n % left) * 4 + i]
        column = [read[1][(n % right) * 16 + k][j] for k in range(16)]
        total = sum(x * y for x, y in zip(row, column)) + int(c[n % added, i, j])
        assert (int(made[n, i, j]) - total) % 2**32 == 0


@pytest.mark.parametrize("size", [256, 512, 16384])
def test_long_sums_of_integers_are_exact(size: int) -> None:
    a, b = np.full((1, 1, size), -1, np.int8), np.full((1, size, 1), -1, np.int8)
    o = MmaI(
        lhs=tile((1, size), I8),
        rhs=tile((size, 1), I8),
        acc=tile((1, 1), I32),
        signedness_lhs=Signedness.UNSIGNED,
        signedness_rhs=Signedness.UNSIGNED,
    )
    made = mmai(o, a, b, np.array([[[7]]], np.int32))
    assert (int(made[0, 0, 0]) - (size * 255 * 255 + 7)) % 2**32 == 0


def overflowing(batch: tuple[int, ...], m: int, k: int, n: int, first: Signedness, second: Signedness) -> Any:
    """A product that overflows in places, and for each result the products of its steps and the accumulator."""
    rng = np.random.default_rng(13)
    a = rng.integers(-128, 128, (2, *batch, m, k)).astype(np.int8)
    b = rng.integers(-128, 128, (1, *batch, k, n)).astype(np.int8)
    c = rng.choice(np.array([-(2**31), -5, 2**31 - 9000], np.int32), (1, *batch, m, n))
    lhs, rhs, acc = tile((*batch, m, k), I8), tile((*batch, k, n), I8), tile((*batch, m, n), I32)
    made = mmai(MmaI(lhs=lhs, rhs=rhs, acc=acc, signedness_lhs=first, signedness_rhs=second), a, b, c)
    x, y = ((v.view(np.uint8) if s is Signedness.UNSIGNED else v).astype(int) for v, s in ((a, first), (b, second)))
    steps = x[..., :, np.newaxis, :] * y.swapaxes(-1, -2)[..., np.newaxis, :, :]
    return made, steps, c.astype(int)


@pytest.mark.parametrize("batch,m,k,n", [((), 32, 64, 16), ((2,), 16, 64, 16), ((4,), 16, 16, 8)])
@pytest.mark.parametrize("first,second", list(itertools.product(SIGNS, SIGNS)))
def test_integers_saturate_every_32_steps_on_tensor_cores(
    batch: tuple[int, ...], m: int, k: int, n: int, first: Signedness, second: Signedness
) -> None:
    made, steps, total = overflowing(batch, m, k, n, first, second)
    for start in range(0, k, 32):
        total = np.clip(total + steps[..., start : start + 32].sum(-1), -(2**31), 2**31 - 1)
    assert (made == total).all()


@pytest.mark.parametrize("batch,m,k,n", [((), 16, 64, 16), ((2,), 16, 8, 16), ((2,), 8, 2, 8), ((4,), 8, 32, 16)])
@pytest.mark.parametrize("first,second", list(itertools.product(SIGNS, SIGNS)))
def test_integers_wrap_around_where_no_tensor_core_is_used(
    batch: tuple[int, ...], m: int, k: int, n: int, first: Signedness, second: Signedness
) -> None:
    made, steps, total = overflowing(batch, m, k, n, first, second)
    assert ((made - (total + steps.sum(-1))) % 2**32 == 0).all()


def test_batches_of_integer_matrices() -> None:
    rng = np.random.default_rng(11)
    a, b = rng.integers(-128, 128, (3, 2, 4, 8)).astype(np.int8), rng.integers(-128, 128, (1, 2, 8, 2)).astype(np.int8)
    o = MmaI(
        lhs=tile((2, 4, 8), I8),
        rhs=tile((2, 8, 2), I8),
        acc=tile((2, 4, 2), I32),
        signedness_lhs=Signedness.SIGNED,
        signedness_rhs=Signedness.SIGNED,
    )
    made = mmai(o, a, b, np.zeros((1, 2, 4, 2), np.int32))
    for n, m, i, j in itertools.product(range(3), range(2), range(4), range(2)):
        assert made[n, m, i, j] == sum(int(a[n, m, i, k]) * int(b[0, m, k, j]) for k in range(8))
