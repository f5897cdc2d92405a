"""Drive Neovim without a screen: its own client starts the server and uses it as a person does.

    python scripts/editors/neovim_check.py

Prints what was seen. Exit status 0 if everything is as it should be, 1 if not, 77 where Neovim is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = """entry @k() {
      %a=iotta : tile<8xi32>
  %b = addi %a, %a : tile<8xi32> // twice
  %c = constant <f32: 1.0> : tile<4x8xf32>
  %d = addf %c, %c rounding<zero> : tile<4x8xf32>
  return
}
"""
RENAMED = TEXT.replace("iotta", "iota").replace("%a", "%eight").split("\n")[:-1]
GROUPS = {
    "entry": "Operation", "@k": "Symbol", "%eight": "Value", "//": "Comment", "constant": "Operation", "1.0": "Number",
    "tile<4": "Type", "4x8": "Number", "8xf32": "Number", "f32>": "Element", "addf": "Operation",
    "rounding": "Keyword", "zero": "Enum",
}  # fmt: skip
"""The groups of words in the Vim syntax."""
EXPECTED = {
    "filetype": "tileir",
    "definition": [2, 6],
    "renamed": RENAMED,
    "formatted": [RENAMED[0], "  %eight = iota : tile<8xi32>", *RENAMED[2:]],
    "groups": GROUPS,
    "bytecode": ["tileir", False, "entry @k() {"],
}
"""The texts that Neovim shows, apart from the words of an error and of the reference."""


def environment(folder: Path) -> dict[str, str]:
    """Return variables with which Neovim finds this checkout's `tilery` and no settings of the user."""
    starter = folder / "bin" / "tilery"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m tilery "$@"\n')
    starter.chmod(0o755)
    homes = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA", "CACHE")}
    return {**os.environ, **homes, "PATH": f"{starter.parent}:{os.environ['PATH']}"}


def arguments(nvim: str) -> list[str]:
    """Return a command that starts Neovim with the settings of this checkout."""
    settings = str(ROOT / "editors" / "neovim" / "tilery.lua")
    return [nvim, "--clean", "--cmd", f"set rtp+={ROOT / 'editors' / 'vim'}", "-u", settings]


def check(nvim: str) -> dict[str, Any]:
    """Return what Neovim shows of a text with an error, which it corrects, changes and formats."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"CHECKED": "k.tileir", "BYTECODE": "k.tileirbc", "RESULT": "result.json"}
        env = {**environment(folder), **{key: str(folder / file) for key, file in files.items()}}
        env["WORDS"] = json.dumps(list(GROUPS))
        Path(env["CHECKED"]).write_text(TEXT)
        legal = folder / "legal.mlir"
        legal.write_text(TEXT.replace("iotta", "iota"))
        subprocess.run(["tilery", "asm", str(legal), "-o", env["BYTECODE"]], env=env, check=True)
        script = ["-c", f"luafile {ROOT / 'scripts' / 'editors' / 'neovim_check.lua'}"]
        command = [*arguments(nvim), "--headless", *script]
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        result = Path(env["RESULT"])
        found: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {"problem": done.stderr}
    return found


def problems(found: dict[str, Any]) -> Iterator[str]:
    """Yield what is not as it should be."""
    if "problem" in found:
        yield found["problem"]
    if "iotta" not in str(found.get("errors")):
        yield "the misspelt operation is not reported"
    if "iota" not in str(found.get("hover")):
        yield "the reference of the operation is not shown"
    for name, expected in EXPECTED.items():
        if found.get(name) != expected:
            yield f"{name}: {found.get(name)} instead of {expected}"


def main() -> int:
    nvim = shutil.which("nvim")
    if nvim is None:
        print("Neovim is not installed")
        return 77
    found = check(nvim)
    print(json.dumps(found, indent=2))
    wrong = list(problems(found))
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
