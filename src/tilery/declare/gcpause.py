"""The garbage collector off while a module is built or changed: what is made then stays, so looking is waste."""

from __future__ import annotations

import gc
from _thread import allocate_lock  # `threading` takes long to import
from types import TracebackType


class _Pause:
    """`with paused:` counts how many are inside, in any thread; the last one out restores what the first one found.

    Reading bytecode takes less than half the time with it.
    """

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.inside = 0
        self.was_on = False

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.was_on = gc.isenabled()
                gc.disable()
            self.inside += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.was_on:
                gc.enable()


paused = _Pause()
