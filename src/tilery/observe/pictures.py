"""Pictures of a launch: which tile block accesses which element, the values of a tile, when tile blocks run.

Each picture is plain data with `as_dict`. It draws itself: `svg()`, `png()` where elements are pixels, and in a
notebook.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.observe import Event, Observe
from .arrays import ArrayArgument
from .numbers import element_text, statistics

CELLS = 64
"""The most cells along a side; larger arrays are drawn with several elements in a cell."""
SIDE = 640
"""Width of a drawing."""
TOP = 44
NAN, PLUS, MINUS, NOTHING = (214, 39, 140), (255, 120, 0), (0, 190, 220), (236, 236, 236)
"""Colours of NaN, the infinities, and of what no tile block accesses."""
RAMP = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Colours from the smallest number to the largest."""

Color = tuple[int, int, int]


# ---------------------------------------------------------------- accesses


@dataclass(slots=True)
class AccessMap:
    """Which tile blocks read and write the elements of an array. Blocks are ranks, -1 for none; the last one wins."""

    name: str
    shape: tuple[int, ...]
    reads: Array
    """How often each element is read."""
    writes: Array
    reader: Array
    writer: Array
    blocks: int
    """Tile blocks of the grid."""
    _order: Array = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    _positions: Array = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    _base: int = 0

    def add(self, event: Event) -> None:
        """Count the elements that an operation accesses."""
        access = event.access
        if access is None:
            return
        lanes = np.broadcast_to(access.ranks.reshape(-1, *(1,) * (access.addresses.ndim - 1)), access.addresses.shape)
        positions = 8 * (access.addresses[access.mask] - self._base)
        if access.half is not None:
            positions += 4 * access.half[access.mask].astype(np.int64)
        at = np.minimum(np.searchsorted(self._positions, positions), len(self._positions) - 1)
        inside = self._positions[at] == positions
        elements, ranks = self._order[at[inside]], lanes[access.mask][inside]
        for chosen, counts, last in (
            (access.reads, self.reads, self.reader), (access.writes, self.writes, self.writer)
        ):  # fmt: skip
            if chosen:
                np.add.at(counts.reshape(-1), elements, 1)
                last.reshape(-1)[elements] = ranks

    @property
    def missing(self) -> int:
        """How many elements no tile block writes."""
        return int((self.writes == 0).sum())

    def as_dict(self) -> dict[str, object]:
        parts = {name: getattr(self, name).tolist() for name in ("reads", "writes", "reader", "writer")}
        return {"name": self.name, "shape": list(self.shape), "blocks": self.blocks, **parts}

    def svg(self) -> str:
        """Draw readers and writers side by side; a cell has the colour of its tile block."""
        out, left = [], 0.0
        for title, ranks, counts in (("reads", self.reader, self.reads), ("writes", self.writer, self.writes)):
            cells = as_grid(ranks, np.max)
            many = as_grid(counts, np.max)
            width = (SIDE - 20) / 2
            most = int(counts.max()) if counts.size else 0
            again = f", up to {most} times" if most > 1 else ""
            out.append(_text(left, 36, f"{title}: {int((counts > 0).sum()):,} of {counts.size:,} elements{again}", 11))
            size = min(width / max(1, cells.shape[1]), width / max(1, cells.shape[0]))
            for (y, x), rank in np.ndenumerate(cells):
                tip = "not accessed" if rank < 0 else f"block {int(rank)}, {int(many[y, x])} times"
                out.append(_cell(left + x * size, TOP + y * size, size, block_color(int(rank), self.blocks), tip))
            left += width + 20
        rows = max(as_grid(self.reader, np.max).shape[0], 1)
        columns = max(as_grid(self.reader, np.max).shape[1], 1)
        height = TOP + rows * min((SIDE - 20) / 2 / columns, (SIDE - 20) / 2 / rows) + 8
        shape = "x".join(map(str, self.shape))
        return _drawing(f"{self.name}, {shape}: colours are tile blocks, grey is not accessed", height, out)

    _repr_svg_ = svg

    def png(self) -> bytes:
        """Draw who writes each element, or who reads it if none is written; an element is a pixel."""
        ranks = self.writer if self.writes.any() else self.reader
        cells = _rows(ranks)
        colors = np.array([[block_color(int(r), self.blocks) for r in row] for row in cells], np.uint8)
        return png(colors)


def access_maps(arrays: Sequence[ArrayArgument], blocks: int) -> tuple[list[AccessMap], Observe]:
    """Return a map for each array, and the observer that fills them during a launch."""
    maps = []
    for array in arrays:
        positions = array.positions().reshape(-1)
        order = np.argsort(positions, kind="stable")
        reads, writes = np.zeros(array.shape, np.int64), np.zeros(array.shape, np.int64)
        reader, writer = np.full(array.shape, -1, np.int64), np.full(array.shape, -1, np.int64)
        parts = (reads, writes, reader, writer)
        maps.append(AccessMap(array.name, array.shape, *parts, blocks, order, positions[order], array.address))

    def see(event: Event) -> None:
        for each in maps:
            if each.reads.size:
                each.add(event)

    return maps, Observe(see, ops=MEMORY)


MEMORY = (
    "load_ptr_tko", "load_view_tko", "store_ptr_tko", "store_view_tko", "atomic_rmw_tko", "atomic_cas_tko",
    "atomic_red_view_tko",
)  # fmt: skip


# ---------------------------------------------------------------- values


@dataclass(slots=True)
class HeatMap:
    """The numbers of a tile, with NaN and infinities marked."""

    name: str
    tile: Array

    def as_dict(self) -> dict[str, object]:
        numbers = [float(n) if np.isfinite(n) else str(n) for n in self.tile.reshape(-1).astype(float)]
        return {"name": self.name, "shape": list(self.tile.shape), "numbers": numbers}

    def colors(self, cells: Array) -> Array:
        """Return the colour of each number: dark for the smallest, light for the largest."""
        numbers = cells.astype(np.float64)
        finite = np.isfinite(numbers)
        facts = statistics(self.tile)
        low, high = facts.low or 0.0, facts.high or 0.0
        with np.errstate(all="ignore"):
            share = np.where(finite, (numbers - low) / (high - low) if high > low else 0.5, 0.0) * (len(RAMP) - 1)
        at = np.clip(share.astype(int), 0, len(RAMP) - 2)
        ramp = np.array(RAMP, np.float64)
        mixed = ramp[at] + (ramp[at + 1] - ramp[at]) * (share - at)[..., np.newaxis]
        out: Array = mixed.astype(np.uint8)
        for where, color in ((np.isnan(numbers), NAN), (numbers == np.inf, PLUS), (numbers == -np.inf, MINUS)):
            out[where] = color
        return out

    def svg(self) -> str:
        """Draw the tile; a cell shows its number if there is room."""
        cells = as_grid(self.tile, _worst)
        colors = self.colors(cells)
        size = min(SIDE / cells.shape[1], 48.0)
        out = [_text(0, 36, f"{statistics(self.tile)}", 11)]
        for (y, x), number in np.ndenumerate(cells):
            left, top = x * size, TOP + y * size
            color = tuple(int(c) for c in colors[y, x])
            out.append(_cell(left, top, size, (color[0], color[1], color[2]), element_text(number)))
            if not np.isfinite(float(number)):
                mark = "N" if np.isnan(float(number)) else "∞" if number > 0 else "-∞"
                out.append(_text(left + size / 2, top + size * 0.7, mark, min(12, size * 0.7), "middle", "white"))
            elif size >= 36:
                dark = sum(color) < 300
                word = element_text(number)[:6]
                out.append(_text(left + size / 2, top + size / 2 + 4, word, 10, "middle", "white" if dark else "black"))
        shape = "x".join(map(str, self.tile.shape)) or "scalar"
        return _drawing(f"{self.name}, {shape}", TOP + cells.shape[0] * size + 8, out)

    _repr_svg_ = svg

    def png(self) -> bytes:
        """Draw the tile; an element is a pixel."""
        return png(self.colors(_rows(self.tile)))


# ---------------------------------------------------------------- time


@dataclass(slots=True)
class Timeline:
    """When each tile block executes: steps of the launch, by its rank."""

    runs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """For each tile block stretches of steps, from and to, exclusive."""
    steps: int = 0

    def add(self, event: Event) -> None:
        """Count a step of some tile blocks."""
        for rank in event.ranks.tolist():
            stretches = self.runs.setdefault(rank, [])
            if stretches and stretches[-1][1] == self.steps:
                stretches[-1] = (stretches[-1][0], self.steps + 1)
            else:
                stretches.append((self.steps, self.steps + 1))
        self.steps += 1

    def observer(self) -> Observe:
        """Return the observer that fills it."""
        return Observe(self.add)

    def as_dict(self) -> dict[str, object]:
        return {"steps": self.steps, "blocks": {str(rank): runs for rank, runs in sorted(self.runs.items())}}

    def svg(self) -> str:
        """Draw a row for each tile block, at most 128 of them."""
        ranks = sorted(self.runs)[:128]
        height = max(3.0, min(16.0, 480 / max(1, len(ranks))))
        scale = (SIDE - 60) / max(1, self.steps)
        out = []
        for row, rank in enumerate(ranks):
            top = TOP + row * height
            if height >= 9 or row % 8 == 0:
                out.append(_text(0, top + height * 0.8, f"block {rank}", min(10, height)))
            red, green, blue = block_color(rank, max(self.runs) + 1)
            color = f"#{red:02x}{green:02x}{blue:02x}"
            for start, end in self.runs[rank]:
                width = max(0.5, (end - start) * scale)
                place = f'x="{60 + start * scale:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height - 1:.1f}"'
                out.append(f'<rect {place} fill="{color}"><title>steps {start} to {end - 1}</title></rect>')
        more = "" if len(ranks) == len(self.runs) else f", the first {len(ranks)} of {len(self.runs)}"
        title = f"{self.steps:,} steps{more}; tile blocks on the same step run together"
        return _drawing(title, TOP + len(ranks) * height + 8, out)

    _repr_svg_ = svg


# ---------------------------------------------------------------- parts


def _rows(array: Array) -> Array:
    """Return an array as rows: leading dimensions are stacked, a long vector is cut into lines."""
    if array.ndim == 0:
        return array.reshape(1, 1)
    if array.ndim > 1:
        return array.reshape(-1, array.shape[-1])
    if len(array) <= CELLS:
        return array.reshape(1, -1)
    lines = -(-len(array) // CELLS)
    last: Any = -1 if array.dtype.kind == "i" else array[-1]
    return np.concatenate([array, np.full(lines * CELLS - len(array), last, array.dtype)]).reshape(lines, CELLS)


def as_grid(array: Array, combine: Any) -> Array:
    """Return an array as at most 64x64 cells; several elements in a cell are combined."""
    cells = _rows(array)
    for axis in (0, 1):
        step = -(-cells.shape[axis] // CELLS)
        if step > 1:
            starts = np.arange(0, cells.shape[axis], step)
            parts = np.split(cells, starts[1:], axis)
            cells = np.stack([combine(part, axis=axis) for part in parts], axis)
    return cells


def _worst(cells: Array, axis: int) -> Array:
    """Combine numbers: NaN and infinities win, else the largest magnitude."""
    numbers = cells.astype(np.float64)
    with np.errstate(all="ignore"):
        weight = np.where(np.isnan(numbers), np.inf, np.abs(numbers))
        at = np.expand_dims(np.argmax(weight, axis=axis), axis)
        picked: Array = np.take_along_axis(numbers, at, axis).squeeze(axis)
    nan: Array = np.where(np.isnan(numbers).any(axis=axis), np.nan, picked)
    return nan


def block_color(rank: int, blocks: int) -> Color:
    """Return the colour of a tile block; neighbours differ."""
    if rank < 0:
        return NOTHING
    hue = (rank * 0.61803398875) % 1.0 if blocks > 1 else 0.58
    values = [0.5 + 0.35 * np.cos(2 * np.pi * (hue - shift)) for shift in (0.0, 1 / 3, 2 / 3)]
    red, green, blue = (int(255 * value) for value in values)
    return red, green, blue


def png(colors: Array) -> bytes:
    """Return pixels, an array of height x width x 3 bytes, as a PNG file."""
    height, width, _ = colors.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), colors.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(rows.astype(np.uint8).tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _drawing(title: str, height: float, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {height:.0f}" font-family="sans-serif">'
    back = f'<rect width="{SIDE}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, back, _text(0, 18, title, 14), *parts, "</svg>", ""])


def _cell(x: float, y: float, size: float, color: Color, tip: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{size:.2f}" height="{size:.2f}"'
    return f'<rect {place} fill="#{color[0]:02x}{color[1]:02x}{color[2]:02x}"><title>{escape(tip)}</title></rect>'


def _text(x: float, y: float, text: str, size: float, anchor: str = "start", color: str = "#222222") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{color}"'
    return f"<text {place}>{escape(text)}</text>"
