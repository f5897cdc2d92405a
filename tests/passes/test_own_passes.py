"""Passes of one's own: loading them, names that are taken, and rules that are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tilery
from tilery import TileError, Value
from tilery.cli.main import main
from tilery.ops import AddI, NegI, SubI
from tilery.passes import PASSES, load_passes, register
from tilery.passes.registry import HOMES
from tilery.rewrite import Report, Rules, apply

KERNEL = 'entry @k(%n: tile<i32>) { %0 = negi %n : tile<i32> %1 = print_tko "%d", %0 : tile<i32> -> token return }'
PASS = '''
from tilery.ops import NegI
from tilery.passes import register
from tilery.rewrite import Rules, apply

rule = Rules()

@rule(NegI)
def no_sign(o):
    """-x is x, which is wrong but easy to see"""
    return o.source

@register("drop-negi")
def drop(root, report):
    """Drop negations."""
    apply(root, rule, report)
'''


@pytest.fixture(autouse=True)
def same_passes() -> Iterator[None]:
    for home in HOMES.values():
        import_module(f"tilery.passes.{home}")  # a pass that is imported only inside a test would be lost
    before = dict(PASSES)
    yield
    PASSES.clear()
    PASSES.update(before)


def test_the_command_loads_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, kernel = tmp_path / "mypass.py", tmp_path / "k.mlir"
    own.write_text(PASS)
    kernel.write_text(KERNEL)
    assert main(["opt", "--load", str(own), "--passes", "drop-negi", str(kernel)]) == 0
    assert "negi" not in capsys.readouterr().out
    PASSES.pop("drop-negi")
    assert main(["opt", "--load", str(own), "--list"]) == 0
    assert "drop-negi                     Drop negations." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = 1", "registers no pass; use tilery.passes.register"),
        ("x = 1\n1 / 0", "mypass.py:2: ZeroDivisionError: division by zero"),
        ("def (", "mypass.py:1: SyntaxError"),
        (PASS.replace("drop-negi", "cse"), "there already is a pass 'cse'"),
        (PASS.replace('"""-x is x, which is wrong but easy to see"""', "pass"),
         "rule no_sign: the first line of its docstring must state its law"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_loaded(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mypass.py"
    own.write_text(content)
    with pytest.raises(TileError) as caught:
        load_passes(str(own))
    assert said in caught.value.message
    assert main(["opt", "--load", str(own), "--list"]) == 2
    assert said in capsys.readouterr().err


def test_a_mistake_in_a_pass_is_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, kernel = tmp_path / "mypass.py", tmp_path / "k.mlir"
    kernel.write_text(KERNEL)
    command = ["opt", "--load", str(own), "--passes", "drop-negi", str(kernel)]
    for answer, said in [("1 / 0", "ZeroDivisionError"), ("5", "TypeError: rule no_sign: it returned 5 for negi")]:
        PASSES.pop("drop-negi", None)
        own.write_text(PASS.replace("return o.source", f"return {answer}"))
        assert main(command) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"tilery: --load: {own}:") and said in err and "bug" not in err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--load", "nowhere.py", "--list"]) == 2
    assert "there is no file 'nowhere.py'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["cse", "canonicalize", "mine"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    def run(root: tilery.Op, report: Report) -> None:
        """Nothing."""

    if name == "mine":
        register(name)(run)
    with pytest.raises(TileError, match=f"there already is a pass '{name}'"):
        register(name)(run)


def rewritten(answer: Any) -> Report:
    """Apply one rule to the kernel; it calls `answer`."""
    rule = Rules()

    @rule(NegI)
    def odd(o: NegI) -> Value | None:
        """a law"""
        made: Value | None = answer(o)
        return made

    return apply(tilery.parse(KERNEL), rule)


def test_a_rule_that_returns_nonsense_is_named() -> None:
    with pytest.raises(TypeError, match="rule odd: it returned 5 for negi, expected None, a Value, an operation"):
        rewritten(lambda o: 5)
    with pytest.raises(TypeError, match="rule odd: negi has results of type"):
        rewritten(lambda o: Value(tilery.types.TOKEN))


def test_a_rule_that_always_fires_is_named() -> None:
    report = rewritten(lambda o: o)
    assert not report.complete and report.endless == ["odd"]
    total = Report()
    total.add(report)
    assert total.endless == ["odd"]


def test_rules_that_undo_each_other_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = Rules()

    @rule(AddI)
    def there(o: AddI) -> SubI:
        """back and"""
        return SubI(lhs=o.lhs, rhs=o.rhs)

    @rule(SubI)
    def back(o: SubI) -> AddI:
        """forth"""
        return AddI(lhs=o.lhs, rhs=o.rhs)

    @register("restless")
    def restless(root: tilery.Op, report: Report) -> None:
        """Never come to rest."""
        apply(root, rule, report)

    kernel = tmp_path / "k.mlir"
    kernel.write_text(KERNEL.replace("negi %n", "addi %n, %n"))
    assert main(["opt", "--passes", "restless", str(kernel)]) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: restless: stopped early, these rules keep firing: ")
    assert "there" in said and "back" in said


def test_dumps_verifies() -> None:
    module = tilery.parse(KERNEL)
    module.entries[0].body.ops.pop()
    with pytest.raises(TileError) as caught:
        tilery.dumps(module)
    assert "block with no terminator" in caught.value.message
    assert caught.value.notes == ["verify=False writes the module as it is"]
    assert tilery.dumps(module, verify=False)
