"""The page docs/reports/lab/gpu_engines.md, from the results of `gpu_engines.py`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import checkout
from parts import gpu_bugs

SAME, NANS, PRINTS, DIFFERENT = "same", "nan bits", "printed text", "different"
BUG, REFUSED, FAILED = "compiler bug", "refused", "failed"
UNEXPLAINED = "unexplained"
OUTCOMES = (SAME, NANS, PRINTS, DIFFERENT, BUG, REFUSED, FAILED)


@dataclass
class Result:
    """The outcome of a case on an engine."""

    case: str
    engine: str
    outcome: str
    loose: bool = False
    """Whether the kernel has operations for which hardware may compute other bits."""
    text: str = ""
    op: str = ""
    seconds: float = 0.0
    data: str = ""
    """The memory that the kernel left, where it could not be judged."""
    reason: str = ""
    """Why a kernel may differ."""
    again: dict[str, Any] | None = None
    """The result of a module that differs if its constants are loaded from memory, so that no compiler knows them."""


def page(facts: dict[str, Any]) -> str:
    """Return the report."""
    machine, results = facts["machine"], [Result(**r) for r in facts["results"]]
    lines = [
        "# The GPU engines",
        "",
        checkout.fill(
            "`python scripts/gpu_engines.py` wrote this page. Kernels ran on a GPU through tilery's engines, and "
            "what they left in memory was compared bit for bit with the reference engine (random modules, and "
            "modules in which one operation is frequent) or with what the same GPU had computed earlier with code "
            "of tileiras (hardware cases). The kernels of the benchmarks ran on shapes that are not multiples of the "
            "tiles, between guard values."
        ),
        "",
        checkout.fill(
            f"One {machine['device']} ({machine['target']}), CUDA {machine['driver']}, Triton {machine['triton']}, "
            f"tileiras {machine['tileiras']}. {len(results):,} of {facts['asked']:,} runs finished in time."
        ),
        "",
        checkout.fill(
            "A kernel is exact if all its operations have defined bits; the others may differ within the bounds "
            "that [the reference](../../reference/execution.md) states. `nan bits`: only the bits of NaNs differ, or "
            "integers that were made of them (to test that, the module runs again with one bit pattern for all NaNs), "
            "or their signs in printed text. `printed text`: the memory is the same, but not the text. "
            "`compiler bug`: the module was reduced by hand to one of the kernels below."
        ),
        "",
        "| engine | cases | " + " | ".join(OUTCOMES) + " |",
        "|---|---|" + "---|" * len(OUTCOMES),
    ]
    groups: dict[tuple[str, str, bool], list[Result]] = defaultdict(list)
    for r in results:
        if r.case.startswith(("ragged", "bug")):
            continue
        groups[r.engine, r.case.split(":")[0], r.loose].append(r)
    for (engine, kind, loose), members in sorted(groups.items()):
        counts = Counter(r.outcome for r in members)
        label = f"{kind}, {'loose' if loose else 'exact'}"
        lines.append(f"| {engine} | {label} | " + " | ".join(f"{counts[o]:,}" for o in OUTCOMES) + " |")
    note = [checkout.fill(facts["note"])] if facts.get("note") else []
    lines += [*_ragged(results), "", checkout.fill(CHUNKS), *(["", *note] if note else []), *_bugs(results)]
    plain = [r for r in results if "/" not in r.engine]
    lines += _different([r for r in plain if r.outcome == DIFFERENT and not r.case.startswith("bug")])
    lines += ["", checkout.fill(" ".join([ORDER, *_with_four_warps(results)]))]
    for outcome, title in ((FAILED, "Failed"), (REFUSED, "Refused")):
        members = [r for r in results if r.outcome == outcome and not r.case.startswith("bug")]
        lines += ["", f"## {title}", "", *_listed(members)]
    lines += [
        "",
        "## Not measured",
        "",
        "One GPU of one kind. Speed is not part of this page. The refused kernels were not run, so nothing is known",
        "of their results. A read outside of an array is only noticed if it changes a result.",
    ]
    return "\n".join(lines) + "\n"


ORDER = (
    "Triton spreads a tile over as many warps as the kernel has, and the engine's rules choose one or two for small "
    "tiles, which is faster. NVIDIA's compiler always has four. So sums of floats have different bits more often "
    "with the rules than with the option `num_warps=4`."
)
JUDGED = (
    "A module is judged by running it again on the reference engine: each operation that may differ is computed from "
    "the operands that the GPU had, and must be within its bound. The operations after it use the GPU's result. Every "
    "other operation must have the same bits."
)
AGAIN = (
    "Modules that differ also ran with their constants in memory, [where no compiler evaluates "
    "them](../../gpu-differences.md#constants)."
)
NOT_AGAIN = (
    "None of them ran with its constants in memory, so whether NVIDIA's compiler [evaluated "
    "constants](../../gpu-differences.md#constants) was not tested."
)
FOUR_WARPS = "triton/num_warps=4"

CHUNKS = (
    "All runs that are wrong wrote past the end of a row: on NVIDIA's hardware a store through a tensor map writes "
    "chunks of 16 bytes, and so overwrites what follows a row that does not end at such a chunk. Code of tileiras uses "
    "tensor maps for such rows, so keep what follows them free. The Triton engine uses them only for rows that are "
    "known to end at a chunk."
)


def _with_four_warps(results: list[Result]) -> list[str]:
    """Return how many reductions differ with the rules and with four warps, if those ran."""
    if not any(r.engine == FOUR_WARPS for r in results):
        return []
    found = Counter(r.engine for r in results if r.op == "reduce" and r.outcome == DIFFERENT)
    return [
        f"Of the hardware cases {found['triton']} reductions differ with the rules, {found[FOUR_WARPS]} with four "
        "warps."
    ]


def _ragged(results: list[Result]) -> list[str]:
    """Return the table of the kernels on shapes that fill no tile."""
    members = [r for r in results if r.case.startswith("ragged")]
    if not members:
        return []
    engines = sorted({r.engine for r in members})
    lines = [
        "",
        "## Ragged shapes",
        "",
        checkout.fill(
            "Each kernel ran on random shapes, with rows that begin at multiples of 16 elements and with rows "
            "that begin anywhere. Around every array and between its rows are guard values: NaN for inputs, so "
            "that a result that depends on them is wrong, and a pattern for outputs, which must still be there. A "
            "run is right if the results agree with the reference engine, all guards are the same and no input "
            "has changed."
        ),
        "",
        "| kernel | results | " + " | ".join(f"{engine}, right" for engine in engines) + " |",
        "|---|---|" + "---|" * len(engines),
    ]
    for kernel in dict.fromkeys(r.op for r in sorted(members, key=lambda r: r.case)):
        cells = []
        for engine in engines:
            runs = [r for r in members if (r.op, r.engine) == (kernel, engine)]
            cells.append(f"{sum(r.outcome == SAME for r in runs)} of {len(runs)}")
        loose = next(r for r in members if r.op == kernel).loose
        lines.append(f"| {kernel} | {'close' if loose else 'equal bits'} | " + " | ".join(cells) + " |")
    return lines


def _bugs(results: list[Result]) -> list[str]:
    """Return the table of the reduced kernels of known bugs of NVIDIA's compiler."""
    found = {(r.case.partition(":")[2], r.engine): r for r in results if r.case.startswith("bug")}
    if not found:
        return []
    lines = [
        "",
        "## Bugs of NVIDIA's compiler",
        "",
        "| reduced kernel | bug | tileiras | triton |",
        "|---|---|---|---|",
    ]
    for bug in gpu_bugs.BUGS:
        cells = []
        for engine in ("tileiras", "triton"):
            result = found.get((bug.name, engine))
            cells.append("not run" if result is None else "right" if result.outcome == SAME else result.text)
        lines.append(f"| [{bug.name}](compiler_bugs/{bug.file.name}) | {bug.text} | " + " | ".join(cells) + " |")
    return lines


CHUNK = "It wrote past the end of a row, see above."
"""Why kernels on shapes that fill no tile differ."""


def _different(members: list[Result]) -> list[str]:
    """Return the differences, each with its reason: a table, and the hardware cases by name."""
    lines = ["", "## Different bits", ""]
    if not members:
        return [*lines, "None."]
    hardware, battery = ([r for r in members if r.case.startswith(kind)] for kind in ("hardware", "battery"))
    lines += [
        checkout.fill(
            f"{_known(hardware):,} of {len(hardware):,} hardware cases that differ have a reason, which a script "
            f"checks on the inputs of each case; {len(hardware) - _known(hardware):,} are unexplained. In the battery "
            f"{_known(battery):,} of {len(battery):,} modules have one; {len(battery) - _known(battery):,} are "
            f"unexplained. {JUDGED} {AGAIN if any(r.again for r in battery) else NOT_AGAIN}"
        ),
        "",
        "| engine | operation | what | cases | reason |",
        "|---|---|---|--:|---|",
    ]
    groups: dict[tuple[str, str, bool, str], list[Result]] = defaultdict(list)
    for r in members:
        groups[r.engine, r.op, r.loose, r.reason or (CHUNK if r.case.startswith("ragged") else UNEXPLAINED)].append(r)
    rows = sorted(groups.items(), key=lambda item: (item[0][0] != "triton", item[0][2], -len(item[1]), item[0]))
    for (engine, op, loose, why), found in rows:
        lines.append(f"| {engine} | {op} | {'loose' if loose else 'exact'} | {len(found)} | {why} |")
    unexplained = [r for r in hardware + battery if r.reason in ("", UNEXPLAINED)]
    if unexplained:
        lines += ["", "### Unexplained", "", *(f"* {r.engine}, `{r.case}`: {r.text}" for r in unexplained)]
    lines += ["", "### Hardware cases by name"]
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in hardware:
        names[r.engine, r.reason or UNEXPLAINED].append(r.case.partition(":")[2])
    for (engine, why), found_names in sorted(names.items()):
        lines += ["", checkout.fill(f"{engine}: {why}"), ""]
        lines.append(checkout.fill(", ".join(f"`{name}`" for name in sorted(found_names))))
    return lines


def _known(members: list[Result]) -> int:
    return sum(r.reason not in ("", UNEXPLAINED) for r in members)


def _listed(members: list[Result]) -> list[str]:
    """Return a table of the reasons, with the number of cases and one example of each."""
    if not members:
        return ["None."]
    reasons: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for r in members:
        reasons[r.engine, r.op, r.text].append(r)
    rows = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = ["| engine | operation | what | cases | example |", "|---|---|---|---|---|"]
    for (engine, op, text), found in rows[:60]:
        lines.append(f"| {engine} | {op} | {text[:140].replace('|', '/')} | {len(found)} | `{found[0].case}` |")
    if len(rows) > 60:
        lines.append(f"\nAnd {len(rows) - 60} more reasons.")
    return lines
