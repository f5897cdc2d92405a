"""`tilery cost`: the bytes and float operations of a kernel, and what a GPU can make of them."""

from __future__ import annotations

import argparse
from math import prod

from ....checking import TYPE_CHECKING
from ....diag import TileError
from ...files import CommandFailed, write_output
from ...options import Verbs
from ...output import as_json, kernel_output, printable
from ...programs import add_program, open_program
from ...units import seconds
from ..run import SPEC, add_convention, parse_grid

if TYPE_CHECKING:
    from typing import Any

    from ....cost import KernelCost, Roofline
    from ....engines.recorded import Recorded
    from ....ops import Module

EXAMPLES = [
    "cost gemm.tileirbc",
    "cost gemm.tileirbc --gpu H200 --grid 64,64 --picture roofline.svg",
    "cost add.mlir --grid 4 --arg rand:f32:500 --arg rand:f32:500 --arg zeros:f32:500 --arg 500 --gpu B200",
    "cost --run launch.zip --gpu H200 --json",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("cost", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    add_program(sub, optional=True)
    sub.add_argument("--entry", metavar="NAME", help="count this kernel only")
    sub.add_argument("--gpu", metavar="NAME", help="also show what this GPU can do at best; see `--list-gpus`")
    sub.add_argument("--list-gpus", action="store_true", help="list the GPUs and their figures, and exit")
    sub.add_argument("--picture", metavar="OUT", help="draw a roofline: .svg, or .png where a converter is installed")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument: run and count")
    add_convention(sub)
    sub.add_argument("--max-seconds", type=float, metavar="S", help="stop a launch after S seconds")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="for rand and randn; default: 0")
    sub.add_argument("--run", dest="execute", action="store_true", help="run a recorded launch, and count")


def run(args: argparse.Namespace) -> int:
    """Count what a kernel reads, writes and computes, and compare it with what a GPU can do."""
    from ....cost import Roofline, find_gpu

    if args.list_gpus:
        return list_gpus(args)
    if args.file is None:
        raise CommandFailed("cost needs a FILE")
    if args.picture and not args.gpu:
        raise CommandFailed("--picture needs --gpu")
    try:
        gpu = find_gpu(args.gpu) if args.gpu else None
    except TileError as error:
        raise CommandFailed(f"--gpu: {error.message}") from None
    module = open_program(args, gpu.target if gpu else "sm_100")
    printed: list[str] = []
    costs = measured(module, args, printed) if args.execute or args.arg else static(module, args)
    roofs: list[Roofline] = []
    if gpu is not None:
        roofs = [Roofline(cost, gpu, once) for cost in costs for once in (False, True) if cost.exact or not once]
    if args.json:
        facts = {"kernels": [cost.as_dict() for cost in costs], "rooflines": [roof.as_dict() for roof in roofs]}
        write_output("-", as_json({**facts, "printed": "".join(printed)}))
    else:
        write_output("-", "\n".join(text(cost, [r for r in roofs if r.cost is cost]) for cost in costs))
    if args.picture:
        draw(roofs, args.picture)
    return 0


def list_gpus(args: argparse.Namespace) -> int:
    """List the table of GPUs."""
    from ....cost import GPUS

    if args.json:
        names = ("name", "target", "gb_per_s", "tflops", "source", "unconfirmed")
        write_output("-", as_json([dict(zip(names, gpu)) for gpu in GPUS.values()]))
        return 0
    for gpu in GPUS.values():
        starred = {name: "*" if name in gpu.unconfirmed else "" for name in ("memory", *gpu.peaks)}
        peaks = ", ".join(f"{name} {peak:g}{starred[name]}" for name, peak in gpu.peaks.items())
        memory = f"{gpu.bandwidth:>5g} GB/s{starred['memory']}"
        write_output("-", f"{gpu.name:<9} {gpu.target:<7} {memory}; TFLOP/s: {peaks}\n")
        if gpu.source:
            write_output("-", f"{'':<17} {gpu.source}\n")
    write_output("-", "* quoted by public pages; no document of NVIDIA's was found\n")
    return 0


def static(module: Module, args: argparse.Namespace) -> list[KernelCost]:
    """Count kernels by their text."""
    from ....cost import static_cost
    from ....engines.common.kernel import find_entry
    from ....engines.common.launch import MAX_GRID

    launch: Recorded | None = args.launch
    name = args.entry or (launch and launch.entry)
    entries = [find_entry(module, name)] if name else module.entries
    if not entries:
        raise TileError("the module has no kernel", file=args.file)
    grid = list(launch.grid) if launch and not args.grid else parse_grid(args.grid or "1")
    if not all(1 <= extent <= MAX_GRID for extent in grid):
        raise CommandFailed(f"--grid: expected numbers from 1 to {MAX_GRID}, got '{args.grid}'")
    return [static_cost(entry, prod(grid)) for entry in entries]


def measured(module: Module, args: argparse.Namespace, printed: list[str]) -> list[KernelCost]:
    """Run a kernel, and count; an error that names no operation is one of the command line.

    With `--json`, what the kernel prints is added to `printed`.
    """
    from ....ir import Refused
    from ....sanitize import Faults

    try:
        return [launched(module, args, kernel_output(printed if args.json else None))]
    except (Refused, Faults):
        raise
    except TileError as error:
        raise CommandFailed(error.message) from None


def launched(module: Module, args: argparse.Namespace, options: dict[str, Any]) -> KernelCost:
    """Launch a kernel with the arguments of the command line or of a recorded launch."""
    from ....cost import measure
    from ....engines.common.limits import Limits
    from ...progress import progress

    options |= {"limits": Limits(seconds=args.max_seconds)}
    if (recorded := args.launch) is not None:
        placed = recorded.place()
        with progress(prod(recorded.grid), "tile blocks") as step:
            options |= {"buffers": placed.buffers, "progress": step}
            return measure(module, recorded.grid, placed.arguments, recorded.entry, **options)
    from ....engines.common.kernel import find_entry
    from ...arguments import check_types, make_arguments

    arguments = make_arguments(args.arg, args.seed)
    grid = parse_grid(args.grid or "1")
    check_types(arguments, find_entry(module, args.entry).function_type.params, args.convention)
    values, names = [a.value for a in arguments], [a.name for a in arguments]
    with progress(prod(grid), "tile blocks") as step:
        options |= {"names": names, "convention": args.convention, "progress": step}
        return measure(module, grid, values, args.entry, **options)


def text(cost: KernelCost, roofs: list[Roofline]) -> str:
    """Print the cost of a kernel: its operations as a table, the sums, and the roofline."""
    from ....source.symbols import function_name

    blocks = f"{cost.blocks:,} tile block{'s' * (cost.blocks != 1)}"
    lines = [f"{printable(function_name(cost.name))}: {'a launch of ' * cost.exact}{blocks}"]
    if cost.tiles:
        most = [f"{name} ({count})" for name, count in list(cost.tiles.items())[:6]]
        lines.append("  tiles: " + ", ".join(most))
    rows = [["operation", "times", "bytes read", "bytes written", "flops", "source"]]
    for o in cost.ops:
        place = o.place
        where = f"{place.file.rpartition('/')[2]}:{place.line}" if place else ""
        times = "?" if o.times is None else f"{o.times:,}"
        amounts = [f"{n:,}" if n else "" for n in (o.bytes_read, o.bytes_written, o.flops)]
        rows.append([o.op.name, times, *amounts, where])
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:5], widths[1:5])), row[5]]
        lines.append(("  " + "  ".join(cells)).rstrip())
    intensity = "" if cost.intensity is None else f", {cost.intensity:.4g} flops per byte"
    moved = f"{cost.bytes_read:,} bytes read, {cost.bytes_written:,} written"
    lines.append(f"  in all: {moved}, {cost.flops:,} flops{intensity}")
    if cost.distinct_read is not None:
        lines.append(f"  each byte once: {cost.distinct_read:,} bytes read, {cost.distinct_written:,} written")
    if cost.is_partial:
        lines.append("  `?`: in a loop of unknown length, counted once in each tile block; a launch counts exactly")
    return "\n".join([*lines, *map(roof_line, roofs)]) + "\n"


def roof_line(roof: Roofline) -> str:
    how = "each byte once" if roof.distinct else "every byte"
    parts = f"memory {seconds(roof.memory_seconds)}, compute {seconds(roof.compute_seconds)}"
    return (
        f"  {roof.gpu.name}, {how}: at least {seconds(roof.seconds)}, bound by {roof.bound} ({parts}),"
        f" at most {roof.attainable:,.4g} TFLOP/s"
    )


def draw(roofs: list[Roofline], name: str) -> None:
    """Write the picture in the format that the name asks for."""
    from ....cost import roofline_svg

    svg = roofline_svg(roofs)
    if not name.lower().endswith(".png"):
        write_output(name, svg)
        return
    write_output(name, to_png(svg))


def to_png(svg: str) -> bytes:
    """Convert a picture with CairoSVG, or else with rsvg-convert."""
    import shutil
    import subprocess

    try:
        from cairosvg import svg2png

        return bytes(svg2png(svg.encode(), scale=2))
    except ImportError:
        tool = shutil.which("rsvg-convert")
    if tool is None:
        raise CommandFailed("a .png needs CairoSVG (pip install cairosvg) or rsvg-convert; .svg needs neither")
    done = subprocess.run([tool, "--zoom=2", "--format=png"], input=svg.encode(), capture_output=True, timeout=60)
    if done.returncode:
        raise CommandFailed(f"rsvg-convert: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
