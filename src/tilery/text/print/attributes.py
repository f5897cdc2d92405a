"""The text of attributes as MLIR prints them: strings, symbols, numbers, dense constants, dictionaries and hints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from ...attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    ComparisonOrdering,
    ComparisonPredicate,
    Dense,
    DenseArray,
    DenseStrings,
    DictAttr,
    DivBy,
    FloatAttr,
    IntAttr,
    IntegerOverflow,
    OpaqueAttr,
    OptimizationHints,
    Predicate,
    RoundingMode,
    SameElements,
    Signedness,
    StrAttr,
    SymbolRef,
    SymbolVisibility,
    TileEnum,
    TypeAttr,
    UnitAttr,
)
from ...diag import TileError
from ...floats.formats import float_text
from ...types import F64, I1, I64, Scalar, Type, full_text

MAX_TEXT = 1 << 28
HEX_ABOVE = 100
"""Constants with more elements, if they are not all equal, are printed as their bytes."""

ENUM_NAMES: dict[type[TileEnum], str] = {
    ComparisonOrdering: "comparison_ordering",
    ComparisonPredicate: "comparison_predicate",
    IntegerOverflow: "overflow",
    RoundingMode: "rounding",
    Signedness: "signedness",
    SymbolVisibility: "symbol_visibility",
}
"""The enums that are attributes of the dialect, `#cuda_tile.rounding<zero>`; the others are plain i32 numbers."""

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")
_PLAIN = re.compile(r"[ !#-\[\]-~]*\Z")


class Typed(Enum):
    """Whether a number says its type: always; not where it is the default (i64, f64); never."""

    ALWAYS = 0
    UNLESS_DEFAULT = 1
    NEVER = 2


# ---------------------------------------------------------------- names


def quote(text: str) -> str:
    r"""A string in quotes; what is not printable ASCII becomes the hex digits of its bytes.

    >>> print(quote('a "b"\n'), quote("é"))
    "a \22b\22\0A" "\C3\A9"
    """
    if _PLAIN.match(text):
        return f'"{text}"'
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        if byte == 0x5C:
            out.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:02X}")
    return f'"{"".join(out)}"'


def word(name: str) -> str:
    """A name, in quotes if it is no identifier."""
    return name if _BARE.match(name) else quote(name)


def symbol(name: str) -> str:
    """`@name`."""
    return "@" + word(name) if name else "@<<INVALID EMPTY SYMBOL>>"


# ---------------------------------------------------------------- numbers and constants


def int_text(type: Scalar, bits: int) -> str:
    if type is I1:
        return "true" if bits else "false"
    return str(bits - (1 << type.bits) if bits >> (type.bits - 1) else bits)


def splat_bits(value: Dense) -> int | None:
    """The one element that stands for all in text: the bytes must be equal, those above a narrow element's bits too."""
    element, data = value.element, value.data
    if element is I1:
        return value.splat
    width = element.storage_bytes
    first = data[:width]
    if len(data) > width and first * (len(data) // width) != data:
        return None
    return int.from_bytes(first, "little") & ((1 << element.bits) - 1)


def dense_body(value: Dense) -> str:
    """What stands in the brackets of a constant: a single element, nested lists, or a string of bytes."""
    element, splat = value.element, splat_bits(value)
    show = int_text if element.is_int else float_text
    if splat is not None:
        return show(element, splat)
    if value.type.size > HEX_ABOVE:
        data = bytes(value.elements()) if element is I1 else value.data
        return f'"0x{data.hex().upper()}"'
    texts = [show(element, bits) for bits in value.elements()]
    for dim in reversed(value.type.shape):
        texts = [f"[{', '.join(texts[n : n + dim])}]" for n in range(0, len(texts), dim)]
    return texts[0]


def dense_text(value: Dense, shown: Type) -> str:
    """The dialect's form of a constant, `<i32: 1> : tile<i32>`."""
    return f"<{value.element.text}: {dense_body(value)}> : {shown.text}"


def array_text(type: Scalar, values: tuple[int, ...]) -> str:
    """`array<i32: 1, 2>`."""
    if not values:
        return f"array<{type.text}>"
    texts = [("true" if v else "false") if type is I1 else str(v) for v in values]
    return f"array<{type.text}: {', '.join(texts)}>"


def predicate_text(value: Predicate) -> str:
    match value:
        case DivBy(divisor, every, along):
            groups = "" if every is None else f", every {every} along {0 if along is None else along}"
            return f"div_by<{divisor}{groups}>"
        case SameElements(values):
            return f"same_elements<[{', '.join(map(str, values))}]>"
        case Bounded(lb, ub):
            return f"bounded<{'?' if lb is None else lb}, {'?' if ub is None else ub}>"


# ---------------------------------------------------------------- attributes of any kind

NO_ALIASES: Mapping[int, str] = {}

_Task = str | tuple[Attr, Typed]


def attr_text(attr: Attr, typed: Typed = Typed.ALWAYS, aliases: Mapping[int, str] = NO_ALIASES) -> str:
    """An attribute as it stands in a dictionary. `aliases` gives, by identity, attributes that have a name.

    >>> from tilery.types import I32
    >>> attr_text(ArrayAttr((IntAttr(I32, 7), IntAttr(I64, 8), StrAttr("x"))))
    '[7 : i32, 8, "x"]'
    """
    return _run([(attr, typed)], aliases)


def hints_text(hints: OptimizationHints) -> str:
    """`<sm_100 = {num_cta_in_cga = 2}>`; NVIDIA's printer leaves the names as they are."""
    return _run(_hints(hints), NO_ALIASES)


def dict_text(items: Mapping[str, Attr], aliases: Mapping[int, str] = NO_ALIASES) -> str:
    """`{a = 1 : i32, b}`, sorted by name."""
    return _run([(DictAttr(tuple(items.items())), Typed.ALWAYS)], aliases)


def _run(tasks: list[_Task], aliases: Mapping[int, str]) -> str:
    """The text of all tasks, with a stack because hostile attributes nest deeply."""
    out: list[str] = []
    size = 0
    tasks.reverse()
    while tasks:
        task = tasks.pop()
        if not isinstance(task, str):
            made = aliases.get(id(task[0])) or _expand(*task)
            if isinstance(made, list):
                tasks += reversed(made)
                continue
            task = made
        out.append(task)
        size += len(task)
        if size > MAX_TEXT:
            raise TileError(f"the text of an attribute is longer than {MAX_TEXT} characters")
    return "".join(out)


def _expand(attr: Attr, typed: Typed) -> str | list[_Task]:
    """The text of an attribute, or its parts where it holds others."""
    match attr:
        case ArrayAttr(items):
            return ["[", *_commas([[(item, Typed.UNLESS_DEFAULT)] for item in items]), "]"]
        case DictAttr():
            return ["{", *_commas([_named(name, value) for name, value in attr.sorted()]), "}"]
        case OptimizationHints():
            return ["#cuda_tile.optimization_hints", *_hints(attr)]
        case _:
            return _simple(attr, typed)


def _simple(attr: Attr, typed: Typed) -> str:
    match attr:
        case UnitAttr():
            return "unit"
        case IntAttr(type, bits):
            plain = type is I1 or typed is Typed.NEVER or (typed is Typed.UNLESS_DEFAULT and type is I64)
            return int_text(type, bits) if plain else f"{int_text(type, bits)} : {type.text}"
        case FloatAttr(type, bits):
            text = float_text(type, bits)
            default = typed is Typed.UNLESS_DEFAULT and type is F64 and not text.startswith("0x")
            return text if default or typed is Typed.NEVER else f"{text} : {type.text}"
        case StrAttr(value):
            return quote(value)
        case TypeAttr(type):
            return full_text(type)
        case SymbolRef(name):
            return symbol(name)
        case DenseArray(type, values):
            return array_text(type, values)
        case Dense():
            return f"dense<{dense_body(attr)}> : {full_text(attr.type)}"
        case DenseStrings(type, strings):
            body = ", ".join(map(quote, strings))
            return f"dense<{body if len(strings) == 1 else f'[{body}]'}> : {full_text(type)}"
        case DivBy() | SameElements() | Bounded():
            return "#cuda_tile." + predicate_text(attr)
        case OpaqueAttr(text):
            return text
        case _:
            from .locations import debug_text

            return debug_text(attr)


def _named(name: str, value: Attr) -> list[_Task]:
    return [word(name)] if isinstance(value, UnitAttr) else [word(name) + " = ", (value, Typed.ALWAYS)]


def _hints(hints: OptimizationHints) -> list[_Task]:
    entries: list[list[_Task]] = []
    for arch, inner in hints.value.sorted():
        if not isinstance(inner, DictAttr):  # not valid, but shown
            entries.append([arch + " = ", (inner, Typed.NEVER)])
            continue
        pairs: list[list[_Task]] = [[name + " = ", (value, Typed.NEVER)] for name, value in inner.sorted()]
        entries.append([arch + " = {", *_commas(pairs), "}"])
    return ["<", *_commas(entries), ">"]


def _commas(entries: list[list[_Task]]) -> list[_Task]:
    out: list[_Task] = []
    for entry in entries:
        out += [", ", *entry] if out else entry
    return out
