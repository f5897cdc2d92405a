"""The battery: random modules in which one operation is frequent, and what an engine may leave behind by them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

import gpu_modules
from tilery.ir import Op
from tilery.ops import Module
from tilery.smith import Contract, smith_with_contract
from tilery.types import Tile


def make(name: str, seed: int, target: str) -> tuple[Module, Contract]:
    """Generate a module for a GPU; it does not store its values yet."""
    refused = gpu_modules.REFUSED[target]

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return not any(getattr(t.element, "name", "") in refused for t in tiles)

    mix = {name: 8.0, "Core": 1.0, "Memory": 0.5}
    module, contract = smith_with_contract(seed, size=24, mix=mix, allow=allow)
    return module, gpu_modules.with_plain_names(module, contract)


def packed(left: Sequence[bytes]) -> str:
    """Write what launches left behind as text."""
    texts = json.dumps([part.decode("latin1") for part in left])
    return base64.b64encode(zlib.compress(texts.encode(), 9)).decode()


def unpacked(text: str) -> list[bytes]:
    """Read what `packed` wrote."""
    return [part.encode("latin1") for part in json.loads(zlib.decompress(base64.b64decode(text)))]
