"""The hand-written forms: one class per operation whose text no format string can say, parse beside print."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from ..attrs import Attr, DictAttr, StrAttr
from ..ir import Block, Op
from ..ops import Entry, For, Loop, MakeTensorView, Module, TestFunc
from ..types import DYNAMIC, Function, Ptr, TensorView, Tile, Type, full_text
from .parse.state import Argument, Body, Operand, Region, State
from .print.attributes import hints_text, symbol
from .print.parts import Context, Part

if TYPE_CHECKING:
    from .parse.cursor import Mark
    from .parse.parser import Parser


class Form(Protocol):
    """How an operation is written. `print` gives the parts after its name, or None where an operation that is not
    valid has no such text; `parse` reads what stands there."""

    @staticmethod
    def print(o: Any, p: Context, /) -> list[Part] | None: ...

    @staticmethod
    def parse(s: State, p: Parser, at: int, /) -> Op | Body: ...


class ModuleForm:
    """`module @name attributes {producer = "x"} { ... }`"""

    @staticmethod
    def print(o: Module, p: Context) -> list[Part]:
        extra: dict[str, Attr] = dict(o.extra or {})
        if o.producer is not None:
            extra["producer"] = StrAttr(o.producer)
        attributes = f"attributes {p.dictionary(extra)} " if extra else ""
        return [f" {symbol(o.sym_name)} {attributes}", p.region(o, o.body, elide=False)]

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Body:
        s.values["sym_name"] = p.symbol_name()
        if p.accept("attributes"):
            s.attributes(p)
        s.values["body"] = (yield Region()) or Block()
        return s.build(p, at)


class EntryForm:
    """`entry @name(%p: tile<f32>) optimization_hints=<...> { ... } {discardable}`"""

    @staticmethod
    def print(o: Entry, p: Context) -> list[Part]:
        hints = ""
        if o.optimization_hints is not None and o.optimization_hints.value.items:
            hints = f" optimization_hints={hints_text(o.optimization_hints)}"
        head = f" {symbol(o.sym_name)}{p.arguments(o.body)}{_results(o)}{hints} "
        return [head, p.region(o, o.body, elide=False), p.attr_dict(o)]

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Body:
        args = _signature(s, p)
        if p.accept("optimization_hints"):
            p.expect("=")
            s.values["optimization_hints"] = p.hints()
        return (yield from _function(s, p, at, args))


class TestFuncForm:
    """`testing$func @name(%p: tile<f32>) -> tile<f32> { ... } {discardable}`"""

    __test__ = False

    @staticmethod
    def print(o: TestFunc, p: Context) -> list[Part]:
        head = f" {symbol(o.sym_name)}{p.arguments(o.body)}{_results(o)} "
        return [head, p.region(o, o.body, elide=False), p.attr_dict(o)]

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Body:
        args = _signature(s, p)
        return (yield from _function(s, p, at, args))


def _results(o: Entry | TestFunc) -> str:
    types = [t.text for t in o.function_type.results]
    if not types:
        return ""
    return f" -> {types[0]}" if len(types) == 1 else f" -> ({', '.join(types)})"


def _signature(s: State, p: Parser) -> list[Argument]:
    """`@name(%a: type {attributes}) -> (types)`."""
    s.values["sym_name"] = p.symbol_name()
    args = p.arguments()
    results: list[Type] = []
    if p.accept("->"):
        if not p.accept("("):
            results = [p.type()]
        elif not p.accept(")"):
            results = _result_list(p)
    s.values["function_type"] = Function([a.type for a in args], results)
    if any(a.attrs for a in args):
        s.values["arg_attrs"] = tuple(DictAttr(tuple(sorted(a.attrs.items()))) for a in args)
    return args


def _result_list(p: Parser) -> list[Type]:
    types: list[Type] = []
    while True:
        types.append(p.type())
        if p.tok == "{":
            p.dictionary()  # NVIDIA's parser drops the attributes of results
        if not p.accept(","):
            p.expect(")")
            return types


def _function(s: State, p: Parser, at: int, args: list[Argument]) -> Body:
    s.values["body"] = s.terminated(p, (yield Region(args)), at)
    if p.tok == "{":
        s.attributes(p)
    return s.build(p, at)


class ForForm:
    """`for unsigned %i in (%lb to %ub, step %s) : type iter_values(%a = %b) -> (type) { ... }`"""

    @staticmethod
    def print(o: For, p: Context) -> list[Part] | None:
        n, t = p.names, p.texts
        if len(o.region.args) != 1 + len(o.initValues):
            return None
        unsigned = " unsigned" if o.unsignedCmp else ""
        counter = o.region.args[0]
        head = f"{unsigned} {t[counter]} in ({t[o.lowerBound]} to {t[o.upperBound]}, step {t[o.step]})"
        carried = f"{_carried(o.region, 1, o, p)} -> ({n.types(o.initValues)}) " if o.initValues else ""
        return [f"{head} : {counter.type.text} {carried}", p.region(o, o.region, elide=True), p.attr_dict(o)]

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Body:
        s.values["unsignedCmp"] = p.accept("unsigned")
        counter = p.operand()
        p.keyword("in")
        p.expect("(")
        s.uses["lowerBound"] = [p.operand()]
        p.keyword("to")
        s.uses["upperBound"] = [p.operand()]
        p.expect(",")
        p.keyword("step")
        s.uses["step"] = [p.operand()]
        p.expect(")")
        p.expect(":")
        type = p.type()
        for name in ("lowerBound", "upperBound", "step"):
            s.types[name] = [type]
        inner: list[Operand] = []
        types: list[Type] = []
        if p.accept("iter_values"):
            inner, s.uses["initValues"] = _assignments(p)
            p.expect("->")
            p.expect("(")
            types = p.types()
            p.expect(")")
            if len(types) != len(inner):
                p.fail("mismatch in number of loop-carried values and defined values", (at, -1))
        s.types["initValues"] = s.types["resultValues"] = types
        args = [Argument(counter, type), *(Argument(use, t) for use, t in zip(inner, types))]
        s.values["region"] = s.terminated(p, (yield Region(args)), at)
        if p.tok == "{":
            s.attributes(p)
        return s.build(p, at)


class LoopForm:
    """`loop iter_values(%a = %b) : type -> type { ... }`"""

    @staticmethod
    def print(o: Loop, p: Context) -> list[Part] | None:
        n = p.names
        if len(o.region.args) != len(o.initValues):
            return None
        head = " "
        if o.initValues:
            head += f"{_carried(o.region, 0, o, p)} : {n.types(o.initValues)} "
        if o.resultValues:
            head += f"{'->' if o.initValues else ':'} {n.types(o.resultValues)} "
        return [head, p.region(o, o.region, elide=True), p.attr_dict(o)]

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Body:
        inner: list[Operand] = []
        types: list[Type] = []
        results: list[Type] = []
        if p.accept("iter_values"):
            inner, s.uses["initValues"] = _assignments(p)
            p.expect(":")
            types = p.types()
            if len(types) != len(inner):
                p.fail("found different number of iter_values and types")
            if p.accept("->"):
                results = p.types()
        elif p.accept(":"):
            results = p.types()
        s.types["initValues"], s.types["resultValues"] = types, results
        args = [Argument(use, t) for use, t in zip(inner, types)]
        s.values["region"] = s.terminated(p, (yield Region(args)), at)
        if p.tok == "{":
            s.attributes(p)
        return s.build(p, at)


def _carried(block: Block, skip: int, o: For | Loop, p: Context) -> str:
    t = p.texts
    return f"iter_values({p.names.pairs([t[v] for v in block.args[skip:]], ' = ', [t[v] for v in o.initValues])})"


def _assignments(p: Parser) -> tuple[list[Operand], list[Operand]]:
    """`(%a = %b, ...)`: the names inside the region, and what they start with."""
    p.expect("(")
    inner: list[Operand] = []
    outer: list[Operand] = []
    more = not p.accept(")")
    while more:
        inner.append(p.operand())
        p.skip_location()
        p.expect("=")
        outer.append(p.operand())
        if not (more := p.accept(",")) and not p.accept(")"):
            p.wrong("expected ',' or ')'")
    return inner, outer


class MakeTensorViewForm:
    """`make_tensor_view %base, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<...>`"""

    @staticmethod
    def print(o: MakeTensorView, p: Context) -> list[Part] | None:
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

    @staticmethod
    def parse(s: State, p: Parser, at: int) -> Op:
        s.uses["base"] = [p.operand()]
        p.expect(",")
        p.keyword("shape")
        p.expect("=")
        shape = _Mixed(p)
        p.expect(",")
        p.keyword("strides")
        p.expect("=")
        strides = _Mixed(p)
        if p.tok == "{":
            s.attributes(p)
        p.expect(":")
        types = p.types()
        dynamic = bool(shape.uses or strides.uses)
        if dynamic or p.tok == "->":
            p.expect("->")
            view = p.type()
        else:
            view = types.pop()
        if not isinstance(view, TensorView):
            p.fail(f"expected 'tensor_view' type, but got '{full_text(view)}'")
        # The type of the pointer is shown only where it does not follow from the view.
        base = types.pop(0) if len(types) > dynamic else Tile((), Ptr(view.element))
        p.resolve(s.uses["base"][0], base)
        shape.check(p, "shape", view.shape)
        strides.check(p, "stride", view.strides)
        s.uses["dynamicShape"], s.uses["dynamicStrides"] = shape.uses, strides.uses
        s.types["base"], s.types["result"] = [base], [view]
        s.types["dynamicShape"] = types[:1] * len(shape.uses)
        s.types["dynamicStrides"] = types[:1] * len(strides.uses)
        return s.build(p, at)


@lru_cache(maxsize=256)
def _sizes(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """`shape = [%s, 64], strides = [64, 1]`, with `%s` where a value goes."""
    texts = [", ".join(["%s" if size == DYNAMIC else str(size) for size in sizes]) for sizes in (shape, strides)]
    return f"shape = [{texts[0]}], strides = [{texts[1]}]"


class _Mixed:
    """`[%n, 64]`: sizes that are numbers or values."""

    def __init__(self, p: Parser) -> None:
        self.at = p.mark()
        self.uses: list[Operand] = []
        p.expect("[")
        self.sizes: list[tuple[int, Mark]] = p.listed("]", lambda: self._size(p))

    def _size(self, p: Parser) -> tuple[int, Mark]:
        at = p.mark()
        if p.tok[:1] == "%":
            self.uses.append(p.operand())
            return DYNAMIC, at
        value = p.optional_integer()
        if value is None:
            p.fail("expected either integer or SSA value")
        return value, at

    def check(self, p: Parser, what: str, expected: tuple[int, ...]) -> None:
        """Refuse sizes that the type contradicts."""
        if len(self.sizes) != len(expected):
            p.fail(
                f"expected {what} declaration to contain {len(expected)} elements due to tensor_view type, but "
                f"{len(self.sizes)} were provided",
                self.at,
            )
        for index, ((got, at), want) in enumerate(zip(self.sizes, expected)):
            if got != want:
                shown = ["dynamic" if size == DYNAMIC else str(size) for size in (want, got)]
                p.fail(
                    f"input {what} dimension {index} does not match tensor_view type (expected {shown[0]}, "
                    f"got {shown[1]})",
                    at,
                )


FORMS: dict[type[Op], type[Form]] = {
    Module: ModuleForm,
    Entry: EntryForm,
    TestFunc: TestFuncForm,
    For: ForForm,
    Loop: LoopForm,
    MakeTensorView: MakeTensorViewForm,
}
