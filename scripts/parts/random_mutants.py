"""Random changes of the core: one operator, constant, condition or order of arguments."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = ("ops", "bytecode", "text", "verifier", "passes", "engines/reference")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
Change = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change."""

    seed: int
    file: str
    line: int
    function: str
    change: str
    text: str
    number: int
    """The place in the file, of all places that can change."""

    def facts(self) -> dict[str, Any]:
        """What a report shows; the name stays the same as long as the function does."""
        name = f"{self.file.removeprefix('src/tilery/')}:{self.function}:{self.change}"
        return {"seed": self.seed, "name": name, "line": self.line, "change": self.change}


@cache
def files_of(root: Path) -> tuple[Path, ...]:
    """Return the files that mutants come from."""
    return tuple(path for package in PACKAGES for path in sorted((root / "src" / "tilery" / package).rglob("*.py")))


@cache
def _sites(path: Path) -> int:
    return sum(1 for _ in places(ast.parse(path.read_text("utf-8"))))


def mutant_of(seed: int, root: Path) -> Mutant:
    """Return the mutant of a seed; every place of all files is as likely as any other."""
    files = files_of(root)
    path = random.Random(seed).choices(files, [_sites(each) for each in files])[0]
    tree = ast.parse(path.read_text("utf-8"))
    number = random.Random(~seed).randrange(_sites(path))
    for index, (node, function, said, change) in enumerate(places(tree)):
        if index == number:
            change()
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            return Mutant(seed, path.relative_to(root).as_posix(), node.lineno, function, said, text, number)
    raise AssertionError("the tree has fewer places than before")


def places(tree: ast.Module) -> Iterator[tuple[Any, str, str, Change]]:
    """Yield each place that can change: the node, its function, the change in words, and a function that makes it."""
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, function = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        for said, change in _changes(node):
            yield node, function, said, change
        todo += [(child, function) for child in reversed(list(_children(node)))]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that can matter: no annotations, assertions, messages, or code for type checkers."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "not TYPE_CHECKING"):
        return
    if isinstance(node, (ast.Raise, ast.Assert)):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    before = ast.unparse(node) if isinstance(node, ast.expr) else ""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]()
        yield _said(before, node, "ops", [other]), _setter(node, "ops", [other])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        operator = OPERATORS[type(node.op)]()
        if not isinstance(node.left, (ast.JoinedStr, ast.List)):
            yield _said(before, node, "op", operator), _setter(node, "op", operator)
    elif isinstance(node, ast.BoolOp):
        bool_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _said(before, node, "op", bool_op), _setter(node, "op", bool_op)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield _said(before, node, "value", value), _setter(node, "value", value)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        test = ast.UnaryOp(ast.Not(), node.test)
        yield f"`{_short(ast.unparse(node.test))}` is negated", _setter(node, "test", test)
    elif isinstance(node, ast.Call) and all(isinstance(each, (ast.Name, ast.Attribute)) for each in node.args[:2]):
        swapped = [*node.args[1:2], *node.args[:1], *node.args[2:]]
        if len(swapped) > 1 and ast.dump(swapped[0]) != ast.dump(swapped[1]):
            yield _said(before, node, "args", swapped), _setter(node, "args", swapped)


def _setter(node: ast.AST, field: str, value: Any) -> Change:
    return lambda: setattr(node, field, value)


def _said(before: str, node: ast.AST, field: str, value: Any) -> str:
    old = getattr(node, field)
    setattr(node, field, value)
    after = ast.unparse(node)
    setattr(node, field, old)
    return f"`{_short(before)}` is `{_short(after)}`"


def _short(text: str) -> str:
    text = text.replace("|", "or").replace("`", "'")
    return text if len(text) <= 60 else f"{text[:57]}..."
