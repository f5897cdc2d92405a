"""`tilery cutile`: show the Tile IR of a cuTile kernel, and run cuTile programs without a GPU."""

from __future__ import annotations

import argparse
from typing import Any

from ...diag import TileError
from ..files import CommandFailed, write_output
from ..options import Verbs
from ..scripts import add_run, add_script, describe, run_checked, run_to_end
from .gpu.tune import add_search

SHOW = ["cutile show add.py::add --sig 'f32[1024], f32[1024], f32[1024], 16'", "cutile show ... -o add.tileirbc"]
RUN = [
    "cutile run script.py",
    "cutile run --sanitize all script.py",
    "cutile run --record launches script.py --size 64",
]
TUNE = ["cutile tune script.py", "cutile tune --engine tileiras --budget 2m script.py"]


def add(verbs: Verbs) -> None:
    inner = verbs.add_group("cutile", "Show, run and debug cuTile kernels (pip cuda-tile) without a GPU.")
    sub = inner.add("show", show, SHOW)
    sub.add_argument("kernel", metavar="FILE.py::KERNEL", help="a file, which is imported, and a kernel in it")
    sub.add_argument("--sig", default="", metavar="ARGS", help="the arguments of the launch; f32[64, 128] is an array")
    sub.add_argument("--plain", action="store_true", help="leave out the lines of Python")
    sub.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="the output file; bytecode if its name ends in .tileirbc"
    )
    sub.add_argument("--bytecode-version", metavar="X.Y", help="default: the latest that this cuTile writes")
    sub.add_argument(
        "--gpu", default="sm_100", metavar="NAME", help="the GPU whose hints are used; default: %(default)s"
    )

    sub = inner.add("run", run, RUN)
    sub.add_argument("--triton", action="store_true", help="run the script's kernels in Triton, too")
    add_run(sub, "10.0")

    sub = inner.add("tune", tune, TUNE)
    add_search(sub)
    add_script(sub)


def show(args: argparse.Namespace) -> int:
    """Show the Tile IR of a kernel, with the lines of Python that it comes from as comments."""
    from ... import load
    from ... import show as plain
    from ...cutile.modules import bytecode, find_kernel
    from ...cutile.session import on
    from ...cutile.signatures import parse_signature
    from ...source.lines import annotate

    try:
        values = parse_signature(args.sig)
    except TileError as error:
        raise CommandFailed(f"--sig: {error}") from None
    try:
        with on("none"):
            data = bytecode(find_kernel(args.kernel), values, version=args.bytecode_version, gpu=args.gpu)
    except TileError:
        raise
    except Exception as error:  # from the file, or from cuTile's frontend, which says where
        raise TileError(describe(error)) from None
    if args.output.endswith(".tileirbc"):
        write_output(args.output, data)
    else:
        module = load(data)
        write_output(args.output, plain(module) if args.plain else annotate(module))
    return 0


def run(args: argparse.Namespace) -> int:
    """Run a Python script with its cuTile kernels on an engine. Its cuda tensors are on the CPU."""
    return run_checked("cutile", args, also=["triton"] if args.triton else [])


def tune(args: argparse.Namespace) -> int:
    """Run a script on this machine's GPU, tune each kernel that it launches, and print the hints for its source."""
    from ...engines.common.cutile_abi import function_name
    from ...tuner.show import source_hints, table

    def tell(entry: str, result: Any) -> None:
        name = function_name(entry)
        if isinstance(result, TileError):
            write_output("-", f"{name}: not tuned{result.message.partition('cannot be tuned')[2]}\n\n")
        else:
            write_output("-", f"{name}, {result.shapes}\n{table(result)}for the source:\n{source_hints(result)}\n\n")

    found = {"engine": args.engine, "budget": args.budget, "full": args.full, "tell": tell}
    return run_to_end("cutile", args, {"engine": "gpu", "tune": found})
