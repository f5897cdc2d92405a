"""Imports point one way: each package uses only those in earlier rows of a table, and modules form no cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter

import tilery
from support.oracle import ROOT

SRC = ROOT / "src"

ROWS = (
    ("version", "diag", "hooks", "checking", "markup", "child", "serving"),
    ("enums",),
    ("floats",),
    ("types", "attrs"),
    ("ir",),
    ("declare",),
    ("ops",),
    ("bytecode", "text"),
    ("source",),
    ("analysis",),
    ("verifier",),
    ("rewrite",),
    ("passes",),
    ("smith",),
    ("engines",),
    ("exec",),
    ("sanitize",),
    ("lint",),
    ("observe",),
    ("prove",),
    ("reducer",),
    ("cost",),
    ("tuner",),
    ("programs",),
    ("cutile", "cpp"),
    ("debug",),
    ("documented",),
    ("builder", "api"),
    ("triton",),
    ("judge",),
    ("manual", "docs", "lsp", "explorer", "cli", "__main__"),
)
"""The packages and modules of tilery. A row may import from itself and from the rows above it, inside functions too."""

LEAVES = {"checking", "hooks", "markup", "declare.fastclass", "declare.codegen", "declare.gcpause"}
"""Helpers that import nothing of tilery but each other, so that every row may use them."""

ENGINES = {
    "cpu": {"reference"},  # which runs what this engine does not compile
    "cuda": set[str](),
    "gpu": {"cuda", "tileiras", "triton"},
    "reference": set[str](),
    "tileiras": {"cuda"},
    "triton": {"cuda", "tileiras"},
}
"""The engines, and other engines that each uses. Everything else that they share is in `engines/common`."""

FREE = {"", "api"}
"""The public API itself: it imports everything inside functions, so that `import tilery` stays fast."""


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its name without `tilery.`; the package itself is the empty string."""
    found = {}
    for path in sorted((SRC / "tilery").rglob("*.py")):
        if path.parent.name != "site":  # not a package: Python runs what is in it at start
            parts = path.relative_to(SRC / "tilery").with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = ast.parse(path.read_text("utf-8"))
    return found


@cache
def packages() -> frozenset[str]:
    return frozenset(
        ".".join(path.parent.relative_to(SRC / "tilery").parts) for path in (SRC / "tilery").rglob("__init__.py")
    )


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that can run: those under `if TYPE_CHECKING` do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from statements(other)
        elif not isinstance(child, ast.expr):
            yield from statements(child)


def targets(importer: str, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules of tilery that a statement imports."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.name.split(".")[0] == "tilery":
                yield alias.name.removeprefix("tilery").removeprefix(".")
        return
    base = statement.module or ""
    if statement.level:
        parts = importer.split(".") if importer else []
        keep = len(parts) - statement.level + (importer in packages())
        base = ".".join([*parts[:keep], *([base] if base else [])])
    elif base.split(".")[0] == "tilery":
        base = base.removeprefix("tilery").removeprefix(".")
    else:
        return
    for alias in statement.names:
        name = f"{base}.{alias.name}" if base else alias.name
        if name in modules():
            yield name
        elif not base:
            yield tilery._HOMES.get(alias.name, "")
        else:
            yield base


@cache
def edges() -> frozenset[tuple[str, str]]:
    """All pairs of an importer and a module that it imports."""
    return frozenset(
        (importer, imported)
        for importer, tree in modules().items()
        for statement in statements(tree)
        for imported in targets(importer, statement)
        if imported != importer
    )


def row(name: str) -> int:
    top = name.split(".")[0]
    return next(index for index, names in enumerate(ROWS) if top in names)


def back_edges() -> set[tuple[str, str]]:
    counted = [(a, b) for a, b in edges() if a not in FREE and b not in LEAVES]
    return {(a, b) for a, b in counted if not b or row(a) < row(b)}


def test_every_module_has_a_row() -> None:
    known = {name for names in ROWS for name in names}
    assert {name.split(".")[0] for name in modules() if name} <= known


def test_imports_point_one_way() -> None:
    assert back_edges() == set()


def test_leaves_import_nothing_of_tilery() -> None:
    assert [(a, b) for a, b in edges() if a in LEAVES and b not in LEAVES] == []


def test_engines_share_only_what_is_common() -> None:
    used: dict[str, set[str]] = {name: set() for name in (*ENGINES, "common")}
    for a, b in edges():
        (top, user), (other_top, other) = ((*name.split("."), "")[:2] for name in (a, b))
        if top == other_top == "engines" and user in used and other in used and user != other:
            used[user].add(other)
    assert used.pop("common") == set()
    assert {name: others - {"common"} for name, others in used.items()} == ENGINES


def test_modules_form_no_cycles() -> None:
    graph: dict[str, set[str]] = {}
    for a, b in edges():
        if a not in FREE:
            graph.setdefault(a, set()).add(b)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle
