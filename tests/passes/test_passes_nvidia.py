"""NVIDIA's transform passes: loop-split, synthesize-debug-info-scopes, and strip-debug-info beside them."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tilery
from tilery.attrs import ComparisonPredicate, DILoc, FileLineCol, RoundingMode, Signedness
from tilery.bytecode.reader import read
from tilery.bytecode.writer import write
from tilery.ir import Block, Op, Value, clone, walk
from tilery.ops import (
    AddI,
    CmpI,
    Constant,
    Continue,
    DivI,
    For,
    If,
    MaxI,
    MinI,
    Module,
    MulI,
    Return,
    StorePtrTko,
    SubI,
    Yield,
)
from tilery.passes import parse_pipeline, run_pipeline
from tilery.passes.debug_scopes import source_file
from tilery.rewrite import Report
from tilery.verifier.verify import verify


def run(module: Module, pipeline: str) -> Report:
    report = run_pipeline(module, parse_pipeline(pipeline))
    assert [w for w in verify(module) if not w.warning] == []
    return report


def names(module: Module) -> list[str]:
    return [o.name for o in walk(module)]


# ---------------------------------------------------------------- loop-split


def loop(compare: str, *, step: int = 1, extra: str = "", hints: str = "", sign: str = "") -> Module:
    """A kernel whose loop sums up one thing before and another after its counter passes %v."""
    return tilery.parse(
        f"""cuda_tile.module @m {{
          entry @k(%p: tile<ptr<i32>>, %lo: tile<i8>, %hi: tile<i8>, %v: tile<i8>, %s: tile<i8>) {{
            %zero = constant <i32: 0> : tile<i32>
            %three = constant <i32: 3> : tile<i32>
            %step = constant <i8: {step}> : tile<i8>
            %five = constant <i8: 5> : tile<i8>
            %r = for {sign} %i in (%lo to %hi, step {"%step" if step else "%s"}) : tile<i8>
                iter_values(%acc = %zero) -> (tile<i32>) {{
              %c = cmpi {compare} : tile<i8> -> tile<i1>
              {extra}
              %x = if %c -> (tile<i32>) {{
                %a = muli %acc, %three : tile<i32>
                yield %a : tile<i32>
              }} else {{
                %a = addi %acc, %three : tile<i32>
                yield %a : tile<i32>
              }}
              continue %x : tile<i32>
            }} {hints}
            %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
            return
          }}
        }}"""
    )


CompareInt = {
    ComparisonPredicate.EQUAL: lambda a, b: a == b,
    ComparisonPredicate.NOT_EQUAL: lambda a, b: a != b,
    ComparisonPredicate.LESS_THAN: lambda a, b: a < b,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: lambda a, b: a <= b,
    ComparisonPredicate.GREATER_THAN: lambda a, b: a > b,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: lambda a, b: a >= b,
}


class Machine:
    """Executes scalar integers, loops and branches, by bits."""

    def __init__(self, known: dict[Value, int]) -> None:
        self.known = known
        self.stored: list[int] = []

    def number(self, value: Value, sign: Signedness) -> int:
        bits, width = self.known[value], value.type.element.bits  # type: ignore[attr-defined]  # tiles only
        return bits - (1 << width) if sign is Signedness.SIGNED and bits >> (width - 1) else bits

    def block(self, block: Block) -> tuple[Op, list[int]]:
        """Execute a block; says how it ended and with which values."""
        for o in block.ops:
            match o:
                case If():
                    side = o.thenRegion if self.known[o.condition] else o.elseRegion
                    if side is not None:
                        end, values = self.block(side)
                        if not isinstance(end, Yield):
                            return end, values
                        self.known.update(zip(o.results_, values))
                case For():
                    self.loop(o)
                case StorePtrTko():
                    self.stored.append(self.known[o.value])
                case Continue() | Yield() | Return():
                    return o, [self.known[v] for v in o.operands]
                case _:
                    self.known[o.results[0]] = self.compute(o)
        raise AssertionError("a block without an end")

    def loop(self, o: For) -> None:
        sign = Signedness.UNSIGNED if o.unsignedCmp else Signedness.SIGNED
        at, end, step = (self.number(v, sign) for v in (o.lowerBound, o.upperBound, o.step))
        values = [self.known[v] for v in o.initValues]
        while at < end:
            self.known[o.region.args[0]] = at & 255
            self.known.update(zip(o.region.args[1:], values))
            values = self.block(o.region)[1]
            at += step
        self.known.update(zip(o.resultValues, values))

    def compute(self, o: Any) -> int:
        if isinstance(o, Constant):
            assert o.value.splat is not None
            return o.value.splat
        sign = getattr(o, "signedness", Signedness.UNSIGNED)
        a, b = (self.number(v, sign) for v in o.operands)
        mask: int = (1 << o.results[0].type.element.bits) - 1
        match o:
            case CmpI():
                return int(CompareInt[o.comparison_predicate](a, b))
            case AddI():
                return a + b & mask
            case SubI():
                return a - b & mask
            case MulI():
                return a * b & mask
            case MinI():
                return min(a, b) & mask
            case MaxI():
                return max(a, b) & mask
            case DivI():
                assert o.rounding is RoundingMode.POSITIVE_INF
                return -(-a // b) & mask
        raise AssertionError(o.name)


def execute(module: Module, arguments: list[int]) -> list[int]:
    (entry,) = module.body.ops
    machine = Machine(dict(zip(entry.blocks[0].args, [0, *arguments])))
    machine.block(entry.blocks[0])
    return machine.stored


COMPARISONS = [
    (predicate, order)
    for predicate in ("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
    for order in ("%i, %v", "%v, %i")
]


@pytest.mark.parametrize("step", [1, 3, 0], ids=["step 1", "step 3", "any step"])
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize(("predicate", "order"), COMPARISONS)
def test_split_loops_do_the_same(predicate: str, order: str, sign: str, step: int) -> None:
    """Random bounds and those at the ends of the type: both halves together run what the loop ran."""
    module = loop(f"{predicate} {order}, {sign}", step=step, sign="unsigned" if sign == "unsigned" else "")
    before = clone(module)
    assert run(module, "loop-split").counts["split_loop"] == 1
    assert names(module).count("for") == 2 and "if" not in names(module)
    draw = random.Random(f"{predicate} {order} {sign} {step}")
    ends = [0, 1, 2, 126, 127, 128, 129, 254, 255]
    for _ in range(150):
        low, high, bound = (draw.choice([draw.randrange(256), draw.choice(ends)]) for _ in range(3))
        by = draw.randint(1, 9)
        top = 127 if sign == "signed" else 255
        last = high - 256 if sign == "signed" and high > 127 else high
        if step != 1 and last + (step or by) > top:
            continue  # the counter itself would leave its type
        arguments = [low, high, bound, by]
        assert execute(before, arguments) == execute(module, arguments), arguments


@pytest.mark.parametrize("bound", [-128, 0, 5, 127])
def test_a_constant_bound_is_used_as_it_is(bound: int) -> None:
    module = tilery.parse(
        f"""cuda_tile.module @m {{
          entry @k(%p: tile<ptr<i32>>, %lo: tile<i8>, %hi: tile<i8>) {{
            %zero = constant <i32: 0> : tile<i32>
            %step = constant <i8: 1> : tile<i8>
            %k = constant <i8: {bound}> : tile<i8>
            %r = for %i in (%lo to %hi, step %step) : tile<i8> iter_values(%acc = %zero) -> (tile<i32>) {{
              %c = cmpi greater_than %i, %k, signed : tile<i8> -> tile<i1>
              %x = if %c -> (tile<i32>) {{
                %a = addi %acc, %acc : tile<i32>
                yield %a : tile<i32>
              }} else {{
                yield %acc : tile<i32>
              }}
              continue %x : tile<i32>
            }}
            %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
            return
          }}
        }}"""
    )
    run(module, "loop-split")
    # Only the largest bound needs care: one more would wrap around.
    assert names(module).count("mini") == (2 if bound == 127 else 1)


def test_a_bound_that_the_loop_changes_is_no_bound() -> None:
    """A carried value is defined by the loop, like what is computed inside."""
    module = tilery.parse(
        """cuda_tile.module @m { entry @k(%lo: tile<i8>, %hi: tile<i8>) {
          %r = for %i in (%lo to %hi, step %lo) : tile<i8> iter_values(%n = %hi) -> (tile<i8>) {
            %c = cmpi less_than %i, %n, signed : tile<i8> -> tile<i1>
            %x = if %c -> (tile<i8>) { yield %i : tile<i8> } else { yield %n : tile<i8> }
            continue %x : tile<i8>
          }
          print_tko "%i", %r : tile<i8> -> token
          return } }"""
    )
    assert not run(module, "loop-split").changed


@pytest.mark.parametrize(
    ("compare", "sign"),
    [
        ("equal %i, %v, signed", ""),
        ("less_than %i, %v, unsigned", ""),
        ("less_than %i, %v, signed", "unsigned"),
        ("less_than %five, %v, signed", ""),
    ],
)
def test_not_split(compare: str, sign: str) -> None:
    assert not run(loop(compare, sign=sign), "loop-split").changed


def test_the_comparison_stays_where_something_else_uses_it() -> None:
    module = loop("less_than %i, %v, signed", extra="%n = exti %c unsigned : tile<i1> -> tile<i8>")
    run(module, "loop-split")
    assert "cmpi" not in names(module)
    assert tilery.show(module).count("constant <i1: true>") == 1
    assert tilery.show(module).count("constant <i1: false>") == 1


@pytest.mark.parametrize(
    ("pipeline", "hints", "splits"),
    [
        ("loop-split", "", 1),
        ("loop-split{split-threshold=0}", "", 0),
        ("loop-split{split-threshold=2}", "", 0),
        ("loop-split", "{cuda_tile.loop_split = 0}", 0),
        ("loop-split{split-threshold=0}", "{cuda_tile.loop_split = 1}", 1),
        ("loop-split{split-threshold=9}", "{cuda_tile.loop_split = 1}", 1),
    ],
)
def test_thresholds(pipeline: str, hints: str, splits: int) -> None:
    report = run(loop("less_than %i, %v, signed", hints=hints), pipeline)
    assert report.counts["split_loop"] == splits


def test_a_continue_inside_a_branch() -> None:
    module = tilery.parse(
        """cuda_tile.module @m {
        entry @k(%p: tile<ptr<i32>>, %lo: tile<i8>, %hi: tile<i8>, %v: tile<i8>, %s: tile<i8>) {
          %one = constant <i8: 1> : tile<i8>
          %zero = constant <i32: 1> : tile<i32>
          %three = constant <i32: 3> : tile<i32>
          %r = for %i in (%lo to %hi, step %one) : tile<i8> iter_values(%acc = %zero) -> (tile<i32>) {
            %c = cmpi less_than %i, %v, signed : tile<i8> -> tile<i1>
            if %c {
              %a = muli %acc, %three : tile<i32>
              continue %a : tile<i32>
            }
            %b = addi %acc, %three : tile<i32>
            continue %b : tile<i32>
          }
          %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
          return } }"""
    )
    before = clone(module)
    run(module, "loop-split")
    assert "if" not in names(module)
    for arguments in ([0, 9, 4, 1], [0, 3, 9, 1], [5, 9, 2, 1], [9, 3, 5, 1]):
        assert execute(before, arguments) == execute(module, arguments)


def nested(depth: int) -> str:
    """Loops in loops, each with a branch that can be split."""
    text = "%z = addi %zero, %zero : tile<i32>\n"
    for level in range(depth):
        text = (
            f"for %i{level} in (%lo to %hi, step %one) : tile<i8> {{\n"
            f"%c{level} = cmpi less_than %i{level}, %v, signed : tile<i8> -> tile<i1>\n"
            f'if %c{level} {{\nprint_tko "x" -> token\n}}\n{text}continue\n}}\n'
        )
    return (
        "cuda_tile.module @m { entry @k(%lo: tile<i8>, %hi: tile<i8>, %v: tile<i8>) {\n"
        "%one = constant <i8: 1> : tile<i8>\n%zero = constant <i32: 0> : tile<i32>\n" + text + "return } }"
    )


def test_nested_loops_do_not_grow_without_end() -> None:
    """Each level that splits doubles what is inside; the pass stops before that gets out of hand."""
    module = tilery.parse(nested(40))
    size = len(names(module))
    run(module, "loop-split")
    assert len(names(module)) < 40 * size + 4096


# ---------------------------------------------------------------- debug information

PLACES = """cuda_tile.module @m {
  entry @k(%x: tile<i32>) {
    %0 = addi %x, %x : tile<i32> loc("dir/a.py":3:1)
    return loc(callsite(unknown at "dir/a.py":4:1))
  } loc(fused[unknown, "dir/a.py":2:1])
} loc("name"("dir/main.py":1:1))"""


def test_scopes_from_plain_locations() -> None:
    module = tilery.parse(PLACES)
    assert run(module, "synthesize-debug-info-scopes").counts == {"subprogram": 1}
    (entry,) = module.body.ops
    assert isinstance(entry.loc, DILoc)
    scope = entry.loc.scope
    assert (scope.file.name, scope.file.directory, scope.line) == ("a.py", "dir", 2)
    assert scope.compileUnit.file.name == "main.py"  # type: ignore[union-attr]  # a subprogram
    lines = [o.loc.source.line for o in walk(entry) if isinstance(o.loc, DILoc)]
    assert lines == [2, 3, 4]
    assert all(isinstance(o.loc, DILoc) and o.loc.scope is scope for o in walk(entry))
    # With scopes, bytecode can hold the lines.
    assert isinstance(read(write(module)).body.ops[0].loc, DILoc)
    assert not run(module, "synthesize-debug-info-scopes").changed


def test_scopes_without_any_location() -> None:
    module = tilery.parse("cuda_tile.module @m { entry @k() { return } }")
    run(module, "synthesize-debug-info-scopes")
    (entry,) = module.body.ops
    assert isinstance(entry.loc, DILoc)
    assert (entry.loc.source.filename, entry.loc.source.line) == ("<unknown>", 1)
    assert entry.loc.scope.file.name == "<unknown>"


@pytest.mark.parametrize(
    ("path", "name", "directory"),
    [("a.py", "a.py", ""), ("/a.py", "a.py", "/"), ("d/e/a.py", "a.py", "d/e"), ("d/", ".", "d"), ("/", "/", "")],
)
def test_paths_are_cut_as_llvm_cuts_them(path: str, name: str, directory: str) -> None:
    assert source_file(FileLineCol(path, 1, 1)).parts() == (name, directory)


def test_strip_debug_info() -> None:
    module = tilery.parse(PLACES)
    run(module, "synthesize-debug-info-scopes,strip-debug-info")
    assert all(o.loc is None for o in walk(module))
    assert "loc(" not in tilery.show(module)
    assert not run(module, "strip-debug-info").changed
