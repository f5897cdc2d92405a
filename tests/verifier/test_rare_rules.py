"""Rules that few modules break: conversions of older versions, carried views, hints, scopes of debug information."""

from __future__ import annotations

import pytest

from tilery import parse, verify
from tilery.attrs import DictAttr, IntAttr
from tilery.bytecode.hints import ARCHITECTURES, SINGLE_CTA
from tilery.types import I32
from tilery.verifier.hints import warnings

TENSOR = "tensor_view<4xf32, strides=[1]>"
PARTITION = f"partition_view<tile=(4), {TENSOR}>"
SCOPES = """#f = #cuda_tile.di_file<"a.py" in "/src">
#u = #cuda_tile.di_compile_unit<file = #f>
#one = #cuda_tile.di_subprogram<file = #f, line = 1, name = "k", linkageName = "k", compileUnit = #u, scopeLine = 1>
#two = #cuda_tile.di_subprogram<file = #f, line = 2, name = "l", linkageName = "l", compileUnit = #u, scopeLine = 2>
#here = loc("a.py":1:1)
#k = #cuda_tile.di_loc<#here in #one>
#l = #cuda_tile.di_loc<#here in #two>
entry @k() {
  %a = constant <i32: 1> : tile<i32> loc(#l)
  return loc(#k)
} loc(#k)
"""


def messages(text: str, reader: str | None = None) -> list[str]:
    return [finding.message for finding in verify(parse(text, verify=False), reader=reader)]


@pytest.mark.parametrize("reader", ["13.1", "13.2", "13.3", "13.4"])
def test_integers_become_floats_by_one_rounding_mode(reader: str) -> None:
    text = "entry @k(%n: tile<i32>) {{ %x = itof %n signed rounding<{}> : tile<i32> -> tile<f32> return }}"
    what = "error" if reader == "13.1" else "mode"
    assert messages(text.format("zero"), reader) == [
        f"'cuda_tile.itof' op invalid rounding {what} specified. Only 'nearest_even' is supported"
    ]
    assert not messages(text.format("nearest_even"), reader)


@pytest.mark.parametrize(("view", "kind"), [(TENSOR, "tensor_view"), (PARTITION, "tile view")])
def test_loops_carry_no_views(view: str, kind: str) -> None:
    name = "%t" if view == TENSOR else "%u"
    text = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
      %t = make_tensor_view %p, shape=[4], strides=[1] : {TENSOR}
      %u = make_partition_view %t : {PARTITION}
      %r:2 = loop iter_values(%i = %n, %a = {name}) : tile<i32>, {view} -> tile<i32>, {view} {{
        break %i, %a : tile<i32>, {view}
      }}
      return
    }}"""
    assert messages(text) == [f"'cuda_tile.loop' op loop-carried value 1 is a {kind}, which is not supported"]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_architectures_without_clusters_take_one_block(arch: str) -> None:
    hints = DictAttr(((arch, DictAttr((("num_cta_in_cga", IntAttr(I32, 2)),))),))
    expected = [f"expected 1 for {arch}.num_cta_in_cga"] if arch in SINGLE_CTA else []
    assert list(warnings(hints, ("num_cta_in_cga",))) == expected
    assert list(warnings(hints, ())) == ["num_cta_in_cga is not known hint for current Operation"]


def test_an_operation_of_another_function() -> None:
    (message,) = messages(SCOPES)
    assert message.startswith("invalid operation debug info scope: #cuda_tile.di_subprogram<")
    assert 'name = "l"' in message.partition("does not match")[0]
    assert 'name = "k"' in message.partition("does not match")[2]


def test_arguments_of_a_function_for_tests() -> None:
    module = parse("testing$func @f(%x: tile<i32>) { return }", testing=True)
    (function,) = module.body.ops
    function.blocks[0].args.pop()
    (finding,) = verify(module)
    assert "argument" in finding.message


@pytest.mark.parametrize("element", ["i8", "i16", "f16", "bf16", "i32", "f64"])
def test_elements_that_can_be_compared_and_exchanged(element: str) -> None:
    tile = f"tile<{element}>"
    text = f"""entry @k(%p: tile<ptr<{element}>>, %a: {tile}) {{
      %r, %t = atomic_cas_tko relaxed device %p, %a, %a : tile<ptr<{element}>>, {tile} -> {tile}, token
      return
    }}"""
    narrow = "'cuda_tile.atomic_cas_tko' op expect only float or integer types with 32 or 64 bit"
    assert messages(text) == ([] if element in ("i32", "f64") else [narrow])


@pytest.mark.parametrize(("element", "size"), [("i1", 1), ("i8", 1), ("i16", 2), ("f64", 8)])
def test_memory_is_aligned_to_its_elements(element: str, size: int) -> None:
    text = "entry @k() {{ %p = alloca num_elem = 4, alignment = {} : tile<ptr<{}>> return }}"
    assert not messages(text.format(size, element))
    if size > 1:
        assert messages(text.format(size // 2, element)) == [
            f"'cuda_tile.alloca' op 'alignment' ({size // 2}) must be at least the natural size ({size} bytes) for "
            f"element type '{element}'"
        ]
