"""`--trace` and `--watch` of the verbs that launch kernels."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..diag import TileError
from ..engines.registry import AUTO, DEFAULT
from .files import CommandFailed, write_output

if TYPE_CHECKING:
    from ..engines.reference.observe import Observe
    from ..observe.arrays import ArrayArgument
    from ..observe.trace import Trace


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    what = "write what is executed: text, json (a line for each operation) or chrome (for Perfetto)"
    parser.add_argument("--trace", choices=["text", "json", "chrome"], metavar="FORMAT", help=what)
    parser.add_argument("--trace-to", metavar="FILE", default="-", help="the file of --trace; default: stdout")
    parser.add_argument("--trace-ops", metavar="OPS", default="", help="trace these operations only, such as addf,mulf")
    parser.add_argument("--trace-lines", metavar="LINES", default="", help="trace these lines only: 12,14 or k.py:12")
    parser.add_argument("--trace-block", metavar="X[,Y[,Z]]", help="trace this tile block only")
    watch = "show each value of %%NAME, or each write to an element such as a[17,3]"
    picture = "draw access:ARRAY, tile:%%NAME (its last value, in --trace-block) or blocks into an .svg or .png file"
    parser.add_argument("--picture", action="append", default=[], metavar="WHAT=FILE", help=picture)
    parser.add_argument("--watch", action="append", default=[], metavar="WHAT", help=watch)


def wants_trace(args: argparse.Namespace) -> bool:
    """Tell whether a launch is to be observed; that needs the reference engine."""
    if args.trace is None and not args.watch and not args.picture:
        return False
    if args.engine == AUTO:
        args.engine = DEFAULT
    if args.engine != DEFAULT:
        raise CommandFailed(f"--trace, --watch and --picture need the engine '{DEFAULT}'")
    return True


class Tracing:
    """The observers of one or several launches, and the file that a trace goes to."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lines: list[str] = []
        """The lines of a trace that goes to a file."""
        self.trace: Trace | None = None
        self.pictures: list[tuple[str, Callable[[], Any]]] = []
        """The files of pictures, and how to make each."""

    def observers(self, kernel: Any, grid: Sequence[int], arrays: Sequence[ArrayArgument]) -> list[Observe]:
        """Return the observers of a launch."""
        self.blocks, self.pictures = prod(grid), []
        from ..observe.names import Source

        source = Source(kernel.loaded.module)
        found = [self._watch(text, kernel, source, arrays) for text in self.args.watch]
        found += [self._picture(text, kernel, source, arrays) for text in self.args.picture]
        if self.args.trace is not None:
            found.append(self._trace(kernel, source, arrays))
        return found

    def _trace(self, kernel: Any, source: Any, arrays: Sequence[ArrayArgument]) -> Observe:
        from ..observe.trace import Trace

        args = self.args
        lines = [int(part) if part.isdecimal() else part for part in _parts(args.trace_lines)]
        blocks = [] if args.trace_block is None else [_block(args.trace_block)]
        write = say if args.trace_to == "-" else self.lines.append
        self.trace = Trace(source, args.trace, write, list(arrays))
        return self.trace.observer(ops=_parts(args.trace_ops), lines=lines, blocks=blocks)

    def _watch(self, text: str, kernel: Any, source: Any, arrays: Sequence[ArrayArgument]) -> Observe:
        from ..observe.arrays import find_element
        from ..observe.watch import value_line, watch_element, watch_value, write_line

        try:
            element = find_element(text, arrays)
        except TileError as error:
            raise CommandFailed(f"--watch: {error.message}") from None
        if element is not None:
            return watch_element(*element, lambda write: say(write_line(write, text, source)))
        last = self._value(text, kernel, source)
        return watch_value(last, lambda event, lane, tile: say(value_line(event, lane, text, last, tile, source)))

    def _picture(self, text: str, kernel: Any, source: Any, arrays: Sequence[ArrayArgument]) -> Observe:
        """Return the observer that collects what a picture shows; it is drawn at the end."""
        from ..observe.numbers import numbers
        from ..observe.pictures import HeatMap, Timeline, access_maps
        from ..observe.watch import watch_value

        what, given, file = text.rpartition("=")
        kind, _, name = what.partition(":")
        if not given or not file.endswith((".svg", ".png")) or (kind == "blocks" and file.endswith(".png")):
            raise CommandFailed(f"--picture: expected WHAT=FILE.svg or, for arrays and tiles, .png, got '{text}'")
        if kind == "access":
            chosen = [array for array in arrays if array.name == name]
            if not chosen:
                names = ", ".join(array.name for array in arrays) or "none"
                raise CommandFailed(f"--picture: there is no array '{name}', only {names}")
            maps, observer = access_maps(chosen, self.blocks)
            self.pictures.append((file, lambda: maps[0]))
            return observer
        if kind == "blocks":
            timeline = Timeline()
            self.pictures.append((file, lambda: timeline))
            return timeline.observer()
        if kind != "tile":
            raise CommandFailed(f"--picture: expected access:ARRAY, tile:%NAME or blocks, got '{what}'")
        value, last = self._value(name, kernel, source), list[Any]()
        block = None if self.args.trace_block is None else (*_block(self.args.trace_block), 0, 0)[:3]

        def see(event: Any, lane: int, tile: Any) -> None:
            if block is None or tuple(event.blocks[lane].tolist()) == block:
                last[:] = [numbers(value.type, tile)]

        def make() -> HeatMap:
            if not last:
                raise CommandFailed(f"--picture: no tile block computed '{name}'")
            return HeatMap(name, last[0])

        self.pictures.append((file, make))
        return watch_value(value, see)

    def _value(self, name: str, kernel: Any, source: Any) -> Any:
        """Return the value of a name; of several, the last in the text."""
        values = [value for value in source.find(name, kernel.entry) if not hasattr(value.owner, "args")]
        if not values:
            raise CommandFailed(f"there is no value '{name}'; an element of an array is a[17,3]")
        return values[-1]

    def finish(self, kernel: Any, grid: Sequence[int]) -> None:
        """Complete the trace of a launch."""
        if self.trace is not None:
            gx, gy = [*grid, 1, 1][:2]
            used = {each["tid"] for each in self.trace.slices}
            self.trace.finish(kernel.name, {r: f"block {(r % gx, r // gx % gy, r // (gx * gy))}" for r in used})
            if self.args.trace_to != "-":
                write_output(self.args.trace_to, "".join(f"{line}\n" for line in self.lines))
        for file, make in self.pictures:
            picture = make()
            write_output(file, picture.png() if file.endswith(".png") else picture.svg())


def say(line: str) -> None:
    """Print a line."""
    write_output("-", f"{line}\n")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _block(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise CommandFailed(f"--trace-block: expected X, X,Y or X,Y,Z, got '{text}'") from None
