"""The line of an operation, put together by following its format. `lines` generates a faster twin for large modules."""

from __future__ import annotations

from ...checking import TYPE_CHECKING
from ...declare.fields import REQUIRED, AttrKind, Field
from ...ir import Op, Value
from .. import format
from .attributes import dense_text, predicate_text
from .lines import PLAIN, Line, custom_line, inbounds, index_types, splat
from .parts import Context, Part

if TYPE_CHECKING:
    from typing import Any


def spelled_line(cls: type[Op], name: str) -> Line:
    """Return the function that prints an operation under a name."""
    opdef = cls.opdef
    if opdef.format == "custom":
        return custom_line(cls, name)
    pieces = format.pieces_of(cls)
    outs = [f.attr for f in opdef.outs]
    several = any(f.arity != "one" for f in opdef.outs)

    def line(o: Op, n: dict[Value, str], p: Context) -> str | list[Part]:
        if several:
            out: list[Part] = [p.head(o), name]
        elif outs:
            out = [", ".join([n[getattr(o, attr)] for attr in outs]), " = ", name]
        else:
            out = [name]
        _put(pieces, o, n, p, out)
        return out if opdef.regions else "".join(out)  # type: ignore[arg-type]  # without regions all are texts

    return line


def _put(pieces: tuple[format.Piece, ...], o: Any, n: dict[Value, str], p: Context, out: list[Part]) -> None:
    for piece in pieces:
        kind = piece.__class__
        if kind is format.Literal:
            out.append(" " + piece.text if piece.space else piece.text)  # type: ignore[union-attr]
        elif kind is format.Use:
            _use(piece, o, n, p, out)  # type: ignore[arg-type]
        elif kind is format.AttrDict:
            out.append(p.attr_dict(o, "attributes " if piece.keyword else ""))  # type: ignore[union-attr]
        elif kind is format.Blank:
            out.append(" ")
        else:
            groups: Any = piece.groups if kind is format.AnyOrder else (piece,)  # type: ignore[union-attr]
            for group in groups:
                if _present(o, group.anchor):
                    _put(group.pieces, o, n, p, out)


def _present(o: Any, f: Field) -> bool:
    value = getattr(o, f.attr)
    if f.arity == "var" or f.kind is AttrKind.FLAG:
        return bool(value)
    if f.role != "attr" or f.arity == "opt":
        return value is not None
    assert f.default is not REQUIRED
    return bool(value != f.default)


def _use(use: format.Use, o: Any, n: dict[Value, str], p: Context, out: list[Part]) -> None:
    f = use.field
    value = getattr(o, f.attr)
    if use.space and use.kind not in ("inbounds", "index-types"):  # these print their own blank, or none
        out.append(" ")
    match use.kind:
        case "":
            out.append(_plain(f, value, n, p))
        case "type":
            out.append(p.names.types(value) if f.arity == "var" else value.type.text)
        case "keyword":
            out.append(value.text)
        case "angle":
            out.append(f"<{value.text}>")
        case "rounding":
            out.append("" if value is f.default else f"rounding<{value.text}>")
        case "visibility":
            out.append("" if value is f.default else value.text + " ")
        case "dense":
            out.append(dense_text(value, getattr(o, use.result.attr).type if use.result else value.type))
        case "index-types":
            out.append(index_types(value, p.names))
        case "predicate":
            out.append(predicate_text(value))
        case "inbounds":
            out.append(inbounds(value))
        case "splat":
            out.append(splat(value))
        case "arguments":
            out += [f"\n{p.indent}{p.arguments(value)} ", p.region(o, value, elide=False)]
        case "blocks":
            out.append(p.region(o, value, elide=True))


def _plain(f: Field, value: Any, n: dict[Value, str], p: Context) -> str:
    if f.role != "attr":
        return p.names.join(value) if f.arity == "var" else n[value]
    return PLAIN.get(f.kind, str)(value)
