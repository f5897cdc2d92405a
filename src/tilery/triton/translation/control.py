"""Control flow: loops, branches, early returns and calls. Each region takes over the order of accesses as tokens."""

from __future__ import annotations

from ...ir import Value
from ..mlir import MlirValue, TBlock, TOp
from .order import Saved, Slot, effects
from .table import refuse, translates
from .translator import Translator

MAX_CALLS = 50


def kernel_block(t: Translator, block: TBlock) -> None:
    """Build a block of the kernel itself; it ends with a return, maybe in other blocks."""
    t.ops(block)
    last = block.ops[-1]
    t.loc = t.places.of(last.loc)
    match last.name:
        case "tt.return":
            t.builder.return_()
        case "cf.br":
            kernel_block(t, bound(t, last.successors[0]))
        case "cf.cond_br":
            state = t.order.save()
            with t.builder.if_(t[last.operands[0]]):
                kernel_block(t, bound(t, last.successors[0]))
            t.order.restore(state)
            kernel_block(t, bound(t, last.successors[1]))
        case _:
            refuse(t, last, "an unknown end of a block")


def function_block(t: Translator, block: TBlock) -> list[Value]:
    """Build a block of a function, and those that it branches to; return the values that the function returns."""
    t.ops(block)
    last = block.ops[-1]
    t.loc = t.places.of(last.loc)
    if last.name in ("tt.return", "tt.map_elementwise.return", "scf.yield"):
        return t.all(last.operands)
    if last.name == "cf.br":
        return function_block(t, bound(t, last.successors[0]))
    if last.name != "cf.cond_br":
        refuse(t, last, "an unknown end of a block")
    slots = t.order.slots(effects([reachable(s[0]) for s in last.successors], t.functions))
    tokens, state = t.order.pack(slots), t.order.save()
    b = t.builder
    region = b.if_(t[last.operands[0]])
    with region:
        t.order.unpack(slots, tokens)
        made = function_block(t, bound(t, last.successors[0]))
        b.yield_(*made, *t.order.pack(slots))
    t.order.restore(state)
    with b.else_():
        t.order.unpack(slots, tokens)
        made = function_block(t, bound(t, last.successors[1]))
        b.yield_(*made, *t.order.pack(slots))
    t.order.restore(state)
    results = list(region.op.results)
    t.order.unpack(slots, results[len(made) :])
    return results[: len(made)]


def reachable(block: TBlock) -> list[TBlock]:
    """Return a block and those that it branches to."""
    found: list[TBlock] = []
    todo = [block]
    while todo:
        one = todo.pop()
        if one not in found:
            found.append(one)
            todo += [target for target, _ in one.ops[-1].successors]
    return found


def bound(t: Translator, successor: tuple[TBlock, list[MlirValue]]) -> TBlock:
    """Give a block its arguments."""
    block, values = successor
    for arg, v in zip(block.args, values, strict=True):
        t.values[arg] = t[v]
    return block


@translates("tt.call")
def call(t: Translator, op: TOp, *given: Value) -> list[Value]:
    name = op.attrs["callee"]
    if name not in t.functions:
        refuse(t, op, f"there is no function '{name}'")
    if len(t.calls) >= MAX_CALLS:
        refuse(t, op, "calls are nested too deeply")
    block = t.functions[name].regions[0][0]
    saved = t.values
    t.values = {**saved, **dict(zip(block.args, given, strict=True))}
    t.calls.append(name)
    made = function_block(t, block)
    t.calls.pop()
    t.values = saved
    return made


@translates("scf.execute_region")
def execute_region(t: Translator, op: TOp) -> list[Value]:
    return function_block(t, op.regions[0][0])


@translates("scf.for")
def for_loop(t: Translator, op: TOp, low: Value, high: Value, step: Value, *carried: Value) -> list[Value]:
    b, block, loc = t.builder, op.regions[0][0], t.loc
    block.args[0].owner = None
    slots = t.order.slots(effects(op.regions, t.functions))
    carry = [*carried, *t.order.pack(slots)]
    state = t.order.save()
    region = b.for_(low, high, step, carry=carry, unsigned=op.attrs.get("unsignedCmp") is True)
    with region as (counter, *values):
        for arg, value in zip(block.args, [counter, *values]):
            t.values[arg] = value
        t.order.unpack(slots, values[len(carried) :])
        t.ops(block)
        made = t.all(block.ops[-1].operands)
        t.loc = loc
        b.continue_(*made, *t.order.pack(slots))
    return after_region(t, slots, state, list(region.op.results))


def after_region(t: Translator, slots: list[Slot], state: Saved, results: list[Value]) -> list[Value]:
    """Continue after a region: its last results are the tokens of slots."""
    t.order.restore(state)
    count = len(results) - len(slots)
    t.order.unpack(slots, results[count:])
    return results[:count]


@translates("scf.if")
def if_else(t: Translator, op: TOp, condition: Value) -> list[Value]:
    b, loc = t.builder, t.loc
    slots = t.order.slots(effects(op.regions, t.functions))
    tokens, state = t.order.pack(slots), t.order.save()

    def branch(blocks: list[TBlock]) -> None:
        t.order.restore(state)
        t.order.unpack(slots, tokens)
        made: list[Value] = []
        if blocks and blocks[0].ops:
            t.ops(blocks[0])
            made = t.all(blocks[0].ops[-1].operands)
        t.loc = loc
        b.yield_(*made, *t.order.pack(slots))

    otherwise = op.regions[1] if len(op.regions) > 1 else []
    region = b.if_(condition)
    with region:
        branch(op.regions[0])
    if slots or op.results or (otherwise and otherwise[0].ops):
        with b.else_():
            branch(otherwise)
    return after_region(t, slots, state, list(region.op.results))


@translates("scf.while")
def while_loop(t: Translator, op: TOp, *carried: Value) -> list[Value]:
    b, loc = t.builder, t.loc
    before, after = op.regions[0][0], op.regions[1][0]
    slots = t.order.slots(effects(op.regions, t.functions))
    region = b.loop(carry=[*carried, *t.order.pack(slots)])
    state = t.order.save()
    with region as values:
        for arg, value in zip(before.args, values):
            t.values[arg] = value
        t.order.unpack(slots, list(values[len(carried) :]))
        t.ops(before)
        condition, *passed = t.all(before.ops[-1].operands)
        tokens = t.order.pack(slots)
        with b.if_(b.value("xori", condition, t.full(condition, True))):
            b.break_(*passed, *tokens)
        for arg, value in zip(after.args, passed, strict=True):
            t.values[arg] = value
        t.ops(after)
        made = t.all(after.ops[-1].operands)
        t.loc = loc
        b.continue_(*made, *t.order.pack(slots))
    return after_region(t, slots, state, list(region.op.results))
