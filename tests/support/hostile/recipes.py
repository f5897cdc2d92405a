"""Inputs that ask for more than their size: few bytes with many uses, structures that grow, and copies of kernels."""

from __future__ import annotations

import copy
import pickle
import random
import sys
from collections.abc import Callable

import tilery
from support.assemble import RETURN, File, function, tile, vi
from support.contract import run_contract
from support.hostile.growth import peak_of
from tilery import TileError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.passes import parse_pipeline, run_pipeline
from tilery.smith import smith_with_contract

FACTOR, BASE = 1000, 16 << 20
"""Bytes of memory that a byte of input may take, and bytes that any input may take."""
RATIO = 2.6
"""How much more work an input of twice the size may take."""
PASSES = ("canonicalize", "cse", "dce", "simplify", "licm", "loop-split")


class Excess(Exception):
    """Raised when an input takes more than its size allows."""


# ---------------------------------------------------------------- amplification


def hostile_file(rng: random.Random) -> bytes:
    """Return a file in which few bytes are used often: signatures, types, strings and constants."""
    uses, length = (int(10 ** rng.uniform(0, 4)) for _ in range(2))
    scalar = rng.choice((b"\x03", b"\x07"))
    types = [scalar, tile(0), function([1] * rng.choice((0, 1, length)))]
    strings = [b"k%d" % n for n in range(uses)]
    if rng.random() < 0.3:
        strings[-1] = b"x" * length
    file = File(strings=strings, types=types, signature=2)
    match rng.randrange(4):
        case 0:
            rows = b"".join(vi(n) + vi(2) + b"\x02" + vi(0) + vi(len(RETURN)) + RETURN for n in range(uses))
            file.sections[2] = (vi(uses) + rows, 8)
        case 1:
            file.sections[5] = (_overlapping(rng, b"".join(types), uses), 4)
        case 2:
            file.sections[1] = (_overlapping(rng, b"".join(strings), uses), 4)
        case 3:
            file.flags, file.hints = 6, _hints(rng, uses)
    return file.data()


def _overlapping(rng: random.Random, items: bytes, count: int) -> bytes:
    """Return a table whose entries overlap: the offsets go back and forth."""
    offsets = [rng.choice((0, len(items), rng.randrange(len(items) + 1))) for _ in range(count)]
    table = bytearray(vi(len(offsets)))
    table += b"\xcb" * (-len(table) % 4) + b"".join(n.to_bytes(4, "little") for n in offsets)
    return bytes(table) + items


def _hints(rng: random.Random, uses: int) -> bytes:
    """Return optimization hints that use strings often."""
    inner = b"".join(vi(rng.randrange(uses)) + b"\x05" + vi(rng.randrange(uses)) for _ in range(uses))
    return b"\x0b\x01" + vi(0) + b"\x0a" + vi(uses) + inner


def amplify(rng: random.Random) -> float:
    """Send a file through a path; return bytes of memory per byte of input."""
    data = hostile_file(rng)

    def run() -> None:
        try:
            match rng.randrange(3):
                case 0:
                    tilery.load(data, verify=False)
                case 1:
                    tilery.load(data)
                case 2:
                    _ = tilery.dump(data).text
        except TileError:
            pass

    peak = peak_of(run)
    if peak > FACTOR * len(data) + BASE:
        raise Excess(f"{len(data)} bytes take {peak}")
    return max(0, peak - BASE) / len(data)


# ---------------------------------------------------------------- growth

COUNT = "%one = constant <i32: 1> : tile<i32>\n"


def _chain(n: int) -> str:
    steps = "".join(f"%x{i + 1} = addi %x{i}, %one : tile<i32>\n" for i in range(n))
    return f"entry @k(%x0: tile<i32>) {{ {COUNT}{steps} return }}"


def _nest(opened: str, closed: str) -> Callable[[int], str]:
    def make(n: int) -> str:
        inside = "".join(opened.replace("N", str(i)) for i in range(n)) + closed * n
        return f"entry @k(%c: tile<i1>, %x: tile<i32>) {{ {COUNT}{inside} return }}"

    return make


def _names(what: str) -> Callable[[int], str]:
    return lambda n: "\n".join(what.replace("N", str(i)) for i in range(n)) + "\nentry @last() { return }"


def _results(n: int) -> str:
    types, values = ", ".join(["tile<i32>"] * n), ", ".join(["%x"] * n)
    many = f"tuple{n}" if n == 0 else values
    branch = f"%r:{n} = if %c -> ({types}) {{ yield {many} : {types} }} else {{ yield {many} : {types} }}"
    return f"entry @k(%c: tile<i1>, %x: tile<i32>) {{ {branch} return }}"


GROWING: dict[str, Callable[[int], str]] = {
    "chain": _chain,
    "ifs": _nest("if %c { ", "yield } "),
    "ifs in a row": _nest("if %c { yield } ", ""),
    "loops": _nest("for %iN in (%one to %x, step %one) : tile<i32> { ", "continue } "),
    "loops in a row": _nest("for %iN in (%one to %x, step %one) : tile<i32> { continue } ", ""),
    "entries": _names("entry @kN() { return }"),
    "globals": _names("global @gN <i32: [N]> : tile<1xi32>"),
    "results": _results,
    "prints": _nest('print_tko "N" -> token ', ""),
    "equal": _nest("%eN = muli %x, %one : tile<i32> ", ""),
}


def steps_of(run: Callable[[], object]) -> int:
    """Count calls of functions."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def grow(rng: random.Random) -> float:
    """Send a structure and one of twice its size through a path; return the ratio of steps."""
    make, size = GROWING[rng.choice(list(GROWING))], rng.randint(60, 160)
    path = rng.choice(("parse", "verify", "show", "write", "read", "dump", "clone", *PASSES))
    costs = []
    for n in (8, size, 2 * size):  # the first is for imports and generated code
        text = make(n)
        module = tilery.parse(text)
        data = tilery.dumps(module)
        runs: dict[str, Callable[[], object]] = {
            "parse": lambda text=text: tilery.parse(text, verify=False),  # type: ignore[misc]  # defaults
            "verify": lambda module=module: tilery.verify(module),  # type: ignore[misc]
            "show": lambda module=module: tilery.show(module),  # type: ignore[misc]
            "write": lambda module=module: tilery.dumps(module),  # type: ignore[misc]
            "read": lambda data=data: tilery.load(data, verify=False),  # type: ignore[misc]
            "dump": lambda data=data: tilery.dump(data).text,  # type: ignore[misc]
            "clone": lambda module=module: tilery.clone(module),  # type: ignore[misc]
        }
        pipeline = parse_pipeline(path) if path in PASSES else None
        costs.append(steps_of(runs[path] if pipeline is None else lambda: run_pipeline(module, pipeline)))  # noqa: B023
    ratio = costs[2] / max(1, costs[1])
    if ratio > RATIO:
        raise Excess(f"{path} takes {ratio:.1f} times the steps for twice the size")
    return ratio


# ---------------------------------------------------------------- copies


def copies(rng: random.Random) -> float:
    """Run a random module on a copy that outlives the original; return 1."""
    module, contract = smith_with_contract(rng.randrange(1 << 40), size=rng.choice((3, 10, 25)))
    limits = Limits(seconds=20)
    expected = run_contract(module, contract, limits=limits)
    remake: Callable[[ReferenceLoaded], ReferenceLoaded] = rng.choice(
        (copy.copy, copy.deepcopy, lambda loaded: pickle.loads(pickle.dumps(loaded)))
    )
    found = run_contract(module, contract, limits=limits, load=lambda m: remake(ReferenceLoaded(m)))
    if found != expected:
        raise Excess("a copy of a kernel gives different results")
    return 1.0


RUN = {"amplification": amplify, "growth": grow, "copies": copies}
