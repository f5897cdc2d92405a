"""Tiles of integers that are affine unless they reach a limit: `choose_affine`.

`x % m` is affine if the tile `x` does not reach past a multiple of `m`; `min(x, n)` and `where(x < n, x, 0)` are if it
ends before `n`. What follows such a tile in its block is built twice, for a tile that is affine and as it was, and a
comparison of a few scalars chooses. Loops that follow are inside the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..analysis.affine import ONE, Form, Forms, Polynomial, moved, plus, range_of, scaled
from ..analysis.intervals import Range, element, is_integer
from ..analysis.ranges import Ranges
from ..attrs import ComparisonPredicate, MemoryOrderingSemantics, RoundingMode, Signedness
from ..declare.relations import NO_EFFECT, PURE
from ..ir import Block, Op, Value, clone, walk
from ..ops import (
    AddI,
    AndI,
    Assume,
    Broadcast,
    CmpI,
    DivI,
    ExtI,
    For,
    If,
    Iota,
    JoinTokens,
    LoadPtrTko,
    Loop,
    MaxI,
    MinI,
    MulI,
    Offset,
    Permute,
    RemI,
    Reshape,
    Select,
    StorePtrTko,
    SubI,
    Yield,
)
from ..rewrite.editing import index_of, replace_operands
from ..types import I1, I64, Scalar, Tile, TileView
from .demand import plain_before
from .emitter import Appender
from .places import Places
from .views import Masks

LARGE = Range(-(1 << 62), 1 << 62)
MOST_OPS = 1 << 11
"""More operations than this are not built twice."""
SMALL_BITS = (24, 20, 18, 16, 14, 12)
"""Numbers of bits that scalars are compared with; the first of those with which most tiles are affine is taken."""
THROUGH = (AddI, SubI, MulI, Offset, ExtI, Broadcast, Reshape, Permute, Assume, RemI, DivI, MinI, MaxI, Select)
"""Operations through which integers become part of pointers."""


class Piece(NamedTuple):
    """A tile and the form that it may have. Its functions build operations."""

    op: Op
    conditions: Callable[[Appender], list[tuple[Value, Value]]]
    """Scalars of type i64; the tile has the form if the first of each pair is not greater than the second."""
    tile: Callable[[Appender], Value]
    """The tile if it has the form; is built after the conditions."""
    wrap: Callable[[Appender], Wrap] | None = None
    """How the tile consists of two parts if it does not have the form."""


class Wrap(NamedTuple):
    """A tile that is affine up to a position along a dimension, and from there on."""

    dim: int
    before: Value
    """Whether an element comes before the position; has only that dimension."""
    after: Value
    parts: tuple[Value, Value]


RangesOf = Callable[[Mapping[Value, Range]], Ranges]
"""Computes the ranges of a kernel's values, if some of them are in these ranges."""


class Chooser:
    """Makes choices, one at a time, because each of them makes new values with ranges of their own."""

    def __init__(self, entry: Op, ranges_of: RangesOf) -> None:
        self.entry, self.ranges_of = entry, ranges_of
        self.done: set[Op] = set()
        """Operations that were decided about."""

    def choose(self) -> bool:
        """Make a choice that is left; return whether there was one."""
        known = self.ranges_of({})
        return self._choose_small(known) or self._choose_pieces(known)

    def _choose_small(self, known: Ranges) -> bool:
        """Choose by scalars that may be so large that positions wrap around, if nothing is known about them."""
        _, scalars = _parts_of_pointers(self.entry)
        large = [v for v in scalars if isinstance(v.owner, Op) and v.owner not in self.done and known[v].lo < 0]
        if not large:
            return False
        places = Places(self.entry)
        before = self._affine(known)
        counts = [self._affine(self.ranges_of(dict.fromkeys(large, Range(0, 1 << bits)))) for bits in SMALL_BITS]
        bits = SMALL_BITS[counts.index(max(counts))]
        for v in large:
            if not _is_large(v, known):  # it may be negative, which most often does not matter
                others = [each for each in large if each is not v]
                if self._affine(self.ranges_of(dict.fromkeys(others, Range(0, 1 << bits)))) == max(counts):
                    large = others
        best: tuple[int, Op | None, list[Value]] = before, None, []
        for block in _blocks(self.entry):  # the outermost block in which all of them are known that matter
            own = {o for v in large if places.found[o := owner_of(v)][0] is block}
            if own:
                last = next(o for o in reversed(block.ops) if o in own)
                known_here = [v for v in large if owner_of(v) is last or places.precedes(owner_of(v), last)]
                count = self._affine(self.ranges_of(dict.fromkeys(known_here, Range(0, 1 << bits))))
                best = max(best, (count, last, known_here), key=lambda found: found[0])
        _, last_of, some = best
        if last_of is None:
            self.done.update(map(owner_of, large))
            return False
        self.done.update(map(owner_of, some))
        return self._choose_by(last_of, [_if_small(v, bits) for v in some], places, known)

    def _choose_by(self, last: Op, pieces: list[Piece], places: Places, known: Ranges) -> bool:
        """Choose by scalars, where the last of them is computed."""
        block, parent = places.found[last]
        at = index_of(block, last)
        path = reversed(list(places.around(last)))
        before = [o for home, end in path for o in home.ops[: index_of(home, end) + 1] if _is_copied(o)]

        def copied(after: list[Op]) -> tuple[list[Op], dict[Value, Value]]:
            affine = Appender(known, last.loc)
            copies = {piece.op.results[0]: piece.tile(affine) for piece in pieces}
            return affine.ops + _dependents([*before, *after], copies), copies

        made = Appender(known, last.loc)
        condition = _all(made, [pair for piece in pieces for pair in piece.conditions(made)])
        if not isinstance(parent, For | Loop) or not any(
            isinstance(v.type, Tile) and v.type.shape for v in parent.initValues
        ):
            return _branch(block, at, made, condition, *copied([]))
        # What a loop carries would be copied in each iteration: choose for each access instead.
        block.ops[at + 1 : at + 1] = made.ops
        return _branch_at_accesses(block, at + 1 + len(made.ops), condition, copied)

    def _affine(self, known: Ranges) -> int:
        """Return how many parts of pointers have forms, everywhere or before a limit."""
        masks, (wanted, _) = Masks(Forms(known), known), _parts_of_pointers(self.entry)
        plain = [v for v in wanted if isinstance(v.owner, RemI) and plain_before(v.owner, masks) is not None]
        return sum(masks.forms[value] is not None for value in wanted) + len(plain)

    def _choose_pieces(self, known: Ranges) -> bool:
        wanted, _ = _parts_of_pointers(self.entry)
        masks = Masks(Forms(known), known)
        for block in _blocks(self.entry):
            for n, o in enumerate(block.ops):
                if o in self.done or not any(result in wanted for result in o.results):
                    continue
                if (piece := _piece(o, masks)) is not None:
                    self.done.add(o)
                    if self._choose(block, n, piece, wanted, masks, lambda o: _piece(o, masks)):
                        return True
        return False

    def _choose(
        self,
        block: Block,
        at: int,
        first: Piece,
        wanted: set[Value],
        masks: Masks,
        piece_of: Callable[[Op], Piece | None],
    ) -> bool:
        pieces, between = [first], []
        while not (after := block.ops[at + 1]).nested and {PURE, NO_EFFECT} & after.opdef.traits:
            if after is block.ops[-1]:
                return False
            at += 1
            between.append(after)
            if after.results and after.results[0] in wanted and (piece := piece_of(after)) is not None:
                pieces.append(piece)
                self.done.add(after)
        made, affine = Appender(masks.known, first.op.loc), Appender(masks.known, first.op.loc)
        condition = _all(made, [pair for piece in pieces for pair in piece.conditions(made)])
        copies = {piece.op.results[0]: piece.tile(affine) for piece in pieces}
        affine.ops += _dependents(between, copies)
        wrapped = [piece for piece in pieces if piece.wrap is not None]
        return _branch(
            block, at, made, condition, affine.ops, copies, lambda whole: _split(whole, wrapped, between, masks.known)
        )


def _branch(
    block: Block,
    at: int,
    made: Appender,
    condition: Value,
    head: list[Op],
    copies: dict[Value, Value],
    change: Callable[[Block], None] = lambda whole: None,
) -> bool:
    """Build what follows a position of a block twice, with some values and with their copies."""
    rest, last = block.ops[at + 1 : -1], block.ops[-1]
    inside = [o for each in rest for o in walk(each)]
    here = {value for each in rest for value in each.results}
    left = list(dict.fromkeys(value for value in last.operands if value in here))
    if len(inside) > MOST_OPS or any(isinstance(value.type, TileView) for value in left):
        return False
    affine = [*head, *(clone(each, copies) for each in rest)]
    affine.append(Yield(operands_=tuple(copies.get(value, value) for value in left)))
    whole = Block(ops=[*rest, Yield(operands_=tuple(left))])
    change(whole)
    choice = If(
        condition=condition,
        results_=tuple(Value(value.type) for value in left),
        thenRegion=Block(ops=affine),
        elseRegion=whole,
    )
    made.add(choice)
    replace_operands(last, dict(zip(left, choice.results_)))
    block.ops[at + 1 :] = [*made.ops, last]
    return True


def _branch_at_accesses(
    block: Block, at: int, condition: Value, copied: Callable[[list[Op]], tuple[list[Op], dict[Value, Value]]]
) -> bool:
    """Build the accesses twice that follow a position of a block and use some values or their copies."""
    chosen = False
    values: dict[Value, Value] = {}
    for n in range(at, len(block.ops)):
        for each in walk(o := block.ops[n]):
            replace_operands(each, values)
        if isinstance(o, LoadPtrTko | StorePtrTko):
            between = [each for each in block.ops[at:n] if _is_copied(each)]
            head, copies = copied(between)
            if copies.keys().isdisjoint(o.operands):
                continue
            own: dict[Value, Value] = {}
            plain = [clone(each, own) for each in _sources(between, o)]
            results = tuple(Value(value.type) for value in o.results)
            access = clone(o, copies)
            block.ops[n] = choice = If(
                condition=condition,
                results_=results,
                thenRegion=Block(ops=[*head, access, Yield(operands_=access.results)]),
                elseRegion=Block(ops=[*plain, last := clone(o, own), Yield(operands_=last.results)]),
            )
            choice.loc = o.loc
            values |= dict(zip(o.results, results))
            chosen = True
    return chosen


def _sources(ops: list[Op], last: Op) -> list[Op]:
    """Return those of some operations that the operands of another one are computed by."""
    wanted, found = set(last.operands), []
    for o in reversed(ops):
        if not wanted.isdisjoint(o.results):
            wanted.update(o.operands)
            found.append(o)
    return found[::-1]


def _is_copied(o: Op) -> bool:
    return not o.nested and not {PURE, NO_EFFECT}.isdisjoint(o.opdef.traits)


def owner_of(value: Value) -> Op:
    assert isinstance(value.owner, Op)
    return value.owner


def _blocks(entry: Op) -> list[Block]:
    """Return the blocks of a kernel, outer ones first."""
    return [block for o in walk(entry) if o.nested for block in o.blocks]


def _is_large(value: Value, known: Ranges) -> bool:
    """Whether nothing is known about the least or greatest value of a scalar."""
    top = known.top(value)
    return known[value].lo == top.lo or known[value].hi == top.hi


def _if_small(value: Value, bits: int) -> Piece:
    """Return the piece of a scalar that may be small and not negative. Its copy is limited, for its range."""
    kind = element(value)

    def conditions(made: Appender) -> list[tuple[Value, Value]]:
        number = made.cast(value, I64)
        return [(made.number(0, I64), number), (number, made.number(1 << bits, I64))]

    def copy(made: Appender) -> Value:
        limits = made.number(0, kind), made.number(1 << bits, kind)
        least = made.add(MaxI(lhs=value, rhs=limits[0], signedness=Signedness.SIGNED)).result
        return made.add(MinI(lhs=least, rhs=limits[1], signedness=Signedness.SIGNED)).result

    assert isinstance(value.owner, Op)
    return Piece(value.owner, conditions, copy)


def _all(made: Appender, pairs: Sequence[tuple[Value, Value]]) -> Value:
    """Build whether the first of each pair is not greater than the second."""
    found: Value | None = None
    for low, high in pairs:
        predicate = ComparisonPredicate.LESS_THAN_OR_EQUAL
        holds = made.add(CmpI(comparison_predicate=predicate, lhs=low, rhs=high, signedness=Signedness.SIGNED)).result
        found = holds if found is None else made.add(AndI(lhs=found, rhs=holds)).result
    assert found is not None
    return found


def _parts_of_pointers(entry: Op) -> tuple[set[Value], list[Value]]:
    """Return the tiles of which tiles of pointers are computed through which memory is accessed, and their scalars."""
    found: set[Value] = set()
    scalars: dict[Value, None] = {}
    accesses = [o for o in walk(entry) if isinstance(o, LoadPtrTko | StorePtrTko)]
    todo = [o.source if isinstance(o, LoadPtrTko) else o.destination for o in accesses]
    while todo:
        value = todo.pop()
        if not isinstance(value.type, Tile) or value in found:
            continue
        if not value.type.shape:
            if is_integer(value) and element(value).bits in (32, 64):
                scalars[value] = None
            continue
        found.add(value)
        if isinstance(value.owner, THROUGH):
            todo += value.owner.operands
    return found, list(scalars)


# ---------------------------------------------------------------- tiles of two parts


def _dependents(ops: list[Op], copies: dict[Value, Value]) -> list[Op]:
    """Copy those of some operations that depend on values that have copies."""
    found = []
    for o in ops:
        if not copies.keys().isdisjoint(o.operands) and copies.keys().isdisjoint(o.results):
            found.append(clone(o, copies))  # noqa: PERF401  a copy is one of `copies` for those that follow
    return found


def _split(block: Block, pieces: list[Piece], between: list[Op], known: Ranges) -> None:
    """Access the memory at both parts of tiles, where their elements are neighbours, separately.

    The tiles themselves are chosen from the parts, which is faster than a division for each element.
    """
    if not pieces:
        return
    head = Appender(known, pieces[0].op.loc)
    copies: dict[Value, Value] = {}
    wraps: list[tuple[Value, Wrap]] = []
    for piece in pieces:
        assert piece.wrap is not None
        wrap, tile = piece.wrap(head), piece.op.results[0]
        assert isinstance(tile.type, Tile)
        mask = Masked(head, wrap).of(wrap.dim, tile.type.shape)[0]
        copies[tile] = head.add(Select(cond=mask, val_if_true=wrap.parts[0], val_if_false=wrap.parts[1])).result
        wraps.append((copies[tile], wrap))
    dependents = _dependents(between, copies)
    head.ops += dependents
    for o in walk(block):
        replace_operands(o, copies)
    for tile, wrap in wraps:
        splitter = TileSplitter(tile, wrap, head)
        for o in dependents:
            splitter.follow(o, head.ops)
        splitter.enter(block)
    block.ops[:0] = head.ops


class Masked:
    """Builds the masks of both parts of a tile."""

    def __init__(self, head: Appender, wrap: Wrap) -> None:
        self.head, self.wrap = head, wrap
        self.found: dict[tuple[int, tuple[int, ...]], tuple[Value, Value]] = {}

    def of(self, dim: int, shape: tuple[int, ...]) -> tuple[Value, Value]:
        """Return which elements of a tile of this shape belong to each part."""
        if (dim, shape) not in self.found:
            ones = tuple(size if d == dim else 1 for d, size in enumerate(shape))
            made = []
            for mask in (self.wrap.before, self.wrap.after):
                line = self.head.add(Reshape(source=mask, result=Value(Tile(ones, I1)))).result
                made.append(self.head.add(Broadcast(source=line, result=Value(Tile(shape, I1)))).result)
            self.found[dim, shape] = made[0], made[1]
        return self.found[dim, shape]


class TileSplitter:
    """Builds operations on the parts of a tile next to those on the tile."""

    def __init__(self, tile: Value, wrap: Wrap, head: Appender) -> None:
        self.masks, self.head = Masked(head, wrap), head
        self.dims = {tile: wrap.dim}
        """The dimension along which elements of a tile are neighbours because those of the wrapped one are."""
        self.copies = tuple({tile: part} for part in wrap.parts)

    def enter(self, block: Block) -> None:
        """Replace the accesses in a block and the blocks inside."""
        ops: list[Op] = []
        values: dict[Value, Value] = {}
        for o in block.ops:
            replace_operands(o, values)
            if o.nested:
                for inner in o.blocks:
                    for each in walk(inner):
                        replace_operands(each, values)
                    self.enter(inner)
                ops.append(o)
            elif isinstance(o, LoadPtrTko | StorePtrTko):
                values |= self.access(o, ops)
            else:
                ops.append(o)
                self.follow(o, ops)
        block.ops = ops

    def follow(self, o: Op, ops: list[Op]) -> None:
        """Build an operation on both parts, if its result has neighbours because its operand has."""
        source = [v for v in o.operands if v in self.dims]
        if len(source) != 1:
            return
        dim: int | None = None
        if isinstance(o, AddI | Offset | ExtI | Assume) or (isinstance(o, SubI) and o.lhs is source[0]):
            dim = self.dims[source[0]]
        elif isinstance(o, Reshape | Broadcast | Permute):
            assert isinstance(o.source.type, Tile)
            dims = moved(o, o.source, tuple(d == self.dims[o.source] for d in range(len(o.source.type.shape))), False)
            dim = dims.index(True) if dims is not None and True in dims else None
        if dim is not None:
            ops += [clone(o, copies) for copies in self.copies]
            self.dims[o.results[0]] = dim

    def access(self, o: LoadPtrTko | StorePtrTko, ops: list[Op]) -> dict[Value, Value]:
        """Access both parts; return what replaces the results."""
        pointers = o.source if isinstance(o, LoadPtrTko) else o.destination
        if pointers not in self.dims or o.memory_ordering_semantics is not MemoryOrderingSemantics.WEAK:
            ops.append(o)
            return {}
        assert isinstance(pointers.type, Tile)
        made = Appender(self.head.known, o.loc)
        masks = self.masks.of(self.dims[pointers], pointers.type.shape)
        parts = []
        for copies, mask in zip(self.copies, masks):
            part = clone(o, {pointers: copies[pointers]})
            part.mask = mask if o.mask is None else made.add(AndI(lhs=mask, rhs=o.mask)).result
            parts.append(made.add(part))
        token = made.add(JoinTokens(tokens=tuple(part.result_token for part in parts))).result
        values = {o.result_token: token}
        if isinstance(o, LoadPtrTko):
            first, second = (part.result for part in parts)
            values[o.result] = made.add(Select(cond=masks[0], val_if_true=first, val_if_false=second)).result
        ops += made.ops
        return values


# ---------------------------------------------------------------- operations


def _piece(o: Op, masks: Masks) -> Piece | None:
    """Return the form that the result of an operation may have; None if it always has one, or never."""
    match o:
        case RemI() | DivI():
            return _modulo(o, masks)
        case MinI() | MaxI():
            return _limited(o, masks)
        case Select() if is_integer(o.result):
            return _selected(o, masks)
    return None


def _modulo(o: RemI | DivI, masks: Masks) -> Piece | None:
    known, x, by = masks.known, masks.forms[o.lhs], masks.forms[o.rhs]
    if x is None or by is None or x.uniform or not by.uniform or not _is_ascending(x, o.lhs, known):
        return None
    lowest = min(known[o.lhs].lo, known[o.rhs].lo)
    if lowest < 0 and o.signedness is Signedness.UNSIGNED:
        return None
    if isinstance(o, DivI) and o.rounding not in (RoundingMode.ZERO, RoundingMode.NEGATIVE_INF):
        return None
    kind, shape = element(o.result), o.result.type.shape  # type: ignore[attr-defined]  # a tile of integers
    built: dict[str, Value] = {}

    def conditions(made: Appender) -> list[tuple[Value, Value]]:
        start, size = made.scalar(x.start, kind), made.scalar(by.start, kind)
        built["size"] = size
        rest = made.add(RemI(lhs=start, rhs=size, signedness=o.signedness)).result
        if isinstance(o, DivI):
            quotient = DivI(lhs=start, rhs=size, signedness=o.signedness, rounding=o.rounding)
            built["first"] = made.add(quotient).result
        else:
            built["first"] = made.add(MaxI(lhs=rest, rhs=made.number(0, kind), signedness=Signedness.SIGNED)).result
        end = made.add(AddI(lhs=made.cast(rest, I64), rhs=made.scalar(plus(_span(x, shape), {(): 1}), I64))).result
        pairs = [(end, made.cast(size, I64))]
        if lowest < 0:
            pairs.append((made.number(0, I64), made.cast(start, I64)))
        return pairs

    def tile(made: Appender) -> Value:
        return _affine(made, built["first"], () if isinstance(o, DivI) else x.steps, shape, kind)

    def wrap(made: Appender) -> Wrap:
        (dim,) = along
        first = tile(made)
        second = made.add(SubI(lhs=first, rhs=made.spread(built["size"], shape))).result
        until = made.spread(made.add(SubI(lhs=built["size"], rhs=built["first"])).result, (shape[dim],))
        numbers = made.add(Iota(result=Value(Tile((shape[dim],), kind)))).result
        before, after = (
            made.add(CmpI(comparison_predicate=predicate, lhs=numbers, rhs=until, signedness=Signedness.SIGNED)).result
            for predicate in (ComparisonPredicate.LESS_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL)
        )
        return Wrap(dim, before, after, (first, second))

    along = [dim for dim, step in enumerate(x.steps) if step and shape[dim] > 1]
    once = len(along) == 1 and x.steps[along[0]] == ONE and shape[along[0]] <= known[o.rhs].lo and lowest >= 0
    return Piece(o, conditions, tile, wrap if once and isinstance(o, RemI) else None)


def _limited(o: MinI | MaxI, masks: Masks) -> Piece | None:
    """`min(x, n)` is x if it ends before n, and `max(x, n)` if it starts after it."""
    for value, other in ((o.lhs, o.rhs), (o.rhs, o.lhs)):
        x, limit = masks.forms[value], masks.forms[other]
        if x is None or limit is None or x.uniform or not limit.uniform or not _is_ascending(x, value, masks.known):
            continue
        if o.signedness is Signedness.UNSIGNED and min(masks.known[value].lo, masks.known[other].lo) < 0:
            return None
        shape = o.result.type.shape  # type: ignore[attr-defined]  # a tile of integers
        least, most = x.start, limit.start
        if isinstance(o, MinI):
            least = plus(least, _span(x, shape))
        else:
            least, most = most, least
        return _if_ordered(o, value, [(least, most)], masks.known)
    return None


def _selected(o: Select, masks: Masks) -> Piece | None:
    """`where(mask, x, y)` is x where the mask leaves everything."""
    limits = masks.limits(o.cond) if isinstance(o.cond.type, Tile) and o.cond.type.shape else None
    if limits is None or masks.forms[o.val_if_true] is None:
        return None
    shape = o.result.type.shape  # type: ignore[attr-defined]  # a tile of integers
    pairs: list[tuple[Polynomial, Polynomial]] = [({(): 1}, each) for each in limits.conditions]
    pairs += [({(): size}, each) for size, before in zip(shape, limits.before) for each in before]
    return _if_ordered(o, o.val_if_true, pairs, masks.known) if pairs else None


def _if_ordered(o: Op, value: Value, pairs: list[tuple[Polynomial, Polynomial]], known: Ranges) -> Piece | None:
    """Return the piece of an operation that returns this value if the first of each pair is not greater."""
    if not all(range_of(each, known).within(*LARGE) for pair in pairs for each in pair):
        return None
    return Piece(o, lambda made: [(made.scalar(a, I64), made.scalar(b, I64)) for a, b in pairs], lambda made: value)


def _is_ascending(x: Form, value: Value, known: Ranges) -> bool:
    """Whether the first element of a tile of integers is the least and the last the greatest."""
    assert isinstance(value.type, Tile)
    return all(range_of(step, known).lo >= 0 for step in x.steps) and range_of(
        _span(x, value.type.shape), known
    ).within(*LARGE)


def _span(x: Form, shape: tuple[int, ...]) -> Polynomial:
    """Return the distance from the first element of a tile to its last."""
    total: Polynomial = {}
    for step, size in zip(x.steps, shape):
        total = plus(total, scaled(step, size - 1))
    return {product: factor for product, factor in total.items() if factor}


def _affine(made: Appender, start: Value, steps: Sequence[Polynomial], shape: tuple[int, ...], kind: Scalar) -> Value:
    """Build the tile of a form."""
    total = made.spread(start, shape)
    for n, (step, size) in enumerate(zip(steps, shape)):
        if step and size > 1:
            numbers = made.add(Iota(result=Value(Tile((size,), kind)))).result
            ones = Tile(tuple(size if d == n else 1 for d in range(len(shape))), kind)
            line = made.add(Reshape(source=numbers, result=Value(ones))).result
            part = made.add(Broadcast(source=line, result=Value(Tile(shape, kind)))).result
            if step != ONE:
                part = made.add(MulI(lhs=part, rhs=made.spread(made.scalar(step, kind), shape))).result
            total = made.add(AddI(lhs=total, rhs=part)).result
    return total
