"""Values that are used twice, and regions in regions: every walk visits each operation once, on every path.

A walk without a memory takes twice the steps for each further operation. Sizes are small, so that it fails and does not
hang.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tilery
from support.hostile.recipes import RATIO, steps_of
from tilery.analysis.alignment import axis_info
from tilery.analysis.fingerprint import fingerprint
from tilery.analysis.flow import flow
from tilery.cost.static import static_cost
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.engines.triton.config import Config
from tilery.engines.triton.lower import lower as lower_to_triton
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of
from tilery.ops import Module
from tilery.passes import parse_pipeline, run_pipeline

SIZE = 10
PASSES = (
    "canonicalize", "cse", "dce", "documented", "fold-float", "fold-int", "fuse-fma", "licm", "loop-split",
    "merge-assumes", "pow-to-product", "simplify", "strip-debug-info", "synthesize-debug-info-scopes",
)  # fmt: skip


def kernel(body: str, stored: str = "%x", token: str = "") -> str:
    return f"""entry @k(%x: tile<i32>, %p: tile<ptr<i32>>, %c: tile<i1>) {{
      %one = constant <i32: 1> : tile<i32>
      {body.replace("STORE", f"%t = store_ptr_tko weak %p, {stored} {token} : tile<ptr<i32>>, tile<i32> -> token")}
      return }}"""


def chain(step: str, result: str, first: str = "") -> Callable[[int], str]:
    """Steps that define L from uses of K; K is the number of a step and L that of the next one."""

    def make(n: int) -> str:
        body = first + "".join(step.replace("K", str(k)).replace("L", str(k + 1)) for k in range(n))
        if result == "token":
            return kernel(body + " STORE", "%x", f"token=%x{n}")
        return kernel(body + " STORE", f"%x{n}")

    return make


def nest(opened: str, closed: str) -> Callable[[int], str]:
    def make(n: int) -> str:
        return kernel("".join(opened.replace("K", str(k)) for k in range(n)) + "STORE " + closed * n)

    return make


def nested_results(n: int) -> str:
    body = "yield %x : tile<i32>"
    for k in range(n):
        given = f"%r{k} = if %c -> (tile<i32>) {{ {body} }} else {{ yield %x : tile<i32> }}"
        body = f"{given} yield %r{k} : tile<i32>"
    return kernel(body.rpartition(" yield")[0] + " STORE", f"%r{n - 1}")


def carried(n: int) -> str:
    body = f"continue %a{n - 1} : tile<i32>"
    for k in reversed(range(n)):
        start = f"%a{k - 1}" if k else "%x"
        loop = f"for %i{k} in (%one to %x, step %one) : tile<i32> iter_values(%a{k} = {start}) -> (tile<i32>)"
        body = f"%r{k} = {loop} {{ {body} }} continue %r{k} : tile<i32>"
    return kernel(body.rpartition(" continue")[0] + " STORE", "%r0")


START = "%x0 = addi %x, %one : tile<i32> "
COMPARED = "%cK = cmpi less_than %xK, %xK, signed : tile<i32> -> tile<i1> "
SHAPES: dict[str, Callable[[int], str]] = {
    "sums": chain("%xL = addi %xK, %xK : tile<i32> ", "tile", START),
    "products": chain("%xL = muli %xK, %xK : tile<i32> ", "tile", START),
    "masks": chain("%xL = andi %xK, %xK : tile<i32> ", "tile", START),
    "selects": chain(COMPARED + "%xL = select %cK, %xK, %xK : tile<i1>, tile<i32> ", "tile", START),
    "tokens": chain("%xL = join_tokens %xK, %xK : token ", "token", "%x0 = make_token : token "),
    "ifs": nest("if %c { ", "yield } "),
    "for loops": nest("for %iK in (%one to %x, step %one) : tile<i32> { ", "continue } "),
    "loops": nest("loop { if %c { break } ", "continue } "),
    "results of ifs": nested_results,
    "carried": carried,
}


def paths(text: str, module: Module, data: bytes) -> dict[str, Callable[[], object]]:
    entry = module.entries[0]
    found: dict[str, Callable[[], object]] = {
        "parse": lambda: tilery.parse(text, verify=False),
        "verify": lambda: tilery.verify(module),
        "show": lambda: tilery.show(module),
        "write": lambda: tilery.dumps(module),
        "read": lambda: tilery.load(data, verify=False),
        "dump": lambda: tilery.dump(data).text,
        "clone": lambda: tilery.clone(module),
        "alignment": lambda: axis_info(entry),
        "fingerprint": lambda: fingerprint(entry),
        "flow": lambda: flow(entry),
        "cost": lambda: static_cost(entry),
        "reference engine": lambda: ReferenceLoaded(module).kernel(),
        "engine triton": lambda: lower_to_triton(module, entry, find_target("sm_90"), Config(), dialect_of("3.6.0")),
    }
    for name in PASSES:
        found[name] = lambda name=name: run_pipeline(tilery.clone(module), parse_pipeline(name))  # type: ignore[misc]
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_every_path_is_linear(shape: str) -> None:
    costs: dict[str, list[int]] = {}
    for n in (3, SIZE, 2 * SIZE):  # the first is for imports and generated code
        text = SHAPES[shape](n)
        module = tilery.parse(text)
        for name, run in paths(text, module, tilery.dumps(module)).items():
            costs.setdefault(name, []).append(steps_of(run))
    assert not {name: cost for name, cost in costs.items() if cost[2] > RATIO * cost[1]}
