"""Spellings and rules that only the documents have, one by one, and `fmt` from their spelling to the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery import TileError, documented
from tilery.attrs import IntAttr
from tilery.cli.main import main
from tilery.documented import DocumentedBounds
from tilery.documented.parsing import documented_syntax
from tilery.documented.respelling import respell
from tilery.ops import Assume, Constant, Iota
from tilery.types import I32, SCALARS, Tile

SIGN = "\u00d7"


def body(text: str, arguments: str = "%n: tile<i32>") -> list[tilery.Op]:
    module = documented.parse(f"entry @k({arguments}) {{ {text} return }}")
    assert documented.verify(module) == []
    return module.entries[0].body.ops


@pytest.mark.parametrize("sizes", ["8 * i32", "8*i32", "8  *i32"])
def test_sizes_are_separated_by_a_multiplication_sign(sizes: str) -> None:
    (o, _) = body(f"%a = iota : tile<{sizes.replace('*', SIGN)}>")
    assert isinstance(o, Iota) and o.result.type is Tile((8,), I32)


def test_a_sign_in_a_string_or_comment_stays() -> None:
    text = f'entry @k() {{ %t = print_tko "2 {SIGN} 3" -> token // 2 {SIGN} i32\n return }}'
    assert respell(text) == text


@pytest.mark.parametrize(("spelt", "name"), [("fp8e4m3fn", "f8E4M3FN"), ("fp8e5m2", "f8E5M2")])
def test_small_floats_under_another_name(spelt: str, name: str) -> None:
    (o, _) = body(f"%a = constant <{spelt}: 1.0> : tile<4x2x{spelt}>")
    assert isinstance(o, Constant) and o.result.type is Tile((4, 2), SCALARS[name])


def test_several_predicates_of_one_assumption() -> None:
    first, second, _ = body("%a = assume div_by<8>, bounded<0, 64>, %n : tile<i32>")
    assert isinstance(first, Assume) and isinstance(second, Assume) and second.value is first.result
    assert [str(o.predicate) for o in (first, second)] == [
        "DivBy(divisor=8, every=None, along=None)",
        "Bounded(lb=0, ub=64)",
    ]


@pytest.mark.parametrize("bounds", ["3, 4, strict", "3, 3, strict", "2147483647, ?, strict"])
def test_strict_bounds_need_no_number_between_them(bounds: str) -> None:
    """The documents compare the bounds as written, whether or not they are strict."""
    (o, _) = body(f"%a = assume bounded<{bounds}>, %n : tile<i32>")
    assert isinstance(o, Assume) and isinstance(o.predicate, DocumentedBounds) and o.predicate.strict
    assert o.predicate.lb == o.predicate.lo, "no value is between: the included bounds are weaker, and legal"


def test_bounds_in_the_wrong_order_are_refused_strict_or_not() -> None:
    for rest in ("", ", strict"):
        module = documented.parse(
            f"entry @k(%n: tile<i32>) {{ %a = assume bounded<4, 3{rest}>, %n : tile<i32> return }}", verify=False
        )
        assert any("lo <= hi" in f.message or "less than or equal" in f.message for f in documented.verify(module))


def test_a_bound_out_of_range_is_reported_with_width_and_value() -> None:
    text = "entry @k(%n: tile<i8>) { %a = assume bounded<-129, 400>, %n : tile<i8> return }"
    (finding,) = documented.verify(documented.parse(text, verify=False))
    assert finding.notes == ("-129 does not fit in the 8 bits of i8", "400 does not fit in the 8 bits of i8")


def test_the_value_of_same_elements() -> None:
    text = """entry @k() {{
      %c = constant <i32: {}> : tile<4xi32>
      %a = assume same_elements<[4]>, %c : tile<4xi32>
      return
    }}"""
    o = documented.parse(text.format("7")).entries[0].body.ops[1]
    assert isinstance(o, Assume) and documented.same_value(o) == IntAttr(I32, 7)
    module = documented.parse(text.format("[7, 7, 7, 8]"))
    other = module.entries[0].body.ops[1]
    assert isinstance(other, Assume) and documented.same_value(other) is None
    assert "expects a splat" in documented.verify(module)[0].message


@pytest.mark.parametrize(
    "hints",
    ["sm_75 = {occupancy = 1}", "sm_100 = {foo = 3}", "sm_100 = {num_cta_in_cga = true}", "sm_100 = {latency = 2}"],
)
def test_hints_are_verified_unless_told_otherwise(hints: str, tmp_path: Path) -> None:
    text = f"entry @k() optimization_hints=<{hints}> {{ return }}"
    assert "Optimization hints verification failed" in documented.verify(documented.parse(text))[-1].message
    path = tmp_path / "k.mlir"
    path.write_text(text, "utf-8")
    assert main(["check", "--input", "documented", str(path)]) == 1
    assert main(["check", "--input", "documented", "--hints", "ignore", str(path)]) == 0
    assert main(["check", str(path)]) == 0, "the tools ignore such hints"


@pytest.mark.parametrize(
    "op",
    [
        '%0 = "foo.s"() : () -> !cuda_tile.string\n "foo.t"(%0) : (!cuda_tile.string) -> ()',
        '"foo.t"() {t = [!cuda_tile.string]} : () -> ()',
        '"foo.t"() {t = (!cuda_tile.string) -> !cuda_tile.string} : () -> ()',
        '%0 = "cuda_tile.make_token"() {t = !cuda_tile.string} : () -> !cuda_tile.token',
    ],
)
def test_strings_in_generic_operations(op: str) -> None:
    text = f"entry @k() {{ {op}\n return }}"
    module = documented.parse(text, allow_unregistered=True, verify=False)
    assert "!cuda_tile.string" in tilery.show(module, style="generic")
    with pytest.raises(TileError, match="unknown  type `string`"):
        tilery.parse(text, allow_unregistered=True, verify=False)


TEXT = """// A kernel.
cuda_tile.entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
^entry:
  // two facts
  %small = assume div_by<8>, bounded<0, 64>, %n : tile<i32> // about n
  %x, %t = load_ptr_tko acquire gpu %p : tile<ptr> -> tile<f32>, token
  %one = constant dense<f32: 1.0> : tile<f32>
  %m = cmpf olt, // where?
    %x, %one : tile<f32>
  return
}
"""
FORMATTED = """// A kernel.
cuda_tile.entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  // two facts
  %small_0 = assume div_by<8>, %n : tile<i32>
  %small = assume bounded<0, 64>, %small_0 : tile<i32> // about n
  %x, %t = load_ptr_tko acquire device %p : tile<ptr<f32>> -> tile<f32>, token
  %one = constant <f32: 1.000000e+00> : tile<f32>
  // where?
  %m = cmpf less_than ordered %x, %one : tile<f32> -> tile<i1>
  return
}
"""


def test_fmt_keeps_names_and_comments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT, "utf-8")
    assert main(["fmt", "--input", "documented", str(path)]) == 0
    assert capsys.readouterr().out == FORMATTED
    assert tilery.difference(tilery.parse(FORMATTED), documented.parse(TEXT)) is None
    assert main(["fmt", "--input", "documented", "-i", str(path)]) == 0
    assert main(["fmt", "--check", str(path)]) == 0


def test_the_padding_message_quotes_the_type() -> None:
    with pytest.raises(TileError, match="types, got 'i32'"):
        tilery.parse(
            "entry @k(%p: tile<ptr<i32>>) { %t = make_tensor_view %p, shape = [8], strides = [1] : "
            "tensor_view<8xi32, strides=[1]>\n %v = make_partition_view %t : partition_view<tile=(8), "
            "padding_value = nan, tensor_view<8xi32, strides=[1]>> return }"
        )


def test_the_language_server_reads_the_spelling() -> None:
    document = pytest.importorskip("tilery.lsp.document", reason="pygls is not installed")
    real = document.TextDocument("file:///k.mlir", TEXT)
    assert real.reading.errors
    spelt = document.TextDocument("file:///k.mlir", TEXT, extensions=documented_syntax())
    assert spelt.reading.errors == []
    assert [o.name for o in spelt.reading.module.entries[0].body.ops][:3] == ["assume", "assume", "load_ptr_tko"]


def test_tune_and_reduce_have_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT, "utf-8")
    said = "invalid block name in region with named arguments"  # what the real spelling stumbles over
    for verb in (["tune"], ["reduce", "--message", "nothing has this message"]):
        assert main([*verb, str(path)]) != 0
        assert said in capsys.readouterr().err
        main([*verb, str(path), "--input", "documented"])
        assert said not in capsys.readouterr().err
