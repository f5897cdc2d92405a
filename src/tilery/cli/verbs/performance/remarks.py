"""`tilery remarks`: what NVIDIA's compiler says of a kernel, at its operations and source lines."""

from __future__ import annotations

import argparse
import sys

from ....checking import TYPE_CHECKING
from ...files import write_output
from ...options import Verbs
from ...output import as_json
from ...programs import add_program, open_program

if TYPE_CHECKING:
    from ....engines.tileiras.remarks import Remark
    from ....ops import Module
    from ....source.printed import Printed

EXAMPLES = [
    "remarks k.tileirbc --target sm_100",
    "remarks gemm.py::gemm --sig 'f16[512, 512], f16[512, 512], f32[512, 512], 64' --target sm_90",
    "remarks saxpy.cu --instance 'saxpy<float, 128>' --kind failed --json",
]
KINDS = ("failed", "missed", "analysis", "passed")


def add(verbs: Verbs) -> None:
    sub = verbs.add("remarks", run, EXAMPLES, json_result=True)
    add_program(sub)
    sub.add_argument("--target", default="sm_100", metavar="NAME", help="the GPU; default: %(default)s")
    sub.add_argument("--level", type=int, default=3, metavar="N", help="the optimization level, 0 to 3; default: 3")
    sub.add_argument("--kind", action="append", choices=KINDS, help="show only this kind; can be repeated")


def run(args: argparse.Namespace) -> int:
    """Show what tileiras says of its choices, such as why it uses no TMA, and what would change them."""
    from ....engines.tileiras.remarks import remarks

    module = open_program(args, args.target)
    wait = sys.stderr.isatty() and not args.json
    if wait:
        sys.stderr.write(f"compiling for {args.target} ...\r")
    try:
        found = remarks(module, args.target, level=args.level)
    finally:
        if wait:
            sys.stderr.write("\x1b[K")
    found = [remark for remark in found if not args.kind or remark.kind in args.kind]
    if args.json:
        write_output("-", as_json({"target": args.target, "remarks": [remark.as_dict() for remark in found]}))
    else:
        write_output("-", shown(found, module, args.target))
    return 0


def shown(found: list[Remark], module: Module, target: str) -> str:
    """Return remarks as text: for each kernel, equal ones together, each operation with its source line."""
    from ....source.printed import Printed
    from ....source.symbols import function_name

    if not found:
        return f"tileiras has no remarks for {target}\n"
    groups: dict[tuple[str, str], list[Remark]] = {}
    for remark in found:
        groups.setdefault((remark.function, headline(remark)), []).append(remark)
    printed = Printed(module)
    lines: list[str] = []
    last = None
    for (function, title), members in groups.items():
        if function != last:
            lines += [*([""] if lines else []), f"{function_name(function)}, {target}"]
        last = function
        lines += ["", f"  {title}"]
        for member in members:
            lines.append(f"    {where(member)}")
            lines += [f"      {text.strip()}" for text in excerpt(member, printed)]
        lines += [f"    to change it: {advice}" for advice in dict.fromkeys(a for m in members for a in m.advice)]
    return "\n".join(lines) + "\n"


def headline(remark: Remark) -> str:
    reasons = "; ".join([*remark.reasons, *(f"{key} {text}" for key, text in remark.details)])
    return f"{remark.kind}: {remark.message}{reasons and ': ' + reasons}"


def where(remark: Remark) -> str:
    """Name the operation and its source line."""
    if remark.op is None:
        return "the kernel"
    place = next(iter(remark.places), None)
    text = f": {place.text.strip()}" if place and place.text else ""
    return remark.op.name + (f" at {place.file}:{place.line}:{place.column}{text}" if place else "")


def excerpt(remark: Remark, printed: Printed) -> list[str]:
    """Return the line of the operation in the Tile IR, cut to fit a screen."""
    if remark.op is None or not (lines := printed.excerpt(remark.op, "")):
        return []
    line = lines[0].strip()
    return [line if len(line) <= 160 else line[:157] + "..."]
