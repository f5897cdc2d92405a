"""Run kernels that were compiled for another processor, in an emulator: QEMU's user mode, with Debian's cross compiler.

The code is linked with a small program that maps the memory of a launch where the slots say, runs all tile blocks, and
prints what they left. Each piece of memory ends right before a page that may not be accessed.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tilery.engines.common.launch import Launch
from tilery.engines.common.memory import Memory
from tilery.engines.cpu.abi import CONTROL_WORDS, FAULT_CELL, fault_place
from tilery.engines.cpu.native.build import compiled, lower_kernel
from tilery.engines.cpu.native.jobs import prepare
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.reference.launch import ReferenceLoaded, memory_of

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
FIRST, PAGE, LINE = 0x10_0000_0000, 4096, 64
SECONDS = 60

PROGRAM = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int64_t run(int64_t *slots, int64_t *grid, int64_t first, int64_t last, char *arena, int64_t *control);

static int64_t word(void) {
  int64_t x;
  if (fread(&x, 8, 1, stdin) != 1) exit(3);
  return x;
}

int main(void) {
  int64_t count = word(), *slots = malloc(8 * count), grid[3], control[CONTROL] __attribute__((aligned(64))) = {0};
  for (int64_t i = 0; i < count; i++) slots[i] = word();
  for (int i = 0; i < 3; i++) grid[i] = word();
  char *arena = aligned_alloc(64, (word() + 63) / 64 * 64);
  int64_t pieces = word(), (*memory)[2] = malloc(16 * (pieces + 1));
  for (int64_t i = 0; i < pieces; i++) {
    memory[i][0] = word(), memory[i][1] = word();
    uintptr_t low = memory[i][0] & -4096L, high = (memory[i][0] + memory[i][1] + 4095) & -4096L;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (high > low && mmap((void *)low, high - low, 3, flags, -1, 0) != (void *)low) exit(4);
    if (memory[i][1] && fread((void *)memory[i][0], memory[i][1], 1, stdin) != 1) exit(5);
  }
  control[FAULT] = -1;
  int64_t status = run(slots, grid, 0, grid[0] * grid[1] * grid[2], arena, control);
  fwrite(&status, 8, 1, stdout);
  fwrite(&control[FAULT], 8, 1, stdout);
  for (int64_t i = 0; i < pieces; i++) fwrite((void *)memory[i][0], memory[i][1], 1, stdout);
  return 0;
}
"""


class Skipped(Exception):
    """The launch is not run by compiled code alone."""


def is_installed() -> bool:
    """Whether there is a compiler and an emulator."""
    return shutil.which(COMPILER) is not None and shutil.which(EMULATOR) is not None


class Emulator:
    """Compiles kernels for a target and runs them."""

    def __init__(self, folder: Path, target: str = "neon", processor: str = "neoverse-n1") -> None:
        self.folder, self.target, self.processor = folder, TARGETS[target], processor
        source = PROGRAM.replace("CONTROL]", f"{CONTROL_WORDS}]").replace("FAULT]", f"{FAULT_CELL}]")
        (folder / "main.c").write_text(source)
        command = [COMPILER, "-O1", "-c", str(folder / "main.c"), "-o", str(folder / "main.o")]
        subprocess.run(command, check=True, capture_output=True)
        self._built: dict[Any, tuple[Any, Path]] = {}

    def build(self, loaded: ReferenceLoaded, name: str | None) -> tuple[Any, Path]:
        """Return a kernel as a program, and the facts about it."""
        entry = loaded.kernel(name).entry
        if entry not in self._built:
            lowered = lower_kernel(loaded.module, entry, True, self.target)
            if lowered is None or lowered.callbacks:
                raise Skipped("the reference engine runs it" if lowered is None else "it calls the reference engine")
            (data,) = compiled(lowered, [lowered.text], self.target)
            place = self.folder / f"kernel{len(self._built)}"
            place.with_suffix(".o").write_bytes(data)
            command = [COMPILER, "-static", str(self.folder / "main.o"), f"{place}.o", "-o", str(place)]
            subprocess.run(command, check=True, capture_output=True)
            self._built[entry] = lowered, place
        return self._built[entry]

    def launch(self, loaded: ReferenceLoaded, name: str | None, grid: Any, args: list[Any]) -> str | None:
        """Run a launch, which changes the arrays and the globals; return the operation of a fault, or None."""
        lowered, program = self.build(loaded, name)
        kernel = loaded.kernel(name)
        launch = Launch(kernel.entry, grid, args)
        memory = memory_of(loaded, launch.bound)
        addresses = [loaded.globals[each] for each in lowered.globals]
        prepared = prepare(launch.bound, kernel.params, memory, addresses, lowered.written)
        if not prepared.checked:
            raise Skipped("arrays have gaps")
        moved = _moved(memory)
        slots = _relocated(prepared.slots.tolist(), len(kernel.params), len(addresses), memory, moved)
        words = [len(slots), *slots, *launch.grid, lowered.arena, len(moved)]
        sent = [struct.pack(f"<{len(words)}q", *words)]
        for segment, start in zip(memory.segments, moved):
            sent.append(struct.pack("<2q", start, segment.size) + segment.typed(np.dtype(np.uint8))[1].tobytes())
        command = [EMULATOR, "-cpu", self.processor, str(program)]
        done = subprocess.run(command, input=b"".join(sent), capture_output=True, timeout=SECONDS)
        if done.returncode:
            raise AssertionError(f"the program ended with {done.returncode}: {done.stderr.decode()[-300:]}")
        _, fault = struct.unpack_from("<2q", done.stdout)
        at = 16
        for segment in memory.segments:
            if segment.writable:
                segment.typed(np.dtype(np.uint8))[1][...] = np.frombuffer(done.stdout, np.uint8, segment.size, at)
            at += segment.size
        return None if fault == -1 else lowered.ops[fault_place(fault)[1]].name


def _moved(memory: Memory) -> list[int]:
    """Return where segments begin in the emulator, on lines like here."""
    found, at = [], FIRST
    for segment in memory.segments:
        end = at + -(-(segment.size + LINE) // PAGE) * PAGE
        start = end - segment.size
        found.append(start - (start - segment.address) % LINE)
        at = end + PAGE
    return found


def _relocated(slots: list[int], params: int, names: int, memory: Memory, moved: list[int]) -> list[int]:
    """Return slots whose addresses are those in the emulator."""

    def move(address: int, low: int) -> int:
        starts = {segment.address: start for segment, start in zip(memory.segments, moved)}
        return starts[low] + address - low if low in starts else address

    found = list(slots)
    first = 4 * (params + names)
    for n in range(params + names):
        at = params + 3 * n
        low = slots[at]
        place = n if n < params else 4 * params + 3 * names + n - params
        found[place] = move(slots[place], low) if low else slots[place]
        found[at : at + 2] = (move(low, low), move(slots[at + 1], low)) if low else slots[at : at + 2]
    for at in range(first + 1, len(slots), 3):
        found[at : at + 2] = move(slots[at], slots[at]), move(slots[at + 1], slots[at])
    assert prod(found[first : first + 1]) == len(moved)
    return found
