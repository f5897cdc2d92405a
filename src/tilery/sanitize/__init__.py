"""The sanitizer: find what is wrong with a kernel while it runs.

`launch(sanitize="all")` on the reference engine raises `Faults` if a check found something; a `Sanitizer` instead of
names collects the reports. The checks are in `sanitizer.CHECKS`.
"""

from ..engines.reference.access import Access, Kind, Link
from .checks import Check, Step
from .reports import Faults, Place, Report, Reports
from .sanitizer import CHECKS, Sanitizer, sanitizer

__all__ = [
    "CHECKS", "Access", "Check", "Faults", "Kind", "Link", "Place", "Report", "Reports", "Sanitizer", "Step",
    "sanitizer",
]  # fmt: skip
