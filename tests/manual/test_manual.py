"""The documents say what the code does: the reference is fresh, links lead somewhere, examples give what they show."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from make_kernel import vector_add
from support.oracle import ROOT, find_tileirdisasm, has_nvrtc
from tilery import attrs, types
from tilery.cli.main import main
from tilery.manual.describe import describe, enums, type_examples
from tilery.manual.pages import pages, stale
from tilery.ops import registered

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += [p for part in ("guides", "tour", "appendix") for p in sorted((ROOT / "docs" / part).glob("*.md"))]
REFERENCE = sorted((ROOT / "docs" / "reference").rglob("*.md"))
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
SCRIPT = re.compile(r"^`(\w+\.(?:py|cu|mlir))`:\n\n```(?:python|cpp|mlir)\n(.*?)^```$", re.M | re.S)
"""A file that the commands of a document use."""
NEEDS_CUTILE = ["cutile.md", "cutile-without-gpu.md", "judge.md", "nan.md"]
NEEDS_NVRTC = ["cpp.md", "performance.md"]
NEEDS_Z3 = ["prove.md"]
NEEDS_TILEIRAS = ["performance.md"]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def test_the_reference_is_fresh() -> None:
    assert stale(ROOT / "docs" / "reference") == [], "run `make docs`"


def test_every_operation_has_a_place() -> None:
    made = "".join(text for path, text in pages().items() if path.startswith("operations/"))
    assert all(f"\n## {d.mnemonic}\n" in made for d in registered())


def test_every_kind_of_type_has_an_example() -> None:
    shown = {t.__class__ for t in type_examples()} | {types.Scalar}
    kinds = {cls for cls in vars(types).values() if isinstance(cls, type) and issubclass(cls, types.Type)}
    assert shown == {cls for cls in kinds if not cls.__subclasses__()}


def test_every_enum_is_there() -> None:
    assert set(attrs.TileEnum.__subclasses__()) <= set(enums())


def test_a_description_leaves_out_what_is_newer() -> None:
    for opdef in registered():
        data = describe(opdef, opdef.since)
        fields = [f for title in ("operands", "attributes", "results", "regions") for f in data[title]]
        assert all(f["since"] == str(opdef.since) for f in fields), opdef.mnemonic
        assert list(data["layout"]) == [str(opdef.since)], opdef.mnemonic


def test_the_module_rewrites_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.manual.pages import main as run

    (tmp_path / "old.md").write_text("stale")
    assert run([str(tmp_path), "--check"]) == 1
    assert "stale: " in capsys.readouterr().err
    assert run([str(tmp_path)]) == 0
    assert run([str(tmp_path), "--check"]) == 0
    assert not (tmp_path / "old.md").exists()


def test_links_lead_somewhere() -> None:
    broken = []
    for path in (*DOCUMENTS, *REFERENCE):
        for target, anchor in LINK.findall(path.read_text("utf-8")):
            if "://" in target:
                continue
            found = (path.parent / target).resolve()
            heads = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.M) if found.suffix == ".md" else []
            if not found.exists() or (
                anchor
                and heads
                and anchor[1:] not in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}
            ):
                broken.append(f"{path.name}: {target}{anchor}")
    assert broken == []


# ---------------------------------------------------------------- examples in the documents


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the documents' examples use."""
    data = tilery.dumps(vector_add())
    (tmp_path / "vector_add.tileirbc").write_bytes(data)
    at = tilery.dump(data).lines()
    lhs = next(int(line[:8], 16) for line in at if " lhs " in line)
    (tmp_path / "broken.tileirbc").write_bytes(data[:lhs] + b"\x63" + data[lhs + 1 :])
    text = (ROOT / "examples" / "last_block_sum.mlir").read_text("utf-8")
    (tmp_path / "last_block_sum.mlir").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output(command: str) -> tuple[str, int]:
    """Return the output of a command, stdout and stderr together, and its status."""
    if not command.startswith("tilery "):
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, shell=True, text=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout, done.returncode
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        status = main(shlex.split(command)[1:])
    return shown.getvalue(), status


def rerun(block: re.Match[str]) -> str:
    """A console block with the output its commands have now; `...` stands for any lines."""
    out = "```console\n"
    for part in re.split(r"^(?=\$ )", block[1], flags=re.M)[1:]:
        command, _, expected = part.removeprefix("$ ").partition("\n")
        got, status = output(command)
        assert status == 0 or expected.strip() != "...", f"{command} ends with status {status}: {got}"
        same = doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS)
        out += f"$ {command}\n{expected if same and '...' in expected else got}"
    return out + "```"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_commands_print_what_is_shown(path: Path, workshop: Path) -> None:
    text = path.read_text("utf-8")
    if path.name in NEEDS_CUTILE:
        pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
    if path.name in NEEDS_Z3:
        pytest.importorskip("z3", reason="needs Z3 (pip install 'tilery[prove]')")
    if path.name in NEEDS_NVRTC and not has_nvrtc():
        pytest.skip("needs NVIDIA's NVRTC (pip install 'tilery[cpp]')")
    if path.name in NEEDS_TILEIRAS and find_tileirdisasm() is None:
        pytest.skip("needs NVIDIA's tileiras (pip install 'tilery[nvidia]')")
    for name, content in SCRIPT.findall(text):
        Path(name).write_text(content)
    now = CONSOLE.sub(rerun, text)
    if os.environ.get("BLESS"):
        path.write_text(now, "utf-8")
    else:
        assert now == text, "run BLESS=1 and read the diff"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_python_examples_give_what_is_shown(path: Path, workshop: Path) -> None:
    if path.name in NEEDS_NVRTC and not has_nvrtc():
        pytest.skip("needs NVIDIA's NVRTC (pip install 'tilery[cpp]')")
    for name, content in SCRIPT.findall(path.read_text("utf-8")):
        Path(name).write_text(content)
    failed, _ = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert failed == 0
