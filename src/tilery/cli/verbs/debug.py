"""`tilery debug`: step through a kernel; and a look inside tilery, for its developers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ..files import CommandFailed, read_input, write_output
from ..options import Verbs, add_spelling, add_version, at_least
from .run import SPEC, add_convention

if TYPE_CHECKING:
    from ...debug.session import Session
    from ...declare.operation import OpDef
    from ...version import Version

RUN = [
    "debug run sum.mlir --grid 4 --arg x=randn:f32:4096 --arg y=zeros:f32:4",
    "debug run script.py",
    "debug run sum.mlir --arg x=rand:f32:64 -x 'catch nan' -x c -x vars",
]
GEN = ["debug gen --decoder negi --version 13.3", "debug gen --encoder addi"]
PROMPT = "(tilery) "

# The kinds of generated functions, and the function that returns their source; imported when first used.
GENERATORS = {
    "decoder": "bytecode.decoders:decoder_source",
    "encoder": "bytecode.encoders:encoder_source",
    "printer": "text.print.quick_lines:printer_source",
    "parser": "text.parse.fast.forms:parser_source",
}


def add(verbs: Verbs) -> None:
    inner = verbs.add_group("debug", "Step through a kernel, forwards and back; print what tilery generates.")
    add_run(inner.add("run", run, RUN))
    sub = inner.add("gen", gen, GEN)
    uses = {"decoder": "reads bytecode", "encoder": "writes bytecode", "printer": "prints text"}
    for kind, use in {**uses, "parser": "parses text"}.items():
        sub.add_argument(f"--{kind}", metavar="OP", help=f"the function that {use}")
    add_version(sub, "the bytecode version; default: the latest")


def add_run(sub: argparse.ArgumentParser) -> None:
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    what = "bytecode, text, a recorded launch (.zip), C++ (.cu), or a Python script with cuTile kernels"
    sub.add_argument("-x", "--execute", action="append", default=[], metavar="CMD", help="a command to start with")
    sub.add_argument("--commands", metavar="FILE", help="a file with commands, one per line; `-` is stdin")
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    add_convention(sub)
    sub.add_argument("--seed", type=at_least(int, 0), default=0, metavar="N", help="for rand and randn; default: 0")
    sub.add_argument("--batch", type=at_least(int, 1), metavar="N", help="tile blocks that run together; default: 64")
    sub.add_argument("--sanitize", metavar="CHECKS", help="stop where a check finds a fault: all, or names")
    sub.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="for C++: a header folder")
    sub.add_argument("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]", help="for C++: a macro")
    add_spelling(sub)
    sub.add_argument("file", metavar="FILE", help=what)
    sub.add_argument("arguments", metavar="ARG", nargs="*", help="the arguments of a script; options after `--`")


def run(args: argparse.Namespace) -> int:
    """Debug a kernel, or the kernels of a cuTile script, at the terminal."""
    from ...debug.programs import Quit
    from ..debugging import debug_program

    scripted = list(args.execute)
    if args.commands:
        scripted += read_input(args.commands).decode("utf-8", "replace").splitlines()
    alone = bool(args.execute or args.commands)
    try:
        debug_program(args, lambda session: converse(session, scripted, alone))
    except Quit:
        return 0
    return 0


def converse(session: Session, scripted: list[str], alone: bool) -> None:
    """Execute commands from a list, then from the user; `alone`: only the list, and then the launch runs to its end."""
    from ...debug.terminal import Terminal

    terminal = Terminal(session, lambda text: write_output("-", text))
    terminal.write(f"@{session.kernel.name}, grid {'x'.join(map(str, session.machine.grid))}; `help` lists commands\n")
    terminal.where("")
    last = ""
    for line in list(scripted):
        terminal.write(f"{PROMPT}{line}\n")
        terminal.execute(line)
    while not alone and not session.ended:
        try:
            line = input(PROMPT)
        except EOFError:
            terminal.write("\n")
            terminal.quit("")
        except KeyboardInterrupt:
            terminal.write("\n")
            continue
        last = line.strip() or last  # an empty line repeats, as in other debuggers
        terminal.execute(last)


def gen(args: argparse.Namespace) -> int:
    """Print the source that tilery generates for an operation."""
    from ...version import LATEST

    wanted = [(kind, name) for kind in GENERATORS if (name := getattr(args, kind)) is not None]
    if not wanted:
        raise CommandFailed("debug gen needs an operation, such as --decoder addi")
    write_output("-", "\n".join(generated(kind, name, args.version or LATEST) for kind, name in wanted))
    return 0


def generated(kind: str, name: str, version: Version) -> str:
    """Return the source of a function that is generated from an operation's declaration."""
    from ...declare.relations import TOP_LEVEL
    from .ops import known_op

    opdef = known_op(name, version)
    if opdef.has(TOP_LEVEL):
        raise CommandFailed(f"'{opdef.mnemonic}' is part of the file's structure; nothing is generated for it")
    module, _, function = GENERATORS[kind].partition(":")
    source: Callable[[OpDef, Version], str] = getattr(import_module(f"tilery.{module}"), function)
    return source(opdef, version)
