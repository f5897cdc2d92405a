"""Public figures of GPUs, for rooflines: bandwidth of memory, and operations per second by type, without sparsity."""

from __future__ import annotations

from typing import NamedTuple

from ..diag import TileError, did_you_mean

VECTOR, TENSOR = "vector", "tensor"


class Gpu(NamedTuple):
    """A GPU: gigabytes per second, and tera-operations per second by unit and type.

    The figures are public ones, dense, with accumulation in f32 for floats. docs/guides/performance.md
    says where they are from.
    """

    name: str
    target: str
    bandwidth: float
    peaks: dict[str, float]

    def peak(self, ceiling: str) -> float:
        """Return the tera-operations per second of a ceiling such as "tensor f16"; the vector units do the rest.

        >>> GPUS["h200"].peak("tensor f16"), GPUS["h200"].peak("tensor f32")
        (989, 67)
        """
        if (found := self.peaks.get(ceiling)) is not None:
            return found
        return self.peaks[f"{VECTOR} f64" if ceiling.endswith("f64") else f"{VECTOR} f32"]


def _row(
    name: str, target: str, bandwidth: float, f64: float, f32: float, tf32: float, f16: float, f8: float, i8: float,
    tensor_f64: float = 0,
) -> Gpu:  # fmt: skip
    peaks = {"vector f64": f64, "vector f32": f32, "tensor tf32": tf32, "tensor f16": f16, "tensor f8": f8}
    peaks |= {"tensor i8": i8, "tensor f64": tensor_f64}
    return Gpu(name, target, bandwidth, {key: value for key, value in peaks.items() if value})


GPUS = {
    row.name.lower().replace(" ", "-"): row
    for row in (
        #        memory  f64    f32    tf32   f16     f8    i8
        _row("A100", "sm_80", 2039, 9.7, 19.5, 156, 312, 0, 624, tensor_f64=19.5),
        _row("L40S", "sm_89", 864, 1.4, 91.6, 183, 362, 733, 733),
        _row("H100", "sm_90", 3350, 34, 67, 494.5, 989, 1979, 1979, tensor_f64=67),
        _row("H200", "sm_90", 4800, 34, 67, 494.5, 989, 1979, 1979, tensor_f64=67),
        _row("B200", "sm_100", 8000, 40, 80, 1100, 2250, 4500, 4500, tensor_f64=40),
        _row("RTX 4090", "sm_89", 1008, 1.3, 82.6, 82.6, 165.2, 330.3, 660.6),
        _row("RTX 5090", "sm_120", 1792, 1.6, 104.8, 104.8, 209.5, 419, 838),
    )
}  # fmt: skip
"""The GPUs by their names in small letters: the SXM forms of A100 (80 GB), H100, H200 and B200."""


def find_gpu(name: str) -> Gpu:
    """Return a GPU by its name.

    >>> find_gpu("RTX 5090").target
    'sm_120'
    """
    found = GPUS.get(name.lower().replace(" ", "-"))
    if found is None:
        raise TileError(f"unknown GPU '{name}', expected one of {', '.join(GPUS)}{did_you_mean(name.lower(), GPUS)}")
    return found
