"""The rules that only the documents have, and `--input documented` of every verb that reads text."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery import documented
from tilery.cli.main import main
from tilery.documented import DocumentedBounds
from tilery.documented.verifying import NOT_PORTABLE


def test_strict_bounds_leave_their_ends_out() -> None:
    module = documented.parse("entry @k(%n: tile<i32>) { %a = assume bounded<0, 8, strict>, %n : tile<i32> return }")
    o = module.entries[0].body.ops[0]
    assert isinstance(o, tilery.ops.Assume) and isinstance(o.predicate, DocumentedBounds)
    assert (o.predicate.lb, o.predicate.ub, o.predicate.strict) == (1, 7, True)
    assert "bounded<1, 7>" in tilery.show(module)
    assert "bounded<1, 7>" in tilery.show(tilery.load(tilery.dumps(module)))


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
    if verb[0] == "dis":
        assert "atomic_rmw_tko relaxed device %arg0, add, %" in shown
    if verb[0] == "fmt":
        assert "atomic_rmw_tko relaxed device %q, add, %c" in shown
