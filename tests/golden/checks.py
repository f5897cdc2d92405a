"""Functions that the tests of each room share."""

from __future__ import annotations

from itertools import islice

import pytest

import golden.rooms
from golden.table import GROUPS, differing, load

__all__ = ["golden"]
HELP = """{name}: row {number} differs, and perhaps others
`python scripts/digests.py diff {name}` shows each change since the last commit,
`python scripts/digests.py bless` accepts them all
now it is:
{text}"""


def parts(name: str) -> pytest.MarkDecorator:
    """Parametrize a test with the parts of a group."""
    found = [each for each in GROUPS if each == name or each.rpartition("/")[0] == name]
    return pytest.mark.parametrize("part", found, ids=[each.rpartition("/")[2] for each in found])


def check(name: str) -> None:
    """Compare each row of a group with the table."""
    for number, text in islice(differing(name, load().get(name, [])), 1):
        pytest.fail(HELP.format(name=name, number=number, text=text[:2000]), pytrace=False)
