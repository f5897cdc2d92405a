"""Rows of tests/golden, computed with the sources of another revision: the other end of `scripts/digests.py diff`."""

from __future__ import annotations

import json
import sys


def main() -> None:
    import golden.rooms  # noqa: F401  # declares the groups
    from golden.table import GROUPS

    found: dict[str, dict[int, str]] = {}
    for name, numbers in json.load(sys.stdin).items():
        wanted = set(numbers)
        found[name] = {at: text for at, text in enumerate(GROUPS[name]()) if at in wanted}
    print(json.dumps(found))
