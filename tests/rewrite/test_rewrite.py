"""Laws of rewriting: what rules may return, fixed points, dead code, pipelines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import tilery
from tilery import Op, TileError, Value, ops
from tilery.attrs import Dense
from tilery.cli.main import main
from tilery.passes import HOMES, PASSES, Option, find_pass, parse_pipeline, register, run_pipeline
from tilery.rewrite import (
    Place,
    Report,
    Rewrite,
    Rules,
    apply,
    erase,
    erase_dead,
    insert,
    isolated,
    replace,
    users,
    uses,
)
from tilery.smith import smith
from tilery.types import I1, I32, Function, Tile

INT, BOOL = Tile((), I32), Tile((), I1)

EXAMPLE = """
entry @k(%c: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = addi %x, %y : tile<i32>
  %b = muli %a, %y : tile<i32>
  if %c {
    %d = addi %b, %a : tile<i32>
    print_tko "%d", %d : tile<i32> -> token
  }
  print_tko "%d", %b : tile<i32> -> token
  return
}
"""


def names(module: tilery.Module) -> list[str]:
    return [o.name for o in tilery.walk(module.entries[0].body)]


def legal(module: tilery.Module) -> bool:
    return not tilery.verify(module)


# ---------------------------------------------------------------- what a rule may return


def applied(rule: Rules, text: str = EXAMPLE) -> tuple[tilery.Module, Report]:
    module = tilery.parse(text)
    report = apply(module, rule)
    assert legal(module)
    return module, report


def test_a_value_replaces_the_result_everywhere() -> None:
    rule = Rules()

    @rule(ops.MulI)
    def first(o: ops.MulI) -> Value:
        """x * y is x"""
        return o.lhs

    module, report = applied(rule)
    assert names(module) == ["addi", "if", "addi", "print_tko", "yield", "print_tko", "return"]
    assert report.counts == {"first": 1}
    body = module.entries[0].body
    assert all(o.operands[0] is body.ops[0].results[0] for o in body.ops if o.name == "print_tko")


def test_an_operation_replaces_another_and_takes_its_location() -> None:
    rule = Rules()

    @rule(ops.MulI)
    def to_sub(o: ops.MulI) -> Op:
        """x * y is x - y"""
        return ops.SubI(lhs=o.lhs, rhs=o.rhs)

    module = tilery.parse(EXAMPLE)
    place = tilery.attrs.FileLineCol("k.py", 3, 1)
    module.entries[0].body.ops[1].loc = place
    apply(module, rule)
    assert names(module)[:2] == ["addi", "subi"]
    assert module.entries[0].body.ops[1].loc is place


def test_an_operation_changed_in_place_is_swept_again() -> None:
    rule = Rules()

    @rule(ops.AddI)
    def sorted_operands(o: ops.AddI) -> Op | None:
        """x + y is y + x"""
        if isinstance(o.rhs.owner, ops.AddI) and not isinstance(o.lhs.owner, ops.AddI):
            o.lhs, o.rhs = o.rhs, o.lhs
            return o
        return None

    _, report = applied(rule)
    assert report.counts["sorted_operands"] == 1 and report.complete


def test_the_rest_of_a_block_can_be_dropped() -> None:
    rule = Rules()

    @rule(ops.If)
    def stop(o: ops.If) -> Rewrite:
        """if is return"""
        return Rewrite([ops.Return()], ends=True)

    module, _ = applied(rule)
    assert names(module) == ["return"]


def test_a_region_can_take_the_place_of_its_operation() -> None:
    rule = Rules()

    @rule(ops.If)
    def always(o: ops.If) -> Rewrite:
        """if (c) A is A"""
        return Rewrite(o.thenRegion.ops[:-1], [])

    module, _ = applied(rule)
    assert names(module) == ["addi", "muli", "addi", "print_tko", "print_tko", "return"]


def test_operations_that_follow_can_be_taken() -> None:
    rule = Rules()

    @rule(ops.AddI)
    def with_next(o: ops.AddI, at: Place) -> Op | Rewrite | None:
        """x + y, then times z, is a subtraction"""
        following = at.after[-1] if at.after else None
        if not isinstance(following, ops.MulI):
            return None
        new = ops.SubI(lhs=o.lhs, rhs=o.rhs, result=following.result)
        return Rewrite([new], [new.result], takes=1)

    module, _ = applied(rule)
    assert names(module)[:2] == ["subi", "if"]


def test_a_place_knows_neighbours_parents_and_uses() -> None:
    rule, seen = Rules(), []

    @rule(ops.AddI)
    def look(o: ops.AddI, at: Place) -> None:
        """nothing changes"""
        seen.append((len(at.before), len(at.after), [p.name for p in at.parents], at.uses(o.result), at.block))

    module, _ = applied(rule)
    body = module.entries[0].body
    inner = body.ops[2]
    assert isinstance(inner, ops.If)
    assert seen == [(0, 4, ["entry"], 2, body), (0, 2, ["entry", "if"], 1, inner.thenRegion)]


def test_a_rule_needs_a_law() -> None:
    with pytest.raises(TypeError, match="must state its law"):
        Rules()(ops.AddI)(lambda o: None)


def test_a_rule_must_keep_types() -> None:
    rule = Rules()

    @rule(ops.If)
    def wrong(o: ops.If) -> Value:
        """if is its condition"""
        return o.condition

    with pytest.raises(TypeError, match="rule wrong: if has results of type"):
        applied(rule)


def test_rules_that_undo_each_other_come_to_an_end() -> None:
    rule = Rules()

    @rule(ops.AddI)
    def swap(o: ops.AddI) -> Op:
        """x + y is y + x"""
        o.lhs, o.rhs = o.rhs, o.lhs
        return o

    _, report = applied(rule)
    assert not report.complete


def test_a_rule_that_grows_the_module_comes_to_an_end() -> None:
    rule = Rules()

    @rule(ops.AddI)
    def grow(o: ops.AddI) -> Rewrite:
        """x + y is x + y + y"""
        inner = ops.AddI(lhs=o.lhs, rhs=o.rhs)
        outer = ops.AddI(lhs=inner.result, rhs=o.rhs)
        return Rewrite([inner, outer], [outer.result])

    _, report = applied(rule)
    assert not report.complete


# ---------------------------------------------------------------- dead code and editing


def test_dead_code_goes_from_the_end_to_the_beginning() -> None:
    chain = "\n".join(f"%{n + 1} = addi %{n}, %{n} : tile<i32>" for n in range(50))
    module = tilery.parse(f"entry @k(%0: tile<i32>) {{\n{chain}\nreturn\n}}")
    report = Report()
    assert erase_dead(module.entries[0], report=report) == 50
    assert report.counts == {"dead": 50} and names(module) == ["return"]


def test_uses_count_every_operand() -> None:
    module = tilery.parse(EXAMPLE)
    x, y = module.entries[0].body.args[1:]
    a = module.entries[0].body.ops[0].results[0]
    assert (uses(module)[x], uses(module)[y], uses(module)[a]) == (1, 2, 2)
    assert [o.name for o in users(module)[a]] == ["muli", "addi"]


def test_insert_replace_and_erase() -> None:
    module = tilery.parse(EXAMPLE)
    entry = module.entries[0]
    first, second = entry.body.ops[:2]
    x = entry.body.args[1]
    new = ops.SubI(lhs=x, rhs=x)
    insert(entry.body, first, new)
    replace(entry, entry.body, second, [ops.AddI(lhs=new.result, rhs=x)])
    assert names(module)[:4] == ["subi", "addi", "addi", "if"] and legal(module)
    replace(entry, entry.body, first, [], [x])
    assert names(module)[:3] == ["subi", "addi", "if"] and legal(module)
    unused = ops.SubI(lhs=x, rhs=x)
    insert(entry.body, new, unused)
    erase(entry.body, unused)
    assert legal(module)


def test_functions_are_rewritten_one_by_one() -> None:
    module = tilery.parse("entry @a() {\nreturn\n}\nentry @b() {\nreturn\n}")
    assert isolated(module) == module.entries and isolated(module.entries[0]) == module.entries[:1]


# ---------------------------------------------------------------- linear time


def deep_or_long(kind: str, size: int) -> tilery.Module:
    args = [Value(BOOL), Value(BOOL), Value(INT)]
    body = tilery.Block(args)
    value, block = args[2], body
    for n in range(size):
        if kind == "nested":
            o = ops.If(condition=args[n % 2], results_=(), thenRegion=tilery.Block())
            block.ops += [o] if block is body else [o, ops.Yield()]
            block = o.thenRegion
        elif kind == "nested rows":
            three = [ops.If(condition=args[0], results_=(), thenRegion=tilery.Block()) for _ in range(3)]
            block.ops += three if block is body else [*three, ops.Yield()]
            for o in (three[0], three[2]):
                o.thenRegion.ops += [ops.PrintTko(str_="%d", args=(value,)), ops.Yield()]
            block = three[1].thenRegion
        elif kind == "row":
            inner = ops.AddI(lhs=value, rhs=value)
            yes = tilery.Block([], [inner, ops.Yield(operands_=(inner.result,))])
            no = ops.SubI(lhs=value, rhs=value)
            other = tilery.Block([], [no, ops.Yield(operands_=(no.result,))])
            o = ops.If(condition=args[0], results_=(Value(INT),), thenRegion=yes, elseRegion=other)
            body.ops.append(o)
            value = o.results_[0]
        else:
            chosen = ops.Select(cond=args[0], val_if_true=value, val_if_false=args[2])
            body.ops.append(chosen)
            value = chosen.result
    block.ops.append(ops.PrintTko(str_="%d", args=(value,)))
    if block is not body:
        block.ops.append(ops.Yield())
    body.ops.append(ops.Return())
    entry = ops.Entry(sym_name="k", function_type=Function([v.type for v in args]), body=body)
    return ops.Module(body=tilery.Block([], [entry]))


@pytest.mark.parametrize("kind", ["nested", "nested rows", "row", "chain"])
def test_ten_thousand_are_no_problem(kind: str) -> None:
    module = deep_or_long(kind, 10_000)
    report = run_pipeline(module, parse_pipeline("canonicalize"))
    assert report.complete and legal(module)
    left = len([o for o in tilery.walk(module) if isinstance(o, ops.If | ops.Select)])
    assert left == (10_000 if kind == "nested rows" else 1 if kind != "chain" else 0)


# ---------------------------------------------------------------- pipelines


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("canonicalize", [("canonicalize", {"disable_patterns": ""}, ())]),
        ("canonicalize{disable-patterns=A,B}", [("canonicalize", {"disable_patterns": "A,B"}, ())]),
        (" dce , cse ", [("dce", {}, ()), ("cse", {}, ())]),
        (
            "builtin.module(cuda_tile.module(cuda_tile.entry(loop-split{split-threshold=3}),cse))",
            [
                ("loop-split", {"split_threshold": 3}, ("builtin.module", "cuda_tile.module", "cuda_tile.entry")),
                ("cse", {}, ("builtin.module", "cuda_tile.module")),
            ],
        ),
        ("any(dce),loop-split", [("dce", {}, ("any",)), ("loop-split", {"split_threshold": 1}, ())]),
        ("", []),
    ],
)
def test_a_pipeline_is_read(text: str, steps: object) -> None:
    assert [(s.run.name, s.options, s.anchors) for s in parse_pipeline(text).steps] == steps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "unknown pass 'nonsense', there are: canonicalize, cse,"),
        ("cse(dce)", "'cse' holds no passes"),
        ("any(dce", "'any(' is not closed"),
        ("dce)", "expected the name of a pass, got ')'"),
        (",dce", "expected the name of a pass, got ','"),
        ("dce cse", "expected ',' after 'dce', got 'cse'"),
        ("dce{x=1}", "dce: unknown option 'x', it has none"),
        ("loop-split{x=1}", "unknown option 'x', there are: split-threshold"),
        ("loop-split{split-threshold=a}", "option 'split-threshold' must be an integer, got 'a'"),
        ("loop-split{split-threshold", "expected options as {name=value}"),
        ("loop-split{", "expected options as {name=value}"),
        ("dce;cse", "unexpected ';'"),
        ("x" * 20_000, "longer than"),
    ],
)
def test_a_bad_pipeline_is_refused(text: str, message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        parse_pipeline(text)


def test_a_pass_on_modules_does_not_run_on_entries() -> None:
    module = tilery.parse(EXAMPLE)
    with pytest.raises(TileError, match="works on a module"):
        run_pipeline(module, parse_pipeline("cuda_tile.entry(synthesize-debug-info-scopes)"))


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_pass_says_what_it_does(name: str) -> None:
    assert find_pass(name).doc.endswith(".") and find_pass(name).on in ("any", "function", "module")


def test_options_are_of_the_type_of_their_default() -> None:
    assert Option("a", False, "").read("true", "p") is True
    assert Option("a", "x", "").read("y", "p") == "y"
    with pytest.raises(TileError, match="must be true or false"):
        Option("a", True, "").read("maybe", "p")


def test_optimize_leaves_its_argument_alone_and_verifies() -> None:
    module = tilery.parse(EXAMPLE)
    text = tilery.show(module)
    assert tilery.show(tilery.optimize(module, ["dce", "cse"])) == text and tilery.show(module) == text

    @register("breaks")
    def breaks(root: Op, report: Report) -> None:
        """Forget the terminator."""
        root.blocks[0].ops[0].blocks[0].ops.pop()

    try:
        with pytest.raises(TileError, match="after breaks: print_tko: block with no terminator"):
            tilery.optimize(module, "breaks")
    finally:
        del PASSES["breaks"]
    module.entries[0].body.ops.pop()
    with pytest.raises(TileError):
        tilery.optimize(module, "dce")


def test_no_pass_sees_a_module_that_is_not_legal() -> None:
    """An assumption that the verifier refuses is never used: the pass does not run."""
    text = "entry @k(%x: tile<i32>) {\n%a = assume div_by<4>, %x : tile<i32>\nreturn\n}"
    wrong = tilery.parse(text.replace("div_by<4>", "div_by<3>"), verify=False)
    runs = []

    @register("watches")
    def watches(root: Op, report: Report) -> None:
        """Note that it ran."""
        runs.append(root)

    try:
        tilery.optimize(tilery.parse(text), "watches")
        assert len(runs) == 1
        with pytest.raises(TileError, match="divisor must be a power of 2"):
            tilery.optimize(wrong, "watches")
        assert len(runs) == 1
    finally:
        del PASSES["watches"]


def test_a_changed_module_forgets_what_is_unused() -> None:
    data = tilery.dumps(tilery.parse(EXAMPLE.replace("%b :", "%a :")))
    module = tilery.load(data)
    assert tilery.dumps(tilery.optimize(module, "licm")) == data
    assert module.layout is not None and module.layout.unused
    two = Dense.of(INT, [2])
    insert(module.entries[0].body, module.entries[0].body.ops[0], ops.Constant(value=two))
    better = tilery.optimize(module, "dce")
    assert better.layout is not None and not better.layout.unused
    assert tilery.equal(tilery.load(tilery.dumps(better)), better)


# ---------------------------------------------------------------- the command, and the guide


def test_opt_writes_text_or_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "k.mlir", tmp_path / "k.tileirbc"
    source.write_text(EXAMPLE)
    assert main(["opt", str(source), "--passes", "dce"]) == 0
    text = capsys.readouterr().out
    assert main(["opt", str(source), "--passes", "dce", "-o", str(out)]) == 0
    assert tilery.show(tilery.load(out)) == text


def test_opt_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(EXAMPLE.replace("%a, %y", "%x, %y"))
    assert main(["opt", str(source), "--passes", "cse,dce", "--stats", "--print-after", "--remarks"]) == 0
    found = capsys.readouterr().err
    assert "// after cse\nentry @k(" in found and "cse: 0 changes" in found and "// after dce" in found


def test_remarks_say_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @register("remarks")
    def remarks(root: Op, report: Report) -> None:
        """Remark on everything."""
        for o in tilery.walk(root):
            report.remark(o, "seen")

    source = tmp_path / "k.mlir"
    source.write_text('entry @k() {\n  return loc("k.py":3:5)\n}\n')
    try:
        assert main(["opt", str(source), "--passes", "remarks", "--remarks"]) == 0
    finally:
        del PASSES["remarks"]
    assert capsys.readouterr().err.splitlines()[-1] == "k.py:3:6: remark: remarks: return: seen"


def test_opt_lists_the_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(f"{name} " in out for name in HOMES) and "{split-threshold=1}" in out
    assert main(["opt"]) == 2


def test_opt_refuses_a_bad_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(EXAMPLE)
    assert main(["opt", str(source), "--passes", "nonsense"]) == 2
    assert "unknown pass 'nonsense'" in capsys.readouterr().err


def test_the_guide_runs(root: Path) -> None:
    """Every piece of code on the page, one after the other."""
    page = (root / "docs" / "guides" / "write-a-pass.md").read_text("utf-8")
    code = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    before = dict(PASSES)
    scope: dict[str, object] = {}
    try:
        for piece in code:
            exec(compile(piece, "write-a-pass.md", "exec"), scope)
    finally:
        PASSES.clear()
        PASSES.update(before)
    assert len(code) == 6


def test_the_same_module_gives_the_same_result() -> None:
    def once() -> tuple[str, Counter[str]]:
        report = Report()
        made = tilery.optimize(smith(5, size=200), "canonicalize,cse,licm", report=report)
        return tilery.show(made), report.counts

    assert once() == once()
