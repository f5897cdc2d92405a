"""Executing random modules by their contract: buffers with random bits, and everything a launch leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attrs import IntAttr
from ..ops import Module
from ..smith import Buffer, Contract, Launch
from .launch import Loaded
from .numerics.convert import to_f64
from .tiles import CARRIERS


def run_contract(module: Module, contract: Contract, *, seed: int = 0, batch: int | None = None) -> list[bytes]:
    """What all launches leave in buffers and globals, and what they print.

    >>> from tilery.smith import smith_with_contract
    >>> module, contract = smith_with_contract(7)
    >>> run_contract(module, contract) == run_contract(module, contract, batch=1)
    True
    """
    left = []
    for number, launch in enumerate(contract.launches):
        args = arguments(launch, seed + number)
        printed: list[str] = []
        loaded = Loaded(module)
        loaded.kernel(launch.entry).launch(launch.grid, args, batch=batch, output=printed.append)
        left += [a.tobytes() for a in args if isinstance(a, np.ndarray)]
        left += [loaded.content(name) for name in loaded.globals]
        left.append("".join(printed).encode())
    return left


def arguments(launch: Launch, seed: int) -> list[Any]:
    """Buffers with random bits, and the scalars of the contract."""
    rng = np.random.default_rng(seed)
    args: list[Any] = []
    for argument in launch.args:
        dtype = CARRIERS[argument.element.name if isinstance(argument, Buffer) else argument.type.name]
        if isinstance(argument, Buffer):
            raw = rng.integers(0, 256, argument.count * dtype.itemsize, np.uint8)
            args.append(raw & 1 if argument.element.bits == 1 else raw.view(f"u{dtype.itemsize}"))
        elif isinstance(argument, IntAttr):
            args.append(argument.bits)
        else:
            bits = np.array([argument.bits], f"u{dtype.itemsize}")
            args.append(float(to_f64(bits.view(dtype), argument.type)[0]))
    return args
