"""The functions of the public API."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from .diag import TileError
from .version import Version

if TYPE_CHECKING:
    from .bytecode.dump import Dump
    from .engines.kernel import Kernel
    from .ops import Module
    from .rewrite import Report
    from .verifier.verify import Finding

Source = str | PathLike[str] | bytes | bytearray | memoryview


def load(source: Source, *, reader: str | None = None, verify: bool = True) -> Module:
    """Read a module from a file or from bytes; bytecode and text are told apart by how they start.

    `reader="13.1"` accepts, refuses and words errors as NVIDIA's 13.1 reader does; the default is 13.4.
    Anything wrong with the input raises TileError; `verify=False` lets an illegal module pass, to look at it.
    """
    data, file = _bytes_of(source)
    module = read_any(data, file=file, reader=reader)
    if verify:
        _require_legal(module, data, file)
    return module


def read_any(data: bytes, *, file: str = "", reader: str | None = None, places: bool = True) -> Module:
    """A module from bytecode or text, not verified. Without `places` it takes less time, see `bytecode.reader.read`."""
    # Only what is needed is imported: a command on a small file spends most of its time on that.
    if is_text(data):
        from .text.parse.parser import parse as parse_text

        return parse_text(data.decode("utf-8"), file=file)
    from .bytecode.reader import read

    return read(data, file=file, reader=reader, places=places)


def _require_legal(module: Module, data: bytes, file: str) -> None:
    from .verifier.verify import verify as find

    if findings := find(module, max_errors=1, dominance=is_text(data)):
        from .verifier.explain import explain

        raise explain(module, findings, data, file)[0]


def dumps(module: Module, version: Version | str | None = None) -> bytes:
    """Bytecode of a module: at `version`, or at the one it was read from, or at the lowest that can express it."""
    from .bytecode.writer import write

    return write(module, None if version is None else Version.parse(version))


def dump(source: Source, *, reader: str | None = None) -> Dump:
    """An annotated hexdump; `.text` is for people, `.marks` for programs, `.error` what stopped the reader."""
    from .bytecode.dump import dump as annotate

    data, file = _bytes_of(source)
    return annotate(data, file=file, reader=reader)


def parse(
    text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False, verify: bool = True
) -> Module:
    """Read a module from text; `verify=False` lets an illegal module pass, to look at it."""
    from .text.parse.parser import parse_with_places
    from .verifier.verify import verify as find

    parsed = parse_with_places(text, file=file, allow_unregistered=allow_unregistered, testing=testing)
    for finding in find(parsed.module, max_errors=1) if verify else ():
        raise parsed.error(finding.op, finding.message, *finding.notes, *(note for _, note in finding.related))
    return parsed.module


def verify(module: Module, *, stop: str | None = None, max_errors: int = 100) -> list[Finding]:
    """All that is illegal in a module; an empty list means that it is legal. `stop="mlir"` ends where MLIR does."""
    from .verifier.verify import verify as find

    return find(module, stop=stop, max_errors=max_errors)


def optimize(
    module: Module, passes: str | Sequence[str] = "canonicalize,cse", *, report: Report | None = None
) -> Module:
    """A copy of a module that passes have changed; it is verified before and after.

    `passes` are names with options, `loop-split{split-threshold=3},canonicalize`, or a pipeline as mlir-opt takes it.
    `report` is filled with how often each rule fired and with remarks.
    """
    from .ir import clone
    from .passes import parse_pipeline, run_pipeline
    from .verifier.verify import verify as find

    passes = passes if isinstance(passes, str) else ",".join(passes)
    pipeline = parse_pipeline(passes)
    for finding in find(module, max_errors=1):
        raise TileError(f"{finding.op.name}: {finding.message}", notes=("passes need a legal module",))
    copy: Module = clone(module)
    done = run_pipeline(copy, pipeline)
    for finding in find(copy, max_errors=1):
        where = f"after {passes}: {finding.op.name}"
        raise TileError(f"{where}: {finding.message}", notes=("a pass broke the module",))
    if report is not None:
        report.add(done)
    return copy


def compile(module: Module, entry: str | None = None, *, engine: str = "reference", **options: Any) -> Kernel:
    """Compile a kernel of a module, ready to launch; without `entry`, the only kernel.

    `options` belong to the engine. Each call loads the module again, with its own globals: for kernels that share
    globals, use `tilery.exec.launch.Loaded`.
    """
    from .engines.registry import compile_kernel, find

    find(engine)
    for finding in verify(module, max_errors=1):
        raise TileError(f"{finding.op.name}: {finding.message}", notes=("only a legal module can be executed",))
    return compile_kernel(module, entry, engine=engine, **options)


def show(module: Module, *, style: str = "disasm", locs: bool = False, names: str = "disasm") -> str:
    """The text of a module: `style` is disasm (as tileirdisasm prints), opt (as cuda-tile-opt does) or generic.

    Style and names can also be `documented`, see `tilery.documented`.
    """
    if names != "disasm" or style == "documented":
        from .documented.printing import show as print_documented

        return print_documented(module, style, locs, names)
    from .text.print.printer import show as print_module

    return print_module(module, style=style, locs=locs)


def _bytes_of(source: Source) -> tuple[bytes, str]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), ""
    file = fspath(source)
    with open(file, "rb") as opened:
        return opened.read(), file


def is_text(data: bytes) -> bool:
    """Text is UTF-8 without zero bytes, and does not start as bytecode does."""
    if data.startswith(b"\x7f") or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(data.strip())
