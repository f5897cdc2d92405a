"""Claims whose tests once stayed green when the behaviour was broken: each test is about one behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from support.assemble import File, function, tile
from tilery import TileError
from tilery.analysis.effects import has_no_effect
from tilery.attrs import DivBy
from tilery.bytecode.wire import Cursor, put_svarint, put_varint
from tilery.declare.operation import BY_NAME
from tilery.declare.relations import PURE
from tilery.ops import Assume, AtomicCASTko, Constant, Pack
from tilery.types import F32, PaddingValue, TensorView
from tilery.version import SUPPORTED


def entry(body: str, arguments: str = "") -> str:
    return f"entry @k({arguments}) {{\n{body}\nreturn\n}}"


def first_message(text: str) -> str:
    try:
        found = tilery.verify(tilery.parse(text, verify=False))
    except TileError as error:
        return error.message
    return found[0].message if found else ""


# ---------------------------------------------------------------- folds

SUM = """%a = constant <f32: {}> : tile<f32>
%b = constant <f32: {}> : tile<f32>
%c = addf %a, %b {} : tile<f32>
%t = print_tko "%f", %c : tile<f32> -> token"""


def folded(a: str, b: str, modifiers: str = "") -> int | None:
    """The bits that pass `documented` folds a sum to; None if the sum stays."""
    module = tilery.optimize(tilery.parse(entry(SUM.format(a, b, modifiers))), "documented")
    ops = module.entries[0].body.ops
    constants = [o for o in ops if isinstance(o, Constant)]
    return None if any(o.name == "addf" for o in ops) else constants[0].value.splat


@pytest.mark.parametrize("value", ["0x7F800000", "0xFF800000", "0x7FC00000", "0x7F800001"])
def test_a_sum_with_an_infinity_or_nan_stays(value: str) -> None:
    assert folded("1.0", value) is None and folded(value, "1.0") is None
    assert folded("1.0", "2.0") == 0x40400000


def test_a_folded_sum_is_flushed_and_rounded() -> None:
    tiny = "0x00000001"  # the smallest subnormal number
    assert folded(tiny, tiny) == 2
    assert folded(tiny, tiny, "flush_to_zero") == 0
    one, half_ulp = "1.0", "0x33000001"  # a little more than a quarter of the distance to the next float
    for mode, bits in (("nearest_even", 0x3F800000), ("positive_inf", 0x3F800001), ("negative_inf", 0x3F800000)):
        assert folded(one, half_ulp, f"rounding<{mode}>") == bits


# ---------------------------------------------------------------- text


def test_compare_and_swap_compares_with_the_first_value() -> None:
    text = """%old = constant <i32: 1> : tile<i32>
    %new = constant <i32: 2> : tile<i32>
    %r, %t = atomic_cas_tko relaxed device %p, %old, %new : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
    module = tilery.parse(entry(text, "%p: tile<ptr<i32>>"))
    o = module.entries[0].body.ops[2]
    assert isinstance(o, AtomicCASTko)
    owners = [v.owner for v in (o.cmp, o.val)]
    assert [w.value.splat for w in owners if isinstance(w, Constant)] == [1, 2]
    memory = np.array([1], np.int32)
    tilery.compile(module).launch((1, 1, 1), [memory])
    assert memory[0] == 2, "memory equals what is compared, so the new value is stored"
    again = tilery.parse(tilery.show(module))
    assert tilery.difference(module, again) is None and "%p" not in tilery.show(module)


FIVE = ("load_ptr_tko", "store_ptr_tko", "load_view_tko", "store_view_tko", "atomic_cas_tko", "atomic_rmw_tko")


@pytest.mark.parametrize("name", FIVE)
def test_memory_operations_are_printed_from_their_format(name: str) -> None:
    """Their text has every attribute once, extra ones included, and reads back the same."""
    assert BY_NAME[name].format != "custom"
    module = tilery.parse(example(name))
    o = next(x for x in tilery.ir.walk(module) if x.name == name)
    o.extra = {"x.note": tilery.attrs.StrAttr("kept")}
    line = next(line for line in tilery.show(module, style="opt").splitlines() if name in line)
    assert line.count("x.note") == 1 and line.count("memory_ordering") == 0 and "operandSegmentSizes" not in line
    again = tilery.parse(tilery.show(module, style="opt"), allow_unregistered=True)
    assert tilery.difference(module, again) is None


def example(name: str) -> str:
    arguments = "%ptr: tile<ptr<f32>>, %x: tile<f32>, %c: tile<i1>, %n: tile<i32>"
    return entry(BY_NAME[name].example, arguments)


@pytest.mark.parametrize("member", PaddingValue)
def test_every_padding_value_is_an_attribute(member: PaddingValue) -> None:
    text = f"entry @k() {{ %t = make_token {{x = #cuda_tile.padding_value<{member.text}>}} : token return }}"
    module = tilery.parse(text)
    (extra,) = (module.entries[0].body.ops[0].extra or {}).values()
    assert f"padding_value<{member.text}>" in tilery.show(module) and extra is not None


# ---------------------------------------------------------------- products


PRODUCT = """%a = constant <i8: -1> : tile<{m}x{k}xi8>
%b = constant <i8: -2> : tile<{k}x{m}xi8>
%c = constant <i32: {acc}> : tile<{m}x{m}xi32>
%r = mmai %a, %b, %c {signs} : tile<{m}x{k}xi8>, tile<{k}x{m}xi8>, tile<{m}x{m}xi32>
%z = constant <i32: 0> : tile<i32>
%e = extract %r[%z, %z] : tile<{m}x{m}xi32> -> tile<1x1xi32>
%f = reshape %e : tile<1x1xi32> -> tile<i32>
%t = store_ptr_tko weak %p, %f : tile<ptr<i32>>, tile<i32> -> token"""


def product(left: str, right: str, acc: int = 0, m: int = 2, k: int = 4) -> int:
    """An element of a matrix product whose factors are all -1 and all -2, read as signed or not."""
    body = PRODUCT.format(m=m, k=k, acc=acc, signs=f"{left} {right}")
    memory = np.zeros(1, np.int32)
    tilery.compile(tilery.parse(entry(body, "%p: tile<ptr<i32>>"))).launch((1, 1, 1), [memory])
    return int(memory[0])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("signed", "signed", 4 * -1 * -2),
        ("signed", "unsigned", 4 * -1 * 254),
        ("unsigned", "signed", 4 * 255 * -2),
        ("unsigned", "unsigned", 4 * 255 * 254),
    ],
)
def test_each_factor_has_a_sign_of_its_own(left: str, right: str, expected: int) -> None:
    assert product(left, right) == expected


def test_the_accumulator_is_signed() -> None:
    assert product("signed", "signed", -100) == 8 - 100
    for m, k in ((2, 4), (64, 32)):  # the larger one is computed as tensor cores do
        assert product("unsigned", "unsigned", -(1 << 31), m, k) == k * 255 * 254 - (1 << 31)


# ---------------------------------------------------------------- rules


def test_identities_belong_to_operands_in_their_order() -> None:
    text = """%a = iota : tile<4xi32>
    %b = constant <f32: 1.0> : tile<4xf32>
    %r:2 = scan %a, %b dim=0 reverse=false identities=[{}] : tile<4xi32>, tile<4xf32> -> tile<4xi32>, tile<4xf32>
    (%x: tile<i32>, %y: tile<i32>, %u: tile<f32>, %v: tile<f32>) {{
      yield %x, %u : tile<i32>, tile<f32>
    }}"""
    assert first_message(entry(text.format("0 : i32, 0.0 : f32"))) == ""
    assert "operand at index: 0 and identity at index: 0" in first_message(entry(text.format("0.0 : f32, 0 : i32")))
    assert "operand at index: 1 and identity at index: 1" in first_message(entry(text.format("0 : i32, 0 : i32")))
    for wrong in ("0 : i32", "0 : i32, 0.0 : f32, 0.0 : f32"):
        assert "identities to match the number of operands" in first_message(entry(text.format(wrong)))


def test_a_module_holds_nothing_but_globals_and_functions() -> None:
    assert first_message("global @g <f32: [1.0]> : tile<1xf32>\nentry @k() { return }") == ""
    for text in ('"arith.nop"() : () -> ()', 'cuda_tile.module @m { "arith.nop"() : () -> () }'):
        assert "unregistered dialect" in first_message(text)
    foreign = tilery.parse('"arith.nop"() : () -> ()\nentry @k() { return }', allow_unregistered=True, verify=False)
    assert [o.name for o in foreign.body.ops] == ["arith.nop", "entry"]
    with pytest.raises(TileError):
        tilery.dumps(foreign, verify=False)


def test_names_of_globals_are_unique() -> None:
    one = "global @a <f32: [1.0]> : tile<1xf32>"
    said = "redefinition of symbol named 'a'"
    assert first_message(f"{one}\n{one}") == said
    assert first_message(f"{one}\nentry @a() {{ return }}") == said
    assert first_message(f"entry @a() {{ return }}\n{one}") == said
    assert first_message(f"{one}\nentry @b() {{ return }}") == ""


@pytest.mark.parametrize(
    ("every", "along", "fine"), [(None, None, True), (2, 0, True), (2, None, False), (None, 0, False)]
)
def test_every_is_not_without_along(every: int | None, along: int | None, fine: bool) -> None:
    module = tilery.parse(entry("%a = iota : tile<8xi32>\n%b = assume div_by<8>, %a : tile<8xi32>"))
    o = module.entries[0].body.ops[1]
    assert isinstance(o, Assume)
    o.predicate = DivBy(8, every, along)
    found = [f.message for f in tilery.verify(module)]
    assert found == [] if fine else "must be used in combination" in found[0]


@pytest.mark.parametrize(("shape", "strides"), [((4, 4), (1,)), ((4,), (4, 1)), ((), (1,)), ((4,), ())])
def test_a_tensor_has_as_many_strides_as_sizes(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    with pytest.raises(TileError, match="expected shape and stride to be of same rank"):
        TensorView(F32, shape, strides)
    assert TensorView(F32, (4, 4), (4, 1)).strides == (4, 1)


def test_a_permutation_says_where_each_dimension_comes_from() -> None:
    text = "%a = constant <f32: 1.0> : tile<2x4x8xf32>\n%b = permute %a [2, 0, 1] : tile<2x4x8xf32> -> tile<{}xf32>"
    assert first_message(entry(text.format("8x2x4"))) == ""
    for wrong in ("4x8x2", "2x4x8", "8x4x2"):
        assert "result shape invalid at index" in first_message(entry(text.format(wrong)))


def test_pack_is_free_of_effects_and_may_run_early() -> None:
    body = """%a = constant <f4E2M1FN: 1.0> : tile<8xf4E2M1FN>
    %n = constant <i32: 4> : tile<i32>
    %z = constant <i32: 0> : tile<i32>
    for %i in (%z to %n, step %n) : tile<i32> {
      %b = pack %a : tile<8xf4E2M1FN> -> tile<4xi8>
      %t = print_tko "%d", %b : tile<4xi8> -> token
    }
    %unused = pack %a : tile<8xf4E2M1FN> -> tile<4xi8>"""
    module = tilery.parse(entry(body))
    packs = [o for o in tilery.ir.walk(module) if isinstance(o, Pack)]
    assert all(has_no_effect(o) and o.opdef.has(PURE) for o in packs) and len(packs) == 2
    better = tilery.optimize(module, "licm,dce")
    names = [o.name for o in better.entries[0].body.ops]
    assert names.count("pack") == 1 and names.index("pack") < names.index("for")


# ---------------------------------------------------------------- bytecode


def cursor(data: bytes | bytearray) -> Cursor:
    return Cursor(bytes(data), 0, len(data))


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (127, "7f"), (128, "80 01"), (300, "ac 02"), ((1 << 64) - 1, "ff" * 9 + "01")]
)
def test_numbers_are_leb128(value: int, encoded: str) -> None:
    out = bytearray()
    put_varint(out, value)
    assert out == bytes.fromhex(encoded) and cursor(out).varint() == value


@pytest.mark.parametrize(("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "80 01")])
def test_signed_numbers_are_zig_zag(value: int, encoded: str) -> None:
    out = bytearray()
    put_svarint(out, value)
    assert out == bytes.fromhex(encoded) and cursor(out).svarint() == value


def test_needless_bytes_are_taken() -> None:
    assert cursor(bytes.fromhex("80 80 00")).varint() == 0 and cursor(bytes.fromhex("85 80 80 00")).varint() == 5


@pytest.mark.parametrize("tag", [13, 14, 15, 99])
def test_no_version_has_more_tags_of_attributes(tag: int) -> None:
    """The predicate of the last operation, an `assume`, has the tag."""
    for version in SUPPORTED:
        types = [b"\x03", tile(0, 8), function([1])]
        number = (version.major, version.minor)
        data = File(version=number, types=types, signature=2, body=b"\x06\x01" + bytes([tag])).data()
        with pytest.raises(TileError) as caught:
            tilery.load(data, verify=False)
        assert caught.value.message == f"unsupported AttributeTag {tag} for self-contained attribute"
