"""Output of kernels: text from the driver, or records that a kernel leaves in a buffer.

NVIDIA's compiler prints through the driver. The Triton engine writes the values to a buffer, and the host formats them
as the reference engine does. The buffer starts with the number of bytes that all tile blocks asked for. Records follow
in the order in which they were begun: which operation, the position of the tile block, and the elements of each value.
Of a record that does not fit only this head is there, if that fits.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

import numpy as np

from ...diag import TileError
from ...ir import walk
from ...ops import Entry, PrintTko
from ...types import Tile
from ..common.print_text import printed_text
from ..common.tiles import carrier
from .driver import Driver, DriverError

BUFFER_BYTES = 1 << 25
"""The size of the buffer; what does not fit is lost, which is an error."""
HEAD = 16
"""Bytes before the first record, and of the head of each record: operation, x, y, z."""
STRING_STEP = 256
"""Bytes of device memory that are read at once in search of the end of a string."""


def print_sites(entry: Entry) -> list[PrintTko]:
    """Return the operations that print; a record names one by its number."""
    return [o for o in walk(entry) if isinstance(o, PrintTko)]


def record_layout(o: PrintTko) -> tuple[list[int], int]:
    """Return where a record holds the elements of each value, and its size.

    >>> from tilery import parse
    >>> (site,) = print_sites(parse('''entry @k(%x: tile<f64>) {
    ...     %0 = iota : tile<32xi8>
    ...     print_tko "%f %d", %x, %0 : tile<f64>, tile<32xi8> -> token
    ...     return
    ... }''').entries[0])
    >>> record_layout(site)
    ([16, 32], 64)
    """
    places, end = [], HEAD
    for value in o.args:
        assert isinstance(value.type, Tile)
        places.append(end)
        end += -(-value.type.size * carrier(value.type.element).itemsize // 16) * 16
    return places, end


def decode(entry: Entry, data: bytes, string: Callable[[int], bytes], most: int) -> str:
    """Return the text of records, tile block by tile block. `most` is how many bytes it may have."""
    sites = print_sites(entry)
    wanted, at, room = int.from_bytes(data[:8], "little"), HEAD, most
    texts: list[tuple[tuple[int, ...], bytes]] = []
    end = min(len(data), HEAD + wanted)
    while at + HEAD <= end:
        number, *block = np.frombuffer(data, np.int32, 4, at).tolist()
        if not 0 <= number < len(sites):
            break  # the kernel wrote past its own memory
        places, size = record_layout(sites[number])
        if at + size > end:
            break
        texts.append((tuple(block[::-1]), _text(sites[number], data, [at + place for place in places], string, room)))
        room -= len(texts[-1][1])
        at += size
    texts.sort(key=lambda item: item[0])
    return b"".join(text for _, text in texts).decode("utf-8", "surrogateescape")


def _text(o: PrintTko, data: bytes, places: list[int], string: Callable[[int], bytes], room: int) -> bytes:
    values = []
    for value, place in zip(o.args, places):
        assert isinstance(value.type, Tile)
        shape = value.type.shape
        values.append(np.frombuffer(data, carrier(value.type.element), prod(shape), place).reshape(1, *shape))

    def require(size: int) -> None:
        if size > room:
            raise MemoryError

    return printed_text(o, values, string, require)


def check_complete(name: str, wanted: int) -> None:
    """Raise an error if a kernel printed more than the buffer holds."""
    if wanted > BUFFER_BYTES - HEAD:
        raise TileError(
            f"@{name} printed values of {wanted} bytes, and the buffer on the GPU holds {BUFFER_BYTES - HEAD}",
            notes=("the text of the first ones was printed",),
        )


def device_string(driver: Driver, most: int) -> Callable[[int], bytes]:
    """Return a function that reads a string from device memory, of at most so many bytes."""

    def read(address: int) -> bytes:
        found, step = bytearray(), STRING_STEP
        while 0 not in found and len(found) < most:
            part = ctypes.create_string_buffer(step)
            try:
                driver.copy_out(ctypes.addressof(part), address + len(found), step)
            except DriverError:  # the allocation may end before
                if step == 1:
                    raise
                step //= 2
                continue
            found += part.raw
        return bytes(found.partition(b"\0")[0][:most])

    return read


@contextmanager
def captured(output: Callable[[str], None] | None) -> Iterator[None]:
    """Hand what a kernel prints to a function: the driver writes it to file descriptor 1 of the process."""
    if output is None:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            ctypes.CDLL(None).fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            text = file.read().decode("utf-8", "replace")
        if text:
            output(text)
