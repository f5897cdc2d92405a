"""Signatures: the types and attributes of an operation, by which the verifier remembers what it has accepted.

Two operations of one class with the same signature are both legal or both illegal, as far as this depends on types and
attributes alone. `check` of an operation without regions depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from ..checking import TYPE_CHECKING
from ..declare.codegen import build
from ..declare.fields import AttrKind, Field
from ..declare.relations import SYMBOL, TERMINATOR
from ..ir import Op, UnknownOp

if TYPE_CHECKING:
    from typing import Any

Getter = Callable[["Any"], "Any"]


_KNOWN: dict[tuple[type[Op], bool], Getter] = {}


def is_context_free(cls: type[Op]) -> bool:
    """Whether legality depends only on types and attributes, not on the surroundings or on nested operations."""
    return _is_self_contained(cls) and not cls.opdef.parents and not cls.opdef.has(TERMINATOR)


def depends_only_on_parent(cls: type[Op]) -> bool:
    """Whether legality also depends on ending a block and on the parent operation, but on nothing else."""
    return _is_self_contained(cls) and cls.opdef.has(TERMINATOR)


def _is_self_contained(cls: type[Op]) -> bool:
    """Whether an operation has no regions, and no rules about other operations."""
    if issubclass(cls, UnknownOp) or cls.check_nested is not None or cls.check_symbols is not None:
        return False
    return not cls.opdef.regions and not cls.opdef.has(SYMBOL)


def signature(cls: type[Op], small: bool) -> Getter:
    """Return the function that computes the signature of operations of a class.

    In a `small` module, generating code would take longer than it saves.
    """
    key = (cls, small)
    if key not in _KNOWN:
        _KNOWN[key] = _signature(cls, small)
    return _KNOWN[key]


def _signature(cls: type[Op], small: bool) -> Getter:
    if issubclass(cls, UnknownOp):
        return _nothing
    opdef = cls.opdef
    fields = [f for f in opdef.fields if f.role in ("attr", "operand", "out")]
    if all(f.role == "attr" or f.arity == "one" for f in fields):
        return attrgetter(*map(_path, fields)) if fields else _nothing
    if small:
        return lambda o: tuple([_value(f, o) for f in fields])
    pieces = ", ".join(map(_piece, fields))
    made: Getter = build(f"signature of {opdef.mnemonic}", f"def bind(o):\n    return ({pieces},)\n", {})
    return made


def _path(f: Field) -> str:
    # The bytes of a constant were checked when it was made: its type is enough.
    return f"{f.attr}.type" if f.role != "attr" or f.kind is AttrKind.DENSE else f.attr


def _piece(f: Field) -> str:
    if f.role != "attr" and f.arity == "opt":
        return f"None if o.{f.attr} is None else o.{f.attr}.type"
    if f.role != "attr" and f.arity == "var":
        return f"tuple([v.type for v in o.{f.attr}])"
    return f"o.{_path(f)}"


def _value(f: Field, o: Op) -> Any:
    """Compute what `_piece` spells."""
    value = getattr(o, f.attr)
    if f.role == "attr":
        return value.type if f.kind is AttrKind.DENSE else value
    if f.arity == "var":
        return tuple([v.type for v in value])
    return None if value is None and f.arity == "opt" else value.type


def _nothing(_: Op) -> tuple[()]:
    return ()
