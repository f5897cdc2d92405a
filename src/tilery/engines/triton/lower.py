"""Lower an entry of a module to Triton IR: the driver. The functions for operations are in `ops/`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...attrs import DivBy
from ...diag import ErrorKind, TileError
from ...ir import Value
from ...ops import Assume, Entry, Module
from ..cuda.contract import PARAMETER, Passed
from .config import Config
from .counting import find_counting, lower_counting
from .emit import Val
from .ops import LOWERS
from .state import Lowered, Lowering
from .structure import Exits, lower_ops
from .targets import Target
from .versions import Dialect


def lower(
    module: Module, entry: Entry, target: Target, config: Config, dialect: Dialect, counting: bool = True
) -> Lowered:
    """Lower an entry. An operation that Triton IR cannot express raises TileError.

    With `counting`, a kernel that counts does so in shared memory; see `counting`, also for what must be checked then.
    """
    assert LOWERS
    try:
        return _lower(Lowering(module, entry, target, config, dialect), counting)
    except RecursionError:
        raise TileError(
            f"the control flow of @{entry.sym_name} nests too deep for the Triton engine", kind=ErrorKind.UNSUPPORTED
        ) from None


def _lower(low: Lowering, may_count: bool) -> Lowered:
    entry = low.entry
    signature, arguments = [], []
    low.op = entry
    for i, param in enumerate(entry.body.args):
        value = Val(f"%arg{i}", (), low.element(param))
        low.values[param], low.parameters[param] = value, i
        divisor = min(_promised(entry, param), 1 << 30)
        extra = f" {{tt.divisibility = {divisor} : i32}}" if divisor > 1 else ""
        signature.append(f"{value.name}: {value.type}{extra}")
        arguments.append(Passed(PARAMETER, i, 8 if value.is_pointer else max(value.bits // 8, 1)))
    counting = find_counting(low) if may_count else None
    if counting is None:
        lower_ops(low, entry.body.ops, 0, Exits((), lambda o: []))
    else:
        lower_counting(low, counting)
    for name, (argument, kind) in low.hidden.items():
        signature.append(f"{name}: {kind}")
        arguments.append(argument)
    if low.frame_bytes:
        low.frame_bytes += -low.frame_bytes % low.frame_alignment
        low.prologue.insert(0, f"%frame_size = arith.constant {low.frame_bytes} : i64")
    body = "\n".join(_flat([*low.prologue, *low.out])).replace("\n", "\n    ")
    name = symbol(entry.sym_name)
    text = f"module {{\n  tt.func public @{name}({', '.join(signature)}) {{\n    {body}\n    tt.return\n  }}\n}}\n"
    maps, constants = tuple(low.descriptors), tuple(low.constant_data)
    return Lowered(
        name,
        text,
        tuple(arguments),
        maps,
        constants,
        low.frame_bytes,
        low.frame_alignment,
        low.programs,
        low.notes,
    )


def _promised(entry: Entry, param: Value) -> int:
    """The largest divisor that the program assumes of a parameter where it starts."""
    found = 1
    for o in entry.body.ops:
        if isinstance(o, Assume) and o.value is param and isinstance(o.predicate, DivBy) and o.predicate.every is None:
            found = max(found, o.predicate.divisor)
    return found


def _flat(lines: Sequence[Any]) -> list[str]:
    out: list[str] = []
    for line in lines:
        if isinstance(line, list):
            out += _flat(line)
        else:
            out.append(line)
    return out


def symbol(name: str) -> str:
    """The name of the function in Triton IR, PTX and the binary: names of modules may hold any character.

    >>> symbol("add"), symbol("a b")
    ('add', 'a_20b')
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"_{ord(c):x}" for c in name)
    return plain if plain.strip("_") and not plain[0].isdigit() else f"k_{plain}"
