"""The generated decoders and encoders agree with the walks they are made from, on everything, errors included."""

from __future__ import annotations

import gc
import random
import textwrap
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tilery
from support import oracle
from support.broken import mutate_bytes
from tilery import TileError, Version
from tilery.attrs import Attr, DILoc
from tilery.bytecode import read_body_fast, reader, writer
from tilery.bytecode.decoders import decoder, decoder_source
from tilery.bytecode.encoders import encoder
from tilery.bytecode.profile import find_profile
from tilery.bytecode.reader import FileReader
from tilery.bytecode.write_body import write_body
from tilery.bytecode.write_body_fast import write_fast
from tilery.bytecode.writer import write_with
from tilery.cli.main import main
from tilery.declare.gcpause import paused
from tilery.declare.operation import OpDef
from tilery.ops import AddI, Module, registered
from tilery.smith import smith
from tilery.source.input import Input
from tilery.verifier.explain import check_input
from tilery.version import SUPPORTED, V13_1, V13_3

OPS = [d for d in registered() if d.mnemonic not in ("module", "entry", "global")]
HEAD = "entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {\n"


def example(opdef: OpDef) -> Module:
    """Return a module with an operation's example."""
    text = textwrap.dedent(opdef.example).strip()
    alone = text.split()[0] in ("entry", "global")
    return tilery.parse(text if alone else f"{HEAD}{textwrap.indent(text, '  ')}\n}}")


def read_twice(data: bytes) -> Module:
    """Read with the generated decoders, after comparing the module with that of the slow path."""
    slow = FileReader(data, find_profile(None), None).module()
    fast = FileReader(data, find_profile(None), None, fast=True).module()
    assert tilery.difference(fast, slow) is None
    assert fast.layout == slow.layout
    return fast


def outcome(run: Callable[[], object]) -> object:
    """Return the result of a function, or the error that it raises as data."""
    try:
        return run()
    except TileError as e:
        return e.as_dict()


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_an_example_is_written_and_read_the_same_way_at_every_version(opdef: OpDef) -> None:
    module = example(opdef)
    expressed = 0
    for version in SUPPORTED:
        try:
            data = write_with(module, version, write_body)
        except TileError:
            continue  # the example needs a newer version
        assert write_with(module, version, write_fast) == data
        assert tilery.equal(read_twice(data), reader.read(data))
        expressed += 1
    assert expressed


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_every_operation_of_a_version_has_a_decoder_and_an_encoder(version: Version) -> None:
    for opdef in OPS:
        if opdef.since <= version:
            assert callable(decoder(opdef, version)) and callable(encoder(opdef, version))


def test_a_version_refuses_the_same_in_the_same_words() -> None:
    refused = 0
    for module in [example(opdef) for opdef in OPS] + [smith(seed) for seed in range(10)]:
        for version in SUPPORTED:
            fast = outcome(partial(writer.write, module, version, fast=True))
            assert fast == outcome(partial(writer.write, module, version, fast=False))
            refused += isinstance(fast, dict)
    assert refused > 20


# ---------------------------------------------------------------- whole files


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_random_modules_are_written_and_read_the_same_way(version: Version) -> None:
    for seed in range(25):
        module = smith(seed, version=version, size=80)
        data = write_with(module, version, write_body)
        assert write_with(module, version, write_fast) == data
        again = read_twice(data)
        assert write_with(again, version, write_fast) == data


@pytest.mark.corpus
def test_real_files_are_read_and_written_the_same_way(corpus: list[Path]) -> None:
    for path in corpus:
        data = path.read_bytes()
        module = read_twice(data)
        assert module.version is not None
        assert write_with(module, module.version, write_fast) == data, path.name


def test_many_values_take_numbers_of_several_bytes() -> None:
    lines = [f"%{n + 1} = addi %{max(0, n - 3)}, %{n} : tile<i32>" for n in range(10_000)]
    module = tilery.parse("entry @k(%0: tile<i32>) {\n" + "\n".join(lines) + "\n}")
    data = write_with(module, V13_1, write_body)
    assert write_with(module, V13_1, write_fast) == data
    read_twice(data)


def same_outcome(data: bytes, name: str | None) -> bool:
    """Return whether the file is readable, after comparing what both paths say of it."""
    fast = outcome(lambda: reader.read(data, reader=name))
    slow = outcome(lambda: reader.read(data, reader=name, fast=False))
    if isinstance(slow, Module):
        assert isinstance(fast, Module)
        assert tilery.difference(fast, slow) is None and fast.layout == slow.layout
        return True
    assert fast == slow
    return False


@pytest.mark.parametrize("name", [None, "13.1"])
def test_broken_files_give_the_same_errors(name: str | None) -> None:
    rng = random.Random(oracle.SEED)
    files = [tilery.dumps(smith(seed, version=V13_1), V13_1) for seed in range(20)]
    readable = [same_outcome(mutate_bytes(rng.choice(files), rng), name) for _ in range(400)]
    assert 20 < sum(readable) < 380


@pytest.mark.corpus
def test_broken_real_files_give_the_same_errors(corpus: list[Path]) -> None:
    rng = random.Random(oracle.SEED + 2)
    for _ in range(20_000 if oracle.FULL else 600):
        same_outcome(mutate_bytes(rng.choice(corpus).read_bytes(), rng), None)


# ---------------------------------------------------------------- without exact locations


def rough(loc: Attr | None) -> object:
    """Return what survives of a location that is not exact."""
    return (loc.scope, loc.filename) if isinstance(loc, DILoc) else loc


def same_but_positions(data: bytes) -> int:
    """Return how many operations have a different location, after comparing everything else, errors included."""
    exact, other = outcome(lambda: reader.read(data)), outcome(lambda: reader.read(data, exact_locs=False))
    if not isinstance(exact, Module):
        assert other == exact
        return 0
    assert isinstance(other, Module)
    found, expected = check_input(Input(data), exact_locs=False), check_input(Input(data))
    assert [e.as_dict() for e in found.errors] == [e.as_dict() for e in expected.errors]
    moved = 0
    for a, b in zip(tilery.walk(exact), tilery.walk(other)):
        assert rough(a.loc) == rough(b.loc)
        moved += a.loc is not b.loc
        a.loc = b.loc = None
    assert tilery.difference(other, exact) is None
    return moved


def test_without_exact_locations_only_positions_differ() -> None:
    rng = random.Random(oracle.SEED)
    files = [tilery.dumps(smith(seed)) for seed in range(20)]
    assert sum(map(same_but_positions, files)) > 20
    for _ in range(300):
        same_but_positions(mutate_bytes(rng.choice(files), rng))


# ---------------------------------------------------------------- which path runs


@pytest.mark.parametrize("fast", [True, False, None])
def test_the_path_depends_on_argument_and_size_alone(fast: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"%{n} = iota : tile<8xi32>" for n in range(10_000)]
    small, large = (tilery.parse("\n".join(["entry @k() {", *some, "}"])) for some in (lines[:10], lines))
    used: list[str] = []
    for place, name in (
        (read_body_fast, "read_fast"),
        (reader, "read_body"),
        (writer, "write_fast"),
        (writer, "write_body"),
    ):
        monkeypatch.setattr(place, name, recorded(getattr(place, name), used))
    for expected, module in [("fast" if fast else "body", small), ("body" if fast is False else "fast", large)] * 2:
        used.clear()
        reader.read(writer.write(module, fast=fast), fast=fast)
        assert set(used) == {f"read_{expected}", f"write_{expected}"}


def recorded(function: Callable[..., Any], used: list[str]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        used.append(function.__name__)
        return function(*args)

    return call


# ---------------------------------------------------------------- the machinery


def test_a_traceback_shows_generated_source() -> None:
    with pytest.raises(AttributeError) as caught:
        decoder(AddI.opdef, V13_3)(None)  # type: ignore[arg-type]  # to make it fail
    shown = "".join(traceback.format_exception(caught.value))
    assert decoder_source(AddI.opdef, V13_3).splitlines()[1].strip() in shown


@pytest.mark.parametrize(("kind", "line"), [("decoder", "o.source = values[n]"), ("encoder", "numbers[o.source]")])
def test_debug_gen_prints_the_source(kind: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "gen", f"--{kind}", "negi", "--version", "13.3"]) == 0
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [[], ["--decoder", "entry"], ["--encoder", "nothing"]])
def test_debug_gen_refuses_what_it_cannot_show(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "gen", *wrong]) == 2
    assert capsys.readouterr().err.startswith("tilery: ")


def test_the_collector_is_back_when_the_last_pause_ends() -> None:
    assert gc.isenabled()
    with paused:
        with pytest.raises(ValueError), paused:
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_pauses_of_several_threads_overlap() -> None:
    inside, leave = threading.Barrier(3), threading.Event()

    def work() -> None:
        with paused:
            inside.wait(10)
            leave.wait(10)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(10)
    with paused:
        leave.set()
        for thread in threads:
            thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()
