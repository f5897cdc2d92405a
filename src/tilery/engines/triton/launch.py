"""`engine="triton"`: modules compiled by Triton and launched through the CUDA driver. AMD is compiled, not launched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...diag import TileError
from ...ops import Entry, Global, Module
from ..common.kernel import find_entry, refuse_options
from ..cuda.driver import open_driver
from ..cuda.launch import Binary, CudaLoaded, global_bytes
from .compiler import STAGES, compile_entry
from .config import DEVICE, HOST, POINTERS, Config, default_config
from .targets import TARGETS, find_target

NUMBERS = ("num_warps", "num_stages", "unroll", "pipeline")
OPTIONS = (*NUMBERS, "views", "folded", "gluon", "programs")
EMITS = {
    "binary": "machine code: a cubin for NVIDIA, an hsaco for AMD",
    "ttir": "Triton IR after its first passes",
    "ttgir": "Triton IR with layouts",
    "llir": "LLVM IR",
    "ptx": "NVIDIA's assembly",
    "amdgcn": "AMD's assembly",
}
"""The forms that `tilery compile --emit` can write."""


def targets() -> dict[str, str]:
    """Return the architectures that the engine compiles for."""
    return {name: row.summary for name, row in TARGETS.items()}


def emit(module: Module, entry: str | None, kind: str, *, target: str = "", **options: Any) -> str | bytes:
    """Return machine code for an architecture, by default this machine's GPU, or a form on the way to it."""
    refuse_options("triton", options, ("target", *OPTIONS))
    profile = find_target(target or open_driver().target)
    config = configured(find_entry(module, entry), profile.name, options)
    made = compile_entry(module, entry, target=profile, config=config, emit=[kind] if kind in STAGES else ())
    if kind not in STAGES:
        return made.binary
    if kind not in made.stages:
        raise TileError(f"there is no {kind} for {profile.name}")
    return made.stages[kind]


def configured(entry: Entry, target: str, options: dict[str, Any]) -> Config | None:
    """The default configuration with the caller's changes; None without any."""
    if not options:
        return None
    known = (POINTERS, DEVICE, HOST)
    if options.get("views", POINTERS) not in known:
        raise TileError(f"views must be one of {', '.join(known)}, got {options['views']!r}")
    numbers = {name: options[name] for name in NUMBERS if name in options}
    for name, value in numbers.items():
        if not isinstance(value, int) or not 0 <= value <= 64:
            raise TileError(f"{name} must be a number from 0 to 64, got {value!r}")
    warps = options.get("num_warps", 4)
    if warps < 1 or warps & (warps - 1):
        raise TileError(f"num_warps must be a power of two, got {warps}")
    return replace(default_config(entry, find_target(target)), **options)


def load(module: Module, **options: Any) -> CudaLoaded:
    """Load a module on the first GPU. Without options, rules choose how each kernel is compiled.

    The options are those of `Config`: `num_warps`, `num_stages`, `views` (pointers, device or host), `unroll`,
    `pipeline` and `folded`, which is needed for grids with more than 65535 tile blocks along y or z.
    """
    refuse_options("triton", options, OPTIONS)
    return CudaLoaded(module, TritonCompiler(tuple(options.items())))


@dataclass(frozen=True)
class TritonCompiler:
    """Compiles the entries of a module one by one."""

    engine = "triton"
    options: tuple[tuple[str, Any], ...] = ()

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Compile an entry for an architecture such as sm_90."""
        config = configured(entry, target, dict(self.options))
        made = compile_entry(module, entry.sym_name, target=target, config=config)
        return Binary(made.binary, made.contract)

    def initial(self, o: Global) -> bytes:
        """Return the bytes that a global starts with."""
        return global_bytes(o)
