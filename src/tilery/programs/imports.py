"""Run code right after a module is first imported."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any


class AfterImport:
    """A module finder that runs an action once, after one module is imported; `stop` cancels it."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name, self.action = name, action
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        self.stop()
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            self.action()

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]  # of this spec's own loader
        return spec
