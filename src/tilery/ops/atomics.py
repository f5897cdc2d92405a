"""Atomic operations on memory."""

from __future__ import annotations

from ..attrs import AtomicRMWMode, MemoryScope
from ..attrs import MemoryOrderingSemantics as Ordering
from ..declare.constraints import AnyTile, AnyTileView, BoolTile, IntTile, PtrTile, TokenType
from ..declare.fields import attr, operand, optional, out, variadic
from ..declare.operation import Op, op
from ..declare.relations import Objection, same_shape, same_type
from ..ir import Value
from ..types import GatherScatterView, Scalar, quoted
from ..version import V13_3
from .checks import Answer, atomic_mode, atomic_ordering, commas, pointee, tile_rank, tile_shape, tile_type, view_type
from .common import MASK, ORDERING, SCOPE, TOKEN_IN, TOKEN_OUT
from .views import PARTITION

GROUP = "Atomics"
STRONG = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)


def _tma(o: AtomicRedViewTko) -> Answer:
    """Check what the bulk copy engine requires."""
    if o.memory_ordering_semantics is not Ordering.RELAXED:
        message = "only 'relaxed' memory ordering is supported for view-based atomic reductions"
        return Objection(message, "memory_ordering_semantics")
    if o.memory_scope is MemoryScope.SYS:
        return Objection(
            "memory scope 'sys' is not supported for view-based atomic reductions; use 'tl_blk' or 'device' "
            "for TMA compatibility",
            "memory_scope",
        )
    return None


def _positions(o: AtomicRedViewTko, rank: int) -> Answer:
    if len(o.index) != rank:
        return f"expected {rank} index operand(s) for view with tile rank {rank}, got {len(o.index)}"
    for number, value in enumerate(o.index):
        if tile_rank(value):
            shape = commas(tile_shape(value))
            return f"index operand {number} must be a scalar tile (rank 0), got shape {shape}"
    return None


@op("atomic_cas_tko", 0x07, group=GROUP, segmented=True,
    rules=[same_shape("pointers", "cmp", "val", "result"), same_type("cmp", "val", "result")],
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $pointers `,` $cmp `,` $val (`,` $mask^)? "
           "(`token` `` `=` `` $token^)? attr-dict `:` type($pointers) `,` type($val) (`,` type($mask)^)? "
           "`->` type($result) `,` type($result_token)",
    example="%0, %1 = atomic_cas_tko relaxed device %ptr, %x, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token")
class AtomicCASTko(Op):
    """Atomic compare-and-swap: replace elements in memory that equal `cmp`. Floats are compared by their bits."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=STRONG)
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE)
    pointers: Value = operand(PtrTile, "The elements in memory.")
    cmp: Value = operand(AnyTile, "The values to compare with.")
    val: Value = operand(AnyTile, "The replacements for elements that are equal.")
    mask: Value | None = optional(BoolTile, MASK)
    token: Value | None = optional(TokenType, TOKEN_IN)
    result: Value = out(AnyTile, "The previous elements in memory.")
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        element = tile_type(self.val).element
        if (why := pointee(self.pointers.type, element, "val")) is not None:
            return why
        if not isinstance(element, Scalar) or element.bits not in (32, 64):
            return "expect only float or integer types with 32 or 64 bit"
        if self.mask is not None and tile_shape(self.mask) != tile_shape(self.val):
            return "failed to verify that all of {pointers, val, cmp and mask} have same shape"
        return atomic_ordering(self)


@op("atomic_red_view_tko", 0x75, since=V13_3, group=GROUP, segmented=True,
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $view `[` $index `]` `,` keyword($mode) `,` "
           "$value (`token` `=` $token^)? attr-dict-with-keyword `:` type($value) `,` type($view) index-types($index) "
           "`->` type($result_token)",
    example=f"""{PARTITION}
        %a = constant <f32: 1.0> : tile<8xf32>
        %0 = atomic_red_view_tko relaxed device %view[%n], addf, %a : tile<8xf32>, \
partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token""")
class AtomicRedViewTko(Op):
    """Atomic reduction: combine a tile with memory through a view, element by element."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=[Ordering.RELAXED])
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE, only=[MemoryScope.TL_BLK, MemoryScope.DEVICE])
    view: Value = operand(AnyTileView, "The view.")
    index: tuple[Value, ...] = variadic(IntTile, "The index of the tile.")
    mode: AtomicRMWMode = attr(
        AtomicRMWMode, "How they are combined.", only=[m for m in AtomicRMWMode if m is not AtomicRMWMode.XCHG]
    )
    value: Value = operand(AnyTile, "The tile.")
    token: Value | None = optional(TokenType, TOKEN_IN)
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        view, value = view_type(self.view), tile_type(self.value)
        if isinstance(view, GatherScatterView):
            return "gather_scatter_view is not supported; use partition_view instead"
        if view.padding_value is not None:
            return "views with padding_value are not supported for atomic reductions"
        tile = view.tile_type
        if tile.element is not value.element:
            return (
                f"view element type ({quoted(tile.element)}) must match value element type ({quoted(value.element)})"
            )
        if tile.shape != value.shape:
            return (
                f"view tile shape {commas(tile.shape)} must match value shape {commas(value.shape)} "
                "for element-wise atomic operations"
            )
        if self.mode is AtomicRMWMode.XCHG:
            return Objection("atomic_red_view_tko op cannot use xchg operation", "mode")
        return atomic_mode(self.mode, value.element) or _tma(self) or _positions(self, tile.rank)


@op("atomic_rmw_tko", 0x08, group=GROUP, segmented=True,
    rules=[same_shape("pointers", "arg", "result"), same_type("arg", "result")],
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $pointers `,` keyword($mode) `,` $arg "
           "(`,` $mask^)? (`token` `` `=` `` $token^)? attr-dict `:` type($pointers) `,` type($arg) "
           "(`,` type($mask)^)? `->` type($result) `,` type($result_token)",
    example="%0, %1 = atomic_rmw_tko relaxed device %ptr, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token")
class AtomicRMWTko(Op):
    """Atomic read-modify-write: combine elements with memory and return the old ones."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=STRONG)
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE)
    pointers: Value = operand(PtrTile, "The elements in memory.")
    mode: AtomicRMWMode = attr(AtomicRMWMode, "How they are combined.")
    arg: Value = operand(AnyTile, "The values to combine them with.")
    mask: Value | None = optional(BoolTile, MASK)
    token: Value | None = optional(TokenType, TOKEN_IN)
    result: Value = out(AnyTile, "The previous elements in memory.")
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        return self.check_types() or atomic_mode(self.mode, tile_type(self.arg).element) or atomic_ordering(self)

    def check_types(self) -> Answer:
        if (why := pointee(self.pointers.type, tile_type(self.arg).element, "arg")) is not None:
            return why
        if self.mask is not None and tile_shape(self.mask) != tile_shape(self.arg):
            return "failed to verify that all of {pointers, arg, mask} have same shape"
        return None
