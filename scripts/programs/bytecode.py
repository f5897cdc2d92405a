"""Give Tile IR of other writers to tilery and to NVIDIA's disassembler; write docs/reports/lab/other_writers.{json,md}.

    python scripts/programs/bytecode.py judge FOLDER --key cutile-rs --revision 0839fe4
    python scripts/programs/bytecode.py redraw          # the page again, from other_writers.json

FOLDER has .tileirbc and .mlir files that the writer made, by whatever means. A key is one of writers.toml, which has
what is known of each program. Needs tileirdisasm.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
import tilery
from bytecode.other_writers import REFUSED, SAME, verdict
from support.oracle import disassemble
from tilery.cli.progress import progress

NUMBERS = checkout.LAB / "other_writers.json"
REPORT = checkout.LAB / "other_writers.md"
PROGRAMS = Path(__file__).with_name("writers.toml")
READ = "text: legal, and NVIDIA's disassembler prints what tilery writes of it as tilery does"
Found = dict[str, Any]


def text_verdict(text: str) -> str:
    """Read a text, write it as bytecode, and compare what NVIDIA's disassembler makes of that."""
    try:
        module = tilery.parse(text)
    except tilery.TileError as error:
        return f"text: refused: {error.message}"
    judged = disassemble(tilery.dumps(module))
    if judged.returncode:
        return f"text: only NVIDIA's reader refuses it: {judged.stderr.splitlines()[0]}"
    return READ if judged.stdout == tilery.show(module) else "text: the disassembled texts differ"


def judge(args: argparse.Namespace) -> None:
    """Judge the files of a folder, and keep the numbers."""
    files = sorted(path for path in args.folder.rglob("*") if path.suffix in (".tileirbc", ".mlir"))
    counts, kinds = Counter[str](), set[str]()
    with progress(len(files), "files") as step:
        for path in files:
            is_text = path.suffix == ".mlir"
            said = text_verdict(path.read_text("utf-8")) if is_text else verdict(path.read_bytes())
            counts[said] += 1
            if said in (SAME, READ):
                module = tilery.parse(path.read_text("utf-8")) if is_text else tilery.load(path)
                kinds |= {op.name for op in tilery.walk(module)}
            step()
    found = load()
    found[args.key] = {"revision": args.revision, "verdicts": dict(counts), "kinds": len(kinds)}
    NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


INTRODUCTION = """\
`scripts/programs/bytecode.py` wrote this page. It lists programs of other people that write or read Tile IR. The bytes
and texts of them that could be had were given to tilery and to NVIDIA's `tileirdisasm`."""
OWN = ("cutile-python", "nvrtc")
"""Writers that have pages of their own."""


def page(programs: list[Found], found: Found) -> str:
    """Render the table and the verdicts."""
    lines = ["# Other writers and readers", "", INTRODUCTION, ""]
    total = Counter[str]()
    for facts in found.values():
        total.update(facts["verdicts"])
    agreed = sum(count for said, count in total.items() if said in (SAME, READ, REFUSED))
    lines += [f"The two agree about {agreed} of {total.total()} files of {len(found)} programs.", ""]
    lines += ["| program | language | writes or reads | files | agree | |", "|---|---|---|--:|--:|---|"]
    for program in programs:
        facts = found.get(program["key"])
        verdicts = Counter[str](facts["verdicts"] if facts else {})
        same = sum(verdicts[said] for said in (SAME, READ, REFUSED))
        cells = [f"{program['name']} ({program['repository']})", program["language"], program["writes"]]
        cells += [str(verdicts.total()), str(same)] if facts else ["see there" if program["key"] in OWN else "0", ""]
        lines.append(f"| {' | '.join([*cells, program.get('left_out', '')])} |")
    lines += ["", "## Verdicts", "", "| program | revision | verdict | files |", "|---|---|---|--:|"]
    for program in programs:
        facts = found.get(program["key"], {"verdicts": {}})
        for said, count in sorted(facts["verdicts"].items()):
            lines.append(f"| {program['name']} | `{facts['revision']}` | {said.replace('|', '¦')} | {count} |")
    kinds = ", ".join(f"{facts['kinds']} in {key}" for key, facts in sorted(found.items()))
    lines += ["", checkout.fill(f"Kinds of operations in the legal files: {kinds}."), "", NOTES]
    return "\n".join([*lines, ""])


NOTES = """\
Most modules of cutile-rs are refused because a test of a writer does not need a legal module: many have an entry with a
parameter that is not a scalar. They were written and judged once; an update of this page does not judge them again. Two
texts of bytecode2tileir have a keyword `masked` that NVIDIA's text does not have. One file of cuda-tile has another
magic number, which `tileirdisasm` notices before its reader does.
`TILERY_BYTECODE=FOLDER pytest tests/bytecode/test_other_writers.py` makes the comparison of bytecode.

## Not measured

Programs without files in the table. No module was executed for this page."""


def redraw(args: argparse.Namespace) -> None:
    """Nothing to measure."""


def main() -> int:
    """Judge files if there are any, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = tomllib.loads(PROGRAMS.read_text("utf-8"))["program"]
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("redraw").set_defaults(run=redraw)
    verb = verbs.add_parser("judge")
    verb.set_defaults(run=judge)
    verb.add_argument("folder", type=Path)
    verb.add_argument("--key", required=True, choices=[program["key"] for program in programs])
    verb.add_argument("--revision", required=True)
    args = parser.parse_args()
    args.run(args)
    checkout.publish(page(programs, load()), REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
