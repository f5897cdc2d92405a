"""Cases files, headers and results: what is wrong with a file is an error with a reason."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from judge.kernels import CASES, GOOD, judged, problem
from tilery.diag import TileError
from tilery.judge import Result, junit, parse_problem, start, table
from tilery.judge.expressions import evaluate
from tilery.judge.header import make_program, parse_table, read_header
from tilery.judge.memory import Poison, array_buffer

WRONG = {
    "not TOML": "[[",
    "an unknown key": CASES + "[[cases]]\nsizes = [{ N = 1 }]\nvalue = []\n",
    "an unknown type": CASES.replace('name = "x"', 'name = "x"\ntype = "f33"'),
    "an unknown role": CASES.replace('role = "out"', 'role = "outer"'),
    "no output": CASES.replace('role = "out"', 'role = "in"'),
    "an unknown size": CASES.replace('shape = ["N"]', 'shape = ["Q"]'),
    "an empty array": CASES.replace("{ N = 8 }", "{ N = 0 }"),
    "a huge array": CASES.replace("{ N = 8 }", "{ N = 1000000000000 }"),
    "an unknown kind": CASES.replace('"zeros"', '"zeroes"'),
    "no cases": CASES[: CASES.index("[[cases]]")],
    "a wild factor": CASES + "[[metamorphic]]\nscale = { x = 3.0 }\n",
    "a law without a size": CASES + '[[metamorphic]]\npermute = "K"\n',
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_cases_files(name: str) -> None:
    with pytest.raises(TileError) as caught:
        parse_problem(WRONG[name])
    assert caught.value.message


@pytest.mark.parametrize(
    "text", ["", "1 +", "N ** 2", "__import__('os')", "N.x", "Q", "1 // 0", "9" * 600, "cdiv(1)", "'a'"]
)
def test_expressions_that_are_refused(text: str) -> None:
    with pytest.raises(TileError):
        evaluate(text, {"N": 4})


def test_headers() -> None:
    shape = problem().shapes[2]
    made = make_program(read_header(GOOD), problem(), shape)
    assert made.launches[0].grid == (3, 1, 1)
    assert [slot.value for slot in made.launches[0].slots] == [0, 0, 21]
    with_scratch = (
        'scratch = { p = { shape = ["N"], fill = 0 } }\n[[launch]]\nargs = ["x", "p"]\n[[launch]]\nargs = ["p", "out"]'
    )
    made = make_program(parse_table(with_scratch), problem(), shape)
    assert made.scratch["p"].size == 84
    assert [[slot.buffer for slot in each.slots] for each in made.launches] == [["x", "p"], ["p", "out"]]
    made = make_program(parse_table('convention = "cutile"'), problem(), shape)
    assert [slot.value for slot in made.launches[0].slots] == [0, 21, 1, 0, 21, 1]
    for wrong in (
        "grid = 'Q'",
        "grids = 1",
        "args = 3",
        "convention = 'c'",
        "scratch = 1",
        "launch = 1",
        "grid = [1,1,1,1]",
    ):
        with pytest.raises(TileError):
            make_program(parse_table(wrong), problem(), shape)


def test_poison_is_complementary() -> None:
    argument = problem().arguments[1]
    one, two = (array_buffer(argument, (5,), "dense", None, Poison(3, inverted)) for inverted in (False, True))
    assert one.view is not None and two.view is not None
    assert ((one.view.view("u4") ^ two.view.view("u4")) == 0xFFFFFFFF).all()
    one.raw[one.start - 1] ^= 1
    assert one.changed_outside() == 1


def test_a_cases_file_from_a_signature() -> None:
    text = start("x: f32[M, N], idx: i32[M], out y: f16[M, 4], n: i32 = N, eps: f32 = 1e-5")
    made = parse_problem(text)
    assert [each.role for each in made.arguments] == ["in", "in", "out", "scalar", "scalar"]
    assert {1, 7}.issubset({shape.sizes["M"] for shape in made.shapes})
    for wrong in ("x", "x: f32[N]", "x: f99[N], out y: f32[N]", ""):
        with pytest.raises(TileError):
            start(wrong)


def test_results_as_data() -> None:
    good, bad = judged(GOOD), judged("entry <&\x00>", name='k"<>.mlir')
    again = Result.from_dict(good.as_dict())
    assert again.as_dict() == good.as_dict()
    assert "accepted" in table([good, bad]) and "rejected" in table([good, bad])
    tree = ET.fromstring(junit([good, bad, Result("x", error="no worker")]))
    suites = tree.findall("testsuite")
    assert [suite.get("failures") for suite in suites] == ["0", "1", "0"]
    assert len(tree.findall(".//error")) == 1
    assert suites[0].get("tests") == str(len(good.stages))
