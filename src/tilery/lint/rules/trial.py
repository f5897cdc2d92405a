"""Rules that only trial launches find, see `trial`."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import Facts
from ..rule import ERROR, NOTE, WARNING, Match, RuleFile

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


@rule("makes-nan", WARNING)
def makes_nan(facts: Facts) -> Iterator[Match]:
    """An operation makes NaN from numbers whatever the arguments are, and the kernel stores NaN.

    The kernel was launched on made-up arguments without NaN, and a tile block made one and stored one in every launch
    that did as much. A row of which a mask leaves nothing is a common cause: its maximum is minus infinity, and minus
    infinity minus itself is NaN. So is a sum of no elements that is divided by their number.

    Fix: Keep the operand from the value for which there is no result, or select another result there.

    Bad:
        entry @k(%p: tile<ptr<f32>>) {
          %least = constant <f32: 0xFF800000> : tile<f32>
          %d = subf %least, %least : tile<f32>
          %e = exp %d : tile<f32>
          %t = store_ptr_tko weak %p, %e : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    Good:
        entry @k(%p: tile<ptr<f32>>) {
          %least = constant <f32: 0xFF800000> : tile<f32>
          %zero = constant <f32: 0.0> : tile<f32>
          %none = cmpf equal ordered %least, %least : tile<f32> -> tile<i1>
          %d = subf %least, %least : tile<f32>
          %e = exp %d : tile<f32>
          %f = select %none, %zero, %e : tile<i1>, tile<f32>
          %t = store_ptr_tko weak %p, %f : tile<ptr<f32>>, tile<f32> -> token
          return
        }
    """
    yield from ()


@rule("unreached-store", NOTE)
def unreached_store(facts: Facts) -> Iterator[Match]:
    """No tile block stores in the branch for the last one.

    Tile blocks count themselves with an atomic operation, and the one that finds a certain count is to store. In trial
    launches with several numbers of tile blocks, none ever found it if memory started as zeros. The result of
    `atomic_rmw_tko` is the value from before: the last of n tile blocks that each add 1 sees n - 1.

    Fix: Compare with the count that the last tile block sees.

    Bad:
        entry @k(%p: tile<ptr<i32>>, %count: tile<ptr<i32>>) {
          %n, %y, %z = get_num_tile_blocks : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %old, %t = atomic_rmw_tko acq_rel device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          %last = cmpi equal %old, %n, signed : tile<i32> -> tile<i1>
          if %last {
            %u = store_ptr_tko weak %p, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
          }
          return
        }
    Good:
        entry @k(%p: tile<ptr<i32>>, %count: tile<ptr<i32>>) {
          %n, %y, %z = get_num_tile_blocks : tile<i32>
          %one = constant <i32: 1> : tile<i32>
          %old, %t = atomic_rmw_tko acq_rel device %count, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
          %end = subi %n, %one : tile<i32>
          %last = cmpi equal %old, %end, signed : tile<i32> -> tile<i1>
          if %last {
            %u = store_ptr_tko weak %p, %one token=%t : tile<ptr<i32>>, tile<i32> -> token
          }
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
