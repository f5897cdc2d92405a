"""Advice on remarks of tileiras: one sentence for each reason that it gives, as far as that is known."""

from __future__ import annotations

from ...ir import Op

REASONS = {
    "base pointer not 16-byte aligned": (
        "promise the alignment, if it is true: `assume div_by<16>` on the pointer of `make_tensor_view`; in C++"
        " `ct::assume_aligned(p, 16_ic)`; cuTile promises it for arrays whose address is a multiple of 16"
    ),
    "stride not 16-byte aligned": (
        "make every stride but the contiguous one a multiple of 16 bytes: pad rows, or, where strides are known only at"
        " run time, promise it with `assume div_by` on the stride"
    ),
    "contiguous striding not 16-byte aligned": "make the distance between rows of the view a multiple of 16 bytes",
    "leading tile dimension not 16-byte aligned": (
        "make the contiguous dimension of the tile at least 16 bytes long, and a multiple of 16 bytes"
    ),
    "no contiguous tile dimension found": "give the view a dimension with stride 1 that is more than one element long",
    "no contiguous dimension found": "give the view a dimension whose stride is the constant 1, not a value",
    "TMA only supports zero padding": "use `padding_value = zero`, and replace the padding with `select` afterwards",
    "memory semantic must be weak for TMA operations": "use a `weak` access, if nothing else orders itself by this one",
    "atomic RMW operation has result users": "do not use the result of the atomic, or use `atomic_red_view_tko`",
    "cannot prove coordinate safety statically - conservative fallback": (
        "promise the range of the index with `assume bounded`"
    ),
    "unsupported element type for TMA operations": "nothing: use another element type in memory",
    "hardware coordinate limits exceeded - shapes or strides require encoding beyond TMA descriptor capacity": (
        "use a view with smaller extents or strides, such as one that starts at the rows of the tile block"
    ),
}
"""Advice by the words of tileiras. Those that tests compile both ways are marked in `tests/engines/test_remarks.py`."""
NO_TENSOR_CORES = (
    "make the product at least 16 rows high and 512 elements large, and use element types that tensor cores have: f32"
    " operands can be cast to tf32, which keeps 10 bits of the fraction"
)
OLDER_TENSOR_CORES = "for the instructions of {0}, make the product at least 64 rows high and 32 bytes deep"
OLDER = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_120", "sm_121")
"""Targets whose tensor cores have the instructions of sm_80."""


def advise(name: str, reasons: tuple[str, ...], o: Op | None, *, instruction: str = "", target: str = "") -> list[str]:
    """Return what would change a remark about an operation; nothing if that is not known."""
    about_view = hasattr(o, "view")  # `print_tko` stores to memory of its own, which a kernel cannot change
    found = [REASONS[reason] for reason in reasons if reason in REASONS and about_view]
    if name == "RemarkTensorCoreMMA" and instruction == "FMA":
        found.append(NO_TENSOR_CORES)
    if instruction == "Tensor-core SM80" and target not in OLDER:
        found.append(OLDER_TENSOR_CORES.format(target))
    return found
