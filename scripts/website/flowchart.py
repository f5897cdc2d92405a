"""Draw the flow charts of the documents, which are in Mermaid's language, as SVG, so that pages need no script.

It knows what the documents use: `flowchart LR`, boxes `a[text]`, circles `a((text))`, stores `a[(text)]`, arrows `-->`,
`<-->`, `---`, `-- text -->`, chains of them, and `&`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

NODE = re.compile(r"\s*(\w+)(?:\(\((.+?)\)\)|\[\((.+?)\)\]|\[(.+?)\])?\s*")
ARROW = re.compile(r"(<-->|-->|---|--\s+(.+?)\s+-->)")
WIDTH, GAP, HEIGHT, SPACE = 170, 110, 44, 16
LINE = 24
"""Characters of a line in a box."""


@dataclass
class Chart:
    """Nodes with their texts, and edges: from, to, label, whether it has a head at its start and at its end."""

    nodes: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str, str, bool, bool]] = field(default_factory=list)


def parse(text: str) -> Chart:
    """Parse a chart; raise ValueError at a line that is not understood."""
    chart = Chart()
    for line in text.strip().splitlines()[1:]:
        parts = ARROW.split(line.strip())
        groups = [[_node(chart, one, line) for one in part.split("&")] for part in parts[::3]]
        for number in range(len(groups) - 1):
            arrow, label = parts[3 * number + 1], parts[3 * number + 2] or ""
            chart.edges += [
                (a, b, label, arrow.startswith("<"), arrow.endswith(">"))
                for a in groups[number]
                for b in groups[number + 1]
            ]
    return chart


def _node(chart: Chart, text: str, line: str) -> str:
    found = NODE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a node: {text!r} in {line!r}")
    label = next((part for part in found.groups()[1:] if part), None)
    if label or found[1] not in chart.nodes:
        chart.nodes[found[1]] = (label or found[1]).replace("<br>", " ")
    return found[1]


def columns(chart: Chart) -> dict[str, int]:
    """Return the column of each node: after all that lead to it, where edges that go back are left out."""
    found = dict.fromkeys(chart.nodes, 0)
    order = {name: number for number, name in enumerate(chart.nodes)}
    forward = [(a, b) for a, b, *_ in chart.edges if a != b and not _reaches(chart, b, a, order)]
    for _ in chart.nodes:
        for a, b in forward:
            found[b] = max(found[b], found[a] + 1)
    return found


def _reaches(chart: Chart, start: str, goal: str, order: dict[str, int]) -> bool:
    """Whether a path leads from a node to another one that the chart names earlier."""
    if order[goal] < order[start]:
        return False
    todo, seen = [start], set()
    while todo:
        here = todo.pop()
        if here == goal:
            return True
        if here not in seen:
            seen.add(here)
            todo += [b for a, b, *_ in chart.edges if a == here]
    return False


def draw(text: str) -> str:
    """Return a chart as SVG."""
    chart = parse(text)
    column = columns(chart)
    stacks: dict[int, list[str]] = {}
    for name in chart.nodes:
        stacks.setdefault(column[name], []).append(name)
    tallest = max(map(len, stacks.values()))
    height = tallest * (HEIGHT + SPACE) + SPACE
    width = len(stacks) * (WIDTH + GAP) - GAP + 20
    place: dict[str, tuple[float, float]] = {}
    for number, names in sorted(stacks.items()):
        top = (height - len(names) * (HEIGHT + SPACE) + SPACE) / 2
        for row, name in enumerate(names):
            place[name] = 10 + number * (WIDTH + GAP), top + row * (HEIGHT + SPACE)
    label = escape("; ".join(f"{chart.nodes[a]} to {chart.nodes[b]}" for a, b, *_ in chart.edges)[:600], quote=True)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" '
        f'aria-label="{label}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 Z" fill="#1b6ca8"/></marker></defs>',
        f'<rect width="{width}" height="{height:.0f}" rx="8" fill="white"/>',
    ]
    out += [_edge(place, *edge) for edge in chart.edges if edge[0] != edge[1]]
    out += [_box(*place[name], shown) for name, shown in chart.nodes.items()]
    return "\n".join([*out, "</svg>", ""])


def _edge(place: dict[str, tuple[float, float]], a: str, b: str, label: str, back: bool, forth: bool) -> str:
    (x1, y1), (x2, y2) = place[a], place[b]
    y1, y2 = y1 + HEIGHT / 2, y2 + HEIGHT / 2
    heads = (' marker-start="url(#head)"' if back else "") + (' marker-end="url(#head)"' if forth else "")
    if x2 > x1:
        x1 += WIDTH
        curve = f"M{x1} {y1} C{x1 + GAP / 2} {y1} {x2 - GAP / 2} {y2} {x2} {y2}"
    elif x2 < x1:
        x2 += WIDTH
        curve = f"M{x1} {y1} C{x1 - GAP / 2} {y1} {x2 + GAP / 2} {y2} {x2} {y2}"
    else:
        x1 += WIDTH
        curve = f"M{x1} {y1} C{x1 + 40} {y1} {x1 + 40} {y2} {x1} {y2}"
    line = f'<path d="{curve}" fill="none" stroke="#1b6ca8"{heads}/>'
    if not label:
        return line
    x, y = (x1 + x2) / 2, (y1 + y2) / 2 - 4
    words = "".join(f'<tspan x="{x}" dy="{11 if n else 0}">{escape(t)}</tspan>' for n, t in enumerate(_wrap(label, 18)))
    return f'{line}<text x="{x}" y="{y}" text-anchor="middle" font-size="10" fill="#555">{words}</text>'


def _box(x: float, y: float, text: str) -> str:
    lines = _wrap(text, LINE)
    first = y + HEIGHT / 2 + 4 - 7 * (len(lines) - 1)
    rows = "".join(f'<tspan x="{x + WIDTH / 2}" y="{first + 14 * n}">{escape(t)}</tspan>' for n, t in enumerate(lines))
    box = f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef4fb" stroke="#1b6ca8"/>'
    return f'{box}<text text-anchor="middle">{rows}</text>'


def _wrap(text: str, most: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
