"""A tool that is missing on the judge's machine is not a fault of the candidate."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

from judge.kernels import GOOD, problem, reference
from tilery.diag import ErrorKind, TileError
from tilery.judge import Judge, Result
from tilery.judge.jail import Jail, frontends
from tilery.judge.results import ACCEPTED, REJECTED, UNJUDGED


def judged(monkeypatch: pytest.MonkeyPatch, status: str, answer: bytes = b"") -> Result:
    """Judge a candidate whose jail says this."""
    monkeypatch.setattr(Jail, "_ask", lambda jail, request: (status, "", answer))
    with Judge(problem(), reference) as judge:
        return judge.judge_source("def run(x, out): pass\n", "k.py")


@pytest.mark.parametrize("status", ["missing cuTile is not installed", "setup OSError: no namespaces"])
def test_no_verdict_without_a_jail(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    found = judged(monkeypatch, status)
    assert found.verdict == UNJUDGED and status.partition(" ")[2] in found.reason


def test_a_candidate_cannot_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, "ok", b'{"error": {"kind": "missing-tool", "message": "torch is not installed"}}')
    assert found.verdict == REJECTED


def test_a_missing_frontend_is_found_before_a_jail_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise TileError("cuTile is not installed", kind=ErrorKind.MISSING_TOOL, notes=("pip install cuda-tile",))

    monkeypatch.setattr(frontends, "PREPARED", {})
    monkeypatch.setattr("tilery.cutile.versions.require", missing)
    assert frontends.preload("cutile") == "cuTile is not installed; pip install cuda-tile"


@pytest.mark.parametrize(("kind", "packages"), [("cutile", ("cuda-tile",)), ("triton", ("triton", "torch"))])
def test_frontends_rehearse(kind: str, packages: tuple[str, ...]) -> None:
    """They compile our own kernel. A failure would only cost time, so nothing else shows it."""
    try:
        assert all(map(version, packages))
    except PackageNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    code = f"from tilery.judge.jail.frontends import rehearse; rehearse({kind!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_narrow_floats_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    made = problem()
    made.arguments[0] = type(made.arguments[0])("x", "bf16", "in", made.arguments[0].shape)
    monkeypatch.setattr("tilery.judge.candidates.find_spec", lambda name: None)
    with Judge(made, reference) as judge:
        found = judge.judge_source("def run(x, out): pass\n", "k.py")
    assert found.verdict == UNJUDGED and "ml_dtypes" in found.reason


def test_no_verdict_without_a_gpu() -> None:
    with Judge(problem(), reference, stages=("compile", "verify", "time"), timing={"engine": "gpu"}) as judge:
        found = judge.judge_source(GOOD, "k.mlir")
    if found.verdict != ACCEPTED:  # there is no GPU
        assert found.verdict == UNJUDGED and found.reason
