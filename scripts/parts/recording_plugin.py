"""Record what tests read, optimise and launch, as material for tests/golden: `pytest -p parts.recording_plugin`.

Each process writes a file of lines in build/golden. Of each test function some small inputs are kept, and it runs with
its first parameters only.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MOST = {"text": 12, "bytes": 4, "pass": 10, "launch": 10}
"""How many inputs of each kind are kept of a test."""
PARAMETERS, SECONDS = 10, 3.0
"""A test function runs so often, or so long."""
LARGEST = {"text": 2500, "bytes": 1500, "pass": 4000, "launch": 6000}
ARRAY = 8192
"""The most bytes of an array."""

rows: list[dict[str, Any]] = []
seen: set[str] = set()
counts: Counter[tuple[str, str]] = Counter()
ran: Counter[str] = Counter()
spent: dict[str, float] = defaultdict(float)
current = ""


def add(kind: str, size: int, row: Callable[[], dict[str, Any]]) -> None:
    """Keep an input, unless it is large, known already, or one of many of its test."""
    if size > LARGEST[kind] or counts[current, kind] >= MOST[kind]:
        return
    with suppress(Exception):  # what cannot be stored is not
        made = row()
        key = json.dumps([kind, made])
        if key not in seen:
            seen.add(key)
            counts[current, kind] += 1
            rows.append({"kind": kind, "test": current, **made})


def pytest_configure() -> None:
    from tilery.bytecode.reader import FileReader
    from tilery.engines.common.kernel import Kernel
    from tilery.passes import pipeline
    from tilery.text.parse import parser
    from tilery.text.print.printer import show

    def parse(text: str, *args: Any, real: Any = parser._parse) -> Any:
        add("text", len(text), lambda: {"text": text})
        return real(text, *args)

    def init(self: Any, data: bytes, *args: Any, real: Any = FileReader.__init__, **options: Any) -> None:
        add("bytes", len(data), lambda: {"data": data.hex()})
        real(self, data, *args, **options)

    def run(module: Any, steps: Any, *args: Any, real: Any = pipeline.run_pipeline, **options: Any) -> Any:
        text = show(module, "generic", True)
        add("pass", len(text), lambda: {"text": text, "pipeline": ",".join(map(spelled, steps.steps))})
        return real(module, steps, *args, **options)

    def launch(self: Any, grid: Any, args: Any = (), *, real: Any = Kernel.launch, **options: Any) -> Any:
        def row() -> dict[str, Any]:
            there = grid if isinstance(grid, int) else list(map(int, grid))
            given = [plain(arg) for arg in args]
            convention = options.get("convention")
            return {"text": text, "entry": self.name, "grid": there, "args": given, "convention": convention}

        if self.engine == "reference":
            text = show(self.loaded.module, "generic", True)
            add("launch", len(text), row)
        return real(self, grid, args, **options)

    for owner, name, made in (
        (parser, "_parse", parse),
        (FileReader, "__init__", init),
        (pipeline, "run_pipeline", run),
        (Kernel, "launch", launch),
    ):
        setattr(owner, name, made)


def spelled(step: Any) -> str:
    """Spell a step of a pipeline."""

    def value(given: Any) -> str:
        return str(given).lower() if isinstance(given, bool) else str(given)

    options = [f"{name.replace('_', '-')}={value(given)}" for name, given in step.options.items() if given != ""]
    return f"{step.run.name}{{{','.join(options)}}}"


def plain(arg: Any) -> Any:
    """Return an argument as plain data."""
    if isinstance(arg, np.ndarray):
        if arg.nbytes > ARRAY:
            raise ValueError("a large array")
        data = b64encode(np.ascontiguousarray(arg).tobytes()).decode()
        return {"s": list(arg.shape), "w": bool(arg.flags.writeable), "b": data}
    if isinstance(arg, np.generic):
        return arg.item()
    if isinstance(arg, (bool, int, float)):
        return arg
    raise TypeError(type(arg))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    name = item.nodeid.partition("[")[0]
    ran[name] += 1
    if ran[name] > PARAMETERS or spent[name] > SECONDS:
        pytest.skip("enough is recorded")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    spent[report.nodeid.partition("[")[0]] += report.duration


def pytest_runtest_logstart(nodeid: str) -> None:
    global current
    current = nodeid.partition("[")[0]


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = Path(config.rootpath) / "build" / "golden"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) for row in rows]
    (folder / f"{os.getpid()}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
