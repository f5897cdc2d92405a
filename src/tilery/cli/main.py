"""The command line: collect the verbs, run one, and return an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from ..checking import TYPE_CHECKING
from ..diag import TileError
from .files import CommandFailed, reason
from .output import abandon_stdout, prepare_streams, report
from .verbs import VERBS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def make_parser(only: str | None = None) -> ArgumentParser:
    """Make the parser of all verbs, or of one only: making all of them takes longer than printing a small file."""
    from .options import OptionParser, PrintVersion, Verbs

    parser = OptionParser(
        prog="tilery",
        description="Read, write, check, optimise and run CUDA Tile IR.",
        epilog="`tilery help VERB` shows the options of a verb, with examples.",
    )
    parser.add_argument("-V", "--version", action=PrintVersion)
    verbs = Verbs(parser)
    for name in [only] if only in VERBS else VERBS:
        import_module(f"{__package__}.verbs.{VERBS[name]}").add(verbs)
    return parser


def parse(argv: Sequence[str]) -> Namespace:
    """Parse the command line. `tilery dis FILE` needs no parser, which takes as long to make as to print the file."""
    if len(argv) == 2 and argv[0] == "dis" and not argv[1].startswith("-"):
        from .verbs.dis import plain

        return plain(argv[1])
    if not argv:
        argv = ["help"]
    if list(argv[:2]) == ["cpp", "run"] and "--" in argv:
        end = argv.index("--")
        args = make_parser("cpp").parse_args(argv[:end])
        args.arguments = argv[end + 1 :]
        return args
    return make_parser(argv[0]).parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    prepare_streams()
    try:
        try:
            args = parse(sys.argv[1:] if argv is None else argv)
            status: int = args.run(args)
            sys.stdout.flush()
            return status
        except (TileError, CommandFailed) as error:
            sys.stdout.flush()
            report(error, args.json)
            return 1 if isinstance(error, TileError) else 2
        except SystemExit:  # of the parser, which has printed its help, or of a script
            sys.stdout.flush()
            raise
    except BrokenPipeError:
        abandon_stdout()
        return 141
    except OSError as error:  # errors of files are CommandFailed by now
        abandon_stdout()
        sys.stderr.write(f"tilery: cannot write to stdout: {reason(error)}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:  # no input may lead here, so this is our bug
        import traceback

        traceback.print_exc()
        sys.stderr.write("tilery: this is a bug in tilery; please report it with the command and the file\n")
        return 70
