"""Compare memory that modules left on a GPU with the reference engine, and render docs/reports/lab/gpu_modules.md."""

from __future__ import annotations

import argparse
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from parts import gpu_bugs
from support.contract import arguments, run_contract
from tilery.attrs import FloatAttr, IntAttr
from tilery.cli.progress import progress
from tilery.floats.formats import is_nan
from tilery.ops import Bitcast, Module, Pack, PrintTko, PtrToPtr
from tilery.smith import Argument, Buffer, Contract, Launch
from tilery.types import SCALARS, TF32, Scalar

IDENTICAL, NANS, NANS_AND_INTEGERS = "identical", "identical except for NaN bits", "NaN bits and integers differ"
DIFFERS, FAILED = "different", "failed on the GPU"
OUTCOMES = {
    IDENTICAL: "Every bit of memory and every printed character.",
    NANS: "Only signs and payloads of NaNs differ.",
    NANS_AND_INTEGERS: "NaNs differ, and integers too. The module turns bits of floats into integers, which may or may "
    "not be the reason: these modules were not examined one by one.",
    DIFFERS: "Any other difference.",
    FAILED: "The launch ended with an error, or did not end.",
}

NAN_SIGNS = re.compile(rb" |-(?=nan)")
"""The characters that depend on the sign of a NaN: the sign itself, and the padding."""


@dataclass
class Verdict:
    """The outcome of a module; `wrong` lists the differences."""

    name: str
    outcome: str = IDENTICAL
    wrong: list[str] = field(default_factory=list)
    nans: list[str] = field(default_factory=list)
    """Differences in the bits of NaNs alone."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each operation occurs in the module."""
    launches: int = 0
    size: int = 0
    """Bytes compared."""
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
    """Return the arguments of all launches, from the content of the buffers."""
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
    """Run a module here, and compare with what it left in memory on the GPU."""
    module = tilery.load(bytecode)
    bug = gpu_bugs.known_bug(job["name"], bytecode)
    verdict = Verdict(job["name"], seen=Counter(o.name for o in tilery.walk(module)))
    if "error" in result:
        verdict.wrong = [result["error"]]
        verdict.outcome = outcome_of(verdict, module, bug, failed=True)
        return verdict
    contract = contract_of(job)
    try:
        mine = iter(run_contract(module, contract, given=given(job, contract, before)))
    except Exception as error:  # finding bugs of ours is the purpose of this script
        return replace(verdict, outcome=DIFFERS, wrong=[f"{type(error).__name__}: {error}".splitlines()[0]])
    position = 0
    for launch, left in zip(contract.launches, result["launches"]):
        position = judge_launch(verdict, module, launch, left, mine, content, position)
    verdict.outcome = outcome_of(verdict, module, bug, failed=False)
    return verdict


def judge_launch(
    verdict: Verdict,
    module: Module,
    launch: Launch,
    left: dict[str, Any],
    mine: Iterator[bytes],
    content: bytes,
    position: int,
) -> int:
    """Compare the buffers, globals and printed text of one launch; return the position after its content."""
    buffers = [a for a in launch.args if isinstance(a, Buffer)]
    labels = [f"buffer {n}" for n in range(len(buffers))] + [o.sym_name for o in module.globals]
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
    ordered = in_order(module, launch)
    if not same_text(ours, theirs, ordered):
        nans = same_text(NAN_SIGNS.sub(b"", ours), NAN_SIGNS.sub(b"", theirs), ordered)
        (verdict.nans if nans else verdict.wrong).append(f"{launch.entry}: printed text")
    if not left["stable"]:
        verdict.wrong.append(f"{launch.entry}: a second launch gives other bits")
    verdict.launches += 1
    return position


def outcome_of(verdict: Verdict, module: Module, bug: gpu_bugs.Bug | None, failed: bool) -> str:
    """Classify a module from its differences; only modules listed in `gpu_bugs` are attributed to the compiler."""
    if (verdict.wrong or failed) and bug is not None:
        return f"compiler bug: {bug.name}"
    if failed:
        return FAILED
    if verdict.wrong:
        integers = all("(i" in text for text in verdict.wrong)
        return NANS_AND_INTEGERS if verdict.nans and integers and reveals_bits(module) else DIFFERS
    return NANS if verdict.nans else IDENTICAL


def reveals_bits(module: Module) -> bool:
    """Return whether the module has operations that turn the bits of floats into integers."""
    return any(isinstance(o, (Bitcast, Pack, PtrToPtr)) for o in tilery.walk(module))


def in_order(module: Module, launch: Launch) -> bool:
    """Return whether the printed text has an order: in one tile block, if tokens connect the prints."""
    operations = list(tilery.walk(module.entry(launch.entry)))
    used = {value for o in operations for value in o.operands}
    prints = [o for o in operations if isinstance(o, PrintTko)]
    chained = [o for o in prints if o.token is not None or o.result_token in used]
    return launch.grid == (1, 1, 1) and (len(prints) == 1 or prints == chained)


def same_text(mine: bytes, theirs: bytes, ordered: bool) -> bool:
    """Return whether the texts are equal or, if there is no order, have the same characters."""
    a, b = mine.decode("utf-8", "replace"), theirs.decode("utf-8", "replace")
    return a == b if ordered else sorted(a) == sorted(b)


def difference(ours: bytes, theirs: bytes, kind: Scalar) -> tuple[str, bool]:
    """Describe how many elements differ, and return whether all of them are NaN on both sides."""
    width = 4 if kind is TF32 else kind.storage_bytes
    if len(ours) != len(theirs):
        return f"{len(ours)} and {len(theirs)} bytes", False
    a, b = (np.frombuffer(data, f"u{width}") for data in (ours, theirs))
    where = np.flatnonzero(a != b)
    pairs = [(int(a[at]), int(b[at])) for at in where]
    nans = kind.is_float and all(nan(kind, x) and nan(kind, y) for x, y in pairs)
    x, y = next(((x, y) for x, y in pairs if not (kind.is_float and nan(kind, x) and nan(kind, y))), pairs[0])
    return f"{len(where)} of {len(a)} elements, for example {x:#x} here and {y:#x} on the GPU", nans


def nan(kind: Scalar, word: int) -> bool:
    return is_nan(kind, word >> 13 if kind is TF32 else word)


def judge_one(bundle_path: Path, results_path: Path, job: dict[str, Any]) -> Verdict:
    with zipfile.ZipFile(bundle_path) as bundle, zipfile.ZipFile(results_path) as results:
        name = job["name"]
        result, content = json.loads(results.read(f"{name}.json")), results.read(f"{name}.out")
        return judge(job, bundle.read(f"{name}.tileirbc"), bundle.read(f"{name}.in"), result, content)


def compare(args: argparse.Namespace) -> int:
    """Judge the modules of one or more bundles, and write the page."""
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
    checkout.publish(report(verdicts, refused, args.note), args.output)
    return int(any(v.outcome in (DIFFERS, FAILED) for v in verdicts))


def report(verdicts: list[Verdict], refused: Counter[str], note: str) -> str:
    """Render the comparison as a page."""
    reduced = {v.name: v for v in verdicts if v.name in gpu_bugs.REDUCED}
    verdicts = [v for v in verdicts if v.name not in gpu_bugs.REDUCED]
    total = len(verdicts) + sum(refused.values())
    launches, size, printed = (sum(getattr(v, name) for v in verdicts) for name in ("launches", "size", "printed"))
    lines = [
        "# Whole kernels on a GPU",
        "",
        checkout.fill(
            f"`scripts/gpu_modules.py` wrote this page. NVIDIA's compiler built {total:,} random modules of all "
            f"versions for an H200 (sm_90). {len(verdicts):,} of them ran there: {launches:,} launches, "
            f"{size / 1e6:.1f} MB of buffers and globals, {printed / 1e3:.0f} kB of printed text. The same modules ran "
            "on the reference engine, and everything they left behind was compared bit for bit."
        ),
        *(["", checkout.fill(note)] if note else []),
        "",
        "| outcome | modules | |",
        "|---|--:|---|",
    ]
    counts = Counter(v.outcome for v in verdicts)
    bugs = {name: "See the table of bugs." for name in sorted(counts) if name not in OUTCOMES}
    lines += [f"| {name} | {counts[name]:,} | {text} |" for name, text in {**OUTCOMES, **bugs}.items()]
    lines += [f"| refused by the compiler | {sum(refused.values()):,} | See below. |", ""]
    found = [f"* {v.name}, {v.outcome}: {'; '.join(v.wrong[:3])}" for v in verdicts if v.wrong]
    lines += ["## What differs", "", *(found or ["Nothing but bits of NaN."]), "", *bug_table(reduced), "", *COMPARED]
    lines += ["", "## What the compiler refused", "", "| modules | message |", "|--:|---|"]
    lines += [f"| {count:,} | {said} |" for said, count in refused.most_common()]
    lines += ["", *REFUSALS, "", "## Operations in the modules that ran", "", "| operation | modules |", "|---|--:|"]
    seen: Counter[str] = Counter()
    for v in verdicts:
        seen.update(v.seen.keys())
    lines += [f"| {name} | {count:,} |" for name, count in sorted(seen.items())]
    return "\n".join(lines)


def bug_table(reduced: dict[str, Verdict]) -> list[str]:
    """List the known bugs of the compiler, and whether the reduced kernels show them in this run."""
    lines = [
        "## Bugs of the compiler",
        "",
        *BUGS,
        "",
        "| reduced kernel | first seen | bug | in this run |",
        "|---|---|---|---|",
    ]
    for bug in gpu_bugs.BUGS:
        verdict = reduced.get(bug.name)
        now = "not run" if verdict is None else "; ".join(verdict.wrong) or "no difference"
        link = f"[{bug.name}](compiler_bugs/{bug.file.name})"
        lines.append(f"| {link} | seed {bug.first_seed}, {bug.compiler} | {bug.text} | {now} |")
    return lines


BUGS = """\
A module counts as showing one of these only if it was reduced to the kernel by hand: its seed and the digest of its
bytecode are then listed in `scripts/parts/gpu_bugs.py`. The reduced kernels run with every bundle.""".splitlines()

REFUSALS = """\
A negative exit status is a crash of the compiler. The modules it refused were not examined one by one.""".splitlines()

COMPARED = """\
## What is compared

* Operations for which a GPU may compute other bits are left out of the modules: transcendental functions and
  approximate modes, sums of floats in `reduce` and `scan`, matrix products on tensor cores, and the few conversions in
  which an H200 rounds twice. The engine declares them, by types and attributes.
* Entries also store values that nothing uses; half of them store every value of their own block.
* Float constants are loaded from memory, in half of the modules all constants: what NVIDIA's compiler evaluates itself
  has other NaNs than what the GPU computes (and `maxf` of a signalling NaN and a number then returns NaN).
* Every launch runs twice on the GPU, on the same memory content, and must give the same bits.
* Printed text has an order only in one tile block and if tokens connect the prints; elsewhere characters are counted.

## Where bits of NaN differ

The specification leaves them open. The engine has the bits that the GPU's instructions produce. The compiler produces
others where it simplifies: the maximum or minimum of a value and itself is that value (so is a `reduce` or `scan` of
equal values), two conversions become one, expressions of constants and `iota` are evaluated at compile time, and a tf32
NaN in a global becomes quiet. If both factors of a product in an f64 `mmaf` are NaN, the payload is that of either.

## Not measured

Operations that are left out (above), element types that sm_90 does not have, GPUs other than an H200, and compilers
other than the one named. Agreement on random modules says nothing about the speed of either side.""".splitlines()
