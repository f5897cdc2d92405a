"""`tilery cpp`: show, check and run CUDA Tile C++ without a GPU."""

from __future__ import annotations

import argparse
from pathlib import Path

from ....checking import TYPE_CHECKING
from ...files import CommandFailed, read_input, reason, write_output
from ...options import Verbs
from ...output import as_json, report
from ...sanitizing import make_sanitizer
from ..run import SPEC, add_launch, run_module

if TYPE_CHECKING:
    from ....cpp import Program

SHOW = ["cpp show add.cu", "cpp show scale.cu --instance 'scale<float, 64>' -o scale.tileirbc"]
CHECK = ["cpp check add.cu", "cpp check gemm.cu -I include -D TILE=64 --json"]
RUN = [
    "cpp run add.cu --grid 4 --arg arange:f32:4096 --arg out=zeros:f32:4096 --print out",
    "cpp run scale.cu --entry 'scale<float, 64>' --grid 16 --arg x=rand:f32:1024 --arg f32:2 --engine cpu --print x",
    "cpp run program.cu --engine cpu -- --iterations 3",
]


def add(verbs: Verbs) -> None:
    inner = verbs.add_group("cpp", "Show, check and run CUDA Tile C++ (pip nvidia-cuda-nvrtc) without a GPU.")
    sub = inner.add("show", show, SHOW)
    add_source(sub)
    sub.add_argument("--plain", action="store_true", help="leave out the lines of C++")
    sub.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="the output file; bytecode if its name ends in .tileirbc"
    )
    add_source(inner.add("check", check, CHECK, json_result=True))
    sub = inner.add("run", run, RUN, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    add_source(sub)
    add_launch(sub)
    sub.set_defaults(convention=None, arguments=[])


def add_source(sub: argparse.ArgumentParser) -> None:
    """Add the options of a compilation."""
    sub.add_argument("file", metavar="FILE", help="C++; `-` is stdin")
    sub.add_argument(
        "--instance", action="append", default=[], metavar="NAME", help="an instance of a template, as 'k<float, 64>'"
    )
    sub.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="a folder of headers")
    sub.add_argument("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    sub.add_argument("--std", default="c++20", metavar="STD", help="the dialect of C++; default: %(default)s")
    sub.add_argument(
        "--gpu", default="sm_100", metavar="NAME", help="the GPU that macros and hints are for; default: %(default)s"
    )
    sub.add_argument("--option", action="append", default=[], metavar="OPT", help="another option of NVRTC")


def show(args: argparse.Namespace) -> int:
    """Show the Tile IR of C++ kernels, with the lines of C++ that it comes from as comments."""
    from .... import show as plain
    from ....source.lines import annotate

    program = compiled(args)
    if args.output.endswith(".tileirbc"):
        write_output(args.output, program.bytecode)
    else:
        write_output(args.output, plain(program.module) if args.plain else annotate(program.module))
    return 0


def check(args: argparse.Namespace) -> int:
    """Compile C++ and check the Tile IR; list the kernels and their parameters."""
    program = compiled(args)
    facts = [
        {
            "name": name,
            "symbol": symbol,
            "parameters": [param.text for param in program.module.entry(symbol).function_type.params],
        }
        for name, symbol in program.kernels.items()
    ]
    if args.json:
        warnings = [warning.as_dict() for warning in program.warnings]
        write_output("-", as_json({"kernels": facts, "warnings": warnings}))
        return 0
    for kernel in facts:
        write_output("-", f"{kernel['name']}({', '.join(kernel['parameters'])})\n")
    return 0


def run(args: argparse.Namespace) -> int:
    """Compile C++ and run it on the CPU: a program if it has a `main`, with arguments after `--`, or else a kernel."""
    if not (args.entry or args.grid or args.arg) and is_program(args):
        return run_whole(args)
    if args.arguments:
        raise CommandFailed("only a program with a `main` has arguments")
    if args.entry and "<" in args.entry and args.entry not in args.instance:
        args.instance.append(args.entry)
    program = compiled(args)
    args.entry = program.symbol(args.entry)
    return run_module(program.module, args, None)


def is_program(args: argparse.Namespace) -> bool:
    from ....cpp.program import has_main

    try:
        return args.file != "-" and has_main(Path(args.file), args.include)
    except OSError as error:
        raise CommandFailed(f"cannot read '{args.file}': {reason(error)}") from None


def run_whole(args: argparse.Namespace) -> int:
    """Compile a program, host code included, and run it with its kernels on an engine."""
    from tempfile import TemporaryDirectory

    from ....cpp.program import build_program, run_program

    for option in ("print", "save", "trace", "schedules", "stats", "threads", "batch", "max_steps", "json"):
        if getattr(args, option, None):
            raise CommandFailed(
                f"--{option.replace('_', '-')} is for a kernel; '{args.file}' is a program with a `main`"
            )
    make_sanitizer(args)  # complain about its options now
    with TemporaryDirectory(prefix="tilery-") as folder:
        program = build_program(
            Path(args.file),
            folder,
            include=args.include,
            define=args.define,
            gpu=args.gpu,
            std=args.std,
            options=args.option,
        )
        for warning in program.warnings:
            report(warning, kind="warning")
        return run_program(
            program,
            args.arguments,
            name=args.file,
            engine=args.engine,
            exact=args.exact,
            sanitize=args.sanitize,
            seconds=args.max_seconds,
        )


def compiled(args: argparse.Namespace) -> Program:
    """Compile the file that the options name, and show warnings."""
    from ....cpp import build

    options = {
        "include": args.include,
        "define": args.define,
        "std": args.std,
        "gpu": args.gpu,
        "options": args.option,
    }
    try:
        if args.file == "-":
            text = read_input("-").decode("utf-8", "surrogateescape") + "\n"
            program = build(text, args.instance, file="<stdin>", **options)
        else:
            program = build(Path(args.file), args.instance, **options)
    except OSError as error:
        raise CommandFailed(f"cannot read '{args.file}': {reason(error)}") from None
    for warning in [] if args.json else program.warnings:
        report(warning, kind="warning")
    return program
