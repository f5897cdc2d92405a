"""What a processor can do, as data that passes choose shapes by."""

from __future__ import annotations

from dataclasses import dataclass

from .abi import Target


@dataclass(frozen=True, slots=True)
class Machine:
    """The vector unit of a processor."""

    vector_bytes: int
    """Bytes of a vector register."""
    registers: int
    """The number of vector registers."""

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
    return Machine(target.vector_bytes, 32 if many else 16)
