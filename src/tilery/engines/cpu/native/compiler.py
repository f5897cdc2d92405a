"""From LLVM IR to objects: found in the cache, or compiled in a child process, because LLVM may abort its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ....diag import TileError
from ...cache import DiskCache
from ..abi import Target

PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg", "loop_rotate", "aggressive_dce")
"""All that pays: with LLVM's whole pipeline kernels take twice as long to compile and run no faster."""
LEVEL = 2
MEMORY = 4 << 30
SECONDS = 120
CACHE = DiskCache("cpu")


class CompilerError(TileError):
    """LLVM refused a text, or its process died. `output` is what it said; `at` is the line of the text, if known."""

    def __init__(self, message: str, output: str = "", at: int = 0, text: int = 0) -> None:
        super().__init__(message)
        self.output, self.at, self.text = output, at, text


@cache
def host() -> Target:
    """Return the processor of this machine. Objects are ELF on every system."""
    triple = llvm.get_default_triple()
    if "linux" not in triple:
        triple += "-elf"
    features = frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)
    return Target(triple, llvm.get_host_cpu_name(), features)


@cache
def feature_string(target: Target) -> str:
    """Spell the features as LLVM wants them; those that only this machine lacks or has are switched off and on."""
    known = set(llvm.get_host_cpu_features()) if target.x86 == host().x86 else set()
    return ",".join(("+" if name in target.features else "-") + name for name in sorted(known | target.features))


def compile_texts(texts: Sequence[str], target: Target, emit: str = "object") -> list[bytes]:
    """Return an object, or assembly, for each text."""
    keys = [_key(text, target, emit) for text in texts]
    found = [CACHE.get(key) for key in keys]
    missing = [n for n, each in enumerate(found) if each is None]
    if missing:
        for n, made in zip(missing, _in_child([texts[n] for n in missing], target, emit)):
            found[n] = made
            CACHE.put(keys[n], made)
    return [each for each in found if each is not None]


def _key(text: str, target: Target, emit: str) -> str:
    return "\0".join([versions(), target.triple, target.cpu, feature_string(target), emit, text])


@cache
def versions() -> str:
    """Return the versions that compiled code depends on.

    Importing `importlib.metadata` takes longer than loading a kernel, so the name of the installed package is looked up
    here. For a checkout, the times of the files that make the code are its version.
    """
    package = Path(__file__).parents[3]
    own = [n for n in os.listdir(package.parent) if n.startswith("tilery-") and n.endswith(".dist-info")]
    files = [f for part in (Path(__file__).parents[1], package / "analysis") for f in os.scandir(part) if f.is_file()]
    stamp = max(f.stat().st_mtime_ns for f in files)
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    return f"tilery {own} {stamp}, llvmlite {llvmlite.__version__}, LLVM {llvm_version}, {LEVEL} {PASSES}"


def _in_child(texts: Sequence[str], target: Target, emit: str) -> list[bytes]:
    request = {
        "packages": str(Path(llvmlite.__file__).resolve().parent.parent),
        "texts": list(texts),
        "triple": target.triple,
        "cpu": target.cpu,
        "features": feature_string(target),
        "native": target.triple == host().triple,
        "level": LEVEL,
        "passes": PASSES,
        "emit": emit,
        "memory": MEMORY,
        "seconds": SECONDS,
    }
    status, out, errors = _run(json.dumps(request).encode())
    line, _, content = out.partition(b"\n")
    if status or not line:
        raise CompilerError(f"LLVM's process {_ending(status)}", errors)
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        message = answer["error"].strip()
        raise CompilerError(f"LLVM: {message}", message, _line(message), answer["text"])
    results, at = [], 0
    for size in answer["sizes"]:
        results.append(content[at : at + size])
        at += size
    return results


def _run(request: bytes) -> tuple[int, bytes, str]:
    """Run the child; return its status, what it wrote, and its last complaints."""
    if not sys.executable:
        raise TileError("cannot start the compiler: this Python does not know its own executable (sys.executable)")
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("child.py"))]
    try:
        done = subprocess.run(command, input=request, capture_output=True, timeout=4 * SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CompilerError(f"LLVM's process was stopped after {4 * SECONDS} seconds") from None
    except OSError as error:
        raise TileError(f"cannot start the compiler: {error.strerror}") from None
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")[-20_000:]


def _ending(status: int) -> str:
    if status < 0:
        from signal import Signals

        names = {each.value: each.name for each in Signals}
        return f"was ended by {names.get(-status, f'signal {-status}')}"
    return f"ended with status {status}" if status else "ended without an answer"


def _line(message: str) -> int:
    """Return the line that a message of the parser names, `<string>:12:5: error: ...`, or 0."""
    for part in message.splitlines():
        pieces = part.split(":")
        if len(pieces) > 2 and pieces[1].isdecimal() and "error" in part:
            return int(pieces[1])
    return 0
