"""A picture of the TextMate grammar and the language server in the editor of VS Code: docs/pictures/vscode.png.

    python scripts/pictures/monaco.py [--modules FOLDER]

Needs npm, which fetches the editor and the highlighter of VS Code into a temporary folder, or finds them in FOLDER, and
Chromium, which shows the page. What the server would answer is computed here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "src"), str(ROOT / "scripts")]

from lsprotocol import converters  # noqa: E402  # found only now
from lsprotocol import types as lsp  # noqa: E402

from pictures.neovim import KERNEL  # noqa: E402
from pictures.terminal import TARGET  # noqa: E402
from tilery.lsp import describe, tokens  # noqa: E402
from tilery.lsp.diagnostics import diagnostics  # noqa: E402
from tilery.lsp.document import TextDocument  # noqa: E402

PACKAGES = ("shiki", "@shikijs/monaco", "@shikijs/themes", "monaco-editor", "esbuild")
GRAMMAR = ROOT / "editors" / "vscode" / "syntaxes" / "tileir.tmLanguage.json"
WIDTH, HEIGHT = 1120, 520
PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="out.css">
<style>html, body, #editor { height: 100%; margin: 0; background: #1e1e1e }</style>
<div id="editor"></div><script type="module" src="out.js"></script>
"""
BROWSER = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-quic", "--hide-scrollbars",
           "--allow-file-access-from-files", "--virtual-time-budget=20000",
           "--force-device-scale-factor=1.25")  # fmt: skip


def answers() -> str:
    """Return a text and what the server says of it, as JSON."""
    document = TextDocument("file:///kernel.tileir", KERNEL)
    at = KERNEL.index("mulf")
    whole = document.lines.range(0, len(KERNEL))
    found = {
        "diagnostics": diagnostics(document),
        "hover": describe.hover(document, document.lines.position(at)),
        "hints": tokens.inlay_hints(document, whole),
    }
    convert = converters.get_converter()
    plain = {"diagnostics": list[lsp.Diagnostic], "hover": lsp.Hover, "hints": list[lsp.InlayHint]}
    return json.dumps({"text": KERNEL, **{key: convert.unstructure(found[key], kind) for key, kind in plain.items()}})


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stderr[-3000:]}")


def take(folder: Path, modules: Path | None, browser: str, target: Path) -> None:
    """Build the page in a folder, and take the picture."""
    if modules is None:
        run(["npm", "install", "--no-audit", "--no-fund", "--no-save", "--silent", *PACKAGES], folder)
    else:
        (folder / "node_modules").symlink_to(modules.resolve())
    (folder / "answers.json").write_text(answers())
    (folder / "index.html").write_text(PAGE)
    for each in (GRAMMAR, ROOT / "scripts" / "pictures" / "monaco.mjs"):
        shutil.copy(each, folder)
    build = ["node_modules/.bin/esbuild", "monaco.mjs", "--bundle", "--format=esm", "--loader:.ttf=dataurl", "--minify",
             "--outfile=out.js"]  # fmt: skip
    run(build, folder)
    size = f"--window-size={WIDTH},{HEIGHT}"
    profile = f"--user-data-dir={folder / 'profile'}"
    run([browser, *BROWSER, size, profile, f"--screenshot={target}", (folder / "index.html").as_uri()], folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=Path, help="a node_modules with the packages")
    args = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        take(Path(name), args.modules, browser, TARGET / "vscode.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
