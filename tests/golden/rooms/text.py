"""Texts: what the two parsers, the formatter and recovery make of them, legal or broken."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from textwrap import dedent

from golden.material import broken_text, modules, rng_of, texts
from golden.material import parsed as parsed_modules
from golden.shown import error, module, outcome
from golden.table import group
from text.faults import plant, with_faults
from text.laws import untidy
from tilery.declare.operation import BY_NAME
from tilery.diag import TileError
from tilery.ir import walk
from tilery.source.input import Input
from tilery.text.lexer import tokens
from tilery.text.lossless.format import TextChange, edit_for, format_text
from tilery.text.lossless.reading import Reading, read
from tilery.text.lossless.scopes import names_of
from tilery.text.lossless.tokens import Tokens
from tilery.text.lossless.tree import field_at, kinds, name_after, node_at, nodes, operand_span
from tilery.text.lossless.tree import walk as walk_nodes
from tilery.text.parse.fast.parse import quick_parse
from tilery.text.parse.parser import Parsed, forms, parse, parse_with_spans, type_from_text
from tilery.text.parse.state import ParseOptions
from tilery.text.print.printer import show
from tilery.types import SCALARS
from tilery.verifier.explain import check_input
from tilery.verifier.partial import check_reading
from tilery.verifier.verify import Hints, verify

PARTS = 4
BROKEN = 2
"""So many broken texts are made of each text."""


def part_of(items: list[str], part: int, parts: int = PARTS) -> Iterator[str]:
    return islice(items, part, None, parts)


def parsed(text: str) -> str:
    """Describe what the parsers make of a text; they must agree, and whether the fast one gives up is a fact too."""
    quick = quick_parse(text, forms(False), ParseOptions()) is not None if text.isascii() else None
    slow = outcome(lambda: parse(text, quick=False))
    fast = outcome(lambda: parse(text, quick=True))
    assert slow == fast, f"the two parsers disagree:\n{slow}\n{fast}"
    return f"quick {quick}\n{slow}"


def spans(found: Parsed) -> str:
    lines = [f"{o.name} {found.spans.get(o)}" for o in walk(found.module)]
    return f"wrapped {found.wrapped}\n" + "\n".join(lines)


def reading(found: Reading) -> str:
    """Describe a reading with its errors, tokens, operations, names and scopes."""
    lines = [error(e) for e in found.errors]
    for part in found.parts:
        chunk = part.parsed
        names = names_of(chunk)
        last = len(chunk.tokens.spelled) - 1
        roots = nodes(chunk)
        lines.append(f"part {part.start}-{part.end} {chunk.kind} {chunk.ends} {chunk.wrappers} {chunk.starts}")
        lines.append(f"regions {chunk.regions} definitions {names.definition}")
        lines.append(" ".join(kind.value for kind in kinds(chunk)))
        for node in walk_nodes(roots):
            shown = None if node.op is None else node.op.name
            lines.append(f"node {node.first} {node.name} {node.end} {shown} {node.results} {found.tokens.column(0)}")
            state = chunk.states.get(node.name)
            uses = [] if state is None else list(state.uses)
            lines += [f"operand {name} {operand_span(chunk, node.name, name)}" for name in uses]
        for at in range(0, last, 5):
            node_there = node_at(roots, at)
            field = field_at(chunk, node_there, at) if node_there is not None else None
            value = names.value(at)
            lines.append(f"at {at}: {node_there and node_there.name} {field and field.name} {value and value.type}")
            lines.append(f"{name_after(chunk.tokens.spelled, at)} {sorted(names.visible(at).items())} {names.uses(at)}")
    return "\n".join([*lines, module(found.module)])


def lossless(text: str) -> str:
    """Describe what recovery reads, and what is wrong with what it reads."""
    found = read(text)
    shown = reading(found)
    problems = check_reading(found)
    return "\n".join([shown, *map(error, problems.errors)])


def words(text: str) -> str:
    """Describe tokens, their places and their comments."""
    found = Tokens(text)
    facts = [
        f"{found.span(at)} {found.line_start(at)} {found.column(at)} {found.comments(at)} {found.gap(at)!r}"
        for at in range(len(found.spelled))
    ]
    touched = [(offset, found.at(offset), found.touching(offset)) for offset in range(0, len(text), 7)]
    return f"{tokens(text)}\n{found.spelled}\n{facts}\n{touched}\n{found.tail!r}"


def checked(text: str) -> str:
    """Describe everything that is wrong with a text, with places."""
    report = check_input(Input(text=text))
    return "\n".join([*map(error, report.errors), *map(error, report.warnings)])


def everything(text: str) -> str:
    rows = [parsed(text), lossless(text), outcome(lambda: format_text(text)), checked(text)]
    with suppress(TileError):
        rows.append(spans(parse_with_spans(text)))
    return "\n----\n".join(rows)


@group("text/as-it-is", PARTS)
def as_it_is(part: int) -> Iterator[str]:
    for text in part_of(texts(), part):
        yield everything(text)
        yield words(text)


@group("text/options", 2)
def options(part: int) -> Iterator[str]:
    for text in part_of(texts(), part, 2):
        yield outcome(lambda text=text: parse(text, quick=True, allow_unregistered=True, file="a.mlir"))  # type: ignore[misc]  # a default binds
        yield outcome(lambda text=text: parse(text, quick=False, testing=True))  # type: ignore[misc]  # as above


@group("text/broken", PARTS)
def broken(part: int) -> Iterator[str]:
    for number, text in enumerate(part_of(texts(), part, 2 * PARTS)):
        for again in range(BROKEN):
            rng = rng_of("text", part, number, again)
            changed = broken_text(text, rng)
            rows = [parsed(changed), lossless(changed)]
            if again == 0:
                rows += [checked(changed), outcome(lambda changed=changed: format_text(changed))]  # type: ignore[misc]  # as above
            yield "\n".join(rows)


@group("text/edited", 2)
def edited(part: int) -> Iterator[str]:
    """A text that was read before is read again after a change: only what changed is parsed, to the same effect."""
    for number, text in enumerate(part_of(texts(), part, 8)):
        before = read(text)
        changed = broken_text(text, rng_of("edited", part, number))
        after = read(changed, previous=before)
        shown = reading(after)
        anew = reading(read(changed))
        assert shown == anew, f"reading after an edit differs from reading anew:\n{shown}\n{anew}"
        kept = [any(one.parsed is other.parsed for other in before.parts) for one in after.parts]
        yield f"{kept} {shown}"


@cache
def tidy() -> list[str]:
    """Return the legal texts of some lines."""
    found = [show(m) for m in [*modules(), *parsed_modules()] if m.entries]
    return [text for text in dict.fromkeys(found) if 200 < len(text) < 3000]


@group("text/planted", 2)
def planted(part: int) -> Iterator[str]:
    """Several faults in one text: recovery finds them one after the other."""
    for number in range(150):
        rng = rng_of("planted", part, number)
        lines = rng.choice(tidy()).split("\n")[:-1]
        if number % 3 == 0:
            lines = untidy("\n".join(lines), rng).split("\n")
        if number % 5 == 0:
            lines = ["cuda_tile.module @m {", *lines, "}"]
        faults = plant(lines, rng)
        if number % 4 == 0:
            at = rng.randrange(len(lines))
            faults[at] = rng.choice(("}", "", lines[at] + " {", lines[at] + " }", "  " + lines[at], lines[at][2:]))
        yield lossless(with_faults(lines, faults))


@group("text/lines", 2)
def each_line(part: int) -> Iterator[str]:
    """Each line of a text with regions in turn is missing, there twice, or indented otherwise."""
    nested = [text for text in tidy() if text.count(" {\n") > 2 and text.count("\n") < 40]
    for number, text in enumerate(nested[part : 2 * LINED : 2]):
        lines = text.split("\n")[:-1]
        for at, line in enumerate(lines):
            others: list[list[str]] = [[], [line, line], [line[2:]], ["  " + line], [line.strip()]]
            other = others[(at + number) % len(others)]
            yield recovered("\n".join([*lines[:at], *other, *lines[at + 1 :]]))
        half = len(lines) // 2
        yield recovered("\n".join(lines[:half])) + recovered("\n".join(lines[half:]))


LINED = 12
"""Texts whose lines are changed one by one."""


@group("text/characters")
def characters() -> Iterator[str]:
    """Characters with which no token starts, and literals that do not end, alone and in an operation."""
    starts = [
        '"', '"a', '"\\', '"\\z"', '"a\nb"', '@"', '@"a', "@", "@1", "@-", "#", "#1", "#-",
        "%", "%-", "^", "^1", "!", "!1", ".", "..", "...",
        ".a", "$", "&", "/", "/*", "//", "\\", "`", "~", "0x", "0xg", "1e", "1.e5",
    ]  # fmt: skip
    for start in (*starts, "-", "->", "-.5", "\x00", "\ufeff", "\u00e9", "\u2028", "'a'", "1_0", "0b1"):
        for text in (start, f"entry @k() {{ {start} }}", f"entry @k() {{ print_tko {start} : -> token }}\n"):
            yield f"{brief(text)}\n{recovered(text)}"


@group("text/format", 2)
def formatted(part: int) -> Iterator[str]:
    """Texts with comments, blank lines and line breaks in odd places, as a whole and some lines of them."""
    for number in range(100):
        rng = rng_of("format", part, number)
        text = untidy(rng.choice(tidy()), rng)
        for _ in range(rng.randrange(6)):
            places = [found.start() for found in _WORD.finditer(text)]
            at = rng.choice(places)
            text = text[:at] + rng.choice((" ", "  ", "\n", "\n\n\n", " // c\n", "\t", "/", "\r\n")) + text[at:]
        yield outcome(lambda text=text: format_text(text))  # type: ignore[misc]  # a default binds
        found = read(text)
        last = text.count("\n") + 1
        for _ in range(3):
            first = rng.randrange(last)
            lines = (first, min(last, first + rng.randrange(5)))
            yield outcome(lambda lines=lines, found=found: replacement(edit_for(found, lines)))  # type: ignore[misc]  # as above
        yield outcome(lambda found=found: replacement(edit_for(found, keep_comments=False)))  # type: ignore[misc]  # as above


def replacement(change: TextChange | None) -> str:
    """Describe a change of a text."""
    return "nothing" if change is None else f"{change.start}-{change.end} {change.text!r}"


SPELLINGS = (
    *(f"{sign}i{'0' * n}8" for sign in ("", "s", "u") for n in (0, 1, 7, 8, 9, 10, 11, 12)),
    *(f"tile<{'0' * n}8xf32>" for n in (1, 9, 10, 11, 17, 18, 19, 20)),
    *(
        f"tile<{size}xf32>"
        for size in ("0x8", "0x", "0", "0x0x", "8x0", "?", "8x?", "-1", "1_0", "8 x 2", "8x 2", "8 x2")
    ),
    *(
        f"tensor_view<{shape}f32, strides=[{strides}]>"
        for shape, strides in (
            ("8x", "1"),
            ("?x", "?"),
            ("8x", ""),
            ("", ""),
            ("8x", "0"),
            ("8x", "-1"),
            ("8x2x", "1"),
            ("8x", "1,1"),
            ("8x", "01"),
            ("?x8x", "?,1"),
            ("8x", "9223372036854775807"),
            ("8x", "9223372036854775808"),
            ("9223372036854775807x", "1"),
            ("9223372036854775808x", "1"),
            ("8x", "0x1"),
            ("8x", "1,"),
            ("8x", ",1"),
            ("8x", "? , "),
            ("-8x", "1"),
            ("0x", "1"),
        )
    ),
    *(
        "ptr<>",
        "ptr<f32",
        "ptr<ptr<i8>>",
        "ptr<tile<i8>>",
        "ptr< f32 >",
        "tile<ptr <f32>>",
        "tile<>",
        "tile<f32",
        "tile<f32>>",
    ),
    *(
        "tile<2xtoken>",
        "token<1>",
        "tile<tile<f32>>",
        "tile<f99>",
        "tile<2x2>",
        "tile<x2xf32>",
        "!cuda_tile.tile<!cuda_tile.ptr<f32>>",
    ),
    *(
        f"partition_view<tile=({tile}), {rest}>"
        for tile, rest in (
            ("8", "tensor_view<8xf32, strides=[1]>"),
            ("", "tensor_view<8xf32, strides=[1]>"),
            ("3", "tensor_view<8xf32, strides=[1]>"),
            ("8x1", "tensor_view<8xf32, strides=[1]>"),
            ("8", "padding_value = zero, tensor_view<8xf32, strides=[1]>"),
            ("8", "padding_value = gone, tensor_view<8xf32, strides=[1]>"),
            ("8", "tensor_view<8xf32, strides=[1]>, dim_map=[0]"),
            ("8", "tensor_view<8xf32, strides=[1]>, dim_map=[1]"),
            ("8", "tensor_view<8xf32, strides=[1]>, dim_map=[-1]"),
            ("8", "tensor_view<8xf32, strides=[1]>, dim_map=[]"),
            ("8", "tensor_view<8xf32, strides=[1]>, dim_map=[0, 0]"),
            ("8", "f32"),
            ("2147483648", "tensor_view<8xf32, strides=[1]>"),
            ("1073741824", "tensor_view<8xi8, strides=[1]>"),
        )
    ),
)
"""Types in unusual forms."""


@group("text/types", 1)
def types() -> Iterator[str]:
    """Types alone."""
    for text in SPELLINGS:
        yield outcome(lambda text=text: type_from_text(text))  # type: ignore[misc]  # a default binds
        yield brief(f"entry @k(%x: {text}, %n: tile<i32>) {{\n%0 = addi %n, %n : tile<i32>\nreturn }}")
        yield brief(f'"cuda_tile.module"() <{{sym_name = "m"}}> ({{}}) {{a = {text}}} : () -> ()')
    for zeros in (1, 7, 8, 9, 10):
        yield brief(f"entry @k(%k: tile<i32>) {{ %0 = addi %k#{'0' * zeros}, %k : tile<i32> }}")
    for count in (99, 100, 101, 102):
        listed = f"dense<{[number % 100 for number in range(count)]}> : tensor<{count}xi8>"
        yield with_attribute(PLACES[0].replace("ATTR", listed), allow_unregistered=True)
    found = dict.fromkeys(word for text in texts() for word in tokens_of(text) if "<" in word or word.startswith("!"))
    for number, text in enumerate(found):
        yield outcome(lambda text=text: type_from_text(text))  # type: ignore[misc]  # a default binds
        changed = broken_text(text, rng_of("type", number))
        yield outcome(lambda changed=changed: type_from_text(changed))  # type: ignore[misc]  # as above


def tokens_of(text: str) -> list[str]:
    try:
        return tokens(text)
    except TileError:
        return []


NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    129,
    255,
    256,
    1 << 15,
    (1 << 15) - 1,
)
LARGE = (
    1 << 16,
    (1 << 24) - 1,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    1 << 64,
)
SPELLED = ("00", "-0", "04", *("0" * n + "8" for n in (10, 11, 12, 13, 18, 19, 20)), "9" * 19, "9" * 20, "0x8", "8.0")
"""Numbers in forms that only some places take."""
_WORD = re.compile(r"\"[^\"\n]*\"|[%@#^!]?[\w$.]+|->|[^\s\w]")
_NUMBER = re.compile(r"(?<![\w#%@.])-?\d+(?![\w.])|(?<=x)\d+(?=x)|(?<=[<(])\d+(?=x)")
HEAD = "%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>, %k: tile<i32>"
"""The values that examples use, and one more."""
STANDALONE = ("entry", "global", "cuda_tile.module")


RICH = (
    """#file = #cuda_tile.di_file<"a.py" in "/d">
#line = loc("a.py":1:2)
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit,
  scopeLine = 2>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 3, column = 4>
#both = #cuda_tile.di_loc<#line in #block>
entry @k() {
  %t = make_token : token loc(callsite("n"("b.py":5:6) at #line))
  return loc(#both)
} loc(fused<#file>["x", #cuda_tile.di_loc<loc("c":7:8) in #sub>, unknown])
""",
    """cuda_tile.module @m attributes {a = [1 : i8, 1.5 : f32, "s", @a::@b, unit, {k = array<i32: 1, 2>}], b} {
  global @g alignment = 16 <i8: [1, -2]> : tile<2xi8>
  entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_100 = {num_cta_in_cga = 2, occupancy = 3}, sm_120 = {}> {
    %0 = "cuda_tile.constant"() <{value = dense<[1, 2]> : !cuda_tile.tile<2xi32>}> : () -> !cuda_tile.tile<2xi32>
    %1 = "cuda_tile.addi"(%0, %0) <{overflow = #cuda_tile.overflow<no_wrap>}> {z = dense<true> : tensor<8xi1>}
      : (!cuda_tile.tile<2xi32>, !cuda_tile.tile<2xi32>) -> !cuda_tile.tile<2xi32>
    %2 = get_global @g : tile<ptr<i8>>
    return
  }
}
""",
    """entry @k(%n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %r:2 = if %c -> (tile<i32>, tile<f32>) {
    yield %n, %x : tile<i32>, tile<f32>
  } else {
    %s, %t = loop iter_values(%a = %n, %b = %x) : tile<i32>, tile<f32> -> tile<i32>, tile<f32> {
      if %c { break %a, %b : tile<i32>, tile<f32> }
      continue %n, %b : tile<i32>, tile<f32>
    }
    yield %s, %t : tile<i32>, tile<f32>
  }
  %u:2 = for unsigned %i in (%n to %r#0, step %n) : tile<i32> iter_values(%d = %r#0, %e = %r#1)
    -> (tile<i32>, tile<f32>) {
    continue %i, %e : tile<i32>, tile<f32>
  }
  %v = iota : tile<8xi32>
  %w:2 = reduce %v, %v dim=0 identities=[0 : i32, -1 : i32] : tile<8xi32>, tile<8xi32> -> tile<i32>, tile<i32>
  (%f: tile<i32>, %g: tile<i32>, %h: tile<i32>, %j: tile<i32>) {
    %l = maxi %f, %g signed : tile<i32>
    yield %l, %j : tile<i32>, tile<i32>
  }
  %o = print_tko "a %i b %f %%", %u#0, %u#1 : tile<i32>, tile<f32> -> token
  %q = join_tokens %o, %o : token
}
""",
    """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i64>) {
  %t = make_tensor_view %p, shape = [%n, 64, %n], strides = [%n, 1, 128] : tile<i32>
    -> tensor_view<?x64x?xf32, strides=[?,1,128]>
  %c = make_token : token
  %v = make_strided_view %t : strided_view<tile=(4x8x1), traversal_strides=[2,8,1], padding_value = zero,
    tensor_view<?x64x?xf32, strides=[?,1,128]>, dim_map=[2, 1, 0]>
  %a, %b = load_view_tko weak %v[%n, %n, %n] token = %c optimization_hints = <sm_100 = {latency = 3, allow_tma = true}>
    : strided_view<tile=(4x8x1), traversal_strides=[2,8,1], padding_value = zero,
    tensor_view<?x64x?xf32, strides=[?,1,128]>, dim_map=[2, 1, 0]>, tile<i32> -> tile<4x8x1xf32>, token
  %s = assume bounded<0, 7>, %n : tile<i32>
  %d = assume div_by<8, every 2 along 0>, %p : tile<ptr<f32>>
}
""",
)
"""Texts with everything that the others have little of: debug information, attributes, several results, views."""


@cache
def examples() -> list[str]:
    """Return a text for each operation, its example where that is legal, and short texts of others."""
    found = []
    for _, d in sorted(BY_NAME.items()):
        text = dedent(d.example).strip()
        if text and not d.testing:
            found.append(text if text.startswith(STANDALONE) else f"entry @k({HEAD}) {{\n{text}\n}}")
    short = [text for text in texts() if len(text) < 260 and "%" in text]
    return [*dict.fromkeys(found), *short[::5], *RICH]


@group("text/corners", 3)
def corners(part: int) -> Iterator[str]:
    """Each number of a text in turn is one at which something may change."""
    for text in islice(examples(), part, None, 3):
        for number, found in enumerate(_NUMBER.finditer(text, body_of(text))):
            rows = []
            large = LARGE[number % 2 :: 2]
            odd = SPELLED[number % 3 :: 3]
            for value in (*NUMBERS, *large, -1, -2, -128, -(1 << 31), -(1 << 63), -(1 << 63) - 1, *odd):
                changed = text[: found.start()] + str(value) + text[found.end() :]
                rows.append(brief(changed))
            yield "\n".join(rows)


def brief(text: str) -> str:
    """Describe the module of a text and its first violation, or the error."""
    try:
        m = parse(text, quick=False)
    except TileError as e:
        return error(e)
    wrong = verify(m, max_errors=2)
    return f"{show(m, 'generic')} {[each.message for each in wrong]}"


OTHERS = (
    ",",
    "%k",
    "tile<4xi32>",
    ")",
    "1",
    "i32",
    "%k#1",
    "<",
    '"s"',
    ":",
    "-1",
    "#a",
    "->",
    "0x1F",
    "@k",
    "}",
    "unit",
)
"""Words that take the place of another one."""


@group("text/words", 3)
def each_word(part: int) -> Iterator[str]:
    """Each word of a text in turn is missing, there twice, or another one."""
    for text in islice(examples(), part, None, 3):
        for number, found in enumerate(_WORD.finditer(text, body_of(text))):
            before, word, after = text[: found.start()], found[0], text[found.end() :]
            first, second = (OTHERS[(number * step + part) % len(OTHERS)] for step in (1, 5))
            others = ("", f"{word} {word}", first, second)
            shown = "\n".join(brief(before + other + after) for other in others)
            yield shown + (recovered(before + after) if number % 2 else "")


GAPS = (
    " // c\n",
    "\n",
    "\r\n",
    "\t",
    "\r",
    " // é\n // d\n\n",
    "\0",
    "/",
    "//\n",
    " \n\n  ",
    "\u00a0",
    "\f",
    "// x\r",
    ";",
)


@group("text/spaced", 3)
def each_gap(part: int) -> Iterator[str]:
    """Comments, line ends and stray characters before each word in turn, and before the place of a missing one."""
    for turn, text in enumerate(islice(examples(), part, None, 3)):
        for number, found in enumerate(_WORD.finditer(text)):
            gap, other = (GAPS[(number * step + turn) % len(GAPS)] for step in (1, 3))
            before, word, after = text[: found.start()], found[0], text[found.end() :]
            rows = [parsed(before + gap + word + after), brief(f"{before}{other}{after}"), brief(before + other)]
            if number % 4 == 0:
                rows.append(recovered(before + gap + after))
            yield "\n".join(rows)


def body_of(text: str) -> int:
    """Return where the part of a text begins that is its own."""
    return text.find("{") if text.startswith(f"entry @k({HEAD}") else 0


def recovered(text: str) -> str:
    """Describe what recovery makes of a broken text."""
    found = read(text)
    return "\n".join([*map(error, check_reading(found).errors), show(found.module, "generic", True)])


@group("text/numbers")
def numbers() -> Iterator[str]:
    """Constants of each element type, in each form, at the ends of what the type can hold."""
    for name, scalar in SCALARS.items():
        bits = scalar.bits
        ends = {
            0,
            1,
            2,
            bits,
            (1 << bits) - 1,
            1 << bits,
            (1 << bits) + 1,
            (1 << bits - 1) - 1,
            1 << bits - 1,
            (1 << bits - 1) + 1,
        }
        values = [str(value) for end in sorted(ends) for value in (end, -end)]
        values += [hex(end) for end in sorted(ends)] + [
            "true",
            "false",
            "1.0",
            "-0.0",
            "1e400",
            "1e-400",
            "3.4e38",
            "65520.0",
            "65519.9",
            "448.0",
            "464.0",
            "0.1",
            "-1.5e-8",
        ]
        for value in values:
            forms = (
                f"constant <{name}: {value}> : tile<{name}>",
                f"constant <{name}: [{value}, 1]> : tile<2x{name}>",
                f"constant <{name}: [[{value}], [{value}]]> : tile<2x1x{name}>",
                f"constant <{name}: [{value}, 1, 1]> : tile<2x{name}>",
            )
            yield "\n".join(brief(f"entry @k() {{ %0 = {form} }}") for form in forms)
        for size in (1, 2, 8, 16):
            for count in {
                1,
                size * bits // 8 - 1,
                size * bits // 8,
                size * bits // 8 + 1,
                bits // 8,
                -(-size * bits // 8),
            }:
                digits = ("0123456789ABCDEF" * 16)[: 2 * max(count, 0)]
                yield brief(f'entry @k() {{ %0 = constant <{name}: "0x{digits}"> : tile<{size}x{name}> }}')
                yield brief(f'"cuda_tile.entry"() <{{value = dense<"0x{digits}"> : tensor<{size}x{name}>}}> : () -> ()')


@group("text/hints")
def hints() -> Iterator[str]:
    """Optimization hints, locations and debug information."""
    keys = ("num_cta_in_cga", "allow_tma", "latency", "occupancy", "foo", "num_worker_warps_per_cta")
    archs = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121", "sm_999", "default")
    values = (
        "0",
        "1",
        "2",
        "3",
        "8",
        "10",
        "11",
        "16",
        "17",
        "32",
        "33",
        "64",
        "true",
        "false",
        '"x"',
        "1.0",
        "[1]",
        "-1",
    )
    for number in range(260):
        rng = rng_of("hint", number)
        entries = []
        for _ in range(rng.randrange(1, 3)):
            pairs = ", ".join(f"{rng.choice(keys)} = {rng.choice(values)}" for _ in range(rng.randrange(3)))
            entries.append(f"{rng.choice(archs)} = {{{pairs}}}")
        given = f"optimization_hints=<{', '.join(entries)}>"
        load = f"%0, %1 = load_ptr_tko weak %p {given} : tile<ptr<f32>> -> tile<f32>, token"
        where = (f"entry @k() {given} {{}}", f"entry @k(%p: tile<ptr<f32>>) {{ {load} }}")
        text = where[number % 2]
        report = check_input(Input(text=text), hints=(Hints.WARN, Hints.ERROR)[number // 2 % 2])
        yield "\n".join([brief(text), *map(error, report.errors), *map(error, report.warnings)])
    for number in range(200):
        rng = rng_of("location", number)
        loc = location(rng, 3)
        text = f"entry @k() {{ return loc({loc}) }} loc({location(rng, 1)})\n" + "".join(
            f"#l{n} = loc({location(rng, 2)})\n" for n in range(3)
        )
        if number % 3 == 0:
            text = broken_text(text, rng)
        yield parsed(text)


def location(rng: random.Random, depth: int) -> str:
    pick = rng.choice
    if depth == 0:
        return pick(
            ("unknown", '"a.py":1:2', "#l0", "#l1", "#l2", '"a.py":0:0', '"":7:4294967295', '"b":99999999999:1')
        )
    inner, other = location(rng, depth - 1), location(rng, depth - 1)
    unit = f'compileUnit = #cuda_tile.di_compile_unit<file = #cuda_tile.di_file<"f.py" in "{pick(("", "/d"))}">>'
    scope = (
        f'#cuda_tile.di_subprogram<file = #cuda_tile.di_file<"f.py" in "/d">, line = {pick((0, 1, -1, 7))}, '
        f'name = "n", linkageName = "l", {unit}, scopeLine = {pick((0, 3))}>'
    )
    return pick(
        (
            inner,
            f"fused[{inner}, {other}]",
            f'"n"({inner})',
            f"callsite({inner} at {other})",
            f"fused<1 : i32>[{inner}]",
            f"#cuda_tile.di_loc<loc({inner}) in {scope}>",
        )
    )


ATOMS = (
    "1 : i5", "-3 : i64", "0x7F : i8", "7", "-128 : i8", "256 : ui8", "1 : index", "true", "false", "unit", "-true",
    "1.5", "-2.5e3 : f64", "0x7FC00000 : f32", "1.0e400 : f32", "0xF : f16", "1 : f32", "1.5 : i32", "1.0 : f8E4M3FN",
    '"s"', '"s" : i32', '"\\0A\\22"', "@sym", '@"a b"', "@a::@b::@c", "#a", "#gone", "#d.x", "#d.x<1, [2]>",
    '#d<"x">', 'dense<"abc"> : tensor<1x!d.t>', 'dense<["a", "b"]> : tensor<2x!d.t>', "dense<1> : tensor<2xi32>",
    "dense<> : tensor<0xi8>", "dense<[1, 2]> : tensor<2xi7>", "dense<true> : tensor<9xi1>",
    "dense<[[1.0], [0x7FC00000]]> : tensor<2x1xf32>", 'dense<"0x00FF"> : tensor<2xi8>',
    'dense<"0x0F"> : tensor<8xi1>', "dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>",
    "sparse<[[0, 1]], [2]> : tensor<2x3xi32>", "array<i32: 1, -2>", "array<i1: true, false>", "array<f32: 1.5>",
    "array<i64>", "i32", "si3", "ui8", "i0", "i16777215", "i16777216", "i99999999999999", "f32", "tf32", "index",
    "none", "tuple<>", "tuple<i32, tuple<f32>>", "(i32, f32) -> ()", "() -> (i32, i1)", "complex<f32>",
    "vector<2x[4]xf32>", "tensor<2x?xf32>", "tensor<*xf32>", "tensor<2xf32, #d.x>",
    "memref<?xi8, strided<[1], offset: ?>>", "!d.t", "!d<a, b>", "!cuda_tile.tile<2xi32>", "!cuda_tile.ptr<f32>",
    "!cuda_tile.token", "!cuda_tile.string", "!cuda_tile.gone<1>", "affine_map<(d0, d1)[s0] -> (d0 + s0, d1 mod 2)>",
    "affine_set<(d0) : (d0 >= 0)>", "strided<[1, ?], offset: 2>", "loc(unknown)", 'loc("a":1:2)',
    'loc(fused["a", "b":1:1])', "loc(#a)", "distinct[0]<unit>", "distinct[1]<>", "distinct[1]<2 : i8>",
    "#cuda_tile.signedness<signed>", "#cuda_tile.rounding<zero>", "#cuda_tile.gone<zero>", "#cuda_tile.bounded<0, ?>",
    "#cuda_tile.div_by<8, every 2 along 0>", "#cuda_tile.same_elements<[1, 2]>",
    "#cuda_tile.optimization_hints<sm_100 = {occupancy = 2}>", "#cuda_tile.memory_scope<device>",
    '#cuda_tile.di_file<"a" in "b">', "opaque<1>", "[]", "{}",
)  # fmt: skip
"""Attributes and types of this dialect and of others, and some that nobody has."""


def attribute(rng: random.Random, depth: int) -> str:
    found = rng.choice(ATOMS)
    if depth and rng.random() < 0.4:
        inner, other = attribute(rng, depth - 1), attribute(rng, depth - 1)
        found = rng.choice((f"[{inner}, {other}]", f'{{k = {inner}, unit, "q r" = {other}}}', f"distinct[2]<{inner}>"))
    return found


@group("text/attributes", 2)
def attributes(part: int) -> Iterator[str]:
    """Attributes where any attribute may be, and where one of another kind is expected."""
    for number in range(400):
        rng = rng_of("attribute", part, number)
        found = ATOMS[number] if number < len(ATOMS) else attribute(rng, 2)
        if part == 1:
            found = broken_text(found, rng)
        yield "\n".join(with_attribute(text.replace("ATTR", found), number % 2 == 0) for text in PLACES)


PLACES = (
    '"cuda_tile.module"() <{sym_name = "m"}> ({}) {a = ATTR, b} : () -> ()',
    "cuda_tile.module @m attributes {a = #a} {}\n#a = ATTR",
    '"cuda_tile.module"() <{sym_name = ATTR}> ({}) : () -> () loc(ATTR)',
    'entry @k() { %0 = "cuda_tile.constant"() <{value = ATTR}> : () -> !cuda_tile.tile<2xi32> }',
    'entry @k(%x: tile<i32>) { %0 = "cuda_tile.assume"(%x) <{predicate = ATTR}> '
    ": (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32> }",
    'entry @k(%x: tile<i32>) { %0 = "cuda_tile.addi"(%x, %x) <{overflow = ATTR}> '
    ": (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32> }",
    'entry @k(%x: tile<i32>) { %0 = "cuda_tile.addi"(%x, %x) {a = unit, overflow = ATTR} '
    ": (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32> }",
)


@group("text/nested")
def nested_attributes() -> Iterator[str]:
    """Attributes that nest as deeply as they may, or deeper, after others; and aliases of locations in scopes."""
    for depth in (1, 197, 198, 199, 200, 201):
        for before in ("", "b = {c}, d = [{e = {f}}], ", "b = [[], [[]]], "):
            for opening, closing in ("[]", ("{k = ", "}")):
                found = f"{{{before}a = {opening * depth}1{closing * depth}}}"
                yield with_attribute(PLACES[0].replace("ATTR", found), allow_unregistered=True)
    for name in ("addi", "load_ptr_tko"):
        known = {
            "addi": "overflow = #cuda_tile.overflow<no_wrap>",
            "load_ptr_tko": "memory_ordering_semantics = 0 : i32",
        }
        for more in ("", ", operandSegmentSizes = array<i32: 1, 1, 0, 0>", ", a = unit, z = 1"):
            yield with_attribute(LOOSE[name].replace("ATTR", known[name] + more), allow_unregistered=True)
    for source in ("#line", "#name", "#file", "#gone"):
        for scope in ("#sub", "#block", "#unit", "#line", "#gone"):
            text = "\n".join([*SCOPED, f"#both = #cuda_tile.di_loc<{source} in {scope}>"])
            yield parsed(f"{text}\nentry @k() {{\n  return loc(#both)\n}}\n")


LOOSE = {
    "addi": 'entry @k(%x: tile<i32>) { %0 = "cuda_tile.addi"(%x, %x) {ATTR} '
    ": (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32> }",
    "load_ptr_tko": 'entry @k(%p: tile<ptr<i32>>, %c: tile<i1>) { %0:2 = "cuda_tile.load_ptr_tko"(%p, %c) {ATTR} '
    ": (!cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i1>) -> (!cuda_tile.tile<i32>, !cuda_tile.token) }",
}
"""Operations whose attributes are not among their properties."""
SCOPED = (
    '#file = #cuda_tile.di_file<"a.py" in "/d">', '#line = loc("a.py":1:2)', '#name = loc("n")',
    "#unit = #cuda_tile.di_compile_unit<file = #file>",
    '#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit, '
    "scopeLine = 1>",
    "#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 1, column = 2>",
)  # fmt: skip


def with_attribute(text: str, allow_unregistered: bool) -> str:
    try:
        m = parse(text, quick=False, allow_unregistered=allow_unregistered)
    except TileError as e:
        return error(e)
    return outcome(lambda: show(m, "generic", True, quick=False)) + outcome(lambda: show(m, "disasm", quick=False))


@cache
def generic_examples() -> list[str]:
    """Return the generic form of an example of each operation, in a module of its own."""
    found = []
    for text in examples()[::2]:
        with suppress(TileError):
            found.append(show(parse(text, quick=False), "generic", quick=False))
    return found


_ITEM = re.compile(r"%\w+(?:#\d+)?|![\w.]+(?:<[^<>]*>)?|\w+ = [^,}]*|\[?\d+\]?")


@group("text/generic", 2)
def generic(part: int) -> Iterator[str]:
    """Generic forms with operands, attributes, results, regions and types that are missing, or there twice."""
    for number, text in enumerate(generic_examples()[part::2]):
        rng = rng_of("generic", part, number)
        items = list(_ITEM.finditer(text))
        for found in rng.sample(items, min(len(items), 20)):
            before, after = text[: found.start()], text[found.end() :]
            other = rng.choice(items)[0]
            changed = (
                before.removesuffix(", ") + after,
                f"{before}{found[0]}, {found[0]}{after}",
                before + other + after,
            )
            yield "\n".join(map(brief, changed))
