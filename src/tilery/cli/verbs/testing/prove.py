"""`tilery prove`: tell whether two kernels compute the same."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...files import CommandFailed, in_file, read_input, write_output
from ...options import Verbs, add_spelling, at_least
from ...output import as_json, write_error
from ...programs import RECORDED, open_program

if TYPE_CHECKING:
    from ....prove.plans import Opened, ProofPlan, StagePlan
    from ....prove.verdict import Verdict, Witness

EXAMPLES = [
    "prove naive.mlir flash.mlir --size n --buf q=real[n,16] --buf k=real[n,16] --buf v=real[n,16] --buf o=out[n,16] "
    "--grid 'cdiv(n,16)' --args q,k,v,o,n,n,0.25",
    "prove gemm.toml --json",
    "prove before.mlir after.mlir --bits --given 'm > 0' --given 'm*n < 2**31'",
    "prove a.zip b.zip --witness out/",
]
SPEC = """\
A and B are bytecode, text, C++ (.cu), FILE.py::KERNEL of cuTile or Triton, or recorded launches (.zip). A plan
(.toml) instead of A and B describes several launches on a side. A buffer is NAME=SPEC, where SPEC is
  real[m, k]      any real numbers, in an array of this shape; `real` alone is a number
  out[m, n]       an output, undefined before
  zeros[m, n]     an output that is zero before
  arange[n]       the integers 0, 1, 2, ...
  @FILE.npy       given numbers
Shapes, grids and arguments are expressions of the sizes: + - * // % cdiv(a, b) min max.
"""
NOT_EQUAL, UNDECIDED = 1, 3
"""Exit statuses: 0 equal, 1 different, 2 a mistake on the command line, 3 undecided."""


def add(verbs: Verbs) -> None:
    sub = verbs.add("prove", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    sub.add_argument("a", metavar="A", help="a program, or a plan (.toml)")
    sub.add_argument("b", metavar="B", nargs="?", help="the program it is compared with")
    add_spelling(sub)
    sub.add_argument("--buf", action="append", default=[], metavar="NAME=SPEC", help="a buffer, see below")
    size = "a size, and the values to try; without values, ragged ones"
    sub.add_argument("--size", action="append", default=[], metavar="NAME[=N,N]", help=size)
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks of A; default: 1")
    sub.add_argument("--grid-b", metavar="X[,Y[,Z]]", help="how many tile blocks of B; default: as A")
    sub.add_argument("--args", metavar="ARG,ARG", help="the arguments of A: buffers, sizes, numbers; default: --buf")
    sub.add_argument("--args-b", metavar="ARG,ARG", help="the arguments of B; default: as A")
    sub.add_argument("--entry", metavar="NAME", help="the kernel of A; default: the only one")
    sub.add_argument("--entry-b", metavar="NAME", help="the kernel of B; default: as A")
    sub.add_argument("--sig", metavar="ARGS", help="for cuTile and Triton: A's arguments, such as 'f32[{m}, 64], 16'")
    sub.add_argument("--sig-b", metavar="ARGS", help="for cuTile and Triton: B's arguments; default: as A")
    sub.add_argument("--out", action="append", default=[], metavar="NAME", help="compare this; default: out and zeros")
    sub.add_argument("--bits", action="store_true", help="for all inputs, bit for bit, by Z3; no buffers are needed")
    given = "with --bits: a condition on parameters, such as 'n > 0'; parameters are p0, p1, ..., grid0, bid0, ..."
    sub.add_argument("--given", action="append", default=[], metavar="COND", help=given)
    sub.add_argument("--timeout", type=at_least(float, 0), default=10.0, metavar="S", help="with --bits: per question")
    sub.add_argument("--witness", metavar="DIR", help="save the inputs of a witness there")
    sub.add_argument("--errors", action="store_true", help="measure and bound the rounding errors of both")
    sub.add_argument("--samples", type=at_least(int, 1), default=2, metavar="N", help="default: %(default)s")
    sub.add_argument("--seed", type=at_least(int, 0), default=1, metavar="N", help="default: %(default)s")
    sub.add_argument("--no-sanitize", action="store_true", help="do not look for races and faults first")


def run(args: argparse.Namespace) -> int:
    """Prove that two kernels compute the same, or show where they differ."""
    if args.bits:
        verdict = compare_bits(args)
    elif args.a.endswith(RECORDED):
        verdict = compare_recorded(args)
    else:
        verdict = compare_plan(make_plan(args), args)
    if verdict.witness is not None and args.witness:
        save_witness(verdict.witness, args.witness)
    write_output("-", as_json(verdict.as_dict()) if args.json else verdict.text())
    return {"equal": 0, "different": NOT_EQUAL}.get(verdict.answer, UNDECIDED)


def options(args: argparse.Namespace) -> dict[str, Any]:
    return {"samples": args.samples, "seed": args.seed, "sanitize": not args.no_sanitize, "errors": args.errors}


def make_plan(args: argparse.Namespace) -> ProofPlan:
    """Return the plan that a file or the options describe."""
    from ....prove.plans import ProofPlan, StagePlan, parse_plan, parse_sizes

    if args.a.endswith(".toml"):
        if args.b is not None or args.buf or args.size or args.grid or args.args:
            raise CommandFailed("a plan has its own programs, sizes, buffers, grids and arguments")
        with in_file(args.a):
            return parse_plan(read_input(args.a).decode("utf-8", "replace"))
    if args.b is None:
        raise CommandFailed("prove needs A and B, or a plan (.toml)")
    try:
        buffers = dict(split(text, "--buf") for text in args.buf)
        sizes = {}
        for text in args.size:
            name, _, values = text.partition("=")
            sizes[name] = parse_sizes(name, [int(v) for v in values.split(",")]) if values else []
    except ValueError:
        raise CommandFailed("--size: expected NAME or NAME=N,N") from None
    default = ",".join(buffers)
    a = StagePlan(args.a, args.grid or "1", args.args or default, args.entry, args.sig or "")
    b = StagePlan(
        args.b,
        args.grid_b or a.grid,
        args.args_b or a.args,
        args.entry_b or args.entry,
        args.sig_b or a.sig,
    )
    return ProofPlan(buffers, [a], [b], sizes, outs=args.out)


def split(text: str, option: str) -> tuple[str, str]:
    name, given, spec = text.partition("=")
    if not given:
        raise CommandFailed(f"{option}: expected NAME=SPEC, got '{text}'")
    return name, spec


def compare_plan(plan: ProofPlan, args: argparse.Namespace) -> Verdict:
    """Compare the programs of a plan, for all its sizes."""
    from ....prove import over

    opened: dict[Any, Opened] = {}

    def open_once(stage: StagePlan, sizes: Mapping[str, int]) -> Opened:
        signature = fill_in(stage.sig, sizes)
        key = (stage.file, stage.entry, signature)
        if key not in opened:
            opened[key] = open_side(stage.file, stage.entry, signature, args)
        return opened[key]

    with in_file(args.a):
        return over(lambda **sizes: plan.make(open_once, sizes), plan.sizes, **options(args))


def fill_in(signature: str, sizes: Mapping[str, int]) -> str:
    """Replace `{m}` by the value of a size."""
    for name, value in sizes.items():
        signature = signature.replace(f"{{{name}}}", str(value))
    return signature


def open_side(file: str, entry: str | None, signature: str, args: argparse.Namespace) -> Opened:
    """Open one program: the only place that tells kinds of programs apart."""
    from ....programs.kernels import language_of

    place = argparse.Namespace(file=file, entry=entry, sig=signature, instance=[], include=[], input=args.input)
    module = open_program(place, "sm_100")
    return module, place.entry, "cutile" if "::" in file and language_of(file) == "cutile" else None


def compare_recorded(args: argparse.Namespace) -> Verdict:
    """Compare two recorded launches."""
    from .... import load
    from ....prove import reals
    from ....prove.recordings import from_recorded, join
    from ...recorded import open_recorded

    if args.b is None or not args.b.endswith(RECORDED):
        raise CommandFailed("a recorded launch is compared with another one")
    sides = []
    for file in (args.a, args.b):
        with in_file(file):
            recorded = open_recorded(file, 8 << 30)
            sides.append(from_recorded(recorded, load(recorded.bytecode)))
    a, b, inputs, outs = join(sides[0], sides[1])
    return reals(a, b, inputs, args.out or outs, **options(args))


def compare_bits(args: argparse.Namespace) -> Verdict:
    """Compare two kernels bit for bit, for all inputs."""
    from ....engines.common.kernel import find_entry
    from ....prove.symbolic import bits

    if args.b is None:
        raise CommandFailed("prove --bits needs A and B")
    entries, modules = [], []
    for file, entry, sig in (
        (args.a, args.entry, args.sig),
        (args.b, args.entry_b or args.entry, args.sig_b or args.sig),
    ):
        module, name, _ = open_side(file, entry, sig or "", args)
        entries.append(find_entry(module, name))
        modules.append(module)
    both = (modules[0], modules[1])
    return bits(entries[0], entries[1], given=args.given, timeout=args.timeout, modules=both)


def save_witness(witness: Witness, folder: str) -> None:
    """Save the inputs of a witness as .npy files."""
    import io
    import os

    import numpy as np

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise CommandFailed(f"cannot make '{folder}': {error.strerror}") from None
    for name, values in witness.inputs.items():
        if os.path.basename(name) != name:  # a recorded launch may name its arguments anything
            raise CommandFailed(f"cannot save the input '{name}': its name is not a file name")
        data = io.BytesIO()
        np.save(data, values)
        write_output(os.path.join(folder, f"{name}.npy"), data.getvalue())
    write_error(f"inputs of the witness: {folder}\n")
