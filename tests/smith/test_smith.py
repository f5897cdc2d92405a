"""Laws of the generator of random modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tilery
from support import oracle
from support.contract import arguments
from tilery import TileError, Version
from tilery.cli.main import main
from tilery.declare.operation import OpDef
from tilery.declare.relations import PURE, SYMBOL
from tilery.ir import Op, Value
from tilery.ops import Alloca, AtomicCASTko, AtomicRMWTko, LoadPtrTko, StorePtrTko, registered
from tilery.reducer import case
from tilery.smith import Buffer, smith, smith_with_contract
from tilery.types import F32, F64, I32, Ptr, Scalar, TensorView, Tile, TileView, Type
from tilery.version import SUPPORTED

SEEDS = 2500 if oracle.FULL else 60
every_version = pytest.mark.parametrize("version", SUPPORTED, ids=str)


def of_version(version: Version) -> list[OpDef]:
    return [d for d in registered() if d.since <= version]


# ---------------------------------------------------------------- always the same, always valid


def test_a_seed_gives_the_same_module_in_every_process() -> None:
    """Modules depend neither on the addresses of objects nor on the hashes of strings."""
    code = "import tilery, hashlib, sys; from tilery.smith import smith; " + (
        "sys.stdout.write(hashlib.sha256(b''.join(tilery.dumps(smith(s)) for s in range(30))).hexdigest())"
    )
    answers = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": str(oracle.ROOT / "src"), "PYTHONHASHSEED": seed}
        answers.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)
    assert len(answers) == 1


def test_seeds_differ() -> None:
    assert len({tilery.dumps(smith(seed)) for seed in range(20)}) == 20


@every_version
@pytest.mark.oracle
def test_nvidia_accepts_every_module_and_prints_the_same_text(version: Version) -> None:
    def problem(seed: int) -> str | None:
        module = smith(seed, version=version)
        answer = oracle.disassemble(tilery.dumps(module, version))
        if answer.returncode or answer.stderr:
            return f"seed {seed}: {answer.stderr or answer.returncode}"
        return None if answer.stdout == tilery.show(module) else f"seed {seed}: the text differs"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert [found for found in pool.map(problem, range(SEEDS)) if found] == []


@every_version
def test_our_verifier_accepts_every_module(version: Version) -> None:
    for seed in range(SEEDS):
        assert tilery.verify(smith(seed, version=version)) == [], seed


# ---------------------------------------------------------------- bytes and text


@every_version
def test_a_module_survives_bytes(version: Version) -> None:
    for seed in range(SEEDS):
        module = smith(seed, version=version)
        data = tilery.dumps(module, version)
        again = tilery.load(data)
        assert tilery.difference(module, again) is None, seed
        assert tilery.dumps(again) == data, seed


@every_version
def test_a_module_survives_text(version: Version) -> None:
    for seed in range(SEEDS):
        module = smith(seed, version=version)
        for o in tilery.walk(module):
            o.loc = None
        assert tilery.difference(module, tilery.parse(tilery.show(module))) is None, seed


def test_a_module_for_the_oldest_version_writes_at_all() -> None:
    for seed in range(SEEDS):
        module = smith(seed, version=SUPPORTED[0])
        for version in SUPPORTED:
            again = tilery.load(tilery.dumps(module, version))
            assert again.version == version
            assert tilery.equal(module, again), seed


# ---------------------------------------------------------------- what is in them


@every_version
def test_every_operation_occurs_and_no_newer_one(version: Version) -> None:
    seen = Counter(o.name for seed in range(300) for o in tilery.walk(smith(seed, version=version)))
    assert {d.mnemonic for d in of_version(version)} == set(seen)


@pytest.mark.parametrize("opdef", [d for d in registered() if not d.has(SYMBOL)], ids=lambda d: d.mnemonic)
def test_every_operation_can_be_asked_for(opdef: OpDef) -> None:
    asked = [smith(seed, version=opdef.since, size=30, mix={opdef.mnemonic: 1}) for seed in range(10)]
    assert any(isinstance(o, opdef.cls) for module in asked for o in tilery.walk(module))


def test_a_mix_gives_shares() -> None:
    """A chapter and an operation of the same weight occur equally often."""
    counts = Counter(
        "mmaf" if o.name == "mmaf" else o.opdef.group
        for seed in range(100)
        for o in tilery.walk(smith(seed, mix={"floating point": 1, "mmaf": 1}))
    )
    assert 0.5 < counts["mmaf"] / counts["Floating Point"] < 1.5


@pytest.mark.parametrize(
    "mix, message",
    [
        ({"adi": 1}, "'adi' is neither a chapter nor an operation inside an entry"),
        ({"entry": 1}, "'entry' is neither a chapter nor an operation inside an entry"),
        ({"alloca": 1}, "'alloca' is neither a chapter nor an operation inside an entry at 13.1"),
        ({"Integer": -1}, "the weight of 'Integer' must be finite and not negative, got -1"),
        ({"Integer": float("nan")}, "the weight of 'Integer' must be finite"),
        ({"Integer": 0}, "at least one weight must be positive"),
        ({}, "at least one weight must be positive"),
    ],
)
def test_a_mix_that_cannot_be_is_refused(mix: dict[str, float], message: str) -> None:
    with pytest.raises(TileError, match=message):
        smith(0, version="13.1", mix=mix)


@pytest.mark.parametrize("size", [1, 5, 50, 400])
def test_the_size_is_about_what_was_asked_for(size: int) -> None:
    counts = [sum(1 for _ in tilery.walk(smith(seed, size=size))) for seed in range(30)]
    assert size * 0.7 < sum(counts) / len(counts) < size * 1.4 + 25


@every_version
def test_constants_have_every_element_type(version: Version) -> None:
    constants = [o for seed in range(150) for o in tilery.walk(smith(seed, version=version)) if o.name == "constant"]
    types = {o.value.element.name for o in constants}  # type: ignore[attr-defined]  # constants
    kind = tilery.ops.Constant.opdef.field("result").kind
    assert types == {s.name for s in tilery.types.NUMBERS if s.since <= version and kind.ok(Tile((2,), s))}
    assert {o.value.splat is None for o in constants} == {True, False}  # type: ignore[attr-defined]  # constants


def test_most_values_are_used() -> None:
    pure = used = 0
    for seed in range(60):
        operations = list(tilery.walk(smith(seed)))
        operands = {v for o in operations for v in o.operands}
        for o in operations:
            if o.results and o.opdef.has(PURE):
                pure += 1
                used += any(v in operands for v in o.results)
    assert used / pure > 0.9


def test_every_divisor_that_is_promised_is_legal() -> None:
    """The smallest integers are divisible by more than `div_by` allows."""
    for seed in range(400):
        module = smith(seed, size=60, mix={"assume": 4, "constant": 1, "reshape": 1, "broadcast": 1})
        assert tilery.verify(module) == [], seed


# ---------------------------------------------------------------- how to execute them


@every_version
def test_the_contract_has_an_argument_for_every_parameter(version: Version) -> None:
    for seed in range(SEEDS):
        module, contract = smith_with_contract(seed, version=version)
        assert tilery.equal(module, smith(seed, version=version))
        assert [launch.entry for launch in contract.launches] == [o.sym_name for o in module.entries]
        for launch in contract.launches:
            params = module.entry(launch.entry).body.args
            assert all(n > 0 for n in launch.grid)
            assert len(launch.args) == len(params)
            for argument, value in zip(launch.args, params):
                assert isinstance(value.type, Tile) and value.type.shape == ()
                element = value.type.element
                if isinstance(argument, Buffer):
                    assert isinstance(element, Ptr) and element.pointee is argument.element and argument.count > 0
                else:
                    assert isinstance(element, Scalar) and argument.type is element


@every_version
def test_an_operation_that_is_not_wanted_is_not_made(version: Version) -> None:
    def allow(o: Op) -> bool:
        return o.name not in ("if", "reshape", "constant") or isinstance(o.results and o.results[0].type, Tile)

    for seed in range(SEEDS):
        module, contract = smith_with_contract(seed, version=version, allow=allow)
        assert all(map(allow, tilery.walk(module)))
        assert tilery.verify(module) == []
        assert [len(launch.args) for launch in contract.launches] == [len(o.body.args) for o in module.entries]


def points_to(t: Type) -> Scalar | None:
    """Return the element type of what a pointer or a view leads to."""
    if isinstance(t, Tile):
        return t.element.pointee if isinstance(t.element, Ptr) else None
    if isinstance(t, TensorView):
        return t.element
    return t.tensor_view.element if isinstance(t, TileView) else None


REFUSED: dict[str, Callable[[Op], bool]] = {
    "pointers to f32": lambda o: any(isinstance(v.type, Tile) and points_to(v.type) is F32 for v in touched(o)),
    "views of i32": lambda o: any(not isinstance(v.type, Tile) and points_to(v.type) is I32 for v in touched(o)),
    "integers in memory": lambda o: any((e := points_to(v.type)) and e.is_int for v in touched(o)),
    "small elements in memory": lambda o: any((e := points_to(v.type)) and e.bits <= 16 for v in touched(o)),
    "results that are f64 pointers": lambda o: any(points_to(v.type) is F64 for v in o.results),
    "pointers": lambda o: any(points_to(v.type) for v in touched(o)),
    "offset": lambda o: o.name == "offset",
    "muli of scalars": lambda o: o.name == "muli" and o.results[0].type is Tile((), I32),
    "join_tokens": lambda o: o.name == "join_tokens",
    "what combines values": lambda o: o.name in ("xori", "maxf"),
    "return": lambda o: o.name == "return",
    "global": lambda o: o.name == "global",
    "everything": lambda o: True,
}


def touched(o: Op) -> tuple[Value, ...]:
    return (*o.operands, *o.results)


@pytest.mark.parametrize("what", REFUSED)
def test_whatever_is_refused_the_module_is_legal_and_runs(what: str) -> None:
    """It runs without races and bad accesses, and holds nothing that was refused."""

    def wanted(o: Op) -> bool:
        return not REFUSED[what](o)

    mix = {"Memory": 3, "Core": 1, "Views": 2, "Control Flow": 1, "Integer": 1}
    for seed in range(SEEDS):
        module, contract = smith_with_contract(seed, mix=mix if seed % 2 else None, allow=wanted)
        assert tilery.verify(module) == [], seed
        assert all(o.name in ("module", "entry", "return") or wanted(o) for o in tilery.walk(module)), seed
        for launch in contract.launches:
            aligned = case.CaseLaunch(launch.entry, launch.grid, tuple(arguments(launch, seed))).copies()
            kernel = tilery.compile(module, entry=launch.entry)
            kernel.launch(launch.grid, aligned, sanitize="all", output=lambda text: None)


def test_nothing_reads_memory_that_was_not_written() -> None:
    """This also holds if the store that would have written it is not wanted."""
    abandoned = 0
    for seed in range(150):
        wanted = lambda o: o.name not in ("itof", "ftof", "constant")  # noqa: E731
        module = smith(seed, mix={"Memory": 2, "Conversions": 1}, allow=wanted)
        places = {o.result: o for o in tilery.walk(module) if isinstance(o, Alloca)}
        written = set()
        for o in tilery.walk(module):
            made = {places[v] for v in o.operands if v in places}
            for value in o.results:
                if made and isinstance(value.type, Tile) and isinstance(value.type.element, Ptr):
                    places[value] = next(iter(made))
            if isinstance(o, StorePtrTko):
                written |= made
            elif isinstance(o, (LoadPtrTko, AtomicRMWTko, AtomicCASTko)):
                assert made <= written, seed
        abandoned += len(set(places.values()) - written)
    assert abandoned > 0


# ---------------------------------------------------------------- the command


def test_the_command_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smith", "--seed", "3", "--size", "20", "--version", "13.2"]) == 0
    expected = smith(3, size=20, version="13.2")
    assert capsys.readouterr().out == tilery.show(expected)


def test_the_command_writes_a_file_for_each_seed(tmp_path: Path) -> None:
    assert main(["smith", "--seed", "5", "--count", "2", "-o", str(tmp_path / "m{seed}.tileirbc")]) == 0
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {f"m{seed}.tileirbc": tilery.dumps(smith(seed), tilery.LATEST) for seed in (5, 6)}


def test_the_command_gives_the_contract_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smith", "--seed", "8", "--json", "--mix", "Memory=2,addi"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    module, contract = smith_with_contract(8, mix={"Memory": 2, "addi": 1})
    assert answer["text"] == tilery.show(module)
    assert [one["entry"] for one in answer["launches"]] == [launch.entry for launch in contract.launches]


@pytest.mark.parametrize(
    "argv", [["--mix", "adi=1"], ["--mix", "addi=x"], ["--size", "0"], ["--count", "2", "-o", "x"]], ids=" ".join
)
def test_the_command_refuses_what_makes_no_sense(argv: list[str]) -> None:
    assert main(["smith", *argv]) == 2
