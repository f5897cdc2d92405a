"""`tilery triton`: show the Tile IR of a Triton kernel, check it, and run Triton programs without a GPU."""

from __future__ import annotations

import argparse
from typing import Any

from ....diag import TileError
from ...files import write_output
from ...options import Verbs
from ...output import as_json
from ...scripts import add_run, describe, run_checked
from ..run import SPEC, add_launch, run_module

SIGNATURE = "f32[1000], f32[1000], f32[1000], 1000, 256"
SHOW = [f"triton show add.py::add --sig '{SIGNATURE}'", "triton show ... -o add.tileirbc"]
CHECK = [f"triton check add.py::add --sig '{SIGNATURE}'"]
RUN = [
    "triton run script.py",
    "triton run --sanitize all script.py",
    "triton run --record launches script.py --size 64",
]
LAUNCH = [
    f"triton launch add.py::add --sig '{SIGNATURE}' --grid 4 "
    "--arg x=rand:f32:1000 --arg y=rand:f32:1000 --arg out=zeros:f32:1000 --arg i32:1000 --print out",
]


def add(verbs: Verbs) -> None:
    inner = verbs.add_group("triton", "Show, check, run and debug Triton kernels (pip triton) without a GPU.")
    sub = inner.add("show", show, SHOW)
    add_kernel(sub)
    sub.add_argument("--plain", action="store_true", help="leave out the lines of Python")
    sub.add_argument("--ttir", action="store_true", help="show Triton's own IR instead")
    sub.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="the output file; bytecode if its name ends in .tileirbc"
    )
    add_kernel(inner.add("check", check, CHECK, json_result=True))

    sub = inner.add("launch", launch, LAUNCH, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    add_kernel(sub)
    add_launch(sub)
    sub.set_defaults(convention=None)

    sub = inner.add("run", run, RUN)
    sub.add_argument("--time-configurations", action="store_true", help="let autotuning time all configurations")
    add_strict(sub)
    add_run(sub, "9.0")


def add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py::KERNEL", help="a file, which is imported, and a kernel in it")
    parser.add_argument("--sig", default="", metavar="ARGS", help="the arguments of the launch; f32[1000] is a tensor")
    add_strict(parser)


def add_strict(parser: argparse.ArgumentParser) -> None:
    what = "order the accesses of one program only as a GPU does, so that --sanitize finds those that luck orders"
    parser.add_argument("--strict", action="store_true", help=what)


def compiled(args: argparse.Namespace) -> Any:
    """Compile the kernel of the command line; return Triton's object for it."""
    from ....triton.modules import compiled, find_kernel
    from ....triton.session import on

    try:
        with on("none", strict=args.strict):
            return compiled(find_kernel(args.file), args.sig, strict=args.strict)
    except TileError:
        raise
    except Exception as error:  # from the file, or from Triton's frontend, which says where
        if isinstance(error.__cause__, TileError):
            raise error.__cause__ from None
        raise TileError(describe(error)) from None


def show(args: argparse.Namespace) -> int:
    """Show the Tile IR of a kernel, with the lines of Python that it comes from as comments."""
    from .... import load
    from .... import show as plain
    from ....source.lines import annotate

    made = compiled(args)
    if args.ttir:
        write_output(args.output, made.asm["ttir"])
    elif args.output.endswith(".tileirbc"):
        write_output(args.output, made.asm["tileirbc"])
    else:
        module = load(made.asm["tileirbc"])
        write_output(args.output, plain(module) if args.plain else annotate(module))
    return 0


def check(args: argparse.Namespace) -> int:
    """Compile a kernel and check the Tile IR; list its parameters."""
    from .... import load
    from ....triton.modules import parameter_names

    made = compiled(args)
    entry = load(made.asm["tileirbc"]).entries[0]
    types = [kind.text for kind in entry.function_type.params]
    names = parameter_names(made)
    if args.json:
        parameters = [{"name": name, "type": kind} for name, kind in zip(names, types)]
        write_output("-", as_json({"name": entry.sym_name, "parameters": parameters}))
    else:
        shown = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types))
        write_output("-", f"{entry.sym_name}({shown})\n")
    return 0


def launch(args: argparse.Namespace) -> int:
    """Compile a kernel and run it on the CPU; show its arguments afterwards. Constants are in --sig only."""
    from .... import load

    return run_module(load(compiled(args).asm["tileirbc"]), args, None)


def run(args: argparse.Namespace) -> int:
    """Run a Python script with its Triton kernels on an engine. Its cuda tensors are on the CPU."""
    return run_checked("triton", args, strict=args.strict, time_configurations=args.time_configurations)
