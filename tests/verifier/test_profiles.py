"""Errors of the tools of 13.1, 13.2 and 13.3, in their words; `scripts/profiles.py` compares many more modules."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery import TileError, load, parse, verify
from tilery.attrs import Dense, RoundingMode
from tilery.bytecode.writer import write
from tilery.cli.main import main
from tilery.ops import AddF, Constant, TanH
from tilery.version import Version

ALL = ("13.1", "13.2", "13.3", "13.4")
REDUCE = """%a = iota : tile<8xi32>
%r = reduce %a dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {{
  {}
  yield %x : tile<i32>
}}"""
CASES = {
    "atomic addition of bf16": (
        """%x = constant <bf16: 1.0> : tile<bf16>
        %q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<bf16>>
        %o, %t = atomic_rmw_tko relaxed device %q, addf, %x : tile<ptr<bf16>>, tile<bf16> -> tile<bf16>, token""",
        dict.fromkeys(ALL[:2], "'cuda_tile.atomic_rmw_tko' op 'addf' works only with floats f16, f32, and f64"),
    ),
    "atomic addition of integers": (
        """%x = constant <i32: 1> : tile<i32>
        %q = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i32>>
        %o, %t = atomic_rmw_tko relaxed device %q, addf, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token""",
        dict.fromkeys(ALL[:2], "'cuda_tile.atomic_rmw_tko' op 'addf' works only with floats f16, f32, and f64")
        | dict.fromkeys(ALL[2:], "'cuda_tile.atomic_rmw_tko' op 'addf' works only with floats f16, bf16, f32, and f64"),
    ),
    "atomic addition of another type than the pointer's": (
        """%x = constant <bf16: 1.0> : tile<bf16>
        %o, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f32>>, tile<bf16> -> tile<bf16>, token""",
        dict.fromkeys(
            ALL,
            "'cuda_tile.atomic_rmw_tko' op expected pointee type ('f32') to match element type of 'arg' ('bf16')",
        ),
    ),
    "return in a loop": (
        "loop { return }",
        {
            "13.1": "'cuda_tile.return' op expects parent op to be one of 'cuda_tile.entry, cuda_tile.if'",
            "13.2": "'cuda_tile.return' op expects parent op to be one of "
            "'cuda_tile.entry, cuda_tile.if, cuda_tile.testing$func'",
            "13.3": "'cuda_tile.return' op expects parent op to be one of 'cuda_tile.entry, cuda_tile.if'",
        },
    ),
    "return in a branch of a loop": (
        "%c = constant <i1: true> : tile<i1> loop { if %c { return } break }",
        {
            "13.1": "'cuda_tile.return' op must be used within a cuda_tile.entry, or cuda_tile.if operation",
            "13.2": "'cuda_tile.return' op must be used within a cuda_tile.testing$func, cuda_tile.entry, "
            "or cuda_tile.if operation",
            "13.3": "'cuda_tile.return' op must be used within a cuda_tile.entry, or cuda_tile.if operation",
        },
    ),
    "division in a reduction": (
        REDUCE.format("%z = divi %x, %y signed : tile<i32>"),
        {
            "13.1": "'cuda_tile.reduce' op only pure operations allowed",
            "13.3": "'cuda_tile.divi' op only pure operations are allowed inside 'cuda_tile.reduce'",
        },
    ),
    "branch in a reduction": (
        REDUCE.format("%c = constant <i1: true> : tile<i1> if %c { }"),
        {
            "13.1": "'cuda_tile.reduce' op only pure operations allowed",
            "13.3": "'cuda_tile.if' op only pure operations are allowed inside 'cuda_tile.reduce'",
        },
    ),
    "conversion rounded towards zero": (
        "%x = constant <f32: 1.0> : tile<f32> %y = ftof %x rounding<zero> : tile<f32> -> tile<f16>",
        {
            "13.1": "'cuda_tile.ftof' op invalid rounding mode specified for ftof. Only 'nearest_even' is supported",
            "13.2": "'cuda_tile.ftof' op invalid rounding mode specified for ftof. Only 'nearest_even' is supported",
            "13.3": "'cuda_tile.ftof' op invalid rounding mode specified. Only 'nearest_even' is supported",
        },
    ),
    "hint of another operation": (
        "",
        dict.fromkeys(ALL[:2], "'cuda_tile.entry' op allow_tma is not allowed for current Operation"),
    ),
}


def kernel(name: str) -> tilery.ops.Module:
    hints = " optimization_hints=<sm_100 = {allow_tma = true}>" if name.startswith("hint") else ""
    return parse(f"entry @k(%p: tile<ptr<f32>>){hints} {{ {CASES[name][0]}\n return }}", verify=False)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][1]])
@pytest.mark.parametrize("reader", ALL)
def test_a_verifier_has_its_own_rules_and_words(name: str, reader: str) -> None:
    data = write(kernel(name), Version(13, 1))
    found = [f.message for f in verify(load(data, reader=reader, verify=False), stop="mlir", reader=reader)]
    expected = CASES[name][1].get(reader)
    assert found == ([] if expected is None else [expected])
    if expected is None:
        load(data, reader=reader)
    else:
        with pytest.raises(TileError) as caught:
            load(data, reader=reader)
        assert caught.value.message == expected


@pytest.mark.parametrize(
    ("reader", "names"),
    [
        ("13.1", "f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 values"),
        ("13.2", "f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values"),
        ("13.3", "f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN values"),
        ("13.4", "f8E8M0FNU or f4E2M1FN or fnv8E5M3FNU values"),
    ],
)
def test_messages_list_the_types_of_their_version(reader: str, names: str) -> None:
    module = parse("entry @k(%n: tile<i32>) { %x = ftof %n : tile<i32> -> tile<f32> return }", verify=False)
    (finding,) = verify(module, reader=reader)
    assert names in finding.message


@pytest.mark.parametrize("reader", ALL)
@pytest.mark.parametrize(("size", "byte", "newest"), [(16, 1, True), (16, 0, False), (16, 255, False), (8, 1, False)])
def test_one_byte_for_many_truth_values(size: int, byte: int, newest: bool, reader: str) -> None:
    module = parse(f"entry @k() {{ %c = constant <i1: true> : tile<{size}xi1> return }}")
    constant = module.entries[0].body.ops[0]
    assert isinstance(constant, Constant)
    constant.value = Dense(constant.value.type, bytes([byte]))
    data = write(module, Version(13, 1))
    if newest and reader != "13.4":
        with pytest.raises(TileError) as caught:
            load(data, reader=reader)
        assert caught.value.message == "failed to validate buffer size and format"
    else:
        load(data, reader=reader)


@pytest.mark.parametrize("reader", ALL)
def test_the_types_that_a_pointer_may_point_to(reader: str) -> None:
    data = bytearray(write(parse("entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) { return }"), Version(13, 1)))
    at = data.index(b"\x07\x0c\x00\x0d\x01\x00\x0d\x00\x00")  # f32, ptr<f32>, a tile of it, tile<f32>
    data[at + 2] = 3  # the pointer points to the last of them
    with pytest.raises(TileError) as caught:
        load(bytes(data), reader=reader)
    lists = {"13.1": "f8E5M2 or i1", "13.2": "f4E2M1FN or i1", "13.3": "f4E2M1FN or i1", "13.4": "fnv8E5M3FNU or i1"}
    assert caught.value.message.startswith("failed to verify 'pointeeType'") and lists[reader] in caught.value.message


@pytest.mark.parametrize("reader", ALL)
def test_a_rounding_mode_that_came_later(reader: str) -> None:
    text = "entry @k(%x: tile<f32>) {{ %y = ftof %x rounding<{}> : tile<f32> -> tile<f16> return }}"
    one, other = (write(parse(text.format(m), verify=False), Version(13, 1)) for m in ("zero", "negative_inf"))
    (at,) = [i for i, (a, b) in enumerate(zip(one, other)) if a != b]
    data = one[:at] + b"\x07" + one[at + 1 :]
    with pytest.raises(TileError) as caught:
        load(data, reader=reader)
    older = caught.value.message == "invalid integer value for enum type: 7"
    assert older == (reader != "13.4")


def test_hints_by_version(tmp_path: Path) -> None:
    """13.1 does not know that `sm_80` has no clusters, 13.2 does, and 13.3 checks nothing."""
    text = "entry @k() optimization_hints=<sm_80 = {num_cta_in_cga = 2}> { return }"
    found = {v: [f.message for f in verify(parse(text), reader=v)] for v in ALL}
    assert found.pop("13.2") == ["'cuda_tile.entry' op expected 1 for sm_80.num_cta_in_cga"]
    assert set(map(tuple, found.values())) == {()}
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() optimization_hints=<sm_100 = {allow_tma = true}> { return }", "utf-8")
    assert [main(["check", "--reader", v, str(path)]) for v in ALL] == [1, 1, 0, 0]


def test_operations_have_their_former_name() -> None:
    module = parse('entry @k() { %t = print_tko "%" -> token return }', verify=False)
    named = {v: verify(module, reader=v)[0].message.split(" op ")[0] for v in ALL}
    assert named == {"13.1": "'cuda_tile.print'", **dict.fromkeys(ALL[1:], "'cuda_tile.print_tko'")}


PART = "%a = iota : tile<4xi32> %z = constant <i32: 0> : tile<i32> %b = extract {} -> {}"


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        (
            PART.format("%a[%z] : tile<4xi32>", "tile<8xi32>"),
            "result dim size must divide source dim size evenly",
            "source dimension 0 size (4) must be evenly divisible by result dimension 0 size (8)",
        ),
        (
            PART.format("%a[%z, %z] : tile<4xi32>", "tile<2xi32>"),
            "incorrect number of indices, expected 1, but found 2",
            "expected 1 indices, but got 2",
        ),
    ],
)
def test_words_that_changed_with_13_3(body: str, old: str, new: str) -> None:
    module = parse(f"entry @k() {{ {body} return }}", verify=False)
    for reader in ALL:
        wanted = old if reader in ALL[:2] else new
        assert verify(module, reader=reader)[0].message == f"'cuda_tile.extract' op {wanted}"


def test_older_verifiers_accept_a_rounding_of_tanh_that_they_report() -> None:
    module = parse("entry @k(%x: tile<f32>) { %y = tanh %x rounding<full> : tile<f32> return }")
    o = module.entries[0].body.ops[0]
    assert isinstance(o, TanH)
    o.rounding_mode = RoundingMode.ZERO
    assert [bool(verify(module, reader=v)) for v in ALL] == [False, False, False, True]


def test_the_first_words_about_rounding() -> None:
    module = parse("entry @k() { %x = constant <f32: 1.0> : tile<f32> %y = addf %x, %x : tile<f32> return }")
    total = module.entries[0].body.ops[1]
    assert isinstance(total, AddF)
    total.rounding_mode = RoundingMode.APPROX
    said = {v: verify(module, reader=v)[0].message.partition(" specified")[0] for v in ALL}
    assert said == {v: f"'cuda_tile.addf' op invalid rounding {'error' if v == '13.1' else 'mode'}" for v in ALL}


def assumption(text: str) -> tuple[bytearray, int, int]:
    """Return the bytecode of an assumption, the index of its tag, and that of the length of the body."""
    kernel = f"""entry @k() {{
      %x = constant <i32: 0> : tile<8xi32>
      %a = assume {text}, %x : tile<8xi32>
      %b = addi %a, %a : tile<8xi32>
      return
    }}"""
    data = bytearray(write(parse(kernel), Version.parse("13.1")))
    marks = tilery.dump(bytes(data)).marks
    tag = next(mark.start for mark in marks if mark.text.startswith("attribute tag"))
    return data, tag, next(mark.start for mark in marks if mark.text.startswith("body of"))


@pytest.mark.parametrize("reader", ALL)
@pytest.mark.parametrize(("text", "at"), [("bounded<0, ?>", 1), ("div_by<8>", 2)])
def test_flags_of_assumptions_are_bytes_until_13_3(text: str, at: int, reader: str) -> None:
    data, tag, _ = assumption(text)
    data[tag + at] |= 0x80  # as the start of an integer of several bytes, it takes the next byte along
    if reader == "13.4":
        with pytest.raises(TileError):
            load(bytes(data), reader=reader)
    else:
        ops = load(bytes(data), reader=reader).entries[0].body.ops
        assert [o.name for o in ops] == ["constant", "assume", "addi", "return"]


@pytest.mark.parametrize(
    ("text", "at", "old", "new"),
    [
        ("bounded<0, ?>", 1, "failed to read flags byte for BoundedAttr", "failed to read optional parameter flags"),
        ("bounded<0, ?>", 2, "failed to read lower bound for BoundedAttr", "failed to read lb_val"),
        ("bounded<?, 0>", 2, "failed to read upper bound for BoundedAttr", "failed to read ub_val"),
        ("div_by<8>", 1, "failed to read divisor for DivByAttr", "failed to read divisor"),
        ("div_by<8>", 2, "failed to read flags byte for DivByAttr", "failed to read optional parameter flags"),
        ("div_by<8, every 2 along 0>", 3, "failed to read value for 'every' in DivByAttr", "failed to read every_val"),
        ("div_by<8, every 2 along 0>", 4, "failed to read value for 'along' in DivByAttr", "failed to read along_val"),
    ],
)
def test_assumptions_that_are_cut_off(text: str, at: int, old: str, new: str) -> None:
    data, tag, body = assumption(text)
    data[body] = tag + at - (body + 1)
    for reader in ALL:
        with pytest.raises(TileError) as caught:
            load(bytes(data), reader=reader)
        assert caught.value.message == (new if reader == "13.4" else old)
