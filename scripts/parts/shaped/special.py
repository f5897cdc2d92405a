"""Infinities, zeros of both signs and NaNs with payloads, through everything that moves, combines or keeps tiles."""

from __future__ import annotations

import random
from math import inf, prod

import numpy as np

from .case import Case, Shape, Value, tile
from .elements import BYTES, Array, encode
from .sketch import Sketch
from .views import tile_shape

NUMBERS = (0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 2.0, inf, -inf)


def special_values(rng: random.Random) -> Case:
    """Tiles of special values that are reduced, scanned, joined, carried, multiplied, cast and stored."""
    k = Sketch(rng)
    k.gpu = False  # bits of NaN
    element = rng.choice(("f32", "f32", "f32", "f32", "f64", "f16", "bf16"))
    shape = tile_shape(rng, 512)
    tiles = [_given(k, element, shape) for _ in range(2)]
    for _ in range(rng.randint(1, 5)):
        made = _step(k, rng.choice(tiles), rng.choice(tiles))
        if made.shape == shape and made.element == element:
            tiles.append(made)
        if rng.random() < 0.7:
            k.save(made)
    k.save(tiles[-1])
    return k.case()


def _given(k: Sketch, element: str, shape: Shape) -> Value:
    """Load special values: some rows are all NaN, all zeros of either sign, or hold one infinity."""
    count = prod(shape)
    bits: Array = encode(element, k.numpy.choice(NUMBERS[: k.rng.choice((2, 4, 6, 9))], count))
    share = k.rng.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    np.copyto(bits, _nans(k, element, count), where=k.numpy.random(count) < share)
    if k.rng.random() < 0.3 and len(shape) > 1:
        bits = bits.reshape(-1, shape[-1])
        bits[k.rng.randrange(len(bits))] = _nans(k, element, shape[-1])
        bits = bits.reshape(-1)
    return k.load(k.dense(k.pointer(element, bits), shape))


def _nans(k: Sketch, element: str, count: int) -> Array:
    """NaNs of both signs, quiet and signalling, with any payload."""
    raw = k.noise(element, count)
    exponent = encode(element, np.array([inf]))[0]
    return raw | exponent | raw.dtype.type(1)


def _step(k: Sketch, a: Value, b: Value) -> Value:
    rng, shape, element = k.rng, a.shape, a.element
    dim = rng.randrange(len(shape))
    more = rng.choice(("", "", " propagate_nan"))
    match rng.randrange(13):
        case 0 | 1 | 2:
            name = rng.choice(("maxf", "minf", "maxf", "minf", "addf", "mulf"))
            more = more if name in ("maxf", "minf") else ""
            kind, order = rng.choice(("reduce", "reduce", "scan")), rng.random() < 0.5
            (made,) = k.fold(
                kind, [a], dim,
                lambda x, y: [k.binary(name, *((x[0], y[0]) if order else (y[0], x[0])), more)],
                [0], rng.random() < 0.5,
            )  # fmt: skip
            return made
        case 3:  # a reduction that keeps or selects what it is given

            def body(x: list[Value], y: list[Value]) -> list[Value]:
                c = k.compare("less_than", x[0], y[0])
                return [k.select(c, x[0], y[0])]

            (made,) = k.fold(rng.choice(("reduce", "scan")), [a], dim, body, [0])
            return made
        case 4:
            return k.binary(rng.choice(("maxf", "minf")), a, b, more)
        case 5:
            return k.binary(rng.choice(("addf", "subf", "mulf", "divf")), a, b)
        case 6:
            return k.select(k.compare(rng.choice(("less_than", "equal", "not_equal")), a, b), a, k.add(a, b))
        case 7:
            kind = f"i{8 * BYTES[element]}"
            total = k.add(a, b)
            return k.op(kind, shape, f"bitcast {total.name} : {total.type} -> {tile(kind, shape)}")
        case 8:
            return k.cat(k.add(a, b), a, dim)
        case 9:
            n = k.number("i32", rng.choice((0, 1, 2, 3)))
            bounds = k.const("i32", 0), n, k.const("i32", 1)
            x, y = k.for_loop(bounds, [a, b], lambda _, now: [k.add(now[0], now[1]), now[0]])
            return rng.choice((x, y))
        case 10:
            c = k.number("i1", rng.randrange(2))
            (made,) = k.branch(c, lambda: [k.add(a, b)], lambda: [a], [a])
            return made
        case 11:
            return k.unary(rng.choice(("negf", "absf", "sqrt", "floor")), k.add(a, b) if rng.random() < 0.5 else a)
    turn = rng.sample(range(len(shape)), len(shape))
    return k.permute(k.add(a, b), turn) if len(shape) > 1 else k.reshape(k.add(a, b), (1, *shape))
