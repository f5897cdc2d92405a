"""Read, write, check and optimise CUDA Tile IR.

>>> import tilery
>>> from tilery import ops, types
>>> x = tilery.Value(types.Tile((), types.F32))
>>> double = ops.AddF(lhs=x, rhs=x)
>>> body = tilery.Block([x], [double, ops.Return()])
>>> entry = ops.Entry(sym_name="double", function_type=types.Function([x.type]), body=body)
>>> module = ops.Module(body=tilery.Block([], [entry]))
>>> data = tilery.dumps(module, version="13.1")
>>> again = tilery.load(data)
>>> [o.name for o in tilery.walk(again.entry("double").body)]
['addf', 'return']
>>> tilery.equal(module, again)
True
"""

from __future__ import annotations

from . import hooks
from .checking import TYPE_CHECKING
from .diag import ErrorKind, TileError
from .version import LATEST, SUPPORTED, Version

if TYPE_CHECKING:
    from typing import Any

    from . import attrs, ops, types
    from .api import compile, diff, dump, dumps, load, optimize, parse, show, tune, verify
    from .builder import Builder
    from .bytecode.dump import Dump
    from .ir import Block, Op, Value, clone, difference, equal, walk
    from .ops import Module
    from .reducer import reduce
    from .rewrite.edit import Edit

__version__ = "0.2.0"

__all__ = [
    "LATEST",
    "SUPPORTED",
    "Block",
    "Builder",
    "Dump",
    "ErrorKind",
    "Module",
    "Op",
    "TileError",
    "Value",
    "Version",
    "attrs",
    "clone",
    "compile",
    "diff",
    "difference",
    "dump",
    "dumps",
    "equal",
    "load",
    "ops",
    "optimize",
    "parse",
    "reduce",
    "show",
    "tune",
    "types",
    "verify",
    "walk",
]

# Where each name is defined. Names are imported when first used, so that a command starts fast.
_HOMES = {
    **dict.fromkeys(["compile", "diff", "dump", "dumps", "load", "optimize", "parse", "show", "tune", "verify"], "api"),
    **dict.fromkeys(["Block", "Op", "Value", "clone", "difference", "equal", "walk"], "ir"),
    "Builder": "builder",
    "Dump": "bytecode.dump",
    "Module": "ops",
    "reduce": "reducer",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("attrs", "builder", "cost", "cpp", "cutile", "lint", "ops", "prove", "sanitize", "types"):
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tilery' has no attribute {name!r}")


def _attr_text(attr: attrs.Attr) -> str:
    from .text.print.attributes import attr_text

    return attr_text(attr)


def _show(op: Op) -> str:
    from .text.print.chosen import parameter_names, show_named

    if chosen := parameter_names(op):
        return show_named(op, chosen)
    from .text.print.printer import show

    return show(op)


def _parse_type(text: str) -> types.Type:
    from .text.parse.parser import type_from_text

    return type_from_text(text)


def _operate(symbol: str, lhs: Any, rhs: Any = None) -> Value:
    from .builder import operate

    return operate(symbol, lhs, rhs)


def _edit(module: Module) -> Edit:
    from .rewrite.edit import Edit

    return Edit(module)


def _builder(module: Module) -> Builder:
    from .builder import Builder

    return Builder(module)


def _to_html(text: str) -> str:
    from .text.print.highlight import to_html

    return to_html(text)


def _sanitizer(option: Any) -> Any:
    from .sanitize import sanitizer

    return sanitizer(option)


hooks.attr_text, hooks.show, hooks.parse_type = _attr_text, _show, _parse_type
hooks.to_html, hooks.sanitizer, hooks.operate = _to_html, _sanitizer, _operate
hooks.edit, hooks.builder = _edit, _builder


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
