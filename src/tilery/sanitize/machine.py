"""The reference engine's machine with checks: tells them about accesses, tokens, operands and results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..analysis.effects import memory_ordering
from ..engines.reference.batch import Batch
from ..engines.reference.machine import Machine
from ..engines.reference.program import Compute, Slots
from ..engines.reference.tiles import Array, unsigned
from ..ir import Op, Value, walk
from ..ops import AtomicCASTko, Entry, Reduce, Scan
from ..types import TOKEN
from .access import Link, make_access
from .body import fold
from .checks import Check, Rule, Step, overrides
from .partly import execute_partly
from .uninit import Region, Uninit, fill_in

TOKEN_DTYPE = np.dtype(np.uint64)
"""Tokens are ids, one per lane. No tile has this type: integers are held as signed ones."""


@dataclass(slots=True)
class _Plan:
    """What to do for an operation: decided once per launch."""

    names: tuple[str, ...]
    """The operand fields."""
    rules: list[tuple[Check, Rule]]
    accesses: bool
    token: int | None
    """Which result field is a token, if any."""
    several: bool
    """Whether the operation has several result fields."""
    waits: tuple[str, ...]
    """The operands that are tokens."""
    body: bool
    """Whether rules apply to operations inside, which the engine executes by shortcuts."""


@dataclass(slots=True)
class _Listeners:
    """The checks that override each method."""

    before: list[Check] = field(default_factory=list)
    after: list[Check] = field(default_factory=list)
    link: list[Check] = field(default_factory=list)
    result: list[Check] = field(default_factory=list)
    branch: list[Check] = field(default_factory=list)


class CheckedMachine(Machine):
    """Executes batches of tile blocks, watched by checks."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.checks: list[Check] = []
        self._plans: dict[Op, _Plan] = {}
        self._listeners = _Listeners()
        self._last_token = 0
        self.uninit: list[Region] = []
        """Memory of arguments that nobody has written yet."""
        self._shadow: Uninit | None = None
        self._quiet = False
        """Whether operations are executed without telling anybody."""

    def watch(self, checks: list[Check], entry: Entry) -> None:
        """Start these checks; call it once, before `run`."""
        self.checks = checks
        for name in ("before", "after", "link", "result", "branch"):
            getattr(self._listeners, name).extend(check for check in self.checks if overrides(check, name))
        self._shadow = next((check for check in self.checks if isinstance(check, Uninit)), None)
        for check in self.checks:
            check.begin(entry)

    # ------------------------------------------------------------ operations

    def _plan(self, o: Op) -> _Plan:
        plan = self._plans.get(o)
        if plan is None:
            rules = [(check, rule) for check in self.checks if (rule := check.rules(type(o))) is not None]
            names = tuple(f.attr for f in o.opdef.operands)
            tokens = [i for i, f in enumerate(o.opdef.outs) if _is_token(getattr(o, f.attr))]
            waits = tuple(name for name in names if _is_token(getattr(o, name)))
            accesses = memory_ordering(o) is not None
            body = isinstance(o, (Reduce, Scan)) and any(self._plan(inner).rules for inner in walk(o.body))
            token = tokens[0] if tokens else None
            plan = _Plan(names, rules, accesses, token, len(o.opdef.outs) > 1, waits, body)
            self._plans[o] = plan
        return plan

    def _execute(self, instruction: Compute, batch: Batch, args: list[Any]) -> Any:
        if self._quiet:
            return super()._execute(instruction, batch, args)
        o = instruction.op
        plan, listeners = self._plan(o), self._listeners
        step = Step(o, batch, dict(zip(plan.names, args)))
        for check, rule in plan.rules:
            rule(check, step)
        if plan.body:
            fold(o, batch, step.args["operands_"])
        made = None if plan.token is None else self._new_tokens(batch.lanes)
        access = None
        if plan.accesses and (listeners.before or listeners.after or self._shadow):
            assert made is not None
            access = make_access(o, batch, step.args, step.args["token"], made)
            for check in listeners.before:
                check.before(access)
        if access is not None and access.partial:
            result = execute_partly(access, batch, step.args)
        elif o.nested:  # bodies have been checked
            with self.quiet():
                result = super()._execute(instruction, batch, args)
        else:
            result = super()._execute(instruction, batch, args)
        if access is not None:
            if isinstance(o, AtomicCASTko):
                access.wrote = access.mask & (unsigned(result[0]) == unsigned(step.args["cmp"]))
            for check in listeners.after:
                check.after(access)
        elif made is not None and not plan.accesses and listeners.link:
            link = Link(o, batch.ranks, _flat(step.args[name] for name in plan.waits), made)
            for check in listeners.link:
                check.link(link)
        if plan.token is not None:
            result = _with_token(result, plan, made)
        for check in listeners.result:
            check.result(step, result)
        if self._shadow is not None:
            self._shadow.executed(instruction, batch, step, access, result)
        return result

    def _compute(self, instruction: Compute, batch: Batch) -> None:
        super()._compute(instruction, batch)
        if self._shadow is not None:
            for slot in instruction.frees:
                batch.env.pop(~slot, None)

    def _control(
        self, instruction: Any, batch: Batch, active: list[Batch], finished: list[tuple[Batch, Slots]]
    ) -> bool:
        if self._listeners.branch:
            for check in self._listeners.branch:
                check.branch(instruction, batch)
        if self._shadow is not None:
            self._shadow.control(instruction, batch)
        return super()._control(instruction, batch, active, finished)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Execute operations without telling the checks."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _spare(self, slots: Slots, batch: Batch) -> Array | None:
        return None  # checks look at operands after the operation

    def _merge(self, batches: list[Batch]) -> Batch:
        if self._shadow is not None:
            fill_in(batches)
        return super()._merge(batches)

    def arena(self, o: Op, ranks: Array, size: int, alignment: int) -> Array:
        before = set(self._arenas.get(o, {}).values())
        addresses = super().arena(o, ranks, size, alignment)
        if self._shadow is not None and (new := [a for a in addresses.tolist() if a not in before]):
            self._shadow.arena(new, size)
        return addresses

    def _clean_up(self) -> None:
        super()._clean_up()
        for check in self.checks:
            check.release()

    def _new_tokens(self, lanes: int) -> Array:
        first = self._last_token + 1
        self._last_token += lanes
        return np.arange(first, first + lanes, dtype=TOKEN_DTYPE)

    def _is_waiting(self, batch: Batch, carried: Slots) -> bool:
        # New tokens are no sign of progress.
        return super()._is_waiting(batch, tuple(s for s in carried if not _holds_token(batch.env[s])))


def _holds_token(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == TOKEN_DTYPE


def _is_token(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and _is_token(value[0])
    return isinstance(value, Value) and value.type is TOKEN


def _flat(values: Any) -> tuple[Array, ...]:
    return tuple(token for value in values for token in (value if isinstance(value, tuple) else (value,)))


def _with_token(result: Any, plan: _Plan, made: Array | None) -> Any:
    if not plan.several:
        return made
    return tuple(made if i == plan.token else value for i, value in enumerate(result))
