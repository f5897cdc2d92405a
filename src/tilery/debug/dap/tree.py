"""Variables that an editor unfolds: scopes of a tile block, their values, and slices and statistics of a tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...diag import TileError
from ...engines.common.tiles import Array
from ...observe.numbers import element_text, statistics
from ..session import Session
from ..terminal import shown
from ..variables import Variable, named

Item = dict[str, Any]
Children = Callable[[int, int], list[Item]]
"""Returns the children from a number on, at most so many."""
MOST = 1000
"""Children that are returned at once, if the editor does not say how many it wants."""


class VariableReferences:
    """References to things with children, valid until execution goes on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._children: list[Children] = []
        self.names: dict[int, str] = {}
        """The expression of an array, or of a slice of one, by its reference."""

    def _add(self, children: Children) -> int:
        self._children.append(children)
        return len(self._children)

    def children(self, reference: int, start: int = 0, count: int = 0) -> list[Item]:
        """Return the children of a reference."""
        if not 1 <= reference <= len(self._children):
            raise TileError(f"there are no variables {reference}")
        return self._children[reference - 1](start, count or MOST)

    def scopes(self, rank: int) -> list[Item]:
        """Return the scopes of a tile block."""
        variables = self.session.variables_of(rank)
        chosen = named(variables)
        found = [self._scope("Variables", lambda: [self._variable(each) for each in chosen], len(chosen))]
        if len(chosen) < len(variables):
            values = lambda: [self._variable(each) for each in variables]  # noqa: E731
            found.append(self._scope("All values", values, len(variables), expensive=True))
        arrays = self.session.arrays
        found.append(self._scope("Arrays", lambda: [self._array(each.name) for each in arrays], len(arrays)))
        found.append(self._scope("Launch", lambda: self._launch(rank), 4))
        return found

    def _scope(self, name: str, items: Callable[[], list[Item]], count: int, expensive: bool = False) -> Item:
        reference = self._add(lambda start, most: items()[start : start + most])
        return {"name": name, "variablesReference": reference, "namedVariables": count, "expensive": expensive}

    def _launch(self, rank: int) -> list[Item]:
        session = self.session
        facts = {
            "block": session.block_of(rank),
            "grid": session.machine.grid,
            "position": session.position,
            "operation": "" if session.op is None else session.op.name,
        }
        return [{"name": name, "value": str(value), "variablesReference": 0} for name, value in facts.items()]

    def _variable(self, variable: Variable) -> Item:
        text = f"{variable}{' (of the iteration before)' if variable.stale else ''}"
        item = {"name": variable.name, "value": text, "type": str(variable.type), "evaluateName": variable.name}
        if not variable.is_tile:
            return {**item, "variablesReference": 0}
        return {**item, **self.unfold(variable.tile, variable.name)}

    def _array(self, name: str) -> Item:
        array = next(each for each in self.session.arrays if each.name == name)
        value = array.read(self.session.machine.memory)
        text = f"{'x'.join(map(str, array.shape))}, {statistics(value)}" if value.size else "empty"
        found = self.unfold(value, name)
        self.names[found["variablesReference"]] = name
        return {"name": name, "value": text, "type": f"array of {array.element}", "evaluateName": name, **found}

    def unfold(self, tile: Array, name: str) -> Item:
        """Return the fields that let an editor unfold a tile: its statistics, then its slices along the first axis."""
        if tile.ndim == 0:
            return {"variablesReference": 0}

        def children(start: int, most: int) -> list[Item]:
            items = [] if start else [{"name": "statistics", "value": str(statistics(tile)), "variablesReference": 0}]
            return items + [self._slice(tile, name, at, own) for at in range(start, min(start + most, len(tile)))]

        own = self._add(children)
        return {"variablesReference": own, "indexedVariables": len(tile), "namedVariables": 1}

    def _slice(self, tile: Array, name: str, at: int, parent: int) -> Item:
        where = f"{name[:-1]}, {at}]" if name.endswith("]") else f"{name}[{at}]"
        part = np.asarray(tile[at])
        found = self.unfold(part, where)
        if parent in self.names and found["variablesReference"]:
            self.names[found["variablesReference"]] = where
        text = element_text(part[()]) if part.ndim == 0 else shown(part).replace("\n", "")
        return {"name": f"[{at}]", "value": text[:200], "evaluateName": where, **found}

    def element_of(self, reference: int, name: str) -> str | None:
        """Return the element of an array that a variable is, such as `a[17, 3]`; None for anything else."""
        parent = self.names.get(reference)
        if parent is None or not name.startswith("["):
            return None
        return f"{parent[:-1]}, {name[1:]}" if parent.endswith("]") else f"{parent}{name}"
