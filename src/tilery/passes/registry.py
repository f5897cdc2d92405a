"""The passes by name: where each one is, what it does, and its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from ..diag import TileError, did_you_mean

HOMES = {
    "canonicalize": "canonicalize",
    "cse": "cse",
    "dce": "dce",
    "documented": "documented",
    "fold-float": "fold_float",
    "fold-int": "fold_int",
    "fold-known": "fold_known",
    "fuse-fma": "fuse_fma",
    "pow-to-product": "powers",
    "licm": "licm",
    "loop-split": "loop_split",
    "merge-assumes": "merge_assumes",
    "rename-symbol": "rename_symbol",
    "simplify": "simplify",
    "strip-debug-info": "strip_debug",
    "synthesize-debug-info-scopes": "debug_scopes",
}
"""The module of each pass, imported when the pass is first used."""

OptionValue = int | bool | str
PassFunction = Callable[..., None]
FunctionT = TypeVar("FunctionT", bound=PassFunction)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass, `name=value` in braces. The function takes it with underscores for hyphens."""

    name: str
    default: OptionValue
    doc: str

    def read(self, text: str, where: str) -> OptionValue:
        """Parse a value, which has the type of the default."""
        try:
            match self.default:
                case bool():
                    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
                case int():
                    return int(text, 0)
        except (KeyError, ValueError):
            kind = "true or false" if isinstance(self.default, bool) else "an integer"
            raise TileError(f"{where}: option '{self.name}' must be {kind}, got {text!r}") from None
        return text


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: `run(root, report, **options)` changes what is inside `root` and records what it did in the report."""

    name: str
    run: PassFunction
    doc: str
    on: str = "any"
    """The unit it runs on: `function` for one entry at a time, `module` for the whole module, `any` for either."""
    options: tuple[Option, ...] = ()


PASSES: dict[str, Pass] = {}


def register(name: str, *options: Option, on: str = "any") -> Callable[[FunctionT], FunctionT]:
    """Declare a pass; `tilery opt --list` shows the first line of its docstring. A name that is taken is refused."""

    def declare(run: FunctionT) -> FunctionT:
        home = f"{__package__}.{HOMES[name]}" if name in HOMES else ""
        if name in PASSES or (home and run.__module__ != home and not run.__module__.startswith(f"{home}.")):
            raise TileError(f"there already is a pass '{name}'")
        doc = (run.__doc__ or "").strip().partition("\n")[0]
        PASSES[name] = Pass(name, run, doc, on, options)
        return run

    return declare


def load_passes(path: str) -> list[Pass]:
    """Run a Python file that registers passes; return them.

    The file is code that you trust: it is executed. Raise TileError if it fails or registers nothing.
    """
    import os
    import runpy

    if not os.path.isfile(path):
        raise TileError(f"there is no file '{path}'")
    before = set(PASSES)
    try:
        runpy.run_path(path)
    except TileError:
        raise
    except Exception as error:  # from the file of the user
        at = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else last_line(error, path)
        where = path if at is None else f"{path}:{at}"
        raise TileError(f"{where}: {type(error).__name__}: {error}") from None
    if not (new := [PASSES[name] for name in PASSES if name not in before]):
        raise TileError(f"'{path}' registers no pass; use tilery.passes.register")
    return new


def last_line(error: Exception, path: str) -> int | None:
    """Return the innermost line of a file that an error came through, or None if it came from elsewhere."""
    from traceback import extract_tb

    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    return next(reversed(lines), None)


def find_pass(name: str) -> Pass:
    """Find a pass by name."""
    if name not in PASSES and name in HOMES:
        import_module(f".{HOMES[name]}", __package__)
    if name not in PASSES:
        known = sorted({*HOMES, *PASSES})
        near = did_you_mean(name, known)
        raise TileError(f"unknown pass '{name}'{near or ', there are: ' + ', '.join(known)}")
    return PASSES[name]
