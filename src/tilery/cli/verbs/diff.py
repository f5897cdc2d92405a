"""`tilery diff`: compare two modules."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from ..files import open_text, write_output, write_painted
from ..options import Verbs, add_color, add_input, add_locs, add_spelling
from ..output import as_json, colors

if TYPE_CHECKING:
    from ...ops import Module


def add(verbs: Verbs) -> None:
    examples = ["diff old.tileirbc new.tileirbc", "diff kernel.mlir kernel.tileirbc"]
    sub = verbs.add("diff", run, examples, json_result=True)
    add_input(sub, "a", "b")
    add_spelling(sub)
    add_locs(sub, "also compare source locations, producer and module name")
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """Compare the structure of two files, each bytecode or text. Names and layout are ignored."""
    from ...verifier.explain import read_legal

    a, b = (read_legal(open_text(name, args)) for name in (args.a, args.b))
    why = first_difference(a, b, args.locs)
    if why is None:
        write_output("-", as_json({"equal": True, "difference": None, "edits": []}) if args.json else "")
        return 0
    from ...analysis.differences import compare, edits, unified

    rows = compare(a, b, args.locs)
    if args.json:
        write_output("-", as_json({"equal": False, "difference": why, "edits": edits(rows)}))
    else:
        text = "\n".join([f"first difference: {why}", *unified(rows, args.a, args.b)]) + "\n"
        if colors(args):
            from ..paint import by_line, diff_line

            write_painted(text, partial(by_line, diff_line))
        else:
            write_output("-", text)
    return 1


def first_difference(a: Module, b: Module, everything: bool) -> str | None:
    """Describe the first difference of two modules, or return None.

    Without `everything`, ignore what one of the formats does not keep.
    """
    from ...ir import difference, walk

    if not everything:
        for module in (a, b):
            module.producer, module.sym_name = None, ""
            for o in walk(module):
                o.loc = None
    return difference(a, b)
