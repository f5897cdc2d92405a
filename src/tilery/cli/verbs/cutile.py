"""`tilery cutile`: show the Tile IR of a cuTile kernel, and run cuTile programs without a GPU."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ...diag import TileError
from ...engines.registry import DEFAULT, ENGINES
from ..files import Stop, write_output
from ..options import Verbs
from ..output import as_json, write_error
from ..sanitizing import add_sanitize, make_sanitizer, report_facts, show_reports
from ..tracing import add_trace, wants_trace
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
    engines = [*ENGINES, "none"]
    sub.add_argument("--engine", default=DEFAULT, choices=engines, help="`none` compiles only; default: %(default)s")
    sub.add_argument("--exact", action="store_true", help="the reference engine's bits, from engines that have them")
    sub.add_argument("--record", metavar="DIR", help="save every launch in a file, for `tilery run --recorded FILE`")
    sub.add_argument("--seconds", type=float, metavar="N", help="stop a launch that takes longer, and show where")
    sub.add_argument(
        "--capability", type=capability, default=(10, 0), metavar="X.Y", help="the compute capability; default: 10.0"
    )
    add_sanitize(sub)
    add_trace(sub)
    add_script(sub)

    sub = inner.add("tune", tune, TUNE)
    add_search(sub)
    add_script(sub)


def add_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="its arguments")


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
    options = {"engine": args.engine, "exact": args.exact, "capability": args.capability, "seconds": args.seconds}
    if args.record:
        options["record"] = args.record
    if (sanitizer := make_sanitizer(args)) is not None:
        options["sanitize"] = sanitizer
    if wants_trace(args):
        options["engine"], options["sanitize"] = traced(args, sanitizer), None
    try:
        status = run_to_end(args, options)
    except TileError as error:
        error.facts |= report_facts(sanitizer)
        show_reports(sanitizer, None, args)
        raise
    if sanitizer is not None and args.json:
        write_error(as_json(report_facts(sanitizer), indent=None))  # stdout belongs to the script
    return show_reports(sanitizer, None, args) or status


def traced(args: argparse.Namespace, sanitizer: Any) -> Any:
    """Return an engine that observes each launch as the options ask for."""
    from ...engines.common.limits import Limits
    from ...engines.registry import compile_kernel
    from ...observe.arrays import extent_arguments
    from ..tracing import Tracing

    tracing = Tracing(args)

    def execute(call: Any) -> None:
        kernel = compile_kernel(call.module, call.entry, engine=DEFAULT)
        arrays = extent_arguments(kernel.params, call.values, call.memory)
        options = {"buffers": call.memory, "names": call.names, "limits": Limits(seconds=call.seconds)}
        observers = tracing.observers(kernel, call.grid, arrays)
        kernel.launch(call.grid, call.values, sanitize=sanitizer, observe=observers, **options)
        tracing.finish(kernel, call.grid)

    return execute


def run_to_end(args: argparse.Namespace, options: dict[str, object]) -> int:
    """Run the script of the command line; return its exit status."""
    from ...programs.scripts import run_script

    if not os.path.exists(args.script):
        raise Stop(f"cannot read '{args.script}': no such file or directory")
    try:
        run_script("cutile", args.script, args.arguments, **options)
    except SystemExit as stop:
        return exit_status(stop)
    except TileError as error:
        from ...programs.frames import user_calls

        error.notes += user_calls(error)
        raise
    except Exception as error:  # raised by the script: shown as the interpreter does
        from ...programs.frames import user_traceback

        write_error(user_traceback(error))
        return 1
    return 0


def tune(args: argparse.Namespace) -> int:
    """Run a script on this machine's GPU, tune each kernel that it launches, and print the hints for its source."""
    from ...tuner.show import source_hints, table

    def tell(entry: str, result: Any) -> None:
        name = entry.split("_Kt")[0]
        if isinstance(result, TileError):
            write_output("-", f"{name}: not tuned{result.message.partition('cannot be tuned')[2]}\n\n")
        else:
            write_output("-", f"{name}, {result.shapes}\n{table(result)}for the source:\n{source_hints(result)}\n\n")

    found = {"engine": args.engine, "budget": args.budget, "full": args.full, "tell": tell}
    return run_to_end(args, {"engine": "gpu", "tune": found})


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
    write_error(f"{stop.code}\n")
    return 1


def describe(error: Exception) -> str:
    """Return the last lines of a traceback."""
    import traceback

    return "".join(traceback.format_exception_only(error)).strip()
