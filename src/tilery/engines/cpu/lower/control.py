"""Control flow: values that come from several places are variables and buffers that every place stores to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....ir import Block, Op, Value
from ....ops import Break, Continue, For, If, Loop, Return, Yield
from ....types import I1, I64, Scalar, TensorView, Tile, TileView, Token
from ..abi import NotLowered
from ..loops import nodes
from ..loops.builder import element_of, known
from ..loops.integers import signed
from ..loops.nodes import Buffer, Const, Kind, Operand
from .checks import check_pending
from .state import Held, Lowering, Tensor, Turned, is_scalar, lowers, shape

Variable = Buffer | tuple[Buffer, ...] | None
"""Room for a value: a buffer (without dimensions for one element), one per number of a tensor, or none for a token."""
TERMINATORS = (Yield, Continue, Break, Return)


@dataclass(slots=True)
class Frame:
    """An enclosing region whose terminators are being lowered."""

    op: Op
    region: Block
    node: nodes.Loop | nodes.While | None = None
    carried: tuple[Variable, ...] = ()
    results: tuple[Variable, ...] = ()
    counter: Buffer | None = None
    """The counter of a `for` that is a `While`."""


def lower_block(g: Lowering, block: Block) -> None:
    for o in block.ops:
        g.lower(o)
        if isinstance(o, TERMINATORS):
            break
    check_pending(g)


# ---------------------------------------------------------------- variables


def declare(g: Lowering, v: Value) -> Variable:
    """Declare room for a value."""
    match v.type:
        case Token():
            return None
        case Tile():
            return g.b.variable(element_of(v.type)) if is_scalar(v) else g.b.declare(element_of(v.type), shape(v))
        case TensorView():
            rank = len(v.type.shape)
        case TileView():
            rank = len(v.type.tensor_view.shape)
        case _:
            raise NotLowered(f"a value of {v.type} is carried")
    return tuple(g.b.variable(I64) for _ in range(1 + 2 * rank))


def current(g: Lowering, variable: Variable) -> Held:
    """Return the value of a variable here; a tile is its buffer."""
    if isinstance(variable, tuple):
        base, *numbers = (g.b.load(each) for each in variable)
        rank = len(numbers) // 2
        return Tensor(base, tuple(numbers[:rank]), tuple(numbers[rank:]), None)
    return variable if variable is None or variable.shape else g.b.load(variable)


def assign(g: Lowering, pairs: list[tuple[Variable, Value]]) -> None:
    """Store values to variables, all at once."""
    pairs = [(variable, v) for variable, v in pairs if variable is not None and g.held[v] is not variable]
    targets = {variable for variable, _ in pairs if isinstance(variable, Buffer)}
    # A tile that is another one's variable is copied first: it is about to change.
    copies = {v: _copy(g, v) for _, v in pairs if isinstance(b := g.held[v], Buffer) and b in targets}
    for variable, v in pairs:
        held = copies.get(v, g.held[v])
        if isinstance(variable, tuple):
            assert isinstance(held, Tensor)
            for room, number in zip(variable, (held.base, *held.shape, *held.strides)):
                g.b.store(room, (), number)
        elif variable is not None:
            with g.b.nest(Kind.PARALLEL, variable.shape) as at:
                g.b.store(variable, at, g.b.load(held, at) if isinstance(held, Buffer) else _operand(held))


def _copy(g: Lowering, v: Value) -> Buffer:
    made = g.b.declare(element_of(v.type), shape(v))
    g.fill(made, v)
    return made


def _operand(held: Held) -> Operand:
    assert held is not None and not isinstance(held, (Buffer, Turned, Tensor))
    return held


def bind(g: Lowering, values: tuple[Value, ...], variables: tuple[Variable, ...]) -> None:
    g.held.update((v, current(g, variable)) for v, variable in zip(values, variables))


# ---------------------------------------------------------------- regions


@lowers(If)
def lower_if(g: Lowering, o: If) -> None:
    results = tuple(declare(g, v) for v in o.results_)
    made = nodes.If(g.operand(o.condition), [], [])
    g.b.emit(made)
    for block, region in ((made.then, o.thenRegion), (made.orelse, o.elseRegion)):
        if region is not None:
            g.frames.append(Frame(o, region, results=results))
            with g.b.within(block):
                lower_block(g, region)
            g.frames.pop()
    bind(g, o.results_, results)


@lowers(Loop)
def lower_loop(g: Lowering, o: Loop) -> None:
    carried = tuple(declare(g, v) for v in o.region.args)
    results = tuple(declare(g, v) for v in o.resultValues)
    assign(g, list(zip(carried, o.initValues)))
    with g.b.repeat() as node:
        bind(g, tuple(o.region.args), carried)
        g.frames.append(Frame(o, o.region, node, carried, results))
        lower_block(g, o.region)
        g.frames.pop()
    bind(g, o.resultValues, results)


@lowers(For)
def lower_for(g: Lowering, o: For) -> None:
    _, *args = o.region.args
    carried = tuple(declare(g, v) for v in args)
    assign(g, list(zip(carried, o.initValues)))
    frame = Frame(o, o.region, None, carried)
    g.frames.append(frame)
    if _is_counted(g, o):
        _counted(g, o, frame)
    else:
        _stepped(g, o, frame)
    g.frames.pop()
    bind(g, o.resultValues, carried)


def _is_counted(g: Lowering, o: For) -> bool:
    """Tell whether a loop over i64 with a constant step has the same iterations.

    The counter of such a loop may not wrap around after the last iteration: it can if the numbers have 64 bits, unless
    the step is one, or the end is known to be far enough from the largest number.
    """
    step, element = known(g.operand(o.step)), element_of(o.step.type)
    if step is None or element is I1 or (o.unsignedCmp and element is I64):
        return False
    step = step if o.unsignedCmp else signed(step, element)
    if element is not I64:
        return step > 0
    end = known(g.operand(o.upperBound))
    return step == 1 or (step > 0 and end is not None and signed(end, I64) <= (1 << 63) - step)


def _counted(g: Lowering, o: For, frame: Frame) -> None:
    element, sign = element_of(o.step.type), not o.unsignedCmp
    low, high = (g.b.resize(g.operand(v), I64, signed=sign) for v in (o.lowerBound, o.upperBound))
    step = known(g.operand(o.step))
    assert step is not None
    with g.b.loop(Kind.SERIAL, high, low, step, name="n", polls=True) as node:
        frame.node = node
        g.held[o.region.args[0]] = g.b.resize(node.index, element, signed=True)
        bind(g, tuple(o.region.args[1:]), frame.carried)
        lower_block(g, o.region)


def _stepped(g: Lowering, o: For, frame: Frame) -> None:
    """A `while` whose counter is a variable; every `continue` advances it."""
    element = element_of(o.step.type)
    if "undefined" in g.checks:
        g.b.check(_below(g, o, _zero(element), g.operand(o.step)), g.numbers[o])
    frame.counter = g.b.variable(element, "counter")
    g.b.store(frame.counter, (), g.operand(o.lowerBound))
    with g.b.repeat() as node:
        frame.node = node
        number = g.b.load(frame.counter)
        with g.b.when(g.b.opposite(_below(g, o, number, g.operand(o.upperBound)))):
            g.b.jump("break", node)
        g.held[o.region.args[0]] = number
        bind(g, tuple(o.region.args[1:]), frame.carried)
        lower_block(g, o.region)


def _below(g: Lowering, o: For, a: Operand, b: Operand) -> Operand:
    unsigned = o.unsignedCmp or a.element is I1
    return g.b.integer("ult" if unsigned else "slt", a, b)


def _advance(g: Lowering, o: For, frame: Frame) -> None:
    """Add the step; a counter that wraps around ends the loop, unless the step is wrong."""
    assert frame.counter is not None
    number, step = g.b.load(frame.counter), g.operand(o.step)
    after = g.b.add(number, step)
    with g.b.when(g.b.opposite(_below(g, o, number, after))):
        g.b.check(_below(g, o, _zero(number.element), step), g.numbers[o])
        g.b.jump("break", frame.node)
    g.b.store(frame.counter, (), after)


def _zero(element: Scalar) -> Const:
    return Const(element, 0)


# ---------------------------------------------------------------- terminators


@lowers(Yield)
def lower_yield(g: Lowering, o: Yield) -> None:
    assign(g, list(zip(g.frames[-1].results, o.operands_)))


@lowers(Continue)
def lower_continue(g: Lowering, o: Continue) -> None:
    frame: Any = next(f for f in reversed(g.frames) if f.node is not None)
    assign(g, list(zip(frame.carried, o.operands_)))
    if frame.counter is not None:
        _advance(g, frame.op, frame)
    if frame is not g.frames[-1]:
        g.b.jump("continue", frame.node)


@lowers(Break)
def lower_break(g: Lowering, o: Break) -> None:
    frame = next(f for f in reversed(g.frames) if isinstance(f.op, Loop))
    assign(g, list(zip(frame.results, o.operands_)))
    g.b.jump("break", frame.node)


@lowers(Return)
def lower_return(g: Lowering, o: Return) -> None:
    if g.frames:
        g.b.jump("return")
