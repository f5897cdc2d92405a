"""Try everything that editors get, and write docs/reports/lab/editors.md.

    python bench/keystroke.py --json keys.json
    python scripts/editors/report.py --keystrokes keys.json [--modules FOLDER] [--report docs/reports/lab/editors.md]

Needs the corpus, Neovim, Node.js and npm, which fetches the highlighter of VS Code into a temporary folder; with
--modules it is taken from FOLDER. What is missing is not tried, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / each) for each in ("src", "tests", "bench", "scripts")]

import keystroke  # noqa: E402  # found only now
from editors import neovim_check, vsix  # noqa: E402
from support.oracle import CORPUS  # noqa: E402
from text import laws  # noqa: E402
from tilery.api import load  # noqa: E402
from tilery.cli.progress import progress  # noqa: E402
from tilery.lsp.document import UnitLines  # noqa: E402
from tilery.smith import smith  # noqa: E402
from tilery.text.lossless.reading import read  # noqa: E402
from tilery.text.lossless.tree import TokenKind, kinds  # noqa: E402
from tilery.text.print.printer import show  # noqa: E402

GRAMMAR = "editors/vscode/syntaxes/tileir.tmLanguage.json"
SCOPES = {
    TokenKind.OPERATION: "keyword.control",
    TokenKind.VALUE: "variable.other",
    TokenKind.SYMBOL: "entity.name.function",
    TokenKind.TYPE: "storage.type",
    TokenKind.NUMBER: "constant.numeric",
    TokenKind.STRING: "string.quoted",
}
"""The scopes of tokens in the TextMate grammar."""
RANDOM = 200
PACKAGES = ("vscode-textmate", "vscode-oniguruma")


def write_texts(folder: Path) -> tuple[int, int]:
    """Write the corpus and some random modules as text, with what is expected. Return how many there are of each."""
    files = sorted(CORPUS.glob("*.tileirbc"))
    with progress(len(files), "texts") as step:
        for path in files:
            write_text(folder, path.stem, show(load(path, verify=False)))
            step()
    for seed in range(RANDOM):
        write_text(folder, f"random{seed}", laws.untidy(show(smith(seed)), random.Random(seed)))
    return len(files), RANDOM


def write_text(folder: Path, name: str, text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    (folder / f"{name}.mlir").write_text(text, "utf-8")
    (folder / f"{name}.json").write_text(json.dumps(list(expected(text))))


def expected(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the row and the column of tokens, and the scope that they should have."""
    lines = UnitLines(text)
    for part in read(text).parts:
        tokens = part.parsed.tokens
        for index, kind in enumerate(kinds(part.parsed)):
            if kind in SCOPES:
                position = lines.position(part.start + tokens.spans[index][0])
                yield position.line, position.character, SCOPES[kind]


def highlighting(modules: Path | None) -> str:
    """Return a sentence about the TextMate grammar on real and random texts."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or (npm is None and modules is None):
        return "The TextMate grammar was not tried: Node.js is missing."
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), Path(name, "texts")
        texts.mkdir()
        if modules is not None:
            (folder / "node_modules").symlink_to(modules.resolve())
        elif subprocess.run(
            [str(npm), "install", "--no-audit", "--no-fund", "--silent", *PACKAGES], cwd=folder
        ).returncode:
            return "The TextMate grammar was not tried: npm cannot fetch the highlighter."
        real, made = write_texts(texts)
        script = str(ROOT / "scripts" / "editors" / "textmate_check.mjs")
        done = subprocess.run(
            [node, script, str(ROOT / GRAMMAR), str(texts)], cwd=folder, capture_output=True, text=True
        )
    last = done.stdout.strip().split("\n")[-1]
    return (
        f"The TextMate grammar was tried with the highlighter of VS Code on {real:,} files of the corpus and {made:,} "
        f"random texts with comments and line breaks: {last}."
    )


def packaging() -> str:
    """Return a sentence about the package for VS Code."""
    if shutil.which("npm") is None:
        return "The extension for VS Code was not packaged: npm is missing."
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "tilery.vsix")
        vsix.package(path, vsix.bundle())
        with zipfile.ZipFile(path) as archive:
            count = len(archive.namelist())
        size = path.stat().st_size
    return (
        f"The extension for VS Code is a package of {size:,} bytes and {count} files. It fetches nothing at run time."
    )


def neovim() -> str:
    """Return sentences about Neovim."""
    nvim = shutil.which("nvim")
    if nvim is None:
        return "Neovim was not tried: it is not installed."
    found = neovim_check.check(nvim)
    wrong = list(neovim_check.problems(found))
    version = found.get("version", "Neovim").replace("NVIM v", "Neovim ")
    if wrong:
        return f"{version} does not work: {'; '.join(wrong)}."
    return (
        f"{version} ran without a screen, with the settings in `editors/neovim`. Its client attaches to the server; "
        "a misspelt operation is reported, and the report goes away with the mistake; hover shows the reference; going "
        "to a definition, renaming and formatting do what they should; the Vim syntax gives "
        f"{len(neovim_check.GROUPS)} words the groups that they should have; and bytecode opens as text that cannot be "
        "edited. Versions from 0.8 on start the server in a way that was not tried."
    )


def page(keys: dict[str, Any], modules: Path | None) -> str:
    return f"""# Editors

`python scripts/editors/report.py` wrote this page.

{keystroke.section(keys)}
## What editors get

{fill(highlighting(modules), 120)}

{fill(packaging(), 120)}

{fill(neovim(), 120)}

[The guide](../../guides/editors.md) has pictures of both. Every feature of the server is tested with a client over
stdin and stdout, in `tests/lsp`.

## Not measured

Other features than diagnostics, and what an editor needs to show them. VS Code itself was not started: its editor and
its highlighter were, as libraries. Emacs was not tried.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keystrokes", type=Path, required=True, help="what bench/keystroke.py --json wrote")
    parser.add_argument("--modules", type=Path, help="a node_modules with the highlighter")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    text = page(json.loads(args.keystrokes.read_text("utf-8")), args.modules)
    if args.report:
        args.report.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
