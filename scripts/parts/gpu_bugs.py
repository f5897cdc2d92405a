"""Bugs of NVIDIA's compiler that random modules and hand-shaped kernels found, each with a reduced kernel.

A module is attributed to a bug only if its seed and the digest of its bytecode (of a hand-shaped kernel, of its text)
are listed here, which a person does after reducing it to the kernel. Every bundle also holds the reduced kernels, so
that each report shows which bugs the compiler of that day still has.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import checkout
import tilery
from tilery.attrs import IntAttr
from tilery.ops import Module
from tilery.smith import Buffer, Contract, Launch
from tilery.types import I32

FOLDER = checkout.LAB / "compiler_bugs"


@dataclass(frozen=True)
class Bug:
    """A bug: what the compiler does, the seed in which it was first seen, and the modules that were reduced to it."""

    name: str
    text: str
    compiler: str
    first_seed: int
    modules: dict[str, str] = field(default_factory=dict)
    """Name in the bundle (the seed) to digest of the bytecode."""

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.mlir"

    def module(self) -> Module:
        return tilery.parse(self.file.read_text("utf-8"))

    def contract(self) -> Contract:
        """Return how to launch the reduced kernel: one element to write, and n = 0."""
        return Contract((Launch(self.name, (1, 1, 1), (Buffer(I32, 1, written=True), IntAttr(I32, 0))),))


BUGS = (
    Bug(
        "return_in_two_loops",
        "A `return` in a `loop` inside a `loop` ends only the inner loop.",
        "tileiras 13.4.92",
        first_seed=20079,
    ),
    Bug(
        "continue_with_one_value_twice",
        "Two results of a `for` whose `continue` passes one value for both are assumed equal, even if the loop is not "
        "entered and they have different initial values.",
        "tileiras 13.4.92",
        first_seed=21100,
    ),
    Bug(
        "print_in_a_loop",
        "A `print_tko` of 512 bf16 elements in a `loop` may never return, it seems where several tile blocks print.",
        "tileiras 13.4.92",
        first_seed=11276,
    ),
    Bug(
        "return_in_a_loop_after_a_return",
        "A `return` in a `loop` is lost after an `if` that holds another one and whose condition is found to be false.",
        "tileiras 13.4.92",
        first_seed=9000799,
        modules={"9000799": "52b1c4359f16eb41"},
    ),
    Bug(
        "tf32_product_of_four_steps",
        "A product of tf32 with K = 4, for which the compiler uses an instruction of its own, is wrong in half of its "
        "elements: 64x4 by 4x16, with operands in any order of memory. With K from 8 on it is right.",
        "tileiras 13.4.92",
        first_seed=1000000984,
        modules={"product_rounding 1000000984": "c58353c58a39403c"},
    ),
)
REDUCED = {bug.name: bug for bug in BUGS}


def digest(bytecode: bytes) -> str:
    return hashlib.sha256(bytecode).hexdigest()[:16]


def known_bug(name: str, bytecode: bytes) -> Bug | None:
    """Return the bug to which exactly this module was reduced, or whose reduced kernel it is."""
    if name in REDUCED:
        return REDUCED[name]
    return next((bug for bug in BUGS if bug.modules.get(name) == digest(bytecode)), None)
