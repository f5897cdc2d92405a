"""Atomic operations on memory."""

from __future__ import annotations

from ..attrs import AtomicRMWMode, MemoryScope
from ..attrs import MemoryOrderingSemantics as Ordering
from ..decl import (
    AnyTile,
    AnyTileView,
    BoolTile,
    IntTile,
    PtrTile,
    TokenType,
    attr,
    op,
    operand,
    optional,
    out,
    same_shape,
    same_type,
    variadic,
)
from ..ir import Op, Value
from ..version import V13_3
from .common import MASK, ORDERING, SCOPE, TOKEN_IN, TOKEN_OUT
from .views import PARTITION

GROUP = "Atomics"
STRONG = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)


@op("atomic_cas_tko", 0x07, group=GROUP, segmented=True,
    rules=[same_shape("pointers", "cmp", "val", "result"), same_type("cmp", "val", "result")],
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $pointers `,` $cmp `,` $val (`,` $mask^)? "
           "(`token` `` `=` `` $token^)? attr-dict `:` type($pointers) `,` type($val) (`,` type($mask)^)? "
           "`->` type($result) `,` type($result_token)",
    example="%0, %1 = atomic_cas_tko relaxed device %ptr, %x, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token")
class AtomicCASTko(Op):  # fmt: skip
    """Replace the element in memory where it equals `cmp`, atomically; floats are compared by their bits."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=STRONG)
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE)
    pointers: Value = operand(PtrTile, "The elements in memory.")
    cmp: Value = operand(AnyTile, "What they are compared with.")
    val: Value = operand(AnyTile, "What replaces those that are equal.")
    mask: Value | None = optional(BoolTile, MASK)
    token: Value | None = optional(TokenType, TOKEN_IN)
    result: Value = out(AnyTile, "What was in memory before.")
    result_token: Value = out(TokenType, TOKEN_OUT)


@op("atomic_red_view_tko", 0x75, since=V13_3, group=GROUP, segmented=True,
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $view `[` $index `]` `,` keyword($mode) `,` "
           "$value (`token` `=` $token^)? attr-dict-with-keyword `:` type($value) `,` type($view) index-types($index) "
           "`->` type($result_token)",
    example=f"""{PARTITION}
        %a = constant <f32: 1.0> : tile<8xf32>
        %0 = atomic_red_view_tko relaxed device %view[%n], addf, %a : tile<8xf32>, \
partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token""")  # fmt: skip
class AtomicRedViewTko(Op):
    """Combine a tile with memory through a view, each element atomically, without giving the old ones."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=[Ordering.RELAXED])
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE, only=[MemoryScope.TL_BLK, MemoryScope.DEVICE])
    view: Value = operand(AnyTileView, "The view.")
    index: tuple[Value, ...] = variadic(IntTile, "Which tile of the view.")
    mode: AtomicRMWMode = attr(
        AtomicRMWMode, "How they are combined.", only=[m for m in AtomicRMWMode if m is not AtomicRMWMode.XCHG]
    )
    value: Value = operand(AnyTile, "The tile.")
    token: Value | None = optional(TokenType, TOKEN_IN)
    result_token: Value = out(TokenType, TOKEN_OUT)


@op("atomic_rmw_tko", 0x08, group=GROUP, segmented=True,
    rules=[same_shape("pointers", "arg", "result"), same_type("arg", "result")],
    format="keyword($memory_ordering_semantics) keyword($memory_scope) $pointers `,` keyword($mode) `,` $arg "
           "(`,` $mask^)? (`token` `` `=` `` $token^)? attr-dict `:` type($pointers) `,` type($arg) "
           "(`,` type($mask)^)? `->` type($result) `,` type($result_token)",
    example="%0, %1 = atomic_rmw_tko relaxed device %ptr, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token")
class AtomicRMWTko(Op):  # fmt: skip
    """Combine elements with memory, each atomically, and give the old ones."""

    memory_ordering_semantics: Ordering = attr(Ordering, ORDERING, only=STRONG)
    memory_scope: MemoryScope = attr(MemoryScope, SCOPE)
    pointers: Value = operand(PtrTile, "The elements in memory.")
    mode: AtomicRMWMode = attr(AtomicRMWMode, "How they are combined.")
    arg: Value = operand(AnyTile, "What they are combined with.")
    mask: Value | None = optional(BoolTile, MASK)
    token: Value | None = optional(TokenType, TOKEN_IN)
    result: Value = out(AnyTile, "What was in memory before.")
    result_token: Value = out(TokenType, TOKEN_OUT)
