"""Operations by their mnemonics: arguments and results of a call, from the declaration of the operation."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from keyword import iskeyword
from typing import Any

from ..attrs import DictAttr, IntAttr, OptimizationHints
from ..attrs.numbers import number_bits
from ..attrs.values import Attr, Dense
from ..declare.fields import INFER, REQUIRED, AttrKind, Field
from ..declare.operation import BY_NAME, OpDef
from ..diag import TileError
from ..ir import Op, Value
from ..ops import Constant, registered
from ..types import I64, Scalar, Tile, Type
from .constants import as_type, is_number

ARRAYS = (AttrKind.I32_ARRAY, AttrKind.BOOL_ARRAY, AttrKind.ARRAY)


def method_name(opdef: OpDef) -> str:
    """Return the name of an operation's method: its mnemonic, with an underscore if Python has that keyword."""
    return opdef.mnemonic + "_" * iskeyword(opdef.mnemonic)


@cache
def methods() -> dict[str, OpDef]:
    """Every operation by the name of its method."""
    return {method_name(opdef): opdef for opdef in registered()}


def find(name: str) -> OpDef:
    """Return the operation that a method is named after, or raise AttributeError with a suggestion."""
    found = methods().get(name) or BY_NAME.get(name)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(name, methods(), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise AttributeError(f"Builder has no method or operation '{name}'{hint}")
    return found


@cache
def signature(opdef: OpDef) -> inspect.Signature:
    """Return the parameters of an operation: what it needs, then by name what has a default, and its results."""
    needed, named = [], []
    for f in opdef.fields:
        if f.role == "state":
            continue
        if f.role != "out" and (f.default is REQUIRED or f.arity == "var"):
            needed.append(inspect.Parameter(f.attr, inspect.Parameter.POSITIONAL_OR_KEYWORD))
        else:
            default = None if f.default is INFER else f.default
            named.append(inspect.Parameter(f.attr, inspect.Parameter.KEYWORD_ONLY, default=default))
    return inspect.Signature([*needed, *named])


def arguments(opdef: OpDef, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Bind the arguments of a call to the fields of an operation, by their Python names."""
    try:
        return signature(opdef).bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{opdef.mnemonic}: {error}; it is {opdef.mnemonic}{signature(opdef)}") from None


def convert(opdef: OpDef, given: dict[str, Any], constants: list[Constant]) -> dict[str, Any]:
    """Convert arguments to what the constructor takes; constants made of numbers are appended to a list."""
    out: dict[str, Any] = {}
    for f in opdef.fields:
        if f.attr not in given or (f.role == "out" and given[f.attr] is None):
            continue
        value = given[f.attr]
        if f.role == "operand":
            out[f.attr] = _operand(opdef, f, value, given, constants)
        elif f.role == "out":
            out[f.attr] = _result(f, value)
        elif f.role == "attr":
            out[f.attr] = _attribute(opdef, f, value)
        else:
            out[f.attr] = value
    return out


def _operand(opdef: OpDef, f: Field, value: Any, given: Mapping[str, Any], constants: list[Constant]) -> Any:
    if f.arity != "var":
        if value is None and f.arity == "opt":
            return None
        return _value(opdef, f, value, given, constants)
    if isinstance(value, Value) or is_number(value):
        value = (value,)
    if not isinstance(value, Iterable):
        raise TileError(f"{opdef.mnemonic}: '{f.attr}' must be a list of values, got {value!r}", field=f.name)
    return tuple(_value(opdef, f, item, given, constants) for item in value)


def _value(opdef: OpDef, f: Field, value: Any, given: Mapping[str, Any], constants: list[Constant]) -> Value:
    if isinstance(value, Value):
        if not f.kind.ok(value.type):
            message = f"{opdef.mnemonic}: '{f.attr}' must be {f.kind.text}, got {value.type}"
            raise TileError(message, field=f.name)
        return value
    if not is_number(value):
        raise TileError(f"{opdef.mnemonic}: '{f.attr}' must be a value or a number, got {value!r}", field=f.name)
    wanted = _expected(opdef, f, given)
    if not isinstance(wanted, Tile) or not isinstance(wanted.element, Scalar):
        why = "no other argument determines its type; use const(number, type)"
        raise TileError(f"{opdef.mnemonic}: '{f.attr}' is the number {value!r}, and {why}", field=f.name)
    try:
        made = Constant(value=Dense.of(wanted, [number_bits(wanted.element, value)]))
    except TileError as error:
        raise TileError(f"{opdef.mnemonic}: '{f.attr}': {error.message}", field=f.name) from None
    constants.append(made)
    return made.result


def _expected(opdef: OpDef, f: Field, given: Mapping[str, Any]) -> Type | None:
    """Return the type that an operand must have, as far as rules and the other arguments say."""
    if f.kind.only is not None:
        only: Type = f.kind.only
        return only
    others = [f.name] if f.arity == "var" else []
    for rule in opdef.rules:
        if rule.what == "type" and f.name in rule.names:
            others += rule.names
    for name in others:
        source = opdef.field(name)
        value = given.get(source.attr)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Value):
                return item.type
            if source.role == "out" and isinstance(item, (Type, str)):
                return as_type(item)
    return None


def _result(f: Field, value: Any) -> Any:
    if f.arity == "var":
        return tuple(v if isinstance(v, Value) else Value(as_type(v)) for v in value)
    return value if isinstance(value, Value) else Value(as_type(value))


def _attribute(opdef: OpDef, f: Field, value: Any) -> Any:
    if f.kind is AttrKind.HINTS and isinstance(value, Mapping):
        return hints(value)
    if f.kind in ARRAYS and isinstance(value, list):
        return tuple(value)
    if f.kind in (AttrKind.I64, AttrKind.I32) and not isinstance(value, int):
        raise TileError(f"{opdef.mnemonic}: '{f.attr}' must be an integer, got {value!r}", field=f.name)
    if f.kind is AttrKind.STR and not isinstance(value, str):
        raise TileError(f"{opdef.mnemonic}: '{f.attr}' must be a string, got {value!r}", field=f.name)
    return value


def hints(values: Mapping[str, Mapping[str, int]]) -> OptimizationHints:
    """Return hints from a dictionary per architecture: `{"sm_100": {"num_cta_in_cga": 2}}`."""
    groups: list[tuple[str, Attr]] = []
    for architecture, each in values.items():
        if not isinstance(each, Mapping):
            raise TileError(f"hints are a dictionary per architecture, got {each!r} for '{architecture}'")
        inner = tuple((name, _hint(value)) for name, value in each.items())
        groups.append((architecture, DictAttr(inner)))
    return OptimizationHints(DictAttr(tuple(groups)))


def _hint(value: Any) -> Attr:
    from ..types import I1

    return IntAttr.of(I1, int(value)) if isinstance(value, bool) else IntAttr.of(I64, value)


def construct(opdef: OpDef, fields: dict[str, Any]) -> Op:
    """Make an operation; its arguments have the right kinds, but its results may not follow from them."""
    try:
        return opdef.cls(**fields)
    except (AttributeError, IndexError, TypeError) as error:
        names = " or ".join(f"'{f.attr}'" for f in opdef.outs)
        why = str(error).removeprefix(f"{opdef.mnemonic}: ").removesuffix(", pass Value(type)")
        raise TileError(f"{opdef.mnemonic}: {why}", notes=(f"pass a type as {names}",)) from None


def results(o: Op) -> Any:
    """Return what a call returns: nothing, the only result, or all of them."""
    found = o.results
    outs = o.opdef.outs
    if not outs:
        return None
    return found[0] if len(outs) == 1 and outs[0].arity == "one" else tuple(found)


def described(o: Op, names: Mapping[Value, str]) -> str:
    """Describe the arguments of an operation, for a message about them; `names` has those of parameters."""
    parts = []
    for f in o.opdef.operands:
        value = getattr(o, f.attr)
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        if values:
            texts = [f"%{names[v]}: {v.type.text}" if v in names else v.type.text for v in values]
            parts.append(f"{f.name}: {', '.join(texts)}")
    return "; ".join(parts)
