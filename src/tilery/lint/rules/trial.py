"""Rules that only trial launches find, see `trial`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import Facts
from ..rule import ERROR, WARNING, Match, RuleFile

rule = RuleFile()


@rule("race", WARNING)
def race(facts: Facts) -> Iterator[Match]:
    """Two accesses to the same bytes race whatever the arguments are.

    The kernel was launched on made-up arguments, and two accesses, at least one of which writes, were ordered neither
    by tokens nor by release and acquire, in every launch that did as much as one in which they raced. Other rules
    report races that the text shows, and say more about the cause.

    Fix: Do what the notes say: pass the token of one access to the other, give each tile block its own elements, let a
    flag acquire or release, or use an atomic operation.

    Bad:
        entry @k(%p: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %i = iota : tile<8xi32>
          %two = constant <i32: 2> : tile<8xi32>
          %half = divi %i, %two signed : tile<8xi32>
          %x1 = reshape %x : tile<i32> -> tile<1xi32>
          %x8 = broadcast %x1 : tile<1xi32> -> tile<8xi32>
          %at = xori %half, %x8 : tile<8xi32>
          %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
          %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
          %a = offset %p8, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
          %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %i = iota : tile<8xi32>
          %eight = constant <i32: 8> : tile<8xi32>
          %x1 = reshape %x : tile<i32> -> tile<1xi32>
          %x8 = broadcast %x1 : tile<1xi32> -> tile<8xi32>
          %first = muli %x8, %eight : tile<8xi32>
          %at = addi %first, %i : tile<8xi32>
          %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
          %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
          %a = offset %p8, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
          %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token
          return
        }
    """
    yield from ()


@rule("undefined", ERROR)
def undefined(facts: Facts) -> Iterator[Match]:
    """An operation has no defined result for its operands, whatever the arguments are.

    The kernel was launched on made-up arguments, and an operand was outside of the domain of the operation in every
    launch that executed it as often. Division, shifts, parts of tiles, conversions and steps of loops have rules of
    their own.

    Fix: Compute another operand, or do not execute the operation where it has no result.

    Bad:
        entry @k(%p: tile<ptr<i64>>) {
          %far = constant <i64: 4611686018427387904> : tile<i64>
          %a = offset %p, %far : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
          %n = ptr_to_int %a : tile<ptr<i64>> -> tile<i64>
          %t = store_ptr_tko weak %p, %n : tile<ptr<i64>>, tile<i64> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<i64>>) {
          %near = constant <i64: 4> : tile<i64>
          %a = offset %p, %near : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
          %n = ptr_to_int %a : tile<ptr<i64>> -> tile<i64>
          %t = store_ptr_tko weak %p, %n : tile<ptr<i64>>, tile<i64> -> token
          return
        }
    """
    yield from ()


@rule("deadlock", ERROR)
def deadlock(facts: Facts) -> Iterator[Match]:
    """Tile blocks wait for ever, whatever the arguments are.

    The kernel was launched on made-up arguments. In each launch in which some tile blocks got past the loop, others
    waited in it for memory that no tile block would change. Or all of them waited in one schedule, and none in another,
    as with two locks that are taken in opposite orders. Where all wait in every schedule, it may be for another kernel
    or for a number that the host stores: this is a note, if they do in all launches in whose memory all integers are 0.

    Fix: Release the lock on every way out, take several locks in the same order everywhere, or let each tile block do
    what the others wait for.

    Bad:
        entry @k(%turn: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          loop {
            %now, %t = load_ptr_tko acquire device %turn : tile<ptr<i32>> -> tile<i32>, token
            %mine = cmpi equal %now, %x, signed : tile<i32> -> tile<i1>
            if %mine {
              break
            }
            continue
          }
          return
        }
    Good:
        entry @k(%turn: tile<ptr<i32>>) {
          %x, %y, %z = get_tile_block_id : tile<i32>
          %got = loop : token {
            %now, %t = load_ptr_tko acquire device %turn : tile<ptr<i32>> -> tile<i32>, token
            %mine = cmpi equal %now, %x, signed : tile<i32> -> tile<i1>
            if %mine {
              break %t : token
            }
            continue
          }
          %one = constant <i32: 1> : tile<i32>
          %next = addi %x, %one : tile<i32>
          %u = store_ptr_tko release device %turn, %next token=%got : tile<ptr<i32>>, tile<i32> -> token
          return
        }
    """
    yield from ()
