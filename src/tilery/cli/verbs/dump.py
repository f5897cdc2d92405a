"""`tilery dump`: an annotated hexdump of bytecode."""

from __future__ import annotations

import argparse

from ..files import in_file, read_input, write_output, write_painted
from ..options import Verbs, add_color
from ..output import colors


def add(verbs: Verbs) -> None:
    sub = verbs.add("dump", run, ["dump kernel.tileirbc", "dump - < kernel.tileirbc | less"])
    sub.add_argument("file", metavar="FILE", help="bytecode; a broken file is shown up to the error")
    what = "read a file or bare records in the layout of public documents; `asm --layout documented` writes files"
    sub.add_argument("--documented", action="store_true", help=what)
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """Show what every byte of a bytecode file means."""
    from ... import dump as annotate

    data = read_input(args.file)
    if args.documented:
        from ...documented import dump_records
        from ...documented.files import dump_file, is_documented_file

        found = dump_file(data) if is_documented_file(data) else dump_records(data)
    else:
        found = annotate(data)
    if colors(args):
        from ..paint import dump_line

        for line in found.lines():
            write_painted(line, lambda text: dump_line(text) + "\n")
    else:
        for line in found.lines():
            write_output("-", line + "\n")
    if found.error is not None:
        with in_file(args.file):
            raise found.error
    return 0
