"""Makers of loads and stores through pointers, atomics, allocations and tokens: in bounds and without races."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from ..attrs import AtomicRMWMode, Dense, SymbolVisibility
from ..declare.operation import OpDef
from ..ir import Value
from ..types import BF16, F16, F32, F64, I1, I32, I64, NUMBERS, Ptr, Scalar, Tile
from ..version import Version
from . import draw
from .facts import F4, Pointee, ReachableMemory, pointee, stored_bytes
from .generic import ordering
from .kernel import MOST_PARAMS, Draft, Unwanted, create
from .values import get, index, index_element, pick, positions, shape, spread, tile_of
from .versions import Feature

WORDS = (I32, I64, F32, F64)
LARGEST = 256
"""The most elements of a tile of pointers."""


def in_memory(version: Version) -> list[Scalar]:
    """List the types that `offset` works with: an f4E2M1FN has no address of its own."""
    return [s for s in NUMBERS if s.since <= version and s is not F4]


# ---------------------------------------------------------------- where pointers come from


def new_global(k: Draft) -> None:
    """Add a global variable of any element type to the module."""
    element = k.rng.choice(in_memory(k.version))
    t = Tile((1 << k.rng.randrange(7),), element)
    full = t.size <= 32 and k.chance(0.6)
    numbers = [draw.bits(k.rng, element) for _ in range(t.size if full else 1)]
    made = ops.Global(
        sym_name=draw.symbol(k.rng, k.unit.symbols),
        value=Dense.of(t, numbers),
        alignment=k.rng.choice((0, 0, 16, 128)),
    )
    if k.has(ops.Global, "constant"):
        made.constant = k.chance(0.3)
        made.symbol_visibility = k.rng.choice(tuple(SymbolVisibility))
    k.ask(made)
    k.unit.globals.append(made)


def base(k: Draft, allowed: Sequence[Scalar], count: int, writable: bool | None) -> Value | None:
    """Find or add a pointer to at least `count` elements of one of these types; `writable=None` allows both."""

    def fine(v: Value) -> bool:
        target = k.facts.targets[v]
        suits = writable is None or target.memory.writable == writable
        return pointee(v.type) in allowed and target.room >= count and suits and k.reachable(target.memory)

    found = [v for v in k.bases + k.param_bases if fine(v)]
    if found and (len(k.params) >= MOST_PARAMS or k.chance(0.8)):
        return k.rng.choice(found)
    if len(k.params) >= MOST_PARAMS or (writable and not k.effects):
        return None
    size = max(count, k.rng.choice((16, 64, 100, 256, 1000)))
    written = k.effects and k.chance(0.5) if writable is None else writable
    return k.buffer(k.rng.choice(allowed), size, written)


def pointers(
    k: Draft,
    allowed: Sequence[Scalar],
    *,
    dims: tuple[int, ...] | None = None,
    writable: bool | None = None,
    distinct: bool = False,
) -> Value | None:
    """Find or make a tile of pointers that may be accessed, of this shape or any."""

    def fine(v: Value) -> bool:
        target = k.facts.targets.get(v)
        if target is None or pointee(v.type) not in allowed or not k.reachable(target.memory):
            return False
        one = target.distinct or tile_of(v).size == 1
        return (one or not distinct) and (writable is None or target.memory.writable == writable)

    known = [v for v in k.pool[-32:] if v in k.facts.targets and fine(v) and dims in (None, tile_of(v).shape)]
    if known and k.chance(0.6):
        return k.rng.choice(known)
    if dims is None:
        dims = shape(k, LARGEST)
    size = Tile(dims, I32).size
    start = base(k, allowed, size if distinct else 1, writable)
    if start is None:
        return None
    room = k.facts.targets[start].room
    if not dims and k.chance(0.3):
        return start
    element = index_element(k, room)
    at = positions(k, room, dims, element) if distinct and dims else index(k, room, dims, element)
    return advance(k, spread(k, start, dims), at)


def advance(k: Draft, ptr: Value, by: Value) -> Value:
    """Emit `offset` by integers that are known to fit."""
    o = k.emit(ops.Offset(ptr=ptr, offset=by))
    k.facts.targets[o.result] = k.facts.advanced(ptr, by)
    return o.result


def offset(k: Draft, opdef: OpDef) -> bool:
    """An `offset` of known pointers, or of a new buffer."""
    known = [v for v in k.pool[-32:] if v in k.facts.targets and pointee(v.type) is not F4]
    if not known or k.chance(0.2):
        return pointers(k, in_memory(k.version)) is not None
    ptr = k.rng.choice(known)
    room = k.facts.targets[ptr].room
    advance(k, ptr, index(k, room, tile_of(ptr).shape, index_element(k, room)))
    return True


def alloca(k: Draft, opdef: OpDef) -> bool:
    """An `alloca`, all of which is written immediately."""
    if not k.effects:
        return False
    element = k.rng.choice(in_memory(k.version))
    count = 1 << k.rng.randrange(6)
    align = max(stored_bytes(element), k.rng.choice((1, 4, 16, 128)))
    extra = k.rng.choice((0, 0, 3))
    pointer = Value(Tile((), Ptr(element)))
    seen = len(k.pool)
    k.emit(ops.Alloca(num_elem=count + extra, alignment=align, global_=k.chance(0.2), result=pointer))
    k.facts.targets[pointer] = Pointee(ReachableMemory(element, count, writable=True), count, True, align)
    try:
        row = spread(k, pointer, (count,))
        every = positions(k, count, (count,), index_element(k, count))
        store_to(k, advance(k, row, every), get(k, Tile((count,), element)))
    except Unwanted:
        del k.pool[seen:]  # the memory was not written, so nothing may read it
        raise
    k.bases.append(pointer)
    return True


def some_pointers(k: Draft) -> Value | None:
    """Find or make pointers."""
    found = pick(k, lambda t: isinstance(t, Tile) and isinstance(t.element, Ptr))
    return pointers(k, in_memory(k.version)) if found is None else found


def pointer_to_int(k: Draft, opdef: OpDef) -> bool:
    """Addresses, which differ between runs: they are only cast back to pointers, or subtracted from each other."""
    ptr = some_pointers(k)
    if ptr is None:
        return False
    address = k.emit(ops.PtrToInt(source=ptr, result=Value(Tile(tile_of(ptr).shape, I64))), visible=False).result
    target = k.facts.targets.get(ptr)
    if target is not None and k.chance(0.4):
        width = stored_bytes(pointee(ptr.type))
        if width * target.room < 1 << 31 and pointee(ptr.type) is not F4:
            further = advance(k, ptr, index(k, target.room, tile_of(ptr).shape, index_element(k, target.room)))
            there = k.emit(ops.PtrToInt(source=further, result=Value(address.type)), visible=False).result
            k.emit(ops.SubI(lhs=there, rhs=address))
            return True
    back = k.emit(ops.IntToPtr(source=address, result=Value(ptr.type))).result
    if target is not None:
        k.facts.targets[back] = target
    return True


def int_to_pointer(k: Draft, opdef: OpDef) -> bool:
    """An `int_to_ptr` of a pointer's address, or of integers; pointers made of those are never dereferenced."""
    if k.chance(0.7):
        return pointer_to_int(k, opdef)
    to = Ptr(k.rng.choice([s for s in NUMBERS if s.since <= k.version]))
    source = get(k, Tile(shape(k), I64))
    k.emit(ops.IntToPtr(source=source, result=Value(Tile(tile_of(source).shape, to))))
    return True


def recast(k: Draft, opdef: OpDef) -> bool:
    """A `ptr_to_ptr`, mostly to a type of the same width, so that the result can be dereferenced."""
    ptr = some_pointers(k)
    if ptr is None:
        return False
    every = [s for s in NUMBERS if s.since <= k.version]
    same = [s for s in every if stored_bytes(s) == stored_bytes(pointee(ptr.type)) and s not in (I1, F4)]
    to = k.rng.choice(same if same and k.chance(0.7) else every)
    result = k.emit(ops.PtrToPtr(source=ptr, result=Value(Tile(tile_of(ptr).shape, Ptr(to))))).result
    target = k.facts.recast(ptr, to)
    if target is not None:
        k.facts.targets[result] = target
        if not tile_of(result).shape:
            k.bases.append(result)
    return True


# ---------------------------------------------------------------- loads and stores


def load_ptr(k: Draft, opdef: OpDef) -> bool:
    """A load; elements that a mask leaves undefined are replaced immediately."""
    ptr = pointers(k, in_memory(k.version))
    if ptr is None:
        return False
    memory = k.facts.targets[ptr].memory
    t = Tile(tile_of(ptr).shape, pointee(ptr.type))
    mask = get(k, Tile(t.shape, I1)) if k.chance(0.4) else None
    padding = get(k, t) if mask is not None and k.chance(0.6) else None
    o = ops.LoadPtrTko(source=ptr, mask=mask, paddingValue=padding, token=k.reading(memory), **ordering(k, opdef))
    if k.chance(0.15):
        o.optimization_hints = draw.hints(k.rng, "latency")
    k.emit(o, visible=mask is None or padding is not None)
    k.read(memory, o.result_token)
    if mask is not None and padding is None:
        k.emit(ops.Select(cond=mask, val_if_true=o.result, val_if_false=get(k, t)))
    return True


def store_to(k: Draft, ptr: Value, value: Value, mask: Value | None = None) -> None:
    """Emit a store, ordered after everything so far."""
    opdef = ops.StorePtrTko.opdef
    token = k.settle()
    o = ops.StorePtrTko(destination=ptr, value=value, mask=mask, token=token, **ordering(k, opdef))
    if k.chance(0.15):
        o.optimization_hints = draw.hints(k.rng, "latency")
    k.wrote(k.emit(o).result_token)


def store_ptr(k: Draft, opdef: OpDef) -> bool:
    """A store of a visible value to distinct addresses."""
    if not k.effects:
        return False
    allowed = in_memory(k.version)
    value = pick(k, lambda t: isinstance(t, Tile) and t.element in allowed and t.size <= LARGEST)
    if value is None:
        value = get(k, Tile(shape(k, LARGEST), k.rng.choice(allowed)))
    t = tile_of(value)
    assert isinstance(t.element, Scalar)
    ptr = pointers(k, [t.element], dims=t.shape, writable=True, distinct=True)
    if ptr is None:
        return False
    store_to(k, ptr, value, get(k, Tile(t.shape, I1)) if k.chance(0.3) else None)
    return True


# ---------------------------------------------------------------- atomics


def summed(k: Draft) -> list[Scalar]:
    """List the element types that an atomic can add to."""
    return [*WORDS, F16] + [BF16] * k.can(Feature.BF16_ATOMICS)


def modes(element: Scalar) -> list[AtomicRMWMode]:
    """List the modes in which an atomic works on an element type."""
    special = {AtomicRMWMode.ADDF: element.is_float, AtomicRMWMode.XCHG: element in WORDS}
    return [m for m in AtomicRMWMode if special.get(m, element.is_int)]


def atomic(k: Draft, opdef: OpDef) -> bool:
    """`atomic_rmw_tko` or `atomic_cas_tko` on distinct addresses, so that the results are deterministic."""
    if not k.effects:
        return False
    swap = opdef.cls is ops.AtomicCASTko
    ptr = pointers(k, WORDS if swap else summed(k), writable=True, distinct=True)
    if ptr is None:
        return False
    t = Tile(tile_of(ptr).shape, pointee(ptr.type))
    mask = get(k, Tile(t.shape, I1)) if k.chance(0.3) else None
    value, compared = get(k, t), get(k, t) if swap else None
    drawn = ordering(k, opdef)
    token = k.settle()
    o: ops.AtomicCASTko | ops.AtomicRMWTko
    if compared is not None:
        o = ops.AtomicCASTko(pointers=ptr, cmp=compared, val=value, mask=mask, token=token, **drawn)
    else:
        drawn["mode"] = k.rng.choice(modes(pointee(ptr.type)))
        o = ops.AtomicRMWTko(pointers=ptr, arg=value, mask=mask, token=token, **drawn)
    k.emit(o, visible=mask is None)
    k.wrote(o.result_token)
    if mask is not None:
        # Masked elements have no defined result.
        k.emit(ops.Select(cond=mask, val_if_true=o.result, val_if_false=get(k, t)))
    return True


# ---------------------------------------------------------------- tokens


def make_token(k: Draft, opdef: OpDef) -> bool:
    """A token that the next join waits for."""
    token = k.emit(ops.MakeToken()).result
    if k.effects:
        k.pending.append(token)
    return True


def join_tokens(k: Draft, opdef: OpDef) -> bool:
    """A join of all pending tokens, and of new ones if there are fewer than two."""
    if k.effects:
        while len(k.pending) + (k.token is not None) < 2:
            k.pending.append(k.emit(ops.MakeToken()).result)
        k.settle()
    return k.effects


def ordered(k: Draft, opdef: OpDef) -> bool:
    """An operation that only takes part in the order of memory, with a token if it needs one."""
    if not k.effects:
        return False
    needed = opdef.field("token").arity == "one"
    o = create(opdef, token=k.settled() if needed else k.settle())
    k.wrote(k.emit(o).result_token)
    return True


def stored(k: Draft, value: Value) -> bool:
    """Store a value in a buffer, where it is observable; return False if it cannot be stored."""
    t = tile_of(value)
    if not isinstance(t.element, Scalar) or t.element is F4 or t.element.text == "i4" or t.size > LARGEST:
        return False
    ptr = pointers(k, [t.element], dims=t.shape, writable=True, distinct=True)
    if ptr is not None:
        store_to(k, ptr, value)
    return ptr is not None
