"""Control flow and masks that do nothing, or never end."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.intervals import element, read
from ...attrs import Signedness
from ...ir import Op
from ...ops import Break, For, If, Loop, Return
from ..facts import Facts
from ..rule import ERROR, WARNING, Match, RuleFile

rule = RuleFile()


@rule("loop-never-runs", WARNING)
def loop_never_runs(facts: Facts) -> Iterator[Match]:
    """The bounds of a loop leave no iteration.

    The lower bound is never below the upper one.

    Fix: Correct the bounds; often they are swapped, or one is read with the wrong signedness.

    Bad:
        entry @k(%x: tile<i32>) {
          %ten = constant <i32: 10> : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %zero = constant <i32: 0> : tile<i32>
          for %i in (%ten to %zero, step %one) : tile<i32> {
            print_tko "%d\\n", %i : tile<i32> -> token
          }
          return
        }
    Good:
        entry @k(%x: tile<i32>) {
          %ten = constant <i32: 10> : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %zero = constant <i32: 0> : tile<i32>
          for %i in (%zero to %ten, step %one) : tile<i32> {
            print_tko "%d\\n", %i : tile<i32> -> token
          }
          return
        }
    """
    for o in facts.of(For):
        sign = Signedness.UNSIGNED if o.unsignedCmp else Signedness.SIGNED
        low, high = (read(facts.range(value), element(value), sign) for value in (o.lowerBound, o.upperBound))
        if low.lo >= high.hi:
            yield Match(o, f"for: the counter starts at {low.lo} or more, and must be below {high.hi}")
        elif facts.forms.key(o.lowerBound) == facts.forms.key(o.upperBound):
            yield Match(o, "for: the counter starts at its upper bound")


@rule("loop-step", ERROR)
def loop_step(facts: Facts) -> Iterator[Match]:
    """The step of a loop is zero or negative.

    The step must be positive; a loop that counts downwards does not exist. The behaviour is undefined.

    Fix: Count upwards and compute the falling number in the body.

    Bad:
        entry @k(%n: tile<i32>) {
          %zero = constant <i32: 0> : tile<i32>
          for %i in (%zero to %n, step %zero) : tile<i32> {
            print_tko "%d\\n", %i : tile<i32> -> token
          }
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %zero = constant <i32: 0> : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          for %i in (%zero to %n, step %one) : tile<i32> {
            print_tko "%d\\n", %i : tile<i32> -> token
          }
          return
        }
    """
    for o in facts.of(For):
        step = facts.range(o.step)
        if step.hi <= 0 and (step.lo == 0 or not o.unsignedCmp):
            yield Match(o, f"for: the step is {step.hi}, and must be positive")


@rule("endless-loop", WARNING)
def endless_loop(facts: Facts) -> Iterator[Match]:
    """A loop has no way out, or only one that it takes at once or never.

    `loop` repeats until `break`, and there is none in it, nor a `return`. Or none of the conditions on which it ends
    can change while it runs: if they are false at first, they stay so.

    Fix: Add the condition on which it ends, or compute it in the loop, from a load that is repeated for example.

    Bad:
        entry @k(%n: tile<i32>) {
          loop {
            print_tko "%d\\n", %n : tile<i32> -> token
            continue
          }
          return
        }
    Good:
        entry @k(%flag: tile<ptr<i32>>, %zero: tile<i32>) {
          loop {
            %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
            %done = cmpi not_equal %f, %zero, signed : tile<i32> -> tile<i1>
            if %done {
              break
            }
            continue
          }
          return
        }
    """
    exits: dict[Loop, list[Op]] = {loop: [] for loop in facts.of(Loop)}
    for o in facts.of(Break, Return):
        each = facts.loop(o)
        while each is not None:
            if isinstance(each, Loop):
                exits[each].append(o)
                if isinstance(o, Break):
                    break
            each = facts.loop(each)
    for loop, found in exits.items():
        if not found:
            yield Match(loop, "loop: it never ends, as there is no 'break' in it")
        elif all(_is_decided_before(o, loop, facts) for o in found):
            message = "loop: the condition on which it ends does not change while it runs"
            yield Match(loop, message, related=((found[0], "it would end here"),))


def _is_decided_before(end: Op, loop: Loop, facts: Facts) -> bool:
    """Whether an exit of a loop is taken in the first iteration or never."""
    conditions = []
    for outer in facts.around(end):
        if outer is loop:
            break
        if not isinstance(outer, If):
            return False
        conditions.append(outer.condition)
    return bool(conditions) and not any(facts.varies(value, loop) for value in conditions)


@rule("empty-mask", WARNING)
def empty_mask(facts: Facts) -> Iterator[Match]:
    """The mask of an access is false for every element.

    The access does nothing, and a load returns padding or undefined elements only.

    Fix: Correct the mask, or remove the access.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
          %never = constant <i1: false> : tile<i1>
          %t = store_ptr_tko weak %p, %x, %never : tile<ptr<f32>>, tile<f32>, tile<i1> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %c: tile<i1>) {
          %t = store_ptr_tko weak %p, %x, %c : tile<ptr<f32>>, tile<f32>, tile<i1> -> token
          return
        }
    """
    for place in facts.places:
        known = facts.elements(place.mask) if place.mask is not None else None
        if known is not None and not known.any():
            yield Match(place.op, f"{place.op.name}: the mask is false for every element")
