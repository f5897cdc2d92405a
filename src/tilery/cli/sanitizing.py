"""`--sanitize` of the verbs that launch kernels: its options, and how what was found is shown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..diag import TileError
from ..engines.registry import AUTO, DEFAULT
from .files import CommandFailed, write_output
from .options import at_least
from .output import report, write_error

if TYPE_CHECKING:
    from ..sanitize import Sanitizer
    from ..source.input import Input
    from .arguments import ArgumentSpec


NEED_SANITIZE = (
    *("sarif", "schedule", "schedules", "suppress", "baseline", "write_baseline"),
    *("kernel", "launch_skip", "launch_count", "together"),
)
"""The options that say nothing without --sanitize."""


def add_sanitize(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    what = "look for faults: all, or names of checks separated by commas"
    parser.add_argument("--sanitize", metavar="CHECKS", help=what)
    parser.add_argument(
        "--schedule", metavar="N", help="run tile blocks in a random order: a number, or `random` for --seed"
    )
    count = at_least(int, 1)
    parser.add_argument("--schedules", type=count, metavar="N", help="with --sanitize: also run N random schedules")
    parser.add_argument("--sarif", metavar="FILE", help="also write what --sanitize finds as SARIF, `-` is stdout")
    parser.add_argument("--suppress", metavar="FILE", help="leave out reports that a line of this file describes")
    parser.add_argument("--baseline", metavar="FILE", help="leave out reports that are in this file")
    parser.add_argument("--write-baseline", metavar="FILE", help="write the reports to a file for --baseline")
    what = "what to exit with if --sanitize finds a fault; default: %(default)s"
    parser.add_argument("--error-exitcode", type=at_least(int, 0), default=1, metavar="N", help=what)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options of programs, which launch several kernels."""
    what = "watch the kernels with this name only, a pattern; may be repeated"
    parser.add_argument("--kernel", action="append", default=[], metavar="NAME", help=what)
    count = at_least(int, 0)
    parser.add_argument("--launch-skip", type=count, default=0, metavar="N", help="do not watch the first N launches")
    parser.add_argument("--launch-count", type=count, metavar="N", help="watch at most N launches")
    what = "also find races between launches that streams, events and waiting leave unordered"
    parser.add_argument("--together", action="store_true", help=what)
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="the first of --schedules; default: 0")


def make_sanitizer(args: argparse.Namespace, arguments: list[ArgumentSpec] | None = None) -> Sanitizer | None:
    """Return the sanitizer that the options ask for, if any."""
    if args.sanitize is None:
        for name in NEED_SANITIZE:
            if getattr(args, name, None):
                raise CommandFailed(f"--{name.replace('_', '-')} needs --sanitize")
        return None
    if args.engine == AUTO:
        args.engine = DEFAULT
    if args.engine != DEFAULT:
        raise CommandFailed(f"--sanitize needs the engine '{DEFAULT}'")
    schedule = parse_schedule(args)
    try:
        found = sanitizer_for(args.sanitize, arguments or (), schedule, getattr(args, "together", False))
        if found.flight is not None and args.schedules:
            raise CommandFailed("--together runs each launch once: use --schedule instead of --schedules")
        select(found, args)
        return found
    except TileError as error:
        raise CommandFailed(f"--sanitize: {error.message}") from None


def sanitizer_for(
    checks: str, arguments: Sequence[ArgumentSpec], schedule: int | None = None, together: bool = False
) -> Sanitizer:
    """Return a sanitizer that knows which arguments the command line declares to be undefined, or outputs."""
    from ..sanitize import Sanitizer

    uninit = [argument.value for argument in arguments if argument.is_uninit]
    outputs = [argument.value for argument in arguments if argument.is_output]
    return Sanitizer(checks, uninit=uninit, outputs=outputs, schedule=schedule, together=together)


def select(found: Sanitizer, args: argparse.Namespace) -> None:
    """Let a sanitizer leave out the launches and reports that the options name."""
    from ..sanitize.selection import Selection, read_baseline, read_rules

    found.runs, found.seed = args.schedules or 0, args.seed
    found.selection = Selection(
        getattr(args, "kernel", ()), getattr(args, "launch_skip", 0), getattr(args, "launch_count", None)
    )
    for path in filter(None, (args.suppress, args.baseline)):
        if not Path(path).is_file():
            raise CommandFailed(f"cannot read '{path}': no such file")
    if args.suppress:
        found.suppressions.rules = read_rules(Path(args.suppress).read_text("utf-8", "replace"), args.suppress)
    if args.baseline:
        found.suppressions.baseline = read_baseline(Path(args.baseline))


def parse_schedule(args: argparse.Namespace) -> int | None:
    """Return the seed of the schedule that the options ask for, if any."""
    if args.schedule is None:
        return None
    text = str(args.seed) if args.schedule == "random" and hasattr(args, "seed") else args.schedule
    if not (text.isascii() and text.isdigit()):
        wanted = "`random` or a number" if hasattr(args, "seed") else "a number"
        raise CommandFailed(f"--schedule: expected {wanted}, got '{args.schedule}'")
    return int(text)


def report_facts(found: Sanitizer | None, source: Input | None = None) -> dict[str, object]:
    """Return the reports as data for JSON; nothing without a sanitizer."""
    if found is None:
        return {}
    suppress(found, source)
    reports = [each.as_dict(source) for each in found.reports.shown]
    return {"reports": reports, "claim": found.claim, "summary": found.summary}


def suppress(found: Sanitizer, source: Input | None) -> None:
    """Leave out reports by the lines of the input."""
    for each in found.reports:
        each.is_suppressed = each.is_suppressed or found.suppressions.matches(each, source)


def show_reports(found: Sanitizer | None, source: Input | None, args: argparse.Namespace) -> int:
    """Print the reports to stderr, unless they are part of JSON, and return the exit status."""
    if found is None:
        return 0
    from ..sanitize.show import as_error, sarif

    suppress(found, source)
    for each in [] if args.json else found.reports.shown:
        report(as_error(each, source), kind="hint" if each.hint else "error")
    if not args.json:
        write_error(f"{found.summary}\n")
        write_error(f"{found.claim}\n" if found.claim else "")
    if args.sarif:
        write_output(args.sarif, json.dumps(sarif(found.reports.shown, source), indent=2) + "\n")
    if args.write_baseline:
        from ..sanitize.selection import write_baseline

        write_baseline(Path(args.write_baseline), found.reports.shown, source)
    status: int = args.error_exitcode
    return status if found.reports.faults else 0
