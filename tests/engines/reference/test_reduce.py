"""Reductions and scans of the reference engine, against loops over elements in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.declare.relations import ELEMENTWISE
from tilery.engines.common.tiles import Array
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.ops.reduce import reduce, scan
from tilery.ir import Block, Refused, walk
from tilery.ops import Reduce, Scan, registered

SHAPES = [
    *(((n,), 0) for n in (1, 2, 32, 64, 256, 1024)),
    *(((32, 64), dim) for dim in (0, 1)),
    *(((16, 32), dim) for dim in (0, 1)),
    *(((4, 8, 16), dim) for dim in (0, 1, 2)),
    *(((2, 1, 256), dim) for dim in (0, 1, 2)),
    ((1, 512), 1),
]
SUB = "%r = subf %x, %y : tile<f64> yield %r : tile<f64>"
MIX = """%a = constant <i64: 3> : tile<i64> %b = muli %x, %a : tile<i64>
    %c = constant <i64: 5> : tile<i64> %d = muli %y, %c : tile<i64>
    %r = addi %b, %d : tile<i64> yield %r : tile<i64>"""


class Fake:
    """A batch whose bodies are Python functions of one element's arguments."""

    def __init__(self, body: Callable[..., Sequence[Any]], lanes: int = 1) -> None:
        self.body, self.lanes = body, lanes

    def call(self, block: Block, args: Sequence[Array], each: int) -> tuple[Array, ...]:
        size = max(map(len, args))
        assert all(len(a) in (each, size) for a in args)
        whole = [np.resize(a, size) for a in args]
        rows = [self.body(*row) for row in zip(*whole)]
        return tuple(np.array(column, a.dtype) for column, a in zip(zip(*rows), args[::2]))


UNUSED = Fake(lambda *args: args[::2])


def operation(
    kind: str, shape: tuple[int, ...], dim: int, body: str, elements: Sequence[str], reverse: bool = False
) -> Any:
    """A reduce or scan with that body, whose arguments are x, y, and x1, y1 for the second operand."""
    dims = "".join(f"{d}x" for d in shape)
    left = "".join(f"{d}x" for i, d in enumerate(shape) if i != dim or kind == "scan")
    names = [("x", "y"), ("x1", "y1")]
    params = ", ".join(f"%{n}: tile<{e}>" for e, pair in zip(elements, names) for n in pair)
    constants = "".join(f"%v{i} = constant <{e}: 0> : tile<{dims}{e}>\n" for i, e in enumerate(elements))
    zeros = ", ".join("0.0 : " + e if e[0] == "f" else "0 : " + e for e in elements)
    text = f"""cuda_tile.module @m {{ entry @k() {{
      {constants.replace(": 0>", ": 0.0>") if elements[0][0] == "f" else constants}
      %o:{len(elements)} = {kind} {", ".join(f"%v{i}" for i in range(len(elements)))} dim={dim}
        {f"reverse={str(reverse).lower()}" if kind == "scan" else ""} identities=[{zeros}]
        : {", ".join(f"tile<{dims}{e}>" for e in elements)} -> {", ".join(f"tile<{left}{e}>" for e in elements)}
        ({params}) {{ {body} }}
      return }} }}"""
    return next(o for o in walk(tilery.parse(text)) if isinstance(o, (Reduce, Scan)))


def numbers(lanes: int, shape: tuple[int, ...], dtype: Any) -> Array:
    made = np.random.default_rng(7).integers(-(2**40), 2**40, (lanes, *shape))
    if np.issubdtype(dtype, np.floating):
        return made * 2.0 ** np.random.default_rng(8).integers(-40, 40, made.shape).astype(dtype)
    return made.astype(dtype)


def lines(tile: Array, dim: int) -> dict[tuple[int, ...], list[Any]]:
    """The elements along a dimension, for each place in the others."""
    others = [range(n) for i, n in enumerate(tile.shape) if i != dim]
    moved = np.moveaxis(tile, dim, -1)
    return {place: moved[place].tolist() for place in itertools.product(*others)}


# ---------------------------------------------------------------- the order


def reduced(f: Callable[[Any, Any], Any], elements: list[Any], before: int, fold: bool) -> Any:
    """Reduce a line as 128 threads do, with `before` elements of others between two of its own."""
    held: dict[tuple[int, int], list[Any]] = {}
    for index, element in enumerate(elements):
        position = index * before
        held.setdefault((position // 32 % 4, position % 32), []).append(element)
    warps: dict[int, dict[int, Any]] = {}
    for (warp, lane), own in held.items():
        while len(own) > 1:
            own = [f(own[0], own[1]), *own[2:]] if fold else [f(a, b) for a, b in zip(own[::2], own[1::2])]
        warps.setdefault(warp, {})[lane] = own[0]
    return butterfly(f, {warp: butterfly(f, lanes, 16) for warp, lanes in warps.items()}, 2)


def butterfly(f: Callable[[Any, Any], Any], values: dict[int, Any], distance: int) -> Any:
    while distance:
        for key in sorted(values):
            if not key & distance and key + distance in values:
                values[key] = f(values[key], values.pop(key + distance))
        distance //= 2
    return values[0]


@pytest.mark.parametrize("shape,dim", SHAPES)
def test_one_operation_is_folded_in_the_order_of_the_gpu(shape: tuple[int, ...], dim: int) -> None:
    x = numbers(2, shape, np.float64)
    made = reduce(operation("reduce", shape, dim, SUB, ["f64"]), Fake(lambda x, y: [x - y]), (x,))[0]
    before = 1 if dim == len(shape) - 1 else x[0].size // shape[dim]
    for lane in range(2):
        for place, elements in lines(x[lane], dim).items():
            assert made[(lane, *place)] == reduced(lambda a, b: a - b, elements, before, fold=True)


@pytest.mark.parametrize("shape,dim", SHAPES)
def test_several_operations_are_paired_in_the_order_of_the_gpu(shape: tuple[int, ...], dim: int) -> None:
    x = numbers(2, shape, np.int64)
    made = reduce(operation("reduce", shape, dim, MIX, ["i64"]), Fake(lambda x, y: [3 * x + 5 * y]), (x,))[0]
    before = 1 if dim == len(shape) - 1 else x[0].size // shape[dim]
    for lane in range(2):
        for place, elements in lines(x[lane], dim).items():
            expected = reduced(lambda a, b: 3 * a + 5 * b, elements, before, fold=False)
            assert (int(made[(lane, *place)]) - expected) % 2**64 == 0


def scanned(f: Callable[[Any, Any], Any], elements: list[Any], group: int) -> list[Any]:
    """Groups by themselves, each element with those 1, 2, 4 and so on before; then group after group."""
    result: list[Any] = []
    total = None
    for start in range(0, len(elements), group):
        own = elements[start : start + group]
        distance = 1
        while distance < group:
            own = [f(own[i - distance], own[i]) if i >= distance else own[i] for i in range(group)]
            distance *= 2
        result += own if start == 0 else [f(total, a) for a in own]
        total = own[-1] if start == 0 else f(total, own[-1])
    return result


def lanes_along(shape: tuple[int, ...], dim: int) -> int:
    left = 32
    for size in shape[:dim]:
        left //= min(left, size)
    return min(left, shape[dim])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape,dim", SHAPES)
@pytest.mark.parametrize("body,f", [(SUB, lambda a, b: a - b), (MIX, lambda a, b: 3 * a + 5 * b)], ids=["sub", "mix"])
def test_scans_go_in_the_order_of_the_gpu(
    shape: tuple[int, ...], dim: int, reverse: bool, body: str, f: Callable[[Any, Any], Any]
) -> None:
    element, dtype = ("f64", np.float64) if body == SUB else ("i64", np.int64)
    x = numbers(1, shape, dtype)
    made = scan(operation("scan", shape, dim, body, [element], reverse), Fake(f), (x,))[0]
    assert made.shape == x.shape
    step = -1 if reverse else 1
    found = lines(made[0], dim)
    for place, elements in lines(x[0], dim).items():
        expected = scanned(f, elements[::step], lanes_along(shape, dim))[::step]
        if body == SUB:
            assert found[place] == expected
        else:
            assert all((a - b) % 2**64 == 0 for a, b in zip(found[place], expected))


# ---------------------------------------------------------------- what does not depend on the order


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_sum_is_the_sum(dim: int) -> None:
    x = numbers(3, (4, 8, 16), np.int64)
    body = "%r = addi %x, %y : tile<i64> yield %r : tile<i64>"
    made = reduce(operation("reduce", (4, 8, 16), dim, body, ["i64"]), Fake(lambda x, y: [x + y]), (x,))[0]
    for lane in range(3):
        assert {p: sum(v) for p, v in lines(x[lane], dim).items()} == dict(
            zip(lines(x[lane], dim), made[lane].reshape(-1).tolist())
        )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_running_sum_is_that_of_all_before(dim: int, reverse: bool) -> None:
    x = numbers(3, (4, 8, 16), np.int64)
    body = "%r = addi %x, %y : tile<i64> yield %r : tile<i64>"
    made = scan(operation("scan", (4, 8, 16), dim, body, ["i64"], reverse), Fake(lambda x, y: [x + y]), (x,))[0]
    step = -1 if reverse else 1
    for lane in range(3):
        found = lines(made[lane], dim)
        for place, elements in lines(x[lane], dim).items():
            assert found[place] == list(itertools.accumulate(elements[::step]))[::step]


ARGMAX = """%c = cmpi greater_than %x, %y, signed : tile<i64> -> tile<i1>
    %r = select %c, %x, %y : tile<i1>, tile<i64> %i = select %c, %x1, %y1 : tile<i1>, tile<i32>
    yield %r, %i : tile<i64>, tile<i32>"""


@pytest.mark.parametrize("left,right", [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_several_operands_are_reduced_together(left: int, right: int) -> None:
    x = numbers(left, (4, 64), np.int64)
    index = np.broadcast_to(np.arange(64, dtype=np.int32), (right, 4, 64))
    o = operation("reduce", (4, 64), 1, ARGMAX, ["i64", "i32"])
    body = Fake(lambda x, y, i, j: (x, i) if x > y else (y, j))
    most, where = reduce(o, body, (x, index))
    lanes = max(left, right)
    assert where.shape == (max(left, right), 4)
    for lane in range(lanes):
        for place, elements in lines(x[lane % left], 1).items():
            assert elements[where[(lane, *place)]] == max(elements) == most[(lane % len(most), *place)]


@pytest.mark.parametrize("kind", ["reduce", "scan"])
@pytest.mark.parametrize("body", [SUB, MIX], ids=["sub", "mix"])
def test_a_tile_block_gets_the_same_bits_in_any_batch(kind: str, body: str) -> None:
    element, dtype = ("f64", np.float64) if body == SUB else ("i64", np.int64)
    run: Any = {"reduce": reduce, "scan": scan}[kind]
    x = numbers(5, (256,), dtype)
    o = operation(kind, (256,), 0, body, [element])
    together = run(o, Fake(lambda x, y: [x]), (x,))[0]
    for lane in range(5):
        alone = run(o, Fake(lambda x, y: [x]), (x[lane : lane + 1],))[0]
        assert alone.tobytes() == together[lane : lane + 1].tobytes()


def test_operands_are_not_changed() -> None:
    x = numbers(2, (1024,), np.float64)
    before = x.copy()
    reduce(operation("reduce", (1024,), 0, SUB, ["f64"]), Fake(lambda x, y: [x - y]), (x,))
    scan(operation("scan", (1024,), 0, SUB, ["f64"]), Fake(lambda x, y: [x - y]), (x,))
    assert (x == before).all()


def test_a_body_may_ignore_its_operation() -> None:
    x = numbers(2, (1024,), np.float64)
    body = "%r = subf %x, %y : tile<f64> yield %x : tile<f64>"
    made = reduce(operation("reduce", (1024,), 0, body, ["f64"]), Fake(lambda x, y: [x]), (x,))[0]
    assert made.tolist() == x[:, 0].tolist()


@pytest.mark.parametrize("yielded,expected", [("%x", 0), ("%y", -1)])
def test_a_body_may_yield_an_argument(yielded: str, expected: int) -> None:
    x = numbers(2, (256,), np.int64)
    o = operation("reduce", (256,), 0, f"yield {yielded} : tile<i64>", ["i64"])
    assert reduce(o, Fake(lambda x, y: [x]), (x,))[0].tolist() == x[:, expected].tolist()


def test_a_body_may_yield_a_constant() -> None:
    body = "%c = constant <i64: 9> : tile<i64> yield %c : tile<i64>"
    x = numbers(2, (64,), np.int64)
    assert set(reduce(operation("reduce", (64,), 0, body, ["i64"]), Fake(lambda x, y: [9]), (x,))[0].tolist()) == {9}
    made = scan(operation("scan", (64,), 0, body, ["i64"]), Fake(lambda x, y: [9]), (x,))[0]
    assert made.shape == (2, 64) and (made[:, 0] == x[:, 0]).all() and (made[:, 1:] == 9).all()


def test_operations_that_bodies_execute_directly_have_plain_operands() -> None:
    for d in registered():
        if d.has(ELEMENTWISE) and d.cls in RUNS:
            assert all(f.arity == "one" for f in d.operands) and len(d.outs) == 1 and not RUNS[d.cls].batch


# ---------------------------------------------------------------- quick ways


def single(name: str, element: str, modifier: str = "") -> str:
    return f"%r = {name} %x, %y {modifier} : tile<{element}> yield %r : tile<{element}>"


INTEGERS: list[tuple[str, str, Callable[[int, int], int]]] = [
    ("addi", "", lambda a, b: a + b),
    ("muli", "", lambda a, b: a * b),
    ("andi", "", lambda a, b: a & b),
    ("ori", "", lambda a, b: a | b),
    ("xori", "", lambda a, b: a ^ b),
    ("maxi", "signed", max),
    ("mini", "signed", min),
    ("maxi", "unsigned", lambda a, b: max(a, b, key=lambda n: n % 256)),
    ("mini", "unsigned", lambda a, b: min(a, b, key=lambda n: n % 256)),
]


@pytest.mark.parametrize("name,modifier,f", INTEGERS, ids=[f"{n}_{m}" for n, m, _ in INTEGERS])
@pytest.mark.parametrize("dim", [0, 1])
def test_integers_are_combined_exactly(name: str, modifier: str, f: Callable[[int, int], int], dim: int) -> None:
    x = numbers(2, (4, 64), np.int8)
    body = single(name, "i8", modifier)
    total = reduce(operation("reduce", (4, 64), dim, body, ["i8"]), UNUSED, (x,))[0]
    running = scan(operation("scan", (4, 64), dim, body, ["i8"], reverse=True), UNUSED, (x,))[0]
    assert total.dtype == running.dtype == np.int8
    for lane in range(2):
        found = lines(running[lane], dim)
        for place, elements in lines(x[lane], dim).items():
            after = list(itertools.accumulate(elements[::-1], f))[::-1]
            assert (int(total[(lane, *place)]) - after[0]) % 256 == 0
            assert all((a - b) % 256 == 0 for a, b in zip(found[place], after))


@pytest.mark.parametrize("name", ["addi", "muli", "andi", "ori", "xori", "maxi", "mini"])
def test_bits_are_combined_as_the_operation_does(name: str) -> None:
    x = np.random.default_rng(2).integers(0, 2, (4, 8)).astype(bool)
    o = operation("reduce", (8,), 0, single(name, "i1", "signed" if name[:1] == "m" and name != "muli" else ""), ["i1"])
    expected = x[:, 0]
    for k in range(1, 8):
        expected = RUNS[o.body.ops[0].__class__].function(o.body.ops[0], expected, x[:, k])
    assert reduce(o, Fake(lambda x, y: [x]), (x,))[0].tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["maxf", "minf"])
@pytest.mark.parametrize("modifier", ["", "propagate_nan"])
@pytest.mark.parametrize("element,dtype", [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_extremes_of_zeros_and_nan_are_those_of_the_operation(
    name: str, modifier: str, element: str, dtype: Any
) -> None:
    rng = np.random.default_rng(4)
    x = rng.choice(np.array([-1, -0.0, 0.0, 1, np.nan], dtype), (16, 8), p=[0.1, 0.3, 0.3, 0.1, 0.2])
    o = operation("reduce", (8,), 0, single(name, element, modifier), [element])
    only = o.body.ops[0]
    function = RUNS[only.__class__].function
    made = reduce(o, Fake(lambda x, y: [x]), (x,))[0]
    for lane in range(16):
        expected = reduced(lambda a, b: function(only, a, b), [x[lane, k : k + 1] for k in range(8)], 1, True)
        assert made[lane : lane + 1].tobytes() == expected.tobytes()


def test_sums_have_the_nan_of_the_gpu_and_keep_the_sign_of_zero() -> None:
    x = np.zeros((3, 256), np.float32)
    x[0, 7], x[0, 9] = np.inf, -np.inf
    x[1] = -0.0
    x[2, 3] = np.array(0xFFC12345, np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        total = reduce(operation("reduce", (256,), 0, single("addf", "f32"), ["f32"]), Fake(lambda x, y: [x]), (x,))[0]
        running = scan(operation("scan", (256,), 0, single("addf", "f32"), ["f32"]), Fake(lambda x, y: [x]), (x,))[0]
    assert (
        total.view(np.uint32).tolist() == running[:, -1].view(np.uint32).tolist() == [0x7FFFFFFF, 1 << 31, 0x7FFFFFFF]
    )


def test_elements_that_are_combined_with_nothing_keep_their_bits() -> None:
    bits = [0xFFC12345, 0x3F800000]
    x = np.array([bits], np.uint32).view(np.float32)
    body = single("addf", "f32")
    alone = reduce(operation("reduce", (1,), 0, body, ["f32"]), UNUSED, (x[:, :1],))[0]
    running = scan(operation("scan", (2,), 0, body, ["f32"]), UNUSED, (x,))[0]
    back = scan(operation("scan", (2,), 0, body, ["f32"], reverse=True), UNUSED, (x[:, ::-1],))[0]
    assert alone.view(np.uint32).tolist() == bits[:1]
    assert running.view(np.uint32).tolist() == [[bits[0], 0x7FFFFFFF]]
    assert np.ascontiguousarray(back).view(np.uint32).tolist() == [[0x7FFFFFFF, bits[0]]]


# ---------------------------------------------------------------- whole kernels

KERNEL = """cuda_tile.module @m {{ entry @k(%out: tile<ptr<i32>>) {{
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %v = iota : tile<{size}xi32>
  %r = reduce %v dim=0 identities=[0 : i32] : tile<{size}xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {{
    {body}
    yield %z : tile<i32>
  }}
  %p = offset %out, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token
  return
}} }}"""
SUM = "%s = addi %x, %y : tile<i32>"


def launched(body: str, size: int, blocks: int = 5) -> list[int]:
    out = np.zeros(blocks, np.int32)
    tilery.compile(tilery.parse(KERNEL.format(size=size, body=body))).launch(blocks, [out])
    found: list[int] = out.tolist()
    return found


@pytest.mark.parametrize("size", [1, 2, 8, 512])
def test_a_body_may_use_values_from_outside(size: int) -> None:
    body = f"{SUM} %z = addi %s, %bx : tile<i32>"
    total = size * (size - 1) // 2
    assert launched(body, size) == [total + (size - 1) * block for block in range(5)]


def test_a_body_may_ask_for_the_tile_block() -> None:
    body = f"{SUM} %i, %j, %k = get_tile_block_id : tile<i32> %z = addi %s, %i : tile<i32>"
    assert launched(body, 8) == [28 + 7 * block for block in range(5)]


def test_a_body_may_branch() -> None:
    body = """%m = constant <i32: 37> : tile<i32> %n = constant <i32: 63> : tile<i32>
      %a = muli %x, %m : tile<i32> %b = andi %a, %n : tile<i32>
      %c = muli %y, %m : tile<i32> %d = andi %c, %n : tile<i32>
      %e = cmpi greater_than %b, %d, signed : tile<i32> -> tile<i1>
      %z = if %e -> (tile<i32>) { yield %x : tile<i32> } else { yield %y : tile<i32> }"""
    assert launched(body, 64) == [max(range(64), key=lambda n: n * 37 % 64)] * 5


def test_a_body_may_reduce() -> None:
    body = """%w = iota : tile<4xi32> %n = reduce %w dim=0 identities=[0 : i32] : tile<4xi32> -> tile<i32>
      (%p1: tile<i32>, %q1: tile<i32>) { %m = addi %p1, %q1 : tile<i32> yield %m : tile<i32> }
      %s = addi %x, %y : tile<i32> %z = addi %s, %n : tile<i32>"""
    assert launched(body, 8) == [28 + 7 * 6] * 5


def test_a_yielded_tile_of_several_elements_is_refused() -> None:
    class Wide(Fake):
        def call(self, block: Block, args: Sequence[Array], each: int) -> tuple[Array, ...]:
            return (np.zeros((len(args[0]), 4)),)

    o = operation("reduce", (8,), 0, SUB, ["f64"])
    o.body.ops[0:1] = []  # what it yields now comes from outside, so that the batch is asked
    with pytest.raises(Refused, match="must yield tiles of one element"):
        reduce(o, Wide(lambda x, y: [x]), (numbers(1, (8,), np.float64),))
