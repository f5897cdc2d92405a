"""NumPy arrays as tensors that a program believes to be on its GPU."""

from __future__ import annotations

from typing import Any


def device_tensor(array: Any) -> Any:
    """Return a torch tensor that shares the memory of a NumPy array and counts as the GPU's. Use it inside `on`.

    A tensor of `torch.from_numpy` is on the host, and a launch refuses it as Triton does on a GPU.
    """
    import torch

    from ..programs.standins.placement import place

    with torch._C.DisableTorchFunction():
        try:
            made = torch.as_tensor(array)
        except TypeError:  # an element type of ml_dtypes
            made = torch.as_tensor(array.view(f"u{array.dtype.itemsize}")).view(getattr(torch, array.dtype.name))
        place(made, gpu=True)
    return made
