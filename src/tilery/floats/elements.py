"""The element types, one row each. A row holds every fact about a type; other tables derive from it."""

from __future__ import annotations

from ..declare.fastclass import dataclass
from ..version import V13_1, V13_2, V13_3, V13_4, Version
from .formats import NAN_ONLY, NUMBERS_ONLY, Format


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element type. Operations state for themselves which elements they accept."""

    name: str
    tag: int
    """The type tag in bytecode."""
    cname: str
    """The name in NVIDIA's version diagnostics."""
    bits: int
    memory_bits: int
    """The distance between neighbours in memory. Below 8, several elements share a byte, the first in the low bits."""
    dtype: str = ""
    """The name in NumPy or ml_dtypes, or empty if neither has the type."""
    carrier: str = ""
    """The NumPy type that holds an element as a number or as its bits."""
    dlpack: int | None = None
    """DLPack's type code, if the type has a code of its own."""
    format: Format | None = None
    """The layout of a float; None for an integer."""
    number: bool = True
    """Whether NVIDIA's dialect counts it as a number, which pointers and tensor views may refer to."""
    since: Version = V13_1


def _float(
    name: str,
    tag: int,
    cname: str,
    format: Format,
    dtype: str,
    *,
    memory_bits: int = 0,
    carrier: str = "",
    dlpack: int | None = None,
    since: Version = V13_1,
) -> Element:
    width = memory_bits or format.bits
    return Element(name, tag, cname, format.bits, width, dtype, carrier or dtype, dlpack, format, since=since)


def _int(
    name: str,
    tag: int,
    cname: str,
    bits: int,
    dtype: str,
    *,
    carrier: str = "",
    number: bool = True,
    since: Version = V13_1,
) -> Element:
    return Element(name, tag, cname, bits, max(bits, 8), dtype, carrier or dtype, number=number, since=since)


ELEMENTS = (
    _float("f16", 5, "Float16", Format(5, 10, base=True), "float16"),
    _float("bf16", 6, "BFloat16", Format(8, 7, base=True), "bfloat16", carrier="uint16", dlpack=4),
    _float("f32", 7, "Float32", Format(8, 23, base=True), "float32"),
    _float("tf32", 8, "TFloat32", Format(8, 10), "float32", memory_bits=32),
    _float("f64", 9, "Float64", Format(11, 52, base=True), "float64"),
    _float("f8E4M3FN", 10, "Float8E4M3FN", Format(4, 3, NAN_ONLY), "float8_e4m3fn", carrier="uint8", dlpack=10),
    _float("f8E5M2", 11, "Float8E5M2", Format(5, 2), "float8_e5m2", carrier="uint8", dlpack=12),
    _float(
        "f8E8M0FNU",
        18,
        "Float8E8M0FNU",
        Format(8, 0, NAN_ONLY, signed=False, subnormals=False),
        "float8_e8m0fnu",
        carrier="uint8",
        dlpack=14,
        since=V13_2,
    ),
    _float(
        "f4E2M1FN",
        19,
        "Float4E2M1FN",
        Format(2, 1, NUMBERS_ONLY),
        "float4_e2m1fn",  # one element per byte in ml_dtypes, two in DLPack and in memory
        carrier="uint8",
        dlpack=17,
        since=V13_3,
    ),
    _float(
        "fnv8E5M3FNU",
        130,
        "FloatNV8E5M3FNU",
        Format(5, 3, NAN_ONLY, signed=False),
        "",
        carrier="uint8",
        since=V13_4,
    ),
    _int("i1", 0, "Int1", 1, "bool"),
    _int("i8", 1, "Int8", 8, "int8"),
    _int("i16", 2, "Int16", 16, "int16"),
    _int("i32", 3, "Int32", 32, "int32"),
    _int("i64", 4, "Int64", 64, "int64"),
    _int("i4", 22, "Int4", 4, "int4", carrier="uint8", number=False, since=V13_3),
)
"""Every element type, in the order of NVIDIA's messages."""
