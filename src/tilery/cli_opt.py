"""`tilery opt`: run passes on a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .cli_files import write_output

if TYPE_CHECKING:
    from .ops import Module
    from .passes import Step
    from .rewrite import Report

EXAMPLES = [
    "opt kernel.tileirbc --passes canonicalize,cse",
    "opt kernel.mlir --passes 'loop-split{split-threshold=3},canonicalize' --stats -o out.tileirbc",
    "opt --list",
]


def add_options(sub: argparse.ArgumentParser, add_output: Callable[[argparse.ArgumentParser], None]) -> None:
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode or text")
    names = "passes in order, with options in braces, or a pipeline as mlir-opt takes it; default: %(default)s"
    sub.add_argument("--passes", default="canonicalize,cse", metavar="PASSES", help=names)
    add_output(sub)
    sub.add_argument("--print-after", action="store_true", help="print the module after each pass, to stderr")
    sub.add_argument("--stats", action="store_true", help="print how often each rule fired, to stderr")
    sub.add_argument("--remarks", action="store_true", help="print what passes did or could not do, to stderr")
    sub.add_argument("--list", action="store_true", help="list the passes and their options, and exit")


def list_passes() -> str:
    """Every pass with its options."""
    from .passes import HOMES, find_pass

    lines: list[str] = []
    for found in map(find_pass, sorted(HOMES)):
        lines.append(f"{found.name:30}{found.doc}")
        lines += [f"    {{{o.name}={str(o.default).lower()}}}".ljust(30) + o.doc for o in found.options]
    return "\n".join(lines) + "\n"


def run(module: Module, args: argparse.Namespace) -> int:
    """Run the passes, and write what the options ask for."""
    from . import dumps, show
    from .diag import TileError
    from .passes import parse_pipeline, run_pipeline
    from .verifier import verify

    def after(step: Step, report: Report) -> None:
        if findings := verify(module, max_errors=1):
            where = f"after {step.run.name}: {findings[0].op.name}"
            raise TileError(f"{where}: {findings[0].message}", notes=("the pass broke the module, this is a bug",))
        if args.print_after:
            sys.stderr.write(f"// after {step.run.name}\n{show(module)}\n")
        if args.stats:
            sys.stderr.write(stats(step, report))
        for o, text in report.remarks if args.remarks else ():
            where = f"{o.loc!r}: " if o.loc is not None else ""
            sys.stderr.write(f"{where}remark: {step.run.name}: {o.name}: {text}\n")

    run_pipeline(module, parse_pipeline(args.passes), after)
    binary = args.output.endswith(".tileirbc")
    write_output(args.output, dumps(module) if binary else show(module))
    return 0


def stats(step: Step, report: Report) -> str:
    """How often each rule of a pass fired."""
    lines = [f"{step.run.name}: {report.counts.total()} changes" + ("" if report.complete else ", stopped early")]
    lines += [f"  {count:8}  {name}" for name, count in report.counts.most_common()]
    return "\n".join(lines) + "\n"
