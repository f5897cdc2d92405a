"""Modules that contain each operation, generated from the table of operations, and what Triton makes of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import tilery
from text.test_printer import module as example_module
from tilery.declare.operation import OpDef
from tilery.engines.triton.compiler import CompileProcess, compile_entry
from tilery.engines.triton.versions import Dialect
from tilery.ir import walk
from tilery.ops import Module
from tilery.smith import smith

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120", "gfx942", "gfx1100")
SEEDS = 3


class Outcome(NamedTuple):
    """The outcome of a kernel: compiled, or why not; `ours` if the engine refused it before Triton saw it."""

    compiled: bool
    reason: str = ""
    ours: bool = False


def battery(opdef: OpDef, seeds: int = SEEDS) -> Iterator[Module]:
    """The example of an operation, and random modules that have it, with the types that the generator draws."""
    yield example_module(textwrap.dedent(opdef.example).strip())
    for seed in range(seeds):
        module = smith(seed, size=8, mix={opdef.mnemonic: 1})
        if any(o.opdef is opdef for o in walk(module)):
            yield module


def outcomes(module: Module, target: str, child: CompileProcess, dialect: Dialect | None = None) -> Iterator[Outcome]:
    """Compile every kernel of a module."""
    for entry in module.entries:
        try:
            compile_entry(module, entry.sym_name, target=target, compiler=child, dialect=dialect)
        except tilery.TileError as error:
            name = f"@{entry.sym_name}"
            reason = (
                " ".join([error.message, *error.notes[:1]]).replace(name, "the kernel").replace(target, "the target")
            )
            yield Outcome(False, reason, "the Triton engine cannot compile this" in error.message)
        else:
            yield Outcome(True)
