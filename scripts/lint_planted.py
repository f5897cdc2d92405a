"""Plant faults of many kinds in kernels of the corpus, lint them, and write docs/reports/lab/lint_planted.md.

    python scripts/lint_planted.py [--seed N] [--count N] [--report docs/reports/lab/lint_planted.md]

Kernel, fault and place are drawn by a seed. A fault is a change of the text that leaves the kernel legal, and that is
wrong whatever the arguments are. It is found if a rule objects to the changed kernel more often than to the original.
The kernels come from the tests and samples of cuTile Python; the corpus is beside the checkout.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import checkout
import tilery
from support import oracle
from tilery.diag import TileError
from tilery.lint import lint

PAGE = checkout.LAB / "lint_planted.md"
FIRST_SEED = 20261117
MOST_OF_A_KIND = 3
NAME = r"%[\w.$-]+"
Plant = Callable[["Text"], Iterator["Text"]]
KINDS: dict[str, Plant] = {}
"""The faults, by what they are."""


@dataclass
class Text:
    """The lines of a kernel."""

    lines: list[str]
    definitions: dict[str, int] = field(default_factory=dict)
    """The line that defines each value."""

    @classmethod
    def of(cls, text: str) -> Text:
        made = cls(text.splitlines())
        for at, line in enumerate(made.lines):
            if found := re.match(rf"\s*((?:{NAME}, )*{NAME}) = ", line):
                made.definitions.update(dict.fromkeys(found[1].split(", "), at))
        return made

    def by(self, value: str) -> str:
        """The line that defines a value; empty for arguments."""
        return self.lines[self.definitions[value]] if value in self.definitions else ""

    def matching(self, pattern: str) -> Iterator[tuple[int, re.Match[str]]]:
        """The lines in which a pattern is found."""
        for at, line in enumerate(self.lines):
            if found := re.search(pattern, line):
                yield at, found

    def changed(self, at: int, line: str, *before: str) -> Text:
        """Replace a line, and put others before it."""
        indent = re.match(r"\s*", self.lines[at])
        assert indent is not None
        added = [indent[0] + each for each in before]
        return Text([*self.lines[:at], *added, line, *self.lines[at + 1 :]])

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def fault(title: str) -> Callable[[Plant], Plant]:
    """Declare a kind of fault."""

    def declare(plant: Plant) -> Plant:
        KINDS[title] = plant
        return plant

    return declare


@fault("the index of a stored tile does not depend on the tile block")
def same_tile(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"store_view_tko weak {NAME}, {NAME}\[([^\]]+)\].*, (tile<i\d+>) -> token"):
        for index in found[1].split(", "):
            if "get_tile_block_id" in text.by(index):
                line = text.lines[at].replace(f"[{found[1]}]", f"[{found[1].replace(index, '%planted', 1)}]", 1)
                zero = f"%planted = constant <{found[2][5:-1]}: 0> : {found[2]}"
                yield text.changed(at, line, zero)


@fault("a reduction starts from a number that is not neutral")
def identity(text: Text) -> Iterator[Text]:
    wrong = {
        "maxf": "0.0",
        "minf": "0.0",
        "mulf": "0.0",
        "muli": "0",
        "mini": "0",
        "maxi": "1",
        "addf": "1.0",
        "addi": "1",
    }
    for at, found in text.matching(r"= (?:reduce|scan) .*identities=\[([^\]:]+) : \w+\]"):
        body = "".join(text.lines[at + 1 : at + 3])
        if (by := re.search(r"= (\w+) ", body)) and by[1] in wrong and wrong[by[1]] != found[1].strip():
            start = found.start(1)
            line = text.lines[at]
            yield text.changed(at, line[:start] + wrong[by[1]] + line[start + len(found[1]) :])


@fault("a store is repeated without a token")
def stored_twice(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"^\s*({NAME}) = store_\w+ weak "):
        again = re.sub(r" token ?= ?%[\w.$-]+", "", text.lines[at].replace(found[1], "%planted", 1)).strip()
        yield text.changed(at, text.lines[at], again)


@fault("a store is overwritten by the next one")
def overwritten(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"^\s*({NAME}) = store_(view|ptr)_tko weak "):
        line = text.lines[at]
        takes = re.search(rf" token ?= ?({NAME})", line)
        first = line.replace(found[1], "%planted", 1).strip()
        if takes is not None:
            yield text.changed(at, line.replace(takes[0], " token = %planted", 1), first)


@fault("an atomic operation on shared memory has the scope of a tile block")
def narrow_scope(text: Text) -> Iterator[Text]:
    for at, found in text.matching(r"atomic_\w+_tko \w+ (device|sys) "):
        yield text.changed(at, text.lines[at][: found.start(1)] + "tl_blk" + text.lines[at][found.end(1) :])


@fault("a divisor is zero")
def zero_divisor(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"= (?:divi|remi) {NAME}, ({NAME}) .*: (tile<(?:\d+x)*(i\d+)>)"):
        zero = f"%planted = constant <{found[3]}: 0> : {found[2]}"
        yield text.changed(at, text.lines[at][: found.start(1)] + "%planted" + text.lines[at][found.end(1) :], zero)


@fault("a shift is as wide as the number")
def wide_shift(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"= (?:shli|shri) {NAME}, ({NAME}) .*: (tile<(?:\d+x)*i(\d+)>)"):
        width = f"%planted = constant <i{found[3]}: {found[3]}> : {found[2]}"
        yield text.changed(at, text.lines[at][: found.start(1)] + "%planted" + text.lines[at][found.end(1) :], width)


@fault("the bounds of a loop are the same")
def empty_loop(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"for {NAME} in \(({NAME}) to ({NAME}), step"):
        yield text.changed(at, text.lines[at][: found.start(2)] + found[1] + text.lines[at][found.end(2) :])


@fault("the step of a loop is zero")
def no_step(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"for {NAME} in \({NAME} to {NAME}, step ({NAME})\) : (tile<(i\d+)>)"):
        zero = f"%planted = constant <{found[3]}: 0> : {found[2]}"
        yield text.changed(at, text.lines[at][: found.start(1)] + "%planted" + text.lines[at][found.end(1) :], zero)


@fault("indices are promised to be smaller than they are")
def small_promise(text: Text) -> Iterator[Text]:
    for at, found in text.matching(r"^\s*(%[\w.$-]+) = iota : (tile<(\d+)xi\d+>)"):
        if int(found[3]) >= 4 and at + 1 < len(text.lines):
            promise = f"{found[1]} = assume bounded<0, {int(found[3]) // 2}>, %planted : {found[2]}"
            iota = text.lines[at].strip().replace(found[1], "%planted", 1)
            yield text.changed(at, re.sub(r"\S.*", promise, text.lines[at]), iota)


@fault("a number is added that was never written")
def unwritten(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"= (?:addf|mulf|subf) {NAME}, ({NAME}) .*: (tile<((?:\d+x)*)(f32|f16)>)$"):
        shape, element = found[3], found[4]
        ones = "1x" * shape.count("x")
        before = [
            f"%planted_p = alloca num_elem = 1, alignment = 4 : tile<ptr<{element}>>",
            f"%planted_s, %planted_t = load_ptr_tko weak %planted_p : tile<ptr<{element}>> -> tile<{element}>, token",
        ]
        value = "%planted_s"
        if shape:
            before += [
                f"%planted_1 = reshape %planted_s : tile<{element}> -> tile<{ones}{element}>",
                f"%planted = broadcast %planted_1 : tile<{ones}{element}> -> tile<{shape}{element}>",
            ]
            value = "%planted"
        yield text.changed(at, text.lines[at][: found.start(1)] + value + text.lines[at][found.end(1) :], *before)


@fault("a number is compared with NaN")
def with_nan(text: Text) -> Iterator[Text]:
    bits = {"f16": "0x7E00", "bf16": "0x7FC0", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}
    for at, found in text.matching(rf"= cmpf \w+ \w+ {NAME}, ({NAME}) .*: (tile<(?:\d+x)*(f16|bf16|f32|f64)>)"):
        nan = f"%planted = constant <{found[3]}: {bits[found[3]]}> : {found[2]}"
        yield text.changed(at, text.lines[at][: found.start(1)] + "%planted" + text.lines[at][found.end(1) :], nan)


@fault("a mask asks whether an unsigned number is negative")
def never_negative(text: Text) -> Iterator[Text]:
    masks = {
        found[1] for _, found in text.matching(rf"(?:load|store)_ptr_tko weak .*, ({NAME})(?:, {NAME})?(?: token| :)")
    }
    for at, found in text.matching(rf"= cmpi (\w+ {NAME}, {NAME}, \w+) : (tile<(?:\d+x)*(i\d+)>)"):
        name = text.lines[at].strip().split(" = ")[0]
        if name in masks:
            lhs = found[1].split()[1]
            zero = f"%planted = constant <{found[3]}: 0> : {found[2]}"
            line = text.lines[at].replace(found[1], f"less_than {lhs} %planted, unsigned", 1)
            yield text.changed(at, line, zero)


@fault("nothing waits for the kernel before, though the kernel asks to")
def loose_wait(text: Text) -> Iterator[Text]:
    for at, _ in text.matching(r"= load_(?:view|ptr)_tko weak "):
        yield text.changed(at, text.lines[at], "%planted = gdc_wait_tko -> token")
        return


@fault("a part of a tile is taken from after its end")
def far_part(text: Text) -> Iterator[Text]:
    for at, found in text.matching(rf"= extract {NAME}\[({NAME})"):
        far = "%planted = constant <i32: 1000000> : tile<i32>"
        yield text.changed(at, text.lines[at][: found.start(1)] + "%planted" + text.lines[at][found.end(1) :], far)


@fault("a flag is waited for with a weak load")
def weak_flag(text: Text) -> Iterator[Text]:
    loops = [at for at, _ in text.matching(r"^\s*(?:%\S+ = )?loop ")]
    for at, found in text.matching(r"load_ptr_tko (acquire|relaxed) (?:device|sys) "):
        if any(loop < at for loop in loops):
            yield text.changed(at, text.lines[at][: found.start(1)] + "weak " + text.lines[at][found.end() :])


@fault("the rows of a stored array are all the same")
def no_stride(text: Text) -> Iterator[Text]:
    stored = "".join(line for line in text.lines if "store_view_tko weak" in line)
    for at, found in text.matching(rf"^\s*({NAME}) = make_tensor_view .*strides = \[({NAME})[,\]].* : (tile<(i\d+)>)"):
        views = [name for name in text.definitions if f"make_partition_view {found[1]} :" in text.by(name)]
        if any(f", {view}[" in stored for view in views):
            zero = f"%planted = constant <{found[4]}: 0> : {found[3]}"
            yield text.changed(at, text.lines[at][: found.start(2)] + "%planted" + text.lines[at][found.end(2) :], zero)


# ---------------------------------------------------------------- drawing and judging


@dataclass
class Result:
    """A kernel with a fault, and the rules that object to it."""

    kernel: str
    kind: str
    rules: list[str]


def rules_of(text: str) -> Counter[str]:
    """How often each rule objects to a legal kernel; raise TileError if it is not legal."""
    module = tilery.parse(text)
    if wrong := tilery.verify(module):
        raise TileError(wrong[0].message)
    return Counter(finding.rule for finding in lint(module))


def draw(seed: int, count: int) -> list[Result]:
    """Draw kernels with faults."""
    chance = random.Random(seed)
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))
    chance.shuffle(files)
    found: list[Result] = []
    kinds: Counter[str] = Counter()
    for path in files:
        if len(found) == count:
            break
        original = tilery.show(tilery.load(path))
        open_kinds = [kind for kind in KINDS if kinds[kind] < MOST_OF_A_KIND]
        chance.shuffle(open_kinds)
        for kind in open_kinds:
            made = list(KINDS[kind](Text.of(original)))
            if not made:
                continue
            try:
                after = rules_of(str(chance.choice(made)))
            except TileError:
                continue
            more = after - rules_of(original)
            kinds[kind] += 1
            found.append(Result(path.name.split(".")[0], kind, sorted(more)))
            break
    return found


# ---------------------------------------------------------------- the page


def page(found: list[Result], seed: int) -> str:
    right = sum(bool(each.rules) for each in found)
    text = (
        f"`python scripts/lint_planted.py --seed {seed} --count {len(found)}` wrote this page. It drew {len(found)} "
        f"kernels of cuTile's tests and samples and planted a fault in each, of {len(KINDS)} kinds. Rules object to "
        f"{right} of them, {100 * right / max(1, len(found)):.0f} %."
    )
    lines = ["# Planted faults under the linter", "", checkout.fill(text), "", *FIRST_LOOK, ""]
    lines += ["| Fault | Kernel | Rules that object |", "|---|---|---|"]
    for each in sorted(found, key=lambda each: each.kind):
        rules = ", ".join(f"`{rule}`" for rule in each.rules) or "none"
        lines.append(f"| {each.kind} | `{each.kernel}` | {rules} |")
    return "\n".join([*lines, "", "## Not measured", "", *NOT_MEASURED])


FIRST_LOOK = checkout.fill(
    "When kernels were first drawn, by seed 20261117, rules objected to 36 of 40. Two misses led to better rules, so "
    "that its table is no longer about unseen kernels. Seed 20261118, drawn after that, has 39 of 40. In the atomic "
    "operations that are missed the addresses may differ between tile blocks, so that they need not be faults."
).splitlines()

NOT_MEASURED = """\
Faults that need more than one change, kinds for which no kernel of the corpus has a place, and whether the rule that
objects is the one that a reader would expect.""".splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    checkout.publish(page(draw(args.seed, args.count), args.seed), args.report)


if __name__ == "__main__":
    main()
