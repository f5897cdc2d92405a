"""The tables of a file. Entries are decoded on first use, so a broken entry that is unused is not an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from struct import unpack

from ..attrs import Attr, Dense, Loc, dense_problem
from ..checking import TYPE_CHECKING
from ..declare.codegen import GiveUp
from ..diag import TileError
from ..types import I1, Tile, Type, quoted
from ..version import READ_ONLY, Version
from .profile import Profile
from .typecodec import read_type
from .wire import Cursor, Mark, brief_type, decode_text, enclose, silent

if TYPE_CHECKING:
    import re
    from types import ModuleType
    from typing import Any

MAX_NESTING = 100
"""The deepest nesting of types, attributes and debug entries."""


class EntryRanges:
    """The byte ranges of a table's entries."""

    __slots__ = ("end", "start", "starts")

    def __init__(self, start: int = 0, end: int = 0, starts: list[int] | None = None) -> None:
        self.start, self.end = start, end
        self.starts = starts or []

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, index: int) -> tuple[int, int]:
        """Return the start and the end of an entry; in a broken file the end may be before the start."""
        last = index + 1 == len(self.starts)
        return self.start + self.starts[index], self.end if last else self.start + self.starts[index + 1]


def budget(data: bytes) -> int:
    """Return how many bytes of type entries, or parameters of functions, a file may use in all.

    Entries that overlap and signatures that functions share could otherwise ask for memory of the square of its size.
    """
    return 2 * len(data) + (1 << 16)


class _TooDeep(Exception):
    """A debug entry is too deep in a chain of references to be read now."""

    def __init__(self, index: int) -> None:
        self.index = index


class FileTables:
    """Strings, types, constants and debug information of one file."""

    def __init__(
        self,
        data: bytes,
        version: Version,
        profile: Profile,
        marks: list[Mark] | None,
        tag: int = 0,
        written: Version | None = None,
    ) -> None:
        self.data, self.version, self.profile, self.marks = data, version, profile, marks
        self.written = written or version
        """The version that the file says it has; `version` is that of the module it becomes."""
        self.version_text = f"{self.written}.{tag}" if tag else str(self.written)
        self.strings, self.types, self.constants, self.debug = (
            EntryRanges(),
            EntryRanges(),
            EntryRanges(),
            EntryRanges(),
        )
        self.locations: list[int] = []
        self.location_starts: list[int] = []
        self.known_strings: dict[int, str] = {}
        self.known_types: dict[int, Type] = {}
        self.known_debug: dict[int, Attr | None] = {}
        self.known_scopes: dict[bytes, Attr | None] = {}
        self.known_dense: dict[tuple[Type, int], tuple[Dense, list[int]]] = {}
        self.constant_uses: dict[tuple[Type, bytes], list[int]] = {}
        self.known_bytes: dict[int, bytes] = {}
        self.string_budget = 64 * len(data) + (1 << 20)
        self.type_budget = self.value_budget = budget(data)
        self._busy: list[tuple[str, int]] = []

    # ------------------------------------------------------------ strings

    def parse_strings(self, c: Cursor) -> None:
        self.strings = self._offsets(c, 4, "strings")

    def string(self, index: int, offset: int, failure: str = "") -> str:
        """Return a string; `offset` is where it is referred to."""
        found = self.known_strings.get(index)
        if found is None:
            try:
                found = self.known_strings[index] = self._decode_string(index, offset)
            except TileError as e:
                raise enclose(e, failure) if failure else e from None
        return found

    def _decode_string(self, index: int, offset: int) -> str:
        if index >= len(self.strings):
            raise TileError(f"string index {index} out of bounds", offset=offset)
        # NVIDIA's reader computes the length in 32 bits and clamps both ends to the section.
        start, end = self.strings.at(index)
        length = (end - start) & 0xFFFFFFFF
        start = min(start, self.strings.end)
        end = min(start + length, self.strings.end)
        self.string_budget -= end - start
        if self.string_budget < 0:
            raise TileError("the strings of the string section overlap too much", offset=offset)
        return decode_text(self.data[start:end])

    def read_string(self, c: Cursor, failure: str = "") -> str:
        start = c.pos
        return self.string(c.varint(failure), start, failure)

    # ------------------------------------------------------------ types

    def parse_types(self, c: Cursor) -> None:
        self.types = self._offsets(c, 4, "types")

    def read_type(self, c: Cursor, failure: str = "") -> Type:
        start = c.pos
        return self.type(c.varint(failure), start, failure)

    def type(self, index: int, offset: int, failure: str = "") -> Type:
        """Return a type; `offset` is where it is referred to."""
        found = self.known_types.get(index)
        if found is None:
            try:
                found = self.known_types[index] = self._decode_type(index, offset)
            except TileError as e:
                raise enclose(e, failure) if failure else e from None
        return found

    def _decode_type(self, index: int, offset: int) -> Type:
        entry = self._entry(self.types, "type", index, offset)
        self.type_budget -= entry.remaining
        if self.type_budget < 0:
            raise TileError("the types of the type section overlap too much", offset=offset)
        self._busy.append(("type", index))
        try:
            return read_type(entry, self.version, self.profile, self.read_type, self.version_text)
        finally:
            self._busy.pop()

    def _entry(self, ranges: EntryRanges, kind: str, index: int, offset: int) -> Cursor:
        """Return a cursor over one entry. NVIDIA's reader has no messages for what is refused here."""
        if index >= len(ranges):
            raise silent(f"{kind} {index} does not exist, there are {len(ranges)}", offset)
        if (kind, index) in self._busy:
            raise silent(f"{kind} {index} refers to itself", offset)
        if len(self._busy) >= MAX_NESTING:
            raise TileError(f"{kind}s refer to one another more than {MAX_NESTING} deep", offset=offset)
        start, end = ranges.at(index)
        if end < start or end > ranges.end:
            raise silent(f"{kind} {index} is outside its section", offset)
        return Cursor(self.data, start, end, self.marks, 1)

    # ------------------------------------------------------------ constants

    def parse_constants(self, c: Cursor) -> None:
        base, start = c.pos, c.pos
        count = c.count()
        c.mark(start, f"{count} constants")
        if count == 0:
            return
        c.align(base, 8)
        if c.remaining // 8 < count:
            raise TileError("insufficient data for constant indices", offset=c.pos)
        starts = self._read_offsets(c, 8, count, "constant")
        ranges = EntryRanges(c.pos, c.end, starts)
        size = c.end - c.pos
        for index in range(count):
            first = starts[index]
            last = starts[index + 1] if index + 1 < count else size
            if last < first:
                raise TileError(
                    f"invalid constant start indices: end ({last}) is less than start ({first}) for constant {index}",
                    offset=c.pos,
                )
            if last > size:
                raise TileError(
                    f"constant {index} extends beyond available data: "
                    f"size={last - first}, start={first}, total data size={size}",
                    offset=c.pos,
                )
        self.constants = ranges

    def read_constant(self, c: Cursor, t: Type | None) -> Dense:
        start = c.pos
        index = c.varint("failed to read constant index")
        if index >= len(self.constants):
            raise TileError(f"constant index {index} out of bounds", offset=start)
        return self.constant(index, t, start)

    def use_constant(self, t: Type, index: int) -> Dense:
        """Like `constant`, for the fast reader."""
        found = self.known_dense.get((t, index))
        if found is None:
            if index >= len(self.constants):
                raise TileError(f"constant index {index} out of bounds")
            return self.constant(index, t, 0)
        found[1].append(index)
        return found[0]

    def constant(self, index: int, t: Type | None, offset: int) -> Dense:
        """Return a constant as a value of type `t`."""
        if not isinstance(t, Tile):
            got = "expect Cuda Tile integer or float type but got: '<<NULL TYPE>>'"
            raise TileError("provided type is null" if t is None else got, offset=offset)
        found = self.known_dense.get((t, index))
        if found is None:
            dense = self._decode_constant(index, t)
            found = self.known_dense[t, index] = dense, self.constant_uses.setdefault((t, dense.data), [])
        found[1].append(index)
        return found[0]

    def _decode_constant(self, index: int, t: Tile) -> Dense:
        start, end = self.constants.at(index)
        c = Cursor(self.data, start, end, self.marks, 1)
        if not hasattr(t.element, "bits"):
            raise TileError(f"expect Cuda Tile integer or float type but got: {quoted(t)}", offset=start)
        length = c.varint("failed to read the size of the data buffer")
        c.mark(start, f"constant {index}: {length} bytes")
        start = c.pos
        data = c.take(length, "failed to read the raw byte data")
        data = self.known_bytes.setdefault(index, data)  # constants of several types share their bytes
        why = dense_problem(t, data)
        if why is not None:
            raise TileError(self.profile.say_prefixed(why), offset=start)
        if (
            self.profile.splats_whole_bytes
            and t.element is I1
            and t.size > 8
            and length == 1
            and data[0] not in (0, 255)
        ):
            raise TileError("failed to validate buffer size and format", offset=start)
        if c.marks is not None:
            c.mark(start, f"elements of {brief_type(t)}")
        return Dense(t, data)

    # ------------------------------------------------------------ debug information

    def parse_debug(self, c: Cursor) -> None:
        base = c.pos
        self.location_starts = self._counted(c, base, 4, "operations with debug info", "index offset", "index offsets")
        self.locations = self._counted(c, base, 8, "debug info indices", "indices", "indices")
        count = self._count_of(c, "debug info attributes", 4)
        c.align(base, 4, "failed to skip padding for debug info offset pointer")
        if c.remaining == 0:
            raise TileError("failed to read debug info offset pointer", offset=c.pos)
        starts = self._read_offsets(c, 4, count, "debug entry", "failed to skip debug info offsets")
        self.debug = EntryRanges(c.pos, c.end, starts)

    def _counted(self, c: Cursor, base: int, width: int, what: str, padding: str, skipped: str) -> list[int]:
        count = self._count_of(c, what, 0)
        c.align(base, width, f"failed to skip padding for debug info {padding} pointer")
        if self.profile.bounds_location_lists and count > c.remaining // width:
            raise self._too_many(what, count, c, width)
        if c.remaining == 0:
            dot = "." if width == 4 else ""
            raise TileError(f"failed to read debug info {padding} pointer{dot}", offset=c.pos)
        label = "location list" if width == 4 else "location"
        return self._read_offsets(c, width, count, label, f"failed to skip debug info {skipped}")

    def _count_of(self, c: Cursor, what: str, width: int) -> int:
        start = c.pos
        count = c.varint(f"failed to read total number of {what}")
        c.mark(start, f"{count} {what}")
        if width and count > c.remaining // width:
            raise self._too_many(what, count, c, width)
        return count

    def location(self, index: int, k: int, offset: int, failure: str) -> Loc | None:
        """Return the k-th location of list `index`; list 0 means that nothing has a location."""
        if index == 0:
            return None
        if index > len(self.location_starts):
            why = f"location list {index} does not exist, there are {len(self.location_starts)}"
            raise silent(why, offset, failure)
        position = self.location_starts[index - 1] + k
        if position >= len(self.locations):
            raise silent(f"location list {index} has no entry {k}", offset, failure)
        try:
            found = self.debug_entry(self.locations[position], offset)
        except TileError as e:
            raise enclose(e, failure) from None
        if found is not None and not isinstance(found, Loc):
            raise silent(f"debug entry {self.locations[position]} is not a location", offset, failure)
        return found

    def debug_entry(self, index: int, offset: int) -> Attr | None:
        """Return entry `index`, counted from one; 0 is the unknown location."""
        if self._busy:
            return self._debug_entry(index, offset)
        # Inlined calls make long chains. If one is too deep for recursion, its inner part is read first.
        wanted = [index]
        while True:
            try:
                found = self._debug_entry(wanted[-1], offset)
            except _TooDeep as deep:
                if deep.index in wanted:
                    raise silent(f"debug entry {deep.index - 1} refers to itself", offset) from None
                if len(wanted) >= MAX_NESTING:
                    raise TileError(f"debug entries refer to one another more than {MAX_NESTING**2} deep") from None
                wanted.append(deep.index)
            else:
                wanted.pop()
                if not wanted:
                    return found

    def _debug_entry(self, index: int, offset: int) -> Attr | None:
        if index == 0:
            return None
        if index not in self.known_debug:
            if len(self._busy) >= MAX_NESTING:
                raise _TooDeep(index)
            entry = self._entry(self.debug, "debug entry", index - 1, offset)
            self._busy.append(("debug entry", index - 1))
            try:
                self.known_debug[index] = self.debuginfo.read_entry(
                    entry, self.read_string, self._read_debug_ref, has_flags=self.written == READ_ONLY
                )
            finally:
                self._busy.pop()
        return self.known_debug[index]

    def quick_debug_entry(self, index: int) -> Attr | None:
        """Like `debug_entry`, for the fast reader: read an entry without a cursor if all that it refers to is known."""
        data, known, base, starts = self.data, self.known_debug, self.debug.start, self.debug.starts
        if not index or index in known or index >= len(starts):  # the last one ends with the section
            return self.debug_entry(index, 0)
        try:
            start = base + starts[index - 1]
            found: Attr
            found, at = self.quick_reader(data[start])(data, start + 1, self.known_strings, known)
            if at <= base + starts[index] <= self.debug.end:
                known[index] = found
                return found
        except (GiveUp, IndexError, KeyError):
            pass  # it refers to a new entry, or is broken
        return self.debug_entry(index, 0)

    @cached_property
    def location_entry(self) -> Callable[[bytes, int, int], re.Match[bytes] | None]:
        """Match a location in the debug section; the first group is its scope and its file."""
        import re

        return re.compile(self.debuginfo.LOCATION_ENTRY).match

    @cached_property
    def quick_reader(self) -> Callable[[int], Any]:
        """Return the fast reader of a kind of entry."""
        made: Callable[[int], Any] = self.debuginfo.quick_reader
        return made

    @cached_property
    def debuginfo(self) -> ModuleType:
        """The layout of debug information, which few small files have."""
        from . import debuginfo

        return debuginfo

    def scoped_entry(self, index: int) -> Attr | None:
        """Like `quick_debug_entry`, but return any location in the same scope and file."""
        base, starts = self.debug.start, self.debug.starts
        if 0 < index < len(starts) and (end := base + starts[index]) <= self.debug.end:
            entry = self.location_entry(self.data, base + starts[index - 1], end)
            if entry is not None:
                if entry[1] not in self.known_scopes:
                    self.known_scopes[entry[1]] = self.quick_debug_entry(index)
                return self.known_scopes[entry[1]]
        return self.quick_debug_entry(index)

    def _read_debug_ref(self, c: Cursor, form: Any, failure: str) -> Attr | None:
        start = c.pos
        index = c.varint(failure)
        try:
            found = self.debug_entry(index, start)
        except TileError as e:
            raise enclose(e, failure) from None
        if found is None and form is Loc:
            return None
        if isinstance(found, Attr) and isinstance(found, form):
            return found
        raise silent(f"debug entry {index} is of a different kind", start, failure)

    # ------------------------------------------------------------ shared

    def _offsets(self, c: Cursor, width: int, what: str) -> EntryRanges:
        base = start = c.pos
        count = c.varint()
        c.mark(start, f"{count} {what}")
        if count == 0:
            return EntryRanges()
        if count > c.remaining // width:
            raise self._too_many(what, count, c, width)
        c.align(base, width)
        if c.remaining == 0:
            raise silent("the section ends before its offsets", c.pos)
        starts = self._read_offsets(c, width, count, what[:-1])
        return EntryRanges(c.pos, c.end, starts)

    def _read_offsets(self, c: Cursor, width: int, count: int, what: str, failure: str = "") -> list[int]:
        start = c.pos
        data = c.take(count * width, failure)
        values = list(unpack(f"<{count}{'I' if width == 4 else 'Q'}", data))
        if c.marks is not None:
            for index, value in enumerate(values):
                at = start + index * width
                c.marks.append(Mark(at, at + width, f"{what} {index} at {value}", c.depth))
        return values

    def _too_many(self, what: str, count: int, c: Cursor, width: int) -> TileError:
        return TileError(
            f"number of {what} ({count}) exceeds the maximum of {c.remaining // width} "
            f"that can fit in the remaining payload of {c.remaining} bytes.",
            offset=c.pos,
        )
