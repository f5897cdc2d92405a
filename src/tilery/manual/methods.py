"""The types of the builder's methods, as a stub. `python -m tilery.manual.methods` rewrites it."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import builder
from ..builder.calls import method_name, signature
from ..declare.fields import INFER, AttrKind, Field
from ..declare.operation import OpDef
from ..ops import registered

STUB = Path(builder.__file__).with_name("operations.pyi")
HEADER = """\
# Made by `python -m tilery.manual.methods` from the declarations in src/tilery/ops. Do not edit.

from collections.abc import Mapping, Sequence
from typing import Any

from ..attrs import Attr, Dense, OptimizationHints
from ..enums import (
{enums}
)
from ..ir import Value
from ..types import Type

Number = int | float | bool
Operand = Value | Number

class Operations:
    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Any: ...
"""
ATTRIBUTES = {
    AttrKind.FLAG: "bool",
    AttrKind.BOOL: "bool",
    AttrKind.STR: "str",
    AttrKind.SYM_NAME: "str",
    AttrKind.SYM_REF: "str",
    AttrKind.I32: "int",
    AttrKind.I64: "int",
    AttrKind.TYPE: "Type",
    AttrKind.I32_ARRAY: "Sequence[int]",
    AttrKind.BOOL_ARRAY: "Sequence[bool]",
    AttrKind.DENSE: "Dense",
    AttrKind.PREDICATE: "Attr",
    AttrKind.HINTS: "OptimizationHints | Mapping[str, Mapping[str, int]]",
    AttrKind.ARRAY: "Sequence[Attr]",
}


def stub() -> str:
    """Return the stub."""
    own = {name for cls in builder.Builder.__mro__[:2] for name in vars(cls)}
    shown = [opdef for opdef in registered() if not opdef.regions and method_name(opdef) not in own]
    enums = sorted({f.enum.__name__ for opdef in shown for f in opdef.attrs if f.enum is not None})
    names = "\n".join(f"    {name}," for name in enums)
    return HEADER.format(enums=names) + "".join(f"{line}\n" for opdef in shown for line in _method(opdef))


def _method(opdef: OpDef) -> Iterator[str]:
    fields = {f.attr: f for f in opdef.fields}
    parts, named = ["self"], False
    for parameter in signature(opdef).parameters.values():
        f = fields[parameter.name]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            parts.append("*")
            named = True
        optional = parameter.default is not inspect.Parameter.empty
        none = " | None" if optional and (f.default is None or f.default is INFER) else ""
        parts.append(f"{parameter.name}: {_type(f)}{none}{' = ...' if optional else ''}")
    line = f"    def {method_name(opdef)}({', '.join(parts)}) -> {_returned(opdef)}:"
    if len(line) <= 120:
        yield line
    else:
        yield f"    def {method_name(opdef)}("
        yield from (f"        {part}," for part in parts)
        yield f"    ) -> {_returned(opdef)}:"
    yield f'        """{opdef.summary}"""'


def _type(f: Field) -> str:
    if f.role == "operand":
        return "Operand | Sequence[Operand]" if f.arity == "var" else "Operand"
    if f.role == "out":
        return "Sequence[Type | str]" if f.arity == "var" else "Type | str | Value"
    return f"{f.enum.__name__} | str" if f.enum is not None else ATTRIBUTES[f.kind]


def _returned(opdef: OpDef) -> str:
    outs = opdef.outs
    if not outs:
        return "None"
    if any(f.arity == "var" for f in outs):
        return "tuple[Value, ...]"
    return "Value" if len(outs) == 1 else f"tuple[{', '.join(['Value'] * len(outs))}]"


def main(argv: list[str] | None = None) -> int:
    """Rewrite the stub, or with --check tell whether it is stale."""
    parser = argparse.ArgumentParser(prog="python -m tilery.manual.methods", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if the stub is stale")
    args = parser.parse_args(argv)
    made = stub()
    if args.check:
        return int(STUB.read_text("utf-8") != made)
    STUB.write_text(made, "utf-8")
    sys.stdout.write(f"{made.count('    def ') - 1} methods\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
