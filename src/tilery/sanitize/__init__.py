"""The sanitizer: find what is wrong with a kernel while it runs.

`launch(sanitize="all")` on the reference engine raises `Faults` if a check found something; a `Sanitizer` instead of
names collects the reports. The checks are in `sanitizer.CHECKS`.
"""

from ..engines.reference.access import Access, AccessKind, Link
from .checks import Check, Step
from .reports import Faults, Occurrence, Report, Reports
from .sanitizer import CHECKS, Sanitizer, sanitizer

__all__ = [
    "CHECKS",
    "Access",
    "AccessKind",
    "Check",
    "Faults",
    "Link",
    "Occurrence",
    "Report",
    "Reports",
    "Sanitizer",
    "Step",
    "sanitizer",
]  # fmt: skip
