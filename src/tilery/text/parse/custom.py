"""Parse the operations whose text no format string can describe; `print.custom` prints them."""

from __future__ import annotations

from collections.abc import Callable

from ...attrs import DictAttr
from ...ir import Block, Op
from ...ops import Entry, For, Loop, MakeTensorView, Module, TestFunc
from ...types import DYNAMIC, Function, Ptr, TensorView, Tile, Type, full_text
from .attributes import parse_dictionary, parse_hints, skip_location
from .names import parse_operand, parse_symbol_name, resolve
from .regions import parse_arguments
from .state import Body, Mark, OpenRegion, Operand, OperationState, ParsedArgument, Parser
from .types import parse_type, parse_types


def _module(s: OperationState, p: Parser, at: int) -> Body:
    """`module @name attributes {producer = "x"} { ... }`"""
    s.values["sym_name"] = parse_symbol_name(p)
    if p.accept("attributes"):
        s.attrs.update(parse_dictionary(p))
    s.values["body"] = (yield OpenRegion()) or Block()
    return s.build(p, at)


def _entry(s: OperationState, p: Parser, at: int) -> Body:
    """`entry @name(%p: tile<f32>) optimization_hints=<...> { ... } {discardable}`"""
    args = _signature(s, p)
    if p.accept("optimization_hints"):
        p.expect("=")
        s.values["optimization_hints"] = parse_hints(p)
    return (yield from _function(s, p, at, args))


def _test_func(s: OperationState, p: Parser, at: int) -> Body:
    """`testing$func @name(%p: tile<f32>) -> tile<f32> { ... } {discardable}`"""
    args = _signature(s, p)
    return (yield from _function(s, p, at, args))


def _signature(s: OperationState, p: Parser) -> list[ParsedArgument]:
    """`@name(%a: type {attributes}) -> (types)`"""
    s.values["sym_name"] = parse_symbol_name(p)
    args = parse_arguments(p)
    results: list[Type] = []
    if p.accept("->"):
        if not p.accept("("):
            results = [parse_type(p)]
        elif not p.accept(")"):
            results = _result_list(p)
    s.values["function_type"] = Function([a.type for a in args], results)
    if any(a.attrs for a in args):
        s.values["arg_attrs"] = tuple(DictAttr(tuple(sorted(a.attrs.items()))) for a in args)
    return args


def _result_list(p: Parser) -> list[Type]:
    types: list[Type] = []
    while True:
        types.append(parse_type(p))
        if p.tok == "{":
            parse_dictionary(p)  # NVIDIA's parser drops the attributes of results
        if not p.accept(","):
            p.expect(")")
            return types


def _function(s: OperationState, p: Parser, at: int, args: list[ParsedArgument]) -> Body:
    s.values["body"] = s.terminated(p, (yield OpenRegion(args)), at)
    if p.tok == "{":
        s.attrs.update(parse_dictionary(p))
    return s.build(p, at)


# ---------------------------------------------------------------- loops


def _for(s: OperationState, p: Parser, at: int) -> Body:
    """`for unsigned %i in (%lb to %ub, step %s) : type iter_values(%a = %b) -> (type) { ... }`"""
    s.values["unsignedCmp"] = p.accept("unsigned")
    counter = parse_operand(p)
    p.keyword("in")
    p.expect("(")
    s.uses["lowerBound"] = [parse_operand(p)]
    p.keyword("to")
    s.uses["upperBound"] = [parse_operand(p)]
    p.expect(",")
    p.keyword("step")
    s.uses["step"] = [parse_operand(p)]
    p.expect(")")
    p.expect(":")
    type = parse_type(p)
    for name in ("lowerBound", "upperBound", "step"):
        s.types[name] = [type]
    inner: list[Operand] = []
    types: list[Type] = []
    if p.accept("iter_values"):
        inner, s.uses["initValues"] = _assignments(p)
        p.expect("->")
        p.expect("(")
        types = parse_types(p)
        p.expect(")")
        if len(types) != len(inner):
            p.fail("mismatch in number of loop-carried values and defined values", (at, -1))
    s.types["initValues"] = s.types["resultValues"] = types
    args = [ParsedArgument(counter, type), *(ParsedArgument(use, t) for use, t in zip(inner, types))]
    return (yield from _loop_body(s, p, at, args))


def _loop(s: OperationState, p: Parser, at: int) -> Body:
    """`loop iter_values(%a = %b) : type -> type { ... }`"""
    inner: list[Operand] = []
    types: list[Type] = []
    results: list[Type] = []
    if p.accept("iter_values"):
        inner, s.uses["initValues"] = _assignments(p)
        p.expect(":")
        types = parse_types(p)
        if len(types) != len(inner):
            p.fail("found different number of iter_values and types")
        if p.accept("->"):
            results = parse_types(p)
    elif p.accept(":"):
        results = parse_types(p)
    s.types["initValues"], s.types["resultValues"] = types, results
    return (yield from _loop_body(s, p, at, [ParsedArgument(use, t) for use, t in zip(inner, types)]))


def _loop_body(s: OperationState, p: Parser, at: int, args: list[ParsedArgument]) -> Body:
    s.values["region"] = s.terminated(p, (yield OpenRegion(args)), at)
    if p.tok == "{":
        s.attrs.update(parse_dictionary(p))
    return s.build(p, at)


def _assignments(p: Parser) -> tuple[list[Operand], list[Operand]]:
    """Read `(%a = %b, ...)`: the names inside the region, and their initial values."""
    p.expect("(")
    inner: list[Operand] = []
    outer: list[Operand] = []
    more = not p.accept(")")
    while more:
        inner.append(parse_operand(p))
        skip_location(p)
        p.expect("=")
        outer.append(parse_operand(p))
        if not (more := p.accept(",")) and not p.accept(")"):
            p.wrong("expected ',' or ')'")
    return inner, outer


# ---------------------------------------------------------------- make_tensor_view


def _make_tensor_view(s: OperationState, p: Parser, at: int) -> Op:
    """`make_tensor_view %base, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<...>`"""
    s.uses["base"] = [parse_operand(p)]
    p.expect(",")
    p.keyword("shape")
    p.expect("=")
    shape = _Mixed(p)
    p.expect(",")
    p.keyword("strides")
    p.expect("=")
    strides = _Mixed(p)
    if p.tok == "{":
        s.attrs.update(parse_dictionary(p))
    p.expect(":")
    types = parse_types(p)
    dynamic = bool(shape.uses or strides.uses)
    if dynamic or p.tok == "->":
        p.expect("->")
        view = parse_type(p)
    else:
        view = types.pop()
    if not isinstance(view, TensorView):
        p.fail(f"expected 'tensor_view' type, but got '{full_text(view)}'")
    # The type of the pointer is written only if it does not follow from the view.
    base = types.pop(0) if len(types) > dynamic else Tile((), Ptr(view.element))
    resolve(p, s.uses["base"][0], base)
    shape.check(p, "shape", view.shape)
    strides.check(p, "stride", view.strides)
    s.uses["dynamicShape"], s.uses["dynamicStrides"] = shape.uses, strides.uses
    s.types["base"], s.types["result"] = [base], [view]
    s.types["dynamicShape"] = types[:1] * len(shape.uses)
    s.types["dynamicStrides"] = types[:1] * len(strides.uses)
    return s.build(p, at)


class _Mixed:
    """Sizes that are numbers or values: `[%n, 64]`."""

    def __init__(self, p: Parser) -> None:
        self.at = p.mark()
        self.uses: list[Operand] = []
        p.expect("[")
        self.sizes: list[tuple[int, Mark]] = p.listed("]", lambda: self._size(p))

    def _size(self, p: Parser) -> tuple[int, Mark]:
        at = p.mark()
        if p.tok[:1] == "%":
            self.uses.append(parse_operand(p))
            return DYNAMIC, at
        value = p.optional_integer()
        if value is None:
            p.fail("expected either integer or SSA value")
        return value, at

    def check(self, p: Parser, what: str, expected: tuple[int, ...]) -> None:
        """Refuse sizes that contradict the type."""
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


FORMS: dict[type[Op], Callable[[OperationState, Parser, int], Op | Body]] = {
    Module: _module,
    Entry: _entry,
    TestFunc: _test_func,
    For: _for,
    Loop: _loop,
    MakeTensorView: _make_tensor_view,
}
"""For each operation, the function that reads the text after its name."""
