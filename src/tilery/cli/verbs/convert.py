"""`tilery convert`: write bytecode of another version."""

from __future__ import annotations

import argparse

from ..files import open_text, write_bytecode
from ..options import Verbs, add_input, add_output, add_spelling, add_version


def add(verbs: Verbs) -> None:
    sub = verbs.add("convert", run, ["convert new.tileirbc --version 13.2 -o old.tileirbc"])
    add_input(sub)
    add_spelling(sub)
    add_output(sub)
    add_version(sub, "the bytecode version to write", required=True)


def run(args: argparse.Namespace) -> int:
    """Write bytecode of another version, or name what that version cannot express."""
    write_bytecode(open_text(args.file, args), args.output, args.version)
    return 0
