"""Operations of the documented layout as bytes alone: a record with every table that it refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..attrs import (
    ArrayAttr,
    Attr,
    Dense,
    DenseArray,
    DictAttr,
    FloatAttr,
    OptimizationHints,
    SymbolRef,
    TypeAttr,
    UnitAttr,
)
from ..declare.fastclass import dataclass, field
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef
from ..diag import TileError
from ..ir import Op, Value, walk
from ..ops import registered
from ..text.parse.leaves import EnumAttr
from ..text.print.attributes import ENUM_NAMES
from ..types import Function, PartitionView, Ptr, TensorView, Tile, Type
from ..version import V13_1
from .attributes import decode_attr, encode_attr
from .dictionaries import SEGMENTS, as_constant, decode_dict, encode_dict, enum_keys, keys_of
from .enums import name_of
from .operations import decode_op, dictionary, encode_op
from .records import OPCODES
from .tables import Tables
from .typecodec import decode_type, encode_type


@dataclass(frozen=True, slots=True)
class Packed:
    """An operation and its tables as bytes. Entries refer to earlier ones of their table.

    `dictionaries` are the entries of `attributes` that are dictionaries; the others have a tag.
    """

    record: bytes
    types: tuple[bytes, ...] = ()
    strings: tuple[str, ...] = ()
    attributes: tuple[bytes, ...] = ()
    dictionaries: frozenset[int] = field(default_factory=frozenset)


def unpack(packed: Packed, values: Sequence[Value] = ()) -> Op:
    """Decode an operation with its tables. `values` are those that it uses and does not define."""
    types, attributes = decoded_tables(packed)
    return decode_op(packed.record, types, values, attributes=attributes)


def decoded_tables(packed: Packed) -> tuple[list[Type], list[Attr]]:
    """Decode the types and the attributes of an operation."""
    types: list[Type] = []
    for data in packed.types:
        types.append(decode_type(data, types))
    attributes: list[Attr] = []
    for index, data in enumerate(packed.attributes):
        tables = Tables(types, packed.strings, attributes)
        if index in packed.dictionaries:
            attributes.append(decode_dict(data, tables))
        else:
            attributes.append(decode_attr(data, tables))
    return types, attributes


def pack(o: Op, values: Sequence[Value] = ()) -> Packed:
    """Encode an operation, with what is inside it, and the tables that it needs. Locations are left out.

    TileError names what the documented layout has no tag for.
    """
    found = _Tables()
    for inner in walk(o):
        for value in (*inner.results, *(a for block in inner.blocks for a in block.args)):
            found.type(value.type)
        try:
            found.dictionary(dictionary(inner))
        except TileError as error:
            raise TileError(f"{inner.name}: {error.message}", notes=tuple(error.notes)) from None
    return found.packed(o, values)


def untagged() -> Iterator[tuple[OpDef, Field, str]]:
    """Yield the fields of 13.1 that the documented layout has no tag for, with the kind of attribute that it lacks."""
    kinds = {AttrKind.FLAG: UnitAttr, AttrKind.ARRAY: ArrayAttr, AttrKind.SYM_REF: SymbolRef}
    for opdef in registered():
        if opdef.since > V13_1 or opdef.opcode not in OPCODES:
            continue
        for f in opdef.attrs:
            named = f.enum in ENUM_NAMES and f.name not in enum_keys()
            missing = f.enum if named else kinds.get(f.kind)
            if missing is not None and f.since <= V13_1:
                yield opdef, f, missing.__name__


class _Tables:
    """Tables that grow: parts are added before what they are part of."""

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.type_bytes: list[bytes] = []
        self.attributes: list[Attr] = [DictAttr()]
        self.bytes: list[bytes] = [encode_dict(DictAttr(), Tables())]
        self.dictionaries = {0}

    def type(self, t: Type) -> None:
        if t not in self.types:
            for part in _parts(t):
                self.type(part)
            self.type_bytes.append(encode_type(t, self.types))
            self.types.append(t)

    def dictionary(self, attr: DictAttr, *, hints: bool = False) -> None:
        """Add a dictionary. Those inside hints name hints, whose values are references."""
        if attr in self.attributes:
            return
        for key, value in attr.items:
            self.value("" if hints else key, value)
        self.bytes.append(encode_dict(attr, self.tables()))
        self.dictionaries.add(len(self.attributes))
        self.attributes.append(attr)

    def value(self, key: str, value: Attr) -> None:
        """Add what the dictionary's entry refers to, if it does not hold the value itself."""
        if isinstance(value, EnumAttr):
            if key not in enum_keys() or name_of(value.member) is None:
                kind = type(value.member).__name__
                raise TileError(f"the documented layout has no tag for {kind}", notes=(value.text,))
        elif isinstance(value, OptimizationHints):
            for _, inner in value.value.items:
                if isinstance(inner, DictAttr):
                    self.dictionary(inner, hints=True)
        elif not (isinstance(value, DenseArray) and (key == SEGMENTS or key in keys_of(AttrKind.I32_ARRAY))):
            self.attribute(as_constant(value))

    def attribute(self, attr: Attr) -> None:
        if attr not in self.attributes:
            for t in _types_of(attr):
                self.type(t)
            self.bytes.append(encode_attr(attr, self.tables()))
            self.attributes.append(attr)

    def tables(self) -> Tables:
        return Tables(self.types, (), self.attributes)

    def packed(self, o: Op, values: Sequence[Value]) -> Packed:
        record = encode_op(o, self.types, values, attributes=self.attributes, without_locations=True)
        return Packed(record, tuple(self.type_bytes), (), tuple(self.bytes), frozenset(self.dictionaries))


def _parts(t: Type) -> Iterator[Type]:
    """The types that the entry of a type refers to."""
    match t:
        case Ptr(pointee=part) | Tile(element=part) | TensorView(element=part) | PartitionView(tensor_view=part):
            yield part
        case Function(params=params, results=results):
            yield from (*params, *results)


def _types_of(attr: Attr) -> Iterator[Type]:
    """The types that the entry of an attribute refers to."""
    match attr:
        case FloatAttr(t, _) | TypeAttr(t):
            yield t
        case Dense():
            yield attr.element
