"""Children that die, hang, flood, fill the disk, are interrupted or forked; and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.oracle import ROOT
from tilery import TileError
from tilery.child import Child, ChildError, Ending, run_program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")

SERVICE = """
import os, sys, time

ANSWERS = 4  # the file that `serving` writes answers to
said = 0

def answer(request, data, alive):
    global said
    said += 1
    do = request["do"]
    if do == "echo":
        return {"turn": said, "size": len(data)}, data[::-1]
    if do == "die":
        os.write(2, b"something broke")
        os.abort()
    if do == "exit":
        sys.exit(request["status"])
    if do == "raise":
        raise ValueError("not this one")
    if do == "hang":
        time.sleep(600)
    if do == "slow":
        for _ in range(request["turns"]):
            time.sleep(0.2)
            alive()
        return {"turn": said}, b""
    if do == "flood":
        return {"text": "x" * request["size"]}, b"y" * request["size"]
    if do == "babble":
        os.write(ANSWERS, b"\\xff" * 100)
        time.sleep(600)
    if do == "nonsense":
        os.write(ANSWERS, (4).to_bytes(8, "little") + bytes(8) + b"oops")
        time.sleep(600)
    if do == "print":
        print("printed by the service" * request["times"])
        os.system("echo printed by a program; cat")
        sys.stdout.flush()
        return {}, b""
    if do == "full":
        with open("/dev/full", "w") as file:
            file.write("x" * 100_000)
    if do == "memory":
        return {"size": len(bytearray(1 << 32))}, b""
    if do == "spin":
        while True:
            pass
    if do == "leave":
        os.system("sleep 600 &")
        return {"pid": os.getpid()}, b""
"""


@pytest.fixture
def service(tmp_path: Path) -> str:
    file = tmp_path / "service.py"
    file.write_text(SERVICE)
    return str(file)


@pytest.fixture
def child(service: str) -> Iterator[Child]:
    made = Child(service, flags=("-I",))
    yield made
    made.stop()
    assert not made.running


def eventually(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, for a while."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def in_session(number: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            state, *words = (each / "stat").read_text().rpartition(")")[2].split() if each.name.isdecimal() else ["Z"]
        except OSError:
            continue
        if state != "Z" and int(words[2]) == number:
            found.append(int(each.name))
    return found


def test_a_child_keeps_its_state(child: Child) -> None:
    for turn in range(1, 4):
        answer, data = child.ask({"do": "echo"}, b"abc", seconds=30)
        assert (answer["turn"], answer["size"], data) == (turn, 3, b"cba")


def test_large_messages(child: Child) -> None:
    data = os.urandom(20 << 20)
    assert child.ask({"do": "echo"}, data, seconds=60)[1] == data[::-1]


@pytest.mark.parametrize(
    "request_, ending, how, said",
    [
        ({"do": "die"}, Ending.DIED, -signal.SIGABRT, "something broke"),
        ({"do": "exit", "status": 3}, Ending.DIED, 3, ""),
        ({"do": "raise"}, Ending.DIED, 1, "ValueError: not this one"),
        ({"do": "full"}, Ending.DIED, 1, "No space left on device"),
        ({"do": "babble"}, Ending.FLOOD, -signal.SIGKILL, ""),
        ({"do": "nonsense"}, Ending.FLOOD, 0, ""),
        ({"do": "flood", "size": 1 << 20}, Ending.FLOOD, -signal.SIGKILL, ""),
    ],
    ids=lambda value: value["do"] if isinstance(value, dict) else "",
)
def test_a_failure_is_told_and_the_next_request_is_answered(
    request_: dict[str, object], ending: Ending, how: int, said: str, child: Child
) -> None:
    assert child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 1
    with pytest.raises(ChildError) as caught:
        child.ask(request_, seconds=30, most=1 << 20)
    assert (caught.value.ending, caught.value.status) == (ending, how) and said in caught.value.said
    assert child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 1, "a new process"


def test_a_hang_ends_in_time(child: Child) -> None:
    with pytest.raises(ChildError, match="late, SIGKILL"):
        child.ask({"do": "hang"}, seconds=0.5)
    assert not child.running


def test_signs_of_life_prolong_the_time(child: Child) -> None:
    assert child.ask({"do": "echo"}, seconds=30)
    assert child.ask({"do": "slow", "turns": 6}, seconds=0.9)[0]["turn"] == 2


def test_what_a_service_prints_is_no_answer(child: Child) -> None:
    assert "printed by the service" in child.ask({"do": "print", "times": 1}, seconds=30)[0]["said"]
    long = child.ask({"do": "print", "times": 100_000}, seconds=30)[0]["said"]
    assert "printed by a program" in child.ask({"do": "print", "times": 0}, seconds=30)[0]["said"]
    assert len(long) <= 1 << 16


def test_limits(child: Child) -> None:
    with pytest.raises(ChildError) as caught:
        child.ask({"do": "memory"}, seconds=30, memory=1 << 31)
    assert "MemoryError" in caught.value.said
    with pytest.raises(ChildError, match="SIGXCPU"):
        child.ask({"do": "spin"}, seconds=30, cpu_seconds=1)


def test_a_limit_of_time_counts_for_each_request(child: Child) -> None:
    for turn in range(3):
        assert child.ask({"do": "echo"}, seconds=30, cpu_seconds=1)[0]["turn"] == turn + 1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at the processes of Linux")
def test_what_a_service_started_ends_with_it(child: Child) -> None:
    session = child.ask({"do": "leave"}, seconds=30)[0]["pid"]
    assert len(in_session(session)) == 2
    child.stop()
    assert eventually(lambda: not in_session(session))


def test_a_process_that_was_killed_is_replaced(child: Child) -> None:
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # writing to it must not end this process
    try:
        for _ in range(3):
            session = child.ask({"do": "leave"}, seconds=30)[0]["pid"]
            os.kill(session, signal.SIGKILL)
            try:
                assert child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 1
            except ChildError as error:  # it had not ended when it was asked
                assert error.status == -signal.SIGKILL
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_threads_take_turns(child: Child) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: child.ask({"do": "echo"}, bytes([n]), seconds=30), range(20)))
    assert [data for _, data in found] == [bytes([n]) for n in range(20)]
    assert sorted(answer["turn"] for answer, _ in found) == list(range(1, 21))


def test_another_thread_can_stop_it(child: Child) -> None:
    assert child.ask({"do": "echo"}, seconds=30)
    timer = threading.Timer(0.3, child.stop)
    timer.start()
    with pytest.raises(ChildError, match="died, SIGKILL"):
        child.ask({"do": "hang"}, seconds=60)
    timer.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_its_own_process(child: Child) -> None:
    assert child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 1
    fork = os.fork()
    if not fork:
        try:
            os._exit(0 if child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(fork, 0)[1] == 0
    assert child.ask({"do": "echo"}, seconds=30)[0]["turn"] == 2


def test_what_cannot_start_says_why(service: str) -> None:
    with pytest.raises(TileError, match="cannot start /nowhere/python: No such file"):
        Child(service, python="/nowhere/python").ask({"do": "echo"}, seconds=30)
    with pytest.raises(ChildError) as caught:
        Child("tilery.nothing").ask({"do": "echo"}, seconds=30)
    assert "No module named 'tilery.nothing'" in caught.value.said


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at the processes of Linux")
@pytest.mark.parametrize("end", ["exits", "is interrupted"])
def test_nothing_is_left_when_the_user_s_process_ends(service: str, end: str) -> None:
    script = f"""
    import sys
    sys.path.insert(0, {str(ROOT / "src")!r})
    from tilery.child import Child
    child = Child({service!r})
    print(child.ask({{"do": "leave"}}, seconds=60)[0]["pid"], flush=True)
    {"child.ask({'do': 'hang'}, seconds=600)" if end == "is interrupted" else ""}
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as user:
        assert user.stdout is not None
        session = int(user.stdout.readline())
        if end == "is interrupted":
            time.sleep(0.3)
            user.send_signal(signal.SIGINT)
        _, errors = user.communicate()
    assert ("KeyboardInterrupt" in errors) == (end == "is interrupted")
    assert eventually(lambda: not in_session(session))


def test_programs_have_limits_of_time_and_leave_nothing() -> None:
    assert run_program(["sh", "-c", "echo out; echo err >&2; exit 3"], 30).returncode == 3
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", "sleep 600 & sleep 600"], 0.3)
    with pytest.raises(FileNotFoundError):
        run_program(["/nowhere/program"], 1)
