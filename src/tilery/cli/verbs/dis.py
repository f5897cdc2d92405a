"""`tilery dis`: print a file as text."""

from __future__ import annotations

from types import SimpleNamespace

from ...checking import TYPE_CHECKING
from ...diag import TileError
from ..files import open_documented, open_input, write_text
from ..output import report

if TYPE_CHECKING:
    from argparse import Namespace

    from ...ops import Module
    from ...source.input import Input
    from ..options import Verbs


def add(verbs: Verbs) -> None:
    from ..options import add_color, add_input, add_locs, add_names, add_output, add_spelling

    sub = verbs.add("dis", run, ["dis kernel.tileirbc", "dis -g --style opt kernel.tileirbc -o kernel.mlir"])
    add_input(sub)
    add_output(sub)
    add_locs(sub, "print source locations")
    styles = "the style of tileirdisasm (default) or cuda-tile-opt, or MLIR's generic form"
    sub.add_argument("--style", choices=["disasm", "opt", "generic", "documented"], default="disasm", help=styles)
    add_names(sub)
    add_spelling(sub)
    sub.add_argument("--module", type=int, metavar="N", help="which module of an ELF file, fat binary or dump")
    sub.add_argument("--no-verify", action="store_true", help="do not verify the module")
    add_color(sub)


def plain(file: str) -> Namespace:
    """Return the arguments of `tilery dis FILE`."""
    args: Namespace = SimpleNamespace(  # type: ignore[assignment]  # it has the same attributes
        verb="dis", run=run, json=False, file=file, output="-", locs=False, style="disasm", names="disasm",
        input="disasm", module=None, no_verify=False, color="auto",
    )  # fmt: skip
    return args


def run(args: Namespace) -> int:
    """Print bytecode or text as text. An illegal module is printed too, with its errors on stderr."""
    errors: list[TileError] = []
    exact_locs = args.locs or args.style == "documented" or args.names != "disasm"
    source = open_documented(args.file) if args.input == "documented" else open_input(args.file, module=args.module)
    if args.no_verify:
        module, errors = read_partly(source, exact_locs)
    else:
        module, errors = read_unverified(source, exact_locs)
    write_text(module, args)
    for error in errors:
        report(error, args.json)
    return int(bool(errors))


def read_partly(source: Input, exact_locs: bool = True) -> tuple[Module, list[TileError]]:
    """Read a module; of bytecode that cannot be read as a whole, the functions that can, and the others' errors."""
    from ...source.input import Kind

    try:
        return source.read(exact_locs=exact_locs), []
    except TileError as error:
        if source.kind is not Kind.BYTECODE:
            raise
        from ...bytecode.lazy import LazyModule

        try:
            lazy = LazyModule(source.data, file=source.file, reader=source.reader, guesses=True)
            module, errors = lazy.module()
        except TileError:
            raise error from None
        if not module.entries:
            raise
        return module, [*filter(None, [lazy.too_new]), *errors.values()]


def read_unverified(source: Input, exact_locs: bool) -> tuple[Module, list[TileError]]:
    """Read a module, legal or not, and list its errors. Raise an error if it cannot be read at all."""
    from ...verifier.explain import check_input

    found = check_input(source, exact_locs=exact_locs)
    if found.module is None:
        raise found.errors[0]
    return found.module, found.errors
