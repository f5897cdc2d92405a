"""The campaign of this engine: a sample of it, and that what goes wrong is found, named and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import cpu_campaign
from parts import cpu_cases

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["cpu_campaign.py", "--jobs", "1", *words])
    return cpu_campaign.main()


def test_a_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.jsonl"
    counts = ["--modules", "6", "--mutants", "12", "--hostile", "3", "--first", "40000"]
    assert run(monkeypatch, *counts, "--results", str(file), "--objects", str(tmp_path / "objects")) == 0
    batches = {batch["kind"]: batch for batch in map(json.loads, file.read_text().splitlines())}
    assert [batches[kind]["totals"]["same"] for kind in ("modules", "mutants", "hostile")] == [6, 12, 3]
    assert batches["modules"]["totals"]["compiled"] > 3 < batches["mutants"]["totals"]["compiled"]
    before = file.read_text()
    monkeypatch.setattr(cpu_campaign, "run_batch", None)
    assert run(monkeypatch, *counts, "--results", str(file)) == 0, "nothing is run again"
    assert file.read_text() == before and "| mutants | 40,000 to 40,011 | 12 |" in capsys.readouterr().out


def test_a_death_has_a_name_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, sys\n"
        "for n in range(int(sys.argv[3]), int(sys.argv[4])):\n"
        "    print('{\"next\": %d}' % n, flush=True)\n"
        "    if n == 7: os.abort()\n"
        '    print(\'{"number": %d, "outcome": "same"}\' % n, flush=True)\n'
    )
    monkeypatch.setattr(cpu_campaign, "__file__", str(script))
    batch = cpu_campaign.run_batch("modules", 5, 10)
    assert batch["totals"] == {"same": 4, "died": 1}
    assert [(each["number"], each["outcome"]) for each in batch["findings"]] == [(7, "died")]


def test_what_differs_is_a_finding() -> None:
    left: Any = ("", [b"a"], "")
    assert cpu_cases.judge(left, left) == cpu_cases.SAME
    assert cpu_cases.judge(left, ("", [b"b"], "")) == cpu_cases.judge(left, ("", [b"a"], "x")) == cpu_cases.DIFFERS
    assert cpu_cases.judge(left, ("addi: bad", [b"a"], "")) == cpu_cases.DIFFERS
    assert cpu_cases.judge(("addi: bad", [], ""), ("subi: bad", [], "")) == cpu_cases.WORDS
    assert cpu_cases.judge(("entry: stopped after 5 seconds", [], ""), left) == cpu_cases.SLOW
    assert not {cpu_cases.DIFFERS, cpu_cases.WORDS, cpu_cases.REFUSED, "died"} & set(cpu_campaign.FINE)


DYING = """
import json, os
import checkout
from parts import forked_compiler
from tilery.engines.cpu.native import child, compiler
answer = child.answer
child.answer = lambda request: os.kill(os.getpid(), 9) if request["texts"] == ["die"] else answer(request)
server = forked_compiler.Server()
request = {"texts": ["define void @f() {\\n  ret void\\n}"], "levels": [0], "passes": [], "emit": "asm", "native": True}
request |= {"triple": compiler.host().triple, "cpu": "", "features": "", "memory": 1 << 32, "seconds": 9}
for texts in (request["texts"], ["die"], request["texts"]):
    status, out, _ = server.ask(json.dumps(request | {"texts": texts}).encode())
    print(status, b"f:" in out)
server.close()
"""


def test_a_compiler_that_dies_is_replaced(root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DYING], cwd=root / "scripts", capture_output=True, text=True)
    assert done.stdout.split() == ["0", "True", "-9", "False", "0", "True"], done.stderr
