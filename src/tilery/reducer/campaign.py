"""Campaigns: generate random modules, look for faults, reduce them, and keep one folder per cause.

Everything that was found is in a journal, so a campaign that was interrupted goes on where it was, and no case is
counted twice. What a case comes to depends on its seed alone.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..bytecode.writer import write
from ..engines.semantics import same_bits
from ..ir import walk
from ..ops import Constant, Entry, Module, Return
from ..smith import smith_with_contract
from ..smith.contract import Buffer, Launch
from ..version import SUPPORTED, Version
from .case import Case, CaseLaunch
from .oracles import Differs, TileirasOracle, with_steps
from .report import as_text, shown, summary
from .runners import CandidateRunner, InProcess, Remote, Threads, ends_child
from .search import Reduction, Search

MOST_REDUCED = 20
"""The number of findings with the same outcome that are reduced, unless a campaign says otherwise."""
TOGETHER = 8
"""The number of seeds that make a task of a cluster."""


@dataclass(frozen=True)
class CampaignPlan:
    """The work of a campaign for each seed: the module that it makes, and the comparison."""

    against: str = "tileiras"
    """`tileiras`, which must not crash, or two engines, which must agree."""
    target: str = "sm_100"
    tool: str = ""
    size: int = 50
    version: str = ""
    """The bytecode version; by default all take turns."""
    mix: Mapping[str, float] | None = None
    seconds: float = 60.0
    """The seconds that one test may take."""
    reduce_seconds: float = 600.0
    """The seconds that one reduction may take."""

    @property
    def engines(self) -> tuple[str, str] | None:
        """The engines that are compared, if any."""
        names = self.against.split(",")
        return (names[0], names[1]) if len(names) == 2 else None

    def identity(self) -> dict[str, Any]:
        """Return what decides the modules and their outcomes, as plain data."""
        facts = asdict(self)
        return {name: facts[name] for name in ("against", "target", "size", "version", "mix")}

    def version_of(self, seed: int) -> Version:
        return Version.parse(self.version) if self.version else SUPPORTED[seed % len(SUPPORTED)]

    def test(self) -> Any:
        """Return the test that finds a fault in a case."""
        if self.engines is not None:
            return Differs(self.engines, seconds=self.seconds)
        return TileirasOracle(self.target, tool=self.tool, seconds=self.seconds)

    def cases(self, seed: int) -> list[Case]:
        """Return what is tested for a seed: a module, or a module for each of its launches."""
        version = self.version_of(seed)
        exact = self.engines is not None
        module, contract = smith_with_contract(
            seed, version=version, size=self.size, mix=self.mix, allow=same_bits if exact else None
        )
        module.version = version
        if not exact:
            return [Case(module)]
        return [Case(module, launched(launch, seed + n)) for n, launch in enumerate(contract.launches)]


def launched(launch: Launch, seed: int) -> CaseLaunch:
    """Return a launch of a random module, with random bits in its buffers."""
    import numpy as np

    from ..attrs import IntAttr
    from ..engines.common.numerics.convert import to_f64
    from ..engines.common.tiles import carrier
    from ..types import TF32

    rng = np.random.default_rng(seed)
    args: list[Any] = []
    for argument in launch.args:
        if isinstance(argument, Buffer):
            dtype = carrier(argument.element)
            raw = rng.integers(0, 256, argument.count * dtype.itemsize, np.uint8)
            args.append(raw & 1 if argument.element.bits == 1 else raw.view(f"u{dtype.itemsize}"))
        elif isinstance(argument, IntAttr):
            args.append(argument.bits)
        else:
            dtype = carrier(argument.type)
            # An array holds a tf32 in the upper bits of an f32.
            bits = np.array([argument.bits << (13 if argument.type is TF32 else 0)], f"u{dtype.itemsize}")
            with np.errstate(invalid="ignore"):
                args.append(float(to_f64(bits.view(dtype), argument.type)[0]))
    return CaseLaunch(launch.entry, launch.grid, tuple(args))


# ---------------------------------------------------------------- one seed

_local = threading.local()


def run_test(test: Any, case: Case, seconds: float) -> str:
    """Run a test so that nothing it does reaches this process: it may crash or hang."""
    if test.waits:
        return str(test(case))
    child: Remote | None = getattr(_local, "child", None)
    if child is None or getattr(_local, "test", None) != test:
        if child is not None:
            child.end()
        child = Remote(test)
        _local.child, _local.test = child, test
    outcome = child.ask(case.encode(case.module.version), 3 * seconds)
    if ends_child(test, outcome):
        child.end()
        _local.child = None
    return outcome


def end_child() -> None:
    """End the child of this thread, if it has one."""
    child: Remote | None = getattr(_local, "child", None)
    if child is not None:
        child.end()
        _local.child = None


def check_seed(plan: CampaignPlan, seed: int) -> dict[str, Any]:
    """Return the outcomes of a seed: for each case of it that shows a fault, its number and what is wrong."""
    test = plan.test()
    found = {}
    for number, case in enumerate(plan.cases(seed)):
        outcome = run_test(test, case, plan.seconds)
        if outcome:
            found[str(number)] = outcome
    return {"seed": seed, "outcomes": found}


def check_seeds(plan: CampaignPlan, seeds: list[int]) -> list[dict[str, Any]]:
    """Return the outcomes of some seeds."""
    return [check_seed(plan, seed) for seed in seeds]


def reduce_finding(plan: CampaignPlan, item: tuple[int, int]) -> dict[str, Any]:
    """Reduce one case of a seed; return it as plain data."""
    seed, number = item
    case, test = with_steps(plan.cases(seed)[number], plan.seconds), plan.test()
    original = case.encode(case.module.version)
    runner: CandidateRunner = Threads(test, 1) if test.waits else InProcess(lambda c: run_test(test, c, plan.seconds))
    search = Search(case, runner, version=case.module.version, seconds=plan.reduce_seconds)
    try:
        if not search.result.outcome:
            return {"seed": seed, "number": number, "outcome": "", "cause": "seen once and not again"}
        found = search.run()
    finally:
        runner.close()
    made = shown(found.case, test)
    return {
        "seed": seed,
        "number": number,
        "outcome": found.outcome,
        "cause": cause(found),
        "before": found.before.operations,
        "operations": found.after.operations,
        "tests": found.tests,
        "seconds": round(found.seconds, 1),
        "complete": found.complete,
        "version": str(case.module.version),
        "text": as_text(found, made, [f"Bytecode {case.module.version}. {summary(found)}."]),
        "arrays": {name: data.hex() for name, data in made.arrays.items()},
        "original": original.hex(),
    }


def cause(found: Reduction) -> str:
    """Return what a fault is attributed to: the outcome, and the operations that are left."""
    trivial = (Module, Entry, Return, Constant)
    names = sorted({o.name for o in walk(found.case.module) if not isinstance(o, trivial)})
    return f"{found.outcome}: {', '.join(names) or 'nothing but constants'}"


# ---------------------------------------------------------------- the campaign

Map = Callable[[Callable[[CampaignPlan, Any], Any], CampaignPlan, Iterable[Any]], Iterator[Any]]
"""Calls a function with a plan and each of some items, and yields the results in any order."""


def map_here(jobs: int) -> Map:
    """Return a `Map` that uses threads of this process; tests run in children."""

    def run(function: Callable[[CampaignPlan, Any], Any], plan: CampaignPlan, items: Iterable[Any]) -> Iterator[Any]:
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(function, plan, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()
                for _ in range(jobs):
                    pool.submit(end_child)

    return run


@dataclass
class Campaign:
    """A campaign in a folder: the journal, and what was found.

    The jobs of an array share a folder: the job I of N checks every N-th seed from the I-th on and has a journal of its
    own. A campaign without `shard` reads all journals, does what is missing, and writes what was found.
    """

    plan: CampaignPlan
    folder: Path
    seeds: range
    run_all: Map
    step: Callable[[int], None] = lambda count: None
    most_reduced: int = MOST_REDUCED
    shard: tuple[int, int] | None = None
    checked: dict[int, dict[str, str]] = field(default_factory=dict)
    reduced: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    def run(self) -> None:
        """Check all seeds, reduce what was found, and write the folders and the summary."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.load()
        own = self.own_seeds()
        todo = [seed for seed in own if seed not in self.checked]
        self.step(len(own) - len(todo))
        groups = [todo[n : n + TOGETHER] for n in range(0, len(todo), TOGETHER)]
        for results in self.run_all(check_seeds, self.plan, groups):
            for result in results:
                self._keep(result)
        for result in self.run_all(reduce_finding, self.plan, self.chosen()):
            self._keep(result)
        if self.shard is None:
            self.write()

    def own_seeds(self) -> range:
        """Return the seeds that this job checks."""
        index, count = self.shard or (0, 1)
        return self.seeds[index::count]

    def chosen(self) -> list[tuple[int, int]]:
        """Return what is reduced: the first findings of each outcome that are not reduced yet."""
        count: Counter[str] = Counter()
        found = []
        own = self.own_seeds()
        for seed in sorted(seed for seed in self.checked if seed in own):
            for number, outcome in self.checked[seed].items():
                count[outcome] += 1
                if count[outcome] <= self.most_reduced and (seed, int(number)) not in self.reduced:
                    found.append((seed, int(number)))
        return found

    # ------------------------------------------------------------ the journal

    @property
    def journal(self) -> Path:
        part = f"-{self.shard[0]}-of-{self.shard[1]}" if self.shard is not None else ""
        return self.folder / f"journal{part}.jsonl"

    def load(self) -> None:
        """Read the journals, and start one if there is none for this plan."""
        if not self._read(self.journal):
            if self.journal.exists():
                self.journal.rename(self.journal.with_suffix(".old"))
            self.journal.write_text(json.dumps({"plan": self.plan.identity()}) + "\n", "utf-8")
        if self.shard is None:
            for path in sorted(self.folder.glob("journal-*-of-*.jsonl")):
                self._read(path)

    def _read(self, journal: Path) -> bool:
        """Learn what a journal has, if it is one of this plan."""
        if not journal.exists():
            return False
        lines = [_parsed(line) for line in journal.read_text("utf-8").splitlines()]
        if not lines or lines[0] != json.loads(json.dumps({"plan": self.plan.identity()})):
            return False
        for line in filter(None, lines[1:]):
            self._learn(line)
        return True

    def _learn(self, line: dict[str, Any]) -> None:
        if "cause" in line:
            self.reduced[line["seed"], line["number"]] = line
        elif "seed" in line:
            self.checked[line["seed"]] = line["outcomes"]

    def _keep(self, result: dict[str, Any]) -> None:
        if "outcomes" in result:
            if result["seed"] in self.checked:
                return
            self.step(1)
        with self.journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
        self._learn(result)

    # ------------------------------------------------------------ what is written

    def causes(self) -> dict[str, list[dict[str, Any]]]:
        """Return what was reduced, by its cause; the smallest kernel of each comes first."""
        found: dict[str, list[dict[str, Any]]] = {}
        for key in sorted(self.reduced):
            if key[0] in self.seeds and self.reduced[key]["outcome"]:
                found.setdefault(self.reduced[key]["cause"], []).append(self.reduced[key])
        for items in found.values():
            items.sort(key=lambda item: (item["operations"], len(item["text"]), item["seed"]))
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))

    def write(self) -> None:
        """Write a folder for each cause, and the summary page."""
        causes = self.causes()
        for number, (name, items) in enumerate(causes.items(), 1):
            folder = self.folder / f"{number:02d}-{slug(name)}"
            folder.mkdir(exist_ok=True)
            best = items[0]
            (folder / "reduced.mlir").write_text(best["text"], "utf-8")
            for file, data in best["arrays"].items():
                (folder / file).write_bytes(bytes.fromhex(data))
            original = Case.decode(bytes.fromhex(best["original"]))
            (folder / "original.tileirbc").write_bytes(write(original.module, Version.parse(best["version"])))
            facts = {"cause": name, "seeds": [item["seed"] for item in items], "operations": best["operations"]}
            (folder / "finding.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
        (self.folder / "summary.md").write_text(self.summary(causes), "utf-8")

    def summary(self, causes: dict[str, list[dict[str, Any]]]) -> str:
        """Return the summary page."""
        checked = {seed: found for seed, found in self.checked.items() if seed in self.seeds}
        outcomes = Counter(outcome for found in checked.values() for outcome in found.values())
        plan = self.plan
        what = f"against {plan.against}" + ("" if plan.engines else f" for {plan.target}")
        lines = [
            f"# Campaign {what}",
            "",
            f"{len(checked):,} random modules of about {plan.size} operations, seeds {self.seeds.start} to "
            f"{self.seeds.stop - 1}, {'bytecode ' + plan.version if plan.version else 'all bytecode versions'}. "
            f"{sum(map(bool, checked.values())):,} of them show a fault.",
        ]
        if not outcomes:
            return "\n".join(lines) + "\n"
        reduced = Counter(self.checked[s].get(str(n), "") for s, n in self.reduced if s in checked)
        lines += ["", "| outcome | cases | reduced |", "|---|--:|--:|"]
        lines += [f"| {outcome} | {count} | {reduced[outcome]} |" for outcome, count in outcomes.most_common()]
        lines += [
            "",
            "| cause | reduced cases | seeds | operations before | after | tests |",
            "|---|--:|---|--:|--:|--:|",
        ]
        for name, items in causes.items():
            seeds = ", ".join(str(item["seed"]) for item in items[:6]) + (", ..." if len(items) > 6 else "")
            best = items[0]
            lines.append(
                f"| {name} | {len(items)} | {seeds} | {best['before']} | {best['operations']} | {best['tests']} |"
            )
        for name, items in causes.items():
            lines += ["", f"## {name}", "", "```mlir", items[0]["text"].rstrip("\n"), "```"]
        return "\n".join(lines) + "\n"


def slug(text: str) -> str:
    """Return a text as a part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:  # cut off when the campaign was interrupted
        return None
    return found if isinstance(found, dict) else None
