"""`tilery tune`: find the fastest way to compile a kernel for this machine's GPU, and show what is remembered."""

from __future__ import annotations

import argparse
import re
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...files import CommandFailed, in_file, open_text, reason, write_output
from ...options import Verbs, add_spelling
from ...output import as_json, write_error
from ...programs import add_signature, python_module
from ..run import SPEC, add_convention, parse_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....tuner.search import Result

EXAMPLES = [
    "tune k.tileirbc --grid 64,2 --arg a=randn:f16:8192x64 --arg out=zeros:f32:8192 -o tuned.tileirbc",
    "tune --recorded launch.zip --engine tileiras --budget 2m",
    "tune --show",
    "tune --export tuned.json",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("tune", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode, text, or FILE.py::KERNEL of cuTile or Triton")
    add_spelling(sub)
    add_signature(sub)
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    add_convention(sub)
    sub.add_argument("--recorded", metavar="FILE", help="a recorded launch, instead of FILE and arguments")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="for rand and randn; default: 0")
    add_search(sub)
    sub.add_argument("--check-grid", metavar="X[,Y[,Z]]", help="what the reference engine computes; default: at most 2")
    sub.add_argument("-o", "--output", metavar="OUT", help="write the module with the best hints for tileiras")
    sub.add_argument("--show", action="store_true", help="list what is remembered")
    sub.add_argument("--export", metavar="FILE", help="write what is remembered to a file")
    sub.add_argument("--import", dest="merge", metavar="FILE", help="merge what another file remembers")


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of the search."""
    engines = ["tileiras", "triton", "all"]
    parser.add_argument("--engine", choices=engines, default="all", help="which compilers to try; default: all")
    parser.add_argument("--budget", type=duration, default=30.0, metavar="30s", help="the time to spend; default: 30s")
    parser.add_argument("--full", action="store_true", help="try every variant, also those that cannot be good")


def duration(text: str) -> float:
    """Parse a time such as 30s or 2m.

    >>> duration("30s"), duration("2m"), duration("5")
    (30.0, 120.0, 5.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected a time such as 30s or 2m, got '{text}'")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2] or "s"]


def run(args: argparse.Namespace) -> int:
    """Find the fastest way to compile a kernel for this machine's GPU."""
    if args.show or args.export or args.merge:
        return remembered(args)
    if (args.file is None) == (args.recorded is None):
        raise CommandFailed("tune needs a FILE or --recorded")
    result = tune_recorded(args) if args.recorded is not None else tune_file(args)
    show(result, args)
    return 0


def tune_file(args: argparse.Namespace) -> Result:
    from ....diag import TileError
    from ....engines.common.kernel import find_entry
    from ....ir import Refused
    from ....source.positions import places_from
    from ....verifier.explain import read_legal
    from ...arguments import check_types, make_arguments

    source = None if "::" in args.file else open_text(args.file, args)
    module = python_module(args.file, args.sig or "", "sm_90") if source is None else read_legal(source)
    arguments = make_arguments(args.arg, args.seed)
    try:
        with in_file(args.file), nullcontext() if source is None else places_from(source):
            check_types(arguments, find_entry(module, args.entry).function_type.params, args.convention)
            return search(
                module,
                parse_grid(args.grid or "1"),
                [a.value for a in arguments],
                args,
                entry=args.entry,
                names=[a.name for a in arguments],
                convention=args.convention,
            )
    except Refused:
        raise
    except TileError as error:
        error.file = error.file or args.file
        raise


def tune_recorded(args: argparse.Namespace) -> Result:
    from .... import load as load_module
    from ....engines.common.cutile_abi import ArrayExtent
    from ....engines.recorded import load

    if args.arg or args.entry or args.grid or args.convention:
        raise CommandFailed("a recorded launch has its own kernel, grid and arguments")
    with in_file(args.recorded):
        try:
            recorded = load(args.recorded)
        except OSError as error:
            raise CommandFailed(f"cannot read '{args.recorded}': {reason(error)}") from None
        placed = recorded.place()
        memory = [
            ArrayExtent(", ".join(b.names), address, size, pointers=tuple(b.pointers))
            for (address, size), b in zip(placed.buffers, recorded.buffers)
        ]
        module = load_module(recorded.bytecode)
        return search(module, recorded.grid, placed.arguments, args, entry=recorded.entry, buffers=memory)


def search(module: Any, grid: Any, values: Any, args: argparse.Namespace, **options: Any) -> Result:
    """Tune with the options of the command line and a progress bar."""
    from ....tuner import tune
    from ...progress import progress

    if getattr(args, "check_grid", None):
        options["check_grid_extents"] = parse_grid(args.check_grid)
    with progress(100, "% of the variants") as step:
        return tune(
            module,
            grid,
            values,
            engine=args.engine,
            budget=args.budget,
            full=args.full,
            progress=percentage(step),
            **options,
        )


def percentage(step: Callable[[int], None]) -> Callable[[int, int], None]:
    """Return a function that turns counts into steps of a hundred."""
    done = 0

    def report(count: int, total: int) -> None:
        nonlocal done
        now = 100 * count // max(total, 1)
        step(now - done)
        done = now

    return report


def show(result: Result, args: argparse.Namespace) -> None:
    """Print the table or JSON, and write the module if it was asked for."""
    from ....bytecode.writer import write
    from ....tuner.show import as_data, table

    text = as_json(as_data(result)) if args.json else table(result)
    if args.output == "-":
        write_error(text)
    else:
        write_output("-", text)
    if args.output is not None:
        if result.module is None:
            raise CommandFailed("there are no hints to write: tileiras compiled no variant")
        write_output(args.output, write(result.module, None))


# ---------------------------------------------------------------- what is remembered


def remembered(args: argparse.Namespace) -> int:
    from pathlib import Path

    from ....engines.gpu.store import VariantStore, describe, read_records, write_records

    store = VariantStore()
    if args.merge:
        if not Path(args.merge).is_file():
            raise CommandFailed(f"cannot read '{args.merge}': no such file")
        store.add(read_records(Path(args.merge)))
    records = store.records()
    if args.export:
        try:
            write_records(Path(args.export), records)
        except OSError as error:
            raise CommandFailed(f"cannot write '{args.export}': {reason(error)}") from None
    if not args.show:
        return 0
    if args.json:
        write_output("-", as_json({"file": str(store.path), "records": [r.as_dict() for r in records]}))
        return 0
    rows = describe(records)
    lines = [f"{len(rows)} kernels and shapes in {store.path or 'no file'}"]
    lines += [f"{r['entry']} ({r['shapes']}) on {r['device']}: {r['variant']}, {r['time']}, {r['date']}" for r in rows]
    write_output("-", "\n".join(lines) + "\n")
    return 0
