"""Text as documents promise it: forms of token-ordered operations, and words that the tools do not have."""

from __future__ import annotations

import re

import pytest

import tilery
from support.documented import (
    CAS,
    HEAD,
    LOAD,
    LOAD_PTR,
    LOADED,
    RMW,
    STORE,
    STORE_PTR,
    TAIL,
    TILE,
    VIEW,
    printed,
    read,
    refused,
    refused_by_default,
)
from tilery import TileError, documented, ops
from tilery.attrs import AtomicRMWMode, MemoryOrderingSemantics, MemoryScope, UnitAttr
from tilery.ops import registered
from tilery.text.spelling import ANSWERS, COMPARISONS, POINTEE
from tilery.types import F32, I1, I32, Ptr, Tile

# ---------------------------------------------------------------- token-ordered operations


def test_load_through_a_view() -> None:
    (o,) = read(LOAD)
    assert isinstance(o, ops.LoadViewTko)
    assert o.memory_ordering_semantics is MemoryOrderingSemantics.ACQUIRE
    assert o.memory_scope is MemoryScope.DEVICE
    assert o.token is not None and [v.type for v in o.index] == [Tile((), I32)] * 2
    assert printed(LOAD, "load_view_tko") == (
        f"%tile, %result_token = cuda_tile.load_view_tko acquire gpu %pview[%arg1, %arg2] token=%0 "
        f": {VIEW} -> {TILE}, !cuda_tile.token"
    )


def test_store_through_a_view() -> None:
    o = read(LOADED + STORE)[-1]
    assert isinstance(o, ops.StoreViewTko)
    assert o.tile.type is Tile((8, 8), F32) and o.token is not None
    assert printed(LOADED + STORE, "store_view_tko") == (
        f"%1 = cuda_tile.store_view_tko release gpu %pview[%arg1, %arg2], %tile token=%0 "
        f": {VIEW}, {TILE} -> !cuda_tile.token"
    )


def test_store_through_a_view_in_the_real_form() -> None:
    real = f"%tok1 = store_view_tko release device %w, %view[%i, %j] token=%tok0 : {TILE}, {VIEW}, tile<i32> -> token"
    assert isinstance(read(LOADED + real)[-1], ops.StoreViewTko)


def test_compare_and_swap() -> None:
    o = read(CAS)[-1]
    assert isinstance(o, ops.AtomicCASTko) and o.mask is not None
    assert printed(CAS, "atomic_cas_tko").startswith(
        "%result, %result_token = cuda_tile.atomic_cas_tko acq_rel gpu %arg5,"
    )


def test_read_modify_write() -> None:
    o = read(RMW)[-1]
    assert isinstance(o, ops.AtomicRMWTko) and o.mask is not None and o.mode.text == "add"
    assert printed(RMW, "atomic_rmw_tko").startswith(
        "%result, %result_token = cuda_tile.atomic_rmw_tko acquire gpu add %arg5, %cst_1_i32, %arg3 token=%0 : "
    )
    real = RMW.replace("gpu add %q", "device %q, add")
    assert isinstance(read(real)[-1], ops.AtomicRMWTko)


@pytest.mark.parametrize("body", [LOAD_PTR, STORE_PTR], ids=["load", "store"])
def test_pointer_forms_mirror_them(body: str) -> None:
    (o,) = read(body)
    assert o.memory_scope is MemoryScope.DEVICE  # type: ignore[attr-defined]
    assert " gpu " in printed(body, o.name)


def test_every_field_is_visible() -> None:
    for body in (LOAD, LOADED + STORE, CAS, RMW, LOAD_PTR, STORE_PTR):
        o = read(body)[-1]
        line = printed(body, o.name)
        assert "token=%0" in line and "!cuda_tile.token" in line and " gpu " in line
        assert "memory_scope" not in line and "operandSegmentSizes" not in line


def test_fields_of_the_format_are_not_in_the_dictionary() -> None:
    """Orderings, scopes, sizes of segments, modes and hints have their place before the dictionary."""
    hints = "optimization_hints = <sm_100 = {latency = 3}>"
    hinted = LOAD.replace("token=%tok0\n", f"token=%tok0 {hints}\n")
    for body in (hinted, LOADED + STORE, CAS, RMW, LOAD_PTR, STORE_PTR):
        line = tilery.show(marked(body), style="documented")
        (dictionary,) = re.findall(r"\{([^{}]*marked[^{}]*)\}", line)
        assert dictionary == "marked"
        assert "latency = 3" in line or body is not hinted


def marked(body: str) -> tilery.Module:
    """The module of a body whose last operation has an attribute of its own."""
    module = documented.parse(HEAD + body + TAIL)
    module.entries[0].body.ops[-2].extra = {"marked": UnitAttr()}
    return module


def test_a_masked_store_through_a_view_is_answered_with_the_real_form() -> None:
    error = refused(LOADED + STORE.replace("%w token", "%w, %cond token"))
    assert "has no mask" in error.notes[0] and "store_view_tko weak %tile, %view[%i]" in error.notes[0]


def test_indices_that_are_defined_later_need_their_types() -> None:
    error = refused(LOAD.replace("%i,", "%later,") + "\n%later = constant <i32: 0> : tile<i32>")
    assert error.message.endswith("index types must be specified when indices are present")
    assert "%later is defined later" in error.notes[0]


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("load_view_tko", ["addr_space", "align"]),
        ("store_view_tko", ["addr_space", "align"]),
        ("atomic_cas_tko", ["success_ordering", "failure_ordering"]),
        ("atomic_rmw_tko", ["ordering", "kind"]),
    ],
)
def test_the_names_that_printers_leave_out_do_not_exist(name: str, absent: list[str]) -> None:
    opdef = next(d for d in registered() if d.mnemonic == name)
    assert not {f.name for f in opdef.fields} & set(absent)
    assert opdef.field("token").role == "operand" and opdef.field("memory_ordering_semantics").role == "attr"


def test_a_pointer_without_pointee_is_answered() -> None:
    bare = CAS.replace("tile<ptr<i32>>", "tile<ptr>")
    for error in (refused(bare.replace("%q", "%later")), refused_by_default(bare.replace("gpu", "device"))):
        assert POINTEE in error.notes


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("word", "body"),
    [
        ("gpu", LOAD_PTR),
        ("gpu", CAS),
        ("seq_cst", LOAD_PTR.replace("acquire", "seq_cst").replace("gpu", "device")),
        ("cluster", LOAD_PTR.replace("gpu", "cluster")),
        ("cluster", LOAD.replace("gpu", "cluster")),
        ("cluster", RMW.replace("gpu", "cluster")),
        ("addu", RMW.replace("gpu add %q", "device %q, addu")),
        ("cmpxchg", RMW.replace("gpu add %q", "device %q, cmpxchg")),
        ("olt", "%r = cmpf olt, %x, %x : tile<f32>"),
    ],
)
def test_words_are_answered_by_default(word: str, body: str) -> None:
    error = refused_by_default(body)
    assert error.source is not None and word in error.source[error.start : error.start + 12]
    assert ANSWERS[word] in error.notes


def test_a_word_without_a_meaning_is_answered_in_the_style_too() -> None:
    assert ANSWERS["seq_cst"] in refused(LOAD_PTR.replace("acquire", "seq_cst")).notes


def test_a_cluster_is_inside_a_device() -> None:
    for body in (LOAD_PTR, LOAD, RMW, CAS):
        o = read(body.replace("gpu", "cluster"))[-1]
        assert o.memory_scope is MemoryScope.DEVICE  # type: ignore[attr-defined]  # they all have one


def test_addition_has_no_sign() -> None:
    assert read(RMW.replace(" add ", " addu "))[-1].mode is AtomicRMWMode.ADD  # type: ignore[attr-defined]


@pytest.mark.parametrize("mask", ["", ", %cond"])
def test_compare_and_exchange_is_an_operation_of_its_own(mask: str) -> None:
    types = "!cuda_tile.tile<ptr>, !cuda_tile.tile<i32>" + (", !cuda_tile.tile<i1>" if mask else "")
    body = f"""%c = constant <i32: 1> : tile<i32>
%old, %tok1 = cuda_tile.atomic_rmw_tko acq_rel gpu cmpxchg %q, %c, %i{mask} token=%tok0 : {types}
-> !cuda_tile.tile<i32>, !cuda_tile.token"""
    o = read(body)[-1]
    assert isinstance(o, ops.AtomicCASTko) and (o.mask is not None) == bool(mask) and o.token is not None
    assert isinstance(o.cmp.owner, ops.Constant) and o.pointers.type is Tile((), Ptr(I32))


@pytest.mark.parametrize("body", [CAS, RMW, LOAD_PTR, STORE_PTR])
def test_a_pointer_takes_the_pointee_of_its_operand(body: str) -> None:
    bare = body.replace("tile<ptr<i32>>", "tile<ptr>").replace("tile<ptr<f32>>", "tile<ptr>")
    assert "tile<ptr>" in bare and tilery.difference(module_of(bare), module_of(body)) is None


def module_of(body: str) -> tilery.Module:
    return documented.parse(HEAD + body + TAIL)


def test_a_global_has_a_pointee() -> None:
    text = "global @g <f16: [1.0, 2.0]> : tile<2xf16>\nentry @k() {{ %p = get_global {} : tile<ptr> return }}"
    (o, _) = documented.parse(text.format("@g")).entries[0].body.ops
    assert o.results[0].type is Tile((), Ptr(tilery.types.F16))
    with pytest.raises(TileError, match="expected '<'"):
        documented.parse(text.format("@other"))


def test_a_mask_that_is_true_everywhere_is_left_out() -> None:
    head = LOADED + "%all = constant <i1: true> : tile<8x8xi1>\n"
    for types in (f"{TILE} ->", f"{TILE}, !cuda_tile.tile<8x8xi1> ->"):
        masked = head + STORE.replace("%w token", "%w, %all token").replace(f"{TILE} ->", types)
        assert tilery.difference(module_of(masked), module_of(head + STORE)) is None


def test_lists_are_dense() -> None:
    (o,) = read("%r = constant dense<i32: [1, 2]> : tile<2xi32>")
    assert isinstance(o, ops.Constant) and o.value.elements() == [1, 2]


def test_four_bits_in_capitals() -> None:
    body = "%b = constant <i8: 7> : tile<64xi8>\n%r = unpack %b : tile<64xi8> -> tile<128xF4E2M1FN>"
    assert read(body)[-1].results[0].type is Tile((128,), tilery.types.SCALARS["f4E2M1FN"])
    (o,) = read('cuda_tile.assert %cond, "xF4E2M1FN" : tile<i1>')
    assert isinstance(o, ops.Assert) and o.message == "xF4E2M1FN"


def test_a_constant_has_a_layout() -> None:
    body = "%r = constant <f32: 1.0> : tile<8xf32> {layout = #cute.layout<(1@0, 16@1)>}"
    (o,) = read(body)
    assert o.extra is not None and isinstance(o.extra["layout"], documented.CuteAttr)
    text = tilery.show(module_of(body), style="documented")
    assert "{layout = #cute.layout<(1@0, 16@1)>}" in text
    assert tilery.difference(documented.parse(text), module_of(body)) is None


def test_the_message_is_still_that_of_the_tools() -> None:
    assert refused_by_default(LOAD_PTR.replace("gpu", "cluster")).message in (
        "expected SSA operand",
        "custom op 'cuda_tile.load_ptr_tko' expected SSA operand",
    )


@pytest.mark.parametrize("word", COMPARISONS)
def test_comparisons_in_one_word(word: str) -> None:
    (o,) = read(f"%r = cuda_tile.cmpf {word}, %x, %x : !cuda_tile.tile<f32>")
    assert isinstance(o, ops.CmpF)
    assert (o.comparison_predicate, o.comparison_ordering) == COMPARISONS[word]
    assert o.result.type is Tile((), I1)


def test_a_scalar_type_is_a_tile_of_rank_zero() -> None:
    (o,) = read("%r = cuda_tile.andi %cond, %cond : i1")
    assert isinstance(o, ops.AndI) and o.result.type is Tile((), I1)
