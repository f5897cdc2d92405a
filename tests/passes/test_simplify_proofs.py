"""The laws of the simplifier are proven with z3, and so are whole random expressions.

TILERY_FULL=1 proves more random expressions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

import tilery  # noqa: E402
from support.oracle import FULL  # noqa: E402
from support.proofs import (  # noqa: E402
    OVERFLOWS,
    SIGNS,
    WIDTHS,
    Meaning,
    compare,
    corners,
    extended,
    kernel,
    refines,
    refutes,
    share_arguments,
)
from tilery.attrs import ComparisonPredicate, RoundingMode, Signedness  # noqa: E402
from tilery.ir import Value, walk  # noqa: E402
from tilery.ops import StorePtrTko  # noqa: E402
from tilery.passes.simplify import simplify  # noqa: E402
from tilery.passes.simplify.tree import LAWS, Tree, TreeNode  # noqa: E402
from tilery.rewrite import Report  # noqa: E402
from tilery.types import SCALARS, Tile  # noqa: E402

NEAR = {
    "and": ["and", "or", "not", "cmp"], "or": ["and", "or", "not", "cmp"], "xor": ["xor", "not"],
    "not": ["not", "cmp"], "sum": ["sum", "not"], "mul": ["sum"], "min": ["min", "max"], "max": ["max", "min"],
    "ext": ["ext"], "trunc": ["trunc", "ext"], "div": ["sum"], "rem": ["rem"], "shr": ["shr"], "abs": ["abs", "sum"],
    "select": ["select", "not", "cmp"], "cmp": ["sum", "not", "xor", "select", "ext"],
}  # fmt: skip
"""The kinds of operands that the laws of each kind look for."""


LANES = 2
"""The number of elements of random constants."""


class Trees:
    """Random small expressions, not yet simplified."""

    def __init__(self, seed: int, bits: int) -> None:
        self.random = random.Random(seed)
        self.tree = Tree()
        self.types = {n: Tile((LANES,), SCALARS[f"i{n}"]) for n in (1, 8, 16, 32, 64)}
        self.bits = bits
        self.leaves = {n: [self.tree.leaf(Value(t)) for _ in range(2)] for n, t in self.types.items()}

    def small(self, bits: int, depth: int, near: str = "") -> TreeNode:
        """Return an expression with simplified parts, often of a kind that laws look for."""
        choice = self.random.random()
        if depth and near and choice < 0.4:
            return self.tree.make(*self.parts(bits, depth - 1, self.random.choice(NEAR[near])))
        if choice < 0.5 if depth else choice < 0.7:
            return self.random.choice(self.leaves[bits])
        if depth == 0 or choice < 0.7:
            return self.known(bits)
        return self.tree.make(*self.parts(bits, depth - 1))

    def known(self, bits: int) -> TreeNode:
        """Return a constant, whose elements differ in some cases."""
        elements = self.random.choices(corners(bits), k=LANES if self.random.random() < 0.2 else 1)
        return self.tree.table(self.types[bits], elements)

    def compared(self, bits: int, depth: int) -> list[TreeNode]:
        """Return two operands of a comparison: an unknown and a constant, a choice and a constant, or any."""
        choice = self.random.random()
        if choice < 0.1:
            arms = [self.leaves[1][0], self.known(bits), self.known(bits)]
            return [self.tree.make("select", self.types[bits], arms), self.known(bits)]
        if choice < 0.4:
            return [self.leaves[bits][0], self.random.choice([self.known(bits), self.leaves[bits][1]])]
        return [self.small(bits, depth, "cmp") for _ in range(2)]

    def parts(self, bits: int, depth: int, kind: str = "") -> tuple[str, Tile, list[TreeNode], Any]:
        """Return the parts of an expression of a random kind."""
        pick, t = self.random.choice, self.types[bits]
        kind = kind or pick(["not", "and", "or", "xor", "sum", "sum", "mul", "select", "min", "max", "ext", "trunc"])
        if bits == 1 and kind in ("ext", "min", "max", "div", "rem", "shr", "abs"):
            kind = "cmp"
        sign = pick([Signedness.SIGNED, Signedness.UNSIGNED])
        if kind == "cmp":
            if bits != 1:
                return "not", t, [self.small(bits, depth, "not")], None
            of = pick([self.bits, 1, 8])
            unsigned = Signedness.UNSIGNED if of == 1 else sign
            predicate = pick(list(ComparisonPredicate))
            return "cmp", self.types[1], self.compared(of, depth), (predicate, unsigned)
        if kind == "abs":
            return kind, t, [self.small(bits, depth, kind)], None
        if kind in ("div", "rem", "shr"):
            return kind, t, *self.divided(bits, depth, kind, sign)
        if kind == "not":
            return kind, t, [self.small(bits, depth, kind)], None
        if kind == "select" and self.random.random() < 0.2:
            arms = [self.small(bits, depth), self.small(bits, depth)]
            equality = pick([ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL])
            return kind, t, [self.tree.make("cmp", self.types[1], arms, (equality, sign)), *arms], None
        if kind == "select":
            return kind, t, [self.small(1, depth, kind), *(self.small(bits, depth, kind) for _ in range(2))], None
        if kind == "ext":
            narrow = pick([n for n in self.types if n < bits])
            return kind, t, [self.small(narrow, depth, kind)], Signedness.UNSIGNED if narrow == 1 else sign
        if kind == "trunc":
            if bits == 64:
                return "not", t, [self.small(bits, depth, "not")], None
            return kind, t, [self.small(pick([n for n in self.types if n > bits]), depth, kind)], None
        count = 2 if kind in ("mul", "min", "max") else self.random.randint(int(kind != "sum") + 1, 3)
        args = [self.small(bits, depth, kind) for _ in range(count)]
        if bits == 1 and kind in ("and", "or") and self.random.random() < 0.3:
            args = [self.tree.make(*self.parts(1, 0, "cmp")) for _ in args]
        if kind == "sum":
            # Large factors are hard for a solver and show nothing new.
            factors = [pick([1, 1, 1, -1, -1, 2, 3, 0, 1 << (bits - 1)]) & ((1 << bits) - 1) for _ in args]
            return kind, t, args, (tuple(factors), pick(corners(bits)))
        return kind, t, args, sign if kind in ("min", "max") else None

    def divided(self, bits: int, depth: int, kind: str, sign: Signedness) -> tuple[list[TreeNode], Any]:
        """Return the operands and data of a division, a remainder or a shift."""
        unknown = self.leaves[bits][0]
        # Wide remainders by an unknown are hard for a solver.
        by = unknown if bits <= 16 and self.random.random() < 0.3 else self.known(bits)
        if kind == "shr":
            by = self.tree.const(by.type, self.random.choice([0, 1, 3, bits // 2, bits - 1, bits]))
        args = [self.small(bits, depth, kind), by]
        if kind != "div":
            return args, sign
        modes = [RoundingMode.ZERO, RoundingMode.POSITIVE_INF]
        modes += [RoundingMode.NEGATIVE_INF] * (sign is Signedness.SIGNED)
        return args, (sign, self.random.choice(modes))


def firings(bits: int, rounds: int) -> Iterator[tuple[str, TreeNode, TreeNode]]:
    """Yield applications of laws: the name, the expression and the result."""
    trees = Trees(bits, bits)
    kinds = sorted(LAWS)
    for number in range(rounds):
        kind = kinds[number % len(kinds)]
        # Comparisons and a third of the others are masks.
        of = 1 if kind == "cmp" or number // len(kinds) % 3 == 0 else bits
        made, t, args, data = trees.parts(of, 1, kind)
        if made != kind:
            continue
        if made in ("and", "or", "xor", "min", "max", "mul"):
            args = sorted(args, key=lambda a: a.serial)
        node = trees.tree._intern(made, t, tuple(args), data)
        for run in LAWS[kind]:
            answer = run(trees.tree, node)
            if answer is not None:
                yield run.__name__, node, answer


NAMES = """
    not_not not_constant not_compare flatten combine_constants drop_neutral absorbing_constant idempotent complement
    absorb de_morgan xor_not xor_cancel sum_flatten sum_collect sum_trivial mul_constant compare_constants compare_same
    constant_right unsigned_equality compare_extreme strict_bound compare_bool equal_sum equal_not equal_xor
    compare_select equal_ext select_same select_constant select_not select_nested select_mask select_equal ext_constant
    ext_ext trunc_constant trunc_trunc trunc_ext combine_tables sum_tables known_elements first_left join_comparisons
    join_ranges div_constants div_trivial rem_constants rem_trivial rem_rem shr_constants shr_trivial shr_shr
    abs_constant abs_abs abs_negated
"""
"""All laws, so that one that is gone is missed."""
NEED = 3
"""The number of applications of each law to prove at each width."""
MORE = {"join_comparisons": 20, "join_ranges": 20}
"""The same for laws with many cases."""


@pytest.mark.parametrize("bits", WIDTHS)
def test_laws(bits: int) -> None:
    """Each law, applied to random expressions, preserves the value for all unknowns."""
    proven: Counter[str] = Counter()
    for name, node, answer in firings(bits, 40_000):
        if proven[name] >= MORE.get(name, NEED):
            continue
        for lane in range(LANES):
            meaning = Meaning(lane)
            problem = refines(meaning.term_of(node), meaning.term_of(answer))
            assert problem is None, f"{name} at i{bits}: {node} to {answer}: {problem}"
        proven[name] += 1
    every = {run.__name__ for laws in LAWS.values() for run in laws}
    assert every == set(NAMES.split())
    missing = {name for name in every if not proven[name]} - NOT_AT.get(bits, set())
    assert not missing, f"no proof at i{bits} of {sorted(missing)}"


PARTIAL = {
    name for kind in ("div", "rem", "shr", "abs") for run in LAWS[kind] if (name := run.__name__) != "known_elements"
}
NOT_AT = {1: {"ext_constant", "ext_ext", *PARTIAL}, 8: {"ext_ext"}, 64: {"trunc_constant", "trunc_trunc", "trunc_ext"}}
"""Laws that need a width that does not exist."""


def symbolic(bits: int) -> dict[str, Any]:
    """Return the laws that compute with constants, stated for all constants at once."""
    x, y, a, b, c, d = z3.BitVecs("x y a b c d", bits)
    p = z3.Bool("p")
    top = (1 << bits - 1) - 1 if bits > 1 else 0
    return {
        "combine_constants": z3.And((x & c) & d == x & (c & d), (x | c) | d == x | (c | d), (x ^ c) ^ d == x ^ (c ^ d)),
        "not_constant": ~c == c ^ z3.BitVecVal(-1, bits),
        "mul_constant": x * c == c * x,
        "sum_collect": a * x + b * x == (a + b) * x,
        "sum_flatten": z3.And(a * (b * x + c) + d == (a * b) * x + (a * c + d), ~x == -x - 1),
        "strict_bound": z3.And(
            z3.Implies(c != top, (x <= c) == (x < c + 1)),
            z3.Implies(c != ~z3.BitVecVal(top, bits), (x >= c) == (x > c - 1)),
            z3.Implies(c != -1, z3.ULE(x, c) == z3.ULT(x, c + 1)),
            z3.Implies(c != 0, z3.UGE(x, c) == z3.UGT(x, c - 1)),
        ),
        "equal_sum": z3.And((x + c == d) == (x == d - c), (-x + c == d) == (x == c - d), (x - y + c == c) == (x == y)),
        "equal_xor": z3.And((x ^ c == d) == (x == c ^ d), (x ^ y == 0) == (x == y)),
        "equal_not": (~x == c) == (x == ~c),
        "compare_select": z3.And(
            *(
                compare(o, s, z3.If(p, c, d), b) == z3.If(p, compare(o, s, c, b), compare(o, s, d, b))
                for o in ComparisonPredicate
                for s in Signedness
            )
        ),
        "div_trivial": z3.And(
            z3.Implies(x != 0, z3.And(x / x == 1, z3.UDiv(x, x) == 1)),
            z3.Implies(z3.And(bits > 1, x != ~z3.BitVecVal(top, bits)), x / -1 == -x),
        ),
        "rem_trivial": z3.Implies(x != 0, z3.And(z3.SRem(x, x) == 0, z3.URem(x, x) == 0)),
        "abs_negated": z3.If(-x < 0, x, -x) == z3.If(x < 0, -x, x),
        "equal_ext": z3.And(*((extended(x, bits * 2, s) == extended(c, bits * 2, s)) == (x == c) for s in Signedness)),
    }


DIVISIONS = ("div_trivial", "rem_trivial")
"""Laws about quotients of unknowns, which are too hard for a solver at 64 bits."""


@pytest.mark.parametrize(
    ("name", "bits"), [(name, n) for name in symbolic(8) for n in WIDTHS if name not in DIVISIONS or n < 64]
)
def test_law_for_all_constants(name: str, bits: int) -> None:
    goal = symbolic(bits)[name]
    # Equal polynomials have equal normal forms, which leaves little to the bit-level solver. Divisions have none.
    problem = refutes(goal if name in DIVISIONS else z3.simplify(goal, som=True))
    assert problem is None, f"{name} at i{bits}: {problem}"


@pytest.mark.parametrize("bits", WIDTHS[1:])
def test_shifts_are_added_for_all_amounts(bits: int) -> None:
    """Each pair of amounts alone is easy for a solver, all pairs at once are not."""
    x = z3.BitVec("x", bits)
    for c in range(bits):
        for d in range(bits - c):
            same = (x >> c >> d == x >> c + d, z3.LShR(z3.LShR(x, c), d) == z3.LShR(x, c + d))
            assert z3.is_true(z3.simplify(z3.And(*same))), (c, d)


# ---------------------------------------------------------------- whole expressions

OPS = ("andi", "ori", "xori", "addi", "subi", "muli", "mini", "maxi", "select", "not", "cmp", "flagged")


def random_body(seed: int, bits: int) -> str:
    """Return a random expression over integers and masks."""
    pick = random.Random(seed).choice
    # Wide products are hard for a solver.
    kinds = [k for k in OPS if bits <= 8 or k not in ("muli", "flagged")]
    words, masks, lines = ["%x", "%y", "%z", "%k0", "%k1"], ["%c", "%d", "%true", "%false"], []
    for i in range(2):
        value = pick(corners(bits))
        lines.append(f"%k{i} = constant <iN: {('false', 'true')[value] if bits == 1 else value}> : tile<iN>")
    for i in range(10):
        kind = pick(kinds)
        if kind == "not":
            lines.append(f"%m{i} = xori {pick(masks)}, %true : tile<i1>")
            masks.append(f"%m{i}")
        elif kind == "cmp":
            sign = "unsigned" if bits == 1 else pick(SIGNS)
            predicate = pick(list(ComparisonPredicate)).text
            lines.append(f"%m{i} = cmpi {predicate} {pick(words)}, {pick(words)}, {sign} : tile<iN> -> tile<i1>")
            masks.append(f"%m{i}")
        elif kind == "select":
            lines.append(f"%w{i} = select {pick(masks)}, {pick(words)}, {pick(words)} : tile<i1>, tile<iN>")
            words.append(f"%w{i}")
        else:
            extra = f" {pick(SIGNS)}" if kind in ("mini", "maxi") else ""
            if kind == "flagged":
                kind, extra = pick(("addi", "subi", "muli")), pick(OVERFLOWS)
            lines.append(f"%w{i} = {kind} {pick(words)}, {pick(words)}{extra} : tile<iN>")
            words.append(f"%w{i}")
    lines += [f"%s = select {masks[-1]}, {words[-1]}, {words[-2]} : tile<i1>, tile<iN>"]
    return "\n".join([*lines, "%r = addi %s, %k0 : tile<iN>"])


@pytest.mark.parametrize("seed", range(400 if FULL else 60))
def test_simplify_means_the_same(seed: int) -> None:
    """The whole pass preserves random expressions, for all values of their unknowns."""
    bits = (1, 8, 8, 16, 32)[seed % 5]
    module, stored = kernel(random_body(seed, bits), bits)
    original = tilery.ir.clone(module)
    (before,) = [o for o in walk(original) if isinstance(o, StorePtrTko)]
    meaning = Meaning()
    share_arguments(original, module, meaning)
    simplify(module, Report())
    assert [w for w in tilery.verify(module) if not w.warning] == []
    problem = refines(meaning.of(before.value), meaning.of(stored()))
    assert problem is None, f"{problem}\n{tilery.show(original)}\n{tilery.show(module)}"
    again = Report()
    simplify(module, again)
    assert not again.counts, f"a second run changed {dict(again.counts)}"
