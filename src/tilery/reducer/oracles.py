"""The built-in tests: a command, a crash or a message of a compiler, a message of the verifier, a difference between
engines or after passes, a report of the sanitizer. Each returns an outcome, empty if nothing is wrong.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..bytecode.writer import write
from ..diag import TileError
from ..engines.semantics import same_bits
from ..ir import Block, clone, walk
from ..ops import Module
from ..passes import parse_pipeline, run_pipeline
from ..text.print.printer import show
from ..types import Ptr, Tile
from ..verifier.verify import verify
from ..version import Version
from .case import Case, CaseLaunch
from .child import ADDRESS_SPACE
from .runners import HANG, run_command

FILE = "{}"
"""In a command, what the name of the candidate's file replaces."""
MORE, FEW = 4, 100
"""A candidate may take this many times the steps of the original, and a few more."""


def write_case(case: Case, folder: Path, name: str, version: Version | None) -> Path:
    """Write the module of a case to a file: bytecode if the name says so, else text."""
    path = folder / name
    if name.endswith(".tileirbc"):
        path.write_bytes(write(case.module, version))
    else:
        path.write_text(show(case.module), "utf-8", "surrogateescape")
    return path


@dataclass(frozen=True)
class CommandOracle:
    """A command line that ends with status 0 if a candidate is still interesting.

    The name of the candidate's file takes the place of `{}`, or else comes last.
    """

    line: str
    name: str
    """The name of the candidate's file, which is in a folder of its own."""
    version: Version | None = None
    seconds: float = 60.0
    waits = True

    def __call__(self, case: Case) -> str:
        with tempfile.TemporaryDirectory(prefix="tilery") as folder:
            path = write_case(case, Path(folder), self.name, self.version)
            words = shlex.split(self.line)
            if FILE in self.line:
                command = [word.replace(FILE, str(path)) for word in words]
            else:
                command = [*words, str(path)]
            try:
                status, _ = run_command(command, self.seconds, cwd=os.getcwd())
            except OSError as error:
                raise TileError(f"cannot run '{words[0]}': {error.strerror}") from None
        return "status 0" if status == 0 else ""


@dataclass(frozen=True)
class TileirasOracle:
    """NVIDIA's tileiras: it crashes, hangs, or fails with a message that matches.

    Without `message`, only a crash counts, and a hang. With it, every failure counts whose words match.
    """

    target: str
    message: str = ""
    tool: str = ""
    level: int = 3
    seconds: float = 60.0
    waits = True

    def __call__(self, case: Case) -> str:
        from ..engines.tileiras.compiler import encode, find_tool, readable_versions

        tool = Path(self.tool) if self.tool else find_tool()
        versions = readable_versions(tool)
        with tempfile.TemporaryDirectory(prefix="tilery") as folder:
            source = Path(folder, "module.tileirbc")
            try:
                source.write_bytes(encode(case.module, versions))
            except TileError:  # no version that it reads can express the module
                return ""
            options = ["--gpu-name", self.target, "--opt-level", str(self.level)]
            command = [str(tool), *options, str(source), "-o", str(Path(folder, "module.cubin"))]
            env = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}
            try:
                status, said = run_command(command, self.seconds, env=env)
            except OSError as error:
                raise TileError(f"cannot run '{tool}': {error.strerror}") from None
        return compiler_outcome(status, said, self.message)


def compiler_outcome(status: int | None, said: str, message: str = "") -> str:
    """Return what a compilation came to: a hang, a crash with its signal and place, or the message that matches."""
    if message:
        return f"message {message}" if status != 0 and re.search(message, said) else ""
    if status is None:
        return HANG
    if status >= 0:
        return ""
    return " ".join(filter(None, (f"crash, signal {-status}", crash_place(said))))


def crash_place(said: str) -> str:
    """Return where a compiler says it crashed: a failed assertion, or the pass that ran; empty if it does not say."""
    for pattern in (r"(?m)^.*[Aa]ssertion [`'](.{0,200}?)' failed", r"(?m)^(LLVM ERROR: .{0,200})$"):
        if found := re.search(pattern, said):
            return re.sub(r"0x[0-9a-f]+|%\w+", "*", found[1])
    return ""


@dataclass(frozen=True)
class Message:
    """The verifier's errors, or the parser's, match; the other errors of the module are none."""

    pattern: str
    waits = False

    def __call__(self, case: Case) -> str:
        found = [finding.message for finding in verify(case.module, max_errors=20)]
        return f"message {self.pattern}" if found and all(re.search(self.pattern, text) for text in found) else ""


# ---------------------------------------------------------------- execution

ON_THIS_MACHINE = {"reference", "cpu"}
"""Engines that need no GPU. They print in the order of the grid; what others print is not compared."""
DEFINED = "all,order-sensitive"
"""The checks that a launch must pass before engines are compared on it. They combine elements in any order."""
FAILS = " fails: "
"""The text between an engine and its message, in an outcome."""


def execute(module: Module, launch: CaseLaunch, engine: str, seconds: float, *, backwards: bool = False) -> list[bytes]:
    """Return what a launch leaves in arrays and globals, and what it prints; `backwards` places arrays differently."""
    from ..engines.common.limits import Limits
    from ..engines.registry import load_engine

    args = launch.copies(backwards)
    printed: list[str] = []
    loaded = load_engine(engine).load(module)
    limits = Limits(launch.steps if engine == "reference" else None, seconds)
    loaded.kernel(launch.entry).launch(launch.grid, args, limits=limits, output=printed.append)
    left = [a.tobytes() for a in args if hasattr(a, "ndim")]
    left += [loaded.content(o.sym_name) for o in module.globals]
    return [*left, "".join(printed).encode("utf-8", "surrogateescape")]


def expected(module: Module, launch: CaseLaunch, seconds: float, checks: str = "all") -> list[bytes] | None:
    """Return what a launch leaves on the reference engine; None if these checks report it, or it depends on addresses.

    What the sanitizer reports is not defined, so a difference there means nothing.
    """
    if faults(module, launch, checks, seconds) != []:
        return None
    try:
        first = execute(module, launch, "reference", seconds)
        second = execute(module, launch, "reference", seconds, backwards=True)
    except TileError:
        return None
    return first if first == second else None


def faults(module: Module, launch: CaseLaunch, checks: str, seconds: float) -> list[str] | None:
    """Return the names of the checks that found a fault in a launch; None if it did not end or cannot start."""
    try:
        return sanitized(module, launch, checks, launch.steps, seconds)[0]
    except TileError:
        return None


def sanitized(
    module: Module, launch: CaseLaunch, checks: str, steps: int | None, seconds: float
) -> tuple[list[str], int]:
    """Return the names of the checks that found a fault in a launch, and how many steps it took."""
    from ..engines.common.limits import Limits
    from ..engines.registry import load_engine
    from ..sanitize import Sanitizer

    args = launch.copies()
    sanitizer = Sanitizer(checks, uninit=[args[n] for n in launch.uninit], outputs=[args[n] for n in launch.outputs])
    kernel = load_engine("reference").load(module).kernel(launch.entry)
    limits = Limits(steps, seconds)
    stats = kernel.launch(launch.grid, args, limits=limits, sanitize=sanitizer, output=lambda text: None)
    return sorted({report.check for report in sanitizer.reports}), stats.steps


def with_steps(case: Case, seconds: float) -> Case:
    """Return a case whose launch, and that of everything made from it, may take some times the steps it takes now.

    A candidate whose loop no longer ends is then given up soon. A launch that does not end in time stays as it is.
    """
    launch = case.launch
    if launch is None:
        return case
    try:
        _, steps = sanitized(case.module, launch, "all", None, seconds)
    except TileError:
        return case
    return replace(case, launch=replace(launch, steps=MORE * steps + FEW))


def equal_but_for_nan(module: Module, launch: CaseLaunch, left: list[bytes], right: list[bytes]) -> bool:
    """Compare two results bit by bit; a NaN may have other bits, as the specification leaves them open."""
    import numpy as np

    from ..engines.common.numerics.convert import to_f64
    from ..engines.common.tiles import carrier

    params = module.entry(launch.entry).function_type.params
    types = [p.element.pointee for p in params if isinstance(p, Tile) and isinstance(p.element, Ptr)]
    elements = [*types, *(o.value.element for o in module.globals), None]
    for element, a, b in zip(elements, left, right, strict=True):
        if a == b:
            continue
        if element is None or not element.is_float or len(a) != len(b) or element.bits < 8:
            return False
        dtype = carrier(element)
        x, y = (np.frombuffer(data, np.uint8).view(dtype) for data in (a, b))
        with np.errstate(all="ignore"):
            nan = np.isnan(to_f64(x, element)) & np.isnan(to_f64(y, element))
        bits = [data.view(f"u{dtype.itemsize}") for data in (x, y)]
        if ((bits[0] != bits[1]) & ~nan).any():
            return False
    return True


@dataclass(frozen=True)
class Differs:
    """Two engines leave different bits, in a launch in which the sanitizer finds nothing wrong.

    `exact` refuses operations for which hardware may return different bits.
    """

    engines: tuple[str, str] = ("reference", "cpu")
    seconds: float = 30.0
    exact: bool = True
    waits = False

    @property
    def address_space(self) -> int | None:
        """The limit of the process that runs it. CUDA reserves more than there is memory, so there is none for GPUs."""
        return ADDRESS_SPACE if ON_THIS_MACHINE.issuperset(self.engines) else None

    def ends_child(self, outcome: str) -> bool:
        """Tell whether the GPU failed or hangs: it computes nothing more for this process."""
        return FAILS in outcome and not ON_THIS_MACHINE.issuperset(self.engines)

    def __call__(self, case: Case) -> str:
        module, launch = case.module, case.launch
        if launch is None or (self.exact and not all(map(same_bits, walk(module)))):
            return ""
        wanted = expected(module, launch, self.seconds, DEFINED)
        if wanted is None:
            return ""
        results = []
        for name in self.engines:
            try:
                results.append(wanted if name == "reference" else execute(module, launch, name, self.seconds))
            except TileError as error:
                return "" if is_refusal(error) else f"{name}{FAILS}{general(error.message)}"
        if not ON_THIS_MACHINE.issuperset(self.engines):
            for result in results:
                result[-1] = b""
        return "" if equal_but_for_nan(module, launch, *results) else "differs"


def check_engines(names: Sequence[str]) -> None:
    """Raise a TileError if one of these engines cannot run here: a package or the driver is missing."""
    from ..engines.registry import find, load_engine

    for row in map(find, names):
        if not row.installed:
            note = f"install it with: pip install 'tilery[{row.extra}]'"
            raise TileError(f"engine '{row.name}' needs the package '{row.package}'", notes=(note,))
        load_engine(row.name).load(Module(body=Block()))


def general(message: str) -> str:
    """Return the first line of a message without names, numbers and types, which differ from candidate to candidate."""
    line = message.partition("\n")[0]
    return re.sub(r"'[^']*'|@[^ ]+|0x[0-9a-f]+|\b[0-9][0-9.]*", "…", line)[:120]


def is_refusal(error: TileError) -> bool:
    """Tell whether an engine says that it does not support something, or is not installed."""
    words = (
        "not supported",
        "unsupported",
        "not installed",
        "needs the package",
        "no NVIDIA driver",
        "cannot",
        "tileiras:",
    )
    return any(word in error.message for word in words)


@dataclass(frozen=True)
class DiffersAfter:
    """Passes change what a defined launch leaves, or make the module illegal, or fail."""

    passes: str
    seconds: float = 30.0
    waits = False

    def __call__(self, case: Case) -> str:
        module, launch = case.module, case.launch
        after: Module = clone(module)
        try:
            run_pipeline(after, parse_pipeline(self.passes))
        except TileError:  # a pass refuses the module
            return ""
        if verify(after, max_errors=1):
            return "passes produce an illegal module"
        before = None if launch is None else expected(module, launch, self.seconds)
        if launch is None or before is None:
            return ""
        try:
            now = execute(after, launch, "reference", self.seconds)
        except TileError:
            return "differs after passes"
        return "" if equal_but_for_nan(module, launch, before, now) else "differs after passes"


@dataclass(frozen=True)
class ProvenAfter:
    """Passes change what a launch computes over the real numbers, or which integers, and `prove` has a witness for it.

    Other roundings are no difference. The floats of the launch do not matter, only its shapes and integers.
    """

    passes: str
    seconds: float = 30.0
    waits = False

    def __call__(self, case: Case) -> str:
        from ..prove import Program, reals

        launch, after = case.launch, self._changed(case.module)
        if launch is None or after is None:
            return ""
        floats = real_arrays(case.module, launch)
        buffers = {
            f"a{n}": tuple(value.shape) if n in floats else value
            for n, value in enumerate(launch.args)
            if hasattr(value, "ndim")
        }
        args = [f"a{n}" if hasattr(value, "ndim") else value for n, value in enumerate(launch.args)]
        sides = [Program.of(each, launch.grid, args, entry=launch.entry) for each in (case.module, after)]
        try:
            verdict = reals(sides[0], sides[1], buffers, list(buffers), probe=False)
        except TileError:  # a candidate that `prove` does not take
            return ""
        return "proven to differ after passes" if verdict.answer == "different" else ""

    def _changed(self, module: Module) -> Module | None:
        after: Module = clone(module)
        try:
            run_pipeline(after, parse_pipeline(self.passes))
        except TileError:  # a pass refuses the module
            return None
        return None if verify(after, max_errors=1) else after


def real_arrays(module: Module, launch: CaseLaunch) -> set[int]:
    """Return the positions of arrays of floats among the arguments of a launch."""
    return {
        number
        for number, param in enumerate(module.entry(launch.entry).function_type.params)
        if isinstance(param, Tile) and isinstance(param.element, Ptr) and param.element.pointee.is_float
    }


@dataclass(frozen=True)
class Sanitized:
    """The sanitizer reports faults of these checks, and of no others."""

    checks: str
    seconds: float = 30.0
    allowed: tuple[str, ...] = field(default=())
    """Other checks that report something in the original, too."""
    waits = False

    def __call__(self, case: Case) -> str:
        if case.launch is None:
            return ""
        found = faults(case.module, case.launch, f"all,{self.checks}", self.seconds)
        wanted = set(self.checks.split(","))
        if not found or not wanted.intersection(found) or not {*wanted, *self.allowed}.issuperset(found):
            return ""
        return "faults: " + ", ".join(n for n in found if n in wanted)
