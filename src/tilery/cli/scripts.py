"""Python scripts whose kernels run on an engine, as `tilery cutile run` and `tilery triton run` take them."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..diag import TileError
from ..engines.registry import AUTO, DEFAULT, ENGINES
from .files import CommandFailed
from .options import at_least
from .output import as_json, write_error
from .sanitizing import add_sanitize, add_selection, make_sanitizer, report_facts, show_reports
from .tracing import Tracing, add_trace, wants_trace


def add_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", metavar="ARG", nargs=argparse.REMAINDER, help="its arguments")


def add_run(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the script and the options of a run; `default` is the compute capability of the device."""
    engines = [*ENGINES, AUTO, "none"]
    parser.add_argument("--engine", default=DEFAULT, choices=engines, help="`none` compiles only; default: %(default)s")
    parser.add_argument("--exact", action="store_true", help="the reference engine's bits, from engines that have them")
    parser.add_argument("--record", metavar="DIR", help="save every launch in a file, for `tilery run --recorded FILE`")
    parser.add_argument("--seconds", type=float, metavar="N", help="stop a launch that takes longer, and show where")
    limit = at_least(float, 0)
    parser.add_argument("--max-seconds", type=limit, metavar="S", help="stop the script after S seconds")
    memory = "let the script take at most BYTES more memory than an empty one; an allocation beyond fails"
    parser.add_argument("--max-memory", type=at_least(int, 1), metavar="BYTES", help=memory)
    what = f"the compute capability; default: {default}"
    parser.add_argument("--capability", type=capability, default=capability(default), metavar="X.Y", help=what)
    add_sanitize(parser)
    add_selection(parser)
    add_trace(parser)
    add_script(parser)


def run_checked(language: str, args: argparse.Namespace, **more: Any) -> int:
    """Run the script of the command line with the options of `add_run`; show what the checks find.

    `more` are options of `on` that only this language has.
    """
    from ..programs.scripts import script_limits

    options = {"engine": args.engine, "exact": args.exact, "capability": args.capability, "seconds": args.seconds}
    options |= more
    if args.record:
        options["record"] = args.record
    if (sanitizer := make_sanitizer(args)) is not None:
        options["sanitize"] = sanitizer
    if wants_trace(args):
        options["engine"], options["sanitize"] = traced(args, sanitizer), None
    try:
        with script_limits(args.max_seconds, args.max_memory):
            status = run_to_end(language, args, options)
    except TileError as error:
        error.facts |= report_facts(sanitizer)
        show_reports(sanitizer, None, args)
        raise
    if sanitizer is not None and args.json:
        write_error(as_json(report_facts(sanitizer), indent=None))  # stdout belongs to the script
    return show_reports(sanitizer, None, args) or status


def traced(args: argparse.Namespace, sanitizer: Any) -> Any:
    """Return an engine that observes each launch as the options ask for."""
    from ..engines.common.limits import Limits
    from ..engines.registry import compile_kernel
    from ..observe.arrays import extent_arguments
    from ..programs.launches import memory_of

    tracing = Tracing(args)

    def execute(call: Any) -> None:
        kernel = compile_kernel(call.module, call.entry, engine=DEFAULT)
        arrays = extent_arguments(kernel.params, call.values, call.memory)
        options = {"buffers": call.memory, "names": call.names, "limits": Limits(seconds=call.seconds)}
        observers = tracing.observers(kernel, call.grid, arrays)
        if sanitizer is not None and sanitizer.flight is not None:
            sanitizer.flight.prepare(call.stream, call.is_dependent, memory_of(call))
        kernel.launch(call.grid, call.values, sanitize=sanitizer, observe=observers, **options)
        tracing.finish(kernel, call.grid)

    return execute


def run_to_end(language: str, args: argparse.Namespace, options: dict[str, Any]) -> int:
    """Run the script of the command line; return its exit status. `also` among the options is for `run_script`."""
    from ..programs.frames import compile_error, user_calls, user_traceback
    from ..programs.scripts import run_script

    if not os.path.exists(args.script):
        raise CommandFailed(f"cannot read '{args.script}': no such file or directory")
    try:
        run_script(language, args.script, args.arguments, **options)
    except SystemExit as stop:
        return exit_status(stop)
    except TileError as error:
        error.notes += user_calls(error)
        raise
    except Exception as error:
        if (short := compile_error(error)) is not None:
            raise short from None
        # Raised by the script: shown as the interpreter does.
        write_error(user_traceback(error))
        return 1
    return 0


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
