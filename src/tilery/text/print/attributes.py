"""The text of attributes as MLIR prints them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ...attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    CallSite,
    ComparisonOrdering,
    ComparisonPredicate,
    Dense,
    DenseArray,
    DenseStrings,
    DICompileUnit,
    DictAttr,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    DivBy,
    FileLineCol,
    FloatAttr,
    FusedLoc,
    IntAttr,
    IntegerOverflow,
    NameLoc,
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
MAX_DEBUG_TEXT = 1 << 20
HEX_ABOVE = 100
"""Constants with more elements are printed as bytes, unless all are equal."""

ENUM_NAMES: dict[type[TileEnum], str] = {
    ComparisonOrdering: "comparison_ordering",
    ComparisonPredicate: "comparison_predicate",
    IntegerOverflow: "overflow",
    RoundingMode: "rounding",
    Signedness: "signedness",
    SymbolVisibility: "symbol_visibility",
}
"""The enums that are attributes of the dialect, `#cuda_tile.rounding<zero>`. The others are i32 numbers."""


class Typed(Enum):
    """Whether a number is printed with its type: always, unless it is the default (i64, f64), or never."""

    ALWAYS = 0
    UNLESS_DEFAULT = 1
    NEVER = 2


def too_long(limit: int) -> TileError:
    return TileError(f"the text is longer than {limit} characters")


# ---------------------------------------------------------------- names


def quote(text: str) -> str:
    r"""Quote a string; characters other than printable ASCII become the hex digits of their bytes.

    >>> print(quote('a "b"\n'), quote("é"))
    "a \22b\22\0A" "\C3\A9"
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
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
    """Return a name, in quotes unless it is an identifier."""
    is_bare = name.isascii() and name[:1] not in "$." and name.replace("$", "_").replace(".", "_").isidentifier()
    return name if is_bare else quote(name)


def symbol(name: str) -> str:
    """Return `@name`."""
    return "@" + word(name) if name else "@<<INVALID EMPTY SYMBOL>>"


# ---------------------------------------------------------------- numbers and constants


def int_text(type: Scalar, bits: int) -> str:
    if type is I1:
        return "true" if bits else "false"
    return str(bits - (1 << type.bits) if bits >> (type.bits - 1) else bits)


def splat_bits(value: Dense) -> int | None:
    """Return the one element that is printed for all, or None. All bytes must be equal, even unused bits."""
    element, data = value.element, value.data
    if element is I1:
        return value.splat
    width = element.storage_bytes
    first = data[:width]
    if len(data) > width and first * (len(data) // width) != data:
        return None
    return int.from_bytes(first, "little") & ((1 << element.bits) - 1)


def dense_body(value: Dense) -> str:
    """Return the text inside a constant's brackets: a single element, nested lists, or a string of bytes."""
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
    """Return the dialect's form of a constant, `<i32: 1> : tile<i32>`."""
    return f"<{value.element.text}: {dense_body(value)}> : {shown.text}"


def array_text(type: Scalar, values: tuple[int, ...]) -> str:
    """Return `array<i32: 1, 2>`."""
    if not values:
        return f"array<{type.text}>"
    texts = [
        float_text(type, v) if type.is_float else ("true" if v else "false") if type is I1 else str(v) for v in values
    ]
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

_Item = str | tuple[Attr, Typed]


def attr_text(attr: Attr, typed: Typed = Typed.ALWAYS, aliases: Mapping[int, str] = NO_ALIASES) -> str:
    """Return the text of an attribute in a dictionary. `aliases` maps the `id` of attributes to their names.

    >>> from tilery.types import I32
    >>> attr_text(ArrayAttr((IntAttr(I32, 7), IntAttr(I64, 8), StrAttr("x"))))
    '[7 : i32, 8, "x"]'
    """
    return _run([(attr, typed)], aliases)


def hints_text(hints: OptimizationHints) -> str:
    """Return `<sm_100 = {num_cta_in_cga = 2}>`. Like NVIDIA's printer, it does not quote names."""
    return _run(_hints(hints), NO_ALIASES)


def dict_text(items: Mapping[str, Attr], aliases: Mapping[int, str] = NO_ALIASES) -> str:
    """Return `{a = 1 : i32, b}`, sorted by name."""
    return _run([(DictAttr(tuple(items.items())), Typed.ALWAYS)], aliases)


def _run(items: list[_Item], aliases: Mapping[int, str]) -> str:
    """Join the texts of all items. It uses a stack because hostile attributes nest deeply."""
    out: list[str] = []
    size = 0
    items.reverse()
    while items:
        item = items.pop()
        if not isinstance(item, str):
            made = aliases.get(id(item[0])) or _expand(*item)
            if isinstance(made, list):
                items += reversed(made)
                continue
            item = made
        out.append(item)
        size += len(item)
        if size > MAX_TEXT:
            raise TileError(f"the text of an attribute is longer than {MAX_TEXT} characters")
    return "".join(out)


def _expand(attr: Attr, typed: Typed) -> str | list[_Item]:
    """Return the text of an attribute, or its items if it contains other attributes."""
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
            return debug_text(attr)


def _named(name: str, value: Attr) -> list[_Item]:
    return [word(name)] if isinstance(value, UnitAttr) else [word(name) + " = ", (value, Typed.ALWAYS)]


def _hints(hints: OptimizationHints) -> list[_Item]:
    entries: list[list[_Item]] = []
    for arch, inner in hints.value.sorted():
        if not isinstance(inner, DictAttr):  # not valid, but printed
            entries.append([arch + " = ", (inner, Typed.NEVER)])
            continue
        pairs: list[list[_Item]] = [[name + " = ", (value, Typed.NEVER)] for name, value in inner.sorted()]
        entries.append([arch + " = {", *_commas(pairs), "}"])
    return ["<", *_commas(entries), ">"]


def _commas(entries: list[list[_Item]]) -> list[_Item]:
    out: list[_Item] = []
    for entry in entries:
        out += [", ", *entry] if out else entry
    return out


# ---------------------------------------------------------------- locations and debug information

_DebugAttr = DIFile | DICompileUnit | DISubprogram | DILexicalBlock


def location_parts(attr: Attr | None) -> list[str | Attr | None]:
    """Return the text of a location or debug attribute, with the attributes inside it in between.

    None is the unknown location.
    """
    match attr:
        case DILoc(source, scope):
            return ["#cuda_tile.di_loc<", source, " in ", scope, ">"]
        case None:
            return ["loc(unknown)"]
        case FileLineCol(filename, line, column):
            return [f"loc({quote(filename or '-')}:{line}:{column})"]
        case CallSite(callee, caller):
            return ["loc(callsite(", callee, " at ", caller, "))"]
        case NameLoc(name, child):
            return [f"loc({quote(name)})"] if child is None else [f"loc({quote(name)}(", child, "))"]
        case FusedLoc(locations, metadata):
            out: list[str | Attr | None] = ["loc(fused"]
            if isinstance(metadata, _DebugAttr):
                out += ["<", metadata, ">"]
            elif metadata is not None:
                out[0] = f"loc(fused<{attr_text(metadata)}>"
            for n, loc in enumerate(locations):
                out += [", " if n else "[", loc]
            return [*out, "])" if locations else "[])"]
        case DIFile(name, directory):
            return [f"#cuda_tile.di_file<{quote(name)} in {quote(directory)}>"]
        case DICompileUnit(file):
            return ["#cuda_tile.di_compile_unit<file = ", file, ">"]
        case DISubprogram(file, line, name, linkage, unit, scope_line):
            named = f", line = {line}, name = {quote(name)}, linkageName = {quote(linkage)}, compileUnit = "
            tail = f", scopeLine = {scope_line}>" if scope_line else ">"
            return ["#cuda_tile.di_subprogram<file = ", file, named, unit, tail]
        case DILexicalBlock(scope, file, line, column):
            tail = f", line = {line}, column = {column}>" if column else f", line = {line}>"
            return ["#cuda_tile.di_lexical_block<scope = ", scope, ", file = ", file, tail]
        case _:
            raise AssertionError(f"a location without a text: {attr.__class__.__name__}")


def debug_text(root: Attr | None, limit: int = MAX_DEBUG_TEXT) -> str:
    """Return a location or debug attribute in full, as messages show it.

    >>> debug_text(CallSite(FileLineCol("a.py", 1, 2), None))
    'loc(callsite("a.py":1:2 at unknown))'
    """
    out: list[str] = []
    size = 0
    todo: list[str | tuple[Attr | None, Attr | None]] = [(root, root)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            size += len(item)
            if size > limit:
                raise too_long(limit)
            continue
        attr, parent = item
        parts = location_parts(attr)
        first, last = parts[0], parts[-1]
        assert isinstance(first, str) and isinstance(last, str)
        if isinstance(attr, DIFile | DICompileUnit) and isinstance(parent, _DebugAttr) and attr is not parent:
            parts[0] = first[first.index("<") :]  # the name of the field implies the kind
        elif first.startswith("loc(") and isinstance(parent, CallSite | NameLoc | FusedLoc) and attr is not parent:
            parts = [first[4:-1]] if len(parts) == 1 else [first[4:], *parts[1:-1], last[:-1]]
        todo += [part if isinstance(part, str) else (part, attr) for part in reversed(parts)]
    return "".join(out)
