"""Line plots as SVG, with logarithmic axes and no dependencies."""

from __future__ import annotations

from math import floor, log10
from xml.sax.saxutils import escape

COLORS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5fbf", "#c77700", "#5c6b73", "#222222")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 150, 40, 50
Points = list[tuple[float, float]]


def line_plot(title: str, x_label: str, y_label: str, series: dict[str, Points]) -> str:
    """Draw every series as a line with a dot per point and its name at the right end."""
    every = [point for points in series.values() for point in points]
    x_low, x_high = min(x for x, _ in every), max(x for x, _ in every)
    y_low, y_high = 10 ** floor(log10(min(y for _, y in every))), 10 ** (floor(log10(max(y for _, y in every))) + 1)

    def px(x: float) -> float:
        span = log10(x_high / x_low) or 1
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(x / x_low) / span

    def py(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log10(y / y_low) / log10(y_high / y_low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 22, title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle"),
        _text(LEFT, TOP - 4, y_label),
    ]
    for y in _powers(y_low, y_high):
        out.append(_line(LEFT, py(y), WIDTH - RIGHT, py(y)))
        out.append(_text(LEFT - 8, py(y) + 4, _short(y), anchor="end"))
    for x in sorted({x for x, _ in every}):
        out.append(_line(px(x), TOP, px(x), HEIGHT - BOTTOM))
        out.append(_text(px(x), HEIGHT - BOTTOM + 18, _short(x), anchor="middle"))
    at = 0.0
    ends = sorted(series.items(), key=lambda item: py(item[1][-1][1]))
    for (name, points), color in zip(ends, COLORS * len(ends)):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="3" fill="{color}"/>' for x, y in points]
        at = max(at + 15, py(points[-1][1]) + 4)  # keeps the names from overlapping
        out.append(_text(WIDTH - RIGHT + 10, at, name, color=color))
    return "\n".join([*out, "</svg>", ""])


def _powers(low: float, high: float) -> list[float]:
    found = [low]
    while found[-1] < high:
        found.append(found[-1] * 10)
    return found


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:g}"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", color: str = "#222", size: int = 12) -> str:
    style = f'text-anchor="{anchor}" fill="{color}" font-size="{size}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
