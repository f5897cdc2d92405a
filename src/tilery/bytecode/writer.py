"""Write a module as bytecode of any version; what a version cannot express is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from struct import pack
from typing import Any

from ..attrs import Attr, CallSite, Dense, DILoc, FileLineCol, Loc, StrAttr
from ..declare.fastclass import replace
from ..declare.gcpause import paused
from ..diag import ErrorKind, TileError
from ..ir import Op, Refused, UnknownOp, full_name, walk
from ..ops import Entry, Global, Module
from ..types import Type
from ..version import SUPPORTED, Version
from .attrcodec import Indices, write_tagged
from .container import FunctionFlag, container
from .debuginfo import entry_parts, write_entry
from .decoders import GIVING_UP
from .typecodec import parts, require, write_type
from .wire import ALIGNMENT, DEFAULT_ORDER, MAGIC, U64, FileLayout, Section, SectionHint, encode_text, pad, put_varint
from .write_body import write_body
from .write_body_fast import write_fast

WriteBody = Callable[[Entry, Version, Indices], bytes | bytearray]
FAST_FROM = 1_000
"""Generating encoders pays for a single module of at least this many operations."""


def write(module: Module, version: Version | None = None, *, fast: bool | None = True) -> bytes:
    """Return a module as bytecode.

    Without `version`, use the version the module was read from, or the lowest that can express it. `fast` writes with
    generated encoders, which are kept for later modules; None uses them if they pay for this module alone.
    """
    if fast is None:
        fast = sum(1 for _ in islice(walk(module.body), FAST_FROM)) == FAST_FROM
    with paused:
        return _write(module, module.version if version is None else version, fast)


def _write(module: Module, version: Version | None, fast: bool) -> bytes:
    if version is not None:
        return _write_at(module, version, fast)
    # The producer is dropped only at a version that the caller asked for.
    candidates = [v for v in SUPPORTED if module.producer is None or container(v).has_producer]
    for candidate in candidates[:-1]:
        try:
            return _write_at(module, candidate, fast)
        except TileError:
            continue  # try a newer version; if none works, the newest raises the error
    return _write_at(module, candidates[-1], fast)


def _write_at(module: Module, version: Version, fast: bool) -> bytes:
    if fast:
        try:
            return write_with(module, version, write_fast)
        except GIVING_UP:
            pass  # the slow path says what the version cannot express
    return write_with(module, version, write_body)


def write_with(module: Module, version: Version, body: WriteBody) -> bytes:
    """Return a module as bytecode; `body` is the fast or the slow writer of function bodies."""
    seen = module.layout
    if seen is None or (seen.unused and seen.version == version):
        return _File(module, version, seen, body).encode()
    # Write once to learn what is used, then again with only that, because indices change.
    first = _File(module, version, replace(seen, locations=(), location_list={}), body, learning=True)
    first.sections()
    return _File(module, version, first.used_layout(), body).encode()


_REFUSED_COLUMNS = {
    "symbol_visibility": (
        "global `{name}` uses non-public symbol visibility, which cannot be encoded in bytecode version {version} "
        "(requires bytecode {since}+)"
    ),
    "constant": (
        "constant global `{name}` cannot be encoded in bytecode version {version} "
        "(the `constant` attribute requires bytecode {since}+)"
    ),
}


class _Table:
    """Keys in the order of their indices. If a key has several, the first one is used."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items: list[Any] = list(items)
        self.index: dict[Any, int] = {}
        for number, item in enumerate(items):
            self.index.setdefault(item, number)
        self.used: set[int] = set()

    def number(self, key: Any, parts: Callable[[Any], list[Any]], check: Callable[[Any], None]) -> int:
        """Return the index of a key and mark it as used, after everything it refers to."""
        found = self.index.get(key)
        if found in self.used:
            assert found is not None
            return found
        todo = [key]
        while todo:
            missing = [p for p in parts(todo[-1]) if self.index.get(p) not in self.used]
            if missing:
                todo += reversed(missing)
                continue
            done = todo.pop()
            check(done)
            if done not in self.index:
                self.index[done] = len(self.items)
                self.items.append(done)
            self.used.add(self.index[done])
        return self.index[key]


class _File:
    """One file being written. It assigns the indices of strings, types, constants and debug entries."""

    def __init__(
        self, module: Module, version: Version, seen: FileLayout | None, body: WriteBody, learning: bool = False
    ) -> None:
        self.module, self.version, self.seen, self.body, self.learning = module, version, seen, body, learning
        self.strings = _Table(seen.strings if seen else ())
        self.types = _Table(seen.types if seen else ())
        self.debug = _Table(seen.debug if seen else ())
        self.constants: list[bytes] = list(seen.constants if seen else ())
        self.constant_used: set[int] = set()
        self.new_constants: dict[Dense, int] = {}
        # Reversed, so that the next one can be popped.
        self.constant_uses = {key: list(uses[::-1]) for key, uses in (seen.constant_uses if seen else {}).items()}
        self.locations: list[tuple[int, ...]] = list(seen.locations if seen else ())
        self.taken: set[int] = set()
        """The location lists that are assigned to functions."""

    # ------------------------------------------------------------ indices

    def string(self, text: str) -> int:
        return self.strings.number(text, lambda _: [], lambda _: None)

    def type(self, t: Type) -> int:
        return self.types.number(t, parts, self._require)

    def _require(self, t: Type) -> None:
        require(t, self.version)

    def constant(self, value: Dense) -> int:
        uses = self.constant_uses.get((value.type, value.data))
        if uses:
            number = uses.pop() if len(uses) > 1 else uses[0]
        elif value in self.new_constants:
            number = self.new_constants[value]
        else:
            number = self.new_constants[value] = len(self.constants)
            entry = bytearray()
            put_varint(entry, len(value.data))
            self.constants.append(bytes(entry) + value.data)
        self.constant_used.add(number)
        return number

    def debug_entry(self, node: Attr | None) -> int:
        """Return the index of a debug entry, counted from one; unknown locations and those without a scope are 0."""
        if node is None or isinstance(node, FileLineCol):
            return 0
        return self.debug.number(node, _references, lambda _: None) + 1

    # ------------------------------------------------------------ file

    def encode(self) -> bytes:
        sections = self.sections()
        out = bytearray(MAGIC)
        out += bytes(self.version)
        out += (self.seen.tag if self.seen else 0).to_bytes(2, "little")
        for hint in self._order(sections):
            payload = sections[hint.id]
            pad(payload, hint.padded)
            out.append(hint.id | (0x80 if hint.alignment > 1 else 0))
            put_varint(out, len(payload))
            if hint.alignment > 1:
                put_varint(out, hint.alignment)
                pad(out, hint.alignment)
            out += payload
        out.append(Section.END)
        return bytes(out)

    def _order(self, sections: dict[Section, bytearray]) -> list[SectionHint]:
        if self.seen is None:
            # NVIDIA's writer pads the functions at the end, and omits empty sections.
            return [SectionHint(s, ALIGNMENT[s], 8 if s is Section.FUNC else 1) for s in DEFAULT_ORDER if s in sections]
        known = [hint for hint in self.seen.sections if hint.id in sections]
        missing = [s for s in DEFAULT_ORDER if s in sections and s not in {hint.id for hint in known}]
        return known + [SectionHint(s, ALIGNMENT[s], 1) for s in missing]

    def sections(self) -> dict[Section, bytearray]:
        """Return the payload of every section. The order of writing yields the same indices as NVIDIA's writer."""
        entries = self._entries()
        for o in entries:
            self.string(o.sym_name)
            self.type(o.function_type)
            self._location(o, o.loc)
        out: dict[Section, bytearray] = {}
        out[Section.GLOBAL] = self._globals()
        out[Section.FUNC] = self._functions(entries)
        out[Section.CONSTANT] = self._table(self.constants, 8)
        out[Section.DEBUG] = self._debug()
        out[Section.TYPE] = self._types()
        present = {hint.id for hint in self.seen.sections} if self.seen else set()
        # NVIDIA's reader accepts a producer in files of any version, so one that was read is written back.
        if self.module.producer is not None and (container(self.version).has_producer or Section.PRODUCER in present):
            out[Section.PRODUCER] = bytearray()
            put_varint(out[Section.PRODUCER], self.string(self.module.producer))
        out[Section.STRING] = self._table([encode_text(s) for s in self.strings.items], 4)
        # The string and function sections are mandatory; others are kept if they are not empty or were read.
        # A producer is not empty even if it is string 0.
        keep = present | {Section.STRING, Section.FUNC, Section.PRODUCER}
        return {s: payload for s, payload in out.items() if s in keep or bytes(payload) not in (b"", b"\0")}

    def _entries(self) -> list[Entry]:
        entries: list[Entry] = []
        for o in self.module.body.ops:
            if isinstance(o, Entry):
                entries.append(o)
            elif not isinstance(o, Global):
                raise self._invalid(o, "only function and global ops are allowed in the body")
        return entries

    def _invalid(self, o: Op, rule: str) -> Refused:
        return Refused(self.module, f"'cuda_tile.module' op {rule}", (o, f"invalid op: {full_name(o)}"))

    @staticmethod
    def _table(items: list[bytes], width: int, before: bytearray | None = None) -> bytearray:
        """Return count, offsets and entries; `before` is the start of the section."""
        out = bytearray() if before is None else before
        put_varint(out, len(items))
        if items or before is not None:
            pad(out, width)
        offset = 0
        for item in items:
            out += offset.to_bytes(width, "little")
            offset += len(item)
        return out + b"".join(items)

    def _types(self) -> bytearray:
        return self._table(self._written(self.types, lambda t: write_type(t, self.version, self.type)), 4)

    def _written(self, table: _Table, write: Callable[[Any], bytes]) -> list[bytes]:
        """Return the entries of a table. While learning, omit unused ones: writing one would mark more as used."""
        items = [(n, item) for n, item in enumerate(table.items) if not self.learning or n in table.used]
        return [item if isinstance(item, bytes) else write(item) for _, item in items]

    # ------------------------------------------------------------ globals and functions

    def _globals(self) -> bytearray:
        out = bytearray()
        rows = self.module.globals
        columns = container(self.version).global_columns
        put_varint(out, len(rows))
        for o in rows:
            _refuse_extra(o, o.extra)
            self._refuse_absent(o)
            numbers = {
                "sym_name": self.string(o.sym_name),
                "type": self.type(o.value.type),
                "value": self.constant(o.value),
                "alignment": o.alignment & U64,
                "symbol_visibility": o.symbol_visibility.num,
                "constant": int(o.constant),
            }
            for column in columns:
                put_varint(out, numbers[column.name])
        return out

    def _refuse_absent(self, o: Global) -> None:
        """Refuse a global that needs a column which this version does not have."""
        for column in container(self.version).absent_columns:
            f = o.opdef.field(column.name)
            if getattr(o, f.attr) != f.default_of(o):
                text = _REFUSED_COLUMNS[column.name]
                raise TileError(
                    text.format(name=o.sym_name, version=self.version, since=f.since),
                    kind=ErrorKind.VERSION,
                    field=f.name,
                )

    def _functions(self, entries: list[Entry]) -> bytearray:
        out = bytearray()
        put_varint(out, len(entries))
        for o in entries:
            put_varint(out, self.string(o.sym_name))
            put_varint(out, self.type(o.function_type))
            has_hints = FunctionFlag.HAS_HINTS if o.optimization_hints is not None else 0
            out.append(_visibility(o) | FunctionFlag.KERNEL | has_hints)
            ops = list(walk(o.body))
            if UnknownOp in set(map(type, ops)):
                unknown = next(inner for inner in ops if isinstance(inner, UnknownOp))
                raise self._invalid(unknown, "only ops from the 'cuda_tile' dialect are allowed")
            put_varint(out, self._location_list(o, ops))
            if o.optimization_hints is not None:
                write_tagged(out, o.optimization_hints, self)
            body = self.body(o, self.version, self)
            put_varint(out, len(body))
            out += body
        return out

    # ------------------------------------------------------------ debug information

    def _location(self, o: Op, loc: Loc | None) -> int:
        try:
            return self.debug_entry(loc)
        except TileError as e:
            e.notes.append(f"the location of {o.name}")
            raise

    def _location_list(self, o: Entry, ops: list[Op]) -> int:
        """Return the number of the function's location list, or 0 if nothing has a location."""
        known: dict[Loc | None, int] = {None: 0}
        for inner in (o, *ops):
            if inner.loc not in known:
                known[inner.loc] = self._location(inner, inner.loc)
        wanted = tuple([known[inner.loc] for inner in (o, *ops)])
        number = self.seen.location_list.get(o.sym_name) if self.seen else None
        if number is not None and number in self.taken and self.locations[number][: len(wanted)] != wanted:
            number = None  # another function uses it
        if number is None:
            if not any(wanted):
                return 0
            number = len(self.locations)
            self.locations.append(())
        self.taken.add(number)
        # Entries after the function's own locations are unused, but may stay.
        self.locations[number] = wanted + self.locations[number][len(wanted) :]
        return number + 1

    def _debug(self) -> bytearray:
        out = bytearray()
        kept = self.seen is not None and any(hint.id is Section.DEBUG for hint in self.seen.sections)
        if not self.locations and not self.debug.items and not kept:
            return out
        put_varint(out, len(self.locations))
        pad(out, 4)
        offset = 0
        for numbers in self.locations:
            out += offset.to_bytes(4, "little")
            offset += len(numbers)
        put_varint(out, offset)
        pad(out, 8)
        for numbers in self.locations:
            out += pack(f"<{len(numbers)}Q", *numbers)
        entries = self._written(self.debug, lambda node: write_entry(node, self.string, self.debug_entry))
        return self._table(entries, 4, out)

    # ------------------------------------------------------------ layout of what is used

    def used_layout(self) -> FileLayout:
        """Return the layout of the file that was read, without what is unused."""
        assert self.seen is not None
        seen = self.seen
        constants = [n for n in range(len(seen.constants)) if n in self.constant_used]
        moved = {old: new for new, old in enumerate(constants)}
        uses = {key: tuple(moved[n] for n in numbers if n in moved) for key, numbers in seen.constant_uses.items()}
        # NVIDIA's reader refuses an empty debug section.
        has_debug = bool(self.locations or self.debug.used)
        return replace(
            seen,
            sections=tuple(hint for hint in seen.sections if has_debug or hint.id is not Section.DEBUG),
            strings=_kept(seen.strings, self.strings),
            types=_kept(seen.types, self.types),
            constants=tuple(seen.constants[n] for n in constants),
            constant_uses={key: numbers for key, numbers in uses.items() if numbers},
            debug=_kept(seen.debug, self.debug),
        )


def _kept(items: tuple[Any, ...], table: _Table) -> tuple[Any, ...]:
    return tuple(item for number, item in enumerate(items) if number in table.used)


def _references(node: Attr) -> list[Attr]:
    """Return the debug entries that a node refers to, without unknown locations and those without a scope."""
    if isinstance(node, Loc) and not isinstance(node, (DILoc, CallSite)):
        raise TileError(f"unsupported location, got {type(node).__name__}, expected DILocAttr or CallSiteLoc")
    return [
        value
        for form, value in entry_parts(node)
        if form not in (str, int) and value is not None and not isinstance(value, FileLineCol)
    ]


def _refuse_extra(o: Op, extra: dict[str, Attr] | None) -> None:
    if extra:
        raise TileError(
            f"bytecode cannot hold the discardable attribute '{next(iter(extra))}'", notes=(f"operation: {o.name}",)
        )


def _visibility(o: Entry) -> int:
    extra = dict(o.extra or {})
    value = extra.pop("sym_visibility", None)
    _refuse_extra(o, extra)
    for attrs in (o.arg_attrs, o.res_attrs):
        if any(getattr(a, "items", ()) for a in attrs or ()):
            raise TileError("bytecode cannot hold attributes of parameters", notes=(f"entry @{o.sym_name}",))
    if value is None or value == StrAttr("public"):
        return 0
    if value == StrAttr("private"):
        return FunctionFlag.PRIVATE
    raise TileError("bytecode cannot hold this 'sym_visibility'", notes=(f"entry @{o.sym_name}",))
