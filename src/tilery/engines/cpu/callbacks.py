"""Operations without code of their own: the reference engine's function computes them, on one tile at a time.

`CALLED` lists them, and the forms of others, with the reason. The native code puts the operands in buffers and calls
`ADDRESS`, which is in the control words of the launch together with the number of a `Calls`.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...diag import TileError
from ...ir import Op, Value
from ...ops import Atan2, FPowF, PrintTko, RemF
from ...ops.misc import CONVERSION
from ...types import Ptr, Tile
from ..common.addresses import HoldsAddresses
from ..common.memory import AssertFailed, Fault, Memory
from ..common.tiles import Array, carrier
from ..common.watch import Late, watched
from ..reference.machine import Stopped
from ..reference.registry import RUNS
from .abi import Lowered, NotLowered
from .registry import ELEMENTWISE
from .tiles import is_tile, shape

CALLED: dict[type[Op], str] = {
    Atan2: "rarely used",
    RemF: "takes as many steps as the exponents differ",
    PrintTko: "text is made by the formats of C",
}
"""The operations that are always called."""
CALLED_FORMS = "f64 with a directed rounding, functions of f64, and fpowf where bits must be exact"
"""The forms of other operations that are called."""


def is_called(o: Op, exact: bool) -> bool:
    """Tell whether an operation, in this form, is computed by a call."""
    if isinstance(o, PrintTko) and any(found.endswith("s") for found in re.findall(CONVERSION, o.str_)):
        raise NotLowered("a kernel that prints text in memory")
    if type(o) in CALLED or (exact and isinstance(o, FPowF)):
        return True
    function = ELEMENTWISE.get(type(o))
    if function is None or not _may_refuse(o):
        return False
    try:
        function(_Nothing(), o, 1, *("x" for _ in o.operands))
    except NotLowered:
        return True
    return False


def _may_refuse(o: Op) -> bool:
    element = getattr(o.results[0].type, "element", None)
    return element is not None and element.text == "f64"


class _Nothing:
    """Takes the place of the writer: every method gives a name."""

    def __init__(self) -> None:
        self.needs: dict[str, None] = {}
        self.functions: dict[str, str] = {}

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *_: "x"


# ---------------------------------------------------------------- when it runs

Words = ctypes.POINTER(ctypes.c_int64)
_calls: dict[int, Calls] = {}
_numbers = itertools.count(1)


class Calls(HoldsAddresses):
    """The calls of one launch. Close it when the launch has ended."""

    def __init__(
        self, lowered: Lowered, output: Callable[[str], None], limit: int, deadline: int, stopped: Callable[[], bool]
    ) -> None:
        """Calls of operations of `lowered`. `limit` is on bytes of text, `deadline` in nanoseconds, or 0."""
        self.lowered, self.output, self.limit = lowered, output, limit
        self._deadline, self._stopped, self._left = deadline, stopped, limit
        self.error: BaseException | None = None
        """The first error that the reference engine need not explain: for lack of time or memory, and bugs."""
        self.place = (0, 0)
        """The operation and the tile block of the error, as numbers."""
        self.memory = Memory()  # unused: text in memory is not printed by a call
        self._text = bytearray()
        self.count = 0
        self.number = next(_numbers)
        _calls[self.number] = self

    def close(self) -> None:
        """Print what the kernel has printed, and take no more calls."""
        del _calls[self.number]
        if self._text:
            self.output(self._text.decode("utf-8", "surrogateescape"))

    # What `print_tko` needs of a batch of tile blocks.
    lanes = 1

    def write(self, lane: int, text: bytes) -> None:
        self.require_room(len(text))
        self._left -= len(text)
        self._text += text

    def require_room(self, size: int) -> None:
        if size > self._left:
            raise MemoryError

    def _ask(self) -> None:
        """Raise if the launch should stop."""
        if self._stopped():
            raise Stopped
        if self._deadline and time.monotonic_ns() > self._deadline:
            raise Late

    def fail(self, error: BaseException, number: int, block: int) -> None:
        """Keep an error for the launch, which ends with a fault. The reference engine explains those of the kernel."""
        if not isinstance(error, (TileError, Fault, AssertFailed, Stopped)) and self.error is None:
            self.error, self.place = error, (number, block)

    def execute(self, o: Op, words: Any) -> None:
        self.count += 1
        tiles = [v for v in (*o.operands, *o.results) if is_tile(v)]
        arrays = {v: _array(v, words[n]) for n, v in enumerate(tiles[: sum(map(is_tile, o.operands))])}
        function = RUNS[type(o)].function
        with np.errstate(all="ignore"), watched(self._ask):
            if isinstance(o, PrintTko):
                function(o, self, tuple(arrays[v] for v in o.args))
                return
            made = function(o, *(arrays[v] for v in o.operands))
        for n, v in enumerate(tiles[sum(map(is_tile, o.operands)) :], sum(map(is_tile, o.operands))):
            _array(v, words[n])[...] = made


def _array(v: Value, address: int) -> Array:
    tile = v.type
    assert isinstance(tile, Tile)
    dtype = np.dtype(np.int64) if isinstance(tile.element, Ptr) else carrier(tile.element)
    raw = (ctypes.c_uint8 * (tile.size * dtype.itemsize)).from_address(address)
    found: Array = np.frombuffer(memoryview(raw).cast("B"), dtype)
    return found.reshape(1, *shape(v))


def _entered(context: int, number: int, block: int, words: Any) -> int:
    calls = _calls[context]
    try:
        calls.execute(calls.lowered.ops[number], words)
    except BaseException as error:  # nothing may leave a function that native code calls
        calls.fail(error, number, block)
        return 1
    return 0


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, Words)(_entered)
ADDRESS = ctypes.cast(_FUNCTION, ctypes.c_void_p).value or 0
"""The address of the function that native code calls."""
