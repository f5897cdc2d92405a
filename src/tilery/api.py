"""The functions of the public API."""

from __future__ import annotations

from collections.abc import Sequence

from .checking import TYPE_CHECKING
from .diag import enough_memory
from .source.input import Input, Source
from .version import Version

if TYPE_CHECKING:
    from typing import Any, Literal, overload

    from .analysis.differences import Diff
    from .bytecode.dump import Dump
    from .bytecode.lazy import LazyModule
    from .engines.common.kernel import Kernel
    from .ir import Op
    from .ops import Module
    from .rewrite import Report
    from .tuner import Result
    from .verifier.rules import Violation


if TYPE_CHECKING:

    @overload
    def load(source: Source, *, reader: str | None = None, verify: bool = True) -> Module: ...

    @overload
    def load(source: Source, *, reader: str | None = None, lazy: Literal[True]) -> LazyModule: ...


def load(source: Source, *, reader: str | None = None, verify: bool = True, lazy: bool = False) -> Module | LazyModule:
    """Read a module from a file or from bytes; whether it is bytecode or text is detected from the content.

    `reader="13.1"` accepts, refuses and words errors as NVIDIA's tools of version 13.1 do. There are 13.1, 13.2, 13.3
    and 13.4, which is the default.
    Raise TileError if anything is wrong with the input. `verify=False` accepts an illegal module, for inspection.

    `lazy=True` reads bytecode function by function: the result maps names to functions, each of which is decoded, and
    not verified, when it is asked for. One that cannot be read does not hide the others.
    """
    with enough_memory("read the module") as memory:
        memory.offset = 0
        if lazy:
            from .bytecode.lazy import LazyModule

            opened = Input.open(source, reader=reader)
            return LazyModule(opened.data, file=opened.file, reader=reader)
        return _read(Input.open(source, reader=reader), verify)


def _read(source: Input, verify: bool) -> Module:
    from .verifier.explain import read_legal

    module = read_legal(source) if verify else source.read()
    if source.is_text:
        from .source.positions import keep_source

        keep_source(module, source)
    return module


def dumps(module: Module, version: Version | str | None = None, *, verify: bool = True) -> bytes:
    """Return a module as bytecode; raise TileError if it is not legal. `verify=False` writes it unchecked.

    Without `version`, use the version the module was read from, or the lowest that can express it.
    """
    from .bytecode.writer import write

    with enough_memory("write the module"):
        if verify:
            from .verifier.explain import require_legal

            require_legal(module, "verify=False writes the module as it is")
        return write(module, None if version is None else Version.parse(version))


def dump(source: Source, *, reader: str | None = None) -> Dump:
    """Annotate bytecode as a hexdump: `.text` is for people, `.marks` for programs, `.error` stopped the reader."""
    from .bytecode.dump import dump as annotate

    with enough_memory("annotate the file"):
        opened = Input.open(source)
        return annotate(opened.data, file=opened.file, reader=reader)


def parse(
    text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False, verify: bool = True
) -> Module:
    """Read a module from text. `verify=False` accepts an illegal module, for inspection."""
    from functools import partial

    from .text.parse.parser import parse_with_spans

    parser = partial(parse_with_spans, allow_unregistered=allow_unregistered, testing=testing)
    with enough_memory("parse the module"):
        return _read(Input(text=text, file=file, parse=parser), verify)


def diff(a: Module, b: Module, *, locs: bool = False) -> Diff:
    """Compare the structure of two modules: `str` of the result is a unified diff, and it is false if they are equal.

    >>> a = parse("entry @k(%x: tile<i32>) { %0 = addi %x, %x : tile<i32> return }")
    >>> diff(a, optimize(a))
    <diff: 1 lines removed, 0 added>
    """
    from .analysis.differences import Diff, compare

    with enough_memory("compare the modules"):
        return Diff(compare(a, b, locs))


def verify(
    module: Module, *, stop: str | None = None, max_errors: int = 100, reader: str | None = None
) -> list[Violation]:
    """List the violations in a module; it is legal if there are none.

    `stop="mlir"` stops where MLIR's verifier does, after the first operation that is wrong. `reader` is the version
    of NVIDIA's verifier, as in `load`.
    """
    from .verifier.verify import verify as find

    with enough_memory("verify the module"):
        return find(module, stop=stop, max_errors=max_errors, reader=reader)


def optimize(
    module: Module, passes: str | Sequence[str] = "canonicalize,cse", *, report: Report | None = None
) -> Module:
    """Run passes on a copy of a module and return it; the module is verified before and after.

    `passes` are names with options, `loop-split{split-threshold=3},canonicalize`, or a pipeline in mlir-opt's syntax.
    `report` receives how often each rule fired, and remarks.
    """
    from .ir import clone
    from .passes import parse_pipeline, run_pipeline
    from .verifier.explain import require_legal

    passes = passes if isinstance(passes, str) else ",".join(passes)
    pipeline = parse_pipeline(passes)
    with enough_memory("optimise the module"):
        require_legal(module, "passes need a legal module")
        copy: Module = clone(module)
        done = run_pipeline(copy, pipeline)
        require_legal(copy, "a pass broke the module", after=passes)
    if report is not None:
        report.add(done)
    return copy


def compile(
    module: Module, entry: str | None = None, *, engine: str = "reference", poison: bool = False, **options: Any
) -> Kernel:
    """Compile a kernel of a module, ready to launch; without `entry`, the only kernel.

    With `poison`, floats that a load leaves undefined are NaN: elements outside the tensor of a view without a padding
    value, and masked elements without padding. Without it the CPU engines load 0 there.

    `options` belong to the engine. Each call loads the module again, with its own globals: for kernels that share
    globals, use `tilery.exec.launch.Loaded`.
    """
    from .engines.registry import compile_kernel, find
    from .source.positions import places_from
    from .verifier.explain import require_legal

    find(engine)
    with enough_memory("compile the module"):
        require_legal(module, "only a legal module can be executed")
        with places_from(module):
            if poison:
                from .rewrite.poison import poison_padding

                module = poison_padding(module)
            return compile_kernel(module, entry, engine=engine, **options)


def tune(module: Module, grid: int | Sequence[int], args: Sequence[Any] = (), **options: Any) -> Result:
    """Find the fastest way to compile a kernel for this machine's GPU, and remember it for engine "gpu".

    The options are those of `tilery.tuner.tune`: `entry`, `convention`, `engine` (tileiras, triton or all), `budget` in
    seconds, and more. The arguments are copied, and stay as they are.
    """
    from .tuner import tune as search

    with enough_memory("tune the kernel"):
        return search(module, grid, args, **options)


def show(module: Op, *, style: str = "disasm", locs: bool = False, names: str = "disasm") -> str:
    """Print a module, or one operation, as text.

    `style` is disasm (as tileirdisasm prints), opt (as cuda-tile-opt does) or generic. Style and names can
    also be `documented`, see `tilery.documented`. `names="source"` names values after the variables of the source, as
    far as debug information leads to them, and parameters as the builder named them.
    """
    with enough_memory("print the module"):
        if names == "source" and style != "documented":
            from .ops import Module as ModuleOp
            from .source.names import source_names
            from .text.print.chosen import parameter_names, show_named

            found = source_names(module) if isinstance(module, ModuleOp) else {}
            return show_named(module, parameter_names(module) | found, style, locs)
        if names != "disasm" or style == "documented":
            from .documented.printing import show as print_documented

            return print_documented(module, style, locs, names)
        from .text.print.printer import show as print_module

        return print_module(module, style=style, locs=locs)
