"""The processors that kernels can be compiled for by name; only code for this machine is run."""

from __future__ import annotations

from ....diag import TileError
from ..abi import Target
from .compiler import host

_LINUX = "x86_64-unknown-linux-gnu"
_SSE = ("64bit", "cmov", "cx8", "cx16", "fxsr", "mmx", "sse", "sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt")
_AVX2 = frozenset({*_SSE, "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_AMX = _AVX512 | {"avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16"}

TARGETS = {
    "avx2": Target(_LINUX, "haswell", _AVX2),
    "avx512": Target(_LINUX, "skylake-avx512", _AVX512),
    "amx": Target(_LINUX, "sapphirerapids", _AMX),
    "neon": Target("aarch64-unknown-linux-gnu", "neoverse-n1", frozenset({"neon", "fullfp16"})),
}
"""Targets besides `host`."""


def named(name: str) -> Target:
    """Return the target of that name."""
    if name == "host":
        return host()
    if name not in TARGETS:
        raise TileError(f"unknown target '{name}', expected host, {', '.join(TARGETS)}")
    return TARGETS[name]
