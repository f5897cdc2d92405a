"""`tilery opt`: run passes on a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..files import CommandFailed, in_file, open_text, write_output, write_painted, write_text
from ..options import Verbs, add_color, add_output, add_spelling
from ..output import colors, write_error

if TYPE_CHECKING:
    from ...attrs import Loc
    from ...ir import Op
    from ...ops import Module
    from ...passes import Pipeline, PipelineStep
    from ...rewrite import Report
    from ...rewrite.rules import Fired
    from ...source.input import Input

    Logs = Iterator[list[Fired] | None]
    """For each pass, the rules that fired."""


def add(verbs: Verbs) -> None:
    examples = ["opt kernel.mlir --passes canonicalize,cse", "opt kernel.tileirbc --stats -o out.tileirbc"]
    sub = verbs.add("opt", run, [*examples, "opt --load mypass.py --passes my-pass kernel.mlir", "opt --list"])
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode or text")
    add_spelling(sub)
    names = "passes in order, options in braces, or a pipeline in mlir-opt's syntax; default: %(default)s"
    sub.add_argument("--passes", default="canonicalize,cse", metavar="PASSES", help=names)
    add_output(sub)
    sub.add_argument("--print-after", action="store_true", help="print the module after each pass, to stderr")
    log = "print each rule that fired, in order, with its operation and place, to stderr"
    sub.add_argument("--log", action="store_true", help=log)
    sub.add_argument("--stats", action="store_true", help="print how often each rule fired, to stderr")
    validate = "prove with Z3 that each pass kept the bits of every kernel, or say why not, to stderr"
    sub.add_argument("--validate", action="store_true", help=validate)
    sub.add_argument("--remarks", action="store_true", help="print what passes did or could not do, to stderr")
    load = "a Python file that registers passes of your own; it is executed; can be repeated"
    sub.add_argument("--load", action="append", default=[], metavar="PY", help=load)
    lists = "list the passes and their options, or the patterns of each pass, and exit"
    sub.add_argument("--list", nargs="?", const="passes", choices=["passes", "patterns"], help=lists)
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """Run passes on a file and write the result, as bytecode if OUT ends in .tileirbc, else as text."""
    from ...verifier.explain import read_legal

    load(args.load)
    if args.list == "patterns":
        write_output("-", list_patterns())
        return 0
    if args.list and colors(args):
        from ..paint import passes_text

        write_painted(list_passes(), passes_text)
        return 0
    if args.list:
        write_output("-", list_passes())
        return 0
    if args.file is None:
        raise CommandFailed("opt needs a FILE; --list shows the passes")
    passes = pipeline(args.passes)
    source = open_text(args.file, args)
    module = read_legal(source)
    with in_file(args.file), mistakes_in(args.load):
        apply(module, passes, args, logs_in_text(module, source, passes) if args.log else None)
    return 0


@contextmanager
def mistakes_in(files: list[str]) -> Iterator[None]:
    """Report an error in a pass of the user's own as theirs, with the line."""
    from ...diag import TileError
    from ...passes.registry import last_line

    try:
        yield
    except (TileError, CommandFailed, OSError):
        raise
    except Exception as error:
        for file in files:
            if (line := last_line(error, file)) is not None:
                raise CommandFailed(f"--load: {file}:{line}: {type(error).__name__}: {error}") from None
        raise


def load(files: list[str]) -> None:
    """Execute the files that register passes."""
    from ...diag import TileError
    from ...passes import load_passes

    for file in files:
        try:
            load_passes(file)
        except TileError as error:
            raise CommandFailed(f"--load: {error.message}") from None


def list_passes() -> str:
    """List every pass with its options."""
    from ...passes import HOMES, PASSES, find_pass

    lines: list[str] = []
    for found in map(find_pass, sorted({*HOMES, *PASSES})):
        lines.append(f"{found.name:30}{found.doc}")
        lines += [f"    {{{o.name}={str(o.default).lower()}}}".ljust(30) + o.doc for o in found.options]
    return "\n".join(lines) + "\n"


def list_patterns() -> str:
    """List the patterns of every pass that has any, with their laws."""
    import sys

    from ...passes import HOMES, PASSES, find_pass
    from ...rewrite import Rules

    lines: list[str] = []
    for found in map(find_pass, sorted({*HOMES, *PASSES})):
        rules = getattr(sys.modules[found.run.__module__], "rule", None)
        if isinstance(rules, Rules):
            laws = {rule.name: rule.law for rule in rules.all()}
            laws |= {run.__name__: (run.__doc__ or "") for dead in rules.dead_by_class.values() for run in dead}
            lines += [found.name, *(f"    {name:26}{law}" for name, law in laws.items())]
    return "\n".join(lines) + "\n"


def pipeline(text: str) -> Pipeline:
    """Parse the passes that the command line names."""
    from ...diag import TileError
    from ...passes import parse_pipeline

    try:
        return parse_pipeline(text)
    except TileError as error:
        raise CommandFailed(error.message) from None


def logs_in_text(module: Module, source: Input, passes: Pipeline) -> Logs | None:
    """Return the log of each pass, with places in the text for operations without a location; None of bytecode.

    Passes run on a copy that has these places as locations, because some passes look at locations.
    """
    from ... import clone
    from ...attrs import FileLineCol
    from ...diag import LineIndex
    from ...ir import walk
    from ...passes import run_pipeline

    if not (spans := source.spans):
        return None
    index = LineIndex(source.text or "")
    copy = clone(module)
    for o, twin in zip(walk(module), walk(copy)):
        if o.loc is None and o in spans:
            twin.loc = FileLineCol(source.file, *index.place(spans[o][0]))
    logs: list[list[Fired] | None] = []
    run_pipeline(copy, passes, lambda _, report: logs.append(report.log), log=True)
    return iter(logs)


def apply(module: Module, passes: Pipeline, args: argparse.Namespace, logs: Logs | None) -> None:
    """Run the passes and write what the options select, among it `logs`, or what the passes log here."""
    from ... import clone, show
    from ...bytecode.writer import write
    from ...passes import run_pipeline
    from ...verifier.explain import require_legal

    before = clone(module) if args.validate else module

    def after(step: PipelineStep, report: Report) -> None:
        nonlocal before
        require_legal(module, "the pass broke the module", after=step.run.name)
        if args.validate:
            write_error(validation(before, module, step.run.name))
            before = clone(module)
        if args.print_after:
            write_error(f"// after {step.run.name}\n{show(module)}\n")
        if not report.complete:
            rules = ", ".join(report.endless)
            write_error(f"warning: {step.run.name}: stopped early, these rules keep firing: {rules}\n")
        log = report.log if logs is None else next(logs)
        for number, fired in enumerate(log or (), 1):
            write_error(f"{place_of(fired.loc)}{step.run.name}: {number}: {fired.rule}: {fired.op}\n")
        if args.stats:
            write_error(stats(step, report))
        for o, text in report.remarks if args.remarks else ():
            write_error(f"{source_of(o)}remark: {step.run.name}: {o.name}: {text}\n")

    run_pipeline(module, passes, after, log=args.log)
    if args.output.endswith(".tileirbc"):
        write_output(args.output, write(module, fast=None))
    else:
        write_text(module, args)


def validation(before: Module, after: Module, name: str) -> str:
    """Say of each kernel whether a pass is proven to have kept its bits."""
    from ...prove import bits

    lines = []
    for old, new in zip(before.entries, after.entries):
        verdict = bits(old, new, modules=(before, after))
        said = "proven" if verdict.is_equal else f"not proven: {verdict.reason}"
        lines.append(f"validate: {name}: @{new.sym_name}: {said}\n")
    return "".join(lines)


def source_of(o: Op) -> str:
    """Return where an operation comes from, as the start of a line; empty if that is unknown."""
    return place_of(o.loc)


def place_of(loc: Loc | None) -> str:
    from ...source.lines import innermost

    place = innermost(loc)
    return "" if place is None else f"{place.file}:{place.line}:{place.column}: "


def stats(step: PipelineStep, report: Report) -> str:
    """Print how often each rule of a pass fired."""
    lines = [f"{step.run.name}: {report.counts.total()} changes" + ("" if report.complete else ", stopped early")]
    lines += [f"  {count:8}  {name}" for name, count in report.counts.most_common()]
    return "\n".join(lines) + "\n"
