"""Limits of the machine: bytes moved past the caches and multiply-adds in registers, on all cores, as LLVM IR."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tilery.engines.cpu.native.compiler import compile_texts, host
from tilery.engines.cpu.native.objects import Code

ACCUMULATORS = 12


def text() -> str:
    """Return the code of `triad` (c = a + b), `copy` (c = a) and `peak` (multiply-adds on numbers in registers)."""
    lanes = host().vector_bytes // 4
    v = f"<{lanes} x float>"
    parts = [f"declare {v} @llvm.fma.v{lanes}f32({v}, {v}, {v})", "declare void @llvm.x86.sse.sfence()"]
    for name, add in (("triad", True), ("copy", False)):
        second = f"  %q = getelementptr float, ptr %b, i64 %i\n  %y = load {v}, ptr %q, align 4\n" if add else ""
        value = f"  %z = fadd {v} %x, %y\n" if add else f"  %z = freeze {v} %x\n"
        parts.append(f"""define void @{name}(ptr %a, ptr %b, ptr %c, i64 %n) {{
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %j, %l ]
  %p = getelementptr float, ptr %a, i64 %i
  %x = load {v}, ptr %p, align 4
{second}{value}  %r = getelementptr float, ptr %c, i64 %i
  store {v} %z, ptr %r, align {4 * lanes}, !nontemporal !0
  %j = add i64 %i, {lanes}
  %m = icmp ult i64 %j, %n
  br i1 %m, label %l, label %d
d:
  call void @llvm.x86.sse.sfence()
  ret void
}}""")
    numbers = range(ACCUMULATORS)
    phis = "\n".join(f"  %a{k} = phi {v} [ %x, %entry ], [ %b{k}, %l ]" for k in numbers)
    fmas = "\n".join(f"  %b{k} = call {v} @llvm.fma.v{lanes}f32({v} %a{k}, {v} %x, {v} %y)" for k in numbers)
    ends = "\n".join(
        f"  %e{k} = getelementptr {v}, ptr %out, i64 {k}\n  store {v} %b{k}, ptr %e{k}, align 4" for k in numbers
    )
    parts.append(f"""define void @peak(ptr %in, ptr %out, i64 %n) {{
entry:
  %x = load {v}, ptr %in, align 4
  %p = getelementptr {v}, ptr %in, i64 1
  %y = load {v}, ptr %p, align 4
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %j, %l ]
{phis}
{fmas}
  %j = add i64 %i, 1
  %m = icmp ult i64 %j, %n
  br i1 %m, label %l, label %d
d:
{ends}
  ret void
}}""")
    return "\n".join([*parts, "!0 = !{i32 1}"])


class Limits:
    """The three measurements; arrays are f32 and their sizes multiples of the number of threads and lanes."""

    def __init__(self, threads: int) -> None:
        (data,) = compile_texts([text()], host())
        self.code = Code((data, frozenset()))
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)
        p = ctypes.c_void_p
        self._move = {
            name: ctypes.CFUNCTYPE(None, p, p, p, ctypes.c_int64)(self.code.address(name)) for name in ("triad", "copy")
        }
        self._peak = ctypes.CFUNCTYPE(None, p, p, ctypes.c_int64)(self.code.address("peak"))

    def move(self, name: str, *arrays: Any) -> Callable[[], None]:
        """Return a function that moves arrays once, in as many parts as there are threads."""
        part = arrays[0].size // self.threads
        starts = [[a.ctypes.data + 4 * part * k for a in arrays] for k in range(self.threads)]
        if name == "copy":
            starts = [[a, 0, c] for a, c in starts]

        def run() -> None:
            list(self.pool.map(lambda s: self._move[name](*s, part), starts))

        run.keep = arrays  # type: ignore[attr-defined]  # the addresses are valid for as long as the arrays live
        return run

    def peak(self) -> tuple[Callable[[], None], float]:
        """Return a function that does nothing but f32 multiply-adds, and how many operations, each counting as two."""
        count = (1 << 17) * max(1, self.threads // 2)  # threads of Python start one after the other
        lanes = host().vector_bytes // 4
        numbers = np.full(2 * lanes, 1e-9, np.float32)
        outs = [np.zeros(ACCUMULATORS * lanes, np.float32) for _ in range(self.threads)]

        def run() -> None:
            list(self.pool.map(lambda out: self._peak(numbers.ctypes.data, out.ctypes.data, count), outs))

        return run, float(count * ACCUMULATORS * lanes * 2 * self.threads)
