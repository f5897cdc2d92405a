"""`tilery judge` and batches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tilery
from judge.kernels import CASES, GOOD, LOAD, STORE, text
from tilery.cli.main import main
from tilery.judge.batch import Processes, judge_all
from tilery.judge.plan import Plan, end_judge
from tilery.judge.results import Result, StageResult, table
from tilery.judge.worker import Worker

BAD = text(LOAD + STORE.replace("%r", "%two"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cases.toml").write_text(CASES)
    (tmp_path / "reference.py").write_text("def reference(x):\n    return 2 * x\n")
    (tmp_path / "good.mlir").write_text(GOOD)
    (tmp_path / "bad.mlir").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_candidate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "good.mlir"]) == 0
    assert "accepted" in capsys.readouterr().out
    assert main(["judge", "bad.mlir", "--json", "--junit", "out.xml", "-o", "results"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["stage"], found["kind"]) == ("rejected", "static", "constant")
    assert json.loads((folder / "results" / "bad.mlir.json").read_text()) == found
    assert (folder / "out.xml").read_text().startswith("<?xml")


def test_the_kernels_that_were_judged_are_kept(folder: Path) -> None:
    """Host code may launch others elsewhere."""
    assert main(["judge", "good.mlir", "bad.mlir", "--keep", "kept"]) == 1
    assert sorted(path.name for path in (folder / "kept").iterdir()) == [
        "good.mlir.0.tileirbc", "good.mlir.launches.json",
    ]  # fmt: skip
    facts = json.loads((folder / "kept" / "good.mlir.launches.json").read_text())
    assert tilery.equal(tilery.load(folder / "kept" / facts["modules"][0]), tilery.parse(GOOD))
    assert facts["shapes"] == ["N=1", "N=8", "N=21"]
    assert facts["programs"][2]["launches"] == [
        {"module": 0, "entry": "", "grid": [3, 1, 1], "slots": [["x", 0], ["out", 0], [21]]}
    ]


def test_a_candidate_writes_no_rows_of_the_table() -> None:
    """A reason may be the text of an error that the candidate raised."""
    said = "no\x1b[2K\radd.py  accepted\u2028other.py  accepted\x85\u202e\x00"
    shown = table([Result("a\nb.py", [StageResult("compile", "failed", said, "compiler")])])
    assert len(shown.splitlines()) == 2
    assert shown.replace("\n", "").isprintable()
    assert "no\\x1b[2K\\radd.py" in shown


def test_the_salt_repeats_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = text(LOAD + "  %r = mulf %xv, %xv : tile<8xf32>\n" + STORE)
    (folder / "wrong.mlir").write_text(wrong)
    main(["judge", "wrong.mlir", "--json"])
    (first,) = json.loads(capsys.readouterr().out)
    main(["judge", "wrong.mlir", "--json", "--salt", str(first["salt"])])
    (second,) = json.loads(capsys.readouterr().out)
    assert first["reason"] == second["reason"]


def test_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "good.mlir", "--cases", "none.toml"]) == 1
    assert main(["judge", "init"]) == 2
    assert main(["judge", "good.mlir", "--sig", "x"]) == 2
    assert main(["judge", "good.mlir", "--shard", "3"]) == 2
    assert main(["judge", "good.mlir", "--against", "none.py::f"]) == 2
    assert main(["judge", "missing.mlir"]) == 1
    capsys.readouterr()
    assert main(["judge", "init", "--sig", "x: f32[N], out y: f32[N]"]) == 0
    assert "[[cases]]" in capsys.readouterr().out


def test_a_batch_continues_where_it_was(folder: Path) -> None:
    plan = Plan(CASES, str(folder))
    names = ["good.mlir", "bad.mlir"]
    with ThreadPoolExecutor(1) as pool:
        first = {each.candidate: each for each in judge_all(names, plan, executor=pool, journal="log.jsonl")}
    assert [first[name].verdict for name in names] == ["accepted", "rejected"]
    lines = (folder / "log.jsonl").read_text().splitlines()
    lines.sort(key=lambda line: "bad.mlir" in line)
    (folder / "log.jsonl").write_text("\n".join([*lines[:2], lines[2][:20]]))  # interrupted while it wrote
    (folder / "bad.mlir").write_text(GOOD)
    steps: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        again = list(judge_all(names, plan, executor=pool, journal="log.jsonl", step=steps.append))
    assert {each.candidate: each.verdict for each in again} == dict.fromkeys(names, "accepted")
    assert next(each for each in again if each.candidate == "good.mlir").as_dict() == first["good.mlir"].as_dict()
    assert sum(steps) == 2


def test_workers_that_die_are_replaced(folder: Path) -> None:
    """The default executor has processes; one is killed between two candidates."""
    plan = Plan(CASES, str(folder), salt=5)
    pool = Processes(1)
    try:
        assert pool.submit(pool.judge, plan, "good.mlir").result()["verdict"] == "accepted"
        process = pool.workers[0].process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        assert pool.submit(pool.judge, plan, "bad.mlir").result()["verdict"] == "rejected"
    finally:
        pool.shutdown()
    assert pool.workers[0].process is None


def test_a_worker_that_hangs_is_ended(folder: Path) -> None:
    worker = Worker()
    assert worker.ask(Plan(CASES, str(folder), salt=5).as_dict(), "good.mlir", 0.01) is None
    assert worker.process is None


def test_a_broken_reference_is_not_a_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "reference.py").write_text("1 / 0\n")
    assert main(["judge", "good.mlir"]) == 2
    assert "not judged" in capsys.readouterr().out


def test_the_example_for_slurm(folder: Path, root: Path) -> None:
    """Two jobs of an array share the candidates and a folder of results."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for task in "01":
        env = {**os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        command = ["bash", str(root / "examples" / "judge_slurm.sh"), "cases.toml", "good.mlir", "bad.mlir"]
        subprocess.run(command, env=env, check=True, capture_output=True)
    found = {path.name: json.loads(path.read_text())["verdict"] for path in (folder / "results").iterdir()}
    assert found == {"good.mlir.json": "accepted", "bad.mlir.json": "rejected"}
    assert len(list((folder / "logs").iterdir())) == 2


def test_a_fault_of_the_judge_is_no_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr("tilery.judge.judging.Judge._compare", broken)
    with ThreadPoolExecutor(1) as pool:
        (found,) = judge_all(["good.mlir"], Plan(CASES, str(folder)), executor=pool)
        pool.submit(end_judge).result()
    assert found.verdict == "not judged" and "internal error" in found.reason


def test_names_that_cannot_be_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "k\udcff\x1b[2J.mlir"
    Path(name).write_text(GOOD)
    assert main(["judge", name, "--json", "-o", "results", "--junit", "out.xml"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["candidate"] == name
    assert len(list((folder / "results").iterdir())) == 1
    ET.parse(folder / "out.xml")
