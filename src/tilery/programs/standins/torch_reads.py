"""Tell a sanitizer what torch reads and writes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...sanitize.program import Strided
from ...sanitize.reports import Faults, Reports
from ..frames import program_line
from .placement import MEMORY, storage_of, tensors_in

if TYPE_CHECKING:
    from ...sanitize import Sanitizer

WATCHED = "tilery_watched"
"""The attribute of storages whose end the sanitizer is told of."""
COPIES = frozenset({"aten::copy_", "aten::clone", "aten::_to_copy"})


class Reads(TorchDispatchMode):  # type: ignore[misc]  # torch has no types here
    """A torch mode that sees each operation on tensors."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        super().__init__()
        self._sanitizer = sanitizer

    def warm_up(self) -> None:
        """Use the mode once."""
        torch.zeros(1).sum()

    def find(self, address: int) -> tuple[int, int] | None:
        """Return the start and the size of the memory on the GPU that contains an address."""
        for storage in MEMORY.storages():
            start, size = storage.data_ptr(), storage.nbytes()
            if start <= address < start + size:
                return self._watched(storage)
        return None

    def _watched(self, storage: Any) -> tuple[int, int]:
        """Return where a storage is; the sanitizer is told when it is freed."""
        start = storage.data_ptr()
        if not hasattr(storage, WATCHED):
            setattr(storage, WATCHED, True)
            weakref.finalize(storage, self._free, start).atexit = False
        return start, storage.nbytes()

    def _free(self, start: int) -> None:
        if self._sanitizer.program is not None:
            self._sanitizer.program.free(start)

    def __torch_dispatch__(self, function: Any, types: Any, values: Any = (), options: Any = None) -> Any:
        options = options or {}
        # In a backward pass torch asks for memory of the CPU, which the program did not.
        with torch._C.DisableTorchFunction():
            result = function(*values, **options)
        program, name = self._sanitizer.program, function._schema.name
        if program is None or name.endswith("_like") or name.startswith("aten::new_"):
            return result
        reads, writes = accesses(function._schema, values, options)
        if name in COPIES:
            source, target = (values[1], values[0]) if name == "aten::copy_" else (values[0], result)
            program.copy(strided(source), strided(target), lambda: self._watched(storage_of(target)))
            return result
        for tensor in reads:
            found = program.read(strided(tensor), program_line(sys._getframe(1)))
            if found and self._sanitizer.raises:
                raise Faults(Reports(found))
        for tensor in writes:
            program.write(strided(tensor))
        return result


def accesses(schema: Any, values: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the tensors that an operation reads, and those that it writes; a view of a tensor reads nothing."""
    reads: list[Any] = []
    writes: list[Any] = []
    for at, argument in enumerate(schema.arguments):
        value = values[at] if at < len(values) else options.get(argument.name)
        if argument.alias_info is None:
            reads += dense(value)
        elif argument.alias_info.is_write:
            writes += dense(value)
    return reads, writes


def dense(value: object) -> Iterator[Any]:
    return (tensor for tensor in tensors_in(value) if tensor.layout == torch.strided and tensor.device.type == "cpu")


def strided(tensor: Any) -> Strided:
    """Describe the memory of a tensor."""
    with torch._C.DisableTorchFunction():
        item = tensor.element_size()
        return Strided(tensor.data_ptr(), item, tuple(tensor.shape), tuple(s * item for s in tensor.stride()))
