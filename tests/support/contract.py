"""Execute random modules by their contract, on buffers with random bits, and collect everything they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tilery import ops
from tilery.attrs import ComparisonPredicate, Dense, IntAttr, Signedness
from tilery.attrs import MemoryOrderingSemantics as Ordering
from tilery.engines.common.limits import Limits
from tilery.engines.common.numerics.convert import to_f64
from tilery.engines.common.tiles import CARRIERS, Array, dense_array
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ir import Block, Op, Value, clone, walk
from tilery.ops import Entry, Module
from tilery.rewrite.editing import map_operands, replace_uses
from tilery.smith import Buffer, Contract, Launch, smith_with_contract
from tilery.types import BF16, F16, F32, F64, I4, I16, I32, I64, TF32, Function, Ptr, Scalar, Tile
from tilery.version import SUPPORTED

MOST = 1 << 16
"""Larger values, in elements over all tile blocks, are not stored just to be compared."""


def run_contract(
    module: Module,
    contract: Contract,
    *,
    seed: int = 0,
    given: Sequence[list[Any]] = (),
    batch: int | None = None,
    limits: Limits | None = None,
    load: Callable[[Module], Any] = ReferenceLoaded,
) -> list[bytes]:
    """Return what all launches leave in buffers and globals, and what they print; arguments are given, or random.

    >>> from tilery.smith import smith_with_contract
    >>> module, contract = smith_with_contract(7)
    >>> run_contract(module, contract) == run_contract(module, contract, batch=1)
    True
    """
    left = []
    for number, launch in enumerate(contract.launches):
        args = given[number] if given else arguments(launch, seed + number)
        printed: list[str] = []
        loaded = load(module)
        kernel = loaded.kernel(launch.entry)
        kernel.launch(launch.grid, args, batch=batch, limits=limits, output=printed.append)
        left += [a.tobytes() for a in args if isinstance(a, np.ndarray)]
        left += [loaded.content(o.sym_name) for o in module.globals]
        left.append("".join(printed).encode())
    return left


def arguments(launch: Launch, seed: int) -> list[Any]:
    """Return the arguments of a launch: buffers with random bits, and the scalars of the contract."""
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
            # An array holds a tf32 in the upper bits of an f32.
            bits = np.array([argument.bits << (13 if argument.type is TF32 else 0)], f"u{dtype.itemsize}")
            with np.errstate(invalid="ignore"):
                args.append(float(to_f64(bits.view(dtype), argument.type)[0]))
    return args


# ---------------------------------------------------------------- making values observable

BRANCHING = {
    "for": 3,
    "Control Flow": 2,
    "Integer": 3,
    "Core": 2,
    "Floating Point": 2,
    "Memory": 2,
    "Views": 1,
    "Conversions": 1,
}
"""A mix with nested loops and branches, for passes on control flow."""


def random_case(seed: int) -> tuple[Module, Contract]:
    """Return a random module that stores all its values: versions take turns, every other module branches a lot."""
    version = SUPPORTED[seed % len(SUPPORTED)]
    mix = BRANCHING if seed // len(SUPPORTED) % 2 else None
    return store_all_values(*smith_with_contract(seed, version=version, size=40, mix=mix))


def store_all_values(module: Module, contract: Contract, every: bool = False) -> tuple[Module, Contract]:
    """Return a copy of a random module that stores every value that it computes and does not use, and its contract.

    With `every`, it also stores used values, if they are defined: the first difference then names the operation.
    """
    copy: Module = clone(module)
    launches = []
    for launch in contract.launches:
        entry = copy.entry(launch.entry)
        buffers = _store_values(entry, observed(entry, launch, every), prod(launch.grid))
        launches.append(replace(launch, args=(*launch.args, *buffers)))
    return copy, Contract(tuple(launches))


def with_given_results(module: Module, contract: Contract, chosen: Callable[[Op], bool]) -> tuple[Module, Contract]:
    """Return a copy that stores every value, but computes with given results of chosen operations, and its contract.

    It reads the given results from buffers that come after those of `store_all_values`, in the same order.
    """
    copy: Module = clone(module)
    launches = []
    for launch in contract.launches:
        entry, blocks = copy.entry(launch.entry), prod(launch.grid)
        values = observed(entry, launch, every=True)
        given = [v for v in values if isinstance(v.owner, Op) and chosen(v.owner)]
        front = Block([], [])
        index = _linear_index(front)
        bases = [Value(Tile((), Ptr(_tile(v).element)), entry.body) for v in given]
        replace_uses(entry, {v: _load(front, base, index, _tile(v)) for v, base in zip(given, bases)})
        buffers = _store_values(entry, values, blocks)
        buffers += [replace(_buffer(v, blocks), written=False) for v in given]
        entry.body.ops[:0] = front.ops
        entry.body.args += bases
        entry.function_type = Function([v.type for v in entry.body.args])
        launches.append(replace(launch, args=(*launch.args, *buffers)))
    return copy, Contract(tuple(launches))


def observed(entry: Entry, launch: Launch, every: bool) -> list[Value]:
    """Return the values that `store_all_values` stores: unused tiles in an entry's own block, or every one."""
    used = {v for o in walk(entry.body) for v in o.operands}
    found = []
    for o in entry.body.ops:
        for value in o.results:
            t = value.type
            if not isinstance(t, Tile) or not isinstance(t.element, Scalar) or t.element is I4:
                continue
            if t.size * prod(launch.grid) <= MOST and (value not in used or (every and _defined(o))):
                found.append(value)
    return found


def _tile(value: Value) -> Tile:
    assert isinstance(value.type, Tile)
    return value.type


def _buffer(value: Value, blocks: int) -> Buffer:
    """A buffer for the values of all tile blocks."""
    t = _tile(value)
    assert isinstance(t.element, Scalar)
    return Buffer(t.element, t.size * blocks, written=True)


def _store_values(entry: Entry, values: Sequence[Value], blocks: int) -> list[Buffer]:
    """Add a parameter and a store for each value."""
    body = entry.body
    last = body.ops.pop()
    index = _linear_index(body)
    for value in values:
        base = Value(Tile((), Ptr(_tile(value).element)), body)
        body.args.append(base)
        _store(body, base, index, value, _tile(value))
    body.ops.append(last)
    entry.function_type = Function([v.type for v in body.args])
    return [_buffer(v, blocks) for v in values]


def _defined(o: Op) -> bool:
    """Tell whether results are the same everywhere: addresses and masked elements are not."""
    if isinstance(o, ops.LoadPtrTko):
        return o.mask is None or o.paddingValue is not None
    masked = isinstance(o, (ops.AtomicCASTko, ops.AtomicRMWTko)) and o.mask is not None
    return not masked and not isinstance(o, ops.PtrToInt)


def _add(body: Block, o: Any) -> Value:
    body.ops.append(o)
    result: Value = o.results[0]
    return result


def _linear_index(body: Block) -> Value:
    """Compute the linear index of the tile block, x varying fastest."""
    here, size = ops.GetTileBlockId(), ops.GetNumTileBlocks()
    body.ops += [here, size]
    row = _add(body, ops.MulI(lhs=here.blockId_z, rhs=size.gridSize_y))
    row = _add(body, ops.AddI(lhs=row, rhs=here.blockId_y))
    row = _add(body, ops.MulI(lhs=row, rhs=size.gridSize_x))
    return _add(body, ops.AddI(lhs=row, rhs=here.blockId_x))


def _places(body: Block, base: Value, size: int) -> Value:
    """Compute pointers to `size` elements."""
    one = _add(body, ops.Reshape(source=base, result=Value(Tile((1,), base.type.element))))  # type: ignore[attr-defined]  # a pointer
    row = _add(body, ops.Broadcast(source=one, result=Value(Tile((size,), base.type.element))))  # type: ignore[attr-defined]  # as above
    return _add(body, ops.Offset(ptr=row, offset=_add(body, ops.Iota(result=Value(Tile((size,), I32))))))


def _own_places(body: Block, base: Value, index: Value, size: int) -> Value:
    """Compute pointers to the tile block's elements of a buffer."""
    count = _add(body, ops.Constant(value=Dense.of(Tile((), I32), [size])))
    start = _add(body, ops.Offset(ptr=base, offset=_add(body, ops.MulI(lhs=index, rhs=count))))
    return _places(body, start, size)


def _load(body: Block, base: Value, index: Value, t: Tile) -> Value:
    """Load a tile from the tile block's position in a buffer."""
    places = _own_places(body, base, index, t.size)
    flat = _add(body, ops.LoadPtrTko(memory_ordering_semantics=Ordering.WEAK, source=places))
    return _add(body, ops.Reshape(source=flat, result=Value(t)))


def _store(body: Block, base: Value, index: Value, value: Value, t: Tile) -> None:
    """Store a tile at the tile block's position in a buffer."""
    places = _own_places(body, base, index, t.size)
    flat = _add(body, ops.Reshape(source=value, result=Value(Tile((t.size,), t.element))))
    _add(body, ops.StorePtrTko(memory_ordering_semantics=Ordering.WEAK, destination=places, value=flat))


# ---------------------------------------------------------------- hiding constants from a compiler


def constants_as_arguments(
    module: Module, contract: Contract, integers: bool = False
) -> tuple[Module, Contract, list[list[Array]]]:
    """Return a copy that loads its constants from memory, so that no compiler can fold them, and its contract.

    Only floats are loaded, or with `integers` all. The last result is the content of each launch's added buffers.
    """
    copy: Module = clone(module)
    launches, contents = [], []
    for launch in contract.launches:
        entry = copy.entry(launch.entry)
        found = _load_constants(entry, integers)
        entry.function_type = Function([v.type for v in entry.body.args])
        buffers = (Buffer(element, content.size, written=False) for element, content in found)
        launches.append(replace(launch, args=(*launch.args, *buffers)))
        contents.append([content for _, content in found])
    return copy, Contract(tuple(launches)), contents


def _load_constants(entry: Entry, integers: bool) -> list[tuple[Scalar, Array]]:
    """Replace constants by loads from new parameters; return the types and contents of the parameters."""
    found, front, values = [], Block([], []), {}
    for block in [b for o in walk(entry) for b in o.blocks]:
        kept = []
        for o in block.ops:
            # Four-bit elements have no address of their own.
            if isinstance(o, ops.Constant) and o.value.element.bits != 4 and (integers or o.value.element.is_float):
                base = Value(Tile((), Ptr(o.value.element)), entry.body)
                entry.body.args.append(base)
                values[o.result], content = _load_constant(front, base, o.value)
                found.append((o.value.element, content))
            else:
                kept.append(o)
        block.ops[:] = kept
    entry.body.ops[:0] = front.ops
    replace_uses(entry, values)
    return found


def _load_constant(body: Block, base: Value, value: Dense) -> tuple[Value, Array]:
    """Load a constant; return the value and the content of memory, a single element for a splat."""
    t, content = value.type, dense_array(value).reshape(-1)
    if len(value.stored()) == 1:
        loaded = _add(body, ops.LoadPtrTko(memory_ordering_semantics=Ordering.WEAK, source=base))
        ones = _add(body, ops.Reshape(source=loaded, result=Value(Tile((1,) * t.rank, t.element))))
        made = _add(body, ops.Broadcast(source=ones, result=Value(t)))
        content = content[:1]
    else:
        row = ops.LoadPtrTko(memory_ordering_semantics=Ordering.WEAK, source=_places(body, base, t.size))
        made = _add(body, ops.Reshape(source=_add(body, row), result=Value(t)))
    return made, np.ascontiguousarray(content).view(f"u{content.itemsize}")


# ---------------------------------------------------------------- hiding the bits of NaNs

_INTEGERS = {16: I16, 32: I32, 64: I64}


def canonical_nans(module: Module) -> Module:
    """Return a copy in which every NaN that is stored, or whose bits become integers, has one sign and payload.

    Results that differ only in the bits of NaNs are then the same. A NaN is found and replaced by integer operations,
    which no compiler simplifies because of what it knows of floats.
    """
    copy: Module = clone(module)
    for block in [b for o in walk(copy) for b in o.blocks]:
        made: list[Op] = []
        for o in block.ops:
            exposed = o.source if isinstance(o, (ops.Bitcast, ops.Pack)) else getattr(o, "value", None)
            exposed = o.tile if isinstance(o, ops.StoreViewTko) else exposed
            if isinstance(exposed, Value) and (isinstance(o, (ops.Bitcast, ops.Pack)) or "store" in o.name):
                chosen = _canonical(made, exposed)
                map_operands(o, lambda v, old=exposed, new=chosen: new if v is old else v)  # type: ignore[misc]  # defaults bind
            made.append(o)
        block.ops[:] = made
    return copy


def _canonical(body: list[Op], value: Value) -> Value:
    t = value.type
    if not isinstance(t, Tile) or not isinstance(t.element, Scalar) or t.element not in (F16, BF16, F32, F64):
        return value

    def add(o: Any) -> Value:
        body.append(o)
        found: Value = o.results[0]
        return found

    def number(bits: int) -> Value:
        return add(ops.Constant(value=Dense.of(whole, [bits])))

    form, whole = t.element.format, Tile(t.shape, _INTEGERS[t.element.bits])
    bits = add(ops.Bitcast(source=value, result=Value(whole)))
    size = add(ops.AndI(lhs=bits, rhs=number(form.sign - 1)))
    above, unsigned = ComparisonPredicate.GREATER_THAN, Signedness.UNSIGNED
    infinity = number(form.top + 1)
    is_nan = add(ops.CmpI(comparison_predicate=above, lhs=size, rhs=infinity, signedness=unsigned))
    chosen = add(ops.Select(cond=is_nan, val_if_true=number(form.sign - 1), val_if_false=bits))
    return add(ops.Bitcast(source=chosen, result=Value(t)))
