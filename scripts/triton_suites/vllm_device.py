"""A pytest plugin for vLLM's tests, from a checkout: its device is the one that PyTorch shows, without NVML.

vLLM's compiled parts are not there, so tests that call them fail before a launch. What it imports besides is in its
requirements/common.txt. Packages of that list which are not installed, and which kernels do not need (servers, images,
grammars), are empty: they can be imported, and a test that needs one fails.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

COMPILED = ("_C", "_C_stable_libtorch", "_moe_C", "_moe_C_stable_libtorch", "vllm_flash_attn")
QUESTIONS = (
    *("cutlass_scaled_mm_supports_fp8", "cutlass_scaled_mm_supports_block_fp8", "cutlass_scaled_mm_supports_fp4"),
    *("cutlass_group_gemm_supported", "cutlass_sparse_scaled_mm_supported"),
)
"""Compiled functions that say what the other compiled functions can do: nothing."""

NEEDLESS = (
    *("PIL", "aiohttp", "anthropic", "blake3", "cbor2", "cpuinfo", "cv2"),
    *("depyf", "diskcache", "fastapi", "httpx", "ijson", "lark", "llguidance", "lmformatenforcer"),
    *("mcp", "model_hosting_container_standards", "openai", "openai_harmony", "outlines_core"),
    *("opentelemetry", "partial_json_parser", "prometheus_client", "prometheus_fastapi_instrumentator"),
    *("pybase64", "pycountry", "pyarrow", "python_json_logger", "requests", "sentencepiece", "setproctitle"),
    *("soundfile", "soxr", "starlette", "tblib", "tiktoken", "uvicorn", "uvloop", "watchfiles"),
    *("xgrammar", "zmq", "ninja", "jiter", "sniffio", "dill", "einops_exts", "multipart", "websockets", "mteb"),
)
"""Packages that vLLM or its tests import, without which its kernels run."""


class Nothing:
    """An object of a package that is not there: it can be called, inherited from, and stand in an annotation."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *values: object, **options: object) -> Nothing:
        return self

    def __getitem__(self, key: object) -> Nothing:
        return self

    def __or__(self, other: object) -> Any:
        return Any

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def __instancecheck__(self, value: object) -> bool:
        return False

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> dict[str, str]:
        return {"type": "any"}


class Empty(ModuleType):
    """A package of which every name is nothing."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class EmptyPackages:
    """Finds the packages above that are not installed."""

    def __init__(self) -> None:
        self.names = {name for name in NEEDLESS if importlib.util.find_spec(name) is None}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.names else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


@pytest.hookimpl
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Choose the device after the plugin of the session, and before the conftest imports vLLM."""
    sys.meta_path.append(EmptyPackages())
    known = importlib.metadata.version

    def version(distribution_name: str) -> str:
        return "0.0.0" if distribution_name == "vllm" else known(distribution_name)

    importlib.metadata.version = version
    for name in COMPILED:
        sys.modules[f"vllm.{name}"] = Empty(f"vllm.{name}")
    for name in QUESTIONS:
        setattr(import_module("torch").ops._C, name, lambda *values: False)
    device = import_module("vllm.platforms.cuda").NonNvmlCudaPlatform()
    setattr(import_module("vllm.platforms"), "_current_platform", device)  # noqa: B010 (vLLM has no types)


@pytest.fixture
def default_vllm_config() -> Iterator[None]:
    """As in vLLM's conftest, which imports models."""
    found = import_module("vllm.config")
    with found.set_current_vllm_config(found.VllmConfig()):
        yield
