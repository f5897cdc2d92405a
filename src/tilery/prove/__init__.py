"""Prove that two kernels compute the same, or show where they do not."""

from .decide import reals
from .programs import Buffer, Program, Stage
from .shapes import over
from .symbolic import bits
from .verdict import Verdict, Witness

__all__ = ["Buffer", "Program", "Stage", "Verdict", "Witness", "bits", "over", "reals"]
