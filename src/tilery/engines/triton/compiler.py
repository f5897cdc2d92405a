"""Compile a kernel with Triton, in a child process that may fail in any way."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...child import Child, ChildError, Ending, ended
from ...diag import ErrorKind, TileError
from ...ops import Module
from ..cache import DiskCache
from ..common.kernel import find_entry
from ..cuda.contract import NULL, SCRATCH, LaunchContract, Passed
from .assembler import Assembler, check_assembler, find_assembler
from .config import POINTERS, Config, default_config
from .counting import counts_once
from .lower import lower
from .state import Lowered
from .targets import Target, find_target
from .versions import Dialect, installed

TIMEOUT = 300.0
"""Seconds that one kernel may take to compile."""
MEMORY = 16 << 30
"""Bytes of address space that a compilation may take."""
FORMAT = 2
"""Changes with what `child` answers, so that the cache holds nothing that an older version wrote."""
STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
"""The forms that a compilation can show."""


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A compiled kernel."""

    target: Target
    config: Config
    binary: bytes
    contract: LaunchContract
    text: str
    """The Triton IR that it was compiled from."""
    stages: dict[str, str] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)


class CompileProcess(Child):
    """A process that compiles one kernel after the other."""

    def __init__(self, python: str = "") -> None:
        super().__init__(str(Path(__file__).with_name("child.py")), python=python)

    def compile(self, request: dict[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
        """Return Triton's answer to a request; a crash is an answer with an error."""
        try:
            # The caller gives up before the processor time is over; that ends a process whose caller has died.
            return self.ask(request, seconds=timeout, memory=MEMORY, cpu_seconds=int(timeout) + 30)[0]
        except ChildError as error:
            if error.ending is Ending.LATE:
                message, kind = f"Triton took more than {timeout:.0f} seconds", ErrorKind.TIMEOUT
            else:
                message, kind = f"Triton crashed with {ended(error.status)}", ErrorKind.COMPILER_CRASH
            return {"error": message, "kind": kind.value, "said": error.said}


_COMPILER = CompileProcess()


def compile_entry(
    module: Module,
    entry: str | None = None,
    *,
    target: str | Target = "sm_90",
    config: Config | None = None,
    emit: Sequence[str] = (),
    compiler: CompileProcess | None = None,
    dialect: Dialect | None = None,
) -> TritonKernel:
    """Compile a kernel of a verified module. Without a configuration, rules choose one.

    `emit` names intermediate forms to keep: ttir, ttgir, llir, ptx, amdgcn. `compiler` and `dialect` are for another
    Python that has another version of Triton.
    """
    found = find_entry(module, entry)
    profile = find_target(target) if isinstance(target, str) else target
    spelling = installed() if dialect is None else dialect
    for name in emit:
        if name not in STAGES:
            raise TileError(f"unknown form '{name}', expected one of {', '.join(STAGES)}")
    first = default_config(found, profile) if config is None else config
    attempts = [first] if config is not None else [first, *_smaller(first)]
    ours = compiler is None or not compiler.python  # another Python brings its own assembler
    assembler = find_assembler() if profile.nvidia and ours else Assembler("", "unknown")
    if ours:
        check_assembler(assembler, found, profile)
    for attempt in attempts:
        lowered = lower(module, found, profile, attempt, spelling)
        counts = lowered.programs > 0 and not attempt.gluon
        shown = [*emit, "ttgir"] if counts else emit
        answer = _answer(compiler or _COMPILER, _request(lowered, profile, attempt, shown), spelling, assembler)
        if counts and "error" not in answer and not counts_once(answer["stages"]["ttgir"]):
            lowered = lower(module, found, profile, attempt, spelling, counting=False)
            answer = _answer(compiler or _COMPILER, _request(lowered, profile, attempt, emit), spelling, assembler)
        if "error" in answer:
            raise _error(found.sym_name, profile, answer)
        metadata = answer["metadata"]
        if metadata["shared"] <= profile.shared:
            binary = base64.b64decode(answer["binary"])
            contract = _contract(lowered, profile, attempt, metadata)
            return TritonKernel(profile, attempt, binary, contract, lowered.text, answer["stages"], lowered.notes)
    raise TileError(
        f"@{found.sym_name} needs {metadata['shared']} bytes of shared memory, and {profile.name} has {profile.shared}"
    )


CACHE = DiskCache("triton")


def _answer(
    compiler: CompileProcess, request: dict[str, Any], dialect: Dialect, assembler: Assembler
) -> dict[str, Any]:
    """Return Triton's answer to a request, from the cache if it is there."""
    key = json.dumps([FORMAT, dialect.version, assembler.release, request], sort_keys=True)
    kept = CACHE.get(key)
    if kept is not None:
        found: dict[str, Any] = json.loads(kept)
        return found
    answer = compiler.compile({**request, "ptxas": assembler.path})
    if "error" not in answer:
        CACHE.put(key, json.dumps(answer).encode())
    return answer


def _smaller(config: Config) -> list[Config]:
    """Configurations that need less shared memory."""
    fewer = [
        replace(config, num_stages=n, pipeline=min(config.pipeline, n)) for n in range(config.num_stages - 1, 0, -1)
    ]
    return [*fewer, replace(config, num_stages=1, pipeline=0, views=POINTERS, num_warps=8)]


def _request(lowered: Lowered, target: Target, config: Config, emit: Sequence[str]) -> dict[str, Any]:
    options = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "enable_fp_fusion": False,
        "enable_reflect_ftz": False,
    }
    return {
        "text": lowered.text,
        "backend": target.backend,
        "target": target.name,
        "warp": target.warp,
        "options": options,
        "emit": list(emit),
        **({"language": "gluon"} if config.gluon else {}),
    }


def _contract(lowered: Lowered, target: Target, config: Config, metadata: dict[str, Any]) -> LaunchContract:
    """Return the facts that the launcher needs: Triton appends a pointer to scratch memory and one for profiling."""
    extra = (Passed(SCRATCH), Passed(NULL))[: max(0, metadata["parameters"] - len(lowered.arguments))]
    maps = metadata["maps"]
    descriptors = tuple(
        replace(d, box=tuple(m.get("block_size", d.box)), swizzle=m.get("swizzle", 0))
        for d, m in zip(lowered.descriptors, maps)
    )
    return LaunchContract(
        name=metadata["name"] or lowered.name,
        arguments=(*lowered.arguments, *extra),
        threads=metadata["num_warps"] * target.warp,
        shared_bytes=metadata["shared"],
        descriptors=descriptors or lowered.descriptors,
        constants=lowered.constants,
        frame_bytes=lowered.frame_bytes,
        frame_alignment=lowered.frame_alignment,
        scratch_bytes=metadata["scratch"],
        scratch_alignment=metadata["scratch_alignment"],
        folded=config.folded or lowered.programs > 0,
        programs=lowered.programs,
    )


def _error(name: str, target: Target, answer: dict[str, Any]) -> TileError:
    """Return Triton's error in one line."""
    said = re.findall(r"error: (.+)", answer.get("said", ""))
    asserted = re.findall(
        r"Assertion `(.+?)' failed|LLVM ERROR: (.+)|UNREACHABLE executed at (.+)", answer.get("said", "")
    )
    words = [next(filter(None, groups)) for groups in asserted]
    notes = tuple(dict.fromkeys(text.strip()[:300] for text in (*said, *words)))[:3]
    message = f"Triton cannot compile @{name} for {target.name}: {answer['error'].strip()[:300]}"
    return TileError(message, kind=ErrorKind(answer.get("kind", "compiler")), notes=notes)
