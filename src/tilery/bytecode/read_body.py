"""Read the operations of a function body: a walk over each operation's layout, with an explicit stack for regions."""

from __future__ import annotations

from collections.abc import Sequence

from ..attrs import Attr, Bounded, DivBy, SameElements
from ..checking import TYPE_CHECKING
from ..declare.fastclass import dataclass
from ..declare.fields import AttrKind, Field
from ..declare.operation import BY_OPCODE, OpDef
from ..declare.relations import TERMINATOR, TOP_LEVEL
from ..diag import ErrorKind, TileError
from ..ir import Block, Op, Value
from ..types import Type
from ..version import READ_ONLY
from .attrcodec import read_array, read_bool, read_hints, read_integer, read_string, read_tagged
from .layout import OpLayout, WireKind, last_opcode, layout
from .tables import FileTables
from .typecodec import read_enum, refuse_extremes
from .wire import Cursor, brief, brief_type, enclose, enclosing

if TYPE_CHECKING:
    from typing import Any

NEW_OPERATIONS = (
    f"bytecode {READ_ONLY} adds multimem_load_reduce_view_tko, multimem_reduce_view_tko, multimem_store_view_tko and "
    "operations called preview$..., none of which tilery reads"
)


@dataclass(slots=True)
class _OpenRegion:
    """A block being read: its operation, which region it is, and how many operations are left."""

    op: Op
    plan: OpLayout
    region: int
    block: Block
    left: int
    count: int
    outer: int
    """The number of values that are visible outside."""


def read_body(
    c: Cursor, tables: FileTables, block: Block, location_list: int, offsets: list[int] | None = None
) -> None:
    """Fill `block`, whose arguments are set, with the operations up to the cursor's end.

    If `offsets` is given, the start of each operation is appended to it.
    """
    BodyReader(c, tables, block, location_list, offsets).run()


class BodyReader:
    """One function body being read."""

    def __init__(
        self, c: Cursor, tables: FileTables, block: Block, location_list: int, offsets: list[int] | None
    ) -> None:
        self.c, self.tables, self.block, self.location_list = c, tables, block, location_list
        self.offsets = offsets
        self.values: list[Value] = list(block.args)
        self.located = 1  # entry 0 of the list is the function itself
        self.frames: list[_OpenRegion] = []
        self.wrong: TileError | None = None

    def run(self) -> None:
        c = self.c
        try:
            while True:
                if self.frames:
                    frame = self.frames[-1]
                    if frame.left:
                        frame.left -= 1
                        self._op(frame.block)
                    else:
                        self._end_block(frame)
                elif c.pos < c.end:
                    self._op(self.block)
                else:
                    return
        except TileError as e:
            for frame in reversed(self.frames):
                enclose(e, f"failed to parse operation {frame.count - frame.left - 1} in block.")
                enclose(e, "failed to parse block 0 in region.")
                enclose(e, f"failed to parse region {frame.region}")
            raise

    # ------------------------------------------------------------ regions

    def _begin_region(self, o: Op, plan: OpLayout, index: int) -> None:
        """Start reading region `index` of `o`, or finish `o` if there is none."""
        c = self.c
        regions = plan.opdef.regions
        while index < len(regions):
            f = regions[index]
            start = c.pos
            with enclosing(f"failed to parse region {index}"):
                blocks = c.varint("failed to read region block count")
            c.mark(start, f"{f.name}: {blocks} block" + ("" if blocks == 1 else "s"))
            if blocks > 1 or (blocks == 0 and f.arity == "one"):
                most = "at most 1" if f.arity == "opt" else "1"
                raise TileError(
                    f"'cuda_tile.{plan.opdef.mnemonic}' op region #{index} ('{f.name}') failed to verify constraint: "
                    f"region with {most} blocks",
                    offset=start,
                )
            if blocks == 1:
                self._begin_block(o, plan, index)
                return
            setattr(o, f.attr, None)
            index += 1
        self._finish(o, plan)

    def _begin_block(self, o: Op, plan: OpLayout, index: int) -> None:
        c, outer = self.c, len(self.values)
        with enclosing(f"failed to parse region {index}"), enclosing("failed to parse block 0 in region."):
            start = c.pos
            count = c.varint("failed to read block argument count.")
            c.depth += 1
            c.mark(start, f"{count} block arguments")
            args: list[Value] = []
            for number in range(count):
                start = c.pos
                args.append(Value(self.tables.read_type(c, f"failed to read block argument type: {number}")))
                c.mark(start, f"argument %{outer + number}: {brief_type(args[-1].type)}")
            start = c.pos
            count = c.varint("failed to read block operation count.")
            c.mark(start, f"{count} operations")
        self.values += args
        block = Block(args)
        setattr(o, plan.opdef.regions[index].attr, block)
        self.frames.append(_OpenRegion(o, plan, index, block, count, count, outer))

    def _end_block(self, frame: _OpenRegion) -> None:
        ops = frame.block.ops
        problem = ""
        if not ops:
            problem = "it is empty"
        elif not ops[-1].opdef.has(TERMINATOR):
            name = ops[-1].opdef.name_in(self.tables.profile.latest)
            problem = f"the last operation 'cuda_tile.{name}' is not a terminator."
        self.frames.pop()
        if problem:
            expected = "invalid block structure: block is expected to have a terminator operation, but "
            with enclosing(f"failed to parse region {frame.region}"), enclosing("failed to parse block 0 in region."):
                raise TileError(expected + problem, offset=self.c.pos)
        del self.values[frame.outer :]
        self.c.depth -= 1
        self._begin_region(frame.op, frame.plan, frame.region + 1)

    def _finish(self, o: Op, plan: OpLayout) -> None:
        """Number the results that this version has."""
        for f in plan.results:
            value = getattr(o, f.attr)
            if f.arity == "var":
                self.values += value
            else:
                self.values.append(value)

    # ------------------------------------------------------------ operations

    def _op(self, block: Block) -> None:
        c = self.c
        start = c.pos
        opcode = c.varint("failed to read operation opcode.")
        opdef = self._known(opcode & 0xFFFFFFFF, start)
        c.mark(start, opdef.mnemonic)
        if self.offsets is not None:
            self.offsets.append(start)
        loc = self.tables.location(self.location_list, self.located, start, "failed to read operation location.")
        self.located += 1
        plan = layout(opdef, self.tables.written)
        o: Any = object.__new__(opdef.cls)
        o.loc, o.extra = loc, None
        c.depth += 1
        self._fields(o, plan)
        if self.wrong is not None:
            raise self.wrong
        c.depth -= 1
        block.ops.append(o)
        if opdef.regions:
            self._begin_region(o, plan, 0)
        else:
            self._finish(o, plan)

    def _known(self, opcode: int, start: int) -> OpDef:
        opdef = BY_OPCODE.get(opcode)
        profile, version = self.tables.profile, self.tables.version
        if opdef is None or opdef.since > version:
            if not profile.explains_new_opcodes or opcode <= last_opcode(version):
                raise TileError(f"unknown or unimplemented opcode: {opcode}", offset=start)
            shown = self.tables.version_text
            raise TileError(
                f"unsupported opcode {opcode} for bytecode version {shown}",
                kind=ErrorKind.VERSION,
                offset=start,
                notes=(NEW_OPERATIONS,) if self.tables.written == READ_ONLY else (),
            )
        if opdef.has(TOP_LEVEL):
            raise TileError(f"'cuda_tile.{opdef.mnemonic}' op cannot be inside a function", offset=start)
        return opdef

    def _fields(self, o: Any, plan: OpLayout) -> None:
        opdef = plan.opdef
        types: list[Type] = []
        results: list[Value] = []
        flags = position = 0
        left = len(opdef.operands)
        for step in plan.steps:
            f: Any = step.field
            match step.kind:
                case WireKind.RESULT_COUNT:
                    types = [self._result_type(opdef, i) for i in range(self._result_count(plan))]
                    results = [Value(t, o) for t in types]
                case WireKind.RESULT:
                    if plan.steps[0].kind is not WireKind.RESULT_COUNT:
                        types.append(self._result_type(opdef, len(types)))
                        results.append(Value(types[-1], o))
                    setattr(o, f.attr, results.pop(0) if results else None)
                case WireKind.RESULTS:
                    setattr(o, f.attr, tuple(results))
                case WireKind.FLAGS:
                    flags = self._flags()
                    for g, bit in plan.flags:
                        setattr(o, g.attr, flags >> bit & 1 == 1)
                case WireKind.ATTR:
                    present = step.bit < 0 or flags >> step.bit & 1
                    setattr(o, f.attr, self._attr(f, types) if present else None)
                case WireKind.NO_PROMISES:
                    self._no_promises(opdef)
                case WireKind.OPERAND_COUNT:
                    left = self._operand_count(opdef)
                case WireKind.OPERAND:
                    index = 0 if opdef.segmented else position
                    setattr(o, f.attr, self._operand(f, opdef, index) if position < left else None)
                    position += 1
                case WireKind.OPTIONAL:
                    present = flags >> step.bit & 1
                    setattr(o, f.attr, self._operand(f, opdef, 0) if present else None)
                case WireKind.SEGMENT:
                    count = self._segment_count(f, opdef)
                    setattr(o, f.attr, tuple(self._operand(f, opdef, i) for i in range(count)))
                case WireKind.REST:
                    self._rest(o, f, opdef, left, position)
                case WireKind.REGION_COUNT:
                    self._region_count(opdef)
                case WireKind.REGION:
                    break
        for f in plan.absent:
            if f.role == "out":
                setattr(o, f.attr, Value(f.kind.only, o))
            else:
                setattr(o, f.attr, f.default_of(o))

    def _no_promises(self, opdef: OpDef) -> None:
        start = self.c.pos
        if any(self._bool_array("inbounds")):
            message = f"'inbounds' of {opdef.mnemonic}, which bytecode {self.tables.written} has, is not known"
            raise TileError(message, offset=start)

    def _flags(self) -> int:
        start = self.c.pos
        flags = self.c.varint("failed to read flags field")
        self.c.mark(start, f"flags {flags:#b}")
        return flags

    # ------------------------------------------------------------ results

    def _result_count(self, plan: OpLayout) -> int:
        c, opdef = self.c, plan.opdef
        start = c.pos
        count = c.count(f"failed to read number of result types for {self._cname(opdef)}")
        c.mark(start, f"{count} results")
        fixed = sum(f.arity == "one" for f in plan.results)
        variadic = any(f.arity == "var" for f in plan.results)
        if count == fixed or (variadic and count > fixed):
            return count
        # NVIDIA's reader accepts any count here and reports the error after the operation. So do we.
        if any(f.since > opdef.since for f in opdef.outs):
            expected = f"expected {fixed} compatible results but got {count}"
            raise TileError(f"result count mismatch for {self._cname(opdef)}: {expected}", offset=start)
        words = {0: "requires zero results", 1: "requires one result"}.get(fixed, f"expected {fixed} results")
        self.wrong = TileError(f"'cuda_tile.{opdef.mnemonic}' op {words}", offset=start, notes=(f"got {count}",))
        return count

    def _cname(self, opdef: OpDef) -> str:
        if self.tables.profile.uses_former_names and opdef.formerly:
            return opdef.formerly.capitalize() + "Op"
        return opdef.cname

    def _result_type(self, opdef: OpDef, index: int) -> Type:
        start = self.c.pos
        t = self.tables.read_type(self.c, f"failed to get result type {index} for {self._cname(opdef)}")
        if self.c.marks is not None:
            self.c.mark(start, f"%{len(self.values) + index}: {brief_type(t)}")
        return t

    # ------------------------------------------------------------ operands

    def _operand_count(self, opdef: OpDef) -> int:
        c, start = self.c, self.c.pos
        count = c.count("failed to read operand count")
        c.mark(start, f"{count} operands")
        fixed = sum(f.arity == "one" for f in opdef.operands)
        if count < fixed:
            message = f"'cuda_tile.{opdef.mnemonic}' op expected {fixed} or more operands, but found {count}"
            self.wrong = TileError(message, offset=start)
        return count

    def _segment_count(self, f: Field, opdef: OpDef) -> int:
        c, start = self.c, self.c.pos
        where = f"segment '{f.name}' of op 'cuda_tile.{opdef.mnemonic}'"
        count = c.varint(f"failed to read actual size for variadic ODS {where}")
        c.mark(start, f"{count} {f.name}")
        if count > 0x7FFFFFFF:
            raise TileError(
                f"failed to read operands for {f.name} segment, exceeds maximum supported capacity", offset=start
            )
        return count

    def _rest(self, o: Any, f: Field, opdef: OpDef, count: int, position: int) -> None:
        values = tuple(self._operand(f, opdef, i) for i in range(position, count))
        if f.arity == "opt" and len(values) > 1:
            raise TileError(
                f"'cuda_tile.{opdef.mnemonic}' op operand group starting at #{position} requires 0 or 1 element, "
                f"but found {len(values)}",
                offset=self.c.pos,
            )
        setattr(o, f.attr, values if f.arity == "var" else values[0] if values else None)

    def _operand(self, f: Field, opdef: OpDef, index: int) -> Value:
        c, start, size = self.c, self.c.pos, len(self.values)
        segment = f"for {f.name} segment, element " if opdef.segmented else ""
        number = c.varint(f"failed to read operand index {segment}{index}")
        if number >= size:
            where = f"{segment or 'for operand '}{index}"
            raise TileError(f"operand index {number} out of bounds (size={size}) {where}", offset=start, field=f.name)
        if c.marks is not None:
            c.mark(start, f"{f.name} %{number}")
        return self.values[number]

    # ------------------------------------------------------------ attributes and regions

    def _region_count(self, opdef: OpDef) -> None:
        c, start = self.c, self.c.pos
        count = c.count("failed to read number of regions to parse.")
        c.mark(start, f"{count} regions")
        if count != len(opdef.regions):
            raise TileError(
                f"cuda_tile.{opdef.mnemonic} op expected {len(opdef.regions)} regions, got {count}", offset=start
            )

    def _attr(self, f: Field, types: list[Type]) -> Any:
        start = self.c.pos
        try:
            return self.attr_value(f, types)
        except TileError as e:
            e.field = e.field or f.name
            if e.offset is None:
                e.offset = start
            optional = "optional " if f.arity == "opt" else ""
            raise enclose(e, f"failed to parse {optional}attribute '{f.name}'") from None

    def attr_value(self, f: Field, types: Sequence[Type]) -> Any:
        """Read the value of an attribute; `types` are those of the results."""
        c, tables = self.c, self.tables
        start = c.pos
        match f.kind:
            case AttrKind.ENUM:
                assert f.enum is not None
                return read_enum(c, f.enum, f.name, tables.profile.latest)
            case AttrKind.STR | AttrKind.SYM_NAME:
                return read_string(c, tables)
            case AttrKind.SYM_REF:
                return self._symbol(start)
            case AttrKind.I64 | AttrKind.I32:
                width = 64 if f.kind is AttrKind.I64 else 32
                bits = read_integer(c, width)
                return bits - (bits >> (width - 1) << width)
            case AttrKind.BOOL:
                return read_bool(c, f.name)
            case AttrKind.I32_ARRAY:
                return self._i32_array(f.name)
            case AttrKind.BOOL_ARRAY:
                return self._bool_array(f.name)
            case AttrKind.DENSE:
                value = tables.read_constant(c, types[0] if types else None)
                c.mark(start, f"{f.name}: constant")
                return value
            case AttrKind.PREDICATE:
                return self._predicate()
            case AttrKind.HINTS:
                return read_hints(c, tables)
            case AttrKind.ARRAY:
                return read_array(c, tables)
        raise AssertionError(f.kind)

    def _symbol(self, start: int) -> str:
        name = self.tables.read_string(self.c, "failed to read string for FlatSymbolRefAttr.")
        self.c.mark(start, f"symbol {brief(name)}")
        if not name and not self.tables.profile.allows_empty_symbols:
            raise TileError("empty symbol reference is invalid", offset=start)
        return name

    def _i32_array(self, label: str) -> tuple[int, ...]:
        start = self.c.pos
        values = self.c.sized(4, "failed to read DenseI32ArrayAttr values.")
        refuse_extremes(values, 32, start)
        self.c.mark(start, f"{label} {values}")
        return values

    def _bool_array(self, label: str) -> tuple[bool, ...]:
        start = self.c.pos
        values = self.c.sized(1, "failed to read DenseBoolArrayAttr values.")
        self.c.mark(start, f"{label} {values}")
        return tuple(v != 0 for v in values)

    def _predicate(self) -> Attr:
        start = self.c.pos
        with enclosing("failed to parse self-contained attribute for AssumePredicateAttrInterface"):
            value = read_tagged(self.c, self.tables)
        if not isinstance(value, (DivBy, SameElements, Bounded)):
            raise TileError("failed to cast parsed attribute to AssumePredicateAttrInterface", offset=start)
        return value
