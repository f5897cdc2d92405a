"""Write the operations of a function body: a walk over each operation's layout, with an explicit stack for regions."""

from __future__ import annotations

from typing import Any, NoReturn

from ..declare.fields import AttrKind, Field
from ..diag import ErrorKind, TileError
from ..ir import Block, Op, Value, walk
from ..ops import Entry
from ..version import Version
from .attrcodec import Indices, write_array, write_hints, write_tagged
from .layout import OpLayout, WireKind, flag_bits, layout
from .wire import put_fixed, put_varint

_REGION = object()


def write_body(entry: Entry, version: Version, indices: Indices) -> bytearray:
    """Return the operations of an entry as bytes."""
    return BodyWriter(entry, version, indices).run()


class BodyWriter:
    """One function body being written."""

    def __init__(self, entry: Entry, version: Version, indices: Indices) -> None:
        self.entry, self.version, self.indices = entry, version, indices
        self.out = bytearray()
        self.numbers: dict[Value, int] = {}
        self.used: set[Value] | None = None

    def run(self) -> bytearray:
        for value in self.entry.body.args:
            self.numbers[value] = len(self.numbers)
        # Each list holds, in reverse, what remains to be written of a block or an operation.
        stack: list[list[Any]] = [list(reversed(self.entry.body.ops))]
        outer: list[int] = []
        while stack:
            if not stack[-1]:
                stack.pop()
                continue
            item = stack[-1].pop()
            if isinstance(item, Op):
                plan = self._head(item)
                if plan.opdef.regions:
                    regions = [getattr(item, f.attr) for f in plan.opdef.regions]
                    stack.append([(_REGION, item, plan), *reversed(regions)])
                else:
                    self._number(item, plan)
            elif isinstance(item, Block):
                outer.append(len(self.numbers))
                self._block_head(item)
                stack.append(["end of block", *reversed(item.ops)])
            elif item is None:
                self.out.append(0)
            elif item == "end of block":
                keep = outer.pop()
                while len(self.numbers) > keep:
                    self.numbers.popitem()
            else:
                self._number(item[1], item[2])
        return self.out

    def _block_head(self, block: Block) -> None:
        out = self.out
        out.append(1)
        put_varint(out, len(block.args))
        for value in block.args:
            put_varint(out, self.indices.type(value.type))
            self.numbers[value] = len(self.numbers)
        put_varint(out, len(block.ops))

    def _number(self, o: Op, plan: OpLayout) -> None:
        for f in plan.results:
            value = getattr(o, f.attr)
            for v in value if f.arity == "var" else (value,):
                self.numbers[v] = len(self.numbers)

    # ------------------------------------------------------------ one operation

    def _head(self, o: Any) -> OpLayout:
        """Write an operation without its regions."""
        if o.opdef.testing:
            self._refuse(o, "operation not supported in bytecode")
        opdef = o.opdef
        if o.extra:
            self._refuse(o, f"bytecode cannot hold the discardable attribute '{next(iter(o.extra))}'")
        if opdef.since > self.version:
            name = f"cuda_tile.{opdef.mnemonic}"
            self._refuse(
                o,
                f"operation '{name}' is not available in bytecode version {self.version}",
                f"it needs {opdef.since}",
            )
        plan = layout(opdef, self.version)
        self._check_absent(o, plan)
        try:
            self._steps(o, plan)
        except TileError as e:
            if self._where(o) not in e.notes:
                e.notes.append(self._where(o))
            raise
        return plan

    def _steps(self, o: Op, plan: OpLayout) -> None:
        opdef = plan.opdef
        put_varint(self.out, opdef.opcode)
        bits = flag_bits(opdef)
        for step in plan.steps:
            f: Any = step.field
            match step.kind:
                case WireKind.RESULT_COUNT:
                    put_varint(self.out, sum(len(getattr(o, g.attr)) if g.arity == "var" else 1 for g in plan.results))
                case WireKind.RESULT:
                    put_varint(self.out, self.indices.type(getattr(o, f.attr).type))
                case WireKind.RESULTS:
                    for value in getattr(o, f.attr):
                        put_varint(self.out, self.indices.type(value.type))
                case WireKind.FLAGS:
                    put_varint(self.out, self._flags(o, plan, bits))
                case WireKind.ATTR:
                    if step.bit < 0 or getattr(o, f.attr) is not None:
                        self._attr(o, f, getattr(o, f.attr))
                case WireKind.OPERAND_COUNT:
                    put_varint(self.out, len(o.operands))
                case WireKind.OPERAND:
                    self._operand(o, f, getattr(o, f.attr))
                case WireKind.OPTIONAL | WireKind.SEGMENT | WireKind.REST:
                    self._operands(o, f, step.kind)
                case WireKind.REGION_COUNT:
                    put_varint(self.out, len(opdef.regions))

    def _flags(self, o: Op, plan: OpLayout, bits: dict[str, int]) -> int:
        flags = 0
        for name, bit in bits.items():
            f = plan.opdef.field(name)
            value = getattr(o, f.attr)
            if f.since <= plan.version and value is not None and value is not False:
                flags |= 1 << bit
        return flags

    def _operand(self, o: Op, f: Field, value: Value) -> None:
        number = self.numbers.get(value)
        if number is None:
            self._refuse(o, f"operand '{f.name}' is not defined before its use", field=f.name)
        put_varint(self.out, number)

    def _operands(self, o: Op, f: Field, kind: WireKind) -> None:
        value = getattr(o, f.attr)
        values = value if f.arity == "var" else () if value is None else (value,)
        if kind is WireKind.SEGMENT:
            put_varint(self.out, len(values))
        for v in values:
            self._operand(o, f, v)

    def _attr(self, o: Op, f: Field, value: Any) -> None:
        out = self.out
        match f.kind:
            case AttrKind.ENUM:
                if value.since > self.version:
                    problem = f"enum value for attribute '{f.name}' is not available in bytecode version {self.version}"
                    self._refuse(o, problem, f"'{value.text}' needs {value.since}", field=f.name)
                put_varint(out, value.num)
            case AttrKind.STR | AttrKind.SYM_NAME | AttrKind.SYM_REF:
                put_varint(out, self.indices.string(value))
            case AttrKind.I64:
                put_varint(out, value & (1 << 64) - 1)
            case AttrKind.I32:
                put_varint(out, value & (1 << 32) - 1)
            case AttrKind.BOOL:
                out.append(value)
            case AttrKind.TYPE:
                put_varint(out, self.indices.type(value))
            case AttrKind.I32_ARRAY:
                put_fixed(out, 4, value)
            case AttrKind.BOOL_ARRAY:
                put_varint(out, len(value))
                out += bytes(value)
            case AttrKind.DENSE:
                put_varint(out, self.indices.constant(value))
            case AttrKind.PREDICATE:
                write_tagged(out, value, self.indices)
            case AttrKind.HINTS:
                write_hints(out, value, self.indices)
            case AttrKind.ARRAY:
                write_array(out, value, self.indices)

    def attr_bytes(self, o: Op, f: Field, value: Any) -> bytes:
        """Return an attribute as bytes."""
        self.out = bytearray()
        self._attr(o, f, value)
        return bytes(self.out)

    # ------------------------------------------------------------ what this version cannot express

    def _check_absent(self, o: Op, plan: OpLayout) -> None:
        for f in plan.absent:
            value = getattr(o, f.attr)
            since, version = f.since, self.version
            if f.role == "out":
                if value in self._used_values():
                    problem = f"result '{f.name}' requires bytecode version {since} but is being used"
                    self._refuse(o, f"{problem} and targeting {version}", field=f.name)
            elif f.role == "operand":
                if value is not None:
                    problem = f"optional operand '{f.name}' is provided but requires bytecode version {since}"
                    self._refuse(o, f"{problem}, targeting {version}", field=f.name)
            elif value != f.default_of(o):
                if f.arity == "opt":
                    problem = f"optional attribute '{f.name}' is provided but requires bytecode version {since}"
                    self._refuse(o, f"{problem}, targeting {version}", field=f.name)
                problem = f"attribute '{f.name}' requires bytecode version {since}+, but targeting {version}"
                self._refuse(o, problem, field=f.name)

    def _used_values(self) -> set[Value]:
        """Return all values that the entry uses. They are needed only if a result must be dropped."""
        if self.used is None:
            self.used = {value for o in walk(self.entry.body) for value in o.operands}
        return self.used

    def _refuse(self, o: Op, message: str, *notes: str, field: str = "") -> NoReturn:
        raise TileError(message, kind=ErrorKind.VERSION, field=field, notes=(*notes, self._where(o)))

    def _where(self, o: Op) -> str:
        return f"operation: {o.name} in entry @{self.entry.sym_name}"
