"""Float operations as the reference engine executes them: their attributes, and what an H200 gave for them."""

from __future__ import annotations

import importlib.util
import random
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilery
from support.oracle import FULL, ROOT, SEED
from tilery import Op
from tilery.engines.common.tiles import Array, carrier, unsigned
from tilery.engines.reference.ops import RUNS
from tilery.engines.reference.ops import floating as run_float
from tilery.ops import floating
from tilery.types import SCALARS

HARDWARE = ROOT.parent / "shared" / "hardware"
ULPS = {"exp": 53, "tanh": 120, "exp2": 2, "sin": 1, "cos": 2, "tan": 2, "sinh": 2, "cosh": 2, "log": 1, "log2": 1}
ULPS |= {"atan2": 2, "pow": 1, "rsqrt": 2, "divf": 2, "sqrt": 1}
"""How far an H200 is from here, at most; nothing where the operation is exact."""


def operation(text: str, element: str = "f32") -> Op:
    """An operation on %x, %y and %z."""
    lines = [f"%{name} = constant <{element}: 1.0> : tile<{element}>" for name in "xyz"]
    lines += ["%n = constant <i32: 1> : tile<i32>", f"%0 = {text}", "return"]
    module = tilery.parse("entry @k() {" + "\n".join(lines) + "}")
    return next(o for o in tilery.walk(module) if o.opdef.mnemonic == text.split()[0])


def run(text: str, *operands: float, element: str = "f32") -> Array:
    o = operation(text + (f" : tile<{element}>" if ":" not in text else ""), element)
    function = RUNS[type(o)].function
    with np.errstate(all="ignore"):
        result: Array = function(o, *(np.array([x], carrier(SCALARS[element])) for x in operands))
    return result


def test_every_float_operation_is_executed() -> None:
    declared = {cls for cls in vars(floating).values() if isinstance(cls, type) and issubclass(cls, Op)} - {Op}
    here = {cls for cls, r in RUNS.items() if r.function.__module__ == run_float.__name__}
    assert declared - here == {floating.MmaF, floating.MmaFScaled}


ATTRIBUTES = [
    ("addf %x, %y", (1.0, 2.0**-24), 1.0),
    ("addf %x, %y rounding<positive_inf>", (1.0, 2.0**-24), 1 + 2.0**-23),
    ("subf %x, %y rounding<zero>", (1.0, 2.0**-30), 1 - 2.0**-24),
    ("mulf %x, %y flush_to_zero", (2.0**-100, 2.0**-40), 0.0),
    ("mulf %x, %y", (2.0**-100, 2.0**-40), 2.0**-140),
    ("divf %x, %y rounding<approx>", (1.0, 2.0**127), 0.0),
    ("divf %x, %y rounding<full>", (1.0, 2.0**127), 2.0**-127),
    ("divf %x, %y rounding<negative_inf>", (1.0, 3.0), 0x555555 * 2.0**-24),
    ("fma %x, %y, %z rounding<positive_inf>", (1.0, 1.0, 2.0**-149), 1 + 2.0**-23),
    ("sqrt %x rounding<approx>", (4.0,), 2.0),
    ("sqrt %x flush_to_zero", (2.0**-140,), 0.0),
    ("rsqrt %x flush_to_zero", (2.0**-140,), np.inf),
    ("rsqrt %x", (2.0**-140,), 2.0**70),
    ("exp2 %x flush_to_zero", (-140.0,), 0.0),
    ("exp2 %x", (-140.0,), 2.0**-140),
    ("maxf %x, %y", (np.nan, 1.0), 1.0),
    ("maxf %x, %y propagate_nan", (np.nan, 1.0), np.nan),
    ("minf %x, %y flush_to_zero", (2.0**-140, 1.0), 0.0),
    ("cmpf less_than ordered %x, %y : tile<f32> -> tile<i1>", (np.nan, 1.0), False),
    ("cmpf less_than unordered %x, %y : tile<f32> -> tile<i1>", (np.nan, 1.0), True),
    ("fpowi %x, %n : tile<f32>, tile<i32>", (-2.0, 3), -8.0),
    ("atan2 %x, %y", (1.0, 0.0), float(np.float32(np.pi / 2))),
    ("tanh %x rounding<approx>", (0.0,), 0.0),
    ("remf %x, %y", (-7.5, 2.0), -1.5),
]


@pytest.mark.parametrize("text, operands, want", ATTRIBUTES)
def test_attributes(text: str, operands: tuple[float, ...], want: float) -> None:
    got = run(text, *operands)[0]
    assert got == want or (np.isnan(got) and np.isnan(want))


# ---------------------------------------------------------------- hardware


@cache
def hardware() -> Any:
    """The cases that an H200 ran, or None where they are not at hand."""
    if not HARDWARE.is_dir():
        return None
    spec = importlib.util.spec_from_file_location("hardware", HARDWARE / "hardware.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["hardware"] = module
    spec.loader.exec_module(module)
    return module.Hardware(str(HARDWARE))


def steps(a: Array, b: Array) -> int:
    """The largest distance of floats, given as unsigned integers, in steps of the type."""
    low = 1 << 8 * a.itemsize - 1
    keys = [[n if n < low else low - n for n in x.tolist()] for x in (a, b)]
    return max((abs(x - y) for x, y in zip(*keys)), default=0)


@pytest.mark.skipif(not HARDWARE.is_dir(), reason="needs the hardware's results in ../shared/hardware")
@pytest.mark.parametrize("group", ["float1", "float2", "cmp"])
def test_as_on_hardware(group: str) -> None:
    hw = hardware()
    names = [name for name, case in hw.cases.items() if case["group"] == group and case["op"] != "cmpi"]
    for name in names if FULL else random.Random(SEED).sample(names, 20):
        case, want = hw.cases[name], hw.outputs(name)[0]
        mnemonic = {"pow": "fpowf"}.get(case["op"], case["op"])
        o = next(o for o in tilery.walk(tilery.parse(case["module"])) if o.opdef.mnemonic == mnemonic)
        types = [carrier(SCALARS[p["elem"]]) for p in case["params"]]
        inputs = [given[1].view(dtype) for given, dtype in zip(hw.arguments(name), types) if given[0] == "in"]
        with np.errstate(all="ignore"):
            got = RUNS[type(o)].function(o, *(x[None] for x in inputs))[0]
        differ = unsigned(got) != want
        rounding = name.partition("rounding-")[2]
        exact = case["op"] in ("divf", "sqrt") and not rounding.startswith(("approx", "full"))
        allowed = 0 if exact else ULPS.get(case["op"], 0)
        assert steps(unsigned(got)[differ], want[differ]) <= allowed, name
        assert allowed or not differ.any(), name


@pytest.mark.parametrize("name, change", [("absf", lambda b: b & 0x7FFF), ("negf", lambda b: b ^ 0x8000)])
def test_the_sign_of_every_f16(name: str, change: Any) -> None:
    """Only the sign bit changes; a NaN becomes the canonical one, as on an H200."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    function = RUNS[type(o := operation(f"{name} %x : tile<f16>", "f16"))].function
    got = unsigned(function(o, bits.view(np.float16)[None])[0])
    number = (bits & 0x7FFF) <= 0x7C00
    assert (got[number] == change(bits[number])).all()
    assert set(got[~number].tolist()) == {0x7FFF}
