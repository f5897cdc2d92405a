"""A picture of an operation, from its declaration: operands on the left, attributes inside, results on the right."""

from __future__ import annotations

import re
from html import escape

from ..declare.fields import Field
from ..declare.operation import OpDef

ROW, TOP, BOX, SIDE, GAP = 34, 16, 220, 250, 40
LONGEST, LONGEST_TYPE = 34, 46
"""The most characters of a name in the box, and of a type beside it, in smaller letters."""
WIDTH = 2 * (SIDE + GAP) + BOX


def operation_svg(opdef: OpDef) -> str:
    """Return the picture. Dashed arrows are optional, a star marks a list of values.

    >>> from tilery.ops import AddF
    >>> operation_svg(AddF.opdef).count("<line ")
    3
    """
    operands, results = opdef.operands, opdef.outs
    attributes = [f for f in opdef.attrs if f.role == "attr"]
    inside = [
        opdef.mnemonic,
        *(_shorter(_attribute(f)) for f in attributes),
        *(f"{f.name} {{ ... }}" for f in opdef.regions),
    ]
    rows = max(len(operands), len(results), 1)
    height = max(rows * ROW, 22 * len(inside) + 14) + 2 * TOP
    left = SIDE + GAP
    summary = escape(
        f"{opdef.mnemonic}: {', '.join(f.name for f in operands) or 'no operands'} to "
        f"{', '.join(f.name for f in results) or 'no results'}",
        quote=True,
    )
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'aria-label="{summary}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="white"/>',
        f'<rect x="{left}" y="{TOP}" width="{BOX}" height="{height - 2 * TOP}" rx="8" fill="#eef4fb" '
        'stroke="#1b6ca8"/>',
    ]
    for number, text in enumerate(inside):
        weight = ' font-weight="bold" font-size="15"' if not number else ' fill="#444"'
        y = TOP + 24 + 22 * number
        out.append(f'<text x="{left + BOX / 2}" y="{y}" text-anchor="middle"{weight}>{escape(text)}</text>')
    out += _arrows(operands, height, left - GAP, left, "end", left - GAP - 6)
    out += _arrows(results, height, left + BOX, left + BOX + GAP, "start", left + BOX + GAP + 6)
    return "\n".join([*out, "</svg>", ""])


def _arrows(fields: list[Field], height: int, start: int, end: int, anchor: str, at: int) -> list[str]:
    out = []
    for number, f in enumerate(fields):
        y = height / 2 + (number - (len(fields) - 1) / 2) * ROW
        dash = ' stroke-dasharray="4 3"' if f.arity == "opt" else ""
        out.append(f'<line x1="{start}" y1="{y}" x2="{end - 6}" y2="{y}" stroke="#1b6ca8" stroke-width="1.5"{dash}/>')
        out.append(f'<path d="M{end - 7} {y - 4} L{end} {y} L{end - 7} {y + 4} Z" fill="#1b6ca8"/>')
        name = f.name + " *" * (f.arity == "var")
        out.append(f'<text x="{at}" y="{y - 1}" text-anchor="{anchor}" font-weight="bold">{escape(name)}</text>')
        kind = _shorter(type_words(str(f.kind.text)), LONGEST_TYPE)
        out.append(
            f'<text x="{at}" y="{y + 12}" text-anchor="{anchor}" font-size="10" fill="#666">{escape(kind)}</text>'
        )
    return out


def _attribute(f: Field) -> str:
    return f.name if f.enum is None else f"{f.name}: {f.enum.__name__}"


def type_words(text: str) -> str:
    """Return the words of the verifier for the type of a value, shorter.

    >>> type_words("mmaf acc/result tile type of f16 or f32 or f64 values")
    'tile of f16, f32, f64'
    """
    return re.sub(r"^\w+ [\w/]+ tile type of ", "tile of ", text).removesuffix(" values").replace(" or ", ", ")


def _shorter(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
