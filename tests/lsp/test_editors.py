"""Files for editors: grammars made from the tables, the extension for VS Code, settings for Neovim."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from editors import grammars, neovim_check, vsix
from support.oracle import ROOT, corpus_files
from text import laws
from tilery import load, show
from tilery.ops import registered
from tilery.smith import smith

pygments = pytest.importorskip("pygments", reason="the lexer is for Pygments")


@pytest.mark.parametrize("name", grammars.FILES)
def test_grammars_follow_from_the_tables(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == grammars.FILES[name](), "run scripts/editors/grammars.py"


def test_grammars_know_every_operation() -> None:
    vim = (ROOT / "editors/vim/syntax/tileir.vim").read_text("utf-8")
    textmate = (ROOT / "editors/vscode/syntaxes/tileir.tmLanguage.json").read_text("utf-8")
    words = set(vim.split())
    assert [d.mnemonic for d in registered() if d.mnemonic not in words or d.mnemonic not in textmate] == []


def highlighting_problem(text: str) -> str:
    """Tokens are the text, none is an error, and operations are keywords."""
    from pygments.token import Error, Keyword

    from tilery.manual.highlighting import TileIRLexer

    tokens = list(TileIRLexer(stripnl=False, ensurenl=False).get_tokens(text))
    if "".join(part for _, part in tokens) != text:
        return "text is lost"
    if any(kind is Error for kind, _ in tokens):
        return "there is an error"
    known = {d.mnemonic for d in registered()}
    plain = {part for kind, part in tokens if part in known and kind not in Keyword}
    return f"{plain} are no keywords" if plain else ""


@pytest.mark.parametrize("seed", range(10))
def test_highlighting_of_random_modules(seed: int) -> None:
    assert highlighting_problem(laws.untidy(show(smith(seed)), random.Random(seed))) == ""


@pytest.mark.corpus
@pytest.mark.parametrize("path", corpus_files(30), ids=lambda path: path.stem)
def test_highlighting_of_the_corpus(path: Path) -> None:
    assert highlighting_problem(show(load(path, verify=False))) == ""


def test_the_extension_is_packaged(tmp_path: Path) -> None:
    vsix.package(tmp_path / "x.vsix", b"// code")
    with zipfile.ZipFile(tmp_path / "x.vsix") as archive:
        names = set(archive.namelist())
        facts = json.loads(archive.read("extension/package.json"))
        manifest = archive.read("extension.vsixmanifest").decode()
    assert {"[Content_Types].xml", "extension/extension.js", "extension/LICENSE.txt"} <= names
    for contribution in (*facts["contributes"]["grammars"], *facts["contributes"]["languages"]):
        path = contribution.get("path") or contribution["configuration"]
        assert f"extension/{path.removeprefix('./')}" in names
    assert f'Version="{facts["version"]}"' in manifest


def test_the_code_of_the_extension_is_valid() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    subprocess.run([node, "--check", str(ROOT / "editors/vscode/extension.js")], check=True)


TILE_IR = {"guide.mlir": "// x := 2 * x\nentry @k() {\n  return\n}\n", "m.mlir": "// one\n  cuda_tile.module @m {\n}\n"}
OTHERS = {"other.mlir": "// entry @k\nmodule {\n  func.func @f() { return }\n}\n"}


def test_vim_recognises_mlir_by_its_text(tmp_path: Path) -> None:
    vim = shutil.which("vim")
    if vim is None:
        pytest.skip("Vim is not installed")
    for name, text in (TILE_IR | OTHERS).items():
        (tmp_path / name).write_text(text)
    command = [vim, "--clean", "-es", "--cmd", f"set rtp+={ROOT / 'editors' / 'vim'}", "-c", "filetype on"]
    for name in TILE_IR | OTHERS:
        command += ["-c", f"edit {name}", "-c", "call writefile([&filetype], 'found', 'a')"]
    subprocess.run([*command, "-c", "qa!"], cwd=tmp_path, check=False, timeout=60, stdin=subprocess.DEVNULL)
    *known, other = (tmp_path / "found").read_text().splitlines()
    assert known == ["tileir", "tileir"] and other != "tileir"


def test_vs_code_recognises_mlir_by_its_text(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    facts = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))
    assert ".mlir" in facts["contributes"]["languages"][0]["extensions"]
    assert "onLanguage:mlir" in facts["activationEvents"]
    program = """
const load = require("module")._load;
require("module")._load = (name, ...rest) => (name.startsWith("vscode") ? {} : load(name, ...rest));
const { languageOf } = require(process.argv[1]);
const [text, other] = JSON.parse(process.argv[2]).map((each) => each.split("\\n"));
console.log(JSON.stringify([
  languageOf("/k.mlir", "mlir", text, []), languageOf("/k.mlir", "tileir", text, []),
  languageOf("/k.mlir", "tileir", other, ["mlir"]), languageOf("/k.mlir", "tileir", other, []),
  languageOf("/k.mlir", "mlir", other, []), languageOf("/k.mlir", "tileir", ["// new", ""], []),
  languageOf("/k.txt", "plaintext", text, []),
].map((each) => each ?? "")));
"""
    texts = json.dumps([TILE_IR["guide.mlir"], OTHERS["other.mlir"]])
    command = [node, "-e", program, str(ROOT / "editors/vscode/extension.js"), texts]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    assert found == ["tileir", "", "mlir", "plaintext", "", "", ""]


def test_every_editor_recognises_the_same_texts() -> None:
    """Neovim uses the expression of Vim, which the test above runs; that of Emacs becomes one of Python."""
    vim = re.search(r"'(\^.*)'", (ROOT / "editors/vim/ftdetect/tileir.vim").read_text("utf-8"))
    neovim = re.search(r"\[\[(\^.*)\]\]", (ROOT / "editors/neovim/tilery.lua").read_text("utf-8"))
    emacs = re.search(r'forward "(.*?)"', (ROOT / "editors/emacs/tilery.el").read_text("utf-8"))
    assert vim and neovim and emacs and vim[1] == neovim[1]
    pattern = re.sub(r"\\([(|)])", r"\1", emacs[1].replace(r"\\", "\\"))
    assert all(re.search(pattern, text, re.M) for text in TILE_IR.values())
    assert not any(re.search(pattern, text, re.M) for text in OTHERS.values())


def test_neovim_uses_the_server() -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    nvim = shutil.which("nvim")
    if nvim is None:
        pytest.skip("Neovim is not installed")
    assert list(neovim_check.problems(neovim_check.check(nvim))) == []


def test_pictures_of_editors_are_small_and_shown() -> None:
    guide = (ROOT / "docs/guides/editors.md").read_text("utf-8")
    for name in ("neovim.svg", "vscode.png"):
        assert (ROOT / "docs/pictures" / name).stat().st_size < 300_000
        assert f"](../pictures/{name})" in guide


def test_the_text_of_the_pictures_has_two_errors() -> None:
    pytest.importorskip("pygls", reason="the language server needs pygls")
    from pictures import monaco

    answers = json.loads(monaco.answers())
    found = [d["message"].splitlines()[-1].rpartition("did you mean ")[2] for d in answers["diagnostics"]]
    assert found == ["'exp'?", "'%power'?"]
    assert answers["hover"]["contents"]["value"].startswith("**mulf**")
    assert {hint["label"] for hint in answers["hints"]} >= {": tile<128xf32>", ": token"}


def test_the_grammar_is_held_to_the_reading() -> None:
    pytest.importorskip("pygls", reason="positions are those of the language server")
    from editors import report

    text = 'entry @k() {\n  %a, // one\n  %b:2 = "x"\n  print_tko "é",\n    %c : tile<8xi32>\n}\n'
    found = {(row, column): scope for row, column, scope in report.expected(text)}
    assert found[0, 0] == found[3, 2] == "keyword.control"
    assert found[0, 6] == "entity.name.function"
    assert found[4, 4] == "variable.other"
    assert found[4, 9] == "storage.type"
    assert found[3, 12] == "string.quoted"
