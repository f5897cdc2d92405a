"""Operations of every kind as bytes and back, what has no tag, and fields that are newer than the layout."""

from __future__ import annotations

from functools import cache

import pytest

import tilery
from support.oracle import ROOT
from tilery import TileError, Value, documented, ops
from tilery.attrs import DictAttr, FloatAttr, IntAttr, IntegerOverflow, OptimizationHints, RoundingMode
from tilery.declare.fields import REQUIRED
from tilery.documented import Packed
from tilery.documented.packing import untagged
from tilery.documented.records import OPCODES
from tilery.ops import registered
from tilery.smith import smith
from tilery.types import F32, F64, I1, I32, I64, Tile

KINDS = [d.mnemonic for d in registered() if d.opcode in OPCODES]
REFUSED = {opdef.mnemonic for opdef, f, _ in untagged() if f.default is REQUIRED}
SEEDS = 60


@cache
def samples() -> dict[str, list[tilery.Op]]:
    """Operations of random modules of 13.1, by kind."""
    found: dict[str, list[tilery.Op]] = {}
    for seed in range(SEEDS):
        for o in tilery.walk(smith(seed, version=tilery.Version(13, 1), size=60)):
            known = found.setdefault(o.name, [])
            if len(known) < 12:
                known.append(o)
    return found


def outside(o: tilery.Op) -> list[Value]:
    """The values that an operation uses and does not define."""
    inside = list(tilery.walk(o))
    made = {v for inner in inside for v in (*inner.results, *(a for b in inner.blocks for a in b.args))}
    return list(dict.fromkeys(v for inner in inside for v in inner.operands if v not in made))


def without_locations(o: tilery.Op) -> tilery.Op:
    for inner in tilery.walk(o):
        inner.loc = None
    return o


def missing(o: tilery.Op) -> set[str]:
    """Return the parts of an operation, or of one inside it, for which there is no tag."""
    rows = [(opdef.mnemonic, f, kind) for opdef, f, kind in untagged()]
    return {
        kind
        for inner in tilery.walk(o)
        for name, f, kind in rows
        if name == inner.opdef.mnemonic and f.name in dict(documented.dictionary(inner).items)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_bytes_or_is_refused_by_name(kind: str) -> None:
    examples = samples().get(kind, [])
    assert examples, f"no random module has {kind}"
    survived = 0
    for o in examples:
        values = outside(o)
        if any(getattr(inner, "predicate", None) == tilery.attrs.Bounded(None, None) for inner in tilery.walk(o)):
            continue
        if kinds := missing(o):
            with pytest.raises(TileError) as caught:
                documented.pack(o, values)
            assert any(caught.value.message.endswith(f"has no tag for {k}") for k in kinds), caught.value
        else:
            packed = documented.pack(o, values)
            again = documented.unpack(packed, values)
            assert tilery.difference(without_locations(o), again) is None
            assert documented.pack(again, values) == packed
            survived += 1
    assert survived or kind in REFUSED or kind in ("entry", "module", "for", "loop")
    assert not (survived and kind in REFUSED)


def test_four_kinds_always_have_something_without_a_tag() -> None:
    assert len(KINDS) == 92
    assert sorted(REFUSED) == ["cmpf", "get_global", "reduce", "scan"]


def test_bounds_without_a_bound_have_no_variant() -> None:
    value = Value(Tile((), I32))
    with pytest.raises(TileError, match="assume: the documented layout has no variant of 'bounded' without a bound"):
        documented.pack(ops.Assume(value=value, predicate=tilery.attrs.Bounded(None, None)), [value])


def test_the_page_lists_what_has_no_tag() -> None:
    page = (ROOT / "docs" / "appendix" / "documents.md").read_text("utf-8")
    section = page[page.index("## What has no tag") :]
    for opdef, f, kind in untagged():
        (row,) = [line for line in section.splitlines() if line.startswith(f"| {kind} |")]
        assert f"`{opdef.mnemonic}` {f.name}" in row


def test_a_kernel_survives_bytes() -> None:
    module = tilery.parse(
        """cuda_tile.module @m { entry @k(%x: tile<i32>, %c: tile<i1>) optimization_hints=<sm_100 = {occupancy = 2}> {
          %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
          %p = reshape %k : tile<4xi32> -> tile<2x2xi32>
          %q = permute %p [1, 0] : tile<2x2xi32> -> tile<2x2xi32>
          %a = assume div_by<8>, %x : tile<i32>
          %f = constant <f32: 1.5> : tile<f32>
          %r = if %c -> (tile<i32>) { yield %a : tile<i32> } else { yield %x : tile<i32> }
          for %i in (%x to %r, step %a) : tile<i32> { print_tko "%d", %i : tile<i32> -> token continue }
          return } }"""
    )
    entry = without_locations(module.entries[0])
    packed = documented.pack(entry)
    again = documented.unpack(packed)
    assert tilery.difference(entry, again) is None
    assert isinstance(again, ops.Entry) and again.optimization_hints == module.entries[0].optimization_hints


# ---------------------------------------------------------------- dictionaries


def test_segments_and_hints_are_inside_the_dictionary() -> None:
    tile = Value(Tile((), I32))
    o = ops.MakeTensorView(
        base=Value(Tile((), tilery.types.Ptr(F32))), dynamicShape=(tile, tile), dynamicStrides=(tile,),
        result=Value(tilery.types.TensorView(F32, (tilery.types.DYNAMIC,) * 2, (tilery.types.DYNAMIC, 1))),
    )  # fmt: skip
    found = documented.dictionary(o)
    data = documented.encode_dict(found, documented.Tables())
    assert data == b"\x01" + bytes([2 * len("operandSegmentSizes")]) + b"operandSegmentSizes" + bytes([3, 2, 4, 2])
    assert documented.decode_dict(data, documented.Tables()) == found
    hint = DictAttr((("occupancy", IntAttr(I32, 2)),))
    hints = DictAttr((("optimization_hints", OptimizationHints(DictAttr((("sm_100", hint),)))),))
    tables = documented.Tables(attributes=[DictAttr(), hint])
    data = documented.encode_dict(hints, tables)
    assert data.endswith(b"\x01\x0csm_100\x01")
    assert documented.decode_dict(data, tables) == hints


def test_broken_segments_are_refused() -> None:
    head = b"\x01" + bytes([2 * len("operandSegmentSizes")]) + b"operandSegmentSizes"
    for tail, message in [
        (b"\x02\x02", "rank 2 exceeds"),
        (b"\x01" + b"\xff" * 9 + b"\x01", "does not fit in 32 bits"),
    ]:
        with pytest.raises(TileError, match=message):
            documented.decode_dict(head + tail, documented.Tables())


# ---------------------------------------------------------------- fields that are newer


@pytest.mark.parametrize(
    ("o", "name"),
    [
        (ops.Exp(source=Value(Tile((), F32)), rounding_mode=RoundingMode.APPROX), "rounding_mode"),
        (ops.NegI(source=Value(Tile((), I32)), overflow=IntegerOverflow.NSW), "overflow"),
        (ops.PrintTko(str_="", args=(), token=Value(tilery.types.TOKEN)), "token"),
        (ops.Module(sym_name="m", producer="x", body=tilery.Block([], [])), "producer"),
    ],
)
def test_fields_that_are_newer_are_refused(o: tilery.Op, name: str) -> None:
    """Records are of 13.1."""
    with pytest.raises(TileError, match=f"'{name}' exists since 13.[23], and the documented layout is that of 13.1"):
        documented.pack(o, outside(o))


def test_a_record_cannot_bring_a_field_that_is_newer() -> None:
    source = Value(Tile((), F32))
    packed = documented.pack(ops.Exp(source=source), [source])
    newer = DictAttr((("rounding_mode", documented.dictionaries.enum_attr(RoundingMode.APPROX)),))
    with pytest.raises(TileError, match=r"exp: 'rounding_mode' exists since 13\.3"):
        documented.decode_op(
            packed.record[:-1] + b"\x01", [Tile((), F32)] * 2, [source], attributes=[DictAttr(), newer]
        )


def test_a_token_that_is_newer_cannot_be_used() -> None:
    first = ops.PrintTko(str_="", args=())
    second = ops.JoinTokens(tokens=(first.result_token, first.result_token))
    then = ops.If(
        condition=(c := Value(Tile((), I1))), results_=(), thenRegion=tilery.Block([], [first, second, ops.Yield()])
    )
    with pytest.raises(TileError, match="an operand is not in the value table"):
        documented.pack(then, [c])


# ---------------------------------------------------------------- hostile bytes


@pytest.mark.parametrize("seed", range(40))
def test_changed_bytes_are_read_or_refused(seed: int) -> None:
    import random

    pick = random.Random(seed)
    o = pick.choice([o for kind in ("constant", "addi", "assume", "permute", "if") for o in samples()[kind]])
    values = outside(o)
    try:
        packed = documented.pack(o, values)
    except TileError:
        return
    for _ in range(30):
        parts = [packed.record, *packed.types, *packed.attributes]
        at = pick.randrange(len(parts))
        data = bytearray(parts[at] or b"\0")
        data[pick.randrange(len(data))] = pick.randrange(256)
        parts[at] = bytes(data)
        split = 1 + len(packed.types)
        broken = Packed(parts[0], tuple(parts[1:split]), (), tuple(parts[split:]), packed.dictionaries)
        try:
            documented.unpack(broken, values)
        except TileError as error:
            assert error.message


def test_floats_and_types_bring_their_types() -> None:
    o = without_locations(ops.Module(sym_name="m", body=tilery.Block([], [])))
    o.extra = {"a": FloatAttr(F64, 1), "b": IntAttr(I64, 7), "c": tilery.attrs.TypeAttr(Tile((4,), I32))}
    again = documented.unpack(documented.pack(o))
    assert again.extra is not None and again.extra["a"] == o.extra["a"] and again.extra["c"] == o.extra["c"]
    assert again.extra["b"] == tilery.attrs.Dense.of(Tile((), I64), [7])  # only a field says that it is an integer
