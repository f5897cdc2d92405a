"""CPU time of `tilery dis` on a small file, of this checkout against another one, alternating.

python bench/startup.py ../other/src --runs 40
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
KERNELS = ("vadd", "gelu")
"""A kernel without float constants, and one with."""


def seconds(source: Path, file: Path) -> float:
    """Return the processor time, user and system, of one process."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": str(source)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tilery", "dis", str(file)], env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder `src` of another checkout")
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = {"this": Path(folder, "this"), "other": Path(folder, "other")}
        for name, source in (("this", ROOT / "src"), ("other", args.other)):
            shutil.copytree(source, sources[name])
            compileall.compile_dir(sources[name], quiet=2)
        optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
        print(f"CPython {sys.version.split()[0]}, built {'with' if optimised else 'without'} --enable-optimizations")
        for kernel in KERNELS:
            file = Path(folder, f"{kernel}.tileirbc")
            command = [
                sys.executable,
                "-m",
                "tilery",
                "asm",
                str(ROOT / f"bench/kernels/{kernel}.mlir"),
                "-o",
                str(file),
            ]
            subprocess.run(command, env={**os.environ, "PYTHONPATH": str(sources["this"])}, check=True)
            times: dict[str, list[float]] = {name: [] for name in sources}
            for _ in range(args.runs):
                for name, source in sources.items():
                    times[name].append(seconds(source, file))
            middle = {name: statistics.median(found) for name, found in times.items()}
            least = {name: min(found) for name, found in times.items()}
            print(
                f"{kernel}: median {1000 * middle['this']:.1f} ms against {1000 * middle['other']:.1f} ms, "
                f"ratio {middle['this'] / middle['other']:.2f}; least {1000 * least['this']:.1f} ms against "
                f"{1000 * least['other']:.1f} ms, ratio {least['this'] / least['other']:.2f}"
            )


if __name__ == "__main__":
    main()
