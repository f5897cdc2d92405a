"""The expression simplifier: what becomes of expressions, and that it ends, stays out of regions and is idempotent."""

from __future__ import annotations

import sys

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
from tilery.passes.simplify.tree import LAWS, MAX_DEPTH, Node, Tree
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
    """What is computed, constants and the frame left out."""
    frame = ("module", "entry", "constant", "store_ptr_tko", "return")
    return [o.name for o in walk(module) if o.name not in frame]


@pytest.mark.parametrize(
    ("body", "kind", "left"),
    [
        ("%a = xori %c, %true : tile<i1>\n%r = xori %a, %true : tile<i1>", "i1", []),
        (
            "%a = xori %c, %true : tile<i1>\n%b = xori %d, %true : tile<i1>\n%e = andi %a, %b : tile<i1>\n"
            "%r = xori %e, %true : tile<i1>",
            "i1",
            ["ori"],
        ),
        (
            "%a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>\n%r = xori %a, %true : tile<i1>",
            "i1",
            ["cmpi"],
        ),
        ("%a = andi %c, %d : tile<i1>\n%r = andi %a, %c : tile<i1>", "i1", ["andi"]),
        ("%a = xori %c, %true : tile<i1>\n%r = andi %a, %c : tile<i1>", "i1", []),
        ("%a = ori %c, %d : tile<i1>\n%r = andi %a, %c : tile<i1>", "i1", []),
        ("%a = addi %x, %one : tile<i32>\n%r = addi %a, %two : tile<i32>", "i32", ["addi"]),
        ("%a = addi %x, %y : tile<i32>\n%r = subi %a, %y : tile<i32>", "i32", []),
        (
            "%a = muli %x, %two : tile<i32>\n%b = muli %x, %one : tile<i32>\n%r = addi %a, %b : tile<i32>",
            "i32",
            ["muli"],
        ),
        ("%r = muli %x, %zero : tile<i32>", "i32", []),
        ("%a = addi %x, %one : tile<i32>\n%r = cmpi equal %a, %one, signed : tile<i32> -> tile<i1>", "i1", ["cmpi"]),
        ("%r = cmpi less_than %x, %zero, unsigned : tile<i32> -> tile<i1>", "i1", []),
        (
            "%s = select %c, %one, %two : tile<i1>, tile<i32>\n"
            "%r = cmpi equal %s, %one, signed : tile<i32> -> tile<i1>",
            "i1",
            [],
        ),
        ("%r = select %c, %x, %x : tile<i1>, tile<i32>", "i32", []),
        ("%n = xori %c, %true : tile<i1>\n%r = select %n, %x, %y : tile<i1>, tile<i32>", "i32", ["select"]),
        ("%e = exti %x signed : tile<i32> -> tile<i64>\n%r = trunci %e : tile<i64> -> tile<i32>", "i32", []),
        ("%a = mini %x, %y signed : tile<i32>\n%r = mini %a, %x signed : tile<i32>", "i32", ["mini"]),
    ],
)
def test_simplified(body: str, kind: str, left: list[str]) -> None:
    module = parse(body, kind)
    simplify(module, Report())
    assert names(module) == left
    assert not list(verify(module))


LESS = "cmpi less_than %x, {}, signed : tile<i32> -> tile<i1>"
MORE = "cmpi greater_than %x, {}, signed : tile<i32> -> tile<i1>"


@pytest.mark.parametrize(
    ("body", "kind", "left", "law"),
    [
        ("%r = divi %x, %one signed : tile<i32>", "i32", [], "div_trivial"),
        ("%r = divi %seven, %two unsigned : tile<i32>", "i32", [], "div_constants"),
        ("%r = remi %x, %one signed : tile<i32>", "i32", [], "rem_trivial"),
        ("%r = remi %seven, %two signed : tile<i32>", "i32", [], "rem_constants"),
        ("%a = remi %x, %y signed : tile<i32>\n%r = remi %a, %y signed : tile<i32>", "i32", ["remi"], "rem_rem"),
        ("%r = shri %x, %zero signed : tile<i32>", "i32", [], "shr_trivial"),
        ("%r = shri %seven, %one unsigned : tile<i32>", "i32", [], "shr_constants"),
        ("%a = shri %x, %two signed : tile<i32>\n%r = shri %a, %one signed : tile<i32>", "i32", ["shri"], "shr_shr"),
        ("%a = absi %x : tile<i32>\n%r = absi %a : tile<i32>", "i32", ["absi"], "abs_abs"),
        ("%a = negi %x : tile<i32>\n%r = absi %a : tile<i32>", "i32", ["absi"], "abs_negated"),
        ("%r = absi %seven : tile<i32>", "i32", [], "abs_constant"),
        ("%a = mini %x, %y signed : tile<i32>\n%r = maxi %x, %a signed : tile<i32>", "i32", [], "absorb"),
        (
            "%a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>\n"
            "%b = cmpi greater_than %y, %x, signed : tile<i32> -> tile<i1>\n%r = andi %a, %b : tile<i1>",
            "i1",
            ["cmpi"],
            "first_left",
        ),
        (
            "%a = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>\n"
            "%b = cmpi equal %y, %x, signed : tile<i32> -> tile<i1>\n%r = ori %a, %b : tile<i1>",
            "i1",
            ["cmpi"],
            "join_comparisons",
        ),
        (f"%a = {LESS.format('%five')}\n%b = {LESS.format('%three')}\n%r = andi %a, %b : tile<i1>", "i1", ["cmpi"],
         "join_ranges"),
        (f"%a = {LESS.format('%five')}\n%b = {MORE.format('%three')}\n%r = ori %a, %b : tile<i1>", "i1", [],
         "join_ranges"),
        (f"%a = {LESS.format('%three')}\n%b = {MORE.format('%five')}\n%r = andi %a, %b : tile<i1>", "i1", [],
         "join_ranges"),
    ],
)  # fmt: skip
def test_simplified_by_a_law(body: str, kind: str, left: list[str], law: str) -> None:
    """What --stats counts is the law that applied."""
    more = "".join(
        f"%{name} = constant <i32: {n}> : tile<i32>\n" for name, n in (("three", 3), ("five", 5), ("seven", 7))
    )
    module, report = parse(more + body, kind), Report()
    simplify(module, report)
    assert names(module) == left
    assert report.counts[f"simplify_{law}"] >= 1, report.counts
    assert not list(verify(module))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("%a = addi %v, %k : tile<4xi32>\n%r = addi %a, %l : tile<4xi32>", "[11, 22, 33, 44]"),
        ("%a = andi %v, %k : tile<4xi32>\n%r = andi %a, %l : tile<4xi32>", "[0, 0, 2, 0]"),
        ("%a = addi %k, %l : tile<4xi32>\n%r = xori %v, %a : tile<4xi32>", "[11, 22, 33, 44]"),
        ("%a = divi %l, %k signed : tile<4xi32>\n%r = xori %v, %a : tile<4xi32>", "10"),
        ("%a = subi %v, %k : tile<4xi32>\n%r = addi %a, %k : tile<4xi32>", ""),
    ],
)
def test_constants_whose_elements_differ(lines: str, expected: str) -> None:
    text = """cuda_tile.module @m { entry @k(%s: tile<i32>) {
      %q = reshape %s : tile<i32> -> tile<1xi32>
      %v = broadcast %q : tile<1xi32> -> tile<4xi32>
      %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
      %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
      LINES
      print_tko "%d", %r : tile<4xi32> -> token
      return } }"""
    module = tilery.parse(text.replace("LINES", lines))
    simplify(module, Report())
    constants = [line for line in tilery.show(module).splitlines() if "constant" in line]
    computed = [name for name in names(module) if name not in ("reshape", "broadcast", "print_tko")]
    assert len(computed) == len(constants) == bool(expected)
    assert all(f"<i32: {expected}>" in line for line in constants)


def test_undefined_divisions_stay() -> None:
    """A division that is not defined is not folded, nor is one of which only some elements are."""
    module = parse("%a = divi %one, %zero signed : tile<i32>\n%r = remi %a, %zero signed : tile<i32>")
    simplify(module, Report())
    assert names(module) == ["divi", "remi"]


@pytest.mark.parametrize(
    "body",
    [
        "%r = addi %x, %y : tile<i32>",
        "%a = addi %x, %y : tile<i32>\n%r = muli %a, %two : tile<i32>",
        "%a = divi %x, %y signed : tile<i32>\n%r = subi %a, %z : tile<i32>",
    ],
)
def test_nothing_better(body: str) -> None:
    """What has no simpler form is the same operation as before, not an equal one."""
    module = parse(body)
    before = clone(module)
    report = Report()
    simplify(module, report)
    assert not [n for n in report.counts if n != "dead"]
    assert names(module) == names(before)


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
    asked: list[Node] = []
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
