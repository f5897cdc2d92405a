"""Every rule on integers is proven: with z3 for all values, or where a rule computes with constants, by computing.

All widths are proven in every run; TILERY_FULL=1 adds every pair of constants of i8 and more random expressions. The
test enumerates the rules: one that has no proof fails.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

import tilery  # noqa: E402
from support.oracle import FULL  # noqa: E402
from support.proofs import KNOWN, Meaning, compare, extended, operation, refines, refutes  # noqa: E402
from tilery.attrs import ComparisonPredicate, Signedness  # noqa: E402
from tilery.ir import Op, Value, walk  # noqa: E402
from tilery.ops import Constant, For, StorePtrTko  # noqa: E402
from tilery.passes import canonicalize, documented, fold_int, simplify_laws  # noqa: E402
from tilery.passes.simplify import simplify  # noqa: E402
from tilery.passes.simplify_tree import LAWS, Node, Tree  # noqa: E402
from tilery.passes.split_point import split_point  # noqa: E402
from tilery.rewrite import Report, Rules, apply  # noqa: E402
from tilery.types import SCALARS, Tile  # noqa: E402

WIDTHS = (1, 8, 16, 32, 64)


def corners(bits: int) -> list[int]:
    """Constants at which rules differ: the ends of both ranges, small numbers, powers of two."""
    top = 1 << (bits - 1)
    found = {0, 1, 2, 3, 5, top - 1, top, top + 1, (1 << bits) - 1, (1 << bits) - 2, 1 << bits // 2}
    return sorted(n for n in found if 0 <= n < 1 << bits)


def kernel(body: str, bits: int, element: str = "") -> tuple[tilery.ops.Module, Callable[[], Value]]:
    """A module that computes and stores `%r`, and a function that says which value is stored."""
    result = element or f"i{bits}"
    text = (
        f"entry @k(%p: tile<ptr<{result}>>, %x: tile<iN>, %y: tile<iN>, %z: tile<iN>, "
        f"%c: tile<i1>, %d: tile<i1>) {{\n"
        "%true = constant <i1: true> : tile<i1>\n%false = constant <i1: false> : tile<i1>\n"
        f"{body}\n%t = store_ptr_tko weak %p, %r : tile<ptr<{result}>>, tile<{result}> -> token\nreturn\n}}"
    )
    module = tilery.parse(f"cuda_tile.module @m {{\n{text}\n}}".replace("iN", f"i{bits}"))

    def stored() -> Value:
        (store,) = [o for o in walk(module) if isinstance(o, StorePtrTko)]
        return store.value

    return module, stored


def check(rules: Rules, name: str, body: str, bits: int, element: str = "") -> None:
    """A rule fires on a module, and what is stored then means the same."""
    module, stored = kernel(body, bits, element)
    original = tilery.ir.clone(module)
    (before,) = [o for o in walk(original) if isinstance(o, StorePtrTko)]
    meaning = Meaning()
    share_arguments(original, module, meaning)
    report = apply(module, rules)
    assert report.counts[name], f"{name} did not fire, but {dict(report.counts)}"
    problem = refines(meaning.of(before.value), meaning.of(stored()))
    assert problem is None, f"{name} at i{bits}: {problem}\n{body}"


def share_arguments(a: Op, b: Op, meaning: Meaning) -> None:
    """The arguments of both kernels are the same unknowns."""
    (one,), (other,) = a.blocks[0].ops, b.blocks[0].ops
    for v, w in zip(one.blocks[0].args, other.blocks[0].args):
        if isinstance(v.type, Tile) and v.type.element in SCALARS.values():
            meaning.known[w] = meaning.of(v)


# ---------------------------------------------------------------- rules of canonicalize, which make no new constants

NOT_C = "%n = xori %c, %true : tile<i1>\n"
CANONICAL: dict[str, list[tuple[str, str]]] = {
    "select_same": [("%r = select %c, %x, %x : tile<i1>, tile<iN>", "")],
    "select_constant_condition": [
        ("%r = select %true, %x, %y : tile<i1>, tile<iN>", ""),
        ("%r = select %false, %x, %y : tile<i1>, tile<iN>", ""),
    ],
    "select_identity": [("%r = select %c, %true, %false : tile<i1>, tile<i1>", "i1")],
    "select_compared": [
        (
            f"%e = cmpi {predicate} {a}, {b}, signed : tile<iN> -> tile<i1>\n"
            "%r = select %e, %x, %y : tile<i1>, tile<iN>",
            "",
        )
        for predicate in ("equal", "not_equal")
        for a, b in (("%x", "%y"), ("%y", "%x"))
    ],
    "select_inverted": [(NOT_C + "%r = select %n, %x, %y : tile<i1>, tile<iN>", "")],
    "select_nested": [
        (f"%s = select %c, %x, %y : tile<i1>, tile<iN>\n%r = select %c, {a}, {b} : tile<i1>, tile<iN>", "")
        for a, b in (("%s", "%z"), ("%z", "%s"))
    ],
    "select_to_not": [("%r = select %c, %false, %true : tile<i1>, tile<i1>", "i1")],
    "select_to_exti": [
        (
            "%one = constant <i32: 1> : tile<i32>\n%zero = constant <i32: 0> : tile<i32>\n"
            f"%r = select %c, {a}, {b} : tile<i1>, tile<i32>",
            "i32",
        )
        for a, b in (("%one", "%zero"), ("%zero", "%one"))
    ],
    "if_inverted": [
        (
            NOT_C + "%r = if %n -> (tile<iN>) {\n%s = addi %x, %y : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = subi %x, %y : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
    ],
    "if_yields_known": [
        (f"%r = if %c -> (tile<i1>) {{\nyield {a} : tile<i1>\n}} else {{\nyield {b} : tile<i1>\n}}", "i1")
        for a, b in (("%d", "%d"), ("%true", "%false"), ("%false", "%true"))
    ],
    "if_constant_condition": [
        (
            f"%r = if {known} -> (tile<iN>) {{\n%s = addi %x, %y : tile<iN>\nyield %s : tile<iN>\n}} else {{\n"
            "%s = subi %x, %y : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
        for known in ("%true", "%false")
    ],
    "if_to_select": [("%r = if %c -> (tile<iN>) {\nyield %x : tile<iN>\n} else {\nyield %y : tile<iN>\n}", "")],
    "if_after_if": [
        (
            "%a = if %c -> (tile<iN>) {\n%s = andi %x, %y : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = ori %x, %y : tile<iN>\nyield %s : tile<iN>\n}\n"
            "%r = if %c -> (tile<iN>) {\n%s = andi %a, %z : tile<iN>\nyield %s : tile<iN>\n} else {\n"
            "%s = xori %a, %z : tile<iN>\nyield %s : tile<iN>\n}",
            "",
        )
    ],
    "if_in_if": [
        (
            "%r = if %c -> (tile<iN>) {\n%i = if %d -> (tile<iN>) {\n%s = muli %x, %y : tile<iN>\nyield %s : tile<iN>\n"
            "} else {\nyield %x : tile<iN>\n}\nyield %i : tile<iN>\n} else {\nyield %x : tile<iN>\n}",
            "",
        )
    ],
    "ReplaceIdenticalSelect": [("%r = select %c, %x, %x : tile<i1>, tile<iN>", "")],
    "ReplaceConstantSelect": [("%r = select %true, %x, %y : tile<i1>, tile<iN>", "")],
    "InverseConditionSelect": [(NOT_C + "%r = select %n, %x, %y : tile<i1>, tile<iN>", "")],
}
ELSEWHERE = {
    "if_empty_else": "no value changes: the branch that goes holds nothing but its end",
    "if_both_leave": "no value changes: a branch moves behind the `if`, where it is reached under the same condition",
    "assume_twice": "the inner operation makes the same promise about the same value",
    "product_first": "addition is commutative in every rounding mode; floats, see test_folds",
    "fold_addf": "floats, see test_folds",
    "select_constants": "chooses among constants, see test_select_of_constants",
    "fold_shape": "moves equal elements; reshape keeps the order of elements by definition",
}
"""Why a rule needs no proof over integers."""


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_rule(name: str, bits: int) -> None:
    rules = documented.rule if name[0].isupper() else canonicalize.rule
    for body, element in CANONICAL[name]:
        check(rules, name, body, bits, element)


def test_select_of_constants() -> None:
    """Every choice between two constants, element by element."""
    module, _ = kernel(
        "%p4 = constant <i1: [true, false, false, true]> : tile<4xi1>\n"
        "%a = constant <i8: [1, 2, 3, 4]> : tile<4xi8>\n%b = constant <i8: [5, 6, 7, 8]> : tile<4xi8>\n"
        "%s = select %p4, %a, %b : tile<4xi1>, tile<4xi8>\n"
        "%r = addi %x, %y : tile<iN>",
        8,
    )
    (select,) = [o for o in walk(module) if o.name == "select"]
    (chosen,) = [r for r in canonicalize.rule.all() if r.name == "select_constants"]
    made = chosen.run(select)
    assert isinstance(made, Constant) and made.value.elements() == [1, 6, 7, 4]


def test_every_rule_has_a_proof() -> None:
    proven = {*CANONICAL, *ELSEWHERE, *FOLDS}
    for rules in (canonicalize.rule, fold_int.rule, documented.rule):
        missing = [rule.name for rule in rules.all() if rule.name not in proven]
        assert not missing, f"no proof of {missing}"


# ---------------------------------------------------------------- folds: by computing

OVERFLOWS = ("", " overflow<no_signed_wrap>", " overflow<no_unsigned_wrap>", " overflow<no_wrap>")
SIGNS = ("signed", "unsigned")
BINARY = "%r = {} %a, %b{} : tile<SxiN>"
FOLDS: dict[str, list[str]] = {
    "fold_arithmetic": [BINARY.format(o, f) for o in ("addi", "subi", "muli") for f in OVERFLOWS],
    "fold_bitwise": [BINARY.format(o, "") for o in ("andi", "ori", "xori")],
    "fold_high_half": [BINARY.format("mulhii", "")],
    "fold_negation": [f"%r = negi %a{f} : tile<SxiN>" for f in (OVERFLOWS[0], OVERFLOWS[1], OVERFLOWS[3])],
    "fold_absolute": ["%r = absi %a : tile<SxiN>"],
    "fold_extreme": [BINARY.format(o, f" {s}") for o in ("mini", "maxi") for s in SIGNS],
    "fold_division": [
        BINARY.format("divi", f" {s}{r}")
        for s in SIGNS
        for r in ("", " rounding<positive_inf>", " rounding<negative_inf>")
        if (s, r) != ("unsigned", " rounding<negative_inf>")
    ],
    "fold_remainder": [BINARY.format("remi", f" {s}") for s in SIGNS],
    "fold_shift_left": [BINARY.format("shli", f) for f in OVERFLOWS],
    "fold_shift_right": [BINARY.format("shri", f" {s}") for s in SIGNS],
    "fold_comparison": [
        f"%r = cmpi {p.text} %a, %b, {s} : tile<SxiN> -> tile<Sxi1>" for p in ComparisonPredicate for s in SIGNS
    ],
    "fold_extension": [f"%r = exti %a {s} : tile<SxiN> -> tile<SxiW>" for s in SIGNS],
    "fold_truncation": [f"%r = trunci %a{f} : tile<SxiN> -> tile<SxiT>" for f in OVERFLOWS],
}


def fold_op(body: str, bits: int, pairs: list[tuple[int, int]]) -> Op:
    """The operation on two constants whose elements are these pairs."""
    size = len(pairs)
    half = 1 << bits - 1
    columns = [
        ", ".join(str(n - 2 * half if n >= half and bits > 1 else n) for n in (pair[i] for pair in pairs))
        for i in (0, 1)
    ]
    # Constants of i1 are written as words.
    if bits == 1:
        columns = [c.replace("1", "true").replace("0", "false") for c in columns]
    lists = [f"[{c}]" for c in columns]
    text = "\n".join(f"%{n} = constant <iN: {c}> : tile<SxiN>" for n, c in zip("ab", lists)) + "\n" + body
    text = text.replace("iW", f"i{bits * 2 if bits > 1 else 8}").replace("iT", f"i{bits // 2 if bits > 8 else 1}")
    text = text.replace("SxiN", f"{size}xi{bits}").replace("Sx", f"{size}x").replace("iN", f"i{bits}")
    module = tilery.parse(f"cuda_tile.module @m {{ entry @k() {{\n{text}\nreturn }} }}")
    return module.body.ops[0].blocks[0].ops[2]


@pytest.mark.parametrize("name", FOLDS)
def test_fold(name: str) -> None:
    """Constants at the corners of each width, every one at i1; at i8 with TILERY_FULL every pair of constants."""
    (rule,) = [r for r in fold_int.rule.all() if r.name == name]
    done = 0
    for body in FOLDS[name]:
        for bits in (1, 8, 16, 32, 64):
            if ("iW" in body and bits == 64) or ("iT" in body and bits == 1):
                continue
            values = list(range(256)) if FULL and bits == 8 else corners(bits)
            for a in values:
                # What takes one operand is asked about each once.
                others = values if "%b" in body else [a]
                done += check_row(rule.run, body, bits, [(a, b) for b in others])
    assert done


def check_row(run: Callable[..., Any], body: str, bits: int, pairs: list[tuple[int, int]]) -> int:
    """A fold of these pairs gives what z3 computes; returns how many were folded."""
    unknowns = z3.BitVec("a", bits), z3.BitVec("b", bits)
    sample = fold_op(body, bits, [(0, 0), (1, 1)])
    term, defined = operation(sample, [unknowns[i] for i in range(len(sample.operands))])
    todo: list[tuple[tuple[int, int], int]] = []
    always = z3.is_true(z3.simplify(defined))
    for pair in pairs:
        values = [(u, z3.BitVecVal(n, bits)) for u, n in zip(unknowns, pair)]
        if always or z3.is_true(z3.simplify(z3.substitute(defined, *values))):
            todo.append((pair, z3.simplify(z3.substitute(term, *values)).as_long()))
    if not todo:
        return 0
    while len(todo) & (len(todo) - 1) or len(todo) < 2:
        todo.append(todo[-1])
    made = run(fold_op(body, bits, [pair for pair, _ in todo]))
    if made is None:
        assert bits == 1 and " signed" in body, f"{body} at i{bits} was not folded"
        return 0
    assert made.value.elements() == [answer for _, answer in todo], f"{body} at i{bits}"
    return len(todo)


# ---------------------------------------------------------------- the laws of the simplifier


NEAR = {
    "and": ["and", "or", "not"], "or": ["and", "or", "not"], "xor": ["xor", "not"], "not": ["not", "cmp"],
    "sum": ["sum", "not"], "mul": ["sum"], "min": ["min"], "max": ["max"], "ext": ["ext"], "trunc": ["trunc", "ext"],
    "select": ["select", "not", "cmp"], "cmp": ["sum", "not", "xor", "select", "ext"],
}  # fmt: skip
"""Inside which expressions laws look for which others."""


class Trees:
    """Random small expressions, not yet simplified."""

    def __init__(self, seed: int, bits: int) -> None:
        self.random = random.Random(seed)
        self.tree = Tree()
        self.types = {n: Tile((), SCALARS[f"i{n}"]) for n in (1, 8, 16, 32, 64)}
        self.bits = bits
        self.leaves = {n: [self.tree.leaf(Value(t)) for _ in range(2)] for n, t in self.types.items()}

    def small(self, bits: int, depth: int, near: str = "") -> Node:
        """An expression made by the tree, so that its parts are simplified; often one that laws look for."""
        choice = self.random.random()
        if depth and near and choice < 0.4:
            return self.tree.make(*self.parts(bits, depth - 1, self.random.choice(NEAR[near])))
        if choice < 0.5 if depth else choice < 0.7:
            return self.random.choice(self.leaves[bits])
        if depth == 0 or choice < 0.7:
            return self.tree.const(self.types[bits], self.random.choice(corners(bits)))
        return self.tree.make(*self.parts(bits, depth - 1))

    def parts(self, bits: int, depth: int, kind: str = "") -> tuple[str, Tile, list[Node], Any]:
        """What an expression of a random kind is made of."""
        pick, t = self.random.choice, self.types[bits]
        kind = kind or pick(["not", "and", "or", "xor", "sum", "sum", "mul", "select", "min", "max", "ext", "trunc"])
        if bits == 1 and kind in ("ext", "min", "max"):
            kind = "cmp"
        sign = pick([Signedness.SIGNED, Signedness.UNSIGNED])
        if kind == "cmp":
            if bits != 1:
                return "not", t, [self.small(bits, depth, "not")], None
            of = pick([self.bits, 1, 8])
            unsigned = Signedness.UNSIGNED if of == 1 else sign
            predicate = pick(list(ComparisonPredicate))
            return "cmp", self.types[1], [self.small(of, depth, "cmp") for _ in range(2)], (predicate, unsigned)
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
        if kind == "sum":
            # Large factors of unknowns are hard for a solver and no different.
            factors = [pick([1, 1, 1, -1, -1, 2, 3, 0, 1 << (bits - 1)]) & t_ones(bits) for _ in args]
            return kind, t, args, (tuple(factors), pick(corners(bits)))
        return kind, t, args, sign if kind in ("min", "max") else None


def t_ones(bits: int) -> int:
    return (1 << bits) - 1


def firings(bits: int, rounds: int) -> Iterator[tuple[str, Node, Node]]:
    """Uses of laws: the name, the expression and what the law makes of it."""
    trees = Trees(bits, bits)
    kinds = sorted(LAWS)
    for number in range(rounds):
        kind = kinds[number % len(kinds)]
        # Comparisons, and some of the others, are masks.
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


NEED = 3
"""How many different uses of each law are proven at each width."""


@pytest.mark.parametrize("bits", WIDTHS)
def test_laws(bits: int) -> None:
    """Each law, used on random expressions, gives the same for all values of the unknowns."""
    proven: Counter[str] = Counter()
    for name, node, answer in firings(bits, 40_000):
        if proven[name] >= NEED:
            continue
        meaning = Meaning()
        problem = refutes(meaning.of_node(node) == meaning.of_node(answer))
        assert problem is None, f"{name} at i{bits}: {node} to {answer}: {problem}"
        proven[name] += 1
    every = {run.__name__ for laws in LAWS.values() for run in laws}
    missing = {name for name in every if not proven[name]} - NOT_AT.get(bits, set())
    assert not missing, f"no proof at i{bits} of {sorted(missing)}"


NOT_AT = {1: {"ext_constant", "ext_ext"}, 8: {"ext_ext"}, 64: {"trunc_constant", "trunc_trunc", "trunc_ext"}}
"""Laws about widths that do not exist."""


def symbolic(bits: int) -> dict[str, Any]:
    """The laws that compute with constants, stated for all constants at once."""
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
        "equal_ext": z3.And(*((extended(x, bits * 2, s) == extended(c, bits * 2, s)) == (x == c) for s in Signedness)),
    }


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", symbolic(8))
def test_law_for_all_constants(name: str, bits: int) -> None:
    goal = symbolic(bits)[name]
    # Polynomials are equal if their normal forms are; only what is left is a matter of bits.
    problem = refutes(z3.simplify(goal, som=True))
    assert problem is None, f"{name} at i{bits}: {problem}"


# ---------------------------------------------------------------- whole expressions

OPS = ("andi", "ori", "xori", "addi", "subi", "muli", "mini", "maxi", "select", "not", "cmp", "flagged")


def random_body(seed: int, bits: int) -> str:
    """A random expression over integers and masks."""
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
    """The pass as a whole, on random expressions, for all values of their unknowns."""
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


# ---------------------------------------------------------------- where loops split

COUNTED = """cuda_tile.module @m {{ entry @k(%lo: tile<i8>, %hi: tile<i8>, %v: tile<i8>) {{
  %step = constant <i8: {}> : tile<i8>
  for %i in (%lo to %hi, step %step) : tile<i8> {{ continue }}
  return }} }}"""
FIRST_FALSE = (ComparisonPredicate.GREATER_THAN, ComparisonPredicate.GREATER_THAN_OR_EQUAL)
FIRST_TRUE = (ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL)


@pytest.mark.parametrize("step", [1, 3] if FULL else [1])
@pytest.mark.parametrize("sign", Signedness, ids=lambda s: s.text)
@pytest.mark.parametrize("predicate", [*FIRST_FALSE, *FIRST_TRUE], ids=lambda p: p.text)
def test_split_point(predicate: ComparisonPredicate, sign: Signedness, step: int) -> None:
    """For all bounds of i8: an iteration is in the half where the comparison is what that half assumes."""
    module = tilery.parse(COUNTED.format(step))
    (loop,) = [o for o in walk(module) if isinstance(o, For)]
    bound = module.body.ops[0].blocks[0].args[2]
    _, until, start = split_point(loop, predicate, bound, sign)
    meaning = Meaning()
    values = (loop.lowerBound, loop.upperBound, loop.step, bound, until, start)
    low, high, by, v, end, begin = (extended(meaning.of(value)[0], 20, sign) for value in values)
    number = z3.BitVec("number", 20)
    counter = low + number * by
    top = 127 if sign is Signedness.SIGNED else 255
    executed = z3.And(by > 0, number >= 0, number < 256, counter >= low, counter < high)
    if step != 1:
        executed = z3.And(executed, high + by - 1 <= top)  # the counter itself stays in its type
    holds = compare(predicate, Signedness.SIGNED, counter, v)
    in_second = counter >= end
    right = holds == (in_second if predicate in FIRST_FALSE else z3.Not(in_second))
    continued = z3.Implies(in_second, z3.And(counter >= begin, z3.URem(counter - begin, by) == 0))
    # The second loop starts at an iteration of the old one that is not in the first, or does nothing.
    nothing_else = z3.Implies(
        z3.And(by > 0, begin < high),
        z3.And(begin >= low, begin >= end, z3.URem(begin - low, by) == 0),
    )
    if step != 1:
        nothing_else = z3.Implies(high + by - 1 <= top, nothing_else)
    assert refutes(z3.Implies(executed, z3.And(right, continued))) is None
    assert refutes(nothing_else) is None


assert KNOWN and simplify_laws
