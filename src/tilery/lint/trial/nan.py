"""`makes-nan`: operations that make NaN from numbers in a tile block that stores NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...engines.common.tiles import Array
from ...engines.reference.access import Access, AccessKind
from ...ir import Op
from ...ops import Entry
from ...sanitize.checks import Step
from ...sanitize.hints import FINITE_MAKE_NAN, INFINITIES_MAKE_NAN, Nan, numbers_of


class _Birth(NamedTuple):
    op: Op
    rule: str
    blocks: Array
    bad: Array
    values: Callable[[tuple[int, ...]], dict[str, Any]]


class StoredNan(Nan):
    """Reports the first NaN that a tile block makes, once it stores one. Made-up arrays have none."""

    hint = False

    def begin(self, entry: Entry) -> None:
        self._made_by: dict[tuple[int, ...], _Birth] = {}

    def _found(self, step: Step, rule: str, bad: Array, values: Callable[[tuple[int, ...]], dict[str, Any]]) -> None:
        if rule not in (FINITE_MAKE_NAN, INFINITIES_MAKE_NAN) or not bad.any():
            return
        birth = _Birth(step.op, rule, step.blocks, bad, values)
        lanes = bad.reshape(len(bad), -1).any(axis=1)
        for block in step.blocks[np.broadcast_to(lanes, len(step.blocks))].tolist():
            self._made_by.setdefault(tuple(block), birth)

    def before(self, access: Access) -> None:
        if not self._made_by or access.kind is AccessKind.READ or access.value is None or not access.element.is_float:
            return
        stored = np.isnan(numbers_of(access.value, access.element)) & access.mask
        for block in access.blocks[stored.reshape(len(stored), -1).any(axis=1)].tolist():
            birth = self._made_by.pop(tuple(block), None)
            if birth is not None:
                here = (birth.blocks == block).all(axis=1).reshape(-1, *(1,) * (birth.bad.ndim - 1))
                bad = birth.bad & here if len(birth.bad) > 1 else birth.bad
                self.reports.elements(self.name, birth.op, birth.rule, birth.blocks, bad, birth.values)
