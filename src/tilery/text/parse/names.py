"""The names of values and symbols: definitions and uses, region by region, as in MLIR."""

from __future__ import annotations

from ...diag import Note
from ...ir import Value
from ...types import Type, quoted
from ..lexer import symbol_name
from .state import POISON, Operand, Parser


def parse_operand(p: Parser) -> Operand:
    """Read the use of a value, which must be next."""
    i = p.i
    name = p.toks[i]
    if name[:1] != "%":
        p.wrong("expected SSA operand")
    p.i = i + 1
    if p.toks[i + 1][:1] == "#":
        number = p.toks[i + 1][1:]
        if not number.isdecimal() or len(number) > 9:
            p.plain("invalid SSA value result number")
        p.i = i + 2
        if int(number):
            name = f"{name}#{int(number)}"
    return name, i


def parse_operands(p: Parser) -> list[Operand]:
    """Read one or more uses between commas."""
    out = [parse_operand(p)]
    while p.toks[p.i] == ",":
        p.i += 1
        out.append(parse_operand(p))
    return out


def parse_symbol_name(p: Parser) -> str:
    """Read `@name`, which must be next."""
    token = p.toks[p.i]
    if token[:1] != "@" or len(token) < 2:
        p.fail("expected valid '@'-identifier for symbol name")
    p.i += 1
    return symbol_name(token)


def resolve(p: Parser, use: Operand, type: Type) -> Value:
    """Return the value of that name, which must have that type; it may be defined later."""
    name, index = use
    value = p.values.get(name)
    if value is not None:
        if value.type is not type:
            if value.type is POISON:
                return Value(type)
            note = Note("prior use here", p.span((p.where[name], -1))[0])
            p.plain(
                f"use of value '{name.partition('#')[0]}' expects different type than prior uses: "
                f"{quoted(type)} vs {quoted(value.type)}",
                (index, -1),
                note,
            )
        return value
    base = p.values.get(name.partition("#")[0])
    if base is not None and base not in p.forward:
        if base.type is POISON:
            return Value(type)
        p.plain("reference to invalid result number", (index, -1))
    value = p.values[name] = Value(type)
    p.where[name] = index
    p.forward[value] = (name, index)
    return value


def define(p: Parser, name: str, number: int, value: Value, index: int) -> Value:
    """Bind a name to a value. Return the value, or the one that earlier uses of the name already refer to."""
    key = f"{name}#{number}" if number else name
    known = p.values.get(key)
    if known is not None:
        if known not in p.forward:
            note = Note("previously defined here", p.span((p.where[key], -1))[0])
            p.plain(f"redefinition of SSA value '{name}'", (index, -1), note)
        if known.type is not value.type:
            note = Note(f"previously used here with type {quoted(known.type)}", p.span((p.where[key], -1))[0])
            p.plain(f"definition of SSA value '{name}#{number}' has type {quoted(value.type)}", (index, -1), note)
        del p.forward[known]
        known.owner = value.owner
        value = known
    p.values[key] = value
    p.where[key] = index
    p.scopes[-1].names.append(key)
    return value
