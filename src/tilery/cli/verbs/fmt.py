"""`tilery fmt`: bring text into the standard form."""

from __future__ import annotations

import argparse
import re
import sys

from ...diag import TileError
from ..files import Stop, open_input, read_legal, write_output
from ..options import Verbs, add_locs
from ..output import show_text

_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*+"|(//)')


def add(verbs: Verbs) -> None:
    sub = verbs.add("fmt", run, ["fmt kernel.mlir", "fmt -i *.mlir", "fmt --check *.mlir"])
    sub.add_argument("files", metavar="FILE", nargs="+", help="text")
    how = sub.add_mutually_exclusive_group()
    how.add_argument("-i", "--in-place", action="store_true", help="write each file back")
    how.add_argument("--check", action="store_true", help="write nothing, name the files that would change, exit 1")
    add_locs(sub, "keep source locations")
    sub.add_argument("--drop-comments", action="store_true", help="with -i: format files whose comments would be lost")


def run(args: argparse.Namespace) -> int:
    """Bring text into the standard form."""
    if args.in_place and "-" in args.files:
        raise Stop("-i writes files back, stdin is none")
    wrong = 0
    for name in args.files:
        old, new = formatted(name, args)
        if args.check:
            if new != old:
                sys.stderr.write(f"{name}: not in the standard form\n")
                wrong = 1
        elif not args.in_place:
            write_output("-", new)
        elif new != old:
            replace(name, old, new, args.drop_comments)
    return wrong


def formatted(name: str, args: argparse.Namespace) -> tuple[bytes, bytes]:
    """Return the content of a file, and the same in the standard form."""
    from ...source.input import Kind

    source = open_input(name)
    if source.kind is Kind.BYTECODE:
        raise TileError("this is bytecode; `tilery dis` prints it as text", file=name)
    return source.data, show_text(read_legal(source), args).encode("utf-8", "surrogateescape")


def replace(name: str, old: bytes, new: bytes, drop_comments: bool) -> None:
    """Write a file back, unless comments would be lost."""
    if (lost := comments(old)) and not drop_comments:
        raise TileError(
            f"{lost} comments would be lost, the file is left as it is",
            file=name,
            notes=("pass --drop-comments to format it all the same",),
        )
    write_output(name, new)


def comments(data: bytes) -> int:
    """The number of comments in a text.

    >>> comments(b'// one\\nprint "no // comment" // two')
    2
    """
    return len([1 for line in data.splitlines() if any(match[1] for match in _COMMENT.finditer(line))])
