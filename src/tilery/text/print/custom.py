"""Print the operations whose text no format string can describe; `parse.custom` parses them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ...attrs import Attr, StrAttr
from ...checking import TYPE_CHECKING
from ...ir import Block, Op
from ...ops import Entry, For, Loop, MakeTensorView, Module, TestFunc
from ...types import DYNAMIC, Ptr, TensorView, Tile
from .attributes import hints_text, symbol
from .parts import Part, PrintContext

if TYPE_CHECKING:
    from typing import Any


def _module(o: Module, p: PrintContext) -> list[Part]:
    """`module @name attributes {producer = "x"} { ... }`"""
    extra: dict[str, Attr] = dict(o.extra or {})
    if o.producer is not None:
        extra["producer"] = StrAttr(o.producer)
    attributes = f"attributes {p.dictionary(extra)} " if extra else ""
    return [f" {symbol(o.sym_name)} {attributes}", p.region(o, o.body, elide=False)]


def _entry(o: Entry, p: PrintContext) -> list[Part]:
    """`entry @name(%p: tile<f32>) optimization_hints=<...> { ... } {discardable}`"""
    hints = ""
    if o.optimization_hints is not None and o.optimization_hints.value.items:
        hints = f" optimization_hints={hints_text(o.optimization_hints)}"
    head = f" {symbol(o.sym_name)}{p.arguments(o.body)}{_results(o)}{hints} "
    return [head, p.region(o, o.body, elide=False), p.attr_dict(o)]


def _test_func(o: TestFunc, p: PrintContext) -> list[Part]:
    """`testing$func @name(%p: tile<f32>) -> tile<f32> { ... } {discardable}`"""
    head = f" {symbol(o.sym_name)}{p.arguments(o.body)}{_results(o)} "
    return [head, p.region(o, o.body, elide=False), p.attr_dict(o)]


def _results(o: Entry | TestFunc) -> str:
    types = [t.text for t in o.function_type.results]
    if not types:
        return ""
    return f" -> {types[0]}" if len(types) == 1 else f" -> ({', '.join(types)})"


def _for(o: For, p: PrintContext) -> list[Part] | None:
    """`for unsigned %i in (%lb to %ub, step %s) : type iter_values(%a = %b) -> (type) { ... }`"""
    n, t = p.names, p.texts
    if len(o.region.args) != 1 + len(o.initValues):
        return None
    unsigned = " unsigned" if o.unsignedCmp else ""
    counter = o.region.args[0]
    head = f"{unsigned} {t[counter]} in ({t[o.lowerBound]} to {t[o.upperBound]}, step {t[o.step]})"
    carried = f"{_carried(o.region, 1, o, p)} -> ({n.types(o.initValues)}) " if o.initValues else ""
    return [f"{head} : {counter.type.text} {carried}", p.region(o, o.region, elide=True), p.attr_dict(o)]


def _loop(o: Loop, p: PrintContext) -> list[Part] | None:
    """`loop iter_values(%a = %b) : type -> type { ... }`"""
    n = p.names
    if len(o.region.args) != len(o.initValues):
        return None
    head = " "
    if o.initValues:
        head += f"{_carried(o.region, 0, o, p)} : {n.types(o.initValues)} "
    if o.resultValues:
        head += f"{'->' if o.initValues else ':'} {n.types(o.resultValues)} "
    return [head, p.region(o, o.region, elide=True), p.attr_dict(o)]


def _carried(block: Block, skip: int, o: For | Loop, p: PrintContext) -> str:
    t = p.texts
    return f"iter_values({p.names.pairs([t[v] for v in block.args[skip:]], ' = ', [t[v] for v in o.initValues])})"


def _make_tensor_view(o: MakeTensorView, p: PrintContext) -> list[Part] | None:
    """`make_tensor_view %base, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<...>`"""
    n, t = p.names, p.texts
    view = o.result.type
    if not isinstance(view, TensorView):
        return None
    if view.shape.count(DYNAMIC) != len(o.dynamicShape) or view.strides.count(DYNAMIC) != len(o.dynamicStrides):
        return None
    dynamic = (*o.dynamicShape, *o.dynamicStrides)
    texts = tuple([t[v] for v in dynamic])
    n.check(texts)
    sizes = _sizes(view.shape, view.strides) % texts
    pointer = o.base.type
    plain = isinstance(pointer, Tile) and isinstance(pointer.element, Ptr) and pointer.element.ptr_attr is None
    shown = dynamic[:1] if plain else (o.base, *dynamic[:1])
    types = n.types(shown) + " -> " if shown else ""
    return [f" {t[o.base]}, {sizes}{p.attr_dict(o)} : {types}{view.text}"]


@lru_cache(maxsize=256)
def _sizes(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """`shape = [%s, 64], strides = [64, 1]`, with `%s` for each value."""
    texts = [", ".join(["%s" if size == DYNAMIC else str(size) for size in sizes]) for sizes in (shape, strides)]
    return f"shape = [{texts[0]}], strides = [{texts[1]}]"


FORMS: dict[type[Op], Callable[[Any, PrintContext], list[Part] | None]] = {
    Module: _module,
    Entry: _entry,
    TestFunc: _test_func,
    For: _for,
    Loop: _loop,
    MakeTensorView: _make_tensor_view,
}
"""For each operation, the function that makes the parts after its name. It returns None for an operation that is not
valid and has no such text."""
