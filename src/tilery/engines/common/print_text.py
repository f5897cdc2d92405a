"""The text of `print_tko`, which prints like C's printf.

The elements of a tile are laid out one after the other, integers widened to 32 bits (i1 and i4 unsigned) and floats to
f64. A conversion consumes as many bytes as its letter says, whatever the type of the values, but none past the row (or
past 32 elements of a long row). It is repeated for every element, in brackets. Text ends at its first zero byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from ...ops import PrintTko
from ...ops.misc import CONVERSION
from ...types import F32, F64, I1, I4, Ptr, Tile, Type
from .numerics.convert import to_f32, to_f64
from .printf import Conversion, parse_format
from .tiles import Array
from .watch import check

MOST_AT_ONCE = 32
"""The number of elements of a row that one call of printf gets."""


def lay_out(values: Array, type: Type) -> list[bytes]:
    """Return for each lane the elements as C passes them to a variadic function."""
    assert isinstance(type, Tile)
    element = type.element
    if isinstance(element, Ptr) or element is F64:
        wide = values
    elif element.is_float:
        # Through f32, as on a GPU: NaNs of f16 lose their sign.
        wide = to_f64(to_f32(values, element), F32)
    elif element in (I1, I4):
        wide = values.astype(np.int32)
    else:
        wide = values.astype(np.int32) if element.bits < 32 else values
    return [lane.tobytes() for lane in wide]


class Repeated(NamedTuple):
    """A conversion that is repeated for the elements of a tile."""

    format: Conversion
    shape: tuple[int, ...]

    def show(self, value: bytes, string: Callable[[int], bytes]) -> Iterator[bytes]:
        """Yield the text of a tile, such as `[[x, x], [x, x]]` for 2x2; `string` returns the text at an address."""
        # How many elements a pair of brackets encloses, from the outer dimension to the inner one.
        spans = [prod(self.shape[dim:]) for dim in range(len(self.shape))]
        at, part, count = 0, value, prod(self.shape)
        # printf gets a whole row, unless it is too long.
        row = self.shape[-1] if self.shape else 1
        once, size = min(row, MOST_AT_ONCE), len(value) // count
        for number in range(count):
            if number % once == 0:
                at, part = 0, value[number * size : (number + once) * size]
            text, at = self.format.show(part, at, string)
            if number % row == 0:
                text = b"[" * sum(number % span == 0 for span in spans) + text
            if (number + 1) % row == 0:
                text += b"]" * sum((number + 1) % span == 0 for span in spans)
            yield text + b", " if number + 1 < count else text


def split_format(text: str, types: list[Type]) -> list[bytes | Repeated]:
    """Split the format into the texts between values and the conversion of each value."""
    out: list[bytes | Repeated] = []
    position, waiting = 0, iter(types)
    while (found := text.find("%", position)) >= 0:
        out.append(_raw(text[position:found]))
        match = re.compile(CONVERSION).match(text, found)
        if match is None:
            # As in `%z%%3`: part of what the verifier takes for `%%` belongs to an earlier conversion.
            return [*out, _raw(text[found:])]
        position = match.end()
        type = None if match[0] == "%%" else next(waiting, None)
        if type is None:
            out.append(b"%")
        else:
            assert isinstance(type, Tile)
            out.append(Repeated(parse_format(_raw(match[0])), type.shape))
    return [*out, _raw(text[position:])]


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape").partition(b"\0")[0]


def printed_text(
    o: PrintTko, args: Sequence[Array], string: Callable[[int], bytes], require_room: Callable[[int], None]
) -> bytes:
    """Return the text of one tile block. `string` returns the text at an address; `require_room` may refuse a size."""
    types = [value.type for value in o.args]
    values = [lay_out(value, type)[0] for value, type in zip(args, types)]
    return join_text(split_format(o.str_, types), values, string, require_room)


def join_text(
    pieces: list[bytes | Repeated],
    values: list[bytes],
    string: Callable[[int], bytes],
    require_room: Callable[[int], None],
) -> bytes:
    out, waiting = bytearray(), iter(values)
    for piece in pieces:
        for part in (piece,) if isinstance(piece, bytes) else piece.show(next(waiting), string):
            out += part
            check()
            require_room(len(out))
    return bytes(out)
