"""Time kernels that were not used while engine cpu was tuned against torch, on all threads, and write a page.

    python bench/engines/unseen.py TILEGYM LIGER [--only NAME] [--rounds 15] [--list FILE.toml]
                                   [--report docs/reports/lab/cpu_unseen.md]

TILEGYM and LIGER are clones of NVIDIA/TileGym and linkedin/Liger-Kernel. `unseen.toml` lists their kernels. Contenders
take turns as in `bench/run.py`, whole calls with the host code of each library; the result is compared with torch's.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gpu_parts.programs import called
from peers import MALLOC
from run import take_turns, versions
from run_page import geomean

ENGINE, EAGER, COMPILED = "engine cpu", "torch eager", "torch.compile"
SECONDS = 1.5
TOLERANCES = {"f32": 1e-4, "f16": 1e-2, "bf16": 4e-2}
"""The largest difference, by the largest number of the result, for the narrowest type of the arguments."""


def values(torch: Any, makes: str) -> dict[str, Any]:
    """Return the arguments of a kernel."""
    torch.manual_seed(1)

    def floats(dtype: Any) -> Callable[..., Any]:
        return lambda *shape: (0.5 * torch.randn(*shape)).to(dtype)

    kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    names: dict[str, Any] = {name: floats(dtype) for name, dtype in kinds.items()}
    found: dict[str, Any] = {}
    exec(makes, {"torch": torch, **names}, found)
    return found


def peer_of(torch: Any, kernel: dict[str, str], arguments: dict[str, Any]) -> Callable[..., Any]:
    """Return what torch computes, as a function of the arguments."""
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(f"def peer({', '.join(arguments)}):\n    return {kernel['peer']}", names)
    peer: Callable[..., Any] = names["peer"]
    return peer


def difference(torch: Any, found: Any, wanted: Any) -> float:
    """Return the largest difference of results, by the largest number."""
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    return max(
        float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-30)) for a, b in pairs
    )


def measure(kernel: dict[str, str], folders: dict[str, Path], args: argparse.Namespace) -> dict[str, float]:
    """Return the milliseconds of each contender, or raise if the result is another one."""
    import torch

    import tilery.cutile

    torch.set_num_threads(args.threads)
    arguments = values(torch, kernel["with"])
    peer = peer_of(torch, kernel, arguments)
    wanted = peer(*arguments.values())
    compiled = torch.compile(peer, dynamic=False)
    compiled(*arguments.values())
    types = [name for name, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16))
             if any(v.dtype is dtype for v in arguments.values())]  # fmt: skip
    with tilery.cutile.on("cpu"):
        call = called(kernel | {"with": "arguments"}, folders, arguments)
        worst = difference(torch, call(), wanted)
        if not worst <= TOLERANCES[types[-1]]:
            raise ValueError(f"the result differs by {worst:.1e}")
        calls: dict[str, Callable[[], object]] = {
            ENGINE: call,
            EAGER: lambda: peer(*arguments.values()),
            COMPILED: lambda: compiled(*arguments.values()),
        }
        return take_turns(calls, args.rounds, SECONDS)
