"""The reducer: from a module that shows a fault to a small one that shows the same fault."""

from __future__ import annotations

from .case import Case, CaseLaunch
from .function import reduce
from .search import Reduction

__all__ = ["Case", "CaseLaunch", "Reduction", "reduce"]
