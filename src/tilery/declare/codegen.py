"""Functions made from the table of operations: straight-line source, compiled when first needed, seen in tracebacks."""

from __future__ import annotations

from typing import Any


class GiveUp(Exception):
    """A fast path met something that only its slow twin handles; the twin takes over."""


class _Source:
    """Hands the source to `linecache` when a traceback or a debugger asks for it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


def build(name: str, source: str, names: dict[str, Any]) -> Any:
    """The function `bind` that `source` defines; `names` are what it may use. `name` stands in tracebacks."""
    # linecache does not ask a loader for names in angle brackets.
    file = f"tilery generated {name}"
    env = {**names, "__name__": file, "__loader__": _Source(source)}
    exec(compile(source, file, "exec"), env)
    return env["bind"]


def indent(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]
