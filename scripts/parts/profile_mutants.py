"""Mutants that show what versions of NVIDIA's verifier do differently: hints, element types, bodies, bytes."""

from __future__ import annotations

import random
from typing import Any

from support.broken import mutate_bytes
from support.mutation import MUTATIONS, Mutation, Scene, mutate
from tilery.attrs import (
    Attr,
    Dense,
    DictAttr,
    FloatAttr,
    IntAttr,
    IntegerOverflow,
    OptimizationHints,
    RoundingMode,
    Signedness,
    StrAttr,
)
from tilery.bytecode.writer import write
from tilery.declare.fields import AttrKind
from tilery.ir import Block, Value, walk
from tilery.ops import DivI, Entry, If, Module, Reduce, RemI, Return, Scan, ShRI, Yield
from tilery.types import I1, I32, I64, NUMBERS, Function, PartitionView, Ptr, Scalar, TensorView, Tile, Type
from tilery.version import Version

ARCHITECTURES = ("sm_80", "sm_86", "sm_90", "sm_100", "sm_103", "sm_120", "sm_75", "default", "x")
HINTS = ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy", "allow_tma", "latency", "foo")
NUMBERS_OF_HINTS = (0, 1, 2, 3, 4, 8, 10, 11, 16, 32, 33, 64)


def change_hints(s: Scene) -> bool:
    """Give an operation hints, of which some are known, at some architectures."""
    found: list[Any] = [s.entry, *s.ops]
    places = [(o, f.attr) for o in found for f in o.opdef.attrs if f.kind is AttrKind.HINTS]
    o, name = s.rng.choice(places)
    archs = s.rng.sample(ARCHITECTURES, s.rng.choice((1, 1, 2)))
    setattr(o, name, OptimizationHints(DictAttr(tuple((arch, _hints(s.rng)) for arch in archs))))
    return True


def _hints(rng: random.Random) -> Attr:
    if rng.random() < 0.05:
        return IntAttr(I32, 1)
    names = rng.sample(HINTS, rng.choice((0, 1, 1, 1, 2)))
    return DictAttr(tuple((name, _hint(rng, name)) for name in names))


def _hint(rng: random.Random, name: str) -> Attr:
    if rng.random() < 0.1:
        return StrAttr("x")
    if name == "allow_tma" or rng.random() < 0.1:
        return IntAttr(I1, rng.randrange(2))
    return IntAttr(rng.choice((I32, I64)), rng.choice(NUMBERS_OF_HINTS))


def change_element(s: Scene) -> bool:
    """Replace one element type by another one in a whole function."""
    elements = [v.type.element for o in s.ops for v in o.results if isinstance(v.type, Tile)]
    old = s.rng.choice([e for e in elements if isinstance(e, Scalar)] or [I32])
    new = s.rng.choice([n for n in NUMBERS if n.is_float == old.is_float or s.rng.random() < 0.2])
    for value in _values(s.entry):
        value.type = _with_element(value.type, old, new)
    s.entry.function_type = Function([v.type for v in s.entry.body.args], s.entry.function_type.results)
    for o in s.ops:
        _change_attributes(o, old, new)
    return True


def _values(entry: Entry) -> list[Value]:
    inside = list(walk(entry.body))
    return [
        *entry.body.args,
        *(v for o in inside for b in o.blocks for v in b.args),
        *(v for o in inside for v in o.results),
    ]


def _with_element(t: Type, old: Scalar, new: Scalar) -> Type:
    match t:
        case Scalar():
            return new if t is old else t
        case Ptr():
            return Ptr(_with_element(t.pointee, old, new))
        case Tile():
            return Tile(t.shape, _with_element(t.element, old, new))
        case TensorView():
            return TensorView(_with_element(t.element, old, new), t.shape, t.strides)
        case PartitionView():
            tensor = _with_element(t.tensor_view, old, new)
            assert isinstance(tensor, TensorView)
            return PartitionView(t.tile_shape, tensor, t.dim_map, t.padding_value)
    return t


def _change_attributes(o: Any, old: Scalar, new: Scalar) -> None:
    for f in o.opdef.attrs:
        value = getattr(o, f.attr)
        if f.kind is AttrKind.DENSE and value.element is old:
            setattr(o, f.attr, Dense.of(Tile(value.type.shape, new), [1] * value.type.size))
        elif f.kind is AttrKind.ARRAY:
            setattr(o, f.attr, tuple(_identity(a, old, new) for a in value or ()) or value)


def _identity(attr: Attr, old: Scalar, new: Scalar) -> Attr:
    if getattr(attr, "type", None) is not old:
        return attr
    return FloatAttr(new, 0) if new.is_float else IntAttr(new, 0)


def extend_reduction(s: Scene) -> bool:
    """Put a division, a shift or a branch into the body of a reduction."""
    bodies = [o.body for o in s.ops if isinstance(o, (Reduce, Scan))]
    if not bodies:
        return False
    body = s.rng.choice(bodies)
    a = s.rng.choice(body.args or [None])
    if a is None:
        return False
    made: Any = None
    match s.rng.randrange(4):
        case 0:
            made = DivI(lhs=a, rhs=a, signedness=Signedness.SIGNED, rounding=RoundingMode.ZERO, result=Value(a.type))
        case 1:
            made = RemI(lhs=a, rhs=a, signedness=Signedness.UNSIGNED, result=Value(a.type))
        case 2:
            made = ShRI(lhs=a, rhs=a, signedness=Signedness.SIGNED, result=Value(a.type))
        case _:
            made = If(condition=a, thenRegion=Block([], [Yield(operands_=())]), elseRegion=None, results_=())
    body.ops.insert(0, made)
    return True


def leave_early(s: Scene) -> bool:
    """End a block of a loop or branch with `return`."""
    block = s.rng.choice(s.blocks)
    made = Return(operands_=())
    if block.ops:
        made.loc = block.ops[-1].loc
        block.ops[-1] = made
    return bool(block.ops)


def change_rounding(s: Scene) -> bool:
    """Change a rounding mode, an overflow flag or another enumeration; most attributes are others."""
    found: list[Any] = list(s.ops)
    fields = [(o, f) for o in found for f in o.opdef.attrs if f.enum in (RoundingMode, IntegerOverflow, Signedness)]
    if not fields:
        return False
    o, f = s.rng.choice(fields)
    setattr(o, f.attr, s.rng.choice(list(f.enum or ())))
    return True


EXTRA: tuple[Mutation, ...] = (
    change_hints,
    change_element,
    change_element,
    extend_reduction,
    leave_early,
    change_rounding,
)


def mutant(module: Module, rng: random.Random, version: Version) -> bytes:
    """Return the bytecode of a mutant in a version; raise TileError if that version cannot express it."""
    kind = rng.random()
    if kind < 0.15:
        return mutate_bytes(write(module, version), rng)
    mutations = EXTRA if kind < 0.5 else MUTATIONS
    return write(mutate(module, rng, mutations), version)
