"""The job that compares two kernels: over the real numbers, for one launch, or bit for bit for all inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import parse
from ...cli.arguments import ArgumentSpec, check_types
from ...engines.common.kernel import check_parameters, find_entry
from ...ops import Entry, Module
from ...prove import Buffer, Program, Verdict, bits, reals
from ...types import Ptr, Tile, Type
from ..requests import Request
from .execute import read_arguments

TIMEOUT = 5.0
"""Seconds for one question to Z3."""


def prove(request: Request) -> dict[str, Any]:
    """Compare a kernel of `text` with one of `other`, see `Explorer.prove`."""
    a, entry = _kernel(request, "text", "entry")
    b, other = _kernel(request, "other", "other_entry")
    if request.choice("how", ("reals", "bits"), "reals") == "bits":
        return _answer(bits(entry, other, timeout=TIMEOUT, modules=(a, b)))
    convention = request.choice("convention", ("", "cutile"), "") or None
    arguments, params = read_arguments(request), check_parameters(entry)
    check_types(arguments, params, convention)
    buffers, args = _buffers(arguments, params, convention)
    grid = request.integers("grid", [1], limit=3)
    other_grid = request.integers("other_grid", grid, limit=3)
    left = Program.of(a, grid, args, entry=entry.sym_name, convention=convention)
    right = Program.of(b, other_grid, args, entry=other.sym_name, convention=convention)
    return _answer(reals(left, right, buffers, list(buffers)))


def _kernel(request: Request, text: str, entry: str) -> tuple[Module, Entry]:
    module = parse(request.text(text))
    return module, find_entry(module, request.text(entry, "", limit=10_000) or None)


def _buffers(
    arguments: Sequence[ArgumentSpec], params: Sequence[Type], convention: str | None
) -> tuple[dict[str, Buffer], list[Any]]:
    """Return what the arrays hold, by name, and the arguments: arrays of floats hold any real numbers."""
    buffers: dict[str, Buffer] = {}
    args: list[Any] = []
    at = 0
    for number, argument in enumerate(arguments):
        value, param = argument.value, params[at]
        at += 1
        if not isinstance(value, np.ndarray):
            args.append(value)
            continue
        at += 2 * value.ndim if convention == "cutile" else 0
        assert isinstance(param, Tile) and isinstance(param.element, Ptr)
        element, shape = param.element.pointee, value.shape
        if element.bits == 4:
            shape = (*shape[:-1], 2 * shape[-1])
        name = argument.name if argument.name and argument.name not in buffers else f"argument {number}"
        if argument.is_uninit:
            buffers[name] = Buffer(shape, "undefined")
        else:
            buffers[name] = Buffer(shape, "real") if element.is_float else Buffer(shape, "given", value)
        args.append(name)
    return buffers, args


def _answer(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": verdict.as_dict(), "text": verdict.text()}
