"""Code on machines unlike this one: a crowded address space, and processors with arithmetic on f16."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("llvmlite")

from tilery import parse
from tilery.engines.cpu.abi import ALLOWED_SYMBOLS
from tilery.engines.cpu.native import pool_ir
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import compile_texts
from tilery.engines.cpu.native.objects import undefined_symbols
from tilery.engines.cpu.native.targets import TARGETS

EMERALD_RAPIDS = replace(
    TARGETS["amx"],
    features=TARGETS["amx"].features | {"avx512fp16", "avx512vbmi", "avx512vbmi2", "avx512ifma", "amx-fp16"},
)
CROWDED = """
import ctypes
from tilery.engines.cpu.abi import ALLOWED_SYMBOLS
from tilery.engines.cpu.native.compiler import compile_texts, host
from tilery.engines.cpu.native.objects import Code

SIZE, PAGE, HIDDEN = 8 << 30, 4096, 0x4022  # private, anonymous, without memory of its own
FIXED = 0x100000
numbers = ", ".join(f"i64 {n * n}" for n in range(1024))
text = f'''
@table = private constant [1024 x i64] [{numbers}]
define i64 @run(i64 %i) {{
  %p = getelementptr [1024 x i64], ptr @table, i64 0, i64 %i
  %x = load i64, ptr %p
  ret i64 %x
}}
'''
(data,) = compile_texts([text], host())
Code((data, ALLOWED_SYMBOLS))  # so that LLVM is ready
system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
start = system.mmap(None, SIZE, 0, HIDDEN, -1, 0)
with open("/proc/self/maps") as file:
    used = [tuple(int(word, 16) for word in line.split()[0].split("-")) for line in file]
for (_, low), (high, _) in zip(used, used[1:]):
    if start + SIZE <= low < high:
        system.mmap(low, high - low, 0, HIDDEN | FIXED, -1, 0)
system.munmap(start + SIZE - PAGE, PAGE)  # room for one section; the next is 8 GiB away
code = Code((data, ALLOWED_SYMBOLS))
print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("run"))(7))
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="maps memory by Linux's numbers"
)
def test_code_is_loaded_where_sections_could_be_far_apart() -> None:
    done = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (0, "49\n"), done.stderr


KERNEL = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<KIND>>) {
    %i = iota : tile<32xi32>
    %one = reshape %p : tile<ptr<KIND>> -> tile<1xptr<KIND>>
    %all = broadcast %one : tile<1xptr<KIND>> -> tile<32xptr<KIND>>
    %at = offset %all, %i : tile<32xptr<KIND>>, tile<32xi32> -> tile<32xptr<KIND>>
    %x, %t = load_ptr_tko weak %at : tile<32xptr<KIND>> -> tile<32xKIND>, token
    %y = exp %x : tile<32xKIND>
    %z = addf %x, %y rounding<nearest_even> : tile<32xKIND>
    %d = ftof %z : tile<32xKIND> -> tile<32xf64>
    %n = ftoi %z signed : tile<32xKIND> -> tile<32xi32>
    %f = itof %n signed : tile<32xi32> -> tile<32xKIND>
    %e = ftof %d : tile<32xf64> -> tile<32xKIND>
    %r = divf %e, %f rounding<nearest_even> : tile<32xKIND>
    %u = store_ptr_tko weak %at, %r : tile<32xptr<KIND>>, tile<32xKIND> -> token
    return
  }
}
"""


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_code_for_processors_with_f16_needs_no_functions(kind: str) -> None:
    module = parse(KERNEL.replace("KIND", kind))
    lowered = lower_kernel(module, module.entries[0], False, EMERALD_RAPIDS)
    assert lowered is not None
    kernel, pool = compile_texts([lowered.text, pool_ir.text(EMERALD_RAPIDS)], EMERALD_RAPIDS)
    assert set(undefined_symbols(kernel)) <= ALLOWED_SYMBOLS
    assert set(undefined_symbols(pool)) <= pool_ir.SYMBOLS
