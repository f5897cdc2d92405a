"""Control flow."""

from __future__ import annotations

from ..checking import TYPE_CHECKING
from ..declare.constraints import AnyType, BoolTile, DialectType, ScalarBool, ScalarInt
from ..declare.fields import AttrKind, attr, flag, operand, optional_region, outs, region, variadic
from ..declare.operation import Op, op
from ..declare.relations import (
    ALLOCATION_SCOPE,
    NO_REGION_ARGS,
    PURE,
    REGION_EFFECTS,
    RETURN_LIKE,
    TERMINATOR,
    Objection,
    same_type,
)
from ..ir import Block, Value
from ..types import Function, Type, quoted, quoted_list
from ..version import V13_2
from .checks import Answer, leaves, loop_values, no_views

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP = "Control Flow"
LEAVING = "attr-dict ($operands^ `:` type($operands))?"


def _yields(block: Block, results: list[Type], name: str) -> Answer:
    """Check that a branch that ends with `yield` yields the results."""
    last = block.ops[-1] if block.ops else None
    if not isinstance(last, Yield):
        return None
    found = [v.type for v in last.operands_]
    if results and not found:
        return f"has return type of {quoted_list(results)} but {name} branch does not yield anything"
    if found and not results:
        return f"does not return a value, but {name} branch yields {quoted_list(found)}"
    if found != results:
        return (
            f"type does not match yield type, {name} branch yields {quoted_list(found)} "
            f"but op result type is {quoted_list(results)}"
        )
    return None


@op("assert", 0x05, group=GROUP, format="$condition `,` $message attr-dict `:` type($condition)",
    example='assert %c, "must hold" : tile<i1>')
class Assert(Op):
    """Report an error to the host if a condition does not hold."""

    condition: Value = operand(BoolTile, "The condition, which must be true for every element.")
    message: str = attr(AttrKind.STR, "The message to print if it does not hold.")


@op("break", 0x0A, group=GROUP, traits=[TERMINATOR, RETURN_LIKE], parents=["if", "loop"], format=LEAVING,
    example="""
        loop {
          break
        }""")
class Break(Op):
    """Leave the innermost `loop`; the operands are its results."""

    operands_: tuple[Value, ...] = variadic(DialectType, "The results of the loop.")

    def check_nested(self, ancestors: Sequence[Op]) -> Answer:
        loop, problem = leaves(self, ancestors, ("loop",))
        if not isinstance(loop, Loop):
            return problem
        found, wanted = [v.type for v in self.operands_], [v.type for v in loop.resultValues]
        if found != wanted:
            vs = f"({quoted_list(found)}) vs ({quoted_list(wanted)})"
            return f"operand types must correspond to the parent loop result types: {vs}"
        return None


@op("continue", 0x11, group=GROUP, traits=[TERMINATOR], parents=["for", "if", "loop"], format=LEAVING,
    example="""
        %0 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
          continue %acc : tile<i32>
        }""")
class Continue(Op):
    """Continue with the next iteration of the innermost loop; the operands are the carried values."""

    operands_: tuple[Value, ...] = variadic(DialectType, "The carried values of the next iteration.")

    def check_nested(self, ancestors: Sequence[Op]) -> Answer:
        loop, problem = leaves(self, ancestors, ("for", "loop"))
        found = [v.type for v in self.operands_]
        if isinstance(loop, Loop):
            kind, what, wanted = "loop", "iter_values", [v.type for v in loop.initValues]
        elif isinstance(loop, For):
            kind, what, wanted = "for", "return types", [v.type for v in loop.resultValues]
        else:
            return problem
        if found == wanted:
            return None
        return Objection(
            f"`{kind}` is missing a valid terminator. `continue` op should have operand types that match the parent "
            f"loop {what}: ({quoted_list(wanted)}), but found: ({quoted_list(found)})",
            bare=True,
        )


@op("for", 0x29, group=GROUP, traits=[REGION_EFFECTS, ALLOCATION_SCOPE],
    rules=[same_type("lowerBound", "upperBound", "step"), same_type("initValues", "resultValues")],
    implicit="continue", hint="for", format="custom",
    syntax="(`unsigned` $unsignedCmp^)? %counter `in` `(` $lowerBound `to` $upperBound `,` `step` $step `)` "
           "`:` type($lowerBound) (`iter_values` `(` %value `=` $initValues^ `,` ... `)` `->` `(` type($resultValues) "
           "`)`)? blocks($region) attr-dict",
    example="""
        %0 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
          %s = addi %acc, %i : tile<i32>
          continue %s : tile<i32>
        }""")
class For(Op):
    """A loop over a range of integers, with values carried from one iteration to the next."""

    lowerBound: Value = operand(ScalarInt, "The first value of the counter.")
    upperBound: Value = operand(ScalarInt, "The limit of the counter, exclusive.")
    step: Value = operand(ScalarInt, "The increment of the counter; positive.")
    initValues: tuple[Value, ...] = variadic(AnyType, "The carried values of the first iteration.")
    unsignedCmp: bool = flag("The counter is unsigned.", since=V13_2)
    resultValues: tuple[Value, ...] = outs(
        AnyType, "What the last iteration left.", infer=lambda o: [v.type for v in o.initValues]
    )
    region: Block = region("The body; its arguments are the counter and the carried values.")

    def check_regions(self) -> Answer:
        args = [v.type for v in self.region.args]
        if not args:
            return "expected at least one block argument for induction variable"
        if args[0] is not self.lowerBound.type:
            vs = f"{quoted(args[0])} vs {quoted(self.lowerBound.type)}"
            return f"expected induction variable to be same type as bounds and step: {vs}"
        return loop_values(self, args[1:])


@op("if", 0x32, group=GROUP, traits=[REGION_EFFECTS, NO_REGION_ARGS], implicit="yield",
    format="$condition (`->` `(` type($results)^ `)`)? blocks($thenRegion) (`else` blocks($elseRegion)^)? attr-dict",
    example="""
        %0 = if %c -> (tile<i32>) {
          yield %n : tile<i32>
        } else {
          yield %n : tile<i32>
        }""")
class If(Op):
    """Execute one of two regions."""

    condition: Value = operand(ScalarBool, "The condition.")
    results_: tuple[Value, ...] = outs(AnyType, "The values that the executed region yields.")
    thenRegion: Block = region("Executed if the condition is true.")
    elseRegion: Block | None = optional_region("Executed if the condition is false.")

    def check(self) -> Answer:
        results = [v.type for v in self.results_]
        if (why := no_views("result type", results)) is not None:
            return why
        if (why := _yields(self.thenRegion, results, "then")) is not None:
            return why
        if self.elseRegion is None:
            return "has non-empty return type, must define else branch" if results else None
        return _yields(self.elseRegion, results, "else")


@op("loop", 0x41, group=GROUP, traits=[REGION_EFFECTS, ALLOCATION_SCOPE], implicit="continue", format="custom",
    syntax="(`iter_values` `(` %value `=` $initValues^ `,` ... `)` `:` type($initValues) (`->` type($resultValues))? | "
           "`:` type($resultValues))? blocks($region) attr-dict",
    example="""
        %0 = loop iter_values(%i = %n) : tile<i32> -> tile<i32> {
          break %i : tile<i32>
        }""")
class Loop(Op):
    """Repeat until `break`, with values carried from one iteration to the next."""

    initValues: tuple[Value, ...] = variadic(AnyType, "The carried values of the first iteration.")
    resultValues: tuple[Value, ...] = outs(AnyType, "The operands of the `break` that ended the loop.")
    region: Block = region("The body; its arguments are the carried values.")

    def check_regions(self) -> Answer:
        return loop_values(self, [v.type for v in self.region.args])


def returned(o: Return, ancestors: Sequence[Op], through: tuple[str, ...], allowed: str) -> Answer:
    """Check that a function is around a `return`, with nothing but `through` in between, and that the types agree."""
    function = next((a for a in reversed(ancestors) if a.name not in through), None)
    found = [v.type for v in o.operands_]
    if not isinstance(signature := getattr(function, "function_type", None), Function):
        return f"must be used within a {allowed} operation"
    name = getattr(function, "sym_name", "")
    if len(found) != len(signature.results):
        return f"has {len(found)} operands, but enclosing function (@{name}) returns {len(signature.results)}"
    for index, (given, wanted) in enumerate(zip(found, signature.results)):
        if given is not wanted:
            return Objection(
                f"type of return operand {index} ({quoted(given)}) doesn't match function result type "
                f"({quoted(wanted)}) in function @{name}",
                bare=True,
            )
    return None


@op("return", 0x5C, group=GROUP, traits=[TERMINATOR, RETURN_LIKE], parents=["entry", "if", "loop"], format=LEAVING,
    example="""
        entry @k() {
          return
        }""")
class Return(Op):
    """End the kernel."""

    operands_: tuple[Value, ...] = variadic(AnyType, "The returned values; an entry returns none.")

    def check_nested(self, ancestors: Sequence[Op]) -> Answer:
        return returned(self, ancestors, ("if", "loop"), "cuda_tile.entry, cuda_tile.if, or cuda_tile.loop")


@op("yield", 0x6D, group=GROUP, traits=[PURE, TERMINATOR, RETURN_LIKE], parents=["if", "reduce", "scan"],
    format=LEAVING,
    example="""
        %0 = if %c -> (tile<i32>) {
          yield %n : tile<i32>
        } else {
          yield %n : tile<i32>
        }""")
class Yield(Op):
    """End a region and return its results."""

    operands_: tuple[Value, ...] = variadic(DialectType, "The results.")
