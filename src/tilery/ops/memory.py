"""Tokens, and access to memory through pointers."""

from __future__ import annotations

from ..attrs import MemoryOrderingSemantics as Ordering
from ..attrs import MemoryScope, OptimizationHints
from ..declare.constraints import AnyTile, BoolTile, NumberTile, PtrTile, ScalarPtr, TokenType
from ..declare.fields import AttrKind, attr, flag, operand, optional, optional_attr, out, variadic
from ..declare.operation import Op, op
from ..declare.relations import PURE, Objection, holds
from ..ir import Value
from ..types import Ptr, Tile, quoted
from ..version import V13_3, V13_4
from .checks import Answer, memory_model, points_to, tile_type
from .common import HINTS_DOC, MASK, ORDERING, SCOPE, TOKEN_IN, TOKEN_OUT

GROUP = "Memory"


@op("alloca", 0x71, since=V13_3, group=GROUP,
    format="`num_elem` `=` $num_elem `,` `alignment` `=` $alignment (`global` $global^)? attr-dict `:` type($result)",
    example="%0 = alloca num_elem = 16, alignment = 4 : tile<ptr<f32>>")
class Alloca(Op):
    """Allocate memory that lives until the enclosing block ends."""

    num_elem: int = attr(AttrKind.I64, "The number of elements.", minimum=0)
    alignment: int = attr(AttrKind.I64, "The alignment in bytes, a power of two.", minimum=0)
    global_: bool = flag("Whether other tile blocks may use the address.")
    result: Value = out(ScalarPtr, "A pointer to the first element.")

    def check(self) -> Answer:
        if self.alignment <= 0 or self.alignment & (self.alignment - 1):
            return Objection("'alignment' must be power of two", "alignment")
        pointer = tile_type(self.result).element
        assert isinstance(pointer, Ptr)
        size = 1 if pointer.pointee.bits == 1 else pointer.pointee.bits // 8
        if self.alignment < size:
            return Objection(
                f"'alignment' ({self.alignment}) must be at least the natural size ({size} bytes) "
                f"for element type {quoted(pointer.pointee)}",
                "alignment",
            )
        return None


@op("gdc_launch_dependents_tko", 0x77, since=V13_4, group=GROUP,
    format="(`token` `=` $token^)? attr-dict `->` type($result_token)",
    example="%0 = gdc_launch_dependents_tko -> token")
class GdcLaunchDependentsTko(Op):
    """Allow dependent kernels to start before this one ends."""

    token: Value | None = optional(TokenType, TOKEN_IN)
    result_token: Value = out(TokenType, TOKEN_OUT)


@op("gdc_wait_tko", 0x78, since=V13_4, group=GROUP,
    format="(`token` `=` $token^)? attr-dict `->` type($result_token)",
    example="%0 = gdc_wait_tko -> token")
class GdcWaitTko(Op):
    """Wait until the kernels that this one depends on have written their results."""

    token: Value | None = optional(TokenType, TOKEN_IN)
    result_token: Value = out(TokenType, TOKEN_OUT)


@op("join_tokens", 0x3C, group=GROUP, traits=[PURE], format="$tokens attr-dict `:` type($result)",
    example="""
        %a = make_token : token
        %0 = join_tokens %a, %a : token""")
class JoinTokens(Op):
    """Join tokens into one."""

    tokens: tuple[Value, ...] = variadic(TokenType, "The tokens.")
    result: Value = out(TokenType, "A token that is ordered after all of them.")

    def check(self) -> Answer:
        return "expect two or more tokens" if len(self.tokens) < 2 else None


@op("load_ptr_tko", 0x3D, group=GROUP, segmented=True,
    rules=[
        holds("`source` type is expected a pointer type of `result` type",
              lambda o: points_to(o.source.type, o.result.type), "source", "result"),
        holds("shape of 'mask' must match the shape of 'source'",
              lambda o: o.mask is None or o.mask.type.shape == o.source.type.shape, "source", "mask"),
        holds("type of 'paddingValue' must match the type of 'result'",
              lambda o: o.paddingValue is None or o.paddingValue.type is o.result.type, "result", "paddingValue"),
    ],
    format="keyword($memory_ordering_semantics) (keyword($memory_scope)^)? $source (`,` $mask^)? (`,` $paddingValue^)? "
           "(`token` `` `=` `` $token^)? (`optimization_hints` `=` $optimization_hints^)? attr-dict "
           "`:` type($source) (`,` type($mask)^)? (`,` type($paddingValue)^)? "
           "`->` type($result) `,` type($result_token)",
    example="%0, %1 = load_ptr_tko weak %ptr, %c, %x : tile<ptr<f32>>, tile<i1>, tile<f32> -> tile<f32>, token")
class LoadPtrTko(Op):
    """Load elements through pointers. Only tokens order the access."""

    memory_ordering_semantics: Ordering = attr(
        Ordering, ORDERING, only=[Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE]
    )
    memory_scope: MemoryScope | None = optional_attr(MemoryScope, SCOPE)
    source: Value = operand(PtrTile, "The addresses.")
    mask: Value | None = optional(BoolTile, MASK)
    paddingValue: Value | None = optional(NumberTile, "The value of masked elements; undefined if absent.")
    token: Value | None = optional(TokenType, TOKEN_IN)
    optimization_hints: OptimizationHints | None = optional_attr(AttrKind.HINTS, HINTS_DOC, hints=["latency"])
    result: Value = out(
        AnyTile, "The elements.", infer=lambda o: Tile(o.source.type.shape, o.source.type.element.pointee)
    )
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        return memory_model(self, "load", Ordering.ACQUIRE)


@op("make_token", 0x44, group=GROUP, traits=[PURE], format="attr-dict `:` type($result)",
    example="%0 = make_token : token")
class MakeToken(Op):
    """Make a token that is ordered after nothing."""

    result: Value = out(TokenType, "The token.")


@op("memory_fence_alias_tko", 0x7A, since=V13_4, group=GROUP, format="$token attr-dict",
    example="""
        %a = make_token : token
        %0 = memory_fence_alias_tko %a""")
class MemoryFenceAliasTko(Op):
    """Order accesses to the same memory through different addresses."""

    token: Value = operand(TokenType, TOKEN_IN)
    result_token: Value = out(TokenType, TOKEN_OUT)


@op("store_ptr_tko", 0x65, group=GROUP, segmented=True,
    rules=[
        holds("`destination` type is expected a pointer type of `value` type",
              lambda o: points_to(o.destination.type, o.value.type), "value", "destination"),
        holds("shape of 'destination' must match the shape of 'mask'",
              lambda o: o.mask is None or o.mask.type.shape == o.destination.type.shape, "mask", "destination"),
    ],
    format="keyword($memory_ordering_semantics) (keyword($memory_scope)^)? $destination `,` $value (`,` $mask^)? "
           "(`token` `` `=` `` $token^)? (`optimization_hints` `=` $optimization_hints^)? attr-dict "
           "`:` type($destination) `,` type($value) (`,` type($mask)^)? `->` type($result_token)",
    example="%0 = store_ptr_tko weak %ptr, %x, %c : tile<ptr<f32>>, tile<f32>, tile<i1> -> token")
class StorePtrTko(Op):
    """Store elements through pointers. Only tokens order the access."""

    memory_ordering_semantics: Ordering = attr(
        Ordering, ORDERING, only=[Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE]
    )
    memory_scope: MemoryScope | None = optional_attr(MemoryScope, SCOPE)
    destination: Value = operand(PtrTile, "The addresses.")
    value: Value = operand(AnyTile, "The elements.")
    mask: Value | None = optional(BoolTile, MASK)
    token: Value | None = optional(TokenType, TOKEN_IN)
    optimization_hints: OptimizationHints | None = optional_attr(AttrKind.HINTS, HINTS_DOC, hints=["latency"])
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        return memory_model(self, "store", Ordering.RELEASE)
