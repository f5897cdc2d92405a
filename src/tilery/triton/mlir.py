"""Read MLIR's generic text, as Triton prints it: operations, blocks and regions as plain data; types stay text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..diag import ErrorKind, TileError

MAX_DEPTH = 100
"""The deepest nesting of regions and attributes."""


@dataclass(eq=False, slots=True)
class MlirValue:
    """A value: a result of an operation or an argument of a block, which is its owner."""

    type: str
    name: str
    owner: TOp | TBlock | None = None


@dataclass(eq=False, slots=True)
class TBlock:
    """A block of operations; the last one ends it."""

    args: list[MlirValue] = field(default_factory=list)
    ops: list[TOp] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class TOp:
    """An operation of any dialect. `successors` are the blocks that it may continue with, and their arguments."""

    name: str
    operands: list[MlirValue]
    attrs: dict[str, Any]
    regions: list[list[TBlock]] = field(default_factory=list)
    results: list[MlirValue] = field(default_factory=list)
    loc: str | None = None
    successors: list[tuple[TBlock, list[MlirValue]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Raw:
    """An attribute that is kept as text."""

    text: str


@dataclass(frozen=True, slots=True)
class DenseText:
    """The elements of a constant tensor as text, and its type."""

    body: str
    type: str


@dataclass(frozen=True, slots=True)
class FloatBits:
    """A float that is written as its bits."""

    value: int
    type: str


@dataclass(slots=True)
class MlirText:
    """A module and the locations that its operations refer to by name."""

    module: TOp
    locs: dict[str, str]


def read(text: str) -> MlirText:
    """Read a module; raise TileError at the first thing that is not generic MLIR."""
    locs: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("#loc"):
            name, _, rest = line.partition(" = ")
            locs[name] = rest[4:-1]
            lines[number] = ""
    return MlirText(MlirReader("\n".join(lines)).op(), locs)


def walk(blocks: list[TBlock]) -> Iterator[TOp]:
    """Yield all operations of blocks, outer ones before those in their regions."""
    for block in blocks:
        for op in block.ops:
            yield op
            for region in op.regions:
                yield from walk(region)


_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_NAME = re.compile(r"%[\w$.\-]+")
_WORD = re.compile(r"[!\w.]+")
_KEY = re.compile(r"[\w.$]+")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d+(\.\d*)?([eE][-+]?\d+)?")
_LABEL = re.compile(r"\^\w+")
_SYMBOL = re.compile(r"[\w.$\-]+")
_ALIAS = re.compile(r"#[\w.]+")
_DIGITS = re.compile(r"\d+")
_OPEN = {"(": ")", "<": ">", "[": "]", "{": "}"}
_GROUPED = re.compile(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]')


class MlirReader:
    """A recursive-descent reader over one text."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.scopes: list[dict[str, list[MlirValue]]] = [{}]
        self.blocks: list[dict[str, TBlock]] = []

    # ------------------------------------------------------------ scanning

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None, "the pattern matches nothing too"
        self.at = found.end()

    def peek(self, what: str) -> bool:
        self.skip()
        return self.text.startswith(what, self.at)

    def take(self, what: str) -> bool:
        if self.peek(what):
            self.at += len(what)
            return True
        return False

    def need(self, what: str) -> None:
        if not self.take(what):
            raise self.error(f"expected '{what}'")

    def error(self, message: str) -> TileError:
        return TileError(
            f"Triton IR: {message}", kind=ErrorKind.SYNTAX, source=self.text, start=self.at, end=self.at + 1
        )

    def match(self, pattern: re.Pattern[str]) -> str:
        self.skip()
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.error(f"expected {pattern.pattern}")
        self.at = found.end()
        return found.group()

    def string(self) -> str:
        raw = self.match(_STRING)[1:-1]
        return _ESCAPE.sub(_unescape, raw) if "\\" in raw else raw

    def balanced(self) -> str:
        """Return the text of a bracketed group, with the brackets."""
        self.skip()
        start, depth = self.at, 0
        for found in _GROUPED.finditer(self.text, start):
            token = found.group()
            if token in _OPEN:
                depth += 1
            elif token in ")>]}":
                depth -= 1
                if depth == 0:
                    self.at = found.end()
                    return self.text[start : self.at]
        raise self.error("a bracket is never closed")

    def type(self) -> str:
        if self.peek("("):
            left = self.balanced()
            self.need("->")
            right = self.balanced() if self.peek("(") else self.type()
            return f"{left} -> {right}"
        word = self.match(_WORD)
        return word + (self.balanced() if self.text.startswith("<", self.at) else "")

    def types(self) -> list[str]:
        if not self.take("("):
            return [self.type()]
        out: list[str] = []
        while not self.take(")"):
            out.append(self.type())
            self.take(",")
        return out

    # ------------------------------------------------------------ attributes

    def attr(self) -> Any:
        self.skip()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("nested too deeply")
        try:
            return self.attr_at(self.text[self.at : self.at + 1])
        finally:
            self.depth -= 1

    def attr_at(self, c: str) -> Any:
        match c:
            case '"':
                text = self.string()
                if self.take(":"):
                    self.type()
                return text
            case "[":
                self.at += 1
                return list(self.items("]"))
            case "{":
                self.at += 1
                return self.dict("}")
            case "@":
                self.at += 1
                return self.string() if self.peek('"') else self.match(_SYMBOL)
            case "#":
                word = self.match(_ALIAS)
                return Raw(word + (self.balanced() if self.text.startswith("<", self.at) else ""))
        if _NUMBER.match(self.text, self.at):
            word = self.match(_NUMBER)
            return number(word, self.type() if self.take(":") else None)
        return self.named_attr()

    def named_attr(self) -> Any:
        if self.peek("dense<"):
            self.at += len("dense")
            body = self.balanced()[1:-1]
            self.need(":")
            return DenseText(body, self.type())
        if self.peek("array<"):
            self.at += len("array")
            _, _, items = self.balanced()[1:-1].partition(":")
            return [x == "true" if x in ("true", "false") else int(x) for x in map(str.strip, items.split(",")) if x]
        word = self.type()
        return {"true": True, "unit": True, "false": False}.get(word, Raw(word))

    def items(self, close: str) -> Iterator[Any]:
        while not self.take(close):
            yield self.attr()
            self.take(",")

    def dict(self, close: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while not self.take(close):
            name = self.string() if self.peek('"') else self.match(_KEY)
            out[name] = self.attr() if self.take("=") else True
            self.take(",")
        return out

    def loc(self) -> str | None:
        if not self.take("loc"):
            return None
        return self.balanced()[1:-1]

    # ------------------------------------------------------------ operations

    def use(self) -> MlirValue:
        name = self.match(_NAME)
        index = 0
        if self.text.startswith("#", self.at):
            self.at += 1
            index = int(self.match(_DIGITS))
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name][index]
        raise self.error(f"the value {name} is not defined")

    def uses(self, close: str) -> list[MlirValue]:
        out = []
        while not self.take(close):
            out.append(self.use())
            self.take(",")
        return out

    def result_names(self) -> list[tuple[str, int]]:
        """Read the names before an operation: each with how many results it stands for."""
        names: list[tuple[str, int]] = []
        if not self.peek("%"):
            return names
        while True:
            name = self.match(_NAME)
            names.append((name, int(self.match(_DIGITS)) if self.take(":") else 1))
            if not self.take(","):
                self.need("=")
                return names

    def op(self) -> TOp:
        names = self.result_names()
        op = TOp(self.string(), [], {})
        self.need("(")
        op.operands = self.uses(")")
        targets: list[TBlock] = []
        if self.take("["):
            while not self.take("]"):
                targets.append(self.block(self.match(_LABEL)))
                self.take(",")
        if self.take("<{"):
            op.attrs.update(self.dict("}>"))
        if self.take("("):
            while not self.take(")"):
                op.regions.append(self.region())
                self.take(",")
        if self.take("{"):
            op.attrs.update(self.dict("}"))
        self.need(":")
        self.types()
        self.need("->")
        types = self.types()
        op.loc = self.loc()
        if targets:
            split_successors(op, targets)
        if sum(count for _, count in names) != len(types) and names:
            raise self.error(f"'{op.name}' has {len(types)} results, and names for another number")
        at = 0
        for name, count in names:
            made = [MlirValue(t, name, op) for t in types[at : at + count]]
            at += count
            self.scopes[-1][name] = made
            op.results += made
        return op

    def block(self, label: str) -> TBlock:
        if not self.blocks:
            raise self.error("a block outside of a region")
        return self.blocks[-1].setdefault(label, TBlock())

    def region(self) -> list[TBlock]:
        self.need("{")
        if len(self.scopes) > MAX_DEPTH:
            raise self.error("nested too deeply")
        self.scopes.append({})
        self.blocks.append({})
        out: list[TBlock] = []
        while not self.take("}"):
            if self.peek("^"):
                out.append(self.label())
                continue
            if not out:
                out.append(TBlock())
            out[-1].ops.append(self.op())
        self.scopes.pop()
        self.blocks.pop()
        return out

    def label(self) -> TBlock:
        """Read the label of a block with its arguments."""
        block = self.block(self.match(_LABEL))
        if self.take("("):
            while not self.take(")"):
                name = self.match(_NAME)
                self.need(":")
                v = MlirValue(self.type(), name, block)
                self.loc()
                block.args.append(v)
                self.scopes[-1][name] = [v]
                self.take(",")
        self.need(":")
        return block


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 16)) if len(code) == 2 else {"n": "\n", "t": "\t"}.get(code, code)


def split_successors(op: TOp, targets: list[TBlock]) -> None:
    """Divide the operands of a branch: those of the operation itself, and those of each block."""
    if len(targets) == 1:
        op.successors = [(targets[0], op.operands)]
        op.operands = []
        return
    sizes = op.attrs.get("operandSegmentSizes") or [1, 0, 0]
    first = sizes[0] + sizes[1]
    op.successors = [(targets[0], op.operands[sizes[0] : first]), (targets[1], op.operands[first:])]
    op.operands = op.operands[: sizes[0]]


def number(word: str, kind: str | None) -> Any:
    """Return the number of an attribute; floats that are written in hexadecimal are bits."""
    if kind and re.match(r"(f|bf|tf)\d", kind):
        return FloatBits(int(word, 16), kind) if word.startswith("0x") else float(word)
    if word.startswith("0x"):
        return int(word, 16)
    return float(word) if any(c in word for c in ".eE") else int(word)
