"""Warp-specialised kernels: what is taken, what is refused, and that Triton compiles them for sm_90 without a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import pytest

import tilery
from tilery.engines.gpu.variants import Variant, VariantCompiler
from tilery.engines.triton.compiler import CompileProcess, compile_entry
from tilery.engines.triton.config import Config
from tilery.engines.triton.emit import Val
from tilery.engines.triton.gluon.feeds import find_feeds, needed
from tilery.engines.triton.gluon.layouts import accumulator, rows_of_memory
from tilery.engines.triton.gluon.lower import parts_of
from tilery.engines.triton.lower import lower
from tilery.engines.triton.state import Lowered
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of
from tilery.ir import walk
from tilery.ops import Entry, LoadViewTko, MmaF

GLUON = Config(num_warps=4, num_stages=3, gluon=1)


def view(name: str, tile: str, element: str, sizes: str = "?x?", strides: str = "?,1") -> tuple[str, str]:
    """Return the lines that make a view of a matrix, and the type of the view."""
    tensor = f"tensor_view<{sizes}x{element}, strides=[{strides}]>"
    kind = f"partition_view<tile=({tile}), {tensor}>"
    n, step = ("%n, %n, %n", "%n, %n, 1") if sizes.count("?") == 3 else ("%n, %n", "%n, 1")
    lines = f"""
  %{name}0 = assume div_by<16>, %{name} : tile<ptr<{element}>>
  %{name}t = make_tensor_view %{name}0, shape = [{n}], strides = [{step}] : tile<i32> -> {tensor}
  %{name}v = make_partition_view %{name}t : {kind}"""
    return lines, kind


def product(
    element: str = "f16",
    m: int = 128,
    n: int = 64,
    k: int = 64,
    between: str = "",
    operand: str = "%y",
    epilogue: str = "",
    stored: str = "%r",
    column: str = "%j",
    limit: str = "%n",
) -> str:
    """Return a product of two matrices, with lines in its loop and after it."""
    a, a_kind = view("a", f"{m}x{k}", element)
    b, b_kind = view("b", f"{k}x{n}", element)
    c, c_kind = view("c", f"{m}x{n}", "f32")
    return f"""
entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %c: tile<ptr<f32>>, %m: tile<i32>) {{
  %n = assume div_by<16>, %m : tile<i32>{a}{b}{c}
  %i, %j, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %acc = constant <f32: 0.0> : tile<{m}x{n}xf32>
  %r = for %s in (%zero to {limit}, step %one) : tile<i32> iter_values(%old = %acc) -> (tile<{m}x{n}xf32>) {{
    %x, %t0 = load_view_tko weak %av[%i, %s] : {a_kind}, tile<i32> -> tile<{m}x{k}x{element}>, token
    %y, %t1 = load_view_tko weak %bv[%s, {column}] : {b_kind}, tile<i32> -> tile<{k}x{n}x{element}>, token{between}
    %new = mmaf %x, {operand}, %old : tile<{m}x{k}x{element}>, tile<{k}x{n}x{element}>, tile<{m}x{n}xf32>
    continue %new : tile<{m}x{n}xf32>
  }}{epilogue}
  %t2 = store_view_tko weak {stored}, %cv[%i, %j] : tile<{m}x{n}xf32>, {c_kind}, tile<i32> -> token
  return
}}"""


PLAIN = product()
EPILOGUE = product(
    epilogue="""
  %half = constant <f32: 0.5> : tile<128x64xf32>
  %sum = addf %r, %half : tile<128x64xf32>
  %floor = constant <f32: 0.0> : tile<128x64xf32>
  %top = maxf %sum, %floor : tile<128x64xf32>
  %old, %t5 = load_view_tko weak %cv[%i, %j] : partition_view<tile=(128x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<128x64xf32>, token
  %rows = reduce %top dim=1 identities=[0.0 : f32] : tile<128x64xf32> -> tile<128xf32>
  (%p: tile<f32>, %q: tile<f32>) {
    %u = addf %p, %q : tile<f32>
    yield %u : tile<f32>
  }
  %line = reshape %rows : tile<128xf32> -> tile<128x1xf32>
  %wide = broadcast %line : tile<128x1xf32> -> tile<128x64xf32>
  %near = subf %top, %wide : tile<128x64xf32>
  %out = addf %near, %old : tile<128x64xf32>""",  # noqa: E501
    stored="%out",
)
TRANSPOSED = product(
    n=64,
    between="\n    %w = permute %y [1, 0] : tile<64x64xf16> -> tile<64x64xf16>",
    operand="%w",
)
BATCHED = """
entry @k(%a: tile<ptr<bf16>>, %b: tile<ptr<bf16>>, %c: tile<ptr<bf16>>, %m: tile<i32>) {{
  %n = assume div_by<16>, %m : tile<i32>{a}{b}{c}
  %i, %j, %l = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %acc = constant <f32: 0.0> : tile<64x128xf32>
  for %tile in (%i to %n, step %one) : tile<i32> {{
    %r = for %s in (%zero to %n, step %one) : tile<i32> iter_values(%old = %acc) -> (tile<64x128xf32>) {{
      %x, %t0 = load_view_tko weak %av[%l, %tile, %s] : {ka}, tile<i32> -> tile<1x64x64xbf16>, token
      %y, %t1 = load_view_tko weak %bv[%l, %s, %j] : {kb}, tile<i32> -> tile<1x64x128xbf16>, token
      %x2 = reshape %x : tile<1x64x64xbf16> -> tile<64x64xbf16>
      %y2 = reshape %y : tile<1x64x128xbf16> -> tile<64x128xbf16>
      %new = mmaf %x2, %y2, %old : tile<64x64xbf16>, tile<64x128xbf16>, tile<64x128xf32>
      continue %new : tile<64x128xf32>
    }}
    %h = ftof %r : tile<64x128xf32> -> tile<64x128xbf16>
    %h2 = reshape %h : tile<64x128xbf16> -> tile<1x64x128xbf16>
    %t2 = store_view_tko weak %h2, %cv[%l, %tile, %j] : tile<1x64x128xbf16>, {kc}, tile<i32> -> token
    continue
  }}
  return
}}"""


def batched() -> str:
    (a, ka), (b, kb), (c, kc) = (
        view(name, tile, "bf16", "?x?x?", "?,?,1")
        for name, tile in (("a", "1x64x64"), ("b", "1x64x128"), ("c", "1x64x128"))
    )
    return BATCHED.format(a=a, b=b, c=c, ka=ka, kb=kb, kc=kc)


ATTENTION = """
entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %d: tile<ptr<f16>>, %c: tile<ptr<f32>>, %m: tile<i32>) {{
  %n = assume div_by<16>, %m : tile<i32>{views}
  %i, %j, %l = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %none = constant <f32: 0.0> : tile<128x64xf32>
  %acc = constant <f32: 0.0> : tile<128x128xf32>
  %least = constant <f32: -1.0e30> : tile<128x1xf32>
  %q, %t0 = load_view_tko weak %av[%i, %zero] : {ka}, tile<i32> -> tile<128x128xf16>, token
  %first:2 = for %s in (%zero to %i, step %one) : tile<i32> iter_values(%old = %acc, %top = %least) -> (tile<128x128xf32>, tile<128x1xf32>) {{{step}
    continue %new, %higher : tile<128x128xf32>, tile<128x1xf32>
  }}
  %r:2 = for %s in (%i to %n, step %one) : tile<i32> iter_values(%old = %first#0, %top = %first#1) -> (tile<128x128xf32>, tile<128x1xf32>) {{{step}
    continue %new, %higher : tile<128x128xf32>, tile<128x1xf32>
  }}
  %t2 = store_view_tko weak %r#0, %cv[%i, %zero] : tile<128x128xf32>, {kc}, tile<i32> -> token
  return
}}"""  # noqa: E501
STEP = """
    %k, %t4 = load_view_tko weak %bv[%zero, %s] : {kb}, tile<i32> -> tile<128x64xf16>, token
    %scores = mmaf %q, %k, %none : tile<128x128xf16>, tile<128x64xf16>, tile<128x64xf32>
    %most = reduce %scores dim=1 identities=[0xFF800000 : f32] : tile<128x64xf32> -> tile<128xf32>
    (%p: tile<f32>, %o: tile<f32>) {{
      %u = maxf %p, %o : tile<f32>
      yield %u : tile<f32>
    }}
    %column = reshape %most : tile<128xf32> -> tile<128x1xf32>
    %higher = maxf %top, %column : tile<128x1xf32>
    %wide = broadcast %higher : tile<128x1xf32> -> tile<128x64xf32>
    %near = subf %scores, %wide : tile<128x64xf32>
    %weights = exp2 %near : tile<128x64xf32>
    %less = subf %top, %higher : tile<128x1xf32>
    %factor = exp2 %less : tile<128x1xf32>
    %factors = broadcast %factor : tile<128x1xf32> -> tile<128x128xf32>
    %scaled = mulf %old, %factors : tile<128x128xf32>
    %h = ftof %weights : tile<128x64xf32> -> tile<128x64xf16>
    %v, %t5 = load_view_tko weak %dv[%s, %zero] : {kd}, tile<i32> -> tile<64x128xf16>, token
    %new = mmaf %h, %v, %scaled : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>"""


def attention() -> str:
    made = [
        view("a", "128x128", "f16"),
        view("b", "128x64", "f16"),
        view("d", "64x128", "f16"),
        view("c", "128x128", "f32"),
    ]
    ka, kb, kd, kc = (kind for _, kind in made)
    views = "".join(lines for lines, _ in made)
    return ATTENTION.format(views=views, ka=ka, kc=kc, step=STEP.format(kb=kb, kd=kd))


KERNELS = {
    "attention": attention(),
    "plain": PLAIN,
    "epilogue": EPILOGUE,
    "transposed": TRANSPOSED,
    "batched": batched(),
    "f8": product(
        "f8E4M3FN",
        k=128,
        n=128,
        between="\n    %w = permute %y [1, 0] : tile<128x128xf8E4M3FN> -> tile<128x128xf8E4M3FN>",
        operand="%w",
    ),
}


def lowered(text: str, version: str = "3.6.0", config: Config = GLUON) -> Lowered:
    module = tilery.parse(text)
    tilery.verify(module)
    return lower(module, module.entries[0], find_target("sm_90"), config, dialect_of(version))


def halves(text: str) -> tuple[str, str]:
    """Return what the warps that multiply run, and what the one that copies runs."""
    ours, theirs = text.split("partition0")
    return ours, theirs


@pytest.fixture(scope="module")
def child() -> Iterator[CompileProcess]:
    pytest.importorskip("triton")
    made = CompileProcess()
    yield made
    made.stop()


# ---------------------------------------------------------------- what is taken


@pytest.mark.parametrize("name", KERNELS)
def test_one_part_copies_and_the_other_multiplies(name: str) -> None:
    ours, theirs = halves(lowered(KERNELS[name]).text)
    assert theirs.count("async_tma_copy_global_to_local") == {"attention": 5}.get(name, 2)
    # The sums of 8-bit floats come from two products, with half of the columns each.
    assert ours.count("ttng.warp_group_dot %") == {"attention": 4, "f8": 2}.get(name, 1)
    assert "async_tma_copy_global_to_local" not in ours
    assert "warp_group_dot" not in theirs
    assert not re.search(r"tensor<\d", re.sub(r"!tt\.tensordesc<[^>]*>", "", theirs).replace("tensor<1x", ""))


def test_both_parts_take_the_same_loops_and_barriers() -> None:
    for text in (PLAIN, batched()):
        ours, theirs = halves(lowered(text).text)
        assert ours.count("scf.for") == theirs.count("scf.for")
        assert ours.count("ttng.wait_barrier") == theirs.count("ttng.wait_barrier") == 1


def test_a_product_overlaps_the_next_and_gives_its_stage_back_later() -> None:
    ours, _ = halves(lowered(PLAIN).text)
    assert ours.count("pendings = 1 : i32") == 1
    assert ours.count("ttng.arrive_barrier") == 2  # in the loop, for the iteration before, and after it


def test_loops_that_follow_each_other_share_stages() -> None:
    found = find_feeds(tilery.parse(attention()).entries[0])
    assert [(feed.channel, feed.held, len(feed.loads)) for feed in found.feeds] == [
        (0, True, 1),
        *[(1, False, 1), (2, False, 1)] * 2,
    ]
    assert not found.overlapping


def test_what_is_held_is_given_back_after_its_loops() -> None:
    ours, theirs = halves(lowered(attention(), config=replace(GLUON, programs=132)).text)
    after = ours[ours.rindex("ttng.warp_group_dot %") :]
    assert re.search(r"memdesc_index %empty0\[.*\n.*arrive_barrier", after)
    assert ours.count("ttng.wait_barrier") == theirs.count("ttng.wait_barrier") == 5


def test_a_left_operand_may_be_computed() -> None:
    ours, _ = halves(lowered(attention()).text)
    assert len(re.findall(r"convert_layout .* -> tensor<128x64xf16, #ttg.dot_op<\{opIdx = 0", ours)) == 2
    products = [line for line in ours.splitlines() if "warp_group_dot %" in line]
    assert set(re.findall(r"instrShape = \[16, (\d+),", "".join(products))) == {"64"}


def test_stores_that_follow_each_other_wait_until_memory_has_been_written() -> None:
    again = PLAIN.replace(
        "  return",
        f"""  %t3 = store_view_tko weak %r, %cv[%i, %j] token=%t2 : tile<128x64xf32>, {view("c", "128x64", "f32")[1]}, tile<i32> -> token
  return""",  # noqa: E501
    )
    ours, _ = halves(lowered(again).text)
    assert ours.index("async_tma_copy_local_to_global") < ours.index("cp.async.bulk.wait_group 0;")
    assert ours.index("cp.async.bulk.wait_group 0;") < ours.rindex("async_tma_copy_local_to_global")


def test_sums_of_short_floats_are_added_to_the_accumulator() -> None:
    ours, _ = halves(lowered(KERNELS["f8"]).text)
    assert "arith.addf" in ours and "pendings = 1 " not in ours
    assert ours.count("ttng.arrive_barrier") == 1


def test_a_stage_is_as_large_as_what_is_copied_to_it() -> None:
    _, theirs = halves(lowered(PLAIN).text)
    assert re.findall(r"barrier_expect %\w+, (\d+)", theirs) == [str(128 * 64 * 2 + 64 * 64 * 2)]


def test_two_groups_take_half_the_rows_each() -> None:
    text = lowered(PLAIN, config=Config(num_warps=4, num_stages=3, gluon=2)).text
    first, second, copying = re.split(r"partition\d", text)
    for number, part in enumerate((first, second)):
        assert part.count("ttng.warp_group_dot %") == 1
        assert f"[{64 * number}, 0] : !ttg.memdesc<128x64xf16" in part
        assert re.search(r"!ttg.memdesc<64x64xf16[^:]* \* !ttg.memdesc<64x64xf16[^:]* -> tensor<64x64xf32", part)
    assert len(re.findall(r"init_barrier %b0_empty_\d, 2 ", first)) == 3
    assert len(re.findall(r"async_tma_copy_global_to_local [^:]*: !tt.tensordesc<tensor<128x64xf16", copying)) == 1


@pytest.mark.parametrize(("columns", "parts"), [(64, 1), (128, 2), (256, 4)])
def test_a_large_result_is_stored_in_parts_that_share_memory(columns: int, parts: int) -> None:
    text = lowered(product(n=columns), config=Config(num_warps=4, num_stages=2, gluon=2)).text
    first, second, _ = re.split(r"partition\d", text)
    width = columns // parts
    for number, part in enumerate((first, second)):
        stores = re.findall(
            rf"local_to_global %\w+\[%\w+, (%\w+)\] (%\w+) : !tt.tensordesc<tensor<64x{width}xf32", part
        )
        assert len(stores) == parts and {memory.split("_")[-2][-1] for _, memory in stores} == {str(number)}
        assert len({column for column, _ in stores}) == parts
    assert len(re.findall(rf"%out\d_\d = ttg.local_alloc : \(\) -> !ttg.memdesc<64x{width}xf32", text)) == 2


def test_parts_have_rows_of_128_bytes_or_more() -> None:
    assert parts_of(Val("", (1, 64, 256), "bf16")) == 2 and parts_of(Val("", (64, 256), "f32")) == 4
    assert parts_of(Val("", (256, 64), "bf16")) == 1 and parts_of(Val("", (1, 1, 8192), "f32")) == 1


def test_rows_that_depend_on_each_other_are_not_shared() -> None:
    columns = (("dim=1", "dim=0"), ("-> tile<128xf32>", "-> tile<64xf32>"), (": tile<128xf32>", ": tile<64xf32>"))
    mixed = EPILOGUE
    for old, new in (*columns, ("tile<128x1xf32>", "tile<1x64xf32>")):
        mixed = mixed.replace(old, new)
    with pytest.raises(tilery.TileError, match="depend on each other"):
        lowered(mixed, config=Config(num_warps=4, num_stages=3, gluon=2))


def test_programs_share_tile_blocks() -> None:
    made = lowered(PLAIN, config=Config(num_warps=4, num_stages=3, gluon=1, programs=132))
    ours, theirs = halves(made.text)
    assert made.programs == 132
    assert ours.count("scf.for") == theirs.count("scf.for") == 2


def test_the_copying_part_computes_what_positions_follow_from() -> None:
    module = tilery.parse(batched())
    entry = module.entries[0]
    found = find_feeds(entry)
    ops, values = needed(entry, found)
    assert {o for o in ops if isinstance(o, LoadViewTko)} == set(found.feeds[0].loads)
    assert not any(isinstance(o, MmaF) for o in ops)
    assert entry.body.args[3] in values and found.overlapping
    assert {o.name for o in walk(entry.body)} - {o.name for o in ops} >= {"mmaf", "ftof", "store_view_tko"}


# ---------------------------------------------------------------- what is refused

SCALED = "\n    %two = constant <f16: 2.0> : tile<64x64xf16>\n    %w = mulf %y, %two : tile<64x64xf16>"
REFUSED = {
    "scaled operand": (product(between=SCALED, operand="%w"), "not loaded, as it is"),
    "tf32": (product("tf32", k=32), "tf32 are not multiplied"),
    "f8 in the wrong order": (product("f8E4M3FN", k=128, n=128), "summed dimension inside"),
    "few rows": (product(m=32), "too small"),
    "bound from memory": (
        product(limit="%n").replace(
            "  %r = for", "  %q, %tq = load_ptr_tko weak %a1 : tile<ptr<i32>> -> tile<i32>, token\n  %r = for"
        ).replace("(%zero to %n", "(%zero to %q").replace("  %one = ", "  %a1 = ptr_to_ptr %a : tile<ptr<f16>> -> tile<ptr<i32>>\n  %one = "),  # noqa: E501
        "more than numbers",
    ),
}  # fmt: skip


WORD = "%w, %{0} = load_ptr_tko weak %word token=%{1} : tile<ptr<i32>> -> tile<i32>, token"
ORDERED = {
    "written, then read, then copied": (
        "\n  %s1 = store_view_tko weak %acc, %cv[%i, %j] token=%s0 : tile<128x64xf32>, "
        f"{view('c', '128x64', 'f32')[1]}, tile<i32> -> token\n  " + WORD.format("s2", "s1"),
        "s2", "s0", 1, "may have written",
    ),
    "waited for the kernel before": (
        "\n  %s1 = gdc_wait_tko -> token\n  " + WORD.format("s2", "s1"), "s2", "s0", 1, "may have written",
    ),
    "read by both groups, then written": ("\n  " + WORD.format("s1", "s0"), "s0", "s1", 2, "may not have read"),
}  # fmt: skip
"""Lines before the loop, the tokens of its loads and of the store after it, groups, and the reason."""


@pytest.mark.parametrize("name", ORDERED)
def test_groups_of_warps_do_not_overtake_each_other(name: str) -> None:
    lines, loads, store, groups, reason = ORDERED[name]
    text = PLAIN.replace(
        "  %r = for",
        f"  %word = ptr_to_ptr %c : tile<ptr<f32>> -> tile<ptr<i32>>\n  %s0 = make_token : token{lines}\n  %r = for",
    )

    def ordered(by_loads: str, by_store: str) -> str:
        done = re.sub(r"(load_view_tko weak %[ab]v\[.*?\])", rf"\1 token=%{by_loads}", text)
        return re.sub(r"(%t2 = store_view_tko weak %r, %cv\[.*?\])", rf"\1 token=%{by_store}", done)

    config = replace(GLUON, gluon=groups)
    with pytest.raises(tilery.TileError, match=reason):
        lowered(ordered(loads, store), config=config)
    assert "warp_specialize" in lowered(ordered("s0", "s0"), config=replace(GLUON, gluon=1)).text


@pytest.mark.parametrize(("more", "refused"), [("", False), (WORD.format("t8", "t2"), True)])
def test_groups_take_tile_after_tile(more: str, refused: bool) -> None:
    """A store waits for that of the tile before, which needs no other group; a load by all of them would."""
    last = "t8" if more else "t2"
    text = PLAIN.replace(
        "  %r = for",
        "  %word = ptr_to_ptr %c : tile<ptr<f32>> -> tile<ptr<i32>>\n  %s0 = make_token : token\n"
        "  %s9 = for %tile in (%i to %n, step %one) : tile<i32> iter_values(%s1 = %s0) -> (token) {\n  %r = for",
    )
    text = text.replace("%av[%i,", "%av[%tile,").replace("%cv[%i,", "%cv[%tile,").replace("%j] :", "%j] token=%s1 :")
    text = re.sub(r"(token=)%s1( : partition_view<tile=\(64x64\))", r"\1%s0\2", text)
    text = text.replace("  return\n", f"  {more}\n  continue %{last} : token }}\n  return\n")
    config = Config(num_warps=4, num_stages=3, gluon=2)
    if refused:
        with pytest.raises(tilery.TileError, match="may not have read"):
            lowered(text, config=config)
    else:
        assert "warp_specialize" in lowered(text, config=config).text


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused_with_a_reason(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(tilery.TileError, match=reason) as caught:
        lowered(text)
    assert caught.value.kind is tilery.ErrorKind.UNSUPPORTED


def test_a_kernel_without_products_and_other_targets_are_refused() -> None:
    with pytest.raises(tilery.TileError, match="no loop with products"):
        lowered("entry @k(%a: tile<i32>) { return }")
    module = tilery.parse(PLAIN)
    with pytest.raises(tilery.TileError, match="sm_80 has no such instructions"):
        lower(module, module.entries[0], find_target("sm_80"), GLUON, dialect_of("3.6.0"))
    with pytest.raises(tilery.TileError, match="2 stages or more"):
        lowered(PLAIN, config=Config(num_warps=4, num_stages=1, gluon=1))


# ---------------------------------------------------------------- layouts and Triton


@pytest.mark.parametrize("shape", [(64, 64), (128, 256), (16, 8), (1, 4096), (4096,), (8, 4, 32)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_layouts_of_memory_cover_threads(shape: tuple[int, ...], warps: int) -> None:
    lists = re.findall(r"(sizePerThread|threadsPerWarp|warpsPerCTA) = \[([^\]]*)\]", rows_of_memory(shape, warps, 16))
    product_of = {name: prod(map(int, text.split(","))) for name, text in lists}
    assert product_of["threadsPerWarp"] == 32 and product_of["warpsPerCTA"] == warps


def test_layouts_of_accumulators() -> None:
    assert "warpsPerCTA = [8, 1], instrShape = [16, 256, 16]" in accumulator((128, 512), 8, 16)
    assert "warpsPerCTA = [4, 2], instrShape = [16, 96, 32]" in accumulator((64, 192), 8, 8)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_triton_compiles_them(name: str, groups: int, child: CompileProcess) -> None:
    if groups == 2 and name in ("batched", "epilogue"):
        pytest.skip("64 rows are too few for two, or it loads through pointers")
    module = tilery.parse(KERNELS[name])
    made = compile_entry(module, config=replace(GLUON, gluon=groups), compiler=child, emit=["ptx"])
    ptx = made.stages["ptx"]
    assert "wgmma.mma_async" in ptx and "cp.async.bulk.tensor" in ptx and "setmaxnreg" in ptx
    assert made.contract.threads == 128 * (1 + groups)  # one that copies has three idle ones beside it
    assert len(made.contract.descriptors) >= 2 and all(d.swizzle for d in made.contract.descriptors)


def test_it_is_a_variant(child: CompileProcess) -> None:
    variant = Variant.of("triton", num_warps=4, num_stages=3, gluon=1, programs=132)
    assert variant.label == "triton w4 s3 gluon1 p132"
    module = tilery.parse(PLAIN)
    entry = module.entries[0]
    assert isinstance(entry, Entry)
    made = VariantCompiler(variant, child).compile(module, entry, "sm_90")
    assert made.contract.programs == 132 and made.contract.folded
