"""Campaigns: what is found does not depend on where it runs, on interruptions, or on workers that die."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tilery
from tilery.cli.main import main
from tilery.reducer.campaign import Campaign, CampaignPlan, map_here

SEEDS = range(40)


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for tileiras that crashes on names: with signal 6 if one holds `ad`, with signal 11 for `ma`."""
    path = tmp_path_factory.mktemp("tool") / "tool"
    path.write_text(
        """#!/bin/sh
case "$1" in
  --version) echo V13.4.1; exit;;
  --list-versions) exit 1;;
esac
sleep 0.05
if grep -qa ad "$5"; then kill -6 $$; fi
if grep -qa ma "$5"; then kill -11 $$; fi
""",
        "utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def alone(tool: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that ran to its end without interruptions, in one process at a time."""
    campaign = Campaign(plan(tool), tmp_path_factory.mktemp("alone"), SEEDS, map_here(2))
    campaign.run()
    return campaign


def plan(tool: Path) -> CampaignPlan:
    return CampaignPlan("tileiras", "sm_100", str(tool), size=12, version="13.1")


def causes(campaign: Campaign) -> dict[str, list[int]]:
    return {name: [item["seed"] for item in items] for name, items in campaign.causes().items()}


def test_a_campaign(tool: Path, alone: Campaign) -> None:
    assert sorted(alone.checked) == list(SEEDS)
    assert set(causes(alone)) == {f"crash, signal {n}: nothing but constants" for n in (6, 11)}
    folder = next(alone.folder.glob("01-*"))
    assert {path.name for path in folder.iterdir()} == {"reduced.mlir", "original.tileirbc", "finding.json"}
    text = (folder / "reduced.mlir").read_text("utf-8")
    assert len(list(tilery.walk(tilery.parse(text)))) == 3 and f"// {tool} --gpu-name sm_100" in text
    assert "40 random modules" in (alone.folder / "summary.md").read_text("utf-8")


def test_an_interrupted_campaign_goes_on(tool: Path, tmp_path: Path, alone: Campaign) -> None:
    lines = alone.journal.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_text("".join(lines[:31]) + lines[31][:9], "utf-8")
    steps: list[int] = []
    again = Campaign(plan(tool), tmp_path, SEEDS, map_here(2), steps.append)
    again.run()
    assert causes(again) == causes(alone)
    assert steps[0] == 30 and sum(steps) == len(SEEDS)


def test_engines_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llvmlite")
    out = tmp_path / "out"
    command = ["smith", "--campaign", "--against", "reference,cpu", "--count", "3", "--size", "15", "-o", str(out)]
    assert main([*command, "--jobs", "1"]) == 0
    assert "no faults" in capsys.readouterr().out


def test_the_command(tool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--tool", str(tool), "--count", "16", "--size", "12", "--version", "13.1", "-o", str(tmp_path / "out")]
    assert main(["smith", "--campaign", *options, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["modules"] == 16 and found["causes"]
    assert main(["smith", "--campaign", "--against", "reference,abacus"]) == 2
    assert "--against" in capsys.readouterr().err


def test_the_jobs_of_an_array(tool: Path, tmp_path: Path, alone: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts that share a folder are put together; what a lost job has left is done then."""
    folder = tmp_path / "array"
    command = ["smith", "--campaign", "--tool", str(tool), "--size", "12", "--version", "13.1", "--count", "40"]
    command += ["-o", str(folder), "--jobs", "2"]
    assert main([*command, "--shard", "0/3"]) == 0 and main([*command, "--shard", "2/3"]) == 0
    assert not (folder / "summary.md").exists() and "--shard" in capsys.readouterr().err
    journal = folder / "journal-0-of-3.jsonl"
    journal.write_text(journal.read_text("utf-8")[:-20], "utf-8")  # the job was killed while it wrote
    whole = Campaign(plan(tool), folder, SEEDS, map_here(2))
    whole.load()
    assert 20 < len(whole.checked) < len(SEEDS) and all(seed % 3 != 1 for seed in whole.checked)
    assert main(command) == 1
    whole.load()
    assert whole.checked == alone.checked and causes(whole) == causes(alone)
    for wrong in ("3/3", "1", "-1/2", "a/b"):
        assert main([*command, f"--shard={wrong}"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="runs a script of bash")
def test_the_example_for_slurm(tmp_path: Path) -> None:
    """The script does everything without SLURM, and a part with its variables."""
    source = Path(tilery.__file__).parents[1]
    (tmp_path / "tilery").write_text(f'#!/bin/sh\nexec {sys.executable} -m tilery "$@"\n', "utf-8")
    (tmp_path / "tilery").chmod(0o755)
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(source)}
    command = ["bash", str(source.parent / "examples" / "campaign_slurm.sh"), "3", "findings"]
    array = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2"}
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **own, **array}, check=True)
    assert [path.name for path in (tmp_path / "findings").iterdir()] == ["journal-1-of-2.jsonl"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **own}, check=True)
    assert "3 random modules" in (tmp_path / "findings" / "summary.md").read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="starts workers as processes")
def test_a_cluster_whose_workers_are_killed(tool: Path, tmp_path: Path, alone: Campaign) -> None:
    """Four workers, two of which are killed in the middle, find what one process finds; no case is counted twice."""
    distributed = pytest.importorskip("distributed")
    from tilery.reducer.cluster import map_on

    with distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as cluster:
        workers = [start_worker(cluster.scheduler_address, tmp_path) for _ in range(4)]
        try:
            wait_for(lambda: len(cluster.scheduler.workers) == 4)
            many = Campaign(plan(tool), tmp_path / "many", SEEDS, map_on(cluster.scheduler_address))
            thread = threading.Thread(target=many.run)
            thread.start()
            wait_for(lambda: len(many.checked) >= 8)
            assert len(many.reduced) < len(alone.reduced)  # they are killed in the middle
            for worker in workers[:2]:
                worker.send_signal(signal.SIGKILL)
            thread.join(120)
            assert not thread.is_alive()
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert causes(many) == causes(alone) and many.checked == alone.checked
    lines = [json.loads(line) for line in many.journal.read_text("utf-8").splitlines()[1:]]
    seeds = [line["seed"] for line in lines if "outcomes" in line]
    assert sorted(seeds) == list(SEEDS)
    assert len({(line["seed"], line["number"]) for line in lines if "cause" in line}) == len(lines) - len(seeds)


def start_worker(address: str, folder: Path) -> subprocess.Popen[bytes]:
    source = str(Path(tilery.__file__).parents[1])
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
    return subprocess.Popen(
        [*command, "--no-dashboard", "--local-directory", str(folder)],
        env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
