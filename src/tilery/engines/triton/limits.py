"""The tables of the Triton engine's report: operations that it refuses, and differences from the reference engine."""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """Something that is refused: the operations, the targets, and the words of the error."""

    operations: str
    targets: str
    why: str


PACKED_POINTERS = "which four-bit elements share a byte is only known at run time; use a view"
PACKED_VIEW = "two four-bit elements of a tile must share each byte: stride 1 along its last dimension"
SHORT_ORDER = "Triton has no acquiring or releasing access of 8 or 16 bits on AMD"
DEEP = "control flow nests too deep"

REFUSED = (
    Limit("all", "all", "a tile has more than 1048576 elements, the limit of Triton"),
    Limit("`load_ptr_tko`, `store_ptr_tko` of f4E2M1FN", "all", PACKED_POINTERS),
    Limit("`store_view_tko` of f4E2M1FN", "all", PACKED_VIEW),
    Limit("`load_*_tko`, `store_*_tko`", "AMD", SHORT_ORDER),
    Limit("`divf`, `sqrt` rounded up, down or to zero", "AMD", "AMD's library has no such function"),
    Limit("`if`, `for`, `loop`", "all", f"{DEEP}: 120 levels after early exits became branches"),
    Limit("`alloca`", "all", "it is larger than 1 GiB, or aligned to more than 1 MiB"),
)

LIBRARY_ULPS = {("fpowf", "f32"): 2}
"""Errors of functions of Triton's library, where NVIDIA's compiler is closer to the nearest number."""

DIFFERENT = (
    ("`print_tko`", "Printed when the launch has ended. A launch can print values of 32 MiB; more is an error."),
    ("`assert`", "The kernel stops, and the driver reports an error without the tile block."),
    ("`atomic_cas_tko` with a mask", "Masked elements are compared with a word that is never read."),
    ("NaN", "Signs and payloads may differ."),
    ("`mmaf` above 2**14 multiplications", "Tensor cores, or fused steps for f32 and f64, in Triton's order."),
    ("`mmaf` with fewer than 16 rows or 8 columns", "Above 2**14 multiplications as larger ones; f64 step by step."),
    ("`mmaf_scaled`", "Scaled elements are rounded to bf16, which is exact above its smallest normal number."),
    ("`mmaf_scaled` of large tiles on Blackwell", "One instruction, in its own precision and order; not run on a GPU."),
    ("`fpowf` of f32", f"At most {LIBRARY_ULPS['fpowf', 'f32']} ULP from the nearest number; NVIDIA's compiler 1."),
    ("`mmai` that overflows", "Sums wrap around. NVIDIA's compiler saturates on tensor cores."),
    (
        "`reduce` with sums or products of floats, one for each value",
        "Triton's order; with `num_warps=4` that of NVIDIA's compiler, for tiles that were loaded through pointers.",
    ),
    ("`scan` of floats", "Triton's order."),
    ("`reduce` with control flow in its body", "Triton's order, even if the body is not commutative."),
)
"""Differences in what the engine computes or does, without an error."""
