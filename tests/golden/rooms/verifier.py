"""The verifiers: what each of them finds in legal and in illegal modules, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from golden.material import changeable, modules, parsed, rng_of
from golden.material import changed as changed_module
from golden.shown import error, findings
from golden.table import group
from support.mutation import mutate
from tilery.diag import TileError
from tilery.ir import clone, walk
from tilery.ops import Module
from tilery.text.parse.parser import parse
from tilery.verifier.verify import Hints, verify

READERS = ("13.1", "13.2", "13.3")


def verified(m: Module, number: int) -> str:
    """Describe the violations in a module; generated and walking verifiers must agree."""
    index = {o: at for at, o in enumerate(walk(m))}
    every = findings(verify(m), index)
    assert every == findings(verify(m, fast=False), index), "the two verifiers disagree"
    assert every == findings(verify(m, fast=None), index), "the two verifiers disagree"
    rows = [
        every,
        findings(verify(m, stop="mlir", dominance=number % 2 == 0), index),
        findings(verify(m, hints=(Hints.WARN, Hints.ERROR)[number % 2], max_errors=1 + number % 3), index),
        *(findings(verify(m, reader=reader), index) for reader in READERS),
    ]
    return "\n--\n".join(rows)


@group("verifier/as-it-is", 2)
def as_it_is(part: int) -> Iterator[str]:
    for number, m in enumerate(islice([*modules(), *parsed()], part, None, 2)):
        yield verified(m, number)


@group("verifier/changed", 2)
def changed(part: int) -> Iterator[str]:
    for number in range(400):
        rng = rng_of("verifier", part, number)
        if (m := changed_module(rng)) is None:
            continue
        yield verified(m, number)


@group("verifier/beside")
def beside() -> Iterator[str]:
    """Kernels with a change or two, beside the same kernels without it, from which too much may be remembered."""
    for number in range(350):
        rng = rng_of("beside", number)
        legal = rng.choice(changeable())
        try:
            other = mutate(legal, rng)
        except (TileError, IndexError):
            continue
        for entry in other.entries:
            entry.sym_name += "_2"
        both: Module = clone(legal)
        if number % 2:
            both.body.ops += other.body.ops
        else:
            both.body.ops[:0] = other.body.ops
        yield verified(both, number)


@group("verifier/corners", 2)
def corners(part: int) -> Iterator[str]:
    """Each integer of an operation in turn is one at which something may change."""
    done: Counter[tuple[str, str]] = Counter()
    for m in changeable()[part::2]:
        index = {o: at for at, o in enumerate(walk(m))}
        for o in list(walk(m)):
            for f in o.opdef.attrs:
                old = getattr(o, f.attr)
                if done[o.name, f.attr] >= 2 or not (type(old) is int or is_integers(old)):
                    continue
                done[o.name, f.attr] += 1
                rows = []
                for value in VALUES:
                    changes = (
                        [value] if type(old) is int else [(*old[:at], value, *old[at + 1 :]) for at in range(len(old))]
                    )
                    for change in [*changes, *([] if type(old) is int else [(), (*old, 1), old[:-1]])]:
                        setattr(o, f.attr, change)
                        rows.append(findings(verify(m), index))
                setattr(o, f.attr, old)
                yield f"{o.name} {f.attr}\n" + "\n".join(rows)


VALUES = (
    0,
    1,
    2,
    3,
    4,
    6,
    8,
    16,
    32,
    33,
    64,
    1024,
    1 << 24,
    (1 << 24) + 1,
    (1 << 31) - 1,
    1 << 31,
    (1 << 63) - 1,
    -1,
    -2,
    -(1 << 31),
)


def is_integers(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(type(each) is int for each in value)


SCOPES = {
    "entry": "{}",
    "for": "for %i in (%x to %x, step %x) : tile<i32> {{ {} }}",
    "loop": "loop {{ {} }}",
    "if": "if %c {{ {} }}",
    "reduce": "%r = reduce %v dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> "
    "(%a: tile<i32>, %b: tile<i32>) {{ {} }}",
    "if in loop": "loop {{ if %c {{ {} }} continue }}",
}
ENDS = (
    "return", "continue", "break", "yield", "yield %x : tile<i32>", "continue %x : tile<i32>", "break %x : tile<i32>",
    'print_tko "no end" -> token',
)  # fmt: skip
MASKS = ("", "%m", "%n", "%h")
"""No mask, one that fits, and two that do not."""
TYPES = {"%m": "tile<8xi1>", "%n": "tile<4xi1>", "%h": "tile<8xi8>"}
ACCESSES = (
    "%l{}, %t{} = load_ptr_tko weak %p{} : tile<8xptr<i32>>{} -> tile<8xi32>, token",
    "%t{} = store_ptr_tko weak %p, %v{} : tile<8xptr<i32>>, tile<8xi32>{} -> token",
    "%l{}, %t{} = atomic_rmw_tko relaxed device %p, add, %v{} : tile<8xptr<i32>>, tile<8xi32>{} -> tile<8xi32>, token",
)


@group("verifier/again")
def again() -> Iterator[str]:
    """Operations that are legal at first, and then again inside of another operation or with another operand."""
    for end in ENDS:
        for first in SCOPES.values():
            for second in SCOPES.values():
                yield in_kernel(first.format(end), second.format(end), "return")
    for access in ACCESSES:
        for first in MASKS:
            for second in MASKS:
                yield in_kernel(*(masked(access, at, mask) for at, mask in enumerate((first, second))), "return")
    for first in MASKS[1:]:
        for second in MASKS[1:]:
            yield in_kernel("%t9 = make_token : token", full(0, first), full(1, second), "return")
    effect = 'print_tko "in" -> token'
    for inner in ("", effect, f"if %c {{ {effect} }}", f"if %c {{ if %c {{ {effect} }} }}", "if %c { if %c { } }"):
        for around in ("{}", "if %c {{ {} }}", "for %i in (%x to %x, step %x) : tile<i32> {{ {} }}"):
            yield in_kernel(SCOPES["reduce"].format(around.format(inner) + " yield %a : tile<i32>"), "return")


@group("verifier/many")
def many() -> Iterator[str]:
    """As many violations as are reported, and more."""
    for count in (1, 99, 100, 101, 102):
        yield in_kernel(*(f"%e{number} = extract %v[] : tile<8xi32> -> tile<2xi32>" for number in range(count)))
        yield in_kernel(*(f"%e{number} = exti %x signed : tile<i32> -> tile<i8>" for number in range(count)))


def masked(access: str, number: int, mask: str) -> str:
    numbers = [number] * (access.count("{}") - 2)
    return access.format(*numbers, f", {mask}" if mask else "", f", {TYPES[mask]}" if mask else "")


def full(number: int, mask: str) -> str:
    """Return a load with everything that it may have."""
    types = f"tile<8xptr<i32>>, {TYPES[mask]}, tile<8xi32> -> tile<8xi32>, token"
    return f"%l{number}, %t{number} = load_ptr_tko weak %p, {mask}, %v token=%t9 : {types}"


def in_kernel(*lines: str) -> str:
    known = ["%v = constant <i32: 0> : tile<8xi32>", "%m = constant <i1: true> : tile<8xi1>"]
    known += ["%n = constant <i1: true> : tile<4xi1>"]
    known += ["%h = constant <i8: 1> : tile<8xi8>", "%s = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>"]
    known += ["%p = broadcast %s : tile<1xptr<i32>> -> tile<8xptr<i32>>"]
    body = "\n".join([*known, *lines])
    try:
        m = parse(f"entry @k(%q: tile<ptr<i32>>, %x: tile<i32>, %c: tile<i1>) {{\n{body}\n}}\n")
    except TileError as e:
        return error(e)
    return verified(m, len(body))
