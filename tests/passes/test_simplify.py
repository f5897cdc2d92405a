"""The expression simplifier: what becomes of expressions, and that it ends, stays out of regions and is idempotent."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

import tilery
from support.execution import Draw, printed
from support.oracle import corpus_files
from tilery.analysis.uses import count_uses
from tilery.bytecode.reader import read
from tilery.ir import Value, clone, difference, walk
from tilery.ops import Constant, Module
from tilery.passes import documented as described
from tilery.passes.documented import documented
from tilery.passes.simplify import simplify
from tilery.passes.simplify.rounds import _Round as Round
from tilery.passes.simplify.tree import LAWS, MAX_DEPTH, Tree, TreeNode
from tilery.rewrite import Report
from tilery.smith import smith
from tilery.types import I32, Tile
from tilery.verifier.verify import verify

HEAD = """%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%two = constant <i32: 2> : tile<i32>
%true = constant <i1: true> : tile<i1>
"""


def parse(body: str, kind: str = "i32", result: str = "%r") -> Module:
    args = "%x: tile<i32>, %y: tile<i32>, %z: tile<i32>, %c: tile<i1>, %d: tile<i1>"
    text = f"entry @k(%p: tile<ptr<{kind}>>, {args}) {{\n{HEAD}{body}\n"
    text += f"%t = store_ptr_tko weak %p, {result} : tile<ptr<{kind}>>, tile<{kind}> -> token\nreturn\n}}"
    return tilery.parse(f"cuda_tile.module @m {{\n{text}\n}}")


def names(module: Module) -> list[str]:
    """Return the operations without constants and the frame."""
    frame = ("module", "entry", "constant", "store_ptr_tko", "return")
    return [o.name for o in walk(module) if o.name not in frame]


def test_shared_parts_stay() -> None:
    """A form with fewer operations of its own is no gain where the old parts are needed anyway."""
    module = parse(
        "%a = addi %x, %one : tile<i32>\n%b = addi %a, %y : tile<i32>\n%m = muli %a, %b : tile<i32>\n"
        "%r = addi %m, %a : tile<i32>"
    )
    simplify(module, Report())
    assert names(module) == ["addi", "addi", "muli", "addi"]


def test_a_value_from_a_branch_is_not_used_outside() -> None:
    """Expressions are known only where they dominate."""
    module = parse(
        "%i = if %c -> (tile<i32>) {\n%a = muli %x, %y : tile<i32>\nyield %a : tile<i32>\n} else {\n"
        "%a = muli %y, %x : tile<i32>\n%b = addi %a, %one : tile<i32>\nyield %b : tile<i32>\n}\n"
        "%m = muli %x, %y : tile<i32>\n%r = subi %i, %m : tile<i32>"
    )
    simplify(module, Report())
    assert not list(verify(module))
    assert names(module).count("muli") == 3


def test_regions_are_never_touched() -> None:
    module = parse("%r = if %true -> (tile<i32>) {\nyield %x : tile<i32>\n} else {\nyield %y : tile<i32>\n}")
    simplify(module, Report())
    assert "if" in names(module)


def test_signed_masks_are_left_alone() -> None:
    """Whether a signed i1 holds 1 or -1 is not defined."""
    module = parse("%r = cmpi less_than %c, %true, signed : tile<i1> -> tile<i1>", "i1")
    simplify(module, Report())
    assert names(module) == ["cmpi"]


def chain(length: int, op: str) -> str:
    lines, last = [], "%x"
    for i in range(length):
        lines.append(f"%a{i} = {op} {last}, {('%y', '%z', '%one')[i % 3]} : tile<i32>")
        last = f"%a{i}"
    return "\n".join([*lines, f"%r = {op} {last}, %y : tile<i32>"])


@pytest.mark.parametrize("op", ["addi", "andi", "xori", "muli"])
def test_long_chains_take_linear_time(op: str) -> None:
    """Deep expressions are cut, long ones are not joined for ever, and nothing recurses."""
    short, long = (calls_to_simplify(chain(length, op)) for length in (500, 2_000))
    assert long < 6 * short


def calls_to_simplify(text: str) -> int:
    """How many calls of functions it takes, which is what time depends on."""
    module = parse(text)
    count = 0

    def called(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(called)
    try:
        simplify(module, Report())
    finally:
        sys.setprofile(None)
    assert not list(verify(module))
    return count


def deep(length: int) -> str:
    """A chain that nothing simplifies, and the sum of its end and %y less %y, which is that end."""
    lines, last = [], "%x"
    for i in range(length):
        lines.append(f"%n{i} = {('muli', 'xori')[i % 2]} {last}, {('%y', '%z')[i % 2]} : tile<i32>")
        last = f"%n{i}"
    return "\n".join([*lines, f"%s = addi {last}, %y : tile<i32>", "%r = subi %s, %y : tile<i32>"])


@pytest.mark.parametrize("length", [29, 30, 31, 32, 61, 62, 63, 64, 65, 95, 200])
def test_the_end_of_a_chain_is_simplified(length: int) -> None:
    """Depth is counted from an operation down, so what ends a chain is simplified however long the chain is."""
    module = parse(deep(length))
    simplify(module, Report())
    assert not {"addi", "subi"} & set(names(module))
    assert names(module).count("muli") + names(module).count("xori") == length
    module = parse(deep(length) + f"\n%q = subi %n{length - 1}, %n{length - 1} : tile<i32>", result="%q")
    simplify(module, Report())
    assert names(module) == []


@pytest.mark.parametrize("length", [200, 400])
def test_the_depth_is_bounded(length: int) -> None:
    """An expression has at most 63 levels; of a deeper one, what is more than 32 levels below becomes a leaf."""
    assert MAX_DEPTH == 32
    module = parse(deep(length))
    sweep = Round(module.entries[0], count_uses(walk(module.entries[0])))
    sweep.run(Report())
    depths = [node.depth for node in sweep.nodes.values()]
    assert max(depths) == 2 * MAX_DEPTH - 1 and len(depths) > length


def test_an_expression_is_simplified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws are asked once for each expression, however often it is built."""
    asked: list[TreeNode] = []
    monkeypatch.setitem(LAWS, "and", [lambda tree, node: asked.append(node)])
    tree, t = Tree(), Tile((), I32)
    x, y = tree.leaf(Value(t)), tree.leaf(Value(t))
    made = [tree.make("and", t, args) for args in ([x, y], [y, x], [x, y])]
    assert made[0] is made[1] is made[2] and asked == [made[0]]


def test_deterministic() -> None:
    texts = set()
    for _ in range(8):
        module = parse(chain(50, "addi") + "\n")
        simplify(module, Report())
        texts.add(tilery.show(module))
    assert len(texts) == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_modules(seed: int) -> None:
    """Random modules stay legal, and a second run changes nothing."""
    module = smith(seed, size=60)
    for run in (simplify, documented):
        run(module, Report())
        assert not [w for w in verify(module) if not w.warning]
        before = clone(module)
        run(module, Report())
        assert difference(before, module) is None


@pytest.mark.parametrize("seed", range(80))
def test_programs_print_the_same(seed: int) -> None:
    """Random programs with loops and branches print the same before and after."""
    module = Draw(seed).module(60)
    for run in (simplify, documented):
        after = clone(module)
        run(after, Report())
        assert not [w for w in verify(after) if not w.warning]
        rows = [[0, 0, 3, 5], [0, 1, 0, 1], [1, 0, -1, 2], [1, 1, 7, 7]]
        expected = printed(module, rows)
        if expected is not None:
            assert printed(after, rows, steps=100_000) == expected


def test_corpus() -> None:
    """Real files stay legal, and a second run changes nothing."""
    files = corpus_files(40)
    if not files:
        pytest.skip("the corpus is not here")
    for path in files:
        module = read(path.read_bytes())
        documented(module, Report())
        assert not [w for w in verify(module) if not w.warning], path
        again = Report()
        documented(module, again)
        assert not again.counts, path


# ---------------------------------------------------------------- the described canonicalizer


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("%r = select %true, %x, %y : tile<i1>, tile<i32>", "ReplaceConstantSelect"),
        ("%r = select %c, %x, %x : tile<i1>, tile<i32>", "ReplaceIdenticalSelect"),
        (
            "%n = xori %c, %true : tile<i1>\n%r = select %n, %x, %y : tile<i1>, tile<i32>",
            "InverseConditionSelect",
        ),
    ],
)
def test_described_select_rules_count_by_name(body: str, rule: str) -> None:
    report = Report()
    documented(parse(body), report)
    assert report.counts[rule] == 1


def test_described_addf_fold() -> None:
    module = tilery.parse(
        """cuda_tile.module @m { entry @k() {
          %a = constant <f32: 0.1> : tile<f32>
          %b = constant <f32: 0.2> : tile<f32>
          %r = addf %a, %b rounding<zero> : tile<f32>
          %s = mulf %r, %b : tile<f32>
          print_tko "%f", %s : tile<f32> -> token
          return } }"""
    )
    report = Report()
    documented(module, report)
    assert report.counts["fold_addf"] == 1
    (product,) = [o for o in walk(module) if o.name == "mulf"]  # of the floats only addf is folded
    sum_ = product.operands[0].owner
    assert isinstance(sum_, Constant) and sum_.value.splat == 0x3E999999  # rounded towards zero; to nearest it is ...9A


NESTED = """
%r = if %c -> (tile<i32>) {
  %inner = if %d -> (tile<i32>) {
    %v = muli %x, %y : tile<i32>
    yield %v : tile<i32>
  } else {
    yield %x : tile<i32>
  }
  yield %inner : tile<i32>
} else {
  yield %z : tile<i32>
}"""
JOINED = """
%both = andi %c, %d : tile<i1>
%r = if %both -> (tile<i32>) {
  %v = muli %x, %y : tile<i32>
  yield %v : tile<i32>
} else {
  yield %z : tile<i32>
}"""


def test_nested_ifs_are_joined_only_where_that_is_right() -> None:
    """The description joins these; with %c = 1 and %d = 0 the result would be %z instead of %x."""
    z3 = pytest.importorskip("z3", reason="z3-solver is not installed")
    from support.proofs import Meaning, refines, share_arguments

    original, wrong, ours = parse(NESTED), parse(JOINED), parse(NESTED)
    documented(ours, Report())
    meaning = Meaning()
    stored = []
    for module in (original, wrong, ours):
        share_arguments(original, module, meaning)
        (store,) = [o for o in walk(module) if o.name == "store_ptr_tko"]
        stored.append(meaning.of(store.operands[1]))
    assert refines(stored[0], stored[2]) is None
    c, d = (meaning.of(v)[0] for v in original.body.ops[0].blocks[0].args[4:6])
    solver = z3.Solver()
    solver.add(stored[0][0] != stored[1][0], c == 1, d == 0)
    assert solver.check() == z3.sat
    assert refines(stored[0], stored[1]) is not None


def test_the_description_has_no_other_rules() -> None:
    ours = {rule.name for rule in described.rule.all()}
    assert {"select_to_exti", "select_to_not", "select_constants"}.isdisjoint(ours)


def test_the_log_has_every_law_that_is_counted() -> None:
    text = "entry @k(%p: tile<i32>) {\n  %z = constant <i32: 0> : tile<i32>\n  %s = addi %p, %z : tile<i32>\n"
    module = tilery.parse(text + '  print_tko "%d", %s : tile<i32> -> token\n  return\n}\n')
    report = Report(log=[])
    simplify(module, report)
    laws = {rule: count for rule, count in report.counts.items() if rule.startswith("simplify_")}
    assert laws and Counter(fired.rule for fired in report.log or ()) == laws
    assert {fired.op for fired in report.log or ()} == {"addi"}
