"""Launches with the sanitizer on engine cpu: instrumented code finds launches with nothing to report.

Reports are always those of the reference engine, so both engines must report the same.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.catalogue import FOLDER, Case, read_cases
from support.contract import arguments, random_case
from tilery.cli.arguments import make_arguments
from tilery.cli.main import make_parser
from tilery.cli.sanitizing import sanitizer_for
from tilery.cli.verbs.run import parse_grid
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceKernel, ReferenceLoaded
from tilery.sanitize import Faults, Sanitizer
from tilery.source.input import Input
from tilery.verifier.explain import read_legal

pytest.importorskip("llvmlite")

from tilery.engines.cpu.launch import CpuKernel, CpuLoaded

NAMES = "bounds,alignment,uninit,unwritten,undefined,promise,nan"
FILES = sorted(FOLDER.glob("*.mlir"))
SCALE = """cuda_tile.module @m { entry @scale(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %tx = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vx = make_partition_view %tx : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %ty = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vy = make_partition_view %ty : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %a, %u = load_view_tko weak %vx[%b] : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32>
    -> tile<64xf32>, token
  %c = addf %a, %a : tile<64xf32>
  %w = store_view_tko weak %c, %vy[%b] token = %u : tile<64xf32>,
    partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return } }"""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that the reference engine has run."""
    ran: list[str] = []
    run = ReferenceKernel.run

    def counted(self: ReferenceKernel, launch: Any) -> Any:
        ran.append(self.name)
        return run(self, launch)

    monkeypatch.setattr(ReferenceKernel, "run", counted)
    return ran


def found(case: Case, make: Any) -> tuple[list[tuple[str, str, str, int]], str, str]:
    """Launch a kernel of the catalogue; return its reports without addresses, the error, and the summary."""
    module = read_legal(Input(text=case.text, file="kernel.mlir"))
    args = make_parser("run").parse_args(["run", "kernel.mlir", *shlex.split(case.run)])
    given = make_arguments(args.arg, args.seed)
    sanitizer = sanitizer_for(NAMES, given)
    options = {"names": [a.name for a in given], "convention": args.convention, "batch": args.batch}
    error = ""
    try:
        make(module).kernel(args.entry).launch(
            parse_grid(args.grid or "1"),
            [a.value for a in given],
            output=lambda text: None,
            limits=Limits(seconds=20),
            sanitize=sanitizer,
            **options,
        )
    except tilery.TileError as raised:
        error = without_addresses(raised.message)
    reports = [(r.check, r.op.name, without_addresses(r.message), r.count) for r in sanitizer.reports]
    return reports, error, sanitizer.summary


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|'value' is \d{9,}", "ADDRESS", text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_catalogue(file: Path) -> None:
    """Every faulty kernel and every corrected one."""
    for case in read_cases(file):
        assert found(case, CpuLoaded) == found(case, ReferenceLoaded)


def test_correct_kernels_do_not_need_the_reference_engine(slow: list[str]) -> None:
    """Most kernels of the catalogue without a report run as instrumented code."""
    quiet = 0
    for file in FILES:
        _, twin = read_cases(file)
        before = len(slow)
        found(twin, CpuLoaded)
        quiet += len(slow) == before
    assert quiet > 0.6 * len(FILES)


def test_a_clean_launch_computes_the_result(slow: list[str]) -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    kernel = tilery.compile(tilery.parse(SCALE), engine="cpu")
    found = Sanitizer(NAMES)
    kernel.launch(2, [x, y, 100], sanitize=found)
    assert not slow and not found.reports and "1 launch was watched, no fault" in found.summary
    np.testing.assert_array_equal(y, 2 * x)


def test_undefined_padding_that_is_not_stored_is_harmless(slow: list[str]) -> None:
    """The tile at the edge holds undefined elements; the store leaves them out."""
    kernel = tilery.compile(tilery.parse(SCALE), engine="cpu")
    kernel.launch(2, [np.ones(100, np.float32), np.zeros(100, np.float32), 100], sanitize="uninit")
    assert not slow


def test_a_fault_starts_again_from_the_memory_as_it_was(slow: list[str]) -> None:
    """An array that is updated in place, and a fault in the last tile block: elements are doubled once, not twice."""
    text = SCALE.replace("%ty = make_tensor_view %y, shape = [%n]", "%ty = make_tensor_view %x, shape = [%n]")
    x = np.ones(100, np.float32)
    kernel = tilery.compile(tilery.parse(text), engine="cpu")
    with pytest.raises(Faults, match="is outside of it"):
        kernel.launch(2, [x, np.zeros(100, np.float32), 128], sanitize="bounds", threads=1)
    assert slow == ["scale"]
    np.testing.assert_array_equal(x, np.full(100, 2, np.float32))


def test_arguments_that_overlap_take_the_reference_engine(slow: list[str]) -> None:
    x = np.ones(192, np.float32)
    kernel = tilery.compile(tilery.parse(SCALE), engine="cpu")
    kernel.launch(2, [x[:128], x[64:], 128], sanitize="bounds")
    assert slow == ["scale"]


def test_an_empty_array_inside_another_one_takes_the_reference_engine(slow: list[str]) -> None:
    """Its address is one of the other array, whose elements are not its own."""
    x = np.ones(128, np.float32)
    with pytest.raises(Faults, match="through a pointer to argument 0 is outside of it"):
        tilery.compile(tilery.parse(SCALE), engine="cpu").launch(2, [x[:0], x, 128], sanitize="bounds")
    assert slow == ["scale"]


@pytest.mark.parametrize("checks", ["race", "all", "order"])
def test_other_checks_take_the_reference_engine(checks: str, slow: list[str]) -> None:
    kernel = tilery.compile(tilery.parse(SCALE), engine="cpu")
    kernel.launch(2, [np.ones(128, np.float32), np.zeros(128, np.float32), 128], sanitize=checks)
    assert slow == ["scale"]


@pytest.mark.parametrize("option", [{"uninit": True}, {"schedule": 1}, {"outputs": True}])
def test_sanitizers_that_know_more_take_the_reference_engine(option: dict[str, Any], slow: list[str]) -> None:
    x, y = np.ones(128, np.float32), np.zeros(128, np.float32)
    given: dict[str, Any] = {name: [y] if value is True else value for name, value in option.items()}
    tilery.compile(tilery.parse(SCALE), engine="cpu").launch(2, [x, y, 128], sanitize=Sanitizer("bounds", **given))
    assert slow == ["scale"]


@pytest.mark.parametrize("seed", range(25))
def test_random_modules(seed: int) -> None:
    """The same reports and, where there are none, the same bits."""
    module, contract = random_case(seed)
    for number, launch in enumerate(contract.launches):
        results = []
        for make in (ReferenceLoaded, lambda module: CpuLoaded(module, exact=True)):
            args, sanitizer = arguments(launch, seed + number), Sanitizer(NAMES)
            error = ""
            try:
                make(module).kernel(launch.entry).launch(
                    launch.grid, args, output=lambda text: None, sanitize=sanitizer
                )
            except tilery.TileError as raised:
                error = raised.message.split(":")[0]
            reports = [(r.check, r.op.name, without_addresses(r.message), r.count) for r in sanitizer.reports]
            memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
            results.append((reports, error, [] if error else memory))
        assert results[0] == results[1]


def test_kernels_are_compiled_once_per_set_of_checks() -> None:
    kernel = tilery.compile(tilery.parse(SCALE), engine="cpu")
    assert isinstance(kernel, CpuKernel)
    for _ in range(2):
        kernel.launch(1, [np.ones(64, np.float32), np.zeros(64, np.float32), 64], sanitize="bounds,nan")
    assert list(kernel._checked) == [frozenset({"bounds", "nan"})]


def test_pointers_that_are_computed_from_what_may_be_undefined(slow: list[str]) -> None:
    """Elements outside of a tensor have no value, so whether an index has one is found out when the kernel runs."""
    view = "partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>"
    module = tilery.parse(f"""entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
  %z = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %v = make_partition_view %t : {view}
  %i, %k = load_view_tko weak %v[%z] : {view}, tile<i32> -> tile<4xi32>, token
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p4 = broadcast %p1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %q = offset %p4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %x, %l = load_ptr_tko weak %q token=%k : tile<4xptr<i32>> -> tile<4xi32>, token
  %m = store_view_tko weak %x, %v[%z] token=%l : tile<4xi32>, {view}, tile<i32> -> token
  return }}""")
    kernel: Any = tilery.compile(module, engine="cpu")
    array = np.array([3, 2, 1, 0], np.int32)
    sanitizer = Sanitizer("bounds,uninit")
    kernel.launch(1, [array, 4], sanitize=sanitizer)
    assert array.tolist() == [0, 1, 2, 3] and not sanitizer.reports and not slow
    kernel.launch(1, [array, 3], sanitize=sanitizer)
    assert sanitizer.reports and slow
