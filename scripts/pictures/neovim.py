"""A picture of Neovim with the language server, as SVG: docs/pictures/neovim.svg.

    python scripts/pictures/neovim.py

Neovim runs in a terminal that pyte (`pip install pyte`) emulates, with the settings of editors/neovim.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from editors.neovim_check import arguments, environment  # noqa: E402  # found only now
from pictures.terminal import BACK, CELL, FRONT, LINE, MARGIN, TARGET  # noqa: E402

COLUMNS, ROWS = 131, 29
KERNEL = """// y = x * exp(x), in tiles of 128 numbers.
entry @swell(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
  %from = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %tiles = make_partition_view %from : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %i, %j, %k = get_tile_block_id : tile<i32>
  %v, %t = load_view_tko weak %tiles[%i]
    : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<128xf32>, token
  %power = epx %v : tile<128xf32>
  %w = mulf %v, %powr : tile<128xf32>
  %to = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %out = make_partition_view %to : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %u = store_view_tko weak %w, %out[%i]
    : tile<128xf32>, partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
"""


def screen(start: list[str], kernel: str, script: Path) -> Any:
    """Return what a terminal shows after Neovim, started by a command, has run a script on a kernel."""
    import pyte  # only for this picture

    shown = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(shown)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ready = folder / "ready"
        (folder / "kernel.tileir").write_text(kernel)
        env = {**environment(folder), "TERM": "xterm-256color", "COLORTERM": "truecolor", "READY": str(ready)}
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        command = [*start, "-c", f"luafile {script}"]
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        end, quiet = time.monotonic() + 90, 0
        while quiet < 10 and time.monotonic() < end:  # a second without news after everything was drawn
            if select.select([ours], [], [], 0.1)[0]:
                stream.feed(os.read(ours, 65536))
                quiet = 0
            else:
                quiet += ready.exists()
        process.kill()
        process.wait()
        os.close(ours)
        if not ready.exists():
            raise SystemExit("Neovim did not come to the end:\n" + "\n".join(shown.display))
    return shown


def draw(shown: Any) -> str:
    """Return the cells of a terminal as a picture."""
    width, height = COLUMNS * CELL + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="13" '
        "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{BACK}"/>',
    ]
    for row in range(ROWS):
        cells = enumerate(shown.buffer[row][column] for column in range(COLUMNS))
        for look, group in groupby(cells, key=lambda cell: cell[1]._replace(data="")):
            run = list(group)
            out += drawn(run[0][0], row, "".join(cell.data for _, cell in run), look)
    return "\n".join([*out, "</svg>\n"])


def drawn(column: int, row: int, text: str, look: Any) -> list[str]:
    """Return the background, the line under, and the letters of a run of cells that look the same."""
    front, back = (color(look.fg, FRONT), color(look.bg, BACK))
    if look.reverse:
        front, back = back, front
    x, y, width = MARGIN + column * CELL, MARGIN + row * LINE, len(text) * CELL
    out = []
    if back != BACK:
        out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{back}"/>')
    if look.underscore:
        line = f"M{x:.1f} {y + LINE - 2.5}h{width:.1f}"
        out.append(f'<path d="{line}" stroke="#f7768e" stroke-width="1.5" stroke-dasharray="3 2"/>')
    if text.strip():
        start = x + (len(text) - len(text.lstrip())) * CELL
        kind = ' font-weight="bold"' * look.bold + ' font-style="italic"' * look.italics
        length = f'textLength="{len(text.strip()) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
        out.append(
            f'<text x="{start:.1f}" y="{y + 0.75 * LINE}" fill="{front}"{kind} {length} xml:space="preserve">'
            f"{escape(text.strip())}</text>"
        )
    return out


def color(name: str, default: str) -> str:
    return default if name == "default" else f"#{name}"


def main() -> int:
    nvim = shutil.which("nvim")
    if nvim is None:
        raise SystemExit("Neovim is not installed")
    (TARGET / "neovim.svg").write_text(
        draw(screen(arguments(nvim), KERNEL, ROOT / "scripts" / "pictures" / "neovim.lua")), "utf-8"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
