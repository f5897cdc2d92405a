"""From LLVM IR to objects: found in the cache, or compiled in a child process, because LLVM may abort its process."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ....diag import ErrorKind, TileError
from ...cache import DiskCache
from ..abi import QUICKLY, Target
from .child import OUT_OF_MEMORY
from .process import Child, Request

PASSES = ("always_inliner", "sroa", "simplify_cfg", "loop_rotate", "aggressive_dce")
"""All that pays: with LLVM's whole pipeline kernels take twice as long to compile and run no faster."""
LEVEL = 2
"""Of code generation."""
MEMORY = 4 << 30
SECONDS = 120
OUT_OF_TIME = 24
"""SIGXCPU, which Windows has no name for."""
FRAME_WARNING = "stack frame size ("
"""LLVM's remark on a function whose frame is larger than its attribute `warn-stack-size`."""
CACHE = DiskCache("cpu")
ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA = 158, 0x1023, 18
"""A system call of Linux on x86, and what it is asked for."""


class CompilerError(TileError):
    """LLVM refused a text, or its process died. `output` is what it said; `at` is the line of the text, if known."""

    def __init__(self, message: str, output: str = "", at: int = 0, text: int = 0) -> None:
        super().__init__(message, kind=ErrorKind.COMPILER)
        self.output, self.at, self.text = output, at, text


class LargeFrame(CompilerError):
    """A function needs more of the stack than its attribute `warn-stack-size` allows."""


class GaveUp(CompilerError):
    """LLVM ran out of time or memory, or crashed: the text may be right. `again` says that it will whenever asked."""

    again = False


@cache
def host() -> Target:
    """Return the processor of this machine. Objects are ELF on every system."""
    triple = llvm.get_default_triple()
    if "linux" not in triple:
        triple += "-elf"
    features = frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)
    if "amx-tile" in features and not _may_use_tiles():
        features = frozenset(name for name in features if not name.startswith("amx-"))
    return Target(triple, llvm.get_host_cpu_name(), features)


def _may_use_tiles() -> bool:
    """Ask Linux for the tile registers of AMX, which a process has to do before it uses them."""
    if not sys.platform.startswith("linux"):
        return False
    request = ctypes.CDLL(None, use_errno=True).syscall
    return bool(request(ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)


@cache
def feature_string(target: Target) -> str:
    """Spell the features as LLVM wants them; those that only this machine lacks or has are switched off and on."""
    known = set(llvm.get_host_cpu_features()) if target.x86 == host().x86 else set()
    return ",".join(("+" if name in target.features else "-") + name for name in sorted(known | target.features))


def compile_texts(
    texts: Sequence[str], target: Target, emit: str = "object", child: Child | None = None
) -> list[bytes]:
    """Return an object, or assembly, for each text. `child` is a compiler that has been started already."""
    keys = [_key(digest(text), target, emit) for text in texts]
    found = [CACHE.get(key) for key in keys]
    missing = [n for n, each in enumerate(found) if each is None]
    if missing:
        with Child() if child is None else nullcontext(child) as ready:
            made = _in_child(ready, [texts[n] for n in missing], target, emit)
        for n, each in zip(missing, made):
            found[n] = each
            CACHE.put(keys[n], each)
    return [each for each in found if each is not None]


def find_object(text: str, target: Target) -> bytes | None:
    """Return the object of a text, which is named by its digest, if it is in the cache."""
    return CACHE.get(_key(text, target, "object"))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
    stamp = max(_newest(str(package / part)) for part in ("analysis", "engines", "ops"))
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    return f"tilery {own} {stamp}, llvmlite {llvmlite.__version__}, LLVM {llvm_version}, {LEVEL} {PASSES}"


def _newest(folder: str) -> int:
    """Return the time of the newest file below a folder."""
    found = 0
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir():
                found = max(found, _newest(each.path) if each.name != "__pycache__" else 0)
            else:
                found = max(found, each.stat().st_mtime_ns)
    return found


def _in_child(child: Child, texts: Sequence[str], target: Target, emit: str) -> list[bytes]:
    request = {
        "texts": list(texts),
        "triple": target.triple,
        "cpu": target.cpu,
        "features": feature_string(target),
        "native": target.triple == host().triple,
        "levels": [0 if text.startswith(QUICKLY) else LEVEL for text in texts],
        "passes": PASSES,
        "emit": emit,
    }
    try:
        status, out, errors = child.run(Request(json.dumps(request).encode(), MEMORY, ceil(SECONDS)), 4 * SECONDS)
    except TimeoutError:
        raise GaveUp(f"LLVM's process was stopped after {4 * SECONDS} seconds") from None
    line, _, content = out.partition(b"\n")
    if status < 0 or (status and "MemoryError" in errors):
        died = GaveUp(f"LLVM's process {_ending(status)}", errors)
        died.again = status == -OUT_OF_TIME
        raise died
    if status or not line:
        raise CompilerError(f"LLVM's process {_ending(status)}", errors)
    if FRAME_WARNING in errors:
        raise LargeFrame("the code needs much of the stack", errors)
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        message = answer["error"].strip()
        kind = GaveUp if message == OUT_OF_MEMORY else CompilerError
        raise kind(f"LLVM: {message}", message, _line(message), answer["text"])
    results, at = [], 0
    for size in answer["sizes"]:
        results.append(content[at : at + size])
        at += size
    return results


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
