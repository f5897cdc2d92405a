"""cuTe layouts as attributes: `#cute.layout<(1@0, 16@1)>`, where `16@1` is 16 along dimension 1."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..attrs import OpaqueAttr
from ..diag import TileError

KINDS = ("layout", "shape", "stride")
MAX_DEPTH = 64
_PAIR = re.compile(r"(-?[0-9]+)@([0-9]+)\Z")
_PIECE = re.compile(r"\s*([(),]|[^(),\s][^(),]*)")


@dataclass(frozen=True, slots=True)
class CuteAttr(OpaqueAttr):
    """A layout, shape or stride. `pairs` are its numbers and their dimensions, from left to right."""

    text: str
    kind: str
    pairs: tuple[tuple[int, int], ...]


def parse_cute(kind: str, body: str) -> CuteAttr:
    """Parse the attribute `#cute.kind<body>`; an error names the malformed parameter.

    >>> parse_cute("layout", "( 1@0,16@1 )").text
    '#cute.layout<(1@0, 16@1)>'
    """
    if kind not in KINDS:
        raise TileError(f"unknown attribute `{kind}` in dialect `cute`", notes=(f"one of {', '.join(KINDS)}",))
    pairs: list[tuple[int, int]] = []
    shown: list[str] = []
    depth, wants = 0, True  # `wants` a pair or a tuple, or else a comma or the end
    for piece in _PIECE.findall(body):
        token = piece.strip()
        if token == "(" and wants:
            depth += 1
            if depth > MAX_DEPTH:
                raise TileError(f"#cute.{kind}: tuples are nested more than {MAX_DEPTH} deep")
        elif token == ")" and depth and not wants:
            depth -= 1
        elif token == "," and depth and not wants:
            wants = True
            shown.append(", ")
            continue
        elif token not in "()," and wants:
            pairs.append(_pair(kind, token, len(pairs)))
            wants = False
        else:
            raise _malformed(kind, len(pairs) - (not wants), token, "a pair like 16@1 or a tuple of them is expected")
        shown.append(token)
    if wants or depth:
        raise _malformed(kind, max(len(pairs) - 1, 0), body.strip(), "it ends too early")
    return CuteAttr(f"#cute.{kind}<{''.join(shown)}>", kind, tuple(pairs))


def _pair(kind: str, token: str, index: int) -> tuple[int, int]:
    found = _PAIR.match(token)
    if found is None or len(token) > 40:
        raise _malformed(kind, index, token, "expected a number, '@' and a dimension")
    return int(found[1]), int(found[2])


def _malformed(kind: str, index: int, token: str, why: str) -> TileError:
    shown = token if len(token) <= 40 else token[:40] + "..."
    return TileError(f"#cute.{kind}: malformed parameter {index}, '{shown}': {why}")
