"""Compiling for GPUs without one: every operation, real kernels, random modules, and what Triton does not survive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

import tilery
from engines.triton.battery import battery, outcomes
from support.oracle import corpus_files
from tilery.declare.operation import OpDef
from tilery.engines.cuda.contract import DESCRIPTOR, FRAME, GLOBAL, NULL, PARAMETER, SCRATCH, LaunchContract
from tilery.engines.triton.compiler import CompileProcess, _smaller, compile_entry
from tilery.engines.triton.config import DEVICE, HOST, POINTERS, Config
from tilery.engines.triton.ops import LOWERS
from tilery.engines.triton.targets import find_target
from tilery.ops import registered
from tilery.smith import smith

pytest.importorskip("triton")

KERNEL = """
entry @k(%p: tile<ptr<f32>>) {
  %0 = iota : tile<128xi32>
  %1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %2 = broadcast %1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %3 = offset %2, %0 : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %4, %5 = load_ptr_tko weak %3 : tile<128xptr<f32>> -> tile<128xf32>, token
  %6 = mulf %4, %4 : tile<128xf32>
  %7 = addf %6, %4 : tile<128xf32>
  %8 = store_ptr_tko weak %3, %7 token=%5 : tile<128xptr<f32>>, tile<128xf32> -> token
  return
}"""

PRODUCT = """
entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
  %a0 = assume div_by<16>, %a : tile<ptr<f16>>
  %b0 = assume div_by<16>, %b : tile<ptr<f16>>
  %c0 = assume div_by<16>, %c : tile<ptr<f32>>
  %n0 = assume div_by<16>, %n : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a0, shape = [%n0, %n0], strides = [%n0, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %tb = make_tensor_view %b0, shape = [%n0, %n0], strides = [%n0, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %tc = make_tensor_view %c0, shape = [%n0, %n0], strides = [%n0, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  %va = make_partition_view %ta : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>
  %vb = make_partition_view %tb : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>
  %vc = make_partition_view %tc : partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>
  %x, %t0 = load_view_tko weak %va[%zero, %zero] : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
  %y, %t1 = load_view_tko weak %vb[%zero, %zero] : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x64xf16>, token
  %acc = constant <f32: 0.0> : tile<64x64xf32>
  %z = mmaf %x, %y, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
  %t2 = store_view_tko weak %z, %vc[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
  return
}"""  # noqa: E501


@pytest.fixture(scope="module")
def child() -> Iterator[CompileProcess]:
    """One process for all tests of this file."""
    made = CompileProcess()
    yield made
    made.stop()


def test_every_operation_has_a_rule() -> None:
    assert {d.cls for d in registered()} == set(LOWERS)


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
@pytest.mark.parametrize("opdef", registered(), ids=lambda d: d.mnemonic)
def test_the_example_of_every_operation_compiles(opdef: OpDef, target: str, child: CompileProcess) -> None:
    for module in battery(opdef, seeds=0):
        for found in outcomes(module, target, child):
            assert found.compiled, found.reason


@pytest.mark.parametrize("seed", range(40))
def test_a_random_module_compiles_or_is_refused_with_a_reason(seed: int, child: CompileProcess) -> None:
    for found in outcomes(smith(seed), "sm_90" if seed % 2 else "gfx942", child):
        assert found.compiled or found.ours, found.reason


@pytest.mark.corpus
@pytest.mark.parametrize("path", corpus_files(30), ids=lambda p: p.stem)
def test_a_real_kernel_compiles(path: Path, child: CompileProcess) -> None:
    for found in outcomes(tilery.load(path), "sm_90", child):
        assert found.compiled, found.reason


# ---------------------------------------------------------------- numerics


def test_products_and_sums_are_not_fused(child: CompileProcess) -> None:
    made = compile_entry(tilery.parse(KERNEL), target="sm_90", emit=["ptx"], compiler=child)
    assert "mul.rn.f32" in made.stages["ptx"] and "fma" not in made.stages["ptx"]
    assert ".ftz" not in made.stages["ptx"]


@pytest.mark.parametrize(("mode", "suffix"), [("nearest_even", "rn"), ("zero", "rz"), ("negative_inf", "rm")])
@pytest.mark.parametrize(("name", "operands"), [("mulf", 2), ("divf", 2), ("fma", 3), ("sqrt", 1)])
def test_flushing_and_rounding_are_one_instruction(
    name: str, operands: int, mode: str, suffix: str, child: CompileProcess
) -> None:
    """Whether a result near the smallest normal number is flushed depends on how it is rounded."""
    values = ", ".join(["%4"] * operands)
    text = KERNEL.replace("mulf %4, %4 :", f"{name} {values} rounding<{mode}> flush_to_zero :")
    made = compile_entry(tilery.parse(text), target="sm_90", emit=["ptx"], compiler=child)
    assert f"{name.removesuffix('f')}.{suffix}.ftz.f32" in made.stages["ptx"]


def test_a_target_without_such_an_instruction_looks_at_a_scaled_product(child: CompileProcess) -> None:
    text = KERNEL.replace("mulf %4, %4 :", "mulf %4, %4 rounding<zero> flush_to_zero :")
    made = compile_entry(tilery.parse(text), target="gfx942", compiler=child)
    assert made.text.count("__ocml_mul_rtz_f32") == 2


def test_a_later_addition_stays_outside_of_a_product(child: CompileProcess) -> None:
    text = PRODUCT.replace("%t2 = store", "%w = addf %z, %z : tile<64x64xf32>\n  %t2 = store").replace(
        "weak %z,", "weak %w,"
    )
    made = compile_entry(tilery.parse(text), target="sm_90", emit=["ttir"], compiler=child)
    assert "arith.addf" in made.stages["ttir"]


def test_a_promise_about_a_constant_is_not_believed(child: CompileProcess) -> None:
    """cuTile promises that the stride 1 of an axis with one element is a multiple of 8. LLVM would drop the kernel."""
    text = KERNEL.replace(
        "%4 = ", "%one = constant <i32: 1> : tile<i32>\n  %eight = assume div_by<8>, %one : tile<i32>\n  %4 = ", 1
    )
    made = compile_entry(tilery.parse(text), target="sm_90", emit=["ptx"], compiler=child)
    assert "st.global" in made.stages["ptx"] and "llvm.intr.assume" not in made.text


# ---------------------------------------------------------------- the launch contract


def test_the_contract_names_every_parameter(child: CompileProcess) -> None:
    contract = compile_entry(tilery.parse(KERNEL), target="sm_90", compiler=child).contract
    assert [a.kind for a in contract.arguments] == [PARAMETER, SCRATCH, NULL]
    assert contract.name == "k" and contract.threads == 32
    assert LaunchContract.from_dict(json.loads(json.dumps(contract.as_dict()))) == contract


@pytest.mark.parametrize("views", [POINTERS, DEVICE, HOST])
def test_views_are_accessed_as_the_configuration_says(views: str, child: CompileProcess) -> None:
    made = compile_entry(
        tilery.parse(PRODUCT), target="sm_90", config=Config(4, 3, views), compiler=child, emit=["ptx"]
    )
    maps = [a for a in made.contract.arguments if a.kind == DESCRIPTOR]
    assert len(maps) == (3 if views == HOST else 0)
    assert made.notes == {
        "descriptors": 0 if views == POINTERS else 3,
        "pointers": 3 if views == POINTERS else 0,
        "barriers": 0,
    }
    assert ("cp.async.bulk.tensor" in made.stages["ptx"]) == (views != POINTERS)
    for found in made.contract.descriptors:
        assert found.shape[0].parameter == 3 and found.strides[1].value == 1 and found.box


def test_a_store_through_a_tensor_map_needs_rows_that_end_at_16_bytes(child: CompileProcess) -> None:
    """A tensor map writes chunks of 16 bytes, and with them what follows a row."""
    text = PRODUCT.replace("%n: tile<i32>)", "%n: tile<i32>, %m: tile<i32>)")
    text = text.replace("make_tensor_view %c0, shape = [%n0, %n0]", "make_tensor_view %c0, shape = [%n0, %m]")
    config = Config(4, 3, HOST)
    made = compile_entry(tilery.parse(text), target="sm_90", config=config, compiler=child)
    assert made.notes["descriptors"] == 2 and made.notes["pointers"] == 1
    promised = text.replace("%zero =", "%m0 = assume div_by<4>, %m : tile<i32>\n  %zero =").replace(", %m]", ", %m0]")
    made = compile_entry(tilery.parse(promised), target="sm_90", config=config, compiler=child)
    assert made.notes["descriptors"] == 3 and made.notes["pointers"] == 0


SCALED = """
entry @k(%p: tile<ptr<f32>>) {{
  %a = constant <{element}: 1.0> : tile<128x128x{element}>
  %acc = constant <f32: 0.0> : tile<128x128xf32>
  %s = constant <{scale}: 1.0> : tile<128x{blocks}x{scale}>
  %t = constant <{scale}: 1.0> : tile<{blocks}x128x{scale}>
  %c = mmaf_scaled %a, %a, %acc, %s, %t : tile<128x128x{element}>, tile<128x128x{element}>, tile<128x128xf32>, \
tile<128x{blocks}x{scale}>, tile<{blocks}x128x{scale}>
  %v = make_tensor_view %p, shape = [128, 128], strides = [128, 1] : tensor_view<128x128xf32, strides=[128,1]>
  %w = make_partition_view %v : partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>
  %z = constant <i32: 0> : tile<i32>
  %u = store_view_tko weak %c, %w[%z, %z] : tile<128x128xf32>, \
partition_view<tile=(128x128), tensor_view<128x128xf32, strides=[128,1]>>, tile<i32> -> token
  return
}}"""


@pytest.mark.parametrize(
    ("element", "scale", "blocks", "name"),
    [
        ("f8E4M3FN", "f8E8M0FNU", 4, "e4m3"),
        ("f8E5M2", "f8E8M0FNU", 4, "e5m2"),
        ("f4E2M1FN", "f8E8M0FNU", 4, "e2m1"),
        ("f4E2M1FN", "f8E4M3FN", 8, "e2m1"),
    ],
)
def test_blackwell_multiplies_scaled_blocks_by_one_instruction(
    element: str, scale: str, blocks: int, name: str, child: CompileProcess
) -> None:
    module = tilery.parse(SCALED.format(element=element, scale=scale, blocks=blocks))
    for target in ("sm_100", "sm_120"):
        assert f"lhs = {name} rhs = {name}" in compile_entry(module, target=target, compiler=child).text
    assert "dot_scaled" not in compile_entry(module, target="sm_90", compiler=child).text


def test_globals_and_allocations_are_arguments(child: CompileProcess) -> None:
    text = """
    global @g <f32: [1.0, 2.0]> : tile<2xf32>
    entry @k(%p: tile<ptr<f32>>) {
      %0 = get_global @g : tile<ptr<f32>>
      %1, %2 = load_ptr_tko weak %0 : tile<ptr<f32>> -> tile<f32>, token
      %3 = alloca num_elem = 16, alignment = 16 : tile<ptr<f32>>
      %4 = store_ptr_tko weak %3, %1 : tile<ptr<f32>>, tile<f32> -> token
      return
    }"""
    contract = compile_entry(tilery.parse(text), target="sm_90", compiler=child).contract
    kinds = {a.kind: a for a in contract.arguments}
    assert kinds[GLOBAL].name == "g" and FRAME in kinds and contract.frame_bytes == 256
    aligned = tilery.parse(text.replace("alignment = 16", "alignment = 1024"))
    contract = compile_entry(aligned, target="sm_90", compiler=child).contract
    assert (contract.frame_bytes, contract.frame_alignment) == (1024, 1024), "every tile block's frame is aligned"


# ---------------------------------------------------------------- what goes wrong


def request(text: str) -> dict[str, object]:
    target = find_target("sm_90")
    return {"text": text, "backend": "cuda", "target": target.name, "warp": 32, "options": {}, "emit": []}


def test_text_that_triton_cannot_parse_is_an_answer_and_the_process_goes_on() -> None:
    child = CompileProcess()
    try:
        assert "error" in child.compile(request("module { nonsense }"))
        made = compile_entry(tilery.parse(KERNEL), target="sm_90", compiler=child)
        assert made.binary.startswith(b"\x7fELF")
    finally:
        child.stop()


def stop_soon(child: CompileProcess) -> None:
    """End a process as soon as there is one: Triton takes longer to import."""
    while not child.running:
        sleep(0.01)
    child.stop()


def test_a_crash_is_an_answer_and_the_next_request_starts_a_new_process() -> None:
    child = CompileProcess()
    try:
        empty = request("module { tt.func public @k() { tt.return } }")
        Thread(target=stop_soon, args=(child,)).start()
        found = child.compile(empty)
        assert (found["error"], found["kind"]) == ("Triton crashed with SIGKILL", "compiler-crash")
        assert "error" not in child.compile(empty)
    finally:
        child.stop()


def test_a_request_that_takes_too_long_ends_the_process() -> None:
    child = CompileProcess()
    try:
        found = child.compile(request("module { tt.func public @k() { tt.return } }"), timeout=0.001)
        assert "took more than" in found["error"] and not child.running
    finally:
        child.stop()


def test_a_tile_that_is_too_large_is_refused_with_its_operation() -> None:
    text = "entry @k() { %0 = constant <f32: 1.0> : tile<4194304xf32> %1 = absf %0 : tile<4194304xf32> return }"
    with pytest.raises(tilery.TileError, match="constant: the Triton engine cannot compile this: a tile has 4194304"):
        compile_entry(tilery.parse(text), target="sm_90")


def test_deep_early_exits_are_refused_and_do_not_overflow() -> None:
    body = "if %c { return }\n" * 400
    text = "entry @k(%c: tile<i1>) {\n" + body + "return\n}"
    with pytest.raises(tilery.TileError, match="nests too deep"):
        compile_entry(tilery.parse(text), target="sm_90")


def test_smaller_configurations_have_shorter_pipelines() -> None:
    found = _smaller(Config(4, 3, POINTERS, pipeline=3))
    assert [(c.num_stages, c.pipeline) for c in found] == [(2, 2), (1, 1), (1, 0)]


def test_an_unknown_target_is_named() -> None:
    with pytest.raises(tilery.TileError, match="unknown target 'sm_1', expected one of sm_80"):
        compile_entry(tilery.parse(KERNEL), target="sm_1")


def test_unit_dimensions_of_a_box_come_first() -> None:
    """Only leading ones can be left out of what is loaded, so operands of products need no reshape."""
    view = "partition_view<tile=(1x64x1x64), tensor_view<2x128x4x64xf16, strides=[32768,256,64,1]>>"
    text = f"""
    entry @k(%a: tile<ptr<f16>>, %i: tile<i32>) {{
      %a0 = assume div_by<16>, %a : tile<ptr<f16>>
      %t = make_tensor_view %a0, shape = [2, 128, 4, 64], strides = [32768, 256, 64, 1] : tensor_view<2x128x4x64xf16, strides=[32768,256,64,1]>
      %v = make_partition_view %t : {view}
      %zero = constant <i32: 0> : tile<i32>
      %x, %t0 = load_view_tko weak %v[%zero, %i, %i, %zero] : {view}, tile<i32> -> tile<1x64x1x64xf16>, token
      %y = addf %x, %x : tile<1x64x1x64xf16>
      %t1 = store_view_tko weak %y, %v[%zero, %i, %i, %zero] : tile<1x64x1x64xf16>, {view}, tile<i32> -> token
      return
    }}"""  # noqa: E501
    made = compile_entry(tilery.parse(text), config=Config(4, 2, HOST))
    (described,) = made.contract.descriptors
    assert [e.value for e in described.shape] == [2, 4, 128, 64]
    assert [e.value for e in described.strides] == [32768, 64, 256, 1]
    assert made.text.count("1x1x64x64xf16") == 3 and "-> tensor<64x64xf16>" in made.text


@pytest.mark.parametrize("signed", ["signed", "unsigned"])
def test_a_truth_value_becomes_a_float_without_a_conversion_of_i1(signed: str) -> None:
    """LLVM makes +1 of a signed i1 that is not a comparison when it converts it to bf16."""
    text = f"""
    entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<bf16>>) {{
      %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %b = trunci %x : tile<i32> -> tile<i1>
      %f = itof %b {signed} : tile<i1> -> tile<bf16>
      %u = store_ptr_tko weak %q, %f : tile<ptr<bf16>>, tile<bf16> -> token
      return
    }}"""
    made = compile_entry(tilery.parse(text), config=Config(1, 1), emit=("llir",))
    assert "sitofp i1" not in made.stages["llir"] and "uitofp i1" not in made.stages["llir"]
    assert ("arith.constant 1.0" in made.text) == (signed == "unsigned")
