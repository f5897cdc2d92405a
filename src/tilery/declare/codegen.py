"""Generated functions: straight-line source made from declarations, compiled on first use, visible in tracebacks."""

from __future__ import annotations

from ..checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class GiveUp(Exception):
    """A fast path met something that only its slow twin handles. The twin takes over."""


class _Source:
    """A loader that hands the source to `linecache` for tracebacks and debuggers."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


def build(name: str, source: str, names: dict[str, Any]) -> Any:
    """Compile `source` with `names` in scope and return its function `bind`. Tracebacks show `name`."""
    # linecache does not call loaders for names in angle brackets.
    file = f"tilery generated {name}"
    env = {**names, "__name__": file, "__loader__": _Source(source)}
    exec(compile(source, file, "exec"), env)
    return env["bind"]


def indent(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]
