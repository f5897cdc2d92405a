"""Build kernels in Python: `Builder`, and short names for types.

>>> from tilery.builder import Builder, f32, i32, ptr
>>> b = Builder()
>>> with b.entry("twice", p=ptr(f32), n=i32) as k:
...     i = b.block_id()[0]
...     with b.if_(i < k.n):
...         t = b.store_ptr(k.p + i, b.load_ptr(k.p + i) * 2)
>>> print(b.module)  # doctest: +ELLIPSIS
entry @twice(%p: tile<ptr<f32>>, %n: tile<i32>) {
...
"""

from __future__ import annotations

from ..types import BF16, F16, F32, F64, I1, I4, I8, I16, I32, I64, SCALARS, TF32
from ..types import Ptr as ptr
from ..types import Tile as tile
from .builder import Builder, operate
from .regions import Parameters, Region

bf16, f16, f32, f64, tf32 = BF16, F16, F32, F64, TF32
i1, i4, i8, i16, i32, i64 = I1, I4, I8, I16, I32, I64
f8e4m3fn, f8e5m2, f8e8m0fnu = SCALARS["f8E4M3FN"], SCALARS["f8E5M2"], SCALARS["f8E8M0FNU"]
f4e2m1fn, fnv8e5m3fnu = SCALARS["f4E2M1FN"], SCALARS["fnv8E5M3FNU"]

__all__ = [
    "Builder", "Parameters", "Region", "bf16", "f4e2m1fn", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "f16", "f32", "f64",
    "fnv8e5m3fnu", "i1", "i4", "i8", "i16", "i32", "i64", "operate", "ptr", "tf32", "tile",
]  # fmt: skip
