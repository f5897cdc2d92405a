"""Print operations with chosen names of values: those of a text, of a builder, or of the source of a kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...ir import Block, Op, Value
from ...ops import Entry, Module
from .names import ValueNames, name_values
from .printer import LIMIT, show_styled
from .styles import STYLES

_NAME = re.compile(r"[A-Za-z_$.-][A-Za-z0-9_$.-]*\Z|[0-9]+\Z")


def parameter_names(root: Op) -> dict[Value, str]:
    """Return the names that the builder gave the parameters of a kernel, or of all kernels of a module."""
    entries = [root] if isinstance(root, Entry) else root.entries if isinstance(root, Module) else []
    return {value: name for o in entries if o.param_names for value, name in zip(o.body.args, o.param_names)}


def show_named(root: Op, chosen: Mapping[Value, str], style: str = "disasm", locs: bool = False) -> str:
    """Return the text of a module or an operation. Values without a chosen name are named as always."""
    return show_styled(root, STYLES[style], locs, names=lambda block, limit: chosen_names(block, chosen, limit))


def chosen_names(root: Block, chosen: Mapping[Value, str], limit: int = LIMIT) -> ValueNames:
    """Name all values inside a block. A chosen name that is taken gets a number; one that is no name is left out."""
    names = name_values(root, limit=limit)
    todo: list[tuple[Block, list[set[str]]]] = [(root, [])]
    while todo:
        block, outer = todo.pop()
        used = [*outer, set()]
        for value in block.args:
            _choose(names, value, chosen, used)
        for o in block.ops:
            if o in names.heads:
                _choose_shared(names, o, used)
            else:
                for value in o.results:
                    _choose(names, value, chosen, used)
        todo += [(inner, used) for o in block.ops if o.nested for inner in o.blocks]
    return names


def _choose(names: ValueNames, value: Value, chosen: Mapping[Value, str], used: list[set[str]]) -> None:
    name = chosen.get(value, "")
    names[value] = unique(f"%{name}" if _NAME.match(name) else names[value], used)


def _choose_shared(names: ValueNames, o: Op, used: list[set[str]]) -> None:
    """Name results that share one name, `%for:2`."""
    base, _, count = names.heads[o].rpartition(":")
    base = unique(base, used)
    names.heads[o] = f"{base}:{count}"
    for number, value in enumerate(o.results):
        names[value] = f"{base}#{number}"


def unique(name: str, used: list[set[str]]) -> str:
    """Return a name that no scope has, with a number at its end if need be; it is added to the innermost scope.

    >>> unique("%x", [{"%x", "%x_0"}, set()])
    '%x_1'
    """
    text, number = name, 0
    while any(text in scope for scope in used):
        text, number = f"{name}_{number}", number + 1
    used[-1].add(text)
    return text
