"""Drive the debug adapter with VS Code's own test client, and write docs/reports/lab/dap.md.

    python scripts/debugging/dap.py [--modules FOLDER] [--report docs/reports/lab/dap.md]

Needs Node.js and npm, which fetches `@vscode/debugadapter-testsupport` into a temporary folder; with --modules it is
taken from FOLDER.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENT = "@vscode/debugadapter-testsupport"
LAUNCHER = """import sys
sys.path.insert(0, {source!r})
from tilery.cli import program
sys.argv = ["tilery", "dap"]
sys.exit(program())
"""


def run(modules: Path, folder: Path) -> list[dict[str, object]]:
    """Run the client; return what it saw of each request."""
    launcher = folder / "launch.py"
    launcher.write_text(LAUNCHER.format(source=str(ROOT / "src")))
    script = ROOT / "scripts" / "debugging" / "dap_client.mjs"
    command = ["node", str(script), str(modules), sys.executable, str(launcher), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def page(rows: list[dict[str, object]], version: str) -> str:
    """Return the report."""
    good = sum(bool(row["ok"]) for row in rows)
    lines = [
        "# The debug adapter, driven by VS Code's test client",
        "",
        f"`python scripts/debugging/dap.py` wrote this page. `{CLIENT}` {version} started `tilery dap`",
        f"and sent {len(rows)} requests for a loop on 4 tile blocks; {good} were answered as expected. The tests in",
        "`tests/debug` send the same requests over pipes, without Node.js. In Neovim 0.7 with nvim-dap 0.4,",
        "`scripts/pictures/neovim_debug.py` drives a session and draws it:",
        "",
        "![Neovim, stopped one line before a number becomes NaN](../../pictures/neovim_debug.svg)",
        "",
        "| request | what for | seen | |",
        "|---|---|---|---|",
    ]
    for row in rows:
        row["ok"] = "ok" if row["ok"] else "FAILED"
    lines += [f"| `{row['request']}` | {row['what']} | {row['seen']} | {row['ok']} |" for row in rows]
    lines += ["", "## Not measured", "", "The extension inside VS Code itself; other editors; how long requests take."]
    return "\n".join([*lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modules", type=Path, help="a folder with node_modules")
    parser.add_argument("--report", type=Path, help="write the page to this file")
    args = parser.parse_args()
    if shutil.which("node") is None or (args.modules is None and shutil.which("npm") is None):
        raise SystemExit("this needs Node.js and npm")
    with tempfile.TemporaryDirectory() as name:
        modules = args.modules or Path(name)
        if args.modules is None:
            subprocess.run(["npm", "install", "--prefix", name, CLIENT], check=True, capture_output=True)
        about = json.loads((modules / "node_modules" / CLIENT / "package.json").read_text())
        rows = run(modules, Path(name))
    failed = [row for row in rows if not row["ok"]]
    text = page(rows, about["version"])
    if args.report:
        args.report.write_text(text, "utf-8")
    else:
        print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
