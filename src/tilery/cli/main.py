"""The command line: one verb per subcommand. Results go to stdout, errors to stderr."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..diag import Note, TileError
from .files import Stop, open_input, read_input, reason, shown_name, write_output
from .options import EXIT, Help, PrintVersion, Verbs, add_input, add_locs, add_output, add_spelling, add_version

if TYPE_CHECKING:
    from ..ops import Module
    from ..source.input import Input


# ---------------------------------------------------------------- reading any input


def load_any(name: str) -> Module:
    """Read a legal module from a file of bytecode or text."""
    return read_legal(open_input(name))


def read_legal(source: Input) -> Module:
    """Read a module; raise its first violation if it is illegal."""
    from ..verifier.explain import require_legal

    module = source.read()
    require_legal(module, source=source)
    return module


def open_documented(name: str) -> Input:
    """Open a text as documents write it."""
    from ..documented.parsing import parse_documented
    from ..source.input import Input, Kind

    opened = open_input(name)
    if opened.kind is Kind.BYTECODE:
        raise TileError("this is bytecode; --input is about text", file=opened.file)
    try:
        text = opened.data.decode("utf-8")
    except UnicodeDecodeError:
        raise TileError("this is no text: it is not UTF-8", file=opened.file) from None
    return Input(text=text, file=opened.file, parse=parse_documented)


@contextmanager
def place(name: str) -> Iterator[None]:
    """Put the name of the file into errors."""
    try:
        yield
    except TileError as error:
        error.file = error.file or shown_name(name)
        raise


def show_text(module: Module, args: argparse.Namespace) -> str:
    """The text of a module in the style that the options ask for."""
    from .. import show

    style, names = getattr(args, "style", "disasm"), getattr(args, "names", "disasm")
    return show(module, style=style, locs=getattr(args, "locs", False), names=names)


def as_json(data: object, indent: int | None = 2) -> str:
    import json

    return json.dumps(data, indent=indent) + "\n"


# ---------------------------------------------------------------- the verbs


def dump(args: argparse.Namespace) -> int:
    """Show what every byte of a bytecode file means."""
    from .. import dump as annotate

    if args.documented:
        from ..documented import dump_records as annotate  # type: ignore[assignment]  # they take the same
    found = annotate(read_input(args.file))
    for line in found.lines():
        write_output("-", line + "\n")
    if found.error is not None:
        with place(args.file):
            raise found.error
    return 0


def info(args: argparse.Namespace) -> int:
    """Say what a file holds: version, producer, kernels, globals, operations."""
    from .show import info_data, info_text

    source = open_input(args.file)
    facts = info_data(read_legal(source), args.file, len(source.data), source.kind.value)
    write_output("-", as_json(facts) if args.json else info_text(facts))
    return 0


def check(args: argparse.Namespace) -> int:
    """Verify that files are legal Tile IR, and list all that is wrong with them."""
    from .check import check_reports, report_data

    reports = check_reports(args)
    if args.json:
        write_output("-", as_json([report_data(found) for found in reports]))
    else:
        for found in reports:
            for error in found.errors:
                report(error)
            for warning in found.warnings:
                report(warning, kind="warning")
    return int(not all(found.legal for found in reports))


def convert(args: argparse.Namespace) -> int:
    """Write bytecode of another version, or say by name what that version cannot express."""
    return assemble(args)


def assemble(args: argparse.Namespace) -> int:
    """Turn text into bytecode."""
    from .. import dumps

    documented = getattr(args, "input", "") == "documented"
    module = read_legal(open_documented(args.file) if documented else open_input(args.file))
    with place(args.file):
        data = dumps(module, args.version)
    write_output(args.output, data)
    return 0


def disassemble(args: argparse.Namespace) -> int:
    """Print a file, bytecode or text, as text; an illegal module too, with what is wrong with it on stderr."""
    from .check import read_unverified

    errors: list[TileError] = []
    exact_locs = args.locs or "documented" in (args.style, args.names)
    opener = open_documented if args.input == "documented" else open_input
    if args.no_verify:
        module = opener(args.file).read(exact_locs=exact_locs)
    else:
        module, errors = read_unverified(opener(args.file), exact_locs)
    write_output(args.output, show_text(module, args))
    for error in errors:
        report(error, args.json)
    return int(bool(errors))


def fmt(args: argparse.Namespace) -> int:
    """Bring text into the standard form."""
    from ..source.input import Kind
    from .show import comments

    if args.in_place and "-" in args.files:
        raise Stop("-i writes files back, stdin is none")
    wrong = 0
    for name in args.files:
        source = open_input(name)
        if source.kind is Kind.BYTECODE:
            raise TileError("this is bytecode; `tilery dis` prints it as text", file=name)
        old, new = source.data, show_text(read_legal(source), args).encode("utf-8", "surrogateescape")
        if args.check:
            if new != old:
                sys.stderr.write(f"{name}: not in the standard form\n")
                wrong = 1
        elif not args.in_place:
            write_output("-", new)
        elif new != old:
            if (lost := comments(old)) and not args.drop_comments:
                raise TileError(
                    f"{lost} comments would be lost, the file is left as it is",
                    file=name,
                    notes=("pass --drop-comments to format it all the same",),
                )
            write_output(name, new)
    return wrong


def diff(args: argparse.Namespace) -> int:
    """Compare the structure of two files, each bytecode or text; names and layout do not count."""
    from .show import first_difference, unified

    a, b = load_any(args.a), load_any(args.b)
    why = first_difference(a, b, args.locs)
    if args.json:
        write_output("-", as_json({"equal": why is None, "difference": why}))
    elif why is not None:
        text = unified(show_text(a, args), show_text(b, args), args.a, args.b)
        write_output("-", f"first difference: {why}\n{text}")
    return int(why is not None)


def ops(args: argparse.Namespace) -> int:
    """The reference of all operations, or of one."""
    from .show import find_op, list_ops, op_text, ops_data

    if args.name is None:
        every = ops_data(args.version)
        text = as_json(every) if args.json else list_ops(every)
    else:
        one = find_op(args.name, args.version)
        text = as_json(one) if args.json else op_text(one)
    write_output("-", text)
    return 0


def smith(args: argparse.Namespace) -> int:
    """Make random modules that are always valid, the same ones for the same seed."""
    from .smith import data, files

    try:
        if args.json:
            write_output("-", as_json(data(args)))
        else:
            for name, content in files(args):
                write_output(name, content)
    except TileError as error:  # there is no input, so the options are at fault
        raise Stop(error.message) from None
    return 0


def opt(args: argparse.Namespace) -> int:
    """Run passes on a file and write the result, as bytecode where OUT ends in .tileirbc, else as text."""
    from .opt import list_passes, pipeline, run

    if args.list:
        write_output("-", list_passes())
        return 0
    if args.file is None:
        raise Stop("opt needs a FILE; --list shows the passes")
    passes = pipeline(args.passes)
    module = load_any(args.file)
    with place(args.file):
        return run(module, passes, args)


def debug(args: argparse.Namespace) -> int:
    """Look into tilery: the source that it generates for an operation."""
    from ..version import LATEST
    from .debug import GENERATORS, generated

    wanted = [(kind, name) for kind in GENERATORS if (name := getattr(args, kind)) is not None]
    if not wanted:
        raise Stop("debug gen needs an operation, such as --decoder addi")
    write_output("-", "\n".join(generated(kind, name, args.version or LATEST) for kind, name in wanted))
    return 0


# ---------------------------------------------------------------- the parser


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all verbs, or of only one if there is such a verb."""
    parser = argparse.ArgumentParser(
        prog="tilery",
        description="Read, write and inspect CUDA Tile IR.",
        epilog="`tilery VERB --help` shows the options of a verb, with examples.\n\n" + EXIT,
        formatter_class=Help,
    )
    parser.add_argument("--version", action=PrintVersion)
    verbs = Verbs(parser, only)
    sub = verbs.add("info", info, ["info kernel.tileirbc", "info --json kernel.tileirbc"], json_result=True)
    add_input(sub)

    sub = verbs.add("dis", disassemble, ["dis kernel.tileirbc", "dis -g --style opt kernel.tileirbc -o kernel.mlir"])
    add_input(sub)
    add_output(sub)
    add_locs(sub, "print source locations")
    styles = "as tileirdisasm prints (default), as cuda-tile-opt prints, MLIR's generic form, or as documents promise"
    sub.add_argument("--style", choices=["disasm", "opt", "generic", "documented"], default="disasm", help=styles)
    names = "names of values: those of tileirdisasm (default), or those that documents promise"
    sub.add_argument("--names", choices=["disasm", "documented"], default="disasm", help=names)
    add_spelling(sub)
    sub.add_argument("--no-verify", action="store_true", help="do not look whether the module is legal")

    sub = verbs.add("asm", assemble, ["asm kernel.mlir -o kernel.tileirbc", "asm --version 13.2 - < kernel.mlir > out"])
    add_input(sub)
    add_spelling(sub)
    add_output(sub)
    add_version(sub, "the bytecode version; default: the lowest that can express the file")

    sub = verbs.add("check", check, ["check kernel.tileirbc", "check --version 13.1 *.mlir"], json_result=True)
    sub.add_argument("files", metavar="FILE", nargs="+", help="bytecode or text")
    add_version(sub, "also whether this bytecode version can express it")
    sub.add_argument("--max-errors", type=int, default=100, metavar="N", help="stop after so many; default: 100")
    sub.add_argument("--reader", metavar="X.Y", help="read bytecode as NVIDIA's reader of this version: 13.1 or 13.4")
    what = "what to do about optimization hints that NVIDIA's compiler ignores; default: ignore"
    sub.add_argument("--hints", choices=["ignore", "warn", "error"], default="ignore", help=what)

    sub = verbs.add("convert", convert, ["convert new.tileirbc --version 13.2 -o old.tileirbc"])
    add_input(sub)
    add_output(sub)
    add_version(sub, "the bytecode version to write", required=True)

    sub = verbs.add("dump", dump, ["dump kernel.tileirbc", "dump - < kernel.tileirbc | less"])
    sub.add_argument("file", metavar="FILE", help="bytecode; of a broken file everything up to the break is shown")
    what = "bare records in the layout that documents describe, which no tool writes"
    sub.add_argument("--documented", action="store_true", help=what)

    sub = verbs.add("fmt", fmt, ["fmt kernel.mlir", "fmt -i *.mlir", "fmt --check *.mlir"])
    sub.add_argument("files", metavar="FILE", nargs="+", help="text")
    how = sub.add_mutually_exclusive_group()
    how.add_argument("-i", "--in-place", action="store_true", help="write each file back")
    how.add_argument("--check", action="store_true", help="write nothing, name the files that would change, exit 1")
    add_locs(sub, "keep source locations")
    sub.add_argument("--drop-comments", action="store_true", help="with -i: format files whose comments would be lost")

    sub = verbs.add("diff", diff, ["diff old.tileirbc new.tileirbc", "diff kernel.mlir kernel.tileirbc"], True)
    add_input(sub, "a", "b")
    add_locs(sub, "compare source locations, producer and module name too")

    sub = verbs.add("ops", ops, ["ops", "ops addf", "ops --json load_view_tko", "ops --version 13.1"], True)
    sub.add_argument("name", metavar="NAME", nargs="?", help="an operation; all of them are listed without it")
    add_version(sub, "only what this bytecode version has")

    examples = ["smith --seed 7", "smith --mix Integer=5,mmaf=1 --size 20", "smith --count 9 -o 'm{seed}.tileirbc'"]
    sub = verbs.add("smith", smith, examples, json_result=True)
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="which module; default: 0")
    sub.add_argument("--count", type=int, default=1, metavar="K", help="so many modules, of as many seeds from N on")
    sub.add_argument("--size", type=int, default=50, metavar="OPS", help="about so many operations; default: 50")
    sub.add_argument("--mix", metavar="NAME=WEIGHT,...", help="how often to choose chapters and operations")
    sub.add_argument("-o", "--output", default="-", metavar="OUT", help="a file; bytecode where it ends in .tileirbc")
    add_version(sub, "nothing newer than this bytecode version; default: the latest")

    examples = ["opt kernel.mlir --passes canonicalize,cse", "opt kernel.tileirbc --stats -o out.tileirbc"]
    sub = verbs.add("opt", opt, [*examples, "opt --list"])
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode or text")
    names = "passes in order, options in braces, or a pipeline as mlir-opt takes it; default: %(default)s"
    sub.add_argument("--passes", default="canonicalize,cse", metavar="PASSES", help=names)
    add_output(sub)
    sub.add_argument("--print-after", action="store_true", help="print the module after each pass, to stderr")
    sub.add_argument("--stats", action="store_true", help="print how often each rule fired, to stderr")
    sub.add_argument("--remarks", action="store_true", help="print what passes did or could not do, to stderr")
    sub.add_argument("--list", action="store_true", help="list the passes and their options, and exit")

    sub = verbs.add("debug", debug, ["debug gen --decoder negi --version 13.3", "debug gen --encoder addi"])
    sub.add_argument("what", metavar="WHAT", choices=["gen"], help="gen: print generated source")
    uses = {"decoder": "reads it from bytecode", "encoder": "writes it to bytecode", "printer": "prints it"}
    for kind, use in {**uses, "parser": "reads it from text"}.items():
        sub.add_argument(f"--{kind}", metavar="OP", help=f"what {use}")
    add_version(sub, "of this bytecode version; default: the latest")
    if only in (None, "run"):
        from . import run as cli_run

        cli_run.add_verbs(verbs)
    if only in (None, "cutile"):
        from . import cutile as cli_cutile

        cli_cutile.add_verbs(verbs)
    return parser if verbs.parsers.choices else make_parser()


# ---------------------------------------------------------------- running


def colors(stream: Any) -> bool:
    """Whether to colour what goes to this stream."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# What could steer a terminal is shown as a picture of itself; one character each, so that carets stay in place.
PICTURES = (
    {c: 0x2400 + c for c in range(32) if c not in b"\t\n"} | {127: 0x2421} | dict.fromkeys(range(128, 160), 0xFFFD)
)


def visible(note: str) -> str:
    text = note.translate(PICTURES)
    return Note(text, note.start, note.kind) if isinstance(note, Note) else text


def report(error: TileError | Stop, in_json: bool = False, kind: str = "error") -> None:
    """Print an error or a warning to stderr."""
    if in_json:
        facts = error.as_dict() if isinstance(error, TileError) else {"message": str(error)}
        sys.stderr.write(as_json({"error": facts}, indent=None))
    elif isinstance(error, TileError):
        error.message = error.message.translate(PICTURES)
        error.source = error.source and error.source.translate(PICTURES)
        error.excerpt = tuple(line.translate(PICTURES) for line in error.excerpt)
        error.notes = [visible(note) for note in error.notes]
        text = error.render(color=colors(sys.stderr))
        sys.stderr.write(text.replace("error: ", f"{kind}: ", 1) + "\n")
    else:
        sys.stderr.write(f"tilery: {error}\n")


def prepare_streams() -> None:
    """Streams that were closed go nowhere; strings of a file may hold any bytes, which come out as they came in."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  # open as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  # the same
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def abandon_stdout() -> None:
    """Python would complain again about a stdout that cannot be written to when it flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    prepare_streams()
    try:
        argv = sys.argv[1:] if argv is None else argv
        args = make_parser(argv[0] if argv else None).parse_args(argv)
        try:
            status: int = args.run(args)
            sys.stdout.flush()
            return status
        except (TileError, Stop) as error:
            sys.stdout.flush()
            report(error, args.json)
            return 1 if isinstance(error, TileError) else 2
    except BrokenPipeError:
        abandon_stdout()
        return 141
    except OSError as error:  # those of files are Stop by now
        abandon_stdout()
        sys.stderr.write(f"tilery: cannot write to stdout: {reason(error)}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:  # no input may lead here, so whatever it is, the fault is ours
        import traceback

        traceback.print_exc()
        sys.stderr.write("tilery: this is a bug of tilery; please report it with the command and the file\n")
        return 70


def program() -> int:
    """The command as a process of its own: it ends soon, so that looking for garbage is hardly ever worth it."""
    gc.set_threshold(500_000)
    status = main()
    gc.freeze()  # what is left goes with the process; taking a large module apart takes as long as printing it
    return status


if __name__ == "__main__":
    raise SystemExit(program())
