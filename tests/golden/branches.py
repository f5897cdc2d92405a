"""Random kernels of few values: the same conditions again and again, and rows of branches on them."""

from __future__ import annotations

import random

from golden.expressions import PREDICATES, SIGNS

ARGUMENTS = "%p: tile<i1>, %q: tile<i1>, %x: tile<i32>, %y: tile<i32>, %o: tile<ptr<i32>>"
CONSTANTS = (
    *(f"%c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 7)),
    "%all = constant <i32: -1> : tile<i32>",
    "%true = constant <i1: true> : tile<i1>",
    "%not = xori %p, %true : tile<i1>",
)
NUMBERS, MASKS = ("%x", "%y", "%c0", "%c1", "%c7", "%all"), ("%p", "%p", "%q", "%not", "%true")
TYPES = {"i32": "tile<i32>", "i1": "tile<i1>"}


def choice_kernel(rng: random.Random) -> str:
    """Return a kernel that selects again and again between two numbers on two conditions."""
    pick, numbers, masks = rng.choice, list(NUMBERS), list(MASKS)
    lines = list(CONSTANTS)
    for at in range(rng.randrange(4, 14)):
        # Mostly of what was made last, so that choices nest.
        number = [pick((pick(numbers), numbers[-1])) for _ in range(2)]
        mask = [pick((pick(masks), masks[-1], "%p")) for _ in range(3)]
        sign = pick(SIGNS)
        texts = {
            "i32": (
                f"select {mask[0]}, {number[0]}, {number[1]} : tile<i1>, tile<i32>",
                f"select {mask[0]}, {number[1]}, {number[0]} : tile<i1>, tile<i32>",
                f"{pick(('mini', 'maxi'))} {number[0]}, {number[1]} {sign} : tile<i32>",
                f"{pick(('addi', 'subi', 'muli', 'andi', 'ori', 'xori'))} {number[0]}, {number[1]} : tile<i32>",
                f"exti {mask[0]} {sign} : tile<i1> -> tile<i32>",
            ),
            "i1": (
                f"select {mask[0]}, {mask[1]}, {mask[2]} : tile<i1>, tile<i1>",
                f"{pick(('andi', 'ori', 'xori'))} {mask[0]}, {mask[1]} : tile<i1>",
                f"xori {mask[0]}, %true : tile<i1>",
                f"cmpi {pick(PREDICATES)} {number[0]}, {number[1]}, {sign} : tile<i32> -> tile<i1>",
            ),
        }
        kind = pick(("i32", "i1"))
        lines.append(f"%v{at} = {pick(texts[kind])}")
        (numbers if kind == "i32" else masks).append(f"%v{at}")
    chosen = f"%r = select {masks[-1]}, {numbers[-1]}, {numbers[-2]} : tile<i1>, tile<i32>"
    return kernel([*lines, chosen, *stored("%r")])


def branch_kernel(rng: random.Random) -> str:
    """Return a kernel with rows of branches on the same condition, which use each other's results and may leave."""
    pick, numbers = rng.choice, list(NUMBERS)
    lines = list(CONSTANTS)
    condition = pick(("%p", "%q", "%not"))
    long = rng.random() < 0.2
    for at in range(rng.randrange(8, 20) if long else rng.randrange(2, 6)):
        if rng.random() < (0.1 if long else 0.3):
            condition = pick(MASKS)
        results = pick((1, 2, 2)) if long else rng.randrange(3)
        branches = [branch(rng, numbers, results, at == 3) for _ in range(2)]
        if not results and rng.random() < 0.4:
            branches = branches[:1] if rng.random() < 0.5 else [branches[0], "yield"]
        shown = " else ".join(f"{{\n{each}\n}}" for each in branches)
        if results:
            names = ", ".join(f"%r{at}_{n}" for n in range(results)) if results == 1 else f"%r{at}:{results}"
            types = ", ".join(["tile<i32>"] * results)
            lines.append(f"{names} = if {condition} -> ({types}) {shown}")
            numbers += [f"%r{at}_0"] if results == 1 else [f"%r{at}#{n}" for n in range(results)]
        else:
            lines.append(f"if {condition} {shown}")
        if not long and rng.random() < 0.2:
            lines.append(f"%w{at} = addi {pick(numbers)}, %x : tile<i32>")
            numbers.append(f"%w{at}")
    used = numbers[6:][-4:] or ["%x"]
    return kernel([*lines, *(line for value in used for line in stored(value))])


def long_row(results: int, count: int) -> str:
    """Return a kernel with so many branches in a row on one condition, each with so many results that have effects."""
    lines = list(CONSTANTS)
    for at in range(count):
        inside = [f'print_tko "%d", %x : tile<i32> -> token\n%in{n} = addi %x, %c{n} : tile<i32>' for n in (0, 1, 7)]
        yields = [
            f"yield {', '.join(['%in' + str((0, 1, 7)[(n + more) % 3]) for n in range(results)])}" for more in (0, 1)
        ]
        types = ", ".join(["tile<i32>"] * results)
        arms = [f"{{\n{chr(10).join(inside)}\n{each} : {types}\n}}" for each in yields]
        lines.append(f"%r{at}:{results} = if %p -> ({types}) {arms[0]} else {arms[1]}")
    return kernel([*lines, *(line for at in range(count) for n in range(results) for line in stored(f"%r{at}#{n}"))])


def branch(rng: random.Random, numbers: list[str], results: int, may_leave: bool) -> str:
    """Return the operations of a branch with so many results."""
    pick, own, lines = rng.choice, list(numbers), list[str]()
    if rng.random() < 0.5:
        lines.append(f"%in = {pick(('addi', 'subi', 'xori'))} {pick(own[-4:])}, {pick(own)} : tile<i32>")
        own.append("%in")
    if rng.random() < 0.3:
        lines.append(f'print_tko "%d", {pick(own[-3:])} : tile<i32> -> token')
    if rng.random() < 0.2:
        lines.append(f"if %q {{\n{chr(10).join(stored(pick(own)))}\n}}")
    if may_leave and rng.random() < 0.5:
        return "\n".join([*lines, "return"])
    values = ", ".join(pick(own[-3:]) for _ in range(results))
    types = ", ".join(["tile<i32>"] * results)
    return "\n".join([*lines, f"yield {values} : {types}" if results else "yield"])


def stored(value: str) -> list[str]:
    return [f"store_ptr_tko weak %o, {value} : tile<ptr<i32>>, tile<i32> -> token"]


def kernel(lines: list[str]) -> str:
    return f"entry @k({ARGUMENTS}) {{\n" + "\n".join(lines) + "\nreturn\n}\n"
