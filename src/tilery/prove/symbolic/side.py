"""A kernel as formulas: one symbolic element represents all elements of a tile, one iteration for all of a loop.

Floats are their bits, and float operations are functions named by the operation, its attributes and types. Memory
before the launch is a function of the address. Operations that mix elements (reduce, scan, mma) are functions of the
index; one of the second kernel is the same function if its operands are proven to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...declare.relations import COMMUTATIVE, ELEMENTWISE
from ...ir import Block, Op, Value, walk
from ...types import Scalar, Tile, TileView
from . import floats, meaning
from .algebra import Algebra, Term, as_bool, attributes, both
from .aliasing import homes
from .liveness import Needed, captured, is_effect, is_ordered
from .memory import LaterRead, access, effect_parts, loaded
from .moves import MOVES, TRUE, Formula, Index, Promise, Unsupported, chosen, width
from .proving import YES, Invariant, Prover, refines

Carried = dict[int, tuple[Tile, Formula]]
"""Values that a loop carries or results in, by their numbers."""


@dataclass(slots=True)
class SymbolicEffect:
    """A store or another effect, under a condition, for every iteration of the loops around it."""

    op: Op
    path: Any
    loops: Index
    parts: list[tuple[Formula, tuple[int, ...]]]
    """The values it depends on, and the shapes."""
    address: Formula | None = None
    mask: Callable[[Index], Any] | None = None


@dataclass(slots=True)
class SymbolicLoad:
    """A read of memory."""

    op: Op
    path: Any
    loops: Index
    address: Formula
    mask: Callable[[Index], Any]


@dataclass(slots=True)
class Exit:
    """An end of an iteration: `continue` or `break`, under a condition, with values."""

    op: Op
    path: Any
    values: Carried


@dataclass(slots=True)
class LoopRecord:
    """A loop: its bounds and the values that it starts with and carries on."""

    number: int
    op: Op
    loops: Index
    path: Any
    bounds: list[Any]
    """The bounds and the step of a `for`."""
    carried: dict[int, int]
    """The needed values that the loop carries, by position, and the numbers by which both kernels know them."""
    results: dict[int, int]
    """The needed results, likewise."""
    first: Carried = field(default_factory=dict)
    exits: list[Exit] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    """Facts about every iteration: the loop runs, and its counter is within the bounds."""
    facts: str = ""
    names: dict[Value, str] = field(default_factory=dict)
    """The symbols of what the loop carries and results in."""
    iteration: Any = None


@dataclass(slots=True)
class Mixing:
    """An operation that mixes elements, and the functions that represent its results."""

    op: Op
    key: str
    loops: Index
    operands: list[tuple[Formula, tuple[int, ...]]]
    symbols: list[Formula]
    names: dict[Value, str]


class KernelFormulas:
    """The formulas of one kernel."""

    def __init__(
        self,
        prover: Prover,
        entry: ops.Entry,
        first: KernelFormulas | None = None,
        reads: bool = True,
        claims: Mapping[Value, Invariant] | None = None,
        prune: bool = False,
    ) -> None:
        self.prover, self.entry, self.partner, self.prune = prover, entry, first, prune
        self.claims = claims or {}
        """Invariants of symbols, which remain to be proven."""
        self.z: Algebra = prover.algebra
        self.needed = Needed(entry, reads)
        self.env: dict[Value, Any] = {}
        self.memo: dict[Any, tuple[Term, Index]] = {}
        self.effects: list[SymbolicEffect] = []
        self.loops: list[LoopRecord] = []
        self.loads: list[SymbolicLoad] = []
        self.mixings: list[Mixing] = []
        self.promises: list[Promise] = []
        """Promises that have no formula."""
        self.homes = homes(entry, self.needed.values)
        self.later_reads: list[LaterRead] = []
        self.controls: list[Any] = []
        """Values that must be defined because a branch depends on them."""
        self.open: list[LoopRecord] = []
        self.bid = [self.z.unknown(f"bid{i}", 32) for i in range(3)]
        self.grid = [self.z.unknown(f"grid{i}", 32) for i in range(3)]
        self.params: list[Term] = []
        for i, a in enumerate(entry.body.args):
            term: Term = (self.z.unknown(f"p{i}", width(a.type)), True)
            self.params.append(term)
            self.env[a] = lambda idx, term=term: term
        self.block(entry.body, TRUE, ())

    # ------------------------------------------------------------ values

    def at(self, v: Value, idx: Index) -> Term:
        """Return an element of a value."""
        key = (v, tuple(i.get_id() for i in idx))
        if key not in self.memo:
            if v not in self.env:
                raise Unsupported("a value that was taken to be unused")
            self.memo[key] = (self.env[v](idx), idx)
        return self.memo[key][0]

    def is_needed(self, v: Value) -> bool:
        """Tell whether an effect depends on a value."""
        return v in self.needed.values

    def fn(self, v: Value) -> Formula:
        return lambda idx: self.at(v, idx)

    def symbol(self, name: str, t: Tile, more: Index) -> Formula:
        """Return a function of the iterations and the index, within the invariant of that name if there is one."""
        w = width(t)

        def term(idx: Index) -> Term:
            args = (*more, *idx)
            if not args:
                value = self.z.unknown(name, w)
            else:
                value = self.prover.functions.get(name, *(a.sort() for a in args), self.z.sort(w))(*args)
            return value, self.prover.holds(name, value, args, w)

        return term

    def named(self, names: dict[Value, str], v: Value, name: str) -> str:
        """Name the symbol of a value; a claim about the value becomes the invariant of the symbol."""
        names[v] = name
        if v in self.claims:
            self.prover.invariants[name] = self.claims[v]
        return name

    def iterations(self) -> Index:
        """Return the iterations of the loops around the operation that is being added."""
        return tuple(record.iteration for record in self.open)

    def within(self, loops: Index) -> list[Any]:
        """Return the facts about an iteration of these loops."""
        return [fact for record in self.loops if _encloses(record, loops) for fact in record.given]

    # ------------------------------------------------------------ operations

    def block(self, b: Block, path: Any, loops: Index) -> Any:
        """Add the formulas of a block; return the condition under which its end is reached."""
        for o in b.ops:
            path = self.op(o, path, loops)
            if z3.is_false(path):
                break  # the rest is never reached
        return path

    def op(self, o: Op, path: Any, loops: Index) -> Any:
        """Add the formulas of an operation; return the condition under which the next one runs."""
        match o:
            case ops.If():
                return self.if_(o, path, loops)
            case ops.For() | ops.Loop():
                if o in self.needed.control:
                    self.loop(o, path, loops)
            case ops.Continue() | ops.Break():
                self.exit(o, path)
                return z3.BoolVal(False)
            case ops.Return():
                return z3.BoolVal(False)
            case ops.Yield():
                pass
            case ops.LoadPtrTko() | ops.LoadViewTko():
                self.load(o, path, loops)
            case ops.StorePtrTko() | ops.StoreViewTko():
                self.store(o, path, loops)
            case _ if is_effect(o) and not isinstance(o, (ops.Reduce, ops.Scan)):
                self.effect(o, path, loops)
            case ops.MmaF() | ops.MmaI() | ops.MmaFScaled() | ops.Reduce() | ops.Scan():
                if any(v in self.needed.values for v in o.results):
                    self.mixing(o, loops)
            case _:
                self.value(o)
        return path

    def value(self, o: Op) -> None:
        """Add the formula of an operation that computes element by element, or moves elements."""
        if type(o) in MOVES:
            self.env.update(MOVES[type(o)](self, o))
        elif isinstance(o, meaning.KNOWN) and not isinstance(o, ops.If):
            self.integer(o)
        elif o.opdef.has(ELEMENTWISE) and len(o.results) == 1:
            self.floating(o)
        elif o.results and any(v in self.needed.values for v in o.results):
            raise Unsupported(f"{o.name} is not modelled")

    def integer(self, o: Op) -> None:
        widths = [width(v.type) for v in o.operands]
        floats = isinstance(o.operands[0].type, Tile) and not isinstance(o, ops.Select) and _is_float(o.operands[0])

        def term(idx: Index) -> Term:
            if floats:
                raise Unsupported(f"{o.name} of floats")
            args = [self.at(v, idx) for v in o.operands]
            if isinstance(o, ops.Select):
                value, defined = chosen(args[0][0] == 1, args[1], args[2])
                return value, both(args[0][1], defined)
            value, defined = self.z.operation(o, [t for t, _ in args], widths)
            return value, both(defined, *(d for _, d in args))

        self.env[o.results[0]] = term

    def floating(self, o: Op) -> None:
        types = ",".join(v.type.element.text for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        name, out = f"{o.name}[{attributes(o)}:{types}]", width(o.results[0].type)

        widths = [width(v.type) for v in o.operands]

        def known(numbers: list[int]) -> Any:
            found = floats.evaluate(o, numbers)
            if found is None:
                return None
            value = self.z.value(found, out)
            # Other operands may turn out to be these constants.
            self.prover.known(unknown([self.z.value(n, w) for n, w in zip(numbers, widths)]) == value)
            return value

        def unknown(args: list[Any]) -> Any:
            if o.opdef.has(COMMUTATIVE) and len(args) == 2:
                args = self.z.ordered(*args)
            function = self.prover.functions.get(name, *(a.sort() for a in args), self.z.sort(out))
            return function(*args)

        def term(idx: Index) -> Term:
            pairs = [self.at(v, idx) for v in o.operands]
            args, defined = [t for t, _ in pairs], both(*(d for _, d in pairs))
            made = floats.on_constants(args, widths, known, unknown)
            return (unknown(args) if made is None else made), defined

        self.env[o.results[0]] = term

    # ------------------------------------------------------------ memory

    def load(self, o: Any, path: Any, loops: Index) -> None:
        result = o.results[0]
        address, mask = access(self, o)
        if is_ordered(o):  # what it reads depends on other tile blocks: it must stay where it is
            parts = [(address, result.type.shape), (lambda idx: (mask(idx), True), result.type.shape)]
            self.effects.append(SymbolicEffect(o, path, loops, parts))
            name = f"effect{len(self.effects)}.{o.name}"
            self.env[result] = loaded(self, o, address, mask, self.symbol(name, result.type, loops))
            return
        self.env[result] = loaded(self, o, address, mask, None)
        if self.needed.reads or result in self.needed.values:
            self.loads.append(SymbolicLoad(o, path, loops, address, mask))

    def store(self, o: Any, path: Any, loops: Index) -> None:
        value: Any = o.value if isinstance(o, ops.StorePtrTko) else o.tile
        address, mask = access(self, o)
        self.effects.append(SymbolicEffect(o, path, loops, [(self.fn(value), value.type.shape)], address, mask))

    def effect(self, o: Op, path: Any, loops: Index) -> None:
        if isinstance(o, ops.AtomicRedViewTko):
            parts = effect_parts(self, o)
        elif any(isinstance(v.type, TileView) for v in o.operands):
            raise Unsupported(f"{o.name} is not modelled")
        else:
            parts = [(self.fn(v), v.type.shape) for v in o.operands if isinstance(v.type, Tile)]
        self.effects.append(SymbolicEffect(o, path, loops, parts))
        for v in o.results:
            if isinstance(v.type, Tile):  # what an atomic operation returns depends on other tile blocks
                self.env[v] = self.symbol(f"effect{len(self.effects)}.{o.name}", v.type, loops)

    # ------------------------------------------------------------ control

    def if_(self, o: ops.If, path: Any, loops: Index) -> Any:
        if o not in self.needed.control:
            return path
        (c, defined), ends = self.at(o.condition, ()), []
        if defined is not True:
            self.controls.append(z3.Implies(z3.And(path, *self.within(loops)), defined))
        yes = z3.simplify(c == 1)
        known = self._decided(yes, defined, path, loops)
        if known is not None:
            return self._taken(o, o.thenRegion if known else o.elseRegion, path, loops)
        branches = [(o.thenRegion, z3.And(path, yes)), (o.elseRegion, z3.And(path, z3.Not(yes)))]
        after = []
        for region, here in branches:
            after.append(here if region is None else self.block(region, here, loops))
            ends.append(None if region is None or z3.is_false(after[-1]) else region.ops[-1])
        for i, v in enumerate(o.results_):
            if isinstance(v.type, Tile) and v in self.needed.values:
                self.env[v] = self._chosen(yes, defined, *(_yielded(end, i) for end in ends))
        if all(left is here for left, (_, here) in zip(after, branches)):
            return path  # no branch leaves
        return z3.Or(*after)

    def _decided(self, condition: Any, defined: Any, path: Any, loops: Index) -> bool | None:
        """Tell which way a branch goes: a constant says so, or Z3 if both kernels cannot be compared without."""
        for way, goal in ((True, condition), (False, z3.Not(condition))):
            if z3.is_true(z3.simplify(goal)):
                return way
            if self.prune and self.prover.ask(z3.Implies(as_bool(defined), goal), path, *self.within(loops))[0] == YES:
                return way
        return None

    def _taken(self, o: ops.If, region: Block | None, path: Any, loops: Index) -> Any:
        """Add the branch that is always taken."""
        if region is None:
            return path
        path = self.block(region, path, loops)
        for i, v in enumerate(o.results_):
            found = _yielded(region.ops[-1], i)
            if found in self.env and not z3.is_false(path):
                self.env[v] = self.env[found]
        return path

    def _chosen(self, yes: Any, defined: Any, a: Value | None, b: Value | None) -> Formula:
        if a is None or b is None:  # the other branch leaves
            return self.fn(a or b)  # type: ignore[arg-type]  # one of them is there

        def term(idx: Index) -> Term:
            value, known = chosen(yes, self.at(a, idx), self.at(b, idx))
            return value, both(defined, known)

        return term

    def loop(self, o: ops.For | ops.Loop, path: Any, loops: Index) -> None:
        """A loop is a function of the iteration: two loops are the same by induction over iterations."""
        n, z, counted = len(self.loops), self.z, isinstance(o, ops.For)
        if isinstance(o, ops.For) and self.prune and self._never_runs(o, path, loops):
            self.env.update((v, self.fn(first)) for v, first in zip(o.resultValues, o.initValues))
            return
        record = self._record(o, path, loops)
        self.loops.append(record)
        if isinstance(o, ops.For):
            record.bounds = [self.at(v, ()) for v in (o.lowerBound, o.upperBound, o.step)]
            w = width(o.lowerBound.type)
            i = z.unknown(f"iteration{n}", w)
            self.env[o.region.args[0]] = lambda idx: (i, True)
            unsigned = bool(o.unsignedCmp)
            low, high = (t for t, _ in record.bounds[:2])
            record.given = [path, z.less(i, high, unsigned, w), z3.Not(z.less(i, low, unsigned, w))]
            record.facts = f"for {w} {unsigned}"
        else:
            i = z.unknown(f"iteration{n}", 32)
            record.given = [path]
            record.facts = "loop"
        record.iteration = i
        inner = (*loops, i)
        for k, number in record.carried.items():
            v = o.region.args[k + counted]
            assert isinstance(v.type, Tile)
            self.env[v] = self.symbol(self.named(record.names, v, f"carried{n}.{number}"), v.type, inner)
        self.open.append(record)
        self.block(o.region, TRUE, inner)
        self.open.pop()
        for k, number in record.results.items():
            v = o.resultValues[k]
            assert isinstance(v.type, Tile)
            # The result of a `for` is what it carries at this place; that of a `loop` is what its exits have there.
            self.env[v] = self.symbol(self.named(record.names, v, f"loop{n}.{number}"), v.type, loops)

    def _never_runs(self, o: ops.For, path: Any, loops: Index) -> bool:
        (low, known), (high, defined) = (self.at(v, ()) for v in (o.lowerBound, o.upperBound))
        empty = z3.Not(self.z.less(low, high, bool(o.unsignedCmp), width(o.lowerBound.type)))
        return self._decided(empty, both(known, defined), path, loops) is True

    def _record(self, o: ops.For | ops.Loop, path: Any, loops: Index) -> LoopRecord:
        """Number the values that a loop carries as the other kernel does.

        A pass may remove a carried value, so that values correspond by their order. It may also make one useless and
        leave it there; then they correspond by their positions, and what only one kernel needs stays unmatched.
        """
        n = len(self.loops)
        other = self.partner.loops[n] if self.partner is not None and n < len(self.partner.loops) else None
        kept = [k for k in range(len(o.initValues)) if self._is_kept(o, k)]
        carried = _numbered(kept, None if other is None else other.carried)
        if isinstance(o, ops.For):
            results = {k: carried[k] for k in kept if o.resultValues[k] in self.needed.values}
        else:
            needed = [k for k, v in enumerate(o.resultValues) if v in self.needed.values and isinstance(v.type, Tile)]
            results = _numbered(needed, None if other is None else other.results)
        return LoopRecord(n, o, loops, path, [], carried, results, self._values(o.initValues, carried))

    def _values(self, values: Sequence[Value], numbers: dict[int, int]) -> Carried:
        made: Carried = {}
        for k, number in numbers.items():
            t = values[k].type
            assert isinstance(t, Tile)
            made[number] = (t, self.fn(values[k]))
        return made

    def _is_kept(self, o: ops.For | ops.Loop, k: int) -> bool:
        carried = o.region.args[k + isinstance(o, ops.For)]
        result = o.resultValues[k] if k < len(o.resultValues) and isinstance(o, ops.For) else carried
        return isinstance(carried.type, Tile) and (carried in self.needed.values or result in self.needed.values)

    def exit(self, o: Any, path: Any) -> None:
        record = self.open[-1]
        numbers = record.results if isinstance(o, ops.Break) else record.carried
        record.exits.append(Exit(o, path, self._values(o.operands_, numbers)))

    def mixing(self, o: Op, loops: Index) -> None:
        """Find the operation of the other side with the same operands, or make new functions."""
        operands = [v for v in (*o.operands, *captured(o)) if isinstance(v.type, Tile)]
        key = f"{o.name}:{attributes(o)}:{[v.type.text for v in (*o.operands, *o.results)]}"
        body = body_key(o) if o.blocks else ""
        parts = [(self.fn(v), v.type.shape) for v in operands if isinstance(v.type, Tile)]
        for other in self.partner.mixings if self.partner is not None else ():
            if other.key != key or not same_loops(other.loops, loops):
                continue
            if self._same_body(other, o, body, parts):
                self.env.update(zip(o.results, other.symbols))
                return
        names: dict[Value, str] = {}
        for v in o.results:
            self.named(names, v, self.prover.fresh(o.name))
        symbols = [self.symbol(name, v.type, loops) for v, name in names.items() if isinstance(v.type, Tile)]
        defined = self._all_defined(parts)
        made = [_with(symbol, defined) for symbol in symbols]
        self.env.update(zip(o.results, made))
        self.mixings.append(Mixing(o, key, loops, parts, made, names))

    def _same_body(self, other: Mixing, o: Op, body: str, parts: list[tuple[Formula, tuple[int, ...]]]) -> bool:
        """Tell whether an operation of the first kernel has the same operands, and a body that computes the same."""
        assert self.partner is not None
        given = self.partner.within(other.loops)
        if not o.blocks or body_key(other.op) == body:
            return self.prover.all_equal(other.operands, parts, *given)
        n = len(o.operands)
        if not self.prover.all_equal(other.operands[:n], parts[:n], *given):
            return False
        elements, known = self.pairs(other)
        old, new = self.partner.combine(other.op, elements), self.combine(o, elements)
        if old is None or new is None:
            return False
        return all(self.prover.ask(refines(a, b), *known, *given)[0] == YES for a, b in zip(old, new))

    def pairs(self, mixing: Mixing) -> tuple[list[Term], list[Any]]:
        """Return symbols for the arguments of the body of a reduction, and the invariants of its operands."""
        made: list[Term] = []
        known: list[Any] = []
        for v, name in mixing.names.items():
            assert isinstance(v.type, Tile)
            for _ in range(2):
                value = self.z.unknown(self.prover.fresh("element"), width(v.type))
                made.append((value, True))
                known.append(as_bool(self.prover.within_invariant(name, value, width(v.type))))
        return made, known

    def combine(self, o: Op, elements: list[Term]) -> list[Term] | None:
        """Return what the body of a reduction yields for two elements of each operand; None if it is not modelled."""
        block = o.blocks[0]
        self.env.update((v, lambda idx, term=term: term) for v, term in zip(block.args, elements))
        for v in block.args:
            self.memo = {key: term for key, term in self.memo.items() if key[0] is not v}
        end = block.ops[-1] if block.ops else None
        if not isinstance(end, ops.Yield) or not self._computed(block):
            return None
        return [self.at(v, ()) for v in end.operands_]

    def _computed(self, block: Block) -> bool:
        """Add the formulas of a block in the body of a reduction; tell whether all of it is modelled."""
        for inner in block.ops[:-1]:
            self.memo = {key: term for key, term in self.memo.items() if key[0] not in inner.results}
            if isinstance(inner, ops.If):
                ends = [b.ops[-1] if b.ops else None for b in inner.blocks]
                if not all(isinstance(end, ops.Yield) for end in ends) or not all(map(self._computed, inner.blocks)):
                    return False
                for i, v in enumerate(inner.results_):
                    self.env[v] = self._either(inner.condition, *(_yielded(end, i) for end in ends))
                continue
            if inner.blocks or is_effect(inner) or isinstance(inner, (ops.LoadPtrTko, ops.LoadViewTko)):
                return False
            try:
                self.value(inner)
            except Unsupported:
                return False
        return True

    def _either(self, condition: Value, a: Value | None, b: Value | None) -> Formula:
        (c, defined) = self.at(condition, ())
        return self._chosen(c == 1, defined, a, b)

    def _all_defined(self, parts: list[tuple[Formula, tuple[int, ...]]]) -> Any:
        """Whether the operands are defined at some element: enough to know, as one symbol represents all of them."""
        conditions = []
        for formula, shape in parts:
            idx, _ = self.prover.element(shape)
            conditions.append(formula(idx)[1])
        return both(*conditions)


def _numbered(kept: list[int], other: dict[int, int] | None) -> dict[int, int]:
    """Number the values at these positions as the other loop does, if it has as many; otherwise by their positions."""
    return dict(zip(kept, other.values() if other is not None and len(other) == len(kept) else kept))


def same_loops(one: Index, other: Index) -> bool:
    """Tell whether two places are in the same loops, which are numbered on both sides."""
    return len(one) == len(other) and all(a.eq(b) for a, b in zip(one, other))


def _encloses(record: LoopRecord, loops: Index) -> bool:
    around = (*record.loops, record.iteration)
    return same_loops(around, loops[: len(around)])


def _with(symbol: Formula, defined: Any) -> Formula:
    return lambda idx: (symbol(idx)[0], both(symbol(idx)[1], defined))


def _yielded(end: Op | None, i: int) -> Value | None:
    return end.operands_[i] if isinstance(end, ops.Yield) else None


def _is_float(v: Value) -> bool:
    return isinstance(v.type, Tile) and isinstance(v.type.element, Scalar) and v.type.element.is_float


def body_key(o: Op) -> str:
    """Describe the body of a reduction. Values from outside have numbers in the order of `captured`."""
    numbers = {v: n for n, v in enumerate((*o.blocks[0].args, *captured(o)))}
    parts: list[object] = []
    for inner in walk(o.blocks[0]):
        used = [numbers[v] if v in numbers else _constant(v) for v in inner.operands]
        parts.append((inner.name, attributes(inner), used))
        made = [*inner.results, *(v for b in inner.blocks for v in b.args)]
        parts.append([v.type.text for v in made])
        numbers.update((v, len(numbers) + k) for k, v in enumerate(made))
    return str(parts)


def _constant(v: Value) -> str:
    assert isinstance(v.owner, ops.Constant)
    return attributes(v.owner)
