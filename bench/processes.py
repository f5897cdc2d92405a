"""Times of whole processes: tilery's command against NVIDIA's disassembler, and text parsing against xDSL."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from support import oracle
from tilery.bytecode.writer import write
from tilery.ops import Module

SOURCE = Path(__file__).resolve().parent.parent / "src"
XDSL = """
import sys, time
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
context = Context()
context.load_dialect(Arith)
context.load_dialect(Builtin)
text = sys.stdin.read()
start = time.process_time()
Parser(context, text).parse_module()
print(time.process_time() - start)
"""


def environment() -> dict[str, str]:
    """Return the environment of an ordinary user: Python keeps its compiled files and buffers its streams."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")}
    return {**env, "PYTHONPATH": str(SOURCE)}


def once(command: list[str]) -> tuple[float, float]:
    """Run a command; return its wall-clock seconds and CPU seconds."""
    start, used = time.perf_counter(), _children()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment(), check=True)
    return time.perf_counter() - start, _children() - used


def _children() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def compare(commands: dict[str, list[str]], times: int) -> dict[str, tuple[float, float]]:
    """Return the shortest times of each command. The commands take turns, so that other load affects all of them."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            taken[name].append(once(command))
    return {name: (min(wall for wall, _ in runs), min(cpu for _, cpu in runs)) for name, runs in taken.items()}


def dis(file: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "tilery", "dis", *options, file]


def whole(name: str, module: Module, times: int) -> dict[str, Any]:
    """Time `tilery dis` with and without verification, and `tileirdisasm` if it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "in.tileirbc"))
        Path(file).write_bytes(write(module))
        commands = {"dis": dis(file), "dis --no-verify": dis(file, "--no-verify")}
        if (tool := oracle.find_tileirdisasm()) is not None:
            commands["tileirdisasm"] = [str(tool), file]
        once(commands["dis"])  # so that Python has compiled every file
        return {"case": name, "seconds": compare(commands, times)}


def start_up(module: Module, times: int) -> dict[str, tuple[float, float]]:
    """Time `tilery dis` on a small file, and Python doing nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "in.tileirbc"))
        Path(file).write_bytes(write(module))
        return compare({"dis on a small file": dis(file), "python": [sys.executable, "-c", "pass"]}, times)


def xdsl_seconds(count: int) -> float | str:
    """Return the CPU seconds that xDSL takes to parse a chain of additions, or the reason why it was not measured."""
    python = os.environ.get("XDSL_PYTHON", sys.executable)
    lines = ["%0 = arith.constant 1 : i32"] + [f"%{n} = arith.addi %{n - 1}, %{n - 1} : i32" for n in range(1, count)]
    answer = subprocess.run([python, "-c", XDSL], input="\n".join(lines), capture_output=True, encoding="utf-8")
    if answer.returncode:
        return "xDSL is not installed; set XDSL_PYTHON to a Python that has it"
    return float(answer.stdout)
