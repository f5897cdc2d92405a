"""A pytest plugin for vLLM's tests, from a checkout: its device is the one that PyTorch shows, without NVML.

vLLM's compiled parts are not there, so tests that call them fail before a launch. What it imports besides is in its
requirements/common.txt.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

COMPILED = ("_C", "_C_stable_libtorch", "_moe_C", "_moe_C_stable_libtorch")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the device before any test is imported, after the plugin of the session."""
    known = importlib.metadata.version

    def version(distribution_name: str) -> str:
        return "0.0.0" if distribution_name == "vllm" else known(distribution_name)

    importlib.metadata.version = version
    for name in COMPILED:
        sys.modules[f"vllm.{name}"] = ModuleType(f"vllm.{name}")
    device = import_module("vllm.platforms.cuda").NonNvmlCudaPlatform()
    setattr(import_module("vllm.platforms"), "_current_platform", device)  # noqa: B010 (vLLM has no types)


@pytest.fixture
def default_vllm_config() -> Iterator[None]:
    """As in vLLM's conftest, which imports models."""
    found = import_module("vllm.config")
    with found.set_current_vllm_config(found.VllmConfig()):
        yield
