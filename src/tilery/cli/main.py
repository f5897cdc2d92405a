"""The command line: collect the verbs, run one, and return an exit status."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from ..diag import TileError, enough_memory
from .files import Stop, reason
from .options import EXIT, Help, PrintVersion, Verbs
from .output import abandon_stdout, prepare_streams, report
from .verbs import VERBS


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of all verbs, or of one only: making all of them takes longer than printing a small file."""
    parser = argparse.ArgumentParser(
        prog="tilery",
        description="Read, write and inspect CUDA Tile IR.",
        epilog="`tilery VERB --help` shows the options of a verb, with examples.\n\n" + EXIT,
        formatter_class=Help,
    )
    parser.add_argument("--version", action=PrintVersion)
    verbs = Verbs(parser)
    for name in [only] if only in VERBS else VERBS:
        import_module(f"{__package__}.verbs.{name}").add(verbs)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    prepare_streams()
    try:
        argv = sys.argv[1:] if argv is None else argv
        args = make_parser(argv[0] if argv else None).parse_args(argv)
        try:
            with enough_memory(f"run 'tilery {args.verb}'"):
                status: int = args.run(args)
            sys.stdout.flush()
            return status
        except (TileError, Stop) as error:
            sys.stdout.flush()
            report(error, args.json)
            return 1 if isinstance(error, TileError) else 2
    except BrokenPipeError:
        abandon_stdout()
        return 141
    except OSError as error:  # errors of files are Stop by now
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


def program() -> int:
    """Run the command as a process of its own, which ends so soon that collecting garbage is rarely worth it."""
    gc.set_threshold(500_000)
    status = main()
    gc.freeze()  # the process ends now; freeing a large module takes as long as printing it
    return status


if __name__ == "__main__":
    raise SystemExit(program())
