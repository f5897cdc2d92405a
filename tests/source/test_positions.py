"""Run-time errors of a parsed module in Python: file, line and caret; and `asm -g`."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import tilery
from support.oracle import disassemble
from tilery.cli.main import main
from tilery.engines.common.errors import ExecutionError
from tilery.engines.registry import ENGINES
from tilery.ops import MakeToken
from tilery.source import positions
from tilery.source.lines import innermost

TEXT = """entry @k(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %q = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  return
}
"""


def fault(module: tilery.Module, engine: str = "reference") -> ExecutionError:
    with pytest.raises(ExecutionError) as caught:
        tilery.compile(module, engine=engine).launch(1, [np.zeros(4, np.float32), 9])
    return caught.value


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_fault_has_file_line_and_caret(engine: str, tmp_path: Path) -> None:
    if not ENGINES[engine].installed:
        pytest.skip(f"needs {ENGINES[engine].package}")
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)
    error = fault(tilery.load(path), engine)
    assert (error.file, error.line, error.column) == (str(path), 3, 12)
    shown = str(error).splitlines()
    assert shown[0].startswith(f"{path}:3:12: error: load_ptr_tko: ")
    assert shown[2].strip() == "^" * len("load_ptr_tko")


def test_a_bound_launch_of_engine_cpu_too() -> None:
    pytest.importorskip("llvmlite")
    launch = tilery.compile(tilery.parse(TEXT), engine="cpu").bind(1, [np.zeros(4, np.float32), 9])  # type: ignore[attr-defined]
    with pytest.raises(ExecutionError) as caught:
        launch()
    assert caught.value.line == 3


def test_the_sanitizer_too() -> None:
    with pytest.raises(tilery.TileError) as caught:
        tilery.compile(tilery.parse(TEXT)).launch(1, [np.zeros(4, np.float32), 9], sanitize="bounds")
    assert (caught.value.line, caught.value.column) == (3, 12)


def test_copies_have_positions() -> None:
    module = tilery.parse(TEXT, file="k.mlir")
    for one in (
        tilery.clone(module),
        copy.deepcopy(module),
        pickle.loads(pickle.dumps(module)),
        tilery.optimize(module, "dce"),
    ):
        assert fault(one).line == 3


def test_a_changed_module_has_none() -> None:
    module = tilery.parse(TEXT)
    module.entry("k").body.ops.insert(0, MakeToken())
    assert fault(module).source is None


def test_a_long_text_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_KEPT", 10)
    assert tilery.parse(TEXT).source is None


def test_asm_g_writes_lines(tmp_path: Path) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "k.tileirbc"
    path.write_text(TEXT)
    assert main(["asm", "-g", str(path), "-o", str(out)]) == 0
    module = tilery.load(out)
    places = [innermost(o.loc) for o in tilery.walk(module.entry("k"))]
    assert [(p.file, p.line, p.column, p.function) for p in places if p] == [
        (str(path), line, column, "k") for line, column in ((1, 1), (2, 8), (3, 12), (4, 3))
    ]
    note = next(note for note in fault(module).notes if note.startswith("from"))
    assert note == f"from {path}:3:12 in k"
    assert main(["asm", str(path), "-o", str(out)]) == 0
    assert all(o.loc is None for o in tilery.walk(tilery.load(out)))


def test_asm_g_keeps_locations_that_are_there(tmp_path: Path) -> None:
    path, once, twice = tmp_path / "k.mlir", tmp_path / "once.tileirbc", tmp_path / "twice.tileirbc"
    path.write_text(TEXT)
    assert main(["asm", "-g", str(path), "-o", str(once)]) == 0
    path.write_text(tilery.show(tilery.load(once), locs=True))
    assert main(["asm", "-g", str(path), "-o", str(twice)]) == 0
    assert [o.loc for o in tilery.walk(tilery.load(twice))] == [o.loc for o in tilery.walk(tilery.load(once))]


@pytest.mark.oracle
def test_nvidia_reads_what_asm_g_writes(tmp_path: Path) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "k.tileirbc"
    path.write_text(TEXT)
    assert main(["asm", "-g", str(path), "-o", str(out)]) == 0
    judged = disassemble(out.read_bytes())
    assert (judged.returncode, judged.stderr) == (0, "")
