"""Exponents that are known."""

from __future__ import annotations

from ..ir import Value
from ..ops import Broadcast, Constant, Reshape


def is_two(value: Value) -> bool:
    """Whether a value is the constant 2, perhaps in another shape."""
    while isinstance(value.owner, (Broadcast, Reshape)):
        value = value.owner.source
    if not isinstance(value.owner, Constant) or value.owner.value.splat is None:
        return False
    dense = value.owner.value
    if dense.element.is_int:
        return dense.splat == 2
    form = dense.element.format
    return dense.splat == (form.bias + 1) << form.mantissa
