"""The functions of the public API."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from .diag import TileError
from .version import Version

if TYPE_CHECKING:
    from .bytecode.dump import Dump
    from .ops import Module

Source = str | PathLike[str] | bytes | bytearray | memoryview


def load(source: Source, *, reader: str | None = None) -> Module:
    """Read a module from a file or from bytes; bytecode and text are told apart by how they start.

    `reader="13.1"` accepts, refuses and words errors as NVIDIA's 13.1 reader does; the default is 13.4.
    Anything wrong with the input raises TileError.
    """
    from .bytecode.reader import read

    data, file = _bytes_of(source)
    if not _is_text(data):
        return read(data, file=file, reader=reader)
    return parse(data.decode("utf-8"), file=file)


def dumps(module: Module, version: Version | str | None = None) -> bytes:
    """Bytecode of a module: at `version`, or at the one it was read from, or at the lowest that can express it."""
    from .bytecode.writer import write

    return write(module, None if version is None else Version.parse(version))


def dump(source: Source, *, reader: str | None = None) -> Dump:
    """An annotated hexdump; `.text` is for people, `.marks` for programs, `.error` what stopped the reader."""
    from .bytecode.dump import dump as annotate

    data, file = _bytes_of(source)
    return annotate(data, file=file, reader=reader)


def parse(text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False) -> Module:
    """Read a module from text."""
    from .text.parser import parse as parse_text

    return parse_text(text, file=file, allow_unregistered=allow_unregistered, testing=testing)


def show(module: Module, *, style: str = "disasm", locs: bool = False) -> str:
    """The text of a module: `style` is disasm (as tileirdisasm prints), opt (as cuda-tile-opt does) or generic."""
    from .text.printer import show as print_module

    return print_module(module, style=style, locs=locs)


def _bytes_of(source: Source) -> tuple[bytes, str]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), ""
    file = fspath(source)
    return Path(file).read_bytes(), file


def _is_text(data: bytes) -> bool:
    """Text is UTF-8 without zero bytes, and does not start as bytecode does."""
    if b"\0" in data or data.startswith(b"\x7f"):
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(data.strip())


__all__ = ["TileError", "dump", "dumps", "load", "parse", "show"]
