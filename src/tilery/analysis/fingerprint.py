"""Digests of operations: the same for operations that do the same, in any process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from ..attrs import Dense
from ..ir import Block, Op, UnknownOp, Value, walk
from ..types import Function


def fingerprint(*roots: Op) -> str:
    """Return a digest of operations and all inside them. Locations and the identity of values do not count.

    >>> from tilery import parse
    >>> text = "entry @k(%n: tile<i32>) {{ %0 = {} %n, %n : tile<i32> return }}"
    >>> one, same, other = (parse(text.format(name)).entries[0] for name in ("addi", "addi", "subi"))
    >>> fingerprint(one) == fingerprint(same), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    numbers: dict[Value, int] = {}
    digest = hashlib.sha256()
    for root in roots:
        for o in walk(root):
            parts: list[Any] = [o.name, o.extra, *_fields(o, numbers)]
            parts.append([v.type.text for v in o.results])
            for v in o.results:
                numbers[v] = len(numbers)
            for b in o.blocks if o.nested else ():
                parts.append((len(b.ops), [v.type.text for v in b.args]))
                for v in b.args:
                    numbers[v] = len(numbers)
            digest.update(repr(parts).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _fields(o: Op, numbers: dict[Value, int]) -> Iterable[Any]:
    if isinstance(o, UnknownOp):
        yield [numbers.get(v) for v in o.operands]
        return
    for f in o.opdef.fields:
        value = getattr(o, f.attr)
        if f.role == "operand":
            yield _number(value, numbers)
        elif f.role == "region":
            yield isinstance(value, Block)
        elif f.role == "attr":
            yield _value(value)


def _value(value: Any) -> Any:
    """An attribute whose `repr` is short."""
    if isinstance(value, Function):
        return [t.text for t in value.params]
    return (value.type, hashlib.sha256(value.data).digest()) if isinstance(value, Dense) else value


def _number(value: Any, numbers: dict[Value, int]) -> Any:
    if isinstance(value, tuple):
        return [numbers.get(v) for v in value]
    return None if value is None else numbers.get(value)
