"""The reference manual as plain data: every fact that the tables state about operations, types and enums."""

from __future__ import annotations

from textwrap import dedent
from typing import Any, TypeVar

from .. import types
from ..analysis.interfaces import effect_of
from ..attrs import TileEnum
from ..bytecode.layout import OpLayout, WireKind, WireStep, flag_bits, layout
from ..declare.fields import INFER, REQUIRED, Field
from ..declare.operation import OpDef
from ..declare.relations import Trait
from ..ops import For, If, Loop, registered
from ..ops.names import also
from ..types import F32, I32, PaddingValue, Tile, Type
from ..version import SUPPORTED, Version

Kind = TypeVar("Kind")

ROLES = {"operand": "operands", "attr": "attributes", "out": "results", "region": "regions"}
"""The roles of fields in a declaration, and what the manual calls them."""


# ---------------------------------------------------------------- operations


def describe(opdef: OpDef, version: Version | None = None) -> dict[str, Any]:
    """Describe an operation as plain data; with a version, leave out anything newer."""
    fields = [f for f in opdef.fields if f.role in ROLES and (version is None or f.since <= version)]
    return {
        "name": opdef.mnemonic,
        "class": opdef.cls.__name__,
        "opcode": opdef.opcode,
        "since": str(opdef.since),
        "group": opdef.group,
        "summary": opdef.summary,
        "description": opdef.description,
        "formerly": opdef.formerly or None,
        "also": list(also(opdef.mnemonic)),
        **{title: [_field(f) for f in fields if f.role == role] for role, title in ROLES.items()},
        "traits": {trait.name.lower(): trait.value for trait in Trait if opdef.has(trait)},
        "effect": effect_of(opdef).value,
        "inferred": [f.name for f in opdef.outs if _is_inferred(opdef, f)],
        "control": _control(opdef),
        "constraints": [rule.text for rule in opdef.rules],
        "parents": list(opdef.parents),
        "implicit_terminator": opdef.implicit or None,
        "tables": [
            {"title": t.title, "columns": list(t.columns), "rows": list(map(list, t.rows))} for t in opdef.tables
        ],
        "format": opdef.syntax or opdef.format,
        "example": dedent(opdef.example).strip("\n"),
        "layout": {str(v): wire(opdef, v) for v in SUPPORTED if opdef.since <= v and version in (None, v)},
    }


def _is_inferred(opdef: OpDef, f: Field) -> bool:
    """Whether the type of a result follows from operands and attributes."""
    operands = {o.name for o in opdef.operands}
    shared = any(rule.what == "type" and f.name in rule.names and operands & {*rule.names} for rule in opdef.rules)
    return f.infer is not None or (f.arity != "var" and (f.kind.only is not None or shared))


def _control(opdef: OpDef) -> str | None:
    """Say how an operation directs control flow, if it does."""
    if opdef.cls in (For, Loop):
        return "a loop: executes its body repeatedly, with carried values"
    return "a branch: executes at most one of its blocks" if opdef.cls is If else None


def _field(f: Field) -> dict[str, Any]:
    data: dict[str, Any] = {"name": f.name, "python": f.attr, "type": _kind(f), "since": str(f.since), "doc": f.doc}
    if f.role in ("operand", "attr"):
        data["required"] = f.default is REQUIRED
        data["default"] = None if f.default is REQUIRED or f.arity == "var" else _default(f)
    if f.enum is not None:
        data["values"] = [{"text": m.text, "since": str(m.since)} for m in f.only or f.enum]
    return data


def _kind(f: Field) -> str:
    """Say in words what a field holds."""
    if f.role == "region":
        return "region" if f.arity == "one" else "region, may be absent"
    if f.role == "attr":
        text: str = f.enum.__name__ if f.enum is not None else f.kind.value
        return text if f.minimum is None else f"{text}, at least {f.minimum}"
    text = f.kind.text
    if text.endswith(" or "):  # NVIDIA's message for "a number or any type of the dialect" ends like this
        text = "any type"
    text = text.replace(" or ", ", ")
    return f"any number of: {text}" if f.arity == "var" else text


def _default(f: Field) -> str:
    if f.default is INFER:
        return "follows from the operands"
    match f.default:
        case None | False:
            return "absent"
        case TileEnum():
            return str(f.default.text)
    return str(f.default)


def wire(opdef: OpDef, version: Version) -> list[str] | None:
    """Describe an operation's bytecode, one phrase per item; None for symbols, which have sections of their own."""
    if opdef.has(Trait.SYMBOL):
        return None
    plan = layout(opdef, version)
    return [f"opcode 0x{opdef.opcode:02X}", *(_step(plan, step) for step in plan.steps)]


def _step(plan: OpLayout, step: WireStep) -> str:
    name = f"'{step.field.name}'" if step.field else ""
    when = " if flagged" if step.bit >= 0 else ""
    match step.kind:
        case WireKind.RESULT:
            return f"type of {name}"
        case WireKind.RESULTS:
            return f"types of {name}"
        case WireKind.FLAGS:
            bits = {n: bit for n, bit in flag_bits(plan.opdef).items() if plan.opdef.field(n).since <= plan.version}
            return "flags (" + ", ".join(f"bit {bit} '{n}'" for n, bit in bits.items()) + ")"
        case WireKind.SEGMENT:
            return f"number of {name}, {name}"
        case WireKind.REGION:
            return f"region {name}"
        case WireKind.ATTR | WireKind.OPERAND | WireKind.OPTIONAL | WireKind.REST:
            return name + when
    return str(step.kind.value).removeprefix("the ")


def groups() -> dict[str, list[OpDef]]:
    """Return the operations by chapter, both in alphabetical order."""
    out: dict[str, list[OpDef]] = {}
    for opdef in sorted(registered(), key=lambda d: (d.group, d.mnemonic)):
        out.setdefault(opdef.group, []).append(opdef)
    return out


def spans(layouts: dict[str, list[str] | None]) -> list[tuple[str, list[str]]]:
    """Merge equal layouts of consecutive versions; each comes with its range of versions, `13.1 to 13.3`."""
    found: list[tuple[str, str, list[str]]] = []
    for version, items in layouts.items():
        if items is None:
            continue
        if found and found[-1][2] == items:
            found[-1] = (found[-1][0], version, items)
        else:
            found.append((version, version, items))
    return [(a if a == b else f"{a} to {b}", items) for a, b, items in found]


# ---------------------------------------------------------------- types and enums


def type_examples() -> list[Type]:
    """Return one type of each class except Scalar."""
    view = types.TensorView(F32, (types.DYNAMIC, 64), (64, 1))
    return [
        types.Ptr(F32),
        Tile((4, 8), F32),
        view,
        types.PartitionView((8, 64), view, padding_value=PaddingValue.ZERO),
        types.StridedView((8, 64), (4, 64), view),
        types.GatherScatterView((8, 64), view, 0),
        types.TOKEN,
        types.STRING,
        types.Function((Tile((), types.Ptr(F32)), Tile((), I32))),
        types.Foreign("tensor<4xf32>"),
    ]


def enums() -> list[type[TileEnum]]:
    """Return every enum, which is a closed set of keywords."""
    return subclasses(TileEnum)


def subclasses(root: type[Kind]) -> list[type[Kind]]:
    """Return all subclasses in `attrs` or `enums`, direct and indirect, in order of definition."""
    found: list[type[Kind]] = []
    todo = [root]
    while todo:
        below = todo.pop(0).__subclasses__()
        found += [cls for cls in below if cls.__module__.startswith(("tilery.attrs.", "tilery.enums"))]
        todo += below
    return found
