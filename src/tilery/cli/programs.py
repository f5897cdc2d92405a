"""A kernel as the verbs about performance take it: bytecode, text, a recorded launch, C++, cuTile or Triton."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..checking import TYPE_CHECKING
from ..diag import TileError
from .files import CommandFailed, open_text, reason
from .options import add_spelling

if TYPE_CHECKING:
    from ..ops import Module

CPP = (".cu", ".cpp", ".cxx", ".cc")
RECORDED = ".zip"


def add_program(parser: argparse.ArgumentParser, optional: bool = False, many: bool = False) -> None:
    """Add the input to a parser, or any number of them, and the options for inputs that must be compiled."""
    parser.add_argument(
        "files" if many else "file",
        metavar="FILE",
        nargs="*" if many else "?" if optional else None,
        help="bytecode, text, a recorded launch (.zip), C++ (.cu) or FILE.py::KERNEL of cuTile or Triton",
    )
    add_spelling(parser)
    add_signature(parser)
    parser.add_argument(
        "--instance", action="append", default=[], metavar="NAME", help="for C++: an instance of a template"
    )
    parser.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="for C++: a header folder")


def add_signature(parser: argparse.ArgumentParser) -> None:
    """Add the option that FILE.py::KERNEL needs."""
    what = "for cuTile and Triton: the arguments, such as 'f32[64, 128], 16'"
    parser.add_argument("--sig", metavar="ARGS", help=what)


def open_program(args: argparse.Namespace, gpu: str) -> Module:
    """Return the legal module that the options name, compiled for a GPU where that matters.

    `args.launch` becomes the recorded launch if the file is one.
    """
    from ..verifier.explain import read_legal

    name: str = args.file
    args.launch = None
    if "::" in name:
        return python_module(name, args.sig or "", gpu)
    if args.sig:
        raise CommandFailed("--sig is for FILE.py::KERNEL of cuTile or Triton")
    if name.endswith(CPP):
        from ..cpp import build

        entry: str | None = getattr(args, "entry", None)
        instances = [*args.instance, entry] if entry and "<" in entry else args.instance
        try:
            program = build(Path(name), instances, include=args.include, gpu=gpu)
        except OSError as error:
            raise CommandFailed(f"cannot read '{name}': {reason(error)}") from None
        if entry:
            args.entry = program.symbol(entry)
        return program.module
    if args.instance or args.include:
        raise CommandFailed(f"--instance and --include are for C++, a file that ends in {', '.join(CPP)}")
    if name.endswith(RECORDED):
        from .. import load
        from ..engines.recorded import load as load_recorded

        try:
            args.launch = load_recorded(name)
        except OSError as error:
            raise CommandFailed(f"cannot read '{name}': {reason(error)}") from None
        return load(args.launch.bytecode)
    return read_legal(open_text(name, args))


def python_module(place: str, signature: str, gpu: str) -> Module:
    """Return the module of a cuTile or Triton kernel; what its file or frontend raises is an error of the input."""
    from ..programs.kernels import language_of

    try:
        if language_of(place) == "triton":
            from .. import triton

            with triton.on("none"):
                from ..triton.modules import find_kernel as find_triton

                return triton.module(find_triton(place), signature)
        from ..cutile.modules import find_kernel, module
        from ..cutile.session import on

        with on("none"):
            return module(find_kernel(place), signature, gpu=gpu)
    except TileError:
        raise
    except Exception as error:  # from the file, or from the frontend, which says where
        import traceback

        raise TileError("".join(traceback.format_exception_only(error)).strip()) from None
