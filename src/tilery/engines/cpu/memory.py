"""Checks of addresses, and access through tiles of pointers.

An access is compared with the segment that its pointer comes from; only if it is not there, the table of all segments
of the launch, and then that of the kernel's own memory, is searched. An element that is in none of them ends the tile
block with a fault.
"""

from __future__ import annotations

from typing import Any

from ...ops import Alloca, GetGlobal, LoadPtrTko, StorePtrTko
from ...types import Ptr, Scalar
from ..common.layout import alloca_bytes
from .abi import NotLowered
from .registry import emits
from .segments import Box, find, find_each, inside
from .text import BYTES, Number, vector
from .tiles import Home, is_scalar, reg, register, shape, stored, tile
from .writer import Writer, pointer

LINE = 64
"""The alignment of the arena."""
MAX_ALIGNMENT = 1 << 20
"""The largest alignment of an `alloca`."""


def fault_if(g: Writer, o: Any, bad: str) -> None:
    """End the tile block with a fault where a condition holds."""
    fault, fine = g.fresh("fault"), g.fresh("fine")
    g.branch(bad, fault, fine, rarely=True)
    g.mark(fault)
    g.put(f"ret i64 {g.numbers_of[o] + 1}")
    g.mark(fine)


def check_box(
    g: Writer, o: Any, home: Home | None, bounds: tuple[str, str], item: int, writes: bool, empty: str, box: Box
) -> None:
    """Fault unless the elements of a box, which are in these bounds, lie in segments. Usually all bounds are in one."""
    search, each, fine = g.fresh("search"), g.fresh("each"), g.fresh("found")
    g.branch(g.either(inside(g, home, *bounds, writes), empty), fine, search)
    g.mark(search)
    g.branch(find(g, *bounds, writes), fine, each)
    g.mark(each)
    fault_if(g, o, g.opposite(find_each(g, box, item, writes)))
    g.jump(fine)
    g.mark(fine)


# ---------------------------------------------------------------- tiles of pointers


def pointee(value: Any) -> Scalar:
    found = tile(value).element
    assert isinstance(found, Ptr)
    return found.pointee


def check_addresses(
    g: Writer, o: Any, home: Home | None, addresses: str, mask: str | None, w: int, item: int, writes: bool, run: bool
) -> None:
    """Fault if an address that the mask leaves is not one of an element in a segment. A `run` has neighbours only."""
    if item > 1:
        odd = g.compare("ne", "i64", w, g.op("and", "i64", w, addresses, g.const(item - 1, "i64", w)),
                        g.const(0, "i64", w))  # fmt: skip
        fault_if(g, o, any_of(g, odd if mask is None else g.op("and", "i1", w, odd, mask), w))
    search, fine = g.fresh("search"), g.fresh("found")
    if run:
        first = g.part(addresses, "i64", w, 0, 1)
        ok = inside(g, home, first, str(g.add(first, w * item)), writes)
    else:
        ok = _all_inside(g, home, addresses, mask, w, item, writes)
    g.branch(ok, fine, search)
    g.mark(search)
    for lane in range(w):
        low = g.part(addresses, "i64", w, lane, 1)
        found = find(g, low, str(g.add(low, item)), writes)
        bad = g.let(f"xor i1 {found}, true")
        if mask is not None:
            bad = g.both(bad, g.part(mask, "i1", w, lane, 1))
        fault_if(g, o, bad)
    g.jump(fine)
    g.mark(fine)


def _all_inside(g: Writer, home: Home | None, a: str, mask: str | None, w: int, item: int, writes: bool) -> str:
    if home is None:
        return "false"
    high = g.let(f"sub i64 {home.high}, {item}")
    ok = g.op("and", "i1", w, g.compare("uge", "i64", w, a, g.splat(home.low, "i64", w)),
              g.compare("ule", "i64", w, a, g.splat(high, "i64", w)))  # fmt: skip
    if mask is not None:
        ok = g.op("or", "i1", w, ok, g.op("xor", "i1", w, mask, _true(w)))
    good = g.let(f"xor i1 {any_of(g, g.op('xor', 'i1', w, ok, _true(w)), w)}, true")
    good = g.both(good, g.test("uge", g.let(f"sub i64 {home.high}, {home.low}"), item))
    return g.both(good, g.test("ne", home.writable, 0)) if writes else good


def _true(w: int) -> str:
    return "true" if w == 1 else "splat (i1 true)"


def any_of(g: Writer, mask: str, w: int) -> str:
    if w == 1:
        return mask
    f = f"@llvm.vector.reduce.or.v{w}i1"
    g.needs[f"declare i1 {f}(<{w} x i1>)"] = None
    return g.let(f"call i1 {f}(<{w} x i1> {mask})")


def pointers(g: Writer, addresses: str, w: int) -> str:
    return g.let(f"inttoptr {vector('i64', w)} {addresses} to {vector('ptr', w)}")


@emits(LoadPtrTko)
def load_ptr(g: Writer, o: LoadPtrTko) -> None:
    """Loads happen where they stand: their addresses are checked there."""
    e, t = pointee(o.source), reg(o.result)
    if e.bits == 4:
        raise NotLowered(o.name)
    home, out = g.homes.get(o.source), None if is_scalar(o.result) else g.buffer(shape(o.result), t)
    slot = g.slot(stored(t)) if out is None else ""

    def body(index: list[Number], vd: int, w: int) -> None:
        x = _loaded_chunk(g, o, home, stored(register(e)), index, vd, w)
        if out is None:
            g.store(stored(t), x, slot)
        else:
            g.write(out, x, index, w)

    values = [v for v in (o.source, o.mask, o.paddingValue) if v is not None]
    before, g.lanes = g.lanes, min(g.lanes, 16)
    g.nest(shape(o.result), body, values)
    g.lanes = before
    held: Any = out if out is not None else g.truth(g.load(stored(t), slot), t, 1)
    g.settle({o.result: held})


def _loaded_chunk(g: Writer, o: LoadPtrTko, home: Home | None, t: str, index: Any, vd: int, w: int) -> str:
    a = g.chunk(o.source, index, vd, w)
    mask = None if o.mask is None else g.chunk(o.mask, index, vd, w)
    run = g.runs(o.source, vd, w)
    check_addresses(g, o, home, a, mask, w, BYTES[t], False, run)
    rest = g.const(0, t, w)
    if o.paddingValue is not None:
        rest = g.chunk(o.paddingValue, index, vd, w)
        rest = g.clean(rest, o.paddingValue, w)
        if reg(o.paddingValue) == "i1":
            rest = g.cast("zext", rest, "i1", "i8", w)
    slot = g.slot(vector(t, w))
    if w == 1:
        g.store(t, rest, slot)
        g.when(mask or "true", lambda: g.store(t, g.load(t, pointer(g, a), BYTES[t]), slot))
        return g.load(t, slot)
    first = g.part(a, "i64", w, 0, 1)
    if run:
        return g.masked_load(t, pointer(g, first), w, mask, rest)
    steps = g.op("add", "i64", w, g.splat(first, "i64", w), g.constants([n * BYTES[t] for n in range(w)], "i64"))
    wrong = g.compare("ne", "i64", w, a, steps)
    if mask is not None:
        wrong = g.op("or", "i1", w, wrong, g.op("xor", "i1", w, mask, _true(w)))

    def scattered() -> None:
        g.store(vector(t, w), g.gather(pointers(g, a, w), t, w, mask, rest), slot)

    def neighbours() -> None:
        g.store(vector(t, w), g.load(vector(t, w), pointer(g, first), BYTES[t]), slot)

    g.when(any_of(g, wrong, w), scattered, neighbours)
    return g.load(vector(t, w), slot)


@emits(StorePtrTko)
def store_ptr(g: Writer, o: StorePtrTko) -> None:
    e = pointee(o.destination)
    if e.bits == 4:
        raise NotLowered(o.name)
    t = stored(register(e))
    home = g.homes.get(o.destination)
    values = [v for v in (o.destination, o.value, o.mask) if v is not None]
    settle_loads(g, values)

    def body(index: list[Number], vd: int, w: int) -> None:
        a = g.chunk(o.destination, index, vd, w)
        x, kind = g.final(g.chunk(o.value, index, vd, w), o.value, w)
        mask = None if o.mask is None else g.chunk(o.mask, index, vd, w)
        run = g.runs(o.destination, vd, w)
        check_addresses(g, o, home, a, mask, w, BYTES[t], True, run)
        if w == 1:
            g.when(mask or "true", lambda: g.store(kind, x, pointer(g, a), BYTES[t]))
        elif run:
            g.masked_store(kind, x, pointer(g, g.part(a, "i64", w, 0, 1)), w, mask)
        else:
            _scatter(g, pointers(g, a, w), x, kind, mask, w)

    before, g.lanes = g.lanes, min(g.lanes, 16)
    g.nest(shape(o.value), body, values)
    g.lanes = before


def _scatter(g: Writer, places: str, x: str, t: str, mask: str | None, w: int) -> None:
    name = f"@llvm.masked.scatter.v{w}{'f32' if t == 'float' else 'f64' if t == 'double' else t}.v{w}p0"
    g.needs[f"declare void {name}(<{w} x {t}>, <{w} x ptr>, i32, <{w} x i1>)"] = None
    m = mask or _true(w)
    g.put(f"call void {name}(<{w} x {t}> {x}, <{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {m})")


def settle_loads(g: Writer, values: list[Any]) -> None:
    """Put what is behind values in buffers if it still has to be loaded, since memory is about to change."""
    for v in values:
        if g.accesses([v]):
            if is_scalar(v):
                g.settle({v: g.scalar(v)})
            else:
                g.materialise(v)


# ---------------------------------------------------------------- memory by name


def reserve_allocas(g: Writer, allocas: list[Alloca]) -> None:
    """Reserve memory in the arena, zeroed when the tile block starts.

    It is reserved before all buffers, so that none of a region that has ended is in the same place.
    """
    if not allocas:
        return
    align, end = LINE, 0
    for o in allocas:
        align = max(align, o.alignment)
        end += -end % max(LINE, o.alignment)
        g.allocas[o] = end
        end += alloca_bytes(o)
    if align > MAX_ALIGNMENT:
        raise NotLowered("alloca")
    # The arena is aligned to a line only: the address is rounded up at run time.
    room = g.buffer((end,), "i8", align - LINE).pointer
    g.slots += [
        f"  %own.n = ptrtoint ptr {room} to i64",
        f"  %own.u = add i64 %own.n, {align - LINE}",
        f"  %own = and i64 %own.u, {-align}",
        "  %own.p = inttoptr i64 %own to ptr",
        f"  call void @llvm.memset.p0.i64(ptr %own.p, i8 0, i64 {end}, i1 false)",
    ]
    g.needs["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"] = None


@emits(Alloca)
def alloca(g: Writer, o: Alloca) -> None:
    """Memory in the arena, the same each time."""
    low = g.let(f"add i64 %own, {g.allocas[o]}")
    g.held[o.result] = low
    g.homes[o.result] = Home(low, g.let(f"add i64 {low}, {alloca_bytes(o)}"), "1")


@emits(GetGlobal)
def get_global(g: Writer, o: GetGlobal) -> None:
    name = o.name_
    if name not in g.globals:
        raise NotLowered(o.name)
    number = list(g.globals).index(name)
    g.held[o.result] = f"%global{number}"
    g.homes[o.result] = Home(f"%glow{number}", f"%ghigh{number}", f"%gwrite{number}")


def provenance(g: Writer, o: Any) -> None:
    """Return the operand that the pointers of an operation come from: the only one with pointers, if there is one."""
    if not o.results or not _has_pointers(o.results[0]):
        return
    sources = {g.homes.get(v) for v in o.operands if _has_pointers(v)}
    if len(sources) == 1 and (home := sources.pop()) is not None:
        for v in o.results:
            if _has_pointers(v):
                g.homes[v] = home


def _has_pointers(value: Any) -> bool:
    return isinstance(getattr(value.type, "element", None), Ptr)
