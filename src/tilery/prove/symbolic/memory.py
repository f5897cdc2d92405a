"""Accesses of loads and stores: addresses, masks and padding, and the state of memory that a load reads.

Memory that the kernel has not written is a function of the address. After a store, it is another function, named by
the last store in the text that may write the same parameter, and it depends on the iterations of the loops around the
load that hold such a store. Both kernels name alike what is alike: if all their effects are the same in the same order,
which is proven, then their memory is the same in between. A load must also be ordered by tokens after the same stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...engines.common.layout import PATTERNS, layout
from ...ir import Op, Value, walk
from ...types import GatherScatterView, TileView
from .algebra import ADDRESS, Bits, Term, both
from .aliasing import home, may_clash, stores
from .moves import TRUE, Formula, Index, Unsupported, bytes_and_halves, width

if TYPE_CHECKING:
    from .side import KernelFormulas

Mask = Callable[[Index], Any]
FAR = 1 << 61
"""Tensors are smaller, so that an index times a step that is not may not wrap around into one."""


@dataclass(slots=True)
class LaterRead:
    """A load of memory that the kernel may have written, and the name of the state that it reads."""

    op: Op
    name: str


def place(s: KernelFormulas, view: Value, index: Iterable[Value], idx: Index, inbounds: Any) -> tuple[Term, Any]:
    """Return the address of an element of a tile, and whether it is inside the tensor.

    Addresses of four-bit elements count half bytes.
    """
    t, z = view.type, s.z
    assert isinstance(t, TileView)
    sparse = t.sparse_dim if isinstance(t, GatherScatterView) else None
    base, shape, strides = s.env[view]
    size, halves = bytes_and_halves(t.tensor_view.element)
    address, inside, defined = base[0] * z.value(halves, ADDRESS), [], base[1]
    for d, (dim, step, v) in enumerate(zip(*layout(t), index)):
        # A gather/scatter view has positions, of which those along other dimensions are signed, as on an H200.
        at, known = s.at(v, (idx[d],) if d == sparse else ())
        defined = both(defined, known, shape[dim][1], strides[dim][1])
        wide = z.resize(at, width(v.type), ADDRESS, sparse is not None and d != sparse)
        position = wide * z.value(step, ADDRESS)
        if d != sparse:
            position = position + z.resize(idx[d], 32, ADDRESS)
        address = address + z.times(position, strides[dim][0], ADDRESS) * z.value(size, ADDRESS)
        if not (inbounds and inbounds[d]):
            inside.append(z.below(position, shape[dim][0], ADDRESS))
            if isinstance(z, Bits) and width(v.type) == ADDRESS and step > 1:
                inside.append(z.below(wide, z.value(FAR // step, ADDRESS), ADDRESS))
    return (address, defined), z3.And(*inside) if inside else TRUE


def access(s: KernelFormulas, o: Any) -> tuple[Formula, Mask]:
    """Return the addresses that a load or store accesses, and its mask."""
    if isinstance(o, (ops.LoadViewTko, ops.StoreViewTko, ops.AtomicRedViewTko)):
        promised = getattr(o, "inbounds", None)
        return (
            lambda idx: place(s, o.view, o.index, idx, promised)[0],
            lambda idx: place(s, o.view, o.index, idx, promised)[1],
        )
    pointers: Any = o.source if isinstance(o, ops.LoadPtrTko) else o.destination
    if bytes_and_halves(pointers.type.element.pointee)[1] > 1:
        raise Unsupported("pointers to halves of a byte")  # the place in the tile decides which half

    def address(idx: Index) -> Term:
        at, defined = s.at(pointers, idx)
        return at, defined if o.mask is None else both(defined, s.at(o.mask, idx)[1])

    return address, lambda idx: TRUE if o.mask is None else s.at(o.mask, idx)[0] == 1


def loaded(s: KernelFormulas, o: Any, address: Formula, mask: Mask, read: Formula | None) -> Formula:
    """Return what a load returns: memory as it is there, or the value of `read`, or padding."""
    element = o.results[0].type.element
    w, pads = width(element), padding(s, o, element)
    # Reads of different widths are different functions: bits of one are not those of the other.
    name, more = f"memory of {w} bits", ()
    state = state_of(s, o) if read is None else None
    if state is not None:
        name, more = f"{name} {state[0]}", state[1]
        s.later_reads.append(LaterRead(o, name))

    def term(idx: Index) -> Term:
        (at, known), inside = address(idx), mask(idx)
        if read is None:
            args = (*more, at)
            found = s.prover.functions.get(name, *(a.sort() for a in args), s.z.sort(w))(*args)
        else:
            found = read(idx)[0]
        if z3.is_true(inside):
            return found, known
        pad, defined = pads(idx)
        return z3.If(inside, found, pad), both(known, True if defined is True else z3.If(inside, TRUE, defined))

    return term


def padding(s: KernelFormulas, o: Any, element: Any) -> Formula:
    """Return what a load has outside its mask or tensor."""
    w = width(element)
    if isinstance(o, ops.LoadPtrTko):
        if o.paddingValue is not None:
            return s.fn(o.paddingValue)
        return lambda idx: (s.z.value(0, w), z3.BoolVal(False))
    value = o.view.type.padding_value
    if value is None:
        return lambda idx: (s.z.value(0, w), z3.BoolVal(False))
    # Patterns are as in memory, where bits of a narrow float come last.
    bits = PATTERNS[element.name][value] >> element.row.memory_bits - w if element.is_float else 0
    return lambda idx: (s.z.value(bits, w), True)


# ---------------------------------------------------------------- the state of memory


def state_of(s: KernelFormulas, o: Op) -> tuple[str, Index] | None:
    """Return the name of the state that a load reads, and the iterations it depends on; None before any store."""
    last = max((n for n, e in enumerate(s.effects, 1) if may_clash(s.homes, o, e.op)), default=0)
    around = [r for r in s.open if any(may_clash(s.homes, o, inner) for inner in walk(r.op) if stores(inner))]
    if not last and not around:
        return None
    loops = ",".join(str(r.number) for r in around)
    name = f"of {home(s.homes, o) or 'anything'} after effect {last} in loops {loops}"
    return name, tuple(r.iteration for r in around)


def ordered_before(s: KernelFormulas, read: LaterRead) -> set[tuple[int, int]]:
    """Return the effects that tokens put before a load: their numbers, and how many iterations earlier at least."""
    numbers = {e.op: n for n, e in enumerate(s.effects)}
    found: set[tuple[int, int]] = set()
    seen: set[tuple[Value, int]] = set()
    token = getattr(read.op, "token", None)
    todo: list[tuple[Value, int]] = [] if token is None else [(token, 0)]
    while todo:
        v, back = todo.pop()
        if (v, back) in seen or back > 1:
            continue
        seen.add((v, back))
        if v.owner in numbers:
            found.add((numbers[v.owner], back))
        todo += ((x, back + more) for x, more in _tokens_before(s, v))
    return found


def _tokens_before(s: KernelFormulas, v: Value) -> list[tuple[Value, int]]:
    """Return the tokens that a token waits for, and in which earlier iteration."""
    o = v.owner
    if isinstance(o, (ops.For, ops.Loop)):
        k = o.resultValues.index(v)
        started = [(o.initValues[k], 0)] if isinstance(o, ops.For) else []
        kind = ops.Continue if isinstance(o, ops.For) else ops.Break
        return started + [(end.operands[k], 0) for end in _ends(o, kind)]
    if isinstance(o, ops.If):
        k = o.results_.index(v)
        ends = [b.ops[-1] for b in o.blocks if b.ops]
        return [(end.operands[k], 0) for end in ends if isinstance(end, ops.Yield)]
    if isinstance(o, Op):
        return [(x, 0) for x in o.operands if not hasattr(x.type, "element") and x.type is v.type]
    home = s.needed.home(v)
    if home is None or not isinstance(home[0], (ops.For, ops.Loop)):
        return []
    loop, k = home[0], home[1] - isinstance(home[0], ops.For)
    return [(loop.initValues[k], 0), *((end.operands[k], 1) for end in _ends(loop, ops.Continue))]


def _ends(loop: Any, kind: type[Op]) -> list[Op]:
    """Return the exits of a loop of one kind, without those of loops inside."""
    found, todo = [], [loop.region]
    while todo:
        for o in todo.pop().ops:
            if isinstance(o, kind):
                found.append(o)
            elif isinstance(o, ops.If):
                todo += o.blocks
    return found


def unordered(left: KernelFormulas, right: KernelFormulas) -> str:
    """Return a load of the second kernel that tokens do not order after stores as they do in the first one."""
    wanted: dict[str, set[tuple[int, int]]] = {}
    for read in left.later_reads:
        wanted.setdefault(read.name, set()).update(ordered_before(left, read))
    for read in right.later_reads:
        if not wanted.get(read.name, set()) <= ordered_before(right, read):
            return read.op.name
    return ""


def effect_parts(s: KernelFormulas, o: Any) -> list[tuple[Formula, tuple[int, ...]]]:
    """Return what an atomic operation through a view depends on: addresses where it has any, and the tile."""
    address, mask = access(s, o)
    shape = o.value.type.shape

    def where(idx: Index) -> Term:
        (at, known), inside = address(idx), mask(idx)
        return z3.If(inside, at, s.z.value(0, ADDRESS)), both(known, True)

    def whether(idx: Index) -> Term:
        return z3.If(mask(idx), s.z.value(1, 1), s.z.value(0, 1)), True

    return [(where, shape), (whether, shape), (s.fn(o.value), shape)]
