"""torch without a GPU: tensors on `cuda` are created on the CPU, and `torch.cuda` answers like an idle GPU."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from ..device import STATE, lend
from ..imports import AfterImport


@contextlib.contextmanager
def torch_on_cpu() -> Iterator[None]:
    """Let torch use the CPU as its GPU, also if torch is only imported inside."""
    with ExitStack() as stack:
        if "torch" in sys.modules:
            enter(stack)
        else:
            stack.callback(AfterImport("torch", lambda: enter(stack)).stop)
        yield


_entered: list[ExitStack] = []
"""Whose patches hold: those of the outermost program, if programs of several languages are nested."""


def enter(stack: ExitStack) -> None:
    """Patch torch until the stack is closed, unless it is patched."""
    import torch

    from .graphs import GRAPH_FUNCTIONS
    from .torch_cuda import Nvtx, cuda_functions, streams
    from .torch_mode import CudaIsCpu as mode

    if _entered:
        return
    _entered.append(stack)
    stack.callback(_entered.clear)
    for name, value in (cuda_functions() | GRAPH_FUNCTIONS).items():
        stack.enter_context(patch.object(torch.cuda, name, value, create=True))
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        stack.enter_context(patch.object(torch.cuda.nvtx, name, getattr(Nvtx, name)))
    for name in ("start", "stop"):
        stack.enter_context(patch.object(torch.cuda.profiler, name, lambda: None))
    for target, name, value in replacements():
        stack.enter_context(patch.object(target, name, value))
    raw_stream = lambda *device: streams()[-1].cuda_stream  # noqa: E731  # a builtin of CUDA builds
    stack.enter_context(patch.object(torch._C, "_cuda_getCurrentRawStream", raw_stream, create=True))
    stack.enter_context(patch.object(torch._C, "_cuda_clearCublasWorkspaces", lambda: None, create=True))
    for name, missing in {  # imported by `torch._dynamo.reset`, once torch says that it is built for CUDA
        "_cuda_CUDAAllocator_AllocatorState": object,
        "_set_cached_tensors_enabled": lambda enabled: None,
    }.items():
        if not hasattr(torch._C, name):
            stack.enter_context(patch.object(torch._C, name, missing, create=True))
    stack.enter_context(patch.object(mode, "default_on_gpu", False))
    stack.enter_context(mode())
    run = threading.Thread.run

    def run_in_mode(thread: threading.Thread) -> None:
        with mode():  # modes are per thread
            run(thread)

    stack.enter_context(patch.object(threading.Thread, "run", run_in_mode))


ACCELERATOR = {
    **dict.fromkeys(("current_device_index", "current_device_idx"), "current_device"),
    **dict.fromkeys(("set_device_index", "set_device_idx"), "set_device"),
    "device_index": "device",
    "get_memory_info": "mem_get_info",
    "reset_accumulated_memory_stats": "reset_accumulated_memory_stats",
    **{
        name: name
        for name in (
            *("empty_cache", "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"),
            *("memory_stats", "reset_peak_memory_stats", "set_stream"),
        )
    },
}
"""Functions of `torch.accelerator` that are also in `torch.cuda`; a release of torch may lack some."""


def replacements() -> Iterator[tuple[Any, str, Any]]:
    """Yield what to patch in torch beside `torch.cuda`."""
    import torch
    import torch.utils._triton as about_triton

    from .torch_cuda import Event, cuda_functions, streams
    from .torch_mode import get_default_device, set_default_device
    from .torch_random import Generator

    yield torch._C, "_to_dlpack", refuse_dlpack(torch._C._to_dlpack)
    yield torch, "set_default_device", set_default_device
    yield torch, "get_default_device", get_default_device
    yield torch, "from_numpy", on_host(torch.from_numpy)
    yield torch, "frombuffer", on_host(torch.frombuffer)
    yield torch, "load", load(torch.load)
    yield torch, "compile", run_eagerly
    yield torch, "Generator", Generator
    yield torch, "Event", Event
    yield torch.Tensor, "record_stream", lambda tensor, stream: None
    yield torch.Tensor, "data_ptr", lending(torch.Tensor.data_ptr)
    if hasattr(torch._C._dynamo.guards, "_empty_strided_cuda"):
        yield torch._C._dynamo.guards, "_empty_strided_cuda", empty_strided
    yield torch.version, "cuda", "13.0"
    yield torch.backends.cuda, "is_built", lambda: True
    yield torch.accelerator, "is_available", lambda: True
    yield torch.accelerator, "device_count", lambda: 1
    yield torch.accelerator, "current_accelerator", lambda *values, **options: torch.device("cuda")
    yield torch.accelerator, "current_stream", lambda *values, **options: streams()[-1]
    yield torch.accelerator, "synchronize", lambda *values, **options: STATE.synchronize()
    if hasattr(torch.accelerator, "empty_host_cache"):
        yield torch.accelerator, "empty_host_cache", lambda: None
    own = cuda_functions()
    for name, of_cuda in ACCELERATOR.items():
        if hasattr(torch.accelerator, name):
            yield torch.accelerator, name, own[of_cuda]
    classes = torch.amp.autocast_mode.autocast
    yield classes, "__init__", autocast(classes.__init__)
    for name in ("is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled", "set_autocast_dtype"):
        yield torch, name, about_cpu(getattr(torch, name))
    yield torch, "get_autocast_gpu_dtype", lambda: torch.get_autocast_dtype("cpu")
    yield (
        torch._library.custom_ops.CustomOpDef,
        "register_kernel",
        register_kernel(torch._library.custom_ops.CustomOpDef.register_kernel),
    )
    yield torch.library.Library, "impl", library_impl(torch.library.Library.impl)
    yield about_triton, "has_triton_package", unless_it_stands_in("triton", about_triton.has_triton_package)
    backward = reentering(torch.autograd.graph._engine_run_backward)
    yield torch.autograd, "_engine_run_backward", backward
    yield torch.autograd.graph, "_engine_run_backward", backward


def lending(original: Any) -> Any:
    """Wrap `Tensor.data_ptr`, so that a kernel that is launched with the address may access the tensor's memory.

    The mode of `torch_mode` would only cost time here: each launch asks for the address of each tensor.
    """
    from torch._C import DisableTorchFunction
    from torch.multiprocessing.reductions import StorageWeakRef

    def data_ptr(tensor: Any) -> Any:
        with DisableTorchFunction():
            address = original(tensor)
            if address and not tensor.is_sparse:
                storage = tensor.untyped_storage()
                lend(storage.data_ptr(), storage.nbytes(), StorageWeakRef(storage).expired)
        return address

    return data_ptr


def empty_strided(size: Any, stride: Any, dtype: Any) -> Any:
    """Stand in for the allocation that code of torch's compiler uses."""
    import torch

    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def unless_it_stands_in(name: str, original: Any) -> Any:
    """Wrap a question whether a module is there: torch wants more of it than a stand-in has."""
    from .modules import stands_in

    return lambda: not stands_in(name) and original()


def refuse_dlpack(original: Any) -> Any:
    """Refuse cuTile a DLPack capsule, so that it uses the tensor's data pointer instead."""

    def to_dlpack(*values: Any, **options: Any) -> Any:
        if len(values) == 1 and not options and STATE.hides_dlpack:
            raise BufferError("the tensor is on the CPU")
        return original(*values, **options)

    return to_dlpack


def on_host(original: Any) -> Any:
    """Wrap a function whose result shares the host's memory."""
    from .placement import place

    @functools.wraps(original)
    def make(*values: Any, **options: Any) -> Any:
        result = original(*values, **options)
        place(result, False)
        return result

    return make


def load(original: Any) -> Any:
    """Wrap `torch.load`: tensors of a GPU are read into the host's memory."""
    from .placement import MARK, on_gpu

    def target(wanted: Any, saved: str) -> Any:
        if isinstance(wanted, dict):
            return wanted.get(saved, saved)
        return saved if wanted is None else wanted

    @functools.wraps(original)
    def read(file: Any, map_location: Any = None, *values: Any, **options: Any) -> Any:
        def restore(storage: Any, saved: str) -> Any:
            if callable(map_location):
                storage = map_location(storage, saved)
                return storage
            setattr(storage, MARK, on_gpu(target(map_location, saved)))
            return storage

        return original(file, restore, *values, **options)

    return read


def run_eagerly(model: Any = None, **options: Any) -> Any:
    """Replace `torch.compile`: nothing is compiled, so that each operation is seen."""
    return model if model is not None else lambda function: function


# ---------------------------------------------------------------- autocast


def autocast(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap the constructor of `torch.autocast`: what was meant for the GPU applies to the CPU's operations."""
    import torch

    @functools.wraps(original)
    def construct(self: Any, device_type: str, dtype: Any = None, *values: Any, **options: Any) -> None:
        if device_type == "cuda":
            original(self, "cpu", dtype or torch.float16, *values, **options)
        else:
            original(self, device_type, dtype, *values, **options)

    return construct


def about_cpu(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function about autocast: what is asked of the GPU is the CPU's, and so is what is asked of no device."""

    @functools.wraps(original)
    def ask(device_type: Any = "cuda", *values: Any) -> Any:
        return original("cpu" if device_type == "cuda" else device_type, *values)

    return ask


# ---------------------------------------------------------------- code of the program that torch calls


def reentering(original: Any) -> Any:
    """Wrap a function that torch calls, or that calls the program's: the mode is suspended inside a call of torch."""
    from .torch_mode import active

    @functools.wraps(original)
    def call(*values: Any, **options: Any) -> Any:
        with active():
            return original(*values, **options)

    return call


def register_kernel(original: Any) -> Any:
    """Wrap the method that registers an operator of the program for device types: the GPU's is the CPU's."""

    @functools.wraps(original)
    def register(self: Any, device_types: Any, function: Any = None, /) -> Any:
        if isinstance(device_types, str):
            device_types = "cpu" if device_types == "cuda" else device_types
        elif device_types is not None:
            device_types = tuple(dict.fromkeys("cpu" if each == "cuda" else each for each in device_types))
        if function is not None:
            return original(self, device_types, reentering(function))
        decorate = original(self, device_types)
        return lambda function: decorate(reentering(function))

    return register


def library_impl(original: Any) -> Any:
    """Wrap `Library.impl`: what is registered for `CUDA` is registered for the CPU, in the place of another one."""
    import torch

    of_gpu: set[str] = set()

    @functools.wraps(original)
    def impl(self: Any, name: Any, function: Any, dispatch_key: str = "", **options: Any) -> Any:
        place = f"{self.ns}/{str(getattr(name, '_name', name)).rpartition('::')[2]}/CPU"
        if dispatch_key.upper() == "CUDA":
            of_gpu.add(place)
            torch.library._impls.discard(place)  # before 2.12 a second one is refused
            return original(self, name, reentering(function), "CPU", **options)
        if dispatch_key != "CPU":
            return original(self, name, function, dispatch_key, **options)
        return None if place in of_gpu else original(self, name, reentering(function), "CPU", **options)

    return impl
