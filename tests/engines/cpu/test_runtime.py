"""The runtime of the fast CPU engine, with code written by hand in place of the lowering: threads, stopping, faults."""

from __future__ import annotations

import copy
import ctypes
import ctypes.util
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tilery
from support.oracle import ROOT
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ir import Refused, walk

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch
from tilery.engines.cpu.abi import Lowered, Target
from tilery.engines.cpu.native import build, compiler, objects, pool, pool_ir
from tilery.engines.cpu.native.targets import named

COUNT = """entry @count(%out: tile<ptr<i64>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %p = offset %out, %x : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
  %one = constant <i64: 1> : tile<i64>
  %n = addi %v, %one : tile<i64>
  %t1 = store_ptr_tko weak %p, %n token=%t0 : tile<ptr<i64>>, tile<i64> -> token
  return
}"""
LOOP = """entry @count(%out: tile<ptr<i64>>) {
  loop { continue }
  return
}"""
HEAD = """define i64 @run(ptr %slots, ptr %grid, i64 %first, i64 %last, ptr %arena, ptr %control) {
entry:
  %p = load ptr, ptr %slots
  br label %l
l:
  %i = phi i64 [ %first, %entry ], [ %j, %next ]
  %stop = load atomic i64, ptr %control monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %halt, label %body
halt:
  ret i64 1
body:
"""
TAIL = """  br label %next
next:
  %j = add i64 %i, 1
  %m = icmp slt i64 %j, %last
  br i1 %m, label %l, label %d
d:
  ret i64 0
}"""
ADD = """  %q = getelementptr i64, ptr %p, i64 %i
  %o = load i64, ptr %q
  %n = add i64 %o, 1
  store i64 %n, ptr %q
"""
CHECKED = """  ; op 1
  %bounds = getelementptr i64, ptr %slots, i64 2
  %high = load i64, ptr %bounds
  %a = getelementptr i64, ptr %p, i64 %i
  %b = ptrtoint ptr %a to i64
  %inside = icmp ult i64 %b, %high
  br i1 %inside, label %good, label %bad
bad:
  %cell = getelementptr i64, ptr %control, i64 1
  %shifted = shl i64 %i, 20
  %code = or i64 %shifted, 2
  %old = atomicrmw umin ptr %cell, i64 %code monotonic
  ret i64 2
good:
"""
FOREVER = """  br label %again
again:
  %s = load atomic i64, ptr %control monotonic, align 8
  %end = icmp ne i64 %s, 0
  br i1 %end, label %halt, label %again
never:
"""

Make = Callable[..., launch.CpuKernel]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a kernel whose tile blocks execute this LLVM IR."""

    def make(body: str, module: str = COUNT, head: str = HEAD, tail: str = TAIL, **facts: Any) -> launch.CpuKernel:
        facts.setdefault("long", module == LOOP)

        def lower(module: Any, entry: Any, exact: bool, target: Any, checks: Any) -> Lowered:
            return Lowered(head + body + tail, ops=list(walk(entry.body)), arena=64, **facts)

        monkeypatch.setattr(build, "lower_kernel", lower)
        monkeypatch.setattr(build, "key_of", lambda *_: f"{compiler.versions()}{module}{head}{body}{tail}{facts}")
        return launch.load(tilery.parse(module)).kernel()

    return make


# ---------------------------------------------------------------- tile blocks and threads


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 64])
@pytest.mark.parametrize("grid", [(1,), (7,), (257,), (4099,), (5, 6, 7)])
@pytest.mark.parametrize("module", [COUNT, LOOP], ids=["takes part", "waits"])
def test_every_tile_block_runs_once(kernel: Make, grid: tuple[int, ...], threads: int | None, module: str) -> None:
    made = kernel(ADD, module)
    out = np.zeros(int(np.prod(grid)), np.int64)
    for turn in range(3):
        assert made.launch(grid, [out], threads=threads).blocks == out.size
        assert (out == turn + 1).all()
    launch_again = made.bind(grid, [out])
    assert launch_again().blocks == out.size and (out == 4).all()


def test_progress_counts_all_tile_blocks(kernel: Make) -> None:
    for module in (COUNT, LOOP):
        seen: list[int] = []
        out = np.zeros(10_000, np.int64)
        kernel(ADD, module).launch(out.size, [out], progress=seen.append)
        assert sum(seen) == out.size and (out == 1).all()


def test_launches_from_several_threads_do_not_disturb_each_other(kernel: Make) -> None:
    made = [kernel(ADD), kernel(ADD, LOOP)]

    def work(number: int) -> bool:
        out = np.zeros(1000 + number, np.int64)
        for _ in range(20):
            made[number % 2].launch(out.size, [out])
        return bool((out == 20).all())

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(24)))


def test_ordered_tile_blocks_run_one_after_the_other(kernel: Make) -> None:
    log = """  %c = load i64, ptr %p
  %c1 = add i64 %c, 1
  store i64 %c1, ptr %p
  %q = getelementptr i64, ptr %p, i64 %c1
  store i64 %i, ptr %q
"""
    out = np.zeros(5001, np.int64)
    kernel(log, ordered=True).launch(5000, [out])
    assert (out[1:] == np.arange(5000)).all()


# ---------------------------------------------------------------- stopping


@pytest.mark.parametrize("grid", [1, 100])
def test_a_time_limit_stops_a_launch(kernel: Make, grid: int) -> None:
    made = kernel(FOREVER, LOOP)
    start = time.monotonic()
    with pytest.raises(ExecutionError, match=r"entry: stopped after 0.05 seconds"):
        made.launch(grid, [np.zeros(1, np.int64)], limits=Limits(seconds=0.05))
    assert time.monotonic() - start < 20


def test_ctrl_c_stops_a_launch(kernel: Make) -> None:
    made = kernel(FOREVER, LOOP)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        made.launch(3, [np.zeros(1, np.int64)])
    timer.join()
    signal.signal(signal.SIGINT, before)
    out = np.zeros(100, np.int64)
    kernel(ADD).launch(100, [out])
    assert (out == 1).all(), "the threads are free again"


def test_too_little_memory_is_an_error(kernel: Make) -> None:
    with pytest.raises(tilery.TileError, match="needs 64 bytes at once, the limit is 63"):
        kernel(ADD).launch(1, [np.zeros(1, np.int64)], limits=Limits(memory=63))
    with pytest.raises(tilery.TileError, match="at least one thread"):
        kernel(ADD).launch(1, [np.zeros(1, np.int64)], threads=0)


# ---------------------------------------------------------------- faults


def test_a_fault_gets_the_words_of_the_reference_engine(kernel: Make) -> None:
    out = np.zeros(100, np.int64)
    with pytest.raises(ExecutionError) as wanted:
        tilery.compile(tilery.parse(COUNT)).launch(200, [out.copy()], names=["out"], batch=1)
    made = kernel(CHECKED + ADD)
    with pytest.raises(ExecutionError) as found:
        made.launch(200, [out], names=["out"])
    assert found.value.block == wanted.value.block == (100, 0, 0)
    assert found.value.op.name == wanted.value.op.name == "load_ptr_tko"
    assert "0 bytes after the end of argument 'out' (800 bytes)" in found.value.message
    with pytest.raises(ExecutionError, match="0 bytes after the end of argument 0"):
        made.bind(200, [out])()


def test_a_fault_that_the_reference_engine_does_not_see_is_an_error_too(kernel: Make) -> None:
    made = kernel(CHECKED.replace("icmp ult i64 %b, %high", "icmp ult i64 %i, 50") + ADD)
    with pytest.raises(ExecutionError, match="load_ptr_tko: the kernel did something illegal here") as caught:
        made.launch((8, 8), [np.zeros(100, np.int64)])
    assert caught.value.block == (2, 6, 0) and "more precise" in caught.value.notes[-1]


def test_the_words_are_found_on_a_copy(kernel: Make) -> None:
    out = np.zeros(100, np.int64)
    with pytest.raises(ExecutionError):
        kernel(CHECKED + ADD).launch(200, [out], threads=1)
    assert out.max() == 1, "the tile block that the reference engine ran again changed nothing"


# ---------------------------------------------------------------- what the reference engine runs


def test_a_limit_on_steps_is_kept(kernel: Make) -> None:
    with pytest.raises(ExecutionError, match="stopped after 2 steps"):
        kernel(ADD).launch(1, [np.zeros(1, np.int64)], limits=Limits(steps=2))


# ---------------------------------------------------------------- the floating-point control word

SEEN = "declare void @llvm.x86.sse.stmxcsr(ptr)\n" + HEAD


@pytest.mark.skipif(not compiler.host().x86, reason="reads a register of x86")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("module", [COUNT, LOOP], ids=["takes part", "waits"])
def test_the_control_word_is_set_and_restored(kernel: Make, threads: int, module: str) -> None:
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    body = "  %q = getelementptr i64, ptr %p, i64 %i\n  call void @llvm.x86.sse.stmxcsr(ptr %q)\n"
    out = np.zeros(1000, np.int64)
    assert libm.fesetround(0x800) == 0  # upwards
    try:
        kernel(body, module, head=SEEN).launch(out.size, [out], threads=threads)
        rounding = libm.fegetround()
    finally:
        libm.fesetround(0)
    assert rounding == 0x800 and (out & 0xFFC0 == 0x1F80).all()


# ---------------------------------------------------------------- compiling


def test_a_crash_of_llvm_names_the_operation(kernel: Make) -> None:
    body = "  ; op 0\n  ; op 2\n  call void @llvm.nvvm.membar.gl()\n  ; op 3\n"
    why = "@.* was not compiled.* load_ptr_tko: LLVM's process was ended by SIGABRT"
    with pytest.warns(RuntimeWarning, match=why):
        assert kernel(body, head="declare void @llvm.nvvm.membar.gl()\n" + HEAD).lowered is None


def test_an_error_of_llvm_names_the_operation(kernel: Make) -> None:
    with pytest.raises(Refused, match="offset: cannot be compiled: LLVM"):
        kernel("  ; op 1\n  %x = add i64 %i, %nothing\n  ; op 2\n")


@pytest.mark.parametrize("name", ["sinf", "system", "__truncdfhf2"])
def test_an_object_that_calls_out_is_not_loaded(kernel: Make, name: str) -> None:
    with pytest.raises(tilery.TileError, match=f"needs {name}, which may not be called"):
        kernel(f"  call void @{name}()\n", head=f"declare void @{name}()\n" + HEAD)


def test_a_damaged_object_is_refused() -> None:
    (data,) = compiler.compile_texts([HEAD + ADD + TAIL], compiler.host())
    assert objects.undefined_symbols(data) == []
    for broken in (b"", data[:20], b"\x7fELF\x01" + data[5:], data[:0x28] + b"\xff" * 8 + data[0x30:]):
        with pytest.raises(tilery.TileError, match="damaged"):
            objects.undefined_symbols(broken)


def test_objects_are_cached(kernel: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TILERY_CACHE_DIR", str(tmp_path / "cache"))
    text = HEAD + ADD + "  ; cached\n" + TAIL
    (first,) = compiler.compile_texts([text], compiler.host())
    monkeypatch.setattr(compiler, "_in_child", lambda *_: pytest.fail("compiled again"))
    assert compiler.compile_texts([text], compiler.host()) == [first]
    assert compiler.CACHE.usage().entries == 1


def test_a_kernel_from_the_cache_is_neither_lowered_nor_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("TILERY_CACHE_DIR", str(tmp_path / "cache"))
    text = """
  global @g <i32: [7, 8]> : tile<2xi32>
  entry @kept(%out: tile<ptr<i32>>, %x: tile<f32>) {
    %p = get_global @g : tile<ptr<i32>>
    %v, %t0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %s = atan2 %x, %x : tile<f32>
    %i = ftoi %s signed : tile<f32> -> tile<i32>
    %n = addi %v, %i : tile<i32>
    %t1 = store_ptr_tko weak %out, %n token=%t0 : tile<ptr<i32>>, tile<i32> -> token
    return
  }"""
    module = tilery.parse("cuda_tile.module @m {" + text + "}")
    first = launch.load(module).kernel()
    assert first.lowered is not None
    again = launch.load(module).kernel()
    assert again.code is first.code, "loaded once"
    facts = first.code.facts
    del first, again
    monkeypatch.setattr(build, "lower_kernel", lambda *_: pytest.fail("lowered again"))
    kernel = launch.load(module).kernel()
    assert kernel.lowered is not None and not kernel.lowered.text and kernel.code.facts == facts
    assert [o.name for o in kernel.lowered.callbacks] == ["atan2"]
    out = np.zeros(1, np.int32)
    kernel.launch(1, [out, 0.0])
    assert out[0] == 7 and kernel.calls == 1
    with pytest.raises(ExecutionError, match="store_ptr_tko"):
        kernel.launch(1, [np.zeros(0, np.int32), 0.0])


def test_that_a_kernel_cannot_be_compiled_is_kept_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TILERY_CACHE_DIR", str(tmp_path / "cache"))
    module = tilery.parse(COUNT)
    monkeypatch.setattr(build, "lower_kernel", lambda *_: None)
    assert launch.load(module).kernel().lowered is None
    monkeypatch.setattr(build, "lower_kernel", lambda *_: pytest.fail("lowered again"))
    assert launch.load(module).kernel().lowered is None


def test_a_child_is_limited_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILERY_CACHE_DIR", "")
    monkeypatch.setattr(compiler, "MEMORY", 1 << 26)
    many = "".join(f"  %x{n + 1} = add i64 %x{n}, %i\n" for n in range(20_000))  # more than the process has free
    with pytest.raises(compiler.CompilerError):
        compiler.compile_texts([HEAD + ADD + "  %x0 = add i64 %i, 1\n" + many + TAIL], compiler.host())


# ---------------------------------------------------------------- copies, processes


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_a_copied_kernel_is_compiled_again(kernel: Make, copied: Callable[[Any], Any]) -> None:
    made = kernel(ADD)
    out = np.zeros(10, np.int64)
    made.launch(10, [out])
    other = copied(made)
    assert other is not made and isinstance(other.loaded.reference, ReferenceLoaded)
    other.launch(10, [out])
    assert (out == 2).all()


def test_no_address_survives_a_copy(kernel: Make) -> None:
    made = kernel(ADD)
    made.launch(1, [np.zeros(1, np.int64)])
    (prepared,) = made._prepared.values()
    for holder in (prepared, prepared._jobs[0], made.code, pool.get(), pool.Arena(64)):
        with pytest.raises(TypeError, match="addresses"):
            pickle.dumps(holder)
        with pytest.raises(TypeError, match="addresses"):
            copy.copy(holder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_starts_its_own_threads(kernel: Make) -> None:
    made = kernel(ADD)
    out = np.zeros(1000, np.int64)
    made.launch(1000, [out])
    child = os.fork()
    if not child:
        made.launch(1000, [out], threads=2)
        os._exit(0 if (out == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_memory_of_arguments_is_not_kept(kernel: Make) -> None:
    import weakref

    made = kernel(ADD)
    out = np.zeros(10, np.int64)
    gone = weakref.ref(out)
    made.launch(10, [out])
    del out
    assert gone() is None


def test_a_number_in_an_array_is_read_anew() -> None:
    text = """entry @put(%out: tile<ptr<i32>>, %v: tile<i32>) {
  %t0 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
  return
}"""
    made = tilery.compile(tilery.parse(text), engine="cpu")
    out, number = np.zeros(1, np.int32), np.array(3, np.int32)
    for wanted in (3, 7):
        number[...] = wanted
        made.launch(1, [out, number])
        assert out[0] == wanted


def test_the_remembered_arguments_are_bounded(kernel: Make) -> None:
    made = kernel(ADD)
    arrays = [np.zeros(10, np.int64) for _ in range(100)]
    for array in arrays:
        made.launch(10, [array])
    assert len(made._prepared) == launch.PREPARED and all((a == 1).all() for a in arrays)


SCRIPT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "llvmlite":
            raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")
sys.meta_path.insert(0, Blocked())
import numpy as np, tilery
module = tilery.parse({module!r})
out = np.zeros(3, np.int64)
tilery.compile(module).launch(3, [out])
kernel = tilery.compile(module, engine="auto")
kernel.launch(3, [out])
print(out.tolist(), kernel.engine)
try:
    tilery.compile(module, engine="cpu")
except tilery.TileError as error:
    print(error.message, error.notes)
"""


def run_python(script: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_llvmlite_the_rest_works() -> None:
    found = run_python(SCRIPT.format(module=COUNT))
    assert "[2, 2, 2] reference" in found
    assert "engine 'cpu' needs the package 'llvmlite'" in found and "pip install 'tilery[cpu]'" in found


# ---------------------------------------------------------------- memory


def test_a_kernel_with_a_large_frame_is_not_compiled(kernel: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILERY_CACHE_DIR", "")
    head = HEAD.replace("control) {\nentry:", "control) #0 {\nentry:\n  %big = alloca [BYTES x i8]")
    touch = "  %part = getelementptr i8, ptr %big, i64 %i\n  store volatile i8 1, ptr %part\n"
    limited = TAIL + '\nattributes #0 = { "warn-stack-size"="65536" }\n'
    for size, compiled in ((60_000, True), (70_000, False)):
        made = kernel(touch + ADD, head=head.replace("BYTES", str(size)), tail=limited)
        assert (made.lowered is not None) == compiled
        out = np.zeros(10, np.int64)
        made.launch(10, [out])
        assert (out == 1).all()


def test_large_arenas_are_freed_with_the_kernel_that_needed_them() -> None:
    size = pool.KEPT // 8
    text = f"""entry @k(%p: tile<ptr<i64>>) {{
  %i = iota : tile<{size}xi64>
  %s = scan %i dim=0 reverse=false identities=[0 : i64] : tile<{size}xi64> -> tile<{size}xi64> (
    %earlier: tile<i64>, %later: tile<i64>) {{ %sum = addi %earlier, %later : tile<i64> yield %sum : tile<i64> }}
  %q = reshape %p : tile<ptr<i64>> -> tile<1xptr<i64>>
  %b = broadcast %q : tile<1xptr<i64>> -> tile<{size}xptr<i64>>
  %u = offset %b, %i : tile<{size}xptr<i64>>, tile<{size}xi64> -> tile<{size}xptr<i64>>
  %k = store_ptr_tko weak %u, %s : tile<{size}xptr<i64>>, tile<{size}xi64> -> token
  return
}}"""
    made = launch.load(tilery.parse(text)).kernel()
    assert made.lowered is not None and made.lowered.arena > pool.KEPT
    made.launch(1, [np.zeros(size, np.int64)])
    assert [arena.bytes > pool.KEPT for arena in pool.get()._large] == [True]
    del made
    gc.collect()
    assert not pool.get()._large


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_until_no_other_thread_is_in_llvm(kernel: Make) -> None:
    made = kernel(ADD)
    out = np.zeros(10, np.int64)
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with objects._llvm_lock:
            inside.set()
            leave.wait(0.5)

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        made.launch(10, [out], threads=2)
        os._exit(0 if (out == 1).all() else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    "target", [named("avx2"), named("neon"), Target("arm64-apple-macosx-elf")], ids=lambda t: t.triple
)
def test_the_pool_compiles_for_other_machines(target: Target) -> None:
    (made,) = compiler.compile_texts([pool_ir.text(target)], target, "asm")
    assert (b"drive:" in made) == ("linux" in target.triple) and b"work:" in made


def test_without_workers_a_launch_stops_and_reports_progress(kernel: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(ADD).launch(1, [np.zeros(1, np.int64)])
    monkeypatch.setattr(pool.get(), "workers", 0)
    seen: list[int] = []
    out = np.zeros(10_000, np.int64)
    kernel(ADD).launch(out.size, [out], progress=seen.append)
    assert (out == 1).all() and sum(seen) == out.size and len(seen) > 1
    with pytest.raises(ExecutionError, match=r"stopped after 0\.05 seconds"):
        kernel(FOREVER, LOOP).launch(3, [out], limits=Limits(seconds=0.05))
