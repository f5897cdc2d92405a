"""Lower an entry of a module to Triton IR: the driver. The functions for operations are in `ops/`."""

from __future__ import annotations

from ...attrs import DivBy
from ...diag import ErrorKind, TileError
from ...ir import Value
from ...ops import Assume, Entry, Module
from ..cuda.contract import PARAMETER, Passed
from .config import Config
from .counting import find_counting, lower_counting
from .emit import flat
from .gluon.lower import specialise
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
        if config.gluon:
            return _lower_specialised(module, entry, target, config, dialect)
        return _lower(Lowering(module, entry, target, config, dialect), counting)
    except RecursionError:
        raise TileError(
            f"the control flow of @{entry.sym_name} nests too deep for the Triton engine", kind=ErrorKind.UNSUPPORTED
        ) from None


def _lower(low: Lowering, may_count: bool) -> Lowered:
    entry = low.entry
    low.op = entry
    low.bind_parameters()
    signature, arguments = _parameters(low)
    counting = find_counting(low) if may_count else None
    if counting is None:
        lower_ops(low, entry.body.ops, 0, Exits((), lambda o: []))
    else:
        lower_counting(low, counting)
    if low.frame_bytes:
        low.frame_bytes += -low.frame_bytes % low.frame_alignment
        low.prologue.insert(0, f"%frame_size = arith.constant {low.frame_bytes} : i64")
    body = "\n".join(flat([*low.prologue, *low.out])).replace("\n", "\n    ")
    return _finished(low, signature, arguments, body, "")


def _lower_specialised(module: Module, entry: Entry, target: Target, config: Config, dialect: Dialect) -> Lowered:
    """Lower to Gluon, see `gluon`."""
    part, body = specialise(module, entry, target, config, dialect)
    attributes = (
        f' attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {config.num_warps} : i32, '
        f'ttg.target = "cuda:{target.capability}", "ttg.threads-per-warp" = {target.warp} : i32}}'
    )
    return _finished(part, *_parameters(part), body, attributes)


def _parameters(low: Lowering) -> tuple[list[str], list[Passed]]:
    """Return the parameters of the entry as Triton IR and the launcher have them."""
    signature, arguments = [], []
    for param, i in low.parameters.items():
        value = low.get(param)
        divisor = min(_promised(low.entry, param), 1 << 30)
        extra = f" {{tt.divisibility = {divisor} : i32}}" if divisor > 1 else ""
        signature.append(f"{value.name}: {value.type}{extra}")
        arguments.append(Passed(PARAMETER, i, 8 if value.is_pointer else max(value.bits // 8, 1)))
    return signature, arguments


def _finished(low: Lowering, signature: list[str], arguments: list[Passed], body: str, attributes: str) -> Lowered:
    """The function around a body."""
    for name, (argument, kind) in low.hidden.items():
        signature.append(f"{name}: {kind}")
        arguments.append(argument)
    name = symbol(low.entry.sym_name)
    head = f"module{attributes} {{\n  tt.func public @{name}({', '.join(signature)}) {{"
    return Lowered(
        name,
        f"{head}\n    {body}\n    tt.return\n  }}\n}}\n",
        tuple(arguments),
        tuple(low.descriptors),
        tuple(low.constant_data),
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


def symbol(name: str) -> str:
    """The name of the function in Triton IR, PTX and the binary: names of modules may hold any character.

    >>> symbol("add"), symbol("a b")
    ('add', 'a_20b')
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"_{ord(c):x}" for c in name)
    return plain if plain.strip("_") and not plain[0].isdigit() else f"k_{plain}"
