"""Compile kernels of the corpus with tileiras for two GPUs, check where remarks are mapped, and write a report.

    python scripts/compilers/remarks_report.py [--count 20] [--output docs/reports/lab/remarks.md]

A reason that tileiras gives is checked against the operation that the remark was mapped to, by rules that are not
tilery's mapping: a view without a promise of alignment, a stride that is no multiple of 16 bytes, and so on.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
import tilery
from support.oracle import CORPUS, SEED
from tilery.analysis.alignment import Alignment, axis_info
from tilery.cli.progress import progress
from tilery.engines.tileiras.compiler import find_tool, tool_version
from tilery.engines.tileiras.remarks import Remark, remarks
from tilery.ir import Op, Value
from tilery.ops import MakeTensorView
from tilery.types import DYNAMIC, Scalar, TensorView, TileView

TARGETS = ("sm_90", "sm_100")
SUBJECTS = {
    "RemarkMemoryLoadInstructionSelected": ("load_view_tko", "load_ptr_tko"),
    "RemarkMemoryTmaLoadFailed": ("load_view_tko",),
    "RemarkMemoryStoreInstructionSelected": ("store_view_tko", "store_ptr_tko"),
    "RemarkMemoryTmaStoreFailed": ("store_view_tko", "print_tko", "atomic_red_view_tko"),
    "RemarkTensorCoreMMA": ("mmaf", "mmai", "mmaf_scaled"),
    "RemarkHint": ("load_view_tko", "store_view_tko", "load_ptr_tko", "store_ptr_tko"),
    "RemarkHintDefault": ("load_ptr_tko", "store_ptr_tko", "load_view_tko", "store_view_tko"),
}
"""The operations that a remark can be about. `print_tko` stores what it prints."""
BY_HAND = 10
"""How many kernels of the table were read by hand."""


def candidates() -> list[Path]:
    """One file for each name of a kernel, in the order of a seed."""
    named: dict[str, Path] = {}
    for path in random.Random(SEED).sample(files := sorted(CORPUS.glob("*.tileirbc")), len(files)):
        named.setdefault(path.name.partition(".")[0], path)
    return [path for path in named.values() if has_view(path)]


def has_view(path: Path) -> bool:
    """Whether a kernel loads or stores through views: tileiras says nothing of others."""
    return any(o.name in ("load_view_tko", "store_view_tko") for o in tilery.walk(tilery.load(path).body))


def tensor_of(o: Op) -> tuple[MakeTensorView, TileView] | None:
    """The tensor view and the type of the tile view that an operation accesses."""
    view = getattr(o, "view", None)
    owner = view.owner if isinstance(view, Value) else None
    tensor = getattr(owner, "tensor_view", None)
    made = tensor.owner if isinstance(tensor, Value) else None
    if view is None or not isinstance(made, MakeTensorView) or not isinstance(view.type, TileView):
        return None
    return made, view.type


def base_unaligned(made: MakeTensorView, view: TileView, known: Alignment) -> bool:
    return known[made.base].divisor % 16 != 0


def stride_unaligned(made: MakeTensorView, view: TileView, known: Alignment) -> bool:
    kind = made.result.type
    assert isinstance(kind, TensorView)
    dynamic = iter(made.dynamicStrides)
    for stride in kind.strides:
        by = known[next(dynamic)].divisor if stride == DYNAMIC else stride
        if stride != 1 and by * kind.element.bits % 128:
            return True
    return False


def tile_unaligned(made: MakeTensorView, view: TileView, known: Alignment) -> bool:
    kind = made.result.type
    assert isinstance(kind, TensorView)
    element = kind.element
    assert isinstance(element, Scalar)
    inner = [extent for extent, stride in zip(view.tile_shape, kind.strides) if stride == 1]
    return any(extent * element.bits % 128 for extent in inner)


CHECKS: dict[str, Callable[[MakeTensorView, TileView, Alignment], bool]] = {
    "base pointer not 16-byte aligned": base_unaligned,
    "stride not 16-byte aligned": stride_unaligned,
    "leading tile dimension not 16-byte aligned": tile_unaligned,
    "no contiguous dimension found": lambda made, view, known: 1 not in view.tensor_view.strides,
    "unsupported element type for TMA operations": lambda made, view, known: view.tensor_view.element.bits < 8,
}


def judge(remark: Remark, known: Alignment) -> str:
    """Say whether a remark is about the operation that it was mapped to: right, wrong, or unchecked."""
    if remark.op is None:
        return "without an operation"
    if remark.op.name not in SUBJECTS.get(remark.name, ()):
        return "wrong"
    found = tensor_of(remark.op)
    if remark.name == "RemarkHint" and not getattr(remark.op, "optimization_hints", None):
        return "wrong"
    if not remark.reasons or found is None:
        return "right kind of operation"
    checks = [CHECKS[reason](*found, known) for reason in remark.reasons if reason in CHECKS]
    return "wrong" if not all(checks) else "right, the reason holds" if checks else "right kind of operation"


def table(rows: list[tuple[str, str, list[Remark], Counter[str]]]) -> list[str]:
    lines = ["| Kernel | GPU | Remarks | Failed | Reasons of failures | Reason holds | Kind fits | Wrong |"]
    lines.append("|---|---|--:|--:|---|--:|--:|--:|")
    for name, target, found, verdicts in rows:
        failed = [r for r in found if r.kind == "failed"]
        reasons = ", ".join(sorted({reason for r in failed for reason in (r.reasons or (r.message,))}))
        counts = [verdicts[key] for key in ("right, the reason holds", "right kind of operation", "wrong")]
        lines.append(
            f"| {name} | {target} | {len(found)} | {len(failed)} | {reasons} | {' | '.join(map(str, counts))} |"
        )
    return lines


def page(rows: list[tuple[str, str, list[Remark], Counter[str]]], silent: int, version: str) -> str:
    total: Counter[str] = sum((verdicts for *_, verdicts in rows), Counter())
    kernels = len({name for name, *_ in rows})
    text = [
        "# Remarks of the compiler",
        "",
        checkout.fill(
            f"`scripts/compilers/remarks_report.py` wrote this page. It compiled {kernels} kernels of the corpus, one "
            f"of each name, with tileiras {version} for {' and '.join(TARGETS)}. {silent} more were skipped because "
            f"tileiras has no remarks about them. Of {sum(total.values())} remarks, {total['wrong']} were mapped to a "
            f"wrong operation and {total['without an operation']} to none. For {total['right, the reason holds']} "
            "failures the reason that tileiras states was found in the operation itself, by rules that do not know the "
            "mapping: a base pointer without a promise of 16 bytes, a stride or a tile that is not a multiple of 16 "
            "bytes, an element of less than a byte. The other remarks are about an operation of the right kind: a "
            "load, a store or a matrix product."
        ),
        "",
        checkout.fill(
            f"The first {BY_HAND} kernels of the table were also read by hand: the text of each operation against the "
            "remark, on both GPUs. `print_tko` is right where tileiras speaks of a store: it stores what it prints."
        ),
        "",
        *table(rows),
        "",
        "## Not measured",
        "",
        checkout.fill(
            "Other GPUs, other optimisation levels, and whether a kernel is faster after the advice. "
            "`tests/engines/tileiras/test_remarks.py` compiles kernels before and after twelve changes that follow the "
            "advice, and checks that the remark goes away."
        ),
    ]
    return "\n".join(text)


def examine(path: Path, show: bool) -> list[tuple[str, str, list[Remark], Counter[str]]]:
    """Compile a kernel for all targets; return a row for each, or nothing if there are no remarks."""
    module = tilery.load(path)
    known = axis_info(module)
    rows = []
    for target in TARGETS:
        found = remarks(module, target)
        rows.append((path.name.partition(".")[0], target, found, Counter(judge(r, known) for r in found)))
        for r in found if show else ():
            print(path.name, target, r.kind, r.message, r.reasons, r.details, judge(r, known))
            print("    ", tilery.show(r.op).strip() if r.op else None)
    return rows if any(found for _, _, found, _ in rows) else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--show", action="store_true", help="print every remark with its operation, to read by hand")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    rows: list[tuple[str, str, list[Remark], Counter[str]]] = []
    silent = 0
    with progress(args.count, "kernels") as step:
        for path in candidates():
            if len(rows) == args.count * len(TARGETS):
                break
            made = examine(path, args.show)
            silent += not made
            rows += made
            step(bool(made))
    checkout.publish(page(rows, silent, tool_version(find_tool())), args.output)


if __name__ == "__main__":
    main()
