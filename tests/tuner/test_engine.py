"""Engine `gpu`: the remembered variant, or the one of the rules; and the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.gpu import launch as gpu
from tilery.engines.gpu.store import Platform, TunedVariant, VariantStore, kernel_digest, merge, shape_class
from tilery.engines.gpu.variants import SHARED, Variant, candidate_variants, default_variant
from tilery.engines.work import Work
from tilery.rewrite.hints import with_hints

from .conftest import build_as

MACHINE = Platform("Fake", "sm_90", "13.4", (("tileiras", "1.0"), ("triton", "2.0")))


@pytest.fixture
def loaded(module: Any, driver: Any, store: VariantStore, monkeypatch: pytest.MonkeyPatch) -> gpu.GpuLoaded:
    build = build_as({})
    monkeypatch.setattr(gpu, "compiler_versions", lambda: MACHINE.versions)
    monkeypatch.setattr(gpu, "installed", lambda: ("triton", "tileiras"))
    monkeypatch.setattr(
        "tilery.engines.gpu.variants.VariantCompiler.compile",
        lambda self, module, entry, target: build(module, entry, self.variant, target),
    )
    return gpu.GpuLoaded(module, choice="rules", driver=driver(), store=store)


def record(module: Any, variant: Variant, machine: Platform = MACHINE, **fields: Any) -> TunedVariant:
    shapes = "grid 4 1 1, 4096"
    return TunedVariant(
        kernel_digest(module, "double"), "double", shapes, machine, variant, 1e-3, date="2026-01-01", **fields
    )


def test_without_a_record_rules_choose(loaded: gpu.GpuLoaded, arrays: Any) -> None:
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert np.array_equal(arrays[1], 2 * arrays[0])
    assert kernel.choice == (Variant("triton"), "the rules: nothing is remembered for this kernel and shape")


def test_a_record_is_taken_for_its_shapes(loaded: gpu.GpuLoaded, module: Any, arrays: Any, store: VariantStore) -> None:
    winner = Variant.of("tileiras", level=2)
    store.add([record(module, winner)])
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice == (winner, "remembered from 2026-01-01")
    kernel.launch(1, arrays)  # another grid is another class
    assert kernel.choice is not None and kernel.choice[0] == Variant("triton")


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (replace(MACHINE, device="Other"), "what is remembered is for another device, Other"),
        (
            replace(MACHINE, versions=(("tileiras", "0.9"),)),
            "what is remembered is for tileiras 0.9, and 1.0 is installed",
        ),
    ],
)
def test_a_foreign_or_stale_record_is_not_taken(
    machine: Platform, why: str, loaded: gpu.GpuLoaded, module: Any, arrays: Any, store: VariantStore
) -> None:
    store.add([record(module, Variant.of("tileiras", level=2), machine)])
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice == (Variant("triton"), f"the rules: {why}")


def test_a_record_of_another_lowering_is_stale(
    loaded: gpu.GpuLoaded, module: Any, arrays: Any, store: VariantStore
) -> None:
    store.add([record(module, Variant.of("tileiras", level=2), lowering=0)])
    kernel = loaded.kernel()
    kernel.launch(5, arrays)
    assert kernel.choice == (Variant("triton"), "the rules: what is remembered is for another version of tilery")


def test_a_given_variant(module: Any, arrays: Any, loaded: gpu.GpuLoaded) -> None:
    given = gpu.GpuLoaded(module, Variant.of("tileiras", occupancy=2), driver=loaded.driver, store=loaded.store)
    kernel = given.kernel()
    with kernel.bind(5, arrays) as bound:
        bound.copy_in()
        bound.run()
        bound.copy_out()
    assert kernel.choice == (Variant.of("tileiras", occupancy=2), "given")
    assert np.array_equal(arrays[1], 2 * arrays[0])


def test_the_newest_record_stays(module: Any) -> None:
    old, new = record(module, Variant("triton")), replace(record(module, Variant("triton")), date="2026-02-02")
    assert merge([new, old]) == merge([old, new]) == [new]
    other = replace(old, shapes="grid 1 1 1")
    assert merge([old, other]) == [other, old]


def test_records_survive_the_file(module: Any, store: VariantStore) -> None:
    made = record(module, Variant.of("triton", num_warps=8, views="host"))
    store.add([made])
    assert VariantStore(store.path).records() == [made]
    assert not [p for p in Path(str(store.path)).parent.iterdir() if p.name.startswith(".tuned")]


@pytest.mark.parametrize(
    "variant",
    [{"engine": "cpu", "options": {}}, {"engine": "triton", "options": {"level": 1}}, {"engine": "triton"}, 1],
)
def test_a_hostile_variant_is_refused(variant: Any, module: Any) -> None:
    plain = {**record(module, Variant("triton")).as_dict(), "variant": variant}
    with pytest.raises(tilery.TileError):
        TunedVariant.from_dict(plain)


def test_hints_and_locations_do_not_change_what_a_kernel_is(module: Any) -> None:
    hinted = with_hints(module, "sm_90", {"occupancy": 2, "allow_tma": False})
    assert kernel_digest(hinted, "double") == kernel_digest(module, "double")
    assert tilery.show(hinted).count("allow_tma = false") == 2


def test_classes_of_shapes() -> None:
    assert shape_class((5, 1, 1), [], []) == "grid 4 1 1"
    assert shape_class((8191, 2, 1), [], []) == "grid 4096 2 1"


GEMM = Work(products=1, accumulator=128 * 128, loop_bytes=32768, rows=128, pure=True)
ATTENTION = Work(products=2, accumulator=128 * 128, loop_bytes=32768, rows=64, chained=True, reduces=True)


@pytest.mark.parametrize(
    ("work", "label"),
    [
        (Work(tile=1024), "triton"),
        (Work(tile=4096, loops=True, blocks=4096), "triton"),
        (Work(tile=4096, loops=True, blocks=256), "triton pipe3"),
        (Work(tile=4096, loops=True, stores=True, blocks=132, live=8192), "tileiras O3 occ2"),
        (Work(tile=4096, loops=True, stores=True, blocks=132, live=80_000), "triton pipe3"),
        (Work(tile=4096, reduces=True, several=True), "tileiras O3 occ4 no-tma"),
        (GEMM, "triton"),
        (replace(GEMM, pure=False), "tileiras O3 occ2"),
        (replace(GEMM, pure=False, blocks=64), "tileiras O3"),
        (replace(GEMM, integers=True), "tileiras O3 occ2"),
        (replace(GEMM, narrow=True), "tileiras O3 cta2 occ2"),
        (replace(GEMM, narrow=True, accumulator=128 * 256), "triton"),
        (replace(GEMM, narrow=True, needs_transpose=True), "tileiras O2"),
        (replace(GEMM, tf32=True), "tileiras O2"),
        (replace(GEMM, tf32=True, needs_transpose=True, transposable=True, rows=128), "tileiras O2 occ2 transpose"),
        (replace(GEMM, tf32=True, needs_transpose=True, transposable=True, rows=16), "tileiras O2"),
        (ATTENTION, "tileiras O3 occ2"),
        (replace(ATTENTION, accumulator=2 * 128 * 128), "tileiras O3 cta2 occ2"),
        (replace(ATTENTION, accumulator=64 * 128, loop_bytes=16384), "triton"),
        (replace(ATTENTION, tf32=True), "triton"),
        (Work(products=12, stepwise=True, live=8192, rows=16), "tileiras O3 occ2 no-tma"),
        (Work(products=1, stepwise=True, live=640, rows=1), "tileiras O3 occ4"),
    ],
)
def test_the_rules(work: Work, label: str) -> None:
    assert default_variant(work).label == label
    assert default_variant(work, ("triton",)).engine == "triton"
    assert default_variant(work, ("tileiras",)).engine == "tileiras"
    candidates = candidate_variants(work)
    assert len(candidates) == 3 and {c.engine for c in candidates} == {"triton", "tileiras"}
    assert {c.engine for c in candidate_variants(work, ("triton",))} == {"triton"}


def test_a_first_launch_tries_a_warp_that_copies() -> None:
    work = replace(GEMM, feedable=True, rows=128, stored=128 * 128 * 2)
    assert candidate_variants(work)[0].label == f"triton w4 s{(SHARED - work.stored) // work.loop_bytes} gluon2 p132"
    for other in ({"rows": 64}, {"needs_transpose": True}, {"loop_bytes": 100_000}, {"waits": True}, {"pure": False}):
        assert len(candidate_variants(replace(work, **other))) == 3


def test_rules_choose_it_for_short_floats() -> None:
    work = replace(GEMM, feedable=True, narrow=True, rows=128, stored=128 * 128 * 4)
    assert default_variant(work).label == "triton w4 s5 gluon2 p132"
    assert default_variant(work, ("tileiras",)).label == "tileiras O3 cta2 occ2"
    assert default_variant(replace(work, narrow=False)).label == "triton"
    lying = replace(work, needs_transpose=True)
    assert default_variant(lying).label == "tileiras O2"
    assert default_variant(replace(lying, transposable=True)).label == "triton w4 s5 gluon2 p132 transpose"


def test_no_compiler() -> None:
    with pytest.raises(tilery.TileError, match="engine 'gpu' needs a compiler for GPUs"):
        default_variant(Work(), ())


def test_run_says_what_ran(
    loaded: gpu.GpuLoaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from tilery.cli.main import main

    from .conftest import DOUBLE
    from .test_command import ARGS

    monkeypatch.setattr(gpu, "load", lambda module, **options: loaded)
    path = tmp_path / "k.mlir"
    path.write_text(DOUBLE)
    assert main(["run", str(path), "--engine", "gpu", *ARGS, "--print", "out"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("out = [")
    assert said.err == "engine: gpu, triton (the rules: nothing is remembered for this kernel and shape)\n"
    assert main(["run", str(path), "--engine", "gpu", *ARGS, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["engine"] == "gpu" and facts["variant"]["engine"] == "triton"
    assert loaded.compiled(loaded.module.entries[0], Variant("triton")).engine == "gpu"
