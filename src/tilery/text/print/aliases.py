"""Aliases of locations and debug information, numbered in MLIR's order."""

from __future__ import annotations

from collections.abc import Iterable

from ...attrs import ArrayAttr, Attr, DICompileUnit, DictAttr, DIFile, DILexicalBlock, DILoc, DISubprogram, Loc
from ...declare.fastclass import dataclass, field
from .attributes import location_parts, quote, too_long

_ALIAS: dict[type[Attr], str] = {
    DIFile: "di_file",
    DICompileUnit: "di_compile_unit",
    DISubprogram: "di_subprogram",
    DILexicalBlock: "di_lexical_block",
}


@dataclass(slots=True, eq=False)
class AliasNode:
    """A distinct location or debug attribute: its alias, and its text with other nodes in between."""

    parts: list[str | AliasNode]
    alias: str
    depth: int = 1
    visited: bool = False
    early: bool = False
    name: str = ""
    children: list[AliasNode] = field(default_factory=list)

    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.name for part in self.parts)


class Aliases:
    """Collects attributes that need an alias, then names them: by depth, then by kind, then by first visit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.names: dict[int, str] = {}
        """by the identity of the attribute; empty until `finish`"""
        self._by_id: dict[int, AliasNode] = {}
        self._keep: list[Attr] = []
        self._by_content: dict[tuple[object, ...], AliasNode] = {}
        self._order: list[AliasNode] = []

    def add(self, attr: Attr | None, *, early: bool = False) -> AliasNode:
        """Visit a location or debug attribute. Aliases of `early` ones are printed before the module."""
        root = self._by_id.get(id(attr)) or self._node(attr)
        if root.visited and not early:
            return root
        todo = [root]
        while todo:
            node = todo.pop()
            if not node.visited:
                node.visited = True
                self._order.append(node)
            elif node.early or not early:
                continue
            node.early = node.early or early
            todo += reversed(node.children)
        return root

    def add_inside(self, attrs: Iterable[Attr]) -> None:
        """Visit the debug attributes in other attributes."""
        todo = list(attrs)
        while todo:
            match todo.pop():
                case ArrayAttr(items):
                    todo += reversed(items)
                case DictAttr() as attr:
                    todo += reversed([value for _, value in attr.sorted()])
                case Loc() | DIFile() | DICompileUnit() | DISubprogram() | DILexicalBlock() as attr:
                    self.add(attr, early=True)

    def finish(self) -> bool:
        """Name all aliases. Return whether there are early ones."""
        self._order.sort(key=lambda node: (node.depth, node.alias))
        counts: dict[str, int] = {}
        for node in self._order:
            count = counts.get(node.alias, 0)
            counts[node.alias] = count + 1
            node.name = f"#{node.alias}{count or ''}"
        self.names = {key: node.name for key, node in self._by_id.items()}
        return any(node.early for node in self._order)

    def lines(self, *, early: bool) -> list[str]:
        """Return the definitions to print before the module, or those after it."""
        return [f"{node.name} = {node.text()}\n" for node in self._order if node.early is early]

    def _node(self, root: Attr | None) -> AliasNode:
        """Return the node of an attribute; equal ones share it. It uses a stack because hostile ones nest deeply."""
        found = self._by_id.get(id(root))
        if found is None and root.__class__ is DILoc:
            assert isinstance(root, DILoc)
            found = self._di_loc(root)
        if found is not None:
            return found
        stack: list[tuple[Attr | None, list[str | Attr | None]]] = [(root, location_parts(root))]
        while stack:
            attr, parts = stack[-1]
            missing = [p for p in parts if not isinstance(p, str) and id(p) not in self._by_id]
            if missing:
                stack += [(p, location_parts(p)) for p in reversed(missing)]
                continue
            stack.pop()
            if id(attr) not in self._by_id:
                self._by_id[id(attr)] = self._intern(attr, parts)
        return self._by_id[id(root)]

    def _di_loc(self, attr: DILoc) -> AliasNode | None:
        """Return the node of a DILoc if its scope is known: the usual case, twice as fast as the general way."""
        scope = self._by_id.get(id(attr.scope))
        if scope is None:
            return None
        text = f"loc({quote(attr.filename or '-')}:{attr.line}:{attr.column})"
        self._grow(len(text) + len("#cuda_tile.di_loc< in >"))
        source = self._by_content.get((text,))
        if source is None:
            source = self._by_content[text,] = AliasNode([text], "loc")
        key = ("#cuda_tile.di_loc<", id(source), " in ", id(scope), ">")
        node = self._by_content.get(key)
        if node is None:
            parts: list[str | AliasNode] = ["#cuda_tile.di_loc<", source, " in ", scope, ">"]
            node = self._by_content[key] = AliasNode(parts, "loc", 1 + max(1, scope.depth), children=[source, scope])
        self._keep.append(attr)
        self._by_id[id(attr)] = node
        return node

    def _grow(self, size: int) -> None:
        """Count the length of the text: many locations can repeat a long file name."""
        self.size += size
        if self.size > self.limit:
            raise too_long(self.limit)

    def _intern(self, attr: Attr | None, parts: list[str | Attr | None]) -> AliasNode:
        if attr is not None:
            self._keep.append(attr)  # keeps its identity from being reused
        made = [p if isinstance(p, str) else self._by_id[id(p)] for p in parts]
        self._grow(sum([len(p) for p in parts if isinstance(p, str)]))
        key = tuple(p if isinstance(p, str) else id(p) for p in made)
        if (node := self._by_content.get(key)) is None:
            children = [p for p in made if not isinstance(p, str)]
            depth = 1 + max((c.depth for c in children), default=0)
            alias = "loc" if attr is None or isinstance(attr, Loc) else _ALIAS[type(attr)]
            node = self._by_content[key] = AliasNode(made, alias, depth, children=children)
        return node


Shown = tuple[list[str | AliasNode], Aliases]
"""The parts of a text, with nodes for locations, and the aliases that name the nodes."""
