"""Views of tensors in memory, and access through them."""

from __future__ import annotations

from ..attrs import MemoryOrderingSemantics as Ordering
from ..attrs import MemoryScope, OptimizationHints
from ..declare.constraints import (
    AnyGatherScatterView,
    AnyPartitionView,
    AnyStridedView,
    AnyTensorView,
    AnyTile,
    AnyTileView,
    IntTile,
    ScalarInt,
    ScalarPtr,
    TokenType,
)
from ..declare.fields import INFER, AttrKind, attr, operand, optional, optional_attr, out, outs, variadic
from ..declare.operation import Op, op
from ..declare.relations import NO_EFFECT, PURE
from ..ir import Value
from ..types import DYNAMIC, Ptr, TensorView, quoted
from ..version import V13_3, V13_4
from .checks import Answer, memory_model, tensor_type, tile_type, view_access, view_type
from .common import HINTS_DOC, ORDERING, SCOPE, TOKEN_IN, TOKEN_OUT

GROUP = "Views"
MAKE_VIEW = "$tensor_view attr-dict `:` type($result)"
INBOUNDS = "For each index, whether the program promises that no element is out of bounds along that dimension."
TENSOR = """
        %tensor = make_tensor_view %ptr, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>"""
PARTITION = f"""{TENSOR}
        %view = make_partition_view %tensor : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>"""


def _same_tensor(tensor: Value, view: Value) -> Answer:
    """Check that a view is made from the tensor that its type names."""
    wanted = view_type(view).tensor_view
    if tensor.type is wanted:
        return None
    return (
        f"expected the type of the provided tensor_view value ({quoted(tensor.type)}) to be the same as the view's "
        f"tensor_view type ({quoted(wanted)})"
    )


def _same_kind(base: Ptr, result: TensorView) -> Answer:
    """Check that a tensor view has the kind of its base pointer."""
    if base.ptr_attr is result.ptr_attr:
        return None
    if base.ptr_attr is None:
        return "pointer base without ptr_attr cannot produce tensor_view with ptr_attr"
    return f"tensor_view must preserve ptr_attr from base pointer (#cuda_tile.ptr_attr<{base.ptr_attr.text}>)"


def _dynamics(o: MakeTensorView, result: TensorView) -> Answer:
    """Check that there is a value for each dynamic size and stride, all of one type."""
    groups = (("shape", result.shape, o.dynamicShape), ("stride", result.strides, o.dynamicStrides))
    for what, dims, values in groups:
        wanted = sum(dim == DYNAMIC for dim in dims)
        if wanted != len(values):
            return f"expected {wanted} dynamic {what} operands, got {len(values)}"
    base = next((v.type for _, _, values in groups for v in values), None)
    for what, _, values in groups:
        for index, value in enumerate(values):
            if value.type is not base and base is not None:
                return (
                    f"expected dynamic {what} index {index} to be of the same type as the other dynamic values "
                    f"({quoted(base)}), got {quoted(value.type)}"
                )
    return None


@op("get_index_space_shape", 0x2D, group=GROUP, traits=[NO_EFFECT], format="$src `:` type($src) `->` splat($result)",
    example=f"""{PARTITION}
        %0 = get_index_space_shape %view : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>> -> tile<i32>""")
class GetIndexSpaceShape(Op):
    """The number of tiles of a view along each dimension."""

    src: Value = operand(AnyTileView, "The view.")
    result: tuple[Value, ...] = outs(ScalarInt, "The number of tiles, one result per dimension.")

    def check(self) -> Answer:
        rank = view_type(self.src).index_rank
        if len(self.result) != rank:
            return f"expected {rank} results due to view index space rank, but got {len(self.result)}"
        return None


@op("get_tensor_shape", 0x2F, group=GROUP, traits=[NO_EFFECT], format="$src `:` type($src) `->` splat($result)",
    example=f"""{TENSOR}
        %0 = get_tensor_shape %tensor : tensor_view<64xf32, strides=[1]> -> tile<i32>""")
class GetTensorShape(Op):
    """The size of a tensor along each dimension."""

    src: Value = operand(AnyTensorView, "The tensor.")
    result: tuple[Value, ...] = outs(ScalarInt, "The sizes, one result per dimension.")

    def check(self) -> Answer:
        rank = len(tensor_type(self.src).shape)
        if len(self.result) != rank:
            return f"expected {rank} results due to tensor rank, but got {len(self.result)}"
        return None


@op("load_view_tko", 0x3E, group=GROUP, segmented=True,
    format="keyword($memory_ordering_semantics) (keyword($memory_scope)^)? $view `[` $index `]` "
           "(`token` `=` $token^)? (`optimization_hints` `=` $optimization_hints^)? inbounds($inbounds) "
           "attr-dict-with-keyword `:` type($view) index-types($index) `->` type($tile) `,` type($result_token)",
    example=f"""{PARTITION}
        %0, %1 = load_view_tko weak %view[%n] : partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, \
tile<i32> -> tile<8xf32>, token""")
class LoadViewTko(Op):
    """Load a tile through a view. Only tokens order the access."""

    memory_ordering_semantics: Ordering = attr(
        Ordering, ORDERING, only=[Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE]
    )
    memory_scope: MemoryScope | None = optional_attr(MemoryScope, SCOPE)
    view: Value = operand(AnyTileView, "The view.")
    index: tuple[Value, ...] = variadic(IntTile, "The index of the tile.")
    token: Value | None = optional(TokenType, TOKEN_IN)
    optimization_hints: OptimizationHints | None = optional_attr(
        AttrKind.HINTS, HINTS_DOC, hints=["latency", "allow_tma"]
    )
    inbounds: tuple[bool, ...] = attr(
        AttrKind.BOOL_ARRAY, INBOUNDS, default=INFER, since=V13_4, infer=lambda o: (False,) * len(o.index)
    )
    tile: Value = out(AnyTile, "The tile.", infer=lambda o: o.view.type.tile_type)
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        return view_access(self) or memory_model(self, "load", Ordering.ACQUIRE)


@op("make_gather_scatter_view", 0x73, since=V13_3, group=GROUP, traits=[PURE], format=MAKE_VIEW, hint="gsview",
    example=f"""{TENSOR}
        %0 = make_gather_scatter_view %tensor : gather_scatter_view<tile=(8), tensor_view<64xf32, strides=[1]>, \
sparse_dim=0>""")
class MakeGatherScatterView(Op):
    """Make a view whose sparse dimension is addressed by a tile of positions."""

    tensor_view: Value = operand(AnyTensorView, "The tensor.")
    result: Value = out(AnyGatherScatterView, "The view.")

    def check(self) -> Answer:
        return _same_tensor(self.tensor_view, self.result)


@op("make_partition_view", 0x42, group=GROUP, traits=[PURE], format=MAKE_VIEW, hint="pview",
    example=f"""{TENSOR}
        %0 = make_partition_view %tensor : partition_view<tile=(8), padding_value = zero, \
tensor_view<64xf32, strides=[1]>>""")
class MakePartitionView(Op):
    """Make a view of a tensor as a grid of tiles."""

    tensor_view: Value = operand(AnyTensorView, "The tensor.")
    result: Value = out(AnyPartitionView, "The view.")

    def check(self) -> Answer:
        return _same_tensor(self.tensor_view, self.result)


@op("make_strided_view", 0x74, since=V13_3, group=GROUP, traits=[PURE], format=MAKE_VIEW, hint="sview",
    example=f"""{TENSOR}
        %0 = make_strided_view %tensor : strided_view<tile=(8), traversal_strides=[4], \
tensor_view<64xf32, strides=[1]>>""")
class MakeStridedView(Op):
    """Make a view of a tensor as a grid of tiles that may overlap or leave gaps."""

    tensor_view: Value = operand(AnyTensorView, "The tensor.")
    result: Value = out(AnyStridedView, "The view.")

    def check(self) -> Answer:
        return _same_tensor(self.tensor_view, self.result)


@op("make_tensor_view", 0x43, group=GROUP, traits=[NO_EFFECT], segmented=True, format="custom", hint="tview",
    syntax="$base `,` `shape` `=` `[` $dynamicShape `,` ... `]` `,` `strides` `=` `[` $dynamicStrides `,` ... `]` "
           "attr-dict `:` (type($dynamicShape)^ `->`)? type($result)",
    example="""
        %0 = make_tensor_view %ptr, shape = [%n, 64], strides = [64, 1] \
: tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>""")
class MakeTensorView(Op):
    """Make a view of a tensor in memory from its address, sizes and strides."""

    base: Value = operand(ScalarPtr, "The address of the first element.")
    dynamicShape: tuple[Value, ...] = variadic(ScalarInt, "The dynamic sizes.")
    dynamicStrides: tuple[Value, ...] = variadic(ScalarInt, "The dynamic strides.")
    result: Value = out(AnyTensorView, "The tensor.")

    def check(self) -> Answer:
        result, base = tensor_type(self.result), tile_type(self.base).element
        assert isinstance(base, Ptr)
        if result.element is not base.pointee:
            wanted = f"expected pointer to {quoted(result.element)} to build tensor_view of this type"
            return f"{wanted}, got {quoted(base.pointee)}"
        return _same_kind(base, result) or _dynamics(self, result)


@op("store_view_tko", 0x66, group=GROUP, segmented=True,
    format="keyword($memory_ordering_semantics) (keyword($memory_scope)^)? $tile `,` $view `[` $index `]` "
           "(`token` `=` $token^)? (`optimization_hints` `=` $optimization_hints^)? inbounds($inbounds) "
           "attr-dict-with-keyword `:` type($tile) `,` type($view) index-types($index) `->` type($result_token)",
    example=f"""{PARTITION}
        %a = constant <f32: 0.0> : tile<8xf32>
        %0 = store_view_tko weak %a, %view[%n] : tile<8xf32>, \
partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token""")
class StoreViewTko(Op):
    """Store a tile through a view. Only tokens order the access."""

    memory_ordering_semantics: Ordering = attr(
        Ordering, ORDERING, only=[Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE]
    )
    memory_scope: MemoryScope | None = optional_attr(MemoryScope, SCOPE)
    tile: Value = operand(AnyTile, "The tile.")
    view: Value = operand(AnyTileView, "The view.")
    index: tuple[Value, ...] = variadic(IntTile, "The index of the tile.")
    token: Value | None = optional(TokenType, TOKEN_IN)
    optimization_hints: OptimizationHints | None = optional_attr(
        AttrKind.HINTS, HINTS_DOC, hints=["latency", "allow_tma"]
    )
    inbounds: tuple[bool, ...] = attr(
        AttrKind.BOOL_ARRAY, INBOUNDS, default=INFER, since=V13_4, infer=lambda o: (False,) * len(o.index)
    )
    result_token: Value = out(TokenType, TOKEN_OUT)

    def check(self) -> Answer:
        return view_access(self) or memory_model(self, "store", Ordering.RELEASE)
