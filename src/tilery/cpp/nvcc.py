"""A stand-in for `nvcc` that compiles CUDA Tile C++ to Tile IR: `python -m tilery.cpp.nvcc -tilecubin -o OUT FILE.cu`.

The stand-ins for `cuda.core` and the driver load what it writes. Anything that is not tile code needs the real one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..diag import TileError
from .compiler import build

TILE_OUTPUTS = ("tilecubin", "tilebc", "tilefatbin")
IGNORED = ("--tile-only", "-tile-only", "--enable-tile", "-enable-tile", "-lineinfo", "-O0", "-O1", "-O2", "-O3", "-w")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options that matter; nvcc spells long options with one dash or two."""
    parser = argparse.ArgumentParser(prog="nvcc", allow_abbrev=False, add_help=False)
    for name in TILE_OUTPUTS:
        parser.add_argument(f"-{name}", f"--{name}", dest="tile", action="store_true")
    parser.add_argument("-V", "--version", action="store_true")
    parser.add_argument("-o", "--output-file", default="")
    parser.add_argument("-arch", "--gpu-architecture", dest="arch", default="sm_100")
    parser.add_argument("-std", "--std", default="c++20")
    parser.add_argument("-I", "--include-path", action="append", default=[])
    parser.add_argument("-D", "--define-macro", action="append", default=[])
    parser.add_argument("file", nargs="?")
    return parser.parse_args([each for each in arguments if each not in IGNORED])


def main(arguments: Sequence[str]) -> int:
    args = parse(arguments)
    if args.version:
        sys.stdout.write(f"nvcc: tilery's stand-in\nCuda compilation tools, release {release()}\n")
        return 0
    if not args.tile or not args.file:
        sys.stderr.write("nvcc fatal: this is tilery's stand-in, which compiles tile code only (-tilecubin FILE.cu)\n")
        return 1
    try:
        made = build(Path(args.file), include=args.include_path, define=args.define_macro, gpu=args.arch, std=args.std)
    except (TileError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    target = Path(args.output_file or Path(args.file).with_suffix(".cubin").name)
    temporary = target.with_name(f"{target.name}.{os.getpid()}")
    temporary.write_bytes(made.bytecode)
    temporary.replace(target)
    return 0


def release() -> str:
    """Return the release of NVRTC as nvcc spells it.

    >>> release().split(", V")[1].startswith("13.")
    True
    """
    try:
        found = version("nvidia-cuda-nvrtc")
    except PackageNotFoundError:
        found = "13.4.0"
    return f"{'.'.join(found.split('.')[:2])}, V{found}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
