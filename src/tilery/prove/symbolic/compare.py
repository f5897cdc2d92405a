"""Rung 1: for all inputs and tile blocks, two kernels store the same bits at the same addresses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ...analysis.effects import memory_ordering
from ...diag import TileError
from ...engines.common.launch import MAX_GRID
from ...ir import walk
from ...ops import Entry, For, GetGlobal, LoadViewTko, Loop, Module, StorePtrTko, StoreViewTko
from ...types import Ptr, Tile
from ..verdict import EQUAL, UNDECIDED, Verdict
from .algebra import Algebra, Bits, Functions, UnboundedIntegers, as_bool, attributes
from .given import parse_given
from .invariants import Candidates, candidates, weaken
from .laws import under_laws
from .liveness import LOADS, Needed
from .memory import unordered
from .moves import Unsupported
from .proving import NO, YES, Prover, refines
from .side import Carried, Exit, KernelFormulas, LoopRecord, SymbolicEffect, SymbolicLoad, same_loops

Given = Sequence[str] | Callable[[KernelFormulas], list[Any]]
THEOREM = (
    "For all inputs, tile blocks and contents of memory{given}, B has the same effects as A: the same bits at the same "
    "addresses wherever A's are defined; and B reads only where A reads."
)
ASSUMED = [
    "float operations are some functions of their operands, attributes and types",
    "different pointer parameters do not overlap, and no tile block reads what another one writes",
    "addresses do not wrap around, and sizes of tensors are below 2**61; alloca returns the same addresses",
]
MOST_DIMENSIONS = 4
DIFFERENT_LOOPS = "the kernels have different numbers of loops"
IGNORED = [
    "tokens, but for those that order a load after stores, and the order of effects on different addresses",
    "time and memory",
]


@dataclass(slots=True)
class Attempt:
    """The result of one attempt: `proven`, `refused`, `counterexample`, `timeout`, `reads`, or `law`.

    `unlike` is refused as well, because the kernels have different loops or effects. `law` is a counterexample of
    kernels that are the same under a law that changes bits.
    """

    kind: str
    reason: str = ""
    model: dict[str, str] = field(default_factory=dict)


class Failed(Exception):
    """An attempt ends without a proof."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


def bits(
    a: Entry, b: Entry, *, given: Given = (), timeout: float = 10.0, modules: tuple[Module, Module] | None = None
) -> Verdict:
    """Tell whether a kernel may replace another one, bit for bit, for all inputs.

    `given` are conditions such as "p2 > 0", or a function from the formulas of the first kernel to z3 expressions.
    Integers are integers first, and bit vectors if that does not lead to a proof. Globals are compared if the `modules`
    of both kernels are given.
    """
    started = time.perf_counter()
    if [p.text for p in a.function_type.params] != [p.text for p in b.function_type.params]:
        raise TileError("prove: the kernels have different parameters")
    used = {o.name_ for entry in (a, b) for o in walk(entry) if isinstance(o, GetGlobal)}
    if modules is not None and (other := _different_globals(used, *modules)):
        return _verdict(Attempt("refused", f"the contents of @{other} differ"), given)
    last, prover, queries, tried = _search(a, b, given, timeout)
    if last.kind == "counterexample":
        for said, x, y in under_laws(a, b):
            found, _, more, _ = _search(x, y, given, timeout)
            queries += more
            if found.kind == "proven":
                last = Attempt("law", said)
                break
    verdict = _verdict(last, given)
    if verdict.is_equal:
        verdict.assumed += sorted(prover.assumed)
        verdict.assumed += ["globals of one name have the same contents"] if used and modules is None else []
    verdict.seconds = time.perf_counter() - started
    verdict.facts |= {"queries": queries, "attempts": tried}
    return verdict


def _search(a: Entry, b: Entry, given: Given, timeout: float) -> tuple[Attempt, Prover, int, list[str]]:
    """Try to prove B by each algebra; return the last attempt with its prover, the number of queries, and outcomes."""
    queries, last, tried = 0, Attempt("refused"), []
    # A load of A that nothing needs may cover one of B, or may be gone in B together with the loop around it. Branches
    # that only Z3 can decide are looked at if one kernel has loops or effects that the other one does not have.
    reads = [True, False] if _has_dead_loads(a) else [True]
    for mode in [(each, False) for each in reads] + [(each, True) for each in reads]:
        if mode[1] and last.kind != "unlike":
            break
        for make in (UnboundedIntegers, lambda f: Bits(f, True), lambda f: Bits(f, False)):
            claims = candidates(a)
            while True:
                functions = Functions()
                algebra: Algebra = make(functions)
                prover = Prover(functions, algebra, timeout)
                proven, last = _attempt(a, b, given, prover, mode, claims)
                queries += prover.queries
                if proven == claims:
                    break
                claims = proven
            tried.append(f"{algebra.name}: {last.kind}")
            done = last.kind in ("proven", "refused", "unlike")
            if done or (last.kind in ("counterexample", "reads") and algebra.exact):
                break
        if last.kind == "proven":
            break
        if last.kind in ("counterexample", "timeout") and _loops(a) != _loops(b):
            last = Attempt("unlike", DIFFERENT_LOOPS)  # one with no effect was left out: the others do not correspond
    return (Attempt("refused", last.reason) if last.kind == "unlike" else last), prover, queries, tried


def _verdict(last: Attempt, given: Given) -> Verdict:
    if last.kind == "proven":
        under = f" with {' and '.join(given)}" if given and not callable(given) else ""
        made = Verdict(EQUAL, THEOREM.format(given=under or (" under what is given" if given else "")), rung="bits")
        made.assumed, made.ignored, made.chance = list(ASSUMED), list(IGNORED), "none"
    else:
        said = {
            "refused": last.reason,
            "timeout": f"Z3 did not finish: {last.reason}",
            "reads": last.reason,
            "law": f"not the same bits: {last.reason}",
            "counterexample": f"not proven: {last.reason}; Z3's example may need laws of floats, or may be real",
        }[last.kind]
        made = Verdict(UNDECIDED, reason=said, rung="bits")
    made.facts = {"kind": last.kind}
    if last.model:
        made.facts["example"] = last.model
    return made


def _different_globals(used: set[str], one: Module, other: Module) -> str:
    """Return a global that both modules do not have in the same form."""
    tables = [{str(g.sym_name): attributes(g) for g in m.globals} for m in (one, other)]
    return next((name for name in sorted(used) if tables[0].get(name) != tables[1].get(name)), "")


def _has_dead_loads(entry: Entry) -> bool:
    needed = Needed(entry).values
    return any(isinstance(o, LOADS) and o.results[0] not in needed for o in walk(entry))


def _loops(entry: Entry) -> int:
    return sum(isinstance(o, (For, Loop)) for o in walk(entry))


def _attempt(
    a: Entry, b: Entry, given: Given, prover: Prover, mode: tuple[bool, bool], claims: Candidates
) -> tuple[Candidates, Attempt]:
    """Try to prove B from claims about A; return the claims that hold. If they are fewer, nothing is shown."""
    try:
        reads, prune = mode
        left = KernelFormulas(prover, a, reads=reads, claims=claims, prune=prune)
        prover.given = _facts(left, given)
        prover.given += left.controls  # a kernel that branches on an undefined value has no meaning
        proven = weaken(left, claims)
        if proven != claims:
            return proven, Attempt("refused")
        right = KernelFormulas(prover, b, left, prune=prune)
        if len(left.loops) != len(right.loops):  # before anything is asked about symbols of loops
            return claims, Attempt("unlike", DIFFERENT_LOOPS)
        for each in right.controls:
            _require(prover, each, "a branch on a defined value")
        _compare_promises(prover, left, right)
        _compare_loops(prover, left, right)
        _compare_effects(prover, left, right)
        _compare_reads(prover, left, right)
    except Unsupported as why:
        return claims, Attempt("refused", str(why))
    except Failed as failed:
        return claims, failed.attempt
    except (z3.Z3Exception, RecursionError) as error:
        return claims, Attempt("refused", f"Z3 refuses the formulas: {error}")
    return claims, Attempt("proven")


def _facts(side: KernelFormulas, given: Given) -> list[Any]:
    z = side.z
    made = []
    for bid, grid in zip(side.bid, side.grid):
        n, i = z.number(grid, 32), z.number(bid, 32)
        made += [i >= z.literal(0), i < n, n <= z.literal(MAX_GRID)]
    return made + (given(side) if callable(given) else [parse_given(text, side) for text in given])


def _require(prover: Prover, goal: Any, what: str, *given: Any) -> None:
    answer, model = prover.ask(goal, *given)
    if answer == YES:
        return
    if answer == NO:
        shown = {str(d): str(model[d])[:80] for d in model.decls() if d.arity() == 0}
        raise Failed(Attempt("counterexample", what, shown))
    raise Failed(Attempt("timeout", what))


def _compare_promises(prover: Prover, left: KernelFormulas, right: KernelFormulas) -> None:
    """Promises without a formula: B may promise of a view only what A promises of the same one."""
    for text, terms in right.promises:
        if not any(
            text == other and all(prover.ask(refines(a, b))[0] == YES for a, b in zip(given, terms))
            for other, given in left.promises
        ):
            raise Failed(Attempt("refused", "B assumes something that A does not"))


# ---------------------------------------------------------------- loops


def _compare_loops(prover: Prover, left: KernelFormulas, right: KernelFormulas) -> None:
    for x, y in zip(left.loops, right.loops):
        _compare_loop(prover, left, x, y)


def _compare_loop(prover: Prover, left: KernelFormulas, x: LoopRecord, y: LoopRecord) -> None:
    if x.facts != y.facts or not same_loops(x.loops, y.loops) or len(x.exits) != len(y.exits):
        raise Failed(Attempt("unlike", "the loops have different forms"))
    around, inside = left.within(x.loops), left.within((*x.loops, x.iteration))
    if not _same_iterations(x, y):
        for p, q in zip(x.bounds, y.bounds):
            _require(prover, z3.Implies(x.path, refines(p, q)), "the bounds of a loop", *around)
    _require(prover, x.path == y.path, "whether a loop runs", *around)
    _compare_values(prover, x.first, y.first, "the values that a loop starts with", x.path, *around)
    rest = list(y.exits)
    for one in x.exits:
        other = _exit(prover, one, rest, inside)
        rest.remove(other)
        _compare_values(prover, one.values, other.values, "the values that a loop carries on", one.path, *inside)


def _exit(prover: Prover, one: Exit, rest: list[Exit], inside: list[Any]) -> Exit:
    """Find the exit of the other loop under the same condition: only one exit of an iteration is taken."""
    alike = [other for other in rest if type(other.op) is type(one.op)]
    if not alike:
        raise Failed(Attempt("refused", "the loops end in different ways"))
    for other in alike[1:] if len(alike) > 1 and _asked(prover, one, alike[0], inside) != YES else []:
        if _asked(prover, one, other, inside) == YES:
            return other
    _require(prover, one.path == alike[0].path, "when an iteration ends", *inside)
    return alike[0]


def _asked(prover: Prover, one: Exit, other: Exit, inside: list[Any]) -> str:
    return prover.ask(one.path == other.path, *inside)[0]


def _same_iterations(x: LoopRecord, y: LoopRecord) -> bool:
    """Tell whether the bounds of two loops are constants for which the counter takes the same values."""
    made = []
    for record in (x, y):
        numbers = [z3.simplify(t) for t, defined in record.bounds if defined is True]
        if len(numbers) != 3 or not all(z3.is_int_value(n) or z3.is_bv_value(n) for n in numbers):
            return False
        signed = not record.facts.endswith("True")
        low, high, step = (_literal(n, signed) for n in numbers)
        if step <= 0 or (low < 0 and not signed):
            return False
        made.append(range(low, high, step))
    return made[0] == made[1]


def _literal(t: Any, signed: bool) -> int:
    number: int = t.as_signed_long() if z3.is_bv_value(t) and signed else t.as_long()
    return number


def _compare_values(prover: Prover, old: Carried, new: Carried, what: str, path: Any, *given: Any) -> None:
    """Compare the values that the second kernel needs; the first may need more."""
    if any(number not in old or old[number][0] is not t for number, (t, _) in new.items()):
        raise Failed(Attempt("unlike", "the loops carry different values"))
    for number, (t, g) in new.items():
        f = old[number][1]
        idx, known = prover.element(t.shape)
        _require(prover, z3.Implies(path, refines(f(idx), g(idx))), what, *given, *known)


# ---------------------------------------------------------------- effects


def _compare_effects(prover: Prover, left: KernelFormulas, right: KernelFormulas) -> None:
    if len(left.effects) != len(right.effects):
        raise Failed(Attempt("unlike", "the kernels have different numbers of stores"))
    later = left.later_reads or right.later_reads  # states of memory are named by the order of effects
    rest = list(right.effects)
    for x in left.effects:
        inside = left.within(x.loops)
        y = _partner(prover, x, rest[:1] if later else rest, inside)
        rest.remove(y)
        if isinstance(x.op, (StorePtrTko, StoreViewTko)):
            _compare_stores(prover, x, y, inside)
        else:
            _compare_others(prover, x, y, inside)
    if late := unordered(left, right):
        raise Failed(Attempt("refused", f"{late} of B is not ordered after the stores after which it is in A"))


def _partner(prover: Prover, x: SymbolicEffect, rest: list[SymbolicEffect], inside: list[Any]) -> SymbolicEffect:
    """Find the effect of the other side: the next one, or one that only moved before effects which exclude it."""
    for n, y in enumerate(rest):
        stores = [isinstance(e.op, (StorePtrTko, StoreViewTko)) for e in (x, y)]
        alike = stores[0] and stores[1] if any(stores) else x.op.name == y.op.name
        if not alike or not same_loops(x.loops, y.loops) or prover.ask(x.path == y.path, *inside)[0] != YES:
            continue
        if all(prover.ask(z3.Not(z3.And(y.path, w.path)))[0] == YES for w in rest[:n]):
            return y
    raise Failed(Attempt("unlike", "effects are in another order, or under other conditions"))


def _compare_stores(prover: Prover, x: SymbolicEffect, y: SymbolicEffect, inside: list[Any]) -> None:
    """Compare stores element by element; one may store the transpose of what the other stores."""
    shape, other = x.parts[0][1], y.parts[0][1]
    orders = [(memory_ordering(e.op), getattr(e.op, "memory_scope", None)) for e in (x, y)]
    if orders[0] != orders[1]:
        raise Failed(Attempt("refused", "stores have different memory orderings"))
    if stored_width(x.op) != stored_width(y.op):
        raise Failed(Attempt("refused", "stores write elements of different widths"))
    index = [p for p in index_orders(len(shape)) if tuple(shape[q] for q in p) == other]
    failed = Failed(Attempt("refused", f"stores have different shapes: {shape} and {other}"))
    for number, order in enumerate(index):
        try:
            _compare_elements(prover, x, y, order, inside)
        except Failed as why:
            failed = failed if number else why
            continue
        if order != tuple(range(len(order))):
            prover.assumed.add("elements of one store go to different addresses")
        return
    raise failed


def _compare_elements(
    prover: Prover, x: SymbolicEffect, y: SymbolicEffect, order: tuple[int, ...], inside: list[Any]
) -> None:
    ((f, shape),), ((g, _),) = x.parts, y.parts
    idx, known = prover.element(shape)
    known += inside
    at_b = tuple(idx[q] for q in order)
    assert x.address is not None and y.address is not None and x.mask is not None and y.mask is not None
    mx, my = z3.And(x.path, x.mask(idx)), z3.And(y.path, y.mask(at_b))
    (at, defined), (there, known_there) = x.address(idx), y.address(at_b)
    same = z3.And(mx == my, as_bool(known_there))
    _require(prover, z3.Implies(as_bool(defined), same), "which elements a store writes", *known)
    _require(prover, z3.Implies(z3.And(as_bool(defined), mx), at == there), "where a store writes", *known)
    _require(prover, z3.Implies(mx, refines(f(idx), g(at_b))), "what a store writes", *known)


def _compare_others(prover: Prover, x: SymbolicEffect, y: SymbolicEffect, inside: list[Any]) -> None:
    if attributes(x.op) != attributes(y.op) or len(x.parts) != len(y.parts):
        raise Failed(Attempt("refused", f"{x.op.name} has other attributes or operands"))
    kinds = [[v.type.text for v in e.op.operands if isinstance(v.type, Tile)] for e in (x, y)]
    if kinds[0] != kinds[1]:
        raise Failed(Attempt("refused", f"{x.op.name} has operands of other types"))
    for (f, shape), (g, other) in zip(x.parts, y.parts):
        if shape != other:
            raise Failed(Attempt("refused", f"{x.op.name} has operands of other shapes"))
        idx, known = prover.element(shape)
        _require(prover, z3.Implies(x.path, refines(f(idx), g(idx))), f"what {x.op.name} takes", *known, *inside)


def stored_width(o: Any) -> tuple[int, int]:
    """Return how many bits a store writes for an element, and how many of them are its own."""
    stored: Any = o.value if isinstance(o, StorePtrTko) else o.tile
    t = stored.type.element
    return (64, 64) if isinstance(t, Ptr) else (t.row.memory_bits, t.bits)


def index_orders(rank: int) -> list[tuple[int, ...]]:
    """Return the orders of dimensions that are tried, the same one first; of many dimensions only that one."""
    return list(permutations(range(rank))) if rank <= MOST_DIMENSIONS else [tuple(range(rank))]


# ---------------------------------------------------------------- reads


def _compare_reads(prover: Prover, left: KernelFormulas, right: KernelFormulas) -> None:
    """Check that A reads whatever B reads, so that B cannot fault where A does not."""
    for load in right.loads:
        if not any(_covers(prover, other, load, left.within(load.loops)) for other in left.loads):
            raise Failed(Attempt("reads", f"{load.op.name} of B may read where A does not"))


def _covers(prover: Prover, old: SymbolicLoad, new: SymbolicLoad, inside: list[Any]) -> bool:
    shape, other = (o.op.results[0].type.shape for o in (new, old))  # type: ignore[attr-defined]  # tiles
    if not same_loops(new.loops, old.loops):
        return False
    idx, known = prover.element(shape)
    mask = z3.And(new.path, new.mask(idx))
    for order in index_orders(len(shape)):
        if tuple(shape[q] for q in order) != other:
            continue
        at = tuple(idx[q] for q in order)
        (place, defined), (there, _) = old.address(at), new.address(idx)
        same = z3.And(old.mask(at), place == there)
        if isinstance(old.op, LoadViewTko):  # an index that is not defined is a fault of A, wherever B reads
            same = z3.Implies(as_bool(defined), same)
        read = z3.And(old.path, same)
        if prover.ask(z3.Implies(mask, read), *known, *inside)[0] == YES:
            return True
    return False
