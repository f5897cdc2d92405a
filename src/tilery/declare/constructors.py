"""Constructors of operation classes, generated from their declarations."""

from __future__ import annotations

from collections.abc import Callable

from ..attrs import TileEnum
from ..checking import TYPE_CHECKING
from ..diag import TileError
from ..ir import Block, Op, Value
from ..types import Type
from .fields import INFER, REQUIRED, Field

if TYPE_CHECKING:
    from inspect import Signature
    from typing import Any

    from .operation import OpDef


def constructor(opdef: OpDef) -> Callable[..., None]:
    """Generate the keyword-only `__init__`: it stores fields, infers the types of results, and sets owners."""
    params, lines = [], []
    env: dict[str, Any] = {"INFER": INFER, "make": _make_result, "adopt": _adopt, "keyword": _keyword, "fields": {}}
    for f in opdef.fields:
        env["fields"][f.attr] = f
        env[f"default_{f.attr}"] = f.default
        params.append(f.attr if f.default is REQUIRED else f"{f.attr}=default_{f.attr}")
        value = f"tuple({f.attr})" if f.role == "operand" and f.arity == "var" else f.attr
        if f.enum is not None:
            value = f"{f.attr} if {f.attr}.__class__ is not str else keyword(fields[{f.attr!r}], {f.attr})"
        lines.append(f"    self.{f.attr} = {value}")
    for f in opdef.fields:
        if f.role == "out":
            lines.append(f"    self.{f.attr} = make(self, fields[{f.attr!r}], {f.attr})")
        elif f.default is INFER:
            lines.append(f"    if {f.attr} is INFER: self.{f.attr} = fields[{f.attr!r}].infer(self)")
        elif f.role == "region":
            lines.append(f"    adopt({f.attr})")
    star = "*, " if params else ""
    head = f"def __init__(self, {star}{', '.join(params)}):\n    self.loc = self.extra = None\n"
    exec(compile(head + "\n".join(lines), f"<constructor of {opdef.cls.__name__}>", "exec"), env)
    made: Callable[..., None] = env["__init__"]
    made.__qualname__ = f"{opdef.cls.__name__}.__init__"
    return made


def signature(opdef: OpDef) -> Signature:
    """Return the keyword arguments of a constructor, with the types that the class declares."""
    from inspect import Parameter, Signature

    parameters = []
    for f in opdef.fields:
        default = Parameter.empty if f.default is REQUIRED else _Inferred() if f.default is INFER else f.default
        annotation = opdef.annotations.get(f.attr, Parameter.empty)
        parameters.append(Parameter(f.attr, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    return Signature(parameters)


class _Inferred:
    """Stands in a signature for a default that follows from the other arguments."""

    def __repr__(self) -> str:
        return "..."


def _keyword(f: Field, text: str) -> TileEnum:
    """Return the enum member that a keyword spells."""
    assert f.enum is not None
    for member in f.only or f.enum:
        if text == member.text:
            return member
    allowed = ", ".join(member.text for member in f.only or f.enum)
    raise TileError(f"'{f.attr}' cannot be {text!r}, expected one of {allowed}", field=f.name)


def _adopt(block: Block | None) -> None:
    if block is not None:
        for value in block.args:
            value.owner = block


def _make_result(o: Op, f: Field, given: Any) -> Any:
    if given is INFER:
        if f.arity == "var":
            if f.infer is None:
                raise TypeError(f"{o.opdef.mnemonic}: pass '{f.attr}', a tuple of Value(type)")
            given = tuple(Value(t) for t in f.infer(o))
        else:
            given = Value(_result_type(o, f))
    if f.arity == "var":
        given = tuple(given)
        for value in given:
            value.owner = o
    else:
        given.owner = o
    return given


def inferred_result(o: Op, f: Field) -> list[Type] | None:
    """Return the types of a result that follow from operands and attributes; None if they do not."""
    if f.arity == "var":
        return None if f.infer is None else list(f.infer(o))
    try:
        return [_result_type(o, f)]
    except TypeError:
        return None


def _result_type(o: Op, f: Field) -> Type:
    if f.infer is not None:
        inferred: Type = f.infer(o)
        return inferred
    if f.kind.only is not None:
        only: Type = f.kind.only
        return only
    for rule in o.opdef.rules:
        if rule.what == "type" and f.name in rule.names:
            for name in rule.names:
                source = o.opdef.field(name)
                if source.role == "operand" and isinstance(value := getattr(o, source.attr), Value):
                    return value.type
    raise TypeError(f"{o.opdef.mnemonic}: the type of '{f.attr}' does not follow from the operands, pass Value(type)")
