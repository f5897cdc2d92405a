"""`tilery smith --campaign`: look for faults with random modules, reduce them, and keep one folder per cause."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....diag import TileError
from ...files import CommandFailed, write_output
from ...output import as_json, write_error
from ...progress import progress


def add_campaign(parser: argparse.ArgumentParser) -> None:
    """Add the options of campaigns."""
    what = "look for faults with the modules, reduce them, and write a folder per cause to -o, by default `campaign`"
    parser.add_argument("--campaign", action="store_true", help=what)
    against = "`tileiras`, which must not crash, or two engines such as `reference,cpu`, which must agree"
    parser.add_argument("--against", default="tileiras", metavar="WHAT", help=f"{against}; default: tileiras")
    parser.add_argument("--target", default="sm_100", metavar="ARCH", help="for tileiras; default: %(default)s")
    parser.add_argument("--tool", metavar="FILE", help="the tileiras to use; default: the installed one")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="tests at a time; default: all cores")
    limit = "the limit of one test; default: %(default)s"
    parser.add_argument("--test-seconds", type=float, default=60.0, metavar="S", help=limit)
    reducing = "the limit of one reduction; default: %(default)s"
    parser.add_argument("--reduce-seconds", type=float, default=600.0, metavar="S", help=reducing)
    most = "how many findings with the same outcome are reduced; default: 20"
    parser.add_argument("--reduce-most", type=int, metavar="N", help=most)
    cluster = "run on the workers of a Dask scheduler, tcp://HOST:PORT; needs tilery[cluster]"
    parser.add_argument("--scheduler", metavar="URL", help=cluster)
    part = "check every N-th module, from the I-th on, counted from 0; without it, the parts in -o are put together"
    parser.add_argument("--shard", metavar="I/N", help=part)


def run_campaign(args: argparse.Namespace, mix: dict[str, float] | None) -> int:
    """Run a campaign and say what it found; the exit status is 1 if it found anything."""
    import os

    from ....reducer.campaign import MOST_REDUCED, Campaign, CampaignPlan, map_here

    plan = CampaignPlan(
        check_against(args.against),
        args.target,
        str(Path(args.tool).resolve()) if args.tool else "",
        size=args.size,
        version=str(args.version) if args.version else "",
        mix=mix,
        seconds=args.test_seconds,
        reduce_seconds=args.reduce_seconds,
    )
    most = MOST_REDUCED if args.reduce_most is None else args.reduce_most
    for option, number in (("--jobs", args.jobs), ("--reduce-most", most)):
        if number < 0:
            raise CommandFailed(f"{option} must not be negative, got {number}")
    if args.scheduler:
        from ....reducer.cluster import map_on

        run_all: Any = map_on(args.scheduler)
    else:
        check_here(plan.engines or ())
        run_all = map_here(args.jobs or len(os.sched_getaffinity(0)))
    folder = Path("campaign" if args.output == "-" else args.output)
    shard = parse_shard(args.shard)
    seeds = range(args.seed, args.seed + args.count)
    with progress(len(seeds[shard[0] :: shard[1]]) if shard else args.count, "modules") as step:
        campaign = Campaign(plan, folder, seeds, run_all, step, most, shard)
        try:
            campaign.run()
        except OSError as error:
            raise CommandFailed(f"cannot write to '{folder}': {error.strerror or error}") from None
    if campaign.shard is not None:
        write_error(f"{campaign.journal} has the part {args.shard}; without --shard, the parts are put together\n")
        return 0
    causes = campaign.causes()
    if args.json:
        facts = [{"cause": name, "seeds": [i["seed"] for i in items]} for name, items in causes.items()]
        write_output("-", as_json({"modules": args.count, "causes": facts}))
    else:
        lines = [f"{len(items):5}  {name}\n" for name, items in causes.items()]
        write_output("-", "".join(lines) or "no faults\n")
        write_error(f"{folder / 'summary.md'} has the details\n")
    return int(bool(causes))


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Return the number of a part and of all parts; CommandFailed if the text is not such a pair."""
    if text is None:
        return None
    index, slash, count = text.partition("/")
    if not slash or not index.isdecimal() or not count.isdecimal() or int(index) >= int(count):
        raise CommandFailed(f"--shard: expected I/N with I below N, got '{text}'")
    return int(index), int(count)


def check_here(engines: Sequence[str]) -> None:
    """CommandFailed if engines cannot run on this machine."""
    from ....reducer.oracles import check_engines

    try:
        check_engines(engines)
    except TileError as error:
        raise CommandFailed(f"--against: {error.message}") from None


def check_against(text: str) -> str:
    """Return what a campaign compares with; CommandFailed if it is neither tileiras nor two engines."""
    from ....engines.registry import ENGINES

    names = text.split(",")
    if text != "tileiras" and (len(names) != 2 or any(name not in ENGINES for name in names)):
        raise CommandFailed(f"--against: expected tileiras, or two of {', '.join(ENGINES)}, got '{text}'")
    return text
