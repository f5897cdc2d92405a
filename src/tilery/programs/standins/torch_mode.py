"""torch functions on the CPU, as accurate as on a GPU.

What was meant for a GPU runs on the CPU, and `placement` remembers where the program believes its tensors to be. A copy
to the GPU or back is a copy, so that the two change independently.

New memory has all bits set, which is NaN in floats, so that elements a kernel fails to write are noticed. Elementary
functions, sums and products are computed in f64 and rounded once: programs compare their kernels with torch's results,
and its CPU code sums halves in half precision and has square roots that are off by an ulp.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import _disable_current_modes

from ..device import STATE, THREAD
from .placement import CPU, GPU, LOCAL, MARK, is_on_gpu, on_gpu, place, storage_of, tensors_in
from .torch_random import DEFAULT
from .watching import watch_storage

HALVES = (torch.float16, torch.bfloat16)
LARGE = 1 << 24
"""Sums over tensors with this many elements use f32, to save time and memory."""


def functions(names: str, *homes: Any) -> set[Any]:
    """Return the functions of these names in torch's modules and classes."""
    return {getattr(home, name) for name in names.split() for home in homes if hasattr(home, name)}


FUNCTIONAL = torch.nn.functional
EMPTY = functions("empty empty_like empty_strided new_empty", torch, torch.Tensor)
ABSOLUTE = functions("abs absolute __abs__", torch, torch.Tensor)
ELEMENTARY = functions(
    "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan sigmoid",
    torch,
    torch.Tensor,
)
WIDENED = functions("exp expm1 log log10 log2 log1p rsqrt sinh cosh tan asin acos", torch, torch.Tensor)
"""The elementary functions with results in f32 inside `torch.autocast`."""
ATTENTION = FUNCTIONAL.scaled_dot_product_attention
PRODUCTS = functions("mm bmm addmm baddbmm matmul __matmul__ linear", torch, torch.Tensor, FUNCTIONAL)
SUMS = functions(
    "sum mean prod cumsum cumprod layer_norm rms_norm softmax log_softmax logsumexp cross_entropy normalize",
    torch,
    torch.Tensor,
    FUNCTIONAL,
)
WAITS = functions(
    "item tolist numpy cpu to copy_ __bool__ __int__ __float__ __index__ __complex__ __contains__ __repr__ __format__ "
    "is_nonzero equal allclose nonzero argwhere unique unique_consecutive masked_select bincount __array__",
    torch,
    torch.Tensor,
)
"""The functions for which the host waits for the current stream, or may do so."""
BATCH_NORM = FUNCTIONAL.batch_norm
WIDE_SUMS = SUMS - functions("mean rms_norm logsumexp normalize", torch, torch.Tensor, FUNCTIONAL)
"""The sums with results in f32 inside `torch.autocast`."""
ROUNDED_ONCE = PRODUCTS | SUMS | {ATTENTION}


class CudaIsCpu(TorchFunctionMode):  # type: ignore[misc]  # torch has no types here
    """A torch mode that intercepts every call and runs what was meant for a GPU on the CPU."""

    default_on_gpu = False
    """Set by `torch.set_default_device`."""

    def __torch_function__(self, function: Any, types: Any, values: Any = (), options: Any = None) -> Any:
        if STATE.flight is not None and function in WAITS and any(map(is_on_gpu, tensors_in(values))):
            from .torch_cuda import streams

            STATE.synchronize(streams()[-1].cuda_stream)
        return self._run(function, values, options)

    def _run(self, function: Any, values: Any, options: Any) -> Any:
        options = dict(options or {})
        special = SPECIAL.get(function)
        if special is not None:
            return special(function, values, options)
        given = options.get("device")
        gpu = on_gpu(given)
        if gpu:
            options["device"] = CPU
        options.pop("pin_memory", None)
        if options.get("generator") is DEFAULT:
            options["generator"] = torch.default_generator
        if function in CONSTRUCTORS:
            given = given if given is not None or not CudaIsCpu.default_on_gpu else GPU
            gpu = on_gpu(given)
        elif any(isinstance(value, (str, torch.device)) and on_gpu(value) for value in values):
            values = tuple(
                CPU if isinstance(value, (str, torch.device)) and on_gpu(value) else value for value in values
            )
            gpu = True
        if given is None and not gpu:
            sources = list(tensors_in(values)) or list(tensors_in(options))
            gpu = any(map(is_on_gpu, sources))
        with working_on_gpu(gpu):
            result = compute(function, values, options)
            if given is not None and isinstance(result, torch.Tensor) and is_elsewhere(result, values, gpu):
                result = result.clone()
        for tensor in tensors_in(result):
            place(tensor, gpu)
        return result


@contextlib.contextmanager
def active() -> Iterator[None]:
    """Enter the mode again: it is suspended inside a call, and some calls run code of the program."""
    if any(isinstance(mode, CudaIsCpu) for mode in _get_current_function_mode_stack()):
        yield
    else:
        with CudaIsCpu():
            yield


def names_gpu(value: object) -> bool:
    """Whether an argument by position is the GPU; a number there is something else."""
    return isinstance(value, (str, torch.device)) and on_gpu(value)


def is_elsewhere(result: Any, values: Any, gpu: bool) -> bool:
    """Whether a result shares memory that is not where it is wanted; on a GPU it would be a copy."""
    mark = getattr(storage_of(result), MARK, None)
    return mark is not gpu if mark is not None else gpu and bool(values) and hasattr(values[0], "__array_interface__")


@contextlib.contextmanager
def working_on_gpu(gpu: bool) -> Iterator[None]:
    """Tell the capture of a graph whether the work is the GPU's."""
    before, LOCAL.gpu = getattr(LOCAL, "gpu", False), gpu
    try:
        yield
    finally:
        LOCAL.gpu = before


def compute(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """Call a function, in the precision that it has on a GPU."""
    if function in ABSOLUTE and values[0].dtype == torch.bool:  # exists on GPUs only
        return values[0].clone()
    out = options.get("out")
    if isinstance(out, torch.Tensor) and (function in ELEMENTARY or function in ROUNDED_ONCE):
        result = compute(function, values, {name: value for name, value in options.items() if name != "out"})
        return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)
    if out is None:
        if function is BATCH_NORM:
            return batch_norm(*values, **options)
        if function in ELEMENTARY:
            return elementary(function, values, options)
        if function in ROUNDED_ONCE:
            return rounded_once(function, values, options)
    result = function(*values, **options)
    if function in EMPTY and isinstance(result, torch.Tensor):
        fill(result)
    return result


# ---------------------------------------------------------------- functions that are about devices


def make_device(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """`torch.device`; a number is a GPU's."""
    if len(values) == 1 and not options and isinstance(values[0], int):
        return function("cuda", values[0])
    return function(*values, **options)


def move(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """`Tensor.to`, which copies if the tensor is elsewhere."""
    tensor, *rest = values
    wanted = options.pop("device", None)
    if rest and (on_gpu(rest[0]) or isinstance(rest[0], (str, torch.device))):
        wanted = rest.pop(0)
        options["device"] = CPU
    elif rest and isinstance(rest[0], torch.Tensor):
        wanted = GPU if is_on_gpu(rest[0]) else CPU
    elif wanted is not None:
        options["device"] = CPU
    now = is_on_gpu(tensor)
    gpu = now if wanted is None else on_gpu(wanted)
    if "device" in options and rest:  # dtype, non_blocking, copy by position
        options.update(zip(("dtype", "non_blocking", "copy"), rest))
        rest = []
    with working_on_gpu(gpu or now):
        result = function(tensor, *rest, **options)
        if gpu != now and storage_of(result) is storage_of(tensor):
            result = result.clone()
    place(result, gpu)
    return result


def to_gpu(function: Any, values: Any, options: dict[str, Any]) -> Any:
    return move(torch.Tensor.to, (values[0], GPU), {})


def to_host(function: Any, values: Any, options: dict[str, Any]) -> Any:
    return move(torch.Tensor.to, (values[0], CPU), options)


def parse_to(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """The arguments of `Module.to`."""
    wanted = options.get("device", values[0] if values else None)
    if not on_gpu(wanted):
        return function(*values, **options)
    if "device" in options:
        options["device"] = CPU
    else:
        values = (CPU, *values[1:])
    return (GPU, *function(*values, **options)[1:])


def launching() -> bool:
    """Whether cuTile is looking at the arguments of a launch: every tensor may be one."""
    return getattr(THREAD, "arguments", None) is not None


def is_cuda(function: Any, values: Any, options: dict[str, Any]) -> bool:
    return launching() or is_on_gpu(values[0])


def device_of(function: Any, values: Any, options: dict[str, Any]) -> Any:
    return GPU if is_cuda(function, values, options) else function(*values, **options)


def device_number(function: Any, values: Any, options: dict[str, Any]) -> int:
    return 0 if is_cuda(function, values, options) else -1


GPU_TYPE = "torch.cuda."


def type_of(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """`Tensor.type`: the name of the type, or a tensor of another type, which may be one of the GPU's."""
    tensor, *rest = values
    wanted = rest[0] if rest else options.get("dtype")
    if wanted is None:
        name: str = function(tensor)
        return name.replace("torch.", GPU_TYPE, 1) if is_on_gpu(tensor) else name
    name = wanted if isinstance(wanted, str) else getattr(wanted, "gpu_type", "")
    if name.startswith(GPU_TYPE):
        return move(torch.Tensor.to, (function(tensor, name.replace(GPU_TYPE, "torch.", 1)), GPU), {})
    result = function(*values, **options)
    place(result, is_on_gpu(tensor) and not isinstance(wanted, str))
    return result


def array_interface(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """`Tensor.__cuda_array_interface__` of a tensor on the GPU: its memory, in NumPy's words."""
    (tensor,) = values
    if not is_on_gpu(tensor) or tensor.is_sparse:
        return function(tensor)
    if tensor.requires_grad:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
    kind = "<V2" if tensor.dtype is torch.bfloat16 else torch.empty(0, dtype=tensor.dtype).numpy().dtype.str
    strides = None if tensor.is_contiguous() else tuple(step * tensor.element_size() for step in tensor.stride())
    address = tensor.data_ptr() if tensor.numel() else 0
    return {"typestr": kind, "shape": tuple(tensor.shape), "strides": strides, "data": (address, False), "version": 2}


def itself(function: Any, values: Any, options: dict[str, Any]) -> Any:
    return values[0]


def set_default_device(device: Any) -> None:
    """Replace torch's: its own would look for a GPU."""
    CudaIsCpu.default_on_gpu = on_gpu(device)


def get_default_device() -> Any:
    return GPU if CudaIsCpu.default_on_gpu else CPU


SPECIAL: dict[Any, Callable[[Any, Any, dict[str, Any]], Any]] = {
    torch.device: make_device,
    torch.Tensor.to: move,
    torch.Tensor.cuda: to_gpu,
    torch.Tensor.cpu: to_host,
    torch._C._nn._parse_to: parse_to,
    torch.Tensor.is_cuda.__get__: is_cuda,
    torch.Tensor.device.__get__: device_of,
    torch.Tensor.get_device: device_number,
    torch.Tensor.pin_memory: itself,
    torch.Tensor.type: type_of,
    torch.Tensor.__cuda_array_interface__.__get__: array_interface,
}
CONSTRUCTORS = frozenset(_device_constructors())


def fill(tensor: Any) -> None:
    """Set all bits of a tensor's storage; a bool becomes True. A sanitizer takes note that it was not written."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
        whole.fill_(1 if tensor.dtype == torch.bool else 255)
        if STATE.program is not None and tensor.dtype != torch.bool:
            watch_storage(STATE.program, tensor.untyped_storage())


def elementary(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """Compute an elementwise function in f64 and round once."""
    first = values[0]
    if not isinstance(first, torch.Tensor) or first.is_complex() or first.dtype == torch.float64:
        return function(*values, **options)
    kind = first.dtype if first.is_floating_point() else torch.get_default_dtype()
    if kind in HALVES and function in WIDENED and torch.is_autocast_enabled("cpu"):
        kind = torch.float32
    return narrow(function(first.to(torch.float64), *values[1:], **options), kind)


def rounded_once(function: Any, values: Any, options: dict[str, Any]) -> Any:
    """Compute a sum or product in a wider type and round once.

    `out_dtype` exists on GPUs only, and so do most attention backends.
    """
    if torch.is_autocast_enabled("cpu"):
        values, options = autocast(function, values, options)
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


def batch_norm(input: Any, running_mean: Any, running_var: Any, *values: Any, **options: Any) -> Any:
    """`batch_norm` in f64, rounded once; the running statistics are updated in their own type."""
    if input.dtype not in (*HALVES, torch.float32) or not is_small([input]):
        return BATCH_NORM(input, running_mean, running_var, *values, **options)
    wide = [each.to(torch.float64) if isinstance(each, torch.Tensor) else each for each in (running_mean, running_var)]
    rest = [each.to(torch.float64) if isinstance(each, torch.Tensor) else each for each in values]
    named = {key: each.to(torch.float64) if isinstance(each, torch.Tensor) else each for key, each in options.items()}
    result = BATCH_NORM(input.to(torch.float64), *wide, *rest, **named)
    with torch.no_grad():
        for old, new in zip((running_mean, running_var), wide):
            if old is not None:
                old.copy_(new)
    return narrow(result, input.dtype)


def autocast(function: Any, values: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Convert the arguments as a GPU does inside `torch.autocast`: products narrow them, sums widen them."""
    if function in SUMS - WIDE_SUMS:
        return values, options
    kind = torch.float32 if function in WIDE_SUMS else torch.get_autocast_dtype("cpu")

    def cast(value: Any) -> Any:
        eligible = isinstance(value, torch.Tensor) and value.dtype in (*HALVES, torch.float32)
        return value.to(kind) if eligible else value

    return tuple(map(cast, values)), {key: cast(value) for key, value in options.items()}


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
