"""`tilery dis`: print a file as text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..files import open_documented, open_input, write_output
from ..options import Verbs, add_input, add_locs, add_output, add_spelling
from ..output import report, show_text

if TYPE_CHECKING:
    from ...diag import TileError
    from ...ops import Module
    from ...source.input import Input


def add(verbs: Verbs) -> None:
    sub = verbs.add("dis", run, ["dis kernel.tileirbc", "dis -g --style opt kernel.tileirbc -o kernel.mlir"])
    add_input(sub)
    add_output(sub)
    add_locs(sub, "print source locations")
    styles = "the style of tileirdisasm (default) or cuda-tile-opt, MLIR's generic form, or that of the documents"
    sub.add_argument("--style", choices=["disasm", "opt", "generic", "documented"], default="disasm", help=styles)
    names = "names of values: those of tileirdisasm (default), or those of the documents"
    sub.add_argument("--names", choices=["disasm", "documented"], default="disasm", help=names)
    add_spelling(sub)
    sub.add_argument("--no-verify", action="store_true", help="do not verify the module")


def run(args: argparse.Namespace) -> int:
    """Print bytecode or text as text. An illegal module is printed too, with its errors on stderr."""
    errors: list[TileError] = []
    exact_locs = args.locs or "documented" in (args.style, args.names)
    opener = open_documented if args.input == "documented" else open_input
    if args.no_verify:
        module = opener(args.file).read(exact_locs=exact_locs)
    else:
        module, errors = read_unverified(opener(args.file), exact_locs)
    write_output(args.output, show_text(module, args))
    for error in errors:
        report(error, args.json)
    return int(bool(errors))


def read_unverified(source: Input, exact_locs: bool) -> tuple[Module, list[TileError]]:
    """Read a module, legal or not, and list its errors. Raise an error if it cannot be read at all."""
    from ...verifier.explain import check_input

    found = check_input(source, exact_locs=exact_locs)
    if found.module is None:
        raise found.errors[0]
    return found.module, found.errors
