"""What is generated: the functions that `tilery debug gen` prints, and the programs that the reference engine runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from typing import Any

from golden.launches import module_of
from golden.material import modules, parsed, stored
from golden.shown import outcome
from golden.table import group
from tilery.cli.verbs.debug import generated
from tilery.declare.operation import BY_NAME
from tilery.declare.relations import TOP_LEVEL
from tilery.engines.reference.program import Label, RegionCode, build
from tilery.engines.reference.registry import Executor
from tilery.ir import Op
from tilery.ops import Module
from tilery.verifier.verify import verify
from tilery.version import SUPPORTED

KINDS = ("decoder", "encoder", "printer", "parser")


@group("generated/functions")
def functions() -> Iterator[str]:
    """The functions that read, write, print and parse each operation, in each version that changes them."""
    for name, opdef in sorted(BY_NAME.items()):
        if opdef.has(TOP_LEVEL) or opdef.testing:
            continue
        for kind in KINDS:
            sources = (generated(kind, name, version) for version in SUPPORTED if opdef.since <= version)
            yield "\n".join(dict.fromkeys(sources))


@group("generated/programs", 2)
def programs(part: int) -> Iterator[str]:
    """The programs of kernels: instructions, slots, and what they hold at once."""
    launched = (module_of(row) for row in stored()["launches"])
    every: list[Module] = [*modules(), *parsed(), *launched]
    for m in islice(every, part, None, 2):
        for entry in m.entries if not verify(m) else ():
            yield outcome(lambda entry=entry: listing(build(entry, entry.body)))  # type: ignore[misc]  # a default binds


def listing(code: RegionCode) -> str:
    """List a program, with those of the bodies in it."""
    slots = sorted(code.slots.values())
    lines = [f"{code.params} {code.captured} {code.peak} {code.widest} {code.steady} {slots}"]
    for each in code.code:
        parts = [f"{f.name}={described(getattr(each, f.name))}" for f in fields(each)]
        lines.append(f"{type(each).__name__} {' '.join(parts)}")
    return "\n".join([*lines, *(f"body:\n{listing(body)}" for body in code.bodies.values())])


def described(value: Any) -> str:
    match value:
        case Op():
            return value.name
        case Label():
            return str(value.pc)
        case Executor():
            return f"{value.batch} {value.reuses}"
        case _:
            return str(value)
