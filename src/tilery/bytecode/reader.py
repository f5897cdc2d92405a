"""Read a module: the header, the sections, the globals and the functions. Operations are read in `read_body`."""

from __future__ import annotations

from collections.abc import Callable

from ..attrs import ArrayAttr, Attr, OptimizationHints, StrAttr, SymbolVisibility
from ..checking import TYPE_CHECKING
from ..declare.codegen import GiveUp
from ..declare.fastclass import dataclass
from ..declare.gcpause import paused
from ..diag import ErrorKind, TileError, enough_memory
from ..ir import Block, Op, Value
from ..ops import Entry, Global, Module
from ..types import Function, quoted
from ..version import LATEST, READ_ONLY, SUPPORTED, Version
from .attrcodec import read_tagged
from .container import FunctionFlag, container
from .profile import Profile, find_profile
from .read_body import read_body
from .tables import EntryRanges, FileTables, budget
from .wire import ALIGNMENT, MAGIC, Cursor, FileLayout, Mark, Section, SectionHint, enclosing

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

OTHER_FORMATS = {
    b"ML\xefR": "this looks like MLIR bytecode",
    b"\x89PNG": "this looks like a PNG picture",
    b"\x7fELF": "this looks like an ELF file, such as a compiled kernel (cubin)",
    b"PK\x03\x04": "this looks like a zip file; `tilery run --recorded` reads recorded launches",
    b"\x93NUMPY": "this looks like a NumPy array",
    b"\x1f\x8b": "this looks like a gzip file",
}
"""The first bytes of files that people pass by mistake."""
KNOWN_FLAGS = sum(FunctionFlag)
_GlobalRow = dict[str, tuple[int, int]]
"""The offset and the number in each column of a global."""
FAST_FROM = 12 * 1024
"""Generating decoders pays for a single file of at least this many bytes."""


def read(
    data: bytes,
    *,
    file: str = "",
    reader: str | None = None,
    marks: list[Mark] | None = None,
    exact_locs: bool = True,
    fast: bool | None = True,
) -> Module:
    """Read the module in `data`. `reader="13.1"` accepts, refuses and words errors as NVIDIA's 13.1 reader does.

    With `marks`, the meaning of every byte is recorded there, up to the first error. Without `exact_locs`, a location
    may be a different one in the same scope, and the module cannot be written back unchanged. `fast` reads with
    generated decoders, which are kept for later files; None uses them if they pay for this file alone.
    """
    data, profile = bytes(data), find_profile(reader)
    fast = len(data) >= FAST_FROM if fast is None else fast
    with paused, enough_memory("read the module", file) as memory:
        memory.offset = 0
        if fast and marks is None and profile.latest == LATEST:  # decoders know nothing of older readers
            from .decoders import GIVING_UP  # small files do not need it

            try:
                return FileReader(data, profile, None, fast=True, exact_locs=exact_locs, memory=memory).module()
            except GIVING_UP:
                pass  # the slow path finds out why
        try:
            return FileReader(data, profile, marks, memory=memory).module()
        except TileError as e:
            raise settle(e, file) from None


def read_with_offsets(data: bytes, *, reader: str | None = None) -> tuple[Module, list[int]]:
    """Read a file that is known to be readable, and return where each operation starts, in the order of `walk`."""
    file = FileReader(data, find_profile(reader), None)
    file.offsets = offsets = [0]
    with paused:
        return file.module(), offsets


def newer_note(version: Version) -> tuple[str, ...]:
    """Say what to do about a file that is newer than this library."""
    if version <= READ_ONLY:
        return ()
    return (
        f"bytecode {version} is newer than this version of tilery: upgrade tilery, or let the compiler that made the "
        f"file write {SUPPORTED[-1]}",
        f"`tilery info` and `tilery dis --no-verify` show what can be read as if it were {READ_ONLY}",
    )


def settle(e: TileError, file: str) -> TileError:
    """Complete an error before it leaves the reader."""
    e.file = e.file or file
    e.settle(ErrorKind.SYNTAX)
    if not e.message and e.notes:
        e.message = e.notes.pop(0)
    return e


@dataclass(slots=True)
class _Found:
    """The range of a section's payload."""

    start: int
    end: int
    alignment: int


class FileReader:
    """One file being read. If it is `fast`, decoders raise one of `GIVING_UP` where the slow path must take over.

    If it `guesses`, a file of a newer version is read as one of the newest that is known, without unknown sections;
    `too_new` is then the error that it is not.
    """

    def __init__(
        self,
        data: bytes,
        profile: Profile,
        marks: list[Mark] | None,
        *,
        fast: bool = False,
        exact_locs: bool = True,
        guesses: bool = False,
        memory: enough_memory | None = None,
    ) -> None:
        self.memory = memory
        self.guesses = guesses
        self.too_new: TileError | None = None
        self.data, self.profile, self.marks, self.fast, self.exact_locs = data, profile, marks, fast, exact_locs
        self.version, self.tag = SUPPORTED[0], 0
        self.written = self.version
        self.tables = FileTables(data, self.version, profile, marks)
        self.order: list[Section] = []
        self.sections: dict[Section, _Found] = {}
        self.used: dict[Section, int] = {}
        self.location_list: dict[str, int] = {}
        self.offsets: list[int] | None = None

    def module(self) -> Module:
        producer, ops, functions = self.outside()
        for info in functions:
            with enclosing("failed to create function from bytecode"):
                ops.append(self.entry(info))
        exact = self.exact_locs and self.written == self.version and not self._overlapping()
        layout = self._layout() if exact else None
        return Module(producer=producer, body=Block([], ops), version=self.version, layout=layout)

    def outside(self) -> tuple[str | None, list[Op], list[FunctionRow]]:
        """Read everything but the functions: return the producer, the globals, and a row for each function."""
        c = Cursor(self.data, 0, len(self.data), self.marks)
        with enclosing("failed to parse bytecode header"):
            self._header(c)
        self._find_sections(c)
        tables = self.tables = FileTables(self.data, self.version, self.profile, self.marks, self.tag, self.written)
        self._parse(Section.STRING, tables.parse_strings, mandatory=True)
        producer = self._producer()
        self._parse(Section.TYPE, tables.parse_types)
        self._parse(Section.CONSTANT, tables.parse_constants)
        globals_ = self._parse(Section.GLOBAL, self._globals) or []
        functions = self._parse(Section.FUNC, self._functions, mandatory=True) or []
        self._parse(Section.DEBUG, tables.parse_debug)
        if self.fast:
            from .read_body_fast import FastTables

            self.shared = FastTables(tables)
        ops: list[Op] = []
        for row in globals_:
            with enclosing("failed to create global from bytecode"):
                ops.append(self._global(row))
        return producer, ops, functions

    # ------------------------------------------------------------ container

    def _header(self, c: Cursor) -> None:
        for index, expected in enumerate(MAGIC):
            if c.remaining == 0 and not self.profile.missing_bytes_are_zero:
                notes = () if self.data else ("the file is empty",)
                raise TileError(
                    f"truncated bytecode: missing magic byte at position {index}", offset=index, notes=notes
                )
            byte = c.byte() if c.remaining else 0
            if byte != expected:
                hint = tuple(what for start, what in OTHER_FORMATS.items() if self.data.startswith(start))
                hint = hint or (("the file is blank",) if self.data.isspace() else ())
                raise TileError(
                    f"invalid magic number at position {index}, got {byte} expected {expected}",
                    offset=index,
                    notes=hint,
                )
        c.mark(0, "magic")
        start = c.pos
        major, minor = c.byte(), c.byte()
        c.mark(start, f"version {major}.{minor}")
        self.tag = int.from_bytes(c.take(2), "little")
        c.mark(start + 2, f"version tag {self.tag}")
        supported = [v for v in SUPPORTED if v <= self.profile.latest]
        self.written = Version(major, minor)
        if self.written == self.profile.read_only:
            if self.fast:
                raise GiveUp
            self.version = supported[-1]
        elif self.written in supported:
            self.version = self.written
        else:
            window = f"[{supported[0]}{self.profile.window}{supported[-1]}]"
            message = f"unsupported Tile version {major}.{minor}.{self.tag}, this reader supports versions {window}"
            advice = newer_note(self.written)
            self.too_new = TileError(message, kind=ErrorKind.VERSION, offset=start, notes=advice)
            if not self.guesses or (major, minor) < supported[-1]:
                raise self.too_new
            self.version = supported[-1]
            self.written = self.profile.read_only or self.version

    def _find_sections(self, c: Cursor) -> None:
        header = enclosing("failed to parse section header")
        while True:
            with header:
                section, found = self._section_header(c)
            if found is None:
                if c.remaining:
                    raise TileError("end section is not the last section", offset=c.pos)
                return
            if section is not None:
                self._check_alignment(section, found, c)
            if found.end > len(self.data):
                left = len(self.data) - found.start
                raise TileError(
                    f"section length {found.end - found.start} exceeds remaining bytecode data. {left}", offset=c.pos
                )
            c.pos = found.end
            if section is None:
                continue
            if section in self.sections:
                self.order.remove(section)  # the last of several wins, as in NVIDIA's reader
            self.sections[section] = found
            self.order.append(section)

    def _section_header(self, c: Cursor) -> tuple[Section | None, _Found | None]:
        """Return the section, or None if it is not known, and its range, or None at the end of the file."""
        start = c.pos
        if c.remaining < 1:
            raise TileError("unexpected end of data while reading section header", offset=start)
        byte = c.byte()
        number, aligned = byte & 0x7F, byte >= 0x80
        if number == Section.END:
            if aligned:
                raise TileError("end section should not have alignment flag set", offset=start)
            c.mark(start, "end of file")
            return Section.END, None
        known = number <= self.profile.last_section
        if not known and self.too_new is None:
            raise TileError(f"unknown section ID: {number}", offset=start)
        section = Section(number) if known else None
        name = section.name.lower() if section is not None else f"{number}, not known"
        c.mark(start, f"section {name}" + (", aligned" if aligned else ""))
        at = c.pos
        length = c.varint("failed to read section length")
        c.mark(at, f"{length} bytes")
        if length > c.remaining:
            raise TileError(f"section length {length} exceeds remaining data size {c.remaining}", offset=at)
        alignment = 1
        if aligned:
            at = c.pos
            alignment = c.varint()
            c.mark(at, f"alignment {alignment}")
            if alignment == 0 or alignment & (alignment - 1):
                raise TileError(f"invalid alignment value: {alignment}", offset=at)
            c.align(0, alignment)
        return section, _Found(c.pos, c.pos + length, alignment if aligned else 0)

    def _check_alignment(self, section: Section, found: _Found, c: Cursor) -> None:
        needed = ALIGNMENT[section]
        if needed == 1 or (found.alignment and found.alignment % needed == 0):
            return
        has = f"has alignment of {found.alignment}" if found.alignment else "has no alignment flag set"
        raise TileError(
            f"section {section.value} must have alignment that is a multiple of {needed} bytes, but {has}",
            offset=c.pos,
        )

    def _parse(self, section: Section, parse: Callable[[Cursor], T], mandatory: bool = False) -> T | None:
        name = "function" if section is Section.FUNC else section.name.lower()
        found = self.sections.get(section)
        if found is None:
            if mandatory:
                raise TileError(f"{name} section is mandatory", offset=len(self.data))
            return None
        if self.memory is not None:
            self.memory.offset = found.start
        c = Cursor(self.data, found.start, found.end, self.marks)
        with enclosing(f"failed to parse {name} section"):
            result = parse(c)
        self.used[section] = c.pos
        return result

    # ------------------------------------------------------------ small sections

    def _producer(self) -> str | None:
        def parse(c: Cursor) -> str:
            start = c.pos
            index = c.varint("failed to read producer string index")
            text = self.tables.string(index, start, f"failed to get producer string at index {index}")
            c.mark(start, f"producer {text!a}")
            return text

        return self._parse(Section.PRODUCER, parse)

    def _globals(self, c: Cursor) -> list[_GlobalRow]:
        start = c.pos
        count = c.varint("failed to read number of global.")
        c.mark(start, f"{count} globals")
        columns = container(self.version).global_columns
        if count > c.remaining // len(columns):
            raise TileError(
                f"number of globals ({count}) exceeds the maximum of {c.remaining // len(columns)} "
                f"that can fit in the remaining payload of {c.remaining} bytes.",
                offset=start,
            )
        rows: list[_GlobalRow] = []
        for _ in range(count):
            row: _GlobalRow = {}
            for column in columns:
                start = c.pos
                number = c.varint(f"failed to read global {column.words}")
                row[column.name] = start, number
                c.mark(start, f"{column.label} {number}")
            rows.append(row)
        return rows

    def _global(self, row: _GlobalRow) -> Global:
        tables = self.tables
        at, name = row["sym_name"]
        value_at, constant = row["value"]
        if constant >= len(tables.constants):
            raise TileError("global value constant index out of bounds", offset=value_at)
        text = tables.string(name, at, f"failed to get global symbol name string for index {name}")
        if not text and not self.profile.allows_empty_symbols:
            raise TileError(f"global symbol name at index {name} is empty", offset=at)
        type_at, type_index = row["type"]
        t = tables.type(type_index, type_at, "provided type is null")
        if self.offsets is not None:
            self.offsets.append(at)
        _, alignment = row["alignment"]
        alignment -= alignment >> 63 << 64
        made = Global(sym_name=text, value=tables.constant(constant, t, value_at), alignment=alignment)
        if "symbol_visibility" in row:
            at, visibility = row["symbol_visibility"]
            if visibility & 0xFFFFFFFF not in (0, 1):
                raise TileError(f"invalid symbol visibility value: {visibility}", offset=at)
            made.symbol_visibility = SymbolVisibility(visibility & 0xFFFFFFFF)
        if "constant" in row:
            made.constant = row["constant"][1] != 0
        return made

    # ------------------------------------------------------------ functions

    def _functions(self, c: Cursor) -> list[FunctionRow]:
        start = c.pos
        count = c.varint()
        c.mark(start, f"{count} functions")
        size = c.end - start
        if count > size:
            raise TileError(f"number of functions ({count}) exceeds payload size ({size})", offset=start)
        return [self._function(c) for _ in range(count)]

    def _function(self, c: Cursor) -> FunctionRow:
        at = c.pos
        name = c.varint()
        c.mark(at, f"name: string {name}")
        type_at = c.pos
        signature = c.varint()
        c.mark(type_at, f"signature: type {signature}")
        start = c.pos
        flags = c.byte()
        c.mark(start, f"flags {flags:#b}")
        has_attributes = container(self.written).has_function_attributes
        unknown = flags & ~(FunctionFlag.KERNEL if has_attributes else KNOWN_FLAGS)
        if unknown and container(self.version).checks_function_flags:
            raise TileError(f"function entry has unrecognized flag bits (0x{unknown:X});", offset=start)
        start = c.pos
        location = c.varint()
        c.mark(start, f"location list {location}")
        hints: Attr | None = None
        if has_attributes:
            hints = self._function_attributes(c)
        elif flags & FunctionFlag.KERNEL and flags & FunctionFlag.HAS_HINTS:
            hints = read_tagged(c, self.tables)
        start = c.pos
        length = c.varint()
        c.mark(start, f"body of {length} bytes")
        if length > c.remaining:
            raise TileError(
                f"function body length {length} exceeds remaining bytecode data ({c.remaining} bytes)", offset=start
            )
        info = FunctionRow(name, at, signature, type_at, flags, location, hints, c.pos, c.pos + length)
        c.pos += length
        return info

    def _function_attributes(self, c: Cursor) -> Attr | None:
        """Return the hints of a function, None if they are empty; attributes of its arguments are refused."""
        hints = read_tagged(c, self.tables)
        start = c.pos
        arguments = read_tagged(c, self.tables)
        if arguments != ArrayAttr():
            raise TileError(f"attributes of arguments, which bytecode {self.written} has, are not known", offset=start)
        return None if hints == OptimizationHints() else hints

    def function_name(self, info: FunctionRow) -> str:
        failure = f"failed to get function name string at index {info.name}"
        name = self.tables.string(info.name, info.name_at, failure)
        if not name and not self.profile.allows_empty_symbols:
            raise TileError(f"function name at index {info.name} is empty", offset=info.name_at)
        return name

    def entry(self, info: FunctionRow) -> Entry:
        """Decode a function."""
        tables, name = self.tables, self.function_name(info)
        signature = self.signature(info, name)
        loc = tables.location(info.location, 0, info.name_at, f"failed to read function location for '{name}'")
        if not info.flags & FunctionFlag.KERNEL:
            raise TileError(f"un-expected non-entry function '{name}'", offset=info.name_at)
        if info.hints is not None and not isinstance(info.hints, OptimizationHints):
            raise TileError(f"invalid optimization hints attribute for function '{name}'", offset=info.name_at)
        if self.memory is not None:
            self.memory.offset = info.name_at
        tables.value_budget -= len(signature.params)
        if tables.value_budget < 0:
            raise TileError(f"too many parameters for a file of {len(self.data)} bytes", offset=info.type_at)
        args = [Value(t) for t in signature.params]
        block = Block(args)
        if self.offsets is not None:
            self.offsets.append(info.name_at)
        c = Cursor(self.data, info.start, info.end, self.marks, 1)
        with enclosing(f"failed to parse function body for function '{name}'"):
            if self.fast:
                from .read_body_fast import read_fast

                read_fast(c, self.shared, block, info.location, self.exact_locs)
            else:
                read_body(c, tables, block, info.location, self.offsets)
        made = Entry(sym_name=name, function_type=signature, optimization_hints=info.hints, body=block)
        made.loc = loc
        if info.flags & FunctionFlag.PRIVATE and not self.profile.ignores_visibility:
            made.extra = {"sym_visibility": StrAttr("private")}
        if info.location:
            self.location_list[name] = info.location - 1
        return made

    def signature(self, info: FunctionRow, name: str) -> Function:
        tables = self.tables
        if info.signature >= len(tables.types):
            raise TileError(
                f"function signature index {info.signature} out of bounds for function '{name}'", offset=info.type_at
            )
        failure = f"failed to parse type at index {info.signature} for function '{name}"
        signature = tables.type(info.signature, info.type_at, failure)
        if not isinstance(signature, Function):
            raise TileError(
                f"function signature index {info.signature} does not refer to a function type for function '{name}', "
                f"got type: {quoted(signature)}",
                offset=info.type_at,
            )
        return signature

    # ------------------------------------------------------------ layout

    def _entries(self, ranges: EntryRanges, known: dict[int, Any], first: int = 0) -> tuple[Any, ...]:
        """Return the entries of a table: what was decoded, and the bytes of the others. `known` counts from `first`."""
        return tuple([known.get(i + first) or self.data[slice(*ranges.at(i))] for i in range(len(ranges))])

    def _overlapping(self) -> bool:
        """Whether entries overlap so much that no writer made them, and that copies of them could be huge."""
        tables = [r for r in (self.tables.types, self.tables.debug) if r.starts != sorted(r.starts)]
        sizes = (end - start for ranges in tables for start, end in map(ranges.at, range(len(ranges))))
        return sum(size for size in sizes if size > 0) > budget(self.data)

    def _layout(self) -> FileLayout:
        tables = self.tables
        locations = self._location_lists()
        return FileLayout(
            version=self.version,
            tag=self.tag,
            sections=tuple(self._hint(section) for section in self.order),
            strings=tuple(self._all_strings()),
            types=self._entries(tables.types, tables.known_types),
            constants=self._entries(tables.constants, {}),
            constant_uses={key: tuple(uses) for key, uses in tables.constant_uses.items()},
            debug=self._entries(tables.debug, tables.known_debug, 1),
            locations=locations,
            location_list=self.location_list if locations else {},
        )

    def _hint(self, section: Section) -> SectionHint:
        found = self.sections[section]
        used = self.used.get(section, found.end)
        needed = ALIGNMENT[section]
        # Only the function section and empty tables can end before their payload does.
        empty = section in (Section.CONSTANT, Section.TYPE, Section.STRING) and used == found.start + 1
        padded = needed if (empty or section is Section.FUNC) and (found.end - found.start) % needed == 0 else 1
        return SectionHint(section, max(1, found.alignment), padded)

    def _all_strings(self) -> list[str]:
        out: list[str] = []
        for index in range(len(self.tables.strings)):
            try:
                out.append(self.tables.string(index, 0))
            except TileError:
                return out
        return out

    def _location_lists(self) -> tuple[tuple[int, ...], ...]:
        starts, locations = self.tables.location_starts, self.tables.locations
        ends = [*starts[1:], len(locations)]
        if any(a > b for a, b in zip(starts, ends)):
            return ()  # overlapping lists: no writer makes them, and copies of them could be huge
        return tuple(tuple(locations[a:b]) for a, b in zip(starts, ends))


@dataclass(slots=True)
class FunctionRow:
    """The row of a function in the function section."""

    name: int
    name_at: int
    signature: int
    type_at: int
    flags: int
    location: int
    hints: Attr | None
    start: int
    end: int
