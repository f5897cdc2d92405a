"""Parse MLIR's generic form, `"cuda_tile.addf"(%a, %b) <{…}> ({…}) {…} : (types) -> types`, of any dialect."""

from __future__ import annotations

from typing import Any

from ...attrs import Attr, DenseArray, DictAttr, StrAttr
from ...declare.fields import INFER, REQUIRED, Field
from ...declare.operation import BY_NAME, OpDef
from ...declare.relations import SYMBOL_TABLE
from ...ir import Block, Op, UnknownOp, Value
from ...types import I32, Function, Type
from .. import DIALECT
from ..lexer import string_value
from ..print.attributes import attr_text
from .attributes import parse_attribute, parse_dictionary
from .forms import no_block
from .names import parse_operands, parse_symbol_name, resolve
from .state import Body, OpenRegion, Operand, Parser
from .types import parse_type
from .values import mismatch, value_of

_COUNTS = {0: "zero", 1: "one"}


def builtin_module(p: Parser, at: int) -> Body:
    """Read the `module @name attributes {…} {…}` that MLIR prints around everything."""
    p.op = "builtin.module"
    extra: dict[str, Attr] = {}
    if p.tok[:1] == "@":
        extra["sym_name"] = StrAttr(parse_symbol_name(p))
    if p.accept("attributes"):
        extra |= parse_dictionary(p)
    block = yield OpenRegion()
    o = UnknownOp("builtin.module", regions=(block or Block(),))
    o.extra = extra or None
    return o


def generic(p: Parser) -> Body:
    """Read an operation whose name is in quotes."""
    at, name = p.i, string_value(p.tok)
    if not name or "\0" in name:
        p.plain("null character not allowed in operation name" if name else "empty operation name is invalid")
    p.i += 1
    p.op = ""
    dialect = name.partition(".")[0]
    if dialect not in ("cuda_tile", "builtin") and not p.options.allow_unregistered:
        p.plain(
            "operation being parsed with an unregistered dialect. If this is intended, please use "
            "-allow-unregistered-dialect with the MLIR tool used"
        )
    p.expect("(", " to start operand list")
    uses = [] if p.tok == ")" else parse_operands(p)
    p.expect(")", " to end operand list")
    if p.tok == "[":
        p.plain("successors in non-terminator")
    properties: Attr = DictAttr()
    if p.accept("<"):
        properties = parse_attribute(p)
        p.expect(">", " to close properties")
    blocks = yield from _regions(p, name)
    attrs = parse_dictionary(p) if p.tok == "{" else {}
    operands, types = _typed(p, uses)
    opdef = _known(p, name)
    if opdef is None:
        return _unknown(p, at, name, operands, types, blocks, {**_items(properties), **attrs})
    return _known_op(p, at, opdef, operands, types, blocks, properties, attrs)


def _regions(p: Parser, name: str) -> Any:
    blocks: list[Block | None] = []
    if p.accept("("):
        while True:
            p.op = name
            blocks.append((yield OpenRegion(number=len(blocks))))
            if not p.accept(","):
                break
        p.expect(")", " to end region list")
    p.op = ""
    return blocks


def _typed(p: Parser, uses: list[Operand]) -> tuple[list[Value], tuple[Type, ...]]:
    """Read `: (types) -> types`. Return the operands, and the types of the results."""
    p.expect(":", " followed by operation type")
    at = p.mark()
    type = parse_type(p)
    if not isinstance(type, Function):
        p.plain("expected function type", at)
    if len(type.params) != len(uses):
        plural = "" if len(uses) == 1 else "s"
        p.plain(f"expected {len(uses)} operand type{plural} but had {len(type.params)}", at)
    return [resolve(p, use, t) for use, t in zip(uses, type.params)], type.results


def _known(p: Parser, name: str) -> OpDef | None:
    if not name.startswith(DIALECT):
        return None
    opdef = BY_NAME.get(name.removeprefix(DIALECT))
    return None if opdef is None or (opdef.testing and not p.options.testing) else opdef


def _items(properties: Attr) -> dict[str, Attr]:
    return dict(properties.items) if isinstance(properties, DictAttr) else {}


def _unknown(
    p: Parser,
    at: int,
    name: str,
    operands: list[Value],
    types: tuple[Type, ...],
    blocks: list[Block | None],
    attrs: dict[str, Attr],
) -> Op:
    if name.startswith(DIALECT):
        p.plain(
            f"unregistered operation '{name}' found in dialect ('cuda_tile') that does not allow unknown operations",
            (at, -1),
        )
    regions = tuple(b if b is not None else Block() for b in blocks)
    o = UnknownOp(name, tuple(operands), tuple(Value(t) for t in types), regions)
    o.extra = dict(sorted(attrs.items())) or None
    return o


def _known_op(
    p: Parser,
    at: int,
    opdef: OpDef,
    operands: list[Value],
    types: tuple[Type, ...],
    blocks: list[Block | None],
    properties: Attr,
    attrs: dict[str, Attr],
) -> Op:
    name = DIALECT + opdef.mnemonic
    if not isinstance(properties, DictAttr):
        p.plain(f"invalid properties {attr_text(properties)} for op {name}: expected DictionaryAttr", (at, -1))
    given = {**attrs, **dict(properties.items)}
    o = object.__new__(opdef.cls)
    o.loc = None
    own = {f.name for f in opdef.attrs} | {"operandSegmentSizes"}
    o.extra = {k: v for k, v in sorted(attrs.items()) if k not in own} or None
    _set_operands(p, at, opdef, o, operands, given)
    _set_regions(p, at, opdef, o, blocks)
    _set_attributes(p, at, opdef, o, given)
    _set_results(p, at, opdef, o, types)
    for f in opdef.fields:
        if f.role == "state":
            setattr(o, f.attr, None)
    return o


def _op_error(p: Parser, at: int, opdef: OpDef, message: str) -> None:
    p.plain(f"'{DIALECT}{opdef.mnemonic}' op {message}", (at, -1))


def _set_operands(p: Parser, at: int, opdef: OpDef, o: Op, operands: list[Value], given: dict[str, Attr]) -> None:
    fields = opdef.operands
    loose = [f for f in fields if f.arity != "one"]
    if opdef.segmented:
        sizes = _segments(p, at, opdef, given, len(operands))
    else:
        fixed = len(fields) - len(loose)
        if len(operands) < fixed or (not loose and len(operands) > fixed):
            more = " or more" if loose else ""
            _op_error(p, at, opdef, f"expected {fixed}{more} operands, but found {len(operands)}")
        sizes = tuple(1 if f.arity == "one" else len(operands) - fixed for f in fields)
    rest = iter(operands)
    for index, (f, size) in enumerate(zip(fields, sizes)):
        values = tuple(next(rest) for _ in range(size))
        if f.arity == "var":
            setattr(o, f.attr, values)
            continue
        if size > 1 or (f.arity == "one" and size != 1):
            wanted = "0 or 1" if f.arity == "opt" else "1"
            _op_error(p, at, opdef, f"operand group starting at #{index} requires {wanted} element, but found {size}")
        setattr(o, f.attr, values[0] if values else None)


def _segments(p: Parser, at: int, opdef: OpDef, given: dict[str, Attr], count: int) -> tuple[int, ...]:
    name = "operandSegmentSizes"
    match given.get(name):
        case DenseArray(type, values) if type is I32 and len(values) == len(opdef.operands) and min(values) >= 0:
            if sum(values) != count:
                _op_error(
                    p,
                    at,
                    opdef,
                    f"operand count ({count}) does not match with the total size ({sum(values)}) specified in "
                    f"attribute '{name}'",
                )
            return values
    _op_error(p, at, opdef, f"requires dense i32 array attribute '{name}' with {len(opdef.operands)} sizes")
    raise AssertionError


def _set_regions(p: Parser, at: int, opdef: OpDef, o: Op, blocks: list[Block | None]) -> None:
    wanted = len(opdef.regions)
    if len(blocks) != wanted:
        _op_error(p, at, opdef, f"requires {_COUNTS[wanted]} region" + "s" * (wanted != 1) if wanted < 2 else
                  f"expected {wanted} regions")  # fmt: skip
    for f, block in zip(opdef.regions, blocks):
        if block is None and opdef.has(SYMBOL_TABLE):
            block = Block()
        if block is None and f.arity == "one":
            no_block(p, opdef, f, at)
        setattr(o, f.attr, block)


def _set_attributes(p: Parser, at: int, opdef: OpDef, o: Op, given: dict[str, Attr]) -> None:
    for f in opdef.attrs:
        attr = given.get(f.name)
        if attr is None:
            if f.default is REQUIRED:
                _op_error(p, at, opdef, f"requires attribute '{f.name}'")
            setattr(o, f.attr, f.infer(o) if f.default is INFER and f.infer else f.default)
            continue
        value = value_of(f, attr)
        if value is None:
            _op_error(p, at, opdef, mismatch(f))
        setattr(o, f.attr, _normal(f, value))


def _normal(f: Field, value: Any) -> Any:
    """Replace attributes of parameters that are all empty by None."""
    if f.name in ("arg_attrs", "res_attrs") and all(isinstance(a, DictAttr) and not a.items for a in value):
        return None
    return value


def _set_results(p: Parser, at: int, opdef: OpDef, o: Op, types: tuple[Type, ...]) -> None:
    outs = opdef.outs
    loose = [f for f in outs if f.arity == "var"]
    if len(types) != len(outs) and not loose:
        count = len(outs)
        wanted = f"requires {_COUNTS[count]} result" + "s" * (count == 0) if count < 2 else f"expected {count} results"
        _op_error(p, at, opdef, wanted)
    values = [Value(t, o) for t in types]
    for f in outs:
        if f.arity == "var":
            setattr(o, f.attr, tuple(values))
        else:
            setattr(o, f.attr, values.pop(0))
