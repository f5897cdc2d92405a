"""Synthetic modules of any size, to measure on."""

from __future__ import annotations

from collections.abc import Callable

from tilery.attrs import DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.ir import Block, Op, Value, walk
from tilery.ops import AddI, Entry, If, Module, PrintTko, Return, Select, Yield
from tilery.text.parse.parser import parse
from tilery.types import I1, I32, Function, Tile

INT, BOOL = Tile((), I32), Tile((), I1)


def module_of(body: Callable[[Value, Value, Value], list[Op]]) -> Module:
    """Return a module with one entry, which takes an integer and two conditions."""
    values = [Value(INT), Value(BOOL), Value(BOOL)]
    block = Block(values, [*body(*values), Return(operands_=())])
    entry = Entry(sym_name="k", function_type=Function([v.type for v in values]), body=block)
    return Module(sym_name="kernels", body=Block([], [entry]))


def keep(value: Value) -> Op:
    """Return an operation that keeps a value alive."""
    return PrintTko(str_="%d", args=(value,))


def chain(count: int, every: int = 0) -> Module:
    """Return a chain of additions, in which every `every`-th operation is a select that canonicalize replaces."""

    def body(x: Value, c: Value, _: Value) -> list[Op]:
        ops: list[Op] = []
        last = before = x
        for number in range(count):
            made: Op = AddI(lhs=last, rhs=before)
            if every and number % every == 0:
                made = Select(cond=c, val_if_true=last, val_if_false=last)
            ops.append(made)
            before, last = last, made.results[0]
        return [*ops, keep(last)]

    return module_of(body)


def chained(count: int) -> Module:
    """Return adjacent ifs with the same condition, which canonicalize merges into one."""

    def body(x: Value, c: Value, _: Value) -> list[Op]:
        return [
            If(condition=c, results_=(), thenRegion=Block([], [keep(x), Yield(operands_=())])) for _ in range(count)
        ]

    return module_of(body)


def nested(count: int) -> Module:
    """Return nested ifs, which canonicalize merges into one."""

    def body(x: Value, c: Value, d: Value) -> list[Op]:
        inner: list[Op] = [keep(x)]
        for number in range(count):
            inner = [If(condition=(c, d)[number % 2], results_=(), thenRegion=Block([], [*inner, Yield(operands_=())]))]
        return inner

    return module_of(body)


# ---------------------------------------------------------------- a mixed module

TENSOR = "tensor_view<?x64xf32, strides=[64,1]>"
VIEW = f"partition_view<tile=(8x8), padding_value = zero, {TENSOR}>"
HEAD = "entry @k(%ptr: tile<ptr<f32>>, %n: tile<i32>) {\n  %zero = constant <i32: 0> : tile<i32>\n"
UNIT = f"""
  %c@ = constant <i32: #> : tile<i32>
  %h@ = constant <f32: 0.5> : tile<8x8xf32>
  %m@ = muli %c@, %n : tile<i32>
  %less@ = cmpi less_than %m@, %n, signed : tile<i32> -> tile<i1>
  %tensor@ = make_tensor_view %ptr, shape = [%n, 64], strides = [64, 1] : tile<i32> -> {TENSOR}
  %view@ = make_partition_view %tensor@ : {VIEW}
  %tile@, %t@ = load_view_tko weak %view@[%c@, %zero] : {VIEW}, tile<i32> -> tile<8x8xf32>, token
  %sum@ = for %i in (%zero to %n, step %c@) : tile<i32> iter_values(%acc = %h@) -> (tile<8x8xf32>) {{
    %p = mulf %acc, %tile@ : tile<8x8xf32>
    %q = fma %p, %tile@, %acc : tile<8x8xf32>
    %e = exp %q : tile<8x8xf32>
    continue %e : tile<8x8xf32>
  }}
  %best@ = if %less@ -> (tile<8x8xf32>) {{
    %r = negf %sum@ : tile<8x8xf32>
    yield %r : tile<8x8xf32>
  }} else {{
    yield %sum@ : tile<8x8xf32>
  }}
  %half@ = ftof %best@ : tile<8x8xf32> -> tile<8x8xf16>
  %wide@ = ftof %half@ : tile<8x8xf16> -> tile<8x8xf32>
  %row@ = reshape %wide@ : tile<8x8xf32> -> tile<64xf32>
  %back@ = reshape %row@ : tile<64xf32> -> tile<8x8xf32>
  %s@ = store_view_tko weak %back@, %view@[%c@, %zero] token = %t@ : tile<8x8xf32>, {VIEW}, tile<i32> -> token
"""
PER_UNIT = 20


def mixed(count: int) -> Module:
    """Return about `count` operations: loops, branches, views, constants and debug information."""
    units = [UNIT.replace("@", str(n)).replace("#", str(n % 1000)) for n in range(max(1, count // PER_UNIT))]
    module = parse(HEAD + "".join(units) + "}")
    file = DIFile("kernel.py", "/src")
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file))
    # In real files about four operations share a location.
    for number, o in enumerate(walk(module.entries[0])):
        o.loc = DILoc(FileLineCol("kernel.py", 1 + number // 4, 1 + number // 4 % 80), scope)
    return module


# ---------------------------------------------------------------- integers

EXPRESSION = """
  %c@ = constant <i32: #> : tile<i32>
  %p@ = muli %c@, %n : tile<i32>
  %q@ = addi %p@, %x@ : tile<i32>
  %r@ = addi %q@, %zero : tile<i32>
  %lo@ = cmpi greater_than_or_equal %r@, %zero, signed : tile<i32> -> tile<i1>
  %hi@ = cmpi less_than %r@, %n, signed : tile<i32> -> tile<i1>
  %in@ = andi %lo@, %hi@ : tile<i1>
  %out@ = xori %in@, %true : tile<i1>
  %s@ = select %out@, %zero, %r@ : tile<i1>, tile<i32>
  %d@ = subi %s@, %p@ : tile<i32>
  %m@ = mini %d@, %n signed : tile<i32>
  %k@ = shli %m@, %two : tile<i32>
  %e@ = divi %k@, %c@ signed rounding<zero> : tile<i32>
  %w@ = exti %in@ unsigned : tile<i1> -> tile<i32>
  %y@ = maxi %e@, %w@ signed : tile<i32>
  print_tko "%d %d", %y@, %s@ : tile<i32>, tile<i32> -> token
"""
NUMBERS = """entry @k(%n: tile<i32>, %x0: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %true = constant <i1: true> : tile<i1>
"""


def expressions(count: int) -> Module:
    """Return about `count` operations on integers and masks, some of which `simplify` removes."""
    units = [
        EXPRESSION.replace("%x@", f"%y{n - 1}" if n % 4 else "%x0").replace("@", str(n)).replace("#", str(n % 1000 + 1))
        for n in range(max(1, count // 16))
    ]
    return parse(NUMBERS + "".join(units) + "}")


SPLIT = """
  for %i@ in (%zero to %n, step %one) : tile<i32> {
    %less@ = cmpi less_than %i@, %x, signed : tile<i32> -> tile<i1>
    %p@ = muli %i@, %n : tile<i32>
    if %less@ {
      %q@ = addi %p@, %i@ : tile<i32>
      print_tko "%d", %q@ : tile<i32> -> token
    }
  }
"""


def loops(count: int) -> Module:
    """Return about `count` operations in loops that `loop-split` splits."""
    head = "entry @k(%n: tile<i32>, %x: tile<i32>) {\n  %zero = constant <i32: 0> : tile<i32>\n"
    head += "  %one = constant <i32: 1> : tile<i32>\n"
    return parse(head + "".join(SPLIT.replace("@", str(n)) for n in range(max(1, count // 8))) + "}")
