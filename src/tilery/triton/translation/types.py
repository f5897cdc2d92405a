"""Types and constants of Triton IR as those of Tile IR."""

from __future__ import annotations

import json
import re
from typing import Any

from ...attrs import Dense
from ...attrs.numbers import number_bits
from ...diag import ErrorKind, TileError
from ...types import I64, SCALARS, Ptr, Scalar, Tile
from ..mlir import DenseText, FloatBits

_SIZE = re.compile(r"(\d+)x")
_SPACE = re.compile(r",\s*\d+$")
_ITEM = re.compile(r"(-?0x[0-9A-Fa-f]+|true|false|-?[\d.]+(?:[eE][-+]?\d+)?)")
FOREIGN = {
    "f8E4M3FNUZ": "fp8e4b8, a type of AMD GPUs",
    "f8E5M2FNUZ": "fp8e5b16, a type of AMD GPUs",
    "f8E4M3B11FNUZ": "fp8e4b15",
    "i128": "128-bit integers",
}
"""Element types that Tile IR does not have."""


def element_of(text: str) -> Scalar | Ptr:
    """Return an element type. A pointer to pointers is one to 64-bit integers: Tile IR loads no pointers."""
    if text.startswith("!tt.ptr<"):
        inner = _SPACE.sub("", text[len("!tt.ptr<") : -1])
        pointee = I64 if inner.startswith("!tt.ptr<") else element_of(inner)
        assert isinstance(pointee, Scalar)
        return Ptr(pointee)
    if text == "index":
        return I64
    if text in SCALARS:
        return SCALARS[text]
    what = FOREIGN.get(text, f"the type '{text}'")
    raise TileError(f"Tile IR does not have {what}", kind=ErrorKind.UNSUPPORTED)


def tile_of(text: str) -> Tile:
    """Return the type of a tensor or scalar."""
    if not text.startswith("tensor<"):
        return Tile((), element_of(text))
    body = text[len("tensor<") : -1]
    sizes = []
    while m := _SIZE.match(body):
        sizes.append(int(m[1]))
        body = body[m.end() :]
    return Tile(tuple(sizes), element_of(body.split(", #")[0]))


def is_pointers(text: str) -> bool:
    """Whether a type is a pointer to pointers, or a tensor of them."""
    return "!tt.ptr<!tt.ptr<" in text


def constant(value: Any, kind: Tile) -> Dense:
    """Return the constant that an attribute is."""
    element = kind.element
    assert isinstance(element, Scalar)
    if not isinstance(value, DenseText):
        return Dense.of(kind, [_pattern(element, value)])
    body = value.body.strip()
    if body.startswith('"'):
        return Dense.of(kind, _raw(bytes.fromhex(body[3:-1]), element, kind))
    if not body.startswith("["):
        return Dense.of(kind, [_word(element, body)])
    items: list[int] = []
    todo = [json.loads(_ITEM.sub(r'"\1"', body))]
    while todo:
        one = todo.pop()
        if isinstance(one, list):
            todo += one[::-1]
        else:
            items.append(_word(element, one))
    return Dense.of(kind, items)


def _raw(data: bytes, element: Scalar, kind: Tile) -> list[int]:
    """Return the bits of each element; tensors of i1 are packed."""
    if element.bits == 1:
        return [data[i // 8] >> i % 8 & 1 for i in range(kind.size)]
    width = max(element.bits // 8, 1)
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


def _word(element: Scalar, word: str) -> int:
    word = word.strip()
    if word in ("true", "false"):
        return int(word == "true")
    if word.startswith("0x") and element.is_float:
        return int(word, 16)
    return number_bits(element, float(word) if element.is_float else int(word, 0))


def _pattern(element: Scalar, value: Any) -> int:
    if isinstance(value, FloatBits):
        return value.value
    if isinstance(value, bool) or element.bits == 1:
        return int(bool(value))
    return number_bits(element, value)
