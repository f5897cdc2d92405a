"""`simplify`: simplify integer and mask expressions as a whole."""

from .rounds import simplify

__all__ = ["simplify"]
