"""Functions that are not exact, rounding modes, and products with scales."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .case import Case, Value
from .elements import Array, encode
from .products import operand, saved
from .sketch import Sketch
from .views import changed, tile_shape

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt,
}  # fmt: skip
"""The functions, and what they are computed by to bound their errors."""
ULP = {"f32": 2.0**-23, "f64": 2.0**-52, "f16": 2.0**-10}


def functions(rng: random.Random) -> Case:
    """A function whose result has several uses, in straight code, branches and loops."""
    k = Sketch(rng)
    element = rng.choice(("f32", "f32", "f64", "f16"))
    name = rng.choice(list(FUNCTIONS))
    shape = tile_shape(rng, 256)
    numbers = k.numpy.uniform(0.25, 3, prod(shape)).astype(np.float16)
    p = k.pointer(element, encode(element, numbers.astype(np.float64)))
    result = FUNCTIONS[name](numbers.astype(np.float64))
    bound = np.abs(result) * ULP[element] * 4
    x = k.load(k.dense(p, shape))

    def keep(v: Value, bits: Array) -> None:
        q = k.save(v)
        k.bounds[q.region] = (element, bits)

    y = k.unary(name, x)
    zero, one = k.const("i32", 0), k.const("i32", 1)
    flag = k.compare("less_than", k.number("i32", rng.randrange(2)), one)
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(5):
            case 0:
                keep(y, bound)
            case 1:
                keep(k.branch(flag, lambda: [k.unary(name, x)], lambda: [y], [y])[0], bound)
            case 2:
                each = lambda _, values: [k.unary(name, x)]  # noqa: E731
                keep(k.for_loop((zero, k.const("i32", rng.choice((1, 2))), one), [x], each)[0], bound)
            case 3:
                dim = rng.randrange(len(shape))
                keep(k.cat(y, y, dim), np.repeat(bound.max(), 2 * bound.size))
            case _ if len(shape) > 1:
                dims = range(len(shape))[::-1]
                keep(k.permute(y, dims), np.transpose(bound.reshape(shape), dims).ravel())
    if rng.random() < 0.4:  # its operand is overwritten after it
        k.store(changed(k, x), k.dense(p, shape))
    keep(y, bound)
    return k.case()


MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")


def rounded(rng: random.Random) -> Case:
    """Arithmetic with rounding modes and flushing, on any bits; functions that are exact but have no code."""
    k = Sketch(rng)
    k.gpu = False  # bits of NaN
    element = rng.choice(("f32", "f32", "f64", "f16", "bf16"))
    shape = tile_shape(rng, 128)

    def given() -> Value:
        numbers = k.noise(element, prod(shape)) if rng.random() < 0.4 else k.numbers(element, prod(shape), -9, 9)
        return k.load(k.dense(k.pointer(element, numbers), shape))

    tiles = [given(), given()]
    for _ in range(rng.randint(1, 4)):
        a, b = rng.choice(tiles), rng.choice(tiles)
        flush = " flush_to_zero" if element == "f32" and rng.random() < 0.3 else ""
        mode = rng.choice(MODES)
        more = (f" rounding<{mode}>" if element in ("f32", "f64") else "") + flush
        match rng.randrange(6):
            case 0 | 1:
                tiles.append(k.binary(rng.choice(("addf", "subf", "mulf")), a, b, more))
            case 2:
                tiles.append(k.binary("divf", a, b, more))
            case 3:
                c = rng.choice(tiles)
                tiles.append(k.op(element, shape, f"fma {a.name}, {b.name}, {c.name}{more} : {a.type}"))
            case 4:
                tiles.append(k.binary("remf", a, b))
            case 5:
                tiles.append(k.unary(rng.choice(("floor", "ceil", "absf", "negf")), a))
    for v in tiles[2:]:
        k.save(v)
    return k.case()


def scaled_products(rng: random.Random) -> Case:
    """Products of narrow floats whose operands have scales, each for a block of K."""
    k = Sketch(rng)
    t = rng.choice(("f8E4M3FN", "f8E5M2"))
    m, n = (rng.choice((1, 2, 4, 8, 16)) for _ in range(2))
    depth = rng.choice((32, 64))
    a, b = operand(k, t, (m, depth), -2, 2), operand(k, t, (depth, n), -2, 2)
    blocks = depth // 32

    def scale(sizes: tuple[int, int]) -> Value:
        p = k.pointer("f8E8M0FNU", k.numpy.integers(126, 130, prod(sizes), np.uint8))
        return k.load(k.dense(p, sizes))

    scales = scale((m, blocks)), scale((blocks, n))
    acc = operand(k, "f32", (m, n), -2, 2)
    given = (a, b, acc, *scales)
    names, types = ", ".join(v.name for v in given), ", ".join(v.type for v in given)
    saved(k, k.op("f32", (m, n), f"mmaf_scaled {names} : {types}"))
    return k.case()
