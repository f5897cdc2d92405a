"""The programs of `tilery debug run` and `tilery dap`: a kernel with arguments, a recorded launch, C++, or a script."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Any

from ..diag import TileError
from .files import CommandFailed, open_text, reason
from .programs import CPP, RECORDED

if TYPE_CHECKING:
    from ..debug.programs import Front

TEXTS = ("entry", "convention", "sanitize")
"""Options of a `launch` request that are text."""


def debug_program(args: argparse.Namespace, front: Front) -> None:
    """Run the program that the options name; `front` is called for each launch of a kernel."""
    from ..debug.programs import debug_script

    if args.file.endswith(".py"):
        if not os.path.exists(args.file):
            raise CommandFailed(f"cannot read '{args.file}': no such file or directory")
        debug_script(args.file, args.arguments, front, batch=args.batch, sanitize=args.sanitize or "")
        return
    if args.arguments:
        raise CommandFailed(f"'{args.arguments[0]}': only Python scripts have arguments; a kernel has --arg")
    if args.file.endswith(RECORDED):
        debug_recorded(args, front)
    else:
        debug_kernel(args, front)


def debug_kernel(args: argparse.Namespace, front: Front) -> None:
    """Debug one launch of a kernel."""
    from .. import compile
    from ..debug.programs import finish
    from ..debug.session import Session
    from .arguments import check_types, make_arguments
    from .verbs.run import parse_grid

    module = open_module(args)
    grid, arguments = parse_grid(args.grid or "1"), make_arguments(args.arg, args.seed)
    try:
        kernel = compile(module, args.entry)
        check_types(arguments, kernel.params, args.convention)
        session = Session(
            kernel,
            grid,
            [argument.value for argument in arguments],
            names=[argument.name for argument in arguments],
            convention=args.convention,
            batch=args.batch,
            sanitize=args.sanitize or "",
            uninit=[argument.value for argument in arguments if argument.is_uninit],
            outputs=[argument.value for argument in arguments if argument.is_output],
        )
    except TileError as error:
        raise CommandFailed(error.message) from None
    front(session)
    finish(session)


def open_module(args: argparse.Namespace) -> Any:
    """Return the module of a file of bytecode, text or C++; text keeps its lines."""
    from ..source.positions import keep_source
    from ..verifier.explain import read_legal

    if args.file.endswith(CPP):
        from pathlib import Path

        from ..cpp import build

        instances = [args.entry] if args.entry and "<" in args.entry else []
        try:
            options: dict[str, Any] = {name: getattr(args, name, []) for name in ("include", "define")}
            program = build(Path(args.file), instances, **options)
        except OSError as error:
            raise CommandFailed(f"cannot read '{args.file}': {reason(error)}") from None
        args.entry = program.symbol(args.entry)
        return program.module
    source = open_text(args.file, args)
    module = read_legal(source)
    if source.is_text:
        keep_source(module, source)
    return module


def debug_recorded(args: argparse.Namespace, front: Front) -> None:
    """Debug a recorded launch."""
    from .. import compile, load
    from ..debug.programs import finish
    from ..debug.session import Session
    from ..engines.common.cutile_abi import ArrayExtent
    from ..observe.arrays import array_arguments
    from .recorded import arguments_of, open_recorded

    recorded = open_recorded(args.file, 8 << 30)
    placed = recorded.place()
    kernel = compile(load(recorded.bytecode), recorded.entry)
    known = arguments_of(recorded, kernel.loaded.module.entry(recorded.entry), placed)
    arrays = array_arguments(kernel.params, [each.value for each in known], recorded.names, None)
    memory = [ArrayExtent(", ".join(b.names), *place) for b, place in zip(recorded.buffers, placed.buffers)]
    session = Session(
        kernel,
        recorded.grid,
        placed.arguments,
        names=recorded.names,
        buffers=memory,
        arrays=arrays,
        batch=args.batch,
        sanitize=args.sanitize or "",
    )
    front(session)
    finish(session)


def from_editor(given: dict[str, Any]) -> argparse.Namespace:
    """Return the options that a `launch` request of an editor stands for."""
    program = given.get("program")
    if not isinstance(program, str) or not program:
        raise TileError("launch: expected `program`, the file to debug")
    grid = given.get("grid", 1)
    if isinstance(given.get("cwd"), str) and os.path.isdir(given["cwd"]):
        os.chdir(given["cwd"])
    return argparse.Namespace(
        file=program,
        arguments=_words(given, "args"),
        grid=",".join(map(str, grid)) if isinstance(grid, list) else str(grid),
        arg=_words(given, "arg"),
        seed=_number(given, "seed", 0) or 0,
        include=_words(given, "include"),
        define=_words(given, "define"),
        input="disasm",
        batch=_number(given, "batch", 1),
        **{name: _text(given, name) for name in TEXTS},
    )


def _words(given: dict[str, Any], name: str) -> list[str]:
    value = given.get(name) or []
    try:
        if isinstance(value, str):
            return shlex.split(value)
    except ValueError as error:
        raise TileError(f"launch: `{name}`: {error}") from None
    if not isinstance(value, list):
        raise TileError(f"launch: expected a list or a text for `{name}`, got {value!r}")
    return [str(each) for each in value]


def _number(given: dict[str, Any], name: str, least: int) -> int | None:
    value = given.get(name)
    if value is not None and (not isinstance(value, int) or value < least):
        raise TileError(f"launch: expected a number from {least} for `{name}`, got {value!r}")
    return value


def _text(given: dict[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise TileError(f"launch: expected a text for `{name}`, got {value!r}")
    return value or None
