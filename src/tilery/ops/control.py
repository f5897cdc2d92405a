"""Control flow."""

from __future__ import annotations

from ..decl import (
    ALLOCATION_SCOPE,
    PURE,
    REGION_EFFECTS,
    RETURN_LIKE,
    TERMINATOR,
    AnyType,
    AttrKind,
    BoolTile,
    DialectType,
    ScalarBool,
    ScalarInt,
    attr,
    flag,
    op,
    operand,
    optional_region,
    outs,
    region,
    same_type,
    variadic,
)
from ..ir import Block, Op, Value
from ..version import V13_2

GROUP = "Control Flow"
LEAVING = "attr-dict ($operands^ `:` type($operands))?"


@op("assert", 0x05, group=GROUP, format="$condition `,` $message attr-dict `:` type($condition)",
    example='assert %c, "must hold" : tile<i1>')  # fmt: skip
class Assert(Op):
    """Report an error to the host where a condition does not hold."""

    condition: Value = operand(BoolTile, "What must hold for every element.")
    message: str = attr(AttrKind.STR, "What to print where it does not.")


@op("break", 0x0A, group=GROUP, traits=[TERMINATOR, RETURN_LIKE], parents=["if", "loop"], format=LEAVING,
    example="""
        loop {
          break
        }""")  # fmt: skip
class Break(Op):
    """Leave the innermost `loop`; the operands are its results."""

    operands_: tuple[Value, ...] = variadic(DialectType, "The results of the loop.")


@op("continue", 0x11, group=GROUP, traits=[TERMINATOR], parents=["for", "if", "loop"], format=LEAVING,
    example="""
        %0 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
          continue %acc : tile<i32>
        }""")  # fmt: skip
class Continue(Op):
    """Go on with the next iteration of the innermost loop; the operands are what it carries."""

    operands_: tuple[Value, ...] = variadic(DialectType, "What the next iteration starts with.")


@op("for", 0x29, group=GROUP, traits=[REGION_EFFECTS, ALLOCATION_SCOPE],
    rules=[same_type("lowerBound", "upperBound", "step"), same_type("initValues", "resultValues")],
    implicit="continue", hint="for", format="custom",
    example="""
        %0 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
          %s = addi %acc, %i : tile<i32>
          continue %s : tile<i32>
        }""")  # fmt: skip
class For(Op):
    """A loop over a range of integers, with values carried from one iteration to the next."""

    lowerBound: Value = operand(ScalarInt, "The first value of the counter.")
    upperBound: Value = operand(ScalarInt, "Where the counter ends; not reached.")
    step: Value = operand(ScalarInt, "By how much the counter grows; positive.")
    initValues: tuple[Value, ...] = variadic(AnyType, "What the first iteration starts with.")
    unsignedCmp: bool = flag("The counter is unsigned.", since=V13_2)
    resultValues: tuple[Value, ...] = outs(
        AnyType, "What the last iteration left.", infer=lambda o: [v.type for v in o.initValues]
    )
    region: Block = region("The body; its arguments are the counter and the carried values.")


@op("if", 0x32, group=GROUP, traits=[REGION_EFFECTS], implicit="yield",
    format="$condition (`->` `(` type($results)^ `)`)? blocks($thenRegion) (`else` blocks($elseRegion)^)? attr-dict",
    example="""
        %0 = if %c -> (tile<i32>) {
          yield %n : tile<i32>
        } else {
          yield %n : tile<i32>
        }""")  # fmt: skip
class If(Op):
    """Execute one of two regions."""

    condition: Value = operand(ScalarBool, "Whether to execute the first.")
    results_: tuple[Value, ...] = outs(AnyType, "What the executed region yields.")
    thenRegion: Block = region("Executed when the condition is true.")
    elseRegion: Block | None = optional_region("Executed when it is false.")


@op("loop", 0x41, group=GROUP, traits=[REGION_EFFECTS, ALLOCATION_SCOPE], implicit="continue", format="custom",
    example="""
        %0 = loop iter_values(%i = %n) : tile<i32> -> tile<i32> {
          break %i : tile<i32>
        }""")  # fmt: skip
class Loop(Op):
    """Repeat until `break`, with values carried from one iteration to the next."""

    initValues: tuple[Value, ...] = variadic(AnyType, "What the first iteration starts with.")
    resultValues: tuple[Value, ...] = outs(AnyType, "The operands of the `break` that ended it.")
    region: Block = region("The body; its arguments are the carried values.")


@op("return", 0x5C, group=GROUP, traits=[TERMINATOR, RETURN_LIKE], parents=["entry", "if"], format=LEAVING,
    example="""
        entry @k() {
          return
        }""")  # fmt: skip
class Return(Op):
    """End the kernel."""

    operands_: tuple[Value, ...] = variadic(AnyType, "What is returned; an entry returns nothing.")


@op("yield", 0x6D, group=GROUP, traits=[PURE, TERMINATOR, RETURN_LIKE], parents=["if", "reduce", "scan"],
    format=LEAVING,
    example="""
        %0 = if %c -> (tile<i32>) {
          yield %n : tile<i32>
        } else {
          yield %n : tile<i32>
        }""")  # fmt: skip
class Yield(Op):
    """Give the results of the region it ends."""

    operands_: tuple[Value, ...] = variadic(DialectType, "The results.")
