"""The bodies of `reduce` and `scan`, executed by the machine itself: the engine has shortcuts that no check sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.batch import Batch
from ..engines.reference.ops.reduce import Combine


def fold(o: Any, batch: Batch, operands: tuple[Array, ...], direct: bool = False) -> list[Array]:
    """Combine the elements along the dimension of a `reduce` or `scan` from first to last.

    The order is not specified, so any will do to check the operations of the body. With `direct`, only the results
    matter, and the machine is left out where that is possible.
    """
    combine = Combine(o, batch)
    combine.plain = None
    if not direct:
        combine.calls = None
    values = [np.moveaxis(a, o.dim + 1, 1) for a in operands]
    total = [a[:, :1] for a in values]  # bodies are called on arrays with a dimension beside the lanes
    for k in range(1, values[0].shape[1]):
        total = combine(total, [a[:, k : k + 1] for a in values])
    return [a.squeeze(1) for a in total]
