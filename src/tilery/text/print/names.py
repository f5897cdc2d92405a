"""Name values as MLIR does: by unique hints from operations, or by numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import length_hint

from ...checking import TYPE_CHECKING
from ...declare.fastclass import dataclass
from ...floats.formats import is_nan, whole_number
from ...ir import Block, Op, UnknownOp, Value
from ...ops import Assume, Constant, For, Reduce
from ...types import I1, Type
from .attributes import splat_bits, too_long

if TYPE_CHECKING:
    from typing import Any

Counters = tuple[int, int, int, int]
"""The numbers of results and arguments, of conflicts, and of names that come from hints."""
START: Counters = (0, 0, 0, 0)
FEW = 4
"""Up to this many texts are joined without checking their length."""


class ValueNames(dict[Value, str]):
    """The name of each value where it is used: `%cst_1_i32`, `%5`, `%for#1`.

    `heads` has the definition of results that share a name, `%for:2`.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.heads: dict[Op, str] = {}
        self.limit = limit

    def __missing__(self, value: Value) -> str:
        return "<<UNKNOWN SSA VALUE>>"

    def join(self, values: Sequence[Value]) -> str:
        """Join uses with commas."""
        texts = [self[v] for v in values]
        if len(texts) > FEW:
            self.check(texts)
        return ", ".join(texts)

    def types(self, values: Sequence[Value]) -> str:
        """Join types with commas."""
        if len(values) == 1:
            return values[0].type.text
        texts = [v.type.text for v in values]
        if len(texts) > FEW:
            self.check(texts)
        return ", ".join(texts)

    def typed(self, values: Sequence[Value], spell: Callable[[Type], str]) -> list[str]:
        """Spell the type of each value."""
        self.check([v.type.text for v in values])
        return [spell(v.type) for v in values]

    def pairs(self, left: Sequence[str], between: str, right: Sequence[str]) -> str:
        """Join `a between b` with commas."""
        if len(left) > FEW:
            self.check(left)
            self.check(right)
        return ", ".join([f"{a}{between}{b}" for a, b in zip(left, right)])

    def check(self, texts: Sequence[str]) -> None:
        """Refuse to join texts that are too long: a few bytes of input can repeat a long text very often."""
        if sum(map(len, texts)) > self.limit:
            raise too_long(self.limit)


def constant_hint(o: Constant) -> str:
    """Return `true`, `cst_42_i32` or `cst_NaN_f32`; without the value unless it is one integer or NaN."""
    element, value = o.value.element, splat_bits(o.value)
    if element is I1:
        return "cst_i1" if value is None else "true" if value else "false"
    what = ""
    if value is not None:
        if element.is_int:
            what = f"_{value - (1 << element.bits) if value >> (element.bits - 1) else value}"
        elif is_nan(element, value):
            what = "_NaN"
        elif (whole := whole_number(element, value)) is not None:
            what = f"_{whole}"
    return f"cst{what}_{element.text}"


def _for_arguments(block: Block) -> list[str]:
    return ["loopIdx", *(f"iterArg{n}" for n in range(len(block.args) - 1))]


def _reduce_arguments(block: Block) -> list[str]:
    many = len(block.args) > 2
    sides = ("reduce_lhs", "reduce_rhs")
    return [f"{sides[n % 2]}{n // 2 if many else ''}" for n in range(len(block.args))]


ARGUMENTS: dict[type[Op], Callable[[Block], list[str]]] = {For: _for_arguments, Reduce: _reduce_arguments}
"""The hints for block arguments; those of other operations are `arg0`, `arg1` and so on."""


@dataclass(frozen=True, slots=True)
class NamingPlan:
    """The rule for naming an operation's results."""

    single: str
    """the field of the only result; empty if there are more or none"""
    results: bool
    hint: Callable[[Namer, Any], str] | str
    """the name of the first result, or a function that makes it; empty for a number"""
    hinted: bool
    """whether NVIDIA's class has MLIR's interface for naming results, even if it names none"""
    regions: bool


_PLANS: dict[type[Op], NamingPlan] = {}


def plan_for(cls: type[Op]) -> NamingPlan:
    plan = _PLANS.get(cls)
    if plan is None:
        if issubclass(cls, UnknownOp):
            plan = NamingPlan("", True, "", False, True)
        else:
            outs, regions = cls.opdef.outs, bool(cls.opdef.regions)
            single = outs[0].attr if len(outs) == 1 and outs[0].arity == "one" else ""
            hinted = bool(cls.opdef.hint) or regions or len(outs) > 1
            plan = NamingPlan(single, bool(outs), _MADE_HINTS.get(cls, cls.opdef.hint), hinted, regions)
        _PLANS[cls] = plan
    return plan


class Namer:
    """Walks the regions from the outside in. An inner region continues the counters and names of the outer one."""

    def __init__(self, hints: bool, limit: int) -> None:
        self.names = ValueNames(limit)
        self.texts: dict[Value, str] = self.names
        self.hints = hints
        self.hinted = 0
        """the total length of hints that contain other hints; other names are short"""
        self.used: dict[str, None] = {}
        """the names made from hints, in order"""
        self.arguments = self.conflicts = self.end = 0
        self.numbers = ["%0"]
        self.fresh: Iterator[str] = iter(())
        """the free numbers in this block; no operation takes more than one"""
        self.assumes: dict[Op, str] = {}

    def run(self, root: Block) -> ValueNames:
        todo: list[tuple[Op | None, Block, Counters]] = [(None, root, START)]
        while todo:
            parent, block, counters = todo.pop()
            self.enter(parent, block, counters)
            inner = self._block(block)
            counters = self.counters()
            todo += [(o, b, counters) for o in inner for b in o.blocks]
        return self.names

    def enter(self, parent: Op | None, block: Block, counters: Counters) -> None:
        """Enter a block of `parent` with the counters at the end of the enclosing block; name the block's arguments."""
        first, self.arguments, self.conflicts, known = counters
        if (count := len(self.used) - known) > 0:
            forget = self.used.popitem
            for _ in range(count):
                forget()
        self.end = first + len(block.ops)
        if self.end > (known := len(self.numbers)):
            self.numbers += [f"%{number}" for number in range(known, max(self.end, 2 * known))]
        self.fresh = iter(self.numbers[first : self.end])
        if block.args:
            self._arguments(parent, block)

    def counters(self) -> Counters:
        """Return the counters, with which the regions inside the block continue."""
        return self.end - length_hint(self.fresh), self.arguments, self.conflicts, len(self.used)

    def _block(self, block: Block) -> list[Op]:
        """Name the results of all operations; return the operations with regions."""
        texts, hints, plan_of, fresh = self.texts, self.hints, _PLANS.get, self.fresh
        inner: list[Op] = []
        for o in block.ops:
            plan = plan_of(o.__class__) or plan_for(o.__class__)
            if plan.single:
                if (hint := plan.hint) and hints:
                    self.name(getattr(o, plan.single), hint if isinstance(hint, str) else hint(self, o))
                else:
                    texts[getattr(o, plan.single)] = next(fresh)
            elif plan.results:
                self.name_results(o, plan)
            if plan.regions:
                inner.append(o)
        return inner

    def _arguments(self, parent: Op | None, block: Block) -> None:
        make = ARGUMENTS.get(parent.__class__) if self.hints and parent is not None else None
        if make is not None:
            for value, hint in zip(block.args, make(block)):
                self.name(value, hint)
            return
        for value in block.args:
            self.name(value, f"arg{self.arguments}")
            self.arguments += 1

    def name_results(self, o: Op, plan: NamingPlan) -> None:
        results = o.results
        if not results:
            return
        if not plan.hinted or not self.hints:
            self._group(o, results, "")
        elif len(o.opdef.outs) == 1:
            self._group(o, results, o.opdef.hint)
        else:
            # Each result has its own name. No operation has a variadic result and others.
            for f, value in zip(o.opdef.outs, results):
                self.name(value, f.name)

    def _group(self, o: Op, results: list[Value], hint: str) -> None:
        first = results[0]
        if hint:
            self.name(first, hint)
        else:
            self.texts[first] = next(self.fresh)
        if len(results) > 1:
            name = self.texts[first]
            self.names.heads[o] = f"{name}:{len(results)}"
            for number, value in enumerate(results):
                self.texts[value] = f"{name}#{number}"

    def assume_hint(self, o: Assume) -> str:
        """Return `assume`, followed by `_` and the hint of the operation that defines the value, if it has one."""
        chain: list[Assume] = []
        last: Op | Block | None = o
        while last.__class__ is Assume and last not in self.assumes:
            assert isinstance(last, Assume)
            chain.append(last)
            self.assumes[last] = ""  # stops at a cycle, which only an invalid module has
            last = last.value.owner
        for assume in reversed(chain):
            hint = self.assumes[assume] = "assume" + self._producer_hint(assume.value)
            self.hinted += len(hint)
            if self.hinted > self.names.limit:
                raise too_long(self.names.limit)
        return self.assumes[o]

    def _producer_hint(self, value: Value) -> str:
        owner = value.owner
        if not isinstance(owner, Op):
            return ""
        if isinstance(owner, Assume):
            return "_" + self.assumes[owner]
        plan = plan_for(owner.__class__)
        if not plan.hinted:
            return ""
        if len(owner.opdef.outs) > 1:
            return "_" + next((f.name for f in owner.opdef.outs if getattr(owner, f.attr) is value), "")
        if owner.results[0] is not value:
            return "_"
        return "_" + (plan.hint if isinstance(plan.hint, str) else plan.hint(self, owner))

    def name(self, value: Value, hint: str) -> str:
        """Name a value by a hint, with a number appended if the name is taken."""
        text, used = "%" + hint, self.used
        while text in used:
            text = f"%{hint}_{self.conflicts}"
            self.conflicts += 1
        used[text] = None
        self.texts[value] = text
        return text


_MADE_HINTS: dict[type[Op], Callable[[Namer, Any], str]] = {
    Assume: Namer.assume_hint,
    Constant: lambda namer, o: constant_hint(o),
}


def name_values(root: Block, *, hints: bool = True, limit: int) -> ValueNames:
    """Name all values inside a block. Without hints, as in the generic form, all names are numbers."""
    return Namer(hints, limit).run(root)
