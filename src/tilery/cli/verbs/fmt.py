"""`tilery fmt`: format text."""

from __future__ import annotations

import argparse
import re
import sys

from ...diag import TileError
from ..files import Stop, open_text, write_output
from ..options import Verbs, add_locs, add_spelling
from ..output import show_text


def add(verbs: Verbs) -> None:
    sub = verbs.add("fmt", run, ["fmt kernel.mlir", "fmt -i *.mlir", "fmt --check *.mlir"])
    sub.add_argument("files", metavar="FILE", nargs="+", help="text")
    add_spelling(sub)
    add_spelling(sub)
    how = sub.add_mutually_exclusive_group()
    how.add_argument("-i", "--in-place", action="store_true", help="write each file back")
    how.add_argument(
        "--check", action="store_true", help="write nothing; name the files that would change, and exit with 1"
    )
    add_locs(sub, "keep source locations")
    sub.add_argument("--drop-comments", action="store_true", help="with -i: format files even if comments are lost")


def run(args: argparse.Namespace) -> int:
    """Format text in the standard style."""
    if args.in_place and "-" in args.files:
        raise Stop("-i writes files back, but stdin is not a file")
    wrong = 0
    for name in args.files:
        old, new = formatted(name, args)
        if args.check:
            if new != old:
                sys.stderr.write(f"{name}: not formatted\n")
                wrong = 1
        elif not args.in_place:
            write_output("-", new)
        elif new != old:
            replace(name, old, new, args.drop_comments)
    return wrong


def formatted(name: str, args: argparse.Namespace) -> tuple[bytes, bytes]:
    """Return the content of a file and its formatted content."""
    from ...source.input import Kind
    from ...verifier.explain import read_legal

    source = open_text(name, args)
    if source.kind is Kind.BYTECODE:
        raise TileError("this is bytecode; `tilery dis` prints it as text", file=name)
    return source.data, show_text(read_legal(source), args).encode("utf-8", "surrogateescape")


def replace(name: str, old: bytes, new: bytes, drop_comments: bool) -> None:
    """Write a file back, unless comments would be lost."""
    if (lost := comments(old)) and not drop_comments:
        raise TileError(
            f"formatting would lose {lost} comments; the file is unchanged",
            file=name,
            notes=("pass --drop-comments to format it anyway",),
        )
    write_output(name, new)


def comments(data: bytes) -> int:
    """Count the comments in a text.

    >>> comments(b'// one\\nprint "no // comment" // two')
    2
    """
    comment = re.compile(rb'"(?:\\.|[^"\\\n])*+"|(//)')  # a string, or a comment
    return sum(any(match[1] for match in comment.finditer(line)) for line in data.splitlines())
