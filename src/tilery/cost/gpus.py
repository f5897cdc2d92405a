"""Public figures of GPUs, for rooflines: bandwidth of memory, and operations per second by type, without sparsity."""

from __future__ import annotations

from typing import NamedTuple

from ..diag import TileError, did_you_mean

VECTOR, TENSOR = "vector", "tensor"


class Gpu(NamedTuple):
    """A GPU: gigabytes per second, and tera-operations per second by unit and type.

    The figures are public ones, dense, with accumulation in f32 for floats.
    """

    name: str
    target: str
    bandwidth: float
    peaks: dict[str, float]
    source: str
    """The file of NVIDIA's that has the figures, and the document that it quotes."""
    unconfirmed: tuple[str, ...]
    """The figures that no document of NVIDIA's was found for; public pages quote them."""

    def peak(self, ceiling: str) -> float:
        """Return the tera-operations per second of a ceiling such as "tensor f16"; the vector units do the rest.

        >>> GPUS["h200"].peak("tensor f16"), GPUS["h200"].peak("tensor f32")
        (989, 67)
        """
        if (found := self.peaks.get(ceiling)) is not None:
            return found
        return self.peaks[f"{VECTOR} f64" if ceiling.endswith("f64") else f"{VECTOR} f32"]


COLUMNS = ("vector f64", "vector f32", "tensor tf32", "tensor f16", "tensor f8", "tensor i8", "tensor f64")
MEMORY = "memory"


def _row(name: str, target: str, bandwidth: float, *peaks: float, source: str, read: str) -> Gpu:
    """Make a row; `read` names the figures that the source has."""
    found = {column: peak for column, peak in zip(COLUMNS, peaks) if peak}
    known = read.split(", ")
    return Gpu(name, target, bandwidth, found, source, tuple(x for x in (MEMORY, *found) if x not in known))


LLM = "NVIDIA/TensorRT-LLM 16d2467, tensorrt_llm/auto_parallel/cluster_info.py"
AIC = "ai-dynamo/aiconfigurator"
TENSOR_CORES = "memory, tensor tf32, tensor f16, tensor f8, tensor i8"

GPUS = {
    row.name.lower().replace(" ", "-"): row
    for row in (
        #        memory  f64    f32    tf32   f16     f8    i8    f64 of tensor cores
        _row("A100", "sm_80", 2039, 9.7, 19.5, 156, 312, 0, 624, 19.5, read=TENSOR_CORES,
             source=f"{LLM}: A100 data sheet 1758950-r4"),
        _row("L40S", "sm_89", 864, 1.4, 91.6, 183, 362, 733, 733, read=TENSOR_CORES,
             source=f"{LLM}: L40S data sheet 28413"),
        _row("H100", "sm_90", 3350, 34, 67, 494.5, 989, 1979, 1979, 67, read=TENSOR_CORES,
             source=f"{LLM}: H100 data sheet"),
        _row("H200", "sm_90", 4800, 34, 67, 494.5, 989, 1979, 1979, 67,
             read="memory, vector f32, tensor f16, tensor f8, tensor i8",
             source=f"{LLM}: H200 data sheet 3002446, halved where it counts sparsity"),
        _row("B200", "sm_100", 7700, 40, 80, 1100, 2250, 4500, 4500, 40,
             read="memory, tensor f16, tensor f8, tensor i8",
             source=f"{AIC} 095f58a, systems/b200_sxm.yaml: Blackwell data sheet 3384703"),
        _row("RTX 4090", "sm_89", 1008, 1.3, 82.6, 82.6, 165.2, 330.3, 660.6, read="", source=""),
        _row("RTX 5090", "sm_120", 1792, 1.6, 104.8, 104.8, 209.5, 419, 838, read="memory, tensor i8",
             source=f"{AIC} 603ba74, systems/rtx_5090.yaml, which has 419 and 838 for f16 and f8"),
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
