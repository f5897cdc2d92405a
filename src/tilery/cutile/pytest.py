"""A pytest plugin, `-p tilery.cutile.pytest`, that runs tests of cuTile programs on an engine, without a GPU."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from ..programs.plugin import Plugin
from .session import disassemble

PLUGIN = Plugin("cutile", "cuTile", capability="10.0")

pytest_addoption = PLUGIN.pytest_addoption
pytest_report_header = PLUGIN.pytest_report_header
pytest_unconfigure = PLUGIN.pytest_unconfigure
pytest_runtest_protocol = PLUGIN.pytest_runtest_protocol
pytest_runtest_makereport = PLUGIN.pytest_runtest_makereport


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Enter `on`, and provide the tools that NVIDIA's own tests run."""
    PLUGIN.pytest_load_initial_conftests(early_config)
    provide_disassembler()
    provide_filecheck()


def provide_disassembler() -> None:
    """Provide the private extension with which NVIDIA's own tests print kernels as text."""
    package, extension = ModuleType("cuda.tile_internal"), ModuleType("cuda.tile_internal._internal_cext")
    package.__path__ = []
    extension.__dict__["bytecode_to_mlir_text"] = disassemble
    modules = {package.__name__: package, extension.__name__: extension}
    PLUGIN.together.stack.enter_context(patch.dict(sys.modules, modules))


def provide_filecheck() -> None:
    """Provide LLVM's FileCheck, which they run on that text, by the Python package `filecheck`."""
    if shutil.which("FileCheck"):
        return
    directory = PLUGIN.together.stack.enter_context(tempfile.TemporaryDirectory())
    command = Path(directory) / "FileCheck"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom filecheck.main import main\n"
        "main([each for each in sys.argv if not each.startswith('--dump-input')])\n"
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join([directory, os.environ.get("PATH", "")])
    PLUGIN.together.stack.enter_context(patch.dict(os.environ, {"PATH": path}))
