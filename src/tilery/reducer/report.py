"""The result of a reduction, ready to paste into a bug report: the kernel, and the commands that show the fault."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..text.print.printer import show
from ..types import Ptr, Tile
from .case import Case, CaseLaunch
from .data import filled, one
from .oracles import CommandOracle, Differs, DiffersAfter, Message, ProvenAfter, Sanitized, TileirasOracle, real_arrays
from .search import Reduction


@dataclass
class Shown:
    """A case as files: the text of the kernel, the commands, and the arrays that have a file of their own."""

    text: str
    commands: list[str]
    arrays: dict[str, bytes] = field(default_factory=dict)


def shown(case: Case, test: Any, name: str = "reduced.mlir") -> Shown:
    """Return a case as a text named `name`, and the commands that run the test on it."""
    made = Shown(show(case.module), [])
    options = prove_options if isinstance(test, ProvenAfter) else launch_options
    launch = [] if case.launch is None else options(case, case.launch, Path(name).stem, made.arrays)
    made.commands = [shlex.join(words) for words in _commands(test, name, launch)]
    return made


def _commands(test: Any, name: str, launch: list[str]) -> list[list[str]]:
    stem = str(Path(name).with_suffix(""))
    match test:
        case CommandOracle():
            words = shlex.split(test.line)
            return [[w.replace("{}", name) for w in words] if "{}" in test.line else [*words, name]]
        case TileirasOracle():
            options = ["--gpu-name", test.target, "--opt-level", str(test.level)]
            return [
                ["tilery", "asm", name, "-o", f"{stem}.tileirbc"],
                [test.tool or "tileiras", *options, f"{stem}.tileirbc", "-o", f"{stem}.cubin"],
            ]
        case Message():
            return [["tilery", "check", name]]
        case Differs():
            return [["tilery", "compare", name, "--engines", ",".join(test.engines), *launch]]
        case DiffersAfter():
            after = f"{stem}-after.mlir"
            names = [word.partition("=")[0] for word in launch if "=" in word]
            prints = [word for n in names for word in ("--print", n)]
            return [
                ["tilery", "opt", name, "--passes", test.passes, "-o", after],
                ["tilery", "run", name, *launch, *prints],
                ["tilery", "run", after, *launch, *prints],
            ]
        case ProvenAfter():
            after = f"{stem}-after.mlir"
            return [
                ["tilery", "opt", name, "--passes", test.passes, "-o", after],
                ["tilery", "prove", name, after, *launch],
            ]
        case Sanitized():
            return [["tilery", "run", name, *launch, "--sanitize", test.checks]]
    return []


def launch_options(case: Case, launch: CaseLaunch, stem: str, arrays: dict[str, bytes]) -> list[str]:
    """Return the options of a launch; arrays that no option can make are added to `arrays`."""
    options = ["--grid", ",".join(map(str, launch.grid))]
    if len(case.module.entries) > 1:
        options += ["--entry", launch.entry]
    params = case.module.entry(launch.entry).function_type.params
    for number, (argument, param) in enumerate(zip(launch.args, params)):
        assert isinstance(param, Tile)
        kind = "output" if number in launch.outputs else "uninit" if number in launch.uninit else ""
        spec = _array(argument, param, kind) if isinstance(param.element, Ptr) else _number(argument)
        if not spec:
            spec = f"@{stem}-{number}.npy"
            arrays[spec[1:]] = _saved(argument)
        options += ["--arg", f"a{number}={spec}" if isinstance(param.element, Ptr) else spec]
    return options


def prove_options(case: Case, launch: CaseLaunch, stem: str, arrays: dict[str, bytes]) -> list[str]:
    """Return the options of `tilery prove` for a launch; arrays of integers are added to `arrays`."""
    options = ["--grid", ",".join(map(str, launch.grid))]
    if len(case.module.entries) > 1:
        options += ["--entry", launch.entry]
    args = []
    reals = real_arrays(case.module, launch)
    for number, value in enumerate(launch.args):
        args.append(f"a{number}" if hasattr(value, "ndim") else _number(value))
        if number in reals:
            options += ["--buf", f"a{number}=real[{','.join(map(str, value.shape))}]", "--out", args[-1]]
        elif hasattr(value, "ndim"):
            arrays[f"{stem}-{number}.npy"] = _saved(value)
            options += ["--buf", f"a{number}=@{stem}-{number}.npy", "--out", args[-1]]
    return [*options, "--args", ",".join(args)]


def _number(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def _array(array: Any, param: Tile, kind: str) -> str:
    """Return the option that makes an array, if there is one; `kind` is what it counts as, if not as its contents."""
    assert isinstance(param.element, Ptr)
    element = param.element.pointee
    shape = "x".join(map(str, array.shape))
    if element.bits < 8 and array.itemsize == 1 and element.name != "i1":
        shape = "x".join(map(str, (*array.shape[:-1], 2 * array.shape[-1])))
    if kind:
        return f"{kind}:{element.name}:{shape}"
    bits = array.view(f"u{array.itemsize}")
    if not bits.any():
        return f"zeros:{element.name}:{shape}"
    pattern = one(param)
    if pattern is not None and (bits == filled(bits, pattern)).all():
        return f"ones:{element.name}:{shape}"
    return ""


def _saved(array: Any) -> bytes:
    import numpy as np

    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def as_text(found: Reduction, made: Shown, notes: Sequence[str] = ()) -> str:
    """Return the kernel with a comment before it: what is wrong, and the commands that show it."""
    lines = [found.outcome.capitalize() + ".", *notes, *made.commands]
    return "".join(f"// {line}\n" for line in lines) + made.text


def summary(found: Reduction) -> str:
    """Return a sentence about a reduction."""
    end = "" if found.complete else "; interrupted" if found.interrupted else "; the time was up"
    return (
        f"{found.before.operations} operations reduced to {found.after.operations}, "
        f"{found.tests} tests in {found.seconds:.1f} s{end}"
    )
