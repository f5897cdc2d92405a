"""The process that starts jails. It has the frontends imported, so that a jail is a fork and not a new Python.

It reads messages from stdin and writes answers to stdout: first how it confines candidates, then for each kind of
candidate and request a status and what the frontend answered. It never reads a request itself: it forks a handler, so
that no candidate finds an earlier one in its memory. The handler forks a supervisor, which enters the namespaces; that
forks the first process of the jail, which watches; that forks the frontend. The end of the first process ends all
others of its namespace.
"""

from __future__ import annotations

import gc
import json
import os
import select
import selectors
import signal
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from . import confine, frontends, system
from .folders import folder_bytes, remove_folder
from .messages import LARGEST_HEAD, LARGEST_REQUEST, receive, send

TICK = 0.02
"""Seconds between looks at what a jail uses."""
PLAIN_TICK = 0.1
MOST_LOG = 1 << 16
OK, TIMEOUT, MEMORY, PROCESSES, OUTPUT, DISK, DIED = "ok", "timeout", "memory", "processes", "output", "disk", "died"


# ---------------------------------------------------------------- inside


def run_frontend(request: dict[str, Any], answer: int, log: int, work: str, means: confine.Means) -> None:
    """Compile in this process, which is the frontend's; never return."""
    limits = request["limits"]
    with suppress(BaseException):
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        answer = os.dup2(answer, 3)
        os.closerange(4, 4096)
        os.environ.clear()
        os.environ |= {"PATH": "/usr/bin:/bin", "HOME": work, "TMPDIR": work, "LANG": "C.UTF-8"}
        tempfile.tempdir = work
        os.chdir(work)
        if not means.namespaces and means.seccomp and os.geteuid() == 0:
            os.setresuid(confine.NOBODY, 0, 0)  # as become_nobody does
        system.control(system.DUMPABLE, 1)  # else /proc/self is not its own
        confine.limit(
            limits["cpu_seconds"], request["imported"] + limits["memory"], limits["disk"], limits["processes"]
        )
        confine.shut(means, work)
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
        sys.stdout.flush()
    finally:
        os._exit(0)  # no exit handlers of the candidate


# ---------------------------------------------------------------- around it


def watch(child: int, limits: dict[str, Any], root: int | None, folder: str) -> str:
    """Wait for a child, and return why it ended: `ok`, or the limit that was passed."""
    tick = TICK if root is None else PLAIN_TICK
    ends = select.poll()
    with suppress(OSError):
        ends.register(os.pidfd_open(child), select.POLLIN)
    while True:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done == child:
            return _ended(status)
        if done:
            continue  # an orphan
        if ends.poll(1000 * tick):
            continue
        pids = confine.processes(root)
        if len(pids) > limits["processes"] + 2:  # first, because looking at each takes time in which they fork
            return PROCESSES
        if confine.resident(pids) > limits["memory"] and (
            len(pids) == 2 or confine.proportional(pids) > limits["memory"]
        ):
            return MEMORY
        if root is not None and folder_bytes(folder) > limits["disk"]:
            return DISK


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return TIMEOUT
        return OUTPUT if number == signal.SIGXFSZ else f"{DIED} {signal.Signals(number).name}"
    return OK if os.WEXITSTATUS(status) == 0 else f"{DIED} status {os.WEXITSTATUS(status)}"


def supervise(request: dict[str, Any], answer: int, log: int, say: int, means: confine.Means, folder: str) -> None:
    """Run a request in a jail and write why it ended; this process ends."""
    reason = "died in the jail's own setup"
    try:
        os.setsid()
        if not means.namespaces:
            _supervise_plain(request, answer, log, say, means, folder)
        system.control(system.PDEATHSIG, signal.SIGKILL)
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
        work, root = confine.arrange_files(folder, limits["disk"])
        child = os.fork()
        if child == 0:
            os.close(say)
            if root is not None:
                confine.hide_processes()
            run_frontend(request, answer, log, work, means)
        system.control(system.DUMPABLE, 0)  # the candidate must not attach to this process
        system.drop_capabilities(kept=system.PTRACE)  # to look at the memory of processes that have other users
        os.close(answer)
        os.close(log)
        reason = watch(child, limits, root, work)
    except BaseException as error:
        reason = f"setup {type(error).__name__}: {error}"
    with suppress(OSError):
        os.write(say, f"{reason}\n".encode())
    os._exit(0)


def _supervise_plain(
    request: dict[str, Any], answer: int, log: int, say: int, means: confine.Means, folder: str
) -> None:
    """Do the same without namespaces: everything that the frontend starts is a descendant of this process."""
    system.control(system.SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda number, frame: _finish(say, TIMEOUT))
    system.control(system.PDEATHSIG, signal.SIGTERM)
    child = os.fork()
    if child == 0:
        os.close(say)
        run_frontend(request, answer, log, folder, means)
    os.close(answer)
    os.close(log)
    _finish(say, watch(child, request["limits"], os.getpid(), folder))


def _finish(say: int, reason: str) -> None:
    confine.end_descendants()
    with suppress(OSError):
        os.write(say, f"{reason}\n".encode())
    os._exit(0)


def handle(request: dict[str, Any], means: confine.Means, folder: str) -> tuple[dict[str, str], bytes]:
    """Run one request in a jail of its own; return a status with the log, and what the frontend answered."""
    pipes = {name: os.pipe() for name in ("answer", "log", "say")}
    supervisor = os.fork()
    if supervisor == 0:
        for reader, _ in pipes.values():
            os.close(reader)
        supervise(request, pipes["answer"][1], pipes["log"][1], pipes["say"][1], means, folder)
    for _, writer in pipes.values():
        os.close(writer)
    found: dict[str, bytearray] = {name: bytearray() for name in pipes}
    late = ""
    try:
        late = collect({name: pipe[0] for name, pipe in pipes.items()}, found, request["limits"])
    finally:
        lines = bytes(found["say"]).decode("utf-8", "replace").splitlines()
        first = next((int(line[4:]) for line in lines if line.startswith("pid ")), None)
        end(supervisor, first, means.namespaces)
        for reader, _ in pipes.values():
            os.close(reader)
    reason = next((line for line in lines if not line.startswith("pid ")), DIED)
    log = bytes(found["log"])[-MOST_LOG:].decode("utf-8", "replace")
    return {"status": late or reason, "log": log}, b"" if late else bytes(found["answer"])


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


# ---------------------------------------------------------------- the server


def answer_one(means: confine.Means, answers: int, folder: str, missing: str) -> None:
    """Read a request, answer it, and end this process, which is a handler. Say what is missing, if anything is."""
    status = 1
    with suppress(BaseException):
        system.control(system.PDEATHSIG, signal.SIGTERM)
        system.control(system.SUBREAPER, 1)
        data = receive(0, LARGEST_REQUEST)
        if data is not None:
            request = {**json.loads(data), "imported": confine.address_space()}
            head, answer = ({"status": f"missing {missing}"}, b"") if missing else handle(request, means, folder)
            send(answers, json.dumps(head).encode())
            send(answers, answer)
            status = 0
    os._exit(status)


def main() -> None:
    """Answer requests until stdin ends. Without namespaces, answer one: a candidate could change this process."""
    answers = os.dup(1)
    os.dup2(2, 1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    system.control(system.SUBREAPER, 1)
    means = confine.available(namespaces="--plain" not in sys.argv)
    system.control(system.DUMPABLE, 0)
    hello = {"how": means.describe(), "once": not means.namespaces}
    send(answers, json.dumps(hello).encode())
    root = tempfile.gettempdir()
    while (kind := receive(0, LARGEST_HEAD)) is not None:
        missing = frontends.preload(kind.decode())
        gc.freeze()
        folder = tempfile.mkdtemp(prefix="jail-", dir=root)
        os.chmod(folder, 0o755)
        handler = os.fork()
        if handler == 0:
            answer_one(means, answers, folder, missing)
        failed = os.waitpid(handler, 0)[1]
        remove_folder(folder)
        if failed or not means.namespaces:
            break
    remove_folder(root)


if __name__ == "__main__":
    main()
