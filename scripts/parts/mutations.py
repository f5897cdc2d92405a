"""Changes of the code by its syntax tree: a function, a piece of it, and what replaces the piece.

A place is `module`, `module:function`, `module:Class.method`, `module:Class.field` or `module:CONSTANT`. The piece is
an operator (`<=`), an expression or a statement, compared without layout and comments; the place must have it once. An
empty replacement removes a statement, a decorator, an argument or an element.

`f(...)` is any call of f; in the replacement, `...` keeps the arguments that it does not name. `{**...}` is any
dictionary, in the same way. `"...text..."` is a string that has the text, which alone is replaced.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

OPERATORS: dict[str, type[ast.AST]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn, "and": ast.And, "or": ast.Or,
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "//": ast.FloorDiv, "%": ast.Mod,
    "<<": ast.LShift, ">>": ast.RShift, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
}  # fmt: skip
Slot = tuple[ast.AST, str, int | None]
"""Where a node is: its parent, the field, and the index if the field is a list."""


class LostError(Exception):
    """The code no longer has what a mutation changes."""


def mutate(source: str, place: str, change: str, to: str) -> str:
    """Return the source with one piece replaced, or raise LostError."""
    tree = ast.parse(source)
    name = place.partition(":")[2]
    scopes = _named([tree], name.split(".")) if name else [tree]
    if not scopes:
        raise LostError(f"there is no {place}")
    pieces = _parse(change)
    found = [slot for scope in scopes for slot in _slots(scope, pieces)]
    if len(found) != 1:
        raise LostError(f"{place} has {len(found)} of {change}")
    _replace(found[0], pieces, _parse(to))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def file_of(place: str, root: Path) -> Path:
    """Return the file of a place in a checkout."""
    path = root / "src" / place.partition(":")[0].replace(".", "/")
    package = path / "__init__.py"
    return package if package.is_file() else path.with_suffix(".py")


# ---------------------------------------------------------------- finding


def _named(scopes: list[ast.AST], names: list[str]) -> list[ast.AST]:
    """Return the statements with a dotted name: definitions, and assignments to the name."""
    for name in names:
        scopes = [found for scope in scopes for found in _inside(scope) if name in _names(found)]
    return scopes


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the statements of a scope, also those inside `if` and the like."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield child
            if not isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                yield from _inside(child)


def _names(statement: ast.AST) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _parse(text: str) -> list[ast.AST]:
    """Return the operator, the decorators or the statements of a text, without a statement around an expression."""
    if text in OPERATORS:
        return [OPERATORS[text]()]
    if text.startswith("@"):
        function = ast.parse(f"{text}\ndef f(): pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        return list(function.decorator_list)
    return [part.value if isinstance(part, ast.Expr) else part for part in ast.parse(text).body]


def _slots(scope: ast.AST, pieces: list[ast.AST]) -> Iterator[Slot]:
    """Iterate over the places in a scope where the pieces follow each other."""
    wanted = [ast.dump(piece) for piece in pieces]
    for parent in ast.walk(scope):
        for field, value in ast.iter_fields(parent):
            if isinstance(parent, ast.Expr):
                continue  # found as an element of the list of statements
            if isinstance(value, list):
                for index in range(len(value) - len(pieces) + 1):
                    if all(_same(value[index + n], pieces[n], wanted[n]) for n in range(len(pieces))):
                        yield parent, field, index
            elif isinstance(value, ast.AST) and len(pieces) == 1 and _same(value, pieces[0], wanted[0]):
                yield parent, field, None


def _same(node: object, piece: ast.AST, dumped: str) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    if not isinstance(node, ast.AST):
        return False
    if isinstance(piece, ast.Call) and _is_open(piece):
        return isinstance(node, ast.Call) and ast.dump(node.func) == ast.dump(piece.func)
    if isinstance(piece, ast.Dict) and _is_open(piece):
        return isinstance(node, ast.Dict)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and (fragment := _fragment(piece)):
        return fragment in node.value
    return type(node) is type(piece) and ast.dump(node) == dumped


def _fragment(piece: ast.AST) -> str:
    """Return the text of a string that is written "...text...", and otherwise an empty one."""
    value = piece.value if isinstance(piece, ast.Constant) else None
    return value[3:-3] if isinstance(value, str) and value.startswith("...") and value.endswith("...") else ""


def _is_open(piece: ast.Call | ast.Dict) -> bool:
    """Whether a piece is written `f(...)` or `{**...}`."""
    first = (piece.args if isinstance(piece, ast.Call) else piece.values)[:1]
    return bool(first) and isinstance(first[0], ast.Constant) and first[0].value is ...


# ---------------------------------------------------------------- changing


def _replace(slot: Slot, pieces: list[ast.AST], by: list[ast.AST]) -> None:
    parent, field, index = slot
    value = getattr(parent, field)
    old = value if index is None else value[index]
    by = [_filled(pieces[0], piece, old.value if isinstance(old, ast.Expr) else old) for piece in by]
    if index is not None:
        count = len(pieces)
        if isinstance(old, ast.stmt):
            by = [ast.Expr(piece) if isinstance(piece, ast.expr) else piece for piece in by]
        value[index : index + count] = by or ([ast.Pass()] if field == "body" and len(value) == count else [])
    elif by:
        setattr(parent, field, by[0])
    else:
        raise LostError(f"{ast.unparse(old)} cannot be removed")


def _filled(piece: ast.AST, by: ast.AST, old: ast.AST) -> ast.AST:
    """Return a replacement with the parts of the old node that `...` keeps."""
    if isinstance(by, ast.Call) and isinstance(old, ast.Call) and _is_open(by):
        new = {keyword.arg: keyword for keyword in by.keywords}
        kept = [new.pop(keyword.arg, keyword) for keyword in old.keywords]
        return ast.Call(old.func, old.args, [*kept, *new.values()])
    if isinstance(by, ast.Dict) and isinstance(old, ast.Dict) and _is_open(by):
        return ast.Dict([*old.keys, *by.keys[1:]], [*old.values, *by.values[1:]])
    if isinstance(old, ast.Constant) and isinstance(old.value, str) and _fragment(piece):
        return ast.Constant(old.value.replace(_fragment(piece), _fragment(by)))
    return by
