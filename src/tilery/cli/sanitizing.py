"""`--sanitize` of the verbs that launch kernels: its options, and how what was found is shown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..diag import TileError
from ..engines.registry import AUTO, DEFAULT
from .files import Stop, write_output
from .output import report, write_error

if TYPE_CHECKING:
    from ..sanitize import Sanitizer
    from ..source.input import Input
    from .arguments import ArgumentSpec


def add_sanitize(parser: argparse.ArgumentParser, *, has_seed: bool = True) -> None:
    """Add the options to a parser; `has_seed` tells whether it has `--seed` too."""
    what = "look for faults: all, or names of checks separated by commas"
    parser.add_argument("--sanitize", metavar="CHECKS", help=what)
    order = "run tile blocks in a random order: a number" + (", or `random` for --seed" if has_seed else " as its seed")
    parser.add_argument("--schedule", metavar="N", help=order)
    parser.add_argument("--sarif", metavar="FILE", help="also write what --sanitize finds as SARIF, `-` is stdout")


def make_sanitizer(args: argparse.Namespace, arguments: list[ArgumentSpec] | None = None) -> Sanitizer | None:
    """Return the sanitizer that the options ask for, if any."""
    if args.sanitize is None:
        for name in ("sarif", "schedule", "schedules"):
            if getattr(args, name, None) is not None:
                raise Stop(f"--{name} needs --sanitize")
        return None
    if args.engine == AUTO:
        args.engine = DEFAULT
    if args.engine != DEFAULT:
        raise Stop(f"--sanitize needs the engine '{DEFAULT}'")
    schedule = parse_schedule(args)
    try:
        return sanitizer_for(args.sanitize, arguments or (), schedule)
    except TileError as error:
        raise Stop(f"--sanitize: {error.message}") from None


def sanitizer_for(checks: str, arguments: Sequence[ArgumentSpec], schedule: int | None = None) -> Sanitizer:
    """Return a sanitizer that knows which arguments the command line declares to be undefined, or outputs."""
    from ..sanitize import Sanitizer

    uninit = [argument.value for argument in arguments if argument.is_uninit]
    outputs = [argument.value for argument in arguments if argument.is_output]
    return Sanitizer(checks, uninit=uninit, outputs=outputs, schedule=schedule)


def parse_schedule(args: argparse.Namespace) -> int | None:
    """Return the seed of the schedule that the options ask for, if any."""
    if args.schedule is None:
        return None
    text = str(args.seed) if args.schedule == "random" and hasattr(args, "seed") else args.schedule
    if not (text.isascii() and text.isdigit()):
        wanted = "`random` or a number" if hasattr(args, "seed") else "a number"
        raise Stop(f"--schedule: expected {wanted}, got '{args.schedule}'")
    return int(text)


def report_facts(found: Sanitizer | None, source: Input | None = None) -> dict[str, object]:
    """Return the reports as data for JSON; nothing without a sanitizer."""
    if found is None:
        return {}
    return {"reports": [each.as_dict(source) for each in found.reports], "claim": found.claim}


def show_reports(found: Sanitizer | None, source: Input | None, args: argparse.Namespace) -> int:
    """Print the reports to stderr, unless they are part of JSON, and return the exit status."""
    if found is None:
        return 0
    from ..sanitize.show import as_error, sarif

    for each in [] if args.json else found.reports:
        report(as_error(each, source), kind="hint" if each.hint else "error")
    if found.claim and not args.json:
        write_error(f"{found.claim}\n")
    if args.sarif:
        write_output(args.sarif, json.dumps(sarif(found.reports, source), indent=2) + "\n")
    return int(bool(found.reports.faults))
