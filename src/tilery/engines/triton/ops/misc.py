"""The grid, assumptions, assertions and printing."""

from __future__ import annotations

from typing import Any

from ....attrs import DivBy
from ....ops import Assert, Assume, GetNumTileBlocks, GetTileBlockId, PrintTko
from ..emit import FLOAT_BITS, Val, names, types
from ..registry import lowers
from ..state import Lowering, Tok


@lowers(GetTileBlockId)
def get_tile_block_id(low: Lowering, o: GetTileBlockId) -> tuple[Val, ...]:
    """The position in the grid; a folded grid has one dimension."""
    if not low.config.folded:
        return tuple(low.make(f"tt.get_program_id {axis} : i32", (), "i32") for axis in "xyz")
    number = low.make("tt.get_program_id x : i32", (), "i32")
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
    """The text before the first value, and the values as Triton formats them."""
    made = low.order(token, write=True)
    prefix = (o.str_.split("%")[0] if args else o.str_.replace("%%", "%"))[:200]
    shown = [_shown(low, v) for v in args]
    signs = ", ".join("1" for _ in shown)
    attributes = f"{{hex = false, isSigned = array<i32{': ' + signs if signs else ''}>}}"
    tail = f" : {names(shown)} : {types(shown)}" if shown else ""
    low.line(f"tt.print {quoted(prefix)} {attributes}{tail}")
    return made


def _shown(low: Lowering, value: Val) -> Val:
    if FLOAT_BITS.get(value.element) == 8:
        return low.bitcast(value, "i8")
    return low.integer(value, "i32", signed=False) if value.element == "i1" else value
