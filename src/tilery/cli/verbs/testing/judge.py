"""`tilery judge`: tell whether kernels of others are right, and how fast they are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....diag import TileError
from ...files import CommandFailed, replace_file, write_output
from ...options import Verbs, at_least
from ...output import as_json
from ...progress import progress
from .campaign import parse_shard

if TYPE_CHECKING:
    from ....judge.results import Result

EXAMPLES = [
    "judge init --sig 'x: f32[M, N], out y: f32[M, N]' -o cases.toml",
    "judge softmax.py --cases cases.toml --against reference.py::softmax",
    "judge candidates/*.py --cases cases.toml --log judged.jsonl --junit judged.xml",
    "judge k.mlir --cases cases.toml --against other.mlir --prove",
    "judge k.cu --cases cases.toml --time cpu",
]
INIT = "init"


def add(verbs: Verbs) -> None:
    sub = verbs.add("judge", run, EXAMPLES, json_result=True)
    what = "a cuTile or Triton program (.py), C++ (.cu), text or bytecode; or `init`, which writes a cases file"
    sub.add_argument("candidate", nargs="+", metavar="CANDIDATE", help=what)
    sub.add_argument("--cases", default="cases.toml", metavar="FILE", help="arguments and cases; default: %(default)s")
    against = (
        "what is right: FILE.py::FUNCTION on NumPy arrays, or the file of a kernel; default: the cases file says it"
    )
    sub.add_argument("--against", default="", metavar="REFERENCE", help=against)
    sub.add_argument("--sig", metavar="ARGS", help="for init: such as 'x: f32[M, N], out y: f32[M, N], n: i32 = N'")
    output = "a folder for one JSON file per candidate; for init: the cases file"
    sub.add_argument("-o", "--output", default="", metavar="OUT", help=output)
    sub.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    sub.add_argument("--log", metavar="FILE", help="keep results here; the same command continues where it was")
    kept = "write the kernels of accepted candidates to this folder, as they were judged, with their launches"
    sub.add_argument("--keep", default="", metavar="FOLDER", help=kept)
    sub.add_argument("--salt", type=at_least(int, 1), default=0, metavar="N", help="draw the inputs of an earlier run")
    sub.add_argument("--prove", action="store_true", help="also prove that it equals the kernel of --against")
    sub.add_argument("--time", metavar="ENGINE", help="also time it on this engine, such as cpu or gpu")
    sub.add_argument("--gpu", metavar="NAME", help="with --time: the GPU, such as h200, whose limits hold")
    add_limits(sub)


def add_limits(sub: argparse.ArgumentParser) -> None:
    """Add the options for limits and for many candidates."""
    sub.add_argument("--jobs", type=at_least(int, 1), metavar="N", help="candidates at a time; default: all cores")
    sub.add_argument("--shard", metavar="I/N", help="judge every N-th candidate, from the I-th on, counted from 0")
    sub.add_argument("--scheduler", metavar="URL", help="use the workers of a Dask scheduler; needs tilery[cluster]")
    seconds = "how long one launch may take; default: %(default)s"
    sub.add_argument("--seconds", type=at_least(float, 0), default=10.0, metavar="S", help=seconds)
    total = "the processor time that all launches of a candidate may take; default: %(default)s"
    sub.add_argument("--total-seconds", type=at_least(float, 0), default=120.0, metavar="S", help=total)
    compiling = "how long compiling may take, in a jail; default: %(default)s"
    sub.add_argument("--compile-seconds", type=at_least(float, 0), default=30.0, metavar="S", help=compiling)
    memory = "the bytes of memory that compiling may take; default: %(default)s"
    sub.add_argument("--compile-memory", type=at_least(int, 1), default=4 << 30, metavar="BYTES", help=memory)
    space = "the bytes of address space that a worker may take; default: %(default)s"
    sub.add_argument("--memory", type=at_least(int, 1), default=8 << 30, metavar="BYTES", help=space)
    sub.add_argument("--no-namespaces", action="store_true", help="compile in a process group with limits only")


def run(args: argparse.Namespace) -> int:
    """Judge kernels: are they right, and how fast are they."""
    if args.candidate == [INIT]:
        return init(args)
    if args.sig:
        raise CommandFailed("--sig is for `tilery judge init`")
    from ....judge.results import ACCEPTED, UNJUDGED, junit, table

    results = judge(args, shard(args.candidate, args.shard))
    if args.output:
        write_results(results, Path(args.output))
    if args.junit:
        write_output(args.junit, junit(results))
    write_output("-", as_json([each.as_dict() for each in results]) if args.json else table(results))
    if any(each.verdict == UNJUDGED for each in results):
        return 2
    return int(any(each.verdict != ACCEPTED for each in results))


def init(args: argparse.Namespace) -> int:
    """Write a cases file from a signature."""
    from ....judge.starting import EXAMPLE, start

    if not args.sig:
        raise CommandFailed(f"init needs --sig, such as '{EXAMPLE}'")
    write_output(args.output or "-", start(args.sig, args.against or "reference.py::reference"))
    return 0


def judge(args: argparse.Namespace, candidates: list[str]) -> list[Result]:
    """Judge candidates and return the results in their order."""
    from ....judge.batch import judge_all

    plan = make_plan(args)
    executor = None
    if args.scheduler:
        from ....reducer.cluster import connect

        executor = connect(args.scheduler).get_executor()
    found: dict[str, Result] = {}
    with progress(len(candidates), "candidates") as step:
        for result in judge_all(candidates, plan, executor=executor, jobs=args.jobs or 0, journal=args.log, step=step):
            found[result.candidate] = result
    return [found[name] for name in dict.fromkeys(candidates)]


def make_plan(args: argparse.Namespace) -> Any:
    """Return the plan that the options describe; the problem and the reference are checked here."""
    from ....judge.jail import Limits
    from ....judge.judging import DEFAULT_STAGES
    from ....judge.plan import Plan
    from ....judge.problem import read_problem

    problem = read_problem(args.cases)
    cases = Path(args.cases)
    against = args.against
    if against:
        file, colons, name = against.partition("::")
        against = str(Path(file).resolve()) + colons + name
    elif not problem.reference:
        raise TileError("nothing says what is right: pass --against, or set 'reference'", file=args.cases)
    stages = (*DEFAULT_STAGES, *(["prove"] if args.prove else []), *(["time"] if args.time else []))
    timing = {"engine": args.time, "gpu": args.gpu or ""} if args.time else {}
    limits = Limits(seconds=args.compile_seconds, cpu_seconds=int(args.compile_seconds) + 1, memory=args.compile_memory)
    return Plan(
        cases.read_text("utf-8"),
        str(cases.resolve().parent),
        against=against,
        salt=args.salt,
        stages=stages,
        limits=limits,
        seconds=args.seconds,
        total=args.total_seconds,
        memory=args.memory,
        plain=args.no_namespaces,
        timing=tuple(timing.items()),
        keep=str(Path(args.keep).resolve()) if args.keep else "",
    )


def shard(candidates: list[str], text: str | None) -> list[str]:
    """Return the candidates of a part of the work."""
    index, count = parse_shard(text) or (0, 1)
    return candidates[index::count]


def write_results(results: list[Result], folder: Path) -> None:
    """Write one JSON file per candidate."""
    from ....judge.results import file_name

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for result in results:
            replace_file(str(folder / f"{file_name(result.candidate)}.json"), as_json(result.as_dict()).encode())
    except OSError as error:
        raise CommandFailed(f"cannot write to '{folder}': {error.strerror}") from None
