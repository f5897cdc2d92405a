"""Hand-shaped kernels on this engine and the reference engine: a slice of `scripts/hand_shaped.py`."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import hand_shaped
import tilery
from parts import children
from parts.shaped import launch, memory
from parts.shaped.case import Part
from parts.shaped.families import FAMILIES, NAMES, family_of

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")


def test_a_slice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two kernels of each family."""
    page = tmp_path / "page.md"
    words = ["--count", str(2 * len(NAMES)), "--seed", "10000", "--jobs", "1", "--report", str(page)]
    monkeypatch.setattr("sys.argv", ["hand_shaped.py", *words])
    assert hand_shaped.main() == 0, capsys.readouterr().err
    rows = dict(line.strip("| ").split(" | ", 1) for line in page.read_text().splitlines() if line.startswith("| "))
    assert all(rows[name].startswith("2 | ") for name in NAMES) and rows["all"].endswith(f"{2 * len(NAMES)} | 0")
    assert sum(int(rows[name].split(" | ")[1]) > 0 for name in NAMES) >= len(NAMES) - 1, "nearly all are compiled"


def test_pieces_make_one_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pieces = [str(tmp_path / f"{n}.json") for n in range(3)]
    for seed, piece in zip((10000, 10001, 10005), pieces):
        words = ["--count", "1", "--seed", str(seed), "--family", "scans", "--jobs", "1", "--piece", piece]
        monkeypatch.setattr("sys.argv", ["hand_shaped.py", *words])
        assert hand_shaped.main() == 0
    page = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["hand_shaped.py", "--report", str(page), "--merge", *reversed(pieces[:2])])
    assert hand_shaped.main() == 0
    assert "--count 2 --seed 10000" in page.read_text() and "| scans | 2 |" in page.read_text()
    monkeypatch.setattr("sys.argv", ["hand_shaped.py", "--merge", *pieces])
    with pytest.raises(SystemExit, match="do not follow"):
        hand_shaped.main()


@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_legal_and_depend_on_the_seed_alone(name: str) -> None:
    for seed in range(3):
        case, again = (FAMILIES[name](random.Random(seed)) for _ in range(2))
        assert case.text == again.text and all((a == b).all() for a, b in zip(case.regions, again.regions))
        assert tilery.verify(tilery.parse(case.text)) == []


def test_a_store_that_races_with_itself_is_not_compared_on_gpus() -> None:
    """Two elements of its second store are the same bytes and have different values: whichever is last may win."""
    found = launch.run_case(1_000_000_560, "overlapping_views", "triton", (False,), memory.Slots())
    assert found["outcome"] == launch.SKIPPED and "same bytes" in found["detail"]


def test_differences_are_found() -> None:
    left: Any = ("", [bytes(16)], "")
    wrong: Any = ("", [bytes(8) + b"\1" + bytes(7)], "")
    assert launch.judge(left, left, {}, [0], True)[0] == launch.SAME
    assert launch.judge(left, wrong, {}, [0], True) == (launch.DIFFERS, launch.judge(left, wrong, {}, [0], True)[1])
    assert launch.judge(left, ("", left[1], "x"), {}, [0], True)[0] == launch.DIFFERS
    assert launch.judge(left, ("addi: bad", [], ""), {}, [0], True)[0] == launch.DIFFERS
    assert launch.judge(("addi: bad", [], ""), ("subi: bad", [], ""), {}, [0], True)[0] == launch.OTHER_ERROR


def test_bounds_hold_for_a_region_and_not_for_what_surrounds_it() -> None:
    one, two = np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0 + 1e-6], np.float32)
    bounds = {0: ("f32", np.array([1e-5, 1e-5]))}
    x, y = (("", [b"\5" * 4 + part.tobytes()], "") for part in (one, two))
    assert launch.judge(x, y, bounds, [4], True)[0] == launch.SAME
    assert launch.judge(x, y, {}, [4], True)[0] == launch.DIFFERS
    assert launch.judge(x, ("", [b"\6" * 4 + two.tobytes()], ""), bounds, [4], True)[0] == launch.DIFFERS
    assert launch.judge(x, y, {0: ("f32", np.array([1e-5, 1e-7]))}, [4], True)[0] == launch.DIFFERS


TOUCHES = """
import sys
import checkout
import numpy as np
from parts.shaped import memory
slots = memory.Slots()
slots.place([np.zeros(10, np.uint8)], sys.argv[1] == "before")
(start,) = slots.starts()
place = memory.PAGE + start + (-1 if sys.argv[1] == "before" else 10)
slots._used[0][0].bytes[place] = 1
"""


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_write_beside_a_region_ends_the_process(side: str, root: Path, tmp_path: Path) -> None:
    script = tmp_path / "touch.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(root / 'scripts')!r})\n{TOUCHES}")
    (line,) = children.run_range(lambda _: [sys.executable, str(script), side], 0, 1, 60)
    assert (line["number"], line["outcome"]) == (0, children.DIED) and "-11" in line["detail"]


def test_regions_are_compared_with_what_surrounds_them() -> None:
    slots = memory.Slots()
    slots.place([np.arange(3, dtype=np.uint32)], True)
    (content,) = slots.content()
    assert len(content) == memory.PAGE and content[:12] == np.arange(3, dtype=np.uint32).tobytes()
    assert set(content[12:]) == {memory.CANARY}


def test_a_death_and_a_hang_have_names_and_the_rest_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, sys, time\n"
        "for n in range(int(sys.argv[1]), 10):\n"
        "    print('{\"next\": %d}' % n, flush=True)\n"
        "    if n == 7: os.abort()\n"
        "    if n == 8: time.sleep(99)\n"
        '    print(\'{"number": %d, "outcome": "same"}\' % n, flush=True)\n'
    )
    lines = children.run_range(lambda at: [sys.executable, str(script), str(at)], 5, 10, 2)
    found = [(line["number"], line["outcome"]) for line in lines if "number" in line]
    assert found == [(5, "same"), (6, "same"), (7, children.DIED), (8, children.HANGS), (9, "same")]


def test_families_take_turns() -> None:
    assert [family_of(seed) for seed in range(len(NAMES))] == NAMES


def test_products_that_are_all_zeros() -> None:
    """The sums of a loop are zeros, to which negative zeros are added."""
    found = launch.run_case(1_000_006_597, "product_carried", "cpu", (False, True), memory.Slots())
    assert (found["outcome"], found["lowered"]) == (launch.SAME, 2)


def test_either_zero_is_right_without_exact_and_nothing_else_is() -> None:
    _, case = launch.make(1_000_006_597, "product_carried")
    module, slots = tilery.parse(case.text), memory.Slots()
    slots.place(case.regions, False)
    want: Any = ("", slots.content(), "")
    (part, *_), starts = case.args, slots.starts()
    assert isinstance(part, Part)
    outcomes = []
    for bits in (0, 1 << 31, 1):
        memories = list(want[1])
        content = np.frombuffer(memories[part.region], np.uint8).copy()
        content[starts[part.region] :].view(np.uint32)[part.start] = bits
        memories[part.region] = content.tobytes()
        outcomes.append(launch.either_zero(("", memories, ""), case, module, starts))
    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_a_product_of_one_column_whose_accumulator_is_narrow() -> None:
    found = launch.run_case(1_500_984, "", "cpu", (False, True), memory.Slots())
    assert (found["outcome"], found["lowered"], found["fell back"]) == (launch.SAME, 2, 0)
