"""Translate a kernel: from the text of Triton IR to a module of Tile IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ops import Module
from .control import kernel_block
from .translator import Translator


@dataclass(slots=True)
class Translated:
    """A kernel in Tile IR, with the names of its parameters and of the operations that it was made from."""

    module: Module
    entry: str
    names: list[str]
    operations: set[str]


def translate(text: str, *, strict: bool = False) -> Translated:
    """Translate a module of Triton IR, in MLIR's generic text, to Tile IR."""
    t = Translator(text, strict)
    block = t.entry.regions[0][0]
    for arg in block.args:
        arg.owner = None
    t.loc = t.places.of(t.entry.loc)
    # Parameters are numbered here, because a name may not be one of Python.
    kinds: dict[str, Any] = {f"a{number}": t.tile(arg) for number, arg in enumerate(block.args)}
    region = t.builder.entry(t.name, **kinds)
    t.builder.module.entry(t.name).loc = t.loc
    with region as parameters:
        t.values.update(zip(block.args, parameters))
        kernel_block(t, block)
    return Translated(t.builder.module, t.name, [arg.name[1:] for arg in block.args], t.used)
