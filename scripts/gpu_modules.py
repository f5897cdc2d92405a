"""Random modules on a GPU and on the reference engine: memory, globals and output must be the same, bit by bit.

    python scripts/gpu_modules.py build BUNDLE --tileiras PATH [--count 1000] [--seed 0] [--gpu sm_90] [--jobs 2]
    python gpu_launch.py BUNDLE RESULTS                                          (on the machine with the GPU)
    python scripts/gpu_modules.py compare BUNDLE RESULTS [BUNDLE RESULTS ...] [-v] [--output FILE]

`build` makes modules, compiles them with NVIDIA's compiler, and puts them into one file with all that a launch needs.
Operations for which a GPU may give other bits are left out: the functions that execute them say so. Half of the
modules store every value of an entry's own block and not only those that nothing uses.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tilery
from support.contract import arguments, hidden, observed, run_contract
from tilery.attrs import FloatAttr, IntAttr
from tilery.cli.progress import progress
from tilery.cli.verbs.smith import launch_data
from tilery.declare.operation import BY_NAME
from tilery.engines.reference import load_operations
from tilery.engines.reference.registry import same_bits
from tilery.floats.formats import is_nan
from tilery.ir import Op
from tilery.ops import Bitcast, For, Loop, Module, Pack, PrintTko, PtrToPtr, Return
from tilery.passes.rename_symbol import rename_symbol
from tilery.rewrite import Report
from tilery.smith import Argument, Buffer, Contract, Launch, smith_with_contract
from tilery.types import SCALARS, TF32, Scalar, Tile

REFUSED = {"sm_90": ("f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")}
"""Element types that the compiler does not take for a GPU."""

NAN_SIGNS = re.compile(rb" |-(?=nan)")
"""What differs in a text where a NaN has another sign: the sign, and how many spaces fill its place."""

SIZES = (20, 40, 80, 120)
MIXES: tuple[dict[str, float] | None, ...] = (
    None,
    {"Control Flow": 3, "Integer": 2, "Memory": 2, "Core": 1, "Bitwise": 1},
    {"Views": 3, "Atomics": 2, "Memory": 2, "Conversions": 1, "Core": 1},
    {"Core": 2, "reduce": 1, "scan": 1, "Conversions": 2, "Floating Point": 3, "Integer": 2, "print_tko": 0.5},
)
"""What the modules are made of; None is every operation alike."""


# ---------------------------------------------------------------- build


@dataclass
class Made:
    """A module, how to launch it, and what the compiler made of it."""

    name: str
    module: Module
    contract: Contract
    version: tilery.Version
    args: list[list[Any]]
    image: bytes = b""
    error: str = ""


def make(seed: int, gpu: str) -> Made:
    """The module of a seed, with names that every tool takes."""
    load_operations()
    versions = tilery.SUPPORTED
    version = versions[seed % len(versions)]
    refused = REFUSED.get(gpu, ())

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return same_bits(o) and not any(getattr(t.element, "name", "") in refused for t in tiles)

    size = SIZES[seed // 4 % len(SIZES)]
    mix = MIXES[seed // 64 % len(MIXES)]
    module, contract = smith_with_contract(seed, version=version, size=size, mix=known(mix, version), allow=allow)
    module, contract = observed(module, contract, every=seed // 16 % 2 == 1)
    args = [arguments(launch, number) for number, launch in enumerate(contract.launches)]
    module, contract, contents = hidden(module, contract, integers=seed // 32 % 2 == 1)
    for given, more in zip(args, contents):
        given += more
    launches = []
    for number, o in enumerate(module.globals):
        rename_symbol(module, Report(), o.sym_name, f"Global{number}")
    for number, launch in enumerate(contract.launches):
        rename_symbol(module, Report(), launch.entry, f"Kernel{number}")
        launches.append(replace(launch, entry=f"Kernel{number}"))
    return Made(f"{seed:06d}", module, Contract(tuple(launches)), version, args)


def known(mix: dict[str, float] | None, version: tilery.Version) -> dict[str, float] | None:
    """Without operations that the version does not have yet."""
    return mix and {name: n for name, n in mix.items() if name not in BY_NAME or BY_NAME[name].since <= version}


def compiled(seed: int, gpu: str, tileiras: str) -> Made:
    """The module of a seed with its machine code, or what the compiler said."""
    made = make(seed, gpu)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "module.tileirbc"), Path(folder, "module.cubin")
        source.write_bytes(tilery.dumps(made.module, made.version))
        command = [tileiras, "--gpu-name", gpu, str(source), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            made.error = "takes longer than two minutes"
            return made
        if done.returncode:
            said = re.findall(r"error: (.*)", done.stderr) or [f"exit status {done.returncode}"]
            made.error = said[0]
        else:
            made.image = target.read_bytes()
    return made


def word(argument: FloatAttr | IntAttr) -> int:
    """A scalar as a kernel takes it; tf32 stands in the upper bits of a word."""
    return argument.bits << 13 if argument.type is TF32 else argument.bits


def plan(made: Made) -> tuple[dict[str, Any], bytes]:
    """How to launch a module, as plain data, and what its buffers hold."""
    launches, content = [], b""
    for number, launch in enumerate(made.contract.launches):
        data: Any = launch_data(launch)
        for known, argument, given in zip(data["args"], launch.args, made.args[number]):
            if isinstance(argument, Buffer):
                known["bytes"] = given.nbytes
                content += given.tobytes()
            else:
                known["word"] = word(argument)
        launches.append(data)
    sizes = {o.sym_name: o.value.type.size * 8 for o in made.module.globals}
    return {"name": made.name, "version": str(made.version), "launches": launches, "globals": sizes}, content


def build(args: argparse.Namespace) -> int:
    seeds = range(args.seed, args.seed + args.count)
    plans, refused = [], []
    with zipfile.ZipFile(args.bundle, "w", zipfile.ZIP_DEFLATED) as bundle:
        with ProcessPoolExecutor(args.jobs) as pool, progress(len(seeds), "modules") as step:
            compile_one = partial(compiled, gpu=args.gpu, tileiras=args.tileiras)
            for made in pool.map(compile_one, seeds, chunksize=4):
                step()
                bundle.writestr(f"{made.name}.tileirbc", tilery.dumps(made.module, made.version))
                if made.error:
                    refused.append({"name": made.name, "error": made.error})
                    continue
                job, content = plan(made)
                plans.append(job)
                bundle.writestr(f"{made.name}.cubin", made.image)
                bundle.writestr(f"{made.name}.in", content)
        bundle.writestr("plan.json", json.dumps(plans))
        bundle.writestr("refused.json", json.dumps(refused))
    print(f"{len(plans)} modules, {len(refused)} refused")
    for error, count in Counter(r["error"] for r in refused).most_common():
        print(f"{count:6} {error}")
    return 0


# ---------------------------------------------------------------- compare

IDENTICAL, NANS, DIFFERS, FAILED = "identical", "identical but for NaN", "different", "failed on the GPU"
OUTCOMES = {
    IDENTICAL: "Every bit of memory and every character.",
    NANS: "Some NaN has another sign or payload, and nothing else differs but integers that are made of its bits.",
    DIFFERS: "Anything else.",
    FAILED: "The launch ended with an error, or not at all.",
}


@dataclass
class Verdict:
    """How a module came out; `wrong` names what differs."""

    name: str
    outcome: str = IDENTICAL
    wrong: list[str] = field(default_factory=list)
    nans: list[str] = field(default_factory=list)
    """Of these, what differs in the bits of NaNs alone."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each operation stands in the module."""
    launches: int = 0
    size: int = 0
    """Bytes that were compared."""
    printed: int = 0


def contract_of(job: dict[str, Any]) -> Contract:
    return Contract(
        tuple(
            Launch(data["entry"], tuple(data["grid"]), tuple(map(argument_of, data["args"])))
            for data in job["launches"]
        )
    )


def argument_of(data: dict[str, Any]) -> Argument:
    if "buffer" in data:
        return Buffer(SCALARS[data["buffer"]], data["count"], data["written"])
    element = SCALARS[data["scalar"]]
    return (IntAttr if element.is_int else FloatAttr)(element, data["bits"])


def given(job: dict[str, Any], contract: Contract, content: bytes) -> list[list[Any]]:
    """The arguments of all launches, from what the buffers held."""
    position, found = 0, []
    for number, (launch, data) in enumerate(zip(contract.launches, job["launches"])):
        args = arguments(launch, number)
        for at, known in enumerate(data["args"]):
            if "bytes" in known:
                part = bytearray(content[position : position + known["bytes"]])
                args[at] = np.frombuffer(part, args[at].dtype)
                position += known["bytes"]
        found.append(args)
    return found


def judge(job: dict[str, Any], bytecode: bytes, before: bytes, result: dict[str, Any], content: bytes) -> Verdict:
    """Run a module here and compare with what it left there."""
    module = tilery.load(bytecode)
    verdict = Verdict(job["name"], seen=Counter(o.name for o in tilery.walk(module)))
    if "error" in result:
        return replace(verdict, outcome=blamed(module, result["error"]), wrong=[result["error"]])
    contract = contract_of(job)
    try:
        mine = iter(run_contract(module, contract, given=given(job, contract, before)))
    except Exception as error:  # a fault of ours is what this script is there to find
        return replace(verdict, outcome=DIFFERS, wrong=[f"{type(error).__name__}: {error}".splitlines()[0]])
    position = 0
    for launch, left in zip(contract.launches, result["launches"]):
        buffers = [a for a in launch.args if isinstance(a, Buffer)]
        labels = [f"buffer {n}" for n in range(len(buffers))] + list(job["globals"])
        kinds = [b.element for b in buffers] + [o.value.element for o in module.globals]
        for label, kind, size in zip(labels, kinds, left["sizes"]):
            theirs, ours = content[position : position + size], next(mine)
            position += size
            verdict.size += len(theirs)
            if theirs and theirs != ours:
                text, nans = difference(ours, theirs, kind)
                (verdict.nans if nans else verdict.wrong).append(f"{launch.entry} {label} ({kind.name}): {text}")
        ours, theirs = next(mine), left["printed"].encode("latin1")
        verdict.printed += len(theirs)
        if not same_text(ours, theirs, in_order(module, launch)):
            here, there = NAN_SIGNS.sub(b"", ours), NAN_SIGNS.sub(b"", theirs)
            nans = same_text(here, there, in_order(module, launch))
            (verdict.nans if nans else verdict.wrong).append(f"{launch.entry}: printed")
        if not left["stable"]:
            verdict.wrong.append(f"{launch.entry}: gives other bits the next time")
        verdict.launches += 1
    if verdict.nans and all("(i" in text for text in verdict.wrong) and reveals_bits(module):
        verdict.nans += verdict.wrong
        verdict.wrong = []
    verdict.outcome = blamed(module) if verdict.wrong else NANS if verdict.nans else IDENTICAL
    return verdict


def blamed(module: Module, error: str = "") -> str:
    """The outcome of a module that differs: a fault of the compiler that is known, if the module can show it."""
    return next((fault.name for fault in FAULTS if fault.shows(module, error)), FAILED if error else DIFFERS)


def inside(module: Module, *kinds: type[Op]) -> Iterator[tuple[Op, int]]:
    """Every operation, and in how many of a kind it is nested."""
    waiting: list[tuple[Op, int]] = [(module, 0)]
    while waiting:
        o, depth = waiting.pop()
        yield o, depth
        waiting += [(i, depth + isinstance(o, kinds)) for block in o.blocks for i in block.ops]


def returns_from_two_loops(module: Module, error: str) -> bool:
    return not error and any(isinstance(o, Return) and depth > 1 for o, depth in inside(module, Loop))


def passes_one_value_on_twice(module: Module, error: str) -> bool:
    ends = (o.region.ops[-1].operands for o in tilery.walk(module) if isinstance(o, For))
    return not error and any(len(set(values)) < len(values) for values in ends)


def prints_in_a_loop(module: Module, error: str) -> bool:
    return error == "hangs" and any(isinstance(o, PrintTko) and depth for o, depth in inside(module, Loop, For))


class Fault(NamedTuple):
    """A fault of NVIDIA's compiler that was found here, and which modules can show it."""

    name: str
    text: str
    shows: Callable[[Module, str], bool]


FAULTS = (
    Fault(
        "`return` in two loops",
        "The compiler's fault: a `return` in a `loop` inside a `loop` only ends the inner one.",
        returns_from_two_loops,
    ),
    Fault(
        "`continue` with one value twice",
        "The compiler's fault: results of a `for` whose `continue` passes one value for both are taken for equal, also "
        "where the loop is never entered and gives the initial values.",
        passes_one_value_on_twice,
    ),
    Fault(
        "printing in a loop",
        "The compiler's fault: `print_tko` of a tile of 512 bf16 in a `loop` never ends.",
        prints_in_a_loop,
    ),
)


def reveals_bits(module: Module) -> bool:
    """Whether bits of floats may become integers."""
    return any(isinstance(o, (Bitcast, Pack, PtrToPtr)) for o in tilery.walk(module))


def in_order(module: Module, launch: Launch) -> bool:
    """Whether all that is printed has an order: in one tile block, where one token leads to the next."""
    operations = list(tilery.walk(module.entry(launch.entry)))
    used = {value for o in operations for value in o.operands}
    prints = [o for o in operations if isinstance(o, PrintTko)]
    chained = [o for o in prints if o.token is not None or o.result_token in used]
    return launch.grid == (1, 1, 1) and (len(prints) == 1 or prints == chained)


def same_text(mine: bytes, theirs: bytes, ordered: bool) -> bool:
    """Whether the same was printed; if there is no order, the same characters."""
    a, b = mine.decode("utf-8", "replace"), theirs.decode("utf-8", "replace")
    return a == b if ordered else sorted(a) == sorted(b)


def difference(ours: bytes, theirs: bytes, kind: Scalar) -> tuple[str, bool]:
    """How many elements differ, and the first of them; and whether all of them are NaN on both sides."""
    width = 4 if kind is TF32 else kind.storage_bytes
    if len(ours) != len(theirs):
        return f"{len(ours)} and {len(theirs)} bytes", False
    a, b = (np.frombuffer(data, f"u{width}") for data in (ours, theirs))
    where = np.flatnonzero(a != b)
    pairs = [(int(a[at]), int(b[at])) for at in where]
    nans = kind.is_float and all(nan(kind, x) and nan(kind, y) for x, y in pairs)
    x, y = next(((x, y) for x, y in pairs if not (kind.is_float and nan(kind, x) and nan(kind, y))), pairs[0])
    return f"{len(where)} of {len(a)} elements, among them {x:#x} here and {y:#x} there", nans


def nan(kind: Scalar, word: int) -> bool:
    return is_nan(kind, word >> 13 if kind is TF32 else word)


def judge_one(bundle_path: Path, results_path: Path, job: dict[str, Any]) -> Verdict:
    with zipfile.ZipFile(bundle_path) as bundle, zipfile.ZipFile(results_path) as results:
        name = job["name"]
        result, content = json.loads(results.read(f"{name}.json")), results.read(f"{name}.out")
        return judge(job, bundle.read(f"{name}.tileirbc"), bundle.read(f"{name}.in"), result, content)


def compare(args: argparse.Namespace) -> int:
    verdicts: list[Verdict] = []
    refused: Counter[str] = Counter()
    for bundle_path, results_path in zip(args.files[::2], args.files[1::2]):
        with zipfile.ZipFile(bundle_path) as bundle:
            jobs = json.loads(bundle.read("plan.json"))
            refused.update(r["error"] for r in json.loads(bundle.read("refused.json")))
        with ProcessPoolExecutor(args.jobs) as pool, progress(len(jobs), "modules") as step:
            for verdict in pool.map(partial(judge_one, bundle_path, results_path), jobs, chunksize=4):
                verdicts.append(verdict)
                step()
    if args.verbose:
        for v in verdicts:
            if v.wrong or v.nans:
                print(f"{v.name}: {v.outcome}\n    " + "\n    ".join([*v.wrong[:8], *v.nans[:2]]))
    text = report(verdicts, refused, args.note)
    print(text)
    if args.output:
        args.output.write_text(text + "\n")
    return int(any(v.outcome in (DIFFERS, FAILED) for v in verdicts))


def report(verdicts: list[Verdict], refused: Counter[str], note: str) -> str:
    """The comparison as a page."""
    total = len(verdicts) + sum(refused.values())
    launches, size, printed = (sum(getattr(v, name) for v in verdicts) for name in ("launches", "size", "printed"))
    lines = [
        "# Whole kernels on a GPU",
        "",
        f"Written by `scripts/gpu_modules.py`: {total} random modules of all versions, which NVIDIA's compiler built",
        f"for an H200 (sm_90). {len(verdicts)} of them ran there: {launches} launches, {size / 1e6:.1f} MB of buffers",
        f"and globals, {printed / 1e3:.0f} kB of printed text. The same modules ran on the reference engine, and all",
        "that they left was compared bit by bit.",
        *(["", note] if note else []),
        "",
        "| outcome | modules | |",
        "|---|--:|---|",
    ]
    counts = Counter(v.outcome for v in verdicts)
    lines += [f"| {name} | {counts[name]} | {what} |" for name, what in OUTCOMES.items()]
    lines += [f"| {name} | {counts[name]} | {text} |" for name, text, _ in FAULTS if counts[name]]
    lines += [f"| refused by the compiler | {sum(refused.values())} | See below. |", ""]
    found = [v for v in verdicts if v.wrong]
    lines += ["## What differs", "", *(f"* {v.name}, {v.outcome}: {'; '.join(v.wrong[:3])}" for v in found), ""]
    lines += [*EXPLAINED, "", "## What the compiler refused", "", "| modules | what it said |", "|--:|---|"]
    lines += [f"| {count} | {said} |" for said, count in refused.most_common()]
    lines += ["", *UNSAID]
    seen: Counter[str] = Counter()
    for v in verdicts:
        seen += Counter(v.seen.keys())
    lines += ["", "## How many of the modules that ran hold an operation", "", "| operation | modules |", "|---|--:|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(seen.items())]
    return "\n".join(lines)


UNSAID = """\
Where it says no more than that it failed, a gather/scatter view is nearly always indexed with i8 or i16, or a load
promises `inbounds` on a view with padding. A negative exit status is a crash.""".splitlines()

EXPLAINED = """\
## What is compared

* Operations for which a GPU may give other bits are left out of the modules. Which ones, the functions that execute
  them declare, by types and attributes: transcendental functions and approximate modes, sums of floats in `reduce`
  and `scan`, matrix products on tensor cores, and the few conversions in which an H200 rounds twice.
* Entries also store values that nothing uses, half of them every value of their own block.
* Constants of floats are loaded from memory, in half of the modules all constants: what NVIDIA's compiler computes
  itself has other NaNs than what the GPU computes (and `maxf` of a signalling NaN and a number then gives NaN).
* Every launch is done twice on the GPU, on memory with the same content, and must give the same bits.
* What is printed has an order only in one tile block and after a token; elsewhere the characters are counted.
* A module that differs counts as showing a fault of the compiler if it has the pattern; each one listed was made small
  by hand, and the small kernel differs in the same way. Integers count as made of a NaN's bits if a NaN differs in the
  same module and the module has `bitcast`, `pack` or `ptr_to_ptr`.

## Where bits of NaN differ

The specification leaves them open. The engine has the bits that the instructions of the GPU give. The compiler gives
others where it simplifies: the larger or smaller one of a value and itself is that value (so is a `reduce` or `scan` of
equal values), a conversion of a conversion is one, what follows from constants and `iota` is computed at once, and a
NaN of tf32 in a global becomes quiet. Where both factors of a product in an `mmaf` of f64 are NaN, the payload is that
of either.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("build")
    one.add_argument("bundle", type=Path)
    one.add_argument("--tileiras", default="tileiras")
    one.add_argument("--gpu", default="sm_90")
    one.add_argument("--count", type=int, default=1000)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--jobs", type=int, default=2)
    one.set_defaults(do=build)
    two = commands.add_parser("compare")
    two.add_argument("files", type=Path, nargs="+")
    two.add_argument("--jobs", type=int, default=2)
    two.add_argument("-v", "--verbose", action="store_true")
    two.add_argument("--output", type=Path)
    two.add_argument("--note", default="", help="a sentence for the report, on where the bundles are from")
    two.set_defaults(do=compare)
    args = parser.parse_args()
    status: int = args.do(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
