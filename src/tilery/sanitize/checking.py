"""The observer that tells checks about accesses, tokens, operands and results.

What to do for an operation is decided once per launch. An operation that no check asks for runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..analysis.effects import accesses, memory_ordering
from ..engines.common.arrays import ArrayMemory
from ..engines.common.limits import Limits
from ..engines.common.memory import Memory
from ..engines.common.tiles import Array, unsigned
from ..engines.reference.access import KINDS, Access, AccessKind, Link, make_access
from ..engines.reference.batch import Batch
from ..engines.reference.observe import Execute, Look, Observer, Scene, is_token, token_field
from ..engines.reference.program import Compute, Instruction
from ..ir import Op, walk
from ..ops import AtomicCASTko, Reduce, Scan
from .body import fold
from .checks import Check, Rule, Step, overrides
from .flight import InFlight, LaunchInFlight
from .origins import Origins
from .partly import execute_partly
from .program import ProgramMemory
from .provenance import Provenance, find_owners
from .regions import TrackedMemory

Make = Callable[[Any, "Checking"], Check]


@dataclass(slots=True)
class _Plan:
    """How to execute an operation while checks watch."""

    instruction: Compute
    execute: Execute
    names: tuple[str, ...]
    """The operand fields."""
    rules: list[tuple[Check, Rule]]
    results: list[Check]
    """The checks that look at its results."""
    accesses: bool
    links: bool
    """Whether it makes a token that checks ask for, without accessing memory."""
    token: int | None
    """Which result field is a token, if any."""
    waits: tuple[str, ...]
    """The operands that are tokens."""
    body: bool
    """Whether rules apply to operations inside, which the engine executes by shortcuts."""


class Checking(Observer):
    """Tells the checks of one launch what it does."""

    bodies = True

    failed = False
    """Whether the launch has ended with an error."""

    def __init__(
        self,
        makes: Sequence[Make],
        reports: Any,
        uninit: list[TrackedMemory],
        outputs: Sequence[ArrayMemory] = (),
        origins: Origins | None = None,
        program: ProgramMemory | None = None,
        flight: InFlight | None = None,
        launched: str = "",
    ) -> None:
        self._makes, self._reports = makes, reports
        self.checks: list[Check] = []
        self.uninit = uninit
        """Memory of arguments that has not been written yet."""
        self.outputs = outputs
        """Arrays that the launch must write, if it has them as arguments."""
        self.origins = Origins() if origins is None else origins
        self.program = program
        self.flight = flight
        """The launches that this one may overlap, if they are taken for one execution."""
        self.launch: LaunchInFlight | None = None
        """This launch among them."""
        self.launched = launched
        """The line of the program that launches the kernel, if it is known."""
        self._quiet = False
        """Whether operations are executed without telling checks."""

    # ------------------------------------------------------------ the launch, for checks

    @property
    def memory(self) -> Memory:
        return self._machine.memory

    @property
    def grid(self) -> tuple[int, int, int]:
        return self._machine.grid

    @property
    def kernel_name(self) -> str:
        return self._scene.kernel.name

    @property
    def provenance(self) -> Provenance:
        """The owners of the kernel's pointers."""
        scene = self._scene
        owners = find_owners(scene.kernel.entry, scene.bound, scene.machine.memory, scene.machine.globals)
        return Provenance(scene.kernel, owners)

    def element(self, address: int) -> str:
        """Return the element of an argument at an address, such as `w[3, 0]`; empty if there is none.

        An argument without a name has a number.
        """
        bound = self._scene.bound
        for each in () if bound is None else sorted(bound.ranges, key=lambda each: each.size):
            if each.layout is not None and (index := each.layout.find(address)) is not None:
                name, shown = each.label.removeprefix("argument ").strip("'"), f"[{', '.join(map(str, index))}]"
                return f"{shown} of argument {name}" if name.isdigit() else f"{name}{shown}"
        return ""

    def store_to(self, address: int) -> Op:
        """Return the first operation that would write to the argument at an address, or the kernel."""
        provenance, entry = self.provenance, self._scene.kernel.entry
        for o in accesses(entry):
            owner = provenance.owners[provenance.of_operation(o)]
            if KINDS[type(o)] is AccessKind.READ or owner is None or owner.alloca is not None:
                continue
            if owner.start <= address < owner.end:
                return o
        return entry

    def where(self, address: int) -> dict[str, str]:
        """Return the element and the byte at an address, for the values of a report."""
        element, segment = self.element(address), self.memory.at(address)
        found = {"the element": element} if element else {}
        if segment is None:
            return found | {"the address": hex(address)}
        return found | {"the address": f"{address:#x}, byte {address - segment.address} of {segment.label}"}

    @property
    def limits(self) -> Limits:
        return self._machine.limits

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Execute operations without telling the checks."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    # ------------------------------------------------------------ planning

    def begin(self, scene: Scene) -> None:
        self._scene, self._machine, self._ids = scene, scene.machine, scene.ids
        if self.flight is not None and scene.bound is not None:
            self.launch = self.flight.begin(scene.kernel.name, self.launched, scene.bound)
        self.checks = [make(self._reports, self) for make in self._makes]
        self._known: dict[type[Op], list[tuple[Check, Rule]]] = {}
        listeners = {
            name: [check for check in self.checks if overrides(check, name)]
            for name in ("before", "after", "link", "result", "branch", "merging")
        }
        self._before, self._after, self._link = (listeners[name] for name in ("before", "after", "link"))
        self._results, self._branch, self._merging = (listeners[name] for name in ("result", "branch", "merging"))
        self._accesses = bool(self._before or self._after or any(check.accesses for check in self.checks))
        self.tokens = bool(self._accesses or self._link)
        for check in self.checks:
            check.begin(scene.kernel.entry)

    def compute(self, instruction: Compute, execute: Execute) -> Execute:
        o = instruction.op
        ordered = memory_ordering(o) is not None
        accesses = self._accesses and ordered
        token = token_field(o) if self.tokens else None
        links = bool(self._link) and token is not None and not ordered
        rules = self._rules(o)
        results = [check for check in self._results if check.watches(o)]
        body = isinstance(o, (Reduce, Scan)) and any(self._rules(inner) for inner in walk(o.body))
        if not (accesses or links or rules or results or body or o.nested):
            return execute
        names = tuple(f.attr for f in o.opdef.operands)
        waits = tuple(name for name in names if is_token(getattr(o, name))) if links else ()
        plan = _Plan(instruction, execute, names, rules, results, accesses, links, token, waits, body)

        def checked(o: Op, batch: Batch, *args: Any) -> Any:
            return execute(o, batch, *args) if self._quiet else self._execute(plan, batch, args)

        def looked_at(o: Op, batch: Batch, *args: Any) -> Any:
            result = execute(o, batch, *args)
            if not self._quiet:
                step = Step(o, batch, dict(zip(names, args)), instruction)
                for check in results:
                    check.result(step, result)
            return result

        # Most operations have results that checks look at, and nothing else. Up to three hundredths of a launch.
        return checked if accesses or links or rules or body or o.nested else looked_at

    def _rules(self, o: Op) -> list[tuple[Check, Rule]]:
        known = self._known.get(type(o))
        if known is None:  # asking each check for each operation takes a hundredth of a small launch
            known = [(check, rule) for check in self.checks if (rule := check.rules(type(o))) is not None]
            self._known[type(o)] = known
        return known

    def control(self, instruction: Instruction) -> Look | None:
        found = [check for check in self._branch if check.decides(instruction)]
        if not found:
            return None

        def look(batch: Batch) -> None:
            for check in found:
                check.branch(instruction, batch)

        return look

    # ------------------------------------------------------------ running

    def _execute(self, plan: _Plan, batch: Batch, args: tuple[Any, ...]) -> Any:
        o = plan.instruction.op
        step = Step(o, batch, dict(zip(plan.names, args)), plan.instruction)
        for check, rule in plan.rules:
            rule(check, step)
        if plan.body:
            fold(o, batch, step.args["operands_"])
        if plan.accesses:
            result = self._access(plan, batch, step, args)
        elif o.nested:  # bodies have been checked
            with self.quiet():
                result = plan.execute(o, batch, *args)
        else:
            result = plan.execute(o, batch, *args)
        if plan.links:
            link = Link(o, batch.ranks, _flat(step.args[name] for name in plan.waits), _token(plan, result))
            for check in self._link:
                check.link(link)
        for check in plan.results:
            check.result(step, result)
        return result

    def _access(self, plan: _Plan, batch: Batch, step: Step, args: tuple[Any, ...]) -> Any:
        o = step.op
        step.access = access = make_access(o, batch, step.args, step.args["token"])
        for check in self._before:
            check.before(access)
        if access.refused is not None:
            result = self._partly(o, batch, access, step)
        else:
            result = plan.execute(o, batch, *args)
        access.result_token = _token(plan, result)
        if isinstance(o, AtomicCASTko):
            access.wrote = access.mask & (unsigned(result[0]) == unsigned(step.args["cmp"]))
        for check in self._after:
            check.after(access)
        return result

    def _partly(self, o: Op, batch: Batch, access: Access, step: Step) -> Any:
        """Execute an access of which checks refused some elements."""

        def execute(o: Op, batch: Batch) -> Any:
            return execute_partly(access, batch, step.args)

        return self._ids.number(o, execute)(o, batch)

    def merging(self, batches: list[Batch]) -> None:
        for check in self._merging:
            check.merging(batches)

    def released(self) -> None:
        for check in self.checks:
            check.release()


def _token(plan: _Plan, result: Any) -> Array:
    assert plan.token is not None
    made: Array = result[plan.token] if len(plan.instruction.outs) > 1 else result
    return made


def _flat(values: Any) -> tuple[Array, ...]:
    return tuple(token for value in values for token in (value if isinstance(value, tuple) else (value,)))
