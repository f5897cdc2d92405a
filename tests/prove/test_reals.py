"""Residues and enclosures: what is proven equal, told apart with a witness, or left undecided with a reason."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from proving import families as library
from proving.families import Family
from tilery import Builder, TileError
from tilery.builder import f16, f32, i32, ptr
from tilery.prove import Program, Stage, over, reals

from .cases import Body, C, R, compared, program

FAMILIES = {family.name: family for family in library.families()}


def verdict(family: Family, a: str, b: str, fault: str = "") -> Any:
    other = family.variants[b](f=frozenset([fault])) if fault else family.variants[b]()
    return reals(family.variants[a](), other, family.inputs, family.outputs(a, b), probe=False)


# ---------------------------------------------------------------- whole kernels


@pytest.mark.parametrize(
    ("family", "a", "b"),
    [
        ("gemm", "32x16", "split-K 3"),
        ("gemm", "by columns", "atomics"),
        ("gemm", "persistent", "pointers"),
        ("softmax", "whole", "online 16 base 2"),
        ("layer norm", "two passes", "Welford"),
        ("attention", "naive", "decoding"),
        ("causal attention", "naive", "flash skipping"),
        ("transpose", "rows", "pointers"),
    ],
)
def test_equal_programs(family: str, a: str, b: str) -> None:
    found = verdict(FAMILIES[family], a, b)
    assert found.answer == "equal", found.text()
    assert "Over the real numbers" in found.theorem
    assert found.compared == sum(int(np.prod(shape)) for shape in FAMILIES[family].outs.values())


@pytest.mark.parametrize(
    ("family", "a", "b", "fault"),
    [
        ("gemm", "32x16", "32x16", "no_padding"),
        ("gemm", "32x16", "split-K 2", "overlap"),
        ("gemm", "32x16", "pointers", "mask_one_side"),
        ("softmax", "whole", "online 32", "no_rescale"),
        ("layer norm", "two passes", "two passes", "other_eps"),
        ("attention", "naive", "flash 16", "mask_le"),
        ("attention", "naive", "decoding", "l_no_scale"),
        ("transpose", "permute", "pointers", "wrong_stride"),
    ],
)
def test_faults_are_told_apart(family: str, a: str, b: str, fault: str) -> None:
    found = verdict(FAMILIES[family], a, b, fault)
    assert found.answer == "different", found.text()
    assert found.witness is not None


def test_the_witness_runs() -> None:
    family = FAMILIES["softmax"]
    found = verdict(family, "whole", "online 32", "no_rescale")
    w = found.witness
    again = reals(
        family.variants["whole"](),
        family.variants["online 32"](f=frozenset(["no_rescale"])),
        {"x": w.inputs["x"]},  # as given numbers
        family.outs,
        probe=False,
    )
    assert again.answer == "different"
    a, b = map(float, w.own)
    assert abs(a - b) > 1e-3


# ---------------------------------------------------------------- laws


def _softmax(b: Any, x: Any) -> Any:
    e = b.exp(x - b.max(x, dim=1, keep=True))
    return e / b.sum(e, dim=1, keep=True)


def _shifted_sum(b: Any, x: Any) -> Any:
    return b.sum(b.exp(x - b.max(x, dim=1, keep=True)), dim=1, keep=True)


EQUAL = {
    "relu by comparison": (lambda b, x: b.maximum(x, 0.0), lambda b, x: b.select(x > 0.0, x, 0.0)),
    "max scaled": (lambda b, x: b.max(x * 2.0, dim=1), lambda b, x: b.max(x, dim=1) * 2.0),
    "max scaled, other way": (lambda b, x: b.max(x, dim=1) * 2.0, lambda b, x: b.max(x * 2.0, dim=1)),
    "logsumexp": (
        lambda b, x: b.max(x, dim=1, keep=True) + b.log(_shifted_sum(b, x)),
        lambda b, x: b.log(b.sum(b.exp(x), dim=1, keep=True)),
    ),
    "folded constant": (
        lambda b, x: b.exp(x * (1 / math.sqrt(80))),
        lambda b, x: b.exp2(x * (math.log2(math.e) / math.sqrt(80))),
    ),
    "a third": (lambda b, x: x / 3.0, lambda b, x: x * (1 / 3)),
    "power": (lambda b, x: x**2.0, lambda b, x: x * x),
    "through f16": (lambda b, x: b.cast(b.cast(x, f16), f32), lambda b, x: x * 1.0),
    "scan": (
        lambda b, x: b.scan(x, lambda p, q: p + q, 0.0, 1),
        lambda b, x: b.scan(x * 0.5, lambda p, q: p + q, 0.0, 1) * 2.0,
    ),
    "reduce with a body of two operations": (
        lambda b, x: b.reduce(x, lambda p, q: (p + q) * 1.0, 0.0, 1, keep=True),
        lambda b, x: b.sum(x, dim=1, keep=True),
    ),
    "tanh by exp": (
        lambda b, x: b.tanh(x),
        lambda b, x: (b.exp(x) - b.exp(-x)) / (b.exp(x) + b.exp(-x)),
    ),
    "integer from a number": (
        lambda b, x: b.cast(b.cast(x + x, i32), f32),
        lambda b, x: b.cast(b.cast(x * 2.0, i32), f32),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_laws(name: str) -> None:
    one, other = (lambda b, x, f=f: _wide(b, f(b, x)) for f in EQUAL[name])
    found = compared(one, other)
    assert found.answer == "equal", found.text()


def _wide(b: Any, v: Any) -> Any:
    shape = v.type.shape
    return b.reshape(v, 1, 1) if len(shape) == 1 else v


DIFFERENT = {
    "an identity that is not neutral": (
        lambda b, x: b.max(x, dim=1, keep=True),
        lambda b, x: b.reduce(x, b.maximum, 0.0, 1, keep=True),
    ),
    "min for max": (lambda b, x: b.maximum(x, 0.0), lambda b, x: b.minimum(x, 0.0)),
    "square root of a square": (lambda b, x: b.sqrt(x * x), lambda b, x: x * 1.0),
    "a small constant": (lambda b, x: x + 1e-9, lambda b, x: x * 1.0),
    "strict comparison": (lambda b, x: b.select(x > 1.0, x, 0.5), lambda b, x: b.select(x > 2.0, x, 0.5)),
    "logarithm without the maximum": (
        lambda b, x: b.log(b.sum(b.exp(x), dim=1, keep=True)),
        lambda b, x: b.log(_shifted_sum(b, x)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_no_laws(name: str) -> None:
    found = compared(*DIFFERENT[name])
    assert found.answer == "different", found.text()


UNDECIDED = {
    "absolute value": (lambda b, x: b.sqrt(x * x), lambda b, x: abs(x)),
    "bits": (lambda b, x: b.bitcast(b.bitcast(x, i32) & 0x7FFFFFFF, f32), lambda b, x: abs(x)),
    "a large number for infinity": (
        lambda b, x: _softmax(b, b.select(b.reshape(b.iota(C), 1, C) < 20, x, -1e30)),
        lambda b, x: _softmax(b, b.select(b.reshape(b.iota(C), 1, C) < 20, x, -math.inf)),
    ),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_undecided_has_a_reason(name: str) -> None:
    found = compared(*UNDECIDED[name])
    assert found.answer == "undecided"
    assert "residues" in found.reason


def test_residues_see_a_root_of_a_square_in_some_samples_only() -> None:
    """A square root is right in half of the samples, so that there must be many."""
    found = compared(lambda b, x: b.sqrt(x) * b.sqrt(x), lambda b, x: x * 1.0)
    assert found.answer == "equal"
    assert found.samples >= 24
    assert "2^-24 from square roots" in found.chance


# ---------------------------------------------------------------- first of all, the sanitizer


def _racy(last: bool) -> Any:
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
        i, _, _ = b.block_id()
        b.store_ptr(p.y, b.load_ptr(p.x + (i * 0 + 3 if last else i)))
    return b.module


def test_a_race_is_not_proven_equal() -> None:
    racy, plain = Program.of(_racy(False), 4, ["x", "y"]), Program.of(_racy(True), 1, ["x", "y"])
    found = reals(plain, racy, {"x": (4,)}, {"y": (1,)})
    assert found.answer == "undecided"
    assert "race" in found.reason
    assert "A itself" in reals(racy, plain, {"x": (4,)}, {"y": (1,)}).reason
    unchecked = reals(plain, racy, {"x": (4,)}, {"y": (1,)}, sanitize=False)
    assert unchecked.answer == "equal"
    assert any("races" in each for each in unchecked.ignored)


def test_a_fault_is_a_difference() -> None:
    def kernel(offset: int) -> Program:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32)) as p:
            i, _, _ = b.block_id()
            b.store_ptr(p.y + i, b.load_ptr(p.x + (i + offset)))
        return Program.of(b.module, 4, ["x", "y"])

    found = reals(kernel(0), kernel(1), {"x": (4,)}, {"y": (4,)})
    assert found.answer == "different"
    assert "B faults" in found.reason


# ---------------------------------------------------------------- stability, errors, shapes


def test_overflow_is_noticed() -> None:
    family = FAMILIES["softmax"]
    found = reals(family.variants["whole"](), family.variants["no shift"](), family.inputs, family.outs)
    assert found.answer == "equal"
    assert any("finite in A only" in note for note in found.notes)


def test_errors_are_measured_and_bounded() -> None:
    family = FAMILIES["row sums"]
    found = reals(
        family.variants["vector"](), family.variants["scalar"](), family.inputs, family.outs, errors=True, probe=False
    )
    for side in "ab":
        (errors,) = found.facts[f"errors_{side}"]
        assert errors["ulps"] > 0
        # 100 numbers up to 1 have a sum up to 100, and at most 128 roundings of f32 each.
        assert 0 < errors["bound"] < 100 * 160 * 2.0**-24


def test_the_bound_holds() -> None:
    """Sums of numbers near 1, in every order, stay within the bound for inputs up to 1."""
    family = FAMILIES["row sums"]
    found = reals(
        family.variants["vector"](), family.variants["product"](), family.inputs, family.outs, errors=True, probe=False
    )
    x = np.random.default_rng(1).uniform(-1, 1, (6, 100)).astype(np.float32)
    exact = x.astype(np.float64).sum(1)
    added = np.zeros(6, np.float32)
    for column in x.T:
        added += column
    assert np.abs(added - exact).max() <= found.facts["errors_a"][0]["bound"]


def test_no_bound_has_a_reason() -> None:
    found = compared(lambda b, x: b.exp(x), lambda b, x: b.exp(x), errors=True)
    (errors,) = found.facts["errors_a"]
    assert errors["bound"] is None
    assert "exp" in errors["no_bound"]
    assert errors["ulps"] < 2


def test_several_shapes() -> None:
    def make(n: int, tile: int = 32, steps: bool = True) -> Program:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
            src = b.view(p.x, (p.n,), tile=(tile,), padding="zero")
            count = (p.n + (tile - 1)) // tile if steps else p.n // tile
            with b.for_(0, count, carry=[b.zeros((tile,), f32)]) as (i, acc):
                b.continue_(acc + b.load(src, (i,)))
            b.store(b.view(p.y, (1,), tile=(1,)), (0,), b.reshape(b.sum(b.result, dim=0), 1))
        return Program.of(b.module, 1, ["x", "y", n])

    good = over(lambda n: (make(n), make(n, 16), {"x": (n,)}, {"y": (1,)}), {"n": ()})
    assert good.answer == "equal"
    assert [s["n"] for s in good.shapes] == [70, 33, 100]
    assert "launches of 3 shapes" in good.theorem
    bad = over(lambda n: (make(n), make(n, steps=False), {"x": (n,)}, {"y": (1,)}), {"n": (64, 70)})
    assert bad.answer == "different"
    assert bad.shapes[-1] == {"n": 70}


# ---------------------------------------------------------------- several launches, and mistakes


def test_a_program_needs_what_it_names() -> None:
    p = program(lambda b, x: x)
    with pytest.raises(TileError, match="nothing describes"):
        reals(p, p, {}, {"y": (R, C)})
    with pytest.raises(TileError, match="which shape the output 'z'"):
        reals(p, p, {"x": (R, C)}, ["z"])
    with pytest.raises(TileError, match="has 2 parameters"):
        reals(p, Program([Stage(p.stages[0].module, R, ["x"])]), {"x": (R, C)}, {"y": (R, C)})
    with pytest.raises(TileError, match="as f32 and as i32"):
        b = Builder()
        with b.entry("k", x=ptr(i32), y=ptr(f32)):
            pass
        reals(p, Program.of(b.module, 1, ["x", "y"]), {"x": (R, C)}, {"y": (R, C)})


def test_in_place_and_integers() -> None:
    def kernel(double: bool) -> Program:
        there, back = Builder(), Builder()
        with there.entry("there", x=ptr(f32), w=ptr(f32), n=ptr(i32)) as p:
            i, _, _ = there.block_id()
            v = there.load_ptr(p.x + i)
            there.store_ptr(p.w + i, v + v if double else v * 2.0)
            there.store_ptr(p.n + i, i * 3)
        with back.entry("back", x=ptr(f32), w=ptr(f32)) as p:
            i, _, _ = back.block_id()
            back.store_ptr(p.x + i, back.load_ptr(p.w + i))
        stages = [Stage(there.module, 4, ["x", "w", "n"]), Stage(back.module, 4, ["x", "w"])]
        return Program(stages, {"w": (4,)})

    found = reals(kernel(True), kernel(False), {"x": (4,), "n": np.arange(4)}, ["x", "n"])
    assert found.answer == "equal"


def test_verdicts_are_data() -> None:
    found = compared(lambda b, x: x + 1.0, lambda b, x: x)
    facts = found.as_dict()
    assert facts["answer"] == "different"
    assert facts["witness"]["output"] == "y"
    assert "witness: y[" in found.text()


# ---------------------------------------------------------------- limits


def test_a_limit_is_not_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(b: Builder, x: Any) -> Any:
        for _ in range(40):
            x = x + 0.0
        return x + x

    monkeypatch.setattr("tilery.prove.running.runner.STEPS", 30)
    found = compared(lambda b, x: x + x, slow)
    assert found.answer == "undecided"
    assert "stopped after 30 steps" in found.reason


@pytest.mark.parametrize("grid", [0, -1, (1, 0), (1, 1, 1, 1), "x", 1 << 40])
def test_a_grid_that_cannot_be_launched_is_an_error(grid: Any) -> None:
    a = program(lambda b, x: x)
    b = Program([Stage(a.stages[0].module, grid, a.stages[0].args)])
    with pytest.raises(TileError, match=r"prove: a launch of @k: .*grid"):
        reals(a, b, {"x": (R, C)}, {"y": (R, C)})


def _step(keep: str) -> Body:
    def body(b: Builder, x: Any) -> Any:
        one = b.full((1, C), 1.0, f32)
        match keep:
            case "above":
                return b.select(x > 0.0, one, 0.0)
            case "at least":
                return b.select(x >= 0.0, one, 0.0)
            case "at least a half":
                return b.select(x >= 0.5, one, 0.0)
            case "above a half":
                return b.select(x > 0.5, one, 0.0)
        return b.select(x <= 0.0, b.zeros((1, C), f32), one)

    return body


def test_steps_that_differ_at_one_number() -> None:
    """No random point is there."""
    assert compared(_step("above"), _step("not at most")).is_equal
    for a, b in (("above", "at least"), ("above a half", "at least a half")):
        found = compared(_step(a), _step(b))
        assert found.answer == "different"
        assert found.witness is not None and found.witness.own is not None
        assert found.witness.own[0] != found.witness.own[1]
    assert any("equal numbers" in each for each in compared(_step("above"), _step("not at most")).ignored)


def test_branches_that_many_comparisons_decide() -> None:
    def all_positive(b: Builder, x: Any) -> Any:
        signs = b.select(x > 0.0, b.full((1, C), 1, "i32"), 0)
        return b.select(b.eq(b.min(signs, dim=1, keep=True), 1), b.full((1, 1), 1.0, f32), 0.0)

    found = compared(all_positive, lambda b, x: b.zeros((1, 1), f32))
    assert found.answer == "different"
    assert "k comparisons decide together" in compared(all_positive, all_positive).chance


def test_ties_are_no_difference_where_values_meet() -> None:
    def ramp(b: Builder, x: Any) -> Any:
        return b.select(x > 0.0, x, 0.0)

    assert compared(ramp, lambda b, x: b.select(x >= 0.0, x, 0.0)).is_equal
    assert compared(ramp, lambda b, x: b.maximum(x, 0.0)).answer != "different"
