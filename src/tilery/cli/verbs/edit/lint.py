"""`tilery lint`: find mistakes in kernels without running them."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ....checking import TYPE_CHECKING
from ....diag import TileError
from ...files import CommandFailed, open_text, read_input, write_output
from ...options import Verbs, add_color
from ...output import PICTURES, as_json, colors, report
from ...programs import CPP, RECORDED, add_program, open_program

if TYPE_CHECKING:
    from ....source.input import Input


class LintOptions(TypedDict):
    """The rules to apply."""

    rules: list[str]
    ignore: list[str]
    trial: bool


EXAMPLES = [
    "lint kernel.mlir",
    "lint --ignore unused-argument *.tileirbc",
    "lint --fix kernel.mlir",
    "lint softmax.py::softmax --sig 'f32[64, 1024], f32[64, 1024]'",
    "lint --explain missing-token",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("lint", run, EXAMPLES, json_result=True)
    add_program(sub, many=True)
    sub.add_argument("--rules", metavar="NAMES", default="", help="run only these rules, separated by commas")
    sub.add_argument("--ignore", metavar="NAMES", default="", help="do not run these rules")
    sub.add_argument("--no-trial", action="store_true", help="do not launch kernels on made-up arguments")
    sub.add_argument("--fix", action="store_true", help="change files of text: make all fixes that are safe")
    sub.add_argument("--sarif", metavar="OUT", help="also write the findings as SARIF, `-` is stdout")
    sub.add_argument("--list", action="store_true", help="list the rules, and exit")
    sub.add_argument("--explain", metavar="RULE", help="print the page of a rule, and exit")
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """Find mistakes in kernels without running them."""
    if args.list or args.explain:
        return describe(args)
    if not args.files:
        raise CommandFailed("lint needs a FILE")
    if args.fix and "-" in args.files:
        raise CommandFailed("--fix writes files back, but stdin is not a file")
    names: LintOptions = {"rules": listed(args.rules), "ignore": listed(args.ignore), "trial": not args.no_trial}
    check_names(names)
    found: list[TileError] = []
    failed = False
    for name in args.files:
        try:
            found += lint_file(name, args, names)
        except TileError as error:
            error.file = error.file or name
            failed = True
            report(error, args.json)
    if args.sarif:
        from ....lint.show import sarif

        write_output(args.sarif, as_json(sarif(found)))
    if args.json:
        write_output("-", as_json([error.as_dict() for error in found]))
    elif args.sarif != "-":
        write_output("-", "".join(shown(each, args) for each in found), painted=True)
    return int(failed or any(each.facts["severity"] != "note" for each in found))


def listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def check_names(names: LintOptions) -> None:
    from ....lint.driver import chosen

    try:
        chosen(names["rules"], names["ignore"])
    except TileError as error:
        raise CommandFailed(error.message) from None


def lint_file(name: str, args: argparse.Namespace, names: LintOptions) -> list[TileError]:
    """Lint a file of bytecode or text, a recorded launch, or a program."""
    from ....lint.driver import lint, lint_input, place

    if "::" in name or name.endswith((*CPP, RECORDED)):
        args.file = name
        return place(lint(open_program(args, "sm_100"), **names))
    if name.endswith(".py"):
        return lint_script(name, args, names)
    if args.sig or args.instance or args.include:
        raise CommandFailed("--sig, --instance and --include are for programs that must be compiled")
    source = open_text(name, args)
    if args.fix:
        source = fix(source, name, names)
    return lint_input(source, **names)


def lint_script(name: str, args: argparse.Namespace, names: LintOptions) -> list[TileError]:
    """Lint the kernels of a cuTile file whose arguments a comment states: `# tilery: f32[1024], 16`."""
    from ....lint.driver import lint, place
    from ....lsp.python import kernels
    from ...programs import python_module

    text = read_input(name).decode("utf-8", "replace")
    known = [kernel for kernel in kernels(text) if kernel.signature is not None]
    if not known:
        message = "no comment states the arguments of a kernel, such as `# tilery: f32[1024], 16` above it"
        raise TileError(message, file=name, notes=("or pass FILE.py::KERNEL and --sig",))
    found: list[TileError] = []
    for kernel in known:
        found += place(lint(python_module(f"{name}::{kernel.name}", kernel.signature or "", "sm_100"), **names))
    return found


def fix(source: Input, name: str, names: LintOptions) -> Input:
    """Make the safe fixes in a file of text, and return its new content."""
    from ....lint.driver import fixed
    from ....source.input import Input

    if source.text is None:
        raise TileError("--fix changes text, and this is bytecode", file=name)
    text, count = fixed(source.text, file=name, rules=names["rules"], ignore=names["ignore"])
    if count:
        write_output(name, text)
    return Input(text=text, file=source.file, parse=source.parse)


def shown(error: TileError, args: argparse.Namespace) -> str:
    """Return a finding as lines for people."""
    text = error.render(color=colors(args), clean=lambda text: text.translate(PICTURES))
    return text.replace("error: ", f"{error.facts['severity']}: ", 1) + "\n"


def describe(args: argparse.Namespace) -> int:
    """List the rules, or print the page of one."""
    from ....lint.driver import chosen
    from ....lint.pages import explain
    from ....lint.rules import RULES

    if args.explain:
        try:
            write_output("-", explain(chosen([args.explain])[0]))
        except TileError as error:
            raise CommandFailed(error.message) from None
        return 0
    if args.json:
        rows = [{"id": r.id, "severity": r.severity.value, "summary": r.summary} for r in RULES.values()]
        write_output("-", as_json(rows))
        return 0
    width = max(map(len, RULES))
    write_output("-", "".join(f"{r.id:{width}}  {r.severity.value:7}  {r.summary}\n" for r in RULES.values()))
    return 0
