"""Random index arithmetic on small tiles of i8, where wrap-around is common: food for analyses of integers."""

from __future__ import annotations

import random

from tilery import parse
from tilery.attrs import IntAttr
from tilery.ops import Module
from tilery.smith import Contract, Launch
from tilery.types import I8

SIZE = 16
TILE = f"tile<{SIZE}xi8>"
BINARY = ["addi", "subi", "muli", "andi", "ori", "xori"]
SIGNED = ["divi", "remi", "mini", "maxi", "shri"]
PREDICATES = ["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"]
NUMBERS = [-128, -16, -8, -1, 0, 1, 2, 3, 4, 5, 8, 12, 16, 32, 64, 127]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.values: list[str] = []
        self.masks: list[str] = []

    def put(self, text: str, type: str = TILE) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        if type == TILE:
            self.values.append(name)
        return name

    def any(self) -> str:
        return self.rng.choice(self.values[-12:])

    def step(self) -> None:
        pick = self.rng.choice
        sign = pick(["signed", "unsigned"])
        match self.rng.randrange(9):
            case 0 | 1 | 2:
                self.put(f"{pick(BINARY)} {self.any()}, {self.any()} : {TILE}")
            case 3 | 4:
                self.put(f"{pick(SIGNED)} {self.any()}, {self.any()} {sign} : {TILE}")
            case 5:
                by = self.put(f"constant <i8: {pick([1, 2, 3, 4, 8, 16])}> : {TILE}")
                self.put(f"{pick(SIGNED)} {self.any()}, {by} {sign} : {TILE}")
            case 6:
                compare = f"cmpi {pick(PREDICATES)} {self.any()}, {self.any()}, {sign} : {TILE} -> tile<{SIZE}xi1>"
                mask = self.put(compare, "mask")
                self.put(f"select {mask}, {self.any()}, {self.any()} : tile<{SIZE}xi1>, {TILE}")
            case 7:
                wide = self.put(f"exti {self.any()} {sign} : {TILE} -> tile<{SIZE}xi32>", "wide")
                shape = pick([(2, 8), (4, 4), (16, 1), (1, 16)])
                tile = f"tile<{shape[0]}x{shape[1]}xi32>"
                box = self.put(f"reshape {wide} : tile<{SIZE}xi32> -> {tile}", "box")
                turned = f"tile<{shape[1]}x{shape[0]}xi32>"
                box = self.put(f"permute {box} [1, 0] : {tile} -> {turned}", "box")
                flat = self.put(f"reshape {box} : {turned} -> tile<{SIZE}xi32>", "wide")
                self.put(f"trunci {flat} : tile<{SIZE}xi32> -> {TILE}")
            case _:
                self.put(f"shli {self.any()}, {self.put(f'constant <i8: {pick([0, 1, 3, 4])}> : {TILE}')} : {TILE}")


def index_arithmetic(seed: int, steps: int = 40) -> tuple[Module, Contract]:
    """A random module of integer arithmetic, and how to execute it."""
    w = _Writer(seed)
    w.put(f"iota : {TILE}")
    for number in w.rng.sample(NUMBERS, 4):
        w.put(f"constant <i8: {number}> : {TILE}")
    for name in ("%a", "%b"):
        one = w.put(f"reshape {name} : tile<i8> -> tile<1xi8>", "one")
        w.put(f"broadcast {one} : tile<1xi8> -> {TILE}")
    for _ in range(steps):
        w.step()
    text = "entry @k(%a: tile<i8>, %b: tile<i8>) {\n" + "\n".join(w.lines) + "\nreturn }"
    args = tuple(IntAttr.of(I8, w.rng.choice(NUMBERS)) for _ in range(2))
    return parse(text), Contract((Launch("k", (1, 1, 1), args),))
