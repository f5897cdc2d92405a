"""Write a cases file from a signature, as a start."""

from __future__ import annotations

import re

from ..diag import TileError
from .problem import ROLES, UNSIGNED, parse_problem

PART = re.compile(
    r"\s*(?:(?P<role>in|out|inout)\s+)?(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<type>\w+)\s*"
    r"(?:\[(?P<shape>[^\]]*)\]|=\s*(?P<value>[^,]+))?\s*(?:,|$)"
)
EXAMPLE = "x: f32[M, N], out y: f32[M, N], n: i32 = N"
PRIMES = (7, 13, 5, 11, 3)
RAGGED = (33, 127, 65, 9, 6)
LARGE = {1: (100_003,), 2: (257, 1031), 3: (9, 130, 257), 4: (3, 5, 67, 130)}

HEAD = """\
# How candidates are judged. A signature made this file; change it as you like.

[problem]
reference = "{reference}"   # a function on NumPy arrays; it takes the inputs and scalars, and returns the outputs
# compute = "f32"           # the precision of single operations; by default the widest float type of the arguments
# accumulate = "f32"        # the precision of sums
"""


def start(signature: str, reference: str = "reference.py::reference") -> str:
    """Return the text of a cases file for a signature such as "x: f32[M, N], out y: f32[M, N], n: i32 = N".

    >>> "role = \\"out\\"" in start("x: f32[N], out y: f32[N]")
    True
    """
    lines = [HEAD.format(reference=reference)]
    sizes: list[str] = []
    at, floats = 0, False
    while at < len(signature.rstrip()):
        found = PART.match(signature, at)
        if found is None or found.end() == at:
            raise TileError(
                "expected an argument such as 'x: f32[M, N]'",
                source=signature,
                start=at,
                notes=(f"an example: {EXAMPLE}",),
            )
        at = found.end()
        lines.append(_argument(found))
        floats |= found["type"] not in UNSIGNED and not found["type"].startswith("i")
        for name in re.findall(r"[A-Za-z_]\w*", found["shape"] or ""):
            if name not in sizes:
                sizes.append(name)
    text = "\n".join(lines) + "\n" + _cases(sizes or ["N"], floats)
    parse_problem(text)
    return text


def _argument(found: re.Match[str]) -> str:
    role = found["role"] or ("in" if found["shape"] is not None else "scalar")
    assert role in ROLES
    lines = ["[[argument]]", f'name = "{found["name"]}"', f'type = "{found["type"]}"', f'role = "{role}"']
    if found["shape"] is not None:
        parts = [part.strip() for part in found["shape"].split(",") if part.strip()]
        shown = [part if part.isdecimal() else f'"{part}"' for part in parts]
        lines.append(f"shape = [{', '.join(shown)}]")
    else:
        value = (found["value"] or "0").strip()
        lines.append(f"value = {value}" if re.fullmatch(r"-?[\d.]+(e-?\d+)?", value) else f'value = "{value}"')
    return "\n".join(lines) + "\n"


def _sizes(names: list[str], numbers: tuple[int, ...]) -> str:
    pairs = [f"{name} = {numbers[min(n, len(numbers) - 1)]}" for n, name in enumerate(names)]
    return f"{{ {', '.join(pairs)} }}"


def _cases(names: list[str], floats: bool) -> str:
    small = ",\n  ".join(_sizes(names, numbers) for numbers in ((1,), PRIMES, RAGGED, (64, 64, 16, 8)))
    large = _sizes(names, LARGE[min(len(names), 4)])
    values = (
        '"normal", "zeros", "ones", "cancel", "spike", "signs"'
        if floats
        else '"normal", "zeros", "uniform", "extremes"'
    )
    text = f"""\
# Small shapes: one element, primes, ragged ones, and powers of two.
[[cases]]
sizes = [
  {small},
]
values = [{values}]

# A large shape, and other layouts of memory: rows with gaps, and arrays that start at an odd place.
[[cases]]
sizes = [{large}]

[[cases]]
sizes = [{_sizes(names, RAGGED)}]
layouts = ["padded", "offset"]
"""
    if floats:
        text += f"""
# Numbers at the edges. Remove what your problem does not define.
[[cases]]
sizes = [{_sizes(names, RAGGED)}]
values = ["denormals", "huge", "inf", "nan"]
"""
    return text
