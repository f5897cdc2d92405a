"""The process that runs a program of `tilery cpp run`: it loads the host code as a library and calls its `main`.

The arguments are a JSON file with the library, the bytecode of the kernels, and the options of the launches, and a
pipe that closes when `tilery` ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from ..diag import ErrorKind, TileError
from ..engines.common.cutile_abi import ArrayExtent, slot_size, value_of
from ..engines.common.kernel import Kernel
from ..engines.common.limits import Limits
from ..engines.registry import compile_kernel
from ..source.input import Input
from ..verifier.explain import read_legal
from .host_part import TAG

ILLEGAL_ADDRESS, LAUNCH_FAILURE = 700, 719
"""CUDA's numbers for the errors of a launch."""
Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p)
)


class Host:
    """A loaded program, and the kernels that it has launched."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.module = read_legal(Input(Path(facts["bytecode"]).read_bytes()))
        self.library = ctypes.CDLL(facts["library"], ctypes.RTLD_GLOBAL)
        self.library.tilery_memory.restype = ctypes.c_size_t
        self.kernels: dict[str, Kernel] = {}
        self.failures = 0

    def launch(self, name: bytes, grid: Any, slots: Any) -> int:
        """Launch a kernel; return CUDA's error, after its message went to stderr."""
        try:
            self.execute(name, grid, slots)
        except TileError as error:
            self.failures += 1
            say(str(error))
            return ILLEGAL_ADDRESS if error.kind is ErrorKind.BOUNDS else LAUNCH_FAILURE
        except BaseException as error:  # it cannot propagate through C code
            self.failures += 1
            say(f"tilery: {type(error).__name__}: {error}")
            return LAUNCH_FAILURE
        return 0

    def execute(self, name: bytes, grid: Any, slots: Any) -> None:
        kernel = self.kernel(name.decode())
        kinds = kernel.entry.function_type.params
        values = [value_of(kind, ctypes.string_at(slots[at], slot_size(kind))) for at, kind in enumerate(kinds)]
        kernel.launch(
            list(grid[:3]),
            values,
            buffers=self.memory(),
            limits=Limits(seconds=self.facts["seconds"]),
            sanitize=self.facts["sanitize"],
            output=print_text,
        )

    def kernel(self, name: str) -> Kernel:
        symbol = self.facts["symbols"]["_" + name.removeprefix("*").removesuffix(f"E{len(TAG)}{TAG}")]
        if symbol not in self.kernels:
            options = {"exact": True} if self.facts["exact"] else {}
            self.kernels[symbol] = compile_kernel(self.module, symbol, engine=self.facts["engine"], **options)
        return self.kernels[symbol]

    def memory(self) -> list[ArrayExtent]:
        """The memory that the program has allocated."""
        count = self.library.tilery_memory(None, ctypes.c_size_t(0))
        words = (ctypes.c_uint64 * (3 * count))()
        self.library.tilery_memory(words, ctypes.c_size_t(count))
        triples = zip(words[::3], words[1::3], words[2::3])
        return [ArrayExtent(f"allocation {number}", address, size) for address, size, number in triples]


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def print_text(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def end_with_parent(pipe: int) -> None:
    """End this process once the other end of a pipe closes, also while `main` of the program runs."""

    def watch() -> None:
        os.read(pipe, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main(file: str, pipe: str) -> int:
    end_with_parent(int(pipe))
    facts = json.loads(Path(file).read_text())
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # `main` of the program runs no Python code that could notice
    host = Host(facts)
    launch = Callback(host.launch)
    major, minor = facts.get("capability", (10, 0))
    host.library.tilery_start(launch, major, minor)
    arguments = [argument.encode("utf-8", "surrogateescape") for argument in facts["arguments"]]
    status: int = host.library.main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))
    return status & 255 or int(host.failures > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
