"""`tilery fmt`: format text."""

from __future__ import annotations

import argparse

from ....diag import TileError
from ...files import CommandFailed, open_documented, open_input, write_output
from ...options import Verbs, add_spelling
from ...output import write_error

EXAMPLES = ["fmt kernel.mlir", "fmt -i *.mlir", "fmt --check *.mlir", "fmt --lines 10:20 - < kernel.mlir"]


def add(verbs: Verbs) -> None:
    sub = verbs.add("fmt", run, EXAMPLES)
    sub.add_argument("files", metavar="FILE", nargs="+", help="text")
    add_spelling(sub)
    how = sub.add_mutually_exclusive_group()
    how.add_argument("-i", "--in-place", action="store_true", help="write each file back")
    how.add_argument(
        "--check", action="store_true", help="write nothing; name the files that would change, and exit with 1"
    )
    sub.add_argument(
        "--lines", type=line_range, metavar="FIRST:LAST", help="format only the statements in these lines of a file"
    )
    sub.add_argument("--drop-comments", action="store_true", help="leave comments out")
    # Source locations are kept anyway, but older scripts pass this.
    sub.add_argument("-g", "--locs", action="store_true", help=argparse.SUPPRESS)


def line_range(text: str) -> tuple[int, int]:
    """Parse `FIRST:LAST`, two line numbers from one on."""
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"expected two line numbers such as 10:20, got '{text}'")
    return int(first), int(last)


def run(args: argparse.Namespace) -> int:
    """Format text: names, comments and the meaning stay, blanks and line breaks follow rules."""
    if args.in_place and "-" in args.files:
        raise CommandFailed("-i writes files back, but stdin is not a file")
    if args.lines and len(args.files) > 1:
        raise CommandFailed("--lines is about one file")
    if args.lines and args.input == "documented":
        raise CommandFailed(
            "--lines is about text in the real spelling; --input documented changes the spelling everywhere"
        )
    wrong = 0
    for name in args.files:
        old, new = formatted(name, args)
        if args.check:
            if new != old:
                write_error(f"{name}: not formatted\n")
                wrong = 1
        elif not args.in_place:
            write_output("-", new)
        elif new != old:
            write_output(name, new)
    return wrong


def formatted(name: str, args: argparse.Namespace) -> tuple[bytes, bytes]:
    """Return the content of a file and its formatted content."""
    from ....source.input import Kind
    from ....text.lossless.format import format_text

    if args.input == "documented":
        return respelled(name, args)
    source = open_input(name)
    if source.kind is Kind.BYTECODE:
        raise TileError("this is bytecode; `tilery dis` prints it as text", file=name)
    if source.text is None:
        if not source.data.strip():
            return source.data, b""
        raise TileError("this is not text: it is not UTF-8, or has zero bytes", file=source.file)
    new = format_text(source.text, file=source.file, lines=args.lines, keep_comments=not args.drop_comments)
    return source.data, new.encode("utf-8", "surrogateescape")


def respelled(name: str, args: argparse.Namespace) -> tuple[bytes, bytes]:
    """Return text in the spelling of documents, and the same in the real one, formatted."""
    from ....documented.respelling import respell
    from ....text.lossless.format import format_text

    source = open_documented(name)
    assert source.text is not None
    text = format_text(respell(source.text, file=source.file), file=source.file, keep_comments=not args.drop_comments)
    return source.text.encode("utf-8", "surrogateescape"), text.encode("utf-8", "surrogateescape")
