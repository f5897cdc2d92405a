"""Passes: the text after each of them, and their reports, on stored modules and on random expressions."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Iterator
from itertools import chain, islice

from golden.branches import branch_kernel, choice_kernel, long_row
from golden.expressions import assume_kernel, constant_kernel, expressions, float_constants, loop_kernel, pointer_kernel
from golden.idioms import idiom_kernel
from golden.launches import launched
from golden.material import changed as changed_module
from golden.material import modules, parsed, rng_of, stored
from golden.shown import outcome
from golden.systematic import chosen_laws, compared_laws, long_kernels, paired_laws, single_laws
from golden.table import group
from support.mutation import mutate
from tilery.ir import clone, walk
from tilery.ops import Module
from tilery.passes import HOMES, parse_pipeline, run_pipeline
from tilery.passes.rename_symbol import rename_symbols
from tilery.programs.boxes import with_views
from tilery.text.parse.parser import parse
from tilery.text.print.printer import show
from tilery.verifier.verify import verify

ALONE = [name for name in HOMES if name != "rename-symbol"]
OPTIONS = (
    "simplify{depth=1}",
    "simplify{depth=2 mode=masks}",
    "simplify{mode=integers}",
    "loop-split{split-threshold=3}",
    "loop-split{split-threshold=0}",
    "canonicalize{disable-patterns=same_arms}",
    "builtin.module(cuda_tile.module(cuda_tile.entry(canonicalize,cse),strip-debug-info))",
    "fold-known,simplify,canonicalize,dce",
    "synthesize-debug-info-scopes,canonicalize,licm",
)

PIECES = (4096, 16, 4096)
"""The elements of a kernel's input, its table and its output."""


def after(m: Module, pipeline: str) -> str:
    """Describe what a pipeline makes of a module, and what it reports."""

    def run() -> str:
        copy: Module = clone(m)
        numbers = {o: at for at, o in enumerate(walk(copy))}
        said: list[str] = []
        report = run_pipeline(
            copy,
            parse_pipeline(pipeline),
            lambda step, own: said.append(
                f"{step.run.name} {dict(own.counts)} {[(f.rule, f.op, f.loc) for f in own.log or ()]}"
            ),
            log=True,
        )
        remarks = [(o.name, numbers.get(o), text) for o, text in report.remarks]
        broken = [f.message for f in verify(copy)]
        assert not broken or verify(m), f"{pipeline} broke the module: {broken[0]}"
        return f"{said} {remarks} {report.complete} {report.endless} {copy.layout!r}\n{show(copy, 'generic', True)}"

    return outcome(run)


@group("passes/recorded", 3)
def recorded(part: int) -> Iterator[str]:
    """Kernels that other tests optimise, with their pipelines."""
    for row in islice(stored()["passes"], part, None, 3):
        m = parse(row["text"], quick=False)
        yield after(m, row["pipeline"])
        if not verify(m):
            yield after(m, random.Random(row["text"]).choice(OPTIONS))


@group("passes/modules", 3)
def on_modules(part: int) -> Iterator[str]:
    legal = [m for m in [*modules(), *parsed()] if m.entries and not verify(m)]
    for number, m in enumerate(islice(legal, part, None, 3)):
        for pipeline in islice(ALONE, number % 3, None, 3):
            yield after(m, pipeline)
        yield after(m, OPTIONS[number % len(OPTIONS)])


@group("passes/changed")
def changed() -> Iterator[str]:
    """Modules with changes that keep them legal."""
    for number in range(500):
        rng = rng_of("passes", number)
        if (m := changed_module(rng)) is None:
            continue
        if not verify(m):
            yield after(m, rng.choice(ALONE)) + after(m, "canonicalize,cse")


@group("passes/expressions", 3)
def on_expressions(part: int) -> Iterator[str]:
    """Random expressions of integers, masks and branches."""
    for number in range(60):
        m = parse(expressions(rng_of("expression", part, number)))
        assert not verify(m), verify(m)[0].message
        for pipeline in ("simplify", "fold-int", "canonicalize", "fold-known", "merge-assumes", "cse,dce"):
            yield after(m, pipeline)
        yield after(m, rng_of(part, number).choice((*OPTIONS, "documented", "licm", "loop-split")))


@group("passes/systematic", 4)
def systematic(part: int) -> Iterator[str]:
    """Every operation on integers with constants where laws apply or just not, alone, in pairs, and compared."""
    bits = (8, 32, 16, 64)[part]
    for number, text in enumerate(
        chain(*(make(bits) for make in (single_laws, paired_laws, compared_laws, chosen_laws)))
    ):
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        for pipeline in ("simplify", "fold-int,canonicalize", "fold-known"):
            yield after(m, pipeline)
        yield after(m, rng_of("systematic", bits, number).choice(OPTIONS))


@group("passes/long")
def on_long_expressions() -> Iterator[str]:
    """Sums, conjunctions and chains as long as rules look, and constants as large as they fold."""
    for text in long_kernels():
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        for pipeline in ("simplify", "canonicalize,fold-int", "fold-known"):
            yield after(m, pipeline)
    for count in (2048, 4096, 8192):
        words = "".join(f"{(number * 37 + 15) & 0x3FFF:04X}" for number in range(count))
        for text in ("negf %a", "addf %a, %a", "mulf %a, %a"):
            type = f"tile<{count}xf16>"
            kernel = f'entry @k() {{ %a = constant <f16: "0x{words}"> : {type}\n%b = {text} : {type}\n'
            kernel += f'%c = print_tko "%f", %b : {type} -> token }}'
            yield after(parse(kernel), "fold-float,dce")


@group("passes/choices", 2)
def on_choices(part: int) -> Iterator[str]:
    """Few values and conditions, chosen from again and again, and rows of branches on one condition."""
    for number in range(70):
        make = (choice_kernel, branch_kernel)[number % 2]
        m = parse(make(rng_of("choices", part, number)))
        assert not verify(m), verify(m)[0].message
        for pipeline in ("simplify", "canonicalize", "documented", "canonicalize,simplify,cse,dce"):
            yield after(m, pipeline)
    for results, count in ((8, 3), (4, 6), (2, 10), (5, 4), (16, 2), (7, 3))[part::2]:
        yield after(parse(long_row(results, count)), "canonicalize")


@group("passes/assumes")
def on_assumes() -> Iterator[str]:
    """Chains of promises about one value."""
    for number in range(120):
        m = parse(assume_kernel(rng_of("assume", number)))
        assert not verify(m), verify(m)[0].message
        for pipeline in ("merge-assumes", "fold-known", "merge-assumes,canonicalize,cse,dce"):
            yield after(m, pipeline)


@group("passes/loops", 2)
def on_loops(part: int) -> Iterator[str]:
    """Loops whose bodies branch on the counter."""
    for number in range(70):
        m = parse(loop_kernel(rng_of("loop", part, number)))
        for pipeline in (
            "loop-split",
            "licm",
            "loop-split{split-threshold=4}",
            "simplify",
            "canonicalize,cse",
            "documented",
        ):
            yield after(m, pipeline)


@group("passes/rename")
def renamed() -> Iterator[str]:
    """Symbols with new names."""
    for number, m in enumerate([m for m in [*modules(), *parsed()] if m.entries][::2]):
        rng = rng_of("rename", number)
        symbols = [*(o.sym_name for o in m.entries), *(o.sym_name for o in m.globals)]
        names = [name for name in symbols if name.isidentifier()] or ["nobody"]
        old = rng.choice((*names, *names, f"{m.sym_name}::{names[-1]}", "nobody", f"nowhere::{names[0]}"))
        new = rng.choice(("fresh", "fresh", "fresh", "fresh", names[-1], ""))
        more = rng.choice(("", "", "", " update-uses=false", f" scope={names[0]}", f" scope={m.sym_name}"))
        options = f"symbol-to-rename={old} new-name={new}{more}" if new else f"symbol-to-rename={old}"
        yield after(m, f"rename-symbol{{{options}}}")
        copy: Module = clone(m)
        rename_symbols(copy, lambda name: f"{name}_{len(name)}")
        yield show(copy, "generic", True)


@group("passes/views")
def to_views() -> Iterator[str]:
    """Accesses through affine pointers become accesses through views, which leave the same memory."""
    for number in range(220):
        rng = rng_of("views", number)
        text = pointer_kernel(rng)
        m = parse(text)
        values = [
            rng.choice((0, 1, 3, 8, 16, 17)),
            rng.choice((0, 1, 5, 8, 16, 40)),
            rng.choice((0, 1, 3, 8)),
            rng.choice((0, 0, 1, 4)),
        ]
        grid = (rng.randrange(1, 4), rng.randrange(1, 3), 1)
        bits = [-1 if rng.random() < 0.1 else value.bit_length() for value in values]
        changed = with_views(m, "k", (-1, -1, *bits, *(n.bit_length() for n in grid)))
        yield "as it was" if changed is None else f"{show(changed)} {[f.message for f in verify(changed)]}"
        large = [rng.choice((-1, 0, 1, 2, 8, 15, 16, 24, 28, 30, 31, 32, 40)) for _ in range(7)]
        other = with_views(m, "k", (-1, -1, *large))
        yield "as it was" if other is None else show(other)
        if changed is not None and number % 3 == 0:
            args = [{"region": at, "start": 1200, "length": 2000, "item": 4} for at in range(2)]
            row = {
                "text": text,
                "entry": "k",
                "grid": grid,
                "regions": [{"seed": 1, "size": 12800}] * 2,
                "args": [*args, *values],
            }
            before, now = launched(row, m), launched(row, changed)
            assert before[1] == now[1] or not before[1] or not now[1], "views leave other memory than pointers"


@group("passes/pieces", 2)
def to_pieces(part: int) -> Iterator[str]:
    """Kernels whose pointers are affine up to a limit: two forms of each access, which leave the same memory."""
    for number, text in enumerate(stored()["pieces"][part::2]):
        m = parse(text)
        for again in range(8):
            rng = rng_of("pieces", part, number, again)
            values = [rng.choice((7, 8, 16, 17, 30, 31, 40, 63)), rng.choice((9, 16, 33, 50)), rng.randrange(200)]
            bits = [-1 if rng.random() < 0.1 else value.bit_length() for value in values]
            grid = (rng.choice((1, 3, 5)), 1, 1)
            entry = m.entries[0].sym_name
            changed = with_views(m, entry, (-1, -1, -1, *bits, *(n.bit_length() for n in grid)))
            yield "as it was" if changed is None else f"{show(changed)} {[f.message for f in verify(changed)]}"
            if changed is not None and again < 2:
                args = [{"region": at, "start": 0, "length": size, "item": 4} for at, size in enumerate(PIECES)]
                regions: list[object] = [{"seed": number, "size": 4 * size} for size in PIECES]
                regions[1] = b64encode(bytes(rng.randrange(30) * (at % 4 == 0) for at in range(64))).decode()
                row = {"text": text, "entry": entry, "grid": grid, "regions": regions, "args": [*args, *values]}
                before, now = launched(row, m), launched(row, changed)
                assert before[1] == now[1] or not before[1] or not now[1], "pieces leave other memory than the whole"
        for again in range(12):
            rng = rng_of("broken pieces", part, number, again)
            other = mutate(m, rng)
            if not verify(other):
                sizes = (-1, -1, -1, *(rng.choice((-1, 0, 3, 5, 8, 16, 31)) for _ in range(5)), 1)
                changed = with_views(other, other.entries[0].sym_name, sizes)
                yield "as it was" if changed is None else show(changed)


@group("passes/idioms", 3)
def on_idioms(part: int) -> Iterator[str]:
    """Positions that wrap around, are limited or chosen, and loops: views and pieces leave the same memory."""
    for number in range(100):
        rng = rng_of("idioms", part, number)
        text = idiom_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        values = [rng.choice((0, 1, 4, 7, 8, 13, 16, 17)), rng.choice((1, 3, 8, 15, 16, 31)), rng.choice((0, 1, 2, 5))]
        grid = (rng.choice((1, 2, 3)), rng.choice((1, 1, 2)), 1)
        bits = [-1 if rng.random() < 0.1 else value.bit_length() for value in values]
        changed = with_views(m, "k", (-1, -1, *bits, *(n.bit_length() for n in grid)))
        yield "as it was" if changed is None else f"{show(changed)} {[f.message for f in verify(changed)]}"
        large = [rng.choice((-1, 0, 1, 4, 8, 12, 16, 24, 28, 30, 31)) for _ in range(6)]
        other = with_views(m, "k", (-1, -1, *large))
        yield "as it was" if other is None else show(other)
        yield after(m, rng.choice(("simplify", "licm,cse", "fold-known", "loop-split,canonicalize")))
        if changed is not None:
            args = [{"region": at, "start": 1200, "length": 2000, "item": 4} for at in range(2)]
            regions = [{"seed": 1, "size": 12800}] * 2
            row = {"text": text, "entry": "k", "grid": grid, "regions": regions, "args": [*args, *values]}
            before, now = launched(row, m), launched(row, changed)
            assert before[1] == now[1] or not before[1] or not now[1], "views leave other memory than pointers"


@group("passes/floats")
def floats() -> Iterator[str]:
    """Operations on constants of every float type."""
    for number in range(120):
        m = parse(float_constants(rng_of("float", number)))
        for pipeline in ("fold-float", "canonicalize", "fuse-fma", "pow-to-product"):
            yield after(m, pipeline)


@group("passes/constants")
def constants() -> Iterator[str]:
    """Operations on tiles of constants: what folds leaves the same results."""
    for number in range(400):
        text = constant_kernel(rng_of("constants", number))
        m = parse(text)
        if verify(m):
            continue
        row = {"text": text, "entry": "k", "grid": 1, "regions": [], "args": []}
        said, _ = launched(row, m)
        yield said
        for pipeline in ("fold-int,fold-float", "canonicalize,simplify"):
            folded: Module = clone(m)
            run_pipeline(folded, parse_pipeline(pipeline))
            yield show(folded)
            now, _ = launched(row, folded)
            assert now.split("\n")[1:] == said.split("\n")[1:], f"{pipeline} changes a result"


@group("passes/pipelines")
def pipelines() -> Iterator[str]:
    """Pipelines that are wrong in some way."""
    known = [*HOMES, *OPTIONS, *(row["pipeline"] for row in stored()["passes"][::9])]
    pieces = (
        "{",
        "}",
        "(",
        ")",
        ",",
        "=",
        "canonicalise",
        "split-threshold",
        "3",
        "true",
        "any",
        "builtin.module(",
        " ",
        "'a'",
        "&",
    )
    for number in range(400):
        rng = rng_of("pipeline", number)
        text = rng.choice(known)
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(pieces) + text[at + rng.randrange(3) :]

        def read(text: str = text) -> str:
            return str([(step.run.name, step.options, step.anchors) for step in parse_pipeline(text).steps])

        yield f"{text} {outcome(read)}"
