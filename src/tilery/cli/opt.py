"""`tilery opt`: run passes on a file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .files import Stop, write_output

if TYPE_CHECKING:
    from ..ir import Op
    from ..ops import Module
    from ..passes import Pipeline, Step
    from ..rewrite import Report


def list_passes() -> str:
    """Every pass with its options."""
    from ..passes import HOMES, find_pass

    lines: list[str] = []
    for found in map(find_pass, sorted(HOMES)):
        lines.append(f"{found.name:30}{found.doc}")
        lines += [f"    {{{o.name}={str(o.default).lower()}}}".ljust(30) + o.doc for o in found.options]
    return "\n".join(lines) + "\n"


def pipeline(text: str) -> Pipeline:
    """The passes that the command line names."""
    from ..diag import TileError
    from ..passes import parse_pipeline

    try:
        return parse_pipeline(text)
    except TileError as error:
        raise Stop(error.message) from None


def run(module: Module, passes: Pipeline, args: argparse.Namespace) -> int:
    """Run the passes, and write what the options ask for."""
    from .. import dumps, show
    from ..passes import run_pipeline
    from ..verifier.explain import require_legal

    def after(step: Step, report: Report) -> None:
        require_legal(module, "the pass broke the module", after=step.run.name)
        if args.print_after:
            sys.stderr.write(f"// after {step.run.name}\n{show(module)}\n")
        if args.stats:
            sys.stderr.write(stats(step, report))
        for o, text in report.remarks if args.remarks else ():
            sys.stderr.write(f"{source_of(o)}remark: {step.run.name}: {o.name}: {text}\n")

    run_pipeline(module, passes, after)
    binary = args.output.endswith(".tileirbc")
    write_output(args.output, dumps(module) if binary else show(module))
    return 0


def source_of(o: Op) -> str:
    """Return where an operation comes from, as the start of a line; empty if that is unknown."""
    from ..source.lines import innermost

    place = innermost(o.loc)
    return "" if place is None else f"{place.file}:{place.line}:{place.column}: "


def stats(step: Step, report: Report) -> str:
    """How often each rule of a pass fired."""
    lines = [f"{step.run.name}: {report.counts.total()} changes" + ("" if report.complete else ", stopped early")]
    lines += [f"  {count:8}  {name}" for name, count in report.counts.most_common()]
    return "\n".join(lines) + "\n"
