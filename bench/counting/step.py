"""Run one step on one file a number of times, with whatever tilery is on the path, and print the best CPU seconds.

python bench/counting/step.py FILE STEP TIMES [SPARE]

FILE is bytecode. STEP is `decode`, `verify`, `print`, `parse`, `encode` or a pipeline of passes. SPARE more inputs are
prepared than used, so that processes with the same sum prepare the same.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def step_of(name: str) -> tuple[Callable[[bytes], Any], Callable[[Any], object]]:
    """Return how to prepare the input of a step from bytecode, and how to run it."""
    from tilery.bytecode.reader import read  # each step imports no more than it needs: imports are slow under valgrind

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


def main() -> None:
    file, name, times, *spare = sys.argv[1:]
    prepare, run = step_of(name)
    data = Path(file).read_bytes()
    inputs = [prepare(data) for _ in range(int(times) + sum(map(int, spare)))]
    gc.collect()
    gc.freeze()  # a collection during the step costs what the step itself makes
    best = float("inf")
    for given in inputs[: int(times)]:
        start = time.process_time()
        made = run(given)
        best = min(best, time.process_time() - start)
        del made
    print(best)


if __name__ == "__main__":
    main()
