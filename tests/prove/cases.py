"""Small kernels over a row of numbers, for the tests of `tilery.prove`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilery
from tilery import Builder
from tilery.builder import f32, ptr
from tilery.prove import Program, Verdict, reals

R, C = 3, 32
Body = Callable[[Builder, Any], Any]


def module(body: Body) -> tilery.Module:
    """A kernel that stores a function of each row of 32 numbers."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        row, _, _ = b.block_id()
        x = b.load(b.view(p.x, (R, C), tile=(1, C)), (row, 0))
        b.store(b.view(p.y, (R, C), tile=(1, C)), (row, 0), b.broadcast(body(b, x), 1, C))
    return b.module


def program(body: Body) -> Program:
    return Program.of(module(body), R, ["x", "y"])


def compared(a: Body, b: Body, **options: Any) -> Verdict:
    return reals(program(a), program(b), {"x": (R, C)}, {"y": (R, C)}, **{"probe": False, **options})
