"""What a call costs besides the work: the first one, one whose object is cached, and a launch of almost nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
FIRST = """
import json, sys, time
import numpy, tilery, llvmlite.binding
import tilery.engines.registry, tilery.engines.cpu.launch, tilery.verifier.explain, tilery.text.parse.parser
text = open(sys.argv[1]).read()
module = tilery.parse(text)
start = time.perf_counter()
kernel = tilery.compile(module, engine="cpu")
print(json.dumps((time.perf_counter() - start) * 1e3))
"""
LAUNCH = """
import json, sys, time
import numpy as np, tilery
kernel = tilery.compile(tilery.parse(open(sys.argv[1]).read()), engine="cpu")
arrays = [np.ones(1024, np.float32), np.ones(1024, np.float32), np.zeros(1024, np.float32)]
bound = kernel.bind(1, arrays, convention="cutile")
calls = {
    "launch": lambda: kernel.launch(1, arrays, convention="cutile"),
    "bound arguments": bound,
    "one thread": lambda: kernel.launch(1, arrays, convention="cutile", threads=1),
}
found = {}
for name, call in calls.items():
    best = 1e9
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, (time.perf_counter() - start) / 20)
    found[name] = best * 1e6
print(json.dumps(found))
"""


def measure_calls(kernels: Path, only: list[str] | None) -> dict[str, object]:
    """Return milliseconds of first and cached calls by kernel, and microseconds of launches."""
    first: dict[str, float] = {}
    cached: dict[str, float] = {}
    for path in sorted(kernels.glob("*.mlir")):
        if only and path.stem not in only:
            continue
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                cold = float(_python(FIRST, path, folder))
                first[path.stem] = min(cold, first.get(path.stem, cold))
                for _ in range(2):
                    warm = float(_python(FIRST, path, folder))
                    cached[path.stem] = min(warm, cached.get(path.stem, warm))
    with tempfile.TemporaryDirectory() as folder:
        launch = json.loads(_python(LAUNCH, kernels / "vadd.mlir", folder))
    return {"first call, ms": first, "cached call, ms": cached, "launch, us": launch}


def _python(script: str, path: Path, folder: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "TILERY_CACHE_DIR": os.path.join(folder, "cache")}
    env = {name: value for name, value in env.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout
