"""tileiras as an engine: compiling without a GPU, and what its errors become."""

from __future__ import annotations

import os
import select
from pathlib import Path

import numpy as np
import pytest

import tilery
from make_kernel import vector_add
from support.fake_cuda import FakeCuda
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import CudaLoaded
from tilery.engines.tileiras.compiler import TimedOut, _run, assemble, encode, find_tool, readable_versions
from tilery.engines.tileiras.launch import TileirasCompiler, launch_contract
from tilery.ir import Refused
from tilery.version import SUPPORTED, V13_1, V13_2, V13_4


def missing() -> str:
    """Return why tileiras cannot be asked, or nothing."""
    try:
        find_tool()
    except tilery.TileError as error:
        return f"{error.message} ({error.notes[0]})"
    return ""


needs_tileiras = pytest.mark.skipif(bool(missing()), reason=missing() or "it is installed")

SCALES = """entry @k(%p: tile<ptr<f8E8M0FNU>>, %q: tile<ptr<f8E8M0FNU>>) {
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<f8E8M0FNU>> -> tile<f8E8M0FNU>, token
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f8E8M0FNU>>, tile<f8E8M0FNU> -> token
  return
}"""


@needs_tileiras
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_a_kernel_becomes_a_cubin(target: str) -> None:
    assert assemble(vector_add(), target, level=1).startswith(b"\x7fELF")


@needs_tileiras
def test_a_refusal_names_the_operation() -> None:
    with pytest.raises(
        Refused, match="tileiras: Incompatibility with architecture 'sm_90': unsupported type"
    ) as caught:
        assemble(tilery.parse(SCALES), "sm_90")
    assert caught.value.op.name == "load_ptr_tko"


@needs_tileiras
def test_the_tool_reads_what_it_says() -> None:
    assert readable_versions(find_tool()) == SUPPORTED


@needs_tileiras
def test_another_toolkit_does_not_get_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    old = tmp_path / "bin" / "ptxas"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert assemble(vector_add(), "sm_90", level=0).startswith(b"\x7fELF")


def test_bytecode_is_of_a_version_that_the_tool_reads() -> None:
    module = tilery.load(tilery.dumps(vector_add(), "13.4"))
    assert tilery.load(encode(module, SUPPORTED)).version == SUPPORTED[-1]
    assert tilery.load(encode(module, (V13_1, V13_2))).version == V13_1
    with pytest.raises(tilery.TileError, match=r"13\.2"):
        encode(tilery.parse(SCALES), (V13_1,))


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(tilery.TileError, match="optimization levels 0 to 3, got 4"):
        assemble(vector_add(), "sm_90", level=4)


@needs_tileiras
def test_a_launch_from_module_to_result() -> None:
    module = vector_add()
    library = FakeCuda(module, launch_contract(module.entries[0]))
    kernel = CudaLoaded(module, TileirasCompiler(0), Driver(library)).kernel()
    a, b, out = np.arange(500, dtype=np.float32), np.ones(500, np.float32), np.zeros(500, np.float32)
    kernel.launch(4, [a, b, out, 500])
    assert (out == a + b).all()


def test_a_timeout_ends_what_the_tool_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    tool = tmp_path / "tileiras"
    # Both processes keep the fifo open. The reader below sees its end when the last of them is gone.
    tool.write_text(f"#!/bin/sh\nexec 3>{held}\nsleep 600 >&3 & sleep 600 >&3\n", "utf-8")
    tool.chmod(0o755)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    try:
        with pytest.raises(TimedOut, match=r"tileiras did not finish within 0\.5 seconds"):
            _run([str(tool)], 0.5)
        assert select.select([reader], [], [], 20)[0] and os.read(reader, 1) == b""
    finally:
        os.close(reader)


@pytest.mark.parametrize("says", ["", "V13", "Version 13.4 2026.1", "V13.2.7"])
def test_a_tool_may_answer_anything(tmp_path: Path, says: str) -> None:
    tool = tmp_path / "cc"
    tool.write_text(f"#!/bin/sh\necho '{says}'\n", "utf-8")
    tool.chmod(0o755)
    wanted = {"V13.2.7": (V13_1, V13_2), "Version 13.4 2026.1": (V13_4,)}
    assert readable_versions(tool) == wanted.get(says, SUPPORTED)
