"""DLPack, the protocol by which libraries exchange arrays: its tensor structure and its type codes."""

from __future__ import annotations

import ctypes

from ...types import SCALARS

CPU, CUDA, CUDA_HOST = 1, 2, 3
"""Kinds of device: host memory, GPU memory, and host memory that a GPU can access."""
INT, UINT, FLOAT, BOOL = 0, 1, 2, 6
"""Codes of the types that come in several widths, and of bool."""
NARROW = {s.row.dtype: (s.row.dlpack, s.bits) for s in SCALARS.values() if s.row.dlpack is not None and not s.is_packed}
"""Code and width of the types that NumPy lacks, by their names in ml_dtypes."""


class DLTensor(ctypes.Structure):
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

    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))
