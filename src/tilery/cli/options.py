"""The parts of the command-line parser: verbs, their help, and options that several verbs share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..diag import TileError

if TYPE_CHECKING:
    from ..version import Version

EXIT = """\
exit status:
  0  success
  1  the input is wrong (or differs, or is not formatted)
  2  the command line is wrong, or a file cannot be read or written
  70 a bug in tilery
  130 interrupted

`-` is stdin or stdout. Colours are used only on a terminal, and never if NO_COLOR is set.
"""


def version_option(text: str) -> Version:
    from ..version import Version

    try:
        return Version.parse(text)
    except TileError as error:
        raise argparse.ArgumentTypeError(error.message) from None


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. Argparse makes a formatter for each option, so finding the width must be fast."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else 0
        if not width and sys.__stdout__ is not None:
            with suppress(OSError, ValueError):  # no terminal, or closed
                width = os.get_terminal_size(sys.__stdout__.fileno()).columns
        super().__init__(prog, width=(width or 80) - 2)


class Verbs:
    """The subcommands of a parser. Each is a function whose docstring is its summary."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        # Without `prog`, argparse would derive it with a help formatter, which is slow to import.
        self.parsers = parser.add_subparsers(dest="verb", metavar="VERB", required=True, prog=parser.prog)

    def add(
        self, name: str, run: Callable[[argparse.Namespace], int], examples: Sequence[str], json_result: bool = False
    ) -> argparse.ArgumentParser:
        lines = [f"  tilery {example}" for example in examples]
        added = self.parsers.add_parser(
            name,
            help=run.__doc__,
            description=run.__doc__,
            epilog="examples:\n" + "\n".join(lines) + "\n\n" + EXIT,
            formatter_class=Help,
        )
        added.set_defaults(run=run)
        what = "print the result and any error as JSON" if json_result else "print an error as JSON"
        added.add_argument("--json", action="store_true", help=what)
        return added

    def add_group(self, name: str, what: str) -> Verbs:
        """Add a verb that has verbs of its own."""
        group = self.parsers.add_parser(name, help=what, description=what, epilog=EXIT, formatter_class=Help)
        return Verbs(group)


def add_version(parser: argparse.ArgumentParser, help: str, required: bool = False) -> None:
    parser.add_argument("--version", type=version_option, metavar="X.Y", required=required, help=help)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="the output file; default: stdout")


def add_input(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names or ("file",):
        parser.add_argument(name, metavar=name.upper(), help="bytecode or text")


def add_spelling(parser: argparse.ArgumentParser) -> None:
    what = "accept the spelling of NVIDIA's tools (default), or also that of the documents"
    parser.add_argument("--input", choices=["disasm", "documented"], default="disasm", help=what)


def add_locs(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("-g", "--locs", action="store_true", help=help)


def add_color(parser: argparse.ArgumentParser) -> None:
    what = "when to use colours; default: on a terminal, unless NO_COLOR is set"
    parser.add_argument("--color", choices=["auto", "always", "never"], default="auto", help=what)


class PrintVersion(argparse.Action):
    """Print the version. The metadata is looked up only when it is needed."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print tilery's version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        from ..version import SUPPORTED

        try:
            own = version("tilery")
        except PackageNotFoundError:
            own = "(not installed)"
        sys.stdout.write(f"tilery {own}, bytecode {SUPPORTED[0]} to {SUPPORTED[-1]}\n")
        parser.exit()
