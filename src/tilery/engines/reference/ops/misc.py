"""Printing and assertions."""

from __future__ import annotations

import numpy as np

from ....ops import Assert, PrintTko
from ...common.memory import AssertFailed, Fault
from ...common.print_text import join_text, lay_out, split_format
from ...common.tiles import Array
from ..batch import Batch
from ..registry import executes

SHOWN = 4
"""The number of elements that the error of a failed assertion lists."""


@executes(PrintTko, batch=True)
def print_tko(o: PrintTko, batch: Batch, args: tuple[Array, ...], token: None = None) -> None:
    """Print the text with the values, once per tile block."""
    types = [value.type for value in o.args]
    pieces = split_format(o.str_, types)
    values = list(map(lay_out, args, types))
    same = all(len(value) == 1 for value in values)
    text = b""

    def string(address: int) -> bytes:
        return batch.memory.text(address, batch.machine.room_for_text())

    for lane in range(batch.lanes):
        if lane == 0 or not same:
            own = [value[lane if len(value) > 1 else 0] for value in values]
            try:
                text = join_text(pieces, own, string, batch.require_room)
            except Fault as fault:
                raise Fault(fault.reason, (lane,), fault.address) from None
        batch.write(lane, text)


@executes(Assert, batch=True)
def assert_(o: Assert, batch: Batch, condition: Array) -> None:
    """Stop the launch if the condition does not hold."""
    if condition.all():
        return
    failed = np.argwhere(~condition)
    where = [tuple(int(i) for i in index) for index in failed[:SHOWN]]
    message = f"assert: {o.message}" if o.message else "assert: the condition does not hold"
    inside = failed[failed[:, 0] == failed[0, 0], 1:]
    if len(inside) > 1:
        shown = ", ".join(str(list(map(int, where))) for where in inside[:SHOWN])
        more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        message += f" (not for the elements {shown}{more})"
    raise AssertFailed(message, where)
