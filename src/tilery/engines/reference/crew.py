"""Threads that run the machines of one launch, all of which have ended when the launch returns or raises."""

from __future__ import annotations

import itertools
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Sequence

from .machine import Machine

PAUSE = 0.0005
"""Seconds between two looks whether threads have ended, after an error."""


class MachineCrew:
    """A thread for each machine. The first error of a thread stops the others, and is raised.

    A signal may raise in the calling thread at any moment, also while it waits because of another one. So each thread
    says by itself that it runs a machine, and runs none once the crew has stopped. `threading.Thread` is not used: two
    signals while it starts leave its locks in disorder.
    """

    def __init__(self, machines: Sequence[Machine], work: Callable[[Machine], None]) -> None:
        self._machines, self._work = machines, work
        self._running = [False] * len(machines)
        self._stopped = False
        self._ended = itertools.count(1)
        self._done = allocate_lock()
        self._errors: list[BaseException] = []

    def run(self) -> None:
        """Run all machines to their ends."""
        try:
            self._done.acquire()
            for number in range(len(self._machines)):
                start_new_thread(self._run_one, (number,))
            self._done.acquire()  # until the last thread releases it
        except BaseException:
            try:
                self._drain()
            except BaseException:  # a signal between two looks at the threads
                self._drain()
            raise
        if self._errors:
            raise self._errors[0]

    def _run_one(self, number: int) -> None:
        self._running[number] = True
        try:
            if not self._stopped:
                self._work(self._machines[number])
        except BaseException as error:
            self._errors.append(error)
            self._stop()
        finally:
            self._running[number] = False
            if next(self._ended) == len(self._machines):
                self._done.release()

    def _stop(self) -> None:
        self._stopped = True
        for machine in self._machines:
            machine.stop = True

    def _drain(self) -> None:
        """Stop the threads, and wait for them however often signals raise."""
        while True:
            try:
                self._stop()
                while any(self._running):
                    time.sleep(PAUSE)
                return
            except BaseException:  # what was raised first is reported
                continue
