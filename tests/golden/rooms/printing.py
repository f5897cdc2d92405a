"""Modules in memory: every printer, and hints, names and locations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from golden.material import changed as changed_module
from golden.material import modules, parsed, rng_of
from golden.shown import outcome
from golden.table import group
from tilery.ir import clone, walk
from tilery.ops import Module
from tilery.text.print.chosen import parameter_names, show_named
from tilery.text.print.highlight import to_ansi, to_html
from tilery.text.print.printer import alone, show, show_with_offsets
from tilery.text.print.quick import quick_show
from tilery.text.print.styles import STYLES


def printed(m: Module, style: str, locs: bool) -> str:
    """Print with both printers; they must agree, and whether the fast one gives up is a fact too."""
    slow = outcome(lambda: show(m, style, locs, quick=False))
    fast = outcome(lambda: show(m, style, locs, quick=True))
    assert slow == fast, f"the two printers disagree:\n{slow}\n{fast}"
    quick = STYLES[style].quick and m.body.ops and quick_show(m.body, "", STYLES[style], locs, 1 << 20) is not None
    return f"quick {quick}\n{slow}"


@group("print/module", 2)
def module(part: int) -> Iterator[str]:
    for m in islice([*modules(), *parsed()], part, None, 2):
        for style in STYLES:
            yield printed(m, style, False)
            yield printed(m, style, True)


@group("print/parts")
def parts() -> Iterator[str]:
    """Single operations, offsets and limits."""
    for number, m in enumerate(islice([*modules(), *parsed()], 0, None, 3)):
        rng = rng_of("print", number)
        ops = list(walk(m))
        o = rng.choice(ops)
        style = rng.choice(list(STYLES))
        yield f"{len(alone(o).args)} {outcome(lambda o=o, style=style: show(o, style, True))}"  # type: ignore[misc]  # defaults bind
        text, offsets, _ = show_with_offsets(m)
        yield f"{text}\n{[offsets.get(o) for o in ops]}"
        if number % 4 == 0:
            yield to_html(text) + to_ansi(text)
        limit = len(text) + rng.choice((-1, 0, 1, -len(text) // 2))
        yield outcome(lambda m=m, limit=limit: show(m, limit=limit, quick=True))  # type: ignore[misc]  # as above
        yield outcome(lambda m=m, limit=limit: show(m, limit=limit, quick=False))  # type: ignore[misc]  # as above


@group("print/named")
def named() -> Iterator[str]:
    """Values with chosen names, some of them taken, and some that are no names; parameters of builders."""
    for number, m in enumerate(islice([*modules(), *parsed()], 1, None, 3)):
        rng = rng_of("named", number)
        values = [value for o in walk(m) for value in (*o.results, *(arg for block in o.blocks for arg in block.args))]
        names = ("x", "x", "x_1", "y.z", "1", "7", "0", "", "a b", "-", "cst")
        chosen = {value: rng.choice(names) for value in values if rng.random() < 0.7}
        yield outcome(lambda m=m, chosen=chosen, rng=rng: show_named(m, chosen, rng.choice(list(STYLES))))  # type: ignore[misc]  # defaults bind
        copy: Module = clone(m)
        for entry in copy.entries:
            entry.param_names = tuple(rng.choice(names) for _ in entry.body.args)
        root = rng.choice([copy, *copy.entries])
        yield show_named(root, parameter_names(root))


@group("print/illegal")
def illegal() -> Iterator[str]:
    """Modules that break rules are printed too."""
    for number in range(400):
        rng = rng_of("illegal", number)
        if (m := changed_module(rng)) is None:
            continue
        yield printed(m, rng.choice(list(STYLES)), rng.random() < 0.5)
