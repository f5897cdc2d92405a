"""The texts of hover: operations, types, values with their constants, keywords, symbols and aliases."""

from __future__ import annotations

from collections.abc import Iterator

from ..attrs import TileEnum
from ..declare.operation import BY_NAME, OpDef
from ..diag import TileError
from ..floats.formats import float_text
from ..ir import Op
from ..manual.describe import ROLES, describe
from ..ops import Constant
from ..text.lossless.scopes import names_of
from ..text.lossless.tree import TokenKind, field_at, mnemonic
from ..text.print.attributes import attr_text, int_text
from ..types import Ptr, Scalar, TensorView, Tile, Type
from .document import TextDocument, TextPlace
from .protocol import lsp

SHOWN = 16
"""The most elements of a constant that are shown."""


def hover(document: TextDocument, position: lsp.Position) -> lsp.Hover | None:
    """Describe the token at a position."""
    place = document.place(position)
    text = None if place is None else describe_place(document, place)
    if place is None or not text:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, document.lines.range(place.start, place.end))


def describe_place(document: TextDocument, place: TextPlace) -> str:
    match place.kind:
        case TokenKind.OPERATION:
            opdef = BY_NAME.get(mnemonic(place.token))
            return operation_text(opdef) if opdef is not None else ""
        case TokenKind.VALUE:
            return _value_text(place)
        case TokenKind.TYPE:
            found = place.parsed.types.get(place.token)
            return type_text(found) if found is not None else ""
        case TokenKind.SYMBOL:
            return _symbol_text(document, place.token)
        case TokenKind.ALIAS:
            return _alias_text(place)
        case TokenKind.KEYWORD:
            return _keyword_text(place)
    return ""


# ---------------------------------------------------------------- operations and keywords


def operation_text(opdef: OpDef) -> str:
    """Return the reference of an operation as Markdown."""
    data = describe(opdef)
    lines = [f"**{opdef.mnemonic}**: {data['summary']}"]
    if data["description"]:
        lines += ["", data["description"]]
    former = f", formerly `{opdef.formerly}`" if opdef.formerly else ""
    lines += ["", f"Since bytecode {data['since']}{former}."]
    for title in ROLES.values():
        lines += _field_lines(title, data[title], data["since"])
    rules = [*data["traits"].values(), *data["constraints"]]
    if data["parents"]:
        rules.append("must be inside " + ", ".join(data["parents"]))
    if rules:
        lines += ["", "*rules*", "", *(f"- {rule}" for rule in rules)]
    lines += ["", "```tileir", data["example"], "```"]
    return "\n".join(lines)


def _field_lines(title: str, fields: list[dict[str, object]], since: object) -> list[str]:
    if not fields:
        return []
    lines = ["", f"*{title}*", ""]
    for each in fields:
        values = each.get("values")
        words = ", ".join(f"`{v['text']}`" for v in values) if isinstance(values, list) else str(each["type"])
        new = f", since {each['since']}" if each["since"] != since else ""
        mark = "`" if isinstance(values, list) else ""
        default = f", default {mark}{each['default']}{mark}" if each.get("default") else ""
        lines.append(f"- `{each['name']}`: {each['doc']} ({words}{default}{new})")
    return lines


def _keyword_text(place: TextPlace) -> str:
    node = place.node
    if node is None or node.opdef is None:
        return ""
    for f in node.opdef.attrs:
        for member in f.enum or ():
            if member.text == place.token:
                return f"`{f.name}` = **{member.text}**: {f.doc}\n\n{_since(member)}"
        if f.name == place.token:
            return f"`{f.name}`: {f.doc}"
    operand = next((f for f in node.opdef.operands if f.name == place.token), None)
    return f"`{operand.name}`: {operand.doc}" if operand is not None else ""


def _since(member: TileEnum) -> str:
    return f"Since bytecode {member.since}."


# ---------------------------------------------------------------- values and types


def _value_text(place: TextPlace) -> str:
    names = names_of(place.parsed)
    value = names.value(place.index)
    if value is None:
        return ""
    lines = ["```tileir", f"{place.token} : {value.type.text}", "```"]
    owner = value.owner
    if isinstance(owner, Op):
        lines += ["", f"result of `{owner.name}`"]
    else:
        lines += ["", "argument of a region"]
    if isinstance(owner, Constant):
        lines += ["", constant_text(owner)]
    node = place.node
    operand = field_at(place.parsed, node, place.index) if node is not None else None
    if operand is not None and node is not None and node.opdef is not None:
        lines += ["", f"`{operand.name}` of `{node.opdef.mnemonic}`: {operand.doc}"]
    lines += ["", *_type_lines(value.type)]
    return "\n".join(lines)


def constant_text(o: Constant) -> str:
    """Return the elements of a constant as numbers, with their bits if they are floats."""
    element, bits = o.value.element, o.value.stored()
    spell = int_text if element.is_int else float_text
    shown = [spell(element, each) for each in bits[:SHOWN]]
    if element.is_float:
        width = (element.bits + 3) // 4
        shown = [f"{text} (0x{each:0{width}X})" for text, each in zip(shown, bits)]
    what = "all elements" if len(bits) == 1 and o.value.type.size > 1 else "value"
    more = f", … ({len(bits):,} elements)" if len(bits) > SHOWN else ""
    return f"{what}: {', '.join(shown)}{more}"


def type_text(t: Type) -> str:
    return "\n".join(["```tileir", t.text, "```", "", *_type_lines(t)])


def _type_lines(t: Type) -> Iterator[str]:
    """Describe a type in words."""
    match t:
        case Tile(shape=shape, element=element):
            kind = "pointers" if isinstance(element, Ptr) else element.text
            size = f", {t.size:,} elements" if shape else ""
            width = getattr(element, "storage_bytes", 8)
            since = f"; {element.text} since bytecode {element.since}" if isinstance(element, Scalar) else ""
            yield f"a tile of {kind}, rank {len(shape)}{size}, {t.size * width:,} bytes{since}"
        case TensorView(shape=shape, element=element):
            sizes = " by ".join("?" if size < 0 else str(size) for size in shape)
            yield f"a view of a tensor in memory: {sizes or 'one element'} of {element.text}"
        case _:
            text = (t.__class__.__doc__ or "").strip().partition("\n")[0]
            yield text


# ---------------------------------------------------------------- symbols and aliases


def _symbol_text(document: TextDocument, token: str) -> str:
    for part in document.reading.parts:
        for block in part.parsed.blocks:
            for o in block.ops:
                if "@" + str(getattr(o, "sym_name", "")) == token:
                    return "\n".join(["```tileir", signature_of(o), "```"])
    return ""


def signature_of(o: Op) -> str:
    """Return the first line of a function, or a global in short."""
    name, kind = getattr(o, "sym_name", ""), o.name
    function = getattr(o, "function_type", None)
    if function is not None:
        return f"{kind} @{name}({', '.join(t.text for t in function.params)})"
    value = getattr(o, "value", None)
    return f"{kind} @{name}" + (f" : {value.type.text}" if value is not None else "")


def _alias_text(place: TextPlace) -> str:
    attr = place.parsed.context.aliases.get(place.token[1:])
    if attr is None:
        return ""
    try:
        text = attr_text(attr)
    except TileError:  # shared so often that its text never ends
        text = repr(attr)[:200]
    return "\n".join(["```tileir", f"{place.token} = {text[:2000]}", "```"])
