"""Laws of the bytecode reader and writer."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import tilery
from support import oracle
from support.broken import mutate_bytes
from tilery import TileError, Version
from tilery.attrs import DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.bytecode.reader import read
from tilery.bytecode.writer import write
from tilery.declare.fastclass import replace
from tilery.smith import smith
from tilery.version import SUPPORTED


@pytest.mark.corpus
def test_real_files_are_written_back_byte_for_byte(corpus: list[Path]) -> None:
    for path in corpus:
        data = path.read_bytes()
        assert write(tilery.clone(read(data))) == data, path.name


@pytest.mark.corpus
def test_dump_accounts_for_every_byte(corpus: list[Path]) -> None:
    for path in corpus:
        found = tilery.dump(path)
        position = 0
        for mark in found.marks:
            assert mark.start == position, path.name
            assert mark.text != "not read", path.name
            position = mark.end
        assert position == len(found.data)
        assert found.error is None


@pytest.mark.corpus
@pytest.mark.oracle
def test_conversion_keeps_the_meaning_or_refuses(corpus: list[Path]) -> None:
    """A module written at another version disassembles to the same text; a refused one really needs a newer version."""
    for path in corpus if oracle.FULL else corpus[:40]:
        module = tilery.load(path)
        expected = oracle.disassemble(path.read_bytes(), "-g").stdout
        works: list[Version] = []
        for version in SUPPORTED:
            try:
                data = tilery.dumps(module, version)
            except TileError as e:
                assert "bytecode version" in e.message, path.name
                assert module.version is not None and version < module.version
                continue
            works.append(version)
            answer = oracle.disassemble(data, "-g")
            assert answer.returncode == 0, answer.stderr
            assert answer.stdout == expected, path.name
            assert tilery.equal(tilery.load(data), module)
        # Newer versions can express everything that older ones can.
        assert works == list(SUPPORTED[len(SUPPORTED) - len(works) :]), path.name


@pytest.mark.corpus
def test_mutated_files_give_nothing_but_errors_with_a_place(corpus: list[Path]) -> None:
    rng = random.Random(oracle.SEED)
    for _ in range(20_000 if oracle.FULL else 1_500):
        data = mutate_bytes(rng.choice(corpus).read_bytes(), rng)
        for reader in (None, "13.1"):
            try:
                module = tilery.load(data, reader=reader, verify=False)
            except TileError as e:
                # Without its first bytes a short file can look like text.
                assert e.message and (e.offset is not None or e.line is not None)
            else:
                # A module that was read can be written and read again unchanged.
                again = tilery.load(tilery.dumps(tilery.clone(module), verify=False), reader=reader, verify=False)
                assert tilery.equal(again, module)
        assert tilery.dump(data).marks[-1].end == len(data) if data else True


@pytest.mark.corpus
@pytest.mark.oracle
def test_errors_are_those_of_tileirdisasm(corpus: list[Path]) -> None:
    """We accept and refuse the same files as NVIDIA's reader and verifier, nearly always in the same words."""
    rng = random.Random(oracle.SEED + 1)
    refused = same = 0
    for _ in range(5_000 if oracle.FULL else 300):
        data = mutate_bytes(rng.choice(corpus).read_bytes(), rng)
        answer = oracle.disassemble(data)
        if answer.returncode < 0 or not data.startswith(b"\x7fTileIR\0"):
            continue  # NVIDIA's tool crashed, or only says that the file is not bytecode
        said = [re.sub(r"^.*?error: (error at offset \d+: )?", "", line) for line in answer.stderr.splitlines()]
        try:
            tilery.load(data)
        except TileError as e:
            assert answer.returncode != 0, e
            refused += 1
            same += e.message == said[0]
        else:
            assert answer.returncode == 0, said
    assert same >= 0.97 * refused > 0


def test_without_locations_there_is_no_debug_section() -> None:
    """NVIDIA's reader refuses an empty one."""
    for seed in range(20):
        module = tilery.load(tilery.dumps(smith(seed)))
        stripped = tilery.optimize(module, "strip-debug-info")
        assert all(o.loc is None for o in tilery.walk(tilery.load(tilery.dumps(stripped))))


def test_a_producer_survives_as_the_first_string() -> None:
    module = tilery.parse("")
    module.producer = "alone"
    assert tilery.load(tilery.dumps(module)).producer == "alone"


def test_functions_that_share_a_list_of_locations_keep_their_own() -> None:
    """Files may share lists; a function that changes gets a list of its own."""
    module = tilery.load(tilery.dumps(tilery.parse("entry @a() { return } entry @b() { return }")))
    file = DIFile("k.py", "/src")
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file))
    one, other = (DILoc(FileLineCol("k.py", line, 1), scope) for line in (1, 2))
    for entry in module.entries:
        entry.body.ops[0].loc = one
    module = read(tilery.dumps(module, verify=False))
    assert module.layout is not None
    module.layout = replace(module.layout, locations=module.layout.locations[:1], location_list={"a": 0, "b": 0})
    shared = read(tilery.dumps(module, verify=False))
    assert shared.layout is not None and len(shared.layout.locations) == 1
    shared.entries[1].body.ops[0].loc = other
    again = read(tilery.dumps(shared, verify=False))
    assert [entry.body.ops[0].loc for entry in again.entries] == [one, other]
