"""Reading and writing files: `-` is stdin or stdout, and a failed write leaves the old file untouched."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..checking import TYPE_CHECKING
from ..diag import TileError
from .output import for_stream, quoted

if TYPE_CHECKING:
    from argparse import Namespace

    from ..ops import Module
    from ..source.input import Input
    from ..version import Version

PART = 1 << 16
"""The number of characters written at once."""


class CommandFailed(Exception):
    """The command cannot do what was asked; the exit status is 2."""


def usage_error(error: TileError) -> CommandFailed:
    """Return an error that names no operation as one of the command line, with its notes."""
    return CommandFailed("\n".join([error.message, *(f"note: {note}" for note in error.notes)]))


def reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def read_input(name: str) -> bytes:
    """Return the content of a file, or of stdin for `-`."""
    from ..source.input import read_bounded, read_file

    try:
        if name == "-":
            if sys.stdin is None:
                raise CommandFailed("cannot read '-': stdin is closed")
            return read_bounded(sys.stdin.buffer, shown_name(name))
        return read_file(name)
    except OSError as error:
        raise CommandFailed(f"cannot read '{name}': {reason(error)}") from None
    except TileError as error:
        raise CommandFailed(error.message) from None


def open_input(name: str, reader: str | None = None, *, fast: bool | None = None, module: int | None = None) -> Input:
    """Open bytecode, text, the kernel of a recorded launch or a module inside another file; `-` is stdin.

    `fast=True` pays off if a command reads many files. `module` is the number of a module in another file.
    """
    from ..source.input import Input
    from ..source.recorded import kernel_of

    shown = shown_name(name)
    data = kernel_of(read_input(name), shown)
    if module is not None or (MARK in data and not data.startswith(b"\x7fTileIR")) or BASE64_MARK in data:
        from ..source.embedded import kernel_in

        data = kernel_in(data, shown, module)
    return Input(data, file=shown, reader=reader, fast=fast)


MARK, BASE64_MARK = b"TileIR", b"f1RpbGVJUg"
"""The marker of files that contain bytecode, in two spellings."""


def is_recorded(name: str) -> bool:
    """Whether a file is a recorded launch."""
    from ..source.recorded import ZIP

    if not os.path.isfile(name):  # opening a named pipe would wait for a writer
        return False
    try:
        with open(name, "rb") as opened:
            return opened.read(len(ZIP)) == ZIP
    except OSError:  # reading it as a kernel says why
        return False


def shown_name(name: str) -> str:
    """Return the name of a file as errors show it."""
    return "<stdin>" if name == "-" else name


def open_documented(name: str) -> Input:
    """Open text in the spelling of the documents, or a file in their layout."""
    from .. import show
    from ..documented.files import is_documented_file, read_file
    from ..documented.parsing import parse_documented
    from ..source.input import Input, Kind

    opened = open_input(name)
    if is_documented_file(opened.data):
        with in_file(name):
            return Input(text=show(read_file(opened.data)), file=opened.file)
    if opened.kind is Kind.BYTECODE:
        raise TileError("this is bytecode; --input is about text", file=opened.file)
    try:
        text = opened.data.decode("utf-8")
    except UnicodeDecodeError:
        raise TileError("this is not text: it is not UTF-8", file=opened.file) from None
    return Input(text=text, file=opened.file, parse=parse_documented)


def open_text(name: str, args: Namespace) -> Input:
    """Open a file of bytecode or text in the spelling that `--input` names."""
    return open_documented(name) if args.input == "documented" else open_input(name)


@contextmanager
def in_file(name: str) -> Iterator[None]:
    """Add the name of the file to errors that have none."""
    try:
        yield
    except TileError as error:
        error.file = error.file or shown_name(name)
        raise


def write_bytecode(source: Input, name: str, version: Version | None, locs: bool = False) -> None:
    """Write the legal module of an input as bytecode. `locs` adds the lines of text as locations."""
    from ..bytecode.writer import write
    from ..verifier.explain import read_legal

    module = read_legal(source)
    if locs:
        from ..source.positions import locate_in_text

        locate_in_text(module, source)
    with in_file(source.file):
        data = write(module, version, fast=None)
    write_output(name, data)


def write_output(name: str, content: bytes | str, *, painted: bool = False) -> None:
    """Write to a file, all or nothing, or to stdout for `-`.

    Bytes are not written to a terminal, and control characters in a text are quoted there, unless it is `painted`.
    """
    if name == "-":
        if isinstance(content, str):
            # In parts: encoding a long text at once would double the memory.
            for at in range(0, len(content), PART):
                part = content[at : at + PART]
                sys.stdout.write(part if painted else for_stream(part, sys.stdout))
            return
        if sys.stdout.isatty():
            raise CommandFailed("this is binary and stdout is a terminal; pass -o FILE")
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    try:
        replace_file(name, data)
    except OSError as error:
        raise CommandFailed(f"cannot write '{name}': {reason(error)}") from None


def write_text(module: Module, args: Namespace) -> None:
    """Write a module as text, in colour if that goes to a terminal."""
    from .output import colors, show_text

    text = show_text(module, args)
    if args.output == "-" and colors(args):
        from ..text.print.highlight import to_ansi

        write_painted(text, to_ansi)
    else:
        write_output(args.output, text)


def write_painted(text: str, paint: Callable[[str], str]) -> None:
    """Write text to stdout in colours; control characters of the text itself are quoted."""
    write_output("-", paint(quoted(text)), painted=True)


def replace_file(name: str, data: bytes) -> None:
    """Replace a file in one step. Links are followed, the mode is kept, and devices are written to."""
    try:
        old = os.stat(name)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(name, "wb") as file:  # the links of /dev/stdout and `>(command)` lead to names that do not exist
            file.write(data)
        return
    path = os.path.realpath(name)
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = os.path.join(os.path.dirname(path), f".tilery-{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, path)
    except BaseException:  # an interrupt leaves no temporary file either
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
