"""Ask the digests of tests/golden about mutants, each in a forked process that imports the core anew."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

from .random_mutants import PACKAGES, Mutant, changed

MEMORY = 8 << 30
"""The address space of a process."""
PATIENCE = 5.0
"""The seconds of processor time that a group of rows may take beyond four times those that it took before."""
SLOWNESS = 10
"""How many seconds may go by for each of these, on a machine that has other work."""


@dataclass
class Groups:
    """Facts about the groups of rows: their digests here, their times, and the lines that they execute."""

    digests: dict[str, list[str]] = field(default_factory=dict)
    """The digest of each row, empty if it is not compared."""
    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """For each group, lines of each file of the core."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self)), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Groups:
        return cls(**json.loads(path.read_text("utf-8")))

    def executing(self, mutant: Mutant) -> list[str]:
        """Return the groups that execute the line of a mutant, the cheapest first."""
        found = []
        for name in self.digests:
            lines = self.lines[name].get(mutant.file, ())
            if lines if mutant.at_import else mutant.line in lines:
                found.append(name)
        return sorted(found, key=self.seconds.__getitem__)

    def allowed(self, name: str) -> float:
        """Return the seconds of processor time that a group may take."""
        return 4 * self.seconds.get(name, 60) + PATIENCE

    def within(self, names: list[str], budget: float) -> list[str]:
        """Return the first of some groups, as many as take no longer than a budget."""
        found: list[str] = []
        spent = 0.0
        for name in names:
            spent += self.seconds[name]
            if spent > budget and found:
                break
            found.append(name)
        return found


@dataclass
class Task:
    """One forked process: groups of rows to compute, perhaps of a mutant."""

    name: str
    groups: list[str]
    change: Mutant | None = None
    learn: bool = False


@dataclass
class Outcome:
    """`by` is the first row that differs, and empty without any; `asked` counts the groups that were computed."""

    by: str = ""
    asked: int = 0
    seconds: float = 0.0
    complete: bool = False


@dataclass
class _Running:
    task: Task
    file: Path
    until: float
    started: float


def compute(
    tasks: Iterable[Task], groups: Groups, copy: Path, folder: Path, jobs: int, deadline: float
) -> Iterator[tuple[Task, Any]]:
    """Yield tasks with what they answer as they end, at most `jobs` at a time; at the deadline, drop the rest."""
    todo = iter(tasks)
    running: dict[int, _Running] = {}
    free = list(range(jobs))
    slots: dict[int, int] = {}
    more = True
    while more or running:
        while more and free and time.monotonic() < deadline:
            if (task := next(todo, None)) is None:
                more = False
                break
            slot = free.pop()
            file = folder / f"golden{slot}.json"
            file.unlink(missing_ok=True)
            now = time.monotonic()
            allowed = SLOWNESS * (PATIENCE + sum(map(groups.allowed, task.groups)))
            pid = os.fork()
            if pid == 0:
                _child(task, groups, copy, file)
            running[pid] = _Running(task, file, now + allowed, now)
            slots[pid] = slot
        time.sleep(0.005)
        now = time.monotonic()
        more = more and now < deadline
        for pid, each in list(running.items()):
            late = now > min(each.until, deadline)
            if late:
                os.kill(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, 0 if late else os.WNOHANG)
            if not ended:
                continue
            del running[pid]
            free.append(slots.pop(pid))
            if late and now >= deadline:
                continue
            late = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
            yield each.task, _answer(each, late, now)


def _answer(each: _Running, late: bool, now: float) -> Any:
    if each.task.learn:
        return Groups.load(each.file) if each.file.exists() else None
    if each.file.exists():
        return Outcome(**json.loads(each.file.read_text("utf-8")))
    return Outcome("did not end" if late else "died", 0, now - each.started, True)


# ---------------------------------------------------------------- in the forked process


def _child(task: Task, groups: Groups, copy: Path, file: Path) -> None:
    status = 1
    try:
        sink = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(sink, number)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(copy)
        sys.dont_write_bytecode = True
        mine = tuple(f"{Path(__file__).resolve().parents[2]}{os.sep}{each}" for each in ("src", "tests", "scripts"))
        sys.path[:] = [f"{copy}/src", f"{copy}/tests", *(path for path in sys.path if not path.startswith(mine))]
        if task.change is not None:
            path = copy / task.change.file
            sys.meta_path.insert(0, _Changed(path, changed(task.change, path.read_text("utf-8")), copy / "src"))
        made = _learn(task, copy) if task.learn else _compare(task, groups)
        scratch = file.with_suffix(".part")
        scratch.write_text(json.dumps(vars(made)), "utf-8")
        scratch.rename(file)
        status = 0
    finally:
        os._exit(status)


class _Changed(MetaPathFinder, Loader):
    """Import one module from another text."""

    def __init__(self, path: Path, text: str, source: Path) -> None:
        parts = list(path.relative_to(source).with_suffix("").parts)
        self.package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.package else parts)
        self.path, self.text = path, text

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        folders = [str(self.path.parent)] if self.package else None
        return spec_from_file_location(fullname, self.path, loader=self, submodule_search_locations=folders)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self.text, str(self.path), "exec"), module.__dict__)

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, str(self.path), "exec")


def _compare(task: Task, groups: Groups) -> Outcome:
    started = time.monotonic()
    found = Outcome(complete=True)
    try:
        import golden.rooms  # noqa: F401  # declares the groups
        from golden.table import GROUPS, digest

        for name in task.groups:
            known = groups.digests[name]
            signal.setitimer(signal.ITIMER_PROF, groups.allowed(name))  # ends the process
            number = -1
            for number, text in enumerate(GROUPS[name]()):
                if number >= len(known) or known[number] not in ("", digest(text)):
                    found.by = f"{name} {number}"
                    break
            if not found.by and number + 1 != len(known):
                found.by = f"{name} has fewer rows"
            found.asked += 1
            if found.by:
                break
    except BaseException as e:
        found.by = f"{task.groups[found.asked] if found.asked < len(task.groups) else ''} {type(e).__name__}"
    found.seconds = time.monotonic() - started
    return found


def _learn(task: Task, copy: Path) -> Groups:
    """Compute groups twice: under a trace of lines from the import on, and for the time."""
    found = Groups()
    root = f"{copy}{os.sep}"
    wanted = tuple(f"{copy}/src/tilery/{package}" for package in PACKAGES)
    hits: set[tuple[str, int]] = set()
    stop = _traced(hits, wanted)
    import golden.rooms  # noqa: F401  # declares the groups
    from golden.table import GROUPS, OPEN, digest, load

    for name in task.groups:
        found.digests[name] = [digest(text) for text in GROUPS[name]()]
    stop()
    lines: dict[str, list[int]] = {}
    for path, line in sorted(hits):
        lines.setdefault(path.removeprefix(root), []).append(line)
    for name in task.groups:
        started = time.process_time()
        again = [digest(text) for text in GROUPS[name]()]
        found.seconds[name] = time.process_time() - started
        found.lines[name] = lines
        # A row that is not the same twice says nothing, as one that the table leaves open.
        known = load().get(name, [])
        left_out = {at for at, row in enumerate(known) if row == OPEN}
        first = found.digests[name]
        found.digests[name] = [
            a if a == b and at not in left_out else "" for at, (a, b) in enumerate(zip(first, again))
        ]
    return found


def _traced(hits: set[tuple[str, int]], wanted: tuple[str, ...]) -> Callable[[], None]:
    """Note each line of the wanted files that is executed from here on."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:

        def see(code: CodeType, line: int) -> Any:
            if code.co_filename.startswith(wanted):
                hits.add((code.co_filename, line))
            return monitoring.DISABLE

        monitoring.use_tool_id(monitoring.COVERAGE_ID, "lines")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, see)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        return lambda: monitoring.set_events(monitoring.COVERAGE_ID, 0)

    from coverage import Coverage  # type: ignore[import-not-found, unused-ignore]

    found = Coverage(data_file=None, include=[f"{each}/*" for each in wanted], config_file=False)
    found.start()

    def stop() -> None:
        found.stop()
        data = found.get_data()
        hits.update((file, line) for file in data.measured_files() for line in data.lines(file) or ())

    return stop
