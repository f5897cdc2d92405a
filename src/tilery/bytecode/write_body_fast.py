"""Write the operations of a function body with generated encoders: the fast twin of `write_body`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..attrs import Dense
from ..declare.codegen import GiveUp
from ..ir import Block, Op
from ..ops import Entry
from ..version import Version
from .attrcodec import Indices
from .encoders import Encoder, EncoderBinding, encoder
from .layout import OpLayout
from .wire import ONE_BYTE, encode_varint
from .write_body import BodyWriter

OpenRegion = tuple[Iterator[Op], Op, OpLayout, int, int]
"""The state around a region: further operations, the region's own operation with layout and region index, and the
number of values that are visible outside."""


class _Indices(dict[Any, bytes]):
    """The index of each item as bytes, looked up once."""

    def __init__(self, number: Callable[[Any], int]) -> None:
        self.number = number

    def __missing__(self, key: Any) -> bytes:
        found = self[key] = encode_varint(self.number(key))
        return found


class _Encoders(dict[type[Op], Encoder]):
    """The encoders of one function body, bound on first use."""

    def __init__(self, binding: EncoderBinding, version: Version) -> None:
        self.binding, self.version = binding, version

    def __missing__(self, cls: type[Op]) -> Encoder:
        if cls.opdef.since > self.version:
            raise GiveUp
        found = self[cls] = encoder(cls.opdef, self.version)(self.binding)
        return found


def write_fast(entry: Entry, version: Version, indices: Indices) -> bytes:
    """Return the operations of an entry as bytes, or raise one of `GIVING_UP`."""
    parts: list[bytes] = []
    b = EncoderBinding()
    b.put, b.numbers, b.opened = parts.extend, {}, []
    b.types, b.strings = _Indices(indices.type), _Indices(indices.string)
    b.attr = BodyWriter(entry, version, indices).attr_bytes

    def constants(value: Dense) -> bytes:
        number = indices.constant(value)
        return ONE_BYTE[number] if number < 128 else encode_varint(number)

    b.constants = constants
    for value in entry.body.args:
        b.numbers[value] = encode_varint(len(b.numbers))
    _run(_Encoders(b, version), b, iter(entry.body.ops))
    return b"".join(parts)


def _run(encoders: _Encoders, b: EncoderBinding, ops: Iterator[Op]) -> None:
    opened, numbers = b.opened, b.numbers
    frames: list[OpenRegion] = []
    while True:
        for o in ops:
            encoders[o.__class__](o)
            if opened:
                ops = _begin(b, frames, ops, *opened.pop(), 0)
                break
        else:
            if not frames:
                return
            ops, o, plan, index, outer = frames.pop()
            while len(numbers) > outer:
                numbers.popitem()
            ops = _begin(b, frames, ops, o, plan, index + 1)


def _begin(
    b: EncoderBinding, frames: list[OpenRegion], ops: Iterator[Op], o: Op, plan: OpLayout, index: int
) -> Iterator[Op]:
    """Start region `index` of `o`, or finish `o` if there is none. Return the operations that come next."""
    regions, numbers = plan.opdef.regions, b.numbers
    while index < len(regions):
        block: Block | None = getattr(o, regions[index].attr)
        if block is not None:
            frames.append((ops, o, plan, index, len(numbers)))
            b.put(
                (
                    b"\1",
                    encode_varint(len(block.args)),
                    *[b.types[v.type] for v in block.args],
                    encode_varint(len(block.ops)),
                )
            )
            for value in block.args:
                numbers[value] = encode_varint(len(numbers))
            return iter(block.ops)
        b.put((b"\0",))
        index += 1
    for f in plan.results:
        value = getattr(o, f.attr)
        for v in value if f.arity == "var" else (value,):
            numbers[v] = encode_varint(len(numbers))
    return ops
