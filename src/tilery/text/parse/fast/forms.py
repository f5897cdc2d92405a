"""The fast parsers of operations: a regular expression and a function for each, generated from its format.

They read canonical lines: one line as the printers write it, without discardable attributes. On anything else a
function returns 0, and the piecewise parser reads the line. The piecewise parser also reads each distinct attribute
once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from ....attrs import MemoryOrderingSemantics
from ....declare.codegen import GiveUp, build
from ....declare.fields import INFER, REQUIRED, AttrKind, Field
from ....declare.operation import BY_NAME, OpDef
from ....ir import Op, Value
from ....version import Version
from ...format import AnyOrder, AttrDict, Blank, Group, Literal, Piece, Use, pieces_of
from ..custom import FORMS
from ..fields import is_keyword, piece_parser
from ..forms import Typing, alike, shown_types, typing_of
from ..keywords import rounding_modes
from ..state import Parser, PieceParser

QuickForm = Callable[[str, int, str | None, str | None, list[Op], list[str]], int]
"""Parses the line of an operation. Takes the text, where its operands start, the names of its results, and the
operations and names of its block; returns the end offset, or 0 if the piecewise parser must read the line."""
Memos = Callable[[Parser, PieceParser | None, str, OpDef, tuple[Piece, ...]], dict[str, Any]]
"""Makes a dictionary from the texts of a piece to its values. Without a piece parser the values are lists of types."""
Bind = Callable[[Parser, Memos], QuickForm]
"""Makes the function of an operation for one run."""

_SP = "[ ]*+"
_NAME = r"%[A-Za-z0-9$._-]++(?:#[0-9]++)?+"
_WORD = r"[A-Za-z_][A-Za-z0-9_$.]*+"
_TYPE = r"[a-z_!.]++(?:<[^<>\n]*+(?:<[^<>\n]*+>[^<>\n]*+)?+>)?+"
_END = rf"(?:{_SP}loc\(#([A-Za-z0-9$_-]++)\))?+{_SP}(?=\n|\Z)"
# The patterns only find the end of an attribute; the piecewise parser reads what is in it.
_PLAIN = {
    AttrKind.STR: r'"[^"\\\n]*+"',
    AttrKind.SYM_REF: rf"@{_WORD}",
    AttrKind.I64: r"-?+[0-9]++",
    AttrKind.I32: r"-?+[0-9]++",
    AttrKind.BOOL: r"(?:true|false)(?![\w$.])",
    AttrKind.I32_ARRAY: r"\[[^\[\]\n]*+\]",
    AttrKind.HINTS: r'<[^<>"\n]*+>',
}


class _FormMaker:
    """Generates the regular expression and the function of one operation."""

    def __init__(self, opdef: OpDef, pieces: tuple[Piece, ...]) -> None:
        self.opdef, self.pieces = opdef, pieces
        self.pattern = ""
        self.groups: list[str] = []
        self.finds: list[str] = []
        """lookups; a missing entry ends the attempt"""
        self.checks: list[str] = []
        """conditions under which the attempt ends"""
        self.memos: dict[str, tuple[Piece | None, str]] = {}
        """by variable: the piece whose values are remembered by text, None for types, and the field"""
        self.env: dict[str, Any] = {"new": object.__new__, "Value": Value, "cls": opdef.cls}
        self.by_hand = any(isinstance(piece, Use) and piece.kind == "index-types" for piece in pieces)
        self.written: set[str] = set()
        self.optional = False

    # ------------------------------------------------------------ the regular expression, and what is looked up

    def piece(self, piece: Piece) -> None:
        match piece:
            case Blank() | AttrDict():
                pass
            case Literal(text):
                self.pattern += _SP + re.escape(text) + (r"(?![\w$.])" if is_keyword(text) else "")
            case Group():
                self._group(piece)
            case AnyOrder(groups):
                for group in groups:
                    self._group(group)
            case Use():
                self.pattern += _SP
                self.written.add(piece.field.name)
                self._use(piece)

    def _group(self, group: Group) -> None:
        if self.optional:
            raise GiveUp
        flag = group.anchor.kind is AttrKind.FLAG
        self.optional = True
        self.pattern += "(" if flag else "(?:"
        if flag:
            self.written.add(group.anchor.name)
            self.groups.append(f"a_{group.anchor.attr}")
            self.finds.append(f"a_{group.anchor.attr} = a_{group.anchor.attr} is not None")
        for piece in group.pieces:
            self.piece(piece)
        self.pattern += ")?+"
        self.optional = False

    def _use(self, use: Use) -> None:
        f = use.field
        match use.kind:
            case "" if f.role == "operand":
                self._operand(f)
            case "":
                self._attribute(use, _PLAIN.get(f.kind))
            case "type":
                self._type(f)
            case "keyword":
                self._member(f, f"({_WORD})", {m.text: m for m in f.enum or ()})
            case "angle":
                self._member(f, f"<({_WORD})>", {m.text: m for m in f.enum or ()})
            case "rounding":
                modes = {m.text: m for m in rounding_modes(f)}
                self.optional = True
                self._member(f, f"(?:rounding<({_WORD})>)?+", modes)
                self.optional = False
            case "dense" if use.result is not None:
                self._attribute(use, rf"<[^<>\n]*+>{_SP}:{_SP}{_TYPE}")
                self.finds.append(f"t_{use.result.attr} = a_{f.attr}.type")
            case "predicate":
                self._attribute(use, r"[a-z_]++<[^<>\n]*+>")
            case "inbounds":
                self.optional = True
                self.pattern += "(?:"
                self._attribute(use, rf"inbounds{_SP}={_SP}\[[^\[\]\n]*+\]")
                self.pattern += ")?+"
                self.optional = False
            case "index-types":
                self._several_types(f, rf"(?:{_SP},{_SP}{_TYPE})*+")
            case _:
                raise GiveUp

    def _take(self, variable: str, pattern: str) -> None:
        self.groups.append(variable)
        self.pattern += f"({pattern})"

    def _find(self, variable: str, found: str, absent: str) -> None:
        """Look up the value with the expression `found`; use `absent` if an optional piece is not there."""
        if self.optional:
            found = f"{absent} if {variable} is None else {found}"
        self.finds.append(f"{variable} = {found}")

    def _operand(self, f: Field) -> None:
        variable = f"v_{f.attr}"
        if f.arity != "var":
            self._take(variable, _NAME)
            self._find(variable, f"values[{variable}]", "None")
            return
        names = rf"{_NAME}(?:{_SP},{_SP}{_NAME})*+"
        self._take(variable, names if self.optional else f"(?:{names})?+")
        found = f"tuple([values[v.strip()] for v in {variable}.split(',')])"
        self.finds.append(f"{variable} = {found} if {variable} else ()")

    def _type(self, f: Field) -> None:
        variable = f"t_{f.attr}"
        if f.arity == "var":
            self._several_types(f, rf"{_TYPE}(?:{_SP},{_SP}{_TYPE})*+")
            return
        self._take(variable, _TYPE)
        self._find(variable, f"types[{variable}]", "None")

    def _several_types(self, f: Field, pattern: str) -> None:
        variable = f"t_{f.attr}"
        self._take(variable, pattern)
        self.memos[variable] = (None, f.name)
        self._find(variable, f"memo_{variable}[{variable}]", "()")

    def _member(self, f: Field, pattern: str, members: dict[str, Any]) -> None:
        variable = f"a_{f.attr}"
        self.groups.append(variable)
        self.pattern += pattern
        self.env[f"members_{f.attr}"] = members
        self._find(variable, f"members_{f.attr}[{variable}]", self._default(f))

    def _attribute(self, use: Use, pattern: str | None) -> None:
        if pattern is None:
            raise GiveUp
        variable = f"a_{use.field.attr}"
        self._take(variable, pattern)
        self.memos[variable] = (use, use.field.attr)
        self._find(variable, f"memo_{variable}[{variable}]", self._default(use.field))

    def _default(self, f: Field) -> str:
        if f.default is REQUIRED:
            return "None"
        self.env[f"default_{f.attr}"] = f.default
        return f"default_{f.attr}"

    # ------------------------------------------------------------ the types of values

    def _operand_types(self, shown: set[str]) -> None:
        pair = alike(self.pieces)
        if pair is not None:  # a single value may be the second of the two
            self.env["first_ok"] = pair[0].kind.ok
            first, second = pair[0].attr, pair[1].attr
            self.checks.append(f"v_{first} is not None and v_{second} is None and not first_ok(t_{first})")
        for f in self.opdef.operands:
            if f.name not in self.written:
                raise GiveUp
            self._operand_type(f, typing_of(self.opdef, f, shown))

    def _operand_type(self, f: Field, typing: Typing) -> None:
        value = f"v_{f.attr}"
        if typing.viewed is not None:
            view = f"t_{typing.viewed.attr}"
            self.env["view_ok"] = typing.viewed.kind.ok
            self.checks.append(f"not view_ok({view}) or {value}.type is not {view}.tensor_view")
            return
        if f.arity == "var":
            self._operands_type(f, typing)
            return
        if typing.only is not None:
            self.env[f"only_{f.attr}"] = typing.only
        source = self.opdef.field(f.name if typing.own else typing.same) if typing.own or typing.same else None
        if source is not None and source.arity == "var":
            raise GiveUp
        wanted = f"only_{f.attr}" if source is None else f"t_{source.attr}"
        if f.arity == "opt":
            if typing.own:
                self.checks.append(f"({value} is None) is not (t_{f.attr} is None)")
            self.checks.append(f"{value} is not None and {value}.type is not {wanted}")
        else:
            self.checks.append(f"{value}.type is not {wanted}")

    def _operands_type(self, f: Field, typing: Typing) -> None:
        value, types = f"v_{f.attr}", f"t_{f.attr}"
        if typing.only is not None:
            self.env[f"only_{f.attr}"] = typing.only
            self.checks.append(f"any([v.type is not only_{f.attr} for v in {value}])")
            return
        if not typing.own:
            raise GiveUp
        if self.by_hand:
            self.finds.append(f"{types} = {types} * len({value}) if len({types}) == 1 else {types}")
        self.checks.append(f"len({value}) != len({types}) or any([v.type is not t for v, t in zip({value}, {types})])")

    def _result_type(self, f: Field, typing: Typing) -> str:
        source = f.name if typing.own else typing.same
        if f.arity == "var":
            raise GiveUp
        if source:
            return f"t_{self.opdef.field(source).attr}"
        if typing.only is not None:
            self.env[f"only_{f.attr}"] = typing.only
            return f"only_{f.attr}"
        self.env[f"infer_{f.attr}"] = f.infer
        return f"infer_{f.attr}(o)"

    # ------------------------------------------------------------ the function

    def _fields(self) -> list[str]:
        """Return statements that store all fields but the results."""
        lines = [f"o.{f.attr} = v_{f.attr}" for f in self.opdef.operands]
        for f in self.opdef.attrs:
            if f.name in self.written and f.default is INFER:
                self.env[f"infer_{f.attr}"] = f.infer
                lines.append(f"o.{f.attr} = infer_{f.attr}(o) if a_{f.attr} is default_{f.attr} else a_{f.attr}")
            elif f.name in self.written:
                lines.append(f"o.{f.attr} = a_{f.attr}")
            elif f.default in (REQUIRED, INFER):
                raise GiveUp
            else:
                lines.append(f"o.{f.attr} = {self._default(f)}")
        return lines

    def _results(self, shown: set[str]) -> tuple[list[str], list[str]]:
        """Return the conditions on the names of the results, and the statements that make the results."""
        checks: list[str] = []
        lines: list[str] = []
        outs = self.opdef.outs
        if len(outs) > 2:
            raise GiveUp
        for number, f in enumerate(outs):
            type = self._result_type(f, typing_of(self.opdef, f, shown))
            name = ("name", "second")[number]
            lines += [f"r = o.{f.attr} = new(Value)", f"r.type = {type}", "r.owner = o"]
            checks.append(f"{name} in values")
            lines += [f"if {name} is not None:", f"    values[{name}] = r", f"    names.append({name})"]
        match len(outs):
            case 0:
                checks.append("name is not None")
            case 1:
                checks.append("second is not None")
            case 2:
                checks.append("(name is None) is not (second is None) or name is not None and name == second")
        return checks, lines

    def _weak_scope(self) -> None:
        """Refuse the scope of a weak access, as NVIDIA's hand-written parsers do."""
        if self.by_hand and "memory_scope" in self.written:
            self.env["WEAK"] = MemoryOrderingSemantics.WEAK
            self.checks.append("a_memory_ordering_semantics is WEAK and a_memory_scope is not None")

    def source(self) -> str:
        for piece in self.pieces:
            self.piece(piece)
        shown = shown_types(self.pieces)
        self._operand_types(shown)
        self._weak_scope()
        fields = self._fields()
        checks, results = self._results(shown)
        pattern = self.pattern + _END + _lookahead(self.pieces)
        self.env["match"] = re.compile(pattern).match
        body = self._body(checks, fields, results)
        lines = ["def bind(p, memo):", "    values, types, aliases, later = p.values, p.types, p.aliases, p.later"]
        for variable, (read, name) in self.memos.items():
            self.env[f"read_{variable}"] = None if read is None else piece_parser(read, self.by_hand)
            lines.append(f"    memo_{variable} = memo(p, read_{variable}, {name!r}, opdef, pieces)")
        self.env["opdef"], self.env["pieces"] = self.opdef, self.pieces
        lines += ["    def line(text, at, name, second, ops, names):", *[f"        {line}" for line in body]]
        return "\n".join([f"# {pattern}", *lines, "    return line", ""])

    def _body(self, checks: list[str], fields: list[str], results: list[str]) -> list[str]:
        groups = ", ".join([*self.groups, "loc"])
        return [
            "m = match(text, at)",
            "if m is None: return 0",
            f"{groups} = m.groups()" if self.groups else "loc = m[1]",
            "try:",
            *[f"    {line}" for line in self.finds or ["pass"]],
            "except KeyError:",
            "    return 0",
            *[f"if {check}: return 0" for check in self.checks],
            f"if {' or '.join([*checks, 'loc in aliases'])}: return 0",
            "o = new(cls)",
            "o.loc = o.extra = None",
            *fields,
            *results,
            "if loc is not None: later.append((o, loc, 0))",
            "ops.append(o)",
            "return m.end()",
        ]


def _lookahead(pieces: tuple[Piece, ...]) -> str:
    """Return a pattern for what follows, so that the next line cannot be optional operands of this operation."""
    for piece in reversed(pieces):
        match piece:
            case Blank() | AttrDict():
                continue
            case Group(inner):
                first = inner[0]
                if not isinstance(first, Literal) or first.text in BY_NAME:
                    return r"(?=\s*+\})"
                continue
            case Use(_, f) if f.role == "operand" and f.arity != "one":
                return r"(?=\s*+\})"
            case _:
                return ""
    return r"(?=\s*+\})"


def _maker(opdef: OpDef) -> _FormMaker:
    if opdef.cls in FORMS or opdef.regions:
        raise GiveUp
    return _FormMaker(opdef, pieces_of(opdef.cls))


@cache
def bind_of(opdef: OpDef) -> Bind | None:
    """Compile the fast path of an operation; None if it has none."""
    try:
        maker = _maker(opdef)
        source = maker.source()
    except GiveUp:
        return None
    made: Bind = build(f"parser of {opdef.mnemonic}", source, maker.env)
    return made


def parser_source(opdef: OpDef, version: Version) -> str:
    """Return the source of the function that parses an operation's canonical line, after its regular expression."""
    try:
        return _maker(opdef).source()
    except GiveUp:
        return f"# There is no fast path: {opdef.mnemonic} is read piece by piece.\n"
