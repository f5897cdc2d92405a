"""Bytecode: what readers, writers and the dump make of files, legal or broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

from golden.material import broken_file, files, modules, parsed, rng_of
from golden.material import changed as changed_module
from golden.pieces import changed_pieces
from golden.rooms.text import examples
from golden.shown import error, outcome
from golden.table import group
from tilery.bytecode.decoders import GIVING_UP
from tilery.bytecode.dump import dump
from tilery.bytecode.lazy import LazyModule
from tilery.bytecode.profile import find_profile
from tilery.bytecode.reader import FileReader, read, read_with_offsets
from tilery.bytecode.wire import Mark
from tilery.bytecode.write_body_fast import write_fast
from tilery.bytecode.writer import write, write_with
from tilery.diag import TileError
from tilery.ir import UnknownOp, clone, walk
from tilery.ops import Module
from tilery.text.parse.parser import parse
from tilery.text.print.printer import show
from tilery.version import SUPPORTED

READERS = (None, "13.1", "13.2", "13.3")
PARTS = 4


def quick(data: bytes) -> bool:
    """Return whether the fast reader reads a file to its end."""
    try:
        FileReader(data, find_profile(None), None, fast=True, exact_locs=True).module()
    except GIVING_UP:
        return False
    return True


def as_read(data: bytes, reader: str | None = None) -> str:
    """Describe what both readers make of a file; they must agree."""
    fast = outcome(lambda: read(data, reader=reader, fast=True))
    slow = outcome(lambda: read(data, reader=reader, fast=False))
    assert fast == slow, f"the two readers disagree:\n{fast}\n{slow}"
    return slow


def dumped(data: bytes, reader: str | None = None) -> str:
    found = dump(data, reader=reader)
    stopped = "" if found.error is None else error(found.error)
    marks = [(m.start, m.end, m.depth, m.text) for m in found.marks]
    return f"{found.text}{marks}{stopped}{found._repr_html_()}"


def lazily(data: bytes, guesses: bool = False) -> str:
    try:
        found = LazyModule(data, guesses=guesses)
    except TileError as e:
        return error(e)
    rows = [f"{found.version} {found.producer} {len(found)} {found.too_new}"]
    for name in found:
        rows.append(outcome(lambda name=name: found.signature(name)))  # type: ignore[misc]  # a default binds
        rows.append(outcome(lambda name=name: show(found[name], "generic")))  # type: ignore[misc]  # as above
    whole, errors = found.module()
    return "\n".join([*rows, outcome(lambda: show(whole, "generic", True)), *map(error, errors.values())])


def written(m: Module, shown: bool = True) -> str:
    """Describe the bytecode of a module at every version; the two writers must agree."""
    rows = []
    for version in (None, *SUPPORTED):
        slow = outcome(lambda version=version: write(clone(m), version, fast=False).hex())  # type: ignore[misc]  # a default binds
        fast = outcome(lambda version=version: write(clone(m), version, fast=True).hex())  # type: ignore[misc]  # as above
        assert slow == fast, f"the two writers disagree:\n{slow}\n{fast}"
        rows.append(slow)
        if version is not None:
            try:
                write_with(clone(m), version, write_fast)
                rows.append("quick")
            except GIVING_UP:
                rows.append("slow")
    return "\n".join(rows)


@group("bytecode/as-it-is", 2)
def as_it_is(part: int) -> Iterator[str]:
    for number, data in enumerate(islice(files(), part, None, 2)):
        yield f"{quick(data)} {as_read(data)}"
        yield dumped(data)
        yield lazily(data)
        yield as_read(data, READERS[1 + number % 3])
        marks: list[Mark] = []
        yield outcome(lambda data=data: read(data, exact_locs=False))  # type: ignore[misc]  # a default binds
        yield outcome(lambda data=data, marks=marks: read(data, marks=marks)) + repr(marks)  # type: ignore[misc]  # as above
        try:
            m, offsets = read_with_offsets(data)
        except TileError:
            continue
        again = outcome(lambda m=m: write(m).hex())  # type: ignore[misc]  # as above
        yield f"{offsets} {again == data.hex()} {again}"


@group("bytecode/broken", PARTS)
def broken(part: int) -> Iterator[str]:
    chosen = sorted(files(), key=len)[: len(files()) * 2 // 3]
    for number in range(450):
        rng = rng_of("bytecode", part, number)
        data = broken_file(rng.choice(chosen), rng)
        rows = [str(quick(data)), as_read(data)]
        if number % 3 == 0:
            rows.append(dumped(data))
            rows.append(lazily(data, guesses=number % 2 == 0))
        if number % 4 == 0:
            rows.append(as_read(data, rng.choice(READERS)))
        yield "\n".join(rows)
        if rows[0] == "True" and number % 2:
            m = read(data)
            yield written(m)


@group("bytecode/written", 3)
def modules_written(part: int) -> Iterator[str]:
    for m in islice([*modules(), *parsed()], part, None, 3):
        yield written(m)


@group("bytecode/illegal", 2)
def illegal(part: int) -> Iterator[str]:
    """Modules that break rules are refused by the writer, or written."""
    for number in range(160):
        rng = rng_of("written", part, number)
        if (m := changed_module(rng)) is None:
            continue
        yield written(m)


@group("bytecode/bytes", 3)
def each_byte(part: int) -> Iterator[str]:
    """Each byte of a small file in turn has other values: indices and sizes meet their limits."""
    small = sorted(files(), key=lambda data: (len(data), data))
    chosen = [data for data in small if 60 <= len(data) <= 230][::12]
    for data in islice(chosen, part, None, 3):
        for at in range(4, len(data)):
            old = data[at]
            rows = []
            for new in sorted(
                {0, 1, 2, 3, 4, 5, 6, 9, 16, 127, 128, 255, old + 1 & 255, old - 1 & 255, old ^ 128} - {old}
            ):
                changed = data[:at] + bytes([new]) + data[at + 1 :]
                try:
                    m = read(changed, fast=False)
                    rows.append(show(m, "generic", True))
                except TileError as e:
                    rows.append(error(e))
                if new in (0, 2, old + 1):
                    rows.append(as_read(changed, READERS[at % 4]))
            yield "\n".join(rows)
        yield "\n".join(outcome(partial(read, data[:end])) for end in range(len(data)))


@group("bytecode/sections", 2)
def each_section(part: int) -> Iterator[str]:
    """Each of the first bytes of each section has other values."""
    done: Counter[str] = Counter()
    for data in sorted(files(), key=lambda data: (len(data), data))[part::2]:
        for mark in dump(data).marks:
            name = mark.text.partition(",")[0]
            if not name.startswith("section ") or done[name] >= 4 or len(data) > 1200:
                continue
            done[name] += 1
            for at in range(mark.start, min(mark.start + 44, len(data))):
                old = data[at]
                values = sorted({0, 1, 2, 3, 5, 8, 127, 128, 255, old + 1 & 255, old - 1 & 255, old ^ 128} - {old})
                changed = [data[:at] + bytes([new]) + data[at + 1 :] for new in values]
                yield "\n".join(outcome(partial(read_slowly, each)) for each in changed)


def read_slowly(data: bytes) -> str:
    return show(read(data, fast=False), "generic", True)


@group("bytecode/pieces", 3)
def each_piece(part: int) -> Iterator[str]:
    """Each piece of small files in turn is another number, longer or shorter; the sizes around it stay right."""
    done = 0
    for number, text in enumerate(islice(examples(), part, None, 3)):
        try:
            data = write(parse(text), SUPPORTED[-1 - number % 2])
        except TileError:
            continue
        done += 1
        if done % 4 == 0:
            for at, files in enumerate(changed_pieces(data, number)):
                yield "\n".join(
                    as_read(each, READERS[at % 4] if turn % 3 == 2 else None) for turn, each in enumerate(files)
                )


@group("bytecode/integers")
def each_integer() -> Iterator[str]:
    """Each integer of an example in turn is one at which something may change; it need not be legal."""
    done: set[tuple[str, str]] = set()
    for text in examples():
        try:
            m = parse(text)
        except TileError:
            continue
        for o in list(walk(m)):
            for f in o.opdef.attrs if not isinstance(o, UnknownOp) else ():
                old = getattr(o, f.attr)
                if type(old) is not int or (o.name, f.attr) in done:
                    continue
                done.add((o.name, f.attr))
                for value in (0, 1, -1, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63)):
                    setattr(o, f.attr, value)
                    yield written(m)
                setattr(o, f.attr, old)
