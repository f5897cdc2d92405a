"""The parts of the command-line parser: verbs, their help, and options that several verbs share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..checking import TYPE_CHECKING
from ..diag import TileError, did_you_mean
from .output import for_stream

if TYPE_CHECKING:
    from typing import Any

    from ..version import Version


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


class OptionParser(argparse.ArgumentParser):
    """A parser that suggests the nearest verb, option or choice."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Help, **options)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if not unknown:
            return found
        parser = self._parser_of(found)
        word = unknown[0].partition("=")[0]
        hint = did_you_mean(word, parser._option_string_actions) if word.startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

    def _print_message(self, message: str, file: Any = None) -> None:
        # Argparse would ignore a full disk, and names of files may hold anything.
        stream = file or sys.stderr
        stream.write(for_stream(message, stream))

    def _parser_of(self, found: argparse.Namespace) -> argparse.ArgumentParser:
        """Return the parser of the verb that the command line names."""
        parser: argparse.ArgumentParser = self
        for name in (getattr(found, "verb", None), getattr(found, "subverb", None)):
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction) and name in action.choices:
                    parser = action.choices[name]
        return parser

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        hint = did_you_mean(str(value), known)
        if action.dest in ("verb", "subverb"):
            raise argparse.ArgumentError(None, f"there is no verb '{value}'{hint or '; `tilery help` lists all'}")
        raise argparse.ArgumentError(action, f"expected one of {', '.join(known)}, got '{value}'{hint}")


class Verbs:
    """The subcommands of a parser. Each is a function whose docstring is its summary."""

    def __init__(self, parser: argparse.ArgumentParser, dest: str = "verb") -> None:
        # Without `prog`, argparse would derive it with a help formatter, which is slow to import.
        self.parsers = parser.add_subparsers(dest=dest, metavar="VERB", required=True, prog=parser.prog)

    def add(
        self, name: str, run: Callable[[argparse.Namespace], int], examples: Sequence[str], json_result: bool = False
    ) -> argparse.ArgumentParser:
        lines = [f"  tilery {example}" for example in examples]
        epilog = "examples:\n" + "\n".join(lines)
        added = self.parsers.add_parser(name, help=run.__doc__, description=run.__doc__, epilog=epilog)
        added.set_defaults(run=run)
        what = "print the result and any error as JSON" if json_result else "print an error as JSON"
        added.add_argument("--json", action="store_true", help=what)
        return added

    def add_group(self, name: str, what: str) -> Verbs:
        """Add a verb that has verbs of its own."""
        return Verbs(self.parsers.add_parser(name, help=what, description=what), "subverb")


def add_version(parser: argparse.ArgumentParser, help: str, required: bool = False) -> None:
    parser.add_argument("--version", type=version_option, metavar="X.Y", required=required, help=help)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="the output file; default: stdout")


def add_input(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names or ("file",):
        parser.add_argument(name, metavar=name.upper(), help="bytecode, text or a recorded launch")


def add_spelling(parser: argparse.ArgumentParser) -> None:
    """Add the option for text in the spelling of documents."""
    help = "the spelling of text; `documented` is that of public documents about Tile IR; default: disasm"
    parser.add_argument("--input", choices=["disasm", "documented"], default="disasm", help=help)


def add_names(parser: argparse.ArgumentParser) -> None:
    """Add the option for names of values."""
    help = (
        "`source` names values after the variables of the source, as far as debug information leads to them; "
        "`documented` as public documents do"
    )
    parser.add_argument("--names", choices=["disasm", "source", "documented"], default="disasm", help=help)


def add_locs(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("-g", "--locs", action="store_true", help=help)


def add_color(parser: argparse.ArgumentParser) -> None:
    what = "when to use colours; default: on a terminal, unless NO_COLOR is set"
    parser.add_argument("--color", choices=["auto", "always", "never"], default="auto", help=what)


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the verbs of a parser with their parsers."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


class PrintVersion(argparse.Action):
    """Print the version."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        hidden = argparse.SUPPRESS  # it is no argument of the verbs
        super().__init__(option_strings, hidden, nargs=0, default=hidden, help="print tilery's version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from ..version import SUPPORTED

        own = sys.modules["tilery"].__version__
        sys.stdout.write(f"tilery {own}, bytecode {SUPPORTED[0]} to {SUPPORTED[-1]}\n")
        parser.exit()


def at_least(kind: type[int] | type[float], least: int) -> Callable[[str], int | float]:
    """Return a parser for a number of at least `least`."""

    def number(text: str) -> int | float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"expected at least {least}, got '{text}'")
        return value

    number.__name__ = kind.__name__  # argparse names it in its message
    return number
