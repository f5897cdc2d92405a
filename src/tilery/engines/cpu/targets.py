"""The abilities of processors, as data by which passes choose shapes."""

from __future__ import annotations

from dataclasses import dataclass

from .abi import Target

FOURS = {64: "avx512vnni", 32: "avxvnni"}
"""The feature of processors that multiply four bytes at once, by the size of their vectors."""
VECTORS = {feature: (size, ("i8.su", "i8.us")) for size, feature in FOURS.items()} | {"avx512bf16": (64, ("bf16",))}
"""The size of vectors and the products of neighbours (`loops.dots.DOTS`) that a feature brings."""
TILES = {"amx-int8": ("i8.ss", "i8.su", "i8.us", "i8.uu"), "amx-bf16": ("bf16",)}
"""The products of tile registers that a feature brings."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The vector unit of a processor."""

    vector_bytes: int
    """Bytes of a vector register."""
    registers: int
    """The number of vector registers."""
    dots: frozenset[str] = frozenset()
    """The products of neighbours that have an instruction of vectors."""
    tiles: frozenset[str] = frozenset()
    """The products that have an instruction of tile registers."""

    def lanes(self, item: int) -> int:
        """Return the elements of a register."""
        return self.vector_bytes // item

    @property
    def rows(self) -> int:
        """The rows of a product that stay in registers, of two registers each: half of all registers."""
        return self.registers // 4


def machine_of(target: Target) -> Machine:
    """Return what is known about a target. AVX-512 and Arm have 32 vector registers, AVX2 has 16."""
    many = not target.x86 or "avx512f" in target.features
    dots = {name for f, (n, names) in VECTORS.items() for name in names if (f, n) in _vectors(target)}
    tiles = {name for feature, names in TILES.items() for name in names if feature in target.features}
    return Machine(target.vector_bytes, 32 if many else 16, frozenset(dots), frozenset(tiles))


def _vectors(target: Target) -> set[tuple[str, int]]:
    return {(feature, target.vector_bytes) for feature in target.features}
