"""The process that starts jails. It has the frontends imported, so that a jail is a fork and not a new Python.

It reads requests from stdin and writes answers to stdout, each a length and JSON. A request never runs in it: it forks
a supervisor, which enters the namespaces; that forks the first process of the jail, which watches; that forks the
frontend. The end of the first process ends all others of its namespace.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import shutil
import signal
import struct
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from . import confine, frontends, system

TICK = 0.02
"""Seconds between looks at what a jail uses."""
PLAIN_TICK = 0.1
MOST_LOG = 1 << 16
OK, TIMEOUT, MEMORY, PROCESSES, OUTPUT, DISK, DIED = "ok", "timeout", "memory", "processes", "output", "disk", "died"
STATUSES = (OK, TIMEOUT, MEMORY, PROCESSES, OUTPUT, DISK, DIED)

NAMESPACED = "namespaces of users, network, processes, mounts and IPC; all files read-only, /tmp and /dev private"
PLAIN = "a process group with limits; no namespaces, so the network and your files are within reach"


def receive(fd: int) -> bytes | None:
    """Read a message: a length and as many bytes."""
    head = _exactly(fd, 8)
    return None if head is None else _exactly(fd, struct.unpack("<Q", head)[0])


def _exactly(fd: int, count: int) -> bytes | None:
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(fd: int, data: bytes) -> None:
    """Write a message."""
    view = memoryview(struct.pack("<Q", len(data)) + data)
    while view:
        view = view[os.write(fd, view) :]


# ---------------------------------------------------------------- inside


def run_frontend(request: dict[str, Any], answer: int, log: int, work: str, joined: bool) -> None:
    """Compile in this process, which is the frontend's; never return."""
    limits = request["limits"]
    with suppress(BaseException):
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        answer = os.dup2(answer, 3)
        os.closerange(4, 256)
        os.environ.clear()
        os.environ |= {"PATH": "/usr/bin:/bin", "HOME": work, "TMPDIR": work, "LANG": "C.UTF-8"}
        tempfile.tempdir = work
        os.chdir(work)
        confine.limit(limits["cpu_seconds"], limits["memory"], limits["disk"], limits["processes"])
        if joined:
            system.drop_capabilities()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        _answer(request, answer)
    os._exit(1)


def _answer(request: dict[str, Any], answer: int) -> None:
    try:
        made = frontends.compile_candidate(request)
        data = json.dumps(made).encode()
        with os.fdopen(answer, "wb") as out:
            out.write(data)
    finally:
        os._exit(0)  # no exit handlers of the candidate


# ---------------------------------------------------------------- around it


def watch(child: int, limits: dict[str, Any], root: int | None, folder: str) -> str:
    """Wait for a child, and return why it ended: `ok`, or the limit that was passed."""
    tick = TICK if root is None else PLAIN_TICK
    while True:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done == child:
            return _ended(status)
        if done:
            continue  # an orphan
        time.sleep(tick)
        count, resident = confine.usage(root)
        if count > limits["processes"] + 2:
            return PROCESSES
        if resident > limits["memory"] and (count == 2 or confine.proportional(root) > limits["memory"]):
            return MEMORY
        if root is not None and confine.folder_bytes(folder) > limits["disk"]:
            return DISK


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return TIMEOUT
        return OUTPUT if number == signal.SIGXFSZ else f"{DIED} {signal.Signals(number).name}"
    return OK if os.WEXITSTATUS(status) == 0 else f"{DIED} status {os.WEXITSTATUS(status)}"


def supervise(request: dict[str, Any], answer: int, log: int, say: int, joined: bool, folder: str) -> None:
    """Run a request in a jail and write why it ended; this process ends."""
    reason = "died in the jail's own setup"
    try:
        os.setsid()
        system.control(system.PDEATHSIG, signal.SIGKILL)
        if not joined:
            _supervise_plain(request, answer, log, say, folder)
        confine.become_nobody()
        confine.enter_namespaces()
        first = os.fork()
        if first:
            os.write(say, f"pid {first}\n".encode())
            for fd in (answer, log, say):
                os.close(fd)
            os.waitpid(first, 0)
            os._exit(0)
        system.control(system.PDEATHSIG, signal.SIGKILL)
        limits = request["limits"]
        work = confine.arrange_files(folder, limits["disk"])
        child = os.fork()
        if child == 0:
            os.close(say)
            run_frontend(request, answer, log, work, joined)
        system.control(system.DUMPABLE, 0)  # the candidate must not attach to this process
        system.drop_capabilities()
        os.close(answer)
        os.close(log)
        reason = watch(child, limits, None, work)
    except BaseException as error:
        reason = f"setup {type(error).__name__}: {error}"
    with suppress(OSError):
        os.write(say, f"{reason}\n".encode())
    os._exit(0)


def _supervise_plain(request: dict[str, Any], answer: int, log: int, say: int, folder: str) -> None:
    """Do the same without namespaces: everything that the frontend starts is a descendant of this process."""
    system.control(system.SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda number, frame: _finish(say, TIMEOUT))
    child = os.fork()
    if child == 0:
        os.close(say)
        run_frontend(request, answer, log, folder, False)
    os.close(answer)
    os.close(log)
    _finish(say, watch(child, request["limits"], os.getpid(), folder))


def _finish(say: int, reason: str) -> None:
    confine.end_descendants()
    with suppress(OSError):
        os.write(say, f"{reason}\n".encode())
    os._exit(0)


def handle(request: dict[str, Any], joined: bool) -> dict[str, Any]:
    """Run one request in a jail of its own."""
    limits = request["limits"]
    folder = tempfile.mkdtemp(prefix="tilery-judge-")
    os.chmod(folder, 0o755)
    pipes = {name: os.pipe() for name in ("answer", "log", "say")}
    gc.freeze()
    supervisor = os.fork()
    if supervisor == 0:
        for reader, _ in pipes.values():
            os.close(reader)
        supervise(request, pipes["answer"][1], pipes["log"][1], pipes["say"][1], joined, folder)
    for _, writer in pipes.values():
        os.close(writer)
    found: dict[str, bytearray] = {name: bytearray() for name in pipes}
    late = ""
    try:
        late = collect({name: pipe[0] for name, pipe in pipes.items()}, found, limits)
    finally:
        lines = bytes(found["say"]).decode("utf-8", "replace").splitlines()
        first = next((int(line[4:]) for line in lines if line.startswith("pid ")), None)
        end(supervisor, first, joined)
        for reader, _ in pipes.values():
            os.close(reader)
        shutil.rmtree(folder, ignore_errors=True)
    reason = next((line for line in lines if not line.startswith("pid ")), DIED)
    status = late or reason
    log = bytes(found["log"])[-MOST_LOG:].decode("utf-8", "replace")
    return {"status": status, "answer": bytes(found["answer"]).decode("utf-8", "replace"), "log": log}


def collect(readers: dict[str, int], found: dict[str, bytearray], limits: dict[str, Any]) -> str:
    """Read what a jail writes until it ends; return the limit that it passed, or nothing."""
    deadline = time.monotonic() + limits["seconds"]
    most = {"answer": limits["answer"], "log": limits["output"], "say": 4096}
    with selectors.DefaultSelector() as selector:
        for name, fd in readers.items():
            selector.register(fd, selectors.EVENT_READ, name)
        selector.register(0, selectors.EVENT_READ, "judge")
        while "say" in {key.data for key in selector.get_map().values()}:
            left = deadline - time.monotonic()
            if left <= 0:
                return TIMEOUT
            for key, _ in selector.select(left):
                if key.data == "judge":  # it asks for one thing at a time: this is its end
                    return TIMEOUT
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fd)
                found[key.data] += part
                if len(found[key.data]) > most[key.data]:
                    return OUTPUT
        for name in ("answer", "log"):  # what is still in the pipes
            with suppress(OSError):
                os.set_blocking(readers[name], False)
                while len(found[name]) <= most[name] and (part := os.read(readers[name], 1 << 16)):
                    found[name] += part
    return OUTPUT if len(found["answer"]) > most["answer"] else ""


def end(supervisor: int, first: int | None, joined: bool) -> None:
    """End a jail, whatever it is doing."""
    if joined:
        for pid in filter(None, (first, supervisor)):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(supervisor, 0)
        if first is not None:
            # It is our child now. It ends after everything else in its namespace, so nothing is left then.
            with suppress(ChildProcessError):
                os.waitpid(first, 0)
        return
    with suppress(ProcessLookupError):
        os.kill(supervisor, signal.SIGTERM)
    for _ in range(100):
        if os.waitpid(supervisor, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        os.kill(supervisor, signal.SIGKILL)
        os.waitpid(supervisor, 0)
    confine.end_descendants()


def main() -> None:
    """Answer requests until stdin ends. Without namespaces, answer one: a candidate could change this process."""
    answers = os.dup(1)
    os.dup2(2, 1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    system.control(system.SUBREAPER, 1)
    joined = "--plain" not in sys.argv and confine.has_namespaces()
    how = NAMESPACED if joined else PLAIN
    while (data := receive(0)) is not None:
        request = json.loads(data)
        frontends.preload(request["kind"])
        made = handle(request, joined)
        send(answers, json.dumps({**made, "how": how, "once": not joined}).encode())
        if not joined:
            return


if __name__ == "__main__":
    main()
