"""The battery: random modules in which one operation is frequent, and what a GPU may leave in memory by them.

A result that differs within its bound changes everything that is computed with it. So a module is judged by running it
again, on the reference engine: each operation that may differ is computed from the GPU's operands and held to its
bound, and what follows goes on with the GPU's result. All other operations must then have the GPU's bits.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpu_modules
from parts import gpu_bounds
from parts.gpu_compare import NAN_SIGNS
from parts.gpu_page import DIFFERENT, NANS, SAME, UNEXPLAINED
from support.contract import arguments, constants_as_arguments, observed, run_contract, with_given_results
from tilery.engines.common.tiles import CARRIERS
from tilery.engines.semantics import same_bits
from tilery.ir import Op, Value
from tilery.ops import MmaF, Module, Reduce, Scan
from tilery.smith import Buffer, Contract, smith_with_contract
from tilery.types import Scalar, Tile

TARGET = "sm_90"
WITHIN = "Every operation is within its documented bound of the reference engine, computed from the same operands."
CONSTANTS = (
    "NVIDIA's compiler evaluates operations on constants itself, in other ways than the GPU. With the constants in "
    "memory, every operation has its bits or is within its bound."
)


@dataclass
class Made:
    """A module that does not store its values yet, and how to launch it."""

    module: Module
    contract: Contract
    contents: list[list[Any]]
    """The contents of the last arguments of each launch; the others hold random bits."""

    def with_loaded_constants(self) -> Made:
        """Return the same computation, whose constants are in memory."""
        return Made(*constants_as_arguments(self.module, self.contract, integers=True))

    def arguments(self, contract: Contract) -> list[list[Any]]:
        """Return the arguments of all launches, by a contract with more buffers at the ends."""
        found = []
        for number, (launch, longer) in enumerate(zip(self.contract.launches, contract.launches)):
            args = arguments(longer, number)
            end = len(launch.args)
            for at, content in enumerate(self.contents[number], end - len(self.contents[number])):
                args[at][:] = content
            found.append(args)
        return found


def make(name: str, seed: int) -> Made:
    """Generate a module for a GPU; it does not store its values yet."""
    refused = gpu_modules.REFUSED[TARGET]

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return not any(getattr(t.element, "name", "") in refused for t in tiles)

    mix = {name: 8.0, "Core": 1.0, "Memory": 0.5}
    module, contract = smith_with_contract(seed, size=24, mix=mix, allow=allow)
    contract = gpu_modules.with_plain_names(module, contract)
    return Made(module, contract, [[] for _ in contract.launches])


def packed(left: Sequence[bytes]) -> str:
    """Write what launches left behind as text."""
    texts = json.dumps([part.decode("latin1") for part in left])
    return base64.b64encode(zlib.compress(texts.encode(), 9)).decode()


def unpacked(text: str) -> list[bytes]:
    """Read what `packed` wrote."""
    return [part.encode("latin1") for part in json.loads(zlib.decompress(base64.b64decode(text)))]


# ---------------------------------------------------------------- judging


def judge_later(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result, with the reason if it is a difference."""
    kind, _, rest = result["case"].partition(":")
    if kind != "battery" or result["outcome"] != DIFFERENT:
        return result
    name, _, seed = rest.partition(":")
    made, engine, again = make(name, int(seed)), result["engine"], result.get("again")
    outside = _outside(made, result, engine)
    reason = UNEXPLAINED if outside else WITHIN
    if outside and again and not _outside(made.with_loaded_constants(), again, engine):
        reason = CONSTANTS
    text = f"{result['text']}; outside of the bounds: {', '.join(outside)}" if outside else result["text"]
    return {**result, "reason": reason, "text": text, "data": ""}


def _outside(made: Made, result: dict[str, Any], engine: str) -> list[str]:
    """Return what is outside of the bounds in a result, which carries what was left in memory if it may differ."""
    if result["outcome"] in (SAME, NANS):
        return []
    return outside(made, unpacked(result["data"]), engine) if result["data"] else ["bits that are defined"]


def outside(made: Made, left: Sequence[bytes], engine: str) -> list[str]:
    """Return what an engine left in memory that no operation of a module may leave there."""
    return [what for what, allowed in _judged(made, left, engine) if not allowed]


def _judged(made: Made, found: Sequence[bytes], engine: str) -> Iterator[tuple[str, bool]]:
    """Compare all buffers, globals and texts; yield what is compared, and whether a difference is allowed."""
    module = made.module
    copy, replayed = with_given_results(module, made.contract, lambda o: not same_bits(o))
    at = 0
    for launch, again, args in zip(made.contract.launches, replayed.launches, made.arguments(replayed)):
        kinds = [a.element for a in launch.args if isinstance(a, Buffer)]
        values = observed(module.entry(launch.entry), launch, every=True)
        theirs = found[at : at + len(kinds) + len(values) + len(module.globals) + 1]
        at += len(theirs)
        left = dict(zip(values, theirs[len(kinds) :]))
        given = [data for value, data in left.items() if not _keeps_bits(value)]
        for array, data in zip(args[len(args) - len(given) :], given):
            array[:] = np.frombuffer(data, array.dtype)
        mine = run_contract(copy, Contract((again,)), given=[args])
        del mine[len(kinds) + len(values) : len(kinds) + len(values) + len(given)]
        places: list[Any] = [*kinds, *values, *(o.value.element for o in module.globals), None]
        for place, wanted, got in zip(places, mine, theirs, strict=True):
            if isinstance(place, Value):
                assert isinstance(place.owner, Op)
                yield f"a result of {place.owner.name}", _allowed(place.owner, place, wanted, got, left, engine)
            elif place is None:
                yield "printed text", NAN_SIGNS.sub(b"", wanted) == NAN_SIGNS.sub(b"", got)
            else:
                yield f"memory of {place}", _same(place, wanted, got)


def _keeps_bits(value: Value) -> bool:
    return isinstance(value.owner, Op) and same_bits(value.owner)


def _words(element: Scalar, data: bytes) -> Any:
    return np.frombuffer(data, f"u{CARRIERS[element.name].itemsize}")


def _same(element: Scalar, wanted: bytes, got: bytes) -> bool:
    return gpu_bounds.same_but_nans(element, _words(element, wanted), _words(element, got))


def _allowed(o: Op, value: Value, wanted: bytes, got: bytes, left: dict[Value, bytes], engine: str) -> bool:
    """Tell whether a result may differ in this way from that of the reference engine."""
    _, element = gpu_bounds.tile_of(value)
    mine, theirs = _words(element, wanted), _words(element, got)
    if gpu_bounds.same_but_nans(element, mine, theirs):
        return True
    if same_bits(o):
        return False
    bound = gpu_bounds.ulps(o, element, engine)
    if bound is not None:
        return gpu_bounds.steps(element, mine, theirs) <= bound
    if not all(v in left for v in o.operands):
        return False  # the operands are not known
    given = [_words(gpu_bounds.tile_of(v)[1], left[v]) for v in o.operands]
    if isinstance(o, (Reduce, Scan)) and gpu_bounds.is_sum_or_product(o):
        return gpu_bounds.within_reordering(o, given[0], theirs)
    return isinstance(o, MmaF) and gpu_bounds.within_product_bound(o, given, theirs)
