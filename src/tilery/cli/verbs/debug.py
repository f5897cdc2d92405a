"""`tilery debug`: a look inside tilery, for its developers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ..files import Stop, write_output
from ..options import Verbs, add_version

if TYPE_CHECKING:
    from ...declare.operation import OpDef
    from ...version import Version

# What is generated for an operation, and the function that returns its source; imported when first used.
GENERATORS = {
    "decoder": "bytecode.decoders:decoder_source",
    "encoder": "bytecode.encoders:encoder_source",
    "printer": "text.print.quick_lines:printer_source",
    "parser": "text.parse.fast.forms:parser_source",
}


def add(verbs: Verbs) -> None:
    sub = verbs.add("debug", run, ["debug gen --decoder negi --version 13.3", "debug gen --encoder addi"])
    sub.add_argument("what", metavar="WHAT", choices=["gen"], help="gen: print generated source")
    uses = {"decoder": "reads bytecode", "encoder": "writes bytecode", "printer": "prints text"}
    for kind, use in {**uses, "parser": "parses text"}.items():
        sub.add_argument(f"--{kind}", metavar="OP", help=f"the function that {use}")
    add_version(sub, "the bytecode version; default: the latest")


def run(args: argparse.Namespace) -> int:
    """Print the source that tilery generates for an operation."""
    from ...version import LATEST

    wanted = [(kind, name) for kind in GENERATORS if (name := getattr(args, kind)) is not None]
    if not wanted:
        raise Stop("debug gen needs an operation, such as --decoder addi")
    write_output("-", "\n".join(generated(kind, name, args.version or LATEST) for kind, name in wanted))
    return 0


def generated(kind: str, name: str, version: Version) -> str:
    """Return the source of a function that is generated from an operation's declaration."""
    from ...declare.relations import TOP_LEVEL
    from .ops import known_op

    opdef = known_op(name, version)
    if opdef.has(TOP_LEVEL):
        raise Stop(f"'{opdef.mnemonic}' is part of the file's structure; nothing is generated for it")
    module, _, function = GENERATORS[kind].partition(":")
    source: Callable[[OpDef, Version], str] = getattr(import_module(f"tilery.{module}"), function)
    return source(opdef, version)
