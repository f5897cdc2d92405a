"""`tilery compile`: the code that an engine makes of a kernel."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ...engines.registry import AUTO, ENGINES
from ..files import CommandFailed, in_file, open_text, write_output
from ..options import Verbs, add_input, add_output, add_spelling

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = [
    "compile k.tileirbc --engine cpu --emit llvm",
    "compile k.mlir --entry k --engine cpu --emit asm -o k.s",
    "compile k.mlir --engine cpu --emit asm --target avx2",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("compile", run, EXAMPLES)
    add_input(sub)
    add_spelling(sub)
    add_output(sub)
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--engine", choices=[*ENGINES, AUTO], default=AUTO, help="what compiles it; default: %(default)s")
    sub.add_argument("--emit", metavar="KIND", help="what to write, such as llvm or asm; default: the engine's first")
    sub.add_argument("--target", metavar="NAME", help="what to compile for; default: this machine")
    sub.add_argument("--exact", action="store_true", help="the reference engine's bits of all functions")


def run(args: argparse.Namespace) -> int:
    """Compile a kernel and write the code that an engine makes of it."""
    from ...engines.registry import find, load_engine
    from ...source.positions import places_from
    from ...verifier.explain import read_legal

    engine: Any = load_engine(args.engine)
    name = find(args.engine).name
    emits: Mapping[str, str] = getattr(engine, "EMITS", {})
    if not emits:
        raise CommandFailed(f"engine '{name}' compiles nothing")
    kind = args.emit or next(iter(emits))
    if kind not in emits:
        known = ", ".join(f"{each} ({what})" for each, what in emits.items())
        raise CommandFailed(f"--emit: engine '{name}' has no '{kind}', expected {known}")
    options = {"target": args.target} if args.target else {}
    if args.exact:
        options["exact"] = True
    source = open_text(args.file, args)
    module = read_legal(source)
    with in_file(args.file), places_from(source):
        made = engine.emit(module, args.entry, kind, **options)
    write_output(args.output, made)
    return 0
