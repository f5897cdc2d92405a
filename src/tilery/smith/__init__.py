"""Random modules that are always legal and can be executed, generated from the table of operations.

>>> from tilery.smith import smith
>>> len(smith(1).entries) > 0
True
"""

from __future__ import annotations

from .contract import Argument, Buffer, Contract, Launch
from .module import smith, smith_with_contract

__all__ = ["Argument", "Buffer", "Contract", "Launch", "smith", "smith_with_contract"]
