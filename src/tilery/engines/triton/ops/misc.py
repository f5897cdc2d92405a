"""The grid, assumptions, assertions and printing."""

from __future__ import annotations

from math import prod
from typing import Any

from ....attrs import DivBy
from ....enums import MemoryScope
from ....ops import Assert, Assume, Constant, GetNumTileBlocks, GetTileBlockId, PrintTko
from ...cuda.contract import PRINTS, Passed
from ...cuda.printing import BUFFER_BYTES, HEAD, record_layout
from ..access import atomic
from ..emit import Val, names
from ..registry import lowers
from ..state import Lowering, Tok


@lowers(GetTileBlockId)
def get_tile_block_id(low: Lowering, o: GetTileBlockId) -> tuple[Val, ...]:
    """The position in the grid; a folded grid has one dimension."""
    if not low.config.folded:
        return tuple(low.make(f"tt.get_program_id {axis} : i32", (), "i32") for axis in "xyz")
    number = low.block or low.make("tt.get_program_id x : i32", (), "i32")
    x, y = low.grid_extent(0), low.grid_extent(1)
    rest = low.map("arith.divui", number, x)
    return low.map("arith.remui", number, x), low.map("arith.remui", rest, y), low.map("arith.divui", rest, y)


@lowers(GetNumTileBlocks)
def get_num_tile_blocks(low: Lowering, o: GetNumTileBlocks) -> tuple[Val, ...]:
    if low.config.folded:
        return tuple(low.grid_extent(dim) for dim in range(3))
    return tuple(low.make(f"tt.get_num_programs {axis} : i32", (), "i32") for axis in "xyz")


@lowers(Assume)
def assume(low: Lowering, o: Assume, value: Any) -> Any:
    """The same value. What is promised of it is known from the alignment analysis; Triton learns of divisibility."""
    predicate = o.predicate
    if not isinstance(predicate, DivBy) or predicate.every is not None or not isinstance(value, Val) or value.shape:
        return value
    if o.value in low.parameters or predicate.divisor < 2 or value.is_pointer or value.element == "i1":
        return value
    if isinstance(o.value.owner, Constant):
        # cuTile promises that the stride 1 of an axis with one element is a multiple of 8, and LLVM believes it.
        return value
    divisor = min(predicate.divisor, 1 << value.bits - 2)
    rest = low.map("arith.remui", value, low.like(divisor, value))
    held = low.compare("eq", rest, low.like(0, value))
    low.line(f"llvm.intr.assume {held.name} : i1")
    return value


def quoted(text: str) -> str:
    """A string of MLIR."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        plain = 32 <= byte < 127 and byte not in (34, 92)
        out.append(chr(byte) if plain else f"\\{byte:02X}")
    return '"' + "".join(out) + '"'


@lowers(Assert)
def assert_(low: Lowering, o: Assert, condition: Val) -> None:
    low.line(f"tt.assert {condition.name}, {quoted(o.message)} : {condition.type}")


@lowers(PrintTko)
def print_tko(low: Lowering, o: PrintTko, args: tuple[Val, ...], token: Tok | None) -> Tok:
    """Write the values to a record in the launcher's buffer. The host formats them: Triton's print loses formats."""
    made = low.order(token, write=True)
    places, size = record_layout(o)
    base = low.pointer("%prints", Passed(PRINTS))
    amount = low.constant(size, (), "i64")
    at = atomic(low, "add", "relaxed", MemoryScope.DEVICE, low.bitcast(base, "!tt.ptr<i64>"), amount, None)
    head_fits, fits = (low.compare("ule", at, low.constant(BUFFER_BYTES - HEAD - n, (), "i64")) for n in (HEAD, size))
    start = _moved(low, _moved(low, base, low.constant(HEAD, (), "i64")), at)
    for i, number in enumerate((low.constant(low.print_sites[o], (), "i32"), *get_tile_block_id(low, o))):  # type: ignore[arg-type]
        _record(low, start, 4 * i, number, head_fits)
    for place, value in zip(places, args):
        held = low.integer(value, "i8", signed=False) if value.element == "i1" else low.held(value)
        _record(low, start, place, low.reshape(held, (prod(held.shape),)), fits)
    return made


def _moved(low: Lowering, pointer: Val, by: Val) -> Val:
    return low.make(f"tt.addptr {pointer.name}, {by.name} : {pointer.type}, {by.type}", pointer.shape, pointer.element)


def _record(low: Lowering, start: Val, place: int, value: Val, fits: Val) -> None:
    """Store a number or a row of numbers at a place of a record."""
    first = low.bitcast(_moved(low, start, low.constant(place, (), "i64")), f"!tt.ptr<{value.element}>")
    pointers = low.splat(first, value.shape)
    if value.shape:
        pointers = _moved(low, pointers, low.iota(value.shape[0]))
    mask = low.splat(fits, value.shape)
    low.line(f"tt.store {names([pointers, value, mask])} : {pointers.type}")
