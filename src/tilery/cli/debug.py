"""`tilery debug`: how tilery itself works, for its engineers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..declare.operation import OpDef
from ..declare.relations import TOP_LEVEL
from ..version import Version
from .files import Stop

# What is generated for an operation, and the function that gives its source; imported when asked for.
GENERATORS = {
    "decoder": "bytecode.decoders:decoder_source",
    "encoder": "bytecode.encoders:encoder_source",
    "printer": "text.print.quick_lines:printer_source",
    "parser": "text.parse.quick_forms:parser_source",
}


def generated(kind: str, name: str, version: Version) -> str:
    """The source of a function that is made from an operation's declaration."""
    from .show import known_op

    opdef = known_op(name, version)
    if opdef.has(TOP_LEVEL):
        raise Stop(f"'{opdef.mnemonic}' is a part of the file's structure, nothing is generated for it")
    module, _, function = GENERATORS[kind].partition(":")
    source: Callable[[OpDef, Version], str] = getattr(import_module(f"tilery.{module}"), function)
    return source(opdef, version)
