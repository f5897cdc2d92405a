"""A generated function for each operation that makes its line from its format. `spelled` is the slow twin."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import ArrayAttr
from ...checking import TYPE_CHECKING
from ...declare.codegen import build, indent
from ...declare.fields import REQUIRED, AttrKind, Field
from ...ir import Op, Value
from .. import format
from . import attributes
from .custom import FORMS
from .names import Names
from .parts import Context, Part

if TYPE_CHECKING:
    from typing import Any

Line = Callable[[Op, dict[Value, str], Context], str | list[Part]]


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def inbounds(values: tuple[bool, ...]) -> str:
    return f" inbounds = [{', '.join(map(_boolean, values))}]" if any(values) else ""


def index_types(values: tuple[Value, ...], names: Names) -> str:
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
_HELPERS: dict[str, Any] = {
    "dense_text": attributes.dense_text,
    "predicate_text": attributes.predicate_text,
    "inbounds": inbounds,
    "index_types": index_types,
    "splat": splat,
    **{f"plain_{kind.name}": text for kind, text in PLAIN.items()},
}


class Maker:
    """Generates the function of one operation.

    `text` is the inside of an f-string. The function of an operation without regions returns that string. One with
    regions returns parts, so that the caller can walk the blocks with its own stack.
    """

    many = "p.names"
    """the expression for the object that joins the names of several values"""

    def __init__(self, cls: type[Op], name: str) -> None:
        self.opdef = cls.opdef
        self.name = name
        self.lines: list[str] = []
        self.env = dict(_HELPERS)
        self.margin = "    "
        self.text = self._head() + name

    def make(self, pieces: tuple[format.Piece, ...]) -> Line:
        source = self.source(pieces)
        made: Line = build(f"text of {self.name}", source, self.env)()
        return made

    def source(self, pieces: tuple[format.Piece, ...]) -> str:
        for piece in pieces:
            self.piece(piece)
        if self.opdef.regions:
            self._flush()
            body = ["    parts = []", *self.lines, "    return parts"]
        else:
            body = [*self.lines, f"    return f{self.text!r}"]
        lines = ["def bind():", "    def line(o, n, p):", *indent(body, 1), "    return line", ""]
        return "\n".join(lines)

    def _head(self) -> str:
        outs = self.opdef.outs
        if not outs:
            return ""
        if any(f.arity != "one" for f in outs):
            return "{p.head(o)}"
        return ", ".join(f"{{n[o.{f.attr}]}}" for f in outs) + " = "

    def _flush(self) -> None:
        if self.text:
            self.lines.append(f"{self.margin}parts.append(f{self.text!r})")
            self.text = ""

    def piece(self, piece: format.Piece) -> None:
        match piece:
            case format.Literal(text, space):
                self.text += " " * space + text.replace("{", "{{").replace("}", "}}")
            case format.Blank():
                self.text += " "
            case format.AttrDict(keyword):
                word = "'attributes '" if keyword else "''"
                self.text += self._variable(f"p.attr_dict(o, {word}) if o.extra else ''")
            case format.Group():
                self._group(piece)
            case format.AnyOrder(groups):
                for group in groups:
                    self._group(group)
            case format.Use():
                self._use(piece)

    def _group(self, group: format.Group) -> None:
        """Print a group without regions by a variable, which may be empty, and one with regions under a condition."""
        if any(isinstance(p, format.Use) and p.field.role == "region" for p in group.pieces):
            self._flush()
            self.lines.append(f"{self.margin}if {self._present(group.anchor)}:")
            self.margin += "    "
            for piece in group.pieces:
                self.piece(piece)
            self._flush()
            self.margin = self.margin[4:]
            return
        outer, self.text = self.text, ""
        for piece in group.pieces:
            self.piece(piece)
        self.text = outer + self._variable(f"f{self.text!r} if {self._present(group.anchor)} else ''")

    def _variable(self, expression: str) -> str:
        name = f"part{len(self.lines)}"
        self.lines.append(f"{self.margin}{name} = {expression}")
        return f"{{{name}}}"

    def _present(self, f: Field) -> str:
        value = f"o.{f.attr}"
        if f.arity == "var" or f.kind is AttrKind.FLAG:
            return value
        if f.role != "attr" or f.arity == "opt":
            return f"{value} is not None"
        assert f.default is not REQUIRED
        return f"{value} {'is not' if f.kind is AttrKind.ENUM else '!='} {self._default(f)}"

    def _default(self, f: Field) -> str:
        self.env[f"default_{f.attr}"] = f.default
        return f"default_{f.attr}"

    def _use(self, use: format.Use) -> None:
        f = use.field
        value = f"o.{f.attr}"
        if use.kind not in ("inbounds", "index-types"):  # these print their own blank, or none
            self.text += " " * use.space
        match use.kind:
            case "":
                self.text += self._plain(f, value)
            case "type":
                self.text += f"{{{self.many}.types({value})}}" if f.arity == "var" else f"{{{value}.type.text}}"
            case "keyword":
                self.text += f"{{{value}.text}}"
            case "angle":
                self.text += f"<{{{value}.text}}>"
            case "rounding":
                shown = f"f'rounding<{{{value}.text}}>'"
                self.text += self._variable(f"'' if {value} is {self._default(f)} else {shown}")
            case "visibility":
                self.text += self._variable(f"'' if {value} is {self._default(f)} else {value}.text + ' '")
            case "dense":
                shown = f"o.{use.result.attr}.type" if use.result else f"{value}.type"
                self.text += f"{{dense_text({value}, {shown})}}"
            case "index-types":
                self.text += f"{{index_types({value}, {self.many})}}"
            case "predicate":
                self.text += f"{{predicate_text({value})}}"
            case "inbounds" | "splat":
                self.text += f"{{{use.kind}({value})}}"
            case "arguments":
                self.text += f"\n{{p.indent}}{{p.arguments({value})}} "
                self._region(f"p.region(o, {value}, elide=False)")
            case "blocks":
                self._region(f"p.region(o, {value}, elide=True)")

    def _plain(self, f: Field, value: str) -> str:
        if f.role != "attr":
            return f"{{{self.many}.join({value})}}" if f.arity == "var" else f"{{n[{value}]}}"
        return f"{{plain_{f.kind.name}({value})}}" if f.kind in PLAIN else f"{{{value}}}"

    def _region(self, expression: str) -> None:
        self._flush()
        self.lines.append(f"{self.margin}parts.append({expression})")


def make_line(cls: type[Op], name: str, pieces: tuple[format.Piece, ...] = ()) -> Line:
    """Make the function that prints an operation under a name, from its format, other pieces or its custom form."""
    if cls.opdef.format == "custom":
        return custom_line(cls, name)
    return Maker(cls, name).make(pieces or format.pieces_of(cls))


def custom_line(cls: type[Op], name: str) -> Line:
    """Make the function that prints an operation with a custom form."""
    form = FORMS[cls]

    def line(o: Op, texts: dict[Value, str], context: Context) -> list[Part]:
        parts = form(o, context)
        return generic()(o, texts, context) if parts is None else [context.head(o) + name, *parts]  # type: ignore[return-value]

    return line


def generic() -> Line:
    """Return the function that prints any operation in MLIR's generic form, which is rarely needed."""
    from .generic import generic_line

    return generic_line
