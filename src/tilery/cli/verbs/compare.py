"""`tilery compare`: run a kernel on two engines and show where they differ."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engines.registry import AUTO, ENGINES
from ..files import CommandFailed, in_file, is_recorded, open_text, usage_error, write_output
from ..options import Verbs, add_input, add_spelling, at_least
from ..output import as_json, kernel_output
from .run import SPEC, add_convention, parse_grid

if TYPE_CHECKING:
    from ...engines.common.kernel import Kernel
    from ...observe import EngineResult
    from ..arguments import ArgumentSpec
    from ..comparison import Difference

EXAMPLES = [
    "compare k.mlir --engines reference,cpu --grid 4 --arg x=randn:f32:4096 --arg y=zeros:f32:4096",
    "compare k.tileirbc --grid 8 --arg x=@x.npy --arg y=zeros:f32:1024 --within 2",
    "compare k.mlir --first-difference --engines reference,cpu --arg x=randn:f32:64 --arg y=zeros:f32:64",
    "compare launch.zip --engines reference,cpu --exact",
    "compare k.mlir --first-difference --with edited.mlir --arg x=randn:f32:64 --arg y=zeros:f32:64",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("compare", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    add_input(sub)
    add_spelling(sub)
    sub.add_argument("--engines", default="reference,cpu", metavar="A,B", help="default: %(default)s")
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    add_convention(sub)
    sub.add_argument("--seed", type=at_least(int, 0), default=0, metavar="N", help="for rand and randn; default: 0")
    sub.add_argument("--exact", action="store_true", help="pass exact=True to engines that have it")
    what = "find the first operation that differs: on the two engines, or after an edit (--with) or passes (--passes)"
    sub.add_argument("--first-difference", action="store_true", help=what)
    sub.add_argument("--with", dest="other", metavar="FILE", help="the kernel after an edit, for --first-difference")
    sub.add_argument("--passes", metavar="PIPELINE", help="compare with the kernel after these passes")
    within = "differences of at most N representable numbers are no failure; default: 0"
    sub.add_argument("--within", type=at_least(int, 0), default=0, metavar="N", help=within)


def run(args: argparse.Namespace) -> int:
    """Run a kernel on two engines and show where their results differ."""
    from ...diag import TileError
    from ...ir import Refused
    from ...source.positions import places_from
    from ...verifier.explain import read_legal

    if args.file != "-" and is_recorded(args.file) and (args.first_difference or args.other or args.passes):
        raise CommandFailed("--first-difference takes a kernel and its arguments, not a recorded launch")
    if args.other is not None or args.passes is not None:
        return first_difference(args)
    engines = args.engines.split(",")
    if len(engines) != 2 or any(name not in (*ENGINES, AUTO) for name in engines):
        raise CommandFailed(f"--engines: expected two of {', '.join([*ENGINES, AUTO])}, got '{args.engines}'")
    if args.first_difference:
        return first_engine_difference(engines, args)
    source = open_text(args.file, args)
    module = read_legal(source)
    with in_file(args.file), places_from(source):
        try:
            found = compare(module, trial(args), engines, args)
        except Refused:
            raise
        except TileError as error:  # it names no operation, so the arguments are wrong
            raise usage_error(error) from None
    differences, bad, printed = found
    if args.json:
        facts = [difference.as_dict(engines) for difference in differences]
        write_output(
            "-", as_json({"engines": engines, "equal": not differences, "differences": facts, "printed": printed})
        )
    else:
        text = "".join(describe(difference, engines) for difference in differences)
        write_output("-", text or "equal, bit for bit\n")
    return 1 if bad else 0


def first_difference(args: argparse.Namespace) -> int:
    """Walk two launches on the reference engine to the first operation in which they differ."""
    from ... import compile
    from ...diag import TileError
    from ...observe.difference import Run
    from ...observe.difference import first_difference as walk
    from ...observe.names import Source
    from ..arguments import check_types, make_arguments
    from ..debugging import open_module

    if args.other is not None and args.passes is not None:
        raise CommandFailed("--with and --passes contradict each other")
    grid, arguments = parse_grid(args.grid or "1"), make_arguments(args.arg, args.seed)
    other = open_module(argparse.Namespace(**{**vars(args), "file": args.other or args.file}))
    sources = [Source(open_module(args)), Source(other)]
    if args.passes is not None:
        optimize(other, args.passes)
    runs = []
    for module, source in ((each.module, each) for each in sources):
        try:
            kernel = compile(module, args.entry)
            check_types(arguments, kernel.params, args.convention)
        except TileError as error:
            raise usage_error(error) from None
        runs.append(Run(kernel, copies(arguments), [a.name for a in arguments], args.convention, source))
    found, complete = walk(grid, runs[0], runs[1])
    if args.json:
        facts = None if found is None else found.as_dict()
        write_output("-", as_json({"equal": found is None, "complete": complete, "first": facts}))
    else:
        write_output("-", f"{found}\n" if found is not None else "no operation that both have differs\n")
        if not complete:
            write_output("-", "the launch is too large to keep all values: only the first ones were compared\n")
    return 0 if found is None else 1


def first_engine_difference(engines: list[str], args: argparse.Namespace) -> int:
    """Find the first operation in which two engines differ."""
    from ...diag import TileError
    from ...engines.common.kernel import check_parameters, find_entry
    from ...engines.registry import exactly, load_engine
    from ...ir import Refused
    from ...observe import EngineLaunch
    from ...observe import first_engine_difference as find
    from ..arguments import check_types, make_arguments
    from ..debugging import open_module

    def load(name: str) -> Any:
        return lambda module: load_engine(name).load(module, **exactly(name, args.exact))

    arguments = make_arguments(args.arg, args.seed)
    module = open_module(args)
    with in_file(args.file):
        try:
            check_types(arguments, check_parameters(find_entry(module, args.entry)), args.convention)
            values, names = [a.value for a in arguments], [a.name for a in arguments]
            launch = EngineLaunch(module, parse_grid(args.grid or "1"), values, args.entry, names, args.convention)
            found = find(launch, load(engines[0]), load(engines[1]), differ_by(args.within))
        except Refused:
            raise
        except TileError as error:  # it names no operation, so the arguments or an engine are wrong
            raise CommandFailed(error.message) from None
    if args.json:
        facts = None if found.first is None else found.first.as_dict()
        more = {"complete": found.complete, "hidden": found.hidden, "notes": found.notes}
        write_output("-", as_json({"engines": engines, "equal": found.equal, **more, "first": facts}))
    else:
        write_output("-", "\n".join(explain(found, engines)) + "\n")
    return 0 if found.equal else 1


def explain(found: EngineResult, engines: list[str]) -> list[str]:
    """Return lines about the first difference between two engines."""
    if found.equal:
        lines = ["no value and no array differs"]
    elif found.first is None:
        lines = ["the results differ, but no value that was stored"]
    else:
        first, *more = str(found.first).splitlines()
        lines = [f"{first} ({engines[0]} and {engines[1]})", *more]
    if found.hidden and found.stored:
        lines.append(
            f"storing all values hides the difference; it is seen when {found.stored} are stored, so the fault may be "
            "in an earlier operation that was compiled together with this one"
        )
    elif found.hidden:
        lines.append("storing values hides the difference: this operation writes it, an earlier one may be the cause")
    elif found.first is not None and not found.stored:
        lines.append("all values are equal: the write itself differs, or a pointer or an undefined element before it")
    if not found.complete:
        lines.append("the launch is too large to keep all values: only the first ones were compared")
    return lines + found.notes


def differ_by(most: int) -> Any:
    """Return a function that tells which elements are more than `most` representable numbers apart."""
    from ...observe.engines import bits_differ
    from ..comparison import distances

    def differ(element: Any, left: Any, right: Any) -> Any:
        different = bits_differ(element, left, right)
        if most and different.any():
            apart, nan = distances(element, left[different], right[different])
            different[different] = (apart > most) | nan
        return different

    return differ


def optimize(module: Any, passes: str) -> None:
    """Run passes on a module."""
    from ...diag import TileError
    from ...passes import parse_pipeline, run_pipeline

    try:
        run_pipeline(module, parse_pipeline(passes))
    except TileError as error:
        raise CommandFailed(f"--passes: {error.message}") from None


class Inputs(NamedTuple):
    """The arguments of one launch: by name to compare them, as values to pass, and further options of the launch."""

    arguments: list[ArgumentSpec]
    values: list[Any]
    options: dict[str, Any]


class RepeatableLaunch(NamedTuple):
    """A launch that can be repeated; `inputs` makes its arguments anew, for a kernel."""

    entry: str | None
    grid: Sequence[int]
    inputs: Callable[[Kernel], Inputs]


def trial(args: argparse.Namespace) -> RepeatableLaunch:
    """Return the launch that the options describe, or the recorded one."""
    if args.file == "-" or not is_recorded(args.file):
        return given_trial(args)
    if args.arg or args.entry or args.grid or args.convention:
        raise CommandFailed("a recorded launch has its own kernel, grid and arguments")
    from ...engines.recorded import LIMIT
    from ..recorded import arguments_of, extents_of, open_recorded

    recorded = open_recorded(args.file, LIMIT)

    def inputs(kernel: Kernel) -> Inputs:
        placed = recorded.place()
        options = {"buffers": extents_of(recorded, placed), "names": recorded.names}
        return Inputs(arguments_of(recorded, kernel.entry, placed), placed.arguments, options)

    return RepeatableLaunch(recorded.entry, recorded.grid, inputs)


def given_trial(args: argparse.Namespace) -> RepeatableLaunch:
    """Return the launch that the options describe."""
    from dataclasses import replace

    from ..arguments import check_types, make_arguments

    arguments = make_arguments(args.arg, args.seed)

    def inputs(kernel: Kernel) -> Inputs:
        check_types(arguments, kernel.params, args.convention)
        fresh = [replace(a, value=value) for a, value in zip(arguments, copies(arguments))]
        options = {"convention": args.convention, "names": [a.name for a in arguments]}
        return Inputs(fresh, [a.value for a in fresh], options)

    return RepeatableLaunch(args.entry, parse_grid(args.grid or "1"), inputs)


def compare(
    module: Any, trial: RepeatableLaunch, engines: list[str], args: argparse.Namespace
) -> tuple[list[Difference], bool, list[str]]:
    """Run the kernel on both engines.

    Return the differences, whether one is larger than allowed, and with `--json` what the kernel printed on each.
    """
    from ... import compile
    from ...engines.registry import exactly
    from ..comparison import compare_arrays, find_writer

    results, printed = [], []
    for name in engines:
        kernel = compile(module, trial.entry, engine=name, **exactly(name, args.exact))
        made = trial.inputs(kernel)
        said: list[str] = []
        kernel.launch(trial.grid, made.values, **made.options, **kernel_output(said if args.json else None))
        results.append(made.arguments)
        printed.append("".join(said))
    differences, bad = [], False
    for number, (left, right) in enumerate(zip(*results)):
        if not hasattr(left.value, "ndim") or left.element is None:
            continue
        difference = compare_arrays(left.name, left.element, left.value, right.value)
        if difference is not None:
            reference = compile(module, trial.entry)
            made = trial.inputs(reference)
            array = made.arguments[number].value
            find_writer(reference, trial.grid, made.values, array, difference, **made.options)
            differences.append(difference)
            bad = bad or any(not within(label, args.within) for label in difference.ulps)
    return differences, bad, printed


def copies(arguments: list[ArgumentSpec]) -> list[Any]:
    return [a.value.copy() if hasattr(a.value, "ndim") else a.value for a in arguments]


def within(label: str, most: int) -> bool:
    """Whether all distances of a bar of the histogram are allowed."""
    return label != "NaN" and int(label.split()[-1]) <= most


def describe(difference: Difference, engines: list[str]) -> str:
    """Return the paragraph about an argument."""
    from ..comparison import _source

    d = difference
    width = max(map(len, engines))
    lines = [f"{d.name}: {d.count:,} of {d.size:,} elements of {d.element} differ"]
    lines.append(f"  first at [{', '.join(map(str, d.index))}]")
    lines += [f"    {name:{width}}  {value!r} ({bits:#x})" for name, value, bits in zip(engines, d.values, d.bits)]
    if d.writer is not None:
        lines.append(
            f"  written by tile block ({', '.join(map(str, d.writer.block))}), by these operations, last first:"
        )
        lines += [f"    {o.name}" + (f"  from {place}" if (place := _source(o)) else "") for o in d.ops]
    unit = "units" if d.element.is_int else "ULPs"
    most = max(d.ulps.values())
    label_width = max(map(len, d.ulps))
    lines.append(f"  {unit} apart:")
    for label, count in d.ulps.items():
        lines.append(f"    {label:>{label_width}}  {count:>9,}  {'#' * max(1, 40 * count // most)}")
    return "\n".join(lines) + "\n"
