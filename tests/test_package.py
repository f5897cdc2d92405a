"""The package as people get it: typed, documented, with few dependencies, and with examples that run."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tilery
from make_kernel import vector_add
from support.oracle import ROOT, disassemble

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MODULES = sorted((ROOT / "src" / "tilery").rglob("*.py"))
EXECUTE = (
    "analysis/memory/",
    "engines/",
    "lint/",
    "exec/",
    "prove/",
    "sanitize/",
    "observe/",
    "debug/",
    "tuner/",
    "programs/",
    "cutile/",
    "triton/",
    "cpp/",
    "judge/",
    "cost/counting",
    "cli/arguments",
    "cli/recorded",
    "cli/comparison",
    "explorer/launching/",
    "lsp/",
    "manual/highlighting",
)
"""Modules that may need packages: NumPy for the linter, the engine, what runs on it, and the arrays that the command
makes; pygls for the server; Pygments for the lexer."""


def test_numpy_is_the_only_dependency() -> None:
    assert [re.split("[<>=]", name)[0] for name in PROJECT["dependencies"]] == ["numpy"]


def test_only_what_executes_needs_more_than_the_standard_library() -> None:
    paths = [p.relative_to(ROOT / "src").with_suffix("").as_posix() for p in MODULES]
    names = [p.replace("/", ".") for p in paths if not p.removeprefix("tilery/").startswith(EXECUTE)]
    lines = ["import sys", *(f"import {n.removesuffix('.__init__')}" for n in names)]
    lines.append("print(*sorted({m.split('.')[0] for m in sys.modules} - sys.stdlib_module_names))")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", "\n".join(lines)], capture_output=True, text=True, env=env, check=True
    )
    assert set(done.stdout.split()) <= {"tilery", "__main__"}


def test_it_is_typed() -> None:
    assert (ROOT / "src" / "tilery" / "py.typed").exists()


def test_modules_say_what_they_are() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in MODULES}
    assert [name for name, text in texts.items() if text.strip() and not text.startswith('"""')] == []


# ---------------------------------------------------------------- the package


def test_the_changelog_has_the_version() -> None:
    assert f"## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_license_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_nothing_names_a_machine() -> None:
    folders = ["src", "tests", "docs", "examples", "scripts", ".ci"]
    files = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix != ".pyc"]
    pattern = re.compile(r"/(?:home|root|work|Users)/\w")
    assert [str(p) for p in files if pattern.search(p.read_text("utf-8", "replace")) and p != Path(__file__)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if path.stem == "campaign_ray":
        pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.oracle
@pytest.mark.parametrize("version", tilery.SUPPORTED, ids=str)
def test_the_example_kernel_is_legal_at_every_version(version: tilery.Version) -> None:
    module = vector_add()
    judged = disassemble(tilery.dumps(module, version))
    assert (judged.returncode, judged.stderr) == (0, "")
    assert judged.stdout == tilery.show(module)
