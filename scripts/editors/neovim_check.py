"""Drive Neovim without a screen: its own client starts the server, and diagnostics, hover and formatting arrive.

    python scripts/editors/neovim_check.py

Exit status 0 if they do, 1 if not, 77 where Neovim is not installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = "entry @k() {\n      %a=iotta : tile<8xi32>\n  return\n}\n"
CHECK = """
local function wait(what) assert(vim.wait(20000, what, 50), "it took too long") end
vim.cmd.edit(vim.env.CHECKED)
wait(function() return #vim.diagnostic.get(0) > 0 end)
local out = { errors = vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0)) }
vim.cmd("silent %s/iotta/iota/")
wait(function() return #vim.diagnostic.get(0) == 0 end)
vim.lsp.buf.format({ timeout_ms = 20000 })
out.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
out.syntax = vim.bo.filetype
io.stdout:write(vim.json.encode(out))
"""


def check(nvim: str) -> dict[str, object]:
    """Return what Neovim shows of a text with an error, and the text after it was corrected and formatted."""
    with tempfile.TemporaryDirectory() as folder:
        bin_ = Path(folder, "bin")
        bin_.mkdir()
        starter = bin_ / "tilery"
        starter.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m tilery "$@"\n')
        starter.chmod(0o755)
        Path(folder, "k.tileir").write_text(TEXT)
        Path(folder, "check.lua").write_text(CHECK)
        env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "CHECKED": str(Path(folder, "k.tileir")),
               "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}  # fmt: skip
        command = [nvim, "--headless", "--clean", "--cmd", f"set rtp+={ROOT / 'editors' / 'vim'}",
                   "-u", str(ROOT / "editors" / "neovim" / "tilery.lua"),
                   "-c", f"luafile {folder}/check.lua", "-c", "qa!"]  # fmt: skip
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> int:
    nvim = shutil.which("nvim")
    if nvim is None:
        print("Neovim is not installed")
        return 77
    found = check(nvim)
    print(json.dumps(found, indent=2))
    right = found["text"] == ["entry @k() {", "  %a = iota : tile<8xi32>", "  return", "}"]
    return int(not (right and "iotta" in str(found["errors"]) and found["syntax"] == "tileir"))


if __name__ == "__main__":
    raise SystemExit(main())
