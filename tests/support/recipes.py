"""The recipes of CONTRIBUTING.md: the diffs of a section are applied to a copy of the source, which then must work.

A recipe's diffs name their files with `---` and `+++` lines. A hunk starts with `@@` and has no line numbers: its old
lines occur exactly once in the file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from support.oracle import ROOT


def section(title: str) -> str:
    """The text below a heading of CONTRIBUTING.md."""
    parts = re.split(r"^## (.*)\n", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.MULTILINE)
    return parts[parts.index(title) + 1]


def hunks(text: str) -> Iterator[tuple[str, str, str]]:
    """Each change that the diffs in a text make: the file, its old lines and its new ones."""
    for block in re.findall(r"^```diff\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        for part in re.split(r"^(?=--- )", block, flags=re.MULTILINE):
            if part:
                head, *changes = re.split(r"^@@.*\n", part, flags=re.MULTILINE)
                path = re.search(r"^\+\+\+ b/(.*)$", head, flags=re.MULTILINE)
                assert path is not None and changes, f"a diff without a file or a hunk: {part}"
                yield from ((path[1], _side(change, "-"), _side(change, "+")) for change in changes)


def _side(hunk: str, mark: str) -> str:
    lines = hunk.splitlines(keepends=True)
    return "".join(line[1:] for line in lines if line[0] in (" ", mark) or line == "\n")


def follow(title: str, folder: Path) -> Path:
    """Copy the source to a folder and apply the recipe of a section; returns the root of the copy."""
    if not (folder / "src").exists():
        shutil.copytree(ROOT / "src", folder / "src")
    for name, old, new in hunks(section(title)):
        path = folder / name
        if not path.exists() and (ROOT / name).exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, path)
        text = path.read_text("utf-8") if path.exists() else ""
        assert text.count(old) == 1 or not text, f"{title}: these lines of {name} are not there once:\n{old}"
        path.write_text(text.replace(old, new) if text else new, "utf-8")
    return folder


def run(root: Path, program: str) -> str:
    """The output of a program that uses the copy."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=root,
        env={"PYTHONPATH": str(root / "src"), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
