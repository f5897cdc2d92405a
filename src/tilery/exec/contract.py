"""Executing random modules by their contract: buffers with random bits, and everything a launch leaves behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import ops
from ..attrs import Dense, IntAttr
from ..attrs import MemoryOrderingSemantics as Ordering
from ..ir import Block, Op, Value, clone, walk
from ..ops import Entry, Module
from ..smith import Buffer, Contract, Launch
from ..types import I4, I32, Function, Ptr, Scalar, Tile
from .launch import Loaded
from .machine import Limits
from .numerics.convert import to_f64
from .tiles import CARRIERS

MOST = 1 << 16
"""Elements of a value, over all tile blocks, above which it is not stored only to be seen."""


def run_contract(
    module: Module, contract: Contract, *, seed: int = 0, batch: int | None = None, limits: Limits | None = None
) -> list[bytes]:
    """What all launches leave in buffers and globals, and what they print.

    >>> from tilery.smith import smith_with_contract
    >>> module, contract = smith_with_contract(7)
    >>> run_contract(module, contract) == run_contract(module, contract, batch=1)
    True
    """
    left = []
    for number, launch in enumerate(contract.launches):
        args = arguments(launch, seed + number)
        printed: list[str] = []
        loaded = Loaded(module)
        kernel = loaded.kernel(launch.entry)
        kernel.launch(launch.grid, args, batch=batch, limits=limits, output=printed.append)
        left += [a.tobytes() for a in args if isinstance(a, np.ndarray)]
        left += [loaded.content(name) for name in loaded.globals]
        left.append("".join(printed).encode())
    return left


def arguments(launch: Launch, seed: int) -> list[Any]:
    """Buffers with random bits, and the scalars of the contract."""
    rng = np.random.default_rng(seed)
    args: list[Any] = []
    for argument in launch.args:
        dtype = CARRIERS[argument.element.name if isinstance(argument, Buffer) else argument.type.name]
        if isinstance(argument, Buffer):
            raw = rng.integers(0, 256, argument.count * dtype.itemsize, np.uint8)
            args.append(raw & 1 if argument.element.bits == 1 else raw.view(f"u{dtype.itemsize}"))
        elif isinstance(argument, IntAttr):
            args.append(argument.bits)
        else:
            bits = np.array([argument.bits], f"u{dtype.itemsize}")
            with np.errstate(invalid="ignore"):
                args.append(float(to_f64(bits.view(dtype), argument.type)[0]))
    return args


# ---------------------------------------------------------------- letting every value be seen


def observed(module: Module, contract: Contract, every: bool = False) -> tuple[Module, Contract]:
    """A copy of a random module that also stores every value that it computes and does not use, and its contract.

    With `every`, it stores those that it uses, too, if they are defined: where results first differ is the operation to
    look at.
    """
    copy: Module = clone(module)
    launches = []
    for launch in contract.launches:
        entry = copy.entry(launch.entry)
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        buffers = _store_values(entry, blocks, every)
        launches.append(replace(launch, args=(*launch.args, *buffers)))
    return copy, Contract(tuple(launches))


def _store_values(entry: Entry, blocks: int, every: bool) -> list[Buffer]:
    """Add a parameter and a store for each tile of an entry's own block that is not used, or for each one."""
    body = entry.body
    used = {v for o in walk(body) for v in o.operands}
    last = body.ops.pop()
    index = _linear_index(body)
    buffers = []
    for value in [v for o in body.ops for v in o.results if v not in used or (every and _defined(o))]:
        t = value.type
        if isinstance(t, Tile) and isinstance(t.element, Scalar) and t.element is not I4 and t.size * blocks <= MOST:
            base = Value(Tile((), Ptr(t.element)), body)
            body.args.append(base)
            _store(body, base, index, value, t)
            buffers.append(Buffer(t.element, t.size * blocks, written=True))
    body.ops.append(last)
    entry.function_type = Function([v.type for v in body.args])
    return buffers


def _defined(o: Op) -> bool:
    """Whether the results are the same everywhere: addresses are not, nor is what a mask leaves out."""
    if isinstance(o, ops.LoadPtrTko):
        return o.mask is None or o.paddingValue is not None
    masked = isinstance(o, (ops.AtomicCASTko, ops.AtomicRMWTko)) and o.mask is not None
    return not masked and not isinstance(o, ops.PtrToInt)


def _add(body: Block, o: Any) -> Value:
    body.ops.append(o)
    result: Value = o.results[0]
    return result


def _linear_index(body: Block) -> Value:
    """The number of the tile block, x running fastest."""
    here, size = ops.GetTileBlockId(), ops.GetNumTileBlocks()
    body.ops += [here, size]
    row = _add(body, ops.MulI(lhs=here.blockId_z, rhs=size.gridSize_y))
    row = _add(body, ops.AddI(lhs=row, rhs=here.blockId_y))
    row = _add(body, ops.MulI(lhs=row, rhs=size.gridSize_x))
    return _add(body, ops.AddI(lhs=row, rhs=here.blockId_x))


def _store(body: Block, base: Value, index: Value, value: Value, t: Tile) -> None:
    """Store a tile at the place of the tile block in a buffer."""
    count = _add(body, ops.Constant(value=Dense.of(Tile((), I32), [t.size])))
    start = _add(body, ops.Offset(ptr=base, offset=_add(body, ops.MulI(lhs=index, rhs=count))))
    one = _add(body, ops.Reshape(source=start, result=Value(Tile((1,), start.type.element))))  # type: ignore[attr-defined]  # a tile of pointers
    row = _add(body, ops.Broadcast(source=one, result=Value(Tile((t.size,), start.type.element))))  # type: ignore[attr-defined]  # as above
    places = _add(body, ops.Offset(ptr=row, offset=_add(body, ops.Iota(result=Value(Tile((t.size,), I32))))))
    flat = _add(body, ops.Reshape(source=value, result=Value(Tile((t.size,), t.element))))
    _add(body, ops.StorePtrTko(memory_ordering_semantics=Ordering.WEAK, destination=places, value=flat))
