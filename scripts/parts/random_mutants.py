"""Random changes of the core: one operator, constant, condition or order of arguments."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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
    """A change of one place."""

    id: str
    """A hash of the place; it stays the same as long as the function does."""
    file: str
    line: int
    function: str
    change: str
    number: int
    """The place, counted over all places of the file."""
    at_import: bool
    """Whether the place is executed when the module is imported, not when a function is called."""

    @property
    def held_out(self) -> bool:
        """Whether the mutant is only reported: no test may be written with it in view."""
        return int(self.id[-1], 16) < 5

    @property
    def name(self) -> str:
        return f"{self.file.removeprefix('src/tilery/')}:{self.function}:{self.change}"


def files_of(root: Path) -> list[Path]:
    """Return the files that mutants come from."""
    return [path for package in PACKAGES for path in sorted((root / "src" / "tilery" / package).rglob("*.py"))]


def plain(text: str) -> str:
    """Return a file as it is written from its syntax tree: a mutant then differs in its change alone."""
    return ast.unparse(ast.parse(text)) + "\n"


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return all mutants of a file, with lines as `plain` counts them."""
    file = path.relative_to(root).as_posix()
    found: list[Mutant] = []
    numbers: Counter[str] = Counter()
    for number, place in enumerate(places(ast.parse(plain(path.read_text("utf-8"))))):
        where = f"{file}:{place.function}:{type(place.node).__name__}"
        numbers[where] += 1
        key = hashlib.sha256(f"{where}:{numbers[where]}".encode()).hexdigest()[:12]
        found.append(Mutant(key, file, place.node.lineno, place.function, place.said, number, not place.called))
    return found


def chosen(mutants: Iterable[Mutant], count: int, seed: str = "") -> list[Mutant]:
    """Return so many mutants: the hash chooses, so that a change elsewhere leaves the others as they are."""

    def key(each: Mutant) -> str:
        return hashlib.sha256(f"{seed} {each.id}".encode()).hexdigest() if seed else each.id

    return sorted(mutants, key=key)[:count]


def changed(mutant: Mutant, text: str) -> str:
    """Return the text of a file with the change of a mutant."""
    tree = ast.parse(plain(text))
    place = next(each for number, each in enumerate(places(tree)) if number == mutant.number)
    place.change()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@dataclass(frozen=True, slots=True)
class Place:
    """A node that can change: its function, the change in words, and a function that makes it."""

    node: Any
    function: str
    called: bool
    """Whether it is inside a function, and not only inside classes."""
    said: str
    change: Change


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield each place that can change."""
    todo: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while todo:
        node, function, called = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        for said, change in _changes(node):
            yield Place(node, function, called, said, change)
        called = called or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        todo += [(child, function, called) for child in reversed(list(_children(node)))]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that can matter: no annotations, assertions, messages, or code for type checkers."""
    if isinstance(node, (ast.Raise, ast.Assert)) or _for_type_checkers(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "not TYPE_CHECKING")


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if _for_type_checkers(node):
        return
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
    return text if len(text) <= 90 else f"{text[:43]} ... {text[-43:]}"
