"""The text form of Tile IR: parse/ reads it, print/ writes it. Both follow the formats of operations in `format`."""

from __future__ import annotations

from ..version import V13_3

DIALECT = "cuda_tile."
"""The prefix of operations and types."""
PRODUCER = "// Producer: "
"""The first line of a text without a module starts like this; the name of the producing program follows."""
OPT = V13_3
"""The version of cuda-tile-opt that the styles `opt` and `generic` follow."""
