"""Measure the cost of a call besides its work: a first one, one of another kernel, a cached one, one of almost nothing.

    python bench/cold.py [--only vadd] [--rounds 10] [--against /path/to/another/checkout/src]

With `--against`, processes of this checkout and of the other one take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
KERNELS = Path(__file__).resolve().parent / "kernels"
FIRST, ANOTHER, CACHED, LLVM = "first call, ms", "another kernel, ms", "cached call, ms", "LLVM itself, ms"
CALLS = """
import json, sys, time
import numpy, tilery, llvmlite.binding
import tilery.engines.registry, tilery.engines.cpu.launch, tilery.verifier.explain, tilery.text.parse.parser
modules = [tilery.parse(open(path).read()) for path in sys.argv[1:]]
taken = []
for module in modules:
    start = time.perf_counter()
    kernel = tilery.compile(module, engine="cpu")
    taken.append((time.perf_counter() - start) * 1e3)
print(json.dumps(taken))
"""
COMPILE = """
import json, sys, time
import tilery
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import compile_texts, host
compile_texts(["define void @k() {\\n ret void\\n}"], host())
taken = []
for path in sys.argv[1:]:
    module = tilery.parse(open(path).read())
    text = lower_kernel(module, module.entries[0], False, host()).text
    start = time.perf_counter()
    compile_texts([text], host())
    taken.append((time.perf_counter() - start) * 1e3)
print(json.dumps(taken))
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
    """Return milliseconds of first, later and cached calls by kernel, and microseconds of launches."""
    (calls,) = take_turns(kernels, only, [SOURCE], rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        launch = json.loads(_python(LAUNCH, [kernels / "vadd.mlir"], folder, SOURCE))
    return {**calls, "launch, us": launch}


def take_turns(
    kernels: Path, only: list[str] | None, sources: list[Path], rounds: int
) -> list[dict[str, dict[str, float]]]:
    """Return the best times of each source. Every process compiles a kernel, and then the next one of the folder."""
    found: list[dict[str, dict[str, float]]] = [{FIRST: {}, ANOTHER: {}, CACHED: {}, LLVM: {}} for _ in sources]
    paths = sorted(kernels.glob("*.mlir"))
    pairs = [(a, b) for a, b in zip(paths, paths[1:] + paths) if not only or a.stem in only or b.stem in only]
    for _ in range(rounds):
        for pair in pairs:
            for source, best in zip(sources, found):
                with tempfile.TemporaryDirectory() as folder:
                    times = json.loads(_python(CALLS, pair, folder, source))
                    _keep(best[FIRST], pair[0], times[0])
                    _keep(best[ANOTHER], pair[1], times[1])
                    for _ in range(2):
                        _keep(best[CACHED], pair[0], json.loads(_python(CALLS, pair[:1], folder, source))[0])
        for source, best in zip(sources, found):
            with tempfile.TemporaryDirectory() as folder:
                chosen = sorted({path for pair in pairs for path in pair})
                for path, taken in zip(chosen, json.loads(_python(COMPILE, chosen, folder, source))):
                    _keep(best[LLVM], path, taken)
    for best in found:
        for row in best.values():
            for name in [name for name in row if only and name not in only]:
                del row[name]
    return found


def _keep(best: dict[str, float], path: Path, taken: float) -> None:
    best[path.stem] = min(taken, best.get(path.stem, taken))


def _python(script: str, paths: Sequence[Path], folder: str, source: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(source), "TILERY_CACHE_DIR": os.path.join(folder, "cache")}
    env = {name: value for name, value in env.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="SRC", action="append", default=[])
    args = parser.parse_args()
    sources = [SOURCE, *args.against]
    for source, best in zip(sources, take_turns(KERNELS, args.only, sources, args.rounds)):
        print(source)
        for name, row in best.items():
            print(f"  {name:20}", ", ".join(f"{kernel} {taken:.1f}" for kernel, taken in row.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
