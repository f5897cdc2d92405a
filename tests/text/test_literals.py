"""Numbers in text: every float is the nearest to what is written, rounded once."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import pytest

import tilery
from tilery.floats.formats import scaled
from tilery.ops import Constant, Module
from tilery.text.parse.literals import float_bits, integer_bits
from tilery.types import F32, F64, FLOATS, SCALARS


@pytest.mark.parametrize("name", [s.name for s in FLOATS if s not in (F32, F64)])
def test_every_float_is_the_nearest_to_its_own_value(name: str) -> None:
    type = SCALARS[name]
    bits = range(1 << type.bits)
    sample = bits if type.bits <= 8 else random.Random(name).sample(bits, 500)
    for number in sample:
        if (parts := scaled(type, number)) is not None:
            negative, mantissa, exponent = parts
            assert float_bits(type, decimal(mantissa, exponent), negative) == number


def decimal(mantissa: int, exponent: int) -> str:
    """m * 2**e, exactly, with a decimal point."""
    if exponent >= 0:
        return f"{mantissa << exponent}.0"
    digits = str(mantissa * 5**-exponent).rjust(-exponent + 1, "0")
    return f"{digits[:exponent]}.{digits[exponent:]}"


def test_doubles_agree_with_python() -> None:
    random_ = random.Random(1)
    for _ in range(500):
        text = (
            f"{random_.randrange(10 ** random_.randint(1, 25))}.{random_.randrange(10**9)}e{random_.randint(-330, 300)}"
        )
        expected = int.from_bytes(struct.pack("<d", float(text)), "little")
        assert float_bits(F64, text, False) == expected


def test_a_literal_is_rounded_once() -> None:
    """Just above the middle between two floats, where a detour over f64 would lose the difference."""
    middle = Fraction(1) + Fraction(1, 1 << 24)
    text = f"{decimal((1 << 24) + 1, -24)}00000000000000000000000000001"
    assert Fraction(text) > middle
    assert float_bits(F32, text, False) == 0x3F800001


@pytest.mark.parametrize("name", ["i8", "i16", "i32"])
def test_integers_are_read_between_the_least_and_the_largest_of_their_width(name: str) -> None:
    """Numbers wrap to their bits, alone and in lists; the first number beyond each end is refused."""
    bits = SCALARS[name].bits
    for value in (-(1 << bits - 1), -1, 0, 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1):
        for body, shape in ((f"{value}", ""), (f"[{value}, 1]", "2x")):
            (found,) = [o for o in tilery.walk(constant(name, body, shape)) if isinstance(o, Constant)]
            first = int.from_bytes(found.value.data[: bits // 8], "little")
            assert first == value % (1 << bits), (body, shape)
    for value in (-(1 << bits - 1) - 1, 1 << bits):
        for body, shape in ((f"{value}", ""), (f"[{value}, 1]", "2x")):
            with pytest.raises(tilery.TileError, match="out of range"):
                constant(name, body, shape)


def constant(name: str, body: str, shape: str) -> Module:
    return tilery.parse(f"entry @k() {{\n  %c = constant <{name}: {body}> : tile<{shape}{name}>\n  return\n}}\n")


def test_the_bits_of_every_integer_of_eight_bits() -> None:
    """Negative numbers reach down to half of the range; nothing else is refused but what has no bits."""
    for value in range(300):
        assert integer_bits(SCALARS["i8"], str(value), False) == (value if value < 256 else None)
        assert integer_bits(SCALARS["i8"], str(value), True) == (-value % 256 if value <= 128 else None)
