"""Laws of the verifier."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest

import tilery
from support import oracle
from support.mutation import mutate
from tilery import TileError
from tilery.bytecode.writer import write
from tilery.ops import Module
from tilery.smith import smith
from tilery.verifier import verify as verifier
from tilery.version import SUPPORTED

MUTANTS = 20_000 if oracle.FULL else 800
TWO_ERRORS = """entry @k(%x: tile<i32>) {
  %0 = iota : tile<512xi8>
  %1 = iota : tile<1024xi8>
}
"""


@pytest.mark.corpus
def test_no_false_alarm_on_real_files(corpus: list[Path]) -> None:
    for path in corpus:
        assert tilery.verify(tilery.load(path, verify=False)) == [], path.name


@pytest.mark.oracle
def test_mutants_are_judged_as_nvidia_judges_them() -> None:
    """The same answer for each, in the same words: `scripts/differential.py` is the whole campaign."""
    rng = random.Random(oracle.SEED)
    refused = same = 0
    for _ in range(MUTANTS):
        module = smith(rng.randrange(1 << 30), version=rng.choice(SUPPORTED), size=20)
        try:
            data = write(mutate(module, rng))
        except TileError:
            continue  # bytecode cannot hold it
        answer = oracle.disassemble(data)
        if answer.returncode < 0:
            continue  # NVIDIA's tool crashed
        said = re.findall(r"error: (?:error at offset \d+: )?(.*)", answer.stderr)
        mine = first_message(data)
        assert bool(said) == bool(mine), (mine, said)
        refused += bool(mine)
        same += mine is not None and shorter(mine) == shorter(said[0])
    assert refused > MUTANTS // 4
    assert same >= 0.98 * refused


def shorter(message: str) -> str:
    """Without the operation that NVIDIA prints in full and we name."""
    return message.partition(", has ")[0]


def first_message(data: bytes) -> str | None:
    try:
        found = tilery.verify(tilery.load(data, verify=False), stop="mlir")
    except TileError as e:
        return e.message
    return found[0].message if found else None


# ---------------------------------------------------------------- how many errors


def test_stop_where_mlir_stops() -> None:
    assert len(tilery.verify(tilery.parse(TWO_ERRORS, verify=False), stop="mlir")) == 1
    assert len(tilery.verify(tilery.parse(TWO_ERRORS, verify=False), max_errors=1)) == 1


def test_reading_verifies_by_default() -> None:
    with pytest.raises(TileError, match="exceeds the maximum value") as caught:
        tilery.parse(TWO_ERRORS)
    assert caught.value.line == 2
    data = write(tilery.parse(TWO_ERRORS, verify=False))
    with pytest.raises(TileError, match="exceeds the maximum value"):
        tilery.load(data)
    assert tilery.load(data, verify=False).entries[0].sym_name == "k"


def test_a_symbol_is_defined_once() -> None:
    module = tilery.parse("entry @k() { return }")
    module.body.ops.append(tilery.clone(module.entries[0]))
    (found,) = tilery.verify(module)
    assert found.message == "redefinition of symbol named 'k'"
    assert found.related[0][0] is module.entries[0]


def mutants(count: int) -> list[Module]:
    """Make modules, most of them illegal, with every violation several times."""
    rng = random.Random(oracle.SEED + 3)
    made = [mutate(smith(rng.randrange(1 << 30), size=20), rng) for _ in range(count)]
    for module in made:
        for entry in module.entries:
            copies = [tilery.clone(o) for o in entry.body.ops[:-1] if not o.blocks]
            entry.body.ops[-1:-1] = copies
    return made


def test_remembered_signatures_change_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = mutants(60)
    fast = [verifier.verify(module, hints=hints) for module in modules for hints in verifier.Hints]
    numbers = itertools.count()
    monkeypatch.setattr(verifier, "signature", lambda cls, small: lambda o: next(numbers))
    slow = [verifier.verify(module, hints=hints) for module in modules for hints in verifier.Hints]
    assert fast == slow
    assert sum(map(len, fast)) > 60


def test_modules_from_bytecode_need_no_dominance_check() -> None:
    for module in mutants(60):
        try:
            again = tilery.load(write(module), verify=False)
        except TileError:
            continue  # bytecode cannot hold it
        assert tilery.verify(again) == verifier.verify(again, dominance=False)
