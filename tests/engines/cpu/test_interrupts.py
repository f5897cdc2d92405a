"""A launch ends only when its threads have left its memory: after signals, errors in callbacks, and at exit."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tilery
from support.oracle import ROOT
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")

COUNTS = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %q = offset %p, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  for %i in (%zero to %n, step %one) : tile<i32> {
    %x, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %y = addi %x, %one : tile<i32>
    %u = store_ptr_tko weak %q, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
}"""
PRINTS = """entry @k() {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %t = print_tko "%d ", %bx : tile<i32> -> token
  return
}"""
ENDLESS = 2_000_000_000


def interrupted(run: Callable[[], object], first: float, every: float = 0.0) -> None:
    """Run something that launches, and raise KeyboardInterrupt in it after some seconds, and again and again.

    CPython drops an interrupt in a finalizer and calls a hook, which may be interrupted as well: pytest's would fail.
    """
    raised = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        while frame is not None and frame.f_code is not run.__code__:
            frame = frame.f_back
        if frame is not None:  # not in the test itself
            raised += 1
            raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, lambda dropped: None
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, first, every)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
    assert raised


def kernel(text: str, engine: str = "cpu") -> Any:
    made = tilery.compile(tilery.parse(text), engine=engine)
    assert engine != "cpu" or made.lowered is not None  # type: ignore[attr-defined]  # engine cpu's own
    return made


@pytest.mark.parametrize("every", [0.01, 2e-4], ids=["again", "often"])
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_nothing_is_written_after_an_interrupt(engine: str, every: float) -> None:
    made, rng = kernel(COUNTS, engine), random.Random(1)
    made.launch(2, [np.zeros(64, np.int32), 9])
    for _ in range(100):
        out = np.zeros(64, np.int32)
        interrupted(lambda: made.launch(64, [out, ENDLESS], threads=3, batch=8), rng.uniform(1e-5, 2e-4), every)  # noqa: B023
        seen = out.copy()
        time.sleep(0.001)
        assert (out == seen).all()


def test_an_interrupt_in_a_callback_is_raised() -> None:
    made = kernel(PRINTS)
    for n in range(5):
        interrupted(lambda: made.launch(1_000_000, output=lambda text: None), 0.02 + 0.001 * n, 0.01)


def test_the_main_thread_sees_interrupts_while_other_launches_use_the_workers() -> None:
    made = kernel(COUNTS)
    arrays = [np.zeros(64, np.int32) for _ in range(3)]

    def other(out: Any) -> None:
        with pytest.raises(ExecutionError, match="stopped after 1 seconds"):
            made.launch(64, [out, ENDLESS], limits=Limits(seconds=1))

    threads = [threading.Thread(target=other, args=(out,)) for out in arrays[1:]]
    for thread in threads:
        thread.start()
    interrupted(lambda: made.launch(64, [arrays[0], ENDLESS]), 0.1)
    for thread in threads:
        thread.join()
    assert all(out.any() for out in arrays)


def test_progress_cannot_free_the_memory_of_a_launch() -> None:
    made = kernel(COUNTS)
    freed: list[int] = []

    class Watched(np.ndarray[Any, Any]):
        def __del__(self) -> None:
            freed.append(1)

    args: list[Any] = [np.zeros(4096, np.int32).view(Watched), 1]
    seen = []

    def progress(count: int) -> None:
        args.clear()
        gc.collect()
        seen.append(len(freed))

    made.launch(4096, args, progress=progress)
    assert seen and not any(seen) and freed


def test_the_reference_engine_explains_within_the_limit_on_memory() -> None:
    text = 'entry @k() { loop { %t = print_tko "' + "A" * 1000 + '" -> token continue } return }'
    seen: list[str] = []
    with pytest.raises(ExecutionError, match=r"print_tko: out of memory.*\(1000000 bytes\)") as caught:
        kernel(text).launch((3, 1, 1), limits=Limits(memory=1_000_000), output=seen.append)
    assert caught.value.block == (0, 0, 0) and sum(map(len, seen)) == 1_000_000


def test_the_explanation_of_a_fault_has_the_limit_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(COUNTS)
    given: list[Limits] = []
    monkeypatch.setattr(type(made.reference), "run_block", lambda *args: given.append(args[-1]))
    with pytest.raises(ExecutionError, match="illegal"):
        made.launch(65, [np.zeros(64, np.int32), 1], limits=Limits(seconds=5, memory=12345678))
    assert given == [Limits(seconds=5, memory=12345678)]


def test_a_grid_of_more_tile_blocks_than_64_bits_count() -> None:
    with pytest.raises(ExecutionError, match=r"stopped after 0\.05 seconds"):
        kernel(COUNTS).launch([(1 << 24) - 1] * 3, [np.zeros(1, np.int32), 0], limits=Limits(seconds=0.05))


EXIT = """
import threading, time, numpy as np, tilery, atexit
atexit.register(lambda: late.launch(64, [out, 5]))
made = tilery.compile(tilery.parse({text!r}), engine="cpu")
late, out = made, np.zeros(64, np.int32)
made.launch(64, [out, 1])
def work():
    made.launch(64, [np.zeros(64, np.int32), {endless}])
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
atexit.register(lambda: print("leaves", flush=True))
atexit._run_exitfuncs()
print(out[:2].tolist())
"""


def test_exit_while_launches_run() -> None:
    program = EXIT.format(text=COUNTS, endless=ENDLESS)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaves\n[6, 6]\n", "")


# ---------------------------------------------------------------- tile blocks without loops


def last_of(size: int, element: str, steps: str) -> str:
    """A kernel that computes without loops and stores the last result, `%x`, at the end."""
    view = f"partition_view<tile=({size}x{size}), tensor_view<{size}x{size}x{element}, strides=[{size},1]>>"
    return f"""entry @k(%p: tile<ptr<{element}>>) {{
      {steps}
      %zero = constant <i32: 0> : tile<i32>
      %tv = make_tensor_view %p, shape = [{size}, {size}], strides = [{size}, 1]
        : tensor_view<{size}x{size}x{element}, strides=[{size},1]>
      %v = make_partition_view %tv : {view}
      %t = store_view_tko weak %x, %v[%zero, %zero] : tile<{size}x{size}x{element}>, {view}, tile<i32> -> token
      return
    }}"""


def products(size: int, count: int) -> str:
    t = f"tile<{size}x{size}xf64>"
    steps = "".join(f"%x{n + 1} = mmaf %x{n}, %x{n}, %x{n} : {t}, {t}, {t}\n" for n in range(count - 1))
    last = f"%x = mmaf %x{count - 1}, %x{count - 1}, %x{count - 1} : {t}, {t}, {t}"
    return last_of(size, "f64", f"%x0 = constant <f64: 1.0> : {t}\n{steps}{last}")


def one_call(size: int) -> str:
    t = f"tile<{size}x{size}xf64>"
    return last_of(size, "f64", f"%a = constant <f64: 1.0e300> : {t} %b = constant <f64: 1.5e-300> : {t} "
                   f"%x = remf %a, %b : {t}")  # fmt: skip


@pytest.mark.parametrize("text", [products(512, 16), one_call(512)], ids=["products", "a call"])
def test_a_time_limit_holds_without_loops(text: str) -> None:
    size = 512
    out = np.zeros((size, size))
    made = kernel(text)
    assert made.lowered.long or made.lowered.callbacks
    with pytest.raises(ExecutionError, match=r"stopped after 0\.02 seconds"):
        made.launch(1, [out], limits=Limits(seconds=0.02))
    assert not out.any(), "the tile block ended before its last operation"
    interrupted(lambda: made.launch(1, [out]), 0.02, 0.01)
    assert not out.any()


def test_short_tile_blocks_do_not_look_whether_to_stop() -> None:
    from tilery.engines.cpu import launch

    text = str(launch.emit(tilery.parse(products(16, 4)), None, "llvm"))
    block = text[text.index("@block") : text.index("@run")]
    assert "load atomic" not in block


def test_a_time_limit_holds_between_loops_that_are_short() -> None:
    """No loop takes more than some milliseconds, but they follow each other."""
    size, count = 1 << 22, 100
    t, v = f"tile<{size}xf32>", f"partition_view<tile=({size}), tensor_view<{size}xf32, strides=[1]>>"
    stores = "".join(
        f"%c{n} = constant <f32: {n}.0> : {t} %k{n + 1} = store_view_tko weak %c{n}, %v[%z] token=%k{n} : {t}, {v}, "
        "tile<i32> -> token "
        for n in range(count)
    )
    made = kernel(f"""entry @k(%p: tile<ptr<f32>>) {{
      %z = constant <i32: 0> : tile<i32> %k0 = make_token : token
      %t = make_tensor_view %p, shape = [{size}], strides = [1] : tensor_view<{size}xf32, strides=[1]>
      %v = make_partition_view %t : {v} {stores} return }}""")
    out = np.zeros(size, np.float32)
    with pytest.raises(ExecutionError, match=r"stopped after 0\.001 seconds"):
        made.launch(1, [out], limits=Limits(seconds=0.001))
    assert out[-1] < count - 1, "the tile block ended before its last operation"
