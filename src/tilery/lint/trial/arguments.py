"""Made-up arguments: the profile of a trial launch, and the numbers that it chooses for the parameters of a kernel."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...ir import Value
from .signature import ScalarParameter, Signature, ViewParameter

MOST_ELEMENTS = 1 << 20
"""The most elements that sizes are chosen for; dimensions are cut to what a tile needs beyond that."""
FAR = 1 << 16
"""A stride that is larger than any row."""


@dataclass(frozen=True, slots=True)
class ArgumentProfile:
    """How to choose the arguments of a launch. Sizes are in halves of a tile."""

    name: str
    grid: int
    halves: tuple[int, ...]
    """Sizes: the n-th parameter that is one takes the n-th number, and so on from the start."""
    strides: tuple[int, ...]
    """Strides of parameters that no view has, in the same way; 0 stands for a little more than a row."""
    small: tuple[int, ...]
    """Other integers."""
    integers: str = "position"
    """The content of arrays of integers."""
    floats: str = "mixed"
    """The content of arrays of floats, and the other floats."""
    shared: str = "zero"
    """The content of integers that atomic operations change."""
    layout: str = "packed"
    counts: bool = False
    """Whether integers that may be the number of tile blocks are that number."""
    tiny: bool = False
    """Whether tensors that are only stored to have one element."""
    every: int | None = None
    """The number that all integers are but those that are only sizes and strides of views."""
    divisor: int = 1
    """What divides the sizes of views, and the numbers that positions are compared with."""
    counted: int = 1
    """The number of tile blocks along a dimension of which the kernel asks for their number only."""

    @property
    def is_cleared(self) -> bool:
        """Whether all memory of integers is zeros."""
        return self.integers == self.shared == "zero"


BASE = (
    ArgumentProfile("even", 2, (4,), (0,), (1,)),
    ArgumentProfile("ragged", 2, (3,), (0,), (2,), "zero", "negative", layout="padded"),
    ArgumentProfile("small", 2, (1,), (1, FAR), (3,), "tile", "positive"),
)
"""Launches of every kernel."""
MORE = (
    ArgumentProfile("large", 3, (8,), (FAR, 1), (0,), "one", "mixed", "one", divisor=64, counted=2),
    ArgumentProfile("counts", 2, (4,), (0,), (0,), layout="turned", counts=True),
    ArgumentProfile("more", 3, (4,), (0,), (0,), "zero", "positive", counts=True, counted=3),
    ArgumentProfile("noughts", 2, (4,), (0,), (0,), "one", every=0),
    ArgumentProfile("nothing", 2, (4,), (0,), (0,), "zero", every=0),
    ArgumentProfile("ones", 2, (4,), (0,), (1,), "zero", every=1, counted=2),
    ArgumentProfile("cut", 2, (1, 3), (512, 1), (1, 2), "zero", "small"),
    ArgumentProfile("short", 3, (1,), (0,), (1, 0), "one", "big"),
    ArgumentProfile("short and negative", 2, (1,), (FAR, 512), (0, 2), "position", "negative"),
    ArgumentProfile("tiny", 2, (1,), (0,), (1,), "zero", "negative", tiny=True),
    ArgumentProfile("tiny and ragged", 2, (3,), (0,), (1,), "position", "positive", tiny=True),
)
"""Launches of kernels in which something was found, or of which a part was not executed."""
SIZES, STRIDES, SMALL = (1, 1, 2, 3, 4, 4, 5, 8, 16), (1, 0, 0, FAR, 512), (0, 1, 1, 2, 3, 5, 7, 16, 31, -1)

FLOATS = {
    "mixed": (1.0, 0.5, -2.0, 0.25),
    "positive": (0.5, 1.0, 2.0, 0.25),
    "negative": (-0.5, -1.0, -2.0, -0.25),
    "small": (0.125, 0.25, 0.5, 0.0625),
    "big": (8.0, 4.0, 16.0, 32.0),
}
"""Parameters that are floats, for each content of arrays."""


def drawn(seed: int) -> ArgumentProfile:
    """Return a random profile."""
    r = random.Random(seed)
    return ArgumentProfile(
        f"drawn {seed}",
        r.choice((2, 2, 3, 4)),
        tuple(r.choice(SIZES) for _ in range(3)) if seed % 2 else (r.choice(SIZES),),
        tuple(r.sample(STRIDES, len(STRIDES))),
        tuple(r.choice(SMALL) for _ in range(5)),
        r.choice(("position", "zero", "one", "tile", "mixed")),
        r.choice(("mixed", "negative", "positive", "small", "big")),
        r.choice(("zero", "zero", "one")),
        r.choice(("packed", "padded", "turned")),
        r.choice((False, True)),
        r.choice((False, True)),
        counted=r.choice((1, 1, 2, 3, 4)),
    )


def choose(signature: Signature, profile: ArgumentProfile, grid: Sequence[int]) -> dict[Value, int | float]:
    """Return a number for each parameter that is one."""
    chosen: dict[Value, int | float] = {}
    sizes = strides = small = 0
    shaping = {v for tensor in signature.tensors for v in (*tensor.sizes, *tensor.strides) if isinstance(v, Value)}
    held = set[Value]()
    for value, number in signature.numbers.items():
        if not number.type.is_int:
            chosen[value] = FLOATS[profile.floats][len(chosen) % 4]
        elif profile.every is not None and (number.is_plain or value not in shaping):
            held.add(value)
            chosen[value] = _held(number, max(profile.every, number.is_size and value in shaping))
        elif profile.counts and (number.is_count or not (number.is_size or number.is_stride)):
            chosen[value] = _held(number, prod(grid))
        elif number.is_size:
            extent = max(number.extents, default=signature.extent)
            halves = profile.halves[sizes % len(profile.halves)]
            sizes += 1
            chosen[value] = _held(number, -(-size(extent, halves) // profile.divisor) * profile.divisor)
        elif number.is_stride:
            wanted = profile.strides[strides % len(profile.strides)]
            strides += 1
            row = max(size(signature.extent, h) for h in (*profile.halves, 4))
            chosen[value] = _held(number, wanted or 2 * row + 16 * (profile.layout == "padded"))
        else:
            chosen[value] = _held(number, profile.small[small % len(profile.small)])
            small += 1
    if profile.tiny:
        for value in _of_outputs(signature):
            chosen[value] = 1  # whatever is promised: reports of false promises do not count in these launches
    for tensor in signature.tensors:
        _limit(tensor, signature, chosen)
    for tensor in signature.tensors:
        _strides(tensor, signature, profile, chosen, held)
    return chosen


def size(extent: int, halves: int) -> int:
    """Return a size of so many halves of a tile; odd halves are not a multiple of it.

    >>> [size(16, halves) for halves in (1, 2, 3, 4)], size(1, 3)
    ([9, 16, 25, 32], 2)
    """
    if halves % 2 == 0:
        return max(1, extent * halves // 2)
    return max(1, extent * (halves - 1) // 2 + (extent // 2 + 1 if extent > 2 else 1))


def _held(number: ScalarParameter, wanted: int) -> int:
    """Return a number that keeps its promises and fits its type."""
    bits = number.type.bits
    wanted = number.fit(wanted)
    if bits == 1:
        return wanted & 1
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return min(high, max(low, wanted))


def _of_outputs(signature: Signature) -> set[Value]:
    """The sizes of tensors that are only stored to."""
    found: dict[bool, set[Value]] = {True: set(), False: set()}
    for tensor in signature.tensors:
        found[tensor.is_output].update(size for size in tensor.sizes if isinstance(size, Value))
    return found[True] - found[False]


def _limit(tensor: ViewParameter, signature: Signature, chosen: dict[Value, int | float]) -> None:
    """Make dimensions smaller, from the first on, if a tensor would be too large."""
    for at, extent in zip(tensor.sizes, tensor.tiles):
        known = [int(chosen[s]) if isinstance(s, Value) else s or 1 for s in tensor.sizes]
        if prod(known) <= MOST_ELEMENTS:
            return
        if isinstance(at, Value) and int(chosen[at]) > 2 * extent:
            chosen[at] = _held(signature.numbers[at], 2 * extent)


def _strides(
    tensor: ViewParameter,
    signature: Signature,
    profile: ArgumentProfile,
    chosen: dict[Value, int | float],
    held: set[Value],
) -> None:
    """Choose strides so that no two elements are at one address, but for those that have been chosen."""
    sizes = [
        int(chosen[s]) if isinstance(s, Value) else 2 * tile if s is None else s
        for s, tile in zip(tensor.sizes, tensor.tiles)
    ]
    running = 1
    for step, count in sorted((s, n) for s, n in zip(tensor.strides, sizes) if isinstance(s, int)):
        running = max(running, abs(step) * count)
    dims = [dim for dim, step in enumerate(tensor.strides) if isinstance(step, Value) and step not in held]
    for dim in dims if profile.layout == "turned" else reversed(dims):
        value = tensor.strides[dim]
        assert isinstance(value, Value)
        more = 16 if profile.layout == "padded" and running > 1 else 0
        chosen[value] = _held(signature.numbers[value], running + more)
        running = max(running, int(chosen[value]) * max(1, sizes[dim]))
