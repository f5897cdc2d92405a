"""`tilery reduce`: make a module that shows a fault as small as possible."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....diag import TileError
from ...files import CommandFailed, in_file, open_text, read_input, write_output
from ...options import Verbs, add_input, add_spelling, at_least, version_option
from ...output import as_json, write_error
from ..run import SPEC, parse_grid

if TYPE_CHECKING:
    from ....ops import Module
    from ....reducer.case import Case, CaseLaunch
    from ....reducer.search import Reduction

EXAMPLES = [
    "reduce k.mlir --test './fails.sh'",
    "reduce k.tileirbc --crash tileiras --target sm_100 -o small.mlir",
    "reduce k.mlir --message 'same shape'",
    "reduce k.mlir --differs reference,cpu --grid 4 --arg x=randn:f32:4096 --arg y=zeros:f32:4096",
    "reduce k.mlir --sanitize race --grid 2 --arg zeros:i32:64",
    "reduce k.mlir --differs-after canonicalize,cse --arg x=rand:i32:64",
    "reduce k.mlir --differs prove --differs-after my-pass --grid 2 --arg x=zeros:f32:64 --arg y=zeros:f32:64",
    "reduce broken.tileirbc --bytes -o small.tileirbc",
]
INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""
PROVE = "prove"
"""The value of --differs that asks for a proof."""
TESTS = ("test", "crash", "message", "differs", "sanitize", "differs_after", "bytes")


def add(verbs: Verbs) -> None:
    sub = verbs.add("reduce", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    add_input(sub)
    add_spelling(sub)
    test = "a command that ends with status 0 if FILE, which comes last or is {}, is still interesting"
    sub.add_argument("--test", metavar="CMD", help=test)
    sub.add_argument("--crash", metavar="COMPILER", help="the compiler crashes or hangs; it is `tileiras`, or a path")
    message = "the verifier's errors match; with --crash, what the compiler says, and no crash is needed"
    sub.add_argument("--message", metavar="REGEX", help=message)
    differs = "two engines compute different bits; `prove`: --differs-after needs a proof, not other bits"
    sub.add_argument("--differs", metavar="A,B", help=differs)
    sub.add_argument("--sanitize", metavar="CHECKS", help="these checks of the sanitizer report a fault, and no others")
    sub.add_argument("--differs-after", metavar="PASSES", help="passes change what the kernel computes")
    sub.add_argument("--bytes", action="store_true", help="reduce bytes that no reader accepts; the message is kept")
    sub.add_argument("--target", default="sm_100", metavar="ARCH", help="for --crash; default: %(default)s")
    sub.add_argument("--level", type=int, choices=range(4), default=3, help="for --crash: its optimization level")
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", default="1", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    sub.add_argument("--version", type=version_option, metavar="X.Y", help="the bytecode version; default: the file's")
    seed = "for the order of attempts, rand and randn; default: 0"
    sub.add_argument("--seed", type=at_least(int, 0), default=0, metavar="N", help=seed)
    sub.add_argument(
        "--jobs", type=at_least(int, 1), default=0, metavar="N", help="tests at a time; default: all cores"
    )
    sub.add_argument("--seconds", type=at_least(float, 0), metavar="S", help="stop after S seconds with the smallest")
    limit = "the limit of one test, after which it is killed; default: 60"
    sub.add_argument("--test-seconds", type=at_least(float, 0), default=60.0, metavar="S", help=limit)
    log = "keep the outcomes of tests here; the same command goes on where it was interrupted"
    sub.add_argument("--log", metavar="FILE", help=log)
    sub.add_argument("-o", "--output", default="-", metavar="OUT", help="the output file; bytecode if it is .tileirbc")


def run(args: argparse.Namespace) -> int:
    """Make a module that shows a fault as small as possible."""
    check_options(args)
    if args.bytes:
        return reduce_bytes(args)
    from ....reducer.report import as_text, shown, summary

    source = open_text(args.file, args)
    with in_file(args.file):
        module = source.read()
        test = make_test(args, module.version or args.version)
        case = make_case(module, args)
        found = search(case, test, args)
    name = "reduced.mlir" if args.output == "-" else args.output
    made = shown(found.case, test, name)
    for file, data in made.arrays.items():
        write_output(str(Path(name).parent / file), data)
    if args.json:
        facts = {"operations": found.after.operations, "before": found.before.operations, "outcome": found.outcome}
        facts |= {"tests": found.tests, "complete": found.complete, "commands": made.commands, "text": made.text}
        write_output("-", as_json(facts))
    text = as_text(found, made)
    if args.output.endswith(".tileirbc"):
        from ....bytecode.writer import write

        write_output(args.output, write(found.case.module, found.case.module.version or args.version))
    elif not (args.json and args.output == "-"):
        write_output(args.output, text)
    write_error(summary(found) + "\n")
    return INTERRUPTED if found.interrupted else 0


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    chosen = [name for name in TESTS if getattr(args, name)]
    if not chosen:
        raise CommandFailed(
            "say what is interesting: --test, --crash, --message, --differs, --sanitize or --differs-after"
        )
    if args.differs == PROVE:
        if not args.differs_after:
            raise CommandFailed("--differs prove needs --differs-after: it compares a kernel before and after passes")
        chosen.remove("differs")
    allowed = ({"crash", "message"}, {"bytes", "message"}, {"bytes", "test"})
    if len(chosen) > 1 and set(chosen) not in allowed:
        raise CommandFailed(f"--{chosen[0]} and --{chosen[1]} contradict each other".replace("_", "-"))
    if args.message:
        import re

        try:
            re.compile(args.message)
        except re.error as error:
            raise CommandFailed(f"--message: not a regular expression: {error}") from None


def make_test(args: argparse.Namespace, version: Any) -> Any:
    """Return the test that the options ask for."""
    from ....reducer.oracles import (
        CommandOracle,
        Differs,
        DiffersAfter,
        Message,
        ProvenAfter,
        Sanitized,
        TileirasOracle,
        check_engines,
    )  # fmt: skip

    seconds = args.test_seconds
    if args.test:
        name = "candidate.tileirbc" if args.file.endswith(".tileirbc") else "candidate.mlir"
        return CommandOracle(args.test, name, version, seconds)
    if args.crash:
        return TileirasOracle(args.target, args.message or "", find_compiler(args.crash), args.level, seconds)
    if args.message:
        return Message(args.message)
    if args.differs and args.differs != PROVE:
        from ....engines.registry import ENGINES

        engines = args.differs.split(",")
        if len(engines) != 2 or any(name not in ENGINES for name in engines):
            raise CommandFailed(f"--differs: expected two of {', '.join(ENGINES)}, got '{args.differs}'")
        try:
            check_engines(engines)
        except TileError as error:
            raise CommandFailed(f"--differs: {error.message}") from None
        return Differs((engines[0], engines[1]), seconds)
    if args.differs_after:
        from ....passes import parse_pipeline

        try:
            parse_pipeline(args.differs_after)
        except TileError as error:
            raise CommandFailed(f"--differs-after: {error.message}") from None
        return (ProvenAfter if args.differs == PROVE else DiffersAfter)(args.differs_after, seconds)
    from ....sanitize.sanitizer import parse_checks

    try:
        parse_checks(args.sanitize)
    except TileError as error:
        raise CommandFailed(f"--sanitize: {error.message}") from None
    return Sanitized(args.sanitize, seconds)


def find_compiler(name: str) -> str:
    """Return the path of the program that `--crash` names, a path or a program of PATH; empty for tileiras."""
    from shutil import which

    from ....engines.tileiras.compiler import find_tool

    if name == "tileiras":
        find_tool()  # raises if it is not installed
        return ""
    here = Path(name).absolute()
    found = str(here) if here.is_file() else which(name)
    if found is None:
        raise CommandFailed(f"--crash: there is no program '{name}'")
    if which(found) is None:
        raise CommandFailed(f"--crash: '{name}' is not executable")
    return found


def make_case(module: Module, args: argparse.Namespace) -> Case:
    """Return the module, and the launch that the options describe if the test needs one."""
    from ....reducer.case import Case
    from ....reducer.oracles import with_steps

    if not (args.differs or args.sanitize or (args.differs_after and (args.arg or args.grid != "1"))):
        return Case(module)
    return with_steps(Case(module, make_launch(module, args)), args.test_seconds)


def make_launch(module: Module, args: argparse.Namespace) -> CaseLaunch:
    from ....engines.common.kernel import check_parameters, find_entry
    from ....engines.common.launch import check_grid
    from ....reducer.case import CaseLaunch
    from ...arguments import check_types, make_arguments

    try:
        entry = find_entry(module, args.entry)
        grid = check_grid(parse_grid(args.grid))
        params = check_parameters(entry)
    except TileError as error:
        raise CommandFailed(error.message) from None
    arguments = make_arguments(args.arg, args.seed)
    if len(arguments) != len(params):
        raise CommandFailed(f"@{entry.sym_name} takes {len(params)} arguments, got {len(arguments)}")
    check_types(arguments, params, None)
    uninit = frozenset(number for number, a in enumerate(arguments) if a.is_uninit)
    outputs = frozenset(number for number, a in enumerate(arguments) if a.is_output)
    return CaseLaunch(entry.sym_name, grid, tuple(a.value for a in arguments), uninit, outputs)


def search(case: Case, test: Any, args: argparse.Namespace) -> Reduction:
    """Reduce a case with a test, and show the current size on a terminal."""
    import os

    from ....reducer.oracles import Message
    from ....reducer.runners import CandidateRunner, Children, InProcess, Threads
    from ....reducer.search import Search
    from ....verifier.verify import verify
    from ...progress import current

    jobs = args.jobs or len(os.sched_getaffinity(0))
    legal = not isinstance(test, Message) and not verify(case.module, max_errors=1)
    version = args.version or case.module.version
    runner: CandidateRunner
    if isinstance(test, Message):
        runner = InProcess(test)
    elif test.waits:
        runner = Threads(test, jobs)
    else:
        runner = Children(test, jobs, 3 * args.test_seconds, version)
    with current() as say:
        try:
            return Search(
                case,
                runner,
                legal=legal,
                version=version,
                seed=args.seed,
                seconds=args.seconds,
                log=None if args.log is None else Path(args.log),
                observe=lambda smaller, step: say(f"{smaller.operations} operations, {step}"),
            ).run()
        finally:
            runner.close()


def reduce_bytes(args: argparse.Namespace) -> int:
    """Reduce bytes that no reader accepts."""
    from ....reducer.raw import command_test, message_test, reduce_raw
    from ...progress import current

    data = read_input(args.file)
    test = command_test(args.test, args.test_seconds) if args.test else message_test(data, args.message)
    with current() as say:
        found = reduce_raw(data, test, seconds=args.seconds, observe=lambda size: say(f"{size} bytes"))
    if args.json:
        facts = {"bytes": len(found.data), "before": len(data), "tests": found.tests, "hex": found.data.hex()}
        write_output("-", as_json(facts))
    elif args.output == "-":
        write_output("-", found.data.hex(" ") + "\n")
    if args.output != "-":
        write_output(args.output, found.data)
    write_error(f"{len(data)} bytes reduced to {len(found.data)}, {found.tests} tests\n")
    return 0
