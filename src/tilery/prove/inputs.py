"""Concrete inputs on which programs are run: of several kinds, exactly representable in the kernels' types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..engines.common.tiles import Array
from ..floats.arithmetic import value as number
from ..ir import walk
from ..ops import Constant
from ..types import F64
from .programs import REAL, Comparison
from .running.runner import rounded_to

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
KINDS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "positive": lambda rng, shape: rng.uniform(0.1, 2.0, shape),
    "negative": lambda rng, shape: rng.uniform(-4.0, -1.0, shape),
    "wide": lambda rng, shape: rng.standard_normal(shape) * 8,
    "small": lambda rng, shape: rng.standard_normal(shape) / 16,
}
"""Kinds of inputs that are tried to tell programs apart."""

RARE = {name: KINDS[name] for name in ("positive", "negative", "normal")}
"""Kinds on which programs that compare numbers are run although residues are equal."""

HARD: dict[str, Draw] = {
    "x 200": lambda rng, shape: rng.standard_normal(shape) * 200,
    "all near -200": lambda rng, shape: rng.standard_normal(shape) - 200,
    "all near +200": lambda rng, shape: rng.standard_normal(shape) + 200,
    "rising": lambda rng, shape: rng.standard_normal(shape) + _ramp(shape),
    "falling": lambda rng, shape: rng.standard_normal(shape) - _ramp(shape),
}
"""Kinds of inputs that overflow in careless programs."""

ADVERSE: dict[str, Draw] = {
    "normal": KINDS["normal"],
    "positive": KINDS["positive"],
    "cancelling": lambda rng, shape: rng.standard_normal(shape) * 64 * (-1.0) ** np.arange(shape[-1] if shape else 1),
    "offset": lambda rng, shape: rng.standard_normal(shape) + 32,
    "scales": lambda rng, shape: rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape),
}
"""Kinds of inputs on which rounding errors are measured."""


MOST_CONSTANTS = 64


def ties(case: Comparison) -> dict[str, Draw]:
    """Return kinds of inputs with many equal numbers: zeros, few numbers, and the constants that kernels have."""
    constants = {0.0, 1.0, -1.0}
    modules = {id(stage.module): stage.module for _, program in case.sides() for stage in program.stages}
    for module in modules.values():
        for o in walk(module):
            if isinstance(o, Constant) and o.value.element.is_float and o.value.splat is not None:
                value = number(o.value.element, o.value.splat)
                if value is not None and len(constants) < MOST_CONSTANTS:
                    constants.add(float(value))
    among = np.array(sorted(constants))
    return {
        "few": lambda rng, shape: rng.integers(-1, 2, shape).astype(np.float64),
        "constants": lambda rng, shape: rng.choice(among, shape),
        "zeros": lambda rng, shape: np.zeros(shape),
        "the same": lambda rng, shape: np.full(shape, rng.standard_normal()),
    }


def _ramp(shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.linspace(-300, 300, shape[-1] if shape else 1), shape)


def draw(case: Comparison, kind: Draw, seed: int) -> dict[str, Array]:
    """Return real inputs as f64 that the narrowest type of each buffer holds. Numbers without a shape stay moderate."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for name, buffer in case.buffers.items():
        if buffer.content == REAL and (buffer.element is None or buffer.element.is_float):
            values = np.asarray(kind(rng, buffer.shape) if buffer.shape else rng.uniform(0.2, 1.5, ()))
            made[name] = rounded_to(np.ascontiguousarray(values, np.float64), buffer.element or F64)
    return made
