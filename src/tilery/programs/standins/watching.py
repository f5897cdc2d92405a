"""Tell a sanitizer what a program does besides launching: what it allocates, reads and writes, and its streams."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy

from ..device import STATE
from ..frames import is_program
from ..imports import AfterImport

if TYPE_CHECKING:
    from ...sanitize import Sanitizer
    from ...sanitize.program import ProgramMemory


@contextlib.contextmanager
def watching(sanitizer: Sanitizer | None) -> Iterator[None]:
    """Tell a sanitizer, if it asks for that, what the program does with streams and with memory."""
    flight = None if sanitizer is None else sanitizer.flight
    if flight is not None:
        flight.blocking = STATE.blocking
    with patch.object(STATE, "flight", flight), watching_memory(sanitizer):
        try:
            yield
        finally:
            STATE.synchronize()


@contextlib.contextmanager
def watching_memory(sanitizer: Sanitizer | None) -> Iterator[None]:
    if sanitizer is None or {"uninit", "unwritten"}.isdisjoint(sanitizer.names):
        yield
        return
    from ...sanitize.program import ProgramMemory

    program = ProgramMemory(sanitizer)
    with ExitStack() as stack:
        stack.enter_context(patch.object(sanitizer, "program", program))
        stack.enter_context(patch.object(STATE, "program", program))
        for name in ("empty", "empty_like"):
            stack.enter_context(patch.object(numpy, name, marking(getattr(numpy, name))))
        if "torch" in sys.modules:
            watch_torch(stack, sanitizer)
        else:
            stack.callback(AfterImport("torch", lambda: watch_torch(stack, sanitizer)).stop)
        yield


def watch_torch(stack: ExitStack, sanitizer: Sanitizer) -> None:
    """Watch what torch reads and writes, until the stack is closed."""
    from .torch_reads import Reads

    assert sanitizer.program is not None
    reads = Reads(sanitizer)
    sanitizer.program.find = reads.find
    with warnings.catch_warnings():
        # The first use of a mode imports a part of torch that registers kernels for the CPU and for the GPU.
        warnings.simplefilter("ignore")
        stack.enter_context(reads)
        reads.warm_up()


def watch_storage(program: ProgramMemory, storage: Any) -> None:
    """Take note that the memory of a tensor has not been written."""
    address = storage.data_ptr()
    program.allocate(address, storage.nbytes())
    weakref.finalize(storage, program.free, address).atexit = False


def marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy that makes an array without a value."""

    @functools.wraps(original)
    def make(*values: Any, **options: Any) -> Any:
        made = original(*values, **options)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        is_plain = type(made) is numpy.ndarray and made.base is None and made.dtype.kind in "iufcV"
        if STATE.program is not None and is_plain and (is_program(caller) or caller.endswith("cupy_on_numpy")):
            STATE.program.allocate(made.ctypes.data, made.nbytes)
            weakref.finalize(made, STATE.program.free, made.ctypes.data).atexit = False
        return made

    return make
