"""One conversion of C's printf, with CUDA's syntax and the output of glibc."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SPEC = re.compile(rb"%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?(hh|h|ll|l)?([diouxXcsSfFeEgGaAp])")
FLOATS = "fFeEgGaA"
LONGEST = 1 << 12
"""Widths and precisions are limited to this, so that a short format cannot ask for gigabytes."""
BITS = {b"hh": 8, b"h": 16, b"": 32, b"l": 64, b"ll": 64}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion: its flags, width, precision (None for absent, -1 for the next argument), length and letter."""

    text: bytes
    flags: bytes = b""
    width: int = 0
    precision: int | None = None
    length: bytes = b""
    letter: str = ""

    def show(self, arguments: bytes, position: int, string: Callable[[int], bytes]) -> tuple[bytes, int]:
        """Format the argument at an offset; return the text and the next offset. Bytes past the end are 0.

        `string` gives the text at an address.
        """
        if not self.letter:
            return self.text, position
        flags, width, precision = self.flags, self.width, self.precision
        if width < 0:
            width, position = _take(arguments, position, "i")
            flags += b"-" * (width < 0)
        if precision == -1:
            precision, position = _take(arguments, position, "i")
            precision = None if precision < 0 else precision
        precision = None if precision is None else min(precision, LONGEST)
        if self.letter in FLOATS:
            number, position = _take(arguments, position, "d")
            body = _float(number, self.letter, flags, precision)
            fills = math.isfinite(number)
        else:
            wide = self.letter in "sSp" or BITS[self.length] == 64
            word, position = _take(arguments, position, "q" if wide else "i")
            body = self._word(word, flags, precision, string)
            fills = self.letter not in "csSp" and precision is None
        return _padded(body, min(abs(width), LONGEST), b"-" in flags, fills and b"0" in flags), position

    def _word(self, word: int, flags: bytes, precision: int | None, string: Callable[[int], bytes]) -> bytes:
        match self.letter:
            case "c":
                return bytes([word & 255])
            case "s" | "S":
                return (string(word & (1 << 64) - 1) if word else b"(null)")[:precision]
            case "p":
                return b"0x%x" % (word & (1 << 64) - 1) if word else b"(nil)"
        return _integer(word, self.letter, flags, precision, BITS[self.length])


def parse_format(text: bytes) -> Conversion:
    """Parse a conversion; one that CUDA does not know is printed as is and takes no argument.

    >>> parse_format(b"%+5.1f").show(struct.pack("<d", 2.25), 0, lambda address: b"")
    (b' +2.2', 8)
    """
    found = SPEC.fullmatch(text)
    if found is None:
        return Conversion(text)
    flags, width, precision, length, letter = found.groups()
    exact = None if precision is None else -1 if precision == b"*" else min(int(precision or b"0"), LONGEST)
    wide = -1 if width == b"*" else min(int(width or b"0"), LONGEST)
    return Conversion(text, flags, wide, exact, length or b"", letter.decode())


def _take(arguments: bytes, position: int, kind: str) -> tuple[Any, int]:
    size = 4 if kind == "i" else 8
    position += -position % size
    word = arguments[position : position + size].ljust(size, b"\0")
    return struct.unpack("<" + kind, word)[0], position + size


def _padded(body: bytes, width: int, left: bool, zeros: bool) -> bytes:
    if left:
        return body.ljust(width)
    if not zeros:
        return body.rjust(width)
    sign = re.match(rb"[-+ ]?(0[xX])?", body)
    assert sign is not None
    return sign[0] + body[sign.end() :].rjust(width - sign.end(), b"0")


def _sign(negative: bool, flags: bytes) -> bytes:
    return b"-" if negative else b"+" if b"+" in flags else b" " if b" " in flags else b""


def _integer(number: int, letter: str, flags: bytes, precision: int | None, bits: int) -> bytes:
    number &= (1 << bits) - 1
    sign = b""
    if letter in "di":
        number -= number >> (bits - 1) << bits
        sign = _sign(number < 0, flags)
    digits = {"o": b"%o", "x": b"%x", "X": b"%X"}.get(letter, b"%d") % abs(number)
    if precision == 0 and number == 0:
        digits = b""
    digits = digits.rjust(precision or 0, b"0")
    if b"#" in flags:
        if letter == "o" and not digits.startswith(b"0"):
            digits = b"0" + digits
        elif letter in "xX" and number:
            sign = b"0" + letter.encode()
    return sign + digits


def _float(value: float, letter: str, flags: bytes, precision: int | None) -> bytes:
    sign = _sign(math.copysign(1, value) < 0, flags)
    if not math.isfinite(value):
        name = b"nan" if math.isnan(value) else b"inf"
        return sign + (name.upper() if letter.isupper() else name)
    size = abs(value)
    if letter in "aA":
        shown = _hexadecimal(size, precision, b"#" in flags)
        return sign + (shown.upper() if letter == "A" else shown)
    alternate = "#" if b"#" in flags else ""
    return sign + f"%{alternate}.{6 if precision is None else precision}{letter}".__mod__(size).encode()


def _hexadecimal(size: float, precision: int | None, point: bool) -> bytes:
    """Format a number that is not negative as `%a`.

    >>> _hexadecimal(2.25, None, False), _hexadecimal(1.96875, 1, False)
    (b'0x1.2p+1', b'0x2.0p+0')
    """
    if size == 0:
        lead, exponent = 0, 0
    else:
        exponent = max(math.frexp(size)[1] - 1, -1022)
        lead = int(math.ldexp(size, 52 - exponent))
    whole, rest = lead >> 52, lead & (1 << 52) - 1
    if precision is None:
        digits = b"%013x" % rest
        digits = digits.rstrip(b"0")
    elif precision >= 13:
        digits = (b"%013x" % rest).ljust(precision, b"0")
    else:
        drop = 4 * (13 - precision)
        kept, lost, half = lead >> drop, lead & (1 << drop) - 1, 1 << drop - 1
        kept += lost > half or (lost == half and kept & 1)
        whole, rest = kept >> 4 * precision, kept & (1 << 4 * precision) - 1
        digits = b"%0*x" % (precision, rest) if precision else b""
    dot = b"." if digits or point else b""
    return b"0x%x" % whole + dot + digits + b"p%+d" % exponent
