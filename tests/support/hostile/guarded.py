"""Hostile kernels on arrays between pages that nothing may touch: an access outside memory kills the process."""

from __future__ import annotations

import ctypes
import mmap
import random
from collections import Counter
from typing import Any

import numpy as np

import tilery
from tilery import TileError
from tilery.engines.common.limits import Limits

PAGE = mmap.PAGESIZE
NONE, READ, BOTH = 0, 1, 3
CANARY = 0xA5
LAUNCHES = 10
"""How often each kernel is launched."""
TYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
ATOMIC = {"i32": "add", "i64": "umax", "f32": "addf", "f64": "addf"}
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Damaged(Exception):
    """A kernel wrote to memory that is not its own."""


class Region:
    """Some pages of memory between two pages without access."""

    def __init__(self, pages: int = 2) -> None:
        self.size = pages * PAGE
        self.map = mmap.mmap(-1, self.size + 2 * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map)) + PAGE
        self.bytes = np.frombuffer(self.map, np.uint8)[PAGE : PAGE + self.size]
        for page in (self.start - PAGE, self.start + self.size):
            self._protect(page, PAGE, NONE)

    def _protect(self, address: int, size: int, mode: int) -> None:
        if LIBC.mprotect(address, size, mode):
            raise OSError(ctypes.get_errno(), "mprotect")

    def clear(self) -> None:
        self._protect(self.start, self.size, BOTH)
        self.bytes[:] = CANARY

    def fix(self) -> None:
        """Make the memory read-only for the processor too."""
        self._protect(self.start, self.size, READ)

    def array(self, dtype: Any, count: int, at_end: bool) -> Any:
        """An array that touches the page before or after the region."""
        size = count * np.dtype(dtype).itemsize
        raw = self.bytes[self.size - size :] if at_end else self.bytes[:size]
        return raw.view(dtype)


def kernel_text(rng: random.Random) -> tuple[str, str]:
    """Return a kernel and its element type. Its numbers are arguments."""
    element = rng.choice(list(TYPES))
    size = rng.choice((1, 2, 8, 16, 64))
    view = rng.random() < 0.5
    kind = rng.choice(["load", "store", "store"] + (["atomic", "cas"] if element in ATOMIC else []))
    lines = [
        f"entry @k(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %a: tile<i64>, %b: tile<i64>, %c: tile<i64>) {{",
        f"%v = constant <{element}: 1{'' if element[0] == 'i' else '.0'}> : tile<{size}x{element}>",
        *(_view(rng, element, size, kind) if view else _pointers(rng, element, size, kind)),
        "return }",
    ]
    return "\n".join(lines), element


def _pointers(rng: random.Random, element: str, size: int, kind: str) -> list[str]:
    tile, pointers = f"tile<{size}x{element}>", f"tile<{size}xptr<{element}>>"
    base = rng.choice(("%p", "%q", "forged", "offset"))
    lines = []
    if base == "forged":
        lines.append(f"%base = int_to_ptr %a : tile<i64> -> tile<ptr<{element}>>")
    else:
        start = base if base != "offset" else "%p"
        lines.append(f"%base = offset {start}, %a : tile<ptr<{element}>>, tile<i64> -> tile<ptr<{element}>>")
    lines += [
        f"%base1 = reshape %base : tile<ptr<{element}>> -> tile<1xptr<{element}>>",
        f"%wide = broadcast %base1 : tile<1xptr<{element}>> -> {pointers}",
        f"%n = iota : tile<{size}xi64>",
        "%step1 = reshape %b : tile<i64> -> tile<1xi64>",
        f"%step = broadcast %step1 : tile<1xi64> -> tile<{size}xi64>",
        f"%far = muli %n, %step : tile<{size}xi64>",
        f"%at = offset %wide, %far : {pointers}, tile<{size}xi64> -> {pointers}",
        "%most1 = reshape %c : tile<i64> -> tile<1xi64>",
        f"%most = broadcast %most1 : tile<1xi64> -> tile<{size}xi64>",
        f"%mask = cmpi less_than %n, %most, signed : tile<{size}xi64> -> tile<{size}xi1>",
    ]
    masked = rng.random() < 0.6
    mask, type = (", %mask", f", tile<{size}xi1>") if masked else ("", "")
    match kind:
        case "load":
            filled, as_type = (f"{mask}, %v", f"{type}, {tile}") if masked else ("", "")
            lines.append(f"%r, %t = load_ptr_tko weak %at{filled} : {pointers}{as_type} -> {tile}, token")
        case "store":
            lines.append(f"%t = store_ptr_tko weak %at, %v{mask} : {pointers}, {tile}{type} -> token")
        case "atomic":
            mode = ATOMIC[element]
            types = f"{pointers}, {tile}{type} -> {tile}, token"
            lines.append(f"%r, %t = atomic_rmw_tko relaxed device %at, {mode}, %v{mask} : {types}")
        case "cas":
            lines.append(
                f"%r, %t = atomic_cas_tko relaxed device %at, %v, %v{mask} : {pointers}, {tile}{type} -> {tile}, token"
            )
    return lines


def _view(rng: random.Random, element: str, size: int, kind: str) -> list[str]:
    tensor = f"tensor_view<?x{element}, strides=[?]>"
    form = rng.choice(("partition", "strided", "gather_scatter"))
    extra = {"partition": "", "strided": f" traversal_strides=[{rng.choice((1, 3, size))}],", "gather_scatter": ""}[
        form
    ]
    padded = form != "gather_scatter" and element[0] == "f" and kind in ("load", "store") and rng.random() < 0.5
    padding = " padding_value = zero," if padded else ""
    last = ", sparse_dim=0" if form == "gather_scatter" else ""
    view = f"{form}_view<tile=({size}),{extra}{padding} {tensor}{last}>"
    lines = [
        f"%tensor = make_tensor_view {rng.choice(('%p', '%q'))}, shape = [%b], strides = [%c] : tile<i64> -> {tensor}",
        f"%view = make_{form}_view %tensor : {view}",
    ]
    index = "tile<i64>"
    if form == "gather_scatter":
        index = f"tile<{size}xi64>"
        lines += [
            f"%n = iota : {index}",
            "%a1 = reshape %a : tile<i64> -> tile<1xi64>",
            f"%a2 = broadcast %a1 : tile<1xi64> -> {index}",
            f"%i = {rng.choice(('addi', 'muli'))} %n, %a2 : {index}",
        ]
    at = "%i" if form == "gather_scatter" else "%a"
    tile = f"tile<{size}x{element}>"
    if kind == "load":
        lines.append(f"%r, %t = load_view_tko weak %view[{at}] : {view}, {index} -> {tile}, token")
    elif kind == "store" or form == "gather_scatter":
        lines.append(f"%t = store_view_tko weak %v, %view[{at}] : {tile}, {view}, {index} -> token")
    else:
        mode = ATOMIC[element]
        lines.append(
            f"%t = atomic_red_view_tko relaxed device %view[{at}], {mode}, %v : {tile}, {view}, {index} -> token"
        )
    return lines


def number(rng: random.Random, region: Region, count: int, item: int) -> int:
    """A number that is likely to be at an edge."""
    match rng.randrange(7):
        case 0 | 1 | 2:
            return rng.randint(-2, 9)
        case 3:
            return count + rng.randint(-9, 3)
        case 4:
            return rng.choice((1, -1)) * (1 << rng.randrange(63)) + rng.randint(-1, 1)
        case 5:
            return region.start + rng.choice((0, PAGE, 2 * PAGE)) + rng.randint(-2, 2) * item
    return rng.randrange(-(1 << 63), 1 << 63)


def exercise(seed: int, number_of: int, regions: tuple[Region, Region], engine: str = "reference") -> Counter[str]:
    """Launch one kernel several times; return how often each outcome occurred. Raise what must not be raised."""
    rng = random.Random((seed << 32) + number_of)
    outcomes: Counter[str] = Counter()
    text, element = kernel_text(rng)
    kernel = tilery.compile(tilery.parse(text), engine=engine)
    for _ in range(LAUNCHES):
        outcomes += _launch(kernel, TYPES[element], rng, regions)
    return outcomes


def _launch(kernel: Any, dtype: Any, rng: random.Random, regions: tuple[Region, Region]) -> Counter[str]:
    first, second = regions
    for region in regions:
        region.clear()
    item = np.dtype(dtype).itemsize
    count = rng.choice((1, 2, 7, 16, 64, 2 * PAGE // item))
    p = first.array(dtype, count, rng.random() < 0.5)
    shape = rng.choice(("plain", "strided", "overlapping", "read-only", "both"))
    q = second.array(dtype, count, rng.random() < 0.5)
    if shape == "strided":
        p = p[:: rng.choice((2, 3, -1))]
    elif shape == "overlapping":
        q = p[count // 4 : count // 2 + 1]
    elif shape == "both":
        q = p[count // 4 : count // 2 + 1]
        q.flags.writeable = False
    elif shape == "read-only":
        q.flags.writeable = False
        second.fix()
    fixed = None if q.flags.writeable else q.tobytes()
    numbers = [number(rng, rng.choice(regions), count, item) for _ in range(3)]
    numbers = [(n + (1 << 63)) % (1 << 64) - (1 << 63) for n in numbers]
    outcome = f"{shape}: ended"
    try:
        kernel.launch(1, [p, q, *numbers], limits=Limits(seconds=20), output=lambda text: None)
    except TileError as error:
        outcome = f"{shape}: " + ("faulted" if "address" in error.message or "0x" in error.message else "refused")
    if fixed is not None and fixed != q.tobytes():
        raise Damaged("a read-only array was written")
    for region in regions:
        kept = np.ones(2 * PAGE, bool)
        for array in (p, q):
            _clear_elements(kept, array, region.start)
        if (region.bytes[kept] != CANARY).any():
            raise Damaged("memory beside an array was written")
    return Counter({outcome: 1})


def _clear_elements(kept: Any, array: Any, start: int) -> None:
    """Clear the marks of the bytes of an array, if it is in this region."""
    item = array.dtype.itemsize
    places = array.ctypes.data - start + np.arange(len(array)) * array.strides[0]
    places = (places[:, np.newaxis] + np.arange(item)).ravel()
    places = places[(places >= 0) & (places < len(kept))]
    kept[places] = False
