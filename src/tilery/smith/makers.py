"""The makers of operations that need more than the table says; all others are made by `generic`."""

from __future__ import annotations

from .. import ops
from ..declare.operation import OpDef
from ..declare.relations import SYMBOL
from ..ir import Op
from ..ops import registered
from ..version import Version
from . import arithmetic, branches, loops, memory, misc, selects, shapes, views
from .generic import generic
from .kernel import Maker

MAKERS: dict[type[Op], Maker] = {
    ops.AddF: arithmetic.add_floats,
    ops.AddI: arithmetic.wrapping,
    ops.Alloca: memory.alloca,
    ops.Assert: misc.assertion,
    ops.Assume: misc.assume,
    ops.AtomicCASTko: memory.atomic,
    ops.AtomicRMWTko: memory.atomic,
    ops.AtomicRedViewTko: views.reduce_view,
    ops.Bitcast: arithmetic.bitcast,
    ops.Break: loops.loop,
    ops.Broadcast: shapes.broadcast,
    ops.Cat: shapes.cat,
    ops.Constant: shapes.fresh_constant,
    ops.Continue: loops.for_loop,
    ops.DivI: arithmetic.divide,
    ops.ExtI: arithmetic.extend,
    ops.Extract: shapes.extract,
    ops.FToF: arithmetic.float_to_float,
    ops.FToI: arithmetic.float_to_int,
    ops.For: loops.for_loop,
    ops.GdcLaunchDependentsTko: memory.ordered,
    ops.GdcWaitTko: memory.ordered,
    ops.GetGlobal: shapes.address_of_global,
    ops.GetIndexSpaceShape: views.space_shape,
    ops.GetNumTileBlocks: shapes.grid_size,
    ops.GetTensorShape: views.tensor_shape,
    ops.GetTileBlockId: shapes.block_id,
    ops.IToF: arithmetic.int_to_float,
    ops.If: branches.branch,
    ops.Insert: shapes.insert,
    ops.IntToPtr: memory.int_to_pointer,
    ops.Iota: shapes.iota,
    ops.JoinTokens: memory.join_tokens,
    ops.LoadPtrTko: memory.load_ptr,
    ops.LoadViewTko: views.load_view,
    ops.Loop: loops.loop,
    ops.MakeGatherScatterView: views.make_view,
    ops.MakePartitionView: views.make_view,
    ops.MakeStridedView: views.make_view,
    ops.MakeTensorView: views.make_tensor,
    ops.MakeToken: memory.make_token,
    ops.MemoryFenceAliasTko: memory.ordered,
    ops.MmaF: arithmetic.mma_float,
    ops.MmaFScaled: arithmetic.mma_scaled,
    ops.MmaI: arithmetic.mma_int,
    ops.MulI: arithmetic.wrapping,
    ops.NegI: arithmetic.wrapping,
    ops.Offset: memory.offset,
    ops.Pack: shapes.pack,
    ops.Permute: shapes.permute,
    ops.PrintTko: misc.print_values,
    ops.PtrToInt: memory.pointer_to_int,
    ops.PtrToPtr: memory.recast,
    ops.Reduce: shapes.aggregate,
    ops.RemI: arithmetic.divide,
    ops.Reshape: shapes.reshape,
    ops.Return: branches.early_return,
    ops.Scan: shapes.aggregate,
    ops.Select: selects.select,
    ops.ShLI: arithmetic.shift,
    ops.ShRI: arithmetic.shift,
    ops.StorePtrTko: memory.store_ptr,
    ops.StoreViewTko: views.store_view,
    ops.SubI: arithmetic.wrapping,
    ops.TruncI: arithmetic.truncate,
    ops.Unpack: shapes.unpack,
    ops.Yield: branches.branch,
}


WEIGHTS: dict[type[Op], float] = {ops.If: 3, ops.Select: 4, ops.AddF: 2}
"""The weights of operations without a mix; all others have weight 1.

Most rewrite rules look for these, so modules need enough of them for every rule to fire.
"""


def choices(version: Version) -> list[tuple[Maker, OpDef]]:
    """List every operation of a version that can be inside an entry, with its maker."""
    inside = (d for d in registered() if d.since <= version and not d.has(SYMBOL))
    return [(MAKERS.get(d.cls, generic), d) for d in inside]
