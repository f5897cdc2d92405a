"""Which tensors a program believes to be on the GPU. All memory is the host's; a mark on a storage tells.

Tensors that share memory share the mark. Memory without a mark was made by torch itself, mostly gradients in a
backward pass, and counts as the GPU's.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import torch

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
MARK = "tilery_on_gpu"
LOCAL = threading.local()


class DeviceMemory:
    """How much memory the program has on its GPU."""

    def __init__(self) -> None:
        self.now = self.most = self.made = 0
        self.live: dict[int, weakref.ref[Any]] = {}

    def add(self, storage: Any) -> None:
        size = storage.nbytes()
        self.now += size
        self.made += size
        self.live[id(storage)] = weakref.ref(storage)
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self.remove, id(storage), size).atexit = False

    def remove(self, number: int, size: int) -> None:
        self.now -= size
        self.live.pop(number, None)

    def storages(self) -> list[Any]:
        """Return the memory of all tensors on the GPU."""
        return [storage for each in list(self.live.values()) if (storage := each()) is not None]


MEMORY = DeviceMemory()


def on_gpu(device: object) -> bool:
    """Whether an argument names the GPU; numbers do."""
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, int) and not isinstance(device, bool)


def storage_of(tensor: Any) -> Any:
    """Return the memory of a tensor; None where it has none."""
    try:
        with torch._C.DisableTorchFunction():
            return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):  # sparse, or without data
        return None


def is_on_gpu(tensor: Any) -> bool:
    """Whether a tensor counts as the GPU's."""
    return bool(getattr(storage_of(tensor), MARK, True))


def place(tensor: Any, gpu: bool) -> None:
    """Mark the memory of a tensor, unless it is marked."""
    storage = storage_of(tensor)
    if storage is not None and getattr(storage, MARK, None) is None:
        setattr(storage, MARK, gpu)
        if gpu:
            MEMORY.add(storage)


def tensors_in(value: object) -> Iterator[Any]:
    """Yield the tensors in arguments or results, also in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)
