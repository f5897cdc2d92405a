"""`tilery tune` on a stand-in for a GPU, and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tilery
from tilery.cli.main import main
from tilery.tuner.worker import LocalWorker

from .conftest import DOUBLE, build_as

ARGS = ["--grid", "5", "--arg", "in=arange:f32:5000", "--arg", "out=zeros:f32:5000", "--arg", "n=5000"]


@pytest.fixture
def source(tmp_path: Path, driver: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel in a file, on a machine whose GPU is a stand-in."""
    build = build_as({"tileiras O3 occ4": 1.0, "w4": "refused"})
    monkeypatch.setattr("tilery.tuner.search.WorkerProcess", lambda: LocalWorker(driver))
    monkeypatch.setattr("tilery.tuner.search.installed", lambda: ("triton", "tileiras"))
    monkeypatch.setattr(
        "tilery.tuner.builds.VariantCompiler.compile",
        lambda self, module, entry, target: build(module, entry, self.variant, target),
    )
    monkeypatch.setenv("TILERY_TUNED", str(tmp_path / "tuned.json"))
    path = tmp_path / "k.mlir"
    path.write_text(DOUBLE)
    return str(path)


def test_a_table_and_the_hints(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuned.tileirbc"
    assert main(["tune", source, *ARGS, "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("variant") and "\ntileiras O3 occ4 " in said and "the compiler refuses it" in said
    assert "\nbest: tileiras O3 occ4, 1.000 ms on Fake\nthat is 4.00 times as fast as tileiras" in said
    assert "occupancy = 4" in tilery.show(tilery.load(out))


def test_json(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", source, *ARGS, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["best"]["options"] == {"level": 3, "occupancy": 4} and facts["hints"] == {"occupancy": 4}
    assert {v["label"] for v in facts["variants"]} >= {"triton", "tileiras O3"}


def test_what_is_remembered_is_shown_exported_and_merged(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["tune", source, *ARGS]) == 0
    capsys.readouterr()
    assert main(["tune", "--show"]) == 0
    assert "double (grid 4 1 1, 4096) on Fake: tileiras O3 occ4, 1000.0 us" in capsys.readouterr().out
    exported = tmp_path / "exported.json"
    assert main(["tune", "--export", str(exported)]) == 0
    monkeypatch.setenv("TILERY_TUNED", str(tmp_path / "other" / "tuned.json"))
    assert main(["tune", "--import", str(exported), "--show", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == 1


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1, "records": [1]}', '{"format": 9, "records": []}'])
def test_a_broken_store_is_an_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(text)
    monkeypatch.setenv("TILERY_TUNED", str(path))
    assert main(["tune", "--show"]) == 1
    assert "error: this is not a" in capsys.readouterr().err.replace(f"{path}: ", "")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ([], "tune needs a FILE or --recorded"),
        (["k.mlir", "--budget", "soon"], "expected a time such as 30s or 2m, got 'soon'"),
        (["--import", "nothing.json"], "cannot read 'nothing.json': no such file"),
        (["--recorded", "nothing.zip"], "cannot read 'nothing.zip': no such file"),
    ],
)
def test_a_wrong_command_line(args: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(["tune", *args]) == 2
    except SystemExit as stop:
        assert stop.code == 2
    assert why in capsys.readouterr().err


def test_without_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(DOUBLE)
    assert main(["tune", str(path), *ARGS]) == 1
    assert "cannot measure on a GPU: there is no NVIDIA driver" in capsys.readouterr().err


def test_a_recorded_launch(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    from tilery.engines.recorded import save
    from tilery.tuner.captured import capture_launch

    module = tilery.load(source)
    arrays = [np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32), 5000]
    save(tmp_path / "launch.zip", capture_launch(module, module.entries[0], (5, 1, 1), arrays))
    assert main(["tune", "--recorded", str(tmp_path / "launch.zip")]) == 0
    assert "best: tileiras O3 occ4" in capsys.readouterr().out
