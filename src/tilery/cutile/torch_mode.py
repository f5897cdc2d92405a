"""torch functions on the CPU, as accurate as on a GPU.

New memory has all bits set, which is NaN in floats, so that elements a kernel fails to write are noticed. Elementary
functions, sums and products are computed in f64 and rounded once: programs compare their kernels with torch's results,
and its CPU code sums halves in half precision and has square roots that are off by an ulp.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")
HALVES = (torch.float16, torch.bfloat16)
LARGE = 1 << 24
"""Sums over tensors with this many elements use f32, to save time and memory."""


def functions(names: str, *homes: Any) -> set[Any]:
    """Return the functions of these names in torch's modules and classes."""
    return {getattr(home, name) for name in names.split() for home in homes if hasattr(home, name)}


FUNCTIONAL = torch.nn.functional
IS_CUDA = torch.Tensor.is_cuda.__get__
EMPTY = functions("empty empty_like empty_strided new_empty", torch, torch.Tensor)
ABSOLUTE = functions("abs absolute __abs__", torch, torch.Tensor)
ELEMENTARY = functions(
    "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan sigmoid",
    torch,
    torch.Tensor,
)
ATTENTION = FUNCTIONAL.scaled_dot_product_attention
PRODUCTS = functions("mm bmm addmm baddbmm matmul __matmul__ linear", torch, torch.Tensor, FUNCTIONAL)
SUMS = functions("sum mean prod cumsum cumprod layer_norm rms_norm softmax", torch, torch.Tensor, FUNCTIONAL)
ROUNDED_ONCE = PRODUCTS | SUMS | {ATTENTION}


class CudaIsCpu(TorchFunctionMode):  # type: ignore[misc]  # torch has no types here
    """A torch mode that intercepts every call and runs what was meant for a GPU on the CPU."""

    def __torch_function__(self, function: Any, types: Any, values: Any = (), options: Any = None) -> Any:
        options = dict(options or {})
        if function is torch.device:
            return function(*values, **options)
        if function == IS_CUDA:
            return True
        if function is torch.Tensor.cuda:
            return values[0]
        if on_gpu(options.get("device")):
            options["device"] = CPU
        options.pop("pin_memory", None)
        if any(on_gpu(value) for value in values):
            values = tuple(CPU if on_gpu(value) else value for value in values)
        if function in ABSOLUTE and values[0].dtype == torch.bool:  # exists on GPUs only
            return values[0].clone()
        if "out" not in options:
            if function in ELEMENTARY:
                return elementary(function, values, options)
            if function in ROUNDED_ONCE:
                return rounded_once(function, values, options)
        result = function(*values, **options)
        if function in EMPTY and isinstance(result, torch.Tensor):
            fill(result)
        return result


def on_gpu(device: object) -> bool:
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, torch.device) and device.type == "cuda"


def fill(tensor: Any) -> None:
    """Set all bits of a tensor's storage; a bool becomes True."""
    with torch._C.DisableTorchFunction():
        whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
        whole.fill_(1 if tensor.dtype == torch.bool else 255)


def elementary(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """Compute an elementwise function in f64 and round once."""
    first = values[0]
    if not isinstance(first, torch.Tensor) or first.is_complex() or first.dtype == torch.float64:
        return function(*values, **options)
    kind = first.dtype if first.is_floating_point() else torch.get_default_dtype()
    return narrow(function(first.to(torch.float64), *values[1:], **options), kind)


def rounded_once(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """Compute a sum or product in a wider type and round once.

    `out_dtype` exists on GPUs only, and so do most attention backends.
    """
    tensors = [value for value in (*values, *options.values()) if isinstance(value, torch.Tensor)]
    wanted = options.pop("out_dtype", None)
    if not tensors or tensors[0].dtype not in (*HALVES, torch.float32) or options.get("dtype") is not None:
        if wanted is not None:
            values = tuple(value.to(wanted) if isinstance(value, torch.Tensor) else value for value in values)
        return function(*values, **options)
    kind = wanted or tensors[0].dtype
    wide = torch.float64 if is_small(tensors) and function is not ATTENTION else torch.float32
    rounded = function in PRODUCTS and tensors[0].dtype == torch.float32 and uses_tf32()

    def widen(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return (to_tf32(value) if rounded else value).to(wide)

    math = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with math if function is ATTENTION else contextlib.nullcontext():
        result = function(*map(widen, values), **{key: widen(value) for key, value in options.items()})
    return narrow(result, kind)


def narrow(tensor: Any, kind: Any) -> Any:
    """Convert and round once. torch converts f64 to halves through f32, so that step rounds to odd here."""
    if tensor.dtype != torch.float64 or kind not in HALVES or tensor.requires_grad:
        return tensor.to(kind)
    near = tensor.to(torch.float32)
    bits = near.view(torch.int32) - (near.to(torch.float64).abs() > tensor.abs()).to(torch.int32)
    bits |= (bits.view(torch.float32).to(torch.float64) != tensor).to(torch.int32)
    return torch.where(near.isfinite(), bits.view(torch.float32), near).to(kind)


def is_small(tensors: Iterable[Any]) -> bool:
    return all(tensor.numel() < LARGE for tensor in tensors)


def uses_tf32() -> bool:
    """Whether a GPU would round the factors of f32 products to tf32."""
    return bool(
        torch.get_float32_matmul_precision() != "highest" or torch.backends.cuda.matmul.fp32_precision == "tf32"
    )


def to_tf32(tensor: Any) -> Any:
    """Round to the ten mantissa bits of tf32, ties to even."""
    bits = tensor.contiguous().view(torch.int32)
    kept = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return torch.where(tensor.isfinite(), kept.view(torch.float32), tensor)
