"""Random changes of kernels: an operand, a constant, a predicate, or the order of operands."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tilery import Module, Value, clone, ops, walk
from tilery.attrs import Dense
from tilery.enums import ComparisonPredicate
from tilery.ir import Op
from tilery.prove import Program, Stage

SWAPPED = (ops.SubF, ops.SubI, ops.DivF, ops.CmpI, ops.DivI)


def mutate(module: Module, rng: random.Random) -> str:
    """Change one thing in a module; return what, or nothing if it cannot be changed."""
    found = [o for o in walk(module) if o.operands or isinstance(o, ops.Constant)]
    o = rng.choice(found)
    if isinstance(o, ops.Constant):
        return _constant(o, rng)
    how = rng.random()
    if isinstance(o, ops.CmpI) and how < 0.4:
        o.comparison_predicate = rng.choice([p for p in ComparisonPredicate if p is not o.comparison_predicate])
        return "predicate"
    if isinstance(o, ops.Select) and how < 0.4:
        o.val_if_true, o.val_if_false = o.val_if_false, o.val_if_true
        return "select swapped"
    if isinstance(o, SWAPPED) and how < 0.5:
        o.lhs, o.rhs = o.rhs, o.lhs
        return f"{o.name} swapped"
    return _operand(module, o, rng)


def _constant(o: ops.Constant, rng: random.Random) -> str:
    element, splat = o.value.element, o.value.splat
    if splat is None:
        return ""
    if element.is_float:
        o.value = Dense.of(o.value.type, [rng.choice([0.0, 1.0, 0.5, -1.0, 3.0])])
    elif element.bits >= 32:
        o.value = Dense.of(o.value.type, [max(0, splat + rng.choice([-1, 1]))])
    else:
        return ""
    return f"constant of {element}"


def _operand(module: Module, o: Op, rng: random.Random) -> str:
    """Replace an operand by another value of its type that is defined before."""
    fields = [f.attr for f in o.opdef.operands if isinstance(getattr(o, f.attr), Value)]
    if not fields:
        return ""
    name = rng.choice(fields)
    old = getattr(o, name)
    others = [v for v in _before(module, o) if v.type is old.type and v is not old]
    if not others:
        return ""
    setattr(o, name, rng.choice(others))
    return f"{o.name}.{name}"


def _before(module: Module, o: Op) -> Iterator[Value]:
    entry = next(entry for entry in module.entries if any(inner is o for inner in walk(entry)))
    yield from entry.body.args
    for parent in walk(entry):
        for block in parent.blocks:
            if any(inner is o for inner in block.ops):
                yield from block.args
                for inner in block.ops:
                    if inner is o:
                        return
                    yield from inner.results


def mutant(program: Program, seed: int) -> tuple[Program, str]:
    """Return a program with a change in one of its kernels."""
    rng = random.Random(seed)
    while True:
        at = rng.randrange(len(program.stages))
        stage = program.stages[at]
        module = clone(stage.module)
        what = mutate(module, rng)
        if what:
            changed = Stage(module, stage.grid, stage.args, stage.entry, stage.convention)
            return Program([changed if i == at else s for i, s in enumerate(program.stages)], program.scratch), what
