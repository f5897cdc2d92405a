"""`tilery run`: launch a kernel on arguments made from the command line, print and save what it leaves in them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .cli_files import Stop, read_input, reason, write_output

if TYPE_CHECKING:
    from .cli_arguments import Argument
    from .cli_options import Verbs

EXAMPLES = [
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg b=@b.npy --arg out=zeros:f32:4096 --print out",
    "run k.tileirbc --entry k --grid 4,2 --arg x=randn:bf16:64x64 --arg n=i32:64 --save x=x.npy --stats",
    "run --recorded launch.zip --stats",
]
SPEC = """\
An argument is NAME=SPEC or SPEC; names only label arguments, which are positional. SPEC is
  @FILE.npy          an array from a file
  KIND:TYPE:SHAPE    a new array: KIND is zeros, ones, arange, rand (0 to 1; integers: any bits) or randn,
                     TYPE an element type such as f32, bf16 or i8, SHAPE such as 1024 or 64x64
  TYPE:VALUE         a scalar, such as i32:1024 or f32:0.5
With --convention cutile an array stands for its pointer, shape and strides, as cuTile passes it.
"""


def add_verbs(verbs: Verbs) -> None:
    sub = verbs.add("run", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode or text")
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", default="1", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    sub.add_argument("--convention", choices=["cutile"], help="how arrays are passed; default: as their pointers")
    sub.add_argument("--recorded", metavar="FILE", help="a launch that was recorded, instead of FILE and arguments")
    sub.add_argument("--print", action="append", default=[], metavar="NAME", help="print an argument afterwards")
    sub.add_argument("--save", action="append", default=[], metavar="NAME=FILE", help="save an argument afterwards")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="for rand and randn; default: 0")
    sub.add_argument("--stats", action="store_true", help="print what was executed, to stderr")
    sub.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    sub.add_argument("--batch", type=int, metavar="N", help="tile blocks that run at once; default: by their size")
    sub.add_argument("--max-steps", type=int, metavar="N", help="stop after so many operations on batches")
    sub.add_argument("--max-seconds", type=float, metavar="S", help="stop after so many seconds")
    sub.add_argument("--max-memory", type=int, default=8 << 30, metavar="BYTES", help="held at once")


def run(args: argparse.Namespace) -> int:
    """Run a kernel on the CPU and show what it leaves in its arguments."""
    if (args.file is None) == (args.recorded is None):
        raise Stop("run needs a FILE or --recorded")
    if args.recorded is not None:
        return replay(args)
    from .cli import as_json, module_of, place
    from .cli_arguments import as_data, as_text, find, make_arguments, save, split_save

    data = read_input(args.file)
    module = module_of(data, args.file)
    grid = parse_grid(args.grid)
    arguments = make_arguments(args.arg, args.seed)
    saved = [split_save(text, arguments) for text in args.save]
    shown = [find(arguments, name, "--print") for name in args.print]
    with place(args.file), placed_in(module, data):
        stats = launch(module, grid, arguments, args)
    if args.json:
        facts: dict[str, object] = {"stats": stats, "arguments": {a.name: as_data(a) for a in shown}}
        write_output("-", as_json(facts))
    for argument in [] if args.json else shown:
        write_output("-", f"{argument.name} = {as_text(argument)}\n")
    for argument, file in saved:
        save(argument, file)
    return 0


@contextmanager
def placed_in(module: Any, data: bytes) -> Iterator[None]:
    """Show the operation at fault in the file that it is from."""
    from .exec.machine import ExecutionError

    try:
        yield
    except ExecutionError as error:
        from .check import explain
        from .verifier import Finding

        raise explain(module, [Finding(error.op, error.message, notes=tuple(error.notes[:1]))], data)[0] from None


def launch(module: Any, grid: list[int], arguments: list[Argument], args: argparse.Namespace) -> dict[str, object]:
    from . import compile

    kernel = compile(module, args.entry)
    values = [argument.value for argument in arguments]
    names = [argument.name for argument in arguments]
    return execute(kernel, grid, values, args, names=names, convention=args.convention)


def execute(kernel: Any, grid: Any, values: list[Any], args: argparse.Namespace, **options: Any) -> dict[str, object]:
    """Launch with the limits and the progress bar that the command line asks for."""
    from dataclasses import asdict
    from math import prod

    from .exec.machine import Limits
    from .progress import progress

    limits = Limits(args.max_steps, args.max_seconds, args.max_memory)
    with progress(prod(grid), "tile blocks") as step:
        stats = kernel.launch(
            grid, values, batch=args.batch, threads=args.threads, limits=limits, progress=step, **options
        )
    facts = asdict(stats)
    if args.stats:
        width = max(map(len, facts))
        lines = [f"{name.replace('_', ' '):{width}} {value:>16,}" for name, value in facts.items()]
        sys.stderr.write("\n".join(lines) + "\n")
    return facts


def replay(args: argparse.Namespace) -> int:
    from .cli import as_json, place
    from .exec.record import load

    if args.arg or args.entry or args.print or args.save:
        raise Stop("a recorded launch has its own kernel and arguments")
    with place(args.recorded):
        try:
            recorded = load(args.recorded)
        except OSError as error:
            raise Stop(f"cannot read '{args.recorded}': {reason(error)}") from None
        from . import compile
        from . import load as load_module

        placed = recorded.place()
        kernel = compile(load_module(recorded.bytecode), recorded.entry)
        stats = execute(kernel, recorded.grid, placed.arguments, args, buffers=placed.buffers)
    if args.json:
        write_output("-", as_json({"stats": stats}))
    return 0


def parse_grid(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise Stop(f"--grid: expected X, X,Y or X,Y,Z, got '{text}'") from None
