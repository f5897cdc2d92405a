"""The jail: what candidates do in it stays in it, and has limits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.kernels import problem
from tilery.diag import ErrorKind, TileError
from tilery.judge import Jail, Limits
from tilery.judge.candidates import compile_source
from tilery.judge.jail import confine, filters
from tilery.judge.jail.folders import ENDLESS, folder_bytes, remove_folder

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
FORK = "import os, time\ndef run(x, out):\n  if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
ATTACKS = {
    "network": "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    "unix socket": "import socket; socket.socket(socket.AF_UNIX)",
    "files": "import tilery; open(tilery.__file__, 'a')",
    "secrets": "open(SECRET).read()",
    "a link to secrets": "import os; os.symlink(SECRET, 'k'); open('k')",
    "device": "open('/dev/mem', 'rb')",
    "memory of its parent": "import os; open(f'/proc/{os.getppid()}/mem', 'rb')",
    "memory without a name": "import os; os.memfd_create('x')",
    "namespaces": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "tracing": "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "kill": "import os; os.kill(-1, 0)",
    "kill the parent": "import os; os.kill(os.getppid(), 9); assert os.getppid() != 1",
    "many processes": "import os, time\nfor n in range(99): os.fork() or time.sleep(1000)",
    "another user": "import os; os.setresuid(0, 0, 0)",
    "environment": "import os; assert 'SECRET' in os.environ",
}
"""Attacks that must fail, whatever confines a candidate."""
TRY_ALL = """
import json
def run(x, out):
    done = []
    for name, body in ATTACKS.items():
        try:
            exec(body, {"SECRET": SECRET})
            done.append(name)
        except (OSError, AssertionError):
            pass
    raise SystemExit("done: " + json.dumps(done))
"""
BODIES = {
    "processor": ("while True: pass", "timeout", "processor time"),
    "processes": ("import os\n    while True: os.fork()", "", ""),
    "memory": ("x = bytearray(3 << 30)", "memory", "memory"),
    "disk": ("open('f', 'wb').write(bytes(4 << 20))", "compiler", ""),
    "output": ("print('x' * (1 << 20), flush=True)", "memory", "output"),
    "answer": ("import os\n    while True: os.write(3, bytes(1 << 20))", "memory", "bytecode"),
    "crash": ("import ctypes; ctypes.string_at(0)", "compiler-crash", "SIGSEGV"),
    "exit": ("raise SystemExit(3)", "compiler", "exited"),
    "no object": ("import os; os.write(3, b'[1]'); os._exit(0)", "compiler-crash", "without an answer"),
    "nothing": ("pass", "compiler", "launches nothing"),
}
"""Host functions that end a candidate, with the kind of error and the reason."""
SHARED = """
import mmap, os, time
def run(x, out):
    kept = []
    for n in range(4):
        if os.fork() == 0:
            block = mmap.mmap(-1, 1 << 28)
            for at in range(0, 1 << 28, 4096):
                block[at] = 1
            time.sleep(1000)
    time.sleep(1000)
"""
SEARCH = """
def run(x, out):
    needle = bytes(reversed(b" etadidnac reilrae na fo ecruos eht"))
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(n, 16) for n in line.split()[0].split("-"))
            if "rw-p" in line and end - start < 1 << 28:
                memory.seek(start)
                found += memory.read(end - start).count(needle)
    raise SystemExit("many" if found > 100 else "few")
"""


@pytest.fixture(scope="module", params=["namespaces", "plain"])
def jail(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jail]:
    plain = request.param == "plain"
    means = confine.available(namespaces=not plain)
    if not plain and not means.namespaces:
        pytest.skip("this system has no namespaces for users")
    if plain and not (means.landlock >= filters.SCOPED_SINCE and means.seccomp):
        pytest.skip("this system has no Landlock 6, or no seccomp")
    os.environ["SECRET"] = "1"
    try:
        with Jail(LIMITS, plain=plain, hidden=[tmp_path_factory.getbasetemp()]) as made:
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


def test_launches_come_out(jail: Jail) -> None:
    made = compile_source(ADD.encode(), "add.py", problem(), jail)
    assert len(made.programs) == 3
    assert made.programs[2].launches[0].grid == (2, 1, 1)
    assert [slot.buffer for slot in made.programs[0].launches[0].slots if slot.buffer] == ["x", "out"]
    assert made.jail == jail.how
    assert jail.how.startswith("Landlock" if jail.plain else "namespaces")


def test_what_a_candidate_may_not_do(jail: Jail, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("42")
    source = f"SECRET = {str(secret)!r}\nATTACKS = {ATTACKS!r}\n{TRY_ALL}"
    with pytest.raises(TileError, match=r"done: \[\]$"):
        compile_source(source.encode(), "k.py", problem(), jail)


@pytest.mark.parametrize("name", BODIES)
def test_what_ends_a_candidate(name: str, jail: Jail) -> None:
    if jail.plain:
        pytest.skip("the same with namespaces")
    body, kind, said = BODIES[name]
    with pytest.raises(TileError) as caught:
        compile_source(f"def run(x, out):\n    {body}\n".encode(), "k.py", problem(), jail)
    assert said in str(caught.value), caught.value
    if kind:
        assert caught.value.kind is ErrorKind(kind), caught.value


def test_shared_memory_counts() -> None:
    with Jail(Limits(seconds=20.0, memory=1 << 29, processes=8)) as jail, pytest.raises(TileError) as caught:
        compile_source(SHARED.encode(), "k.py", problem(), jail)
    assert caught.value.kind is ErrorKind.MEMORY


def test_no_candidate_finds_an_earlier_one(jail: Jail) -> None:
    if jail.plain:
        pytest.skip("without namespaces, every candidate has a server of its own")
    earlier = f"# {'the source of an earlier candidate ' * 1000}\n{ADD}"
    compile_source(earlier.encode(), "add.py", problem(), jail)
    with pytest.raises(TileError, match="few"):
        compile_source(SEARCH.encode(), "k.py", problem(), jail)


@pytest.mark.parametrize("plain", [False, True])
def test_nothing_is_left_behind(plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = children()
    with Jail(LIMITS, plain=plain) as jail:
        with pytest.raises(TileError, match="launches nothing"):
            compile_source(FORK.encode(), "k.py", problem(), jail)
        assert len(children()) <= len(before) + 2  # the server, and `ps` itself
    assert len(children()) <= len(before) + 1
    assert list(tmp_path.iterdir()) == []


def test_folders_in_each_other_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are deeper than Python's stack, and have longer paths than any call takes."""
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    assert folder_bytes(str(top)) == 0
    for _ in range(2500):
        os.mkdir("d")
        os.chdir("d")
        Path("f").touch()
    assert folder_bytes(str(top)) == ENDLESS
    os.chmod(top / "d", 0)
    monkeypatch.chdir(tmp_path)
    remove_folder(str(top))
    assert list(tmp_path.iterdir()) == []


def test_files_without_content_have_a_limit(jail: Jail) -> None:
    """Without namespaces, each counts as some bytes."""
    if jail.plain:
        pytest.skip("its folder is not a file system of its own")
    said = "import os; raise SystemExit([os.statvfs(each).f_files for each in ('.', '/dev/shm')])"
    with pytest.raises(TileError, match=rf"\[{confine.MOST_FILES}, {confine.MOST_FILES}\]"):
        compile_source(f"def run(x, out):\n    {said}\n".encode(), "k.py", problem(), jail)


def test_a_server_that_is_killed_is_replaced(jail: Jail) -> None:
    if jail.plain:
        pytest.skip("without namespaces, every candidate has a server of its own")
    compile_source(ADD.encode(), "add.py", problem(), jail)
    assert jail.process is not None
    jail.process.kill()
    jail.process.wait()
    assert compile_source(ADD.encode(), "add.py", problem(), jail).programs


def test_the_filter_of_system_calls() -> None:
    """Jumps are relative: every step must end in the program, and the last one allows."""
    for machine in filters.ARCHITECTURES:
        code = filters.filter_program(machine)
        steps = [(int.from_bytes(code[at : at + 2], "little"), code[at + 2 : at + 4]) for at in range(0, len(code), 8)]
        for number, (_, jumps) in enumerate(steps):
            assert number + max(jumps) < len(steps)
        assert code[-4:] == filters.ALLOW.to_bytes(4, "little")


def test_what_the_result_says() -> None:
    assert "within reach" not in confine.Means(True, 0, False).describe()
    described = confine.Means(False, 0, False).describe()
    assert "files are within reach" in described and "network is within reach" in described
    assert "killed" in confine.Means(False, 5, True).describe()
    assert "killed" not in confine.Means(False, 6, True).describe()


def test_folders_that_hold_the_reference_are_not_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / "cases").mkdir(parents=True)
    (tmp_path / "packages").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    path = Jail(hidden=[tmp_path / "project" / "cases"])._environment()["PYTHONPATH"].split(os.pathsep)
    assert str(tmp_path / "packages") in path and str(tmp_path / "project") not in path
