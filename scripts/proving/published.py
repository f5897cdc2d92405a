"""Compare kernels that other people published with each other; write docs/reports/lab/prove_published.md and its JSON.

    python scripts/proving/published.py --clones FOLDER [--only FAMILY] [--report]
    python scripts/proving/published.py --page     # writes the page from the numbers beside it

FOLDER has checkouts of the repositories that `published.toml` names, each under its name without the owner. Nothing of
them is part of this project: a kernel and what it uses of its file are copied to a temporary folder and compiled there.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

import checkout  # noqa: E402
from tilery.cli.verbs.testing.prove import fill_in, open_side  # noqa: E402
from tilery.diag import TileError  # noqa: E402
from tilery.prove import Verdict, over  # noqa: E402
from tilery.prove.plans import Opened, ProofPlan, StagePlan  # noqa: E402

PAGE = ROOT / "docs/reports/lab/prove_published.md"
KEPT = ("ct.kernel", "ct.function", "triton.jit")
"""Decorators that stay; others tune, register or test a kernel."""
OUTSIDE = ("math", "typing", "cuda", "triton")
"""Packages whose imports stay."""


# ---------------------------------------------------------------- kernels out of their files


def extract(source: str, kernel: str) -> str:
    """Return the kernel of a file with the definitions that it uses, and nothing that runs or needs another file."""
    defined: dict[str, ast.stmt] = {}
    for node in _statements(ast.parse(source)):
        for name in _binds(node):
            defined.setdefault(name, node)
    if kernel not in defined:
        raise TileError(f"there is no kernel '{kernel}'")
    wanted, todo = list[ast.stmt](), [kernel]
    seen = set[str]()
    while todo:
        name = todo.pop()
        if name in seen or name not in defined:
            continue
        seen.add(name)
        node = defined[name]
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [d for d in node.decorator_list if ast.unparse(d).startswith(KEPT)]
        if node not in wanted:
            wanted.append(node)
            todo += _uses(node)
    wanted.sort(key=lambda node: node.lineno)
    return "\n\n".join(map(ast.unparse, wanted)) + "\n"


def _uses(node: ast.stmt) -> list[str]:
    """Return the names that a statement takes from outside."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)} if isinstance(node, ast.FunctionDef) else set()
    own |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return [n.id for n in names if n.id not in own]


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a file; of conditions and attempts, what they contain."""
    found, todo = list[ast.stmt](), list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If):
            todo += reversed([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            todo += reversed(node.body)
        else:
            found.append(node)
    return found


def _binds(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Import(names=names):
            return [(n.asname or n.name).split(".")[0] for n in names if n.name.split(".")[0] in OUTSIDE]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [n.asname or n.name for n in names] if module.split(".")[0] in OUTSIDE else []
        case ast.Assign(targets=targets):
            return [t.id for t in targets if isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


# ---------------------------------------------------------------- comparisons


def label(kernel: Mapping[str, Any]) -> str:
    return f"{kernel['repo'].split('/')[1]}, {kernel['language']}: `{kernel['name']}`"


def stage(kernel: Mapping[str, Any], clones: Path, work: Path) -> StagePlan:
    """Extract a kernel, and return its launch."""
    file = clones / kernel["repo"].split("/")[1] / kernel["file"]
    if not file.is_file():
        raise TileError(f"there is no file '{kernel['file']}' in the checkout")
    name = f"{kernel['repo']}_{kernel['file']}_{kernel['name']}".replace("/", "_").replace("-", "_")
    made = work / f"{name.removesuffix('.py')}.py"
    made.write_text(extract(file.read_text("utf-8"), kernel["name"]), "utf-8")
    return StagePlan(f"{made}::{kernel['name']}", kernel["grid"], kernel["args"], None, kernel["sig"])


def compare(family: Mapping[str, Any], a: StagePlan, b: StagePlan, cache: dict[Any, Any]) -> Verdict:
    """Compare two kernels for all shapes of their family."""
    sizes = {name: list(values) for name, values in family["sizes"].items()}
    plan = ProofPlan(dict(family["buffers"]), [a], [b], sizes, outs=family["outs"])

    def opened(each: StagePlan, sizes: Mapping[str, int]) -> Opened:
        key = (each.file, fill_in(each.sig, sizes))
        if key not in cache:
            cache[key] = open_side(each.file, None, key[1], argparse.Namespace(input=None))
        found: Opened = cache[key]
        return found

    return over(lambda **sizes: plan.make(opened, sizes), plan.sizes)


def run(families: list[dict[str, Any]], clones: Path) -> dict[str, Any]:
    """Compare every two kernels of each family."""
    found: dict[str, Any] = {"families": []}
    with tempfile.TemporaryDirectory() as work:
        for family in families:
            cache: dict[Any, Any] = {}
            kernels = family["kernel"]
            rows, left_out = [], {}
            for kernel in kernels:  # one that cannot be compiled is not compared
                try:
                    made = stage(kernel, clones, Path(work))
                    compare(family, made, made, cache)
                except TileError as error:
                    left_out[label(kernel)] = error.message.strip().splitlines()[-1][:200]
            usable = [k for k in kernels if label(k) not in left_out]
            for one, other in combinations(usable, 2):
                rows.append(outcome(family, one, other, clones, Path(work), cache))
                if sys.stderr.isatty():
                    print(f"\r{family['name']} {len(rows)}", end="", file=sys.stderr)
            facts = {"name": family["name"], "sizes": family["sizes"], "kernels": list(map(label, usable))}
            found["families"].append({**facts, "left_out": left_out, "pairs": rows})
    return found


def outcome(
    family: Mapping[str, Any], one: Any, other: Any, clones: Path, work: Path, cache: dict[Any, Any]
) -> dict[str, Any]:
    started = time.process_time()
    try:
        verdict = compare(family, stage(one, clones, work), stage(other, clones, work), cache)
    except TileError as error:
        verdict = Verdict("error", reason=error.message)
    facts: dict[str, Any] = {"a": label(one), "b": label(other), "answer": verdict.answer}
    facts |= {"seconds": round(time.process_time() - started, 2), "reason": verdict.reason.partition("0x")[0][:300]}
    facts |= {"assumed": verdict.assumed, "notes": verdict.notes, "shapes": len(verdict.shapes)}
    if verdict.witness is not None:
        w = verdict.witness
        facts["witness"] = f"{w.output}[{', '.join(map(str, w.element))}]: {w.values[0]} and {w.values[1]}"
    return facts


def commits(families: list[dict[str, Any]], clones: Path) -> dict[str, str]:
    """Return the commit of each checkout, if git knows it."""
    found = {}
    for repo in sorted({kernel["repo"] for family in families for kernel in family["kernel"]}):
        command = ["git", "-C", str(clones / repo.split("/")[1]), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True)
        noted = clones / f"{repo.split('/')[1]}.commit"
        found[repo] = noted.read_text().strip() if noted.is_file() else done.stdout.strip() or "unknown"
    return found


# ---------------------------------------------------------------- the page


def page(facts: dict[str, Any]) -> str:
    """Return the page for the numbers of a run."""
    pairs = [pair for family in facts["families"] for pair in family["pairs"]]
    answers = Counter(pair["answer"] for pair in pairs)
    where = ", ".join(f"{repo} at {commit}" for repo, commit in facts["commits"].items())
    said = ", ".join(f"{count} {answer}" for answer, count in sorted(answers.items()))
    lines = ["# Published kernels, compared with each other", ""]
    lines.append(checkout.fill(INTRODUCTION.format(where=where, count=len(pairs), said=said).strip()))
    lines += ["", "| family | kernels | pairs | equal | different | undecided | error | slowest |"]
    lines += ["|---|--:|--:|--:|--:|--:|--:|--:|"]
    for family in facts["families"]:
        some = Counter(pair["answer"] for pair in family["pairs"])
        counts = " | ".join(str(some[answer]) for answer in ("equal", "different", "undecided", "error"))
        slowest = max((pair["seconds"] for pair in family["pairs"]), default=0.0)
        lines.append(
            f"| {family['name']} | {len(family['kernels'])} | {len(family['pairs'])} | {counts} | {slowest:.1f} s |"
        )
    for family in facts["families"]:
        sizes = ", ".join(f"{name} = {', '.join(map(str, values))}" for name, values in family["sizes"].items())
        lines += ["", f"## {family['name'][0].upper()}{family['name'][1:]}", "", f"Sizes: {sizes}. Kernels:", ""]
        lines += [f"* {name}" for name in family["kernels"]]
        lines += [f"* {name}: left out, {why}" for name, why in family["left_out"].items()]
        odd = [pair for pair in family["pairs"] if pair["answer"] != "equal"]
        if odd:
            lines += ["", "| A | B | verdict | reason |", "|---|---|---|---|"]
            lines += [f"| {p['a']} | {p['b']} | {p['answer']} | {_why(p)} |" for p in odd]
        notes = sorted({note for pair in family["pairs"] if pair["answer"] == "equal" for note in pair["notes"]})
        if notes:
            lines += ["", "Notes of equal pairs:", "", *(f"* {note}" for note in notes)]
    return "\n".join([*lines, "", "## Not measured", "", checkout.fill(NOT_MEASURED.strip()), ""])


def _why(pair: dict[str, Any]) -> str:
    return "; ".join(filter(None, [pair["reason"], pair.get("witness", "")])).replace("|", "/").replace("\n", " ")


INTRODUCTION = """
`python scripts/proving/published.py --clones FOLDER --report` wrote this page, from checkouts of {where}. Every two
kernels of a family were compared over the real numbers, for several shapes that are not multiples of tiles. The kernels
are in cuTile and in Triton, and no line of them was changed: a kernel and what it uses was taken out of its file, and
decorators that tune or register it were left out. Of {count} pairs, {said}.
"""
NOT_MEASURED = """
These kernels are a choice: forward passes with few inputs, which most repositories have. Attention, quantised kernels
and those that need more than one launch are not among them. Types are f32, and f16 for matrix products; a cast to
another float type is no difference over the real numbers. Times are processor times.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clones", type=Path, help="a folder of checkouts")
    parser.add_argument("--only", metavar="FAMILY", help="compare this family only")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.name} and its JSON")
    parser.add_argument("--page", action="store_true", help="only write the page, from the JSON")
    args = parser.parse_args()
    numbers = PAGE.with_suffix(".json")
    if not args.page:
        if args.clones is None:
            parser.error("--clones is needed")
        families = tomllib.loads((HERE / "published.toml").read_text("utf-8"))["family"]
        facts = run([f for f in families if args.only in (None, f["name"])], args.clones)
        facts["commits"] = commits(families, args.clones)
        for family in facts["families"]:
            print(family["name"], dict(Counter(p["answer"] for p in family["pairs"])), family["left_out"])
            for pair in family["pairs"]:
                if pair["answer"] != "equal":
                    print("  ", pair["a"], "|", pair["b"], pair["answer"], pair["reason"], pair.get("witness", ""))
        if not args.report:
            return 0
        if args.only:  # the other families keep their numbers
            known = json.loads(numbers.read_text("utf-8"))["families"]
            facts["families"] = [next((f for f in facts["families"] if f["name"] == k["name"]), k) for k in known]
        numbers.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(json.loads(numbers.read_text("utf-8"))), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
