"""`tilery cutile`: show the Tile IR of a cuTile kernel, and run cuTile programs without a GPU."""

from __future__ import annotations

import argparse
import os
import sys

from ...diag import TileError
from ...engines.registry import DEFAULT, ENGINES
from ..files import Stop, write_output
from ..options import Verbs
from ..sanitizing import add_sanitize, make_sanitizer, show_reports

SHOW = ["cutile show add.py::add --sig 'f32[1024], f32[1024], f32[1024], 16'", "cutile show ... -o add.tileirbc"]
RUN = [
    "cutile run script.py",
    "cutile run --sanitize all script.py",
    "cutile run --record launches script.py --size 64",
]


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
    engines = [*ENGINES, "none"]
    sub.add_argument("--engine", default=DEFAULT, choices=engines, help="`none` compiles only; default: %(default)s")
    sub.add_argument("--record", metavar="DIR", help="save every launch in a file, for `tilery run --recorded FILE`")
    sub.add_argument("--seconds", type=float, metavar="N", help="stop a launch that takes longer, and show where")
    sub.add_argument(
        "--capability", type=capability, default=(10, 0), metavar="X.Y", help="the compute capability; default: 10.0"
    )
    add_sanitize(sub)
    sub.add_argument("script", metavar="SCRIPT", help="a Python file")
    sub.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="its arguments")


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
        raise Stop(f"--sig: {error}") from None
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
    from ...cutile.scripts import run_script

    options = {"engine": args.engine, "capability": args.capability, "seconds": args.seconds}
    if args.record:
        options["record"] = args.record
    if (sanitizer := make_sanitizer(args)) is not None:
        options["sanitize"] = sanitizer
    if not os.path.exists(args.script):
        raise Stop(f"cannot read '{args.script}': no such file or directory")
    status = 0
    try:
        run_script(args.script, args.arguments, **options)
    except SystemExit as stop:
        status = exit_status(stop)
    except TileError:
        show_reports(sanitizer, None, args)
        raise
    except Exception:  # raised by the script: shown as the interpreter does
        import traceback

        traceback.print_exc()
        status = 1
    return show_reports(sanitizer, None, args) or status


def capability(text: str) -> tuple[int, int]:
    """Parse a compute capability, X.Y."""
    major, _, minor = text.partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a capability such as 10.0, got '{text}'")
    return int(major), int(minor)


def exit_status(stop: SystemExit) -> int:
    """Return the exit status that the interpreter derives from SystemExit."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    sys.stderr.write(f"{stop.code}\n")
    return 1


def describe(error: Exception) -> str:
    """Return the last lines of a traceback."""
    import traceback

    return "".join(traceback.format_exception_only(error)).strip()
