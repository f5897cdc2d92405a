"""DLPack, by which libraries hand arrays to each other: its structure of a tensor, and its names of element types."""

from __future__ import annotations

import ctypes

from ..types import SCALARS

CPU, CUDA, CUDA_HOST = 1, 2, 3
"""Where memory is: of the host, of a GPU, and of the host where a GPU sees it."""
INT, UINT, FLOAT, BOOL = 0, 1, 2, 6
"""The codes of types that come in several widths, and of bool."""
NARROW = {s.row.dtype: (s.row.dlpack, s.bits) for s in SCALARS.values() if s.row.dlpack is not None and not s.is_packed}
"""Code and width of the types that NumPy does not have, by their names in ml_dtypes."""


class Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor"""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))
