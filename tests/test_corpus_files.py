"""Files that are input and expectation in one.

A file starts with the command it is for, `// tilery dis`; behind the line `// =>` stands what the command prints, each
line as a comment, errors behind `// stderr:`. `BLESS=1 pytest tests/test_corpus_files.py` rewrites the expectations.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilery.cli.main import main

# What the fuzzer found is replayed by test_fuzzing.
FILES = [p for p in sorted(Path(__file__).parent.glob("corpus/**/*.mlir")) if p.parent.name != "fuzz"]
ARROW = "// =>\n"


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_corpus_file(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, arrow, expected = path.read_text(encoding="utf-8").partition(ARROW)
    command = given.splitlines()[0].removeprefix("// tilery ").split()
    source = tmp_path / "in.mlir"
    source.write_text(given, encoding="utf-8")
    status = main([*command, str(source)])
    out, err = capsys.readouterr()
    found = comment(out.replace(str(source), "in.mlir")) + (
        "// stderr:\n" + comment(err.replace(str(source), "in.mlir")) if err else ""
    )
    if status:
        found += f"// exit {status}\n"
    if os.environ.get("BLESS"):
        path.write_text(given + ARROW + found, encoding="utf-8")
    else:
        assert arrow, f"{path.name} has no expectation, run with BLESS=1"
        assert found == expected


def comment(text: str) -> str:
    return "".join(f"// {line}".rstrip() + "\n" for line in text.splitlines())
