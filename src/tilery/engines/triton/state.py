"""The state of lowering an entry to Triton IR: values, hidden arguments, the order of accesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...analysis.alignment import axis_info
from ...analysis.ranges import ranges
from ...analysis.uses import Uses
from ...enums import MemoryOrderingSemantics
from ...ir import Block, Op, Value, walk
from ...ops import Entry, Module
from ...types import Tile, Token
from ..cuda.contract import (
    CONSTANT,
    DESCRIPTOR,
    FRAME,
    GLOBAL,
    GRID,
    WORD,
    Descriptor,
    Passed,
)
from ..cuda.printing import print_sites
from .config import Config
from .emit import MAX_TENSOR, Emitter, Val, carrier
from .registry import LOWERS
from .targets import Target
from .versions import Dialect

MAX_DEPTH = 120
"""The deepest nesting of control flow after early exits have been turned into branches."""
MAX_LINES = 200_000
"""Lines of Triton IR after which the lowering gives up."""


@dataclass(slots=True)
class Lowered:
    """Triton IR, and what the launcher passes to it."""

    name: str
    text: str
    arguments: tuple[Passed, ...]
    descriptors: tuple[Descriptor, ...] = ()
    constants: tuple[bytes, ...] = ()
    frame_bytes: int = 0
    frame_alignment: int = 256
    programs: int = 0
    """The programs that share the tile blocks of a folded grid; 0 if each has its own."""
    notes: dict[str, int] = field(default_factory=dict)
    """The numbers of accesses through descriptors and through pointers, and of barriers."""


@dataclass(frozen=True, slots=True)
class Tok:
    """A token: when the latest read and write that it follows were emitted; -1 for none that no barrier follows."""

    read: int = -1
    write: int = -1
    wrote: bool = False
    """Whether anything that it follows, before barriers too, may have changed memory."""
    plain: bool = False
    """Whether anything that it follows, before barriers too, accessed memory other than through a tensor map."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The effects of a block on memory."""

    reads: bool
    """Whether it accesses memory."""
    writes: bool
    """Whether it may change memory, or acquires what others wrote: what follows waits for both."""
    plain: bool
    """Whether it may access memory other than through a tensor map."""
    taken: tuple[Value, ...]
    """The tokens that its operations take from outside."""


def join(*tokens: Tok) -> Tok:
    """Return a token that follows all that some tokens follow."""
    return Tok(
        max((t.read for t in tokens), default=-1),
        max((t.write for t in tokens), default=-1),
        any(t.wrote for t in tokens),
        any(t.plain for t in tokens),
    )


class Lowering(Emitter):
    """The state of lowering one entry."""

    def __init__(self, module: Module, entry: Entry, target: Target, config: Config, dialect: Dialect) -> None:
        super().__init__(target)
        self.module, self.entry, self.config, self.dialect = module, entry, config, dialect
        self.values: dict[Value, Any] = {}
        self.ranges = ranges(entry)
        self.alignment = axis_info(entry, self.ranges)
        self.uses = Uses(entry)
        self.depth = 0
        self.tick, self.fenced = 0, -1
        """The number of memory accesses so far, and that at the last barrier."""
        self.plain = 0
        """The number of accesses other than through tensor maps."""
        self.notes = {"descriptors": 0, "pointers": 0, "barriers": 0}
        self.hidden: dict[str, tuple[Passed, str]] = {}
        """The arguments besides the parameters, by name: what the launcher passes, and the type in Triton IR."""
        self.descriptors: list[Descriptor] = []
        self.descriptor_types: list[str] = []
        self.constant_data: list[bytes] = []
        self.frame_bytes, self.frame_alignment = 0, 256
        self.parameters: dict[Value, int] = {}
        self.instead: dict[Op, Callable[..., Any]] = {}
        """Functions that lower single operations, in place of those of `ops/`."""
        self._traffic: dict[Block, Traffic] = {}
        self.skipped: set[Op] = set()
        """Operations that are left out."""
        self.threaded: list[Val] = []
        """Values that every loop over a range carries, besides its own."""
        self.programs = 0
        self.words: Val | None = None
        """The address of words in shared memory that are counted."""
        self.block: Val | None = None
        """The number of the tile block in a folded grid, if it is not that of the program."""
        self.print_sites: dict[Op, int] = {o: n for n, o in enumerate(print_sites(entry))}

    # ------------------------------------------------------------ values

    def bind_parameters(self) -> None:
        """Bind the parameters of the entry to those of the function."""
        for i, param in enumerate(self.entry.body.args):
            self.values[param], self.parameters[param] = Val(f"%arg{i}", (), self.element(param)), i

    def element(self, value: Value) -> str:
        """The element type that Triton IR has for a value."""
        type = value.type
        assert isinstance(type, Tile)
        if type.size > MAX_TENSOR:
            raise self.refuse(f"a tile has {type.size} elements, and a tensor of Triton at most {MAX_TENSOR}")
        return carrier(type.element, self.target)

    def shape(self, value: Value) -> tuple[int, ...]:
        type = value.type
        assert isinstance(type, Tile)
        return type.shape

    def divisor(self, value: Any) -> int:
        """A power of two that divides an integer or address of the module, or a constant."""
        if isinstance(value, int):
            return value & -value or 1 << 30
        return self.alignment[value].divisor if isinstance(value, Value) else 1

    def get(self, value: Value) -> Any:
        return self.values[value]

    def is_carried(self, value: Value) -> bool:
        """Whether loops carry a value in Triton IR; tokens are not."""
        return not isinstance(value.type, Token)

    def descriptor_type(self, shape: tuple[int, ...], element: str) -> str:
        """The type of a tensor map."""
        return self.dialect.descriptor(shape, element)

    def one(self, o: Op) -> None:
        """Lower an operation without early exits and bind its results."""
        function = self.instead.get(o) or LOWERS.get(o.__class__)
        outer, self.op = self.op, o
        if function is None:
            raise self.refuse("there is no rule for it")
        if len(self.out) > MAX_LINES:
            raise self.refuse(f"the kernel needs more than {MAX_LINES} lines of Triton IR")
        for value in o.results:
            if isinstance(value.type, Tile):
                self.element(value)
        found = function(self, o, *self.operands(o))
        results = o.results
        found = () if found is None else found if isinstance(found, tuple) else (found,)
        assert len(found) == len(results), o
        for value, made in zip(results, found):
            self.values[value] = made
        self.op = outer

    def operands(self, o: Op) -> list[Any]:
        out: list[Any] = []
        for f in o.opdef.operands:
            value = getattr(o, f.attr)
            if value.__class__ is tuple:
                out.append(tuple(self.values[v] for v in value))
            else:
                out.append(None if value is None else self.values[value])
        return out

    # ------------------------------------------------------------ arguments besides the parameters

    def pointer(self, name: str, argument: Passed, element: str = "i8") -> Val:
        """A pointer that the launcher passes."""
        kind = f"!tt.ptr<{element}>"
        self.hidden.setdefault(name, (argument, f"{kind} {{tt.divisibility = 16 : i32}}"))
        return Val(name, (), kind)

    def global_address(self, name: str, element: str) -> Val:
        index = [g.sym_name for g in self.module.globals].index(name)
        return self.pointer(f"%global{index}", Passed(GLOBAL, index, name=name), element)

    def constant_buffer(self, data: bytes, element: str) -> Val:
        if data not in self.constant_data:
            self.constant_data.append(data)
        index = self.constant_data.index(data)
        return self.pointer(f"%constant{index}_{element}", Passed(CONSTANT, index), element)

    def frame(self, size: int, alignment: int) -> int:
        """Reserve bytes that each tile block has for itself; return their offset."""
        at = -(-self.frame_bytes // alignment) * alignment
        self.frame_bytes = at + size
        self.frame_alignment = max(self.frame_alignment, alignment)
        return at

    def frame_address(self) -> Val:
        return self.pointer("%frame", Passed(FRAME))

    def word(self) -> Val:
        return self.pointer("%word", Passed(WORD))

    def grid_extent(self, dim: int) -> Val:
        name = f"%grid{dim}"
        self.hidden.setdefault(name, (Passed(GRID, dim, 4), "i32"))
        return Val(name, (), "i32")

    def host_descriptor(self, descriptor: Descriptor, type: str) -> str:
        """The name of the argument that holds a tensor map."""
        if descriptor in self.descriptors:
            return f"%map{self.descriptors.index(descriptor)}"
        self.descriptors.append(descriptor)
        self.descriptor_types.append(type)
        index = len(self.descriptors) - 1
        self.hidden[f"%map{index}"] = (Passed(DESCRIPTOR, index, 128), type)
        return f"%map{index}"

    # ------------------------------------------------------------ order

    def order(self, token: Tok | None, write: bool, acquire: bool = False) -> Tok:
        """Emit a barrier if a token orders this access after one that no barrier follows; return the new token.

        What follows an acquiring load waits for it as for a write: other threads may do it.
        """
        before = Tok() if token is None else token
        if before.write > self.fenced or (write and before.read > self.fenced):
            self.barrier()
        self.tick += 1
        self.plain += 1
        wrote = write or acquire
        return Tok(-1 if write else self.tick, self.tick if wrote else -1, wrote or before.wrote, plain=True)

    def through_map(self, token: Tok | None, made: Tok) -> Tok:
        """Return the token of the latest access, which `order` made from another one, if it is through a tensor map."""
        self.plain -= 1
        return replace(made, plain=token is not None and token.plain)

    def fence_maps(self, token: Tok | None) -> None:
        """Order a store through a tensor map after other accesses: no barrier does, they take another path."""
        if token is not None and token.plain:
            self.instruction("fence.proxy.async;")

    def instruction(self, text: str) -> None:
        """Emit a PTX instruction without operands, once in every thread."""
        self.assembly(f"{text} mov.u32 $0, $1;", "=r,r", "i32", self.constant(0, (), "i32"), pure=False)

    def barrier(self) -> None:
        self.line(self.dialect.barrier)
        self.tick += 1
        self.fenced = self.tick
        self.notes["barriers"] += 1

    def traffic(self, block: Block) -> Traffic:
        """Return what a block does to memory. Each block is looked at once, however deep loops are nested."""
        if block not in self._traffic:
            for o in reversed(list(walk(block))):  # the blocks inside come before those around them
                self._traffic.update((inner, self._traffic_of(inner)) for inner in o.blocks)
            self._traffic[block] = self._traffic_of(block)
        return self._traffic[block]

    def _traffic_of(self, block: Block) -> Traffic:
        """Put together what the operations of a block do; the blocks inside are known."""
        inside = [self._traffic[inner] for o in block.ops for inner in o.blocks]
        touching = [o for o in block.ops if _touches_memory(o)]
        own = {*block.args, *(v for o in block.ops for v in o.results)}
        used = (v for o in block.ops for v in o.operands if isinstance(v.type, Token))
        taken = dict.fromkeys((*used, *(v for each in inside for v in each.taken)))
        return Traffic(
            bool(touching) or any(each.reads for each in inside),
            not all(map(_only_reads, touching)) or any(each.writes for each in inside),
            not all(map(self.needs_map, touching)) or any(each.plain for each in inside),
            tuple(v for v in taken if v not in own),
        )

    def needs_map(self, o: Op) -> bool:
        """Tell, before it is lowered, whether an access goes through a tensor map or is refused."""
        return False


def _touches_memory(o: Op) -> bool:
    return o.opdef.mnemonic.endswith("_tko") and any(not isinstance(v.type, Tile) for v in o.results)


def _only_reads(o: Op) -> bool:
    ordering = getattr(o, "memory_ordering_semantics", None)
    return o.name.startswith("load_") and ordering is not MemoryOrderingSemantics.ACQUIRE
