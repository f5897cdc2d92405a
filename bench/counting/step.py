"""Run steps on files, with whatever tilery is on the path, and print a list with one entry per row as JSON.

    python bench/counting/step.py time FILE:STEP...     the best CPU seconds of a few runs
    python bench/counting/step.py count FILE:STEP...    the ids of two processes; the second one runs the step twice

FILE is bytecode. STEP is `decode`, `verify`, `print`, `parse`, `encode` or a pipeline of passes.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMES = 5


def step_of(name: str) -> tuple[Callable[[bytes], Any], Callable[[Any], object]]:
    """Return how to prepare the input of a step from bytecode, and how to run it."""
    from tilery.bytecode.reader import read  # under valgrind, imports take as long as steps: no more than needed

    match name:
        case "decode":
            return bytes, read
        case "verify":
            from tilery.verifier.verify import verify

            return read, verify
        case "print" | "parse":
            from tilery.text.parse.parser import parse
            from tilery.text.print.printer import show

            return (read, show) if name == "print" else (lambda data: show(read(data)), parse)
        case "encode":
            from tilery.bytecode.writer import write

            return read, write
    from tilery.passes import parse_pipeline, run_pipeline

    pipeline = parse_pipeline(name)
    return read, lambda module: run_pipeline(module, pipeline)


def seconds(inputs: list[Any], run: Callable[[Any], object]) -> float:
    """Run a step on each input and return the least CPU seconds."""
    best = float("inf")
    for given in inputs:
        gc.collect()
        start = time.process_time()
        made = run(given)
        best = min(best, time.process_time() - start)
        del made
    return best


def forked(inputs: list[Any], run: Callable[[Any], object]) -> int:
    """Run a step on each input in a copy of this process, and return its id."""
    child = os.fork()
    if not child:
        for given in inputs:
            run(given)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return child


def main() -> None:
    mode, *rows = sys.argv[1:]
    found: list[Any] = []
    for row in rows:
        file, name = row.rsplit(":", 1)
        prepare, run = step_of(name)
        data = Path(file).read_bytes()
        inputs = [prepare(data) for _ in range(TIMES if mode == "time" else 2)]
        gc.collect()
        found.append(seconds(inputs, run) if mode == "time" else [forked(inputs[:1], run), forked(inputs, run)])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
