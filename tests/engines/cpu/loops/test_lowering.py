"""Tile IR as loop IR: every operation, random modules and hand-shaped kernels, against the reference engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from support.loops import load
from tilery.engines.cpu.abi import NotLowered
from tilery.engines.cpu.loops.printer import print_kernel
from tilery.engines.cpu.lower import LOWERS, lower
from tilery.engines.reference.launch import EXECUTED
from tilery.engines.reference.launch import load as load_reference
from tilery.ops import Entry, Global, Module

SCRIPTS = Path(__file__).resolve().parents[4] / "scripts"
DOUBLE = """cuda_tile.module @m { entry @double(%x: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %t = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  %a, %u = load_view_tko weak %v[%b] : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32>
    -> tile<64xf32>, token
  %c = addf %a, %a : tile<64xf32>
  %w = store_view_tko weak %c, %v[%b] token = %u : tile<64xf32>,
    partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return } }"""


def test_every_operation_is_lowered() -> None:
    assert set(EXECUTED) - {Module, Entry, Global} == set(LOWERS)


def left(loaded: Any, entry: str | None, grid: Any, args: list[Any]) -> tuple[str, list[bytes], str]:
    """Launch a kernel; return the operation of an error, memory, and what was printed."""
    printed: list[str] = []
    error = ""
    try:
        loaded.kernel(entry).launch(grid, args, output=printed.append)
    except tilery.TileError as raised:
        error = raised.message.split(":")[0]
    memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
    globals_ = [loaded.content(o.sym_name) for o in loaded.module.globals]
    return error, [] if error else memory + globals_, "" if error else "".join(printed)


@pytest.mark.parametrize("seed", range(40))
def test_random_modules(seed: int) -> None:
    module, contract = random_case(seed)
    for number, launch in enumerate(contract.launches):
        found = [
            left(make(module), launch.entry, launch.grid, arguments(launch, seed + number))
            for make in (load_reference, load)
        ]
        assert found[0] == found[1]


def test_operations_that_are_called() -> None:
    """Calls work on whole tiles, also inside a body that combines elements."""
    from support import loops

    for seed in range(12):
        module, contract = random_case(seed)
        for number, launch in enumerate(contract.launches):
            args = [arguments(launch, seed + number) for _ in range(2)]
            found = loops.LoopsLoaded(module)
            found.called = lambda o: type(o).__name__[0] in "ACEMS"
            assert left(found, launch.entry, launch.grid, args[0]) == left(
                load_reference(module), launch.entry, launch.grid, args[1]
            )


def test_hand_shaped_kernels() -> None:
    """One kernel of each family."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        import loops_campaign
        from parts.shaped.families import NAMES

        outcomes = {n: loops_campaign.run(loops_campaign.Ways(()).shaped, n) for n in range(len(NAMES))}
    finally:
        sys.path.remove(str(SCRIPTS))
    assert not {n: found for n, found in outcomes.items() if found[0] not in loops_campaign.FINE}
    assert sum(found[0] == "same" for found in outcomes.values()) > 0.9 * len(outcomes)


def test_the_text_of_a_kernel() -> None:
    module = tilery.parse(DOUBLE)
    text = print_kernel(lower(module, module.entries[0]))
    assert text.startswith("kernel @double(arg0: i64, arg1: i32) grid (grid_x, grid_y, grid_z) {\n")
    assert "    addf = arena 64xf32\n" in text
    assert "guard write" in text and "] of 4 in param 0 fault" in text


def test_the_command_prints_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.cli.main import main

    file = tmp_path / "k.mlir"
    file.write_text(DOUBLE)
    assert main(["compile", str(file), "--engine", "cpu", "--emit", "loops"]) == 0
    assert "parallel #1 i in 0 .. 64 {" in capsys.readouterr().out


def test_deep_regions_are_refused() -> None:
    opened = "if %c { " * 100 + "} " * 100
    module = tilery.parse(f"cuda_tile.module @m {{ entry @k(%c: tile<i1>) {{ {opened} return }} }}")
    with pytest.raises(NotLowered, match="nested very deep"):
        lower(module, module.entries[0])


def test_bodies_inside_bodies_do_not_explode() -> None:
    body = (
        "%y{n} = reduce %x dim=0 identities=[0.0 : f32] : tile<128xf32> -> tile<f32> "
        "(%a{n}: tile<f32>, %b{n}: tile<f32>) {{ "
    )
    opened = "".join(body.format(n=n) for n in range(8))
    inner = "%s = addf %a7, %b7 : tile<f32> yield %s : tile<f32> } "
    closed = inner + "".join(f"yield %y{n} : tile<f32> }} " for n in range(7, 0, -1))
    tile = "%x1 = reshape %x0 : tile<f32> -> tile<1xf32> %x = broadcast %x1 : tile<1xf32> -> tile<128xf32>"
    text = f"cuda_tile.module @m {{ entry @k(%x0: tile<f32>) {{ {tile} {opened}{closed} return }} }}"
    module = tilery.parse(text)
    with pytest.raises(NotLowered, match="very large"):
        lower(module, module.entries[0])
