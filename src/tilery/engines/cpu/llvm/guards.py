"""Checks of addresses in LLVM IR.

Elements are compared with the segment that their pointer comes from; only if they are not there, the table of all
segments of the launch, and then that of the kernel's own memory, is searched.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..loops.nodes import Guard
from ..segments import FIND, FIND_EACH
from ..text import Number, Text, vector

LARGE = 1 << 62
"""The distance from the first element of a box that no other reaches."""
FIND_LANES = """
define internal i1 @find_lanes(ptr %slots, i64 %own, ptr %addresses, ptr %mask, i64 %lanes, i64 %item, i1 %writes)
    nounwind noinline {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %lanes
  br i1 %more, label %lane, label %yes
lane:
  %i1 = add i64 %i, 1
  %pmask = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %pmask
  %active = icmp ne i8 %byte, 0
  br i1 %active, label %look, label %next
look:
  %paddress = getelementptr i64, ptr %addresses, i64 %i
  %low = load i64, ptr %paddress
  %high = add i64 %low, %item
  %found = call i1 @find(ptr %slots, i64 %own, i64 %low, i64 %high, i1 %writes)
  br i1 %found, label %next, label %none
next:
  br label %head
yes:
  ret i1 true
none:
  ret i1 false
}
"""
"""Whether the elements at some addresses, those whose byte of the mask is not 0, are found."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The names of the bounds of a segment, and of whether it may be written."""

    low: str
    high: str
    writable: str


@dataclass(frozen=True, slots=True)
class Dim:
    """A dimension of a box: the count and the stride in bytes, and the most elements that it may have, if known."""

    count: Number
    stride: Number
    most: int | None

    @property
    def reach(self) -> int:
        """The most bytes from the first element to the last."""
        return LARGE if self.most is None or not isinstance(self.stride, int) else (self.most - 1) * abs(self.stride)


def fault_if(g: Text, number: int, bad: str) -> None:
    """End the tile block with the fault of an operation where a condition holds."""
    if bad == "false":
        return
    fault, fine = g.fresh("fault"), g.fresh("fine")
    g.branch(bad, fault, fine, rarely=True)
    g.mark(fault)
    g.put(f"ret i64 {number + 1}")
    g.mark(fine)


def any_of(g: Text, mask: str, w: int) -> str:
    """Return whether some lane is true."""
    if w == 1:
        return mask
    f = f"@llvm.vector.reduce.or.v{w}i1"
    g.needs[f"declare i1 {f}(<{w} x i1>)"] = None
    return g.let(f"call i1 {f}(<{w} x i1> {mask})")


def guard_box(
    g: Text, s: Guard, start: str, dims: list[Dim], mask: str | None, home: Segment | None, alone: str = "false"
) -> None:
    """Check one box of elements. If `alone`, they must be in their home."""
    empty = "false" if mask is None else g.opposite(mask)
    odd: Number = start if s.item > 1 else 0
    for dim in dims:
        if isinstance(dim.count, int):
            if dim.count <= 0:
                return
        else:
            empty = g.either(empty, g.test("slt", dim.count, 1))
        if s.item > 1 and not (isinstance(dim.stride, int) and dim.stride % s.item == 0):
            several = g.test("sgt", dim.count, 1)
            odd = g.let(f"or i64 {odd}, {g.let(f'select i1 {several}, i64 {dim.stride}, i64 0')}")
    stray = sum(dim.reach for dim in dims)
    (first, last), bad = _near(g, dims) if stray < LARGE else _far(g, dims)
    if s.item > 1:
        bad = g.either(bad, g.test("ne", g.let(f"and i64 {odd}, {s.item - 1}"), 0))
    fault_if(g, s.fault, bad if empty == "false" else g.both(bad, g.opposite(empty)))
    low, high = g.let(f"add i64 {start}, {first}"), g.let(f"add i64 {start}, {g.add(last, s.item)}")
    if s.strict and home is not None:
        fault_if(g, s.fault, g.opposite(g.either(_inside(g, home, low, high, s.writes), empty)))
        return
    flag = "true" if s.writes else "false"
    search, fine = g.fresh("search"), g.fresh("found")
    g.branch(g.either(_inside(g, home, low, high, s.writes), empty), fine, search)
    g.mark(search)
    fault_if(g, s.fault, alone)
    g.functions["@find"] = FIND
    found = g.let(f"call i1 @find(ptr %slots, i64 %own, i64 {low}, i64 {high}, i1 {flag})")
    if dims:
        each = g.fresh("each")
        g.branch(found, fine, each)
        g.mark(each)
        g.functions["@find_each"] = FIND_EACH
        room = g.slot(f"[{2 * len(dims)} x i64]")
        for n, number in enumerate(number for dim in dims for number in (dim.count, dim.stride)):
            g.store("i64", number, g.at("i64", room, n))
        place = f"ptr {room}, i64 {len(dims)}, i64 {start}, i64 {s.item}"
        code = g.let(f"call i64 @find_each(ptr %slots, i64 %own, ptr %control, {place}, i1 {flag})")
        lost = g.fresh("lost")
        g.branch(g.test("eq", code, 0), fine, lost)
        g.mark(lost)
        missing = g.test("sgt", code, 0)
        g.put(f"ret i64 {g.let(f'select i1 {missing}, i64 {s.fault + 1}, i64 -1')}")
    else:
        fault_if(g, s.fault, g.opposite(found))
        g.jump(fine)
    g.mark(fine)


def _near(g: Text, dims: list[Dim]) -> tuple[list[Number], str]:
    """Return the distances to the first and the last element of a box that is small."""
    reaches: list[Number] = [0, 0]
    for dim in dims:
        assert isinstance(dim.stride, int)
        side = int(dim.stride > 0)
        reaches[side] = g.add(reaches[side], g.mul(g.sub(dim.count, 1), dim.stride))
    return reaches, "false"


def _far(g: Text, dims: list[Dim]) -> tuple[list[Number], str]:
    """Return the distances to the first and the last element of a box, and whether one of them is too large."""
    reaches = ["0", "0"]
    for dim in dims:
        if isinstance(dim.count, int) and isinstance(dim.stride, int):
            reach = (dim.count - 1) * dim.stride
            reaches[reach > 0] = g.let(f"add i128 {reaches[reach > 0]}, {reach}")
            continue
        a, b = (
            str(x) if isinstance(x, int) else g.cast("sext", x, "i64", "i128", 1)
            for x in (g.sub(dim.count, 1), dim.stride)
        )
        name = g.let(f"mul i128 {a}, {b}")
        for side, which in enumerate(("smin", "smax")):
            reaches[side] = g.let(f"add i128 {reaches[side]}, {g.intrinsic(which, 'i128', 1, name, '0')}")
    bad = "false"
    for name in reaches:
        bad = g.either(bad, g.let(f"icmp ugt i128 {g.let(f'add i128 {name}, {LARGE}')}, {2 * LARGE}"))
    return [g.cast("trunc", x, "i128", "i64", 1) for x in reaches], bad


def _inside(g: Text, home: Segment | None, low: str, high: str, writes: bool) -> str:
    if home is None:
        return "false"
    ok = g.both(g.test("uge", low, home.low), g.test("ule", high, home.high))
    ok = g.both(ok, g.test("ult", low, high))
    return g.both(ok, g.test("ne", home.writable, 0)) if writes else ok


def guard_lanes(
    g: Text, s: Guard, addresses: str, mask: str | None, w: int, home: Segment | None, first: Number | None,
    alone: str = "false",
) -> None:  # fmt: skip
    """Check one element per lane; `first` is the address of the first one, if they are known to be neighbours."""
    t = "i64"
    if s.item > 1:
        low = g.op("and", t, w, addresses, g.const(s.item - 1, t, w))
        odd = g.compare("ne", t, w, low, g.const(0, t, w))
        fault_if(g, s.fault, any_of(g, odd if mask is None else g.op("and", "i1", w, odd, mask), w))
    search, fine = g.fresh("search"), g.fresh("found")
    if home is None:
        g.jump(search)
    elif first is not None and not s.strict:  # neighbours
        high = g.add(first, w * s.item)
        g.branch(_inside(g, home, str(first), str(high), s.writes), fine, search)
    else:
        bad = _any_outside(g, s, home, addresses, mask, w)
        if s.strict:
            fault_if(g, s.fault, bad)
            return
        g.branch(bad, search, fine)
    g.mark(search)
    fault_if(g, s.fault, alone)
    g.functions["@find"], g.functions["@find_lanes"] = FIND, FIND_LANES
    room, bytes_ = g.slot(f"[{w} x i64], align 64"), g.slot(f"[{w} x i8], align 64")
    g.store(vector(t, w), addresses, room, 8)
    chosen = g.const(1, "i8", w) if mask is None else g.cast("zext", mask, "i1", "i8", w)
    g.store(vector("i8", w), chosen, bytes_, 1)
    flag = "true" if s.writes else "false"
    operands = f"ptr %slots, i64 %own, ptr {room}, ptr {bytes_}, i64 {w}, i64 {s.item}, i1 {flag}"
    fault_if(g, s.fault, g.opposite(g.let(f"call i1 @find_lanes({operands})")))
    g.jump(fine)
    g.mark(fine)


def _any_outside(g: Text, s: Guard, home: Segment, addresses: str, mask: str | None, w: int) -> str:
    """Return whether an element is not in the segment."""
    t = "i64"
    last = g.let(f"sub i64 {home.high}, {s.item}")
    outside = g.op(
        "or", "i1", w,
        g.compare("ult", t, w, addresses, g.splat(home.low, t, w)),
        g.compare("ugt", t, w, addresses, g.splat(last, t, w)),
    )  # fmt: skip
    if mask is not None:
        outside = g.op("and", "i1", w, outside, mask)
    bad = g.either(any_of(g, outside, w), g.test("ult", g.let(f"sub i64 {home.high}, {home.low}"), s.item))
    return g.either(bad, g.test("eq", home.writable, 0)) if s.writes else bad
