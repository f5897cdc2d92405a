"""`tilery run`: launch a kernel on arguments from the command line, then print and save them."""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...diag import TileError
from ...engines.registry import AUTO, DEFAULT, ENGINES, exactly
from ..files import CommandFailed, in_file, is_recorded, open_text, usage_error, write_output
from ..options import Verbs, add_spelling, at_least
from ..output import as_json, kernel_output, write_error
from ..sanitizing import add_sanitize, make_sanitizer, report_facts, show_reports
from ..tracing import add_trace, wants_trace

if TYPE_CHECKING:
    from ...ops import Module
    from ...sanitize import Sanitizer
    from ...source.input import Input
    from ..arguments import ArgumentSpec
    from ..timing import Timing

EXAMPLES = [
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg b=@b.npy --arg out=zeros:f32:4096 --print out",
    "run k.tileirbc --entry k --grid 4,2 --arg x=randn:bf16:64x64 --arg n=i32:64 --save x=x.npy --stats",
    "run --recorded launch.zip --stats",
    "run add.mlir --engine cpu --repeat 20 --grid 4096 --arg rand:f32:524288 --arg zeros:f32:524288",
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg out=uninit:f32:4096 --sanitize all",
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg out=zeros:f32:4096 --watch 'out[17]' --watch %sum",
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg out=zeros:f32:4096 --trace chrome --trace-to trace.json",
    "run sum.mlir --grid 64 --arg zeros:f32:64 --arg zeros:i32:1 --sanitize race --schedules 100",
]
SPEC = """\
An argument is NAME=SPEC or SPEC; names only label arguments, which are positional. SPEC is
  @FILE.npy          an array from a file
  KIND:TYPE:SHAPE    a new array: KIND is zeros, ones, arange, rand (0 to 1; integers: any bits), randn, uninit
                     (all bits set; never written, for --sanitize uninit) or output (the same, and the launch must
                     write every element, for --sanitize unwritten),
                     TYPE an element type such as f32, bf16 or i8, SHAPE such as 1024 or 64x64
  TYPE:VALUE         a scalar, such as i32:1024 or f32:0.5
  VALUE              a scalar of the parameter's type
Elements of four bits are packed two to a byte, also in files.
"""


def add_convention(sub: argparse.ArgumentParser) -> None:
    said = "how arrays are passed: by cutile as pointer, shape and strides; default: as pointers"
    sub.add_argument("--convention", choices=["cutile"], help=said)


def add(verbs: Verbs) -> None:
    sub = verbs.add("run", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode, text or a recorded launch")
    add_spelling(sub)
    add_convention(sub)
    sub.add_argument("--recorded", metavar="FILE", help="a recorded launch, instead of FILE and arguments")
    add_launch(sub)


def add_launch(sub: argparse.ArgumentParser) -> None:
    """Add the options of a launch: what to run, on what, with which limits, and what to show of it."""
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    engines = [*ENGINES, AUTO]
    sub.add_argument("--engine", choices=engines, default=DEFAULT, help="what executes it; default: %(default)s")
    sub.add_argument("--exact", action="store_true", help="the reference engine's bits, from engines that have them")
    sub.add_argument("--poison", action="store_true", help="floats that a load leaves undefined are NaN, not 0")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    sub.add_argument("--print", action="append", default=[], metavar="NAME", help="print an argument afterwards")
    sub.add_argument("--save", action="append", default=[], metavar="NAME=FILE", help="save an argument afterwards")
    seed, count = at_least(int, 0), at_least(int, 1)
    purposes = "for rand, randn and --schedule random, and the first of --schedules; default: 0"
    sub.add_argument("--seed", type=seed, default=0, metavar="N", help=purposes)
    add_sanitize(sub)
    add_trace(sub)
    repeated = "launch once, then N times on the same inputs, and print times, GB/s and GFLOP/s to stderr"
    sub.add_argument("--repeat", type=count, metavar="N", help=repeated)
    sub.add_argument("--stats", action="store_true", help="print statistics of the launch to stderr")
    sub.add_argument("--threads", type=count, metavar="N", help="default: as many as the engine likes")
    sub.add_argument("--batch", type=count, metavar="N", help="tile blocks that run at once; default: by their size")
    sub.add_argument("--max-steps", type=count, metavar="N", help="stop after N operations on batches")
    sub.add_argument("--max-seconds", type=at_least(float, 0), metavar="S", help="stop after S seconds")
    sub.add_argument(
        "--max-memory",
        type=count,
        default=8 << 30,
        metavar="BYTES",
        help="the most memory held at once; default: %(default)s",
    )


def run(args: argparse.Namespace) -> int:
    """Run a kernel on the CPU and show its arguments afterwards."""
    from ...verifier.explain import read_legal

    if (args.file is None) == (args.recorded is None):
        raise CommandFailed("run needs a FILE or --recorded")
    if args.recorded is None and args.file != "-" and is_recorded(args.file):
        args.recorded = args.file
    if args.recorded is not None:
        return replay(args)
    source = open_text(args.file, args)
    module = read_legal(source)
    if source.is_text and wants_trace(args):
        from ...source.positions import keep_source

        keep_source(module, open_text(args.file, args))
    return run_module(module, args, source)


def check_repeat(args: argparse.Namespace) -> None:
    """Refuse to time launches that Python looks at."""
    for option in ("sanitize", "schedules"):
        if args.repeat and getattr(args, option):
            raise CommandFailed(f"--repeat measures plain launches: it contradicts --{option}")
    if args.repeat and wants_trace(args):
        raise CommandFailed("--repeat measures plain launches: it contradicts --trace, --watch and --picture")


def run_module(module: Module, args: argparse.Namespace, source: Input | None) -> int:
    """Run a kernel of a module; `source` is the input it was read from, whose lines errors show."""
    from ...source.positions import places_from
    from ..arguments import find, make_arguments, split_save

    grid = parse_grid(args.grid or "1")
    arguments = make_arguments(args.arg, args.seed)
    saved = [split_save(text, arguments) for text in args.save]
    shown = [find(arguments, name, "--print") for name in args.print]
    sanitizer = make_sanitizer(args, arguments)
    try:
        with in_file(args.file), places_from(source):
            facts = launch(module, grid, arguments, args, sanitizer)
    except TileError as error:
        error.facts |= report_facts(sanitizer, source)
        raise
    finally:
        status = show_reports(sanitizer, source, args)
    show_arguments(facts | report_facts(sanitizer, source), shown, saved, args)
    return status


def launch(
    module: Any, grid: list[int], arguments: list[ArgumentSpec], args: argparse.Namespace, sanitizer: Sanitizer | None
) -> dict[str, object]:
    from ... import compile
    from ...ir import Refused
    from ..arguments import check_types

    values = [argument.value for argument in arguments]
    names = [argument.name for argument in arguments]
    try:
        kernel = compile(module, args.entry, engine=args.engine, poison=args.poison, **exactly(args.engine, args.exact))
        check_types(arguments, kernel.params, args.convention)
        return execute(kernel, grid, values, args, sanitizer, names=names, convention=args.convention)
    except Refused:
        raise
    except TileError as error:  # it names no operation, so the arguments are wrong
        raise usage_error(error) from None


def execute(
    kernel: Any, grid: Any, values: list[Any], args: argparse.Namespace, sanitizer: Sanitizer | None, **options: Any
) -> dict[str, object]:
    """Launch with the limits of the command line and a progress bar."""
    from math import prod

    from ...engines.common.limits import Limits
    from ..progress import progress

    check_repeat(args)
    limits = Limits(args.max_steps, args.max_seconds, args.max_memory)
    printed: list[str] = []
    options = {"buffers": (), **options, **kernel_output(printed if args.json else None)}
    if sanitizer is not None:
        options["sanitize"] = sanitizer
    tracing = observe(kernel, grid, values, args, options)
    runs = 1 + (args.schedules or args.repeat or 0)
    timing: Timing | None = None
    with progress(prod(grid) * runs, "tile blocks") as step:

        def start() -> Any:
            return kernel.launch(
                grid, values, batch=args.batch, threads=args.threads, limits=limits, progress=step, **options
            )

        try:
            if args.repeat:
                stats, timing = timed(kernel, start, grid, values, args.repeat, options)
            else:
                stats = start() if runs == 1 else explored(start, values, args, sanitizer)
        except TileError as error:
            error.facts["printed"] = "".join(printed)
            raise
    if tracing is not None:
        tracing.finish(kernel, grid)
    facts = stats.known()
    variant, origin = getattr(kernel, "choice", None) or (None, "")
    if (args.engine == AUTO or variant is not None) and not args.json:
        chosen = "" if variant is None else f", {variant.label} ({origin})"
        write_error(f"engine: {kernel.engine}{chosen}\n")
    if args.stats:
        width = max(map(len, facts))
        shown = {name: "not counted" if value is None else f"{value:,}" for name, value in facts.items()}
        lines = [f"{name.replace('_', ' '):{width}} {value:>16}" for name, value in shown.items()]
        write_error("\n".join(lines) + "\n")
    if timing is not None and not args.json:
        write_error(f"{timing}\n")
    found: dict[str, object] = {} if timing is None else {"repeat": timing.as_dict()}
    found |= {} if variant is None else {"variant": {**variant.as_dict(), "origin": origin}}
    return {"engine": kernel.engine, "stats": facts, "printed": "".join(printed), **found}


def timed(
    kernel: Any, start: Callable[[], Any], grid: Any, values: list[Any], count: int, options: dict[str, Any]
) -> tuple[Any, Timing]:
    """Launch again and again; return the statistics of the last launch, and the times."""
    import numpy as np

    from ...engines.common.arguments import bind
    from ..timing import Timing, repeat, work

    arrays = [value for value in values if isinstance(value, np.ndarray) and value.flags.writeable]
    arrays += [np.ctypeslib.as_array((ctypes.c_uint8 * m.size).from_address(m.address)) for m in options["buffers"]]
    stats, times, clock = repeat(start, arrays, count)
    passing = {"convention": options.get("convention"), "buffers": options["buffers"]}
    flops, amount = work(kernel, grid, bind(kernel.entry, values, **passing).slots, stats)
    return stats, Timing(times, clock, flops, amount)


def observe(kernel: Any, grid: Any, values: list[Any], args: argparse.Namespace, options: dict[str, Any]) -> Any:
    """Add the observers that the options of the command line ask for to those of a launch."""
    if not wants_trace(args):
        return None
    from ...observe.arrays import array_arguments
    from ..tracing import Tracing

    tracing = Tracing(args)
    arrays = array_arguments(kernel.params, values, options.get("names", ()), options.get("convention"))
    options["observe"] = tracing.observers(kernel, grid, arrays)
    return tracing


def explored(start: Callable[[], Any], values: list[Any], args: argparse.Namespace, sanitizer: Any) -> Any:
    """Launch in random schedules, then in the engine's own."""
    import numpy as np

    from ...sanitize.schedule import explore

    arrays = [value for value in values if isinstance(value, np.ndarray) and value.flags.writeable]
    first = args.seed if sanitizer.schedule is None else sanitizer.schedule
    return explore(start, sanitizer, arrays, args.schedules, seed=first)


def replay(args: argparse.Namespace) -> int:
    """Run a recorded launch."""
    from ... import compile, load
    from ..arguments import find, split_save
    from ..recorded import arguments_of, extents_of, open_recorded

    if args.arg or args.entry or args.grid or args.convention:
        raise CommandFailed("a recorded launch has its own kernel, grid and arguments")
    with in_file(args.recorded):
        recorded = open_recorded(args.recorded, args.max_memory)
        module = load(recorded.bytecode)
        placed = recorded.place()
        kernel = compile(
            module, recorded.entry, engine=args.engine, poison=args.poison, **exactly(args.engine, args.exact)
        )
        arguments = arguments_of(recorded, module.entry(recorded.entry), placed)
        saved = [split_save(text, arguments) for text in args.save]
        shown = [find(arguments, name, "--print") for name in args.print]
        sanitizer = make_sanitizer(args)
        options = {"buffers": extents_of(recorded, placed), "names": recorded.names}
        try:
            facts = execute(kernel, recorded.grid, placed.arguments, args, sanitizer, **options)
        except TileError as error:
            error.facts |= report_facts(sanitizer)
            raise
        finally:
            status = show_reports(sanitizer, None, args)
    show_arguments(facts | report_facts(sanitizer), shown, saved, args)
    return status


def show_arguments(
    facts: dict[str, object], shown: list[ArgumentSpec], saved: list[tuple[ArgumentSpec, str]], args: argparse.Namespace
) -> None:
    """Print and save arguments after a launch."""
    from ..arguments import as_data, as_text, save

    if args.json:
        write_output("-", as_json({**facts, "arguments": {a.name: as_data(a) for a in shown}}))
    for argument in [] if args.json else shown:
        write_output("-", f"{argument.name} = {as_text(argument)}\n")
    for argument, file in saved:
        save(argument, file)


def parse_grid(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise CommandFailed(f"--grid: expected X, X,Y or X,Y,Z, got '{text}'") from None
