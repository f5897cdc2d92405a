"""Warnings about optimization hints, which NVIDIA's tools give from 13.3 on, if asked to."""

from __future__ import annotations

from collections.abc import Iterator

from ..attrs import DictAttr
from ..bytecode.hints import ARCHITECTURES, SINGLE_CTA, value_problem


def warnings(value: DictAttr, known: tuple[str, ...]) -> Iterator[str]:
    """Yield the warnings of `-Wunsupported-hints` for an operation that takes the hints `known`."""
    for arch, inner in value.sorted():
        if arch not in ARCHITECTURES:
            yield f"unknown hint key {arch}"
            continue
        for name, hint in inner.sorted() if isinstance(inner, DictAttr) else ():
            if name not in known:
                yield f"{name} is not known hint for current Operation"
            elif name == "num_cta_in_cga" and arch in SINGLE_CTA and getattr(hint, "value", 1) != 1:
                yield f"expected 1 for {arch}.{name}"
            elif (why := value_problem(arch, name, hint)) is not None:
                yield why
