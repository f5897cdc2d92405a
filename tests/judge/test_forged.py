"""Answers of a hostile jail: any bytes lead to a verdict or to a TileError, in bounded time and memory."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

import tilery
from judge.kernels import GOOD, problem, reference
from tilery.diag import ErrorKind, TileError
from tilery.judge import Judge
from tilery.judge.jail.client import MOST_TOKENS, Jail, parse_answer
from tilery.judge.program import parse_submission
from tilery.judge.results import ACCEPTED

CODE = base64.b64encode(tilery.dumps(tilery.parse(GOOD))).decode()
LAUNCH = {"module": 0, "entry": "k", "grid": [1], "slots": [["x", 0]]}


def one(launch: Any = None, scratch: Any = None) -> dict[str, Any]:
    """Return an answer for one shape, with something else in its launch."""
    launches = [{**LAUNCH, **(launch or {})}]
    return {"modules": [""], "programs": [{"launches": launches, "scratch": {} if scratch is None else scratch}]}


FORGED: dict[str, Any] = {
    "not a table": [],
    "nothing": {},
    "no base64": {"modules": ["?"], "programs": []},
    "a number for a module": {"modules": [1], "programs": []},
    "no launches": {"modules": [""], "programs": [{"launches": [], "scratch": {}}]},
    "an unknown module": {"modules": [], "programs": [{"launches": [LAUNCH], "scratch": {}}]},
    "a module of truth": one({"module": False}),
    "a negative module": one({"module": -1}),
    "an unknown array": one({"slots": [["q", 0]]}),
    "a slot of three": one({"slots": [["x", 0, 0]]}),
    "a slot of text": one({"slots": ["x"]}),
    "a slot with an endless number": one({"slots": [[1 << 70]]}),
    "too many slots": one({"slots": [[0]] * 2000}),
    "a negative offset": one({"slots": [["x", -8]]}),
    "a huge offset": one({"slots": [["x", 1 << 62]]}),
    "a fractional offset": one({"slots": [["x", 0.5]]}),
    "a grid of text": one({"grid": ["a"]}),
    "a grid that is text": one({"grid": "abc"}),
    "a grid of nothing": one({"grid": [0]}),
    "a grid of four": one({"grid": [1, 1, 1, 1]}),
    "a grid of NaN": one({"grid": [float("nan")]}),
    "an endless grid": one({"grid": [1 << 60]}),
    "a long name": one({"entry": "k" * 10_000}),
    "a name that cannot be printed": one({"entry": "\ud800"}),
    "a name with a line": one({"entry": "k\n\x1b[2J"}),
    "scratch of an array's name": one(scratch={"x": [1, None]}),
    "scratch without a name": one(scratch={"": [1, None]}),
    "scratch of a path": one(scratch={"../x": [1, None]}),
    "scratch of a surrogate": one(scratch={"\ud800": [1, None]}),
    "endless scratch": one(scratch={"s": [1 << 40, None]}),
    "negative scratch": one(scratch={"s": [-1, None]}),
    "scratch in pieces": one(scratch={f"s{n}": [1, None] for n in range(1000)}),
    "scratch of NaN": one(scratch={"s": [float("nan"), None]}),
    "scratch of text": one(scratch={"s": "ab"}),
    "a list of scratch": one(scratch=[1]),
    "too few programs": {"modules": [""], "programs": []},
    "too many programs": {"modules": [""], "programs": [{"launches": [LAUNCH], "scratch": {}}] * 9},
    "too many modules": {"modules": [""] * 1000, "programs": []},
    "too many bytes": {"modules": [base64.b64encode(bytes(1 << 20)).decode()] * 5, "programs": []},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_answers_are_refused(name: str) -> None:
    with pytest.raises(TileError):
        parse_submission(json.loads(json.dumps(FORGED[name])), ["x", "out"], 1)


ANSWERS = {
    "deep lists": b"[" * 100_000,
    "deep tables": b'{"a":' * 100_000,
    "many lists": b"[" + b"[]," * MOST_TOKENS + b"[]]",
    "an endless number": b"1" * 100_000,
    "not UTF-8": b'{"a": "\xff"}',
    "nothing": b"",
    "zero bytes": bytes(1000),
    "a number": b"1e999",
    "an error that is a list": b'{"error": [1]}',
    "an error of an unknown kind": b'{"error": {"kind": {"a": []}, "message": 3}}',
    "an error that cannot be printed": b'{"error": {"kind": "timeout", "message": "\\ud800"}}',
    "a long error": b'{"error": {"message": "' + b"x" * (1 << 20) + b'"}}',
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_no_answers(name: str) -> None:
    with pytest.raises(TileError) as caught:
        parse_answer(ANSWERS[name])
    assert len(caught.value.message.encode("utf-8")) < 3000
    if name == "many lists":
        assert caught.value.kind is ErrorKind.MEMORY


# ---------------------------------------------------------------- mutants of an honest answer


HOSTILE: list[Any] = [
    None, True, -1, 0, 1, 3, 1 << 31, 1 << 40, 1 << 63, (1 << 64) - 1, 0.5, -0.0, float("nan"), float("inf"), "", "x",
    "out", "\ud800", "\x00", "../../etc/passwd", [], [[]], {}, {"x": 1}, [1, 2, 3], ["x", 0], ["x", 1], ["x", 84],
    ["out", 0], [float("nan")], [1 << 63], CODE[:40], CODE[:-8], [None] * 50,
]  # fmt: skip


def honest() -> dict[str, Any]:
    """Return the answer of a correct candidate, whose scratch memory is not used."""
    programs = [
        {
            "launches": [
                {"module": 0, "entry": "k", "grid": [-(-n // 8)], "slots": [["x", 0], ["out", 0], [n]]},
            ],
            "scratch": {"s": [16, None], "t": [4, base64.b64encode(b"abcd").decode()]},
        }
        for n in (1, 8, 21)
    ]
    return {"modules": [CODE], "programs": programs}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to everything in an answer."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def mutant(rng: random.Random) -> dict[str, Any]:
    """Return an honest answer with one to three changes."""
    made = honest()
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice(list(places(made)))
        home: Any = made
        for key in path:
            home = home[key]
        match rng.randrange(4):
            case 0 if isinstance(home, dict):
                del home[last]
            case 1 if isinstance(home, list):
                home += [copy.deepcopy(home[last])] * rng.choice((1, 70))
            case _:
                home[last] = copy.deepcopy(rng.choice(HOSTILE))
    return made


class Forger(Jail):
    """A jail whose frontend answers whatever it is told."""

    data = b""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return parse_answer(self.data)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(problem(), reference, salt=3, seconds=2.0) as made:
        made.jail = Forger()
        yield made


def verdict(judge: Judge, answer: Any) -> Any:
    assert isinstance(judge.jail, Forger)
    judge.jail.data = json.dumps(answer).encode()
    return judge.judge_source("import cuda.tile", "k.py")


def test_the_honest_answer_is_accepted(judge: Judge) -> None:
    assert verdict(judge, honest()).verdict == ACCEPTED


@pytest.mark.parametrize("seed", range(12))
def test_mutants_have_a_verdict(judge: Judge, seed: int) -> None:
    """Whatever is accepted has right outputs; everything else is rejected with a reason. Results are JSON and text."""
    rng = random.Random(seed)
    for _ in range(20):
        answer = mutant(rng)
        found = verdict(judge, answer)
        assert not found.error, (found.error, answer)
        assert found.verdict == ACCEPTED or found.reason
        json.dumps(found.as_dict(), allow_nan=False)
        found.reason.encode("utf-8")
