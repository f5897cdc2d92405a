"""Numbers of Python and NumPy as the bits of an element type."""

from __future__ import annotations

from typing import Any

from ..diag import TileError
from ..floats.formats import nearest
from ..types import Scalar


def int_bits(element: Scalar, value: int) -> int:
    """Return the bits of a signed or unsigned integer that fits.

    >>> from tilery.types import I8
    >>> int_bits(I8, -1), int_bits(I8, 255)
    (255, 255)
    """
    if not -(1 << element.bits) // 2 <= value < 1 << element.bits:
        raise TileError(f"value {value} does not fit in {element.bits} bits")
    return value & ((1 << element.bits) - 1)


def float_bits(element: Scalar, value: float) -> int:
    """Return the bits of the float nearest to a number, ties to even; a number that is too large is refused.

    >>> from tilery.types import F16
    >>> hex(float_bits(F16, -1.5))
    '0xbe00'
    """
    from math import copysign, isinf, isnan

    form = element.format
    isfloat = isinstance(value, float)
    negative = (copysign(1.0, value) < 0) if isfloat else value < 0
    bits: int | None
    if isfloat and isnan(value):
        bits = None if form.nan <= form.top else form.nan | (form.sign if negative else 0)
    elif isfloat and isinf(value):
        bits = form.top + 1 | (form.sign if negative else 0) if form.infinity else None
    else:
        from fractions import Fraction

        bits = nearest(element, negative, abs(Fraction(value)))
    if bits is None or (negative and not form.signed):
        raise TileError(f"{element.name} cannot represent {value}")
    return bits


def number_bits(element: Scalar, value: Any) -> int:
    """Return the bits of a number of Python or NumPy: an integer, a float that is rounded, or a bool."""
    if not isinstance(value, (int, float)):
        value = _python_number(value, element)
    if element.is_float:
        return float_bits(element, value)
    if isinstance(value, float):
        if not value.is_integer():
            raise TileError(f"{value} is not an integer, and {element.name} holds integers")
        value = int(value)
    return int_bits(element, value)


def pattern_bits(element: Scalar, value: Any) -> int:
    """Return the bits of an element as `Dense.of` takes it: an integer is a bit pattern, a float is rounded."""
    if not isinstance(value, (int, float)):
        value = _python_number(value, element)
    if not element.is_float or isinstance(value, float):
        return number_bits(element, value)
    if not 0 <= value < 1 << element.bits:
        why = "an integer is the bits of a float; write a number with a point"
        raise TileError(f"value {value} does not fit in {element.bits} bits", notes=(why,))
    return int(value)


def _python_number(value: Any, element: Scalar) -> Any:
    """Return a scalar of NumPy, ml_dtypes or torch as a number of Python."""
    item = getattr(value, "item", None)
    number = item() if callable(item) else value
    if not isinstance(number, (int, float)):
        # ml_dtypes has types whose item is the scalar itself
        try:
            number = float(number) if element.is_float else int(number)
        except (TypeError, ValueError):
            raise TileError(f"expected a number for {element.name}, got {value!r}") from None
    return number
