"""Judge one candidate: stage after stage, until one rejects it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from ..diag import ErrorKind, TileError
from ..ir import Refused
from .candidates import compile_file, compile_source
from .jail import Jail, Limits
from .memory import GuardedMemory, Poison
from .problem import KINDS, Case, Problem, Shape
from .program import CandidateProgram, Submission, keep_submission
from .reference import Expected, expect, expect_of_kernel, load_function
from .results import ACCEPTED, FAILED, PASSED, SKIPPED, STAGES, FaultKind, MachineError, Result, StageResult
from .stages.comparing import compare
from .stages.executing import (
    LoadedSubmission,
    Schedule,
    execute,
    execute_together,
    in_groups,
    load,
    make_buffers,
    must_read,
    outputs_of,
    sanitizer_for,
)
from .stages.metamorphic import change_expected, change_inputs
from .stages.static import check_static, has_atomics
from .values import Array, draw_all, storage

OPTIONAL = ("prove", "time")
DEFAULT_STAGES = tuple(each for each in STAGES if each not in OPTIONAL)
MOST_KEPT = 4096
"""Cases whose inputs and expected outputs are kept for the next candidate."""


class Rejected(Exception):
    """A stage rejects the candidate."""

    def __init__(self, kind: str, reason: str, **facts: Any) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.facts = kind, reason, facts


class Skipped(Exception):
    """A stage has nothing to say."""


class Unjudged(Exception):
    """There is no verdict, through no fault of the candidate."""


def fault(kind: FaultKind, reason: str, **facts: Any) -> Rejected:
    return Rejected(kind.value, reason, **facts)


@dataclass(slots=True)
class Candidate:
    """A candidate between stages."""

    submission: Submission
    loaded: LoadedSubmission = field(default_factory=lambda: LoadedSubmission([]))
    checked: dict[Case, dict[str, GuardedMemory]] = field(default_factory=dict)
    """The memory that the sanitizer's launches left."""
    outputs: dict[Case, dict[str, Array]] = field(default_factory=dict)
    """The bits of the outputs of each case, of a run in another order too if they may differ."""
    others: dict[Case, dict[str, Array]] = field(default_factory=dict)


class Judge:
    """Judges candidates for a problem, one after the other.

    `against` is a Python function, `FILE.py::function`, or the file of a kernel. The `salt` decides all random values:
    by default it is drawn now, so no candidate can know the inputs. A launch may take `seconds`, and all launches of a
    candidate `total` seconds of processor time. The kernels of accepted candidates go to the folder `keep`.
    """

    def __init__(
        self,
        problem: Problem,
        against: Callable[..., Any] | str | None = None,
        *,
        salt: int | None = None,
        stages: tuple[str, ...] = DEFAULT_STAGES,
        limits: Limits | None = None,
        seconds: float = 10.0,
        total: float = 120.0,
        plain: bool = False,
        timing: Mapping[str, Any] | None = None,
        keep: str | Path | None = None,
    ) -> None:
        self.problem = problem
        self.salt = secrets.randbits(63) if salt is None else salt
        self.stages, self.seconds, self.total = stages, seconds, total
        self.deadline = 0.0
        self.keep = keep
        self.timing = dict(timing or {})
        place = against if isinstance(against, str) else problem.reference
        self.jail = Jail(
            limits, plain=plain, hidden=[problem.folder, (problem.folder / place.partition("::")[0]).parent]
        )
        self.function: Callable[..., Any] | None = None
        self.kernel: Candidate | None = None
        self.inputs: dict[Case, dict[str, Array]] = {}
        self.expected: dict[Case, dict[str, Expected]] = {}
        self.first = {case.shape: case for case in reversed(problem.cases)}
        """The first case of each shape."""
        self._set_reference(against if against is not None else problem.reference)

    def _set_reference(self, against: Callable[..., Any] | str) -> None:
        if callable(against):
            self.function = against
        elif not against:
            raise TileError("nothing says what is right: name a reference function or kernel")
        elif "::" in against or (against.endswith(".py") and not _launches(self.problem.folder / against)):
            self.function = load_function(against, self.problem.folder)
        else:
            submission = compile_file(self.problem.folder / against, self.problem, self.jail)
            self.kernel = Candidate(submission, load(submission))

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the jail."""
        self.jail.close()

    # ------------------------------------------------------------ a candidate

    def judge(self, path: str | Path) -> Result:
        """Judge a file."""
        return self._judge(str(path), lambda: compile_file(path, self.problem, self.jail))

    def judge_source(self, source: bytes | str, name: str, header: str | None = None) -> Result:
        """Judge a candidate that is in memory; the ending of its name tells what it is."""
        data = source.encode() if isinstance(source, str) else source
        return self._judge(name, lambda: compile_source(data, name, self.problem, self.jail, header=header))

    def _judge(self, name: str, make: Callable[[], Submission]) -> Result:
        result = Result(name, salt=self.salt)
        candidate = Candidate(Submission([], []))
        self.deadline = time.thread_time() + self.total

        def compile_it() -> dict[str, Any]:
            candidate.submission = make()
            return {"jail": candidate.submission.jail, "modules": len(candidate.submission.modules)}

        work: dict[str, Callable[[], dict[str, Any]]] = {
            "compile": compile_it,
            "verify": lambda: self._verify(candidate),
            "static": lambda: self._static(candidate),
            "sanitize": lambda: self._sanitize(candidate),
            "run": lambda: self._run(candidate),
            "compare": lambda: self._compare(candidate),
            "metamorphic": lambda: self._laws(candidate),
            "prove": lambda: self._prove(candidate),
            "time": lambda: self._time(candidate),
        }
        for stage in STAGES:
            if stage in self.stages:
                try:
                    made = self._stage(stage, work[stage])
                except Unjudged as error:
                    result.error = str(error)
                    break
                result.stages.append(made)
                if made.verdict == FAILED:
                    break
        if self.keep is not None and result.verdict == ACCEPTED:
            keep_submission(candidate.submission, [shape.name for shape in self.problem.shapes], Path(self.keep), name)
        return result

    def _left(self, launches: int = 1) -> float:
        """Return the seconds that the next launches may take."""
        left = self.deadline - time.thread_time()
        if left <= 0:
            message = f"its launches took more than {self.total:g} seconds of processor time"
            raise TileError(message, kind=ErrorKind.TIMEOUT)
        return min(launches * self.seconds, left)

    def _stage(self, name: str, work: Callable[[], dict[str, Any]]) -> StageResult:
        started = time.perf_counter()
        try:
            made = StageResult(name, PASSED, facts=work())
        except Rejected as error:
            made = StageResult(name, FAILED, error.reason, error.kind, facts=error.facts)
        except Skipped as error:
            made = StageResult(name, SKIPPED, str(error))
        except MachineError as error:
            raise Unjudged(_told(error)) from None
        except TileError as error:
            made = StageResult(name, FAILED, _told(error), error.kind.value)
        except (MemoryError, RecursionError) as error:
            made = StageResult(name, FAILED, f"{type(error).__name__} in the judge", ErrorKind.MEMORY.value)
        made.seconds = time.perf_counter() - started
        return made

    # ------------------------------------------------------------ data

    def inputs_of(self, case: Case) -> dict[str, Array]:
        """Return the bits of the inputs of a case."""
        if case not in self.inputs:
            shape = self.problem.shapes[case.shape]
            rng = np.random.default_rng([self.salt, case.shape, KINDS.index(case.values), case.seed])
            made = draw_all(self.problem, shape, case.values, rng)
            self._keep(self.inputs, case, made)
            return made
        return self.inputs[case]

    def expected_of(self, case: Case) -> dict[str, Expected]:
        """Return what the reference says about a case."""
        if case not in self.expected:
            started = time.thread_time()
            try:
                seed = self.salt % (1 << 32) + 1000 * case.seed
                made = self.expect(self.problem.shapes[case.shape], case.shape, self.inputs_of(case), seed)
            except TileError as error:
                raise Unjudged(_told(error)) from None
            self.deadline += time.thread_time() - started  # not the candidate's
            self._keep(self.expected, case, made)
            return made
        return self.expected[case]

    def expect(self, shape: Shape, index: int, inputs: Mapping[str, Array], seed: int) -> dict[str, Expected]:
        """Return what the reference says about inputs of a shape, which has an index."""
        if self.function is not None:
            return expect(self.function, self.problem, shape, inputs, seed)
        assert self.kernel is not None
        kernel, program = self.kernel, self.kernel.submission.programs[index]

        def run(values: Mapping[str, Array]) -> dict[str, Array]:
            buffers = make_buffers(self.problem, shape, program, values, Poison(seed))
            execute(kernel.loaded, program, buffers, left=lambda: self.seconds)
            return outputs_of(self.problem, shape, buffers)

        return expect_of_kernel(run, self.problem, shape, inputs, seed)

    def _keep(self, store: dict[Case, Any], case: Case, made: Any) -> None:
        if len(store) < MOST_KEPT:
            store[case] = made

    def _seed(self, case: Case) -> int:
        return crc32(f"{self.salt} {case.shape} {case.values} {case.seed}".encode())

    # ------------------------------------------------------------ stages

    def _verify(self, candidate: Candidate) -> dict[str, Any]:
        candidate.loaded = load(candidate.submission)
        return {}

    def _static(self, candidate: Candidate) -> dict[str, Any]:
        modules = candidate.loaded.modules
        entries = [
            (launch.module, candidate.loaded.kernel(launch.module, launch.entry).name)
            for program in candidate.submission.programs
            for launch in program.launches
        ]
        found = check_static(modules, entries)
        if found is not None:
            raise fault(*found)
        return {}

    def _sanitize(self, candidate: Candidate) -> dict[str, Any]:
        """Run each shape once with all checks, on the first of its cases."""
        seen: set[str] = set()
        for case in self.first.values():
            shape, program = self.problem.shapes[case.shape], candidate.submission.programs[case.shape]
            buffers = make_buffers(self.problem, shape, program, self.inputs_of(case), Poison(self._seed(case)))
            checks = sanitizer_for(self.problem, shape, program, buffers, seen)
            with _in_case(shape.name, case):
                execute(candidate.loaded, program, buffers, left=self._left, sanitize=checks)
            candidate.checked[case] = buffers
            if checks.reports.faults:
                report = checks.reports.faults[0]
                raise Rejected(
                    report.kind.value, f"{report.message}, for {shape.name}",
                    reports=[each.as_dict() for each in checks.reports.faults[:5]],
                )  # fmt: skip
        for argument in self.problem.arguments:
            if argument.name in must_read(self.problem) - seen:
                raise fault(FaultKind.UNREAD, f"the input '{argument.name}' is never read")
        return {"launches": len(self.first)}

    def _run(self, candidate: Candidate) -> dict[str, Any]:
        """Run every case twice: over complementary poison, and in another order of tile blocks, which take turns.

        The first run of the first case of each shape is that of the sanitizer, if there was one.
        """
        atomics = has_atomics(candidate.loaded.modules)
        for cases in in_groups(self.problem.cases, lambda case: self._size(candidate, case)):
            checked = {case: candidate.checked.pop(case) for case in cases if case in candidate.checked}
            firsts = {case: self._left_by(buffers, case) for case, buffers in checked.items()}
            unknown = [case for case in cases if case not in firsts]
            firsts |= zip(unknown, self._side_by_side(candidate, unknown, inverted=False))
            for case, second in zip(cases, self._side_by_side(candidate, cases, inverted=True)):
                for name, bits in firsts[case].items():
                    self._check_same(case, name, bits, second[name], atomics)
                candidate.outputs[case] = firsts[case]
                if atomics:
                    candidate.others[case] = second
        return {"cases": len(self.problem.cases), "runs": 2 * len(self.problem.cases)}

    def _size(self, candidate: Candidate, case: Case) -> int:
        """Return the bytes of memory of a case."""
        shape, program = self.problem.shapes[case.shape], candidate.submission.programs[case.shape]
        arrays = [argument for argument in self.problem.typed(shape) if argument.is_array]
        held = [prod(self.problem.extents(each, shape)) * storage(each).itemsize for each in arrays]
        return sum(held) + sum(scratch.size for scratch in program.scratch.values())

    def _side_by_side(
        self,
        candidate: Candidate,
        cases: Sequence[Case],
        *,
        inverted: bool,
        inputs: Sequence[Mapping[str, Array]] | None = None,
    ) -> list[dict[str, Array]]:
        """Run cases of one shape side by side; if that fails, one after the other, so that an error names its case."""
        values = [self.inputs_of(case) for case in cases] if inputs is None else list(inputs)
        if len(cases) > 1:
            with suppress(TileError, Refused, MemoryError):
                many = [self._buffers(candidate, case, inverted, each) for case, each in zip(cases, values)]
                execute_together(
                    candidate.loaded,
                    candidate.submission.programs[cases[0].shape],
                    many,
                    left=lambda: self._left(len(cases)),
                    schedule=self._schedule(candidate, cases[0], inverted),
                )
                return [self._left_by(buffers, case) for buffers, case in zip(many, cases)]
        return [self._once(candidate, case, inverted=inverted, inputs=each) for case, each in zip(cases, values)]

    def _once(
        self, candidate: Candidate, case: Case, *, inverted: bool, inputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        buffers = self._buffers(candidate, case, inverted, self.inputs_of(case) if inputs is None else inputs)
        schedule = self._schedule(candidate, case, inverted)
        program = candidate.submission.programs[case.shape]
        with _in_case(self.problem.shapes[case.shape].name, case):
            execute(candidate.loaded, program, buffers, left=self._left, schedule=schedule)
        return self._left_by(buffers, case)

    def _buffers(
        self, candidate: Candidate, case: Case, inverted: bool, values: Mapping[str, Array]
    ) -> dict[str, GuardedMemory]:
        shape, program = self.problem.shapes[case.shape], candidate.submission.programs[case.shape]
        return make_buffers(self.problem, shape, program, values, Poison(self._seed(case), inverted))

    def _schedule(self, candidate: Candidate, case: Case, inverted: bool) -> Schedule | None:
        """Return the order of the tile blocks of a second run."""
        if not inverted or _blocks(candidate.submission.programs[case.shape]) < 2:
            return None
        return Schedule(self._seed(case))

    def _left_by(self, buffers: Mapping[str, GuardedMemory], case: Case) -> dict[str, Array]:
        """Return the outputs of a launch; refuse one that changed anything else."""
        shape = self.problem.shapes[case.shape]
        for buffer in buffers.values():
            if (not buffer.writable and buffer.changed()) or buffer.changed_outside():
                what = "memory around" if buffer.writable else "the input"
                raise fault(FaultKind.CHANGED_INPUT, f"{what} '{buffer.name}' was changed, for {shape.name}")
        return outputs_of(self.problem, shape, buffers)

    def _check_same(self, case: Case, name: str, first: Array, second: Array, atomics: bool) -> None:
        """Refuse outputs that depend on poison or on the order of tile blocks."""
        a, b = (each.view(f"u{each.dtype.itemsize}") for each in (first, second))
        differ = a != b
        if not differ.any():
            return
        where = [int(n) for n in np.argwhere(differ)[0]]
        shape = self.problem.shapes[case.shape].name
        argument = next(each for each in self.problem.arguments if each.name == name)
        flipped = a ^ b
        whole = 1 if argument.element.name == "i1" else np.iinfo(a.dtype).max
        if argument.role == "out" and (flipped[differ] == whole).all():
            count = int(np.count_nonzero(differ))
            raise fault(
                FaultKind.UNWRITTEN, f"'{name}'{where} and {count - 1} more elements are not written, for {shape}"
            )
        if not (atomics and argument.element.is_float):
            raise fault(
                FaultKind.UNSTABLE,
                f"'{name}'{where} depends on what memory held before, or on the order of tile blocks, for {shape}",
            )

    def _compare(self, candidate: Candidate) -> dict[str, Any]:
        worst, undecided, total = 0.0, 0, 0
        for runs in (candidate.outputs, candidate.others):
            for case, outputs in runs.items():
                shape = self.problem.shapes[case.shape]
                expected = self.expected_of(case)
                for argument in self.problem.typed(shape):
                    if argument.name not in outputs:
                        continue
                    found = compare(argument, outputs[argument.name], expected[argument.name])
                    worst, undecided, total = max(worst, found.worst), undecided + found.undecided, total + found.total
                    if found.wrong:
                        where = f"'{argument.name}'[{', '.join(map(str, found.where))}]"
                        raise fault(
                            FaultKind.WRONG_RESULT,
                            f"{where} is {found.got}, expected {found.wanted}; {found.wrong} of {found.total} elements "
                            f"are wrong, for {shape.name}, {case.values} values",
                            **found.as_dict(),
                        )
        if undecided == total:
            raise Unjudged("rounding alone decides every element of every case; choose other values")
        return {"worst": worst, "elements": total, "undecided": undecided}

    def _laws(self, candidate: Candidate) -> dict[str, Any]:
        if not self.problem.laws:
            raise Skipped("the problem declares no laws")
        checked = 0
        for case in self.problem.cases:
            if case.values != "normal" or case.seed:
                continue
            shape = self.problem.shapes[case.shape]
            laws, seed = self.problem.laws, self._seed(case)
            changed = [change_inputs(law, self.problem, shape, self.inputs_of(case), seed) for law in laws]
            runs = self._side_by_side(candidate, [case] * len(laws), inverted=False, inputs=changed)
            for law, outputs in zip(laws, runs):
                expected = change_expected(law, self.problem, shape, self.expected_of(case), seed)
                for argument in self.problem.typed(shape):
                    if argument.name in outputs:
                        found = compare(argument, outputs[argument.name], expected[argument.name], 2.0)
                        if found.wrong:
                            raise fault(
                                FaultKind.LAW,
                                f"{law.name}: '{argument.name}'{list(found.where)} is {found.got}, expected "
                                f"{found.wanted}, for {shape.name}",
                            )
                checked += 1
        return {"checked": checked}

    def _prove(self, candidate: Candidate) -> dict[str, Any]:
        from .stages.proving import prove_equal

        if self.kernel is None:
            raise Skipped("the reference is a Python function; a proof needs a kernel")
        said: dict[str, str] = {}
        proven = 0
        for index, case in self.first.items():
            self._left()
            shape = self.problem.shapes[index]
            ours, theirs = ((each.loaded, each.submission.programs[index]) for each in (candidate, self.kernel))
            verdict, said[shape.name] = prove_equal(ours, theirs, self.problem, shape, self.inputs_of(case))
            if verdict == FAILED:
                raise fault(FaultKind.WRONG_RESULT, f"{said[shape.name]}, for {shape.name}")
            proven += verdict == PASSED
        if not proven:
            raise Skipped(next(iter(said.values())))
        return {"proven": proven, "shapes": len(self.first), "said": said}

    def _time(self, candidate: Candidate) -> dict[str, Any]:
        from .stages.timing import time_submission

        found = time_submission(self, candidate.submission, self.timing)
        if found.get("wrong"):
            raise fault(FaultKind.WRONG_RESULT, str(found["wrong"]), **found)
        if found.get("impossible"):
            raise fault(FaultKind.IMPOSSIBLE_TIME, str(found["impossible"]), **found)
        return found


def _blocks(program: CandidateProgram) -> int:
    return max(x * y * z for x, y, z in (launch.grid for launch in program.launches))


def _launches(path: Path) -> bool:
    """Tell whether a Python file is a candidate: it has a host function, and the reference is then a kernel."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return False
    return "cuda.tile" in text or "triton" in text


class _in_case:
    """Adds the case to an error."""

    def __init__(self, shape: str, case: Case) -> None:
        self.said = f"for {shape}, {case.values} values"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, TileError):
            error.notes.append(self.said)


def _told(error: TileError) -> str:
    """Return an error in one line: its message, and the notes that say where."""
    return "; ".join([error.message, *map(str, error.notes[:4])])[:1000]
