"""Random numbers, shapes, names and strings: usually plain, sometimes as odd as is legal."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from random import Random

from ..attrs import DictAttr, IntAttr, OptimizationHints
from ..floats.formats import nearest
from ..types import I1, I64, SCALARS, Scalar

ONE = Fraction(1)
USUAL = 512
"""Tiles rarely have more elements than this, so that modules execute quickly."""

_FRAGILE = SCALARS["fnv8E5M3FNU"]
"""NVIDIA's 13.4 tools crash when they print a number of this type that is 2 or more."""

_WORDS = ("kernel", "main", "add", "softmax", "gemm", "load", "_", "x", "step", "k")
_ODD_NAMES = (
    "a b", "1st", 'say "hi"', "back\\slash", "new\nline", "größe", "名", "\x7f", "a.b-c$d", "@", "%0", "\udcfe", "π\0",
)  # fmt: skip
_ODD_TEXTS = ("", " ", "100%%", '"quoted"', "tab\there", "line\n", "größe ✓", "\\", "\0", "\udc80", "?")


@lru_cache(maxsize=4096)
def float_bits(element: Scalar, number: Fraction) -> int:
    """Return the bits of the nearest float, or of the largest finite one if there is no such float."""
    form = element.format
    bits = nearest(element, number < 0, abs(number))
    return form.top if bits is None else bits


def bits(rng: Random, element: Scalar) -> int:
    """Draw the bits of a number: mostly small ones, sometimes extremes, NaN with any payload, or random bits."""
    kind = rng.random()
    if element.is_int:
        mask = (1 << element.bits) - 1
        if kind < 0.7:
            return rng.randrange(-4, 20) & mask
        if kind < 0.85:
            return rng.choice((0, 1, mask, mask >> 1, (mask >> 1) + 1))
        return rng.getrandbits(element.bits)
    if element is _FRAGILE:
        return rng.choice((rng.getrandbits(7), 0xFF))
    if kind < 0.75:
        return float_bits(element, Fraction(rng.randrange(-32, 33), rng.choice((1, 1, 2, 8))))
    if kind < 0.85:
        return rng.getrandbits(element.bits)
    return rng.choice(_edges(element))


@lru_cache(maxsize=64)
def _edges(element: Scalar) -> tuple[int, ...]:
    """Zeros, the smallest and largest numbers, infinities, and NaN where the format has them."""
    form = element.format
    sign = 1 << (element.bits - 1) if form.signed else 0
    last = (1 << (element.bits - form.signed)) - 1
    plain = [0, 1, form.top, *range(form.top + 1, min(form.top + 4, last) + 1), last]
    return tuple(plain + [sign | n for n in plain])


def shape(rng: Random, limit: int = USUAL, rank: int | None = None) -> tuple[int, ...]:
    """Draw a shape: powers of two whose product is at most `limit`."""
    if rank is None:
        rank = rng.choice((0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
    room = limit.bit_length() - 1
    dims = []
    for _ in range(rank):
        power = min(rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 7)), room)
        room -= power
        dims.append(1 << power)
    rng.shuffle(dims)
    return tuple(dims)


def symbol(rng: Random, taken: set[str]) -> str:
    """Draw a name that is not taken, and take it."""
    name = rng.choice(_ODD_NAMES) if rng.random() < 0.12 else rng.choice(_WORDS)
    while name in taken or rng.random() < 0.3:
        name += rng.choice("0123456789_abc")
    taken.add(name)
    return name


def text(rng: Random) -> str:
    """Draw a string without format specifiers."""
    return rng.choice(_ODD_TEXTS) if rng.random() < 0.3 else " ".join(rng.choices(_WORDS, k=rng.randrange(1, 4)))


def hints(rng: Random, *allowed: str) -> OptimizationHints:
    """Draw optimization hints that every tool accepts where these are allowed."""
    inner = []
    for name in allowed:
        if rng.random() < 0.6:
            if name == "allow_tma":
                value = IntAttr(I1, rng.randrange(2), as_bool=True)
            else:
                value = IntAttr(I64, 1 << rng.randrange(3))  # text omits the type, which is then i64
            inner.append((name, value))
    archs = rng.sample(("sm_100", "sm_120"), k=rng.choice((1, 1, 2)))
    return OptimizationHints(DictAttr(tuple((arch, DictAttr(tuple(inner))) for arch in archs)))
