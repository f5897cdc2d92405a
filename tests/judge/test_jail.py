"""The jail: what candidates do in it stays in it, and has limits."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.kernels import problem
from tilery.diag import ErrorKind, TileError
from tilery.judge import Jail, Limits
from tilery.judge.candidates import compile_source
from tilery.judge.program import parse_submission

pytest.importorskip("cuda.tile")

LIMITS = Limits(seconds=20.0, cpu_seconds=2, memory=2 << 30, processes=8, disk=1 << 20, output=1 << 16)
ADD = """
import cuda.tile as ct
@ct.kernel
def double(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (16,))
    ct.store(out, (i,), t + t)
def run(x, out):
    ct.launch(0, (ct.cdiv(x.shape[0], 16), 1, 1), double, (x, out))
"""
BODIES = {
    "network": ("import socket; socket.create_connection(('127.0.0.1', 9), 1)", "compiler", "unreachable"),
    "files": ("import tilery; open(tilery.__file__, 'a')", "compiler", "Read-only"),
    "device": ("assert sorted(__import__('os').listdir('/dev'))[0] == 'full'; 1 / 0", "compiler", "ZeroDivision"),
    "environment": ("import os; assert 'SECRET' in os.environ", "compiler", "AssertionError"),
    "processor": ("while True: pass", "timeout", "processor time"),
    "processes": ("import os\n    while True: os.fork()", "", ""),
    "memory": ("x = bytearray(3 << 30)", "memory", "memory"),
    "disk": ("open('f', 'wb').write(bytes(4 << 20))", "compiler", ""),
    "output": ("print('x' * (1 << 20), flush=True)", "memory", "output"),
    "crash": ("import ctypes; ctypes.string_at(0)", "compiler-crash", "SIGSEGV"),
    "exit": ("raise SystemExit(3)", "compiler", "exited"),
    "forged": ("import os; os.write(3, b'[1]'); os._exit(0)", "compiler-crash", "without an answer"),
    "nothing": ("pass", "compiler", "launches nothing"),
}


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    os.environ["SECRET"] = "1"
    try:
        with Jail(LIMITS) as made:
            yield made
    finally:
        del os.environ["SECRET"]


def children() -> set[str]:
    """Return the processes that this process started, directly or not."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = dict(line.split() for line in found.splitlines())
    mine = {str(os.getpid())}
    for _ in range(10):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return mine


def confined(jail: Jail) -> bool:
    compile_source(ADD.encode(), "add.py", problem(), jail)
    return jail.how.startswith("namespaces")


def test_launches_come_out(jail: Jail) -> None:
    made = compile_source(ADD.encode(), "add.py", problem(), jail)
    assert len(made.programs) == 3
    assert made.programs[2].launches[0].grid == (2, 1, 1)
    assert [slot.buffer for slot in made.programs[0].launches[0].slots if slot.buffer] == ["x", "out"]
    assert made.jail == jail.how


@pytest.mark.parametrize("name", BODIES)
def test_what_a_candidate_may_not_do(name: str, jail: Jail) -> None:
    body, kind, said = BODIES[name]
    if name in ("network", "files", "device", "processes") and not confined(jail):
        pytest.skip("this system has no namespaces for users")
    with pytest.raises(TileError) as caught:
        compile_source(f"def run(x, out):\n    {body}\n".encode(), "k.py", problem(), jail)
    assert said in str(caught.value)
    if kind:
        assert caught.value.kind is ErrorKind(kind), caught.value


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    source = "import os, time\ndef run(x, out):\n  if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
    with Jail(LIMITS) as jail:
        compile_source(ADD.encode(), "add.py", problem(), jail)
        before = children()
        with pytest.raises(TileError):
            compile_source(source.encode(), "k.py", problem(), jail)
        assert len(children()) <= len(before) + 1  # `ps` itself
    assert list(tmp_path.iterdir()) == []


def test_without_namespaces() -> None:
    source = "import os, time\ndef run(x, out):\n  if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
    before = children()
    with Jail(LIMITS, plain=True) as plain:
        with pytest.raises(TileError, match="launches nothing"):
            compile_source(source.encode(), "k.py", problem(), plain)
        assert "no namespaces" in plain.how
    assert len(children()) <= len(before) + 1


def test_triton_needs_its_package(jail: Jail) -> None:
    from importlib.util import find_spec

    if find_spec("tilery.triton") is not None:
        pytest.skip("it is there")
    with pytest.raises(TileError, match=r"tilery\.triton") as caught:
        compile_source(b"import triton\ndef run(x, out): pass\n", "k.py", problem(), jail)
    assert caught.value.kind is ErrorKind.MISSING_TOOL


LAUNCH = {"module": 0, "entry": "k", "grid": [1], "slots": [["x", 0]]}
FORGED: dict[str, Any] = {
    "not a table": [],
    "nothing": {},
    "no base64": {"modules": ["?"], "programs": []},
    "a number for a module": {"modules": [1], "programs": []},
    "no launches": {"modules": [""], "programs": [{"launches": [], "scratch": {}}]},
    "an unknown module": {"modules": [], "programs": [{"launches": [LAUNCH], "scratch": {}}]},
    "an unknown array": {"modules": [""], "programs": [{"launches": [{**LAUNCH, "slots": [["q", 0]]}], "scratch": {}}]},
    "a grid of text": {"modules": [""], "programs": [{"launches": [{**LAUNCH, "grid": ["a"]}], "scratch": {}}]},
    "a grid of nothing": {"modules": [""], "programs": [{"launches": [{**LAUNCH, "grid": [0]}], "scratch": {}}]},
    "scratch of an array's name": {"modules": [""], "programs": [{"launches": [LAUNCH], "scratch": {"x": [1, None]}}]},
    "endless scratch": {"modules": [""], "programs": [{"launches": [LAUNCH], "scratch": {"s": [1 << 40, None]}}]},
    "too few programs": {"modules": [""], "programs": []},
    "a negative offset": {
        "modules": [""],
        "programs": [{"launches": [{**LAUNCH, "slots": [["x", -8]]}], "scratch": {}}],
    },
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_answers_are_refused(name: str) -> None:
    with pytest.raises(TileError):
        parse_submission(json.loads(json.dumps(FORGED[name])), ["x", "out"], 1)
