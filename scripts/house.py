"""Measure the source: lines and modules per package, names with several meanings, control flow that reads messages.

    python scripts/house.py [--against COMMIT] [--report docs/reports/lab/house.md]

Compares the working tree with a commit, if one is named.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import checkout

MESSAGES = {"message", "text", "reason", "notes"}
"""Attributes that hold text for people."""
TESTS = {"startswith", "endswith", "find", "search", "match"}


@dataclass
class House:
    """The measurements of one tree."""

    lines: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    reads_messages: list[str] = field(default_factory=list)
    starts_processes: list[str] = field(default_factory=list)
    comments: int = 0
    tests: int = 0
    cases: int = 0


def measure(root: Path) -> House:
    """Read every Python file of a tree."""
    found = House()
    source = root / "src" / "tilery"
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source)
        package = place.parts[0] if len(place.parts) > 1 else "(top)"
        if package == "engines" and len(place.parts) > 2:
            package = f"engines/{place.parts[1]}"
        text = path.read_text("utf-8")
        found.lines[package] += text.count("\n")
        found.modules[package] += 1
        found.comments += sum(line.lstrip().startswith("#") for line in text.splitlines())
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.classes[node.name].append(place.as_posix())
        found.reads_messages += [f"{place.as_posix()}:{line}" for line in message_tests(tree)]
        if any(_starts_process(node) for node in ast.walk(tree)):
            found.starts_processes.append(place.as_posix())
    found.tests = sum(1 for _ in (root / "tests").rglob("test_*.py"))
    found.cases = sum(1 for _ in (root / "tests" / "cases").rglob("*.mlir"))
    return found


def message_tests(tree: ast.AST) -> Iterator[int]:
    """Yield the lines on which an error's text decides something: `"..." in error.message`, `note.startswith(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            texts = node.comparators if isinstance(node.left, ast.Constant) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TESTS:
            texts = [node.func.value]
        else:
            continue
        if any(map(_is_error_text, texts)):
            yield node.lineno


def _is_error_text(node: ast.expr) -> bool:
    """Tell whether an expression is the text of an error or a note, by its name."""
    if isinstance(node, ast.Attribute) and node.attr in MESSAGES:
        return isinstance(node.value, ast.Name) and node.value.id in {"error", "e", "finding", "diagnostic", "failed"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id in {"error", "e"}
    return isinstance(node, ast.Name) and node.id == "note"


def _starts_process(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"Popen", "fork"}
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"subprocess", "os"}
    )


def at_commit(commit: str) -> House:
    """Measure the tree of a commit."""
    data = subprocess.run(
        ["git", "archive", commit, "src", "tests"], cwd=checkout.ROOT, capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")
        return measure(Path(folder))


def page(now: House, before: House | None, commit: str) -> str:
    """Return the report."""
    command = "python scripts/house.py" + (f" --against {commit}" if commit else "")
    packages = sorted(now.lines | (before.lines if before else Counter()), key=lambda name: -now.lines[name])
    lines = ["# The source in numbers", "", f"`{command}` wrote this page.", ""]
    lines += ["| package | modules | lines | modules before | lines before |", "|---|--:|--:|--:|--:|"]
    for name in packages:
        old = (str(before.modules[name]), f"{before.lines[name]:,}") if before else ("", "")
        lines.append(f"| {name} | {now.modules[name]} | {now.lines[name]:,} | {old[0]} | {old[1]} |")
    lines.append(_totals(now, before))
    lines += ["", "| | now | before |", "|---|--:|--:|"]
    for label, value in rows(now).items():
        lines.append(f"| {label} | {value} | {rows(before)[label] if before else ''} |")
    shared = {name: places for name, places in now.classes.items() if len(places) > 2}
    lines += ["", "Names of three or more classes: " + (_listed(shared) or "none") + ".", ""]
    lines += ["Places where the text of an error decides: " + (", ".join(now.reads_messages) or "none") + ".", ""]
    lines += ["Modules that start processes: " + ", ".join(now.starts_processes) + ".", ""]
    lines += ["## Not measured", "", "Whether the code is good. Lines are all lines, also of docstrings and tables."]
    return "\n".join(checkout.fill(line) if not line.startswith("|") else line for line in lines)


def _totals(now: House, before: House | None) -> str:
    old = (f"{before.modules.total()}", f"{before.lines.total():,}") if before else ("", "")
    return f"| all | {now.modules.total()} | {now.lines.total():,} | {old[0]} | {old[1]} |"


def rows(house: House | None) -> dict[str, str]:
    """Return the numbers of a tree by their names."""
    if house is None:
        return {}
    return {
        "classes whose name another class has": str(sum(len(p) for p in house.classes.values() if len(p) > 1)),
        "places where the text of an error decides": str(len(house.reads_messages)),
        "modules that start processes": str(len(house.starts_processes)),
        "comments per hundred lines": f"{100 * house.comments / house.lines.total():.1f}",
        "files of tests in Python": str(house.tests),
        "files of tests in Tile IR": str(house.cases),
    }


def _listed(shared: dict[str, list[str]]) -> str:
    return ", ".join(f"{name} ({len(places)})" for name, places in sorted(shared.items(), key=lambda n: -len(n[1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="", metavar="COMMIT", help="a commit to compare with")
    parser.add_argument("--report", type=Path, help="the page to write")
    args = parser.parse_args()
    before = at_commit(args.against) if args.against else None
    checkout.publish(page(measure(checkout.ROOT), before, args.against), args.report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
