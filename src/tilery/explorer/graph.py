"""The graph of a function: operations, and the values between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from ..diag import TileError
from ..ir import Block, Op, Value, walk
from ..ops import Constant, Entry
from ..text.print.names import ValueNames
from ..types import TOKEN
from .documents import Opened

MAX_NODES = 300
"""The most operations that are drawn; of a larger function, those near the selected one."""
MAX_LABEL = 60


def graph(opened: Opened, function: int, around: int) -> dict[str, Any]:
    """Return the operations of a function and the edges between them, `[from, to, value, is a token]`.

    Node 0 - n is the argument n of the function's body: ids of operations are positive. A large function is cut to
    the operations that are the fewest values away from `around`, or the first ones if it is not in the function.
    """
    if not 0 <= function < len(opened.ops) or not isinstance(entry := opened.ops[function], Entry):
        raise TileError(f"operation {function} is not a kernel")
    edges = list(_edges(opened, entry))
    every = [opened.ids[o] for o in walk(entry.body)]
    chosen = set(every) if len(every) <= MAX_NODES else _near(every, edges, around, opened)
    names = opened.names
    parents = _parents(opened, entry)
    nodes = [_node(opened, number, parents, names) for number in every if number in chosen]
    used = {a for a, b, _, _ in edges if a <= 0 and b in chosen}
    arguments = [
        {"id": -number, "name": names[value], "type": _short(value.type.text), "argument": True, "parent": -1}
        for number, value in enumerate(entry.body.args)
        if -number in used
    ]
    shown = [[a, b, names[v], int(token)] for a, b, v, token in edges if b in chosen and (a in chosen or a in used)]
    return {"function": function, "nodes": arguments + nodes, "edges": shown, "total": len(every)}


Edge = tuple[int, int, Value, bool]


def _edges(opened: Opened, entry: Entry) -> Iterator[Edge]:
    """Yield an edge per use: from the operation that makes the value, or that passes it to its region."""
    owner: dict[Value, int] = {value: -number for number, value in enumerate(entry.body.args)}
    for o in walk(entry.body):
        number = opened.ids[o]
        owner.update(dict.fromkeys(o.results, number))
        for block in o.blocks:
            owner.update(dict.fromkeys(block.args, number))
    for o in walk(entry.body):
        for value in dict.fromkeys(o.operands):
            if value in owner:
                yield owner[value], opened.ids[o], value, value.type is TOKEN


def _parents(opened: Opened, entry: Entry) -> dict[int, int]:
    """Return the operation around each operation; -1 for those of the function's own body."""
    found: dict[int, int] = {}
    todo: list[tuple[Block, int]] = [(entry.body, -1)]
    while todo:
        block, parent = todo.pop()
        for o in block.ops:
            found[opened.ids[o]] = parent
            todo += [(inner, opened.ids[o]) for inner in o.blocks]
    return found


def _near(every: list[int], edges: list[Edge], around: int, opened: Opened) -> set[int]:
    """Return the operations nearest to one by breadth-first search; the first ones if it is not among them."""
    if around not in every:
        return set(every[:MAX_NODES])
    near: dict[int, list[int]] = {number: [] for number in every}
    for a, b, _, _ in edges:
        if a in near:
            near[a].append(b)
            near[b].append(a)
    found = {around}
    todo = deque([around])
    while todo and len(found) < MAX_NODES:
        for other in near[todo.popleft()]:
            if other not in found and len(found) < MAX_NODES:
                found.add(other)
                todo.append(other)
    return found


def _node(opened: Opened, number: int, parents: dict[int, int], names: ValueNames) -> dict[str, Any]:
    o: Op = opened.ops[number]
    results = ", ".join(names[value] for value in o.results)
    types = ", ".join(dict.fromkeys(value.type.text for value in o.results))
    made = {"id": number, "name": o.name, "results": _short(results), "type": _short(types), "parent": parents[number]}
    if isinstance(o, Constant):
        from ..lsp.describe import constant_text

        made["value"] = _short(constant_text(o))
    return made


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
