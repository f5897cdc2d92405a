"""The container of each version: the columns of globals, the flags of functions, the producer."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

from ..declare.fastclass import dataclass
from ..ops import Global
from ..version import READ_ONLY, V13_1, V13_3, V13_4, Version


class FunctionFlag(IntEnum):
    """The bits of a function's flags. They are plain integers when combined, because `IntFlag` is slow."""

    PRIVATE = 1
    KERNEL = 2
    HAS_HINTS = 4


PRODUCER_SINCE = V13_3
"""The first version whose writers store a producer. Readers accept one in a file of any version."""

FUNCTION_FLAGS_CHECKED_SINCE = V13_4
"""The first version in which unknown flags of a function are an error."""


@dataclass(frozen=True, slots=True)
class GlobalColumn:
    """A number in the row of a global: its name, its label in a hexdump, NVIDIA's name, and its first version."""

    name: str
    label: str
    words: str
    since: Version = V13_1


def _newer(name: str, label: str, words: str) -> GlobalColumn:
    return GlobalColumn(name, label, words, Global.opdef.field(name).since)


GLOBAL_COLUMNS = (
    GlobalColumn("sym_name", "name: string", "symbol name string."),
    GlobalColumn("type", "type", "value type"),
    GlobalColumn("value", "value: constant", "value constant index"),
    GlobalColumn("alignment", "alignment", "alignment"),
    _newer("symbol_visibility", "visibility", "symbol visibility"),
    _newer("constant", "constant", "constant flag"),
)


@dataclass(frozen=True, slots=True)
class Container:
    """The container of a version."""

    global_columns: tuple[GlobalColumn, ...]
    absent_columns: tuple[GlobalColumn, ...]
    has_producer: bool
    checks_function_flags: bool
    has_function_attributes: bool
    """Every function has hints, which may be empty, and a list of attributes for its arguments."""


@cache
def container(version: Version) -> Container:
    """Return the container of `version`."""
    return Container(
        tuple(column for column in GLOBAL_COLUMNS if column.since <= version),
        tuple(column for column in GLOBAL_COLUMNS if column.since > version),
        has_producer=version >= PRODUCER_SINCE,
        checks_function_flags=version >= FUNCTION_FLAGS_CHECKED_SINCE,
        has_function_attributes=version == READ_ONLY,
    )
