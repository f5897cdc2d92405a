"""Rooflines: what a GPU can make of a kernel at best, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from ..source.symbols import function_name
from .gpus import Gpu
from .model import KernelCost

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 460, 70, 30, 50, 60
COLORS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5fbf", "#c77700", "#5c6b73")
GREY = "#8a8a8a"


@dataclass
class Roofline:
    """The least time that a GPU needs for a kernel, by its memory and by its arithmetic.

    `distinct` counts each byte of memory once, as if caches held everything; else every byte that is asked for counts.
    """

    cost: KernelCost
    gpu: Gpu
    distinct: bool = False

    def _repr_svg_(self) -> str:
        """Return the picture, for a notebook."""
        return roofline_svg([self])

    @property
    def bytes(self) -> int:
        return (self.cost.distinct_bytes or 0) if self.distinct else self.cost.bytes

    @property
    def memory_seconds(self) -> float:
        return self.bytes / (self.gpu.bandwidth * 1e9)

    @property
    def compute_seconds(self) -> float:
        return sum(n / (self.gpu.peak(ceiling) * 1e12) for ceiling, n in self.cost.by_ceiling().items())

    @property
    def seconds(self) -> float:
        """The least time of what was counted."""
        return max(self.memory_seconds, self.compute_seconds)

    @property
    def bound(self) -> str:
        """The bottleneck: "memory" or "compute"."""
        return "memory" if self.memory_seconds >= self.compute_seconds else "compute"

    @property
    def intensity(self) -> float | None:
        return self.cost.flops / self.bytes if self.bytes else None

    @property
    def attainable(self) -> float:
        """Tera-operations per second at best."""
        return self.cost.flops / self.seconds / 1e12 if self.seconds else 0.0

    def as_dict(self) -> dict[str, object]:
        """Return the bounds as plain data, for `--json`."""
        return {
            "gpu": self.gpu.name,
            "bytes": self.bytes,
            "distinct": self.distinct,
            "bound": self.bound,
            "memory_seconds": self.memory_seconds,
            "compute_seconds": self.compute_seconds,
            "intensity": self.intensity,
            "attainable_tflops": self.attainable,
        }


def roofline_svg(points: Sequence[Roofline]) -> str:
    """Draw kernels under the roofs of their GPU: bandwidth, and the peak of each unit that one of them uses."""
    gpu = points[0].gpu
    used = {ceiling for point in points for ceiling in point.cost.by_ceiling()} | {"vector f32", "tensor f16"}
    roofs = {ceiling: gpu.peak(ceiling) for ceiling in sorted(used, key=gpu.peak)}
    drawn = [point for point in points if point.intensity and point.attainable]
    xs = [point.intensity or 1.0 for point in drawn] + [peak * 1e3 / gpu.bandwidth for peak in roofs.values()]
    plot = _Plot(_decades(xs), _decades([p.attainable for p in drawn] + list(roofs.values()), headroom=True))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, f"Roofline of {gpu.name}, {gpu.bandwidth:,.0f} GB/s", size=15),
        *plot.axes("float operations per byte", "TFLOP/s"),
    ]
    top = max(roofs.values())
    first = plot.x_low
    out.append(plot.line([(first, first * gpu.bandwidth / 1e3), (top * 1e3 / gpu.bandwidth, top)], GREY, 2))
    last = -100.0
    for ceiling, peak in roofs.items():
        ridge = peak * 1e3 / gpu.bandwidth
        out.append(plot.line([(max(ridge, first), peak), (plot.x_high, peak)], GREY, 2 if peak == top else 1))
        at = plot.py(peak) - 5
        if abs(at - last) > 13:  # equal roofs have one name
            out.append(_text(WIDTH - RIGHT - 4, at, f"{ceiling}: {peak:,g}", anchor="end", color="#555555"))
            last = at
    return "\n".join([*out, *_dots(plot, drawn), "</svg>", ""])


def _dots(plot: _Plot, drawn: Sequence[Roofline]) -> list[str]:
    """Draw the kernels: a full dot counts every byte that is asked for, a ring each byte once."""
    out: list[str] = []
    names = list(dict.fromkeys(point.cost.name for point in drawn))
    for row, name in enumerate(names):
        color = COLORS[row % len(COLORS)]
        for point in (p for p in drawn if p.cost.name == name):
            x, y = plot.px(point.intensity or 1.0), plot.py(point.attainable)
            fill = "white" if point.distinct else color
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{color}" stroke-width="2"/>')
        shown = function_name(name)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        out.append(f'<circle cx="{LEFT + 16}" cy="{TOP + 14 + 17 * row}" r="5" fill="{color}"/>')
        out.append(_text(LEFT + 28, TOP + 18 + 17 * row, shown, color=color))
    if any(point.distinct for point in drawn):
        out.append(_text(LEFT + 10, TOP + 18 + 17 * len(names), "ring: each byte counted once", color="#555555"))
    return out


class _Plot:
    """Logarithmic axes."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        (self.x_low, self.x_high), (self.y_low, self.y_high) = x, y

    def px(self, x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(x / self.x_low) / log10(self.x_high / self.x_low)

    def py(self, y: float) -> float:
        share = log10(y / self.y_low) / log10(self.y_high / self.y_low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def line(self, points: list[tuple[float, float]], color: str, width: float) -> str:
        """Draw a line; what is below the lowest value is cut off."""
        (x, y), *rest = points
        if y < self.y_low:
            x, y = x * self.y_low / y, self.y_low
        path = " ".join(f"{self.px(a):.1f},{self.py(b):.1f}" for a, b in [(x, y), *rest])
        return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'

    def axes(self, x_label: str, y_label: str) -> list[str]:
        out = [
            _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_label, anchor="middle"),
            _text(LEFT, TOP - 8, y_label),
        ]
        for x in _powers(self.x_low, self.x_high):
            out.append(_grid(self.px(x), TOP, self.px(x), HEIGHT - BOTTOM))
            out.append(_text(self.px(x), HEIGHT - BOTTOM + 18, f"{x:g}", anchor="middle"))
        for y in _powers(self.y_low, self.y_high):
            out.append(_grid(LEFT, self.py(y), WIDTH - RIGHT, self.py(y)))
            out.append(_text(LEFT - 8, self.py(y) + 4, f"{y:g}", anchor="end"))
        return out


def _decades(values: Sequence[float], headroom: bool = False) -> tuple[float, float]:
    """Return powers of ten around values."""
    low, high = floor(log10(min(values) * 0.8)), ceil(log10(max(values) * (1.5 if headroom else 1.2)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _powers(low: float, high: float) -> list[float]:
    return [10.0**n for n in range(round(log10(low)), round(log10(high)) + 1)]


def _grid(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#e4e4e4"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, color: str = "#222222") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}"'
    return f"<text {place}>{escape(text)}</text>"
