"""Structure-aware mutation: one or two changes to a legal module that bytecode can still express."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from tilery.attrs import Attr, Bounded, Dense, DivBy, FloatAttr, IntAttr, SameElements
from tilery.declare.fields import AttrKind, Field
from tilery.ir import Block, Op, Value, clone, walk
from tilery.ops import Break, Continue, Entry, If, Module, Return, Yield
from tilery.types import DYNAMIC, NUMBERS, SCALARS, TOKEN, Function, PartitionView, Ptr, TensorView, Tile, Type

Mutation = Callable[["Scene"], bool]


class Scene:
    """A module to change, with the lists from which mutations choose."""

    def __init__(self, module: Module, rng: random.Random) -> None:
        self.module, self.rng = module, rng
        self.entry = rng.choice(module.entries)
        self.ops = list(walk(self.entry.body))
        self.blocks = [self.entry.body] + [b for o in self.ops for b in o.blocks]
        self.types = list(dict.fromkeys(v.type for o in self.ops for v in (*o.results, *o.operands)))

    def op(self) -> Op:
        return self.rng.choice(self.ops)

    def type_like(self, t: Type) -> Type:
        """Return another type: any type of the module, or a similar one."""
        rng = self.rng
        if rng.random() < 0.4 and self.types:
            return rng.choice(self.types)
        match t:
            case Tile():
                return _other_tile(t, rng)
            case TensorView():
                shape = [rng.choice((d, DYNAMIC, 16)) for d in t.shape]
                return TensorView(rng.choice(NUMBERS), shape, t.strides)
            case PartitionView():
                return PartitionView([rng.choice((d, 4)) for d in t.tile_shape], t.tensor_view, t.dim_map)
        return rng.choice((TOKEN, Tile((), SCALARS["i32"])))


def _other_tile(t: Tile, rng: random.Random) -> Type:
    match rng.randrange(4):
        case 0:
            return Tile(t.shape, rng.choice(NUMBERS))
        case 1:
            return Tile([rng.choice((d, d * 2 if d < 1024 else d, 1)) for d in t.shape], t.element)
        case 2:
            shape = t.shape[1:] if t.shape and rng.random() < 0.5 else (*t.shape, rng.choice((1, 2)))
            return Tile(shape, t.element)
    element = t.element
    return Tile(
        t.shape, element.pointee if isinstance(element, Ptr) else Ptr(element) if element in NUMBERS else element
    )


def mutate(module: Module, rng: random.Random, mutations: Sequence[Mutation] | None = None) -> Module:
    """Return a clone with one or two changes."""
    made: Module = clone(module)
    scene = Scene(made, rng)
    wanted = rng.choice((1, 1, 1, 2))
    for _ in range(40):
        if rng.choice(mutations or MUTATIONS)(scene):
            wanted -= 1
            if wanted == 0:
                break
    return made


# ---------------------------------------------------------------- mutations


def change_type(s: Scene) -> bool:
    values = [v for o in s.ops for v in o.results] + [v for b in s.blocks[1:] for v in b.args]
    if not values:
        return False
    value = s.rng.choice(values)
    value.type = s.type_like(value.type)
    return True


def change_operand(s: Scene) -> bool:
    o: Any = s.op()
    fields = [f for f in o.opdef.operands if getattr(o, f.attr) not in (None, ())]
    visible = _visible(s, o)
    if not fields or not visible:
        return False
    f = s.rng.choice(fields)
    if f.arity == "var":
        values = list(getattr(o, f.attr))
        match s.rng.randrange(4):
            case 0:
                values.pop(s.rng.randrange(len(values)))
            case 1:
                values.append(s.rng.choice(visible))
            case _:
                values[s.rng.randrange(len(values))] = s.rng.choice(visible)
        setattr(o, f.attr, tuple(values))
    else:
        setattr(o, f.attr, s.rng.choice(visible))
    return True


def toggle_optional(s: Scene) -> bool:
    o: Any = s.op()
    fields = [f for f in o.opdef.operands if f.arity == "opt"]
    visible = _visible(s, o)
    if not fields or not visible:
        return False
    f = s.rng.choice(fields)
    setattr(o, f.attr, None if getattr(o, f.attr) is not None else s.rng.choice(visible))
    return True


def change_attribute(s: Scene) -> bool:
    candidates = [(o, f) for o in s.ops for f in o.opdef.attrs]
    if not candidates:
        return False
    o, f = s.rng.choice(candidates)
    old = getattr(o, f.attr)
    new = _other_value(f, old, s.rng)
    if new is ...:
        return False
    setattr(o, f.attr, new)
    return True


def _other_value(f: Field, old: Any, rng: random.Random) -> Any:
    if f.arity == "opt" and f.kind is AttrKind.ENUM and rng.random() < 0.4:
        return None if old is not None else rng.choice(list(f.enum or ()))
    match f.kind:
        case AttrKind.ENUM:
            return rng.choice(list(f.enum or ()))
        case AttrKind.FLAG | AttrKind.BOOL:
            return not old
        case AttrKind.I64 | AttrKind.I32:
            return rng.choice((0, 1, 2, 3, 7, 8, old + 1))
        case AttrKind.I32_ARRAY:
            values = list(old)
            rng.shuffle(values)
            return tuple(values if rng.random() < 0.6 else [*values[:-1], rng.randrange(4)])
        case AttrKind.BOOL_ARRAY:
            return tuple(not v for v in old) if rng.random() < 0.6 else (*old, True)
        case AttrKind.STR:
            return rng.choice((old + "%d", "%", "100%%", old + "%5.2f%s"))
        case AttrKind.PREDICATE:
            return rng.choice(
                (
                    DivBy(6),
                    DivBy(8, 2, 0),
                    DivBy(1 << 63),
                    SameElements((1,)),
                    Bounded(5, 2),
                    Bounded(0, 300),
                    Bounded(None, 7),
                )
            )
        case AttrKind.ARRAY:
            return _other_identities(old, rng)
        case AttrKind.DENSE:
            return Dense(old.type, old.data)
    return ...


def _other_identities(old: Any, rng: random.Random) -> Any:
    values: list[Attr] = list(old or ())
    if not values or rng.random() < 0.3:
        return tuple(values[:-1]) if values else ...
    values[rng.randrange(len(values))] = rng.choice(
        (IntAttr(SCALARS["i32"], 1), FloatAttr(SCALARS["f32"], 0), FloatAttr(SCALARS["bf16"], 0))
    )
    return tuple(values)


def move_op(s: Scene) -> bool:
    """Move an operation. If that breaks dominance, the writer rejects the module and it is skipped."""
    source, target = s.rng.choice(s.blocks), s.rng.choice(s.blocks)
    if len(source.ops) < 2:
        return False
    o = source.ops.pop(s.rng.randrange(len(source.ops)))
    if target in _blocks_of(o):
        source.ops.append(o)
        return False
    target.ops.insert(s.rng.randrange(len(target.ops) + 1), o)
    return True


def _blocks_of(o: Op) -> list[Block]:
    return [b for x in walk(o) for b in x.blocks]


def drop_op(s: Scene) -> bool:
    used = {v for o in s.ops for v in o.operands}
    candidates = [(b, o) for b in s.blocks for o in b.ops if not any(v in used for v in o.results)]
    if not candidates:
        return False
    block, o = s.rng.choice(candidates)
    block.ops.remove(o)
    return True


def copy_op(s: Scene) -> bool:
    block = s.rng.choice(s.blocks)
    if not block.ops:
        return False
    index = s.rng.randrange(len(block.ops))
    block.ops.insert(index + s.rng.randrange(2), clone(block.ops[index]))
    return True


def change_terminator(s: Scene) -> bool:
    block = s.rng.choice(s.blocks)
    if not block.ops:
        return False
    last: Any = block.ops[-1]
    values = getattr(last, "operands_", ())
    made = s.rng.choice((Yield, Continue, Break, Return))(operands_=values if s.rng.random() < 0.7 else ())
    made.loc = last.loc
    block.ops[-1] = made
    return True


def change_region(s: Scene) -> bool:
    candidates = [o for o in s.ops if o.blocks]
    if not candidates:
        return False
    o: Any = s.rng.choice(candidates)
    if isinstance(o, If) and s.rng.random() < 0.5:
        o.elseRegion = None if o.elseRegion is not None else clone_block(o.thenRegion)
        return True
    block = s.rng.choice(o.blocks)
    if s.rng.random() < 0.5:
        block.args.append(Value(s.type_like(TOKEN), block))
        return True
    used = {v for x in s.ops for v in x.operands}
    spare = [v for v in block.args if v not in used]
    if not spare:
        return False
    block.args.remove(s.rng.choice(spare))
    return True


def clone_block(block: Block) -> Block:
    holder = Entry(sym_name="x", function_type=Function([]), body=block)
    copied: Entry = clone(holder)
    return copied.body


def change_results(s: Scene) -> bool:
    candidates = [(o, f) for o in s.ops for f in o.opdef.outs if f.arity == "var"]
    if not candidates:
        return False
    o, f = s.rng.choice(candidates)
    values = list(getattr(o, f.attr))
    if values and s.rng.random() < 0.5:
        used = {v for x in s.ops for v in x.operands}
        if values[-1] in used:
            return False
        values.pop()
    else:
        values.append(Value(s.type_like(values[-1].type if values else TOKEN), o))
    setattr(o, f.attr, tuple(values))
    return True


def change_entry(s: Scene) -> bool:
    entry = s.entry
    match s.rng.randrange(4):
        case 0:
            entry.sym_name = s.rng.choice([e.sym_name for e in s.module.entries] + ["other"])
        case 1:
            index = s.rng.randrange(len(entry.body.args)) if entry.body.args else None
            if index is None:
                return False
            made = s.type_like(entry.body.args[index].type)
            entry.body.args[index].type = made
            params = [v.type for v in entry.body.args]
            entry.function_type = Function(params, entry.function_type.results)
        case 2:
            entry.function_type = Function(entry.function_type.params, [Tile((), SCALARS["i32"])])
        case _:
            copied = clone(entry)
            copied.sym_name += "_copy"
            s.module.body.ops.append(copied)
    return True


def change_location(s: Scene) -> bool:
    o = s.op()
    match s.rng.randrange(3):
        case 0:
            s.entry.loc = None
        case 1:
            o.loc = None
        case _:
            others = [x.loc for x in s.ops if x.loc is not None]
            if not others:
                return False
            s.entry.loc = s.rng.choice(others)
    return True


def _visible(s: Scene, o: Op) -> list[Value]:
    """Return the values that the writer can refer to at an operation: those defined before and around it."""
    found: list[Value] = []
    stack: list[tuple[Block, list[Value]]] = [(s.entry.body, list(s.entry.body.args))]
    while stack:
        block, seen = stack.pop()
        for x in block.ops:
            if x is o:
                return seen
            stack += [(b, [*seen, *b.args]) for b in x.blocks]
            seen = [*seen, *x.results]
    return found


MUTATIONS: tuple[Mutation, ...] = (
    change_type,
    change_type,
    change_operand,
    change_operand,
    change_attribute,
    change_attribute,
    change_attribute,
    toggle_optional,
    move_op,
    drop_op,
    copy_op,
    change_terminator,
    change_region,
    change_results,
    change_entry,
    change_location,
)
