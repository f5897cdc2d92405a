"""Mutate real and generated modules, give each to NVIDIA's verifier and to ours, and write docs/reports/verifier.md.

    python scripts/differential.py --count 20000 --seed 1 --report docs/reports/verifier.md

Needs tileirdisasm, and uses the corpus of real files if it is present. The seed determines every module.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import checkout
from support import oracle
from support.mutation import mutate
from tilery import Module, TileError, load, verify
from tilery.bytecode.writer import write
from tilery.cli.progress import progress
from tilery.smith import smith
from tilery.version import SUPPORTED

PARTS = 40
"""The number of seeded parts of a campaign. It is fixed, so that results do not depend on the machine."""
CRASHED = "NVIDIA's tool crashed"


@cache
def corpus() -> list[Path]:
    """Return the files of the corpus, none without it."""
    return sorted(oracle.CORPUS.glob("*.tileirbc")) if oracle.CORPUS.is_dir() else []


def legal_module(rng: random.Random, share: float) -> Module:
    """Return a module of the corpus or, with probability `share`, a generated one."""
    files = corpus()
    if not files or rng.random() < share:
        return smith(rng.randrange(1 << 30), version=rng.choice(SUPPORTED), size=rng.choice((10, 30, 60)))
    return load(rng.choice(files))


def theirs(data: bytes, folder: str) -> tuple[int, str]:
    """Return NVIDIA's exit status and the first line of its first message."""
    tool = oracle.find_tileirdisasm()
    assert tool is not None, "tileirdisasm is not installed"
    path = Path(folder, "in.tileirbc")
    path.write_bytes(data)
    answer = subprocess.run([tool, path], capture_output=True, encoding="utf-8", errors="replace", timeout=60)
    lines = [
        re.sub(r"^.*?error: (error at offset \d+: )?", "", s) for s in answer.stderr.splitlines() if "error: " in s
    ]
    return answer.returncode, lines[0] if lines else ""


def ours(data: bytes) -> str:
    """Return the first line of our first message, or an empty string if the module is legal."""
    try:
        messages = [finding.message for finding in verify(load(data, verify=False), stop="mlir")]
    except TileError as e:
        messages = [e.message]
    return messages[0].split("\n")[0] if messages else ""


def shape(message: str) -> str:
    """Remove the numbers from a message, so that similar messages are counted together."""
    text = re.sub(r"%?\d+", "N", message)[:110]
    return text.encode("utf-8", "backslashreplace").decode()


def run(count: int, seed: int, share: float) -> tuple[Counter[str], Counter[str]]:
    """Run the parts of a campaign in parallel; return totals, and the differences by class."""
    totals: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    sizes = [len(range(part, count, PARTS)) for part in range(PARTS)]
    with ProcessPoolExecutor() as pool, progress(PARTS, "parts") as step:
        for found in pool.map(run_part, sizes, [f"{seed}.{part}" for part in range(PARTS)], [share] * PARTS):
            totals += found[0]
            classes += found[1]
            step()
    return totals, classes


def run_part(count: int, seed: str, share: float) -> tuple[Counter[str], Counter[str]]:
    rng = random.Random(seed)
    totals: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        while totals["compared"] + totals[CRASHED] < count:
            try:
                data = write(mutate(legal_module(rng, share), rng))
            except TileError:
                totals["not expressible in bytecode"] += 1
                continue
            status, said = theirs(data, folder)
            mine = ours(data)
            if status < 0:
                totals[CRASHED] += 1
                continue
            totals["compared"] += 1
            totals["accepted by both" if status == 0 and not mine else "refused by NVIDIA"] += 1
            if (status == 0) == (not mine):
                totals["agree"] += 1
                if mine:
                    totals["same first message"] += mine == said
                    if mine != said:
                        classes[f"refused by both, different message: `{shape(mine)}` / `{shape(said)}`"] += 1
            else:
                who = "only NVIDIA refuses" if status else "only tilery refuses"
                classes[f"**{who}**: `{shape(said or mine)}`"] += 1
    return totals, classes


def report(totals: Counter[str], classes: Counter[str], args: argparse.Namespace) -> str:
    compared = totals["compared"]
    lines = [
        "# The verifier against tileirdisasm",
        "",
        f"`python scripts/differential.py --count {args.count} --seed {args.seed} --smith {args.smith}`",
        "",
        checkout.fill(
            "wrote this page. It makes one or two changes to legal modules (types, attributes, operands, regions, "
            "terminators, entries, locations), writes them to bytecode, and gives them to NVIDIA's disassembler, which "
            "verifies, and to tilery."
        ),
        "",
        "| | |",
        "|---|---|",
        f"| modules compared | {compared:,} |",
        f"| agree on accept or reject | {totals['agree']:,} ({100 * totals['agree'] / max(1, compared):.3f} %) |",
        f"| accepted by both | {totals['accepted by both']:,} |",
        f"| refused by both with the same first message | {totals['same first message']:,} |",
        f"| skipped: bytecode cannot express the mutant | {totals['not expressible in bytecode']:,} |",
        f"| skipped: NVIDIA's tool crashed | {totals[CRASHED]:,} |",
        "",
        "## Where the two differ",
        "",
    ]
    merged: Counter[str] = Counter()
    for text, number in classes.items():
        merged[re.sub(r"has `.*|has '.*", "has ...`", text)] += number
    lines += [f"- {number} x {text}" for text, number in merged.most_common(40)] or ["Nowhere."]
    lines += ["", *NOT_MEASURED]
    return "\n".join(lines)


NOT_MEASURED = """\
## Not measured

Only the first message is compared, and not its location. Modules that bytecode cannot express are skipped, so mistakes
that exist only in text (a misspelt keyword, a missing type) are not covered here; NVIDIA's negative tests cover them
([conformance](../conformance.md)). The referee is `tileirdisasm` 13.4.92; [profiles](profiles.md) has older ones.
""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smith", type=float, default=0.5, help="share of generated modules")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    totals, classes = run(args.count, args.seed, args.smith)
    checkout.publish(report(totals, classes, args), args.report)
    return 0 if totals["agree"] >= 0.995 * totals["compared"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
