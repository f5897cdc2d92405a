"""Parts that branches and loops share: the size of a block, the values that leave it, and ways to leave it early."""

from __future__ import annotations

from .. import ops
from ..ir import Value
from ..types import Ptr, Tile, Type
from .kernel import Draft, EnclosingLoop
from .values import among, get, tile_of
from .versions import Feature

DEEPEST = 4
"""How deeply blocks may be nested."""


def block_size(k: Draft) -> int:
    """Choose the size of a nested block: at most half of what is left."""
    return max(1, min(k.rng.choice((1, 2, 3, 5, 8)), (k.goal - k.count) // 2))


def values_of(k: Draft, types: tuple[Type, ...]) -> tuple[Value, ...]:
    """Find or make tiles of these types, to pass out of a block."""
    return tuple(get(k, t) for t in types if isinstance(t, Tile))


def handed_out(k: Draft, most: int, start: int = 0) -> tuple[Value, ...]:
    """Choose visible tiles from `start` on to pass out of a block, preferably unused ones.

    Pointers are rare among them, because nothing is known about them afterwards.
    """
    fine = [v for v in k.pool[start:] if not isinstance(tile_of(v).element, Ptr) or k.chance(0.1)]
    count = min(len(fine), k.rng.randrange(most + 1))
    return tuple(dict.fromkeys(among(k, fine) for _ in range(count)))


# ---------------------------------------------------------------- leaving early


def may_return(k: Draft) -> bool:
    """Whether the kernel may end at this point."""
    loops = {frame.op for frame in k.frames}
    return ops.For not in loops and (ops.Loop not in loops or k.can(Feature.RETURN_IN_LOOP))


def ways_to_leave(k: Draft, returning: bool) -> list[type[ops.Return | ops.Continue | ops.Break]]:
    """List the terminators that leave the loop or the kernel from here; with `returning` only the kernel."""
    ways: list[type[ops.Return | ops.Continue | ops.Break]] = [ops.Return] if may_return(k) else []
    if k.frames and not returning:
        frame = k.frames[-1]
        if frame.op is ops.For or frame.counter is not None:
            ways.append(ops.Continue)
        if frame.op is ops.Loop:
            ways.append(ops.Break)
    return ways


def leave(k: Draft, returning: bool) -> bool:
    """End the block by leaving the loop or the kernel, where that is possible."""
    ways = ways_to_leave(k, returning)
    if not ways:
        return False
    way = k.rng.choice(ways)
    if way is ops.Return:
        k.emit(ops.Return())
    elif way is ops.Continue:
        emit_continue(k, k.frames[-1])
    else:
        emit_break(k, k.frames[-1])
    return True


def emit_continue(k: Draft, frame: EnclosingLoop) -> None:
    """Emit `continue` with new values of what the loop carries."""
    counter = () if frame.counter is None else (frame.counter,)
    k.emit(ops.Continue(operands_=counter + values_of(k, frame.carried) + k.carried_token(frame.token)))


def emit_break(k: Draft, frame: EnclosingLoop) -> None:
    """Emit `break` with the results of the loop."""
    k.emit(ops.Break(operands_=values_of(k, frame.results) + k.carried_token(frame.token)))
