"""The line of an operation, put together by following its format. `quick_lines` generates a faster twin."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from ...attrs import ArrayAttr
from ...checking import TYPE_CHECKING
from ...declare.fields import REQUIRED, AttrKind, Field
from ...ir import Op, Value
from .. import format
from . import attributes
from .custom import FORMS
from .names import ValueNames
from .parts import Part, PrintContext

if TYPE_CHECKING:
    from typing import Any

Line = Callable[[Op, dict[Value, str], PrintContext], str | list[Part]]


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def inbounds(values: tuple[bool, ...]) -> str:
    return f" inbounds = [{', '.join(map(_boolean, values))}]" if any(values) else ""


def index_types(values: tuple[Value, ...], names: ValueNames) -> str:
    if not values:
        return ""
    first = values[0].type
    for v in values:
        if v.type is not first:
            return ", " + names.types(values)
    return ", " + first.text


def splat(values: tuple[Value, ...]) -> str:
    return values[0].type.text if values else "tile<i32>"


PLAIN: dict[AttrKind, Callable[[Any], str]] = {
    AttrKind.STR: attributes.quote,
    AttrKind.SYM_NAME: attributes.symbol,
    AttrKind.SYM_REF: attributes.symbol,
    AttrKind.BOOL: _boolean,
    AttrKind.I32_ARRAY: lambda values: str(list(values)),
    AttrKind.HINTS: attributes.hints_text,
    AttrKind.ARRAY: lambda values: attributes.attr_text(ArrayAttr(values)),
}
"""The plain text of an attribute, by kind; others are printed as Python does."""


Step = Callable[["Any", dict[Value, str], PrintContext, list[Part], str], str]
"""Adds a piece to the text since the last region, and returns it; a region and the text before it become parts."""
Form = Callable[["Any", dict[Value, str], PrintContext], str]
"""Returns the text of a field in one of its forms."""


def make_line(cls: type[Op], name: str, pieces: tuple[format.Piece, ...] = ()) -> Line:
    """Return the function that prints an operation under a name, by its format, other pieces or its custom form."""
    opdef = cls.opdef
    if opdef.format == "custom":
        return _custom_line(cls, name)
    steps = _steps(pieces or format.pieces_of(cls))
    outs = [f.attr for f in opdef.outs]
    several, regions = any(f.arity != "one" for f in opdef.outs), bool(opdef.regions)

    def line(o: Op, n: dict[Value, str], p: PrintContext) -> str | list[Part]:
        out: list[Part] = []
        text = name
        if several:
            text = p.head(o) + name
        elif outs:
            text = f"{', '.join([n[getattr(o, attr)] for attr in outs])} = {name}"
        for step in steps:
            text = step(o, n, p, out, text)
        if not regions:
            return text
        if text:
            out.append(text)
        return out

    return line


def _steps(pieces: tuple[format.Piece, ...]) -> list[Step]:
    """Return the functions that print pieces; fixed text before a field is printed with it."""
    steps: list[Step] = []
    before = ""
    for piece in pieces:
        match piece:
            case format.Literal(text, space):
                before += " " * space + text
            case format.Blank():
                before += " "
            case format.Use(kind, f, space):
                if kind not in ("inbounds", "index-types"):  # these print their own blank, or none
                    before += " " * space
                if kind == "arguments":
                    steps.append(_arguments(before, f.attr))
                elif kind == "blocks":
                    steps.append(_blocks(before, f.attr))
                else:
                    steps.append(_field(before, _form(piece)))
                before = ""
            case _:
                steps += [_fixed(before), _optional(piece)] if before else [_optional(piece)]
                before = ""
    return [*steps, _fixed(before)] if before else steps


def _fixed(fixed: str) -> Step:
    return lambda o, n, p, out, text: text + fixed


def _field(before: str, form: Form) -> Step:
    return lambda o, n, p, out, text: f"{text}{before}{form(o, n, p)}"


def _arguments(before: str, attr: str) -> Step:
    def step(o: Any, n: dict[Value, str], p: PrintContext, out: list[Part], text: str) -> str:
        block = getattr(o, attr)
        out += [f"{text}{before}\n{p.indent}{p.arguments(block)} ", p.region(o, block, elide=False)]
        return ""

    return step


def _blocks(before: str, attr: str) -> Step:
    get = attrgetter(attr)

    def step(o: Any, n: dict[Value, str], p: PrintContext, out: list[Part], text: str) -> str:
        out.append(text + before)
        out.append(p.region(o, get(o), elide=True))
        return ""

    return step


def _optional(piece: format.AttrDict | format.Group | format.AnyOrder) -> Step:
    if isinstance(piece, format.AttrDict):
        word = "attributes " if piece.keyword else ""
        return lambda o, n, p, out, text: text + p.attr_dict(o, word) if o.extra else text
    groups = piece.groups if isinstance(piece, format.AnyOrder) else (piece,)
    made = [(_presence(group.anchor), _steps(group.pieces)) for group in groups]

    def step(o: Any, n: dict[Value, str], p: PrintContext, out: list[Part], text: str) -> str:
        for present, steps in made:
            if present(o):
                for each in steps:
                    text = each(o, n, p, out, text)
        return text

    return step


def _presence(f: Field) -> Callable[[Any], Any]:
    """Return the function that says whether the anchor of a group is there."""
    get, default = attrgetter(f.attr), f.default
    if f.role != "attr" or f.arity == "var" or f.kind is AttrKind.FLAG:
        return get  # a value or a block is true
    if f.arity == "opt":
        return lambda o: get(o) is not None
    assert default is not REQUIRED
    return lambda o: get(o) != default


def _form(use: format.Use) -> Form:
    """Return the function that makes the text of a field without regions."""
    f = use.field
    get, default = attrgetter(f.attr), f.default
    match use.kind:
        case "type" if f.arity == "var":
            return lambda o, n, p: p.names.types(get(o))
        case "type":
            return lambda o, n, p: get(o).type.text
        case "keyword":
            return lambda o, n, p: get(o).text
        case "angle":
            return lambda o, n, p: f"<{get(o).text}>"
        case "rounding":
            return lambda o, n, p: "" if get(o) is default else f"rounding<{get(o).text}>"
        case "visibility":
            return lambda o, n, p: "" if get(o) is default else get(o).text + " "
        case "dense":
            shown = attrgetter((use.result or f).attr)
            return lambda o, n, p: attributes.dense_text(get(o), shown(o).type)
        case "index-types":
            return lambda o, n, p: index_types(get(o), p.names)
        case "predicate":
            return lambda o, n, p: attributes.predicate_text(get(o))
        case "inbounds":
            return lambda o, n, p: inbounds(get(o))
        case "splat":
            return lambda o, n, p: splat(get(o))
    if f.role == "attr":
        plain = PLAIN.get(f.kind, str)
        return lambda o, n, p: plain(get(o))
    return (lambda o, n, p: p.names.join(get(o))) if f.arity == "var" else (lambda o, n, p: n[get(o)])


def _custom_line(cls: type[Op], name: str) -> Line:
    """Make the function that prints an operation with a custom form."""
    form = FORMS[cls]

    def line(o: Op, texts: dict[Value, str], context: PrintContext) -> list[Part]:
        parts = form(o, context)
        return generic()(o, texts, context) if parts is None else [context.head(o) + name, *parts]  # type: ignore[return-value]

    return line


def generic() -> Line:
    """Return the function that prints any operation in MLIR's generic form, which is rarely needed."""
    from .generic import generic_line

    return generic_line
