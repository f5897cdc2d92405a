"""Measure how good engine gpu is on kernels that no rule was written for.

python bench/gpu_defaults.py export FOLDER --cutile DIR --tilegym DIR --liger DIR    launches, without a GPU
python bench/gpu_defaults.py draw FOLDER                                             once: choose what is held out
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

from gpu_parts.programs import LIST, read_list

SEED = 33
"""Of the draw."""


def export(args: argparse.Namespace) -> int:
    """Write the launches of all programs."""
    from gpu_parts.programs import export

    checkouts = {"cutile": args.cutile, "tilegym": args.tilegym, "liger": args.liger}
    found, failed = export(args.folder, checkouts, args.only)
    print("\n".join(failed))
    print(f"{len(found)} kernels, {len(failed)} programs failed")
    return 0


def draw(args: argparse.Namespace) -> int:
    """Write the kernels that were exported into the list, with a third of them held out: whole families, drawn."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(args.folder.glob("*.json"))]
    if "kernels" in read_list():
        print("the list has its kernels, and is frozen")
        return 1
    families = sorted({facts["family"] for facts in found})
    random.Random(SEED).shuffle(families)
    held: list[str] = []
    while 3 * sum(facts["family"] in held for facts in found) < len(found):
        held.append(families.pop())
    lines = [f"  {{ name = {json.dumps(f['name'])}, held_out = {json.dumps(f['family'] in held)} }}," for f in found]
    with open(LIST, "a", encoding="utf-8") as file:
        file.write(f"\nheld_out = {json.dumps(sorted(held))}\n\nkernels = [\n" + "\n".join(lines) + "\n]\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    exports = verbs.add_parser("export")
    exports.add_argument("folder", type=Path)
    for name in ("cutile", "tilegym", "liger"):
        exports.add_argument(f"--{name}", type=Path, required=True)
    exports.add_argument("--only", default="")
    draws = verbs.add_parser("draw")
    draws.add_argument("folder", type=Path)
    args = parser.parse_args()
    return {"export": export, "draw": draw}[args.verb](args)


if __name__ == "__main__":
    sys.exit(main())
