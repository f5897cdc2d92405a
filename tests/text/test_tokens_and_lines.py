"""Kinds of tokens, the names that are visible, and formatting of single lines."""

from __future__ import annotations

import pytest

from tilery.text.lossless.format import format_text
from tilery.text.lossless.reading import read
from tilery.text.lossless.scopes import names_of
from tilery.text.lossless.tree import TokenKind, kinds

TEXT = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %c:2 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %n, %b = %n) -> (tile<i32>, tile<i32>) {
    %d = addi %a, %i overflow<no_signed_wrap> : tile<i32>
    continue %d, %b : tile<i32>, tile<i32>
  } loc("a":1:2)
  %e = addi %c#0, %c#1 : !cuda_tile.tile<i32>
  print_tko "x", %e : tile<i32> -> token
  %f = constant <f8E5M2: 1.0> : tile<f8E5M2>
  return
}
"""
MESSY = """entry   @k(%x:tile<i32>)   {
%a=addi %x,%x:tile<i32>   // one


     // alone
  %b   = addi %a , %a : tile<i32> loc( "a" : 1 : 2 )
%c = "cuda_tile.addi"( %a,%b ) <{overflow=#cuda_tile.overflow<none>}>:(tile<i32>,tile<i32>)->tile<i32>
   return }
"""
NEAT = """entry @k(%x: tile<i32>) {
  %a = addi %x, %x : tile<i32> // one

  // alone
  %b = addi %a, %a : tile<i32> loc("a":1:2)
  %c = "cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.overflow<none>}> : (tile<i32>, tile<i32>) -> tile<i32>
  return
}
"""


def test_kinds_of_tokens() -> None:
    (part,) = read(TEXT).parts
    found: dict[TokenKind, set[str]] = {}
    for token, kind in zip(part.parsed.tokens.spelled, kinds(part.parsed)):
        found.setdefault(kind, set()).add(token)
    assert found == {
        TokenKind.OPERATION: {"entry", "for", "addi", "continue", "print_tko", "constant", "return"},
        TokenKind.SYMBOL: {"@k"},
        TokenKind.VALUE: {"%p", "%n", "%c", "%i", "%a", "%b", "%d", "%e", "%f", "#0", "#1"},
        TokenKind.TYPE: {"tile<ptr<f32>>", "tile<i32>", "!cuda_tile.tile<i32>", "token", "f8E5M2", "tile<f8E5M2>"},
        TokenKind.KEYWORD: {"in", "to", "step", "iter_values", "overflow", "no_signed_wrap", "loc"},
        TokenKind.NUMBER: {"1", "2", "1.0"},
        TokenKind.STRING: {'"x"', '"a"'},
        TokenKind.MARK: {"(", ")", "{", "}", "<", ">", ":", ",", "=", "->"},
    }


@pytest.mark.parametrize(
    ("token", "visible"),
    [("continue", "abcdinp"), ("print_tko", "cenp"), ("return", "cefnp"), ("for", "cnp")],
)
def test_visible_names(token: str, visible: str) -> None:
    (part,) = read(TEXT).parts
    at = part.parsed.tokens.spelled.index(token)
    assert "".join(sorted(name[1:] for name in names_of(part.parsed).visible(at))) == visible


def test_each_result_is_its_own_value() -> None:
    (part,) = read(TEXT).parts
    toks, names = part.parsed.tokens.spelled, names_of(part.parsed)
    first, second = (names.value(toks.index(number) - 1) for number in ("#0", "#1"))
    assert first is not None and second is not None and first is not second


def test_a_text_is_formatted() -> None:
    assert format_text(MESSY) == NEAT
    assert format_text(NEAT) == NEAT


@pytest.mark.parametrize(
    ("lines", "changed"),
    [
        ((1, 1), (0, 1, 0, 1)),
        ((2, 2), (1, 2, 1, 2)),
        ((3, 4), (0, 0, 0, 0)),
        ((6, 6), (5, 6, 4, 5)),
        ((7, 9), (6, 8, 5, 8)),
    ],
)
def test_only_some_lines_are_formatted(lines: tuple[int, int], changed: tuple[int, int, int, int]) -> None:
    messy, neat = MESSY.splitlines(True), NEAT.splitlines(True)
    first, last, start, end = changed
    assert format_text(MESSY, lines=lines) == "".join([*messy[:first], *neat[start:end], *messy[last:]])
