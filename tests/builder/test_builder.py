"""The builder: what calls and operators build, and what they refuse."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilery
from tilery import Builder, TileError, Value, types
from tilery.attrs import Dense, FloatAttr, OptimizationHints
from tilery.builder import f16, f32, i1, i4, i8, i32, i64, ptr, tile
from tilery.builder.calls import methods
from tilery.manual.methods import STUB, stub
from tilery.ops import Constant, TruncI, registered
from tilery.source import places


def names(b: Builder) -> list[str]:
    """The operations of the only kernel, without constants and the final return."""
    return [o.name for o in tilery.walk(b.module.entries[0].body) if o.name not in ("constant", "return")]


def built(run: Callable[[Builder, Any], object], **params: Any) -> list[str]:
    """The operations that a function builds in a kernel with these parameters; the module must be legal."""
    b = Builder()
    with b.entry("k", **params) as k:
        run(b, k)
    assert tilery.verify(b.module) == []
    return names(b)


def refused(run: Callable[[Builder, Any], object], **params: Any) -> TileError:
    b = Builder()
    with pytest.raises(TileError) as caught, b.entry("k", **params) as k:
        run(b, k)
    return caught.value


# ---------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("run", "ints", "floats"),
    [
        (lambda x, y: x + y, "addi", "addf"),
        (lambda x, y: x - y, "subi", "subf"),
        (lambda x, y: x * y, "muli", "mulf"),
        (lambda x, y: x // y, "divi", ""),
        (lambda x, y: x / y, "", "divf"),
        (lambda x, y: x % y, "remi", "remf"),
        (lambda x, y: x**y, "", "fpowf"),
        (lambda x, y: x & y, "andi", ""),
        (lambda x, y: x | y, "ori", ""),
        (lambda x, y: x ^ y, "xori", ""),
        (lambda x, y: x << y, "shli", ""),
        (lambda x, y: x >> y, "shri", ""),
        (lambda x, y: x < y, "cmpi", "cmpf"),
        (lambda x, y: x <= y, "cmpi", "cmpf"),
        (lambda x, y: x > y, "cmpi", "cmpf"),
        (lambda x, y: x >= y, "cmpi", "cmpf"),
        (lambda x, y: -x, "negi", "negf"),
        (lambda x, y: abs(x), "absi", "absf"),
        (lambda x, y: ~x, "xori", ""),
        (lambda x, y: 1 - x, "subi", "subf"),
    ],
)
def test_operators(run: Callable[[Value, Value], Value], ints: str, floats: str) -> None:
    for element, name in ((i32, ints), (f32, floats)):
        if name:
            assert built(lambda b, k: run(k.x, k.y), x=element, y=element) == [name]
        else:
            assert "is not defined for" in refused(lambda b, k: run(k.x, k.y), x=element, y=element).message


def test_operators_compute_what_python_computes() -> None:
    """Signed comparison and arithmetic on the engine, with numbers on either side."""
    b = Builder()
    with b.entry("k", out=ptr(i32), x=i32) as k:
        made = [k.x + 1, 10 - k.x, k.x * -3, k.x >> 1, ~k.x, -k.x, abs(k.x), b.cast(k.x < 0, i32, signed=False)]
        made += [b.maximum(k.x, 3), b.minimum(3, k.x), b.select(b.eq(k.x, -7), 5, k.x), k.x // 2, k.x % 4]
        for index, value in enumerate(made):
            b.store_ptr(k.out + index, value)
    out = np.zeros(len(made), np.int32)
    tilery.compile(b.module).launch(1, [out, -7])
    assert out.tolist() == [-6, 17, 21, -4, 6, 7, 7, 1, 3, -7, 5, -3, -3]


def test_shapes_broadcast() -> None:
    def run(b: Builder, k: Any) -> None:
        column = b.reshape(b.iota(4), 4, 1)
        assert (column * b.iota(8) + k.x).type is tile((4, 8), i32)

    assert built(run, x=i32) == [
        "iota", "reshape", "iota", "broadcast", "reshape", "broadcast", "muli", "reshape", "broadcast", "addi",
    ]  # fmt: skip
    why = refused(lambda b, k: b.iota(4) + b.iota(8))
    assert why.message == "'+': the shapes [4] and [8] do not broadcast"


def test_pointers_advance() -> None:
    assert built(lambda b, k: [k.p + 1, k.n + k.p], p=ptr(f32), n=i32) == ["offset", "offset"]


def test_operators_need_an_open_builder() -> None:
    value = Value(tile((), i32))
    with pytest.raises(TileError, match=r"'\+' on values needs an open builder"):
        value + 1


def test_types_on_both_sides_must_agree() -> None:
    why = refused(lambda b, k: k.x + k.y, x=f32, y=i32)
    assert why.message == "'+' needs the same type on both sides, got tile<f32> and tile<i32>"
    assert why.notes == ["convert one of them with cast(...)"]


def test_python_cannot_branch_on_a_comparison() -> None:
    assert "known only when the kernel runs" in refused(lambda b, k: 1 if k.x < 3 else 2, x=i32).message
    b = Builder()
    with b.entry("k", x=i32) as k:
        below = k.x < 3
    assert below.__class__ is Value and bool(below)  # a plain value of the IR again


# ---------------------------------------------------------------- constants


@pytest.mark.parametrize("element", types.SCALARS.values(), ids=str)
def test_constants_of_every_type(element: types.Scalar) -> None:
    b = Builder()
    with b.entry("k"):
        made = b.const([1, 2] if element is not i1 else [1, 0], element)
    assert made.type is tile((2,), element) and tilery.verify(b.module) == []
    constant = made.owner
    two = 2 if element is not i1 else 0
    wanted = [FloatAttr.of(element, v).bits if element.is_float else v for v in (1, two)]
    if element is i4:  # there are no constants of i4
        assert isinstance(constant, TruncI)
        constant = constant.from_.owner
        element = i8
    assert isinstance(constant, Constant)
    assert constant.value == Dense.of(tile((2,), element), wanted)


@pytest.mark.parametrize(
    ("value", "type", "wanted"),
    [
        (1.5, None, "tile<f32>"),
        (3, None, "tile<i32>"),
        (True, None, "tile<i1>"),
        ([1.5, -2.5], None, "tile<2xf32>"),
        ([[1, 2], [3, -4]], None, "tile<2x2xi32>"),
        (-1, "tile<64x64xi8>", "tile<64x64xi8>"),
        (np.arange(4), None, "tile<4xi64>"),
        (np.array([1, 2], np.uint8), None, "tile<2xi8>"),
        (np.float64(0.1), None, "tile<f64>"),
        (np.float16(0.1), "bf16", "tile<bf16>"),
        (np.array([0.1, 0.2], ml_dtypes.bfloat16), None, "tile<2xbf16>"),
        (np.array([1, 2], ml_dtypes.float8_e4m3fn), None, "tile<2xf8E4M3FN>"),
        (np.array([-1, 2], ml_dtypes.int4), None, "tile<2xi4>"),
        (np.array([True, False]), None, "tile<2xi1>"),
    ],
)
def test_constants_of_python_and_numpy(value: Any, type: str | None, wanted: str) -> None:
    b = Builder()
    with b.entry("k"):
        made = b.const(value, type)
    assert made.type is types.parse(wanted)


def test_numpy_and_the_constant_agree() -> None:
    numbers = np.array([0.1, -0.0, 0.0, np.inf, np.nan, 65504.0, 1e-7, -3.0])
    b = Builder()
    with b.entry("k"):
        made = b.const(numbers, f16)
    assert isinstance(made.owner, Constant)
    assert made.owner.value.data == numbers.astype(np.float16).tobytes()


@pytest.mark.parametrize(
    ("value", "type", "said"),
    [
        (300, "i8", "value 300 does not fit in 8 bits"),
        ([1, 2, 3, 4], "tile<2xi32>", "a constant of type tile<2xi32> cannot have the shape [4]"),
        ("x", f32, "a constant is a number, a list of numbers or an array, got 'x'"),
        (1, "token", "a constant cannot have the type token"),
        ([1, 2, 3], i32, "all dimensions must be powers of two, got 3"),
        (0.5, i32, "0.5 is not an integer, and i32 holds integers"),
    ],
)
def test_constants_that_are_refused(value: Any, type: Any, said: str) -> None:
    assert refused(lambda b, k: b.const(value, type)).message == said


# ---------------------------------------------------------------- operations by name


def test_every_operation_is_a_method() -> None:
    b = Builder()
    assert {d.mnemonic for d in registered()} == {d.mnemonic for d in methods().values()}
    for name, opdef in methods().items():
        assert name in dir(b)
        if name not in Builder.__dict__ and not opdef.regions:
            shown = set(inspect.signature(getattr(b, name)).parameters)
            assert shown == {f.attr for f in opdef.fields if f.role != "state"}
            assert getattr(b, name).__doc__ == opdef.cls.__doc__


def test_keywords_and_types_as_text() -> None:
    def run(b: Builder, k: Any) -> None:
        x = b.addf(k.x, 1.5, rounding_mode="zero", flush_to_zero=True)
        b.ftoi(x, "signed", to="tile<i32>")
        b.assume(k.n, tilery.attrs.DivBy(16))
        b.atomic_rmw_tko("relaxed", "device", k.p, "addf", x)

    assert built(run, x=f32, n=i32, p=ptr(f32)) == ["addf", "ftoi", "assume", "atomic_rmw_tko"]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda b, k: b.addf(k.x, k.n), "addf: 'rhs' must be tile of f16 or bf16 or f32 or f64 values, got tile<i32>"),
        (lambda b, k: b.addf(k.x, k.y),
         "addf: 'cuda_tile.addf' op failed to verify that all of {lhs, rhs, result} have same type"),
        (lambda b, k: b.addf(1.0, 2.0),
         "addf: 'lhs' is the number 1.0, and no other argument determines its type; use const(number, type)"),
        (lambda b, k: b.addf(k.x, "x"), "addf: 'rhs' must be a value or a number, got 'x'"),
        (lambda b, k: b.addf(k.x, k.x, rounding_mode="up"),
         "'rounding_mode' cannot be 'up', expected one of nearest_even, zero, negative_inf, positive_inf"),
        (lambda b, k: b.addi(k.n, 1.5), "addi: 'rhs': 1.5 is not an integer, and i32 holds integers"),
        (lambda b, k: b.load(k.n, 0), "load: 'view' must be a view of tiles, got tile<i32>; make one with view(...)"),
        (lambda b, k: b.load(b.view(k.p, 64, tile=8), (0, 1)),
         "load: 'index' must have 1 items for partition_view<tile=(8), tensor_view<64xf32, strides=[1]>>, got 2"),
        (lambda b, k: b.view(k.p, tile=8), "view: 'shape' is missing: the sizes of the tensor at the pointer"),
        (lambda b, k: b.tensor(k.n, 8), "tensor: 'base' must be a pointer, got tile<i32>"),
        (lambda b, k: b.view(k.p, 64, tile=8, padding="one"),
         "'one' is not a PaddingValue, expected one of zero, neg_zero, nan, pos_inf, neg_inf"),
        (lambda b, k: b.reduce(b.iota(4), lambda p, q: p + q, 0, dim=1),
         "reduce: 'dim' must be in [-1, 1), got 1"),
        (lambda b, k: b.for_(0, k.x).__enter__(),
         "for: 'cuda_tile.for' op operand #0 must be 0D tile of i1 or i8 or i16 or i32 or i64 values, but got "
         "'!cuda_tile.tile<f32>'"),
        (lambda b, k: b.permute(b.iota(4), 3), "permute: tuple index out of range"),
        (lambda b, k: b.get_global("t"), "get_global: the module has no variable 't'; its variables: none"),
        (lambda b, k: b.yield_(k.n), "yield: 'cuda_tile.yield' op expects parent op to be one of "
         "'cuda_tile.if, cuda_tile.reduce, cuda_tile.scan'"),
    ],
)  # fmt: skip
def test_errors_name_the_argument_and_the_rule(run: Callable[[Builder, Any], object], said: str) -> None:
    assert refused(run, x=f32, y="f64", n=i32, p=ptr(f32)).message == said


def test_an_error_shows_the_types_of_the_arguments() -> None:
    why = refused(lambda b, k: b.addf(k.x, k.y), x=f32, y="f64")
    assert why.notes == ["the arguments: lhs: %x: tile<f32>; rhs: %y: tile<f64>"] and why.field == "result"


def test_python_errors_name_the_operation() -> None:
    b = Builder()
    with pytest.raises(TypeError, match=r"addf: missing a required argument: 'rhs'; it is addf.lhs, rhs,"):
        b.addf(1)  # type: ignore[call-arg]  # mypy knows the methods
    with pytest.raises(AttributeError, match="no method or operation 'adf'; did you mean 'addf'"):
        b.adf  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TileError, match="iota: no kernel is open"):
        b.iota(4)


# ---------------------------------------------------------------- control flow


def test_for_with_carried_values() -> None:
    b = Builder()
    with b.entry("k", out=ptr(i32), n=i32) as k:
        loop = b.for_(0, k.n, carry=[b.const(0), b.const(1)])
        with loop as (_, x, y):
            b.continue_(y, x + y)
        b.store_ptr(k.out, loop.results[0])
        assert b.results == loop.results
    out = np.zeros(1, np.int32)
    tilery.compile(b.module).launch(1, [out, 10])
    assert out[0] == 55


def test_if_else_and_loop() -> None:
    b = Builder()
    with b.entry("collatz", out=ptr(i32), n=i32) as k:
        loop = b.loop(carry=[k.n, b.const(0)])
        with loop as (x, steps):
            with b.if_(x <= 1):
                b.break_(steps)
            with b.if_(b.eq(x % 2, 0)):
                b.yield_(x // 2)
            with b.else_():
                b.yield_(x * 3 + 1)
            b.continue_(b.result, steps + 1)
        b.store_ptr(k.out, loop.result)
    assert tilery.verify(b.module) == []
    out = np.zeros(1, np.int32)
    tilery.compile(b.module).launch(1, [out, 27])
    assert out[0] == 111


def test_reduce_and_scan_with_functions() -> None:
    b = Builder()
    with b.entry("k", out=ptr(i32), data=ptr(i32)) as k:
        x = b.load(b.view(k.data, 8, tile=8), 0)
        best, at = b.reduce([x, b.iota(8)], lambda p, q, i, j: (b.maximum(p, q), b.select(p >= q, i, j)), [-(2**31), 0])
        b.store_ptr(k.out, best)
        b.store_ptr(k.out + 1, at)
        b.store(b.view(k.out + 2, 8, tile=8), 0, b.scan(x, lambda p, q: p + q, 0))
        b.store_ptr(k.out + 10, b.min(x))
    out, data = np.zeros(11, np.int32), np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
    tilery.compile(b.module).launch(1, [out, data])
    assert out.tolist() == [9, 5, *np.cumsum(data), 1]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda b, k: b.else_(), "else_: it must directly follow the block of an if_"),
        (lambda b, k: [b.return_(), b.iota(4)], "iota: the block has already ended with 'return'"),
        (lambda b, k: b.reduce(b.iota(4), lambda p, q: 1, 0), "reduce: 'combine' must return 1 values, got 1"),
    ],
)
def test_misused_regions(run: Callable[[Builder, Any], object], said: str) -> None:
    assert refused(run).message == said


def test_a_body_must_pass_its_values_on() -> None:
    def run(b: Builder, k: Any) -> None:
        with b.for_(0, k.n, carry=[k.n]):
            pass

    assert refused(run, n=i32).message == "for: the body must end with continue_(...) of tile<i32>"


def test_values_stay_inside_their_region() -> None:
    def run(b: Builder, k: Any) -> None:
        with b.for_(0, k.n, carry=[k.n]) as (_, acc):
            b.continue_(acc + 1)
        b.addi(k.n, acc)

    why = refused(run, n=i32)
    assert why.message == "addi: 'rhs' was defined inside a 'for' that has ended"
    assert why.notes == ["results leave it through continue_, break_ or yield_; read them from 'results'"]


def test_both_branches_must_agree() -> None:
    def run(b: Builder, k: Any) -> None:
        with b.if_(k.c):
            b.yield_(k.n)
        with b.else_():
            b.yield_(k.c)

    assert "else branch yields '!cuda_tile.tile<i1>'" in refused(run, n=i32, c=i1).message


# ---------------------------------------------------------------- modules


def test_globals_and_hints() -> None:
    b = Builder()
    table = b.global_("table", [1.5, 2.5], f32, alignment=16)
    with b.entry("k", out=ptr(f32), hints={"sm_100": {"num_cta_in_cga": 2}}) as k:
        b.store_ptr(k.out, b.load_ptr(b.get_global(table) + 1))
    out = np.zeros(1, np.float32)
    tilery.compile(b.module).launch(1, [out])
    assert out[0] == 2.5
    written = tilery.parse("entry @k() optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {}").entries[0]
    made = b.module.entry("k").optimization_hints
    assert isinstance(made, OptimizationHints) and made == written.optimization_hints
    with pytest.raises(TileError, match="already has a symbol 'k'"):
        b.entry("k")


def test_insertion_into_a_module_that_was_read() -> None:
    module = tilery.parse('entry @k(%n: tile<i32>) { %0 = print_tko "%d", %n : tile<i32> -> token return }')
    body = module.entries[0].body
    b = Builder(module)
    with b.at(body, before=body.ops[0]):
        b.assert_(body.args[0] > 0, "positive")
    assert tilery.verify(module) == []
    assert [o.name for o in body.ops] == ["constant", "cmpi", "assert", "print_tko", "return"]


def test_views_of_every_kind() -> None:
    def run(b: Builder, k: Any) -> None:
        tensor = b.tensor(k.p, (k.n, 64, 2))
        assert tensor.type.text == "tensor_view<?x64x2xf32, strides=[128,2,1]>"
        assert b.view(k.p, (64, k.n), tile=(8, 8)).type.text.endswith("strides=[?,1]>>")
        assert b.view(k.p, (64, 8), tile=(8, 8), traversal=(4, 8)).type.text.startswith("strided_view")
        assert b.view(k.p, (64, 8), tile=(8, 8), sparse_dim=0).type.text.startswith("gather_scatter_view")
        b.load(b.view(k.p, (64, k.n), tile=(8, 8)), (b.cast(k.n, i64), 0))

    built(run, p=ptr(f32), n=i32)


def test_locations_are_the_callers_lines() -> None:
    b = Builder(locs=True)
    with b.entry("k", n=i32) as k:
        k.n + 1
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    add = next(o for o in b.module.entries[0].body.ops if o.name == "addi")
    (place,) = places(add.loc)
    assert (Path(place.file).name, place.line, place.column) == (Path(__file__).name, line, 9)
    again = tilery.load(tilery.dumps(b.module))
    assert tilery.equal(again, b.module)


def test_parameters_are_named() -> None:
    b = Builder()
    with b.entry("k", x=i8, y="tile<ptr<f32>>") as k:
        assert [*k] == [k.x, k["y"]] and dir(k) == ["x", "y"]
        with pytest.raises(AttributeError, match="no parameter 'z', it has x, y"):
            k.z  # noqa: B018


def test_the_stub_is_fresh_and_has_every_method() -> None:
    assert STUB.read_text("utf-8") == stub(), "run `make docs`"
    own = {name for cls in Builder.__mro__ for name in vars(cls)}
    missing = [name for name, opdef in methods().items() if not opdef.regions and f"    def {name}(" not in stub()]
    assert set(missing) <= own


# ---------------------------------------------------------------- names of parameters


def test_text_and_errors_keep_the_names_of_parameters() -> None:
    b = Builder()
    with b.entry("k", data=ptr(f32), n=i32) as k:
        b.store_ptr(k.data + k.n, b.const(1.0))
    assert "entry @k(%data: tile<ptr<f32>>, %n: tile<i32>) {" in str(b.module)
    assert "offset %data, %n" in str(b.module.entries[0])
    assert "entry @k(%arg0: " in tilery.show(b.module)  # as tileirdisasm prints
    assert "entry @k(%data: " in tilery.show(b.module, names="source")
    assert tilery.equal(tilery.parse(str(b.module)), b.module)
    assert "entry @k(%data: " in str(tilery.clone(b.module))
    kernel = tilery.compile(b.module)
    with pytest.raises(TileError, match="argument 'data': an array of int32 cannot be passed"):
        kernel.launch(1, [np.zeros(4, np.int32), 0])
    with pytest.raises(TileError, match="0 bytes after the end of argument 'data'") as caught:
        kernel.launch(1, [np.zeros(4, np.float32), 4])
    assert caught.value.kind is tilery.ErrorKind.BOUNDS
    with pytest.raises(TileError, match="argument 'first'"):
        kernel.launch(1, [1.5, 4], names=["first"])


# ---------------------------------------------------------------- positions of a frontend


def test_positions_of_a_frontend() -> None:
    b = Builder()
    with b.entry("k", out=ptr(f32), n=i32) as k, b.loc("/src/kernel.lang", 4, 3):
        where = k.out + k.n
        with b.loc("/src/lib.lang", 9):
            one = b.const(1.0)
        b.store_ptr(where, one)
    module = tilery.load(tilery.dumps(b.module))
    found = {o.name: [(p.file, p.line, p.column) for p in places(o.loc)] for o in tilery.walk(module)}
    assert found["offset"] == found["store_ptr_tko"] == found["entry"] == [("/src/kernel.lang", 4, 3)]
    assert found["constant"] == [("/src/lib.lang", 9, 0)] and found["return"] == []
    with pytest.raises(TileError) as caught:
        tilery.compile(module).launch(1, [np.zeros(1, np.float32), 1])
    assert "/src/kernel.lang:4" in str(caught.value)


@pytest.mark.parametrize("place", [("", 1), ("f", "1"), ("f", -1), ("f", 1, 1 << 32), (None, 1)])
def test_positions_that_are_refused(place: Any) -> None:
    with pytest.raises(TileError, match=r"^error: loc: "), Builder().loc(*place):
        pass


# ---------------------------------------------------------------- values of other kernels


def test_values_of_another_kernel_are_refused_at_the_call() -> None:
    b, other = Builder(), Builder()
    with b.entry("a", p=ptr(f32)) as a:
        x = b.load_ptr(a.p)
    with other.entry("z", p=ptr(f32)) as z:
        foreign = other.load_ptr(z.p)
    with b.entry("b", p=ptr(f32)) as k:
        for value in (x, a.p):
            with pytest.raises(TileError, match="is a value of the kernel 'a'"):
                b.print_tko("", [value], token=None)
        with pytest.raises(TileError, match="addf: 'rhs' is a value of another module"):
            b.addf(b.load_ptr(k.p), foreign)
        b.store_ptr(k.p, b.const(1.0))
    assert not tilery.verify(b.module)


def test_values_of_operations_that_were_added_by_hand_are_known() -> None:
    b = Builder()
    with b.entry("k", p=ptr(i32)) as k:
        made = Constant(value=Dense.of(tile((), i32), [7]))
        b.module.entries[0].body.ops.append(made)
        b.store_ptr(k.p, made.result)
    assert not tilery.verify(b.module)
