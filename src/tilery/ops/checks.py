"""Rules that several operations share. Each returns NVIDIA's message, or None if the rule holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..attrs import AtomicRMWMode, RoundingMode, TileEnum
from ..attrs import MemoryOrderingSemantics as Ordering
from ..checking import TYPE_CHECKING
from ..declare.relations import Objection
from ..diag import Note, NoteKind
from ..ir import Block, Op, Value
from ..types import (
    BF16,
    F16,
    F32,
    F64,
    I32,
    I64,
    GatherScatterView,
    Ptr,
    Scalar,
    TensorView,
    Tile,
    TileView,
    Type,
    quoted,
    quoted_list,
)
from .effects import has_no_effect

if TYPE_CHECKING:
    from typing import Any

Answer = str | Objection | None


def commas(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def names(members: Iterable[TileEnum]) -> str:
    return ", ".join(member.text for member in members)


# ---------------------------------------------------------------- floats


def rounding(o: Any) -> Answer:
    """Check that the op supports the rounding mode."""
    allowed = o.opdef.field("rounding_mode").only
    if o.rounding_mode in allowed:
        return None
    return Objection(f"invalid rounding mode specified, expect one of [{names(allowed)}]", "rounding_mode")


def only_f32(o: Any, modifier: str, used: bool) -> Answer:
    element = o.result.type.element
    if not used or element is F32:
        return None
    return f"{modifier} modifier only supported for f32 data type, but got: {quoted(element)}"


def flush_to_zero(o: Any) -> Answer:
    return only_f32(o, "flush_to_zero", o.flush_to_zero)


def approx(o: Any) -> Answer:
    return only_f32(o, "approx", o.rounding_mode is RoundingMode.APPROX)


# ---------------------------------------------------------------- memory


def memory_model(o: Any, kind: str, strongest: Ordering) -> Answer:
    """Check the memory ordering of a load or store, and that it has a scope exactly if it needs one."""
    ordering, scope = o.memory_ordering_semantics, o.memory_scope
    if ordering not in (Ordering.WEAK, Ordering.RELAXED, strongest):
        message = f"expect one of: weak, relaxed, or {strongest.text}, but got: {ordering.text}"
        return Objection(message, "memory_ordering_semantics")
    if ordering is Ordering.WEAK:
        return Objection(f"weak {kind} must not have memory scope", "memory_scope") if scope is not None else None
    if scope is None:
        return Objection(f"memory scope is required for {ordering.text} {kind}", "memory_scope")
    return None


def atomic_ordering(o: Any) -> Answer:
    if o.memory_ordering_semantics is not Ordering.WEAK:
        return None
    message = "memory ordering semantics must be one of: relaxed, acquire, release, acq_rel"
    return Objection(message, "memory_ordering_semantics")


def atomic_mode(mode: AtomicRMWMode, element: Type) -> Answer:
    match mode:
        case AtomicRMWMode.ADDF:
            fine, words = element in (F16, BF16, F32, F64), "floats f16, bf16, f32, and f64"
        case AtomicRMWMode.XCHG:
            fine, words = element in (I32, I64, F32, F64), "integers or float of 32 or 64 bitwidth"
        case _:
            fine, words = element in (I32, I64), "integers i32 and i64"
    return None if fine else Objection(f"'{mode.text}' works only with {words}", "mode")


def pointee(pointers: Type, element: Type, name: str) -> Answer:
    """Check that pointers point to the type that is stored through them."""
    assert isinstance(pointers, Tile) and isinstance(pointers.element, Ptr)
    found = pointers.element.pointee
    if found is element:
        return None
    return f"expected pointee type ({quoted(found)}) to match element type of '{name}' ({quoted(element)})"


def points_to(pointers: Type, values: Type) -> bool:
    """Return whether tiles of pointers and values have the same shape, and the pointers fit the element type."""
    return (
        isinstance(pointers, Tile)
        and isinstance(values, Tile)
        and isinstance(pointers.element, Ptr)
        and pointers.shape == values.shape
        and pointers.element.pointee is values.element
    )


# ---------------------------------------------------------------- views


def is_view(t: Type) -> bool:
    return isinstance(t, TileView)


def view_indices(view: Any, types: Sequence[Type]) -> Answer:
    """Check that indices fit a view: scalars of one type, and a tile of positions for a sparse dimension."""
    if not types:
        return None
    if isinstance(view, GatherScatterView):
        return _sparse_indices(view, types)
    for t in types:
        assert isinstance(t, Tile)
        if t.rank:
            return f"expected index type to be a scalar tile, got {quoted(t)}"
    for index, t in enumerate(types):
        if t is not types[0]:
            return (
                f"expected index type {index} to be the same as other index types ({quoted(types[0])}), "
                f"got {quoted(t)}"
            )
    return None


def _sparse_indices(view: GatherScatterView, types: Sequence[Type]) -> Answer:
    sparse = view.sparse_dim
    positions = types[sparse]
    assert isinstance(positions, Tile)
    where = f"expected index at sparse_dim position {sparse}"
    if positions.rank != 1:
        return f"{where} to be a 1D tensor for GatherScatterView, got rank {positions.rank}"
    if positions.shape[0] != view.tile_shape[sparse]:
        return (
            f"expected gather/scatter index size ({positions.shape[0]}) to match tile shape at gather/scatter "
            f"dimension {sparse} ({view.tile_shape[sparse]})"
        )
    base: Type | None = None
    for index, t in enumerate(types):
        if index == sparse:
            continue
        if not isinstance(t, Tile) or t.rank:
            return f"expected index {index} to be a scalar tile for GatherScatterView"
        if base is not None and t is not base:
            return (
                f"expected scalar index {index} to have the same type as other scalar indices ({quoted(base)}), "
                f"got {quoted(t)}"
            )
        base = base or t
    return None


def view_access(o: Any) -> Answer:
    """Check the indices and the tile of a load or store through a view."""
    view = o.view.type
    if len(o.index) != view.index_rank:
        return f"expected {view.index_rank} index operands (based on view type), got {len(o.index)}"
    if o.tile.type is not view.tile_type:
        return f"expected tile type to be {quoted(view.tile_type)} (based on view type), got {quoted(o.tile.type)}"
    if (why := view_indices(view, [v.type for v in o.index])) is not None:
        return why
    if len(o.inbounds) != len(o.index):
        return Objection(
            f"inbounds size ({len(o.inbounds)}) must match the number of index dimensions ({len(o.index)})",
            "inbounds",
        )
    return None


def no_views(what: str, types: Iterable[Type]) -> Answer:
    """Check that no views are carried through control flow."""
    for index, t in enumerate(types):
        if isinstance(t, TensorView) or is_view(t):
            kind = "tensor_view" if isinstance(t, TensorView) else "tile view"
            return f"{what} {index} is a {kind}, which is not supported"
    return None


# ---------------------------------------------------------------- loops


def loop_values(o: Any, carried: Sequence[Type]) -> Answer:
    """Check that the carried values of a loop have the types of the initial ones."""
    starts = [v.type for v in o.initValues]
    if len(carried) != len(starts):
        return (
            f"mismatch in number of region iterator values and loop iterator inits: {len(carried)} vs {len(starts)}"
        )
    for index, (start, inner) in enumerate(zip(starts, carried)):
        if (why := no_views("loop-carried value", [inner])) is not None:
            return str(why).replace("value 0 ", f"value {index} ")
        if start is not inner:
            return (
                f"init value {index} and region iter_value {index} have different type: "
                f"{quoted(start)} != {quoted(inner)}"
            )
    return no_views("result type", [v.type for v in o.resultValues])


def leaves(o: Op, ancestors: Sequence[Op], loops: tuple[str, ...]) -> tuple[Op | None, Answer]:
    """Return the loop that an early exit leaves, or a problem if anything but `if` is in between."""
    for parent in reversed(ancestors):
        if parent.name in loops:
            return parent, None
        if parent.name != "if":
            allowed = "', '".join(f"cuda_tile.{name}" for name in (*loops, "if"))
            message = f"can only be nested within a ancestor chain of '{allowed}' operations"
            return None, Objection(message, related=((parent, "see unexpected ancestor operation"),))
    return None, "can only be nested within a loop"


# ---------------------------------------------------------------- reductions


def aggregate(o: Any) -> Answer:
    """Check the operands, identities and dimension of a reduction or scan."""
    operands = [v.type for v in o.operands_]
    if not operands:
        return "expected 1 or more operands, but found 0"
    if len(operands) != len(o.results_):
        return "expect same number of operands and results"
    if len(operands) != len(o.identities):
        return (
            f"expect identities to match the number of operands but got: {len(operands)} operands and "
            f"{len(o.identities)} identities"
        )
    for index, (t, identity) in enumerate(zip(operands, o.identities)):
        found = getattr(identity, "type", None)
        if found is None or ({t.element, found} != {F16, BF16} and found is not t.element):
            got = quoted(found) if isinstance(found, Type) else "'none'"
            return (
                f"expect same type for operand at index: {index} and identity at index: {index} "
                f"but got: {quoted(t.element)} and {got}"
            )
    rank = operands[0].rank
    if not 0 <= o.dim < rank:
        return f"dimension ({o.dim}) is out of bound [0, {rank})"
    return None


def aggregate_body(o: Any) -> Answer:
    """Check that the body takes a pair of scalars per operand, yields one, and has no memory effect."""
    return aggregate_shapes(o) or _aggregate_effects(o, o.body)


def aggregate_shapes(o: Any) -> Answer:
    """Check that the body takes a pair of scalars per operand and yields one."""
    block: Block = o.body
    operands = [v.type for v in o.operands_]
    args = [v.type for v in block.args]
    if len(args) != 2 * len(operands):
        return f"expect {2 * len(operands)} block arguments but got: {len(args)}"
    for index, t in enumerate(args):
        if not isinstance(t, Tile) or t.rank:
            return f"expect 0-rank tile type at index: {index} but got: {quoted(t)}"
    elements = [t.element for t in args if isinstance(t, Tile)]
    for index in range(0, len(elements), 2):
        if elements[index] is not elements[index + 1]:
            return (
                f"expect same element type for block argument at index: {index} and {index + 1} "
                f"but got: {quoted(elements[index])} and {quoted(elements[index + 1])}"
            )
    for index, t in enumerate(operands):
        if t.element is not elements[2 * index]:
            return (
                f"expect same type for operand at index: {index} and block argument at index: {2 * index} "
                f"but got: {quoted(t.element)} and {quoted(elements[2 * index])}"
            )
    return _aggregate_yield(block, operands)


def _aggregate_yield(block: Block, operands: list[Any]) -> Answer:
    yielded = [v.type for v in block.ops[-1].operands]
    if len(yielded) != len(operands):
        return (
            f"expect number of terminators operands ({len(yielded)}) to match number of operands ({len(operands)})"
        )
    for index, (t, given) in enumerate(zip(operands, yielded)):
        if not isinstance(given, Tile):
            return f"expected TileType for operand and terminator types but got: {quoted(t)} and {quoted(given)}"
        if given.element is not t.element:
            return (
                f"expect same type for operand at index: {index} and terminator argument at index: {index} "
                f"but got: {quoted(t.element)} and {quoted(given.element)}"
            )
    return None


def _aggregate_effects(o: Any, block: Block) -> Answer:
    for inner in block.ops[:-1]:
        if not has_no_effect(inner):
            return Objection(f"only memory-effect-free operations are allowed inside 'cuda_tile.{o.name}'", op=inner)
    return None


# ---------------------------------------------------------------- tiles


def tile_type(value: Value) -> Tile:
    """Return the type of a value that a constraint has already checked to be a tile."""
    assert isinstance(value.type, Tile)
    return value.type


def tensor_type(value: Value) -> TensorView:
    assert isinstance(value.type, TensorView)
    return value.type


def view_type(value: Value) -> TileView:
    assert isinstance(value.type, TileView)
    return value.type


def tile_shape(value: Value) -> tuple[int, ...]:
    return tile_type(value).shape


def tile_rank(value: Value) -> int:
    return tile_type(value).rank


def tile_element(value: Value) -> Scalar:
    """Return the element of a value that a constraint has already checked to be a tile of numbers."""
    element = tile_type(value).element
    assert isinstance(element, Scalar)
    return element


def grid_position(large: Value, small: Value, indices: Sequence[Value], big: str, part: str) -> Answer:
    """Check that a tile divides into a grid of smaller ones, with an index per dimension."""
    outer, inner = tile_type(large), tile_type(small)
    if outer.element is not inner.element:
        return "source and result element type do not match"
    if outer.rank != inner.rank:
        return "source and result must have the same rank"
    for index, (a, b) in enumerate(zip(outer.shape, inner.shape)):
        if a % b:
            return (
                f"{big} dimension {index} size ({a}) must be evenly divisible by {part} dimension {index} size ({b})"
            )
    if len(indices) != outer.rank:
        return f"expected {outer.rank} indices, but got {len(indices)}"
    return None


def permuted(source: Value, result: Value, order: tuple[int, ...]) -> Answer:
    """Check a reordering of dimensions."""
    before, after = tile_shape(source), tile_shape(result)
    rank = len(before)
    if rank < 2:
        return f"expects at least rank 2, but got: {rank}"
    if len(order) != rank:
        message = f"expect permutation size ({len(order)}) to equal the rank of the source ({rank})"
        return Objection(message, "permutation")
    if len(set(order)) != rank:
        return Objection("expect permutation elements to be unique", "permutation")
    for index, dim in enumerate(order):
        if not 0 <= dim < rank:
            message = f"permutation element at index {index} ({dim}) is out of bound [0, {rank})"
            return Objection(message, "permutation")
    for index, dim in enumerate(order):
        if after[index] != before[dim]:
            return f"result shape invalid at index {index}, expected: {before[dim]}, but got: {after[index]}"
    return None


def packing(source: Value, result: Value) -> Answer:
    """Check that both tiles have the same bytes, as elements of different widths."""
    if tile_rank(source) != 1:
        return "expects source and result to be rank-1 tiles"
    if tile_element(source).bits == tile_element(result).bits:
        return "expects source and result to have different element type widths"
    sizes = [_stored_bits(tile_element(v)) * tile_type(v).size for v in (source, result)]
    for name, size in zip(("source", "result"), sizes):
        if size % 8:
            return f"expects {name} tile to be byte-aligned"
    if sizes[0] != sizes[1]:
        return (
            f"expects source and result to have the same size in bytes, but got source tile size {sizes[0] // 8} "
            f"bytes and result tile size {sizes[1] // 8} bytes"
        )
    return None


def _stored_bits(element: Scalar) -> int:
    return element.bits if element.bits < 8 else element.row.memory_bits


def inferred(o: Any, expected: Sequence[Type]) -> Answer:
    """Check that the results have the types that follow from the operands."""
    found = [v.type for v in o.results_]
    if found == list(expected):
        return None
    return Objection(
        f"inferred type(s) {quoted_list(expected)} are incompatible with return type(s) of operation "
        f"{quoted_list(found)}",
        notes=(Note(f"'cuda_tile.{o.name}' op failed to infer returned types", kind=NoteKind.ERROR),),
    )


def function_arguments(o: Any, body: Block) -> Answer:
    """Check that the arguments of a function's body match its parameters."""
    params, args = o.function_type.params, [v.type for v in body.args]
    if len(args) != len(params):
        return f"entry block must have {len(params)} arguments to match function signature"
    for index, (param, arg) in enumerate(zip(params, args)):
        if param is not arg:
            return (
                f"type of entry block argument #{index}({quoted(arg)}) must match the type of the corresponding "
                f"argument in function signature({quoted(param)})"
            )
    return None
