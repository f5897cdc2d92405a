"""Rare attributes, offsets and notes of bytecode files."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tilery
from tilery import TileError
from tilery.attrs import FloatAttr
from tilery.bytecode.dump import WIDTH
from tilery.bytecode.tables import FileTables
from tilery.ir import walk
from tilery.ops import Constant, Reduce
from tilery.types import F64

REDUCE = """entry @k() {
%x = constant <f64: 2.0> : tile<8xf64>
%r = reduce %x dim=0 identities=[0.5 : f64] : tile<8xf64> -> tile<f64> (%a: tile<f64>, %b: tile<f64>) {
  %s = addf %a, %b : tile<f64>
  yield %s : tile<f64>
}
return
}"""
BRANCH = "entry @k(%c: tile<i1>) { if %c { yield } else { yield } return }"


def reduction(module: tilery.Module) -> Reduce:
    return next(o for o in walk(module) if isinstance(o, Reduce))


def test_a_float_whose_sign_readers_drop_is_written_as_it_was() -> None:
    module = tilery.parse(REDUCE)
    bits = FloatAttr.of(F64, 0.5).bits
    reduction(module).identities = (FloatAttr(F64, bits, lost_sign=True),)
    data = tilery.dumps(module)
    (identity,) = reduction(tilery.load(data)).identities
    assert isinstance(identity, FloatAttr) and identity.lost_sign and identity.bits == bits
    assert tilery.dumps(tilery.load(data)) == data
    assert data != tilery.dumps(tilery.parse(REDUCE))


def test_a_negative_dimension_survives() -> None:
    module = tilery.parse(REDUCE)
    reduction(module).dim = -1
    data = tilery.dumps(module, verify=False)
    assert reduction(tilery.load(data, verify=False)).dim == -1


@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63)])
def test_the_first_reader_refuses_the_ends_of_i64(number: int) -> None:
    text = f"entry @k(%x: tile<8xi32>) {{ %y = assume same_elements<[{number}]>, %x : tile<8xi32> return }}"
    data = tilery.dumps(tilery.parse(text, verify=False), "13.1", verify=False)
    with pytest.raises(TileError) as caught:
        tilery.load(data, reader="13.1", verify=False)
    assert f"array contains unsupported value {number}" in [caught.value.message, *caught.value.notes]
    tilery.load(data, verify=False)


@pytest.mark.parametrize(("region", "most"), [("thenRegion", "1"), ("elseRegion", "at most 1")])
def test_regions_with_two_blocks(region: str, most: str) -> None:
    data = bytearray(tilery.dumps(tilery.parse(BRANCH)))
    (mark,) = [m for m in tilery.dump(bytes(data)).marks if m.text == f"{region}: 1 block"]
    data[mark.start] = 2
    with pytest.raises(TileError) as caught:
        tilery.load(bytes(data))
    assert caught.value.message.endswith(f"('{region}') failed to verify constraint: region with {most} blocks")


def test_ranges_of_a_dump_are_not_empty() -> None:
    found = tilery.dump(tilery.dumps(tilery.parse(REDUCE)))
    assert all(mark.start < mark.end <= len(found.data) for mark in found.marks)


def test_a_dump_in_a_notebook_has_two_rows_of_bytes_at_most() -> None:
    numbers = ", ".join(map(str, range(64)))
    module = tilery.parse(f"entry @k() {{ %c = constant <i32: [{numbers}]> : tile<64xi32> return }}")
    html = tilery.dump(tilery.dumps(module))._repr_html_()
    most = max(len(found) for found in re.findall(r"(?:[0-9a-f]{2} )*[0-9a-f]{2}(?=<)", html))
    assert most == 3 * 2 * WIDTH - 1


def test_an_error_of_the_writer_names_the_operation_once() -> None:
    text = "entry @k(%x: tile<8xf8E4M3FN>) { %y = ftof %x : tile<8xf8E4M3FN> -> tile<8xf8E8M0FNU> return }"
    with pytest.raises(TileError) as caught:
        tilery.dumps(tilery.parse(text, verify=False), "13.1", verify=False)
    notes = [note for note in caught.value.notes if "ftof" in note]
    assert len(notes) == 1


def test_a_file_without_an_unused_constant_is_as_if_it_had_never_been() -> None:
    text = """entry @k(%x: tile<i32>) {{
    %a = constant <i32: 7> : tile<i32>
    {}
    %c = constant <i32: 9> : tile<i32>
    %d = constant <i32: 7> : tile<i32>
    %s = addi %a, %c : tile<i32>
    return
    }}"""
    module = tilery.load(tilery.dumps(tilery.parse(text.format("%b = constant <i32: 8> : tile<i32>"))))
    body = module.entries[0].body
    unused = [o for o in body.ops if isinstance(o, Constant)][1]
    body.ops.remove(unused)
    assert module.layout is not None
    module.layout = module.layout.changed()
    assert len(tilery.dumps(module)) == len(tilery.dumps(tilery.parse(text.format(""))))


@pytest.mark.parametrize(("budget", "is_enough"), [(3, True), (2, True), (1, False)])
def test_parameters_may_use_up_the_budget_of_a_file(
    budget: int, is_enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tables(FileTables):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.value_budget = budget

    data = tilery.dumps(tilery.parse("entry @k(%a: tile<i32>, %b: tile<i32>) { return }"))
    monkeypatch.setattr("tilery.bytecode.reader.FileTables", Tables)
    if is_enough:
        assert len(tilery.load(data).entries[0].body.args) == 2
    else:
        with pytest.raises(TileError, match="too many parameters"):
            tilery.load(data)
