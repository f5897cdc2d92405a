"""`tilery asm`: turn text into bytecode."""

from __future__ import annotations

import argparse

from ..files import open_text, write_bytecode
from ..options import Verbs, add_input, add_locs, add_output, add_spelling, add_version


def add(verbs: Verbs) -> None:
    sub = verbs.add("asm", run, ["asm -g kernel.mlir -o kernel.tileirbc", "asm --version 13.2 - < kernel.mlir > out"])
    add_input(sub)
    add_spelling(sub)
    add_output(sub)
    add_locs(sub, "write the lines of text as locations, for operations that have none")
    add_version(sub, "the bytecode version; default: the lowest that can express the file")


def run(args: argparse.Namespace) -> int:
    """Turn text into bytecode."""
    source = open_text(args.file, args)
    write_bytecode(source, args.output, args.version, args.locs)
    return 0
