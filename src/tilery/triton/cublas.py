"""A stand-in for `triton._C.libtriton.nvidia.cublas`, with which programs compare their products."""

from __future__ import annotations

from typing import Any

from ..diag import TileError


class CublasLt:
    """Products by torch: c = a b^T, with the accumulator in f32."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        c.copy_((a.float() @ b.float().T).to(c.dtype))

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        d.copy_((alpha * (a.float() @ b.float().T) + beta * c.float()).to(d.dtype))

    def __getattr__(self, name: str) -> Any:
        raise TileError(f"cuBLAS is not here, and its stand-in has no '{name}'")
