"""The name that campaigns give to the code of an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from parts.code import tree


def test_a_folder_is_named_as_git_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    (folder / "loops" / "__pycache__").mkdir(parents=True)
    (folder / "loops.py").write_text("x = 1\n")
    (folder / "loops" / "a.py").write_text("")
    (folder / "loops" / "__pycache__" / "a.pyc").write_text("")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "-c", "core.excludesFile=", "add", "engine", ":!*.pyc"], check=True)
    whole = subprocess.run([*git, "write-tree", "--prefix=engine/"], check=True, capture_output=True, text=True)
    assert tree(folder).hex() == whole.stdout.strip()
