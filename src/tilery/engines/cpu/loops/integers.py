"""Integer operations of the loop IR on numbers that are known: the builder and passes fold with them."""

from __future__ import annotations

from ....types import I1, Scalar

WIDTHS = {"i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
"""The bits of integer types."""


def signed(bits: int, element: Scalar) -> int:
    """Return the signed number that bits of a type are."""
    width = WIDTHS[element.name]
    return bits - (1 << width) if bits >> (width - 1) else bits


def fold(name: str, element: Scalar, target: Scalar, *numbers: int) -> int | None:
    """Return the bits of the result for operands of a type, given as bits; None if it cannot be known.

    >>> from tilery.types import I32
    >>> fold("add", I32, I32, 1, 0xFFFFFFFF), fold("slt", I32, I1, 0xFFFFFFFF, 0)
    (0, 1)
    """
    if name == "bits":
        return numbers[0]
    if element.name not in WIDTHS or target.name not in WIDTHS:
        return None
    a, b = numbers[0], numbers[-1]
    x, y = signed(a, element), signed(b, element)
    found: int | bool | None
    match name:
        case "add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "lshr" | "ashr":
            found = _arithmetic(name, a, b, x)
        case "udiv" | "urem":
            found = None if b == 0 else a // b if name == "udiv" else a % b
        case "sdiv" | "srem":
            found = None if y == 0 else _truncated(x, y) if name == "sdiv" else x - y * _truncated(x, y)
        case "smin" | "smax":
            found = min(x, y) if name == "smin" else max(x, y)
        case "umin" | "umax":
            found = min(a, b) if name == "umin" else max(a, b)
        case "eq" | "ne" | "ult" | "ule" | "slt" | "sle":
            found = {"eq": a == b, "ne": a != b, "ult": a < b, "ule": a <= b, "slt": x < y, "sle": x <= y}[name]
        case "sext":
            found = x
        case "zext" | "trunc":
            found = a
        case _:
            return None
    return None if found is None else int(found) % (1 << WIDTHS[target.name])


def _arithmetic(name: str, a: int, b: int, x: int) -> int:
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "shl":
            return a << b
        case "lshr":
            return a >> b
    return x >> b


def _truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "lshr": 0, "ashr": 0, "mul": 1, "udiv": 1, "sdiv": 1}
"""The number on the right, and for some also on the left, that leaves the other operand as it is."""


def simplify(name: str, element: Scalar, numbers: tuple[int | None, ...]) -> int | None:
    """Return the position of the operand that the result is, if a known operand makes it so.

    >>> from tilery.types import I64
    >>> simplify("add", I64, (None, 0)), simplify("mul", I64, (1, None)), simplify("add", I64, (None, None))
    (0, 1, None)
    """
    if len(numbers) != 2:
        return None
    wanted = NEUTRAL.get(name)
    if name == "and":
        wanted = (1 << WIDTHS[element.name]) - 1
    if wanted is None:
        return None
    if numbers[1] == wanted:
        return 0
    return 1 if numbers[0] == wanted and name in ("add", "or", "xor", "mul", "and") else None


def absorb(name: str, element: Scalar, numbers: tuple[int | None, ...]) -> int | None:
    """Return the result if one known operand decides it: `x * 0`, `x and 0`, `x or true`, `x mod 1`."""
    if name in ("mul", "and") and 0 in numbers:
        return 0
    if name == "or" and element is I1 and 1 in numbers:
        return 1
    if name == "urem" and numbers[1] == 1:
        return 0
    return None
