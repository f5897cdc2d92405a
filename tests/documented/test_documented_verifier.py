"""The rules that only the documents have, and `--input documented` of every verb that reads text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilery
from tilery import documented
from tilery.cli.main import main
from tilery.documented import DocumentedBounds
from tilery.documented.verifying import NO_ELEMENT, NOT_PORTABLE

PARAMETERS = "%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>"
THIRTEEN = (
    "failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or i1 or i8 or i16 or i32 "
    "or i64 or Pointer type"
)
VIEW = """%t = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
%i = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
"""


def messages(body: str, *, only_ours: bool = True) -> list[str]:
    """The violations of a body that the tools accept."""
    text = f"entry @k({PARAMETERS}, %q: tile<ptr<i32>>) {{\n{body}\nreturn\n}}"
    module = documented.parse(text, verify=False)
    if only_ours:
        assert not [f for f in tilery.verify(module) if not f.warning]
    return [finding.message for finding in documented.verify(module)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%a = assume div_by<2>, %p : tile<ptr<f32>>", "must be a multiple of the size of the pointee, 4 bytes"),
        ("%a = assume div_by<1>, %h : tile<ptr<f16>>", "must be a multiple of the size of the pointee, 2 bytes"),
        (VIEW + "%a = assume div_by<16>, %t : tensor_view<64xf32, strides=[1]>", "not defined for floating point"),
        (
            "%k = constant <i32: 0> : tile<8x4xi32>\n%a = assume div_by<16, every 2 along 0>, %k : tile<8x4xi32>",
            "divisor must divide the size of dimension 0, which is 8",
        ),
        ("%a = assume bounded<0, 7, max = 5>, %n : tile<i32>", "bounds within min and max"),
        ("%a = assume bounded<0, 7, min = 1>, %n : tile<i32>", "bounds within min and max"),
        ("%a = assume bounded<9, ?, max = 5>, %n : tile<i32>", "expects lo <= hi, got 9 and 5"),
        (
            "%k = constant <i32: [1, 2]> : tile<2xi32>\n%a = assume same_elements<[2]>, %k : tile<2xi32>",
            "expects a splat, and the elements of this constant differ",
        ),
        ("%k = constant <f8E8M0FNU: 1.0> : tile<f8E8M0FNU>", THIRTEEN),
        (
            "%b8 = constant <i8: 7> : tile<64xi8>\n%k = unpack %b8 : tile<64xi8> -> tile<128xF4E2M1FN>",
            THIRTEEN,
        ),
    ],
)
def test_what_only_the_documents_refuse(body: str, message: str) -> None:
    (found,) = messages(body)
    assert message in found


@pytest.mark.parametrize(
    "body",
    [
        "%a = assume div_by<4>, %p : tile<ptr<f32>>\n%c = assume div_by<2>, %h : tile<ptr<f16>>",
        "%a = assume div_by<2>, %n : tile<i32>",
        VIEW + "%a = assume div_by<16>, %i : tensor_view<64xi32, strides=[1]>",
        "%k = constant <i32: 0> : tile<8x4xi32>\n%a = assume div_by<4, every 2 along 0>, %k : tile<8x4xi32>",
        "%a = assume bounded<0, 7, min = 0, max = 7, strict>, %n : tile<i32>",
        "%k = constant <i32: [2, 2]> : tile<2xi32>\n%a = assume same_elements<[2]>, %k : tile<2xi32>",
    ],
)
def test_what_the_documents_accept(body: str) -> None:
    assert messages(body) == []


def test_the_text_has_thirteen_arms() -> None:
    assert NO_ELEMENT == THIRTEEN


def test_what_the_tools_refuse_is_refused() -> None:
    (found,) = messages("%a = assume div_by<3>, %n : tile<i32>", only_ours=False)
    assert found == "'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a power of 2"


def test_strict_bounds_leave_their_ends_out() -> None:
    module = documented.parse("entry @k(%n: tile<i32>) { %a = assume bounded<0, 8, strict>, %n : tile<i32> return }")
    o = module.entries[0].body.ops[0]
    assert isinstance(o, tilery.ops.Assume) and isinstance(o.predicate, DocumentedBounds)
    assert (o.predicate.lb, o.predicate.ub, o.predicate.strict) == (1, 7, True)
    assert "bounded<1, 7>" in tilery.show(module)
    assert "bounded<1, 7>" in tilery.show(tilery.load(tilery.dumps(module)))


def test_bounds_are_judged_as_they_are_written() -> None:
    """Whether they are strict does not matter; 3 < x < 4 has no solution, which the tools refuse."""
    (found,) = messages("%a = assume bounded<3, 4, strict>, %n : tile<i32>", only_ours=False)
    assert (
        found == "'cuda_tile.assume' op 'cuda_tile.bounded' expects lower bound to be less than or equal to upper bound"
    )


@pytest.mark.parametrize("field", ["min", "min = ", "most = 3", "strict strict", ""])
def test_broken_fields_of_bounds_are_refused(field: str) -> None:
    with pytest.raises(tilery.TileError) as caught:
        documented.parse(f"entry @k(%n: tile<i32>) {{ %a = assume bounded<0, 8, {field}>, %n : tile<i32> return }}")
    assert caught.value.source is not None


def test_a_string_is_a_type_that_is_not_portable() -> None:
    text = 'entry @k(%c: tile<i1>) { assert %c, "x" {t = !cuda_tile.string} : tile<i1> return }'
    (finding,) = documented.verify(documented.parse(text))
    assert finding.warning and finding.message == NOT_PORTABLE
    with pytest.raises(tilery.TileError):
        tilery.parse(text)


# ---------------------------------------------------------------- the command

KERNEL = """cuda_tile.module @m { cuda_tile.entry @k(%q: !cuda_tile.tile<ptr<i32>>) {
  %c = cuda_tile.constant dense<i32: 3> : !cuda_tile.tile<i32>
  %old, %t = cuda_tile.atomic_rmw_tko relaxed gpu addu %q, %c : tile<ptr>, tile<i32> -> tile<i32>, token
  cuda_tile.return
} }
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL, "utf-8")
    return str(path)


@pytest.mark.parametrize(
    "verb",
    [
        ["asm", "FILE", "-o", "OUT"],
        ["dis", "FILE"],
        ["check", "FILE"],
        ["convert", "FILE", "--version", "13.2", "-o", "OUT"],
        ["fmt", "FILE"],
        ["diff", "FILE", "FILE"],
        ["info", "FILE"],
        ["opt", "FILE", "--passes", "canonicalize", "-o", "OUT"],
        ["run", "FILE", "--grid", "2", "--arg", "out=zeros:i32:1", "--print", "out"],
        ["compare", "FILE", "--engines", "reference,reference", "--arg", "zeros:i32:1"],
    ],
    ids=lambda verb: verb[0],
)
def test_every_verb_that_reads_text(
    verb: list[str], kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [{"FILE": kernel, "OUT": str(tmp_path / "out")}.get(word, word) for word in verb]
    assert main(command) == 1, "by default this text is refused"
    capsys.readouterr()
    assert main([*command, "--input", "documented"]) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    if verb[0] == "run":
        assert shown == "out = [6]\n"
    if verb[0] in ("dis", "fmt"):
        assert "atomic_rmw_tko relaxed device %arg0, add, %" in shown


def test_check_lists_what_only_the_documents_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%p: tile<ptr<f32>>) { %a = assume div_by<2>, %p : tile<ptr<f32>>\nreturn }", "utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["check", str(path), "--input", "documented", "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    (error,) = report["errors"]
    assert "multiple of the size of the pointee" in error["message"] and error["line"] == 1
