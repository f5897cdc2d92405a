"""Pictures of what the command prints on a terminal, as SVG: docs/pictures/diff.svg and docs/pictures/info.svg.

python scripts/pictures/terminal.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "pictures"
COLORS = {"31": "#f7768e", "32": "#9ece6a", "33": "#e0af68", "34": "#7aa2f7", "35": "#bb9af7", "36": "#7dcfff"}
COLORS["90"] = "#7a819c"
BACK, FRONT = "#1a1b26", "#c0caf5"
CELL, LINE, MARGIN = 7.8, 18, 16
KERNELS = {
    "old.mlir": """entry @scale(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
  %t = make_token : token
  %a = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %b = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %i, %j, %k = get_tile_block_id : tile<i32>
  %p = make_partition_view %a : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %q = make_partition_view %b : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %v, %r = load_view_tko weak %p[%i] token = %t
    : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
  %c = constant <f32: 2.0> : tile<128xf32>
  %w = mulf %v, %c : tile<128xf32>
  %s = store_view_tko weak %w, %q[%i] token = %t
    : tile<128xf32>, partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""
}
KERNELS["new.mlir"] = KERNELS["old.mlir"].replace(
    "  %w = mulf %v, %c : tile<128xf32>\n", "  %e = exp %v : tile<128xf32>\n  %w = mulf %e, %c : tile<128xf32>\n"
)
COMMANDS = {"diff": ["diff", "old.mlir", "new.mlir"], "info": ["info", "new.mlir"]}


def printed(folder: str, words: list[str]) -> str:
    """Return what the command prints in colour."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tilery", *words, "--color", "always"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False).stdout


def draw(title: str, text: str, columns: int = 112) -> str:
    """Return a picture of coloured text; long lines are cut, as by a narrow window."""
    lines = text.rstrip("\n").split("\n")
    width, height = columns * CELL + 2 * MARGIN, (len(lines) + 1) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="13" '
        "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{BACK}"/>',
    ]
    rows = [f"\x1b[90m$ {title}\x1b[0m", *lines]
    for row, line in enumerate(rows):
        y = MARGIN + (row + 0.75) * LINE
        out.append(f'<text x="{MARGIN}" y="{y:.1f}" xml:space="preserve">{spans(line, columns)}</text>')
    return "\n".join([*out, "</svg>\n"])


def spans(line: str, columns: int) -> str:
    """Return a line as pieces, each with the colour that its escape sequence selects."""
    out, left, fill, weight = [], columns, FRONT, "normal"
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            codes = part[2:-1].split(";")
            fill = next((COLORS[code] for code in codes if code in COLORS), FRONT)
            weight = "bold" if "1" in codes else "normal"
            continue
        shown, left = part[:left], left - len(part[:left])
        if shown:
            out.append(f'<tspan fill="{fill}" font-weight="{weight}">{escape(shown)}</tspan>')
    return "".join(out)


def pictures() -> dict[str, str]:
    """Return every picture by its file name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in KERNELS.items():
            Path(folder, name).write_text(text)
        return {
            f"{name}.svg": draw(" ".join(["tilery", *words]), printed(folder, words))
            for name, words in COMMANDS.items()
        }


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (TARGET / name).write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
