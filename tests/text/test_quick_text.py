"""The fast printer and parser against their slow twins: the same texts, the same modules, the same errors."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tilery
from support import oracle
from support.broken import mutate_text
from text.test_parser import OPS, whole
from tilery.declare.operation import BY_NAME, OpDef
from tilery.diag import TileError
from tilery.ir import Block, UnknownOp, Value, walk
from tilery.ops import AddI, Module
from tilery.smith import smith
from tilery.text.parse import parser
from tilery.text.parse.fast import forms as quick_forms
from tilery.text.parse.fast.parse import quick_parse
from tilery.text.parse.parser import forms, parse, parse_with_spans
from tilery.text.parse.state import ParseOptions
from tilery.text.print import printer, quick_lines, styles
from tilery.text.print import quick as quick_printer
from tilery.text.print.printer import show
from tilery.text.print.quick import quick_show
from tilery.version import LATEST

SEEDS = range(40)
STYLES = [(style, locs) for style in ("disasm", "opt") for locs in (False, True)]


@cache
def made(seed: int) -> Module:
    return smith(seed, size=30)


def outcome(text: str, quick: bool) -> str:
    """The module that a text stands for, in the form that shows everything; or the error, with its place."""
    try:
        return show(parse(text, testing=True, quick=quick), "generic", locs=True)
    except TileError as error:
        return error.render()


def same_print(module: Module) -> None:
    for style, locs in STYLES:
        text = show(module, style, locs, quick=False)
        assert show(module, style, locs, quick=True) == text
        assert show(module, style, locs, quick=False, fast=None) == text


def same_parse(text: str) -> None:
    assert outcome(text, quick=True) == outcome(text, quick=False)


# ---------------------------------------------------------------- the twins agree


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_examples_of_every_op(opdef: OpDef) -> None:
    module = parse(whole(opdef), testing=True, quick=False)
    same_print(module)
    for style, locs in STYLES:
        same_parse(show(module, style, locs))


@pytest.mark.parametrize("seed", SEEDS)
def test_made_modules(seed: int) -> None:
    module = made(seed)
    same_print(module)
    for style, locs in STYLES:
        same_parse(show(module, style, locs))


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_broken_examples(opdef: OpDef) -> None:
    rng = random.Random(opdef.mnemonic)
    for _ in range(300 if oracle.FULL else 30):
        same_parse(mutate_text(whole(opdef), rng))


@pytest.mark.parametrize("seed", SEEDS)
def test_broken_texts(seed: int) -> None:
    rng = random.Random(seed)
    text = show(made(seed), locs=seed % 2 == 0)
    for _ in range(300 if oracle.FULL else 15):
        same_parse(mutate_text(text, rng))


@pytest.mark.corpus
def test_real_files(corpus: list[Path]) -> None:
    for path in corpus:
        module = tilery.load(path)
        same_print(module)
        same_parse(show(module, locs=True))


# ---------------------------------------------------------------- the fast path is taken


@pytest.mark.parametrize("seed", SEEDS)
def test_canonical_texts_need_no_second_reading(seed: int) -> None:
    for style, locs in STYLES:
        assert quick_parse(show(made(seed), style, locs), forms(False), ParseOptions()) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_made_modules_need_no_second_printing(seed: int) -> None:
    for style, locs in STYLES:
        assert quick_show(made(seed).body, "", styles.STYLES[style], locs, 1 << 20) is not None


def test_size_decides_whatever_was_parsed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def record(text: str, *rest: Any) -> Block | None:
        taken.append(len(text))
        return quick_parse(text, *rest)

    monkeypatch.setattr(parser, "quick_parse", record)
    short = CHAIN.replace("%s", "  %0 = addi %a, %a : tile<i32>\n")
    long = short + "\n" * (parser.QUICK_SIZE - len(short))
    for text in (short, long, short):
        parse(text)
    assert taken == [len(long)]
    parse(short, quick=True)
    assert taken == [len(long), len(short)]


def test_the_number_of_operations_decides_whatever_was_printed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Block] = []

    def record(block: Block, *rest: Any) -> Any:
        taken.append(block)
        return quick_show(block, *rest)

    monkeypatch.setattr(quick_printer, "quick_show", record)
    few, many = (
        parse(CHAIN.replace("%s", "".join(f"  %{n} = addi %a, %a : tile<i32>\n" for n in range(count))))
        for count in (1, printer.ONCE_OPS)
    )
    for module in (few, many, few):
        show(module, fast=None)
    assert taken == [many.body]
    show(few)
    assert taken == [many.body, few.body]


def test_nearly_every_format_has_a_fast_parser() -> None:
    slow = {d.mnemonic for d in OPS if not d.regions and d.format != "custom" and quick_forms.bind_of(d) is None}
    # Three results, results whose number follows from a type, and a form of its own.
    assert slow == {"get_num_tile_blocks", "get_tile_block_id", "get_index_space_shape", "get_tensor_shape", "global"}


def test_source_is_there_to_be_seen() -> None:
    for source in (quick_lines.printer_source, quick_forms.parser_source):
        assert "overflow" in source(BY_NAME["negi"], LATEST)
        assert source(BY_NAME["for"], LATEST).startswith("#")


# ---------------------------------------------------------------- what only the slow twin does


CHAIN = "entry @k(%a: tile<i32>) {\n%s}\n"


@pytest.mark.parametrize(
    "body",
    [
        "  %0 = addi %a, %a : tile<i32>\n  loc(unknown)\n  return\n",
        "  %0 = addi %a,\n    %a : tile<i32> // why\n  return\n",
        "  %0 = addi %1, %a : tile<i32>\n  %1 = addi %a, %a : tile<i32>\n",
        "  return\n  %0 = addi %a, %a : tile<i32>\n",
        "  return\n  %a : tile<i32>\n",
        "  %a = addi %a, %a : tile<i32>\n",
        "  %0, %1 = addi %a, %a : tile<i32>\n",
        "  addi %a, %a : tile<i32>\n",
        "  %0 = addi %a, %a {x} : tile<i32>\n",
        "  %0 = addi %a#0, %a#1 : tile<i32>\n",
        '  %0 = "cuda_tile.addi"(%a, %a) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>\n',
        "  %0 = addi %a, %a : tile<i32> loc(#x)\n",
        "  %0 = addi %a, %a overflow<none> : tile<i32>\n",
        "  %0 = addi %a , %a : !cuda_tile.tile<i32>\n",
        "  %0 = addf %a, %a rounding<zero> : tile<i32>\n",
    ],
)
def test_what_is_not_canonical(body: str) -> None:
    same_parse(CHAIN.replace("%s", body))


def test_a_value_that_is_used_before_it_is_named() -> None:
    module = parse(CHAIN.replace("%s", "  %0 = addi %a, %a : tile<i32>\n  %1 = addi %0, %a : tile<i32>\n"))
    module.entries[0].body.ops.reverse()
    same_print(module)
    module.entries[0].body.ops.insert(0, AddI(lhs=(lost := Value(module.entries[0].body.args[0].type)), rhs=lost))
    same_print(module)


def test_discardable_attributes_and_unknown_operations() -> None:
    text = "cuda_tile.module @m attributes {a = 1 : i32} { entry @k() { %0 = iota {b} : tile<8xi32> } }"
    same_print(parse(text))
    module = parse(text)
    module.entries[0].body.ops.insert(0, UnknownOp("test.op"))
    same_print(module)


def test_places_are_those_of_the_slow_parser() -> None:
    text = show(made(3))
    parsed = parse_with_spans(text)
    for o in walk(parsed.module):
        if o is not parsed.module and o in parsed.spans:
            assert text[slice(*parsed.spans[o])] in (
                o.name,
                f"cuda_tile.{o.name}",
                "for",
                "if",
                "loop",
                "reduce",
                "scan",
            )


# ---------------------------------------------------------------- time


def test_no_line_takes_long() -> None:
    """No regular expression goes over a line again and again."""
    for line in ("addi " + "%a, " * 50_000, "return " + "%a, " * 50_000 + "x", "constant <i32: " + "[" * 100_000,
                 "%0 = iota : tile<" + "4x" * 50_000, "print_tko \"" + "x" * 200_000, "join_tokens " + " " * 200_000,
                 "%0 = assume bounded<" + "?, " * 50_000, "load_view_tko weak %v[" + "%i, " * 50_000):  # fmt: skip
        same_parse(CHAIN.replace("%s", f"  {line}\n"))


def test_many_operations_on_a_line_or_over_many_lines() -> None:
    text = CHAIN.replace("%s", "".join(f"  %{n} = addi %a, %a : tile<i32>\n" for n in range(2_000)))
    for between in (" ", "\n", "\n// x\n\n"):
        same_parse(between.join(text.split()))
