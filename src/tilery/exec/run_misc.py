"""Printing and assertions.

`print_tko` prints as C's printf does: the arguments are laid out one after the other, integers widened to 32 bits and
floats to f64, and each conversion takes as many bytes as its letter says, whatever the type of the value was. A tile
repeats its conversion for every element, within brackets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import Assert, PrintTko
from ..ops.misc import CONVERSION
from ..types import I1, I4, Ptr, Tile, Type
from .memory import AssertFailed
from .numerics.convert import to_f64
from .printf import Format, parse_format
from .registry import executes
from .tiles import Array

SHOWN = 4
"""As many elements are named where an assertion fails."""


def _widened(values: Array, type: Type) -> Array:
    """The elements as C passes them to a function of any number of arguments, flat for each lane."""
    assert isinstance(type, Tile)
    element = type.element
    if isinstance(element, Ptr):
        wide = values
    elif element.is_float:
        wide = to_f64(values, element)
    elif element is I1:
        wide = values.astype(np.int32)
    elif element is I4:
        wide = (values.astype(np.int32) ^ 8) - 8
    else:
        wide = values.astype(np.int32) if element.bits < 32 else values
    return wide.reshape(len(values), -1)


def _laid_out(values: tuple[Array, ...], types: list[Type], lane: int) -> bytes:
    """The arguments of one tile block in memory, each aligned to its size."""
    parts: list[bytes] = []
    size = 0
    for value, type in zip(values, types):
        words = value[lane if len(value) > 1 else 0]
        gap = -size % words.itemsize
        parts += [bytes(gap), words.tobytes()]
        size += gap + words.nbytes
    return b"".join(parts)


def _pieces(text: str, types: list[Type]) -> list[bytes | Format]:
    """The text with the conversions of tiles repeated for their elements."""
    out: list[bytes | Format] = []
    position, waiting = 0, iter(types)
    while (found := text.find("%", position)) >= 0:
        out.append(_raw(text[position:found]))
        match = CONVERSION.match(text, found)
        assert match is not None  # the verifier has seen to it
        position = match.end()
        if match[0] == "%%":
            out.append(b"%")
            continue
        type = next(waiting)
        assert isinstance(type, Tile)
        out += _repeated(parse_format(_raw(match[0])), type.shape)
    return [*out, _raw(text[position:])]


def _repeated(conversion: Format, shape: tuple[int, ...]) -> list[bytes | Format]:
    """`[[x, x], [x, x]]` for a tile of 2x2."""
    out: list[bytes | Format] = [conversion]
    for size in reversed(shape):
        out = [b"[", *([*out, b", "] * size)[:-1], b"]"]
    return out


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@executes(
    PrintTko,
    batch=True,
    note="Tile blocks print in the order of the grid; on a GPU the order is not defined. A conversion that does not fit the "
    "type of its value shows what C's printf does; bytes after the last argument are 0.",
)
def print_tko(o: PrintTko, batch: Any, args: tuple[Array, ...], token: None = None) -> None:
    """Print the text with the values, once for every tile block."""
    types = [value.type for value in o.args]
    pieces = _pieces(o.str_, types)
    values = tuple(map(_widened, args, types))
    same = all(len(value) == 1 for value in values)
    text = ""
    for lane in range(batch.lanes):
        if lane == 0 or not same:
            text = _printed(pieces, _laid_out(values, types, lane))
        batch.write(lane, text)


def _printed(pieces: list[bytes | Format], arguments: bytes) -> str:
    out = []
    position = 0
    for piece in pieces:
        if isinstance(piece, Format):
            shown, position = piece.show(arguments, position)
            out.append(shown)
        else:
            out.append(piece)
    return b"".join(out).decode("utf-8", "replace")


@executes(Assert, batch=True)
def assert_(o: Assert, batch: Any, condition: Array) -> None:
    """Stop the launch where the condition does not hold."""
    if condition.all():
        return
    failed = np.argwhere(~condition)
    first = tuple(int(i) for i in failed[0])
    message = f"assert: {o.message}" if o.message else "assert: the condition does not hold"
    inside = failed[failed[:, 0] == failed[0, 0], 1:]
    if len(inside) > 1:
        shown = ", ".join(str(list(map(int, where))) for where in inside[:SHOWN])
        more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        message += f" (not for the elements {shown}{more})"
    raise AssertFailed(message, first)
