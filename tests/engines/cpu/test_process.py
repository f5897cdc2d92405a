"""The processes that compile: what dies, hangs, is interrupted or forked, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.oracle import ROOT

pytest.importorskip("llvmlite")

from tilery.engines.cpu.native import build, compiler, objects, process

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks at the processes of Linux")

CRASH = "declare void @llvm.nvvm.membar.gl()\ndefine void @f() {\n  call void @llvm.nvvm.membar.gl()\n  ret void\n}"
"""An instruction of another architecture, which LLVM cannot select on any processor that runs the tests."""
PRODUCTS = "\n".join(f"  %x{n + 1} = mul i2048 %x{n}, %x{n}" for n in range(20))
SLOW = f"define void @f(ptr %p) {{\n  %x0 = load i2048, ptr %p\n{PRODUCTS}\n  store i2048 %x20, ptr %p\n  ret void\n}}"
"""LLVM takes many seconds for this."""
needs_x86 = pytest.mark.skipif(not compiler.host().x86, reason="needs an instruction that LLVM cannot select")


def small(name: str) -> str:
    return f"declare void @{name}()\ndefine void @run() {{\n  call void @{name}()\n  ret void\n}}"


def compiles(name: str) -> bool:
    """Tell whether a text is compiled to its own object."""
    (data,) = compiler.compile_texts([small(name)], compiler.host())
    return objects.undefined_symbols(data) == [name]


def processes(of: int) -> list[int]:
    """Return the processes that compile for a process."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            words = (each / "cmdline").read_bytes().split(b"\0") if each.name.isdecimal() else []
        except OSError:
            continue
        if process.PROGRAM.encode() in words and words[7] == str(of).encode():
            found.append(int(each.name))
    return found


def staying(of: int) -> list[int]:
    """Return those without their forks."""
    found = processes(of)
    return [each for each in found if parent_of(each) not in (None, *found)]


def parent_of(number: int) -> int | None:
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def eventually(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, for a while."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep nothing on disk, and start and end each test without processes."""
    monkeypatch.setenv("TILERY_CACHE_DIR", "")
    process.close_all()
    assert eventually(lambda: not processes(os.getpid()))
    yield
    process.close_all()


# ---------------------------------------------------------------- requests that fail


def test_one_process_answers_all_requests() -> None:
    assert compiles("first")
    (one,) = staying(os.getpid())
    assert all(compiles(f"later{n}") for n in range(3)) and staying(os.getpid()) == [one]
    with pytest.raises(ChildProcessError):
        os.waitpid(one, os.WNOHANG)  # it is not a child of this process, which `os.wait` would wait for


@needs_x86
@pytest.mark.parametrize("stay", [True, False], ids=["stays", "a process per request"])
def test_a_crash_ends_one_request(stay: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STAY", stay)
    for turn in range(2):
        with pytest.raises(compiler.CompilerError, match="LLVM's process was ended by SIGABRT") as caught:
            compiler.compile_texts([CRASH], compiler.host())
        assert "Cannot select" in caught.value.output
        with pytest.raises(compiler.CompilerError, match="expected type"):
            compiler.compile_texts(["define nothing"], compiler.host())
        assert compiles(f"after{turn}")
    assert len(staying(os.getpid())) == stay


def test_limits_hold_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiles("before")
    running = staying(os.getpid())
    monkeypatch.setattr(compiler, "ceil", lambda seconds: 1)  # of the processor; a busy machine takes longer for them
    with pytest.raises(compiler.CompilerError, match="LLVM's process was ended by SIGXCPU"):
        compiler.compile_texts([SLOW], compiler.host())
    monkeypatch.setattr(compiler, "MEMORY", 1 << 26)
    with pytest.raises(compiler.CompilerError):
        compiler.compile_texts([small("limited")], compiler.host())
    monkeypatch.undo()
    assert compiles("after") and staying(os.getpid()) == running


def test_the_limit_on_memory_holds_while_a_request_is_parsed() -> None:
    with process.Child() as child:
        status, out, errors = child.run(process.Request(b"[" + b"[]," * 3_000_000 + b"[]]", 1 << 27, 60), 60)
    assert status == 1 and not out and "MemoryError" in errors


@pytest.mark.parametrize("stay", [True, False], ids=["stays", "a process per request"])
def test_a_request_that_takes_too_long_is_given_up(stay: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STAY", stay)
    monkeypatch.setattr(compiler, "SECONDS", 0.5)  # of the processor; no limit of the system is less than a second
    monkeypatch.setattr(compiler, "ceil", lambda seconds: 100)
    with pytest.raises(compiler.CompilerError, match=r"LLVM's process was stopped after 2.0 seconds"):
        compiler.compile_texts([SLOW], compiler.host())
    assert eventually(lambda: not processes(os.getpid())), "it stopped compiling"
    monkeypatch.undo()
    assert compiles("after")


# ---------------------------------------------------------------- kernels that LLVM does not manage

ONE = "entry @one(%p: tile<ptr<i32>>) { %one = constant <i32: 1> : tile<i32> %t = store_ptr_tko weak %p, %one : "
ONE += "tile<ptr<i32>>, tile<i32> -> token return }"


@needs_x86
@pytest.mark.parametrize(
    ("text", "change", "why"),
    [
        (CRASH, {}, "SIGABRT"),
        (SLOW, {"ceil": lambda seconds: 1}, "SIGXCPU"),
        (SLOW, {"SECONDS": 0.1, "ceil": lambda seconds: 100}, "stopped after"),
        (small("large"), {"MEMORY": 1 << 26}, "LLVM"),
    ],
    ids=["crash", "processor time", "time", "memory"],
)
def test_the_reference_engine_runs_what_llvm_does_not_manage(
    text: str, change: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kernel whose compilation dies runs nevertheless, and the user is told; the next one is compiled as usual."""
    monkeypatch.setenv("TILERY_CACHE_DIR", str(tmp_path / "cache"))
    lower = build.lower_kernel

    def lowered_badly(*args: Any) -> Any:
        lowered = lower(*args)
        assert lowered is not None
        return replace(lowered, text=text)

    monkeypatch.setattr(build, "lower_kernel", lowered_badly)
    for name, value in change.items():
        monkeypatch.setattr(compiler, name, value)
    module = tilery.parse(ONE)
    for _ in range(2 if why == "SIGXCPU" else 1):  # the second time, that it takes too long is known
        with pytest.warns(RuntimeWarning, match=f"@one was not compiled.*{why}") as warned:
            kernel: Any = tilery.compile(module, engine="cpu")
        assert warned[0].filename == __file__
        monkeypatch.setattr(compiler, "ceil", lambda seconds: pytest.fail("compiled again"))
    out = np.zeros(1, np.int32)
    kernel.launch(1, [out])
    assert out[0] == 1 and kernel.lowered is None
    monkeypatch.undo()
    assert compiles("after")
    again: Any = tilery.compile(tilery.parse(ONE.replace("i32: 1", "i32: 2")), engine="cpu")
    again.launch(1, [out])
    assert out[0] == 2 and again.lowered is not None


# ---------------------------------------------------------------- processes that die


def test_a_process_that_died_is_replaced() -> None:
    assert compiles("before")
    (one,) = staying(os.getpid())
    os.kill(one, signal.SIGKILL)
    assert compiles("after") and one not in staying(os.getpid())


def test_a_process_that_dies_while_it_compiles_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiles("before")
    (one,) = staying(os.getpid())
    os.kill(one, signal.SIGSTOP)
    timer = threading.Timer(0.1, os.kill, (one, signal.SIGKILL))
    timer.start()
    assert compiles("after")
    timer.join()


def test_what_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROGRAM", "import sys; print('no LLVM here', file=sys.stderr); sys.exit(3)")
    with pytest.raises(compiler.CompilerError, match="LLVM's process ended with status 3") as caught:
        compiles("nothing")
    assert "no LLVM here" in caught.value.output
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(tilery.TileError, match="cannot start the compiler: No such file"):
        compiles("nothing")


def test_the_answer_to_another_request_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "receive = child._receive; child._receive = lambda: (10**9, *receive()[1:]); child.main()"
    real = process.PROGRAM
    monkeypatch.setattr(process, "PROGRAM", real.replace("child.main()", wrong))
    assert compiles("before")
    (one,) = processes(os.getpid())
    monkeypatch.setattr(process, "PROGRAM", real)
    assert compiles("after")
    assert eventually(lambda: one not in processes(os.getpid()))


def test_an_idle_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    real = process.PROGRAM
    monkeypatch.setattr(process, "PROGRAM", real.replace("child.main()", "child.IDLE = 0.05; child.main()"))
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # writing to it must not end this process
    try:
        assert compiles("before")
        assert eventually(lambda: not processes(os.getpid())), "not even a zombie is left"
        monkeypatch.setattr(process, "PROGRAM", real)
        assert compiles("after") and len(staying(os.getpid())) == 1
    finally:
        signal.signal(signal.SIGPIPE, before)


# ---------------------------------------------------------------- threads, forks


@needs_x86
def test_threads_get_their_own_answers() -> None:
    def work(number: int) -> bool:
        if number % 5 == 4:
            with pytest.raises(compiler.CompilerError, match="SIGABRT"):
                compiler.compile_texts([CRASH], compiler.host())
        return compiles(f"f{number}")

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(20)))
    assert 1 <= len(staying(os.getpid())) <= 4


def test_processes_that_nobody_asks_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    with process.Child() as one, process.Child() as another:
        nothing = process.Request(b"", 1 << 30, 10)
        assert one.run(nothing, 10)[0] == another.run(nothing, 10)[0] == 1
    monkeypatch.setattr(process, "IDLE", -1)
    assert compiles("later")
    assert not process._idle and eventually(lambda: not processes(os.getpid()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_its_own() -> None:
    assert compiles("before")
    mine = staying(os.getpid())
    fork = os.fork()
    if not fork:
        try:
            good = compiles("forked") and len(staying(os.getpid())) == 1 and staying(os.getppid()) == mine
            process.close_all()
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert all(compiles(f"meanwhile{n}") for n in range(5))
    assert os.waitpid(fork, 0)[1] == 0
    assert compiles("after") and staying(os.getpid()) == mine


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_does_not_keep_those_of_its_parent() -> None:
    assert compiles("before")
    fork = os.fork()
    if not fork:
        time.sleep(60)
        os._exit(0)
    process.close_all()
    try:
        assert eventually(lambda: not processes(os.getpid()))
    finally:
        os.kill(fork, signal.SIGKILL)
        os.waitpid(fork, 0)


# ---------------------------------------------------------------- the user's process

SCRIPT = """
import contextlib, os, sys
sys.path[:0] = [{source!r}, {tests!r}]
os.environ["TILERY_CACHE_DIR"] = ""
from engines.cpu.test_process import *
"""


def start(script: str) -> subprocess.Popen[str]:
    source = SCRIPT.format(source=str(ROOT / "src"), tests=str(ROOT / "tests")) + script
    return subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("first", [True, False])
def test_ctrl_c_stops_compiling_and_nothing_else(first: bool) -> None:
    script = f"""
signal.signal(signal.SIGINT, signal.default_int_handler)
assert {first} or compiles("before")
print("ready", flush=True)
try:
    compiler.compile_texts([SLOW], compiler.host())
except KeyboardInterrupt:
    print("interrupted", compiles("after"), len(staying(os.getpid())))
"""
    with start(script) as user:
        assert user.stdout is not None and user.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.killpg(user.pid, signal.SIGINT)  # as a terminal does
        out, errors = user.communicate()
    assert not errors and out.startswith("interrupted True"), "the process that was compiling may not have ended yet"
    assert eventually(lambda: not processes(user.pid))


@pytest.mark.parametrize(
    "texts", ["[small('f')]", "[small('f')], [SLOW]", "[SLOW]"], ids=["idle", "compiling", "first"]
)
@pytest.mark.parametrize("end", ["exits", "is killed"])
def test_nothing_is_left_when_the_user_s_process_ends(texts: str, end: str) -> None:
    script = f"""
def work():
    for each in [{texts}]:
        with contextlib.suppress(tilery.TileError):  # the exit may end the compiler before this thread
            compiler.compile_texts(each, compiler.host())
thread = threading.Thread(target=work, daemon=True)
thread.start()
time.sleep(0.5)
print("ready", flush=True)
sys.stdin.read()
"""
    with start(script) as user:
        assert user.stdout is not None and user.stdout.readline() == "ready\n"
        assert staying(user.pid)
        if end == "is killed":
            user.kill()
        _, errors = user.communicate()
    assert not errors and eventually(lambda: not processes(user.pid))


def test_no_file_of_the_user_is_inherited() -> None:
    script = """
os.set_inheritable(os.open(__import__("llvmlite").__file__, os.O_RDONLY), True)
assert compiles("f")
(one,) = staying(os.getpid())
files = [os.readlink(each) for each in Path(f"/proc/{one}/fd").iterdir()]
print(all(file.startswith("pipe:") for file in files), os.readlink(f"/proc/{one}/cwd"))
"""
    with start(script) as user:
        out, errors = user.communicate()
    assert not errors and out == "True /\n"
