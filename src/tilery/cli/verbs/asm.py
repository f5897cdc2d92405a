"""`tilery asm`: turn text into bytecode."""

from __future__ import annotations

import argparse

from ..files import in_file, open_text, write_bytecode, write_output
from ..options import Verbs, add_input, add_locs, add_output, add_spelling, add_version


def add(verbs: Verbs) -> None:
    sub = verbs.add("asm", run, ["asm -g kernel.mlir -o kernel.tileirbc", "asm --version 13.2 - < kernel.mlir > out"])
    add_input(sub)
    add_spelling(sub)
    add_output(sub)
    add_locs(sub, "write the lines of text as locations, for operations that have none")
    add_version(sub, "the bytecode version; default: the lowest that can express the file")
    layout = "`documented` writes the record layout of public documents, which only tilery reads; default: real"
    sub.add_argument("--layout", choices=["real", "documented"], default="real", help=layout)


def run(args: argparse.Namespace) -> int:
    """Turn text into bytecode."""
    source = open_text(args.file, args)
    if args.layout == "documented":
        from ...documented.files import write_file
        from ...verifier.explain import read_legal

        with in_file(args.file):
            write_output(args.output, write_file(read_legal(source)))
        return 0
    write_bytecode(source, args.output, args.version, args.locs)
    return 0
