"""What the verifier asks of every operation, in its shortest form: a signature.

Two operations with the same class and signature are both legal or both not, as long as nothing but types and attributes
counts: `check` of an operation without regions looks at nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ..declare.codegen import build
from ..declare.fields import AttrKind, Field
from ..declare.relations import SYMBOL, TERMINATOR
from ..ir import Op, UnknownOp

Getter = Callable[[Any], Any]


_KNOWN: dict[type[Op], Getter] = {}


def says_all(cls: type[Op]) -> bool:
    """Whether nothing but types and attributes counts for an operation: not where it stands, or what is inside."""
    return _by_itself(cls) and not cls.opdef.parents and not cls.opdef.has(TERMINATOR)


def ends(cls: type[Op]) -> bool:
    """Whether it also counts that an operation ends a block, and of what parent, but nothing else."""
    return _by_itself(cls) and cls.opdef.has(TERMINATOR)


def _by_itself(cls: type[Op]) -> bool:
    """Whether an operation has no regions and no rules about operations around it or elsewhere."""
    if issubclass(cls, UnknownOp) or cls.check_nested is not None or cls.check_symbols is not None:
        return False
    return not cls.opdef.regions and not cls.opdef.has(SYMBOL)


def signature(cls: type[Op]) -> Getter:
    """What gives an operation's signature, by which what the table says of types and attributes can be remembered."""
    if cls not in _KNOWN:
        _KNOWN[cls] = _signature(cls)
    return _KNOWN[cls]


def _signature(cls: type[Op]) -> Getter:
    if issubclass(cls, UnknownOp):
        return _nothing
    opdef = cls.opdef
    fields = [f for f in opdef.fields if f.role in ("attr", "operand", "out")]
    if all(f.role == "attr" or f.arity == "one" for f in fields):
        return attrgetter(*map(_path, fields)) if fields else _nothing
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


def _nothing(_: Op) -> tuple[()]:
    return ()
