"""The names of values in text: which one each stands for, region by region, as MLIR has it."""

from __future__ import annotations

from ...diag import Note
from ...ir import Block, Value
from ...types import Type, quoted
from .attrs import AttrCursor
from .state import Body, Operand


class Scope:
    """A region that is being parsed."""

    __slots__ = ("at", "block", "body", "labels", "names", "number", "op", "opened", "results", "start")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.names: list[str] = []
        self.labels: dict[str, int] = {}
        self.number = 0
        self.op = ""
        self.body: Body | None = None
        self.results: list[tuple[str, int, int]] = []
        self.start = self.at = self.opened = 0


class NameCursor(AttrCursor):
    """A cursor that reads values."""

    def __init__(
        self, text: str, file: str = "", allow_unregistered: bool = False, toks: list[str] | None = None
    ) -> None:
        super().__init__(text, file, allow_unregistered, toks)
        self.values: dict[str, Value] = {}
        self.where: dict[str, int] = {}
        """for each name, the token that defined or first used it"""
        self.forward: dict[Value, tuple[str, int]] = {}
        """values that are used and not yet defined"""
        self.scopes = [Scope(Block())]

    def operand(self) -> Operand:
        """The value that must be next."""
        i = self.i
        name = self.toks[i]
        if name[:1] != "%":
            self.wrong("expected SSA operand")
        self.i = i + 1
        if self.toks[i + 1][:1] == "#":
            number = self.toks[i + 1][1:]
            if not number.isdecimal() or len(number) > 9:
                self.plain("invalid SSA value result number")
            self.i = i + 2
            if int(number):
                name = f"{name}#{int(number)}"
        return name, i

    def operands(self) -> list[Operand]:
        """At least one value, between commas."""
        out = [self.operand()]
        while self.toks[self.i] == ",":
            self.i += 1
            out.append(self.operand())
        return out

    def resolve(self, use: Operand, type: Type) -> Value:
        """The value of that name, which must have that type; it may be defined later."""
        name, index = use
        value = self.values.get(name)
        if value is not None:
            if value.type is not type:
                note = Note("prior use here", self.span((self.where[name], -1))[0])
                self.plain(
                    f"use of value '{name.partition('#')[0]}' expects different type than prior uses: "
                    f"{quoted(type)} vs {quoted(value.type)}",
                    (index, -1),
                    note,
                )
            return value
        base = self.values.get(name.partition("#")[0])
        if base is not None and base not in self.forward:
            self.plain("reference to invalid result number", (index, -1))
        value = self.values[name] = Value(type)
        self.where[name] = index
        self.forward[value] = (name, index)
        return value

    def define(self, name: str, number: int, value: Value, index: int) -> Value:
        """Give a value a name. What was used before it is defined stays that object."""
        key = f"{name}#{number}" if number else name
        known = self.values.get(key)
        if known is not None:
            if known not in self.forward:
                note = Note("previously defined here", self.span((self.where[key], -1))[0])
                self.plain(f"redefinition of SSA value '{name}'", (index, -1), note)
            if known.type is not value.type:
                note = Note(f"previously used here with type {quoted(known.type)}", self.span((self.where[key], -1))[0])
                self.plain(
                    f"definition of SSA value '{name}#{number}' has type {quoted(value.type)}", (index, -1), note
                )
            del self.forward[known]
            known.owner = value.owner
            value = known
        self.values[key] = value
        self.where[key] = index
        self.scopes[-1].names.append(key)
        return value
