"""Lower a kernel to Gluon: one warp copies the operands of products ahead, the others run the rest of the kernel.

Both take the same path through the loops. The copying warp computes numbers only: what the bounds of the loops and the
positions of the tiles follow from. A stage of shared memory is handed over by two barriers: `full` when its copies have
arrived, `empty` when its products have ended. The layouts of all other tiles are left to Gluon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ....enums import MemoryOrderingSemantics
from ....ir import Op, Value, walk
from ....ops import (
    Entry,
    For,
    LoadViewTko,
    MmaF,
    Module,
    Permute,
    Reshape,
    StoreViewTko,
)
from ....types import TileView, Token
from ...common.kernel import find_entry
from ...rows import half_of
from ...work import work_of
from ..access import store as store_elements
from ..config import HOST, POINTERS, Config
from ..emit import FLOAT_BITS, INTEGERS, Val, flat, names
from ..ops.mma import F8_STEPS
from ..ops.views import load_view_tko
from ..state import Lowering, Tok
from ..structure import Exits, lower_for, lower_ops
from ..targets import Target
from ..versions import Dialect
from ..views import Box, ViewRef, box, ends_on_chunk, locate
from ..views import layout as positions_of
from . import layouts
from .feeds import PART_BYTES, Feed, Feeds, copied_bytes, element_bits, find_feeds, is_exact, needed, refuse

PRODUCER_REGISTERS = 24
"""Registers of each thread of the copying warp: the fewest that there can be."""
GROUP_REGISTERS = 240
"""The same for a second group of warps that multiplies; the first one has the rest."""
STORED = "cp.async.bulk.wait_group 0; mov.u32 $0, $1;"
NARROWEST = 128
"""Bytes of a row of a part of a tile that is stored: what is side by side in shared memory."""
MOST_WORDS = 208
"""Words of tiles that a thread of a group keeps in registers."""
PART, LAST = 1_000_000, 9
"""Names of values in the parts of a kernel count from multiples of this; the copying part is the last one."""
BARRIERS = layouts.memory((1,), "i64", layouts.BARRIER)


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand in a stage of shared memory, and for each dimension of its tile that of the memory; None for units."""

    memory: Val
    type: str
    dims: tuple[int | None, ...]
    allocated: tuple[int, ...] = ()
    """The shape of the memory that this is a part of."""


class Missing(dict[Value, Any]):
    """The values of a part of a kernel: tokens of what is left out order nothing."""

    def __missing__(self, value: Value) -> Tok | None:
        return Tok() if isinstance(value.type, Token) else None


class Part(Lowering):
    """The part of a kernel that one group of warps runs."""

    def __init__(
        self, module: Module, entry: Entry, target: Target, config: Config, dialect: Dialect, found: Feeds
    ) -> None:
        super().__init__(module, entry, target, config, dialect)
        self.values = Missing()
        self.feeds = found.feeds
        self.channels = found.channels
        self.overlapping = found.overlapping
        self.alive: set[Value] | None = None
        """The values that are computed; None for all."""
        self.stage: dict[Feed, Val] = {}
        """The current stage of each feed, inside its block."""
        self.instead.update({load: self.load for feed in self.feeds for load in feed.loads})
        self.of_load = {load: feed for feed in self.feeds for load in feed.loads}

    def is_carried(self, value: Value) -> bool:
        return super().is_carried(value) and (self.alive is None or value in self.alive)

    def descriptor_type(self, shape: tuple[int, ...], element: str) -> str:
        bits = Val("", (), element).bits
        return self.dialect.descriptor(shape, f"{element}, {layouts.shared(shape, bits)}")

    def constant(self, number: int | str, shape: Any, element: str) -> Val:
        """A constant; tiles are made where they are used, because the same one may be needed in two layouts."""
        if not shape:
            return super().constant(number, shape, element)
        value = Val(self.fresh("c"), tuple(shape), element)
        self.out += self._constant_lines(value, number)
        return value

    # ------------------------------------------------------------ stages

    def load(self, low: Lowering, o: LoadViewTko, view: ViewRef, index: tuple[Val, ...], token: Tok | None) -> Any:
        """An operand of a product: copied by one part, awaited by the other."""
        assert isinstance(o.view.type, TileView)
        self.op = o
        found = self.box_of(o.view.type, view, index)
        if found is None or found.trimmed(least=2) != len(found.shape) - 2:
            raise refuse(o, "its tile is no box with two dimensions of a tensor map that the host can make")
        if token is not None and token.wrote:
            raise refuse(o, "the kernel may have written what it loads")
        feed = self.of_load[o]
        if o is feed.loads[0]:
            self._enter_stage(feed)
        return self.take(feed, feed.loads.index(o), found), self.through_map(token, self.order(token, False))

    def needs_map(self, o: Op) -> bool:
        """Operands of products always go through maps, and stores if two groups of warps share the rows of a tile."""
        return o in self.of_load or (self.config.gluon > 1 and isinstance(o, StoreViewTko))

    def box_of(self, type: TileView, view: ViewRef, index: tuple[Val, ...]) -> Box | None:
        """The box of a tile that is copied."""
        return box(self, type, view, index)

    def stages(self, feed: Feed) -> int:
        """The number of stages of a channel: what loops inside of a block use all the time needs one."""
        return 1 if feed.held else self.config.num_stages

    def _enter_stage(self, feed: Feed) -> None:
        """Wait for the next stage of a channel."""
        count, stages = self.threaded[feed.channel], self.constant(self.stages(feed), (), "i32")
        one = self.constant(1, (), "i32")
        self.stage[feed] = self.map("arith.remui", count, stages)
        phase = self.map("arith.andi", self.map("arith.divui", count, stages), one)
        self.threaded[feed.channel] = self.map("arith.addi", count, one)
        self.await_stage(feed, phase)

    def await_stage(self, feed: Feed, phase: Val) -> None:
        raise NotImplementedError

    def take(self, feed: Feed, number: int, found: Box) -> Any:
        raise NotImplementedError

    def barrier_of(self, kind: str, feed: Feed, stage: Val) -> str:
        all_of = layouts.memory((self.stages(feed), 1), "i64", layouts.BARRIER)
        name = self.fresh("m")
        self.line(f"{name} = ttg.memdesc_index %{kind}{feed.channel}[{stage.name}] : {all_of} -> {BARRIERS}")
        return name

    def memory_of(self, feed: Feed, number: int, shape: tuple[int, ...], element: str) -> tuple[Val, str]:
        """The place of an operand in the current stage, and its layout."""
        made = Val(self.fresh("m"), shape, element)
        layout = layouts.shared(shape, made.bits)
        whole = layouts.memory((self.stages(feed), *shape), element, layout)
        self.line(
            f"{made.name} = ttg.memdesc_index %stages{feed.channel}_{number}[{self.stage[feed].name}] : "
            f"{whole} -> {layouts.memory(shape, element, layout)}"
        )
        return made, layout

    def finish(self) -> None:
        """End the part."""

    @property
    def yes(self) -> Val:
        return self.constant(1, (), "i1")


def element_of(found: Box) -> str:
    """The elements of a box."""
    return re.findall(r"x([^x,]+), ", found.type)[0]  # type: ignore[no-any-return]


class Producer(Part):
    """The warp that copies."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        found = args[-1]
        kept, self.alive = needed(self.entry, found)
        ends = {b.ops[-1] for b in [self.entry.body, *(b for o in walk(self.entry.body) for b in o.blocks)] if b.ops}
        self.skipped = {o for o in walk(self.entry.body) if o not in kept and o not in ends}
        self.count = LAST * PART
        self.full: dict[Feed, str] = {}
        self.boxes: dict[tuple[int, int], tuple[tuple[int, ...], str]] = {}
        """The shapes and elements of what is copied, by the channel and the number in its stages."""

    def await_stage(self, feed: Feed, phase: Val) -> None:
        free = self.map("arith.xori", phase, self.constant(1, (), "i32"))
        empty = self.barrier_of("empty", feed, self.stage[feed])
        self.line(f"ttng.wait_barrier {empty}, {free.name}, {self.yes.name} : {BARRIERS}")
        self.full[feed] = self.barrier_of("full", feed, self.stage[feed])
        size = sum(map(copied_bytes, feed.loads))
        self.line(f"ttng.barrier_expect {self.full[feed]}, {size}, {self.yes.name} : {BARRIERS}")

    def take(self, feed: Feed, number: int, found: Box) -> Any:
        memory, layout = self.memory_of(feed, number, found.shape[-2:], element_of(found))
        known = self.boxes.setdefault((feed.channel, number), (memory.shape, memory.element))
        if known != (memory.shape, memory.element):
            raise refuse(feed.loads[number], "loops copy the same tiles in different orders")
        self.line(
            f"ttng.async_tma_copy_global_to_local {found.at} {memory.name}, {self.full[feed]}, {self.yes.name} : "
            f"{found.type}, {BARRIERS} -> {layouts.memory(memory.shape, memory.element, layout)}"
        )
        return None


class Consumer(Part):
    """The warps that multiply, and run the rest of the kernel."""

    def __init__(self, number: int, split: dict[LoadViewTko, int], *args: Any) -> None:
        super().__init__(*args)
        self.number, self.halved = number, split
        """Which group of warps this is, and the dimension along which it takes a half of what is loaded."""
        self.count = number * PART
        self.out_boxes: dict[str, str] = {}
        """The memory for tiles that are stored through tensor maps, by name, and its types."""
        self.pending: list[tuple[Val, Value]] = []
        """The products of the current iteration that may not have ended."""
        self.start: dict[int, Val] = {}
        """How many stages of a channel had been used when the current loop began."""
        products = list(dict.fromkeys(o for feed in self.feeds for o in feed.products))
        widths = {element_bits(o) for o in products}
        if len(widths) > 1:
            raise refuse(products[0], "products have elements of different widths")
        self.bits = widths.pop()
        self.narrowest = min(self.shape(o.result)[1] for o in products)
        self.anchored = _from_products(self.entry, products)
        self.instead.update(dict.fromkeys(products, self.product))
        self.instead.update(dict.fromkeys(self.overlapping, self.loop))
        self.loops = {o: loop for loop in self.overlapping for o in loop.region.ops if o in products}
        self.freed: dict[Op, list[Feed]] = {}
        for feed in self.feeds:
            if not any(o in self.loops for o in feed.products):
                self.freed.setdefault(feed.last, []).append(feed)
        todo: list[Value] = [load.tile for feed in self.feeds for load in feed.loads]
        while todo:
            for o in self.uses.of(todo.pop()):
                if isinstance(o, (Permute, Reshape)):
                    self.instead[o] = self.reorder
                    todo += o.results
        for o in walk(self.entry.body):
            if isinstance(o, StoreViewTko):
                self.instead[o] = self.store
            elif isinstance(o, LoadViewTko) and o not in self.of_load:
                self.instead[o] = self.plain_load

    def one(self, o: Op) -> None:
        super().one(o)
        for feed in self.freed.get(o, ()):
            if o in feed.products:
                continue  # it has been given back as soon as the product had ended
            self.release(feed, self.stage[feed], self.yes)

    def finish(self) -> None:
        self.line("ttng.async_tma_store_wait {pendings = 0 : i32}")

    # ------------------------------------------------------------ operands

    def await_stage(self, feed: Feed, phase: Val) -> None:
        full = self.barrier_of("full", feed, self.stage[feed])
        self.line(f"ttng.wait_barrier {full}, {phase.name}, {self.yes.name} : {BARRIERS}")

    def box_of(self, type: TileView, view: ViewRef, index: tuple[Val, ...]) -> Box | None:
        """The box of a tile that the other part copies: its tensor map is no argument for this part."""
        ours = self.hidden, self.descriptors, self.descriptor_types
        self.hidden, self.descriptors, self.descriptor_types = ({**ours[0]}, [*ours[1]], [*ours[2]])
        found = box(self, type, replace(view, descriptors={}), index)
        self.hidden, self.descriptors, self.descriptor_types = ours
        return found

    def take(self, feed: Feed, number: int, found: Box) -> Slot:
        shape, element = found.shape[-2:], element_of(found)
        dims = found.axes[-2:]
        places: dict[int, int] = {axis: place for place, axis in enumerate(dims)}
        order = tuple(places.get(k) for k in range(len(found.axes)))
        load = feed.loads[number]
        if load not in self.halved:
            memory, layout = self.memory_of(feed, number, shape, element)
            return Slot(memory, layouts.memory(shape, element, layout), order)
        at = dims.index(self.halved[load])
        whole_shape = tuple(2 * n if i == at else n for i, n in enumerate(shape))
        whole, layout = self.memory_of(feed, number, whole_shape, element)
        return self._part(Slot(whole, layouts.memory(whole_shape, element, layout), order), at, self.number * shape[at])

    def _part(self, slot: Slot, at: int, start: int) -> Slot:
        """A half of an operand along a dimension of the memory."""
        whole = slot.memory
        shape = tuple(n // 2 if i == at else n for i, n in enumerate(whole.shape))
        made = Val(self.fresh("m"), shape, whole.element)
        layout = layouts.shared(slot.allocated or whole.shape, whole.bits)
        kind = layouts.memory(shape, whole.element, layout, slot.allocated or whole.shape)
        starts = ", ".join(str(start if i == at else 0) for i in range(2))
        self.line(f"{made.name} = ttg.memdesc_subslice {whole.name}[{starts}] : {slot.type} -> {kind}")
        return Slot(made, kind, slot.dims, slot.allocated or whole.shape)

    def plain_load(
        self, low: Lowering, o: LoadViewTko, view: ViewRef, index: tuple[Val, ...], token: Tok | None
    ) -> Any:
        """Load an operand of no product through pointers, in the layout of its user."""
        if o in self.halved:
            raise refuse(o, "its index could overflow if it counted halves of tiles")
        if self.config.gluon > 1 and token is not None and token.wrote:
            raise refuse(o, "the other group of warps may write what it loads")
        ours, self.config = self.config, replace(self.config, views=POINTERS)
        try:
            return load_view_tko(self, o, view, index, token)
        finally:
            self.config = ours

    def reorder(self, low: Lowering, o: Permute | Reshape, source: Slot) -> Slot:
        """Another order or shape of an operand: nothing moves."""
        if isinstance(o, Permute):
            return replace(source, dims=tuple(source.dims[i] for i in o.permutation))
        rest = [d for d in source.dims if d is not None]
        sizes = [source.memory.shape[d] for d in rest]
        shape = self.shape(o.result)
        if [n for n in shape if n != 1] != sizes:
            raise refuse(o, "it changes more than dimensions of size 1")
        left = iter(rest)
        return replace(source, dims=tuple(None if n == 1 else next(left) for n in shape))

    def _operand(self, o: MmaF, slot: Slot, inner: bool) -> tuple[str, str]:
        """An operand of an instruction and its type; `inner` if 8-bit ones must have the last dimension inside."""
        memory, shape = slot.memory, slot.memory.shape
        if slot.dims not in ((0, 1), (1, 0)):
            raise refuse(o, "an operand has a dimension of size 1")
        turned = slot.dims == (1, 0)
        if memory.bits == 8 and turned is inner:
            raise refuse(o, "8-bit operands must have the summed dimension inside")
        if not turned:
            return memory.name, slot.type
        name = self.fresh("m")
        allocated = slot.allocated[::-1]
        layout = layouts.shared(slot.allocated or shape, memory.bits, transposed=True)
        made = layouts.memory(shape[::-1], memory.element, layout, allocated)
        self.line(f"{name} = ttg.memdesc_trans {memory.name} {{order = array<i32: 1, 0>}} : {slot.type} -> {made}")
        return name, made

    def product(self, low: Lowering, o: MmaF, lhs: Slot | Val, rhs: Slot, acc: Val) -> Val:
        """A product whose right operand is in shared memory; the left one may be in registers."""
        self.op = o
        if isinstance(lhs, Slot) and is_exact(o) and lhs.memory.shape[lhs.dims[1] or 0] <= F8_STEPS:
            return self._summed_apart(o, lhs, rhs, acc)
        steps = F8_STEPS if is_exact(o) else 1 << 30
        layout = self._layout(acc)
        a, a_type = self._operand(o, lhs, True) if isinstance(lhs, Slot) else self._in_registers(lhs, layout)
        b, b_type = self._operand(o, rhs, False)
        name = self._dot(a, a_type, b, b_type, self._laid_out(acc, layout), acc, 1, steps)
        loop = self.loops.get(o)
        if loop is not None:
            self.pending.append((Val(name, acc.shape, acc.element), o.result))
            last = [p for p in loop.region.ops if p in self.loops][-1]
            return self._await_previous(loop, o) if o is last else Val(name, acc.shape, acc.element)
        found = self._awaited(name, a, a_type, b, b_type, acc)
        self._free_after(o)
        return self._free(found, layout)

    def _free_after(self, o: MmaF) -> None:
        """Give the stages back that no product after this one uses."""
        for feed in self.freed.get(o, ()):
            self.release(feed, self.stage[feed], self.yes)

    def _in_registers(self, value: Val, layout: str) -> tuple[str, str]:
        """A left operand that has been computed."""
        return self._converted(value, kind := layouts.operand(layout, self.bits)), layouts.typed(value, kind)

    def _dot(self, a: str, a_type: str, b: str, b_type: str, start: str, like: Val, adds: int, steps: int) -> str:
        """Start a product; it adds to a tile, or ignores it."""
        name, flag = self.fresh("d"), self.constant(adds, (), "i1")
        self.line(
            f"{name} = ttng.warp_group_dot {a}, {b}, {start}, {flag.name} {{inputPrecision = 0 : i32, "
            f"maxNumImpreciseAcc = {steps} : i32, isAsync = true}} : {a_type} * {b_type} -> "
            f"{layouts.typed(like, self._layout(like))}"
        )
        return name

    def _awaited(self, name: str, a: str, a_type: str, b: str, b_type: str, like: Val) -> Val:
        """The result of a product."""
        waited = self.fresh("d")
        kind = layouts.typed(like, self._layout(like))
        kinds = f"{kind}, {a_type}, {b_type}"
        self.line(f"{waited}:3 = ttng.warp_group_dot_wait {name}, {a}, {b} {{pendings = 0 : i32}} : {kinds}")
        return Val(f"{waited}#0", like.shape, like.element)

    def _summed_apart(self, o: MmaF, lhs: Slot, rhs: Slot, acc: Val) -> Val:
        """A product of 8-bit floats, whose sums instructions round too early: it is added to the accumulator after.

        Where both would not fit in registers, one half of the columns comes after the other.
        """
        layout = self._layout(acc)
        self._laid_out(acc, layout)
        rows, columns = acc.shape
        parts = 2 if 2 * rows * columns > MOST_WORDS * layouts.WARP * self.config.num_warps else 1
        halves, sums = [acc], []
        if parts == 2:
            pairs = self.transpose(self._reshape(acc, (rows, 2, columns // 2)), (0, 2, 1))
            halves = list(self.split(pairs))
        a, a_type = self._operand(o, lhs, True)
        column = rhs.dims[1] or 0
        for number, half in enumerate(halves):
            operand = rhs if parts == 1 else self._part(rhs, column, number * columns // 2)
            b, b_type = self._operand(o, operand, False)
            lies = self._layout(half)
            name = self._dot(a, a_type, b, b_type, self._zero(half, lies), half, 0, F8_STEPS)
            found = self._awaited(name, a, a_type, b, b_type, half)
            if number == parts - 1:
                self._free_after(o)
            kind = layouts.typed(half, lies)
            added = Val(self.fresh("d"), half.shape, half.element)
            self.line(f"{added.name} = arith.addf {self._converted(half, lies)}, {found.name} : {kind}")
            sums.append(self._free(added, lies, anchored=parts == 1))
        if parts == 1:
            return sums[0]
        made = self._reshape(self.transpose(self.join(*sums), (0, 2, 1)), acc.shape)
        self._laid_out(made, layout)
        return made

    def _await(self, values: list[Val], names_of: list[str], pending: int) -> list[Val]:
        """Wait until no more products than these are running; return tiles as they are then."""
        kinds = ", ".join(layouts.typed(v, self._layout(v)) for v in values)
        waited = self.fresh("d")
        many = f"{waited}:{len(values)}" if len(values) > 1 else waited
        self.line(f"{many} = ttng.warp_group_dot_wait {', '.join(names_of)} {{pendings = {pending} : i32}} : {kinds}")
        found = [f"{waited}#{i}" if len(values) > 1 else waited for i in range(len(values))]
        return [self._free(Val(name, v.shape, v.element), self._layout(v)) for name, v in zip(found, values)]

    def _await_previous(self, loop: For, o: MmaF) -> Val:
        """Wait for the products of the iteration before, and give their stages back."""
        made, self.pending = self.pending, []
        values = [v for v, _ in made]
        found = self._await(values, [v.name for v in values], len(values))
        for feed in self._feeds_of(loop):
            stages = self.stages(feed)
            done = self.threaded[feed.channel]
            two = self.map("arith.addi", done, self.constant(stages - 2, (), "i32"))
            before = self.map("arith.remui", two, self.constant(stages, (), "i32"))
            begun = self.map("arith.addi", self.start[feed.channel], self.constant(1, (), "i32"))
            self.release(feed, before, self.compare("ugt", done, begun))
        for (_, result), value in zip(made, found):
            self.values[result] = value
        return found[-1]

    def _feeds_of(self, loop: For) -> list[Feed]:
        return [feed for feed in self.feeds if feed.block is loop.region]

    def release(self, feed: Feed, stage: Val, condition: Val) -> None:
        """Tell the copying warp that a stage is free."""
        empty = self.barrier_of("empty", feed, stage)
        self.line(f"ttng.arrive_barrier {empty}, 1, {condition.name} : {BARRIERS}")

    def loop(self, low: Lowering, o: For, first: Val, limit: Val, step: Val, carried: tuple[Any, ...]) -> Any:
        """A loop with products that overlap: the last ones are awaited after it."""
        feeds = self._feeds_of(o)
        self.start = {feed.channel: self.threaded[feed.channel] for feed in feeds}
        begun = self.start
        found: list[Any] = list(lower_for(self, o, first, limit, step, carried))
        places = [o.region.args.index(p.acc) - 1 for p in o.region.ops if p in self.loops]
        values: list[Val] = [found[i] for i in places]
        for place, value in zip(places, self._await(values, [self._laid_out(v, self._layout(v)) for v in values], 0)):
            found[place] = value
        for feed in feeds:
            stages = self.stages(feed)
            done = self.threaded[feed.channel]
            one = self.map("arith.addi", done, self.constant(stages - 1, (), "i32"))
            last = self.map("arith.remui", one, self.constant(stages, (), "i32"))
            self.release(feed, last, self.compare("ugt", done, begun[feed.channel]))
        return tuple(found)

    # ------------------------------------------------------------ layouts

    def _layout(self, value: Val) -> str:
        return layouts.accumulator(value.shape, self.config.num_warps, self.bits, self.narrowest)

    def _zero(self, value: Val, layout: str) -> str:
        name = self.fresh("c")
        self.line(f"{name} = arith.constant dense<0.0> : {layouts.typed(value, layout)}")
        return name

    def _laid_out(self, value: Val, layout: str) -> str:
        """A tile whose layout is to be this one."""
        name = self.fresh("l")
        auto = layouts.typed(value, layouts.AUTO)
        self.line(f"{name} = gluon.set_auto_layout {value.name} : {auto} -> {layouts.typed(value, layout)}")
        return name

    def _converted(self, value: Val, layout: str) -> str:
        """A tile in another layout."""
        name = self.fresh("l")
        auto = layouts.typed(value, layouts.AUTO)
        self.line(f"{name} = ttg.convert_layout {value.name} : {auto} -> {layouts.typed(value, layout)}")
        return name

    def _free(self, value: Val, layout: str, anchored: bool = True) -> Val:
        """A tile with a layout, as one of those whose layouts Gluon finds: what follows from it has the same."""
        made = Val(self.fresh("l"), value.shape, value.element)
        auto = layouts.typed(value, layouts.AUTO)
        self.line(f"{made.name} = ttg.convert_layout {value.name} : {layouts.typed(value, layout)} -> {auto}")
        if anchored:
            self._laid_out(made, layout)
        return made

    # ------------------------------------------------------------ stores

    def barrier(self) -> None:
        """Wait for what has been stored, also through tensor maps: Triton only waits until it has been read."""
        self.assembly(STORED, "=r,r", "i32", self.constant(0, (), "i32"), pure=False)
        super().barrier()

    def store(
        self, low: Lowering, o: StoreViewTko, tile: Val, view: ViewRef, index: tuple[Val, ...], token: Tok | None
    ) -> Tok:
        """Write a tile: through a tensor map if nothing waits for it, or else through pointers."""
        type = o.view.type
        assert isinstance(type, TileView)
        if self.config.gluon > 1 and token is not None and token.plain:
            raise refuse(o, "the other group of warps may not have read what it writes")
        made = self.order(token, write=True)
        weak = o.memory_ordering_semantics is MemoryOrderingSemantics.WEAK
        if type.tensor_view.element.is_packed:
            raise refuse(o, "elements share bytes")
        anchored = o.tile in self.anchored
        dims, _ = positions_of(type)
        parts = parts_of(tile) if anchored and dims[-1] == len(dims) - 1 else 1  # not if columns are rows in memory
        mapped = weak and ends_on_chunk(self, type, view, o.inbounds)
        found = box(self, type, view, index, parts) if mapped else None
        if found is not None and found.trimmed(least=2) == len(found.shape) - 2:
            self._store_boxes(tile, found, parts, anchored, token)
            return self.through_map(token, made)
        if self.config.gluon > 1:
            raise refuse(o, "its index could overflow if it counted halves of tiles")
        place = locate(self, type, view, index, o.inbounds)
        value = self.reshape(tile, place.pointers.shape)
        if value.element == "i1":
            raise refuse(o, "it stores truth values")
        layout = layouts.rows_of_memory(value.shape, self.config.num_warps, value.bits) if value.shape else ""
        if not layout:
            store_elements(self, place.pointers, value, place.mask, o.memory_ordering_semantics, o.memory_scope)
            return made
        if o.memory_ordering_semantics is not MemoryOrderingSemantics.WEAK:
            raise refuse(o, "the store is not weak")
        written = self._converted(value, layout) if anchored else self._laid_out(value, layout)
        args = [self._laid_out(place.pointers, layout), written]
        if place.mask is not None:
            args.append(self._laid_out(place.mask, layout))
        self.line(f"tt.store {', '.join(args)} : {layouts.typed(place.pointers, layout)}")
        return made

    def _store_boxes(self, tile: Val, found: Box, parts: int, anchored: bool, token: Tok | None) -> None:
        """Copy a tile to shared memory, and from there while the kernel goes on: its parts share the memory."""
        kept = found.axes[-2:]
        shape = tuple(tile.shape[k] for k in sorted(kept))
        value = self.transpose(self.reshape(tile, shape), [sorted(kept).index(k) for k in kept])
        memory = f"%out{self.number}_{len(self.out_boxes)}"
        self.fence_maps(token)
        for number, part in enumerate(self._side_by_side(value, parts)):
            found = found.next(self) if number else found
            self._store_box(part, found, memory, anchored)

    def _side_by_side(self, value: Val, parts: int) -> list[Val]:
        """The parts of a tile along its columns."""
        if parts == 1:
            return [value]
        rows, columns = value.shape
        pairs = self.transpose(self._reshape(value, (rows, 2, columns // 2)), (0, 2, 1))
        return [part for half in self.split(pairs) for part in self._side_by_side(half, parts // 2)]

    def _store_box(self, value: Val, found: Box, memory: str, anchored: bool) -> None:
        layout = layouts.shared(value.shape, value.bits)
        kind = layouts.memory(value.shape, value.element, layout)
        fits = anchored and value.shape[0] % 64 == 0 and value.shape[1] % 8 == 0
        if fits:
            written = self._converted(value, self._layout(value))
            lies = self._layout(value)
        else:
            lies = layouts.rows_of_memory(value.shape, self.config.num_warps, value.bits)
            written = self._converted(value, lies) if anchored else self._laid_out(value, lies)
        self.out_boxes[memory] = kind
        self.line("ttng.async_tma_store_wait {pendings = 0 : i32}")
        self.line(f"ttg.local_store {written}, {memory} : {layouts.typed(value, lies)} -> {kind}")
        self.line("ttng.fence_async_shared {bCluster = false}")
        self.line(f"ttng.async_tma_copy_local_to_global {found.at} {memory} : {found.type}, {kind}")


def parts_of(tile: Val) -> int:
    """In how many parts a tile is stored, so that stages for operands have more of the shared memory."""
    parts, row = 1, tile.shape[-1] * tile.bits // 8
    flat = sum(n > 1 for n in tile.shape) == 2
    while flat and row // parts > NARROWEST and prod(tile.shape) * tile.bits // 8 // parts > PART_BYTES:
        parts *= 2
    return parts


def _from_products(entry: Entry, products: list[MmaF]) -> set[Value]:
    """The values whose layouts follow from those of products."""
    found: set[Value] = {o.result for o in products}
    before = -1
    while before != len(found):
        before = len(found)
        for o in walk(entry.body):
            if isinstance(o, For):
                ended = o.region.ops[-1].operands
                for result, arg, value in zip(o.resultValues, o.region.args[1:], ended):
                    if value in found:
                        found.update((result, arg))
            elif any(v in found for v in o.operands):
                found.update(o.results)
    return found


def specialise(module: Module, entry: Entry, target: Target, config: Config, dialect: Dialect) -> tuple[Part, str]:
    """Lower an entry to the body of a function of Gluon."""
    if not (target.nvidia and target.capability == 90):
        raise refuse(entry, f"{target.name} has no such instructions")
    if config.num_warps % 4 or config.num_stages < 2:
        raise refuse(entry, "it takes 4 or 8 warps, and 2 stages or more")
    if config.programs and work_of(entry).waits:
        raise refuse(entry, "its tile blocks may wait for each other, so they cannot take turns")
    config = replace(config, views=HOST, folded=config.folded or config.programs > 0)
    producer = Producer(module, entry, target, config, dialect, find_feeds(entry))
    consumers = []
    for number in range(config.gluon):
        whole = module, entry
        split: dict[LoadViewTko, int] = {}
        if config.gluon > 1:
            found = half_of(module, entry.sym_name, number)
            if found is None:
                raise refuse(entry, "its rows depend on each other, so two groups of warps cannot share them")
            whole, split = (found[0], find_entry(found[0], entry.sym_name)), found[1]
        consumers.append(Consumer(number, split, *whole, target, config, dialect, find_feeds(whole[1])))
    for part in (producer, *consumers):
        part.hidden, part.descriptors = producer.hidden, producer.descriptors
        part.descriptor_types = producer.descriptor_types
        part.op = part.entry
        part.bind_parameters()
        _over_blocks(part)
    return producer, _assembled(consumers, producer)


def _over_blocks(part: Part) -> None:
    """The kernel, in a loop over tile blocks if programs share them."""
    part.threaded = [part.constant(0, (), "i32") for _ in part.channels]
    _blocks(part)
    part.finish()


def _blocks(part: Part) -> None:
    if not part.config.programs:
        lower_ops(part, part.entry.body.ops, 0, Exits((), lambda o: []))
        return
    first, step = (part.make(f"tt.get_{name} x : i32", (), "i32") for name in ("program_id", "num_programs"))
    x, y, z = (part.grid_extent(dim) for dim in range(3))
    blocks = part.map("arith.muli", part.map("arith.muli", x, y), z)
    part.block = Val(part.fresh("i"), (), "i32")
    inner = [Val(part.fresh("a"), (), "i32") for _ in part.channels]
    pairs = ", ".join(f"{a.name} = {b.name}" for a, b in zip(inner, part.threaded))
    kinds = ", ".join("i32" for _ in inner)
    part.line(
        f"{part.fresh('r')}:{len(inner)} = scf.for {part.block.name} = {first.name} to {blocks.name} step {step.name} "
        f"iter_args({pairs}) -> ({kinds}) : i32 {{"
    )
    part.threaded = list(inner)
    lower_ops(part, part.entry.body.ops, 0, Exits((), lambda o: []))
    part.line(f"scf.yield {names(part.threaded)} : {kinds}")
    part.line("}")
    part.programs = part.config.programs


def _assembled(consumers: list[Consumer], producer: Producer) -> str:
    """The memory that the parts share, and the parts."""
    lines = []
    captured: dict[str, str] = {}
    for feed in producer.channels:
        n, stages = feed.channel, producer.stages(feed)
        for number in range(len(feed.loads)):
            shape, element = producer.boxes[n, number]
            bits = FLOAT_BITS.get(element) or INTEGERS[element]
            captured[f"%stages{n}_{number}"] = layouts.memory((stages, *shape), element, layouts.shared(shape, bits))
        captured[f"%full{n}"] = captured[f"%empty{n}"] = layouts.memory((stages, 1), "i64", layouts.BARRIER)
    for consumer in consumers:
        captured.update(consumer.out_boxes)
    lines += [f"{name} = ttg.local_alloc : () -> {kind}" for name, kind in captured.items()]
    for feed in producer.channels:
        for kind, count in (("full", 1), ("empty", len(consumers))):
            barriers = f"%{kind}{feed.channel}"
            for stage in range(producer.stages(feed)):
                at, name = f"%at{feed.channel}_{kind}_{stage}", f"%b{feed.channel}_{kind}_{stage}"
                lines += [
                    f"{at} = arith.constant {stage} : i32",
                    f"{name} = ttg.memdesc_index {barriers}[{at}] : {captured[barriers]} -> {BARRIERS}",
                    f"ttng.init_barrier {name}, {count} : {BARRIERS}",
                ]
    captured.update({f"%arg{i}": producer.element(param) for i, param in enumerate(producer.entry.body.args)})
    captured.update({name: kind.split(" {")[0] for name, (_, kind) in producer.hidden.items()})
    texts = ["\n".join(flat([*part.prologue, *part.out])) for part in (*consumers, producer)]
    used = [name for name in captured if any(re.search(rf"{re.escape(name)}\b", text) for text in texts[1:])]
    kinds = [captured[name] for name in used]
    registers = [*[GROUP_REGISTERS] * (len(consumers) - 1), PRODUCER_REGISTERS]
    warps = [*[producer.config.num_warps] * (len(consumers) - 1), 1]
    lines += [
        f"ttg.warp_specialize({', '.join(used)}) attributes "
        f"{{requestedRegisters = array<i32: {', '.join(map(str, registers))}>}}",
        "default {",
        texts[0],
        "ttg.warp_yield",
        "}",
    ]
    for n, (text, count) in enumerate(zip(texts[1:], warps)):
        arguments = ", ".join(f"%p{n}_{name[1:]}: {kind}" for name, kind in zip(used, kinds))
        lines += [
            f"partition{n}({arguments}) num_warps({count}) {{",
            _renamed(text, n, captured),
            "ttg.warp_return",
            "}",
        ]
    lines[-1] += f" : ({', '.join(kinds)}) -> ()"
    return layouts.with_auto_layouts("\n".join(lines))


def _renamed(text: str, part: int, captured: dict[str, str]) -> str:
    """The text of a part that captures values as arguments of its own."""
    return re.sub(r"%[A-Za-z]\w*", lambda m: f"%p{part}_{m[0][1:]}" if m[0] in captured else m[0], text)
