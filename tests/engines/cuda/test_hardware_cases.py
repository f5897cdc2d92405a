"""Cases with answers of a GPU: a folder with digests gives the same verdicts as one with the answers."""

from __future__ import annotations

import json
import lzma
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from parts import gpu_hardware
from tilery.engines.reference.launch import ReferenceLoaded

READER = """
import json, lzma, os
import numpy as np
class Hardware:
    def __init__(self, folder):
        self.cases = json.load(lzma.open(os.path.join(folder, "cases.json.xz")))
        self.data = lzma.open(os.path.join(folder, "outputs.bin.xz")).read()
        self.index = json.load(open(os.path.join(folder, "outputs.index.json")))
    def arguments(self, name):
        return [("out", 4, np.dtype("uint32"))]
    def outputs(self, name):
        return [np.frombuffer(self.data, np.uint32, 4, self.index[name])]
"""
NEGATED = """entry @k(%p: tile<ptr<f32>>) {
  %i = iota : tile<4xi32>
  %x = constant <f32: [1.0, 2.0, 3.0, 0x7FC00001]> : tile<4xf32>
  %y = negf %x : tile<4xf32>
  %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %q = offset %b, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %t = store_ptr_tko weak %q, %y : tile<4xptr<f32>>, tile<4xf32> -> token
  return
}"""
RIGHT = np.array([-1, -2, -3, np.nan], np.float32).view(np.uint32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one kernel and three answers: the right one, another NaN, another number."""
    param = {"kind": "out", "elem": "f32", "store": "uint32", "n": 4, "output": "o"}
    case = {"module": NEGATED, "op": "negf", "group": "float1", "grid": [1, 1, 1], "subset": False, "params": [param]}
    right = _left()
    other_nan, other_number = right.copy(), right.copy()
    other_nan[3] = 0x7FFF1234
    other_number[0] += 1
    answers = {"right": right, "nan": other_nan, "number": other_number}
    made = tmp_path / "full"
    made.mkdir()
    (made / "hardware.py").write_text(READER)
    for name, data in {
        "cases.json": json.dumps(dict.fromkeys(answers, case)).encode(),
        "outputs.bin": b"".join(a.tobytes() for a in answers.values()),
        "inputs.bin": b"",
    }.items():
        (made / f"{name}.xz").write_bytes(lzma.compress(data))
    (made / "outputs.index.json").write_text(json.dumps({name: 16 * n for n, name in enumerate(answers)}))
    (made / "inputs.index.json").write_text("{}")
    return made


def _left() -> Any:
    out = np.zeros(4, np.uint32)
    tilery.compile(tilery.parse(NEGATED)).launch(1, [out])
    assert (out[:3] == RIGHT[:3]).all()
    return out


def test_digests_lead_to_the_same_verdicts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slim = tmp_path / "slim"
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "hardware", raising=False)
    gpu_hardware.slim(folder, slim)
    assert not lzma.decompress((slim / "outputs.bin.xz").read_bytes())
    for name, outcome in {"right": "same", "nan": "nan bits", "number": "different"}.items():
        whole = gpu_hardware.run(name, ReferenceLoaded, str(folder))
        assert whole.outcome == outcome
        carried = gpu_hardware.run(name, ReferenceLoaded, str(slim))
        carried.case = f"hardware:{name}"
        assert bool(carried.data) == (name != "right")
        judged = gpu_hardware.judge_later(asdict(carried), str(folder))
        assert judged == {**asdict(whole), "case": carried.case}
    monkeypatch.delitem(sys.modules, "hardware", raising=False)
