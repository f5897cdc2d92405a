"""Metamorphic laws: a change of the inputs that has a known effect on the outputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..problem import Argument, Metamorphic, Problem, Shape
from ..reference import Expected
from ..values import Array, from_f64, widen


def change_inputs(
    law: Metamorphic, problem: Problem, shape: Shape, inputs: Mapping[str, Array], seed: int
) -> dict[str, Array]:
    """Return the inputs as a law changes them."""
    found = {}
    for argument in problem.typed(shape):
        if argument.name not in inputs:
            continue
        bits = inputs[argument.name]
        if law.permute:
            found[argument.name] = _permuted(argument, bits, law, shape, seed)
        else:
            factor = law.scale.get(argument.name, 1.0)
            found[argument.name] = bits if factor == 1.0 else from_f64(widen(bits, argument) * factor, argument.element)
    return found


def change_expected(
    law: Metamorphic, problem: Problem, shape: Shape, expected: Mapping[str, Expected], seed: int
) -> dict[str, Expected]:
    """Return what is expected of the outputs after the change."""
    found = {}
    for argument in problem.typed(shape):
        if argument.name not in expected:
            continue
        old = expected[argument.name]
        if law.permute:
            exact, tolerance, decided = (
                _permuted(argument, each, law, shape, seed) for each in (old.exact, old.tolerance, old.decided)
            )
            found[argument.name] = Expected(exact, tolerance, decided)
        else:
            factor = law.scale.get(argument.name, 1.0)
            found[argument.name] = Expected(old.exact * factor, old.tolerance * abs(factor), old.decided)
    return found


def _permuted(argument: Argument, array: Array, law: Metamorphic, shape: Shape, seed: int) -> Array:
    if law.permute not in argument.shape:
        return array
    order = np.random.default_rng(seed).permutation(shape.sizes[law.permute])
    return np.take(array, order, axis=argument.shape.index(law.permute))
