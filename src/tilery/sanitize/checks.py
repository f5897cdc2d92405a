"""The base class of checks: it is told what a launch does, and reports what is wrong with it.

A check overrides the methods it needs; a method that no check overrides costs nothing, and its events are not made.
Everything happens on one thread, in the order in which the reference engine executes: a batch of tile blocks executes
an operation as a whole, lane after lane, each row by row.

Tokens are ids. Each execution of an operation with a token result makes one new id per lane (`Access.result_token`,
`Link.result_token`); ids grow and are never reused, and 0 is none. An id reaches its uses as a value does: through
branches, loop-carried values, and merged batches. So a check that orders accesses keeps its own table from ids to what
they mean, adds to it in `link` and `after`, and looks up `Access.tokens` there.

For each load, store or atomic operation the calls are `before` (nothing has been accessed yet) and `after` (it has, and
`wrote` of a compare-and-swap is set). `after` is not called for elements that `bounds` refused, as they access nothing:
the access then has a smaller `mask`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.batch import Batch
from ..ir import Op
from ..ops import Entry

if TYPE_CHECKING:
    from ..engines.reference.access import Access, Link
    from ..engines.reference.program import Compute, Instruction
    from .checking import Checking
    from .reports import Reports


@dataclass(slots=True, eq=False)
class Step:
    """One execution of an operation: its operands by name, as the reference engine holds them (see `tiles`)."""

    op: Any
    batch: Batch
    args: dict[str, Any]
    instruction: Compute | None = None
    """The slots of its operands and results in the batch; None for control flow."""
    access: Access | None = None
    """The memory it accesses, for checks that ask for it."""

    @property
    def blocks(self) -> Array:
        """The position of each tile block in the grid: (lanes, 3)."""
        return self.batch.blocks


Rule = Callable[[Any, Step], None]
"""Looks at the operands of an operation, for a check."""


class Check:
    """Base of all checks; one object per launch."""

    name: ClassVar[str]
    hint: ClassVar[bool] = False
    """Whether what it finds is not a fault: it is shown, but does not fail the launch."""
    accesses: ClassVar[bool] = False
    """Whether `result` needs `Step.access`."""

    def __init__(self, reports: Reports, machine: Checking) -> None:
        self.reports, self.machine = reports, machine

    def begin(self, entry: Entry) -> None:
        """The launch starts; `self.machine` has its memory and grid."""

    def report(self, step: Step, rule: str, bad: Array, /, **values: Array) -> None:
        """Report the elements where `bad` holds, with the values that some arrays have there."""
        if bad.any():
            shape = np.broadcast_shapes(bad.shape, *(a.shape for a in values.values()))

            def shown(where: tuple[int, ...]) -> dict[str, Any]:
                return {f"'{name.rstrip('_')}'": np.broadcast_to(a, shape)[where] for name, a in values.items()}

            bad = np.broadcast_to(bad, shape)
            self.reports.elements(self.name, step.op, rule, step.blocks, bad, shown, hint=self.hint)

    def rules(self, cls: type[Op]) -> Rule | None:
        """Return a function to call before each execution of operations of this class, if any."""

    def before(self, access: Access) -> None:
        """Memory is about to be accessed."""

    def after(self, access: Access) -> None:
        """Memory has been accessed."""

    def link(self, link: Link) -> None:
        """A token was made without an access."""

    def watches(self, o: Op) -> bool:
        """Tell, once per launch, whether to call `result` for an operation."""
        return True

    def result(self, step: Step, result: Any) -> None:
        """An operation has been executed; a tuple of results if it has several result fields."""

    def decides(self, instruction: Instruction) -> bool:
        """Tell, once per launch, whether to call `branch` for an instruction of control flow."""
        return True

    def branch(self, instruction: Any, batch: Batch) -> None:
        """Control flow is about to be decided by the values in the slots of an instruction of `program`."""

    def merging(self, batches: list[Batch]) -> None:
        """Several batches are about to become one: values that only some of them have are dropped."""

    def release(self) -> None:
        """The memory of every `alloca` so far is freed; no tile block is running."""

    def finish(self) -> None:
        """The launch has ended, or failed."""


def overrides(check: Check, name: str) -> bool:
    """Tell whether a check does something in a method."""
    return getattr(type(check), name) is not getattr(Check, name)
