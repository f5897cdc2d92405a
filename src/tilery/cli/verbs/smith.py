"""`tilery smith`: random modules as text, bytecode, or JSON with everything a launch needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...diag import TileError
from ..files import CommandFailed, write_output
from ..options import Verbs, add_version
from ..output import as_json
from .testing.campaign import add_campaign, run_campaign

if TYPE_CHECKING:
    from ...smith import Argument, Launch


def add(verbs: Verbs) -> None:
    examples = ["smith --seed 7", "smith --mix Integer=5,mmaf=1 --size 20", "smith --count 9 -o 'm{seed}.tileirbc'"]
    examples.append("smith --campaign --against reference,cpu --count 1000 -o findings")
    sub = verbs.add("smith", run, examples, json_result=True)
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the first module; default: 0")
    sub.add_argument(
        "--count", type=int, default=1, metavar="K", help="make K modules, from seeds N, N+1, and so on; default: 1"
    )
    sub.add_argument(
        "--size", type=int, default=50, metavar="OPS", help="the approximate number of operations; default: 50"
    )
    sub.add_argument("--mix", metavar="NAME=WEIGHT,...", help="how often to choose chapters and operations")
    sub.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="the output file; bytecode if its name ends in .tileirbc"
    )
    add_version(sub, "nothing newer than this bytecode version; default: the latest, in a campaign all take turns")
    add_campaign(sub)


def run(args: argparse.Namespace) -> int:
    """Make random modules that are always valid. The same seed makes the same module."""
    if args.campaign:
        return run_campaign(args, draw_options(args)["mix"])
    try:
        if args.json:
            write_output("-", as_json(data(args)))
        else:
            for name, content in files(args):
                write_output(name, content)
    except TileError as error:  # there is no input, so the options are wrong
        raise CommandFailed(error.message) from None
    return 0


def files(args: argparse.Namespace) -> Iterator[tuple[str, str | bytes]]:
    """Yield a file name and its content for each seed: bytecode if the name ends in .tileirbc, else text."""
    from ... import dumps, show
    from ...smith import smith

    if args.count > 1 and args.output != "-" and "{seed}" not in args.output:
        raise CommandFailed("several modules need several files; put {seed} into the name after -o")
    options = draw_options(args)
    for seed in seeds(args):
        module = smith(seed, **options)
        name = args.output.replace("{seed}", str(seed))
        if name.endswith(".tileirbc"):
            yield name, dumps(module, options["version"])
        else:
            yield name, (f"// seed {seed}\n" if args.count > 1 else "") + show(module)


def data(args: argparse.Namespace) -> list[dict[str, object]]:
    """Return the modules and the launches of their entries as plain data."""
    from ... import show
    from ...smith import smith_with_contract

    options = draw_options(args)
    made = []
    for seed in seeds(args):
        module, contract = smith_with_contract(seed, **options)
        launches = [launch_data(launch) for launch in contract.launches]
        made.append({"seed": seed, "version": str(options["version"]), "text": show(module), "launches": launches})
    return made


def seeds(args: argparse.Namespace) -> range:
    return range(args.seed, args.seed + args.count)


def draw_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `smith` that the command line selects."""
    from ...version import LATEST

    if args.size < 1:
        raise CommandFailed(f"--size must be at least 1, got {args.size}")
    mix = None if args.mix is None else dict(weight(part) for part in args.mix.split(","))
    return {"version": args.version or LATEST, "size": args.size, "mix": mix}


def weight(text: str) -> tuple[str, float]:
    """Split `mmaf=2` into a name and its weight; the default weight is one."""
    name, given, number = text.partition("=")
    try:
        return name.strip(), float(number) if given else 1.0
    except ValueError:
        raise CommandFailed(f"--mix: expected NAME=WEIGHT, got '{text}'") from None


def launch_data(launch: Launch) -> dict[str, object]:
    return {"entry": launch.entry, "grid": launch.grid, "args": [argument_data(a) for a in launch.args]}


def argument_data(argument: Argument) -> dict[str, object]:
    from ...smith import Buffer

    if isinstance(argument, Buffer):
        return {"buffer": argument.element.name, "count": argument.count, "written": argument.written}
    return {"scalar": argument.type.name, "bits": argument.bits}
