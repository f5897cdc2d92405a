"""One launch, from the fields of a request to JSON: results, reports, accesses, values and tokens."""

from __future__ import annotations

import os
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np

from ... import compile, parse
from ...cli.arguments import ArgumentSpec, check_types, make_arguments
from ...cli.files import CommandFailed
from ...cli.sanitizing import sanitizer_for
from ...diag import TileError
from ...engines.common.kernel import Kernel
from ...engines.common.launch import check_grid
from ...engines.common.limits import Limits
from ...engines.registry import DEFAULT
from ...ir import Op, Refused, walk
from ...observe.arrays import array_arguments
from ...sanitize import Report, Sanitizer
from ...sanitize.reports import Occurrence
from ..operations import error_data
from ..requests import Request
from .numbers import array_numbers, plain, summary, tile_data
from .record import LaunchRecording

SECONDS = 30
MEMORY = 2 << 30
PREVIEW = 8
"""Elements of a value in the summary of a run."""
MAX_PRINTED = 1 << 20


class RunLaunch:
    """A kernel, its arguments, and what is watched."""

    def __init__(self, request: Request) -> None:
        module = parse(request.text("text"))
        self.ops = list(walk(module))
        self.ids: dict[Op, int] = {o: number for number, o in enumerate(self.ops)}
        self.engine = request.text("engine", DEFAULT, limit=100)
        self.grid = check_grid(request.integers("grid", [1], limit=3))
        self.convention = request.choice("convention", ("", "cutile"), "") or None
        self.arguments = read_arguments(request)
        self.kernel: Kernel = compile(module, request.text("entry", "", limit=10_000) or None, engine=self.engine)
        check_types(self.arguments, self.kernel.params, self.convention)
        self.before = [np.array(a.value) for a in self.arguments]
        values, names = [a.value for a in self.arguments], [a.name for a in self.arguments]
        self.arrays = array_arguments(self.kernel.params, values, names, self.convention)
        self.record = LaunchRecording(self.ids, self.arrays)
        self.record.block = _rank(request.integers("block", [0], limit=3), self.grid)
        self.sanitizer = self._sanitizer(request.text("sanitize", "", limit=1000))
        self.printed: list[str] = []
        self.printed_size = 0

    def _sanitizer(self, checks: str) -> Sanitizer | None:
        return sanitizer_for(checks, self.arguments) if checks and self.engine == DEFAULT else None

    def run(self) -> dict[str, Any]:
        """Launch, and return the statistics, or the error."""
        values, names = [a.value for a in self.arguments], [a.name for a in self.arguments]
        limits = Limits(seconds=SECONDS, memory=MEMORY)
        try:
            stats = self.kernel.launch(
                self.grid,
                values,
                names=names,
                convention=self.convention,
                limits=limits,
                output=self._print,
                sanitize=self.sanitizer,
                observe=self.record.observer() if self.engine == DEFAULT else None,
            )
        except TileError as error:
            return {"stats": None, "error": self._error(error)}
        return {"stats": asdict(stats), "error": None}

    def _print(self, text: str) -> None:
        if self.printed_size < MAX_PRINTED:
            self.printed.append(text[: MAX_PRINTED - self.printed_size])
        self.printed_size += len(text)

    def _error(self, error: TileError) -> dict[str, Any]:
        return error_data(error) | {"op": self.ids.get(error.op, -1) if isinstance(error, Refused) else -1}


def run(request: Request) -> dict[str, Any]:
    """Run a kernel; see `Launch` for the fields."""
    launch = _made(request)
    outcome = launch.run()
    reports = [] if launch.sanitizer is None else [_report(each, launch.ids) for each in launch.sanitizer.reports]
    return {
        **outcome,
        "engine": launch.engine,
        "grid": list(launch.grid),
        "blocks": prod(launch.grid),
        "printed": "".join(launch.printed),
        "reports": reports,
        "claim": "" if launch.sanitizer is None else launch.sanitizer.claim,
        "arguments": [_argument(a, old) for a, old in zip(launch.arguments, launch.before)],
        "access": _access_map(launch),
        "timeline": {"events": launch.record.events, "truncated": _cut(launch.record)},
        "values": _value_summaries(launch),
        "block": launch.record.block,
    }


def values(request: Request) -> dict[str, Any]:
    """Run a kernel again, and return the tiles that an operation made in one tile block."""
    number = request.integer("op")
    which = request.integer("occurrence", 0)
    launch = _made(request)
    outcome = launch.run()
    kept = launch.record.values.get(number, [])
    if not kept or number >= len(launch.ops):
        return {"op": number, "times": launch.record.times.get(number, 0), "tiles": [], "error": outcome["error"]}
    which = min(which, len(kept) - 1)
    tiles = [{"type": v.type.text, **tile_data(v.type, tile, launch.arrays)} for v, tile in kept[which]]
    times = launch.record.times.get(number, 0)
    return {"op": number, "times": times, "kept": len(kept), "occurrence": which, "tiles": tiles, "error": None}


def _made(request: Request) -> RunLaunch:
    try:
        return RunLaunch(request)
    except CommandFailed as error:
        raise TileError(str(error).removeprefix("--arg: ")) from None


def read_arguments(request: Request) -> list[ArgumentSpec]:
    """Make the arguments. A file must be below the working directory: the text of an argument may come from a link."""
    specs = request.texts("args", [])
    root = os.path.realpath(os.getcwd())
    for spec in specs:
        file = spec.partition("=")[2] if "=" in spec else spec
        if file.startswith("@") and not os.path.realpath(file[1:]).startswith(root + os.sep):
            raise TileError(f"'{file}': only files below the working directory can be arguments")
    made = make_arguments(specs, request.integer("seed", 0))
    for argument in made:
        if isinstance(argument.value, np.ndarray):
            argument.value = np.ascontiguousarray(argument.value)
    return made


def _rank(block: list[int], grid: tuple[int, int, int]) -> int:
    """Return the number of a tile block, x varying fastest."""
    x, y, z = [*block, 0, 0, 0][:3]
    return min(prod(grid) - 1, max(0, x + grid[0] * (y + grid[1] * z)))


def _report(report: Report, ids: dict[Op, int]) -> dict[str, Any]:
    data = report.as_dict()
    data["places"] = [_place(place, ids) for place in report.places]
    return data | {"op": ids.get(report.op, -1), "details": report.details}


def _place(place: Occurrence, ids: dict[Op, int]) -> dict[str, Any]:
    where = {"block": list(place.block), "element": list(place.element)}
    return {"op": ids.get(place.op, -1), "name": place.op.name, **where}


def _argument(argument: ArgumentSpec, before: Any) -> dict[str, Any]:
    """Return an argument after the launch, and how many of its elements changed."""
    element = None if argument.element is None else argument.element.text
    made: dict[str, Any] = {"name": argument.name, "element": element}
    if not isinstance(argument.value, np.ndarray):
        return made | {"scalar": True, "value": plain(np.asarray(argument.value))[0]}
    now = array_numbers(argument.value, argument.element)
    changed = int(np.count_nonzero(argument.value.view(np.uint8) != before.view(np.uint8))) if now.size else 0
    return made | summary(now) | {"scalar": False, "changed": changed, "elements": plain(now)}


def _access_map(launch: RunLaunch) -> dict[str, Any]:
    record = launch.record
    arrays = [{"name": each.name, "shape": list(each.shape)} for each in launch.arrays]
    runs = [
        {"op": op, "array": array, "kind": kind, "runs": [n for run in found for n in run]}
        for (op, array, kind), found in record.runs.items()
    ]
    return {"arrays": arrays, "accesses": runs, "truncated": record.truncated, "outside": record.outside}


def _cut(record: LaunchRecording) -> bool:
    from .record import MAX_EVENTS

    return len(record.events) >= MAX_EVENTS


def _value_summaries(launch: RunLaunch) -> dict[str, Any]:
    """Return for each operation how often the tile block executed it, and the start of its last value."""
    found: dict[str, Any] = {}
    for number, kept in launch.record.values.items():
        if kept:
            value, tile = kept[-1][0]
            made = tile_data(value.type, tile, launch.arrays)
            made["elements"] = made["elements"][:PREVIEW]
            found[str(number)] = {"times": launch.record.times.get(number, 0), "type": value.type.text, **made}
    return found
