"""`tilery diff`: compare two modules."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..files import open_input, write_output
from ..options import Verbs, add_input, add_locs
from ..output import as_json, show_text

if TYPE_CHECKING:
    from ...ops import Module


def add(verbs: Verbs) -> None:
    examples = ["diff old.tileirbc new.tileirbc", "diff kernel.mlir kernel.tileirbc"]
    sub = verbs.add("diff", run, examples, json_result=True)
    add_input(sub, "a", "b")
    add_locs(sub, "also compare source locations, producer and module name")


def run(args: argparse.Namespace) -> int:
    """Compare the structure of two files, each bytecode or text. Names and layout are ignored."""
    from ...verifier.explain import read_legal

    a, b = (read_legal(open_input(name)) for name in (args.a, args.b))
    why = first_difference(a, b, args.locs)
    if args.json:
        write_output("-", as_json({"equal": why is None, "difference": why}))
    elif why is not None:
        text = unified(show_text(a, args), show_text(b, args), args.a, args.b)
        write_output("-", f"first difference: {why}\n{text}")
    return int(why is not None)


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


def unified(a: str, b: str, name_a: str, name_b: str) -> str:
    """Return a unified diff of two texts."""
    from difflib import unified_diff

    lines = unified_diff(a.splitlines(True), b.splitlines(True), name_a, name_b)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
