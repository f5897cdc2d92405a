"""Laws of canonicalize, cse, dce, licm and fold-int: programs print what they printed, results are legal and final."""

from __future__ import annotations

import itertools
import operator
import random
import re
from functools import cache
from pathlib import Path

import pytest

import tilery
from support import oracle
from support.execution import Draw, printed
from tilery import Op, Value, ops
from tilery.attrs import ComparisonPredicate, Dense, IntegerOverflow, RoundingMode, Signedness
from tilery.passes import canonicalize, fold_int, parse_pipeline, run_pipeline
from tilery.smith import smith
from tilery.types import SCALARS, Function, Scalar, Tile

OWN = ["canonicalize", "cse", "dce", "fold-int", "licm"]
ALL = ",".join(["canonicalize", "fold-int", "cse", "licm", "canonicalize"])
PROGRAMS = 3000 if oracle.FULL else 150
MODULES = 400 if oracle.FULL else 25

each_pass = pytest.mark.parametrize("passes", [*OWN, ALL])


def improved(module: tilery.Module, passes: str) -> None:
    """Run passes and check what must hold of any result."""
    run_pipeline(module, parse_pipeline(passes))
    assert tilery.verify(module) == []
    if "," not in passes:  # a later pass can make work for an earlier one, but none for itself
        again = run_pipeline(module, parse_pipeline(passes))
        assert not again.changed and again.complete


ROWS = [[c, d, 5, 7] for c, d in itertools.product((0, 1), repeat=2)]


@cache
def program(seed: int) -> tuple[ops.Module, str | None]:
    """A random program and what it prints; None if it does not end."""
    module = Draw(seed).module()
    return module, printed(module, ROWS)


@each_pass
def test_random_programs_print_what_they_printed(passes: str) -> None:
    for seed in range(PROGRAMS):
        module, expected = program(seed)
        better = tilery.clone(module)
        improved(better, passes)
        if expected is not None:
            assert printed(better, ROWS, steps=100_000) == expected, f"seed {seed}"


@each_pass
def test_random_modules_stay_legal(passes: str) -> None:
    for seed in range(MODULES):
        improved(smith(seed, size=120), passes)


@pytest.mark.corpus
@each_pass
def test_real_files_stay_legal(passes: str, corpus: list[Path]) -> None:
    for path in corpus:
        module = tilery.load(path)
        improved(module, passes)


@pytest.mark.corpus
@pytest.mark.oracle
def test_real_files_are_read_by_nvidia(corpus: list[Path]) -> None:
    for path in corpus if oracle.FULL else corpus[::4]:
        module = tilery.optimize(tilery.load(path), ALL)
        said = oracle.disassemble(tilery.dumps(module))
        assert said.returncode == 0, f"{path.name}: {said.stderr}"
        assert said.stdout == tilery.show(module), path.name


@pytest.mark.corpus
def test_effects_keep_their_order(corpus: list[Path]) -> None:
    """No pass reorders, duplicates or drops an operation on memory."""
    for path in corpus:
        module = tilery.load(path)
        better = tilery.optimize(module, ALL)
        assert effects(better) == effects(module), path.name


def effects(module: tilery.Module) -> list[str]:
    return [o.name for o in tilery.walk(module) if o.name.endswith("_tko") or o.name.startswith("atomic")]


def test_every_rule_has_an_example() -> None:
    folder = oracle.ROOT / "tests" / "cases" / "opt"
    shown = "".join(path.read_text("utf-8") for path in folder.rglob("*.mlir"))
    fired = set(re.findall(r"^// +\d+  (\w+)$", shown, re.M))
    for rules in (canonicalize.rule, fold_int.rule):
        assert {rule.name for rule in rules.all()} <= fired
        assert {rule.__name__ for dead in rules.dead_by_class.values() for rule in dead} <= fired


def test_constants_are_moved_as_mlir_does() -> None:
    """Known from NVIDIA's test of `select` made from branches: the new constant comes first."""
    text = """
    entry @k(%x: tile<i32>) {
      %zero = constant <i32: 0> : tile<i32>
      %c = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
      %r = if %c -> (tile<i1>) {
        %false = constant <i1: 0> : tile<i1>
        yield %false : tile<i1>
      } else {
        %true = constant <i1: 1> : tile<i1>
        yield %true : tile<i1>
      }
      print_tko "%d", %r : tile<i1> -> token
      return
    }"""
    made = tilery.show(tilery.optimize(tilery.parse(text), "canonicalize"))
    assert [line.split()[0] for line in made.splitlines()[1:5]] == ["%true", "%cst_0_i32", "%0", "%1"]


# ---------------------------------------------------------------- integer folding against plain arithmetic


def folded(made: Op, arguments: list[Op]) -> int | None:
    """Return the constant that an operation folds to; None where it stays."""
    out = made.results[0]
    ends: list[Op] = [*arguments, made, ops.PrintTko(str_="%d", args=(out,)), ops.Return()]
    entry = ops.Entry(sym_name="k", function_type=Function([]), body=tilery.Block([], ends))
    module = ops.Module(body=tilery.Block([], [entry]))
    run_pipeline(module, parse_pipeline("fold-int"))
    owner = module.entries[0].body.ops[-2].operands[0].owner
    return owner.value.splat if isinstance(owner, ops.Constant) else None


def signed(bits: int, width: int) -> int:
    return bits - (bits >> (width - 1) << width)


def truth(name: str, a: int, b: int, width: int, is_signed: bool) -> int | None:
    """The exact result, by another road than the fold."""
    x, y = (signed(a, width), signed(b, width)) if is_signed else (a, b)
    lowest = -(1 << (width - 1))
    match name:
        case "divi" | "remi":
            if y == 0 or (is_signed and x == lowest and y == -1):
                return None
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            return quotient if name == "divi" else x - quotient * y
        case "shli":
            return None if b >= width else a << b
        case "shri":
            return None if b >= width else x >> b
        case "maxi":
            return max(x, y)
        case "mini":
            return min(x, y)
        case "addi":
            return a + b
        case "subi":
            return a - b
        case "muli":
            return a * b
        case "mulhii":
            return a * b >> width
    raise NotImplementedError(name)


SIGNED_OPS = {"divi": ops.DivI, "remi": ops.RemI, "shri": ops.ShRI, "maxi": ops.MaxI, "mini": ops.MinI}
PLAIN_OPS = {"addi": ops.AddI, "subi": ops.SubI, "muli": ops.MulI, "shli": ops.ShLI}


def interesting(pick: random.Random, width: int) -> int:
    edges = [0, 1, 2, width - 1, width, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    return pick.choice([*edges, pick.randrange(1 << width)]) & ((1 << width) - 1)


@pytest.mark.parametrize("name", [*SIGNED_OPS, *PLAIN_OPS, "mulhii"])
def test_integers_fold_to_the_exact_result(name: str) -> None:
    pick = random.Random(name)
    for _ in range(400 if oracle.FULL else 60):
        scalar = SCALARS[pick.choice(["i8", "i16", "i32", "i64"])]
        a, b, is_signed = interesting(pick, scalar.bits), interesting(pick, scalar.bits), pick.random() < 0.5
        left, right = (ops.Constant(value=Dense.of(Tile((4,), scalar), [bits])) for bits in (a, b))
        if name in SIGNED_OPS:
            sign = Signedness.SIGNED if is_signed else Signedness.UNSIGNED
            made: Op = SIGNED_OPS[name](lhs=left.result, rhs=right.result, signedness=sign)
        elif name == "mulhii":
            made = ops.MulhiI(x=left.result, y=right.result)
        else:
            made = PLAIN_OPS[name](lhs=left.result, rhs=right.result)
        expected = truth(name, a, b, scalar.bits, is_signed)
        found = folded(made, [left, right])
        assert found == (None if expected is None else expected % (1 << scalar.bits)), (name, a, b, scalar, is_signed)


@pytest.mark.parametrize("promise", [IntegerOverflow.NSW, IntegerOverflow.NUW, IntegerOverflow.NW])
@pytest.mark.parametrize("name", ["addi", "subi", "muli"])
def test_a_broken_promise_is_not_folded(name: str, promise: IntegerOverflow) -> None:
    scalar: Scalar = SCALARS["i8"]
    pick = random.Random(0)
    for _ in range(200):
        a, b = interesting(pick, 8), interesting(pick, 8)
        left, right = (ops.Constant(value=Dense.of(Tile((), scalar), [bits])) for bits in (a, b))
        exact = {"addi": operator.add, "subi": operator.sub, "muli": operator.mul}[name]
        wraps_signed = not -128 <= exact(signed(a, 8), signed(b, 8)) <= 127
        wraps_unsigned = not 0 <= exact(a, b) <= 255
        broken = {
            IntegerOverflow.NSW: wraps_signed,
            IntegerOverflow.NUW: wraps_unsigned,
            IntegerOverflow.NW: wraps_signed or wraps_unsigned,
        }[promise]
        made = PLAIN_OPS[name](lhs=left.result, rhs=right.result, overflow=promise)
        assert folded(made, [left, right]) == (None if broken else exact(a, b) % 256)


def test_division_rounds_as_declared() -> None:
    modes = {RoundingMode.ZERO: -3, RoundingMode.NEGATIVE_INF: -4, RoundingMode.POSITIVE_INF: -3}
    for mode, expected in modes.items():
        left, right = (ops.Constant(value=Dense.of(Tile((), SCALARS["i32"]), [n % 2**32])) for n in (-7, 2))
        made = ops.DivI(lhs=left.result, rhs=right.result, signedness=Signedness.SIGNED, rounding=mode)
        assert folded(made, [left, right]) == expected % 2**32


def test_comparisons_fold() -> None:
    for mode, sign in itertools.product(ComparisonPredicate, Signedness):
        left, right = (ops.Constant(value=Dense.of(Tile((), SCALARS["i8"]), [n])) for n in (200, 100))
        made = ops.CmpI(comparison_predicate=mode, lhs=left.result, rhs=right.result, signedness=sign)
        x, y = (-56 if sign is Signedness.SIGNED else 200), 100
        expected = {0: x == y, 1: x != y, 2: x < y, 3: x <= y, 4: x > y, 5: x >= y}[mode.num]
        assert folded(made, [left, right]) == int(expected)


def test_no_constant_of_i4_is_made() -> None:
    wide = ops.Constant(value=Dense.of(Tile((2,), SCALARS["i8"]), [3]))
    made = ops.TruncI(from_=wide.result, to=Value(Tile((2,), SCALARS["i4"])))
    back = ops.ExtI(from_=made.to, signedness=Signedness.SIGNED, to=Value(Tile((2,), SCALARS["i8"])))
    assert folded(back, [wide, made]) is None
