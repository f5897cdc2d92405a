"""From a kernel to loaded code: found in this process or on disk, or lowered and compiled.

What is on disk is found by what the kernel computes, so that a kernel that was compiled before need not be lowered.
"""

from __future__ import annotations

import json
import warnings
from typing import Any
from weakref import WeakValueDictionary

from ....analysis.fingerprint import fingerprint
from ....ir import Refused, walk
from ....ops import Entry, Module
from ...common.arguments import levels_inside
from ..abi import ALLOWED_SYMBOLS, Lowered, NotLowered, Specialisation, Target
from ..passes.pipeline import lower_by_loops
from . import pool, pool_ir
from .compiler import (
    CACHE,
    CompilerError,
    GaveUp,
    LargeFrame,
    compile_texts,
    digest,
    feature_string,
    find_object,
    host,
    versions,
)
from .objects import Code
from .process import Child

Built = tuple[Lowered, Code]
_codes: WeakValueDictionary[str, Code] = WeakValueDictionary()
"""Objects that are loaded, by the key of their kernel."""


def build(module: Module, entry: Entry, exact: bool, checks: frozenset[str] = frozenset()) -> Built | None:
    """Return a kernel as loaded code, maybe with checks of the sanitizer; None if the reference engine must run it."""
    key = key_of(module, entry, exact, checks)
    code = _codes.get(key)
    if code is not None:
        return _restored(code.facts, entry), code
    kept = CACHE.get(key)
    facts = None if kept is None else json.loads(kept)
    if facts is not None and "object" not in facts:
        _warn_that_it_is_slow(entry, facts.get("why"))
        return None
    if facts is not None and (found := find_object(facts["object"], host())) is not None:
        return _restored(facts, entry), _loaded(key, facts, found)
    why = None
    with Child() as child:  # the first one starts while this process lowers the kernel
        lowered = lower_kernel(module, entry, exact, host(), checks)
        if lowered is not None:
            texts = [lowered.text] if pool.exists() else [lowered.text, pool_ir.text(host())]
            try:
                data, *shared = compiled(lowered, texts, host(), child=child)
            except LargeFrame:
                lowered = None
            except GaveUp as error:
                lowered, why = None, error
        facts = {"why": why.message} if why is not None else _described(lowered, entry)
        if why is None or why.again:
            CACHE.put(key, json.dumps(facts).encode())
    _warn_that_it_is_slow(entry, facts.get("why"))
    return None if lowered is None else (lowered, _loaded(key, facts, data, *shared))


def _warn_that_it_is_slow(entry: Entry, why: str | None) -> None:
    if why is not None:
        message = f"@{entry.sym_name} was not compiled, so the reference engine runs it, which is slow: {why}"
        warnings.warn(message, RuntimeWarning, stacklevel=levels_inside())


def lower_kernel(
    module: Module, entry: Entry, exact: bool, target: Target, checks: frozenset[str] = frozenset()
) -> Lowered | None:
    """Lower a kernel; None if the reference engine has to run it."""
    wanted = Specialisation(exact=exact)
    try:
        lowered = lower_by_loops(module, entry, target, wanted, checks)
    except NotLowered:
        return None
    return None if lowered.waits else lowered


# ---------------------------------------------------------------- what is known about a kernel


def key_of(module: Module, entry: Entry, exact: bool, checks: frozenset[str] = frozenset()) -> str:
    """Return the name of a kernel in the cache."""
    target = host()
    computes = fingerprint(*module.globals, entry)
    way = " ".join(sorted(checks))
    parts = ["kernel", versions(), target.triple, target.cpu, feature_string(target), str(exact), way, computes]
    return "\0".join(parts)


def _described(lowered: Lowered | None, entry: Entry) -> dict[str, Any]:
    """Return the facts that are kept beside the object of a kernel, operations by position; none without an object."""
    if lowered is None:
        return {}
    numbers = {o: n for n, o in enumerate(walk(entry))}
    return {
        "object": digest(lowered.text),
        "ops": [numbers[o] for o in lowered.ops],
        "callbacks": [numbers[o] for o in lowered.callbacks],
        "arena": lowered.arena,
        "globals": lowered.globals,
        "long": lowered.long,
        "ordered": lowered.ordered,
        "written": lowered.written,
        "updated": lowered.updated,
        "gathered": lowered.gathered,
        "additions": lowered.additions,
    }


def _restored(facts: dict[str, Any], entry: Entry) -> Lowered:
    ops = list(walk(entry))
    lowered = Lowered("", [ops[n] for n in facts["ops"]], facts["arena"], facts["globals"], ordered=facts["ordered"])
    lowered.callbacks, lowered.written = [ops[n] for n in facts["callbacks"]], facts["written"]
    lowered.long, lowered.updated = facts["long"], facts["updated"]
    lowered.gathered, lowered.additions = [(n, item) for n, item in facts["gathered"]], facts["additions"]
    return lowered


# ---------------------------------------------------------------- objects


def _loaded(key: str, facts: dict[str, Any], data: bytes, *shared: bytes) -> Code:
    """Load the object of a kernel, together with that of the pool if there is none: that takes half the time."""
    if pool.exists():
        code = Code((data, ALLOWED_SYMBOLS))
    else:
        (both,) = shared or compile_texts([pool_ir.text(host())], host())
        code = Code((data, ALLOWED_SYMBOLS), (both, pool_ir.SYMBOLS))
        pool.make(code)
    code.facts = facts
    _codes[key] = code
    return code


def compiled(
    lowered: Lowered, texts: list[str], target: Target, emit: str = "object", child: Child | None = None
) -> list[bytes]:
    """Compile texts, of which the first is that of a kernel; an error names the operation that LLVM does not take."""
    try:
        return compile_texts(texts, target, emit, child)
    except LargeFrame:
        raise
    except CompilerError as error:
        o = _blamed(lowered, error)
        if isinstance(error, GaveUp):
            error.message = f"{o.name}: {error.message}" if o is not None else error.message
            raise
        name = o.name if o is not None else "entry"
        made = Refused(o or lowered.ops[0], f"{name}: cannot be compiled: {error.message.splitlines()[0]}")
        made.notes += [line for line in error.output.splitlines() if line.strip()][:8]
        raise made from None


def _blamed(lowered: Lowered, error: CompilerError) -> Any:
    """Return the operation whose code LLVM does not take: by line, or by the name of the intrinsic that it mentions."""
    lines = lowered.text.splitlines()
    at = error.at
    if not at:
        words = [word.strip(",.:()'\"") for word in error.output.split()]
        named = [word.lstrip("%@") for word in words if word.startswith(("%llvm.", "@llvm.", "llvm."))]
        calls = [(n, line) for n, line in enumerate(lines, 1) if " call " in line]
        at = next((n for n, line in calls for name in named if f"@{name}(" in line), 0)
    for line in reversed(lines[:at]):
        head, found, number = line.partition("; op ")
        if found and not head.strip() and number.strip().isdecimal() and int(number) < len(lowered.ops):
            return lowered.ops[int(number)]
    return None
