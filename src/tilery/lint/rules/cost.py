"""Work and arguments that the result does not need."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.effects import is_effect_free
from ...analysis.memory.places import is_pointer
from ...ops import Constant, For, JoinTokens, LoadPtrTko, LoadViewTko, MakeToken
from ...types import Ptr, Tile
from ..facts import Facts
from ..rule import NOTE, Fix, Match, RemoveOp, RuleFile

rule = RuleFile()


@rule("unused-argument", NOTE)
def unused_argument(facts: Facts) -> Iterator[Match]:
    """A kernel does not use one of its arguments.

    Fix: Remove the argument, or use it. If the host passes a fixed list of arguments, suppress the finding.

    Bad:
        entry @k(%n: tile<i32>, %m: tile<i32>) {
          print_tko "%d\\n", %n : tile<i32> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          print_tko "%d\\n", %n : tile<i32> -> token
          return
        }
    """
    for number, value in enumerate(facts.entry.body.args):
        # A front end passes the sizes and strides of an array with it, needed or not.
        if value not in facts.uses and (facts.entry.loc is None or is_pointer(value)):
            yield Match(
                facts.entry, f"entry: argument {number} of @{facts.entry.sym_name}, {value.type.text}, is not used"
            )


@rule("unused-value", NOTE)
def unused_value(facts: Facts) -> Iterator[Match]:
    """Nothing uses the result of an operation that has no other effect.

    Fix: Remove the operation, or use its result; a result that is computed and forgotten is often a mistake in a
    name.

    Bad:
        entry @k(%n: tile<i32>) {
          %m = muli %n, %n : tile<i32>
          print_tko "%d\\n", %n : tile<i32> -> token
          return
        }
    Good:
        entry @k(%n: tile<i32>) {
          %m = muli %n, %n : tile<i32>
          print_tko "%d\\n", %m : tile<i32> -> token
          return
        }
    """
    for o in facts.ops:
        # What a front end computes in vain is its own affair, and so are tokens.
        if not o.results or o.nested or o.loc is not None or not is_effect_free(o) or isinstance(o, UNINTERESTING):
            continue
        if not any(value in facts.uses for value in o.results):
            yield Match(o, f"{o.name}: the result is not used", fix=Fix("Remove the operation", RemoveOp()))


@rule("loop-invariant-load", NOTE)
def loop_invariant_load(facts: Facts) -> Iterator[Match]:
    """A load in a loop reads the same memory in every iteration.

    The address does not depend on the loop, and nothing in the loop writes memory. Tokens keep the compiler from
    moving the load by itself.

    Fix: Move the load before the loop.

    Bad:
        entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %zero: tile<i32>, %one: tile<i32>) {
          for %i in (%zero to %n, step %one) : tile<i32> {
            %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
            print_tko "%f\\n", %v : tile<f32> -> token
          }
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %zero: tile<i32>, %one: tile<i32>) {
          %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
          for %i in (%zero to %n, step %one) : tile<i32> {
            print_tko "%f\\n", %v : tile<f32> -> token
          }
          return
        }
    """
    for load in facts.of(LoadPtrTko, LoadViewTko):
        place, loop = facts.place[load], facts.loop(load)
        if not isinstance(loop, For) or loop in facts.writing or not place.is_weak or load.results[0] not in facts.uses:
            continue
        if not any(
            facts.varies(value, loop) for value in (place.pointer, place.mask, *getattr(load, "index", ())) if value
        ):
            yield Match(
                load, f"{load.name}: it reads the same memory in every iteration", related=((loop, "of this loop"),)
            )


@rule("large-tile", NOTE)
def large_tile(facts: Facts) -> Iterator[Match]:
    """A tile is larger than all registers of a multiprocessor.

    A multiprocessor has 256 KiB of registers, and they hold the tiles that a tile block computes with. A larger
    tile is kept in memory, which is slow, or does not compile.

    Fix: Use smaller tiles and a loop.

    Bad:
        entry @k(%p: tile<ptr<f32>>) {
          %x = constant <f32: 1.0> : tile<512x512xf32>
          %y = addf %x, %x : tile<512x512xf32>
          print_tko "%f\\n", %y : tile<512x512xf32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>) {
          %x = constant <f32: 1.0> : tile<128x128xf32>
          %y = addf %x, %x : tile<128x128xf32>
          print_tko "%f\\n", %y : tile<128x128xf32> -> token
          return
        }
    """
    for o in facts.ops:
        for value in o.results:
            t = value.type
            if isinstance(t, Tile) and not isinstance(o, Constant):
                size = t.size * (64 if isinstance(t.element, Ptr) else t.element.bits) // 8
                if size > REGISTERS:
                    yield Match(
                        o, f"{o.name}: {t.text} takes {size >> 10} KiB, and a multiprocessor has 256 KiB of registers"
                    )
                    break


REGISTERS = 256 << 10
UNINTERESTING = (Constant, MakeToken, JoinTokens)
