"""Build a kernel that adds two vectors, with the operation classes as builders, and write it as bytecode.

    python examples/make_kernel.py vector_add.tileirbc

Inspect the file with `tilery info`, `tilery dis` or `tilery dump`, or compile it with NVIDIA's `tileiras`.
"""

import sys
from pathlib import Path
from typing import TypeVar

import tilery
from tilery import Block, Op, Value
from tilery.attrs import MemoryOrderingSemantics
from tilery.ops import (
    AddF,
    Entry,
    GetTileBlockId,
    LoadViewTko,
    MakePartitionView,
    MakeTensorView,
    Module,
    Return,
    StoreViewTko,
)
from tilery.types import DYNAMIC, F32, I32, Function, PartitionView, Ptr, TensorView, Tile

OpT = TypeVar("OpT", bound=Op)
WEAK = MemoryOrderingSemantics.WEAK
TILE = 128


def vector_add() -> Module:
    """Return a module with one kernel, `vector_add(a, b, c, n)`: c = a + b, 128 elements per tile block."""
    pointer, scalar = Tile((), Ptr(F32)), Tile((), I32)
    a, b, c, n = Value(pointer), Value(pointer), Value(pointer), Value(scalar)
    body = Block([a, b, c, n])

    def emit(op: OpT) -> OpT:
        body.ops.append(op)
        return op

    # The layout of each vector in memory, and its partition into tiles. The length is known only at run time.
    vector = TensorView(F32, (DYNAMIC,), (1,))

    def tiles(base: Value) -> Value:
        tensor = emit(MakeTensorView(base=base, dynamicShape=(n,), result=Value(vector))).result
        return emit(MakePartitionView(tensor_view=tensor, result=Value(PartitionView((TILE,), vector)))).result

    block = emit(GetTileBlockId()).blockId_x
    lhs = emit(LoadViewTko(memory_ordering_semantics=WEAK, view=tiles(a), index=(block,))).tile
    rhs = emit(LoadViewTko(memory_ordering_semantics=WEAK, view=tiles(b), index=(block,))).tile
    total = emit(AddF(lhs=lhs, rhs=rhs)).result
    emit(StoreViewTko(memory_ordering_semantics=WEAK, tile=total, view=tiles(c), index=(block,)))
    emit(Return())

    kernel = Entry(sym_name="vector_add", function_type=Function([v.type for v in body.args]), body=body)
    return Module(body=Block(ops=[kernel]))


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "vector_add.tileirbc")
    data = tilery.dumps(vector_add())
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes")


if __name__ == "__main__":
    main()
