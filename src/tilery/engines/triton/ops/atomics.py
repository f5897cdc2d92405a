"""Atomic operations."""

from __future__ import annotations

from ....enums import AtomicRMWMode as Mode
from ....ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko
from ....types import TileView
from ..access import SCOPES, atomic
from ..emit import INTEGERS, Val, names, types
from ..registry import lowers
from ..state import Lowering, Tok
from ..views import ViewRef, locate

MODES = {Mode.ADDF: "fadd", Mode.XCHG: "exch"}
"""The modes that Triton names differently."""


def mode_name(mode: Mode) -> str:
    return MODES.get(mode, mode.text)


@lowers(AtomicRMWTko)
def atomic_rmw_tko(
    low: Lowering, o: AtomicRMWTko, pointers: Val, arg: Val, mask: Val | None, token: Tok | None
) -> tuple[Val, Tok]:
    """Masked elements are 0."""
    made = low.order(token, write=True)
    old = atomic(low, mode_name(o.mode), o.memory_ordering_semantics.text, o.memory_scope, pointers, arg, mask)
    return (old if mask is None else low.select(mask, old, low.like(0, old))), made


@lowers(AtomicCASTko)
def atomic_cas_tko(
    low: Lowering, o: AtomicCASTko, pointers: Val, expected: Val, value: Val, mask: Val | None, token: Tok | None
) -> tuple[Val, Tok]:
    """Floats are compared by their bits. Triton has no mask here: masked elements go to a word that is never read."""
    made = low.order(token, write=True)
    element = value.element
    if element not in INTEGERS:
        word = f"i{value.bits}"
        pointers = low.bitcast(pointers, f"!tt.ptr<{word}>")
        expected, value = low.bitcast(expected, word), low.bitcast(value, word)
    target = pointers
    if mask is not None:
        unread = low.splat(low.bitcast(low.word(), pointers.element), pointers.shape)
        target = low.select(mask, pointers, unread)
    args = [target, expected, value]
    order = f"{o.memory_ordering_semantics.text}, {SCOPES[o.memory_scope]}"
    text = f"tt.atomic_cas {order}, {names(args)} : ({types(args)}) -> {value.type}"
    old = low.make(text, value.shape, value.element)
    if mask is not None:
        old = low.select(mask, old, expected)
    return low.bitcast(old, element), made


@lowers(AtomicRedViewTko)
def atomic_red_view_tko(
    low: Lowering, o: AtomicRedViewTko, view: ViewRef, index: tuple[Val, ...], value: Val, token: Tok | None
) -> Tok:
    made = low.order(token, write=True)
    type = o.view.type
    assert isinstance(type, TileView)
    place = locate(low, type, view, index, (False,) * len(index))
    flat = low.reshape(value, place.pointers.shape)
    atomic(low, mode_name(o.mode), "relaxed", o.memory_scope, place.pointers, flat, place.mask)
    return made
