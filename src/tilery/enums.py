"""The closed sets of keywords that types and operations take."""

from __future__ import annotations

from enum import Enum

from .diag import TileError
from .version import V13_1, V13_4, Version


class TileEnum(Enum):
    """Base of the enums. A member is `NAME = number`, or `NAME = number, keyword, since`."""

    num: int
    text: str
    since: Version

    def __new__(cls, num: int, text: str = "", since: Version = V13_1) -> TileEnum:
        member = object.__new__(cls)
        member._value_ = num
        member.num, member.text, member.since = num, text, since
        return member

    def __init__(self, *_: object) -> None:
        self.text = self.text or self.name.lower()

    @classmethod
    def _missing_(cls, value: object) -> TileEnum | None:
        """Find a member by its keyword: `RoundingMode("zero")`."""
        if not isinstance(value, str):
            return None
        for member in cls:
            if value in (member.text, member.name):
                return member
        allowed = ", ".join(member.text for member in cls)
        raise TileError(f"{value!r} is not a {cls.__name__}, expected one of {allowed}")

    # Members are singletons. Hashing by identity takes a quarter of the time that Enum's own hash takes.
    __hash__ = object.__hash__


class RoundingMode(TileEnum):
    """How an inexact result is rounded."""

    NEAREST_EVEN = 0
    ZERO = 1
    NEGATIVE_INF = 2
    POSITIVE_INF = 3
    APPROX = 4
    FULL = 5
    NEAREST_INT_TO_ZERO = 6
    NEAREST_AWAY = 7, "nearest_away", V13_4


class IntegerOverflow(TileEnum):
    """A promise of the program about wrap-around. Breaking it is undefined behaviour."""

    NONE = 0
    NSW = 1, "no_signed_wrap"
    NUW = 2, "no_unsigned_wrap"
    NW = 3, "no_wrap"


class Signedness(TileEnum):
    """How the bits of an integer are interpreted."""

    UNSIGNED = 0
    SIGNED = 1


class ComparisonPredicate(TileEnum):
    """The kind of a comparison."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS_THAN = 2
    LESS_THAN_OR_EQUAL = 3
    GREATER_THAN = 4
    GREATER_THAN_OR_EQUAL = 5


class ComparisonOrdering(TileEnum):
    """The result of a comparison with NaN: false if ordered, true if unordered."""

    UNORDERED = 0
    ORDERED = 1


class AtomicRMWMode(TileEnum):
    """The operation of an atomic read-modify-write."""

    AND = 0
    OR = 1
    XOR = 2
    ADD = 3
    ADDF = 4
    MAX = 5
    MIN = 6
    UMAX = 7
    UMIN = 8
    XCHG = 9


class MemoryOrderingSemantics(TileEnum):
    """How strongly an access is ordered."""

    WEAK = 0
    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4


class MemoryScope(TileEnum):
    """The set of threads among which an access is ordered."""

    TL_BLK = 0
    DEVICE = 1
    SYS = 2


class SymbolVisibility(TileEnum):
    """Whether a symbol is visible outside the module."""

    PUBLIC = 0
    PRIVATE = 1


class PaddingValue(TileEnum):
    """The value that a load through a view returns for an element outside the tensor."""

    ZERO = 0
    NEG_ZERO = 1
    NAN = 2
    POS_INF = 3
    NEG_INF = 4


class PtrAttr(TileEnum):
    """The kind of a pointer. NVIDIA's tools know only this one; absent differs from `none`."""

    NONE = 0, "none", V13_4
