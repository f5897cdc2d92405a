"""Instructions of processors for products, in LLVM IR: of neighbours in vectors, and of tile registers."""

from __future__ import annotations

from ..abi import NotLowered, Target
from ..loops.dots import DOTS, SIDE
from ..text import Text, vector
from ..tiles import register

TILES = 8
"""Tile registers of a processor."""


def _configuration() -> str:
    """Return the operand of `ldtilecfg`: palette 1, then the bytes of a row and the rows of each of eight registers."""
    rows = [1, *[0] * 15, *[4 * SIDE, 0] * TILES, *[0] * 16, *[SIDE] * TILES, *[0] * 8]
    return '@tiles = internal constant [64 x i8] c"' + "".join(f"\\{x:02X}" for x in rows) + '", align 64'


CONFIGURATION = _configuration()


def dot(g: Text, target: Target, name: str, w: int, left: str, right: str, total: str) -> str:
    """Return sums of products of neighbours, in vectors of 32 bits. Operands are vectors of narrower elements."""
    form = DOTS[name]
    t, to = register(form.element), register(form.sums)
    words = vector("i32", w)
    if name == "i16":
        return _dot_i16(g, w, left, right, total)
    if not target.x86 or name in ("i8.ss", "i8.uu"):
        raise NotLowered(f"a product of {name}")
    if name == "bf16":
        pairs = vector("bfloat", 2 * w)
        a, b = (g.let(f"bitcast {vector(t, 2 * w)} {x} to {pairs}") for x in (left, right))
        v = vector(to, w)
        return g.call(f"x86.avx512bf16.dpbf16ps.{32 * w}", v, (v, total), (pairs, a), (pairs, b))
    unsigned, signed = (left, right) if name == "i8.us" else (right, left)
    bytes_ = vector(t, 4 * w)
    return g.call(f"x86.avx512.vpdpbusd.{32 * w}", words, (words, total), (bytes_, unsigned), (bytes_, signed))


def _dot_i16(g: Text, w: int, left: str, right: str, total: str) -> str:
    """In this form LLVM finds the instructions of x86 and of Arm."""
    a, b = (g.cast("sext", x, "i16", "i32", 2 * w) for x in (left, right))
    terms = g.op("mul", "i32", 2 * w, a, b)
    even, odd = (
        g.part(terms, "i32", 2, first, 1) if w == 1 else g.shuffle(terms, None, "i32", 2 * w, range(first, 2 * w, 2))
        for first in (0, 1)
    )
    return g.op("add", "i32", w, g.op("add", "i32", w, even, odd), total)


def tile(g: Text, name: str, *operands: str) -> None:
    """Write an instruction of tile registers."""
    types = ", ".join(x.split()[0] for x in operands)
    g.needs[f"declare void @llvm.x86.{name}({types})"] = None
    g.put(f"call void @llvm.x86.{name}({', '.join(operands)})")


def configure(g: Text) -> None:
    """Set all tile registers to 16 rows of 64 bytes."""
    g.functions["@tiles"] = CONFIGURATION
    tile(g, "ldtilecfg", "ptr @tiles")


def tile_dot(g: Text, name: str, sums: int, left: int, right: int) -> None:
    """Write a product of tile registers."""
    instruction = "tdpbf16ps" if name == "bf16" else f"tdpb{name[3:]}d"
    tile(g, instruction, *(f"i8 {number}" for number in (sums, left, right)))
